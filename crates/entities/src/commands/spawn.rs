//! Commands that create entities.

use std::fmt::{self, Formatter};
use std::marker::PhantomData;
use std::mem;

use super::coalesce::Coalescing;
use super::error::Result;
use super::modify::{duplicate_set, link_target};
use super::playback::Context;
use super::recorder::{CommandRecorder, too_many_entities};
use super::vtable::{
    Aspect, Command, Effect, Elements, NoElement, OwnedElements, Recorded, TypeNames, TypedRun,
};
use crate::entity::Entity;
use crate::manager::{Archetype, CoalesceResult, MANY_BYTES};
use crate::placeholder::Placeholders;
use crate::set::{CloneSet, ComponentSet};
use crate::storage::StagingArena;

impl CommandRecorder {
    /// Creates an entity with these components. Returns its placeholder.
    ///
    /// # Panics
    ///
    /// Panics with A0083 if the commands of a lane create more than sixteen million entities before the buffer is played.
    // Always inlined: a call would copy the set once more.
    #[inline(always)]
    #[track_caller]
    #[doc(alias = "CreateEntity")]
    pub fn spawn<S: ComponentSet>(&mut self, set: S) -> Entity {
        let target = self.take_placeholder();
        self.record(target, Spawn(set));
        target
    }

    /// Creates `count` entities, each with clones of these components. Returns their placeholders.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`spawn`](Self::spawn).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// let orcs = buffer.commands()?.spawn_many(Health(20), 50);
    /// assert!(orcs.iter().all(|orc| orc.is_placeholder()));
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.query::<&Health>().count(), 50);
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    #[track_caller]
    pub fn spawn_many<S: CloneSet>(&mut self, set: S, count: usize) -> Placeholders {
        let created = self.take_placeholders(count);
        self.record(created.target(), SpawnMany { set, count });
        created
    }

    /// Creates an entity for each set of components that an iterator yields. Returns the placeholders of the entities.
    ///
    /// If the iterator panics, no entity is created.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`spawn`](Self::spawn).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Card(u32);
    ///
    /// let mut world = World::new("Game");
    /// let mut buffer = EntityCommandBuffer::new();
    /// let deck = buffer.commands()?.spawn_batch((1..=52).map(Card));
    /// world.play(&mut buffer)?;
    /// let last = buffer.resolve(deck.get(51).unwrap()).unwrap();
    /// assert_eq!(world.get(last), Ok(&Card(52)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn spawn_batch<I>(&mut self, sets: I) -> Placeholders
    where
        I: IntoIterator,
        I::Item: ComponentSet,
    {
        let target = self.take_placeholders(0).target();
        let command = SpawnBatch(PhantomData::<fn() -> I::Item>);
        let max = self.max_to_create();
        let Some(count) = self.record_list_up_to(target, command, sets, max) else {
            too_many_entities();
        };
        self.take_placeholders(count)
    }

    /// Creates an entity with default values in an archetype of the world that plays the command. Returns the entity's placeholder.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`spawn`](Self::spawn).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Default, Debug, PartialEq)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let players = world.archetype::<Score>();
    /// let mut buffer = EntityCommandBuffer::new();
    /// let player = buffer.commands()?.create(players);
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get(buffer.resolve(player).unwrap()), Ok(&Score(0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn create(&mut self, archetype: Archetype) -> Entity {
        self.create_many(archetype, 1).target()
    }

    /// Creates `count` entities with default values in an archetype of the world that plays the command. Returns their
    /// placeholders.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`spawn`](Self::spawn).
    #[track_caller]
    pub fn create_many(&mut self, archetype: Archetype, count: usize) -> Placeholders {
        let created = self.take_placeholders(count);
        self.record(created.target(), Create { archetype, count });
        created
    }

    /// Creates an entity with copies of another entity's components. Returns the placeholder of the created entity. See
    /// [`EntityManager::instantiate`](crate::EntityManager::instantiate).
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`spawn`](Self::spawn).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, Prefab, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let prefab = world.spawn((Prefab, Health(20)));
    /// let mut buffer = EntityCommandBuffer::new();
    /// let commands = buffer.commands()?;
    /// let boss = commands.instantiate(prefab);
    /// commands.set(boss, Health(500));
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.query::<&Health>().single()?.0, 500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn instantiate(&mut self, source: Entity) -> Entity {
        self.instantiate_many(source, 1).target()
    }

    /// Creates `count` entities with copies of another entity's components. Returns their placeholders.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`spawn`](Self::spawn).
    #[track_caller]
    pub fn instantiate_many(&mut self, source: Entity, count: usize) -> Placeholders {
        let created = self.take_placeholders(count);
        self.record(created.target(), Instantiate { source, count });
        created
    }
}

