//! The components that only these cases have; the others are those of part `storage`.

use ancho_entities::Component as AnchoComponent;
use bevy_ecs::component::Component as BevyComponent;
use flecs_ecs::prelude::*;
use shipyard::Component as ShipyardComponent;

use crate::parts::storage::types::components;
pub(super) use crate::parts::storage::types::{A, B, Position, Velocity};

components! {
    C(f32)
    D(f32)
    E(f32)
}

/// A component value that systems swap.
pub(super) trait Value: Copy + Send + Sync + 'static {
    fn value(&mut self) -> &mut f32;
}

macro_rules! values {
    ($($name:ident)*) => {$(
        impl Value for $name {
            #[inline]
            fn value(&mut self) -> &mut f32 {
                &mut self.0
            }
        }
    )*};
}

values! { A B C D E }
