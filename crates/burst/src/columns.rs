//! Kernels over slices of small structs, run as if each number had a slice of its own.

use crate::{CpuLevel, dispatch};

/// Number of values in a block: enough for a long loop, few enough for the first-level cache.
const BLOCK: usize = 256;

/// A value that consists of `f32` numbers, and converts to and from an array.
///
/// Implemented for `f32`, arrays of it and, with the feature `glam`, glam's vectors and quaternions.
///
/// # Examples
///
/// ```
/// use ancho_burst::Floats;
///
/// #[derive(Clone, Copy)]
/// struct Body {
///     height: f32,
///     speed: f32,
/// }
///
/// impl Floats for Body {
///     type Array = [f32; 2];
///
///     fn to_array(self) -> [f32; 2] {
///         [self.height, self.speed]
///     }
///
///     fn from_array([height, speed]: [f32; 2]) -> Self {
///         Self { height, speed }
///     }
/// }
/// ```
pub trait Floats: Copy + 'static {
    /// The array type that holds the numbers of a value.
    type Array: FloatArray;

    /// Converts the value to an array.
    fn to_array(self) -> Self::Array;

    /// Converts an array to a value.
    fn from_array(array: Self::Array) -> Self;
}

/// An array of `f32`, of any length.
pub trait FloatArray: Copy + sealed::Parts {}

impl<const N: usize> FloatArray for [f32; N] {}

impl Floats for f32 {
    type Array = [f32; 1];

    #[inline(always)]
    fn to_array(self) -> [f32; 1] {
        [self]
    }

    #[inline(always)]
    fn from_array([number]: [f32; 1]) -> Self {
        number
    }
}

impl<const N: usize> Floats for [f32; N] {
    type Array = Self;

    #[inline(always)]
    fn to_array(self) -> Self {
        self
    }

    #[inline(always)]
    fn from_array(array: Self) -> Self {
        array
    }
}

#[cfg(feature = "glam")]
macro_rules! glam_floats {
    ($($name:ident $count:literal)*) => {$(
        impl Floats for glam::$name {
            type Array = [f32; $count];

            #[inline(always)]
            fn to_array(self) -> [f32; $count] {
                glam::$name::to_array(&self)
            }

            #[inline(always)]
            fn from_array(array: [f32; $count]) -> Self {
                Self::from_array(array)
            }
        }
    )*};
}

#[cfg(feature = "glam")]
glam_floats! { Vec2 2 Vec3 3 Vec3A 3 Vec4 4 Quat 4 }

#[expect(unnameable_types, reason = "users need not name these")]
mod sealed {
    use super::{BLOCK, Floats};

    /// A column of a block: the same number of each value.
    #[derive(Clone, Copy, Debug)]
    #[repr(align(64))]
    pub struct Column([f32; BLOCK]);

    /// An array that can be distributed over columns.
    pub trait Parts: Copy {
        type Block: Copy;

        const EMPTY: Self::Block;

        fn put(self, block: &mut Self::Block, at: usize);

        fn get(block: &Self::Block, at: usize) -> Self;
    }

    impl<const N: usize> Parts for [f32; N] {
        type Block = [Column; N];

        const EMPTY: [Column; N] = [Column([0.0; BLOCK]); N];

        #[inline(always)]
        fn put(self, block: &mut [Column; N], at: usize) {
            for (column, number) in block.iter_mut().zip(self) {
                column.0[at] = number;
            }
        }

        #[inline(always)]
        fn get(block: &[Column; N], at: usize) -> Self {
            std::array::from_fn(|number| block[number].0[at])
        }
    }

    pub(super) type Block<T> = <<T as Floats>::Array as Parts>::Block;

    /// A slice of values, processed in blocks that are loaded into columns and, if the slice is mutable, stored again.
    pub trait Slice {
        type Value: Floats;

        /// The kernel's argument for one value.
        type Item<'v>;

        fn length(&self) -> usize;

