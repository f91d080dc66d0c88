//! Commands that create entities.

use std::fmt;

use super::coalesce::Folding;
use super::command::{Command, CommandRun, Elements, Given, ListCommand, TypeNames};
use super::modify::duplicate_set;
use super::play::{Fault, Player, check_by, resolve_by, resolve_entities};
use super::recorder::{CommandRecorder, Created, too_many_entities};
use super::vtable::{Deed, Kind, deed_with};
use crate::entity::Entity;
use crate::field::EntityRemap;
use crate::manager::{Archetype, EntityManager, MANY_BYTES};
use crate::set::{CloneSet, ComponentSet};

impl CommandRecorder {
    /// Creates an entity with these components. Returns its placeholder.
    ///
    /// # Panics
    ///
    /// With A0083 if there are more than sixteen million before the buffer is played.
    // What is spawned was just put together: a call would copy it once more.
    #[inline(always)]
    #[track_caller]
    pub fn spawn<S: ComponentSet>(&mut self, set: S) -> Entity {
        let target = self.create(1).target();
        self.record(target, Spawn(set));
        target
    }

    /// Creates so many entities, each with clones of these components. Returns their placeholders.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn spawn_many<S: CloneSet>(&mut self, count: usize, set: S) -> Created {
        let created = self.create(count);
        self.record(created.target(), SpawnMany { count, set });
        created
    }

    /// Creates an entity of each set of components that an iterator gives. Returns their placeholders.
    ///
    /// If the iterator panics, none is created.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn spawn_batch<I>(&mut self, sets: I) -> Created
    where
        I: IntoIterator,
        I::Item: ComponentSet,
    {
        let target = self.create(0).target();
        let command = SpawnBatch(std::marker::PhantomData::<fn() -> I::Item>);
        let most = self.most_to_create();
        let Some(count) = self.record_list_of(target, command, sets, most) else {
            too_many_entities();
        };
        self.create(count)
    }

    /// Creates an entity of an archetype of the world in which this is played, every component with its default. Returns its
    /// placeholder.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn create_of(&mut self, archetype: Archetype) -> Entity {
        let target = self.create(1).target();
        self.record(target, CreateOf { archetype, count: 1 });
        target
    }

    /// Creates so many entities of an archetype of the world in which this is played, every component with its default. Returns their
    /// placeholders.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn create_many(&mut self, archetype: Archetype, count: usize) -> Created {
        let created = self.create(count);
        self.record(created.target(), CreateOf { archetype, count });
        created
    }

    /// Creates an entity with copies of another's components, as [`instantiate`](crate::EntityManager::instantiate) does. Returns
    /// its placeholder.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn instantiate(&mut self, source: Entity) -> Entity {
        let target = self.create(1).target();
        self.record(target, Instantiate { source, count: 1 });
        target
    }

    /// Creates so many entities with copies of another's components. Returns their placeholders.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn instantiate_many(&mut self, source: Entity, count: usize) -> Created {
        let created = self.create(count);
        self.record(created.target(), Instantiate { source, count });
        created
    }
}

struct Spawn<S>(S);

/// How many entities get their ids at a time: the table is still in the cache then when they are created.
const AT_A_TIME: usize = 1024;

/// From how many on entities are created together.
const AT_ONCE: usize = 8;

impl<S: ComponentSet> Command for Spawn<S> {
    const KIND: Kind = Kind::Touch;
    const FOLDS: bool = !S::SHARED;
    const DEED: Deed = deed_with::<S>(Deed::Create);

    fn fold(folding: Folding<'_, '_, Self>) -> bool {
        folding.create(|Self(set)| set)
    }

    fn set_number(entities: &mut EntityManager) -> Option<u32> {
        entities.set_number::<S>().ok()
    }

    fn play(mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        if S::HAS_ENTITIES {
            resolve_entities(player.resolved, &mut self.0)?;
        }
        player.hand_out(target, 1)?;
        player.entities.try_spawn(self.0).map_err(|rejected| rejected.error)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        duplicate_set(&mut self.0).map(Self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "spawn {target} with {}", TypeNames(S::types))
    }

    fn gives(&self, given: &mut Given<'_>) {
        given.add_set::<S>();
    }

    fn play_run(player: &mut Player<'_>, run: &mut CommandRun<'_, '_, Self>) -> Result<(), Fault> {
        // For a few, what they have in common is not worth looking for.
        if run.left() < AT_ONCE {
            while let Some((target, command)) = run.next()? {
                command.play(player, target)?;
            }
            return Ok(());
        }
        let is_large = run.left() * size_of::<S>() >= MANY_BYTES && !S::HAS_ENTITIES;
        if is_large && spawn_parallel(player, run) {
            return Ok(());
        }
        // Commands that follow each other create entities that do.
        while let Some(first) = run.next_target() {
            let count = run.left().min(AT_A_TIME);
            if let Err(fault) = player.hand_out(first, count) {
                drop(run.next()?);
                return Err(fault);
            }
            let resolved = player.resolved;
            let mut fault = None;
            let sets = (0..count).map_while(
                #[inline(always)]
                |_| {
                    let set = run.next().and_then(
                        #[inline(always)]
                        |next| {
                            let mut set = next.expect("so many are left").1.0;
                            if S::HAS_ENTITIES {
                                resolve_entities(resolved, &mut set)?;
                            }
                            Ok(set)
                        },
                    );
                    set.map_err(|why| fault = Some(why)).ok()
                },
            );
            player.entities.spawn_each(sets)?;
            if let Some(fault) = fault {
                return Err(fault);
            }
        }
        Ok(())
    }
}

