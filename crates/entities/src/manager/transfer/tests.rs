//! Tests of fields that panic when their references are replaced. Only hand-written implementations of `Field` can panic.

#![expect(unsafe_code, reason = "says what a component consists of")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::component::{Component, Duplicate};
use crate::entity::Entity;
use crate::field::{EntityRemap, Field, FieldKind, Shape, StateHasher};
use crate::world::{World, WorldSettings};

thread_local! {
    /// The number of values that panic when their references are replaced.
    static PANICS: Cell<u32> = const { Cell::new(0) };
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stubborn(Entity);

// SAFETY: an opaque shape makes no statement about the bytes.
unsafe impl Field for Stubborn {
    const SHAPE: &'static Shape =
        &Shape::new::<Self>("Stubborn", FieldKind::Opaque).with_entities(true);

    fn hash_state(&self, state: &mut StateHasher) {
        self.0.hash_state(state);
    }

    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        if PANICS.get() > 0 {
            PANICS.set(PANICS.get() - 1);
            resume_unwind(Box::new("told to"));
        }
        self.0.remap(map);
    }
}

impl Component for Stubborn {
    fn duplicate() -> Duplicate<Self> {
        Duplicate::<Self>::bytes()
    }
}

#[test]
fn everything_has_come_when_a_field_written_by_hand_panics() {
    for (limits, is_copy) in [([2, 2], false), ([2, 3], false), ([2, 2], true), ([2, 3], true)] {
        let [mut source, mut destination] = limits.map(|limit| {
            World::with_settings("Simulation", WorldSettings::new().chunk_capacity_limit(limit))
        });
        destination.spawn_many((), 5);
        let first = source.spawn(());
        source.spawn_many(Stubborn(first), 10);
        PANICS.set(1);
        let result = catch_unwind(AssertUnwindSafe(|| {
            if is_copy {
                destination.copy_entities_from(&source)
            } else {
                destination.move_entities_from(&mut source)
            }
        }));
        assert!(result.is_err() && PANICS.get() == 0);
        source.check_invariants().unwrap();
        destination.check_invariants().unwrap();
        let left = if is_copy { 11 } else { 0 };
        assert_eq!((source.entity_count(), destination.entity_count()), (left, 16));
        // All references are replaced, except for those close to the one that panicked.
        let replaced = destination.query::<&Stubborn>().iter().filter(|value| value.0 != first);
        assert!(replaced.count() >= 8);
    }
}
