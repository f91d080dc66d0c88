//! The components, which are the same for every subject.

use ancho_entities::Component as AnchoComponent;
use bevy_ecs::component::Component as BevyComponent;
use flecs_ecs::prelude::*;
use glam::{Mat4, Vec3};
use shipyard::Component as ShipyardComponent;

/// Declares components: newtypes of plain data, with the derives of each library. (hecs and legion need none.)
macro_rules! components {
    ($($name:ident($inner:ty))*) => {$(
        #[derive(Clone, Copy, Debug, Default, PartialEq, AnchoComponent, BevyComponent, Component, ShipyardComponent)]
        pub(in crate::parts) struct $name(pub(in crate::parts) $inner);
    )*};
}
pub(in crate::parts) use components;

components! {
    Transform(Mat4)
    Position(Vec3)
    Rotation(Vec3)
    Velocity(Vec3)
    A(f32)
    B(f32)
    // 64 bytes each.
    Payload0([f32; 16])
    Payload1([f32; 16])
    Payload2([f32; 16])
    Payload3([f32; 16])
    Payload4([f32; 16])
}

/// A mark: one of many small component types, from which many archetypes are created.
pub(in crate::parts) trait Mark: Copy + Send + Sync + 'static {
    fn new(value: f32) -> Self;
}

macro_rules! marks {
    ($($name:ident)*) => {
        components! { $($name(f32))* }

        $(impl Mark for $name {
            fn new(value: f32) -> Self {
                Self(value)
            }
        })*
    };
}
pub(in crate::parts) use marks;

marks! {
    MarkA MarkB MarkC MarkD MarkE MarkF MarkG MarkH MarkI MarkJ MarkK MarkL MarkM
    MarkN MarkO MarkP MarkQ MarkR MarkS MarkT MarkU
}

/// Creates an array of twenty instances of a generic function, one for each of the first marks.
macro_rules! twenty_marks {
    ($function:ident) => {{
        use $crate::parts::storage::types::*;
        [
            $function::<MarkA>,
            $function::<MarkB>,
            $function::<MarkC>,
            $function::<MarkD>,
            $function::<MarkE>,
            $function::<MarkF>,
            $function::<MarkG>,
            $function::<MarkH>,
            $function::<MarkI>,
            $function::<MarkJ>,
            $function::<MarkK>,
            $function::<MarkL>,
            $function::<MarkM>,
            $function::<MarkN>,
            $function::<MarkO>,
            $function::<MarkP>,
            $function::<MarkQ>,
            $function::<MarkR>,
            $function::<MarkS>,
            $function::<MarkT>,
        ]
    }};
}
pub(in crate::parts) use twenty_marks;
