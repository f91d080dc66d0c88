//! Changes tracked per entity.

use ancho_entities::{
    Buffer, BufferElement, Changed, Component, ComponentType, EnabledMut, Entity, Managed,
    ManagedComponent, Present, QueryFilter, Shared, TrackedMut, Version, World, WorldSettings,
};
use ancho_jobs::JobPool;

use crate::common::*;

#[derive(BufferElement, Clone, Copy)]
#[buffer(name = "queries::TrackedItem", track_changes)]
struct TrackedItem(u32);

#[derive(ManagedComponent, Clone)]
#[managed(name = "queries::TrackedScript", track_changes)]
struct TrackedScript(u32);

#[derive(Component, Clone, Copy)]
#[component(name = "queries::TrackedTarget", track_changes)]
struct TrackedTarget(Entity);

fn changed<F: QueryFilter>(world: &World, since: Version) -> Vec<Entity> {
    world.query_filtered::<(), F>().since(since).to_entities()
}

/// Advances the version. Returns the previous one.
fn advance(world: &mut World) -> Version {
    let seen = world.version();
    world.advance_version();
    seen
}

#[test]
fn only_written_entities_match() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_batch((0..12).map(|at| (T(at), A(0)))).collect();
    assert!(
        ComponentType::of::<T>().tracks_changes() && !ComponentType::of::<A>().tracks_changes()
    );
    let seen = advance(&mut world);
    assert!(changed::<Changed<T>>(&world, seen).is_empty());
    world.get_mut::<T>(all[5]).unwrap().0 = 50;
    assert_eq!(changed::<Changed<T>>(&world, seen), [all[5]]);
    let later = advance(&mut world);
    world.set(all[6], T(60)).unwrap();
    assert_eq!(changed::<Changed<T>>(&world, seen), [all[5], all[6]]);
    assert_eq!(changed::<Changed<T>>(&world, later), [all[6]]);
    assert_eq!(changed::<Changed<T>>(&world, Version::NEVER), all);
    // An untracked component changes for the whole chunk.
    world.get_mut::<A>(all[0]).unwrap().0 = 1;
    assert_eq!(changed::<Changed<(T, A)>>(&world, later), [all[0], all[1], all[2], all[3], all[6]]);
    assert_eq!(changed::<(Changed<T>, Changed<A>)>(&world, seen), []);
    world.get_mut::<A>(all[4]).unwrap().0 = 1;
    assert_eq!(changed::<(Changed<T>, Changed<A>)>(&world, seen), [all[5], all[6]]);
}

#[test]
fn archetypes_without_the_tracked_component_are_handled() {
    let mut world = world();
    let tracked: Vec<_> = world.spawn_many((T(0), A(0)), 10).collect();
    let seen = advance(&mut world);
    world.get_mut::<T>(tracked[3]).unwrap().0 = 1;
    let others: Vec<_> = world.spawn_many(A(0), 5).collect();
    let found = changed::<Changed<(T, A)>>(&world, seen);
    assert_eq!(found[0], tracked[3]);
    assert_eq!(found[1..], others);
}

#[test]
fn rows_that_a_loop_yields_count_as_changed() {
    let mut world = chunks_of(100);
    let all: Vec<_> = world.spawn_batch((0..250).map(T)).collect();
    let mut seen = advance(&mut world);
    let mut next = |world: &mut World| {
        let found = changed::<Changed<T>>(world, seen);
        seen = advance(world);
        found
    };
    world.query_mut::<&mut T>().for_each(|_| ());
    assert_eq!(next(&mut world), all);
    assert_eq!(world.query_mut::<&mut T>().into_iter().nth(120), Some(&mut T(120)));
    assert_eq!(next(&mut world), all[..121], "also those that were passed over");
    assert!(world.query_mut::<&mut T>().get_mut(all[7]).is_some());
    assert_eq!(next(&mut world), [all[7]]);
    for mut t in world.query_mut::<TrackedMut<T>>() {
        if t.0 % 100 == 99 {
            t.0 += 1;
        }
    }
    assert_eq!(next(&mut world), [all[99], all[199]]);
    world.query_mut::<Option<TrackedMut<T>>>().for_each(|t| assert!(t.unwrap().0 < 1000));
    world.query_mut::<&T>().for_each(|_| ());
    assert!(world.query::<&T>().iter().all(|t| t.0 < 1000));
    assert!(next(&mut world).is_empty(), "reading is no writing");
    world.query_mut::<&mut T>().copy_from(&vec![T(3); 250]).unwrap();
    assert_eq!(next(&mut world), all);
    let mut first = true;
    world.for_each_chunk_mut(|mut chunk| {
        if std::mem::take(&mut first) {
            chunk.slice_mut::<T>().unwrap();
        }
    });
    assert_eq!(next(&mut world), all[..100]);
    assert_eq!(world.query_mut::<&mut T>().into_iter().size_hint().0, 0);
    assert!(next(&mut world).is_empty(), "nothing was given");
}

