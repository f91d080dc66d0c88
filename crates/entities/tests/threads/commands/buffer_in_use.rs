//! A buffer that a job uses.

use ancho_entities::{
    CommandError, CommandsAt, EndSimulation, Entity, EntityCommandBuffer, Query, ResMut, Resource,
};

use crate::commands::common::*;

#[test]
fn a_buffer_that_a_job_holds_is_neither_recorded_in_nor_played_nor_cleared() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let jobs = world.jobs();
    let job = jobs.schedule(&[], buffer.writer(), |mut commands| _ = commands.spawn(A(1))).unwrap();
    // The job has not started yet.
    assert!(matches!(buffer.commands().unwrap_err(), CommandError::InUse(_)));
    assert!(matches!(world.commands(&mut buffer).unwrap_err(), CommandError::InUse(_)));
    assert!(matches!(buffer.clear().unwrap_err(), CommandError::InUse(_)));
    assert!(matches!(world.check_commands(&buffer).unwrap_err(), CommandError::InUse(_)));
    assert!(matches!(world.play(&mut buffer).unwrap_err(), CommandError::InUse(_)));
    assert_eq!((buffer.len(), world.entity_count()), (0, 0));
    world.jobs().complete(job);
    assert_eq!(buffer.len(), 1);
    world.check_commands(&buffer).unwrap();
    world.play(&mut buffer).unwrap();
    assert_eq!(world.entity_count(), 1);
}

#[test]
fn two_jobs_that_neither_depends_on_the_other_are_refused() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let jobs = world.jobs();
    let first =
        jobs.schedule(&[], buffer.writer(), |mut commands| _ = commands.spawn(A(1))).unwrap();
    let refused = jobs.schedule(&[], buffer.writer(), |mut commands| _ = commands.spawn(A(2)));
    assert!(refused.unwrap_err().to_string().starts_with("A0001: "));
    let query = world.query::<&A>();
    let refused = panic_message(|| query.job().with(buffer.writer()).schedule(|_, _| ()));
    assert!(refused.starts_with("A0001: "));
    let second = jobs.schedule(&[first], buffer.writer(), |mut commands| _ = commands.spawn(A(3)));
    jobs.complete(second.unwrap());
    world.play(&mut buffer).unwrap();
    assert!(world.query::<&A>().iter().map(|a| a.0).eq([1, 3]));
}

#[test]
fn a_buffer_is_not_taken_twice_by_one_job() {
    let mut world = world();
    world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    // Safe code cannot borrow the buffer twice. A job that uses it goes on when the buffer is dropped.
    let jobs = world.jobs();
    let job =
        jobs.schedule(&[], buffer.writer(), |mut commands| _ = commands.spawn(Text("b".into())));
    drop(buffer);
    jobs.complete(job.unwrap());
    assert_eq!(world.entity_count(), 1);
}

#[test]
fn a_job_that_records_in_a_played_buffer_panics() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().spawn(A(1));
    world.play(&mut buffer).unwrap();
    let jobs = world.jobs();
    let job = jobs.schedule(&[], buffer.writer(), |mut commands| _ = commands.spawn(A(1)));
    let said = panic_message(|| jobs.complete(job.unwrap()));
    assert!(said.contains("A0080: "), "{said}");
    buffer.clear().unwrap();
    buffer.commands().unwrap().spawn(A(1));
    world.play(&mut buffer).unwrap();
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn a_job_that_panics_leaves_a_buffer_that_can_be_cleared() {
    let ledger = Ledger::new();
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let jobs = world.jobs();
    let job = jobs.schedule_for_each(&[], buffer.writer(), 100, 10, move |commands, index| {
        commands.spawn((A(index as u32), ledger.value(1)));
        assert_ne!(index, 55, "a job that panics");
    });
    panic_message(|| jobs.complete(job.unwrap()));
    // The recorded commands can be played or dropped.
    let recorded = buffer.len();
    world.play(&mut buffer).unwrap();
    assert_eq!(world.entity_count(), recorded);
    assert_eq!(ledger.live(), recorded as isize);
    buffer.clear().unwrap();
    buffer.commands().unwrap().spawn(A(1));
    world.play(&mut buffer).unwrap();
    assert_eq!(world.entity_count(), recorded + 1);
    world.check_invariants().unwrap();
}