        fn load(&self, from: usize, count: usize, block: &mut Block<Self::Value>);

        fn store(&mut self, from: usize, count: usize, block: &Block<Self::Value>);

        /// Writes a value back to its block, if the slice is mutable.
        fn put_back(value: Self::Value, block: &mut Block<Self::Value>, at: usize);

        fn item(value: &mut Self::Value) -> Self::Item<'_>;

        /// Returns the kernel's argument for the value at an index, in place.
        fn at(&mut self, at: usize) -> Self::Item<'_>;
    }

    /// Reads a block of a slice.
    #[inline(always)]
    fn load<T: Floats>(slice: &[T], from: usize, count: usize, block: &mut Block<T>) {
        let values = &slice[from..from + count];
        // A constant length makes for shorter code. Only the last block can be shorter.
        if let Ok(values) = <&[T; BLOCK]>::try_from(values) {
            for (at, value) in values.iter().enumerate() {
                value.to_array().put(block, at);
            }
        } else {
            for (at, value) in values.iter().enumerate() {
                value.to_array().put(block, at);
            }
        }
    }

    impl<T: Floats> Slice for &[T] {
        type Value = T;
        type Item<'v> = T;

        #[inline(always)]
        fn length(&self) -> usize {
            self.len()
        }

        #[inline(always)]
        fn load(&self, from: usize, count: usize, block: &mut Block<T>) {
            load(self, from, count, block);
        }

        #[inline(always)]
        fn store(&mut self, _: usize, _: usize, _: &Block<T>) {}

        #[inline(always)]
        fn put_back(_: T, _: &mut Block<T>, _: usize) {}

        #[inline(always)]
        fn item(value: &mut T) -> T {
            *value
        }

        #[inline(always)]
        fn at(&mut self, at: usize) -> T {
            self[at]
        }
    }

    impl<T: Floats> Slice for &mut [T] {
        type Value = T;
        type Item<'v> = &'v mut T;

        #[inline(always)]
        fn length(&self) -> usize {
            self.len()
        }

        #[inline(always)]
        fn load(&self, from: usize, count: usize, block: &mut Block<T>) {
            load(self, from, count, block);
        }

        #[inline(always)]
        fn store(&mut self, from: usize, count: usize, block: &Block<T>) {
            let values = &mut self[from..from + count];
            if let Ok(values) = <&mut [T; BLOCK]>::try_from(&mut *values) {
                for (at, value) in values.iter_mut().enumerate() {
                    *value = T::from_array(T::Array::get(block, at));
                }
            } else {
                for (at, value) in values.iter_mut().enumerate() {
                    *value = T::from_array(T::Array::get(block, at));
                }
            }
        }

        #[inline(always)]
        fn put_back(value: T, block: &mut Block<T>, at: usize) {
            value.to_array().put(block, at);
        }

        #[inline(always)]
        fn item(value: &mut T) -> &mut T {
            value
        }

        #[inline(always)]
        fn at(&mut self, at: usize) -> &mut T {
            &mut self[at]
        }
    }

    /// Slices of equal length, and kernels over the elements at one index.
    pub trait Slices<K> {
        fn run(self, kernel: K);
    }
}

/// Slices of equal length, in a tuple of up to five. `&mut [T]` is written, and passed to the kernel as `&mut T`. `&[T]` is read,
/// and passed as `T`.
pub trait ColumnSlices<K>: sealed::Slices<K> {}

impl<K, S: sealed::Slices<K>> ColumnSlices<K> for S {}

