//! Commands recorded by jobs: the same ids and values for any number of threads, and in any order of batches.
#![forbid(unsafe_code)]

use std::mem;
use std::sync::{Arc, Mutex};

use ancho_entities::{
    Buffer, ChunkInJob, ChunkJob, CommandError, CommandFault, CommandLog, Component, EnabledMut,
    Entity, EntityAt, EntityCommandBuffer, EntityJob, Managed, ManagedComponent, QueryDescriptor,
    Shared, SharedComponent, With, World, WorldSettings,
};
use ancho_jobs::{CellConcurrent, ExecutionMode, JobPool, ParallelFor, ParallelJobStruct};

use crate::commands::common::{A, Crew, Friend, Lamp, Link, Owned, Text};

#[derive(Component, Clone, Copy)]
struct Wide([u64; 16]);

#[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
struct Team(u32);

#[derive(ManagedComponent, Clone, Debug, PartialEq)]
struct Note(Entity);

const WORKERS: [usize; 4] = [0, 1, 2, 4];
const MODES: [ExecutionMode; 4] = [
    ExecutionMode::Parallel,
    ExecutionMode::Serial,
    ExecutionMode::Shuffle { seed: 1 },
    ExecutionMode::Shuffle { seed: 7 },
];

/// Creates a world with `count` entities in chunks of a hundred: some with text, some with a lamp, every seventh of
/// which is disabled.
fn world(workers: usize, mode: ExecutionMode, count: u32) -> World {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let settings = WorldSettings::new().job_pool(&pool).chunk_capacity_limit(100);
    let mut world = World::with_settings("Simulation", settings);
    world.jobs().set_mode(mode);
    for at in 0..count {
        let entity = match at % 3 {
            0 => world.spawn(A(at)),
            1 => world.spawn((A(at), Text(at.to_string()))),
            _ => world.spawn((A(at), Lamp)),
        };
        if at % 21 == 20 {
            world.set_component_enabled::<Lamp>(entity, false).unwrap();
        }
    }
    // Freed ids are out of order.
    let some: Vec<_> = world.iter_entities().step_by(11).collect();
    world.batch(&some).despawn().unwrap();
    world
}

/// Returns the observable state of a world: the state hash, and the entities in order.
fn told(world: &World) -> (u64, Vec<Entity>) {
    world.check_invariants().unwrap();
    (world.state_hash(), world.all_entities())
}

/// Records and plays with all numbers of workers in all modes, and compares.
#[track_caller]
fn same_everywhere(count: u32, record: impl Fn(&mut World, &mut EntityCommandBuffer)) {
    let mut first = None;
    for workers in WORKERS {
        for mode in MODES {
            let mut world = world(workers, mode, count);
            let mut buffer = EntityCommandBuffer::new();
            // Twice, since buffers are reused, and worlds are not empty.
            for _ in 0..2 {
                record(&mut world, &mut buffer);
                world.jobs().complete_everything();
                assert!(!buffer.is_empty());
                let trace = buffer.trace();
                world.play(&mut buffer).unwrap();
                buffer.clear().unwrap();
                let told = (told(&world), trace);
                let (_, expected) = first.get_or_insert_with(|| (told.clone(), Vec::new()));
                expected.push(told);
            }
        }
    }
    let (_, all) = first.unwrap();
    for pair in all.chunks(2) {
        assert_eq!(pair[0].1, all[0].1, "the first trace");
        assert_eq!(pair[0].0, all[0].0, "the first world");
        assert_eq!(pair[1].1, all[1].1, "the second trace");
        assert_eq!(pair[1].0, all[1].0, "the second world");
    }
}

