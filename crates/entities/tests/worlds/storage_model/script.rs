//! The steps of a script, and their state.

use std::collections::BTreeSet;

use ancho_entities::{Entity, EntityError, EntityTracker, World};
use proptest::prelude::*;

use crate::storage_model::Setup;
use crate::storage_model::components::{ONLY, PAGE};
use crate::storage_model::plain::{Plain, Row};
use crate::storage_model::sets::{any_kind, any_set, clone_set};
use crate::storage_model::shared::Orders;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Spawn,
    SpawnMany,
    SpawnBatch,
    SpawnColumns,
    Create,
    Instantiate,
    Despawn,
    DespawnSlice,
    DespawnAll,
    Add,
    AddTypes,
    AddBytes,
    Remove,
    RemoveTypes,
    Take,
    Set,
    GetMut,
    SetBytes,
    SetArchetype,
    Swap,
    Toggle,
    SetName,
    Changes,
    WriteChunks,
    Advance,
    Remap,
    Group,
    SetEnabled,
    Buffer,
    Shared,
    Managed,
    PerChunk,
    Fork,
    Duplicate,
    Switch,
    Forget,
}

/// The weight of each call.
const WEIGHTS: [(u32, Call); 36] = [
    (8, Call::Spawn),
    (6, Call::SpawnMany),
    (6, Call::SpawnBatch),
    (4, Call::SpawnColumns),
    (4, Call::Create),
    (5, Call::Instantiate),
    (8, Call::Despawn),
    (5, Call::DespawnSlice),
    (1, Call::DespawnAll),
    (10, Call::Add),
    (5, Call::AddTypes),
    (4, Call::AddBytes),
    (8, Call::Remove),
    (4, Call::RemoveTypes),
    (5, Call::Take),
    (5, Call::Set),
    (5, Call::GetMut),
    (3, Call::SetBytes),
    (4, Call::SetArchetype),
    (4, Call::Swap),
    (8, Call::Toggle),
    (2, Call::SetName),
    (3, Call::Changes),
    (3, Call::WriteChunks),
    (3, Call::Advance),
    (2, Call::Remap),
    (6, Call::Group),
    (3, Call::SetEnabled),
    (10, Call::Buffer),
    (14, Call::Shared),
    (6, Call::Managed),
    (8, Call::PerChunk),
    (5, Call::Fork),
    (1, Call::Duplicate),
    (5, Call::Switch),
    (3, Call::Forget),
];

/// A call, and numbers for its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) call: Call,
    pub(crate) set: usize,
    pub(crate) entity: usize,
    pub(crate) other: usize,
    pub(crate) count: usize,
    pub(crate) number: u64,
    /// Runs the step on another thread.
    pub(crate) elsewhere: bool,
}

pub(crate) fn any_step() -> impl Strategy<Value = Step> {
    let call = prop::strategy::Union::new_weighted(
        WEIGHTS.iter().map(|&(weight, call)| (weight, Just(call))).collect(),
    );
    let elsewhere = prop::bool::weighted(0.03);
    (call, 0..4096_usize, any::<u16>(), any::<u16>(), 0..12_usize, 1..1000_u64, elsewhere).prop_map(
        |(call, set, entity, other, count, number, elsewhere)| {
            let (entity, other) = (entity.into(), other.into());
            Step { call, set, entity, other, count, number, elsewhere }
        },
    )
}

/// A world, and its expected state.
pub(crate) struct Pair {
    pub(crate) world: World,
    pub(crate) plain: Plain,
    pub(crate) orders: Orders,
    /// The world's hash after its last step.
    pub(crate) hash: u64,
}

/// The worlds of a script. The last is the current one.
pub(crate) struct Run {
    pub(crate) pairs: Vec<Pair>,
    trackers: Vec<(EntityTracker, BTreeSet<Entity>)>,
    pub(crate) setup: Setup,
    /// The original of the current fork, its hash, and its number of pages.
    pub(crate) left: Option<(World, u64, usize)>,
    /// The last unique number of a chunk.
    pub(crate) last_number: u64,
    pub(crate) hashes: Vec<u64>,
}

