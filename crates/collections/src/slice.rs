//! Strided views of slices.
#![expect(unsafe_code, reason = "finds elements a stride apart")]

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut, Range};
use std::ptr::NonNull;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::error::{debug_as_display, index_outside, range_outside};

/// A strided view of a slice: one field of an array of structs, or every other element.
///
/// A view can be created from any slice, even inside a job. For contiguous elements use a plain
/// slice, which vectorises better. For a loop over one field that runs often,
/// [`Columns`](crate::Columns) are faster.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeSlice;
/// use std::mem::offset_of;
/// use zerocopy::{FromBytes, Immutable, IntoBytes};
///
/// #[derive(FromBytes, IntoBytes, Immutable)]
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3],
///     mass: f32,
/// }
///
/// let particles = [1.0, 2.0, 4.0].map(|mass| Particle { position: [0.0; 3], mass });
/// let masses = NativeSlice::<f32>::of_field(&particles, offset_of!(Particle, mass)).unwrap();
/// assert_eq!(masses.iter().sum::<f32>(), 7.0);
/// assert_eq!(masses[1], 2.0);
/// assert_eq!(masses.stride(), 16);
/// ```
pub struct NativeSlice<'a, T> {
    start: NonNull<T>,
    length: usize,
    /// The distance from one element to the next, in bytes.
    stride: usize,
    _elements: PhantomData<&'a [T]>,
}

/// A mutable strided view of a slice. See [`NativeSlice`].
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeSliceMut;
///
/// let mut numbers = [1, 2, 3, 4, 5];
/// let mut odd = NativeSliceMut::from(&mut numbers[..]).step_by(2);
/// odd.iter_mut().for_each(|number| *number *= 10);
/// assert_eq!(numbers, [10, 2, 30, 4, 50]);
/// ```
pub struct NativeSliceMut<'a, T> {
    start: NonNull<T>,
    length: usize,
    /// The distance from one element to the next, in bytes.
    stride: usize,
    _elements: PhantomData<&'a mut [T]>,
}

// SAFETY: a `NativeSlice` is a `&[T]` with a stride, which is `Send` if `T` is `Sync`.
unsafe impl<T: Sync> Send for NativeSlice<'_, T> {}
// SAFETY: a `NativeSlice` is a `&[T]` with a stride, which is `Sync` if `T` is `Sync`.
unsafe impl<T: Sync> Sync for NativeSlice<'_, T> {}
// SAFETY: a `NativeSliceMut` is a `&mut [T]` with a stride, which is `Send` if `T` is `Send`.
unsafe impl<T: Send> Send for NativeSliceMut<'_, T> {}
// SAFETY: a `NativeSliceMut` is a `&mut [T]` with a stride, which is `Sync` if `T` is `Sync`.
unsafe impl<T: Sync> Sync for NativeSliceMut<'_, T> {}

impl<T> Clone for NativeSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for NativeSlice<'_, T> {}

/// Error of making or copying a view. Code A0028.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeSlice;
///
/// let pairs = [[1_u32, 2], [3, 4]];
/// let refused = NativeSlice::<u32>::of_field(&pairs, 6).unwrap_err();
/// assert!(refused.to_string().starts_with("A0028: "));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SliceError {
    /// The field ends beyond the struct.
    Outside {
        /// Offset of the field.
        offset: usize,
        /// Sizes of the field and the struct in bytes.
        sizes: (usize, usize),
    },
    /// The field is misaligned for its type.
    Misaligned {
        /// Offset of the field.
        offset: usize,
        /// The required alignment of the field.
        alignment: usize,
    },
    /// The lengths of source and target differ.
    Lengths {
        /// Number of copied elements.
        from: usize,
        /// Number of elements to copy to.
        to: usize,
    },
}

impl fmt::Display for SliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside { offset, sizes: (field, whole) } => write!(
                f,
                "A0028: a field of {field} bytes at offset {offset} ends beyond a struct of {whole} bytes; \
                 use `offset_of!`"
            ),
            Self::Misaligned { offset, alignment } => write!(
                f,
                "A0028: a field at offset {offset} is not aligned to {alignment} bytes in every struct; use \
                 `offset_of!`, with the field's own type"
            ),
            Self::Lengths { from, to } => write!(
                f,
                "A0028: {from} elements cannot be copied to a view of {to}; take parts of equal length"
            ),
        }
    }
}

impl std::error::Error for SliceError {}

debug_as_display!(SliceError);

/// Finds the field at `offset` of the first struct.
fn find_field<S, T>(structs: NonNull<S>, offset: usize) -> Result<NonNull<T>, SliceError> {
    if offset.checked_add(size_of::<T>()).is_none_or(|end| end > size_of::<S>()) {
        return Err(SliceError::Outside { offset, sizes: (size_of::<T>(), size_of::<S>()) });
    }
    let alignment = align_of::<T>();
    let place = structs.addr().get() + offset;
    if !place.is_multiple_of(alignment) || !size_of::<S>().is_multiple_of(alignment) {
        return Err(SliceError::Misaligned { offset, alignment });
    }
    // Wrapping, since the slice may be empty.
    let field = structs.as_ptr().wrapping_byte_add(offset).cast();
    Ok(NonNull::new(field).expect("memory does not wrap around"))
}