/// Creates all entities of a run on all threads, if it can be done without any doubt. Returns whether it did.
fn spawn_parallel<S: ComponentSet>(
    player: &mut Player<'_>,
    run: &mut CommandRun<'_, '_, Spawn<S>>,
) -> bool {
    let Some(first) = run.next_target() else { return false };
    run.all_at_once(|Spawn(set)| set, |sets| player.spawn_all(first, sets))
}

struct SpawnMany<S> {
    count: usize,
    set: S,
}

impl<S: CloneSet> Command for SpawnMany<S> {
    const KIND: Kind = Kind::Touch;

    fn play(mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        resolve_entities(player.resolved, &mut self.set)?;
        player.hand_out(target, self.count)?;
        player.entities.try_spawn_many(self.count, &mut self.set)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self { count: self.count, set: duplicate_set(&mut self.set)? })
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count;
        write!(f, "spawn {count} entities from {target} on with {}", TypeNames(S::types))
    }

    fn named(&self, target: Entity, each: &mut dyn FnMut(Entity)) {
        // Of none there is no first.
        if self.count > 0 {
            each(target);
        }
    }

    fn gives(&self, given: &mut Given<'_>) {
        given.add_set::<S>();
    }
}

struct SpawnBatch<S>(std::marker::PhantomData<fn() -> S>);

impl<S: ComponentSet> ListCommand for SpawnBatch<S> {
    type Element = S;

    const KIND: Kind = Kind::Touch;

    fn play(
        self,
        mut sets: Elements<'_, S>,
        player: &mut Player<'_>,
        target: Entity,
    ) -> Result<(), Fault> {
        let (resolved, keeps) = (player.resolved, player.keeps);
        if S::HAS_ENTITIES {
            // Those of the last may be refused: then there is to be none.
            let all = sets.rest_mut();
            let remap = |map: &mut EntityRemap<'_>| {
                all.iter_mut().for_each(|set| set.remap_entities(map));
            };
            if keeps { check_by(resolved, remap) } else { resolve_by(resolved, remap) }?;
        }
        player.hand_out(target, sets.len())?;
        let mut fault = None;
        let next = || {
            let duplicate = |set: &mut S| {
                let mut other = duplicate_set(set)?;
                if S::HAS_ENTITIES {
                    resolve_entities(resolved, &mut other)?;
                }
                Ok(other)
            };
            sets.next(duplicate)?.map_err(|why| fault = Some(why)).ok()
        };
        player.entities.spawn_each(std::iter::from_fn(next))?;
        fault.map_or(Ok(()), Err)
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self(std::marker::PhantomData))
    }

    fn describe(count: usize, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "spawn {count} entities from {target} on with {}", TypeNames(S::types))
    }

    fn named(sets: Elements<'_, S>, target: Entity, each: &mut dyn FnMut(Entity)) {
        // Of none there is no first.
        if sets.len() > 0 {
            each(target);
        }
    }

    fn gives(_: Elements<'_, S>, given: &mut Given<'_>) {
        given.add_set::<S>();
    }
}

#[derive(Clone, Copy)]
struct CreateOf {
    archetype: Archetype,
    count: usize,
}

impl Command for CreateOf {
    const KIND: Kind = Kind::Touch;

    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        player.hand_out(target, self.count)?;
        player.entities.create_many(self.archetype, self.count)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "create {target} of an archetype"),
            count => write!(f, "create {count} entities from {target} on of an archetype"),
        }
    }

    fn named(&self, target: Entity, each: &mut dyn FnMut(Entity)) {
        // Of none there is no first.
        if self.count > 0 {
            each(target);
        }
    }

    fn gives(&self, given: &mut Given<'_>) {
        given.add_archetype(self.archetype);
    }
}

#[derive(Clone, Copy)]
struct Instantiate {
    source: Entity,
    count: usize,
}

impl Command for Instantiate {
    const KIND: Kind = Kind::Look;

    fn named(&self, _: Entity, each: &mut dyn FnMut(Entity)) {
        each(self.source);
    }

    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        let source = player.target(self.source)?;
        player.hand_out(target, self.count)?;
        match player.entities.instantiate_many(source, self.count) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = self.source;
        match self.count {
            1 => write!(f, "instantiate {source} as {target}"),
            count => write!(f, "instantiate {source} {count} times from {target} on"),
        }
    }
}