#[test]
fn jobs_over_entities_record_the_same_everywhere() {
    same_everywhere(1500, |world, buffer| {
        let query = world.query::<(Entity, &A)>();
        let job = query.job().with(buffer.writer());
        let job = job.schedule_parallel(|(entity, a), commands| {
            let new = commands.spawn((A(a.0 + 1), Link(entity)));
            match a.0 % 6 {
                0 => commands.despawn(entity),
                1 => commands.add(entity, (Link(new), Text("new".into()))),
                2 => {
                    let copies = commands.instantiate_many(entity, 2);
                    commands.add_buffer(new, copies.iter().map(Friend));
                }
                3 => commands.add(new, Managed::new(Note(new))),
                4 => commands.add(entity, Shared::new(Team(a.0 % 4))),
                _ => commands.despawn(new),
            }
        });
        _ = job;
    });
}

#[test]
fn shared_values_with_placeholders_are_the_same_everywhere() {
    same_everywhere(300, |world, buffer| {
        // The placeholders of the last playback were resolved to live entities. The default is listed first.
        let crews: Vec<_> = world.shared_values::<Crew>().skip(1).collect();
        assert!(crews.iter().all(|crew| world.exists(crew.0)), "{crews:?}");
        let query = world.query::<(Entity, &A)>();
        let job = query.job().with(buffer.writer());
        let job = job.schedule_parallel(|(entity, a), commands| {
            let captain = commands.spawn(Link(entity));
            let crew = Shared::new(Crew(captain));
            match a.0 % 5 {
                0 => commands.add(entity, crew),
                1 => _ = commands.spawn_many((Link(captain), crew), 3),
                2 => {
                    let mate = commands.spawn((crew.clone(), Link(entity)));
                    commands.add(captain, Shared::new(Crew(mate)));
                    commands.set(mate, crew);
                }
                3 => {
                    let mates = [(); 2].map(|()| Shared::new(Crew(captain)));
                    commands.spawn_batch(mates.map(|mate| (mate, Link(entity))));
                }
                _ => commands.add(entity, Shared::new(Crew(entity))),
            }
        });
        _ = job;
    });
}

#[test]
fn a_single_job_over_entities_records_the_same_everywhere() {
    same_everywhere(300, |world, buffer| {
        let query = world.query_filtered::<(Entity, &A), With<Lamp>>();
        let job = query.job().with(buffer.writer()).schedule(|(entity, a), commands| {
            commands.set(entity, A(a.0 * 2));
            let new = commands.spawn(Link(entity));
            commands.instantiate(new);
        });
        _ = job;
    });
}

#[derive(ParallelJobStruct)]
struct Breed<'a> {
    commands: CellConcurrent<'a, CommandLog>,
    least: u32,
}

impl EntityJob for Breed<'_> {
    type Query = (Entity, &'static A);

    fn execute(job: &mut BreedBatch<'_>, (entity, a): (Entity, &A), at: EntityAt) {
        if a.0 >= *job.least {
            let child = job.commands.spawn((A(at.in_query as u32), Link(entity)));
            job.commands.add(entity, Link(child));
        } else {
            job.commands.despawn(entity);
        }
    }
}

#[test]
fn structs_over_entities_record_the_same_everywhere() {
    same_everywhere(1500, |world, buffer| {
        let breed = Breed { commands: buffer.writer(), least: 100 };
        _ = world.query::<(Entity, &A)>().job().schedule_job_parallel(breed);
    });
}

#[derive(ParallelJobStruct)]
struct Settle<'a> {
    commands: CellConcurrent<'a, CommandLog>,
}

impl ChunkJob for Settle<'_> {
    type Query = (Entity, &'static A);

    fn execute(job: &mut SettleBatch<'_>, mut chunk: ChunkInJob<'_, (Entity, &'static A)>) {
        let number = chunk.index() as u32;
        let camp = job.commands.spawn((A(number), Buffer::<Friend>::new()));
        chunk.for_each_run(|(entities, all)| {
            for (&entity, a) in entities.iter().zip(all) {
                if a.0 % 2 == 0 {
                    job.commands.append(camp, Friend(entity));
                } else {
                    job.commands.add(entity, Link(camp));
                }
            }
        });
    }
}

#[test]
fn structs_over_chunks_record_the_same_everywhere() {
    same_everywhere(1500, |world, buffer| {
        let settle = Settle { commands: buffer.writer() };
        _ = world.query::<(Entity, &A)>().job().schedule_chunk_job_parallel(settle);
    });
}

#[derive(ParallelJobStruct)]
struct ByIndex<'a> {
    commands: CellConcurrent<'a, CommandLog>,
}

