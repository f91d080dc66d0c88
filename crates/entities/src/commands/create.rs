//! Commands that create entities.

use std::fmt;

use super::command::{Command, CommandRun, Elements, ListCommand, TypeNames};
use super::play::{Fault, Player, hand_out, resolve_entities};
use super::recorder::{CommandRecorder, Created};
use super::verb::Kind;
use crate::entity::Entity;
use crate::manager::Archetype;
use crate::set::{CloneSet, ComponentSet};

impl CommandRecorder {
    /// Creates an entity with these components. Returns its placeholder.
    ///
    /// # Panics
    ///
    /// With A0083 if there are more than sixteen million before the buffer is played.
    #[inline]
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
        let count = self.record_list(target, command, sets);
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
        self.record(target, CreateOf(archetype));
        target
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

/// For how many entities ids are looked up at a time: so many commands stay in the cache until they are carried out.
const AT_A_TIME: usize = 256;

impl<S: ComponentSet> Command for Spawn<S> {
    const KIND: Kind = if S::PLAIN { Kind::Create } else { Kind::Touch };

    fn play(mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        if S::HAS_ENTITIES {
            resolve_entities(player.resolved, &mut self.0)?;
        }
        player.hand_out(target, 1)?;
        player.entities.try_spawn(self.0).map_err(|rejected| rejected.error)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        self.0.duplicate_set().map(Self).map_err(|component| Fault::NotDuplicable { component })
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "spawn {target} with {}", TypeNames(S::types))
    }

    fn play_run(player: &mut Player<'_>, run: &mut CommandRun<'_, '_, Self>) -> Result<(), Fault> {
        loop {
            let (ids, resolved) = (&mut player.list, player.resolved);
            ids.clear();
            run.targets(AT_A_TIME, |target| {
                ids.push(resolved.resolve(target).expect("its entity has got an id"));
            });
            let mut left = ids.len();
            if left == 0 {
                // There is none, or those that come next are passed over.
                let Some((target, command)) = run.next()? else { return Ok(()) };
                command.play(player, target)?;
                continue;
            }
            if let Err(fault) = hand_out(player.entities, ids) {
                drop(run.next()?);
                return Err(fault);
            }
            let mut fault = None;
            let mut next = || {
                left = left.checked_sub(1)?;
                let mut set = match run.next() {
                    Ok(next) => next?.1.0,
                    Err(why) => {
                        fault = Some(why);
                        return None;
                    }
                };
                if S::HAS_ENTITIES
                    && let Err(why) = resolve_entities(resolved, &mut set)
                {
                    fault = Some(why);
                    return None;
                }
                Some(set)
            };
            player.entities.spawn_each(std::iter::from_fn(&mut next))?;
            if let Some(fault) = fault {
                return Err(fault);
            }
        }
    }
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
        let set = self.set.duplicate_set();
        let set = set.map_err(|component| Fault::NotDuplicable { component })?;
        Ok(Self { count: self.count, set })
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count;
        write!(f, "spawn {count} entities from {target} on with {}", TypeNames(S::types))
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
        player.hand_out(target, sets.len())?;
        let resolved = player.resolved;
        let mut fault = None;
        let next = || {
            let duplicate = |set: &mut S| {
                set.duplicate_set().map_err(|component| Fault::NotDuplicable { component })
            };
            let set = sets.next(duplicate)?.and_then(|mut set| {
                if S::HAS_ENTITIES {
                    resolve_entities(resolved, &mut set)?;
                }
                Ok(set)
            });
            set.map_err(|why| fault = Some(why)).ok()
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
}

#[derive(Clone, Copy)]
struct CreateOf(Archetype);

impl Command for CreateOf {
    const KIND: Kind = Kind::Touch;

    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        player.hand_out(target, 1)?;
        player.entities.create(self.0)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "create {target} of an archetype")
    }
}

#[derive(Clone, Copy)]
struct Instantiate {
    source: Entity,
    count: usize,
}

impl Command for Instantiate {
    const KIND: Kind = Kind::Other;

    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        let source = player.target(self.source)?;
        player.hand_out(target, self.count)?;
        match player.entities.instantiate_many(source, self.count) {
            Ok(_) => Ok(()),
            Err(error) => Err(player.fault(self.source, error)),
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
