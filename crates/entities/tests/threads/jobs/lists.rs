//! Jobs that list query results, and jobs that write lists back.

use ancho_collections::{NativeArray, NativeList};
use ancho_entities::{
    Changed, EnabledMut, Entity, Or, OrderChanged, Query, QueryFilter, Shared, Version, With,
    Without, World,
};

use crate::jobs::common::*;

const WORKER_COUNTS: [usize; 2] = [0, 2];

/// Creates entities of several archetypes and teams, some of them disabled.
fn mixed(workers: usize) -> Checked {
    let mut world = world_of(workers, 10);
    world.spawn_batch((0..35).map(|at| (A(at), X(at), T(0))));
    world.spawn_batch((35..60).map(|at| (A(at), X(at), T(0), Tag)));
    world.spawn_batch((60..90).map(|at| (A(at), Shared::new(Team(at % 2)))));
    let some = world.query::<&X>().to_entities();
    for &entity in some.iter().step_by(4) {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    world
}

/// Advances the version. Returns the previous one.
fn advance(world: &mut World) -> Version {
    let seen = world.version();
    world.advance_version();
    seen
}

/// Checks that jobs list the same as an immediate query.
#[track_caller]
fn lists_the_same<F: QueryFilter>(world: &World, since: Version) {
    let query = world.query_filtered::<&A, F>().since(since);
    let (mut entities, mut values) = (NativeList::from([Entity::NULL]), NativeList::new());
    let of_entities = query.clone().job().schedule_to_entities(entities.write());
    let of_values = query.clone().job().schedule_to_components::<A>(values.write());
    world.jobs().complete_all(&[of_entities, of_values]);
    assert_eq!(entities.get().unwrap()[..], query.to_entities());
    assert_eq!(values.get().unwrap()[..], query.to_components::<A>().unwrap());
    assert!(!entities.get().unwrap().is_empty());
}

#[test]
fn a_job_lists_matches_in_the_same_order() {
    for workers in WORKER_COUNTS {
        let mut world = mixed(workers);
        let seen = advance(&mut world);
        let all = world.query::<&T>().to_entities();
        for &at in &[3, 17, 40] {
            world.get_mut::<T>(all[at]).unwrap().0 = 1;
        }
        world.get_mut::<A>(all[25]).unwrap().0 = 1;
        world.despawn(all[59]).unwrap();
        lists_the_same::<()>(&world, seen);
        lists_the_same::<With<X>>(&world, seen);
        lists_the_same::<(Without<X>, With<Tag>)>(&world, seen);
        lists_the_same::<Changed<A>>(&world, seen);
        lists_the_same::<Changed<T>>(&world, seen);
        lists_the_same::<Or<(Changed<T>, OrderChanged)>>(&world, seen);
        lists_the_same::<Or<((Changed<A>, With<X>), Changed<T>)>>(&world, seen);
        let team = world.query::<&A>().with_shared(Team(1));
        let mut found = NativeList::new();
        let list = team.clone().job().schedule_to_entities(found.write());
        world.jobs().complete(list);
        assert_eq!(found.get().unwrap()[..], team.to_entities());
    }
}

#[test]
fn matches_are_determined_when_the_job_runs() {
    for workers in WORKER_COUNTS {
        let mut world = mixed(workers);
        let (mut early, mut late) = (NativeList::new(), NativeList::new());
        let before = world.query::<&X>().to_entities();
        let _ = world.query::<&X>().job().schedule_to_entities(early.write());
        let mut switch = world.query_mut::<(&A, EnabledMut<X>)>();
        let _ = switch.schedule_parallel(|(a, mut on)| on.set(a.0 % 3 == 0));
        let list = world.query::<&X>().job().schedule_to_entities(late.write());
        // The length is not known yet.
        let said = late.get().unwrap_err().to_string();
        assert!(said.contains("to_entities"), "{said}");
        world.jobs().complete(list);
        assert_eq!(late.get().unwrap()[..], world.query::<&X>().to_entities());
        assert_eq!(late.get().unwrap().len(), 20);
        assert_eq!(early.get().unwrap()[..], before, "the other job has waited for it");
    }
}

#[test]
fn values_include_the_writes_of_jobs_before() {
    for workers in WORKER_COUNTS {
        let mut world = mixed(workers);
        let mut values = NativeList::new();
        let _ = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1000);
        let list = world.query::<&A>().job().named("List").schedule_to_components(values.write());
        let _ = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 = 0);
        world.jobs().complete(list);
        let mut values: Vec<_> = values.get().unwrap().iter().map(|a: &A| a.0).collect();
        values.sort_unstable();
        assert!(values.into_iter().eq(1000..1090));
    }
}

#[test]
fn listing_entities_does_not_wait_for_writers_of_values() {
    let mut world = mixed(2);
    let gate = Gate::default();
    let written = stand_at!(gate, world.query_mut::<&mut A>());
    gate.await_job(&world);
    let mut found = NativeList::new();
    gate.beside("listing", || {
        let list = world.query::<&A>().job().schedule_to_entities(found.write());
        world.jobs().complete(list);
    });
    gate.open();
    world.jobs().complete(written);
    assert_eq!(found.get().unwrap().len(), 90);
    // Structural changes wait for the list.
    let list = world.query::<&A>().job().schedule_to_entities(found.write());
    let first = world.query::<&A>().to_entities()[0];
    world.despawn(first).unwrap();
    world.jobs().complete(list);
    assert_eq!(found.get().unwrap().len(), 90);
}

