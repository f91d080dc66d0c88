//! Zero of everything: components, sets, counts, slices, names and worlds without bytes.

use std::cell::Cell;

use ancho_entities::{Component, ComponentType, Entity, EntityTracker, RuntimeType, World};

use crate::common::{A, Tag, both};

thread_local! {
    static ALIVE: Cell<i64> = const { Cell::new(0) };
}

/// A zero-sized component with a destructor.
#[derive(Component)]
struct Counted;

impl Counted {
    fn new() -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self
    }
}

impl Default for Counted {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

/// A zero-sized component with an alignment.
#[derive(Component, Clone, Copy, Default)]
#[repr(align(128))]
struct Aligned;

fn alive() -> usize {
    usize::try_from(ALIVE.get()).expect("dropped twice")
}

#[test]
fn values_without_bytes_are_dropped_once() {
    for mut world in both() {
        let archetype = world.archetype::<(Counted, Aligned)>();
        let one = world.spawn(Counted::new());
        world.spawn_many((Counted::new(), A(1)), 3000);
        world.spawn_batch((0..10).map(|_| (Counted::new(), Tag)));
        world.create_many(archetype, 10).unwrap();
        let columns: Vec<_> = (0..10).map(|_| Counted::new()).collect();
        world.spawn_columns((columns,)).unwrap();
        assert_eq!((alive(), world.entity_count()), (3031, 3031));
        world.set(one, Counted::new()).unwrap();
        world.remove::<Counted>(one).unwrap();
        assert_eq!(alive(), 3030);
        world.add(one, Counted::new()).unwrap();
        drop(world.take::<Counted>(one).unwrap());
        world.set_archetype(one, archetype).unwrap();
        assert_eq!(alive(), 3031);
        let mut fork = world.fork();
        fork.despawn(one).unwrap();
        fork.spawn((Counted::new(), A(1)));
        let duplicate = world.duplicate();
        let all = world.all_entities();
        world.batch(&all[5..100]).despawn().unwrap();
        for world in [&world, &fork, &duplicate] {
            world.check_invariants().unwrap();
        }
        world.despawn_all().unwrap();
        drop((world, fork, duplicate));
        assert_eq!(alive(), 0);
    }
}

#[test]
fn values_without_bytes_are_at_aligned_addresses() {
    let mut world = World::new("Simulation");
    let entity = world.spawn((A(1), Aligned));
    let aligned = world.get::<Aligned>(entity).unwrap();
    assert_eq!(std::ptr::from_ref(aligned).addr() % 128, 0);
    let slice = world.chunks().next().unwrap().slice::<Aligned>().unwrap();
    assert_eq!((slice.len(), slice.as_ptr().addr() % 128), (1, 0));
    world.check_invariants().unwrap();
}

#[test]
fn runtime_types_without_bytes_are_tags() {
    for mut world in both() {
        let none = ComponentType::register(RuntimeType::new("game::none", 0, 1)).unwrap();
        assert!(none.is_tag());
        let entity = world.spawn(A(1));
        assert_eq!(world.add_bytes(entity, none, &[]), Ok(true));
        assert_eq!(world.get_bytes(entity, none), Ok(&[][..]));
        assert_eq!(world.set_bytes(entity, none, &[]), Ok(()));
        assert!(world.set_bytes(entity, none, &[1]).is_err());
        let bytes = world.chunks().next().unwrap().bytes(none);
        assert_eq!(bytes, Some(&[][..]));
        assert_eq!(world.remove_types(entity, &[none]), Ok(true));
        world.check_invariants().unwrap();
    }
}

#[test]
fn empty_sets_slices_and_counts_do_nothing() {
    for mut world in both() {
        let hash = world.state_hash();
        world.spawn_many((), 0);
        world.spawn_many((A(1), Tag), 0);
        world.spawn_batch(Vec::<()>::new());
        world.spawn_columns((Vec::<A>::new(), Vec::<Tag>::new())).unwrap();
        world.spawn_columns(([Tag; 0],)).unwrap();
        assert_eq!(world.batch(&[]).despawn(), Ok(0));
        assert_eq!(world.despawn_all(), Ok(0));
        world.for_each_chunk_mut(|_| unreachable!());
        world.remap_references(|_| unreachable!()).unwrap();
        let changes = world.entity_changes(&mut EntityTracker::new());
        assert!(changes.created.is_empty() && changes.destroyed.is_empty());
        let (fork, duplicate) = (world.fork(), world.duplicate());
        for world in [&world, &fork, &duplicate] {
            assert_eq!((world.state_hash(), world.entity_count()), (hash, 0));
            assert_eq!(world.chunks().count(), 0);
            assert_eq!(world.all_entities(), [] as [Entity; 0]);
            world.check_invariants().unwrap();
        }
    }
}

#[test]
fn entities_without_components_are_entities() {
    for mut world in both() {
        let all: Vec<_> = world.spawn_many((), 5000).collect();
        assert_eq!(world.spawn_batch([(), ()]).len(), 2);
        let empty = world.archetype::<()>();
        assert_eq!(world.archetype_of(&[]), Ok(empty));
        world.create(empty).unwrap();
        assert_eq!(world.entity_count(), 5003);
        assert!(world.has::<()>(all[9]));
        world.set(all[9], ()).unwrap();
        world.set_archetype(all[9], empty).unwrap();
        world.swap_components(all[9], all[4000]).unwrap();
        world.set_name(all[9], "nothing").unwrap();
        world.batch(&all[1000..4000]).despawn().unwrap();
        assert_eq!(world.entity_name(all[9]), Some("nothing"));
        world.check_invariants().unwrap();
    }
}
