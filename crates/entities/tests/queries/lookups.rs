//! Lookups of entities by id.

use ancho_entities::{Buffer, BufferElement, Entity, TrackedMut};

use crate::common::*;

#[test]
fn lookups_return_the_location_of_entities() {
    let mut world = chunks_of(3);
    let all: Vec<_> = world.spawn_batch((0..7).map(|at| (A(at), B(0)))).collect();
    let other = world.spawn(A(7));
    world.despawn(all[1]).unwrap();
    let places = world.storage_info();
    assert!(places.exists(all[0]) && !places.exists(all[1]) && !places.exists(Entity::NULL));
    assert!(places.get(all[1]).is_none());
    for entity in world.all_entities() {
        let place = places.get(entity).unwrap();
        assert_eq!(place.chunk().entities()[place.row()], entity);
        assert_eq!(place.chunk().slice::<A>().unwrap()[place.row()], *world.get(entity).unwrap());
    }
    // The last row of the chunk filled the freed row.
    assert_eq!(places.get(all[2]).unwrap().row(), 1);
    let numbers = |entity| places.get(entity).unwrap().chunk_number();
    assert_eq!(numbers(all[0]), numbers(all[2]));
    assert_ne!(numbers(all[0]), numbers(all[3]));
    assert_ne!(numbers(all[6]), numbers(other));
    assert!(format!("{places:?}").contains('7'));
    assert!(format!("{:?}", places.get(all[2]).unwrap()).contains("row: 1"));
}

#[test]
fn a_chunk_keeps_its_number() {
    let mut world = chunks_of(2);
    let all: Vec<_> = world.spawn_batch((0..6).map(A)).collect();
    let number = |world: &Checked, entity| world.storage_info().get(entity).unwrap().chunk_number();
    let before = number(&world, all[4]);
    world.batch(&all[..2]).despawn().unwrap();
    world.get_mut::<A>(all[4]).unwrap().0 += 1;
    let fork = Checked(world.fork().unwrap());
    world.get_mut::<A>(all[4]).unwrap().0 += 1;
    assert_eq!((number(&world, all[4]), number(&fork, all[4])), (before, before));
}

#[test]
fn lookups_report_changed_chunks() {
    let mut world = chunks_of(2);
    let all: Vec<_> =
        world.spawn_batch((0..4).map(|at| (A(at), Buffer::from([Item(at)]), Tag))).collect();
    let bare = world.spawn(B(0));
    let seen = world.version();
    world.advance_version();
    world.get_mut::<A>(all[3]).unwrap().0 += 1;
    world.buffer_mut::<Item>(all[0]).unwrap().clear();
    let (a, items) = (world.lookup::<&A>(), world.lookup::<&Buffer<Item>>());
    let changed = |entity| (a.did_change(entity, seen), items.did_change(entity, seen));
    assert_eq!(
        all.iter().map(|&entity| changed(entity)).collect::<Vec<_>>(),
        [(false, true), (false, true), (true, false), (true, false)]
    );
    assert_eq!(changed(bare), (false, false));
    assert_eq!(changed(Entity::NULL), (false, false));
    assert!(!a.did_change(all[3], world.version()));
}

#[derive(BufferElement, Clone, Copy)]
#[buffer(name = "queries::NotedItem", track_changes)]
struct NotedItem(u32);

#[test]
fn lookups_report_changed_entities_if_tracked() {
    let mut world = chunks_of(2);
    let all: Vec<_> = world
        .spawn_batch((0..6).map(|at| (T(at), S, Buffer::from([NotedItem(at)]), A(at))))
        .collect();
    let seen = world.version();
    world.advance_version();
    world.get_mut::<T>(all[3]).unwrap().0 += 1;
    world.get_mut::<A>(all[3]).unwrap().0 += 1;
    world.buffer_mut::<NotedItem>(all[0]).unwrap()[0].0 += 1;
    world.set(all[5], S).unwrap();
    // A loop with `TrackedMut` over all entities marks only those it writes.
    for mut value in world.query_mut::<TrackedMut<T>>() {
        if value.0 == 4 {
            value.0 += 1;
        }
    }
    let entities = &world;
    let (t, s, a) = (entities.lookup::<&T>(), entities.lookup::<&S>(), entities.lookup::<&A>());
    let items = entities.lookup::<&Buffer<NotedItem>>();
    let which = |did_change: &dyn Fn(Entity) -> bool| {
        let numbers = (0..all.len()).filter(|&at| did_change(all[at]));
        numbers.collect::<Vec<_>>()
    };
    assert_eq!(which(&|entity| t.did_change(entity, seen)), [3, 4]);
    assert_eq!(which(&|entity| s.did_change(entity, seen)), [5]);
    assert_eq!(which(&|entity| items.did_change(entity, seen)), [0]);
    assert_eq!(which(&|entity| a.did_change(entity, seen)), [2, 3], "whole chunks");
    assert!(!t.did_change(all[3], entities.version()) && !t.did_change(Entity::NULL, seen));
}

#[test]
fn a_tag_can_be_looked_up() {
    let mut world = world();
    let (tagged, bare) = (world.spawn(Tag), world.spawn(()));
    let tags = world.lookup::<&Tag>();
    assert_eq!((tags.get(tagged), tags.get(bare)), (Some(&Tag), None));
    assert!(tags.get_many(&[tagged, bare]).eq([Some(&Tag), None]));
}
