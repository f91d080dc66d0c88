//! Commands that change entities.

use std::fmt;
use std::marker::PhantomData;
use std::mem;

use super::command::{Command, CommandRun, Elements, Given, ListCommand, TypeNames};
use super::fold::Folding;
use super::play::{Fault, Player, resolve_by, resolve_entities};
use super::recorder::CommandRecorder;
use super::verb::{Deed, Kind, deed_with};
use crate::buffer::{BufferElement, DynamicBuffer};
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::{Archetype, EntityManager};
use crate::set::ComponentSet;
use crate::shared::{Shared, SharedComponent};
use crate::storage::{SetOperation, StagingArena};

impl CommandRecorder {
    /// Destroys an entity, as [`EntityManager::despawn`](crate::EntityManager::despawn) does.
    #[inline(always)]
    pub fn despawn(&mut self, entity: Entity) {
        self.record(entity, Despawn);
    }

    /// Gives an entity components; those that it has already are replaced. As
    /// [`EntityManager::add`](crate::EntityManager::add).
    #[inline(always)]
    pub fn add<S: ComponentSet>(&mut self, entity: Entity, set: S) {
        self.record(entity, Add(set));
    }

    /// Replaces components of an entity, which has all of them. As [`EntityManager::set`](crate::EntityManager::set).
    #[inline(always)]
    pub fn set<S: ComponentSet>(&mut self, entity: Entity, set: S) {
        self.record(entity, Set(set));
    }

    /// Removes components from an entity, as far as it has them. As [`EntityManager::remove`](crate::EntityManager::remove).
    #[inline(always)]
    pub fn remove<S: ComponentSet>(&mut self, entity: Entity) {
        self.record(entity, Remove::<S>(PhantomData));
    }

    /// Gives an entity those of the components that it lacks, with their defaults. As
    /// [`EntityManager::add_types`](crate::EntityManager::add_types).
    pub fn add_types(&mut self, entity: Entity, types: &[ComponentType]) {
        self.record_list(entity, AddTypes, types.iter().copied());
    }

    /// Removes components from an entity, as far as it has them. As
    /// [`EntityManager::remove_types`](crate::EntityManager::remove_types).
    pub fn remove_types(&mut self, entity: Entity, types: &[ComponentType]) {
        self.record_list(entity, RemoveTypes, types.iter().copied());
    }

    /// Gives an entity a shared component, or another value of it.
    ///
    /// The value is put where it can be shared, which takes memory each time. To [`add`](Self::add) a clone of a [`Shared`] that is kept
    /// takes none, unless there is a placeholder in it: then a clone of the value takes its place.
    pub fn add_shared<T: SharedComponent>(&mut self, entity: Entity, value: T) {
        self.add(entity, Shared::new(value));
    }

    /// Replaces the value of an entity's shared component.
    ///
    /// As [`add_shared`](Self::add_shared): a clone of a [`Shared`] takes no memory.
    pub fn set_shared<T: SharedComponent>(&mut self, entity: Entity, value: T) {
        self.set(entity, Shared::new(value));
    }

    /// Removes a shared component from an entity.
    pub fn remove_shared<T: SharedComponent>(&mut self, entity: Entity) {
        self.remove::<Shared<T>>(entity);
    }

    /// Gives an entity a buffer with these elements; one that it has is replaced.
    pub fn add_buffer<T: BufferElement>(
        &mut self,
        entity: Entity,
        elements: impl IntoIterator<Item = T>,
    ) {
        self.record_list(entity, AddBuffer::<T>(PhantomData), elements);
    }

    /// Replaces the elements of an entity's buffer.
    pub fn set_buffer<T: BufferElement>(
        &mut self,
        entity: Entity,
        elements: impl IntoIterator<Item = T>,
    ) {
        self.record_list(entity, SetBuffer::<T>(PhantomData), elements);
    }

    /// Adds an element to an entity's buffer, which it has.
    pub fn append<T: BufferElement>(&mut self, entity: Entity, element: T) {
        self.record(entity, Append(element));
    }

    /// Switches a component of an entity on or off. As
    /// [`EntityManager::set_component_enabled`](crate::EntityManager::set_component_enabled).
    pub fn set_component_enabled<T: Component>(&mut self, entity: Entity, enabled: bool) {
        self.set_type_enabled(entity, ComponentType::of::<T>(), enabled);
    }

    /// Switches a component of an entity on or off. As
    /// [`EntityManager::set_type_enabled`](crate::EntityManager::set_type_enabled).
    pub fn set_type_enabled(&mut self, entity: Entity, ty: ComponentType, enabled: bool) {
        self.record(entity, SetTypeEnabled { ty, enabled });
    }

