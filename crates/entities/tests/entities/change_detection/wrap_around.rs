//! Versions that wrap around.

use ancho_entities::{Version, World};

use crate::common::{A, B, both};

#[test]
fn versions_wrap_around() {
    for mut world in both() {
        world.set_version(Version::from_number(u32::MAX - 1));
        let entity = world.spawn((A(1), B(1)));
        let mut seen = world.version();
        let changed = |world: &World, since: Version| {
            let chunk = world.chunks().next().unwrap();
            (
                chunk.did_change::<A>(since),
                chunk.did_change::<B>(since),
                chunk.did_order_change(since),
            )
        };
        for expected in [u32::MAX, 1, 2, 3] {
            assert_eq!(world.advance_version().number(), expected);
            assert_eq!(changed(&world, seen), (false, false, false));
            world.set(entity, A(expected)).unwrap();
            assert_eq!(changed(&world, seen), (true, false, false));
            seen = world.version();
            world.check_invariants().unwrap();
        }
        world.spawn((A(1), B(1)));
        assert_eq!(changed(&world, Version::from_number(2)), (true, true, true));
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_world_is_never_at_the_version_before_everything() {
    for mut world in both() {
        world.set_version(Version::NEVER);
        assert_eq!(world.version(), Version::FIRST);
        let entity = world.spawn((A(1), B(1)));
        world.set(entity, A(2)).unwrap();
        let chunk = world.chunks().next().unwrap();
        assert!(chunk.did_change::<A>(Version::from_number(u32::MAX)));
        world.check_invariants().unwrap();
    }
}
