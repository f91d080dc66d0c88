//! Elements whose code panics: in clone, in construction or in drop.
//!
//! Wherever it happens, nothing leaks, nothing is dropped twice, and the world still works.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ancho_entities::{Buffer, BufferElement, Component, DynamicBuffer, Entity, World};

thread_local! {
    /// The number of calls that succeed before one panics.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

/// Panics if it is this call's turn. Only once: a second panic during the first aborts the program.
fn may_panic() {
    if let Some(left) = FUSE.get() {
        FUSE.set(left.checked_sub(1));
        if left == 0 {
            // Prints no message.
            resume_unwind(Box::new(()));
        }
    }
}

/// An element that panics in every operation. The box is for the address sanitizer.
#[derive(BufferElement, Debug)]
#[buffer(inline = 4)]
struct Bomb(Box<u32>);

impl Bomb {
    fn new(number: u32) -> Self {
        may_panic();
        LIVE.set(LIVE.get() + 1);
        Self(Box::new(number))
    }
}

impl Clone for Bomb {
    fn clone(&self) -> Self {
        Self::new(*self.0)
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        LIVE.set(LIVE.get() - 1);
        may_panic();
    }
}

#[derive(Component, Clone, Copy)]
struct Mark(u32);

fn bombs(count: u32) -> Buffer<Bomb> {
    (0..count).map(Bomb::new).collect()
}

/// Runs an action in a world of three buffers, once for each call that can panic.
fn explode(count: u32, act: impl Fn(&mut World, [Entity; 3])) {
    for fuse in 0.. {
        FUSE.set(None);
        LIVE.set(0);
        let mut world = World::new("hostile");
        let all = [(); 3].map(|()| world.spawn(bombs(count)));
        FUSE.set(Some(fuse));
        let panicked = catch_unwind(AssertUnwindSafe(|| act(&mut world, all))).is_err();
        FUSE.set(None);
        world.check_invariants().unwrap();
        let lengths = world.chunks().filter_map(|chunk| chunk.buffers::<Bomb>());
        let counted: usize = lengths
            .flat_map(|buffers| buffers.iter())
            .map(|b| {
                assert!(b.iter().all(|bomb| *bomb.0 < 1000));
                b.len()
            })
            .sum();
        assert_eq!(LIVE.get(), counted as i64, "something leaked, or was dropped twice");
        // The world still works.
        for chunk in world.all_entities() {
            if let Ok(mut buffer) = world.buffer_mut::<Bomb>(chunk) {
                buffer.push(Bomb::new(7));
                buffer.shrink_to_fit();
            }
        }
        drop(world);
        assert_eq!(LIVE.get(), 0, "something leaked, or was dropped twice");
        if !panicked {
            return;
        }
    }
}

fn explode_one(act: impl Fn(&mut DynamicBuffer<'_, Bomb>)) {
    for count in [2, 4, 9] {
        explode(count, |world, [_, entity, _]| act(&mut world.buffer_mut(entity).unwrap()));
    }
}

#[test]
fn elements_that_panic_when_they_are_dropped() {
    explode_one(|buffer| buffer.clear());
    explode_one(|buffer| buffer.truncate(1));
    explode_one(|buffer| buffer.remove_range(..2));
    explode_one(|buffer| buffer.remove_range(1..));
    explode_one(|buffer| buffer.swap_remove_range(..2));
    explode_one(|buffer| drop(buffer.remove(0)));
    explode_one(|buffer| drop(buffer.swap_remove(0)));
    explode_one(|buffer| buffer[0] = Bomb::new(1));
}

#[test]
fn elements_that_panic_when_they_are_created() {
    explode_one(|buffer| buffer.extend_from_slice(&[Bomb::new(1), Bomb::new(2), Bomb::new(3)]));
    explode_one(|buffer| buffer.copy_from(&[Bomb::new(1), Bomb::new(2), Bomb::new(3)]));
    explode_one(|buffer| buffer.extend((0..5).map(Bomb::new)));
    explode_one(|buffer| buffer.resize(7, Bomb::new(1)));
    explode_one(|buffer| buffer.resize_with(7, || Bomb::new(1)));
    explode_one(|buffer| buffer.push(Bomb::new(1)));
    explode_one(|buffer| buffer.insert(0, Bomb::new(1)));
}

#[test]
fn buffers_that_panic_during_structural_changes() {
    for count in [2, 4, 9] {
        explode(count, |world, [_, entity, _]| assert!(world.despawn(entity).unwrap()));
        explode(count, |world, all| assert_eq!(world.batch(&all).despawn(), Ok(3)));
        explode(count, |world, _| assert_eq!(world.despawn_all(), Ok(3)));
        explode(count, |world, [entity, ..]| {
            assert!(world.remove::<Buffer<Bomb>>(entity).unwrap());
        });
        explode(count, |world, [entity, ..]| drop(world.take::<Buffer<Bomb>>(entity)));
        explode(count, |world, [entity, ..]| drop(world.set(entity, bombs(3))));
        explode(count, |world, [entity, ..]| drop(world.add(entity, (Mark(1), bombs(6)))));
        explode(count, |world, _| assert_eq!(world.spawn_many((bombs(3), Mark(1)), 5).len(), 5));
        explode(count, |world, _| assert_eq!(world.spawn_many((bombs(6), Mark(1)), 5).len(), 5));
        explode(count, |world, _| assert_eq!(world.spawn_batch((0..5).map(bombs)).len(), 5));
    }
}

#[test]
fn buffers_that_panic_while_worlds_are_copied() {
    for count in [2, 4, 9] {
        explode(count, |world, _| drop(world.duplicate()));
        explode(count, |world, [entity, ..]| {
            let fork = world.fork().unwrap();
            world.buffer_mut::<Bomb>(entity).unwrap().push(Bomb::new(3));
            drop(fork);
        });
        explode(count, |world, [entity, ..]| {
            let mut fork = world.fork().unwrap();
            fork.remove::<Buffer<Bomb>>(entity).unwrap();
        });
    }
}
