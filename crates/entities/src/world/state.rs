//! The state of a world, which decides how its simulation goes on: forks, state hashes and replacement.

use std::mem;
use std::sync::Arc;

use super::resources::ReplacedResources;
use super::{Systems, World};
use crate::component::stable_hash;
use crate::error::EntityError;
use crate::field::StateHasher;
use crate::manager::EntityManager;
use crate::messages::ReplacedMessages;
use crate::panics::FirstPanic;
use crate::schedule::RateState;
use crate::version::Version;

impl World {
    /// Creates a second world with the same state, which shares memory with this one until one of them writes to it.
    ///
    /// The state consists of entities, [state resources](crate::Resource), [states](crate::States), [messages](crate::Message), the
    /// time, and the progress of groups with a rate. The fork has no systems, no local resources and no non-send values.
    ///
    /// The cost is linear in the number of chunks and resources. The first write to a chunk copies the chunk, and the first write
    /// to a resource clones the resource. Use forks for snapshots and undo. [`restore`](Self::restore) rolls back to a fork.
    ///
    /// Until a chunk or resource is copied, changes of values with interior mutability, such as atomics, are visible in both
    /// worlds.
    ///
    /// [Caches](crate::EntityManager::take_cache), such as the cache of the transforms, are shared too. The code that owns a cache
    /// copies it before its next write.
    ///
    /// Chunks with [managed](crate::ManagedComponent) components are copied immediately, because such components belong to one
    /// thread. [Chunk components](crate::PerChunk) are copied immediately, too.
    ///
    /// If groups with the same names are added to the fork, they continue at the step of the original ones.
    ///
    /// # Errors
    ///
    /// Returns an error if a component can neither be copied nor cloned, or there is not enough memory for the immediate copies.
    /// Returns A0181 while a time is [pushed](Self::push_time), which includes the steps of a group with a rate. In these cases, and
    /// if a clone panics, the world is unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let before = world.fork().unwrap();
    /// world.get_mut::<Health>(orc).unwrap().0 = 0;
    /// assert_eq!(before.get(orc), Ok(&Health(20)));
    /// ```
    #[doc(alias = "snapshot")]
    pub fn fork(&mut self) -> Result<Self, EntityError> {
        let time = self.time.fork().ok_or(EntityError::TimePushed)?;
        let rates = self.systems.rate_states();
        let entities = self.entities.fork()?;
        let messages = self.messages.fork(self.entities.jobs.scheduler());
        let mut fork = self.with_copied_entities(entities);
        fork.messages = messages;
        fork.time = time;
        fork.systems.captured_rates = rates;
        fork.resources = self.resources.fork();
        Ok(fork)
    }

