//! Adding observers, and delivering events to them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::name_of;
use crate::panics::discard;
use crate::schedule::{SystemError, SystemFault, SystemId, panic_message};
use crate::storage::{DESPAWN, EventBatch, EventKind, REPLACED, WatchNumber};
use crate::system::builder::{BuildSystem, IntoSystem};
use crate::system::group::SystemGroup;
use crate::system::update_guard::UpdateGuard;
use crate::world::{
    CurrentEvents, DeclaredEvents, EventType, Interest, ObserverEntry, Observers, QueuedBatch,
    World,
};

/// The number of a list of removals that has no readers any more.
const RETIRED: WatchNumber = WatchNumber::MAX;

/// The kinds of events of enabled bits.
const OF_BITS: u8 = EventKind::Enable.bit() | EventKind::Disable.bit();

/// The number of rounds of one delivery in which commands of observers may raise events.
const ROUNDS: usize = 16;

/// The group of the observers. It is in no other group, so that updates do not run it.
#[derive(Debug)]
pub(super) struct ObserverGroup;

impl SystemGroup for ObserverGroup {
    fn name() -> &'static str {
        "observers"
    }
}

impl World {
    /// Adds an observer: a function system whose first parameter is [`On`](crate::On). It runs when its events are delivered.
    ///
    /// The options `named`, `before`, `after`, `enabled`, [`for_existing`](IntoSystem::for_existing) and others are those of
    /// systems. Observers run in the order in which they were added, unless `before` or `after` says otherwise.
    /// [`remove_system`](Self::remove_system) removes an observer. If an observer is disabled, its events are dropped.
    ///
    /// Events are delivered after each system and its [`Commands`](crate::Commands); at a [command point](crate::CommandPoint),
    /// after all its buffers; and at the end of each method of a `World` that changes entities outside of an update. A method that
    /// returns a borrow of components, and methods of the [`EntityManager`](crate::EntityManager) alone, leave their events to the
    /// next delivery. So does the other world of a transfer.
    ///
    /// Commands of an observer are played when it returns. Their events form the next round of the same delivery, up to 16 rounds
    /// (A0205). An observer that panics is reported (A0105), by the next update if no update is running. The others get the events.
    ///
    /// # Panics
    ///
    /// Panics with the error of [`try_add_observer`](Self::try_add_observer).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, On, Remove, ResMut, Resource, World};
    ///
    /// #[derive(Component)]
    /// struct Shield;
    ///
    /// #[derive(Resource, Clone)]
    /// struct Broken(usize);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Broken(0));
    /// world.add_observer(|lost: On<Remove<Shield>>, mut broken: ResMut<Broken>| {
    ///     broken.0 += lost.len();
    /// });
    /// let knight = world.spawn(Shield);
    /// world.remove::<Shield>(knight).unwrap();
    /// assert_eq!(world.resource::<Broken>().0, 1);
    /// ```
    #[track_caller]
    #[doc(alias = "observe")]
    pub fn add_observer<M, S: IntoSystem<M> + BuildSystem<M>>(&mut self, observer: S) -> SystemId {
        match self.try_add_observer(observer) {
            Ok(id) => id,
            Err(error) => panic!("{error}"),
        }
    }

    /// Adds an observer, or returns an error. See [`add_observer`](Self::add_observer).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`try_add_system`](Self::try_add_system). In the following cases the observer is not added, either:
    ///
    /// - A0201, A0203: the function has no parameter [`On`](crate::On), or several
    /// - A0202: the option `in_group` or `patch` is set
    /// - A0204: the enabled bits of a type are observed that has none
    pub fn try_add_observer<M, S: IntoSystem<M> + BuildSystem<M>>(
        &mut self,
        observer: S,
    ) -> Result<SystemId, SystemError> {
        self.add_default_groups();
        let mut builder = observer.into_builder();
        builder.is_observer = true;
        if self.observers.group.is_none_or(|group| !self.has_system(group)) {
            self.observers.group = Some(self.add_detached_group(ObserverGroup.into_builder())?);
        }
        if !builder.create_before.is_empty() || !builder.create_after.is_empty() {
            self.systems.creation_order(std::slice::from_ref(&builder))?;
        }
        let added = self.add_built(builder);
        self.deliver_outside();
        added
    }

