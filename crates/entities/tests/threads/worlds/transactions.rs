//! Lending the entities of a world to jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ancho_collections::Rejected;
use ancho_entities::{
    Entity, EntityManager, ExclusiveEntityTransaction, Prefab, QueryDescriptor, World,
    WorldSettings,
};
use ancho_jobs::{AccessError, JobCell, JobPool, JobSlice, ScheduleError};

use crate::common::*;

/// Returns worlds without worker threads, with one, and with three.
fn worlds() -> impl Iterator<Item = World> {
    [0, 1, 3].into_iter().map(|workers| {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        World::with_settings("Loading", WorldSettings::new().job_pool(&pool))
    })
}

#[test]
fn a_job_can_do_everything() {
    for mut world in worlds() {
        let there = world.spawn((A(1), Text("one".into())));
        let doomed = world.spawn(A(2));
        let prefab = world.spawn((A(3), Prefab));
        let mut transaction = world.begin_transaction();
        let job = transaction.schedule(&[], move |entities| {
            entities.despawn(doomed).unwrap();
            entities.add(there, Link(prefab)).unwrap();
            entities.remove::<Text>(there).unwrap();
            entities.set(there, A(10)).unwrap();
            entities.instantiate_many(prefab, 5).unwrap();
            let archetype = entities.archetype::<(A, X)>();
            assert_eq!(entities.create_many(archetype, 7).unwrap().len(), 7);
            entities.query_mut::<&mut X>().for_each(|x| x.0 = 1);
            entities.batch(QueryDescriptor::of::<&X, ()>()).add(Tag).unwrap();
        });
        transaction.jobs().complete(job.unwrap());
        let mut world = Checked(transaction.end().unwrap());
        assert!(!world.exists(doomed));
        assert_eq!(world.get(there), Ok(&A(10)));
        assert_eq!(world.get(there), Ok(&Link(prefab)));
        assert!(!world.has::<Text>(there));
        assert_eq!(world.query::<&A>().count(), 1 + 5 + 7);
        assert_eq!(world.query::<(&X, &Tag)>().iter().filter(|(x, _)| x.0 == 1).count(), 7);
        world.spawn(A(4));
    }
}

#[test]
fn the_world_may_grow() {
    // Capacity may grow
    for world in worlds() {
        let mut transaction = world.begin_transaction();
        _ = transaction
            .schedule(&[], |entities| {
                entities.spawn_batch((0..100_000).map(|n| (A(n), Text(String::new()))));
            })
            .unwrap();
        let world = Checked(transaction.end().unwrap());
        assert_eq!(world.entity_count(), 100_000);
        let sum = world.query::<&A>().iter().map(|a| u64::from(a.0)).sum::<u64>();
        assert_eq!(sum, 100_000 * 99_999 / 2);
    }
}

#[test]
fn two_jobs_without_an_order_are_refused() {
    // Unregistered job -> error; one job at a time
    for world in worlds() {
        let mut transaction = world.begin_transaction();
        let first = transaction.schedule(&[], |entities| _ = entities.spawn(A(1))).unwrap();
        let refused = transaction.schedule(&[], |entities| _ = entities.spawn(A(2))).unwrap_err();
        assert!(matches!(refused, ScheduleError::Conflict { .. }), "{refused}");
        let message = refused.to_string();
        assert!(message.starts_with("A0001"), "{message}");
        assert!(message.contains("entities of a transaction"), "{message}");
        let second = transaction.schedule(&[first], |entities| _ = entities.spawn(A(3))).unwrap();
        _ = transaction.schedule(&[second], |entities| _ = entities.spawn(A(4))).unwrap();
        let world = transaction.end().unwrap();
        let all: Vec<_> = world.query::<&A>().iter().copied().collect();
        assert_eq!(all, [A(1), A(3), A(4)]);
    }
}

