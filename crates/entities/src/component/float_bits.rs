//! Comparison of floats by their bits, for shared components with `#[shared(float_bits)]`.

use std::hash::{Hash, Hasher};

/// A field whose values are compared. The derive calls the methods of [`SameValue`] if the type is `Eq` and `Hash`, and otherwise those
/// of [`SameBits`].
#[derive(Debug)]
pub struct FloatBits<'a, T: ?Sized>(pub &'a T);

/// Compares values by `Eq` and `Hash`.
pub trait SameValue<T: ?Sized> {
    /// Returns whether two values are the same.
    fn __ancho_is_same(&self, other: &T) -> bool;

    /// Hashes the value.
    fn __ancho_hash<H: Hasher>(&self, state: &mut H);
}

impl<T: Eq + Hash + ?Sized> SameValue<T> for FloatBits<'_, T> {
    fn __ancho_is_same(&self, other: &T) -> bool {
        self.0 == other
    }

    fn __ancho_hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Compares values by the bits of their floats.
pub trait SameBits<T: ?Sized> {
    /// Returns whether two values have the same bits.
    fn __ancho_is_same(&self, other: &T) -> bool;

    /// Hashes the bits.
    fn __ancho_hash<H: Hasher>(&self, state: &mut H);
}

impl<T: Floats + ?Sized> SameBits<T> for &FloatBits<'_, T> {
    fn __ancho_is_same(&self, other: &T) -> bool {
        self.0.is_same(other)
    }

    fn __ancho_hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash_bits(state);
    }
}

/// A type that consists of floats.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has neither `Eq` and `Hash` nor floats that can be compared by bits",
    label = "not a float, an array, an option or a tuple of floats, or a type of glam",
    note = "implement `Eq` and `Hash` for the type of the field"
)]
pub trait Floats {
    /// Returns whether two values have the same bits.
    fn is_same(&self, other: &Self) -> bool;

    /// Hashes the bits.
    fn hash_bits<H: Hasher>(&self, state: &mut H);
}

macro_rules! floats {
    ($($name:ty),*) => {$(
        impl Floats for $name {
            fn is_same(&self, other: &Self) -> bool {
                self.to_bits() == other.to_bits()
            }

            fn hash_bits<H: Hasher>(&self, state: &mut H) {
                self.to_bits().hash(state);
            }
        }
    )*};
}

floats!(f32, f64);

impl<T: Floats> Floats for [T] {
    fn is_same(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(left, right)| left.is_same(right))
    }

    fn hash_bits<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len());
        self.iter().for_each(|value| value.hash_bits(state));
    }
}

impl<T: Floats, const N: usize> Floats for [T; N] {
    fn is_same(&self, other: &Self) -> bool {
        self.as_slice().is_same(other)
    }

    fn hash_bits<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash_bits(state);
    }
}

impl<T: Floats> Floats for Vec<T> {
    fn is_same(&self, other: &Self) -> bool {
        self.as_slice().is_same(other)
    }

    fn hash_bits<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash_bits(state);
    }
}

impl<T: Floats> Floats for Option<T> {
    fn is_same(&self, other: &Self) -> bool {
        self.as_slice().is_same(other.as_slice())
    }

    fn hash_bits<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash_bits(state);
    }
}

#[cfg(feature = "glam")]
mod glam_types {
    use super::{Floats, Hash, Hasher};

    macro_rules! by_numbers {
        ($($name:ident)*, $numbers:ident) => {$(
            impl Floats for glam::$name {
                fn is_same(&self, other: &Self) -> bool {
                    self.$numbers().is_same(&other.$numbers())
                }

                fn hash_bits<H: Hasher>(&self, state: &mut H) {
                    self.$numbers().map(|number| number.to_bits()).hash(state);
                }
            }
        )*};
    }

    by_numbers!(Vec2 Vec3 Vec3A Vec4 Quat DVec2 DVec3 DVec4 DQuat, to_array);
    by_numbers!(Mat2 Mat3 Mat3A Mat4 Affine2 Affine3A DMat2 DMat3 DMat4 DAffine2 DAffine3, to_cols_array);
}