    /// Registers the events of a new observer. Returns an error if a system has events and is no observer, or the reverse.
    pub(in crate::system) fn settle_events(
        &mut self,
        id: SystemId,
        name: &str,
        is_observer: bool,
        for_existing: bool,
    ) -> Result<(), SystemError> {
        let mut declared = std::mem::take(&mut self.observers.declared);
        let system = name.to_owned();
        let declared = match (declared.pop(), declared.is_empty(), is_observer) {
            (None, _, false) => return Ok(()),
            (Some(_), _, false) => return Err(SystemError::EventInSystem { system }),
            (None, _, true) => return Err(SystemError::NoEvent { system }),
            (Some(_), false, true) => return Err(SystemError::SeveralEvents { system }),
            (Some(declared), true, true) => declared,
        };
        let created = self.systems.record(id).map_or(u64::MAX, |record| record.created);
        self.queue_pending(created);
        let DeclaredEvents { events, wants_values } = declared;
        for &(ty, kinds) in &events {
            if let EventType::Component(component) = ty
                && kinds & OF_BITS != 0
                && !component.is_enableable()
            {
                return Err(SystemError::EventNotEnableable { system, component });
            }
        }
        let interests = self.watch_events(events, wants_values);
        if for_existing {
            let batch = self.existing(&interests);
            self.observers.queued.push(QueuedBatch {
                batch,
                only: Some(id),
                before: u64::MAX,
                is_followed: true,
                renumbered: self.observers.renumbered,
            });
        }
        let interests = interests.into();
        self.observers.entries.push(ObserverEntry { id, interests, wants_values });
        Ok(())
    }

    /// Begins to observe the types of events.
    fn watch_events(
        &mut self,
        events: impl IntoIterator<Item = (EventType, u8)>,
        wants_values: bool,
    ) -> Vec<Interest> {
        let storage = &mut self.entities.storage;
        let watch = |(ty, kinds)| {
            let (number, ty) = match ty {
                EventType::Component(ty) => (storage.watch(ty, wants_values), Some(ty)),
                EventType::Despawn => {
                    storage.watch_despawns(true);
                    (DESPAWN, None)
                }
                EventType::Replaced => {
                    storage.watch_replacements(true);
                    (REPLACED, None)
                }
            };
            if let Some(ty) = ty.filter(|_| kinds & OF_BITS != 0) {
                self.observers.masks.watch(number, ty, storage);
            }
            Interest { number, kinds, ty }
        };
        events.into_iter().map(watch).collect()
    }

    /// Observes the entities of the world, if they were observed by another world until now. They are other entities then, because
    /// the managers of two worlds were exchanged.
    #[inline]
    pub(in crate::system) fn own_entities(&mut self) {
        if self.entities.storage.lifecycle.owner != self.systems.id {
            self.observe_other_entities();
        }
    }