impl ParallelFor for ByIndex<'_> {
    fn execute(job: ByIndexItem<'_>, index: usize) {
        let new = job.commands.spawn(A(index as u32));
        job.commands.add(new, Link(new));
    }
}

#[test]
fn ordinary_parallel_jobs_record_the_same_everywhere() {
    same_everywhere(50, |world, buffer| {
        let jobs = world.jobs();
        let first = jobs.schedule_for_each(&[], buffer.writer(), 1000, 16, |commands, index| {
            for at in 0..index % 3 {
                let new = commands.spawn((A(at as u32), Text(index.to_string())));
                commands.add(new, Link(new));
            }
        });
        let second = jobs.schedule_parallel(
            &[first.unwrap()],
            buffer.writer(),
            500,
            7,
            |mut commands, range| {
                commands.spawn_batch(range.map(|index| A(index as u32)));
            },
        );
        let all = ByIndex { commands: buffer.writer() };
        _ = jobs.schedule_parallel_for(&[second.unwrap()], all, 300, 10).unwrap();
    });
}

#[test]
fn keys_are_obeyed_the_same_everywhere() {
    same_everywhere(600, |world, buffer| {
        let query = world.query::<(Entity, &A)>();
        let job = query.job().with(buffer.writer());
        let job = job.schedule_parallel(|(entity, a), commands| {
            commands.set_sort_key(Some(1000 - a.0 % 10));
            commands.spawn(Link(entity));
            commands.set_sort_key(Some(a.0 % 5));
            commands.set(entity, A(a.0 + 1));
            commands.set_sort_key(None);
            commands.spawn(A(a.0));
        });
        _ = job;
    });
}

#[test]
fn jobs_and_the_main_thread_by_turns_record_the_same_everywhere() {
    same_everywhere(600, |world, buffer| {
        let first = world.commands(buffer).unwrap().spawn(A(7));
        let query = world.query::<Entity>();
        let job = query.job().with(buffer.writer()).schedule_parallel(move |entity, commands| {
            commands.add(entity, Link(first));
        });
        world.jobs().complete(job);
        let second = buffer.commands().unwrap().spawn(A(8));
        let query = world.query_filtered::<Entity, With<Text>>();
        let job = query.job().with(buffer.writer()).schedule_parallel(move |entity, commands| {
            commands.add(entity, Link(second));
            commands.spawn(Link(second));
        });
        world.jobs().complete(job);
        world.commands(buffer).unwrap().spawn_many(Link(second), 3);
    });
}

#[test]
fn jobs_that_enable_and_record_have_the_same_result_everywhere() {
    same_everywhere(600, |world, buffer| {
        let query = world.query_mut::<(Entity, &A, EnabledMut<Lamp>)>();
        let job = query.job().with(buffer.writer());
        let job = job.schedule_parallel(|(entity, a, mut on), commands| {
            on.set(a.0 % 4 != 0);
            commands.set_component_enabled::<Lamp>(entity, a.0 % 8 == 0);
            commands.spawn((Lamp, Link(entity)));
        });
        _ = job;
    });
}