#[test]
fn a_job_may_be_run_on_the_main_thread() {
    let mut world = world();
    world.spawn_batch((0..10).map(A));
    let mut buffer = EntityCommandBuffer::new();
    let query = world.query::<&A>();
    query.job().with(buffer.writer()).run(|a, commands| _ = commands.spawn(Text(a.0.to_string())));
    world.play(&mut buffer).unwrap();
    let all = world.query::<&Text>().iter().map(|b| b.0.clone()).collect::<Vec<_>>();
    assert!(all.into_iter().eq((0..10).map(|at| at.to_string())));
}

#[test]
fn other_buffers_go_on_when_one_fails() {
    let mut world = world();
    let mut buffers: Vec<_> = (0..3).map(|_| EntityCommandBuffer::new()).collect();
    for (at, buffer) in (0..).zip(&mut buffers) {
        let commands = buffer.commands().unwrap();
        commands.spawn(A(at * 2));
        if at == 1 {
            commands.add(Entity::NULL, Tag);
        }
        commands.spawn(A(at * 2 + 1));
    }
    let played: Vec<_> = buffers.iter_mut().map(|buffer| world.play(buffer).is_ok()).collect();
    assert_eq!(played, [true, false, true]);
    assert!(world.query::<&A>().iter().map(|a| a.0).eq(0..6));
}

#[test]
fn a_buffer_in_use_by_a_job_is_not_played() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let jobs = world.jobs();
    let job = jobs.schedule(&[], buffer.writer(), |mut commands| _ = commands.spawn(A(1))).unwrap();
    buffer.set_should_play(false);
    assert!(matches!(world.play(&mut buffer).unwrap_err(), CommandError::InUse(_)));
    world.jobs().complete(job);
    world.play(&mut buffer).unwrap();
    assert_eq!((world.entity_count(), buffer.len()), (0, 1));
}

#[test]
fn points_skip_buffers_that_should_not_be_played() {
    #[derive(Resource)]
    #[resource(local)]
    struct Runs(u32, &'static Ledger);

    fn record(mut runs: ResMut<Runs>, mut commands: CommandsAt<EndSimulation>) {
        let Runs(run, ledger) = &mut *runs;
        *run += 1;
        commands.commands().spawn((A(*run), ledger.value(*run)));
        commands.set_should_play(run.is_multiple_of(2));
    }

    fn record_in_a_job(all: Query<&A>, mut commands: CommandsAt<EndSimulation>) {
        let job = all.job().with(commands.writer());
        _ = job.schedule(|_, commands| _ = commands.spawn(Tag));
        commands.set_should_play(false);
    }

    fn record_nothing(mut commands: CommandsAt<EndSimulation>) {
        commands.set_should_play(false);
    }

    fn record_always(mut commands: CommandsAt<EndSimulation>) {
        commands.commands().spawn(Lamp);
    }

    let ledger = Ledger::new();
    let mut world = world();
    world.insert_resource(Runs(0, ledger));
    world.add_system(record_nothing);
    world.add_system(record_always);
    world.add_system(record);
    world.add_system(record_in_a_job);
    for run in 1..=5_u32 {
        world.try_update(0.1).unwrap();
        let spawned = (1..=run).filter(|run| run.is_multiple_of(2));
        assert!(world.query::<&A>().iter().map(|a| a.0).eq(spawned.clone()), "run {run}");
        assert_eq!((ledger.live(), world.query::<&Tag>().count()), (spawned.count() as isize, 0));
        // Other systems that record for the same point are not affected.
        assert_eq!(world.query::<&Lamp>().count(), run as usize);
    }
    // The program can skip a buffer as well.
    let buffer = world.commands_at::<EndSimulation>().unwrap();
    buffer.commands().unwrap().spawn_many(Tag, 3);
    buffer.set_should_play(false);
    world.try_update(0.1).unwrap();
    assert_eq!(world.query::<&Tag>().count(), 0);
}
