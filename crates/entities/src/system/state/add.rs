//! Adding states and their systems, and access from outside.

use std::any::TypeId;

use super::entry::{PlanFunction, StateEntry, plan_computed, plan_root, plan_sub};
use super::value::{CurrentState, StateRequest};
use super::{ComputedState, RootState, SettableState, StateChain, StateSources, States, SubState};
use crate::commands::{CommandFault, CommandRecorder, WorldCommandName};
use crate::schedule::{SystemError, SystemId};
use crate::system::builder::{BuilderKind, IntoSystemTarget, SystemBuilder};
use crate::system::group::Simulation;
use crate::world::{Flags, Phase, StateSlot, World};

/// Creates the group of systems of a transition, when the first of them is added.
pub(in crate::system) type TransitionGroup =
    Box<dyn FnOnce(&mut World) -> Result<SystemId, SystemError> + Send>;

/// Returns a function that finds or creates the group of the systems that run when a value is entered or left.
pub(in crate::system) fn group_of_value<S: States>(phase: Phase, value: S) -> TransitionGroup {
    Box::new(move |world| {
        world.mention_state::<S>();
        if let Some(group) =
            world.state_entry::<S>().and_then(|entry| entry.group_of(phase, &value))
            && world.systems.slot(group).is_some()
        {
            return Ok(group);
        }
        let word = if phase == Phase::Exit { "on_exit" } else { "on_enter" };
        let group = world.add_transition_group(&format!("{word}({value:?})"))?;
        world.state_entry_mut(|entry: &mut StateEntry<S>| entry.add_group(phase, value, group));
        Ok(group)
    })
}

/// Returns a function that finds or creates the group of the systems that run between two values.
pub(in crate::system) fn group_of_transition<S: States>(from: S, to: S) -> TransitionGroup {
    Box::new(move |world| {
        world.mention_state::<S>();
        let entry = world.state_entry::<S>();
        if let Some(group) = entry.and_then(|entry| entry.group_of_transition(&from, &to))
            && world.systems.slot(group).is_some()
        {
            return Ok(group);
        }
        let group = world.add_transition_group(&format!("on_transition({from:?}, {to:?})"))?;
        world.state_entry_mut(|entry: &mut StateEntry<S>| {
            entry.add_transition_group(from, to, group);
        });
        Ok(group)
    })
}

impl World {
    /// Adds a state with its initial value. It changes at the beginning of each update of [`Simulation`], before the systems of the
    /// group. Its enter systems run at the first update.
    ///
    /// In a fork, the state keeps the value of the forked world.
    ///
    /// # Panics
    ///
    /// Panics with A0227 if the world has the state, and with A0109 if the world is being updated.
    ///
    /// # Examples
    ///
    /// See [`States`].
    #[track_caller]
    #[doc(alias = "init_state")]
    #[doc(alias = "insert_state")]
    pub fn add_state<S: RootState>(&mut self, initial: S) {
        self.add_state_in(Simulation, initial);
    }

    /// Adds a state that changes at the beginning of each step of a group, such as [`FixedStep`](crate::FixedStep).
    ///
    /// If the group makes no step, a request waits. Use it for states that the simulation depends on.
    ///
    /// # Panics
    ///
    /// Panics with A0227 if the world has the state, with A0108 or A0111 if the target is not a group of this world, and with A0109
    /// if the world is being updated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{FixedStep, States, World};
    ///
    /// #[derive(States, Clone, Debug, PartialEq)]
    /// enum Turn {
    ///     Player,
    ///     Computer,
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_state_in(FixedStep, Turn::Player);
    /// world.update(0.0);
    /// world.set_state(Turn::Computer)?;
    /// world.update(0.001);
    /// assert_eq!(world.state(), Some(&Turn::Player), "there was no step");
    /// world.update(1.0);
    /// assert_eq!(world.state(), Some(&Turn::Computer));
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    #[track_caller]
    pub fn add_state_in<M, S: RootState>(&mut self, group: impl IntoSystemTarget<M>, initial: S) {
        if let Err(error) = self.try_add_state_in(group, initial) {
            panic!("{error}");
        }
    }

