//! Random allocations, resizes, frees and rewinds, compared with a list of live memory.
#![expect(unsafe_code, reason = "calls allocators directly")]

use crate::common::model;

use std::alloc::Layout;
use std::ptr::NonNull;

use allocator_api2::alloc::Allocator as RawAllocator;
use ancho_collections::{Allocator, FrameMemory, RewindableAllocator, Temp};
use model::{cases, time_is_up};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Allocate { size: usize, align: usize, zeroed: bool },
    Resize { which: usize, size: usize, align: Option<usize> },
    Free { which: usize },
    Rewind,
}

fn step() -> impl Strategy<Value = Step> {
    let size = || prop_oneof![8 => 0..300_usize, 3 => 0..20_000_usize, 1 => 0..500_000_usize];
    let align = || (0..=12_u32).prop_map(|power| 1_usize << power);
    let which = || any::<usize>();
    prop_oneof![
        6 => (size(), align(), any::<bool>())
            .prop_map(|(size, align, zeroed)| Step::Allocate { size, align, zeroed }),
        4 => (which(), size(), prop::option::weighted(0.1, align()))
            .prop_map(|(which, size, align)| Step::Resize { which, size, align }),
        4 => which().prop_map(|which| Step::Free { which }),
        1 => Just(Step::Rewind),
    ]
}

/// Live memory, and its expected bytes.
#[derive(Clone, Copy)]
struct Live {
    memory: NonNull<u8>,
    layout: Layout,
    byte: u8,
}

impl Live {
    fn fill(&self) {
        // SAFETY: the memory has that number of bytes.
        unsafe { self.memory.write_bytes(self.byte, self.layout.size()) };
    }

    /// Returns whether the first `size` bytes are unchanged.
    fn holds(&self, size: usize) -> bool {
        // SAFETY: `size` bytes were written.
        let bytes = unsafe { NonNull::slice_from_raw_parts(self.memory, size).as_ref() };
        bytes.iter().all(|found| *found == self.byte)
    }
}

struct Model<A> {
    allocator: A,
    least_align: usize,
    live: Vec<Live>,
    next_byte: u8,
}

impl<A: RawAllocator> Model<A> {
    fn new(allocator: A, least_align: usize) -> Self {
        Self { allocator, least_align, live: Vec::new(), next_byte: 1 }
    }

    /// Checks that new memory overlaps no other, and fills it.
    fn add(&mut self, memory: NonNull<[u8]>, layout: Layout) {
        assert!(memory.len() >= layout.size());
        let memory = memory.cast::<u8>();
        let align = if layout.size() == 0 { 1 } else { self.least_align };
        assert!(memory.addr().get().is_multiple_of(layout.align().max(align)));
        let range =
            |live: &Live| (live.memory.addr().get(), live.memory.addr().get() + live.layout.size());
        let added = Live { memory, layout, byte: self.next_byte };
        let (start, end) = range(&added);
        for other in self.live.iter().filter(|other| other.layout.size() > 0 && start < end) {
            let (other_start, other_end) = range(other);
            assert!(end <= other_start || other_end <= start, "memory overlaps");
        }
        self.next_byte = self.next_byte % 255 + 1;
        added.fill();
        self.live.push(added);
    }

    fn allocate(&mut self, size: usize, align: usize, zeroed: bool) {
        let layout = Layout::from_size_align(size, align).unwrap();
        let memory = if zeroed {
            let memory = self.allocator.allocate_zeroed(layout).unwrap();
            // SAFETY: all of it is zero.
            assert!(unsafe { memory.as_ref() }.iter().all(|byte| *byte == 0));
            memory
        } else {
            self.allocator.allocate(layout).unwrap()
        };
        self.add(memory, layout);
    }

    fn resize(&mut self, which: usize, size: usize, align: Option<usize>) {
        let Some(which) = which.checked_rem(self.live.len()) else { return };
        let old = self.live.swap_remove(which);
        assert!(old.holds(old.layout.size()));
        let new = Layout::from_size_align(size, align.unwrap_or(old.layout.align())).unwrap();
        // SAFETY: the memory is alive, with this layout, and the sizes meet the contract of each
        // call.
        let resized = unsafe {
            if size >= old.layout.size() {
                self.allocator.grow(old.memory, old.layout, new).unwrap()
            } else {
                self.allocator.shrink(old.memory, old.layout, new).unwrap()
            }
        };
        let kept = Live { memory: resized.cast(), ..old };
        assert!(kept.holds(old.layout.size().min(size)), "contents were lost");
        self.add(resized, new);
    }

    fn free(&mut self, which: usize) {
        let Some(which) = which.checked_rem(self.live.len()) else { return };
        let live = self.live.swap_remove(which);
        assert!(live.holds(live.layout.size()));
        // SAFETY: the memory is alive, with this layout.
        unsafe { self.allocator.deallocate(live.memory, live.layout) };
    }

    fn run(&mut self, script: &[Step], mut rewind: impl FnMut()) {
        for step in script {
            match *step {
                Step::Allocate { size, align, zeroed } => self.allocate(size, align, zeroed),
                Step::Resize { which, size, align } => self.resize(which, size, align),
                Step::Free { which } => self.free(which),
                Step::Rewind => rewind(),
            }
        }
        assert!(self.live.iter().all(|live| live.holds(live.layout.size())));
        while !self.live.is_empty() {
            self.free(0);
        }
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn rewindable_memory_never_overlaps_and_keeps_its_contents(
        script in prop::collection::vec(step(), 1..150)
    ) {
        if time_is_up() {
            return Ok(());
        }
        let level = RewindableAllocator::new();
        Model::new(level.allocator(), 64).run(&script, || level.rewind());
        prop_assert_eq!(level.bytes_used(), 0);
        level.rewind();
        level.rewind();
        prop_assert_eq!((level.block_count(), level.bytes_reserved()), (0, 0));
    }

    #[test]
    fn the_memory_of_jobs_never_overlaps_and_keeps_its_contents(
        script in prop::collection::vec(step(), 1..150)
    ) {
        if time_is_up() {
            return Ok(());
        }
        let mut memory = FrameMemory::new("Game");
        Model::new(memory.temp_job(), 64).run(&script, || drop(memory.advance()));
    }

    #[test]
    fn scratch_memory_never_overlaps_and_keeps_its_contents(
        scripts in prop::collection::vec(prop::collection::vec(step(), 1..50), 1..4)
    ) {
        if time_is_up() {
            return Ok(());
        }
        let mut temp = Temp::new();
        for script in scripts {
            Model::new(&temp, 64).run(&script, || {});
            temp.reset();
        }
    }

    #[test]
    fn persistent_memory_never_overlaps_and_keeps_its_contents(
        script in prop::collection::vec(step(), 1..50)
    ) {
        if time_is_up() {
            return Ok(());
        }
        Model::new(Allocator::PERSISTENT, 1).run(&script, || {});
        Model::new(FrameMemory::new("Game").persistent(), 1).run(&script, || {});
    }
}
