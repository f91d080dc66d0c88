//! Transitions of states, at the beginning of a step of their group.

use std::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::States;
use super::despawn::PREFIX;
use super::entry::StateEntry;
use super::value::CurrentState;
use crate::panics::discard;
use crate::schedule::{SystemFault, SystemId, panic_message};
use crate::world::{ErasedState, Phase, World};

/// The number of rounds of transitions at one point.
const ROUNDS: usize = 8;

impl World {
    /// Changes the states of a group that have requests, before a step of the group.
    #[inline(never)]
    pub(in crate::system) fn apply_state_requests(&mut self, group: SystemId) {
        if self.has_state_work(group) {
            self.run_transitions(group);
        }
    }

    fn has_state_work(&self, group: SystemId) -> bool {
        let of_group = self.systems.states.slots.iter().filter(|slot| slot.group == Some(group));
        of_group.filter_map(|slot| slot.entry.as_ref()).any(|entry| entry.has_work(self))
    }

    #[cold]
    fn run_transitions(&mut self, group: SystemId) {
        let world = self.systems.id;
        let mut chain = Vec::new();
        for round in 0..ROUNDS {
            self.plan_round(group);
            // Most transitions take one round, and allocate nothing.
            if round > 0 {
                chain.extend(self.planned_in_words());
            }
            self.run_round(world);
            if self.systems.id != world || !self.has_state_work(group) {
                return;
            }
        }
        let waiting = self.systems.states.slots.iter().find(|slot| {
            let entry = slot.entry.as_ref();
            slot.group == Some(group) && entry.is_some_and(|entry| entry.has_work(self))
        });
        let name = waiting.map_or("", |slot| slot.name);
        self.systems.fail_as(name.into(), SystemFault::EndlessTransitions { chain });
    }

    /// Calls a function with the typed part of a state. A panic is reported with the name of the state.
    fn with_state<R>(
        &mut self,
        at: usize,
        function: impl FnOnce(&mut dyn ErasedState, &mut Self) -> R,
    ) -> Option<R> {
        let slot = self.systems.states.slots.get_mut(at)?;
        let (name, mut entry) = (slot.name, slot.entry.take()?);
        let result = catch_unwind(AssertUnwindSafe(|| function(&mut *entry, self)));
        if let Some(slot) = self.systems.states.slots.get_mut(at) {
            slot.entry = Some(entry);
        }
        match result {
            Ok(result) => Some(result),
            Err(payload) => {
                let message = panic_message(&*payload);
                discard(payload);
                self.systems.fail_as(name.into(), SystemFault::StatePanicked { message });
                None
            }
        }
    }

    /// Computes the next value of each state. States that others depend on come first.
    fn plan_round(&mut self, group: SystemId) {
        // Requests that were made before the initial values are entered come after these. A sub-state of a requested value can be
        // requested too, so its request waits with the other one.
        let of_group = self.systems.states.slots.iter().filter(|slot| slot.group == Some(group));
        let mut entries = of_group.filter_map(|slot| slot.entry.as_ref());
        let is_initial = entries.any(|entry| entry.is_initial(self));
        for index in 0..self.systems.states.order.len() {
            let at = self.systems.states.order[index];
            let slot = &self.systems.states.slots[at];
            let (name, takes_request) = (slot.name, slot.group == Some(group));
            let refused =
                self.with_state(at, |entry, world| entry.plan(world, takes_request, is_initial));
            if let Some(request) = refused.flatten() {
                self.systems.fail_as(name.into(), SystemFault::StateRefused { request });
            }
        }
    }

    fn planned_in_words(&self) -> Option<String> {
        let slots = self.systems.states.order.iter().map(|&at| &self.systems.states.slots[at]);
        let planned = slots.filter_map(|slot| {
            Some(format!("`{}` from {}", slot.name, slot.entry.as_ref()?.planned_in_words()?))
        });
        let planned: Vec<_> = planned.collect();
        (!planned.is_empty()).then(|| planned.join(" and "))
    }

