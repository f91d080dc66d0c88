//! The jobs that each access waits for.

use std::sync::Arc;
use std::sync::Mutex;

use ancho_entities::{
    Buffer, Changed, ComponentType, Entity, IgnoreEnabled, Lookup, Query, QueryDescriptor, With,
    World,
};

use crate::jobs::common::*;

/// Creates a world with one entity of many components.
fn small() -> (Checked, Entity) {
    let mut world = world_with(3);
    let items: Buffer<Item> = [Item(1), Item(2)].into_iter().collect();
    let entity = world.spawn((A(1), B(2), X(3), Y, Tag, T(4), items));
    (world, entity)
}

#[test]
fn readers_run_together() {
    let (world, _) = small();
    let (one, two) = (Gate::default(), Gate::default());
    let first = stand_at!(one, world.query::<&A>().job());
    let second = stand_at!(two, world.query::<(&A, &B)>().job().named("Second"));
    one.await_job(&world);
    two.await_job(&world);
    assert!(one.is_occupied() && two.is_occupied());
    one.open();
    two.open();
    world.jobs().complete_all(&[first, second]);
}

#[test]
fn a_writer_runs_after_readers() {
    let (mut world, entity) = small();
    let (one, two) = (Gate::default(), Gate::default());
    let _ = stand_at!(one, world.query::<&A>().job());
    let _ = stand_at!(two, world.query::<(&A, &B)>().job());
    let were_left = (one.was_left_asker(), two.was_left_asker());
    let (seen, see) = flag();
    let write = world.query_mut::<&mut A>().schedule(move |a| {
        see(were_left.0() && were_left.1());
        a.0 = 9;
    });
    one.await_job(&world);
    two.await_job(&world);
    one.open();
    eventually(|| !one.is_occupied());
    a_while();
    assert!(seen.lock().unwrap().is_none(), "one of the readers is there still");
    two.open();
    world.jobs().complete(write);
    assert_eq!(*seen.lock().unwrap(), Some(true));
    assert_eq!(world.get::<A>(entity), Ok(&A(9)));
}

#[test]
fn a_reader_runs_after_a_writer() {
    let (mut world, _) = small();
    let gate = Gate::default();
    let stand = gate.stand();
    let _ = world.query_mut::<&mut A>().schedule(move |a| {
        stand();
        a.0 = 9;
    });
    let (seen, see) = flag();
    let read = world.query::<&A>().schedule(move |a| see(a.0 == 9));
    gate.await_job(&world);
    a_while();
    assert!(gate.is_occupied() && seen.lock().unwrap().is_none());
    gate.open();
    world.jobs().complete(read);
    assert_eq!(*seen.lock().unwrap(), Some(true));
}

#[test]
fn writers_run_in_the_order_of_scheduling() {
    let (mut world, entity) = small();
    let gate = Gate::default();
    let stand = gate.stand();
    let _ = world.query_mut::<&mut A>().schedule(move |a| {
        stand();
        a.0 += 1;
    });
    let _ = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 *= 10);
    let _ = world.query_mut::<(&mut A, &B)>().schedule(|(a, b)| a.0 += b.0 as u32);
    let last = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 *= 10);
    gate.await_job(&world);
    a_while();
    assert!(gate.is_occupied() && !world.jobs().is_completed(last));
    gate.open();
    world.jobs().complete(last);
    assert_eq!(world.get::<A>(entity), Ok(&A(220)));
}

#[test]
fn jobs_on_other_types_go_on() {
    let (mut world, entity) = small();
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query_mut::<&mut A>().job());
    gate.await_job(&world);
    let other = world.query_mut::<(&mut B, &T)>().schedule(|(b, t)| b.0 += u64::from(t.0));
    gate.beside("complete", || world.jobs().complete(other));
    assert_eq!(gate.beside("get", || world.get::<B>(entity).copied()), Ok(B(6)));
    // The job uses the written type only in a filter: access is tracked by type.
    let changed = world.query_filtered_mut::<&mut T, With<A>>().schedule(|t| t.0 = 0);
    gate.beside("With", || world.jobs().complete(changed));
}