    #[cold]
    #[inline(never)]
    fn observe_other_entities(&mut self) {
        let lifecycle = &mut self.entities.storage.lifecycle;
        let is_new = self.observers.entries.is_empty() && self.observers.removed.is_empty();
        if is_new && !lifecycle.is_active() {
            lifecycle.owner = self.systems.id;
            return;
        }
        let log = lifecycle.give_to(self.systems.id);
        let queued = std::mem::take(&mut self.observers.queued);
        self.observers.renumbered += 1;
        self.observers.masks.clear();
        let mut entries = std::mem::take(&mut self.observers.entries);
        for ObserverEntry { interests, wants_values, .. } in &mut entries {
            let event = |interest: &Interest| {
                let ty = match (interest.ty, interest.number) {
                    (Some(ty), _) => EventType::Component(ty),
                    (None, REPLACED) => EventType::Replaced,
                    (None, _) => EventType::Despawn,
                };
                (ty, interest.kinds)
            };
            let events: Vec<_> = interests.iter().map(event).collect();
            *interests = self.watch_events(events, *wants_values).into();
        }
        self.observers.entries = entries;
        for queue in self.observers.removed.iter_mut().filter(|queue| queue.number != RETIRED) {
            queue.number = self.entities.storage.watch(queue.ty, false);
        }
        self.entities.storage.refresh_observed();
        if !is_new {
            self.entities.storage.lifecycle.set_replaced();
        }
        let name = "the drop of an observed component".into();
        self.drop_catching(&name, log);
        queued.into_iter().for_each(|queued| self.drop_catching(&name, queued));
    }

    /// Returns `Add` events for all entities that have observed components.
    fn existing(&mut self, interests: &[Interest]) -> Arc<EventBatch> {
        let mut batch = self.observers.take_batch();
        let events = Observers::emptied(&mut batch);
        let storage = &self.entities.storage;
        let prefab = crate::component::ComponentType::of::<crate::builtin::Prefab>();
        for interest in
            interests.iter().filter(|interest| interest.kinds & EventKind::Add.bit() != 0)
        {
            let Some(ty) = interest.ty else { continue };
            for (_, archetype) in storage.archetypes.iter() {
                if !archetype.shape.has(ty) || (archetype.shape.has(prefab) && ty != prefab) {
                    continue;
                }
                let chunks = archetype.chunks.iter().map(|&number| &storage.chunks[number]);
                let entities = chunks.flat_map(|chunk| chunk.entities().iter().copied());
                events.push(interest.number, EventKind::Add, entities);
            }
        }
        batch
    }

    /// Ends the observation of the types of an observer that is removed.
    pub(in crate::system) fn forget_observer(&mut self, id: SystemId) {
        let entries = &mut self.observers.entries;
        if !entries.iter().any(|entry| entry.id == id) {
            return;
        }
        self.queue_pending(u64::MAX);
        let entries = &mut self.observers.entries;
        let Some(at) = entries.iter().position(|entry| entry.id == id) else { return };
        let ObserverEntry { interests, wants_values, .. } = entries.remove(at);
        let storage = &mut self.entities.storage;
        for interest in interests.iter() {
            match interest.ty {
                Some(_) => storage.unwatch(interest.number, wants_values),
                None if interest.number == REPLACED => storage.watch_replacements(false),
                None => storage.watch_despawns(false),
            }
            if interest.kinds & OF_BITS != 0 {
                self.observers.masks.unwatch(interest.number);
            }
        }
    }

    /// Moves pending events to a batch, before the observed types change. Only observers that were added before receive it.
    fn queue_pending(&mut self, before: u64) {
        self.own_entities();
        if !self.entities.storage.lifecycle.is_pending() {
            return;
        }
        let mut batch = self.observers.take_batch();
        let events = Observers::emptied(&mut batch);
        if self.entities.storage.lifecycle.take_batch(events) {
            self.observers.queued.push(QueuedBatch {
                batch,
                only: None,
                before,
                is_followed: false,
                renumbered: self.observers.renumbered,
            });
        } else {
            self.recycle_batch(batch);
        }
    }

    /// Compares enabled bits with those of the last command point, and queues the events.
    #[cold]
    pub(in crate::system) fn compare_masks(&mut self) {
        self.own_entities();
        self.observers.masks.types().for_each(|ty| self.entities.jobs.sync_for_enabled_read(ty));
        let mut batch = self.observers.take_batch();
        let events = Observers::emptied(&mut batch);
        self.entities.storage.lifecycle.take_batch(events);
        let masks = &mut self.observers.masks;
        masks.follow(events, &self.entities.storage);
        masks.compare(&self.entities.storage, events);
        if events.runs.is_empty() && !events.replaced {
            self.recycle_batch(batch);
        } else {
            self.observers.queued.push(QueuedBatch {
                batch,
                only: None,
                before: u64::MAX,
                is_followed: true,
                renumbered: self.observers.renumbered,
            });
        }
    }

