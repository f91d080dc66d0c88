//! What can be in a blob.
#![expect(unsafe_code, reason = "says which types consist of nothing but checked bytes")]

/// A type that can be in a blob: plain values without pointers, and the blob types.
///
/// These are the integers of fixed size, `f32` and `f64`, `bool`, `char`, arrays `[T; N]` of such,
/// [`BlobArray`](crate::BlobArray), [`BlobString`](crate::BlobString), [`BlobPtr`](crate::BlobPtr),
/// and by `#[derive(BlobData)]` structs of such with `#[repr(C)]` and enums without fields with
/// `#[repr(u8)]` or another integer. `usize` is missing because its size is not the same everywhere.
///
/// The derive is the way to implement the trait: its items are not part of the public interface, and
/// may change. It refuses references, boxes, unions, types with a `Drop` and alignments above 16.
///
/// Loading a blob makes values of these types from bytes. Each field is checked to be valid, but an
/// invariant between private fields is not known to anybody but the type.
///
/// # Safety
///
/// - `visit` reports the type to its visitor as it is, by one call: each field of a struct with its
///   offset and type, none left out.
/// - Any bytes that are valid for what is reported are a valid value, whatever the bytes in between.
/// - The type has no interior mutability, no pointers and no destructor.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use ancho_collections::{BlobArray, BlobBuilder, BlobData};
///
/// #[derive(BlobData, Clone, Copy, PartialEq, Debug)]
/// #[repr(u8)]
/// enum Ease {
///     Linear,
///     Smooth,
/// }
///
/// #[derive(BlobData)]
/// #[repr(C)]
/// struct Curve {
///     ease: Ease,
///     samples: BlobArray<f32>,
/// }
///
/// let curve = BlobBuilder::new(Curve { ease: Ease::Smooth, samples: BlobArray::new() });
/// assert_eq!(curve.build().unwrap().ease, Ease::Smooth);
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be in a blob",
    label = "not plain data",
    note = "a blob holds integers of fixed size, floats, `bool`, `char`, arrays of such, `BlobArray`, \
            `BlobString`, `BlobPtr`, and types with `#[derive(BlobData)]`"
)]
pub unsafe trait BlobData: Sized + Send + Sync + 'static {
    /// Reports what the type consists of.
    #[doc(hidden)]
    fn visit<V: BlobVisitor>(visitor: &mut V);
}