#[test]
fn a_question_for_changes_is_a_read() {
    let (mut world, _) = small();
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query_mut::<&mut A>().job());
    gate.await_job(&world);
    let since = world.version();
    let was_left = gate.was_left_asker();
    let (seen, see) = flag();
    let mut query = world.query_filtered::<&B, Changed<A>>().since(since);
    let job = query.schedule(move |_| see(was_left()));
    world.jobs().flush();
    a_while();
    assert!(gate.is_occupied() && seen.lock().unwrap().is_none());
    gate.open();
    world.jobs().complete(job);
    // The result depends on the version, which this test does not check.
    assert_ne!(*seen.lock().unwrap(), Some(false));
}

type Read = (&'static str, fn(&World, Entity) -> u32);

/// Every operation that reads `A` of the only entity.
const READS: [Read; 15] = [
    ("get", |world, entity| world.get::<A>(entity).unwrap().0),
    ("iter", |world, _| world.query::<&A>().iter().map(|a| a.0).sum()),
    ("iter with others", |world, _| {
        world.query::<(Entity, &A, &B)>().iter().map(|(_, a, _)| a.0).sum()
    }),
    ("iter of what may be there", |world, _| {
        world.query::<(&B, Option<&A>)>().iter().map(|(_, a)| a.unwrap().0).sum()
    }),
    ("for_each", |world, _| {
        let mut sum = 0;
        world.query::<&A>().for_each(|a| sum += a.0);
        sum
    }),
    ("for_each_chunk", |world, _| {
        let mut sum = 0;
        world.query::<&A>().for_each_chunk(|all| sum += all[0].0);
        sum
    }),
    ("for_each_parallel", |world, _| {
        let sum = Mutex::new(0);
        world.query::<&A>().for_each_parallel(|a| *sum.lock().unwrap() += a.0);
        sum.into_inner().unwrap()
    }),
    ("run", |world, _| {
        let mut sum = 0;
        world.query::<&A>().job().run(|a| sum += a.0);
        sum
    }),
    ("single", |world, _| world.query::<&A>().single().unwrap().0),
    ("query get", |world, entity| world.query::<&A>().get(entity).unwrap().0),
    ("kept query", |world, _| {
        QueryDescriptor::of::<&A, ()>()
            .query(world)
            .to_components::<A>()
            .unwrap()
            .iter()
            .map(|a| a.0)
            .sum()
    }),
    ("to_components", |world, _| world.query::<&A>().to_components::<A>().unwrap()[0].0),
    ("lookup", |world, entity| world.lookup::<&A>().get(entity).unwrap().0),
    ("get_many", |world, entity| {
        let lookup = world.lookup::<&A>();
        lookup.get_many(&[entity]).map(|a| a.unwrap().0).sum()
    }),
    ("get_bytes", |world, entity| {
        let bytes = world.get_bytes(entity, ComponentType::of::<A>()).unwrap();
        u32::from_ne_bytes(bytes.try_into().unwrap())
    }),
];

/// Every read of `A` through chunks. A chunk gives access to all its components, so these wait for all jobs.
const READS_OF_CHUNKS: [Read; 3] = [
    ("chunks", |world, _| world.chunks().map(|chunk| chunk.slice::<A>().unwrap()[0].0).sum()),
    ("dynamic", |world, _| {
        let query = QueryDescriptor::new().all([ComponentType::of::<A>()]);
        query.chunks(world).map(|found| found.chunk().slice::<A>().unwrap()[0].0).sum()
    }),
    ("storage_info", |world, entity| {
        let info = world.storage_info().get(entity).unwrap();
        info.chunk().slice::<A>().unwrap()[info.row()].0
    }),
];

#[test]
fn reading_does_not_wait_for_readers() {
    let (world, entity) = small();
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query::<(&A, &X)>().job());
    gate.await_job(&world);
    for (name, read) in READS {
        assert_eq!(gate.beside(name, || read(&world, entity)), 1, "{name}");
    }
}

#[test]
fn reading_does_not_wait_for_writers_of_other_data() {
    let (mut world, entity) = small();
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query_mut::<(&mut B, &mut T, &A)>().job());
    gate.await_job(&world);
    for (name, read) in READS {
        // These read `B`, too.
        if name != "iter with others" && name != "iter of what may be there" {
            assert_eq!(gate.beside(name, || read(&world, entity)), 1, "{name}");
        }
    }
}

