//! Commands for slices of entities.
//!
//! All of the entities are looked at before the first is changed.

use std::fmt;
use std::marker::PhantomData;
use std::mem;

use super::change::{Add, Remove, Set, duplicate_set};
use super::command::{Elements, Given, ListCommand, TypeNames};
use super::play::{Fault, Player, resolve_entities};
use super::recorder::CommandRecorder;
use super::verb::Kind;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::set::{CloneSet, ComponentSet};
use crate::shared::{Shared, SharedComponent};
use crate::storage::SetOperation;

impl CommandRecorder {
    /// Destroys entities.
    pub fn despawn_slice(&mut self, entities: &[Entity]) {
        self.record_list(Entity::NULL, DespawnSlice, entities.iter().copied());
    }

    /// Gives each of the entities clones of components.
    ///
    /// If one of them is refused when this is played, none is changed, unless there is no memory, or a strict world refuses one that is
    /// named twice: then those before it are.
    pub fn add_to_slice<S: CloneSet>(&mut self, entities: &[Entity], set: S) {
        self.record_list(Entity::NULL, AddToSlice(set), entities.iter().copied());
    }

    /// Replaces components of each of the entities by clones of these.
    ///
    /// If one of them is refused when this is played, none is changed, unless there is no memory: then those before it are.
    pub fn set_slice<S: CloneSet>(&mut self, entities: &[Entity], set: S) {
        self.record_list(Entity::NULL, SetSlice(set), entities.iter().copied());
    }

    /// Removes components from each of the entities, as far as it has them.
    ///
    /// As [`add_to_slice`](Self::add_to_slice): all of them are changed, or none.
    pub fn remove_from_slice<S: ComponentSet>(&mut self, entities: &[Entity]) {
        let command = RemoveFromSlice::<S>(PhantomData);
        self.record_list(Entity::NULL, command, entities.iter().copied());
    }

    /// Replaces the value of a shared component of each of the entities. As
    /// [`Batch::set_shared`](crate::Batch::set_shared): whole chunks stay where they are.
    pub fn set_shared_slice<T: SharedComponent>(&mut self, entities: &[Entity], value: T) {
        let command = SetSharedSlice(Shared::new(value));
        self.record_list(Entity::NULL, command, entities.iter().copied());
    }
}

/// Puts what the targets stand for in the player's list.
fn find_targets(player: &mut Player<'_>, targets: &Elements<'_, Entity>) -> Result<(), Fault> {
    player.list.clear();
    for &target in targets.as_slice() {
        let entity = player.target(target)?;
        player.list.push(entity);
    }
    Ok(())
}

/// Refuses all of the player's list if one of them cannot be changed so.
pub(super) fn check_list<S: ComponentSet>(
    player: &mut Player<'_>,
    change: SetOperation,
) -> Result<(), Fault> {
    let Player { entities, list, .. } = player;
    entities.check_changes::<S>(list, change)?;
    Ok(())
}

/// Calls a function with each entity of the player's list.
pub(super) fn for_each_of_list(
    player: &mut Player<'_>,
    mut function: impl FnMut(&mut Player<'_>, Entity) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let list = mem::take(&mut player.list);
    let result = list.iter().try_for_each(|&entity| function(player, entity));
    player.list = list;
    result
}

fn each_of(targets: &Elements<'_, Entity>, each: &mut dyn FnMut(Entity)) {
    targets.as_slice().iter().for_each(|&target| each(target));
}

struct DespawnSlice;

impl ListCommand for DespawnSlice {
    type Element = Entity;

    const KIND: Kind = Kind::Despawn;

    fn play(
        self,
        targets: Elements<'_, Entity>,
        player: &mut Player<'_>,
        _: Entity,
    ) -> Result<(), Fault> {
        find_targets(player, &targets)?;
        player.entities.despawn_slice(&player.list)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self)
    }

    fn describe(count: usize, _: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "despawn {count} entities")
    }

    fn named(targets: Elements<'_, Entity>, _: Entity, each: &mut dyn FnMut(Entity)) {
        each_of(&targets, each);
    }
}

/// Implements the commands that give each entity a set.
macro_rules! give_slice {
    ($name:ident, $one:ident, $change:expr, $words:literal) => {
        struct $name<S>(S);

        impl<S: CloneSet> ListCommand for $name<S> {
            type Element = Entity;

            const KIND: Kind = Kind::Touch;

            fn play(
                mut self,
                targets: Elements<'_, Entity>,
                player: &mut Player<'_>,
                _: Entity,
            ) -> Result<(), Fault> {
                find_targets(player, &targets)?;
                check_list::<S>(player, $change)?;
                if S::HAS_ENTITIES && !player.list.is_empty() {
                    resolve_entities(player.resolved, &mut self.0)?;
                }
                for_each_of_list(player, |player, entity| {
                    $one(self.0.clone_set()).give(player, entity)
                })
            }

            fn duplicate(&mut self) -> Result<Self, Fault> {
                duplicate_set(&mut self.0).map(Self)
            }

            fn describe(count: usize, _: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $words, TypeNames(S::types), count)
            }

            fn named(targets: Elements<'_, Entity>, _: Entity, each: &mut dyn FnMut(Entity)) {
                each_of(&targets, each);
            }

            fn gives(_: Elements<'_, Entity>, given: &mut Given<'_>) {
                given.add_set::<S>();
            }
        }
    };
}

give_slice!(AddToSlice, Add, SetOperation::Add, "add {} to {} entities");
give_slice!(SetSlice, Set, SetOperation::Set, "set {} of {} entities");

struct RemoveFromSlice<S>(PhantomData<fn() -> S>);

impl<S: ComponentSet> ListCommand for RemoveFromSlice<S> {
    type Element = Entity;

    const KIND: Kind = Kind::Remove;

    fn play(
        self,
        targets: Elements<'_, Entity>,
        player: &mut Player<'_>,
        _: Entity,
    ) -> Result<(), Fault> {
        find_targets(player, &targets)?;
        check_list::<S>(player, SetOperation::Remove)?;
        for_each_of_list(player, Remove::<S>::take)
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self(PhantomData))
    }

    fn describe(count: usize, _: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "remove {} from {count} entities", TypeNames(S::types))
    }

    fn named(targets: Elements<'_, Entity>, _: Entity, each: &mut dyn FnMut(Entity)) {
        each_of(&targets, each);
    }
}

struct SetSharedSlice<T>(Shared<T>);

impl<T: SharedComponent> ListCommand for SetSharedSlice<T> {
    type Element = Entity;

    const KIND: Kind = Kind::Touch;

    fn play(
        mut self,
        targets: Elements<'_, Entity>,
        player: &mut Player<'_>,
        _: Entity,
    ) -> Result<(), Fault> {
        find_targets(player, &targets)?;
        if !player.list.is_empty() {
            resolve_entities(player.resolved, &mut self.0)?;
        }
        let ty = ComponentType::of_shared::<T>();
        player.entities.set_shared_for_all(&player.list, ty, &self.0.into_erased())?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self(self.0.clone()))
    }

    fn describe(count: usize, _: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set `{}` of {count} entities", ComponentType::of_shared::<T>())
    }

    fn named(targets: Elements<'_, Entity>, _: Entity, each: &mut dyn FnMut(Entity)) {
        each_of(&targets, each);
    }
}
