//! The part of a state in the table that depends on its type.

use std::any::{Any, TypeId};

use super::despawn::{DespawnOnEnter, DespawnOnExit, despawn};
use super::value::{CurrentState, Request, StateRequest};
use super::{ComputedState, StateSources, States, SubState};
use crate::schedule::SystemId;
use crate::world::{ErasedState, Phase, World};

/// A state in the table of a world.
pub(super) struct StateEntry<S: States> {
    /// Computes the next value. `None` if the state was not added.
    pub(super) plan: Option<PlanFunction<S>>,
    /// Set for a sub-state or a computed state that was added since the last transition.
    pub(super) is_new: bool,
    planned: Option<Planned<S>>,
    exit: Vec<(S, SystemId)>,
    enter: Vec<(S, SystemId)>,
    transition: Vec<((S, S), SystemId)>,
}

/// Computes the next value of a state from its value and its request.
pub(super) type PlanFunction<S> = fn(&World, Option<&S>, Option<Request<S>>) -> Plan<S>;

/// The result of planning.
pub(super) struct Plan<S> {
    new: Option<S>,
    /// Set if the value is left and entered, even if it stays the same.
    is_reentered: bool,
    /// Set if the value is entered for the first time.
    is_initial: bool,
    /// The request that cannot be met, because the state does not exist.
    refused: Option<Request<S>>,
}

/// A planned transition.
struct Planned<S> {
    old: Option<S>,
    new: Option<S>,
}

impl<S: States> Plan<S> {
    fn to(new: Option<S>) -> Self {
        Self { new, is_reentered: false, is_initial: false, refused: None }
    }
}

/// Plans a state with an initial value.
pub(super) fn plan_root<S: States>(
    _: &World,
    current: Option<&S>,
    request: Option<Request<S>>,
) -> Plan<S> {
    match request {
        None => Plan::to(current.cloned()),
        Some(Request::Initial) => Plan { is_initial: true, ..Plan::to(current.cloned()) },
        Some(Request::Set(value)) => Plan::to(Some(value)),
        Some(Request::Reenter) => Plan { is_reentered: true, ..Plan::to(current.cloned()) },
    }
}

/// Plans a sub-state.
pub(super) fn plan_sub<S: SubState>(
    world: &World,
    current: Option<&S>,
    request: Option<Request<S>>,
) -> Plan<S> {
    let exists = world.next_value::<S::Parent>().is_some_and(S::exists_in);
    if !exists {
        return Plan { refused: request, ..Plan::to(None) };
    }
    let is_entered_again = current.is_none() || world.is_transition_planned::<S::Parent>();
    if !is_entered_again {
        return plan_root(world, current, request);
    }
    let new = match request {
        Some(Request::Set(value)) => value,
        _ => S::default(),
    };
    Plan { is_reentered: current.is_some(), ..Plan::to(Some(new)) }
}

/// Plans a computed state.
pub(super) fn plan_computed<S: ComputedState>(
    world: &World,
    _: Option<&S>,
    _: Option<Request<S>>,
) -> Plan<S> {
    Plan::to(S::compute(S::Sources::values(world)))
}

impl<S: States> Default for StateEntry<S> {
    fn default() -> Self {
        Self {
            plan: None,
            is_new: false,
            planned: None,
            exit: Vec::new(),
            enter: Vec::new(),
            transition: Vec::new(),
        }
    }
}

impl<S: States> StateEntry<S> {
    /// Returns the value after the planned transition. The outer option is `None` if no transition is planned.
    pub(super) fn planned_value(&self) -> Option<Option<&S>> {
        self.planned.as_ref().map(|planned| planned.new.as_ref())
    }

    /// Returns the place of the group of systems for a value.
    pub(super) fn group_of(&self, phase: Phase, value: &S) -> Option<SystemId> {
        let list = if phase == Phase::Exit { &self.exit } else { &self.enter };
        list.iter().find(|(known, _)| known == value).map(|&(_, group)| group)
    }

    pub(super) fn group_of_transition(&self, from: &S, to: &S) -> Option<SystemId> {
        let is_same = |known: &&((S, S), SystemId)| known.0.0 == *from && known.0.1 == *to;
        self.transition.iter().find(is_same).map(|&(_, group)| group)
    }