#[test]
fn the_command_that_fails_is_the_same_everywhere() {
    let mut first = None;
    for workers in WORKERS {
        for mode in MODES {
            let mut world = world(workers, mode, 1000);
            let mut buffer = EntityCommandBuffer::new();
            let query = world.query::<(Entity, &A)>();
            let job = query.job().named("Fail").with(buffer.writer());
            let job = job.schedule_parallel(|(entity, a), commands| {
                commands.spawn(A(a.0));
                if a.0 % 100 == 50 {
                    commands.set(entity, Link(entity));
                }
            });
            world.jobs().complete(job);
            let CommandError::Failed(report) = world.play(&mut buffer).unwrap_err() else {
                panic!();
            };
            assert!(report.failures().iter().all(|failed| failed.job() == Some("Fail")));
            let said = (report.failures().to_vec(), told(&world));
            assert_eq!(*first.get_or_insert_with(|| said.clone()), said);
        }
    }
}

#[test]
fn placeholders_of_all_batches_are_resolved() {
    for workers in WORKERS {
        for mode in MODES {
            let mut world = world(workers, mode, 0);
            let mut buffer = EntityCommandBuffer::new();
            let all = Arc::new(Mutex::new(Vec::new()));
            let theirs = Arc::clone(&all);
            let jobs = world.jobs();
            let job =
                jobs.schedule_for_each(&[], buffer.writer(), 2000, 3, move |commands, index| {
                    let new = commands.spawn(A(index as u32));
                    theirs.lock().unwrap().push((index, new));
                });
            jobs.complete(job.unwrap());
            world.play(&mut buffer).unwrap();
            let all = all.lock().unwrap();
            assert_eq!(all.len(), 2000);
            for &(index, placeholder) in all.iter() {
                let entity = buffer.resolve(placeholder).unwrap();
                assert_eq!(world.get(entity), Ok(&A(index as u32)));
            }
            // Rows are in the order of the indices.
            assert!(world.query::<&A>().iter().map(|a| a.0).eq(0..2000));
        }
    }
}

#[test]
fn placeholders_of_one_batch_may_be_used_in_a_later_job() {
    for workers in WORKERS {
        let mut world = world(workers, ExecutionMode::Parallel, 0);
        let mut buffer = EntityCommandBuffer::new();
        let all = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&all);
        let jobs = world.jobs();
        let first = jobs.schedule_for_each(&[], buffer.writer(), 100, 3, move |commands, index| {
            let new = commands.spawn(A(index as u32));
            theirs.lock().unwrap().push((index as u32, new));
        });
        let theirs = Arc::clone(&all);
        let second = jobs.schedule_for_each(
            &[first.unwrap()],
            buffer.writer(),
            100,
            7,
            move |commands, at| {
                let (index, entity) = theirs.lock().unwrap()[at];
                commands.add(entity, Text(index.to_string()));
                commands.spawn(Link(entity));
            },
        );
        jobs.complete(second.unwrap());
        world.play(&mut buffer).unwrap();
        let count =
            world.query::<(&A, &Text)>().iter().filter(|(a, t)| t.0 == a.0.to_string()).count();
        assert_eq!(count, 100);
        let links = world.query::<&Link>();
        assert!(links.iter().all(|link| world.has::<Text>(link.0)));
    }
}

#[test]
fn values_that_jobs_have_recorded_are_dropped_with_the_buffer() {
    let count = Arc::new(());
    let pool = JobPool::builder().workers(2).build().unwrap();
    let world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
    let jobs = world.jobs();
    for is_cleared in [false, true] {
        let mut buffer = EntityCommandBuffer::new();
        let held = Arc::clone(&count);
        let job = jobs.schedule_for_each(&[], buffer.writer(), 1000, 10, move |commands, _| {
            commands.spawn(Owned(Arc::clone(&held)));
        });
        jobs.complete(job.unwrap());
        assert!(Arc::strong_count(&count) > 1000);
        if is_cleared {
            buffer.clear().unwrap();
        } else {
            drop(buffer);
        }
        // The job's own value may still be in its memory.
        assert!(Arc::strong_count(&count) < 4, "{}", Arc::strong_count(&count));
    }
}

