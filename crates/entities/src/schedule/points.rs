//! The command points of a world, and the buffers that wait for them.

use std::any::TypeId;
use std::sync::Arc;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::SystemId;
use super::error::SystemFault;
use crate::commands::EntityCommandBuffer;

/// A recorded buffer that waits for its point.
pub(crate) struct WaitingBuffer {
    pub(crate) buffer: EntityCommandBuffer,
    /// The recording system.
    pub(crate) recorder: Option<SystemId>,
    pub(crate) name: Arc<str>,
}

/// The state of a command point.
pub(crate) struct PointState {
    name: &'static str,
    /// The system that plays the buffers, if it was added.
    pub(crate) system: Option<SystemId>,
    pub(crate) waiting: Vec<WaitingBuffer>,
    /// Played buffers, whose memory is reused.
    spare: Vec<EntityCommandBuffer>,
}

/// The command points of a world.
#[derive(Default)]
pub(crate) struct Points {
    by_type: HashMap<TypeId, u32, FixedState>,
    list: Vec<PointState>,
}

impl Points {
    pub(crate) fn place(&mut self, ty: TypeId, name: &'static str) -> u32 {
        *self.by_type.entry(ty).or_insert_with(|| {
            self.list.push(PointState {
                name,
                system: None,
                waiting: Vec::new(),
                spare: Vec::new(),
            });
            self.list.len() as u32 - 1
        })
    }

    pub(crate) fn get_mut(&mut self, place: u32) -> &mut PointState {
        &mut self.list[place as usize]
    }

    /// Returns the number of points.
    pub(crate) fn count(&self) -> u32 {
        self.list.len() as u32
    }

    /// Tests whether no buffer waits for a point.
    #[inline]
    pub(crate) fn is_idle(&self, place: u32) -> bool {
        self.list.get(place as usize).is_some_and(|point| point.waiting.is_empty())
    }

    /// Returns an empty buffer for a point.
    pub(crate) fn take_buffer(&mut self, place: u32) -> Result<EntityCommandBuffer, SystemFault> {
        let point = &mut self.list[place as usize];
        if point.system.is_none() {
            return Err(SystemFault::NoPoint { point: point.name });
        }
        Ok(point.spare.pop().unwrap_or_else(|| EntityCommandBuffer::new().named("commands")))
    }

    /// Adds a buffer to those that wait for its point, or keeps it for reuse if it is empty.
    pub(crate) fn push(
        &mut self,
        place: u32,
        mut buffer: EntityCommandBuffer,
        (recorder, name): &(Option<SystemId>, Arc<str>),
    ) {
        let point = &mut self.list[place as usize];
        if buffer.is_empty() && !buffer.is_in_use() {
            // The next user of the buffer expects the default setting.
            buffer.set_should_play(true);
            point.spare.push(buffer);
        } else {
            point.waiting.push(WaitingBuffer {
                buffer,
                recorder: *recorder,
                name: Arc::clone(name),
            });
        }
    }

    /// Keeps a played buffer for reuse.
    pub(crate) fn recycle(&mut self, place: u32, buffer: EntityCommandBuffer) {
        self.list[place as usize].spare.push(buffer);
    }
}