    pub(super) fn add_group(&mut self, phase: Phase, value: S, group: SystemId) {
        let list = if phase == Phase::Exit { &mut self.exit } else { &mut self.enter };
        list.retain(|(known, _)| *known != value);
        list.push((value, group));
    }

    pub(super) fn add_transition_group(&mut self, from: S, to: S, group: SystemId) {
        self.transition.retain(|((old, new), _)| *old != from || *new != to);
        self.transition.push(((from, to), group));
    }
}

impl<S: States> ErasedState for StateEntry<S> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    #[inline]
    fn has_work(&self, world: &World) -> bool {
        self.is_new || world.get_resource::<StateRequest<S>>().is_some_and(StateRequest::is_some)
    }

    fn is_initial(&self, world: &World) -> bool {
        world.get_resource::<StateRequest<S>>().is_some_and(StateRequest::is_initial)
    }

    fn plan(
        &mut self,
        world: &mut World,
        takes_request: bool,
        keeps_refused: bool,
    ) -> Option<String> {
        let plan = self.plan?;
        let has_request =
            world.get_resource::<StateRequest<S>>().is_some_and(StateRequest::is_some);
        let request = if takes_request && has_request {
            world.get_resource_mut::<StateRequest<S>>().and_then(StateRequest::take)
        } else {
            None
        };
        let current = world.get_resource::<CurrentState<S>>().map(|current| &current.0);
        let Plan { new, is_reentered, is_initial, refused } = plan(world, current, request);
        let is_changed = current != new.as_ref();
        if is_changed || is_reentered || is_initial {
            let old = if is_initial { None } else { current.cloned() };
            self.planned = Some(Planned { old, new });
        }
        let refused = refused?;
        if keeps_refused {
            if let Some(request) = world.get_resource_mut::<StateRequest<S>>() {
                request.put_back(refused);
            }
            return None;
        }
        match refused {
            Request::Set(value) => Some(format!("{value:?}")),
            Request::Reenter => Some("re-entry".to_owned()),
            Request::Initial => None,
        }
    }

    fn planned_in_words(&self) -> Option<String> {
        let Planned { old, new } = self.planned.as_ref()?;
        let word = |value: &Option<S>| {
            value.as_ref().map_or("none".to_owned(), |value| format!("{value:?}"))
        };
        Some(format!("{} to {}", word(old), word(new)))
    }

    fn group_at(&self, phase: Phase) -> Option<SystemId> {
        let Planned { old, new } = self.planned.as_ref()?;
        match phase {
            Phase::Exit => self.group_of(phase, old.as_ref()?),
            Phase::Transition => self.group_of_transition(old.as_ref()?, new.as_ref()?),
            Phase::Enter => self.group_of(phase, new.as_ref()?),
        }
    }

    fn despawn(&self, world: &mut World) {
        if let Some(Planned { old, new }) = &self.planned {
            despawn(world, old.as_ref(), new.as_ref());
        }
    }

    fn apply(&mut self, world: &mut World) {
        self.is_new = false;
        let Some(Planned { new, .. }) = &self.planned else { return };
        let current = world.get_resource::<CurrentState<S>>().map(|current| &current.0);
        if current == new.as_ref() {
            return;
        }
        let Some(value) = new.clone() else {
            return drop(world.remove_resource::<CurrentState<S>>());
        };
        // A value that is replaced in its block takes no other memory.
        match world.get_resource_mut::<CurrentState<S>>() {
            Some(current) => current.0 = value,
            None => drop(world.insert_resource(CurrentState(value))),
        }
    }

    fn finish(&mut self) {
        self.planned = None;
    }

    fn component_types(&self) -> [TypeId; 2] {
        [TypeId::of::<DespawnOnExit<S>>(), TypeId::of::<DespawnOnEnter<S>>()]
    }

    fn remove(&mut self, world: &mut World) {
        (self.plan, self.is_new) = (None, false);
        world.remove_resource::<CurrentState<S>>();
        world.remove_resource::<StateRequest<S>>();
    }
}