#[test]
fn two_buffers_are_recorded_side_by_side_and_played_in_two_worlds() {
    let pool = JobPool::builder().workers(2).build().unwrap();
    let run = |seed: u32, pool: &JobPool| {
        let settings = WorldSettings::new().job_pool(pool);
        let mut world = World::with_settings("Simulation", settings);
        let (mut one, mut other) = (EntityCommandBuffer::new(), EntityCommandBuffer::new());
        for _ in 0..20 {
            let jobs = world.jobs();
            let left = jobs.schedule_for_each(&[], one.writer(), 200, 8, move |commands, index| {
                let new = commands.spawn(A(index as u32 ^ seed));
                commands.add(new, Link(new));
            });
            let right = jobs.schedule_for_each(&[], other.writer(), 100, 8, |commands, index| {
                commands.spawn(Text(index.to_string()));
            });
            _ = (left.unwrap(), right.unwrap());
            jobs.complete_everything();
            world.play(&mut other).unwrap();
            world.play(&mut one).unwrap();
            one.clear().unwrap();
            other.clear().unwrap();
        }
        told(&world)
    };
    // Two worlds on two threads take stamps from one counter.
    let alone = [run(1, &pool), run(2, &pool)];
    let together = std::thread::scope(|scope| {
        let (pool, run) = (&pool, &run);
        let second = scope.spawn(move || run(2, pool));
        [run(1, pool), second.join().unwrap()]
    });
    assert_eq!(alone, together);
}

#[test]
fn coalesced_commands_have_the_same_result_everywhere() {
    same_everywhere(5_001, |world, buffer| {
        let query = world.query::<(Entity, &A)>();
        let job = query.job().with(buffer.writer());
        let job = job.schedule_parallel(|(entity, a), commands| {
            let new = commands.spawn((A(a.0), Link(entity)));
            commands.add(entity, Link(new));
            commands.set(new, A(a.0 + 1));
            match a.0 % 5 {
                0 => commands.despawn(new),
                1 => commands.remove::<Link>(entity),
                2 => commands.add(new, Text(a.0.to_string())),
                3 => commands.despawn(entity),
                _ => commands.add(entity, Lamp),
            }
        });
        world.jobs().complete(job);
    });
}