#[test]
fn reading_waits_for_a_writer() {
    for (name, read) in READS.into_iter().chain(READS_OF_CHUNKS) {
        let (mut world, entity) = small();
        let gate = Gate::default();
        let stand = gate.stand();
        let _ = world.query_mut::<&mut A>().schedule(move |a| {
            stand();
            a.0 = 9;
        });
        gate.await_job(&world);
        assert_eq!(gate.after(name, || read(&world, entity)), 9, "{name}");
    }
}

#[test]
fn buffers_are_waited_for() {
    let (mut world, entity) = small();
    let gate = Gate::default();
    let stand = gate.stand();
    let _ = world.query_mut::<&mut Buffer<Item>>().schedule(move |mut items| {
        stand();
        (0..100).for_each(|at| items.push(Item(at)));
    });
    gate.await_job(&world);
    assert_eq!(gate.beside("get", || world.get::<A>(entity).copied()), Ok(A(1)));
    assert_eq!(gate.after("buffer", || world.buffer::<Item>(entity).unwrap().len()), 102);

    let gate = Gate::default();
    let _ = stand_at!(gate, world.query::<&Buffer<Item>>().job());
    gate.await_job(&world);
    gate.beside("buffer", || assert_eq!(world.buffer::<Item>(entity).unwrap().len(), 102));
    gate.after("buffer_mut", || world.buffer_mut::<Item>(entity).unwrap().clear());
}

type Write = (&'static str, fn(&mut World, Entity));

/// Every operation that sets `A` of the only entity to 7, in place.
const WRITES: [Write; 13] = [
    ("get_mut", |world, entity| world.get_mut::<A>(entity).unwrap().0 = 7),
    ("set", |world, entity| world.set(entity, A(7)).unwrap()),
    ("add replaces", |world, entity| _ = world.add(entity, A(7)).unwrap()),
    ("for_each", |world, _| world.query_mut::<&mut A>().for_each(|a| a.0 = 7)),
    ("for_each with others", |world, _| {
        world.query_mut::<(&mut A, &B)>().for_each(|(a, _)| a.0 = 7);
    }),
    ("for_each_parallel", |world, _| world.query_mut::<&mut A>().for_each_parallel(|a| a.0 = 7)),
    ("for_each_chunk", |world, _| world.query_mut::<&mut A>().for_each_chunk(|all| all[0].0 = 7)),
    ("run", |world, _| world.query_mut::<&mut A>().job().run(|a| a.0 = 7)),
    ("single", |world, _| world.query_mut::<&mut A>().single_mut().unwrap().0 = 7),
    ("query get", |world, entity| world.query_mut::<&mut A>().get_mut(entity).unwrap().0 = 7),
    ("copy_from", |world, _| world.query_mut::<&mut A>().copy_from(&[A(7)]).unwrap()),
    ("split", |world, entity| {
        let (mut a, b) = world.split::<(Lookup<&mut A>, Query<&B>)>();
        assert_eq!(b.iter().count(), 1);
        a.get_mut(entity).unwrap().0 = 7;
    }),
    ("set_bytes", |world, entity| {
        let bytes = 7_u32.to_ne_bytes();
        world.set_bytes(entity, ComponentType::of::<A>(), &bytes).unwrap();
    }),
];

/// Every write of `A` through chunks.
const WRITES_OF_CHUNKS: [Write; 1] = [("slice_mut", |world, _| {
    world.for_each_chunk_mut(|mut chunk| chunk.slice_mut::<A>().unwrap()[0].0 = 7);
})];

#[test]
fn writing_waits_for_readers() {
    for (name, write) in WRITES.into_iter().chain(WRITES_OF_CHUNKS) {
        let (mut world, entity) = small();
        let gate = Gate::default();
        let (stand, seen) = (gate.stand(), Arc::new(Mutex::new(0)));
        let kept = Arc::clone(&seen);
        let _ = world.query::<&A>().schedule(move |a| {
            stand();
            *kept.lock().unwrap() = a.0;
        });
        gate.await_job(&world);
        gate.after(name, || write(&mut world, entity));
        assert_eq!(*seen.lock().unwrap(), 1, "{name}");
        assert_eq!(world.get::<A>(entity), Ok(&A(7)), "{name}");
    }
}

#[test]
fn writing_waits_for_writers() {
    for (name, write) in WRITES.into_iter().chain(WRITES_OF_CHUNKS) {
        let (mut world, entity) = small();
        let gate = Gate::default();
        let stand = gate.stand();
        let _ = world.query_mut::<&mut A>().schedule(move |a| {
            stand();
            a.0 = 9;
        });
        gate.await_job(&world);
        gate.after(name, || write(&mut world, entity));
        assert_eq!(world.get::<A>(entity), Ok(&A(7)), "{name}");
    }
}

#[test]
fn writing_does_not_wait_for_jobs_on_other_data() {
    let (mut world, entity) = small();
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query_mut::<(&mut T, &X)>().job());
    gate.await_job(&world);
    for (name, write) in WRITES {
        gate.beside(name, || write(&mut world, entity));
        assert_eq!(gate.beside(name, || world.get::<A>(entity).copied()), Ok(A(7)), "{name}");
    }
}

