//! Types that can be in a blob.
#![expect(unsafe_code, reason = "says which types consist of nothing but checked bytes")]

/// A type that can be in a blob: plain values without pointers, and the blob types.
///
/// These are the integers of fixed size, `f32` and `f64`, `bool`, `char`, arrays `[T; N]`,
/// [`BlobArray`](crate::BlobArray), [`BlobString`](crate::BlobString) and
/// [`BlobPtr`](crate::BlobPtr). `#[derive(BlobData)]` adds structs of these with `#[repr(C)]`, and
/// enums without fields with `#[repr(u8)]` or another integer. `usize` is missing because its size
/// differs between machines.
///
/// Implement the trait with the derive only: its items are not part of the public interface, and
/// may change. The derive refuses references, boxes, unions, types with a `Drop` and alignments
/// above 16.
///
/// Loading a blob makes values of these types from bytes. Each field is checked to be valid, but
/// invariants between private fields are not.
///
/// # Safety
///
/// - `visit` reports the type to its visitor by one call: each field of a struct with its offset
///   and type, without omissions.
/// - Any bytes that are valid for the reported parts are a valid value, for any padding bytes.
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
    /// Reports the parts of the type.
    #[doc(hidden)]
    fn visit<V: BlobVisitor>(visitor: &mut V);
}

/// Visitor of the parts of a type. Used by the derive.
///
/// A type calls one of the methods, once. A struct calls [`structure`](Self::structure), and then
/// [`field`](Self::field) for each field.
#[doc(hidden)]
pub trait BlobVisitor {
    /// Reports a number, for which any bits are valid.
    fn bits<T: BlobData>(&mut self, name: &'static str);

    /// Reports a `bool`.
    fn boolean(&mut self);

    /// Reports a `char`.
    fn character(&mut self);

    /// Reports an enum without fields: the names and the values of its variants. The enum begins
    /// with the integer `I`, which holds the value. Bytes after the integer, which `align` adds,
    /// are padding.
    fn variants<T: BlobData, I: BlobData>(
        &mut self,
        name: &'static str,
        variants: &[(&'static str, i128)],
    );

    /// Reports a `[T; count]`.
    fn repeat<T: BlobData>(&mut self, count: usize);

    /// Reports a struct. Calls of [`field`](Self::field) for its fields follow. Most visitors use
    /// only the fields.
    fn structure<T: BlobData>(&mut self, name: &'static str) {
        _ = name;
    }

    /// Reports a field of the struct `S`. The function is not called: the compiler infers `F` from
    /// its type, so that the derive need not interpret tokens.
    fn field<S: BlobData, F: BlobData>(
        &mut self,
        name: &'static str,
        offset: usize,
        project: fn(&S) -> &F,
    );

    /// Reports a `BlobArray<T>`.
    fn array<T: BlobData>(&mut self);

    /// Reports a `BlobString`.
    fn string(&mut self);

    /// Reports a `BlobPtr<T>`.
    fn pointer<T: BlobData>(&mut self);
}

macro_rules! numbers {
    ($($number:ident),+) => {$(
        // SAFETY: `visit` reports the type as a number, for which any bits are a value. It has no
        // cells, pointers or destructor.
        unsafe impl BlobData for $number {
            fn visit<V: BlobVisitor>(visitor: &mut V) {
                visitor.bits::<Self>(stringify!($number));
            }
        }
    )+};
}

numbers!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64);

// SAFETY: `visit` reports the type as a `bool`, which is 0 or 1. It has no cells, pointers or
// destructor.
unsafe impl BlobData for bool {
    fn visit<V: BlobVisitor>(visitor: &mut V) {
        visitor.boolean();
    }
}

// SAFETY: `visit` reports the type as a `char`, and any bytes that are valid for a `char` are one.
// It has no cells, pointers or destructor.
unsafe impl BlobData for char {
    fn visit<V: BlobVisitor>(visitor: &mut V) {
        visitor.character();
    }
}

// SAFETY: `visit` reports the array by one call: `N` values of `T`, without gaps. Any bytes that
// are valid for these values are a valid array. The array has no cells, pointers or destructor,
// since `T` has none.
unsafe impl<T: BlobData, const N: usize> BlobData for [T; N] {
    fn visit<V: BlobVisitor>(visitor: &mut V) {
        visitor.repeat::<T>(N);
    }
}

/// Maximum alignment of a blob and its values.
pub(super) const MAX_ALIGN: usize = 16;

/// Refuses types that a block cannot hold, at compile time.
///
/// The derive also refuses such types, except for generic ones.
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
            "this type needs an alignment of more than 16 bytes, which blobs do not have"
        );
        assert!(size_of::<T>() as u64 <= u32::MAX as u64, "a blob is at most 4 GiB large");
    }
}

/// Refuses zero-sized types as targets of pointers, at compile time.
///
/// Zero-sized values would have no place of their own, and a few untrusted bytes could claim
/// billions of them.
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

/// Returns whether all bit patterns are valid values of `T`, and `T` has no padding and no pointers.
pub(super) fn is_plain<T: BlobData>() -> bool {
    let mut survey = Survey { plain: true, bytes: 0 };
    T::visit(&mut survey);
    survey.plain && survey.bytes == size_of::<T>()
}

/// Adds up the significant bytes, and looks for types with invalid bit patterns.
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