/// Implements the methods of both views.
macro_rules! view {
    ($view:ident) => {
        impl<'a, T> $view<'a, T> {
            /// Returns the number of elements.
            ///
            /// # Examples
            ///
            /// ```
            /// use ancho_collections::NativeSlice;
            ///
            /// let numbers = [1, 2, 3, 4, 5, 6];
            /// let odd = NativeSlice::from(&numbers[..]).step_by(2);
            /// assert_eq!((odd.len(), odd.is_empty(), odd.stride()), (3, false, 8));
            /// ```
            #[inline]
            pub fn len(&self) -> usize {
                self.length
            }

            /// Returns whether there are no elements.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.length == 0
            }

            /// Returns the distance from one element to the next, in bytes.
            #[inline]
            pub fn stride(&self) -> usize {
                self.stride
            }

            /// Narrows the view to the elements in the range.
            ///
            /// # Examples
            ///
            /// ```
            /// use ancho_collections::NativeSlice;
            ///
            /// let numbers = [1, 2, 3, 4, 5, 6];
            /// let even = NativeSlice::from(&numbers[..]).slice(1..6).step_by(2);
            /// assert!(even.iter().eq(&[2, 4, 6]));
            /// ```
            ///
            /// # Panics
            ///
            /// Panics with code A0014 if the range ends beyond the view, or before it starts.
            #[must_use]
            #[track_caller]
            pub fn slice(self, range: Range<usize>) -> Self {
                if range.start > range.end || range.end > self.length {
                    range_outside("a view", range.start, range.end, self.length);
                }
                if range.is_empty() {
                    return Self { length: 0, ..self };
                }
                // SAFETY: the element is within the view.
                let start = unsafe { self.start.byte_add(range.start * self.stride) };
                Self { start, length: range.len(), ..self }
            }

            /// Narrows the view to every `step`th element, beginning with the first.
            ///
            /// # Panics
            ///
            /// Panics with code A0014 if `step` is zero.
            #[must_use]
            #[track_caller]
            pub fn step_by(self, step: usize) -> Self {
                if step == 0 {
                    panic!("A0014: a view of every 0th element has no end; step by 1 or more");
                }
                // A view of at most one element has no stride that could overflow.
                let length = self.length.div_ceil(step);
                let stride = if length > 1 { self.stride * step } else { self.stride };
                Self { length, stride, ..self }
            }

            /// Returns the element at `index`, if there is one.
            #[inline]
            pub fn get(&self, index: usize) -> Option<&T> {
                // SAFETY: the index is within bounds, and the element is borrowed as the view is.
                (index < self.length).then(|| unsafe { self.at(index).as_ref() })
            }

            /// Iterates over the elements.
            #[inline]
            pub fn iter(&self) -> NativeSliceIter<'_, T> {
                let Self { start, length, stride, .. } = *self;
                NativeSliceIter {
                    view: NativeSlice { start, length, stride, _elements: PhantomData },
                }
            }

            /// Copies the elements to a slice of the same length.
            ///
            /// # Examples
            ///
            /// ```
            /// use ancho_collections::NativeSlice;
            ///
            /// let (numbers, mut odd) = ([1, 2, 3, 4], [0; 2]);
            /// let view = NativeSlice::from(&numbers[..]).step_by(2);
            /// view.copy_to(&mut odd).unwrap();
            /// assert_eq!(odd, [1, 3]);
            /// assert!(view.copy_to(&mut []).unwrap_err().to_string().starts_with("A0028: "));
            /// ```
            ///
            /// # Errors
            ///
            /// Returns an error, and copies nothing, if the slice is longer or shorter.
            pub fn copy_to(&self, slice: &mut [T]) -> Result<(), SliceError>
            where
                T: Copy,
            {
                if self.length != slice.len() {
                    return Err(SliceError::Lengths { from: self.length, to: slice.len() });
                }
                self.iter().zip(slice).for_each(|(element, place)| *place = *element);
                Ok(())
            }

            /// # Safety
            ///
            /// `index` is within bounds.
            #[inline(always)]
            unsafe fn at(&self, index: usize) -> NonNull<T> {
                // SAFETY: by the contract, the element is inside of the slice the view was made
                // from.
                unsafe { self.start.byte_add(index * self.stride) }
            }
        }

        impl<T> Index<usize> for $view<'_, T> {
            type Output = T;

            /// # Panics
            ///
            /// Panics with code A0014 if the element's index is out of bounds.
            #[inline]
            #[track_caller]
            fn index(&self, index: usize) -> &T {
                match self.get(index) {
                    Some(element) => element,
                    None => index_outside("a view", index, self.length),
                }
            }
        }

        impl<'v, T> IntoIterator for &'v $view<'_, T> {
            type Item = &'v T;
            type IntoIter = NativeSliceIter<'v, T>;

            fn into_iter(self) -> NativeSliceIter<'v, T> {
                self.iter()
            }
        }

        impl<T: fmt::Debug> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self).finish()
            }
        }
    };
}

