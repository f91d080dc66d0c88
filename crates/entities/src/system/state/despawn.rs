//! Components that despawn their entities at transitions.

#![expect(unsafe_code, reason = "describes the field of a component")]

use super::States;
use crate::component::{Component, Duplicate, Mutable, generic_name};
use crate::entity::Entity;
use crate::field::{
    EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher, ValueError, ValueReader,
    ValueWriter, read_newtype, write_newtype,
};
use crate::query::{IgnoreEnabled, IncludeDisabled};
use crate::world::World;

/// Despawns the entity when a state leaves a value, after the exit systems.
///
/// Disabled entities are despawned too, and prefabs are not: their instances have the component. Linked entities are despawned with
/// the entity. If the world does not have the state, the next update reports A0232.
///
/// # Examples
///
/// ```
/// use ancho_entities::{DespawnOnExit, States, World};
///
/// #[derive(States, Clone, Debug, PartialEq)]
/// enum Game {
///     Menu,
///     Running,
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_state(Game::Menu);
/// world.spawn(DespawnOnExit(Game::Menu));
/// world.set_state(Game::Running)?;
/// world.update(0.1);
/// assert_eq!(world.entity_count(), 0);
/// # Ok::<(), ancho_entities::SystemError>(())
/// ```
#[doc(alias = "StateScoped")]
#[derive(Clone, Debug, PartialEq)]
#[repr(transparent)]
pub struct DespawnOnExit<S: States>(pub S);

/// Despawns the entity when a state enters a value, after the exit systems and before the enter systems. See [`DespawnOnExit`].
#[derive(Clone, Debug, PartialEq)]
#[repr(transparent)]
pub struct DespawnOnEnter<S: States>(pub S);

/// The beginning of the names of these components.
pub(super) const PREFIX: &str = "ancho::DespawnOn";

/// Implements the traits that the derives would implement.
macro_rules! implement {
    ($name:ident) => {
        // SAFETY: the only field is at offset 0, and the type has no other bytes.
        unsafe impl<S: States> Field for $name<S> {
            const SHAPE: &'static Shape = &Shape::new::<Self>(
                stringify!($name),
                FieldKind::Struct(&[FieldShape::new::<S>("0", 0)]),
            );

            fn hash_state(&self, state: &mut StateHasher) {
                self.0.hash_state(state);
            }

            fn remap(&mut self, map: &mut EntityRemap<'_>) {
                self.0.remap(map);
            }

            fn write_value(&self, out: &mut dyn ValueWriter) {
                write_newtype(&self.0, out);
            }

            fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
                read_newtype(Self::SHAPE.fields(), from).map(Self)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<S: States> Mutable for $name<S> {}

        #[diagnostic::do_not_recommend]
        impl<S: States> Component for $name<S> {
            fn name() -> &'static str {
                generic_name::<Self>(concat!("ancho::", stringify!($name)))
            }

            fn duplicate() -> Duplicate<Self> {
                Duplicate::clone()
            }
        }
    };
}

implement!(DespawnOnExit);
implement!(DespawnOnEnter);

/// Despawns the entities that refer to the old value as left, or to the new value as entered.
pub(super) fn despawn<S: States>(world: &mut World, old: Option<&S>, new: Option<&S>) {
    let mut gone: Vec<Entity> = Vec::new();
    if let Some(old) = old {
        let all =
            world.query_filtered::<(Entity, &DespawnOnExit<S>), (IncludeDisabled, IgnoreEnabled)>();
        let left = all.iter().filter(|(_, on_exit)| on_exit.0 == *old);
        gone.extend(left.map(|(entity, _)| entity));
    }
    if let Some(new) = new {
        let all = world
            .query_filtered::<(Entity, &DespawnOnEnter<S>), (IncludeDisabled, IgnoreEnabled)>();
        let entered = all.iter().filter(|(_, on_enter)| on_enter.0 == *new);
        gone.extend(entered.map(|(entity, _)| entity));
    }
    for entity in gone {
        // It may have been despawned with an entity that it is linked to.
        let _ = world.despawn(entity);
    }
}
