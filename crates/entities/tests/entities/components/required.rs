//! Components that require others.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ancho_entities::{
    Buffer, Bundle, Changed, Columns, Component, ComponentType, Entity, EntityCommandBuffer,
    EntityError, Managed, Prefab, QueryDescriptor, Shared, With, World,
};

use crate::common::{A, B, Item, Mesh, Owned, Script, Tag, Text, panic_message, strict, world};

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::Place")]
struct Place(u32);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::Size")]
struct Size(u32);

/// Requires a default and a given value.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::Shape", require(Place, Size = Size(3)))]
struct Shape(u32);

/// Requires a component that requires others.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::Ball", require(Shape = Shape(7), Item2 = Item2))]
struct Ball(u32);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Item2;

/// Requires the same as `Shape`, with another value.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::Tall", require(Size = Size(100)))]
struct Tall;

fn of(world: &World, id: Entity) -> Vec<&'static str> {
    let mut names: Vec<_> =
        world.entity(id).unwrap().component_types().iter().map(|ty| ty.name()).collect();
    names.sort_unstable();
    names
}

/// A change of an entity.
type Action<'a> = &'a dyn Fn(&mut World, Entity);

#[test]
fn missing_components_arrive_with_every_way_to_create() {
    let mut world = world();
    let mut all = vec![world.spawn(Shape(1))];
    all.extend(world.spawn_many(Shape(1), 3));
    all.extend(world.spawn_batch([Shape(1), Shape(1)]));
    all.extend(world.spawn_columns((vec![Shape(1), Shape(1)],)).unwrap());
    all.extend(world.spawn_columns(Columns::new(2).with(|_| Shape(1))).unwrap());
    let archetype = world.archetype::<Shape>();
    assert_eq!(world.component_types(archetype).unwrap().len(), 1, "an archetype is exact");
    let created = world.create(archetype).unwrap();
    world.set(created, Shape(1)).unwrap();
    all.push(created);
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.spawn(Shape(1));
    commands.spawn_many(Shape(1), 2);
    commands.spawn_batch([Shape(1); 20]);
    (0..30).for_each(|_| _ = commands.spawn(Shape(1)));
    world.play(&mut buffer).unwrap();
    let all = world.query::<(&Shape, &Place, &Size)>();
    assert_eq!(all.count(), world.entity_count());
    for (shape, place, size) in all.iter() {
        assert_eq!((shape, place, size), (&Shape(1), &Place(0), &Size(3)));
    }
    assert_eq!(world.archetype_count() - 1, 2, "no archetype in between");
}

#[test]
fn missing_components_arrive_with_every_way_to_add() {
    let mut world = world();
    let shape = [ComponentType::of::<Shape>()];
    let archetype = world.archetype::<(A, Shape)>();
    let adds: [Action<'_>; 8] = [
        &|world, id| _ = world.add(id, Shape::default()).unwrap(),
        &|world, id| _ = world.add_types(id, &shape).unwrap(),
        &|world, id| world.set_archetype(id, archetype).unwrap(),
        &|world, id| world.exchange::<B, _>(id, Shape::default()).unwrap(),
        &|world, id| _ = world.batch(&[id]).add(Shape::default()).unwrap(),
        &|world, _| {
            let query = world.query_filtered::<(), (With<A>, ancho_entities::Without<Shape>)>();
            let found = query.to_entities();
            world.batch(&found).add_types(&shape).unwrap();
        },
        &|world, _| {
            _ = world.batch(QueryDescriptor::of::<&A, ()>()).add(Shape::default()).unwrap();
        },
        &|world, id| {
            let mut buffer = EntityCommandBuffer::new();
            buffer.commands().unwrap().entity(id).add(Tag).add(Shape::default()).remove::<Tag>();
            world.play(&mut buffer).unwrap();
        },
    ];
    for (at, add) in adds.into_iter().enumerate() {
        let id = world.spawn(A(1));
        add(&mut world, id);
        assert_eq!(of(&world, id), ["game::A", "game::Place", "game::Shape", "game::Size"], "{at}");
        assert_eq!((world.get(id), world.get(id)), (Ok(&Place(0)), Ok(&Size(3))), "{at}");
        // What is present is kept.
        let id = world.spawn((A(1), Size(8)));
        add(&mut world, id);
        assert_eq!((world.get(id), world.get(id)), (Ok(&Place(0)), Ok(&Size(8))), "{at}");
        world.check_invariants().unwrap();
    }
}

