//! The components that only this part has; the others are those of part `storage`.

use ancho_entities::Component as AnchoComponent;
use bevy_ecs::component::Component as BevyComponent;
use flecs_ecs::prelude::*;
use shipyard::Component as ShipyardComponent;

pub(super) use crate::parts::storage::types::*;

components! {
    C(f32)
    D(f32)
    // The common component of the fragments.
    Data(f32)
}

marks! { MarkV MarkW MarkX MarkY MarkZ }

/// A tag.
#[derive(
    Clone, Copy, Debug, Default, AnchoComponent, BevyComponent, Component, ShipyardComponent,
)]
pub(super) struct Tag;

/// Creates an array of 26 instances of a generic function, one for each mark.
macro_rules! all_marks {
    ($function:ident) => {{
        use $crate::parts::iterate::types::*;
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
            $function::<MarkU>,
            $function::<MarkV>,
            $function::<MarkW>,
            $function::<MarkX>,
            $function::<MarkY>,
            $function::<MarkZ>,
        ]
    }};
}
pub(super) use all_marks;
