//! Singleton components.

use ancho_entities::{
    Buffer, BufferElement, Component, ComponentType, Disabled, EntityError, IntoSystem, Prefab,
    QueryDescriptor, ResMut, Shared, SharedComponent, Single, With, World,
};

use crate::common::{A, B, Log, Switch, Tag, take, world};

#[test]
fn singletons_of_a_world() {
    let mut world = World::new("test");
    assert_eq!(world.has_singleton::<A>(), Ok(false));
    assert_eq!(world.try_singleton::<A>(), Ok(None));
    let none = EntityError::NotSingleton { component: ComponentType::of::<A>(), found: 0 };
    assert_eq!(world.singleton::<A>(), Err(none));
    assert_eq!(world.set_singleton(A(1)), Err(none));
    assert_eq!(world.singleton_entity::<A>(), Err(none));
    assert_eq!(
        none.to_string(),
        "A0088: no entity has `game::A`, but one was expected; create it with `create_singleton`, check with \
         `try_singleton`, or make the system wait for it with `require`"
    );
    let entity = world.create_singleton(A(1)).unwrap();
    assert_eq!(world.singleton_entity::<A>(), Ok(entity));
    world.set_singleton(A(2)).unwrap();
    world.singleton_mut::<A>().unwrap().0 += 1;
    assert_eq!((world.singleton::<A>(), world.try_singleton::<A>()), (Ok(&A(3)), Ok(Some(&A(3)))));
    let refused = world.create_singleton(A(9)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "A0137: entity {entity} already has the singleton `{}`; change it with `set_singleton`, or despawn the \
             entity first",
            ComponentType::of::<A>()
        )
    );
    assert_eq!(world.singleton::<A>(), Ok(&A(3)), "nothing has changed");
    world.spawn(A(4));
    let two = EntityError::NotSingleton { component: ComponentType::of::<A>(), found: 2 };
    assert_eq!(
        two.to_string(),
        "A0088: 2 entities have `game::A`, but one was expected; despawn the others, or use `single` of a query that \
         filters them out"
    );
    assert_eq!(world.singleton::<A>(), Err(two));
    assert_eq!(world.singleton_mut::<A>(), Err(two));
    assert_eq!(world.has_singleton::<A>(), Err(two));
    assert_eq!(world.try_singleton::<A>(), Err(two));
}

/// DIFFERENCE: Unity refuses to get and set a tag singleton. Here a tag is a value like others.
#[test]
fn tags_can_be_singletons() {
    let mut world = World::new("test");
    assert!(
        world
            .singleton::<Tag>()
            .unwrap_err()
            .to_string()
            .starts_with("A0088: no entity has `game::Tag`")
    );
    assert!(world.set_singleton(Tag).is_err());
    let entity = world.create_singleton(Tag).unwrap();
    assert_eq!(world.has_singleton::<Tag>(), Ok(true));
    assert_eq!((world.singleton(), world.try_singleton()), (Ok(&Tag), Ok(Some(&Tag))));
    assert_eq!((world.set_singleton(Tag), world.singleton_mut()), (Ok(()), Ok(&mut Tag)));
    assert_eq!(world.singleton_entity::<Tag>(), Ok(entity));
    assert!(world.create_singleton(Tag).is_err());
}

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(name = "Order")]
struct Order(u32);

#[test]
fn buffers_can_be_singletons() {
    let mut world = World::new("test");
    let orders = ComponentType::of_buffer::<Order>();
    let none = EntityError::NotSingleton { component: orders, found: 0 };
    assert_eq!(world.try_singleton_buffer::<Order>(), Ok(None));
    assert_eq!(world.singleton_buffer::<Order>(), Err(none));
    assert_eq!(world.singleton_buffer_mut::<Order>().unwrap_err(), none);
    assert_eq!(
        none.to_string(),
        format!(
            "A0088: no entity has `{orders}`, but one was expected; create it with `create_singleton_buffer`, check \
             with `try_singleton_buffer`, or make the system wait for it with `require`"
        )
    );
    let entity = world.create_singleton_buffer(Buffer::from([Order(1)])).unwrap();
    world.singleton_buffer_mut::<Order>().unwrap().push(Order(2));
    assert_eq!(world.singleton_buffer::<Order>(), Ok(&[Order(1), Order(2)][..]));
    assert_eq!(world.try_singleton_buffer::<Order>(), Ok(Some(&[Order(1), Order(2)][..])));
    let refused = world.create_singleton_buffer(Buffer::<Order>::default()).unwrap_err();
    assert_eq!(refused, EntityError::SingletonExists { component: orders, entity });
    assert!(refused.to_string().contains("change it with `singleton_buffer_mut`"), "{refused}");
    // An empty buffer counts as well.
    world.spawn(Buffer::<Order>::default());
    let two = EntityError::NotSingleton { component: orders, found: 2 };
    assert_eq!(world.singleton_buffer::<Order>(), Err(two));
    assert_eq!(world.try_singleton_buffer::<Order>(), Err(two));
    assert_eq!(world.singleton_buffer_mut::<Order>().unwrap_err(), two);
    assert!(two.to_string().starts_with(&format!("A0088: 2 entities have `{orders}`")));
}