    fn try_add_state_in<M, S: RootState>(
        &mut self,
        group: impl IntoSystemTarget<M>,
        initial: S,
    ) -> Result<(), SystemError> {
        self.refuse_in_update("add_state")?;
        self.add_default_groups();
        let group = self.group_id(group, "add_state_in")?;
        self.register_state::<S>(group, plan_root::<S>)?;
        if !self.has_resource::<CurrentState<S>>() {
            self.insert_resource(CurrentState(initial));
            self.insert_resource(StateRequest::<S>::initial());
        }
        Ok(())
    }

    /// Adds a sub-state, which exists only while its parent state has a certain value. If the parent is a sub-state or a computed state, it is added
    /// too.
    ///
    /// # Panics
    ///
    /// - A0227: the world has the state
    /// - A0228: the world does not have the state that this one depends on
    /// - A0229: states depend on each other in a cycle
    /// - A0109: the world is being updated
    ///
    /// # Examples
    ///
    /// See [`SubState`].
    #[track_caller]
    pub fn add_sub_state<S: SubState>(&mut self) {
        if let Err(error) = self.try_add_sub_state::<S>(&mut StateChain::default()) {
            panic!("{error}");
        }
    }

    /// Adds a sub-state and the states that it depends on.
    #[doc(hidden)]
    pub fn try_add_sub_state<S: SubState>(
        &mut self,
        chain: &mut StateChain,
    ) -> Result<(), SystemError> {
        self.add_dependent::<S, S::Parent>(chain, plan_sub::<S>)
    }

    /// Adds a computed state. States that it depends on are added too, if they are sub-states or computed states.
    ///
    /// # Panics
    ///
    /// - A0227: the world has the state
    /// - A0228: the world does not have a state that this one depends on
    /// - A0229: states depend on each other in a cycle
    /// - A0109: the world is being updated
    ///
    /// # Examples
    ///
    /// See [`ComputedState`].
    #[track_caller]
    pub fn add_computed_state<S: ComputedState>(&mut self) {
        if let Err(error) = self.try_add_computed_state::<S>(&mut StateChain::default()) {
            panic!("{error}");
        }
    }

    /// Adds a computed state and the states that it depends on.
    #[doc(hidden)]
    pub fn try_add_computed_state<S: ComputedState>(
        &mut self,
        chain: &mut StateChain,
    ) -> Result<(), SystemError> {
        self.add_dependent::<S, S::Sources>(chain, plan_computed::<S>)
    }

    fn add_dependent<S: States, D: StateSources>(
        &mut self,
        chain: &mut StateChain,
        plan: PlanFunction<S>,
    ) -> Result<(), SystemError> {
        self.refuse_in_update("add_state")?;
        chain.push::<S>()?;
        D::add_missing(self, chain)?;
        chain.pop();
        let first = self.systems.states.find(D::first());
        let group = first.and_then(|at| self.systems.states.slots[at].group);
        let group = group.expect("the states that it depends on were added");
        self.register_state::<S>(group, plan)?;
        if !self.has_resource::<StateRequest<S>>() {
            self.insert_resource(StateRequest::<S>::none());
        }
        self.state_entry_mut(|entry: &mut StateEntry<S>| entry.is_new = true);
        Ok(())
    }

    /// Adds a state that another one depends on, unless the world has it.
    pub(super) fn add_missing_state<S: States>(
        &mut self,
        chain: &mut StateChain,
    ) -> Result<(), SystemError> {
        let at = self.systems.states.find(TypeId::of::<S>());
        if at.is_some_and(|at| self.systems.states.slots[at].group.is_some()) {
            return Ok(());
        }
        S::add_missing(self, chain)
    }

    fn register_state<S: States>(
        &mut self,
        group: SystemId,
        plan: PlanFunction<S>,
    ) -> Result<(), SystemError> {
        let at = self.mention_state::<S>();
        let states = &mut self.systems.states;
        let slot = &mut states.slots[at];
        if slot.group.is_some() {
            return Err(SystemError::StateTwice { state: S::name().to_owned() });
        }
        slot.group = Some(group);
        states.order.push(at);
        self.state_entry_mut(|entry: &mut StateEntry<S>| entry.plan = Some(plan));
        if let Some(slot) = self.systems.slot_mut(group) {
            slot.flags.set(Flags::STATES, true);
        }
        Ok(())
    }