/// Runs a kernel for each index of some slices of small structs, as if each number had a slice of its own.
///
/// A vector of three numbers does not fill a register of four or eight numbers. A loop over a slice of such vectors spends much
/// of its time gathering equal coordinates, and more with wider registers. This function copies a block of values to columns,
/// runs the kernel over the columns, and copies mutable values back, all in the first-level cache. This pays off for kernels of
/// more than about ten operations. Shorter kernels, such as adding two vectors, are faster in a plain loop.
///
/// The kernel is compiled for each CPU level, as by [`dispatch`]. Mark a large closure `#[inline(always)]`, or the function
/// around it `#[burst(closures)]`.
///
/// # Panics
///
/// Panics if the slices have different lengths. If the kernel panics, either all earlier elements are written or those of earlier
/// blocks, depending on the level.
///
/// # Determinism
///
/// The result is the same bit for bit at every level, and the same as that of a plain loop.
///
/// # Examples
///
/// ```
/// use ancho_burst::in_columns;
///
/// let mut positions = vec![[0.0, 0.0, 0.0]; 1000];
/// let targets = vec![[3.0, 4.0, 0.0]; 1000];
/// in_columns((&mut positions[..], &targets[..]), |position: &mut [f32; 3], target: [f32; 3]| {
///     let way: [f32; 3] = std::array::from_fn(|axis| target[axis] - position[axis]);
///     let length = way.iter().map(|part| part * part).sum::<f32>().sqrt();
///     for (position, way) in position.iter_mut().zip(way) {
///         *position += way / length;
///     }
/// });
/// assert_eq!(positions[999], [0.6, 0.8, 0.0]);
/// ```
#[inline]
#[track_caller]
pub fn in_columns<K, S: ColumnSlices<K>>(slices: S, kernel: K) {
    slices.run(kernel);
}

#[cold]
#[track_caller]
fn refuse(lengths: &[usize]) -> ! {
    panic!("the slices of a kernel have different lengths: {lengths:?}; cut them to the shortest");
}

macro_rules! slices {
    ($($name:ident $slice:ident $block:ident),+) => {
        impl<Kernel, $($name),+> sealed::Slices<Kernel> for ($($name,)+)
        where
            $($name: sealed::Slice,)+
            Kernel: for<'v> FnMut($($name::Item<'v>),+),
        {
            #[inline]
            #[track_caller]
            fn run(self, mut kernel: Kernel) {
                // The compiler assumes that parameters do not alias.
                #[inline]
                fn plain<Kernel, $($name),+>(mut kernel: Kernel, length: usize, $(mut $slice: $name),+)
                where
                    $($name: sealed::Slice,)+
                    Kernel: for<'v> FnMut($($name::Item<'v>),+),
                {
                    for at in 0..length {
                        kernel($($slice.at(at)),+);
                    }
                }

                let ($(mut $slice,)+) = self;
                let lengths = [$($slice.length()),+];
                if lengths.iter().any(|&length| length != lengths[0]) {
                    refuse(&lengths);
                }
                if CpuLevel::current() == CpuLevel::Baseline {
                    // With registers of four numbers, columns gain no more than they cost.
                    return plain(kernel, lengths[0], $($slice),+);
                }
                dispatch(
                    #[inline(always)]
                    || {
                        $(let mut $block = <<$name::Value as Floats>::Array as sealed::Parts>::EMPTY;)+
                        for from in (0..lengths[0]).step_by(BLOCK) {
                            let count = (lengths[0] - from).min(BLOCK);
                            $($slice.load(from, count, &mut $block);)+
                            for at in 0..count {
                                $(let mut $slice = get::<$name>(&$block, at);)+
                                kernel($($name::item(&mut $slice)),+);
                                $($name::put_back($slice, &mut $block, at);)+
                            }
                            $($slice.store(from, count, &$block);)+
                        }
                    },
                );
            }
        }
    };
}

/// Returns one value of a block.
#[inline(always)]
fn get<S: sealed::Slice>(block: &sealed::Block<S::Value>, at: usize) -> S::Value {
    S::Value::from_array(sealed::Parts::get(block, at))
}

slices!(A a a_block);
slices!(A a a_block, B b b_block);
slices!(A a a_block, B b b_block, C c c_block);
slices!(A a a_block, B b b_block, C c c_block, D d d_block);
slices!(A a a_block, B b b_block, C c c_block, D d d_block, E e e_block);