#[derive(SharedComponent, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Team(u32);

#[test]
fn shared_values_can_be_singletons() {
    let mut world = world();
    world.spawn((A(1), Shared::new(Team(1))));
    let blue = world.spawn((A(2), Shared::new(Team(2))));
    assert!(world.singleton::<A>().is_err(), "two have it");
    assert_eq!(world.query::<&A>().with_shared(Team(2)).single(), Ok(&A(2)));
    world.query_mut::<&mut A>().with_shared(Team(2)).single_mut().unwrap().0 += 5;
    assert_eq!(world.get(blue), Ok(&A(7)));
    let third = world.query::<&A>().with_shared(Team(3)).single();
    assert!(matches!(third, Err(EntityError::NotSingle { found: 0, .. })));
    world.spawn((A(3), Shared::new(Team(2))));
    let second = world.query::<&A>().with_shared(Team(2)).single();
    assert!(matches!(second, Err(EntityError::NotSingle { found: 2, .. })));
    assert_eq!(world.query::<&A>().with_shared(Team(1)).single(), Ok(&A(1)));
}

#[test]
fn a_system_waits_for_its_singleton() {
    fn tell(one: Single<&A>, mut log: ResMut<Log>) {
        log.0.push(one.0.to_string());
    }

    let mut world = world();
    world.add_system(tell.require(QueryDescriptor::of::<&A, ()>()));
    world.try_update(0.1).unwrap();
    let one = world.create_singleton(A(1)).unwrap();
    world.try_update(0.1).unwrap();
    world.despawn(one).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1"]);
}

#[test]
fn singletons_of_systems_are_written_and_optional() {
    #[derive(Component, Clone, Copy)]
    struct Score(u32);

    fn add(
        mut score: Single<&mut Score>,
        one: Option<Single<&A, With<Tag>>>,
        mut log: ResMut<Log>,
    ) {
        score.0 += one.map_or(1, |one| one.0);
        log.0.push(score.0.to_string());
    }

    let mut world = world();
    world.spawn(Score(0));
    world.spawn_many(A(7), 5);
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

#[test]
fn shared_values_do_not_matter_to_requirements() {
    let mut world = world();
    let second = QueryDescriptor::of::<&A, ()>().with_shared(Team(2));
    let system = |mut log: ResMut<Log>| log.0.push("runs".to_owned());
    world.add_system(system.require(second));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), [""; 0], "there is no entity");
    let first = world.spawn((A(1), Shared::new(Team(1))));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["runs"], "there is one, of another value");
    world.despawn(first).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), [""; 0]);
}

#[test]
fn a0137_a_disabled_singleton_exists() {
    let mut world = world();
    let entity = world.create_singleton(Switch(1)).unwrap();
    world.set_component_enabled::<Switch>(entity, false).unwrap();
    let component = ComponentType::of::<Switch>();
    let there = Err(EntityError::SingletonExists { component, entity });
    assert_eq!(world.create_singleton(Switch(2)), there);
    let entity = world.create_singleton_buffer(Buffer::from([Order(1)])).unwrap();
    world.add(entity, Disabled).unwrap();
    let component = ComponentType::of_buffer::<Order>();
    let there = Err(EntityError::SingletonExists { component, entity });
    assert_eq!(world.create_singleton_buffer(Buffer::<Order>::default()), there);
    // A prefab is no singleton: it is a template.
    let prefab = world.spawn((A(1), Prefab));
    let entity = world.create_singleton(A(2)).unwrap();
    assert_ne!(entity, prefab);
    assert_eq!(world.entity_count(), 4);
}