/// What is to be done with the parts of a type. For the derive.
///
/// Each type calls one of these, once; a struct calls [`structure`](Self::structure) and then
/// [`field`](Self::field) for each field.
#[doc(hidden)]
pub trait BlobVisitor {
    /// A number: any bits will do.
    fn bits<T: BlobData>(&mut self, name: &'static str);

    /// A `bool`.
    fn boolean(&mut self);

    /// A `char`.
    fn character(&mut self);

    /// An enum without fields: the names and the values of its variants. It begins with the integer `I` that
    /// has the value. What `align` adds behind that is padding.
    fn variants<T: BlobData, I: BlobData>(
        &mut self,
        name: &'static str,
        variants: &[(&'static str, i128)],
    );

    /// A `[T; count]`.
    fn repeat<T: BlobData>(&mut self, count: usize);

    /// A struct.
    fn structure<T: BlobData>(&mut self, name: &'static str);

    /// A field of the struct `S`. The function is there for its type: it makes the compiler find out
    /// what `F` is, whatever the tokens that a derive has seen.
    fn field<S: BlobData, F: BlobData>(
        &mut self,
        name: &'static str,
        offset: usize,
        project: fn(&S) -> &F,
    );

    /// A `BlobArray<T>`.
    fn array<T: BlobData>(&mut self);

    /// A `BlobString`.
    fn string(&mut self);

    /// A `BlobPtr<T>`.
    fn pointer<T: BlobData>(&mut self);
}

macro_rules! numbers {
    ($($number:ident),+) => {$(
        // SAFETY: a number, of which any bits are a value; it has no cells, pointers or destructor.
        unsafe impl BlobData for $number {
            fn visit<V: BlobVisitor>(visitor: &mut V) {
                visitor.bits::<Self>(stringify!($number));
            }
        }
    )+};
}

numbers!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64);

// SAFETY: reported as a `bool`, which is 0 or 1; it has no cells, pointers or destructor.
unsafe impl BlobData for bool {
    fn visit<V: BlobVisitor>(visitor: &mut V) {
        visitor.boolean();
    }
}

// SAFETY: reported as a `char`, which is a scalar value; it has no cells, pointers or destructor.
unsafe impl BlobData for char {
    fn visit<V: BlobVisitor>(visitor: &mut V) {
        visitor.character();
    }
}

// SAFETY: N values of `T`, each at a multiple of its size, and nothing else; what `T` has not, they
// have not.
unsafe impl<T: BlobData, const N: usize> BlobData for [T; N] {
    fn visit<V: BlobVisitor>(visitor: &mut V) {
        visitor.repeat::<T>(N);
    }
}

/// What a blob, and anything in it, can be aligned to.
pub(super) const MAX_ALIGN: usize = 16;

/// Refuses, when it is compiled, types that a block cannot hold.
///
/// The derive does so too, but cannot for a type with parameters.
///
/// ```compile_fail,E0080
/// # use ancho_collections::{BlobArray, BlobAsset, BlobData};
/// #[derive(BlobData)]
/// #[repr(C, align(32))]
/// struct Line<T>(T);
/// # fn main() {
/// let line = BlobAsset::<BlobArray<Line<u8>>>::from_bytes(&[], 0);
/// # }
/// ```
pub(super) const fn check_type<T: BlobData>() {
    const {
        assert!(
            align_of::<T>() <= MAX_ALIGN,
            "a blob is aligned to 16 bytes; this type asks for more"
        );
        assert!(size_of::<T>() as u64 <= u32::MAX as u64, "a blob is at most 4 GiB large");
    }
}

/// Refuses, when it is compiled, types that nothing can lead to.
///
/// Values without bytes would have no place of their own, and a few bytes from outside could claim that
/// there are billions of them.
///
/// ```compile_fail,E0080
/// # use ancho_collections::{BlobArray, BlobBuilder};
/// let builder = BlobBuilder::new(BlobArray::<[u8; 0]>::new());
/// ```
pub(super) const fn check_target<T: BlobData>() {
    const {
        assert!(size_of::<T>() > 0, "a blob array or pointer leads to values that have bytes");
    }
}

/// Says whether any bytes are a value of `T`, and there are no others: no padding, no pointers.
pub(super) fn is_plain<T: BlobData>() -> bool {
    let mut survey = Survey { plain: true, bytes: 0 };
    T::visit(&mut survey);
    survey.plain && survey.bytes == size_of::<T>()
}

/// Adds up the bytes that mean something, and looks for such that cannot be anything.
struct Survey {
    plain: bool,
    bytes: usize,
}

impl BlobVisitor for Survey {
    fn bits<T: BlobData>(&mut self, _: &'static str) {
        self.bytes += size_of::<T>();
    }

    fn boolean(&mut self) {
        self.plain = false;
    }

    fn character(&mut self) {
        self.plain = false;
    }

    fn variants<T: BlobData, I: BlobData>(&mut self, _: &'static str, _: &[(&'static str, i128)]) {
        self.plain = false;
    }

    fn repeat<T: BlobData>(&mut self, count: usize) {
        if is_plain::<T>() {
            self.bytes += size_of::<T>() * count;
        } else {
            self.plain = false;
        }
    }

    fn structure<T: BlobData>(&mut self, _: &'static str) {}

    fn field<S: BlobData, F: BlobData>(&mut self, _: &'static str, _: usize, _: fn(&S) -> &F) {
        F::visit(self);
    }

    fn array<T: BlobData>(&mut self) {
        self.plain = false;
    }

    fn string(&mut self) {
        self.plain = false;
    }

    fn pointer<T: BlobData>(&mut self) {
        self.plain = false;
    }
}
