//! Transactions that are moved into jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use ancho_entities::{ExclusiveEntityTransaction, World, WorldSettings};
use ancho_jobs::JobPool;

use crate::common::Text;

/// Creates a world with one worker thread.
fn world() -> World {
    let pool = JobPool::builder().workers(1).build().unwrap();
    World::with_settings("Loading", WorldSettings::new().job_pool(&pool))
}

#[test]
fn a_job_over_the_entities_does_not_end_the_transaction_that_lends_them() {
    let mut transaction = world().begin_transaction();
    let entities = transaction.entities_mut().unwrap();
    entities.spawn_many(Text("there".to_owned()), 100);
    let (sender, receiver) = mpsc::channel::<ExclusiveEntityTransaction>();
    let (tell, told) = mpsc::channel();
    let mut is_first = true;
    let scheduled = entities.query_mut::<&mut Text>().schedule(move |text| {
        if std::mem::take(&mut is_first) {
            let transaction = receiver.recv().unwrap();
            let ended = catch_unwind(AssertUnwindSafe(|| transaction.end().unwrap()));
            // If the call succeeded, the job's data could be dropped.
            tell.send(ended.map(|mut world| world.despawn_all()).is_err()).unwrap();
        }
        assert_eq!(text.0, "there");
    });
    _ = scheduled;
    transaction.entities().unwrap().jobs().flush();
    sender.send(transaction).unwrap();
    assert!(told.recv().unwrap(), "the job has entities of the world");
}

#[test]
fn a_transaction_that_could_not_wait_inside_of_a_job_waits_afterwards() {
    let (mut transaction, other) = (world().begin_transaction(), world());
    let (hold, held) = mpsc::channel::<()>();
    let filled = transaction.schedule(&[], move |entities| {
        held.recv().unwrap();
        entities.spawn_many(Text("there".to_owned()), 10);
    });
    _ = filled.unwrap();
    transaction.jobs().flush();
    let (sender, receiver) = mpsc::channel();
    let scheduled = other.jobs().schedule(&[], (), move |()| {
        let completed = catch_unwind(AssertUnwindSafe(|| transaction.complete().is_ok()));
        sender.send((transaction, completed.is_err())).unwrap();
    });
    other.jobs().complete(scheduled.unwrap());
    let (transaction, is_refused) = receiver.recv().unwrap();
    assert!(is_refused, "A0006");
    hold.send(()).unwrap();
    assert_eq!(transaction.end().unwrap().entity_count(), 10);
}