#[test]
fn very_many_entities_are_created_on_all_threads_as_on_one() {
    #[derive(Component, Clone)]
    struct Large([u32; 64]);

    const MANY: u32 = 40_000;
    let alive = Arc::new(());
    let mut first = None;
    for workers in WORKERS {
        let mut world = world(workers, ExecutionMode::Parallel, 200);
        let mut buffer = EntityCommandBuffer::new();
        for round in 0..2 {
            let commands = buffer.commands().unwrap();
            let mut last = Entity::NULL;
            for at in 0..MANY {
                last = commands.spawn((Large([at + round; 64]), A(at), Owned(alive.clone())));
            }
            world.play(&mut buffer).unwrap();
            let last = buffer.resolve(last).unwrap();
            assert_eq!(world.get::<Large>(last).unwrap().0, [MANY - 1 + round; 64]);
            assert_eq!(world.get::<A>(last).unwrap().0, MANY - 1);
            buffer.clear().unwrap();
        }
        let many = 2 * MANY as usize;
        assert_eq!((world.query::<&Large>().count(), Arc::strong_count(&alive)), (many, many + 1));
        let told = told(&world);
        assert!(*first.get_or_insert_with(|| told.clone()) == told, "{workers} workers");
        drop(world);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

#[test]
fn a_buffer_is_played_by_the_job_that_a_world_is_lent_to() {
    /// Enough entities for all worker threads to move them.
    const MANY: u64 = 70_000;

    let record = || {
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        let first = commands.spawn(A(1));
        (0..MANY).for_each(|at| _ = commands.spawn(Wide([at; 16])));
        commands.batch(QueryDescriptor::of::<&A, With<Lamp>>()).add(Link(first));
        buffer
    };
    let mut expected = world(0, ExecutionMode::Parallel, 50);
    expected.play(&mut record()).unwrap();
    for workers in WORKERS {
        let mut transaction = world(workers, ExecutionMode::Parallel, 50).begin_transaction();
        let mut buffer = record();
        let job =
            transaction.schedule(&[], move |entities| _ = entities.play(&mut buffer).unwrap());
        transaction.jobs().complete(job.unwrap());
        let world = transaction.end().unwrap();
        assert_eq!(world.state_hash(), expected.state_hash(), "{workers} workers");
        assert!(world.query::<&Wide>().iter().map(|wide| wide.0[15]).eq(0..MANY));
        world.check_invariants().unwrap();
    }
}

/// Large enough for a thousand of them to be moved by all threads.
#[derive(Component, Clone, Copy)]
struct Large(#[field(opaque)] [u8; 8192]);

/// Plays commands with the ids of two worlds, some of which are equal. Returns the world, and the numbers of the refused
/// commands.
fn play_ids_of_two_worlds(workers: usize, counts: [usize; 2]) -> (World, Vec<usize>) {
    let mut one = world(workers, ExecutionMode::Parallel, 0);
    let other = world(workers, ExecutionMode::Parallel, 0);
    let (mut first, mut second) = (EntityCommandBuffer::new(), EntityCommandBuffer::new());
    let mut commands = one.commands(&mut first).unwrap();
    for _ in 0..counts[0] {
        commands.spawn(Large([1; 8192]));
    }
    let recorder = mem::take(&mut *commands);
    let mut commands = other.commands(&mut second).unwrap();
    *commands = recorder;
    for _ in 0..counts[1] {
        commands.spawn(Large([2; 8192]));
    }
    *first.commands().unwrap() = mem::take(&mut *commands);
    let Err(CommandError::Failed(report)) = one.play(&mut first) else { panic!("twice") };
    let is_broken = |fault| matches!(fault, CommandFault::PromiseBroken { .. });
    assert!(report.failures().iter().all(|failed| is_broken(failed.fault())), "{report}");
    (one, report.failures().iter().map(|failed| failed.number()).collect())
}

#[test]
fn ids_of_two_worlds_in_one_recorder_create_no_entity_twice() {
    for counts in [[600, 600], [1100, 600]] {
        let mut expected = None;
        for workers in WORKERS {
            let (world, refused) = play_ids_of_two_worlds(workers, counts);
            world.check_invariants().unwrap();
            assert_eq!(world.query::<Entity>().iter().count(), world.entity_count());
            let result = (refused, world.entity_count(), world.state_hash());
            let expected = expected.get_or_insert_with(|| result.clone());
            assert_eq!(*expected, result, "{workers} workers, {counts:?}");
        }
    }
}

#[test]
fn commands_for_one_entity_work_on_placeholders() {
    let results = WORKERS.map(|workers| {
        let mut world = world(workers, ExecutionMode::Parallel, 500);
        let mut buffer = EntityCommandBuffer::new();
        let query = world.query::<(Entity, &A)>();
        let job = query.job().with(buffer.writer()).schedule_parallel(|(entity, a), commands| {
            let page = commands.spawn(A(a.0 + 1000));
            commands.entity(page).add(Link(entity)).add(Lamp).remove::<A>();
            commands.entity(entity).add(Link(page)).set(A(a.0 + 1));
        });
        world.jobs().complete(job);
        world.play(&mut buffer).unwrap();
        for (page, link) in world.query_filtered::<(Entity, &Link), With<Lamp>>().iter() {
            if !world.has::<A>(page) {
                assert_eq!(world.get(link.0), Ok(&Link(page)));
            }
        }
        told(&world)
    });
    assert!(results.iter().all(|result| *result == results[0]));
}