/// Returns the code of an error.
pub(crate) fn code(error: &EntityError) -> String {
    error.to_string()[..5].to_owned()
}

impl Run {
    pub(crate) fn new(world: World, setup: Setup) -> Self {
        let hash = world.state_hash();
        let trackers = (0..2).map(|_| Default::default()).collect();
        let pairs = vec![Pair { world, plain: Plain::new(), orders: Orders::new(), hash }];
        Self { pairs, trackers, setup, left: None, last_number: 0, hashes: Vec::new() }
    }

    pub(crate) fn current(&mut self) -> &mut Pair {
        self.pairs.last_mut().unwrap()
    }

    /// Returns an entity: mostly a live one, otherwise a dead, future or invalid one.
    pub(crate) fn pick(&self, which: usize) -> Entity {
        let plain = &self.pairs.last().unwrap().plain;
        let living = plain.entities.len();
        if which % 16 < 14 && living > 0 {
            return *plain.entities.keys().nth(which / 16 % living).unwrap();
        }
        match which / 16 % 4 {
            0 => Entity::NULL,
            1 => plain.next(),
            2 => Entity::from_parts(u32::MAX, 1),
            _ => Entity::from_parts((which / 64) as u32 % 40, 1),
        }
    }

    /// Returns an entity that has a kind, if one exists.
    pub(crate) fn pick_having(&self, kind: usize, which: usize) -> Entity {
        self.pick_of(which, |row| row.contains_key(&kind))
    }

    /// Returns whether a step has too few entities of a kind, and should create some first.
    pub(crate) fn lacks(&self, kind: usize, step: &Step) -> bool {
        let entities = &self.pairs.last().unwrap().plain.entities;
        !step.other.is_multiple_of(8)
            && entities.values().filter(|row| row.contains_key(&kind)).count() < 4
    }

    /// Returns an entity with the kinds of another, if that exists.
    pub(crate) fn pick_alike(&self, entity: Entity, which: usize) -> Entity {
        let row = self.pairs.last().unwrap().plain.entities.get(&entity);
        self.pick_of(which, |other| row.is_some_and(|row| row.keys().eq(other.keys())))
    }

    fn pick_of(&self, which: usize, is_meant: impl Fn(&Row) -> bool) -> Entity {
        let entities = &self.pairs.last().unwrap().plain.entities;
        let meant = entities.iter().filter(|(_, row)| is_meant(row));
        let meant: Vec<Entity> = meant.map(|(&entity, _)| entity).collect();
        if meant.is_empty() { self.pick(which) } else { meant[which % meant.len()] }
    }

    /// Compares a result with the expected one. Returns whether the call has succeeded, and applies to the plain world.
    pub(crate) fn agrees<T: PartialEq + std::fmt::Debug>(
        &self,
        found: Result<T, EntityError>,
        expected: Result<T, &str>,
    ) -> bool {
        if let Err(EntityError::OutOfMemory(_)) = found
            && self.setup.chunks.is_some()
        {
            return false;
        }
        let expected = expected.map_err(str::to_owned);
        assert_eq!(found.map_err(|error| code(&error)), expected);
        expected.is_ok()
    }

    /// Returns the call of a step, or the next one that the script uses. All scripts use the calls that spawn.
    fn call(&self, step: &Step) -> Call {
        let is_meant = |call: Call| {
            matches!(call, Call::Spawn | Call::SpawnMany | Call::SpawnBatch)
                || self.setup.focus.calls >> call as u32 & 1 == 1
        };
        let calls = WEIGHTS.iter().map(|&(_, call)| call).cycle();
        calls.skip(step.call as usize).find(|&call| is_meant(call)).unwrap()
    }