#[test]
fn given_and_present_components_are_kept() {
    let mut world = world();
    let id = world.spawn((Size(9), Shape(1)));
    assert_eq!((world.get(id), world.get(id)), (Ok(&Size(9)), Ok(&Place(0))));
    world.remove::<Shape>(id).unwrap();
    assert!(world.has::<(Size, Place)>(id), "removal keeps what was required");
    world.set(id, Place(5)).unwrap();
    world.add(id, Shape(2)).unwrap();
    assert_eq!((world.get(id), world.get(id)), (Ok(&Size(9)), Ok(&Place(5))));
    // The component is there already, so it does not arrive.
    world.remove::<Place>(id).unwrap();
    world.add(id, Shape(3)).unwrap();
    assert!(!world.has::<Place>(id));
}

#[test]
fn requirements_are_closed_and_direct_ones_win() {
    let mut world = world();
    let id = world.spawn(Ball(1));
    assert_eq!((world.get(id), world.get(id)), (Ok(&Shape(7)), Ok(&Size(3))));
    assert!(world.has::<(Place, Item2)>(id));
    // `Tall` requires the size directly, `Ball` through its shape.
    for id in [world.spawn((Ball(1), Tall)), world.spawn((Tall, Ball(1)))] {
        assert_eq!(world.get(id), Ok(&Size(100)));
    }
    // Both require the size directly: the first wins.
    assert_eq!(world.get(world.0.query::<&Size>().to_entities()[0]), Ok(&Size(3)));
    let (one, other) = (world.spawn((Shape(1), Tall)), world.spawn((Tall, Shape(1))));
    assert_eq!((world.get(one), world.get(other)), (Ok(&Size(3)), Ok(&Size(100))));
    let (one, other) = (world.spawn(()), world.spawn(()));
    world.add(one, (Shape(1), Tall)).unwrap();
    world.add(other, (Tall, Shape(1))).unwrap();
    assert_eq!((world.get(one), world.get(other)), (Ok(&Size(3)), Ok(&Size(100))));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let (one, other) = (commands.spawn((Ball(1), Tall)), commands.spawn((Shape(1), Tall)));
    world.play(&mut buffer).unwrap();
    let size = |id| *world.get::<Size>(buffer.resolve(id).unwrap()).unwrap();
    assert_eq!((size(one), size(other)), (Size(100), Size(3)));
}

#[test]
fn a_component_whose_own_requirement_was_removed_gets_it_again_with_another() {
    let mut world = world();
    let id = world.spawn(Shape(1));
    world.remove::<Place>(id).unwrap();
    // The shape is kept, and its place is missing.
    world.add(id, Ball(1)).unwrap();
    assert_eq!((world.get(id), world.get(id)), (Ok(&Shape(1)), Ok(&Place(0))));
}

#[test]
fn shared_sets_and_bundles_bring_requirements() {
    #[derive(Bundle, Clone)]
    struct Solid {
        shape: Shape,
        mesh: Shared<Mesh>,
    }

    let mut world = world();
    let solid = Solid { shape: Shape(1), mesh: Shared::new(Mesh(4)) };
    let mut all = vec![world.spawn(solid.clone())];
    all.extend(world.spawn_many(solid.clone(), 2));
    all.extend(world.spawn_batch([solid.clone()]));
    let id = world.spawn(A(1));
    world.add(id, solid).unwrap();
    all.push(id);
    for id in all {
        assert_eq!((world.shared(id), world.get(id)), (Ok(&Mesh(4)), Ok(&Size(3))));
    }
}

#[test]
fn buffers_managed_and_enableable_components_can_be_required() {
    #[derive(Component, Clone)]
    #[component(require(Buffer<Item> = Buffer::from([Item(1)]), Managed<Script> = Managed::new(Script("a".into())), Lamp))]
    struct Chest;

    #[derive(Component, Clone, Default)]
    #[component(enableable)]
    struct Lamp;

    let mut world = world();
    let (one, two) = (world.spawn(Chest), world.spawn(A(1)));
    world.add(two, Chest).unwrap();
    let many: Vec<_> = world.spawn_many(Chest, 2).collect();
    for id in many.into_iter().chain([one, two]) {
        assert_eq!(world.buffer::<Item>(id).unwrap(), [Item(1)]);
        assert_eq!(world.managed(id), Ok(&Script("a".into())));
        assert_eq!(world.is_component_enabled::<Lamp>(id), Ok(true));
    }
}

