//! Components whose hash panics.
#![expect(unsafe_code, reason = "a field that hashes itself")]

use ancho_bisect::{Bisection, BisectionError};
use ancho_entities::{
    Component, EntityRemap, Field, FieldKind, IntoSystem, Shape, StateHasher, World,
};

#[derive(Component, Clone, Copy)]
struct Shy(Unhashable);

#[derive(Clone, Copy)]
struct Unhashable;

// SAFETY: the shape is opaque and claims nothing about the bytes, and the type has size zero.
unsafe impl Field for Unhashable {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Unhashable", FieldKind::Opaque);

    fn hash_state(&self, _: &mut StateHasher) {
        panic!("the value has no hash");
    }

    fn hash_states(values: &[Self], state: &mut StateHasher) {
        values.iter().for_each(|value| value.hash_state(state));
    }

    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

/// Returns a world that cannot be hashed from the beginning, from its first update on, or neither.
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
fn a_state_that_cannot_be_hashed_is_reported_without_waiting() {
    for (at_once, later) in [(true, false), (false, true)] {
        let run = Bisection::of(|| shy(false, false)).against(move || shy(at_once, later));
        let error = run.run().unwrap_err();
        assert!(matches!(error, BisectionError::Lost { run: 1, .. }));
        let expected = "A0090: the second run could not be hashed: the value has no hash; hashing a component must not \
                        panic";
        assert_eq!(error.to_string(), expected);
    }
}

#[derive(Component, Clone, Copy)]
struct Moody(Mood);

/// A value that cannot be hashed while it is 1.
#[derive(Clone, Copy)]
struct Mood(u32);

// SAFETY: the shape is opaque and claims nothing about the bytes.
unsafe impl Field for Mood {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Mood", FieldKind::Opaque);

    fn hash_state(&self, state: &mut StateHasher) {
        assert_ne!(self.0, 1, "not now");
        state.write_u32(self.0);
    }

    fn hash_states(values: &[Self], state: &mut StateHasher) {
        values.iter().for_each(|value| value.hash_state(state));
    }

    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

#[test]
fn a_state_that_cannot_be_hashed_for_a_while_is_reported() {
    /// Returns a world with systems that set the mood, one after the other.
    fn moody(moods: [u32; 3]) -> World {
        let mut world = World::new("moody");
        world.spawn(Moody(Mood(0)));
        for (name, mood) in ["a", "b", "c"].into_iter().zip(moods) {
            let set = move |world: &mut World| {
                world.query_mut::<&mut Moody>().for_each(|it| it.0 = Mood(mood));
            };
            world.add_system(set.named(name));
        }
        world
    }
    for (first, second, lost) in [([1, 2, 3], [1, 2, 4], 0), ([5, 2, 3], [1, 2, 3], 1)] {
        let run = Bisection::of(move || moody(first)).against(move || moody(second)).frames(2);
        let error = run.run().unwrap_err();
        assert!(matches!(error, BisectionError::Lost { run, .. } if run == lost), "{error}");
    }
}