    /// Lets an entity take part or not, with its group. As [`EntityManager::set_enabled`](crate::EntityManager::set_enabled).
    pub fn set_enabled(&mut self, entity: Entity, enabled: bool) {
        self.record(entity, SetEnabled(enabled));
    }

    /// Moves an entity to an archetype of the world in which this is played: what both have is kept. As
    /// [`EntityManager::set_archetype`](crate::EntityManager::set_archetype).
    pub fn set_archetype(&mut self, entity: Entity, archetype: Archetype) {
        self.record(entity, SetArchetype(archetype));
    }

    /// Exchanges all components of two entities. As [`EntityManager::swap_components`](crate::EntityManager::swap_components).
    pub fn swap_components(&mut self, left: Entity, right: Entity) {
        self.record(left, SwapComponents { other: right });
    }

    /// Gives an entity a name, which messages and tools show. An empty one takes it away.
    pub fn set_name(&mut self, entity: Entity, name: &str) {
        self.record_list(entity, SetName, name.bytes());
    }
}

pub(super) fn duplicate_set<S: ComponentSet>(set: &mut S) -> Result<S, Fault> {
    set.duplicate_set().map_err(|component| Fault::NotDuplicable { component })
}

/// How many targets are looked up at a time.
const AT_A_TIME: usize = 1024;

#[derive(Clone, Copy)]
struct Despawn;

impl Command for Despawn {
    const KIND: Kind = Kind::Despawn;
    const FOLDS: bool = true;
    const DEED: Deed = Deed::Destroy;

    fn fold(folding: Folding<'_, '_, Self>) -> bool {
        folding.despawn()
    }

    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        let entity = player.target(target)?;
        player.entities.despawn(entity)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "despawn {target}")
    }

    fn play_run(player: &mut Player<'_>, run: &mut CommandRun<'_, '_, Self>) -> Result<(), Fault> {
        if player.entities.is_strict() {
            // Each of them is to be there.
            while let Some((target, command)) = run.next()? {
                command.play(player, target)?;
            }
            return Ok(());
        }
        loop {
            player.list.clear();
            while player.list.len() < AT_A_TIME
                && let Some((target, _)) = run.next()?
            {
                match player.target(target) {
                    Ok(entity) => player.list.push(entity),
                    Err(fault) => {
                        player.entities.despawn_slice(&player.list)?;
                        return Err(fault);
                    }
                }
            }
            if player.list.is_empty() {
                return Ok(());
            }
            player.entities.despawn_slice(&player.list)?;
        }
    }
}

pub(super) struct Add<S>(pub(super) S);

impl<S: ComponentSet> Add<S> {
    /// Gives the values to an entity, as they are.
    #[inline(always)]
    pub(super) fn give(self, player: &mut Player<'_>, entity: Entity) -> Result<(), Fault> {
        match player.entities.add(entity, self.0) {
            Ok(_) => Ok(()),
            Err(rejected) => Err(rejected.error.into()),
        }
    }
}

impl<S: ComponentSet> Command for Add<S> {
    const KIND: Kind = Kind::Touch;
    const FOLDS: bool = !S::SHARED;
    const DEED: Deed = deed_with::<S>(Deed::Change(SetOperation::Add));

    fn fold(folding: Folding<'_, '_, Self>) -> bool {
        folding.give(SetOperation::Add, |Self(set)| set)
    }

    fn set_number(entities: &mut EntityManager) -> Option<u32> {
        entities.set_number::<S>().ok()
    }

    #[inline(always)]
    fn play(mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        let entity = player.target(target)?;
        if S::HAS_ENTITIES {
            resolve_entities(player.resolved, &mut self.0)?;
        }
        self.give(player, entity)
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        duplicate_set(&mut self.0).map(Self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "add {} to {target}", TypeNames(S::types))
    }

    fn gives(&self, given: &mut Given<'_>) {
        given.add_set::<S>();
    }
}

pub(super) struct Set<S>(pub(super) S);

impl<S: ComponentSet> Set<S> {
    /// Gives the values to an entity, as they are.
    #[inline(always)]
    pub(super) fn give(self, player: &mut Player<'_>, entity: Entity) -> Result<(), Fault> {
        match player.entities.set(entity, self.0) {
            Ok(()) => Ok(()),
            Err(rejected) => Err(rejected.error.into()),
        }
    }
}

impl<S: ComponentSet> Command for Set<S> {
    const KIND: Kind = Kind::Touch;
    const FOLDS: bool = !S::SHARED;
    const DEED: Deed = deed_with::<S>(Deed::Change(SetOperation::Set));

