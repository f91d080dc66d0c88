//! The table of states.

use std::any::{Any, TypeId};

use super::World;
use crate::schedule::SystemId;

/// The state types that a world has or that its systems name.
#[derive(Default)]
pub(crate) struct StateTable {
    pub(crate) slots: Vec<StateSlot>,
    /// The indices of added states. A state comes after the states that it depends on.
    pub(crate) order: Vec<usize>,
    /// Set if a state may be named that was not added since the last check.
    pub(crate) is_unchecked: bool,
    /// The number of archetypes whose components were checked.
    pub(crate) checked_archetypes: usize,
}

/// The place of a state type in the table.
pub(crate) struct StateSlot {
    pub(crate) type_id: TypeId,
    pub(crate) name: &'static str,
    /// The group at whose steps the state changes. `None` if the state was not added.
    pub(crate) group: Option<SystemId>,
    /// The typed part. `None` while it is in use.
    pub(crate) entry: Option<Box<dyn ErasedState>>,
}

/// The part of a state that depends on its type.
pub(crate) trait ErasedState: Send {
    fn as_any(&self) -> &dyn Any;

    fn as_any_mut(&mut self) -> &mut dyn Any;

    /// Tests whether the state has a request, or was not entered yet.
    fn has_work(&self, world: &World) -> bool;

    /// Tests whether the initial value was not entered yet.
    fn is_initial(&self, world: &World) -> bool;

    /// Computes the next value. `takes_request` is set if the state changes at this point. Returns the refused request, in words, or
    /// keeps it if `keeps_refused` is set.
    fn plan(
        &mut self,
        world: &mut World,
        takes_request: bool,
        keeps_refused: bool,
    ) -> Option<String>;

    /// Describes the planned transition, if there is one.
    fn planned_in_words(&self) -> Option<String>;

    /// Returns the group of systems that run at this phase of the planned transition, if there is one.
    fn group_at(&self, phase: Phase) -> Option<SystemId>;

    /// Despawns the entities that the planned transition despawns.
    fn despawn(&self, world: &mut World);

    /// Writes the planned value.
    fn apply(&mut self, world: &mut World);

    /// Ends the planned transition.
    fn finish(&mut self);

    /// Returns the ids of the components that refer to this state.
    fn component_types(&self) -> [TypeId; 2];

    /// Removes the value and the request from the world.
    fn remove(&mut self, world: &mut World);
}

/// A phase of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Exit,
    Transition,
    Enter,
}

impl StateTable {
    pub(crate) fn find(&self, type_id: TypeId) -> Option<usize> {
        self.slots.iter().position(|slot| slot.type_id == type_id)
    }
}
