//! The steps of groups that have a rate of their own.

use ancho_collections::Allocator;

use super::id::SystemId;
use crate::world::World;

impl World {
    /// Begins a step of a group: what its systems make in it lives until the end of the next. Returns what the memory of the world is
    /// told when the step has ended.
    pub(super) fn enter_step(&mut self, group: SystemId) -> Option<Allocator> {
        match self.systems.record_mut(group) {
            Some(record) => self.memory.enter_group(&mut record.children.memory),
            None => self.memory.of_group(),
        }
    }
}