#[test]
fn copies_are_not_completed() {
    let mut world = world();
    let prefab = world.spawn((Shape(1), Prefab));
    world.remove::<Size>(prefab).unwrap();
    let copy = world.instantiate(prefab).unwrap();
    assert!(world.has::<(Shape, Place)>(copy) && !world.has::<Size>(copy));
    let mut fork = world.fork();
    assert!(!fork.has::<Size>(copy));
    let mut target = world_named();
    let map = target.move_entities_from(&mut fork).unwrap();
    assert!(!target.has::<Size>(map.get(copy).unwrap()));
}

fn world_named() -> World {
    World::new("target")
}

#[test]
fn constructors_that_panic_change_nothing() {
    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
        static COUNT: Arc<()> = Arc::new(());
    }

    fn fragile() -> Last {
        LEFT.with(|left| match left.get() {
            Some(0) => panic!("a constructor that panics"),
            Some(count) => left.set(Some(count - 1)),
            None => {}
        });
        Last(1)
    }

    fn owned() -> Owned {
        Owned(COUNT.with(Arc::clone))
    }

    #[derive(Component, Clone, Copy, Default)]
    struct Last(u32);

    #[derive(Component, Clone, Default)]
    #[component(require(Owned = owned(), Place, Last = fragile()))]
    struct First(u32);

    let first = [ComponentType::of::<First>()];
    let actions: [Action<'_>; 12] = [
        &|world, _| _ = world.spawn(First(1)),
        &|world, _| _ = world.spawn((First(1), Shared::new(Mesh(77)))),
        &|world, _| _ = world.spawn_many(First(1), 1),
        &|world, _| _ = world.spawn_batch([First(1)]),
        &|world, _| _ = world.spawn_columns((vec![First(1)],)).unwrap(),
        &|world, id| _ = world.add(id, First(1)).unwrap(),
        &|world, id| _ = world.add(id, (First(1), Shared::new(Mesh(78)))).unwrap(),
        &|world, id| _ = world.add_types(id, &first).unwrap(),
        &|world, id| world.exchange::<A, _>(id, First(1)).unwrap(),
        &|world, id| _ = world.batch(&[id]).add(First(1)).unwrap(),
        &|world, _| _ = world.batch(QueryDescriptor::of::<&A, ()>()).add(First(1)).unwrap(),
        &|world, _| {
            let archetype = world.archetype::<First>();
            world.create(archetype).unwrap();
        },
    ];
    for (at, action) in actions.into_iter().enumerate() {
        let mut world = world();
        let id = world.spawn(A(1));
        let before = (world.state_hash(), world.entity_count());
        LEFT.set(Some(0));
        let message = panic_message(|| action(&mut world, id));
        assert_eq!(message, "a constructor that panics", "{at}");
        assert_eq!((world.state_hash(), world.entity_count()), before, "{at}");
        assert_eq!(COUNT.with(Arc::strong_count), 1, "{at}");
        world.check_invariants().unwrap();
        LEFT.set(None);
        action(&mut world, id);
        assert_eq!(world.query::<(&First, &Last, &Place)>().count(), 1, "{at}");
        world.check_invariants().unwrap();
        drop(world);
        assert_eq!(COUNT.with(Arc::strong_count), 1, "{at}");
    }
    // A batch keeps the entities before the panic, as with an iterator that panics.
    let mut world = world();
    LEFT.set(Some(3));
    let batch = AssertUnwindSafe(|| _ = world.spawn_batch((0..10).map(First)));
    assert!(catch_unwind(batch).is_err());
    LEFT.set(None);
    assert_eq!(world.query::<&First>().count(), 3);
}

#[test]
fn constructors_run_once_per_entity() {
    thread_local! {
        static NEXT: Cell<u32> = const { Cell::new(0) };
    }

    fn next() -> Number {
        Number(NEXT.replace(NEXT.get() + 1))
    }

    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    struct Number(u32);

    #[derive(Component, Clone, Copy)]
    #[component(require(Number = next()))]
    struct Numbered;

    let mut world = world();
    world.spawn(Numbered);
    world.spawn_many(Numbered, 3);
    world.spawn_batch([Numbered; 3]);
    let ids: Vec<_> = world.spawn_many(A(1), 3).collect();
    world.batch(QueryDescriptor::of::<&A, ()>()).add(Numbered).unwrap();
    let mut numbers: Vec<_> = world.query::<&Number>().iter().map(|number| number.0).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    assert!(ids.iter().all(|&id| world.has::<(A, Numbered)>(id)));
}