/// Number of entities that get their ids together. The number is small enough that the entity table stays in the cache.
const IDS_AT_ONCE: usize = 1024;

/// Minimum length of a run whose entities are created together.
const MIN_RUN: usize = 8;

struct Spawn<S>(S);

impl<S: ComponentSet> Command for Spawn<S> {
    type Element = NoElement;

    const COALESCES: bool = !S::SHARED && !S::LINKS;
    const EFFECT: Effect = Effect::create::<S>();

    fn coalesce(coalescing: Coalescing<'_, '_, Self>) -> CoalesceResult {
        coalescing.create(|Self(set)| set)
    }

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let created = command.take_with(
            #[inline(always)]
            |Self(mut set)| {
                if S::HAS_ENTITIES {
                    context.resolved.resolve_set(&mut set)?;
                }
                context.assign_ids(target, 1)?;
                context.entities.try_spawn(set).map_err(|rejected| rejected.error)?;
                Ok(())
            },
        );
        context.created(target, 1, created)
    }

    fn apply_run(context: &mut Context<'_>, run: &mut TypedRun<'_, '_, Self>) -> Result {
        // Creating a few entities together is not faster.
        // Each link is checked on its own, so that one wrong target does not prevent the others.
        if run.left() < MIN_RUN || S::LINKS {
            while let Some((target, command)) = run.next() {
                Self::apply(command, context, target)?;
            }
            return Ok(());
        }
        let is_large = run.left() * size_of::<S>() >= MANY_BYTES && !S::HAS_ENTITIES;
        if is_large
            && let Some(first) = run.next_target()
            && run.take_all(|Self(set)| set, |sets| context.spawn_parallel(first, sets))
        {
            return Ok(());
        }
        // Consecutive commands create entities with consecutive placeholders.
        while let Some(first) = run.next_target() {
            let count = run.left().min(IDS_AT_ONCE);
            if context.assign_ids(first, count).is_err() {
                // One of the ids is lost. The commands are applied one by one, so that the others succeed.
                for _ in 0..count {
                    if let Some((target, command)) = run.next() {
                        Self::apply(command, context, target)?;
                    }
                }
                continue;
            }
            let resolved = context.resolved;
            let mut fault = None;
            let mut last = first;
            let sets = (0..count).map_while(
                #[inline(always)]
                |_| {
                    let (target, command) = run.next().expect("`count` commands are left");
                    last = target;
                    let set = command.take().and_then(
                        #[inline(always)]
                        |Self(mut set)| {
                            if S::HAS_ENTITIES {
                                resolved.resolve_set(&mut set)?;
                            }
                            Ok(set)
                        },
                    );
                    set.map_err(|why| fault = Some(why)).ok()
                },
            );
            let created = context.entities.spawn_each(sets);
            if let Some(fault) = created.err().map(Into::into).or(fault) {
                context.reserve_unused_ids(first, count);
                return context.created(last, 1, Err(fault));
            }
        }
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        duplicate_set(&mut self.0).map(Self)
    }

    fn describe(_: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "spawn {target} with {}", TypeNames(S::types))
    }

    fn needed(command: &Recorded<'_, Self>, _: Entity) -> [Entity; 2] {
        [link_target(&command.0), Entity::NULL]
    }

    fn inspect(_: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::Changes(target));
        Aspect::adds::<S>(each);
    }
}

struct SpawnMany<S> {
    set: S,
    count: usize,
}

impl<S: CloneSet> Command for SpawnMany<S> {
    type Element = NoElement;

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let number = command.count;
        let created = command.take_with(|Self { mut set, count }| {
            context.resolved.resolve_set(&mut set)?;
            context.assign_ids(target, count)?;
            context.entities.try_spawn_many(count, &mut set)?;
            Ok(())
        });
        context.created(target, number, created)
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(Self { set: duplicate_set(&mut self.set)?, count: self.count })
    }

    fn describe(this: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        let count = this.count;
        write!(f, "spawn {count} entities from {target} on with {}", TypeNames(S::types))
    }

    fn needed(command: &Recorded<'_, Self>, _: Entity) -> [Entity; 2] {
        [link_target(&command.set), Entity::NULL]
    }

    fn inspect(command: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        inspect_created(target, command.count, each);
        Aspect::adds::<S>(each);
    }
}

