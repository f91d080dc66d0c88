//! Order versions: entities added, removed or moved.

use ancho_entities::World;

use crate::common::{A, B, C, Tag, both};

fn order(world: &World) -> (u32, u32) {
    (world.component_order_version::<A>(), world.component_order_version::<B>())
}

#[test]
fn each_type_counts_added_and_removed_entities() {
    for mut world in both() {
        assert_eq!(order(&world), (0, 0));
        let entity = world.spawn(A(1));
        assert_eq!(order(&world), (1, 0));
        world.despawn(entity).unwrap();
        assert_eq!(order(&world), (2, 0));
    }
}

#[test]
fn adding_counts_twice_for_moved_types_and_once_for_new_ones() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        world.add(entity, B(1)).unwrap();
        assert_eq!(order(&world), (3, 1));
    }
}

#[test]
fn removing_counts_twice_for_moved_types_and_once_for_removed_ones() {
    for mut world in both() {
        let entity = world.spawn((A(1), B(1)));
        assert_eq!(order(&world), (1, 1));
        world.remove::<B>(entity).unwrap();
        assert_eq!(order(&world), (3, 2));
    }
}

#[test]
fn tags_count_as_other_types() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        world.add(entity, Tag).unwrap();
        assert_eq!(world.component_order_version::<Tag>(), 1);
        world.remove::<Tag>(entity).unwrap();
        assert_eq!(world.component_order_version::<Tag>(), 2);
        assert_eq!(order(&world), (5, 0));
    }
}

#[test]
fn other_types_do_not_count() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        world.spawn_many(C(1), 100);
        world.set(entity, A(2)).unwrap();
        assert_eq!(order(&world), (1, 0));
    }
}

#[test]
fn the_order_version_of_a_chunk_changes_with_its_entities() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        world.spawn(B(1));
        let orders = |world: &World| {
            world.chunks().map(|chunk| chunk.order_version().number()).collect::<Vec<_>>()
        };
        world.advance_version();
        let new = world.spawn(A(2));
        assert_eq!(orders(&world), [2, 1]);
        world.advance_version();
        world.despawn(new).unwrap();
        assert_eq!(orders(&world), [3, 1]);
        world.advance_version();
        world.spawn(A(3));
        world.advance_version();
        // The entity leaves one chunk and enters another.
        world.add(entity, B(1)).unwrap();
        assert_eq!(orders(&world), [5, 1, 5]);
        world.advance_version();
        world.set(entity, A(4)).unwrap();
        assert_eq!(orders(&world), [5, 1, 5]);
    }
}
