//! Commands for the members of groups.

use std::fmt;
use std::marker::PhantomData;

use super::change::{Add, Remove, Set, duplicate_set};
use super::command::{Command, Given, TypeNames};
use super::play::{Fault, Player, Resolved, resolve_by, resolve_entities};
use super::recorder::CommandRecorder;
use super::slices::{check_list, for_each_of_list};
use super::verb::Kind;
use crate::entity::Entity;
use crate::manager::EntityManager;
use crate::query::QueryDescriptor;
use crate::set::{CloneSet, ComponentSet};
use crate::storage::Change;

impl CommandRecorder {
    /// Gives all members of an entity's [group](crate::LinkedEntityGroup), or the entity, if it has none, clones of components.
    ///
    /// If one of them is refused when this is played, none is changed, unless there is no memory: then those before it are.
    pub fn add_to_linked<S: CloneSet>(&mut self, root: Entity, set: S) {
        self.record(root, AddToLinked { set, members: All });
    }

    /// Gives those members of an entity's [group](crate::LinkedEntityGroup) clones of components that a query finds when this is
    /// played.
    ///
    /// The query is an [`QueryDescriptor`](crate::QueryDescriptor), a [`QueryDescriptor`](crate::QueryDescriptor) or [of types](QueryDescriptor::of), and
    /// is asked before the first of them is changed. It passes over what is switched off, as always. With `ignore_enabled` it is what
    /// Unity calls an `EntityQueryMask`: only the archetype matters.
    ///
    /// # Panics
    ///
    /// When it is played: as [`EntityManager::query`](crate::EntityManager::query), if the query is one that cannot be asked.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, Component, EntityCommandBuffer, QueryDescriptor, LinkedEntityGroup, Without, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Wheel;
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Painted;
    ///
    /// let mut world = World::new("Simulation");
    /// let (car, wheel) = (world.spawn(()), world.spawn(Wheel));
    /// world.add(car, Buffer::from([car, wheel].map(LinkedEntityGroup))).unwrap();
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.add_to_linked_matching(car, QueryDescriptor::of::<(), Without<Wheel>>(), Painted);
    /// world.play(&mut buffer)?;
    /// assert!(world.has::<Painted>(car) && !world.has::<Painted>(wheel));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_to_linked_matching<S: CloneSet>(
        &mut self,
        root: Entity,
        query: impl Into<QueryDescriptor>,
        set: S,
    ) {
        self.record(root, AddToLinked { set, members: query.into() });
    }

    /// Replaces components of all members of an entity's [group](crate::LinkedEntityGroup) that have all of them.
    pub fn set_linked<S: CloneSet>(&mut self, root: Entity, set: S) {
        self.record(root, SetLinked { set, members: All });
    }

    /// Replaces components of those members of an entity's [group](crate::LinkedEntityGroup) that have all of them, and that a query
    /// finds when this is played.
    ///
    /// See [`add_to_linked_matching`](Self::add_to_linked_matching) for the query.
    ///
    /// # Panics
    ///
    /// As there.
    pub fn set_linked_matching<S: CloneSet>(
        &mut self,
        root: Entity,
        query: impl Into<QueryDescriptor>,
        set: S,
    ) {
        self.record(root, SetLinked { set, members: query.into() });
    }

    /// Removes components from all members of an entity's [group](crate::LinkedEntityGroup), as far as they have them.
    ///
    /// As [`add_to_linked`](Self::add_to_linked): all of them are changed, or none.
    pub fn remove_from_linked<S: ComponentSet>(&mut self, root: Entity) {
        self.record(root, RemoveFromLinked { types: PhantomData::<fn() -> S>, members: All });
    }

    /// Removes components from those members of an entity's [group](crate::LinkedEntityGroup) that a query finds when this is played,
    /// as far as they have them.
    ///
    /// See [`add_to_linked_matching`](Self::add_to_linked_matching) for the query.
    ///
    /// # Panics
    ///
    /// As there.
    pub fn remove_from_linked_matching<S: ComponentSet>(
        &mut self,
        root: Entity,
        query: impl Into<QueryDescriptor>,
    ) {
        let types = PhantomData::<fn() -> S>;
        self.record(root, RemoveFromLinked { types, members: query.into() });
    }
}