    /// Runs the planned transitions. Returns early if a system has replaced the world.
    fn run_round(&mut self, world: u64) {
        let count = self.systems.states.order.len();
        let run_phase = |this: &mut Self, index: usize, phase| {
            let at = this.systems.states.order[index];
            let group = this.with_state(at, |entry, _| entry.group_at(phase)).flatten();
            if let Some(group) = group {
                this.run(group);
            }
            this.systems.id == world
        };
        // Sub-states are left before their parents.
        if !(0..count).rev().all(|index| run_phase(self, index, Phase::Exit)) {
            return;
        }
        self.with_each_state(|entry, world| entry.despawn(world));
        if self.has_events() {
            self.deliver();
            if self.systems.id != world {
                return;
            }
        }
        self.raise_version();
        self.with_each_state(|entry, world| entry.apply(world));
        let phases = [Phase::Transition, Phase::Enter];
        if !phases.iter().all(|&phase| (0..count).all(|index| run_phase(self, index, phase))) {
            return;
        }
        self.with_each_state(|entry, _| entry.finish());
    }

    /// Calls a function with the typed part of each state. States that others depend on come first.
    fn with_each_state(&mut self, function: impl Fn(&mut dyn ErasedState, &mut Self)) {
        for index in 0..self.systems.states.order.len() {
            let at = self.systems.states.order[index];
            self.with_state(at, |entry, world| function(entry, world));
        }
    }

    /// Returns the value that a state will have after the planned transition.
    pub(super) fn next_value<S: States>(&self) -> Option<&S> {
        match self.state_entry::<S>().and_then(StateEntry::planned_value) {
            Some(planned) => planned,
            None => self.get_resource::<CurrentState<S>>().map(|current| &current.0),
        }
    }

    /// Tests whether a transition of a state is planned.
    pub(super) fn is_transition_planned<S: States>(&self) -> bool {
        self.state_entry::<S>().is_some_and(|entry| entry.planned_value().is_some())
    }

    pub(super) fn state_entry<S: States>(&self) -> Option<&StateEntry<S>> {
        let at = self.systems.states.find(TypeId::of::<S>())?;
        self.systems.states.slots[at].entry.as_ref()?.as_any().downcast_ref()
    }

    /// Reports states that systems or components name, and that were not added.
    #[cold]
    pub(in crate::system) fn check_states(&mut self) {
        let archetypes = self.entities.storage.archetypes.as_slice();
        let states = &mut self.systems.states;
        let mut unknown: Vec<(String, &'static str)> = Vec::new();
        for slot in states.slots.iter().filter(|slot| slot.group.is_none()) {
            unknown.push((slot.name.to_owned(), "a system uses it"));
        }
        let mut checked = states.checked_archetypes.min(archetypes.len());
        let added = |slot: &&crate::world::StateSlot| slot.group.is_some();
        let known: Vec<TypeId> = states
            .slots
            .iter()
            .filter(added)
            .filter_map(|slot| slot.entry.as_ref())
            .flat_map(|entry| entry.component_types())
            .collect();
        while let Some(archetype) = archetypes.get(checked) {
            let of_state = |ty: &&crate::component::ComponentType| ty.name().starts_with(PREFIX);
            for ty in archetype.shape.types.iter().filter(of_state) {
                let is_known = ty.rust_type().is_some_and(|ty| known.contains(&ty));
                if !is_known && !archetype.chunks.is_empty() {
                    let state = ty.name().split_once('<').map_or("", |(_, rest)| rest);
                    let state = state.strip_suffix('>').unwrap_or(state).to_owned();
                    if !unknown.iter().any(|(name, _)| name.ends_with(&state)) {
                        unknown.push((
                            state,
                            "a component `DespawnOnExit` or `DespawnOnEnter` refers to it",
                        ));
                    }
                }
            }
            checked += 1;
        }
        // Archetypes are checked again in the next update if a component refers to an unknown state.
        states.checked_archetypes = if unknown.is_empty() { checked } else { 0 };
        states.is_unchecked = !unknown.is_empty();
        for (state, reason) in unknown {
            self.systems.fail_as(state.as_str().into(), SystemFault::UnknownState { reason });
        }
    }
}
