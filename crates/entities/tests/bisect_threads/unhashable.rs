//! DESIGN 10: components whose hash panics.
#![expect(unsafe_code, reason = "a field that hashes itself")]

use ancho_entities::{
    Bisection, BisectionError, Component, EntityRemap, Field, FieldKind, IntoSystem, Shape,
    StateHasher, World,
};

#[derive(Component, Clone, Copy)]
struct Shy(Unhashable);

#[derive(Clone, Copy)]
struct Unhashable;

// SAFETY: nothing is said of its bytes, and there are none.
unsafe impl Field for Unhashable {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Unhashable", FieldKind::Opaque);

    fn hash_state(&self, _: &mut StateHasher) {
        panic!("nobody looks at me");
    }

    fn hash_states(values: &[Self], state: &mut StateHasher) {
        values.iter().for_each(|value| value.hash_state(state));
    }

    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

/// A world that cannot be hashed from the beginning, or from its first update on, if at all.
fn shy(at_once: bool, later: bool) -> World {
    let mut world = World::new("shy");
    if at_once {
        world.spawn(Shy(Unhashable));
    }
    let spawn = move |world: &mut World| {
        if later {
            world.spawn(Shy(Unhashable));
        }
    };
    world.add_system(spawn.named("spawn"));
    world
}

#[test]
fn a_state_that_cannot_be_hashed_is_told_and_nobody_waits() {
    for (at_once, later) in [(true, false), (false, true)] {
        let run = Bisection::of(|| shy(false, false)).against(move || shy(at_once, later));
        let error = run.run().unwrap_err();
        assert!(matches!(error, BisectionError::Lost { run: 1, .. }));
        let expected = "A0090: the second run could not be looked at any more: nobody looks at me; what components do to be hashed \
                        must not panic";
        assert_eq!(error.to_string(), expected);
    }
}