/// Which members of a group are meant.
trait Members: Clone + Send + 'static {
    /// Puts entities in place of their placeholders in what is asked for.
    fn resolve(&mut self, resolved: &Resolved) -> Result<(), Fault>;

    /// Whether there may be entities in what is asked for.
    fn may_name_entities(&self) -> bool;

    /// Leaves only those in a list that are meant.
    fn retain(&self, entities: &EntityManager, members: &mut Vec<Entity>);

    /// Says in words which they are, with what can be copied.
    fn describe(&self, root: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// All of them.
#[derive(Clone, Copy)]
struct All;

impl Members for All {
    fn resolve(&mut self, _: &Resolved) -> Result<(), Fault> {
        Ok(())
    }

    fn may_name_entities(&self) -> bool {
        false
    }

    fn retain(&self, _: &EntityManager, _: &mut Vec<Entity>) {}

    fn describe(&self, root: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the group of {root}")
    }
}

impl Members for QueryDescriptor {
    fn resolve(&mut self, resolved: &Resolved) -> Result<(), Fault> {
        resolve_by(resolved, |map| self.remap_entities(map))
    }

    fn may_name_entities(&self) -> bool {
        self.may_name_entities()
    }

    fn retain(&self, entities: &EntityManager, members: &mut Vec<Entity>) {
        self.retain_found(entities, members);
    }

    fn describe(&self, root: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "all of the group of {root} that {self} finds")
    }
}

/// Puts each member of an entity's group that is there and meant in the player's list, or the entity, if it has none.
fn find_members(
    player: &mut Player<'_>,
    target: Entity,
    which: &impl Members,
) -> Result<(), Fault> {
    let root = player.target(target)?;
    if which.may_name_entities() {
        // It may be kept for the next time.
        let mut which = which.clone();
        which.resolve(player.resolved)?;
        return find_among(player, root, &which);
    }
    find_among(player, root, which)
}

fn find_among(player: &mut Player<'_>, root: Entity, which: &impl Members) -> Result<(), Fault> {
    let Player { entities, list, members, .. } = player;
    members.clear();
    entities.linked_members(root, members)?;
    list.clear();
    list.extend_from_slice(members);
    which.retain(entities, list);
    Ok(())
}

struct AddToLinked<S, M> {
    set: S,
    members: M,
}

impl<S: CloneSet, M: Members> AddToLinked<S, M> {
    fn give(mut set: S, members: &M, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        find_members(player, target, members)?;
        check_list::<S>(player, Change::Add)?;
        if S::HAS_ENTITIES && !player.list.is_empty() {
            resolve_entities(player.resolved, &mut set)?;
        }
        for_each_of_list(player, |player, member| Add(set.clone_set()).give(player, member))
    }
}

impl<S: CloneSet, M: Members> Command for AddToLinked<S, M> {
    const KIND: Kind = Kind::Touch;

    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        Self::give(self.set, &self.members, player, target)
    }

    fn play_kept(&mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        Self::give(duplicate_set(&mut self.set)?, &self.members, player, target)
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self { set: duplicate_set(&mut self.set)?, members: self.members.clone() })
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "add {} to ", TypeNames(S::types))?;
        self.members.describe(target, f)
    }

    fn gives(&self, given: &mut Given<'_>) {
        given.add_set::<S>();
    }
}

struct SetLinked<S, M> {
    set: S,
    members: M,
}

impl<S: CloneSet, M: Members> SetLinked<S, M> {
    fn give(mut set: S, members: &M, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        find_members(player, target, members)?;
        let Player { entities, list, .. } = player;
        list.retain(|&member| entities.has::<S>(member));
        if S::HAS_ENTITIES && !player.list.is_empty() {
            resolve_entities(player.resolved, &mut set)?;
        }
        for_each_of_list(player, |player, member| Set(set.clone_set()).give(player, member))
    }
}

impl<S: CloneSet, M: Members> Command for SetLinked<S, M> {
    const KIND: Kind = Kind::Touch;

    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        Self::give(self.set, &self.members, player, target)
    }

    fn play_kept(&mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        Self::give(duplicate_set(&mut self.set)?, &self.members, player, target)
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self { set: duplicate_set(&mut self.set)?, members: self.members.clone() })
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set {} of ", TypeNames(S::types))?;
        self.members.describe(target, f)
    }
}

struct RemoveFromLinked<S, M> {
    types: PhantomData<fn() -> S>,
    members: M,
}

impl<S: ComponentSet, M: Members> Command for RemoveFromLinked<S, M> {
    const KIND: Kind = Kind::Touch;

    fn play(mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        self.play_kept(player, target)
    }

    fn play_kept(&mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        find_members(player, target, &self.members)?;
        check_list::<S>(player, Change::Remove)?;
        for_each_of_list(player, Remove::<S>::take)
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self { types: PhantomData, members: self.members.clone() })
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "remove {} from ", TypeNames(S::types))?;
        self.members.describe(target, f)
    }
}