    /// Returns the place of a state in the table. An update reports the state if it was not added by then.
    pub(in crate::system) fn mention_state<S: States>(&mut self) -> usize {
        let states = &mut self.systems.states;
        if let Some(at) = states.find(TypeId::of::<S>()) {
            return at;
        }
        states.is_unchecked = true;
        states.slots.push(StateSlot {
            type_id: TypeId::of::<S>(),
            name: S::name(),
            group: None,
            entry: Some(Box::new(StateEntry::<S>::default())),
        });
        states.slots.len() - 1
    }

    pub(super) fn state_entry_mut<S: States>(&mut self, change: impl FnOnce(&mut StateEntry<S>)) {
        let states = &mut self.systems.states;
        let Some(at) = states.find(TypeId::of::<S>()) else { return };
        let entry = states.slots[at].entry.as_mut();
        if let Some(entry) = entry.and_then(|entry| entry.as_any_mut().downcast_mut()) {
            change(entry);
        }
    }

    /// Adds a group for the systems of a transition. It is in no other group.
    fn add_transition_group(&mut self, name: &str) -> Result<SystemId, SystemError> {
        struct Transition;
        if self.systems.is_dropping {
            return Err(SystemError::WorldEnds { system: name.to_owned() });
        }
        let ty = TypeId::of::<Transition>();
        let builder = SystemBuilder::new(BuilderKind::Group(None), ty, name);
        let (id, _) = self.insert_built(builder, None, &name.into());
        // The type does not name the group, because there are several of them.
        self.systems.by_type.remove(&ty);
        Ok(id)
    }

    /// Removes the states that were added after a number of others.
    pub(in crate::system) fn remove_states_since(&mut self, count: usize) {
        for at in self.systems.states.order.split_off(count) {
            let slot = &mut self.systems.states.slots[at];
            slot.group = None;
            if let Some(mut entry) = slot.entry.take() {
                entry.remove(self);
                self.systems.states.slots[at].entry = Some(entry);
            }
        }
        self.systems.states.is_unchecked = true;
    }

    /// Returns the value of a state, or `None` if the state does not exist.
    pub fn state<S: States>(&self) -> Option<&S> {
        self.get_resource::<CurrentState<S>>().map(|current| &current.0)
    }

    /// Requests a value of a state. The state changes at the beginning of the next step of its group. See [`NextState`].
    ///
    /// # Errors
    ///
    /// Returns A0226 if the world does not have the state.
    ///
    /// [`NextState`]: crate::NextState
    pub fn set_state<S: SettableState>(&mut self, value: S) -> Result<(), SystemError> {
        self.request_of::<S>(|request| request.set(value))
    }

    /// Requests that the value of a state is left and entered again, with its sub-states.
    ///
    /// # Errors
    ///
    /// Returns A0226 if the world does not have the state.
    pub fn reenter_state<S: SettableState>(&mut self) -> Result<(), SystemError> {
        self.request_of::<S>(StateRequest::reenter)
    }

    fn request_of<S: SettableState>(
        &mut self,
        change: impl FnOnce(&mut StateRequest<S>),
    ) -> Result<(), SystemError> {
        match self.get_resource_mut::<StateRequest<S>>() {
            Some(request) => {
                change(request);
                Ok(())
            }
            None => Err(SystemError::NoState { state: S::name().to_owned() }),
        }
    }
}

/// Commands that request states.
impl CommandRecorder {
    /// Requests a value of a state. See [`World::set_state`].
    pub fn set_state<S: SettableState>(&mut self, value: S) {
        let name = WorldCommandName { verb: "set state", what: S::name() };
        self.for_world(name, move |world, _| {
            world
                .set_state(value)
                .map_err(|error| CommandFault::Function { message: error.to_string().into() })
        });
    }
}

/// Returns the error of a state that another state depends on, and that has to be added with its initial value.
#[doc(hidden)]
pub fn missing_state<S: States>() -> SystemError {
    SystemError::StateMissing { state: S::name().to_owned() }
}
