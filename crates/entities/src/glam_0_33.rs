//! Conversions between the types of glam 0.33 and those of the glam that ancho uses.
//!
//! Libraries such as rapier, parry and bevy_math use glam 0.33. Its types implement [`Field`](crate::Field), so components can
//! contain them. They are not the types of newer versions, so values are converted: [`to_glam`](ToGlam::to_glam) converts a value of
//! glam 0.33, and [`to_glam_0_33`](ToGlam033::to_glam_0_33) converts in the other direction. Both keep all bits.
//!
//! # Examples
//!
//! ```
//! use ancho_entities::glam_0_33::{ToGlam, ToGlam033};
//! # use glam_0_33 as their_glam;
//!
//! let theirs = their_glam::Vec2::new(1.0, 2.0);
//! let ours: glam::Vec2 = theirs.to_glam();
//! assert_eq!(ours, glam::Vec2::new(1.0, 2.0));
//! assert_eq!(ours.to_glam_0_33(), theirs);
//! ```

/// Conversion from glam 0.33 to the glam that ancho uses.
pub trait ToGlam {
    /// The type of the same name.
    type Output;

    /// Converts the value, and keeps all bits.
    fn to_glam(self) -> Self::Output;
}

/// Conversion from the glam that ancho uses to glam 0.33.
pub trait ToGlam033 {
    /// The type of the same name.
    type Output;

    /// Converts the value, and keeps all bits.
    fn to_glam_0_33(self) -> Self::Output;
}

/// Implements both conversions, through the numbers of a value as an array.
macro_rules! conversions {
    ($($name:ident: |$value:ident| $numbers:expr, |$array:ident| $made:ident($from:expr);)*) => {
        $(
            impl ToGlam for ::glam_0_33::$name {
                type Output = glam::$name;

                #[inline]
                fn to_glam(self) -> glam::$name {
                    let $value = self;
                    let $array = $numbers;
                    glam::$name::$made($from)
                }
            }

            impl ToGlam033 for glam::$name {
                type Output = ::glam_0_33::$name;

                #[inline]
                fn to_glam_0_33(self) -> ::glam_0_33::$name {
                    let $value = self;
                    let $array = $numbers;
                    ::glam_0_33::$name::$made($from)
                }
            }
        )*
    };
}

/// Implements the conversions of vectors and quaternions.
macro_rules! vectors {
    ($($name:ident)*) => {
        conversions! {$($name: |value| value.to_array(), |array| from_array(array);)*}

        #[test]
        fn vectors_keep_their_numbers() {
            $({
                let value = glam::$name::from_array(std::array::from_fn(|index| (index as u8).into()));
                assert_eq!(value.to_glam_0_33().to_array(), value.to_array(), stringify!($name));
                assert_eq!(value.to_glam_0_33().to_glam(), value, stringify!($name));
            })*
        }
    };
}

vectors! {
    Vec2 Vec3 Vec3A Vec4 Quat DVec2 DVec3 DVec4 DQuat IVec2 IVec3 IVec4 UVec2 UVec3 UVec4
}

/// Implements the conversions of matrices and affine transforms.
macro_rules! matrices {
    ($($name:ident)*) => {
        conversions! {$($name: |value| value.to_cols_array(), |array| from_cols_array(&array);)*}

        #[test]
        fn matrices_keep_their_numbers() {
            $({
                let numbers = std::array::from_fn(|index| (index as u8).into());
                let value = glam::$name::from_cols_array(&numbers);
                assert_eq!(value.to_glam_0_33().to_cols_array(), numbers, stringify!($name));
                assert_eq!(value.to_glam_0_33().to_glam(), value, stringify!($name));
            })*
        }
    };
}

matrices! {
    Mat2 Mat3 Mat3A Mat4 Affine2 Affine3 Affine3A DMat2 DMat3 DMat4 DAffine2 DAffine3
}

conversions! {
    BVec2: |value| [value.x, value.y], |array| from_array(array);
    BVec3: |value| [value.x, value.y, value.z], |array| from_array(array);
    BVec4: |value| [value.x, value.y, value.z, value.w], |array| from_array(array);
}
