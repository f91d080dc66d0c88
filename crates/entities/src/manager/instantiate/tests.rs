//! Tests of instantiations that panic.

#![expect(unsafe_code, reason = "a field that panics when it is remapped")]

use std::cell::Cell;

use super::*;
use crate::buffer::Buffer;
use crate::builtin::LinkedEntityGroup;
use crate::component::{Component, Duplicate};
use crate::field::{EntityRemap, Field, FieldKind, Shape, StateHasher};
use crate::per_chunk::PerChunk;
use crate::world::{World, WorldSettings};

thread_local! {
    /// The number of values that are remapped before one panics.
    static FUSE: Cell<u32> = const { Cell::new(0) };
}

/// A component that is copied as bytes, but panics when its references are replaced.
#[derive(Clone, Copy)]
struct Stubborn(Entity);

// SAFETY: an opaque shape makes no statement about the bytes.
unsafe impl Field for Stubborn {
    const SHAPE: &'static Shape =
        &Shape::new::<Self>("Stubborn", FieldKind::Opaque).with_entities(true);

    fn hash_state(&self, state: &mut StateHasher) {
        self.0.hash_state(state);
    }

    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        match FUSE.get() {
            0 => resume_unwind(Box::new("told to")),
            left => FUSE.set(left - 1),
        }
        self.0.remap(map);
    }
}

impl Component for Stubborn {
    fn duplicate() -> Duplicate<Self> {
        Duplicate::<Self>::bytes()
    }
}

thread_local! {
    /// True if the next dropped chunk component panics.
    static IS_LOUD: Cell<bool> = const { Cell::new(false) };
}

/// A chunk component that panics when it is dropped, if `IS_LOUD` is set.
#[derive(Default)]
struct Loud;

impl Drop for Loud {
    fn drop(&mut self) {
        if IS_LOUD.take() {
            resume_unwind(Box::new("told to"));
        }
    }
}

// SAFETY: an opaque shape makes no statement about the bytes.
unsafe impl Field for Loud {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Loud", FieldKind::Opaque);

    fn hash_state(&self, _: &mut StateHasher) {}

    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

impl Component for Loud {}

#[test]
fn no_instance_is_there_when_what_its_chunk_has_panics_too() {
    let mut world =
        World::with_settings("Simulation", WorldSettings::new().chunk_capacity_limit(2));
    let source = world.spawn((Stubborn(Entity::NULL), PerChunk::<Loud>::new()));
    for instances in [2, 3, 9] {
        FUSE.set(1);
        IS_LOUD.set(true);
        let instantiate =
            AssertUnwindSafe(|| world.instantiate_many(source, instances).unwrap().len());
        assert!(catch_unwind(instantiate).is_err());
        assert_eq!((world.entity_count(), IS_LOUD.take()), (1, false));
        world.check_invariants().unwrap();
    }
}

#[test]
fn no_instance_is_there_when_a_field_written_by_hand_panics() {
    for size in [1, 3, 20] {
        let mut world = World::new("Simulation");
        let members: Vec<_> = (0..size).map(|_| world.spawn(())).collect();
        for &member in &members {
            world.add(member, Stubborn(members[0])).map_err(|r| r.error).unwrap();
        }
        let group: Buffer<_> = members.iter().copied().map(LinkedEntityGroup).collect();
        world.add(members[0], group).map_err(|rejected| rejected.error).unwrap();
        // The panic occurs for values of the first member, then for values of another member, and then not at all.
        for (fuse, panics) in [(0, true), (1, true), (2 * size, true), (3 * size, false)] {
            FUSE.set(fuse);
            let instantiate =
                AssertUnwindSafe(|| world.instantiate_many(members[0], 3).unwrap().len());
            assert_eq!(catch_unwind(instantiate).is_err(), panics, "{size} {fuse}");
            let expected = if panics { size } else { 4 * size };
            assert_eq!(world.entity_count(), expected as usize);
            world.check_invariants().unwrap();
        }
        for chunk in world.chunks() {
            let groups = chunk.buffers::<LinkedEntityGroup>();
            for (&root, group) in chunk.entities().iter().zip(groups.iter().flat_map(|g| g.iter()))
            {
                let refer_to_it = |member: &LinkedEntityGroup| {
                    world.get::<Stubborn>(member.0).is_ok_and(|value| value.0 == root)
                };
                assert!(group.len() == size as usize && group.iter().all(refer_to_it));
            }
        }
    }
}