/// Reports the first of `count` created entities.
fn inspect_created(target: Entity, count: usize, each: &mut dyn FnMut(Aspect)) {
    if count > 0 {
        each(Aspect::Changes(target));
    }
}

struct SpawnBatch<S>(PhantomData<fn() -> S>);

impl<S: ComponentSet> Command for SpawnBatch<S> {
    type Element = S;

    const LISTED: bool = true;

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let count = command.count();
        let created = Self::create(command, context, target);
        context.created(target, count, created)
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(Self(PhantomData))
    }

    fn describe(this: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        let count = this.count();
        write!(f, "spawn {count} entities from {target} on with {}", TypeNames(S::types))
    }

    fn needed(command: &Recorded<'_, Self>, _: Entity) -> [Entity; 2] {
        [command.elements().first().map_or(Entity::NULL, link_target), Entity::NULL]
    }

    fn inspect(command: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        inspect_created(target, command.count(), each);
        Aspect::adds::<S>(each);
    }
}

impl<S: ComponentSet> SpawnBatch<S> {
    /// Creates the entities.
    fn create(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let (_, mut sets) = command.take_parts()?;
        if context.keeps {
            // Reuses the world's arena.
            let mut arena = mem::take(context.entities.coalesced.staging());
            let created = Self::create_duplicates(sets, context, &mut arena, target);
            arena.clear();
            *context.entities.coalesced.staging() = arena;
            return created;
        }
        if S::HAS_ENTITIES {
            // Resolves the placeholders of all sets first. If one cannot be resolved, no entity is created.
            let all = sets.rest_mut();
            context
                .resolved
                .resolve_all(|map| all.iter_mut().for_each(|set| set.remap_entities(map)))?;
        }
        Self::create_all(sets.into_owned(), context, target)
    }

    /// Creates the entities with duplicates of the sets. If one cannot be duplicated or resolved, no entity is created.
    fn create_duplicates(
        mut sets: Elements<'_, S>,
        context: &mut Context<'_>,
        arena: &mut StagingArena,
        target: Entity,
    ) -> Result {
        let resolved = context.resolved;
        let sets = sets.duplicates(arena, |set| {
            let mut other = duplicate_set(set)?;
            if S::HAS_ENTITIES {
                resolved.resolve_set(&mut other)?;
            }
            Ok(other)
        })?;
        Self::create_all(sets, context, target)
    }

    fn create_all(sets: OwnedElements<'_, S>, context: &mut Context<'_>, target: Entity) -> Result {
        context.assign_ids(target, sets.len())?;
        context.entities.spawn_each(sets)?;
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Create {
    archetype: Archetype,
    count: usize,
}

impl Command for Create {
    type Element = NoElement;

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let Self { archetype, count } = *command;
        let created = context.assign_ids(target, count).and_then(|()| {
            context.entities.create_many(archetype, count)?;
            Ok(())
        });
        context.created(target, count, created)
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(this: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        match this.count {
            1 => write!(f, "create {target} of an archetype"),
            count => write!(f, "create {count} entities from {target} on of an archetype"),
        }
    }

    fn needed(_: &Recorded<'_, Self>, _: Entity) -> [Entity; 2] {
        [Entity::NULL; 2]
    }

    fn inspect(command: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        inspect_created(target, command.count, each);
        each(Aspect::AddsArchetype(command.archetype));
    }
}

#[derive(Clone, Copy)]
struct Instantiate {
    source: Entity,
    count: usize,
}

impl Command for Instantiate {
    type Element = NoElement;

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let Self { source, count } = *command;
        let created = context.target(source).and_then(|source| {
            context.assign_ids(target, count)?;
            context.entities.instantiate_many(source, count)?;
            Ok(())
        });
        context.created(target, count, created)
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(this: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        let source = this.source;
        match this.count {
            1 => write!(f, "instantiate {source} as {target}"),
            count => write!(f, "instantiate {source} {count} times from {target} on"),
        }
    }

    fn needed(command: &Recorded<'_, Self>, _: Entity) -> [Entity; 2] {
        [command.source, Entity::NULL]
    }

    fn inspect(command: &Recorded<'_, Self>, _: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::Reads(command.source));
    }
}