    fn fold(folding: Folding<'_, '_, Self>) -> bool {
        folding.give(SetOperation::Set, |Self(set)| set)
    }

    fn set_number(entities: &mut EntityManager) -> Option<u32> {
        entities.set_number::<S>().ok()
    }

    #[inline(always)]
    fn play(mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        let entity = player.target(target)?;
        if S::HAS_ENTITIES {
            resolve_entities(player.resolved, &mut self.0)?;
        }
        self.give(player, entity)
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        duplicate_set(&mut self.0).map(Self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set {} of {target}", TypeNames(S::types))
    }
}

pub(super) struct Remove<S>(pub(super) PhantomData<fn() -> S>);

impl<S: ComponentSet> Remove<S> {
    /// Takes the components from an entity.
    pub(super) fn take(player: &mut Player<'_>, entity: Entity) -> Result<(), Fault> {
        player.entities.remove::<S>(entity)?;
        Ok(())
    }
}

impl<S: ComponentSet> Command for Remove<S> {
    const KIND: Kind = Kind::Remove;
    const FOLDS: bool = true;
    const DEED: Deed = Deed::Change(SetOperation::Remove);

    fn fold(folding: Folding<'_, '_, Self>) -> bool {
        folding.take::<S>()
    }

    fn set_number(entities: &mut EntityManager) -> Option<u32> {
        entities.set_number::<S>().ok()
    }

    #[inline(always)]
    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        let entity = player.target(target)?;
        Self::take(player, entity)
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self(PhantomData))
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "remove {} from {target}", TypeNames(S::types))
    }
}

struct AddTypes;

impl ListCommand for AddTypes {
    type Element = ComponentType;

    const KIND: Kind = Kind::Touch;

    fn play(
        self,
        types: Elements<'_, ComponentType>,
        player: &mut Player<'_>,
        target: Entity,
    ) -> Result<(), Fault> {
        let entity = player.target(target)?;
        player.entities.add_types(entity, types.as_slice())?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self)
    }

    fn describe(count: usize, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "add {count} types to {target}")
    }

    fn gives(types: Elements<'_, ComponentType>, given: &mut Given<'_>) {
        types.as_slice().iter().for_each(|&ty| given.add(ty));
    }
}

struct RemoveTypes;

impl ListCommand for RemoveTypes {
    type Element = ComponentType;

    const KIND: Kind = Kind::Remove;
    const FOLDS: bool = true;

    fn fold(folding: Folding<'_, '_, Self>, types: Elements<'_, ComponentType>) -> bool {
        folding.take_types(types.as_slice())
    }

    fn play(
        self,
        types: Elements<'_, ComponentType>,
        player: &mut Player<'_>,
        target: Entity,
    ) -> Result<(), Fault> {
        let entity = player.target(target)?;
        player.entities.remove_types(entity, types.as_slice())?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self)
    }

    fn describe(count: usize, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "remove {count} types from {target}")
    }
}

/// A second element, for a buffer of commands that keeps the first.
fn duplicate_element<T: BufferElement>(element: &mut T) -> Result<T, Fault> {
    let component = ComponentType::of_buffer::<T>();
    T::duplicate().apply(element).ok_or(Fault::NotDuplicable { component })
}

/// Has a buffer consist of these elements: all of them, or it stays as it is.
fn replace_elements<T: BufferElement>(
    mut elements: Elements<'_, T>,
    player: &mut Player<'_>,
    buffer: impl FnOnce(&mut EntityManager) -> Result<DynamicBuffer<'_, T>, EntityError>,
) -> Result<(), Fault> {
    if player.keeps {
        // With the memory of the last time.
        let mut staging = mem::take(player.entities.coalesced.staging());
        let replaced = replace_by_duplicates(elements, player, &mut staging, buffer);
        staging.clear();
        *player.entities.coalesced.staging() = staging;
        return replaced;
    }
    if T::HAS_ENTITIES {
        let all = elements.rest_mut();
        resolve_by(player.resolved, |map| all.iter_mut().for_each(|element| element.remap(map)))?;
    }
    let mut buffer = buffer(player.entities)?;
    buffer.clear();
    buffer.reserve(elements.len());
    while let Some(Ok(element)) = elements.next(duplicate_element) {
        buffer.push(element);
    }
    Ok(())
}

