//! The parameter of observers.

#![expect(unsafe_code, reason = "implements the trait of parameters, and reads old values by type")]

use std::any::type_name;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem;
use std::slice;
use std::sync::Arc;

use super::{EventWith, LifecycleEvent, OldValue, Remove, Replace, Value};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::schedule::{ParamConflict, SystemFault};
use crate::set::ComponentSet;
use crate::storage::{EventBatch, EventRun, RemoveCause};
use crate::system::param::{ParamSetup, ParamState, SystemParam, UnsafeWorldCell};
use crate::world::{DeclaredEvents, Interest, World};

/// The events that an observer receives. It is the first parameter of an observer.
///
/// `E` is a [`LifecycleEvent`]. With `V` = [`Value`], the events have old values.
///
/// Events are delivered together, at delivery points: after a system and its commands, at a [command point](crate::CommandPoint)
/// after all its buffers, and at the end of a structural call of a [`World`] outside of updates. For each entity and component only
/// the net effect counts. A component that was added and removed in between raises no event. Entities are in the order of the first
/// operation on each. An entity may not exist any more.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Add, Commands, Component, On, World};
///
/// #[derive(Component)]
/// struct Orc;
///
/// #[derive(Component)]
/// struct Angry;
///
/// fn enrage(added: On<Add<Orc>>, mut commands: Commands) {
///     for event in &added {
///         commands.add(event.entity(), Angry);
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_observer(enrage);
/// let orc = world.spawn(Orc);
/// assert!(world.has::<Angry>(orc));
/// ```
#[doc(alias = "Trigger")]
pub struct On<'s, E, V = ()> {
    batch: Option<&'s EventBatch>,
    interests: &'s [Interest],
    event: PhantomData<(fn() -> E, V)>,
}

impl<'s, E: LifecycleEvent, V> On<'s, E, V> {
    fn runs(&self) -> impl Iterator<Item = &'s EventRun> + use<'s, E, V> {
        let (runs, interests) = (self.batch.map_or(&[][..], |batch| &batch.runs), self.interests);
        runs.iter().filter(move |run| interests.iter().any(|interest| interest.includes(run)))
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.runs().map(|run| run.len as usize).sum()
    }

    /// Returns whether there are no events. That is the case for [`Replaced`](super::Replaced), which has no entities.
    pub fn is_empty(&self) -> bool {
        self.runs().next().is_none()
    }

    /// Iterates over the events, in order.
    pub fn iter(&self) -> Events<'s, E, V> {
        let On { batch, interests, .. } = *self;
        let runs = batch.map_or(&[][..], |batch| &batch.runs).iter();
        Events { batch, interests, runs, current: None, at: 0, event: PhantomData }
    }

    /// Iterates over the entities of all events, in order.
    pub fn entities(&self) -> impl Iterator<Item = Entity> + use<'s, E, V> {
        self.slices().flatten().copied()
    }

    /// Iterates over the entities of all events, in slices of consecutive events of one type.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Add, Component, On, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_observer(|added: On<Add<Orc>>| {
    ///     assert!(added.slices().map(<[_]>::len).eq([1000]));
    /// });
    /// world.spawn_many(Orc, 1000);
    /// ```
    pub fn slices(&self) -> impl Iterator<Item = &'s [Entity]> + use<'s, E, V> {
        let batch = self.batch;
        self.runs().filter_map(move |run| Some(batch?.entities_of(run)))
    }
}

impl<'s, E: LifecycleEvent, V> IntoIterator for &On<'s, E, V> {
    type Item = Event<'s, E, V>;
    type IntoIter = Events<'s, E, V>;

    fn into_iter(self) -> Events<'s, E, V> {
        self.iter()
    }
}

impl<E, V> fmt::Debug for On<'_, E, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "On<{}>", type_name::<E>())
    }
}

/// An iterator over the events of [`On`].
pub struct Events<'s, E, V = ()> {
    batch: Option<&'s EventBatch>,
    interests: &'s [Interest],
    runs: slice::Iter<'s, EventRun>,
    current: Option<(&'s EventRun, &'s [Entity], Option<ComponentType>)>,
    at: u32,
    event: PhantomData<(fn() -> E, V)>,
}

impl<'s, E, V> Iterator for Events<'s, E, V> {
    type Item = Event<'s, E, V>;

    #[inline]
    fn next(&mut self) -> Option<Event<'s, E, V>> {
        loop {
            if let Some((run, entities, ty)) = self.current
                && let Some(&entity) = entities.get(self.at as usize)
            {
                let at = self.at;
                self.at += 1;
                return Some(Event { entity, run, at, ty, event: PhantomData });
            }
            self.at = 0;
            let (batch, interests) = (self.batch?, self.interests);
            let mut found = None;
            let run = self.runs.find(|run| {
                found = interests.iter().find(|interest| interest.includes(run));
                found.is_some()
            })?;
            let ty = found.and_then(|interest: &Interest| interest.ty);
            self.current = Some((run, batch.entities_of(run), ty));
        }
    }
}