type Question = (&'static str, fn(&World, Entity) -> bool);

/// Calls that read neither values nor enabled state.
const QUESTIONS: [Question; 12] = [
    ("count", |world, _| world.query::<&A>().count() == 1),
    ("count of both", |world, _| world.query::<(&A, &B)>().count() == 1),
    ("is_empty", |world, _| !world.query::<&A>().is_empty()),
    ("to_entities", |world, entity| world.query::<&A>().to_entities() == [entity]),
    ("matches", |world, entity| world.query::<&A>().matches(entity)),
    ("count_unfiltered", |world, _| world.query::<(&A, &X)>().count_unfiltered() == 1),
    ("ignore_enabled", |world, _| world.query_filtered::<(&A, &X), IgnoreEnabled>().count() == 1),
    ("iter of entities", |world, entity| {
        world.query_filtered::<Entity, With<A>>().iter().eq([entity])
    }),
    ("has", |world, entity| world.has::<A>(entity)),
    ("exists", |world, entity| world.exists(entity)),
    ("entity_count", |world, _| world.entity_count() == 1),
    ("all_entities", |world, entity| world.all_entities() == [entity]),
];

#[test]
fn listing_entities_does_not_wait_for_writers_of_values() {
    let (mut world, entity) = small();
    let gate = Gate::default();
    let job = world.query_mut::<(&mut A, &mut B, &mut T, &mut Buffer<Item>)>().job();
    let _ = stand_at!(gate, job);
    gate.await_job(&world);
    for (name, ask) in QUESTIONS {
        assert!(gate.beside(name, || ask(&world, entity)), "{name}");
    }
    gate.beside("count of X", || assert_eq!(world.query::<(&A, &X)>().count(), 1));
    gate.beside("is_component_enabled", || {
        assert_eq!(world.is_component_enabled::<X>(entity), Ok(true));
    });
}

#[test]
fn change_filters_are_evaluated_after_writers() {
    let (mut world, _) = small();
    let since = world.version();
    world.advance_version();
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query_mut::<&mut A>().job());
    gate.await_job(&world);
    let of_b = world.query_filtered::<(), Changed<B>>().since(since);
    assert_eq!(gate.beside("Changed<B>", || of_b.count()), 0);
    let of_a = world.query_filtered::<(), Changed<A>>().since(since);
    assert_eq!(gate.after("Changed<A>", || of_a.count()), 1);
}

#[test]
fn plain_tags_need_no_fence() {
    let (mut world, entity) = small();
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query_mut::<&mut Tag>().job());
    gate.await_job(&world);
    gate.beside("iter", || assert_eq!(world.query::<(&Tag, &A)>().iter().count(), 1));
    gate.beside("query get", || assert!(world.query::<&Tag>().get(entity).is_some()));
    let job = world.query_mut::<(&Tag, &mut A)>().schedule(|(_, a)| a.0 = 9);
    gate.beside("job", || world.jobs().complete(job));
    let job = world.query_filtered_mut::<&mut A, With<Tag>>().schedule(|a| a.0 += 1);
    gate.beside("filtered job", || world.jobs().complete(job));
    gate.beside("value", || assert_eq!(world.get::<A>(entity), Ok(&A(10))));
}

