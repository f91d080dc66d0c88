//! Components that one entity has.

use ancho_entities::{Component, ComponentType, EntityError, IntoSystem, Single, With, World};

use crate::common::{A, B, Tag, take, world};

#[test]
fn sy14_singletons_of_a_world() {
    let mut world = World::new("test");
    assert_eq!(world.has_singleton::<A>(), Ok(false));
    assert_eq!(world.try_singleton::<A>(), Ok(None));
    assert_eq!(world.singleton::<A>(), Err(EntityError::NotSingle { found: 0 }));
    assert_eq!(world.set_singleton(A(1)), Err(EntityError::NotSingle { found: 0 }));
    let entity = world.create_singleton(A(1)).unwrap();
    assert_eq!(world.singleton_entity::<A>(), Ok(entity));
    world.set_singleton(A(2)).unwrap();
    world.singleton_mut::<A>().unwrap().0 += 1;
    assert_eq!((world.singleton::<A>(), world.try_singleton::<A>()), (Ok(&A(3)), Ok(Some(&A(3)))));
    let refused = world.create_singleton(A(9)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "A0137: entity {entity} has `{}` already, and no other may; change it with `set_singleton`, or despawn the entity first",
            ComponentType::of::<A>()
        )
    );
    assert_eq!(world.singleton::<A>(), Ok(&A(3)), "nothing has changed");
    world.spawn(A(4));
    let two = EntityError::NotSingle { found: 2 };
    assert_eq!(world.has_singleton::<A>(), Err(two));
    assert_eq!(world.try_singleton::<A>(), Err(two));
    assert!(world.create_singleton(Tag).is_ok() && world.has_singleton::<Tag>() == Ok(true));
}

#[test]
fn sy14_singletons_of_systems_are_written_and_optional() {
    #[derive(Component, Clone, Copy)]
    struct Score(u32);

    fn add(
        mut score: Single<&mut Score>,
        one: Option<Single<&A, With<Tag>>>,
        mut log: ancho_entities::ResMut<crate::common::Log>,
    ) {
        score.0 += one.map_or(1, |one| one.0);
        log.0.push(score.0.to_string());
    }

    let mut world = world();
    world.spawn(Score(0));
    world.spawn_many(5, A(7));
    world.add_system(add.named("add"));
    world.try_update(0.1).unwrap();
    let tagged = world.spawn((A(10), Tag));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1", "11"]);
    world.spawn((A(10), Tag, B(1)));
    assert!(world.try_update(0.1).is_err(), "of several none is the one");
    world.despawn(tagged).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["21"]);
}