impl<E, V> FusedIterator for Events<'_, E, V> {}

impl<E, V> fmt::Debug for Events<'_, E, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Events<{}>", type_name::<E>())
    }
}

/// One event of [`On`].
pub struct Event<'s, E, V = ()> {
    entity: Entity,
    run: &'s EventRun,
    /// The position of the event in its run.
    at: u32,
    ty: Option<ComponentType>,
    event: PhantomData<(fn() -> E, V)>,
}

impl<E, V> Event<'_, E, V> {
    /// Returns the entity. It may not exist any more.
    #[inline]
    pub fn entity(&self) -> Entity {
        self.entity
    }

    /// Returns the component type of the event, or `None` for [`Despawn`](super::Despawn). An observer of a tuple gets an event for
    /// each type.
    #[inline]
    pub fn component(&self) -> Option<ComponentType> {
        self.ty
    }
}

impl<T: ComponentSet, V> Event<'_, Remove<T>, V> {
    /// Returns the cause of the removal.
    #[inline]
    pub fn cause(&self) -> RemoveCause {
        self.run.cause
    }
}

impl<'s, E, V> Event<'s, E, V> {
    /// Returns the old value, if the event has one.
    ///
    /// # Safety
    ///
    /// - `T` is the only type that the observer observes
    /// - the caller does not give the value to other threads
    unsafe fn value_of<T: OldValue>(&self) -> Option<&'s T::Target> {
        let first = self.run.values.first()?;
        // SAFETY: the values of the run have the type, in the form of its column. The run has a value for each of its events, and
        // the batch lives as long as `'s`. Observers run one after the other, and events with values are not `Send`.
        Some(unsafe { T::read_old(first, self.at as usize) })
    }
}

impl<'s, T: OldValue> Event<'s, Remove<T>, Value> {
    /// Returns the removed value or, if `set` or `add` has replaced it since the last delivery, the value before the first replacement.
    /// `None` if the value was moved elsewhere: by [`take`](crate::EntityManager::take), or with the entity to another world.
    pub fn value(&self) -> Option<&'s T::Target> {
        // SAFETY: an observer with values observes this type only. The event is neither `Send` nor `Sync`, so that managed values,
        // which need not be `Sync`, are read by the thread of the observer.
        unsafe { self.value_of::<T>() }
    }
}

impl<'s, T: OldValue> Event<'s, Replace<T>, Value> {
    /// Returns the value before the first replacement since the last delivery. `None` if the value was moved elsewhere, by
    /// [`take`](crate::EntityManager::take).
    pub fn value(&self) -> Option<&'s T::Target> {
        // SAFETY: an observer with values observes this type only. The event is neither `Send` nor `Sync`, so that managed values,
        // which need not be `Sync`, are read by the thread of the observer.
        unsafe { self.value_of::<T>() }
    }
}

impl<E, V> fmt::Debug for Event<'_, E, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut event = f.debug_struct("Event");
        event.field("entity", &self.entity).field("kind", &self.run.kind);
        event.field("component", &self.ty.map(|ty| ty.name())).finish()
    }
}

/// The state of [`On`]: the events of the current run.
#[derive(Default)]
pub struct OnState {
    batch: Option<Arc<EventBatch>>,
    /// The events that the observer receives. The types have the numbers of the batch.
    interests: Arc<[Interest]>,
    /// Set if the parameter was prepared to test whether the world has it, and is prepared again.
    is_checked: bool,
}

impl fmt::Debug for OnState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnState").finish_non_exhaustive()
    }
}

impl ParamState for OnState {
    fn finish(&mut self, world: &mut World) -> Result<(), SystemFault> {
        // The world reuses the memory of the events.
        world.observers.returned = self.batch.take();
        Ok(())
    }

    fn release(&mut self) {
        self.is_checked = true;
    }
}

// SAFETY: `prepare` copies a reference to the events before parameters exist. `fetch` accesses nothing of the world.
unsafe impl<E: EventWith<V>, V: 'static> SystemParam for On<'_, E, V> {
    type State = OnState;
    type Item<'w, 's> = On<'s, E, V>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<OnState, ParamConflict> {
        let mut events = Vec::new();
        E::each(&mut |ty, kinds| events.push((ty, kinds)));
        let wants_values = E::TAKES_VALUES;
        setup.world().observers.declared.push(DeclaredEvents { events, wants_values });
        Ok(OnState::default())
    }

    fn prepare(state: &mut OnState, world: &mut World) -> Result<(), SystemFault> {
        let is_checked = mem::take(&mut state.is_checked);
        if let Some((batch, interests)) = world.observers.take_current() {
            if !Arc::ptr_eq(&state.interests, interests) {
                state.interests = Arc::clone(interests);
            }
            state.batch = Some(batch);
        } else if !is_checked {
            state.batch = None;
        }
        Ok(())
    }

    unsafe fn fetch<'s>(state: &'s mut OnState, _: UnsafeWorldCell<'_>) -> On<'s, E, V> {
        On { batch: state.batch.as_deref(), interests: &state.interests, event: PhantomData }
    }
}