    /// Creates a second world with the same state, which shares no memory with this one. See [`fork`](Self::fork).
    ///
    /// # Errors
    ///
    /// Returns an error if a component can neither be copied nor cloned, or there is not enough memory. Returns A0181 while a time
    /// is pushed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let mut copy = world.duplicate()?;
    /// copy.get_mut::<Health>(orc)?.0 = 0;
    /// assert_eq!((world.get(orc)?, copy.get(orc)?), (&Health(20), &Health(0)));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn duplicate(&mut self) -> Result<Self, EntityError> {
        let mut copy = self.fork()?;
        copy.entities.make_unique()?;
        copy.resources.make_unique();
        Ok(copy)
    }

    fn with_copied_entities(&mut self, mut entities: EntityManager) -> Self {
        if let Some(last_runs) = self.last_runs() {
            entities.last_runs = Some(last_runs);
        }
        Self::with_entities(self.name.clone(), self.settings.clone(), entities)
    }

    /// Returns a hash of the state of the world. Two worlds that will behave in the same way have the same hash.
    ///
    /// The hash includes:
    ///
    /// - the entities, as in [`EntityManager::state_hash`](crate::EntityManager::state_hash)
    /// - the [state resources](crate::Resource), by their stable names. A resource that is absent differs from a default value
    /// - the [messages](crate::Message) that are kept, and the positions of their readers
    /// - the [time](Self::time), the [time scale](Self::set_time_scale), and the progress of groups with a rate
    ///
    /// It excludes systems, [`Local`](crate::Local) values, local resources, non-send values, versions and opaque fields.
    ///
    /// # Panics
    ///
    /// Panics with A0154 if entities have components of two types with the same stable name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Seed(u64);
    ///
    /// let mut host = World::new("Host");
    /// host.insert_resource(Seed(7));
    /// let mut client = host.fork()?;
    /// assert_eq!(host.state_hash(), client.state_hash());
    /// client.resource_mut::<Seed>().0 = 8;
    /// assert_ne!(host.state_hash(), client.state_hash());
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn state_hash(&self) -> u64 {
        let mut state = StateHasher::new();
        self.entities.feed_state(&mut state);
        self.resources.feed(&mut state);
        self.messages.feed(&mut state, self.entities.jobs.scheduler());
        let time = self.time.state();
        for number in [time.elapsed, time.delta, time.scale, time.maximum_delta] {
            state.write_f64(number);
        }
        state.write_u64(time.frame);
        state.write_u8(time.is_paused.into());
        let rates = self.systems.rate_states();
        state.write_u64(rates.len() as u64);
        for (group, RateState(numbers)) in rates {
            state.write_u64(stable_hash(&group));
            numbers.into_iter().for_each(|number| state.write_f64(number));
        }
        state.finish()
    }

    /// Replaces the state of this world by that of another world: entities, [state resources](crate::Resource),
    /// [messages](crate::Message), time and the progress of groups with a rate. Local resources and systems stay.
    ///
    /// Entities keep their ids, components, enabled bits and names. The next ids are also the same. Both worlds share memory, like a
    /// [fork](Self::fork) and its world, until one of them writes to it. A world that repeatedly replaces its state, as a view or a
    /// backup of another world, shares all chunks and resources that have not been written between two calls.
    ///
    /// For the systems of this world, what differs from the replaced state counts as changed: see
    /// [`EntityManager::copy_and_replace_from`](crate::EntityManager::copy_and_replace_from). To roll back to a fork of this world,
    /// with exact change detection, use [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// Returns A0130 if the worlds have different chunk sizes or capacity limits. Also returns an error if a component can
    /// neither be copied nor cloned, or there is no memory. In these cases nothing was replaced.
    ///
    /// # Panics
    ///
    /// Panics with A0180 if the worlds have different state resources with the same stable name. Nothing was replaced in this case.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Resource, World};
    ///
    /// #[derive(Resource, Clone, Debug, PartialEq)]
    /// struct Score(u32);
    ///
    /// let (mut game, mut shown) = (World::new("Game"), World::new("Shown"));
    /// game.insert_resource(Score(3));
    /// shown.copy_and_replace_from(&mut game)?;
    /// game.resource_mut::<Score>().0 = 4;
    /// assert_eq!(shown.resource::<Score>(), &Score(3));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    #[doc(alias = "CopyAndReplaceEntitiesFrom")]
    pub fn copy_and_replace_from(&mut self, source: &mut Self) -> Result<(), EntityError> {
        self.add_state_types_of(source);
        self.entities.copy_and_replace_from(&mut source.entities)?;
        let version = self.entities.storage.version;
        let replaced = self.replace_state(source, Some(version));
        let mut panics = FirstPanic::default();
        replaced.release(&mut panics);
        panics.go_on();
        self.deliver_outside();
        Ok(())
    }

    /// Creates a world with the given entities, and with the types of this world's resources, without values.
    pub(crate) fn aside(&self, entities: EntityManager) -> Self {
        let mut aside = Self::with_entities(self.name.clone(), self.settings.clone(), entities);
        let added = aside.resources.add_types_of(&self.resources);
        debug_assert_eq!(added, Ok(()), "the types of one world have different names");
        aside
    }

    /// Adds the types of another world's state, so that replacing the state cannot fail.
    ///
    /// # Panics
    ///
    /// Panics with A0180 if two types have the same stable name.
    #[track_caller]
    pub(crate) fn add_state_types_of(&mut self, source: &Self) {
        let resources = self.resources.add_types_of(&source.resources);
        let added = resources.and_then(|()| self.messages.add_types_of(&source.messages));
        if let Err(message) = added {
            panic!("{message}");
        }
    }

    /// Replaces the state that is not part of the entities. Returns the old values, whose drop is user code.
    ///
    /// If `version` is given, resources that differ count as changed at that version. Otherwise the versions are replaced, too.
    pub(crate) fn replace_state(
        &mut self,
        source: &mut Self,
        version: Option<Version>,
    ) -> ReplacedState {
        source.messages.complete_jobs(source.entities.jobs.scheduler());
        self.messages.complete_jobs(self.entities.jobs.scheduler());
        self.time.replace(&source.time);
        let rates = source.systems.rate_states();
        self.systems.replace_rates(rates);
        let messages = self.messages.replace_state(&source.messages);
        let resources = self.resources.replace_state(&source.resources, version);
        ReplacedState { resources, messages }
    }
}

