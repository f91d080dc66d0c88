//! Memory for what lives for two updates.

use std::cell::OnceCell;

use ancho_collections::{Allocator, RewindableAllocator};

use super::World;

/// The memory of a world for what lives for two updates.
#[derive(Default)]
pub(crate) struct UpdateMemory {
    /// Made when it is first asked for: most worlds that are forked never do.
    own: OnceCell<TwoUpdates>,
    /// That of the group that is just being updated, if it has a rate of its own.
    of_group: Option<Allocator>,
}

/// Two allocators that take turns. What is made in one update is there in the next, and gone in the one after it.
#[derive(Debug)]
pub(crate) struct TwoUpdates {
    allocators: [RewindableAllocator; 2],
    /// Which of them it is the turn of.
    current: usize,
}

impl TwoUpdates {
    fn new(name: &'static str) -> Self {
        let allocators = [RewindableAllocator::named(name), RewindableAllocator::named(name)];
        Self { allocators, current: 0 }
    }

    fn advance(&mut self) {
        self.current = 1 - self.current;
        self.allocators[self.current].rewind();
    }

    fn allocator(&self) -> Allocator {
        self.allocators[self.current].allocator()
    }
}

impl UpdateMemory {
    /// Begins another update of the world.
    pub(crate) fn advance(&mut self) {
        self.of_group = None;
        if let Some(own) = self.own.get_mut() {
            own.advance();
        }
    }

    /// Begins another update of a group with a rate of its own, whose memory this is. Returns what
    /// [`leave_group`](Self::leave_group) is given when it has ended.
    pub(crate) fn enter_group(&mut self, of_group: &mut Option<TwoUpdates>) -> Option<Allocator> {
        match of_group {
            Some(memory) => memory.advance(),
            None => *of_group = Some(TwoUpdates::new("the update allocator of the group")),
        }
        let current = of_group.as_ref().map(TwoUpdates::allocator);
        std::mem::replace(&mut self.of_group, current)
    }

    /// The memory of the group that is just being updated, if it has one.
    pub(crate) fn of_group(&self) -> Option<Allocator> {
        self.of_group.clone()
    }

    /// Ends the update of a group with a rate of its own.
    pub(crate) fn leave_group(&mut self, outer: Option<Allocator>) {
        self.of_group = outer;
    }

    pub(crate) fn allocator(&self) -> Allocator {
        if let Some(of_group) = &self.of_group {
            return of_group.clone();
        }
        let own = self.own.get_or_init(|| TwoUpdates::new("the update allocator of the world"));
        own.allocator()
    }
}

impl World {
    /// The memory for what is made in this update, and is of use in the next at the latest: containers that jobs fill in one frame and
    /// that are read in the next, lists that one system makes for another.
    ///
    /// To take memory costs a few instructions, and to give it back nothing. What is made in one update of the world can be used in
    /// it and in the next one; when the update after that begins, it is taken back, and who uses the container is refused with A0013.
    /// Jobs that have it go on. What is made between two updates counts as made in the one before.
    ///
    /// In a system of a group with a [rate](crate::IntoSystem::rate) of its own it is the memory of that group: what is made in one
    /// step is there in the next, however many steps a frame has.
    ///
    /// Ask for it each time: what is returned in one update is taken back earlier if it is used in a later one. In systems it is a
    /// parameter, [`UpdateAllocator`](crate::UpdateAllocator). Unity's `World.UpdateAllocator`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// world.update(0.1);
    /// let hits = NativeList::<u32>::new_in(&world.update_allocator());
    /// world.update(0.1);
    /// assert!(hits.get().is_ok());
    /// world.update(0.1);
    /// assert!(hits.get().unwrap_err().to_string().starts_with("A0013: "));
    /// ```
    pub fn update_allocator(&self) -> Allocator {
        self.memory.allocator()
    }
}
