//! Access to one entity: `EntityRef` and `EntityMut`.

use ancho_entities::{Buffer, Component, ComponentType, Entity, EntityError, Managed, Shared};

use crate::common::{A, B, Item, Mesh, Script, Stays, Tag, Text, both, strict, world};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(enableable)]
struct Lamp(u32);

#[test]
fn a_reference_reads_components_of_every_kind() {
    let mut world = world();
    let all = (
        A(1),
        Lamp(2),
        Buffer::from([Item(3)]),
        Shared::new(Mesh(4)),
        Managed::new(Script("five".into())),
    );
    let id = world.spawn(all);
    world.set_name(id, "all").unwrap();
    world.set_component_enabled::<Lamp>(id, false).unwrap();
    let entity = world.entity(id).unwrap();
    assert_eq!(entity.id(), id);
    assert_eq!(entity.get(), Ok(&A(1)));
    assert_eq!(entity.buffer::<Item>().unwrap(), [Item(3)]);
    assert_eq!(entity.shared(), Ok(&Mesh(4)));
    assert_eq!(entity.managed(), Ok(&Script("five".into())));
    assert_eq!((entity.name(), entity.is_enabled()), (Some("all"), true));
    assert_eq!(entity.is_component_enabled::<Lamp>(), Ok(false));
    assert!(entity.has::<(A, Lamp)>() && !entity.has::<B>());
    assert!(entity.has_type(ComponentType::of_shared::<Mesh>()));
    assert_eq!(entity.component_types().len(), 5);
    assert_eq!(entity.archetype(), world.entity_archetype(id));
    assert_eq!(entity.get::<B>(), world.get::<B>(id));
    let debug = format!("{entity:?}");
    assert!(debug.starts_with("EntityRef { id: ") && debug.contains("game::A"), "{debug}");
}

#[test]
fn changes_are_those_of_the_manager() {
    let mut world = world();
    let id = world.spawn(A(1));
    let mut entity = world.entity_mut(id).unwrap();
    assert!(entity.add((B(2), Buffer::from([Item(3)]))).unwrap());
    assert!(!entity.add(B(3)).unwrap());
    entity.set(A(4)).unwrap();
    entity.append(Item(5)).unwrap();
    entity.buffer_mut::<Item>().unwrap().push(Item(6));
    entity.get_mut::<B>().unwrap().0 += 1;
    assert_eq!(entity.get(), Ok(&B(4)));
    assert_eq!(entity.buffer::<Item>().unwrap(), [Item(3), Item(5), Item(6)]);
    assert_eq!(entity.take::<B>(), Ok(B(4)));
    assert_eq!(entity.set(B(1)).unwrap_err().value, B(1));
    assert_eq!(entity.remove::<B>(), Ok(false));
    assert_eq!(entity.add_types(&[ComponentType::of::<Tag>()]), Ok(true));
    assert_eq!(entity.remove_types(&[ComponentType::of::<Tag>()]), Ok(true));
    entity.add((Lamp(1), Shared::new(Mesh(1)), Managed::new(Script("a".into())))).unwrap();
    entity.set_component_enabled::<Lamp>(false).unwrap();
    assert_eq!(entity.set_shared(Mesh(2)), Ok(true));
    entity.managed_mut::<Script>().unwrap().0.push('b');
    entity.set_name("x").unwrap();
    assert_eq!(entity.set_enabled(false), Ok(true));
    let read = entity.as_ref();
    assert_eq!(read.is_component_enabled::<Lamp>(), Ok(false));
    assert_eq!((read.shared(), read.managed()), (Ok(&Mesh(2)), Ok(&Script("ab".into()))));
    assert_eq!((read.name(), read.is_enabled()), (Some("x"), false));
    assert!(format!("{entity:?}").starts_with("EntityMut { id: "));
    assert_eq!((entity.id(), entity.despawn()), (id, Ok(true)));
    assert!(!world.exists(id));
}

#[test]
fn entities_that_do_not_exist_are_not_borrowed() {
    for mut world in both() {
        let dead = world.spawn(A(1));
        world.despawn(dead).unwrap();
        for missing in [dead, Entity::NULL] {
            let expected = world.get::<A>(missing).unwrap_err();
            assert!(matches!(expected, EntityError::NoSuchEntity { .. }));
            assert_eq!(world.entity(missing).unwrap_err(), expected);
            assert_eq!(world.entity_mut(missing).unwrap_err(), expected);
        }
    }
}

#[test]
fn a_change_that_ends_the_entity_makes_later_ones_fail() {
    let mut world = strict();
    let id = world.spawn((A(1), Stays));
    world.despawn(id).unwrap();
    let mut entity = world.entity_mut(id).unwrap();
    assert_eq!(entity.remove::<Stays>(), Ok(true));
    assert!(matches!(entity.get::<A>(), Err(EntityError::NoSuchEntity { .. })));
    assert!(entity.add(Text("late".into())).is_err());
    assert!(entity.as_ref().component_types().is_empty());
    assert!(entity.despawn().is_err());
}