#[test]
fn a_list_is_written_back() {
    for workers in WORKER_COUNTS {
        let mut world = mixed(workers);
        let fork = Checked(world.fork().unwrap());
        let hash = fork.state_hash();
        let seen = advance(&mut world);
        let mut values = NativeList::new();
        let query = world.query_filtered::<&A, With<X>>();
        let list = query.clone().job().schedule_to_components(values.write());
        let jobs = world.jobs();
        let raise = jobs.schedule(&[list], values.write(), |values| {
            values.iter_mut().for_each(|a: &mut A| a.0 += 500);
        });
        let raise = raise.unwrap();
        let query = world.query_filtered_mut::<(&T, &mut A), With<X>>();
        let before = [raise];
        let job = query.job().depends_on(&before);
        let back = job.schedule_copy_from(values.read_elements());
        // Reading values waits for the job, as for every job.
        let on = |world: &World| world.query_filtered::<&A, With<X>>().to_components::<A>();
        assert_eq!(on(&world).unwrap()[..], values.get().unwrap()[..]);
        assert!(on(&world).unwrap().iter().all(|a| a.0 >= 500));
        world.jobs().complete(back);
        assert_eq!(world.query::<&A>().iter().filter(|a| a.0 >= 500).count(), 45);
        let marked = world.query_filtered::<(), Changed<A>>().since(seen).count();
        assert_eq!(marked, 60, "chunks in which nothing is found are not marked");
        assert_eq!(world.query_filtered::<(), Changed<T>>().since(seen).count(), 0);
        assert_eq!(fork.state_hash(), hash, "what a fork has stays");
    }
}

#[test]
fn tracked_components_are_marked_per_row() {
    for workers in WORKER_COUNTS {
        let mut world = mixed(workers);
        let seen = advance(&mut world);
        let found = world.query_filtered::<&T, With<X>>().to_entities();
        let values = NativeArray::from(vec![T(5); found.len()]);
        let query = world.query_filtered_mut::<&mut T, With<X>>();
        let _ = query.job().schedule_copy_from(values.read());
        let changed = world.query_filtered::<(), Changed<T>>().since(seen);
        assert_eq!(changed.to_entities(), found);
        assert_eq!(world.query::<&T>().iter().filter(|t| t.0 == 5).count(), found.len());
    }
}

#[test]
fn a_list_of_another_length_is_refused_by_the_job() {
    let mut world = mixed(2);
    let seen = advance(&mut world);
    let values = NativeList::from([A(7), A(8)]);
    let job = world.query_mut::<&mut A>().job().schedule_copy_from(values.read_elements());
    let failed = world.jobs().try_complete(job).unwrap_err();
    let said = failed.to_string();
    let expected = "A0060: the query matches 90 entities, but 2 values of `game::A` were passed; pass as many as \
                    `count` returns, or the list of `to_components`";
    assert!(said.contains(expected), "{said}");
    assert_eq!(failed.job(), "copy_from");
    assert!(world.query_filtered::<(), Changed<A>>().since(seen).is_empty(), "nothing is written");
}

#[test]
fn components_outside_the_query_are_refused() {
    let mut world = mixed(0);
    let mut values = NativeList::new();
    let query = world.query_filtered::<&T, With<A>>();
    let refused = panic_message(|| query.clone().job().schedule_to_components::<A>(values.write()));
    assert_eq!(
        refused,
        "A0135: the query does not fetch `game::A`, and another query may access it at the same time; add \
         `&game::A` to the data of the query"
    );
    let optional = world.query::<Option<&A>>();
    let refused = panic_message(|| optional.job().schedule_to_components::<A>(values.write()));
    assert!(refused.starts_with("A0135: "));
    let read = world.query_mut::<&A>().job();
    let refused = panic_message(|| read.schedule_copy_from(values.read_elements()));
    assert!(refused.contains("`&mut game::A`"));
    // Nothing was scheduled, so the list is not borrowed.
    assert!(values.get().unwrap().is_empty());
    assert_eq!(world.jobs().uncompleted(), 0);
}

#[test]
fn a_list_in_use_is_refused_unless_the_job_waits_for_its_turn() {
    let world = mixed(2);
    let mut found = NativeList::new();
    let first = world.query::<&A>().job().schedule_to_entities(found.write());
    let other = world.query::<&T>().job();
    let refused = panic_message(|| other.schedule_to_entities(found.write()));
    assert!(refused.starts_with("A0001: job `to_entities` writes "), "{refused}");
    let second =
        world.query::<&T>().job().wait_for_containers().schedule_to_entities(found.write());
    world.jobs().complete_all(&[first, second]);
    assert_eq!(found.get().unwrap()[..], world.query::<&T>().to_entities());
}

#[test]
fn a_part_of_a_split_world_lists_while_others_are_in_use() {
    let mut world = mixed(2);
    let mut lists = (NativeList::new(), NativeList::new());
    let (mut writes, reads) = world.split::<(Query<&mut A>, Query<(&X, &T)>)>();
    let mut held: Vec<_> = writes.iter_mut().collect();
    let _ = reads.clone().job().schedule_to_entities(lists.0.write());
    let _ = reads.clone().job().schedule_to_components::<X>(lists.1.write());
    let mut list = NativeList::new();
    let refused = panic_message(|| reads.job().schedule_to_components::<A>(list.write()));
    assert!(refused.starts_with("A0135: "));
    held.iter_mut().for_each(|a| a.0 += 1);
    drop(held);
    let found = world.query::<&X>().to_entities();
    world.complete_jobs();
    assert_eq!(lists.0.get().unwrap()[..], found);
    assert_eq!(lists.1.get().unwrap()[..], world.query::<&X>().to_components::<X>().unwrap());
}