#[test]
fn disabled_rows_are_not_yielded() {
    let mut world = chunks_of(100);
    let all: Vec<_> = world.spawn_many((E(0), A(0)), 10).collect();
    for &entity in &all[..8] {
        world.set_component_enabled::<E>(entity, false).unwrap();
    }
    let seen = advance(&mut world);
    world.query_mut::<&mut E>().for_each(|e| e.0 = 1);
    assert_eq!(changed::<Changed<E>>(&world, seen), all[8..]);
    let seen = advance(&mut world);
    world.query_mut::<(&A, Option<&mut E>)>().for_each(|_| ());
    assert_eq!(changed::<Changed<E>>(&world, seen), all[8..]);
    let seen = advance(&mut world);
    world.set_component_enabled::<E>(all[2], true).unwrap();
    assert_eq!(changed::<Changed<E>>(&world, seen), [all[2]]);
    assert_eq!(world.query_filtered::<&E, Changed<E>>().since(seen).to_entities(), [all[2]]);
    let seen = advance(&mut world);
    // Slices mark all rows of the chunk.
    world.query_mut::<(&A, Option<&mut E>)>().for_each_chunk(|_| ());
    assert_eq!(changed::<Changed<E>>(&world, seen), all);
    let seen = advance(&mut world);
    let mut switches = world.query_mut::<EnabledMut<E>>().into_iter();
    switches.next().unwrap().set(true);
    drop(switches);
    assert_eq!(changed::<Changed<E>>(&world, seen), all[..1]);
}

#[test]
fn a_loop_finds_changes_from_before_it() {
    let mut world = chunks_of(100);
    let all: Vec<_> = world.spawn_many(T(0), 200).collect();
    let seen = advance(&mut world);
    for at in [3, 70, 71, 150] {
        world.get_mut::<T>(all[at]).unwrap().0 = 1;
    }
    advance(&mut world);
    let mut found = 0;
    for t in world.query_filtered_mut::<&mut T, Changed<T>>().since(seen) {
        t.0 += 1;
        found += 1;
    }
    assert_eq!(found, 4);
    let query = world.query_filtered::<&T, Changed<T>>().since(seen);
    assert_eq!(query.count(), 4);
    assert!(query.iter().all(|&t| t == T(2)));
}

#[test]
fn buffers_managed_components_and_references_are_tracked() {
    let mut world = chunks_of(10);
    let list = Buffer::from([TrackedItem(1)]);
    let all: Vec<_> = world.spawn_many((list, Managed::new(TrackedScript(0))), 3).collect();
    let seen = advance(&mut world);
    world.buffer_mut::<TrackedItem>(all[1]).unwrap().push(TrackedItem(2));
    world.managed_mut::<TrackedScript>(all[2]).unwrap().0 = 1;
    assert_eq!(changed::<Changed<Buffer<TrackedItem>>>(&world, seen), [all[1]]);
    assert_eq!(changed::<Changed<Managed<TrackedScript>>>(&world, seen), [all[2]]);
    let seen = advance(&mut world);
    let mut query =
        world.query_mut::<(&mut Buffer<TrackedItem>, &Managed<TrackedScript>)>().into_iter();
    assert_eq!(query.next().unwrap().1.0, 0);
    drop(query);
    world.query_mut::<&mut Managed<TrackedScript>>().get_mut(all[1]).unwrap().0 = 2;
    assert_eq!(changed::<Changed<Buffer<TrackedItem>>>(&world, seen), [all[0]]);
    assert_eq!(changed::<Changed<Managed<TrackedScript>>>(&world, seen), [all[1]]);
    let pair: Vec<_> = world.spawn_many(TrackedTarget(all[0]), 2).collect();
    let seen = advance(&mut world);
    world.remap_references(|entity| entity).unwrap();
    assert_eq!(changed::<Changed<TrackedTarget>>(&world, seen), pair);
}

