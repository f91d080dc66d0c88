//! Refused and failed commands of jobs.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use ancho_entities::{
    CommandError, CommandFault, CommandRecorder, Component, Entity, EntityCommandBuffer, World,
};
use ancho_jobs::{JobCell, JobSlice};

use crate::commands::common::*;

/// A component whose destructor panics, if it is armed.
#[derive(Component, Debug)]
struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0 || std::thread::panicking(), "it went off");
    }
}

#[test]
fn a0078_names_the_job_that_recorded() {
    let mut world = world();
    let stone = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new().named("fight");
    let query = world.query::<Entity>();
    let job =
        query.job().named("Hit").with(buffer.writer()).schedule_parallel(|entity, commands| {
            commands.set(entity, Text("hit".into()));
        });
    world.jobs().complete(job);
    reads(
        &mut world,
        buffer,
        "A0078: BUFFER, played in world `Simulation` at AT, failed at command 1 of 1, `set `game::Text` of 0v1`, which \
         job `Hit` recorded; the other commands were applied: A0051: entity 0v1 has no \
         `game::Text`; add it first, or check with `has`",
    );
    let mut buffer = EntityCommandBuffer::new();
    let jobs = world.jobs();
    let job = jobs.named("Alone").schedule(&[], buffer.writer(), move |mut commands| {
        commands.set(stone, Text("b".into()));
    });
    jobs.complete(job.unwrap());
    assert_eq!(first_failure(world.play(&mut buffer)).job(), Some("Alone"));
}

#[test]
fn a0003_and_a0001_in_use() {
    let world = world();
    let mut buffer = EntityCommandBuffer::new().named("fight");
    let label = buffer.label();
    let jobs = world.jobs();
    let job = jobs.named("Hit").schedule(&[], buffer.writer(), |_| ()).unwrap();
    assert_eq!(
        buffer.commands().unwrap_err().to_string(),
        format!(
            "A0003: {label} cannot be written now, because job `Hit` writes it concurrently and was not completed; complete `Hit` \
             first, by its handle or, for containers, by `wait_mut`"
        )
    );
    let refused = jobs.named("Again").schedule(&[], buffer.writer(), |_| ()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "A0001: job `Again` writes concurrently {label}, which job `Hit` writes concurrently and which was not \
             completed; pass the handle of `Hit` as a dependency, complete it first, \
             for example with `wait`, or use `in_turn`, which waits for \
             earlier users"
        )
    );
    jobs.complete(job);
}

#[test]
fn a_sort_key_without_commands_is_forgotten() {
    let mut world = World::new("Simulation");
    let door = world.spawn(A(0));
    let mut buffer = EntityCommandBuffer::new();
    let jobs = world.jobs();
    let silent = jobs.schedule(&[], buffer.writer(), |mut commands| commands.set_sort_key(Some(1)));
    jobs.complete(silent.unwrap());
    let second = jobs.schedule(&[], buffer.writer(), move |mut commands| commands.set(door, A(1)));
    jobs.complete(second.unwrap());
    let commands = buffer.commands().unwrap();
    commands.set_sort_key(Some(5));
    commands.set(door, A(2));
    world.play(&mut buffer).unwrap();
    assert_eq!(world.get(door), Ok(&A(1)), "what has no key comes last");
}

#[test]
fn a_clear_that_panics_leaves_nothing() {
    let mut world = World::new("Simulation");
    let orc = world.spawn(A(0));
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().set(orc, A(66));
    let jobs = world.jobs();
    let arm =
        jobs.schedule(&[], buffer.writer(), move |mut commands| commands.add(orc, Bomb(true)));
    jobs.complete(arm.unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| buffer.clear())).is_err());
    assert_eq!(buffer.len(), 0);
    let new = buffer.commands().unwrap().spawn(A(1));
    world.play(&mut buffer).unwrap();
    assert_eq!(world.get(orc), Ok(&A(0)));
    assert_eq!(world.get(buffer.resolve(new).unwrap()), Ok(&A(1)));
}