    pub(crate) fn step(&mut self, step: &Step) {
        let which = self.setup.which(step.set);
        match self.call(step) {
            Call::Spawn => any_set!(which, S => self.spawn::<S>(step)),
            Call::SpawnMany => clone_set!(which, S => self.spawn_many::<S>(step)),
            Call::SpawnBatch => any_set!(which, S => self.spawn_batch::<S>(step)),
            Call::SpawnColumns => self.spawn_columns(step),
            Call::Create => self.create(step),
            Call::Instantiate => self.instantiate(step),
            Call::Despawn => self.despawn(step),
            Call::DespawnSlice => self.despawn_slice(step),
            Call::DespawnAll => self.despawn_all(),
            Call::Add => any_set!(which, S => self.add::<S>(step)),
            Call::AddTypes => self.add_types(step),
            Call::AddBytes => self.add_bytes(step),
            Call::Remove => any_set!(which, S => self.remove::<S>(step)),
            Call::RemoveTypes => self.remove_types(step),
            Call::Take => any_set!(which, S => self.take::<S>(step)),
            Call::Set => any_set!(which, S => self.set::<S>(step)),
            Call::GetMut => any_kind!(step.set, T => self.get_mut::<T>(step)),
            Call::SetBytes => self.set_bytes(step),
            Call::SetArchetype => self.set_archetype(step),
            Call::Swap => self.swap(step),
            Call::Toggle => self.toggle(step),
            Call::SetName => self.set_name(step),
            Call::Changes => self.changes(step),
            Call::WriteChunks => any_kind!(step.set, T => self.write_chunks::<T>(step)),
            Call::Advance => self.advance(),
            Call::Remap => self.remap(),
            Call::Group => self.group(step),
            Call::SetEnabled => self.set_enabled(step),
            Call::Buffer => self.buffer(step),
            Call::Shared => self.shared(step),
            Call::Managed => self.managed(step),
            Call::PerChunk => self.per_chunk(step),
            Call::Fork => self.copy(World::fork),
            Call::Duplicate => self.copy(World::duplicate),
            Call::Switch => self.switch(step.entity),
            Call::Forget => self.forget(step.entity),
        }
    }

    /// Continues with a fork or another copy, and keeps the world.
    fn copy(&mut self, copy: fn(&mut World) -> Result<World, EntityError>) {
        let Pair { world, plain, orders, .. } = self.current();
        let copied = copy(world);
        let has_only = plain.entities.values().any(|row| row.contains_key(&ONLY));
        let (plain, orders) = (plain.clone(), orders.clone());
        let (copied, result) = match copied {
            Ok(copied) => (Some(copied), Ok(())),
            Err(error) => (None, Err(error)),
        };
        if self.agrees(result, if has_only { Err("A0058") } else { Ok(()) }) {
            let world = copied.unwrap();
            let hash = world.state_hash();
            assert_eq!(hash, self.current().world.state_hash());
            self.leave();
            self.pairs.push(Pair { world, plain, orders, hash });
            if self.pairs.len() > 5 {
                self.pairs.remove(0);
            }
        }
    }

    /// Continues in a fork, if possible, and keeps the original.
    pub(crate) fn go_on_in_fork(&mut self) {
        let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
        self.left = world.fork().ok().map(|fork| {
            let hash = world.state_hash();
            assert_eq!(fork.state_hash(), hash);
            let pages = plain.entities.values().filter(|row| row.contains_key(&PAGE)).count();
            (std::mem::replace(world, fork), hash, pages)
        });
    }

    /// Records the state of a world before another becomes the current one.
    fn leave(&mut self) {
        let pair = self.current();
        pair.hash = pair.world.state_hash();
        let hash = pair.hash;
        self.hashes.push(hash);
    }

    fn switch(&mut self, which: usize) {
        self.leave();
        let which = which % self.pairs.len();
        let pair = self.pairs.remove(which);
        self.pairs.push(pair);
    }

    fn forget(&mut self, which: usize) {
        if self.pairs.len() > 1 {
            self.leave();
            self.pairs.remove(which % self.pairs.len());
        }
    }

    fn changes(&mut self, step: &Step) {
        let pair = self.pairs.last_mut().unwrap();
        let (tracker, seen) = &mut self.trackers[step.other % 2];
        let changes = pair.world.entity_changes(tracker);
        let now: BTreeSet<Entity> = pair.plain.entities.keys().copied().collect();
        let created: Vec<Entity> = now.difference(seen).copied().collect();
        let destroyed: Vec<Entity> = seen.difference(&now).copied().collect();
        assert_eq!((changes.created, changes.destroyed), (created, destroyed));
        *seen = now;
    }
}