#[test]
fn moving_is_no_change() {
    let mut world = chunks_of(10);
    let all: Vec<_> = world.spawn_batch((0..30).map(|at| (T(at), Shared::new(Team(0))))).collect();
    let seen = advance(&mut world);
    world.get_mut::<T>(all[0]).unwrap().0 = 1;
    let later = advance(&mut world);
    for &entity in &all[..15] {
        world.add(entity, A(0)).unwrap();
    }
    world.batch(&all[10..25]).set_shared(Team(1)).unwrap();
    world.despawn(all[29]).unwrap();
    assert_eq!(changed::<Changed<T>>(&world, seen), [all[0]]);
    assert!(changed::<Changed<T>>(&world, later).is_empty());
    // Added components and copies count as changed.
    world.remove::<T>(all[0]).unwrap();
    world.add(all[0], T(5)).unwrap();
    let copy = world.instantiate(all[1]).unwrap();
    let mut found = changed::<Changed<T>>(&world, later);
    found.sort();
    assert_eq!(found, [all[0], copy]);
}

#[test]
fn forks_track_changes_separately() {
    let mut world = chunks_of(10);
    let all: Vec<_> = world.spawn_many(T(0), 20).collect();
    let seen = advance(&mut world);
    world.get_mut::<T>(all[3]).unwrap().0 = 1;
    let state = world.state_hash();
    let mut fork = Checked(world.fork().unwrap());
    assert_eq!(changed::<Changed<T>>(&fork, seen), [all[3]]);
    fork.get_mut::<T>(all[4]).unwrap().0 = 0;
    world.get_mut::<T>(all[15]).unwrap().0 = 0;
    assert_eq!(changed::<Changed<T>>(&fork, seen), [all[3], all[4]]);
    assert_eq!(changed::<Changed<T>>(&world, seen), [all[3], all[15]]);
    assert_eq!([world.state_hash(), fork.state_hash()], [state; 2], "when is no part of what");
}

#[test]
fn a_panic_inside_a_chunk_marks_the_rows_before_it() {
    let mut world = chunks_of(10);
    let all: Vec<_> = world.spawn_batch((0..40).map(T)).collect();
    let seen = advance(&mut world);
    panic_message(|| {
        for t in world.query_mut::<&mut T>() {
            assert_ne!(t.0, 25, "enough");
        }
    });
    assert_eq!(changed::<Changed<T>>(&world, seen), all[..26]);
    let seen = advance(&mut world);
    panic_message(|| world.query_mut::<&mut T>().for_each(|t| assert_ne!(t.0, 25, "enough")));
    // Contiguous rows are marked before the first of them is yielded.
    assert_eq!(changed::<Changed<T>>(&world, seen), all[..30]);
    let seen = advance(&mut world);
    panic_message(|| {
        world.query_mut::<TrackedMut<T>>().for_each(|mut t| {
            if t.0 % 5 == 0 {
                t.0 += 100;
                assert_ne!(t.0, 125, "enough");
            }
        });
    });
    let written: Vec<_> = all.iter().copied().step_by(5).take(6).collect();
    assert_eq!(changed::<Changed<T>>(&world, seen), written);
}

#[test]
fn references_whose_remap_panics_count_as_changed() {
    let mut world = world();
    let target = world.spawn(());
    let all: Vec<_> = world.spawn_many(TrackedTarget(target), 3).collect();
    let seen = advance(&mut world);
    let mut left = 1;
    panic_message(|| {
        world.remap_references(|_| {
            left -= 1;
            assert_eq!(left, 0, "enough");
            all[0]
        })
    });
    assert_eq!(world.get::<TrackedTarget>(all[0]).unwrap().0, all[0]);
    assert_eq!(changed::<Changed<TrackedTarget>>(&world, seen), all);
}

#[test]
fn slices_include_disabled_values() {
    type Optional = (&'static A, Option<&'static mut E>);
    type Add = fn((&[A], Option<&mut [E]>));

    let add = |(_, all): (&[A], Option<&mut [E]>)| all.unwrap().iter_mut().for_each(|e| e.0 += 1);
    let ways: [fn(&mut World, Add); 3] = [
        |world, add| world.query_mut::<Optional>().for_each_chunk(add),
        |world, add| {
            let mut all = world.query_mut::<Optional>();
            all.for_each_picked_chunk_parallel(|_| true, add).unwrap();
        },
        |world, add| {
            let job = world.query_mut::<Optional>().job().schedule_chunks_parallel(add);
            world.jobs().complete(job);
        },
    ];
    for way in ways {
        let pool = JobPool::builder().workers(0).build().unwrap();
        let mut world = World::with_settings("test", WorldSettings::new().job_pool(&pool));
        let all: Vec<_> = world.spawn_many((A(0), E(0)), 2).collect();
        world.set_component_enabled::<E>(all[0], false).unwrap();
        let seen = advance(&mut world);
        way(&mut world, add);
        assert_eq!(changed::<(Changed<E>, Present<E>)>(&world, seen), all);
    }
}