/// Creates entities in two lanes of a buffer, where the second replaces the first: the job keeps its recorder, and
/// returns none.
fn record_twice(
    world: &World,
    buffer: &mut EntityCommandBuffer,
    record: fn(&mut CommandRecorder, Entity),
    others: u32,
) {
    let jobs = world.jobs();
    let kept = Arc::new(Mutex::new(CommandRecorder::default()));
    let orc = world.query::<Entity>().iter().next().unwrap();
    for number in 0..others {
        buffer.commands().unwrap().set(orc, A(number));
    }
    let slot = Arc::clone(&kept);
    let first = jobs.schedule(&[], buffer.writer(), move |mut commands| {
        record(&mut commands, orc);
        *slot.lock().unwrap() = mem::take(&mut *commands);
    });
    jobs.complete(first.unwrap());
    let second = jobs.schedule(&[], buffer.writer(), move |mut commands| {
        record(&mut commands, orc);
    });
    jobs.complete(second.unwrap());
    *buffer.commands().unwrap() = mem::take(&mut kept.lock().unwrap());
}

#[test]
fn a_recorder_kept_by_a_job_creates_no_entity_twice() {
    let records: [fn(&mut CommandRecorder, Entity); 7] = [
        |commands, _| {
            commands.spawn(A(1));
            commands.spawn(Glow(1));
        },
        |commands, _| {
            for _ in 0..20 {
                commands.spawn(A(1));
            }
        },
        |commands, _| _ = commands.spawn_batch((0..3).map(A)),
        |commands, _| _ = commands.spawn_many(A(1), 3),
        |commands, orc| _ = commands.instantiate_many(orc, 3),
        |commands, _| {
            // These commands cancel out.
            let all: Vec<Entity> = (0..20).map(|_| commands.spawn(A(1))).collect();
            all.iter().for_each(|&new| commands.add(new, Glow(1)));
            all.iter().for_each(|&new| commands.despawn(new));
        },
        |commands, _| {
            let new = commands.spawn(A(1));
            commands.despawn(new);
            commands.spawn(Glow(1));
        },
    ];
    for (at, record) in records.into_iter().enumerate() {
        for others in [1, 100] {
            let mut world = World::new("Simulation");
            world.spawn(A(0));
            let mut buffer = EntityCommandBuffer::new();
            record_twice(&world, &mut buffer, record, others);
            let played = world.play(&mut buffer);
            world.check_invariants().unwrap();
            if let Err(error) = played {
                assert!(matches!(error, CommandError::Failed(_)), "{at}: {error}");
            }
            let mut all: Vec<Entity> = world.query::<Entity>().iter().collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(
                (all.len(), world.entity_count()),
                (count, count),
                "{at}: an id is two rows"
            );
        }
    }
}

#[test]
fn a0079_placeholders_of_lanes_that_this_buffer_lacks_are_foreign() {
    const MANY: usize = 70_000;
    const BATCHES: usize = 3_000;
    let mut world = world();
    let mut other = EntityCommandBuffer::new();
    other.commands().unwrap().spawn(());
    let mut created = JobCell::new(Vec::new());
    let jobs = world.jobs();
    let data = (other.writer(), created.write());
    let job = jobs.schedule(&[], data, |(mut commands, created)| {
        let many = commands.spawn_many((), MANY);
        created.extend([many.get(0).unwrap(), many.get(MANY - 1).unwrap()]);
    });
    jobs.complete(job.unwrap());
    let mut ends = JobSlice::from(vec![[Entity::NULL; 2]; BATCHES]);
    let data = (other.writer(), ends.write());
    let job = jobs.schedule_for_each(&[], data, BATCHES, 1, |(commands, ends), at| {
        let many = commands.spawn_many((), if at + 1 == BATCHES { MANY } else { 1 });
        *ends = [many.get(0).unwrap(), many.get(many.len() - 1).unwrap()];
    });
    jobs.complete(job.unwrap());
    let mut foreign = created.into_inner().unwrap();
    foreign.extend(ends.as_slice().unwrap()[BATCHES - 1]);
    let names = foreign.iter().map(Entity::to_string).collect::<Vec<_>>();
    assert_eq!(
        names,
        ["placeholder 1.0", "placeholder 1.69999", "placeholder 3002.0", "placeholder 3002.69999"]
    );
    world.play(&mut other).unwrap();
    for &placeholder in &foreign {
        assert!(world.exists(other.resolve(placeholder).unwrap()));
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        commands.spawn(());
        commands.set(placeholder, A(1));
        let fault = CommandFault::ForeignPlaceholder { placeholder };
        assert_eq!(first_failure(world.check_commands(&buffer)).fault(), fault);
        assert_eq!(first_failure(world.play(&mut buffer)).fault(), fault);
    }
}
