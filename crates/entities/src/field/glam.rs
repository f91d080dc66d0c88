//! `Field` for the types of `glam`.
#![expect(unsafe_code, reason = "says what vectors and matrices consist of")]

use glam::{
    Affine2, Affine3, Affine3A, BVec2, BVec3, BVec4, DAffine2, DAffine3, DMat2, DMat3, DMat4,
    DQuat, DVec2, DVec3, DVec4, IVec2, IVec3, IVec4, Mat2, Mat3, Mat3A, Mat4, Quat, UVec2, UVec3,
    UVec4, Vec2, Vec3, Vec3A, Vec4,
};

use super::{EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher};

/// Implements `Field` for types whose fields are contiguous from the first byte, as in all types of `glam`.
///
/// `offset_of!` cannot see them: with SIMD, many types expose their fields only through `Deref`. The test below compares their
/// addresses. Some types have padding behind the fields (`Vec3A`, `Affine2`), which `Shape` detects by their size.
macro_rules! side_by_side {
    ($($name:ident { $($field:ident: $ty:ty),* })*) => {
        $(
            // SAFETY:
            // - the listed fields are all fields, contiguous from the first byte
            // - the properties of the bytes follow from the fields; any numbers are a valid value
            unsafe impl Field for $name {
                const SHAPE: &'static Shape = &Shape::new::<Self>(
                    stringify!($name),
                    FieldKind::Struct(&placed([$(FieldShape::new::<$ty>(stringify!($field), 0)),*])),
                );

                #[inline]
                fn hash_state(&self, state: &mut StateHasher) {
                    $(self.$field.hash_state(state);)*
                }

                #[inline]
                fn remap(&mut self, _: &mut EntityRemap<'_>) {}
            }
        )*

        #[test]
        fn fields_are_where_their_shapes_say() {
            $(
                let value = $name::default();
                let at = |address: usize| address - (&raw const value).addr();
                let fields = [$((stringify!($field), at((&raw const value.$field).addr()))),*];
                let shapes = $name::SHAPE.fields().iter().map(|field| (field.name, field.offset));
                assert_eq!(shapes.collect::<Vec<_>>(), fields, stringify!($name));
            )*
        }
    };
}

/// Assigns contiguous offsets to the fields.
const fn placed<const N: usize>(mut fields: [FieldShape; N]) -> [FieldShape; N] {
    let (mut index, mut offset) = (0, 0);
    while index < N {
        fields[index].offset = offset;
        offset += fields[index].shape.size;
        index += 1;
    }
    fields
}

side_by_side! {
    Vec2 { x: f32, y: f32 }
    Vec3 { x: f32, y: f32, z: f32 }
    Vec3A { x: f32, y: f32, z: f32 }
    Vec4 { x: f32, y: f32, z: f32, w: f32 }
    Quat { x: f32, y: f32, z: f32, w: f32 }
    Mat2 { x_axis: Vec2, y_axis: Vec2 }
    Mat3 { x_axis: Vec3, y_axis: Vec3, z_axis: Vec3 }
    Mat3A { x_axis: Vec3A, y_axis: Vec3A, z_axis: Vec3A }
    Mat4 { x_axis: Vec4, y_axis: Vec4, z_axis: Vec4, w_axis: Vec4 }
    Affine2 { matrix2: Mat2, translation: Vec2 }
    Affine3 { matrix3: Mat3, translation: Vec3 }
    Affine3A { matrix3: Mat3A, translation: Vec3A }
    DVec2 { x: f64, y: f64 }
    DVec3 { x: f64, y: f64, z: f64 }
    DVec4 { x: f64, y: f64, z: f64, w: f64 }
    DQuat { x: f64, y: f64, z: f64, w: f64 }
    DMat2 { x_axis: DVec2, y_axis: DVec2 }
    DMat3 { x_axis: DVec3, y_axis: DVec3, z_axis: DVec3 }
    DMat4 { x_axis: DVec4, y_axis: DVec4, z_axis: DVec4, w_axis: DVec4 }
    DAffine2 { matrix2: DMat2, translation: DVec2 }
    DAffine3 { matrix3: DMat3, translation: DVec3 }
    IVec2 { x: i32, y: i32 }
    IVec3 { x: i32, y: i32, z: i32 }
    IVec4 { x: i32, y: i32, z: i32, w: i32 }
    UVec2 { x: u32, y: u32 }
    UVec3 { x: u32, y: u32, z: u32 }
    UVec4 { x: u32, y: u32, z: u32, w: u32 }
    BVec2 { x: bool, y: bool }
    BVec3 { x: bool, y: bool, z: bool }
    BVec4 { x: bool, y: bool, z: bool, w: bool }
}