#[test]
fn a_cycle_is_refused_when_a_type_is_registered() {
    #[derive(Component, Default)]
    #[component(name = "game::Egg", require(Hen))]
    struct Egg;

    #[derive(Component, Default)]
    #[component(name = "game::Hen", require(Nest))]
    struct Hen;

    #[derive(Component, Default)]
    #[component(name = "game::Nest", require(Egg))]
    struct Nest;

    #[derive(Component, Default)]
    #[component(name = "game::Self", require(Itself))]
    struct Itself;

    let message = panic_message(|| ComponentType::of::<Egg>());
    assert!(message.starts_with("A0242: component `"), "{message}");
    for name in ["Egg` requires itself", "Hen`, which requires `", "Nest`, which requires `"] {
        assert!(message.contains(name), "{message}");
    }
    let message = panic_message(|| world().spawn(Itself));
    assert!(message.starts_with("A0242: "), "{message}");
    // The next attempt reports the same.
    assert!(panic_message(|| ComponentType::of::<Nest>()).starts_with("A0242: "));
}

#[test]
fn removal_with_requirements_keeps_what_others_require() {
    let mut world = world();
    let id = world.spawn((Ball(1), Tall, A(1)));
    assert_eq!(world.remove_with_required::<Ball>(id), Ok(true));
    assert_eq!(of(&world, id), ["game::A", "game::Size", "game::Tall"]);
    assert_eq!(world.remove_with_required::<Ball>(id), Ok(false));
    assert_eq!(world.remove_with_required::<(Tall, A)>(id), Ok(true));
    assert_eq!(of(&world, id), [""; 0]);
    let id = world.spawn((Ball(1), B(1)));
    world.entity_mut(id).unwrap().remove_with_required::<Shape>().unwrap();
    assert!(world.has::<(Ball, Place, Size)>(id), "the ball requires them too");
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().entity(id).remove_with_required::<Ball>().add(Text("x".into()));
    assert!(buffer.trace().contains("and what they require"), "{}", buffer.trace());
    world.play(&mut buffer).unwrap();
    assert_eq!(of(&world, id), ["game::B", "game::Text"]);
    world.despawn(id).unwrap();
    assert_eq!(world.remove_with_required::<Ball>(id), Ok(false));
}

#[test]
fn a_strict_world_keeps_components_that_others_require() {
    let mut world = strict();
    let id = world.spawn((Shape(1), A(1)));
    let (component, by) = (ComponentType::of::<Place>(), ComponentType::of::<Shape>());
    let expected = EntityError::StillRequired { entity: id, component, by };
    assert_eq!(world.remove::<Place>(id), Err(expected));
    assert_eq!(world.remove_types(id, &[component]), Err(expected));
    assert_eq!(world.exchange::<Place, _>(id, B(1)).unwrap_err().error, expected);
    assert_eq!(world.batch(&[id]).remove::<Place>().unwrap_err(), expected);
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.entity(id).add(Tag).remove::<Place>().add(Text("x".into()));
    assert!(world.play(&mut buffer).unwrap_err().to_string().contains("A0243: entity "));
    assert_eq!(
        expected.to_string(),
        "A0243: entity 0v1 keeps `game::Place`, because its `game::Shape` requires it, and the world is strict; remove \
         `game::Shape` too, or use `remove_with_required`"
    );
    assert_eq!(world.remove::<(Shape, Place)>(id), Ok(true));
    assert!(world.has::<Size>(id));
    // What is present is no second component.
    assert_eq!(world.add(id, Shape(2)).map_err(|rejected| rejected.error), Ok(true));
}

#[test]
fn required_components_count_as_changed() {
    let mut world = world();
    let id = world.spawn(A(1));
    let before = world.version();
    world.advance_version();
    world.add(id, Shape(1)).unwrap();
    let changed = world.query_filtered::<Entity, Changed<Size>>();
    assert_eq!(changed.since(before).iter().collect::<Vec<_>>(), [id]);
}