#[test]
fn the_owner_cannot_access_entities_that_a_job_borrows() {
    for world in worlds() {
        let mut transaction = world.begin_transaction();
        transaction.entities_mut().unwrap().spawn(A(1));
        assert_eq!(transaction.entities().unwrap().entity_count(), 1);
        _ = transaction.schedule(&[], |entities| _ = entities.spawn(A(2))).unwrap();
        let refused = transaction.entities_mut().unwrap_err();
        assert!(matches!(refused, AccessError::InUse { .. }) && transaction.entities().is_err());
        assert!(refused.to_string().starts_with("A0003"), "{refused}");
        transaction.complete().unwrap();
        assert_eq!(transaction.entities().unwrap().entity_count(), 2);
    }
}

#[test]
fn jobs_can_capture_containers() {
    let numbers = JobSlice::from((0..100).collect::<Vec<u32>>());
    let mut spawned = JobCell::new(Vec::<Entity>::new());
    let mut transaction = World::new("Loading").begin_transaction();
    let data = (numbers.read(), spawned.write());
    _ = transaction
        .schedule_with(&[], data, |(entities, (numbers, spawned))| {
            spawned.extend(entities.spawn_batch(numbers.iter().map(|&n| A(n))));
        })
        .unwrap();
    let world = transaction.end().unwrap();
    let spawned = spawned.into_inner().unwrap();
    assert!((0..).zip(spawned).all(|(n, entity)| world.get(entity) == Ok(&A(n))));
}

#[test]
fn jobs_over_entities_are_completed_first() {
    // Begin completes jobs
    for mut world in worlds() {
        world.spawn_many(A(1), 10_000);
        _ = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
        let mut transaction = world.begin_transaction();
        let entities = transaction.entities_mut().unwrap();
        assert!(entities.query::<&A>().iter().all(|a| a.0 == 2));
        let mut world = transaction.end().unwrap();
        // The scheduler is the same, and still works.
        _ = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
        assert!(world.query::<&A>().iter().all(|a| a.0 == 3));
    }
}

#[test]
fn a_job_that_panics_keeps_its_changes() {
    for world in worlds() {
        let mut transaction = world.begin_transaction();
        let job = transaction.schedule(&[], |entities| {
            entities.spawn_many(A(1), 3);
            std::panic::resume_unwind(Box::new("told to"));
        });
        let after = transaction.schedule(&[job.unwrap()], |entities| _ = entities.spawn(A(2)));
        _ = after.unwrap();
        assert!(transaction.complete().is_err());
        assert_eq!(transaction.entities().unwrap().entity_count(), 3);
        let mut world = Checked(transaction.end().unwrap());
        world.spawn(A(1));
        assert_eq!(world.entity_count(), 4);
    }
}

#[test]
fn nothing_is_scheduled_from_inside() {
    for mut world in worlds() {
        world.spawn_many(A(1), 1000);
        let mut transaction = world.begin_transaction();
        _ = transaction
            .schedule(&[], |entities| {
                let schedule = || entities.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
                assert!(catch_unwind(AssertUnwindSafe(schedule)).is_err());
                assert!(entities.jobs().schedule(&[], (), |()| ()).is_err());
                // Loops that complete immediately run on the current thread.
                entities.query_mut::<&mut A>().for_each(|a| a.0 += 1);
                entities.query_mut::<&mut A>().for_each_parallel(|a| a.0 += 1);
            })
            .unwrap();
        transaction.complete().unwrap();
        let world = transaction.end().unwrap();
        assert!(world.query::<&A>().iter().all(|a| a.0 == 3));
    }
}