#[test]
fn other_worlds_do_not_wait() {
    let pool = pool(3);
    let settings = ancho_entities::WorldSettings::new().job_pool(&pool);
    let mut one = Checked(World::with_settings("One", settings.clone()));
    let mut two = Checked(World::with_settings("Two", settings));
    one.spawn((A(1), X(1)));
    let entity = two.spawn((A(1), X(1)));
    let gate = Gate::default();
    let (first, lookup) =
        one.split::<(Query<(&mut A, ancho_entities::EnabledMut<X>)>, Lookup<&X>)>();
    let stand = gate.stand();
    let _ = first.job().with(lookup.into_job()).schedule(move |_, _| stand());
    gate.await_job(&one);
    gate.beside("another world", || {
        assert_eq!(two.get::<A>(entity), Ok(&A(1)));
        two.get_mut::<A>(entity).unwrap().0 = 2;
        two.spawn((A(3), X(4)));
        let job = two.query_mut::<&mut A>().schedule(|a| a.0 += 1);
        two.jobs().complete(job);
        assert_eq!(two.query::<(&A, &X)>().count(), 2);
        two.despawn(entity).unwrap();
        drop(two);
    });
}

#[test]
fn explicit_dependencies_add_to_automatic_ones() {
    for by in ["depends_on", "after"] {
        let (mut world, _) = small();
        let (one, two) = (Gate::default(), Gate::default());
        // The dependency on `B` is implicit, the one on `A` explicit.
        let _ = stand_at!(one, world.query_mut::<&mut B>().job());
        let said = [stand_at!(two, world.query_mut::<&mut A>().job())];
        let were_left = (one.was_left_asker(), two.was_left_asker());
        let (seen, see) = flag();
        let job = world.query::<&B>().job();
        let job = if by == "after" { job.after(&said) } else { job.depends_on(&said) };
        let job = job.schedule(move |_| see(were_left.0() && were_left.1()));
        one.await_job(&world);
        two.await_job(&world);
        let [first, last] = if by == "after" { [&one, &two] } else { [&two, &one] };
        first.open();
        eventually(|| !first.is_occupied());
        a_while();
        assert!(last.is_occupied() && seen.lock().unwrap().is_none(), "{by}");
        last.open();
        world.jobs().complete(job);
        assert_eq!(*seen.lock().unwrap(), Some(true), "{by}");
    }
}

#[test]
fn handles_are_kept_and_combined() {
    let (mut world, entity) = small();
    let mut handles = Vec::new();
    for _ in 0..10 {
        handles.push(world.query_mut::<&mut A>().schedule(|a| a.0 += 1));
        handles.push(world.query_mut::<&mut B>().schedule_parallel(|b| b.0 += 1));
    }
    let jobs = world.jobs();
    let all = jobs.combine(&handles).unwrap();
    let (seen, see) = flag();
    let then = jobs.schedule(&[all], (), move |()| see(true)).unwrap();
    jobs.complete(then);
    assert!(handles.iter().all(|&handle| jobs.is_completed(handle)));
    assert_eq!(*seen.lock().unwrap(), Some(true));
    // Completing again works, even after the world has changed.
    jobs.complete(all);
    world.despawn(entity).unwrap();
    handles.iter().for_each(|&handle| world.jobs().complete(handle));
    assert_eq!(world.jobs().uncompleted(), 0);
}

#[test]
fn a_completed_job_conflicts_with_no_other() {
    // The reader of `A` waits for its writer. The reader of `B` was scheduled later, by the same code, and does not
    // wait.
    let (mut world, _) = small();
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query_mut::<&mut A>().job());
    let _ = world.query_mut::<(&A, &mut T)>().schedule(|(a, t)| t.0 = a.0);
    let other = world.query::<&B>().schedule(|_| {});
    gate.await_job(&world);
    gate.beside("complete", || world.jobs().complete(other));
    gate.after("get", || world.query::<&T>().single().unwrap().0);
}

/// Returns a flag, and a function for a job to set it once.
fn flag() -> (Arc<Mutex<Option<bool>>>, impl Fn(bool) + Send + Sync + 'static) {
    let seen = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&seen);
    (seen, move |value| *kept.lock().unwrap() = Some(value))
}