view!(NativeSlice);
view!(NativeSliceMut);

impl<'a, T> NativeSlice<'a, T> {
    /// Returns the field at `offset` of every struct (Unity's `SliceWithStride`).
    ///
    /// The bounds ensure that every byte of the structs is initialised, and that any bytes are a
    /// value of the field's type: a wrong offset returns other numbers, never undefined behaviour.
    ///
    /// # Errors
    ///
    /// Returns an error if the field ends beyond the struct, or is misaligned.
    pub fn of_field<S>(structs: &'a [S], offset: usize) -> Result<Self, SliceError>
    where
        S: IntoBytes + Immutable,
        T: FromBytes + Immutable,
    {
        let start = find_field(NonNull::from(structs).cast::<S>(), offset)?;
        Ok(Self { start, length: structs.len(), stride: size_of::<S>(), _elements: PhantomData })
    }
}

impl<'a, T> NativeSliceMut<'a, T> {
    /// Returns the field at `offset` of every struct, mutably. See [`NativeSlice::of_field`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`NativeSlice::of_field`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeSliceMut;
    ///
    /// let mut pairs = [[1_u32, 2], [3, 4]];
    /// let mut seconds = NativeSliceMut::<u32>::of_field(&mut pairs, 4).unwrap();
    /// seconds.copy_from(&[20, 40]).unwrap();
    /// assert_eq!(pairs, [[1, 20], [3, 40]]);
    /// ```
    pub fn of_field<S>(structs: &'a mut [S], offset: usize) -> Result<Self, SliceError>
    where
        S: IntoBytes + FromBytes,
        T: IntoBytes + FromBytes,
    {
        let length = structs.len();
        let start = find_field(NonNull::from(structs).cast::<S>(), offset)?;
        Ok(Self { start, length, stride: size_of::<S>(), _elements: PhantomData })
    }

    /// Returns the element at `index`, mutably, if there is one.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        // SAFETY: the index is within bounds, and the element is borrowed as the view is.
        (index < self.length).then(|| unsafe { self.at(index).as_mut() })
    }

    /// Iterates over the elements mutably.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> {
        let Self { start, stride, .. } = *self;
        // SAFETY: each of the `length` elements is borrowed once, as the view is. They do not
        // overlap: the stride is at least the size of an element.
        (0..self.length).map(move |index| unsafe { start.byte_add(index * stride).as_mut() })
    }

    /// Copies a slice of the same length to the elements.
    ///
    /// # Errors
    ///
    /// Returns an error, and copies nothing, if the slice is longer or shorter.
    pub fn copy_from(&mut self, slice: &[T]) -> Result<(), SliceError>
    where
        T: Copy,
    {
        if self.length != slice.len() {
            return Err(SliceError::Lengths { from: slice.len(), to: self.length });
        }
        self.iter_mut().zip(slice).for_each(|(place, element)| *place = *element);
        Ok(())
    }
}

impl<T> IndexMut<usize> for NativeSliceMut<'_, T> {
    /// # Panics
    ///
    /// Panics with code A0014 if the element's index is out of bounds.
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let length = self.length;
        match self.get_mut(index) {
            Some(element) => element,
            None => index_outside("a view", index, length),
        }
    }
}

impl<'a, T> From<&'a [T]> for NativeSlice<'a, T> {
    fn from(slice: &'a [T]) -> Self {
        let (start, length) = (NonNull::from(slice).cast(), slice.len());
        Self { start, length, stride: size_of::<T>(), _elements: PhantomData }
    }
}

impl<'a, T> From<&'a mut [T]> for NativeSliceMut<'a, T> {
    fn from(slice: &'a mut [T]) -> Self {
        let length = slice.len();
        let start = NonNull::from(slice).cast();
        Self { start, length, stride: size_of::<T>(), _elements: PhantomData }
    }
}

/// Iterator over the elements of a [`NativeSlice`].
#[derive(Clone, Debug)]
pub struct NativeSliceIter<'a, T> {
    view: NativeSlice<'a, T>,
}

impl<'a, T> Iterator for NativeSliceIter<'a, T> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        let view = &mut self.view;
        if view.length == 0 {
            return None;
        }
        // SAFETY: the first element exists, and lives as long as the view's elements do.
        let first = unsafe { view.start.as_ref() };
        view.length -= 1;
        if view.length > 0 {
            // SAFETY: the next element exists.
            view.start = unsafe { view.start.byte_add(view.stride) };
        }
        Some(first)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.view.length, Some(self.view.length))
    }
}

impl<'a, T> DoubleEndedIterator for NativeSliceIter<'a, T> {
    #[inline]
    fn next_back(&mut self) -> Option<&'a T> {
        self.view.length = self.view.length.checked_sub(1)?;
        // SAFETY: the index is within bounds, and the element lives as long as the view's elements
        // do.
        Some(unsafe { self.view.at(self.view.length).as_ref() })
    }
}

impl<T> ExactSizeIterator for NativeSliceIter<'_, T> {}
impl<T> FusedIterator for NativeSliceIter<'_, T> {}
