//! Refused changes of links, which change nothing, and their messages.

use ancho_entities::{Buffer, Columns, ComponentType, Entity, World};

use super::{ChildOf, Children, Targets};
use crate::common::*;

/// Asserts that an operation is refused with a message, and changes nothing.
#[track_caller]
fn assert_refused<T: std::fmt::Debug, E: std::fmt::Display>(
    world: &mut World,
    message: &str,
    operation: impl FnOnce(&mut World) -> Result<T, E>,
) {
    let (hash, archetypes) = (world.state_hash(), world.all_entities());
    let error = match operation(world) {
        Ok(result) => panic!("nothing was refused: {result:?}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(error, message);
    assert_eq!((world.state_hash(), world.all_entities()), (hash, archetypes));
    world.check_invariants().unwrap();
}

#[test]
fn a_target_that_does_not_exist_is_refused() {
    let mut world = world();
    let gone = world.spawn(());
    world.despawn(gone).unwrap();
    let entity = world.spawn(());
    let message = format!(
        "A0050: entity {gone} no longer exists: it was despawned; check stored references with `exists`"
    );
    assert_refused(&mut world, &message, |world| {
        world.add(entity, ChildOf(gone)).map_err(|rejected| rejected.error)
    });
    assert_refused(&mut world, &message, |world| {
        world.try_spawn((A(1), ChildOf(gone))).map_err(|rejected| rejected.error)
    });
}

#[test]
fn a_link_to_itself_is_refused() {
    let mut world = world();
    let entity = world.spawn(());
    let message = format!(
        "A0210: entity {entity} cannot be the target of its own `game::Targets`; choose another target, or write \
         `#[relationship(allow_self)]` on the type"
    );
    assert_refused(&mut world, &message, |world| {
        world.add(entity, Targets { enemy: entity }).map_err(|rejected| rejected.error)
    });
}

#[test]
fn a_cycle_is_refused_with_its_length() {
    let mut world = world();
    let a = world.spawn(());
    let b = world.spawn(ChildOf(a));
    let c = world.spawn(ChildOf(b));
    let message = format!(
        "A0140: cycle of `game::ChildOf`: {a} -> {c} -> 1 more -> {a}; nothing was changed: choose a target that is \
         not a descendant of {a}"
    );
    assert_refused(&mut world, &message, |world| {
        world.add(a, ChildOf(c)).map_err(|rejected| rejected.error)
    });
    let message = format!(
        "A0140: cycle of `game::ChildOf`: {a} -> {b} -> {a}; nothing was changed: choose a target that is not a \
         descendant of {a}"
    );
    assert_refused(&mut world, &message, |world| {
        world.add(a, (ChildOf(b), B(2))).map_err(|rejected| rejected.error)
    });
}

#[test]
fn cycles_that_several_entities_close_together_are_refused() {
    let mut world = world();
    let (a, b, c) = (world.spawn(()), world.spawn(()), world.spawn(()));
    let hash = world.state_hash();
    let error = world.batch(&[a, b]).add_each([ChildOf(b), ChildOf(a)]).unwrap_err().error;
    assert!(error.to_string().starts_with("A0140: cycle of `game::ChildOf`: "), "{error}");
    assert_eq!(world.state_hash(), hash);
    // Together, these links have no cycle, although the first alone would close one.
    world.add(b, ChildOf(a)).unwrap();
    assert_eq!(world.batch(&[a, b]).add_each([ChildOf(b), ChildOf(c)]).unwrap(), 1);
    assert!(world.ancestors::<ChildOf>(a).unwrap().eq([b, c]));
}

#[test]
fn the_buffer_of_a_target_cannot_be_written() {
    let mut world = world();
    let (entity, other) = (world.spawn(()), world.spawn(()));
    let children = ComponentType::of_buffer::<Children>();
    let message = "A0211: `Buffer<game::Children>` belongs to a relationship, and this operation would change one \
                   direction only; use `spawn`, `add`, `set` or `remove` with the source component";
    assert_refused(&mut world, message, |world| {
        world.add(entity, Buffer::from([Children(other)])).map_err(|rejected| rejected.error)
    });
    assert_refused(&mut world, message, |world| {
        world.try_spawn(Buffer::<Children>::new()).map_err(|rejected| rejected.error)
    });
    let message = "A0057: `Buffer<game::Children>` belongs to a relationship and has no default value; add the source \
                   with its target, and the world adds the other direction";
    assert_refused(&mut world, message, |world| world.add_types(entity, &[children]));
    let archetype = world.archetype_of(&[children]).unwrap();
    assert!(world.create(archetype).is_err() && world.set_archetype(entity, archetype).is_err());
    world.spawn(ChildOf(entity));
    assert!(world.take::<Buffer<Children>>(entity).is_err());
}

#[test]
fn bytes_of_links_cannot_be_written() {
    let mut world = world();
    let (parent, other) = (world.spawn(()), world.spawn(()));
    let child = world.spawn(ChildOf(parent));
    let ty = ComponentType::of::<ChildOf>();
    assert!(ty.is_in_relationship() && !ComponentType::of::<A>().is_in_relationship());
    let bytes = other.to_bits().to_ne_bytes();
    let message = "A0211: `game::ChildOf` belongs to a relationship, and this operation would change one direction \
                   only; use `spawn`, `add`, `set` or `remove` with the source component";
    assert_refused(&mut world, message, |world| world.set_bytes(child, ty, &bytes));
    assert_refused(&mut world, message, |world| world.add_bytes(other, ty, &bytes));
    assert_eq!(world.get_bytes(child, ty).unwrap().len(), 8);
    assert_eq!(
        world.untyped_buffer(parent, ComponentType::of_buffer::<Children>()).unwrap().len(),
        1
    );
}

#[test]
fn links_are_not_swapped_and_not_written_in_columns() {
    let mut world = world();
    let (left, right) = (world.spawn(()), world.spawn(()));
    let (one, other) = (world.spawn(ChildOf(left)), world.spawn(ChildOf(right)));
    let message = "A0211: `game::ChildOf` belongs to a relationship, and this operation would change one direction \
                   only; use `spawn`, `add`, `set` or `remove` with the source component";
    assert_refused(&mut world, message, |world| world.swap_components(one, other));
    assert_refused(&mut world, message, |world| {
        let columns = Columns::new(3).with(|_| ChildOf(left));
        world.spawn_columns(columns).map(Iterator::count).map_err(|rejected| rejected.error)
    });
}

#[test]
fn an_entity_that_a_batch_names_twice_is_refused() {
    let mut world = world();
    let (parent, child) = (world.spawn(()), world.spawn(()));
    let message = format!(
        "A0212: the batch writes a relationship of entity {child} twice; pass each entity once"
    );
    assert_refused(&mut world, &message, |world| {
        let links = [ChildOf(parent), ChildOf(parent)];
        world.batch(&[child, child]).add_each(links).map_err(|rejected| rejected.error)
    });
}

#[test]
fn a_strict_world_refuses_what_it_refuses_for_other_components() {
    let mut world = strict();
    let parent = world.spawn(());
    let child = world.spawn(ChildOf(parent));
    assert!(world.add(child, ChildOf(parent)).is_err());
    assert!(world.remove::<Targets>(child).is_err());
    assert!(world.remove::<ChildOf>(Entity::NULL).is_err());
    world.set(child, ChildOf(parent)).unwrap();
    assert!(world.remove::<ChildOf>(child).unwrap());
}