/// Has a buffer consist of duplicates of these elements. One of them may be refused: then it stays as it is.
fn replace_by_duplicates<T: BufferElement>(
    mut elements: Elements<'_, T>,
    player: &mut Player<'_>,
    staging: &mut StagingArena,
    buffer: impl FnOnce(&mut EntityManager) -> Result<DynamicBuffer<'_, T>, EntityError>,
) -> Result<(), Fault> {
    let resolved = player.resolved;
    let all = elements.duplicates(staging, |element| {
        let mut other = duplicate_element(element)?;
        if T::HAS_ENTITIES {
            resolve_by(resolved, |map| other.remap(map))?;
        }
        Ok(other)
    })?;
    let mut buffer = buffer(player.entities)?;
    buffer.clear();
    buffer.extend(all);
    Ok(())
}

struct AddBuffer<T>(PhantomData<fn() -> T>);

impl<T: BufferElement> ListCommand for AddBuffer<T> {
    type Element = T;

    const KIND: Kind = Kind::Touch;

    fn play(
        self,
        elements: Elements<'_, T>,
        player: &mut Player<'_>,
        target: Entity,
    ) -> Result<(), Fault> {
        let entity = player.target(target)?;
        replace_elements(elements, player, |entities| entities.add_buffer(entity))
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self(PhantomData))
    }

    fn describe(_: usize, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "add `{}` to {target}", ComponentType::of_buffer::<T>())
    }

    fn gives(_: Elements<'_, T>, given: &mut Given<'_>) {
        given.leaves |= T::CLEANUP;
    }
}

struct SetBuffer<T>(PhantomData<fn() -> T>);

impl<T: BufferElement> ListCommand for SetBuffer<T> {
    type Element = T;

    const KIND: Kind = Kind::Touch;

    fn play(
        self,
        elements: Elements<'_, T>,
        player: &mut Player<'_>,
        target: Entity,
    ) -> Result<(), Fault> {
        let entity = player.target(target)?;
        replace_elements(elements, player, |entities| entities.buffer_mut(entity))
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self(PhantomData))
    }

    fn describe(_: usize, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set `{}` of {target}", ComponentType::of_buffer::<T>())
    }
}

struct Append<T>(T);

impl<T: BufferElement> Command for Append<T> {
    const KIND: Kind = Kind::Touch;

    fn play(mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        let entity = player.target(target)?;
        if T::HAS_ENTITIES {
            resolve_by(player.resolved, |map| self.0.remap(map))?;
        }
        player.entities.buffer_mut(entity)?.push(self.0);
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        duplicate_element(&mut self.0).map(Self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "append to the `{}` of {target}", ComponentType::of_buffer::<T>())
    }
}

#[derive(Clone, Copy)]
struct SetTypeEnabled {
    ty: ComponentType,
    enabled: bool,
}

impl Command for SetTypeEnabled {
    const KIND: Kind = Kind::Touch;
    const FOLDS: bool = true;

    fn fold(folding: Folding<'_, '_, Self>) -> bool {
        let Self { ty, enabled } = *folding.command();
        folding.switch(ty, enabled)
    }

    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        let entity = player.target(target)?;
        player.entities.set_type_enabled(entity, self.ty, self.enabled)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.enabled { "on" } else { "off" };
        write!(f, "switch `{}` of {target} {state}", self.ty)
    }
}

#[derive(Clone, Copy)]
struct SetEnabled(bool);

impl Command for SetEnabled {
    const KIND: Kind = Kind::Touch;

    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        let entity = player.target(target)?;
        player.entities.set_enabled(entity, self.0)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {target}", if self.0 { "enable" } else { "disable" })
    }
}

struct SetName;

impl ListCommand for SetName {
    type Element = u8;

    const KIND: Kind = Kind::Touch;

    fn play(
        self,
        name: Elements<'_, u8>,
        player: &mut Player<'_>,
        target: Entity,
    ) -> Result<(), Fault> {
        let entity = player.target(target)?;
        let name = std::str::from_utf8(name.as_slice()).expect("a text was recorded");
        player.entities.set_name(entity, name)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self)
    }

    fn describe(_: usize, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "name {target}")
    }
}

#[derive(Clone, Copy)]
struct SetArchetype(Archetype);

impl Command for SetArchetype {
    const KIND: Kind = Kind::Touch;

    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        let entity = player.target(target)?;
        player.entities.set_archetype(entity, self.0)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "move {target} to an archetype")
    }

    fn gives(&self, given: &mut Given<'_>) {
        given.add_archetype(self.0);
    }
}

#[derive(Clone, Copy)]
struct SwapComponents {
    other: Entity,
}

impl Command for SwapComponents {
    const KIND: Kind = Kind::Touch;

    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        let (left, right) = (player.target(target)?, player.target(self.other)?);
        player.entities.swap_components(left, right)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exchange the components of {target} and {}", self.other)
    }

    fn named(&self, target: Entity, each: &mut dyn FnMut(Entity)) {
        each(target);
        each(self.other);
    }
}