    /// Returns whether events wait for delivery.
    #[inline]
    pub(in crate::system) fn has_events(&self) -> bool {
        self.entities.storage.lifecycle.is_pending() || !self.observers.queued.is_empty()
    }

    /// Delivers pending events at the end of a call outside of an update.
    #[inline]
    pub(crate) fn deliver_outside(&mut self) {
        if self.has_events() {
            self.deliver_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn deliver_now(&mut self) {
        self.reset_abandoned_update();
        self.reset_abandoned_holds();
        if self.systems.is_in_update() || self.observers.holds > 0 || self.observers.is_delivering {
            return;
        }
        self.begin_update();
        let world = self.systems.id;
        let _guard = UpdateGuard::begin(world);
        let listed = self.entities.jobs.list_scheduled(true);
        self.deliver();
        if self.systems.id == world {
            self.entities.jobs.list_scheduled(listed);
            self.raise_version();
            self.sync_last_runs();
        }
    }

    /// Delivers pending events to observers, in rounds, until there are no more.
    #[cold]
    #[inline(never)]
    pub(in crate::system) fn deliver(&mut self) {
        if self.observers.is_delivering {
            return;
        }
        self.observers.is_delivering = true;
        let world = self.systems.id;
        let mut rounds = 0;
        loop {
            self.own_entities();
            let queued = if self.observers.queued.is_empty() {
                if !self.entities.storage.lifecycle.is_pending() {
                    break;
                }
                let mut batch = self.observers.take_batch();
                let events = Observers::emptied(&mut batch);
                if !self.entities.storage.lifecycle.take_batch(events) {
                    self.recycle_batch(batch);
                    break;
                }
                rounds += 1;
                QueuedBatch {
                    batch,
                    only: None,
                    before: u64::MAX,
                    is_followed: false,
                    renumbered: self.observers.renumbered,
                }
            } else {
                self.observers.queued.remove(0)
            };
            if rounds > ROUNDS {
                self.report_rounds(&queued.batch);
                self.recycle_batch(queued.batch);
                break;
            }
            let batch = self.deliver_batch(queued);
            if self.systems.id != world {
                return;
            }
            if let Some(batch) = batch {
                self.recycle_batch(batch);
            }
        }
        self.observers.is_delivering = false;
    }

    /// Runs each observer once, with its events of a batch. Returns the batch, unless the last observer has failed and keeps it.
    fn deliver_batch(&mut self, queued: QueuedBatch) -> Option<Arc<EventBatch>> {
        let QueuedBatch { batch, only, before, is_followed, renumbered } = queued;
        if self.observers.renumbered != renumbered {
            return Some(batch);
        }
        if only.is_none() {
            self.note_removed(&batch);
        }
        if !is_followed && !self.observers.masks.is_empty() {
            self.observers.masks.follow(&batch, &self.entities.storage);
        }
        let Some(group) = self.observers.group else { return Some(batch) };
        if let Err(fault) = self.sort(group) {
            self.systems.fail(group, *fault);
            return Some(batch);
        }
        let Some(record) = self.systems.record_mut(group) else { return Some(batch) };
        let Some(sorted) = record.children.sorted.take() else { return Some(batch) };
        let world = self.systems.id;
        // An observer runs when the next one is found, and the last one gets the batch itself: counting owners takes time.
        let mut next = None;
        for (likely, &id) in sorted.iter().enumerate() {
            let Some((_, entry)) = self.observers.entry(id, likely) else { continue };
            let receives = |interest: &Interest| {
                (interest.number == REPLACED && batch.replaced)
                    || batch.runs.iter().any(|run| interest.includes(run))
            };
            let is_late = before != u64::MAX
                && self.systems.record(id).is_none_or(|record| record.created >= before);
            if is_late
                || only.is_some_and(|only| only != id)
                || !entry.interests.iter().any(receives)
            {
                continue;
            }
            if let Some(earlier) = next.replace((id, likely)) {
                drop(self.run_observer(earlier, Arc::clone(&batch), renumbered));
                if self.systems.id != world {
                    return None;
                }
            }
        }
        let batch = match next {
            Some(last) => self.run_observer(last, batch, renumbered),
            None => Some(batch),
        };
        if self.systems.id == world
            && let Some(record) = self.systems.record_mut(group)
        {
            record.children.sorted.get_or_insert(sorted);
        }
        batch
    }

    /// Runs an observer with its events of a batch. Returns the batch, unless the observer has failed and keeps it.
    fn run_observer(
        &mut self,
        (id, likely): (SystemId, usize),
        batch: Arc<EventBatch>,
        renumbered: u64,
    ) -> Option<Arc<EventBatch>> {
        // An earlier observer may have removed this one, or given the world other entities, whose types have other numbers.
        if self.observers.renumbered != renumbered {
            return Some(batch);
        }
        let Some((at, _)) = self.observers.entry(id, likely) else { return Some(batch) };
        let world = self.systems.id;
        self.observers.returned = None;
        self.observers.current = Some(CurrentEvents { batch, id, at, renumbered });
        self.run(id);
        if self.systems.id != world {
            return None;
        }
        // The observer has not taken the batch if it is disabled or lacks a parameter.
        let unused = self.observers.current.take().map(|current| current.batch);
        unused.or_else(|| self.observers.returned.take())
    }

    /// Appends removals to the lists of `Removed` parameters.
    fn note_removed(&mut self, batch: &EventBatch) {
        let storage = &mut self.entities.storage;
        for queue in &mut self.observers.removed {
            if queue.has_readers() {
                queue.extend(batch, &self.messages.clocks);
            } else if queue.number != RETIRED {
                // The numbers of lists are indices, so the list stays. A new reader of the type makes another.
                storage.unwatch(queue.number, false);
                queue.number = RETIRED;
            }
        }
    }

    /// Drops the old values of a batch, and keeps its memory.
    #[inline]
    fn recycle_batch(&mut self, batch: Arc<EventBatch>) {
        // Without values, a batch is emptied when it is used again.
        if batch.has_values() {
            self.drop_values(batch);
        } else {
            self.observers.spare.push(batch);
        }
    }

    #[inline(never)]
    fn drop_values(&mut self, mut batch: Arc<EventBatch>) {
        // A failed observer may still have the batch, and drops it later.
        if let Some(events) = Arc::get_mut(&mut batch) {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| events.clear())) {
                let message = panic_message(&*payload);
                discard(payload);
                let name = "the drop of an observed component".into();
                self.systems.fail_as(name, SystemFault::Panicked { message });
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| events.clear())) {
                    discard(payload);
                }
            }
            self.observers.spare.push(batch);
        }
    }

    /// Reports that commands of observers raised events for too many rounds.
    #[cold]
    fn report_rounds(&mut self, batch: &EventBatch) {
        let lifecycle = &self.entities.storage.lifecycle;
        let mut types: Vec<_> =
            batch.runs.iter().map(|run| name_of(lifecycle.type_of(run.number))).collect();
        types.dedup();
        let receives = |entry: &&ObserverEntry| {
            entry
                .interests
                .iter()
                .any(|interest| batch.runs.iter().any(|run| interest.includes(run)))
        };
        let entries = self.observers.entries.iter().filter(receives);
        let observers: Vec<_> =
            entries.map(|entry| format!("`{}`", self.systems.name_of(entry.id))).collect();
        let types: Vec<_> = types.iter().map(|name| format!("`{name}`")).collect();
        let (observers, types) = (observers.join(", "), types.join(", "));
        self.systems.fail_as(self.name().into(), SystemFault::EventRounds { observers, types });
    }
}
