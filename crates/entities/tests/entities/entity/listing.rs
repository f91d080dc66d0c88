//! All entities, and their count.

use ancho_entities::Entity;

use crate::common::{A, B, Tag, both, chunk_entities};

#[test]
fn all_entities_are_listed_and_counted() {
    for mut world in both() {
        assert_eq!((world.entity_count(), world.all_entities()), (0, vec![]));
        let mut expected = vec![world.spawn(())];
        expected.extend(world.spawn_many(A(1), 3000));
        expected.push(world.spawn((A(1), Tag)));
        expected.push(world.spawn(B(2)));
        assert_eq!(world.entity_count(), expected.len());
        assert_eq!(world.entity_count(), expected.len());
        assert_eq!(world.all_entities(), expected);
        assert!(world.iter_entities().eq(expected.iter().copied()));
        assert_eq!(chunk_entities(&world).concat(), expected);
        world.batch(&expected[1..3001]).despawn().unwrap();
        assert_eq!(world.entity_count(), 3);
        let left = [expected[0], expected[3001], expected[3002]];
        assert_eq!(world.all_entities(), left);
    }
}

#[test]
fn archetypes_and_names_are_not_listed() {
    for mut world in both() {
        world.archetype::<(A, B)>();
        let entity = world.spawn(A(1));
        world.set_name(entity, "one").unwrap();
        world.fork();
        assert_eq!(world.all_entities(), [entity]);
        assert_eq!(world.iter_entities().collect::<Vec<Entity>>(), [entity]);
    }
}