/// State that was replaced.
#[must_use = "dropping it is user code"]
pub(crate) struct ReplacedState {
    resources: ReplacedResources,
    messages: ReplacedMessages,
}

impl ReplacedState {
    /// Drops the values one by one.
    pub(crate) fn release(self, panics: &mut FirstPanic) {
        self.resources.release(panics);
        self.messages.release(panics);
    }
}

/// The states of rate managers by the names of their groups.
pub(crate) type RateStates = Vec<(Arc<str>, RateState)>;

impl Systems {
    /// Returns the states of all rate managers, in the order of the names of their groups. Includes states that a fork has for
    /// groups that it does not have.
    pub(crate) fn rate_states(&self) -> RateStates {
        let mut live: Vec<_> = self.rates().collect();
        live.sort_by(|(one, created, _), (other, later, _)| (one, created).cmp(&(other, later)));
        let is_missing = |name: &Arc<str>| !live.iter().any(|(live, ..)| live == name);
        let missing = self.captured_rates.iter().filter(|(name, _)| is_missing(name)).cloned();
        let states = live.iter().filter_map(|(name, _, state)| Some((Arc::clone(name), (*state)?)));
        let mut all: RateStates = states.chain(missing.collect::<Vec<_>>()).collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// Iterates over the names, the ages and the states of the groups with a rate.
    fn rates(&self) -> impl Iterator<Item = (Arc<str>, u64, Option<RateState>)> {
        let records = self.slots.iter().filter_map(|slot| slot.record.as_deref());
        records.filter_map(|record| {
            let rate = record.children.rate.as_ref()?;
            Some((Arc::clone(&record.name), record.created, rate.state()))
        })
    }

    /// Restores the states of rate managers. Keeps the states of groups that the world does not have.
    fn replace_rates(&mut self, states: RateStates) {
        let mut states: Vec<_> = states.into_iter().map(Some).collect();
        let records = self.slots.iter_mut().filter_map(|slot| slot.record.as_deref_mut());
        let mut records: Vec<_> = records.filter(|record| record.children.rate.is_some()).collect();
        // Several groups may have one name. They are distinguished by their age.
        records.sort_by_key(|record| record.created);
        for record in records {
            let is_own = |state: &&mut Option<(Arc<str>, RateState)>| {
                state.as_ref().is_some_and(|(name, _)| *name == record.name)
            };
            let state = states.iter_mut().find(is_own).and_then(Option::take);
            if let Some(rate) = &mut record.children.rate {
                rate.restore(state.map(|(_, state)| state));
            }
        }
        self.captured_rates = states.into_iter().flatten().collect();
    }

    /// Restores the state that a fork has for the rate manager of a group.
    #[cold]
    pub(crate) fn restore_captured_rate(&mut self, group: crate::schedule::SystemId) {
        let captured = mem::take(&mut self.captured_rates);
        if let Some(record) = self.record_mut(group)
            && let Some(rate) = &mut record.children.rate
            && let Some((_, state)) = captured.iter().find(|(name, _)| *name == record.name)
        {
            rate.restore(Some(*state));
        }
        self.captured_rates = captured;
    }

    /// Drops the states that a fork has for groups that it now has. Called when an update begins: from then on, a new rate manager
    /// begins anew.
    #[cold]
    pub(crate) fn drop_captured_rates(&mut self) {
        let captured = mem::take(&mut self.captured_rates);
        let names: Vec<_> = self.rates().map(|(name, ..)| name).collect();
        self.captured_rates =
            captured.into_iter().filter(|(name, _)| !names.contains(name)).collect();
    }
}