#[test]
fn a_transaction_that_is_dropped_waits_and_drops_the_world() {
    let owner = Arc::new(());
    for mut world in worlds() {
        world.spawn_many(Owned(owner.clone()), 5);
        let mut transaction = world.begin_transaction();
        let owned = owner.clone();
        _ = transaction
            .schedule(&[], move |entities| _ = entities.spawn_many(Owned(owned), 100))
            .unwrap();
        transaction.jobs().flush();
        drop(transaction);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn a_forgotten_transaction_only_leaks() {
    for mut world in worlds() {
        world.spawn_many(A(1), 5);
        let mut transaction = world.begin_transaction();
        _ = transaction.schedule(&[], |entities| _ = entities.spawn(A(1))).unwrap();
        // Keeps the transactions reachable for leak detectors.
        static LEDGER: std::sync::Mutex<Vec<ExclusiveEntityTransaction>> =
            std::sync::Mutex::new(Vec::new());
        LEDGER.lock().unwrap().push(transaction);
    }
}

#[test]
fn a_filled_world_moves_to_another() {
    // The pattern of streaming.
    let mut game = world();
    game.spawn_many(A(0), 10);
    for loaded in worlds() {
        let mut transaction = loaded.begin_transaction();
        let filled = transaction.schedule(&[], |entities| {
            let first = entities.spawn(A(1));
            entities.spawn_many((A(1), Link(first)), 99);
        });
        transaction.jobs().flush();
        while !transaction.jobs().is_completed(filled.unwrap()) {
            game.query_mut::<&mut A>().for_each(|a| a.0 += 1);
            transaction.complete().unwrap();
        }
        let before = game.entity_count();
        let moved = game.move_entities_from(&mut transaction.end().unwrap()).unwrap();
        assert_eq!((moved.len(), game.entity_count()), (100, before + 100));
    }
    assert!(game.query::<&Link>().iter().all(|link| game.exists(link.0)));
}

#[test]
fn the_result_is_the_same_on_any_thread() {
    let hashes: Vec<_> = worlds()
        .map(|world| {
            let mut transaction = world.begin_transaction();
            let mut last = None;
            for round in 0..5 {
                let job = transaction.schedule(last.as_slice(), move |entities| {
                    let all: Vec<_> =
                        entities.spawn_batch((0..100).map(|n| A(n * round))).collect();
                    all.iter().step_by(3).for_each(|&entity| _ = entities.despawn(entity).unwrap());
                });
                last = Some(job.unwrap());
                transaction.jobs().flush();
            }
            transaction.end().unwrap().state_hash()
        })
        .collect();
    assert!(hashes.iter().all(|hash| *hash == hashes[0]));
}

#[test]
fn a_job_that_borrows_the_entities_runs_after_jobs_over_them() {
    for with_data in [false, true] {
        for mut world in worlds() {
            world.spawn_many(A(1), 1000);
            let mut transaction = world.begin_transaction();
            let entities = transaction.entities_mut().unwrap();
            _ = entities.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
            let check = |entities: &mut EntityManager| {
                assert_eq!(entities.query::<&A>().iter().filter(|a| a.0 == 2).count(), 1000);
                assert_eq!(entities.despawn_all(), Ok(1000));
            };
            let scheduled = if with_data {
                transaction.schedule_with(&[], (), move |(entities, ())| check(entities))
            } else {
                transaction.schedule(&[], check)
            };
            let after = transaction.schedule(&[scheduled.unwrap()], |all| _ = all.spawn(A(3)));
            transaction.jobs().complete(after.unwrap());
            transaction.complete().unwrap();
            let entities = transaction.entities_mut().unwrap();
            _ = entities.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
            let world = Checked(transaction.end().unwrap());
            assert_eq!(world.query::<&A>().single(), Ok(&A(4)));
        }
    }
}

#[test]
fn a_failed_job_is_reported_even_if_a_transaction_job_follows() {
    for mut world in worlds() {
        world.spawn_many(A(7), 10);
        let mut transaction = world.begin_transaction();
        let entities = transaction.entities_mut().unwrap();
        _ = entities.query_mut::<&mut A>().schedule(|_| panic!("told to"));
        _ = transaction.schedule(&[], |entities| _ = entities.spawn(A(1))).unwrap();
        let Rejected { value: world, error } = transaction.end().unwrap_err();
        assert!(error.message().contains("told to"), "{error}");
        assert_eq!(world.entity_count(), 11);
    }
}

#[test]
fn a_job_can_swap_the_entities_with_another_world() {
    for mut world in worlds() {
        world.spawn_many(A(1), 10);
        let mut other = World::new("Other");
        other.spawn_many(A(5), 3000);
        _ = other.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
        other.jobs().flush();
        let mut transaction = world.begin_transaction();
        _ = transaction
            .schedule(&[], move |entities| std::mem::swap::<EntityManager>(entities, &mut other))
            .unwrap();
        transaction.complete().unwrap();
        let mut world = Checked(transaction.end().unwrap());
        assert_eq!(world.query::<&A>().iter().filter(|a| a.0 == 6).count(), 3000);
        _ = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
        world.batch(QueryDescriptor::of::<&A, ()>()).despawn().unwrap();
        assert_eq!(world.entity_count(), 0);
    }
}

#[test]
fn failures_are_returned_with_the_world() {
    for world in worlds() {
        let mut transaction = world.begin_transaction();
        let bad = transaction.schedule(&[], |entities| {
            entities.spawn_many(A(1), 3);
            panic!("told to");
        });
        _ = transaction.schedule(&[bad.unwrap()], |entities| _ = entities.spawn(A(2))).unwrap();
        let Rejected { value: world, error } = transaction.end().unwrap_err();
        assert_eq!(error.message(), "told to");
        assert_eq!(world.entity_count(), 3);
        assert!(world.jobs().take_failures().is_empty(), "the failure was reported");
    }
}

#[test]
fn failures_of_jobs_over_borrowed_entities_are_returned() {
    let fail = |transaction: &mut ExclusiveEntityTransaction| {
        let entities = transaction.entities_mut().unwrap();
        let bad = entities.query_mut::<&mut A>().schedule(|a| assert_ne!(a.0, 7, "told to"));
        _ = bad;
    };
    for ends in [true, false] {
        for mut world in worlds() {
            world.spawn_many(A(7), 10);
            let mut transaction = world.begin_transaction();
            fail(&mut transaction);
            let message = if ends {
                let Rejected { value: world, error } = transaction.end().unwrap_err();
                assert_eq!(world.entity_count(), 10);
                error.message().to_owned()
            } else {
                let failed = transaction.complete().unwrap_err();
                assert!(
                    transaction.complete().is_ok() && transaction.end().is_ok(),
                    "the failure was reported"
                );
                failed.message().to_owned()
            };
            assert!(message.contains("told to"), "{message}");
        }
    }
}

#[test]
fn reported_failures_are_not_returned_again() {
    for world in worlds() {
        let mut transaction = world.begin_transaction();
        let bad = transaction.schedule(&[], |_| panic!("told to")).unwrap();
        assert!(transaction.jobs().try_complete(bad).is_err());
        assert!(transaction.end().is_ok());
    }
}

#[test]
fn completed_jobs_are_not_kept() {
    for world in worlds() {
        let mut transaction = world.begin_transaction();
        let bad = transaction.schedule(&[], |_| panic!("told to")).unwrap();
        transaction.jobs().complete_quietly(&[bad]);
        for _ in 0..1000 {
            let job = transaction.schedule(&[], |entities| _ = entities.spawn(A(1))).unwrap();
            transaction.jobs().complete(job);
        }
        let said = format!("{transaction:?}");
        let (_, kept) = said.rsplit_once("jobs: ").unwrap();
        assert!(kept.trim_end_matches(" }").parse::<usize>().unwrap() < 100, "{said}");
        let Rejected { value: world, error } = transaction.end().unwrap_err();
        assert_eq!((error.message(), world.entity_count()), ("told to", 1000));
    }
}

#[test]
fn jobs_of_a_transaction_have_names() {
    for world in worlds() {
        let mut transaction = world.begin_transaction();
        let load = transaction.named("Load").schedule(&[], |_| panic!("no such file")).unwrap();
        let grow = transaction.named("Grow").schedule_with(&[], (), |_| ());
        let message = grow.unwrap_err().to_string();
        assert!(message.starts_with("A0001"), "{message}");
        assert!(message.contains("`Grow`") && message.contains("`Load`"), "{message}");
        let failed = transaction.jobs().try_complete(load).unwrap_err();
        assert_eq!(failed.to_string(), "A0011: job `Load` panicked: no such file");
        let grow = transaction.named("Grow").schedule_with(&[], (), |(entities, ())| {
            entities.spawn(A(1));
        });
        transaction.jobs().complete(grow.unwrap());
        assert_eq!(transaction.end().unwrap().entity_count(), 1);
    }
}
