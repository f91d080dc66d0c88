//! The baselines that requirements name: plain loops and vectors, or ancho without the feature.

use std::hint::black_box;

use ancho_collections::NativeStream;
use ancho_entities::{
    Changed, Commands, Component, Entity, EntityCommandBuffer, Present, Query, QueryDescriptor,
    World, WorldSettings,
};

use super::work::{
    self, CHUNKS, FAILING, FEW, FRAME, Hit, MANY, MILLION, READERS, ROWS, SYSTEMS, WRITES,
};
use crate::harness::{Cell, Reading};
use crate::parts::storage::types::{A, B, Position, Velocity};

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

fn world() -> World {
    World::new("peers")
}

fn update(world: &mut World) {
    world.update(FRAME);
}

/// Pushes messages to a vector, which keeps its memory.
pub(super) fn write(cell: Cell) -> Reading {
    let operation = |hits: &mut Vec<Hit>| {
        hits.clear();
        for index in 0..MANY {
            hits.push(black_box(work::hit(index)));
        }
    };
    cell.run(Vec::new(), operation, |hits| work::hits(hits.iter().copied()))
}

/// Writes messages to a stream, from a parallel job over the entities.
pub(super) fn write_in_job(cell: Cell) -> Reading {
    let mut world = world();
    world.spawn_batch((0..MANY).map(|index| A(index as f32)));
    let operation = |(world, stream): &mut (World, NativeStream)| {
        stream.get_mut().expect("the job is completed").clear(MANY);
        let job =
            world.query::<&A>().job().with(stream.writer()).schedule_parallel(|a, mut lane| {
                let hit = work::hit(a.0 as usize);
                lane.write([hit.target, hit.damage.to_bits()]);
            });
        world.jobs().complete(job);
    };
    cell.run((world, NativeStream::new(MANY)), operation, |(_, stream)| {
        let stream = stream.get().expect("the job is completed");
        let lanes = (0..stream.lanes()).map(|lane| stream.reader(lane).expect("a lane"));
        work::hits(lanes.map(|mut lane| {
            let [target, damage] = lane.read::<[u64; 2]>().expect("one message each");
            Hit { target, damage: f64::from_bits(damage) }
        }))
    })
}

/// Reads a slice several times.
pub(super) fn read(cell: Cell) -> Reading {
    let make = || {
        work::take_sum();
        (0..MANY).map(work::hit).collect()
    };
    let operation = |hits: &mut Vec<Hit>| {
        for _ in 0..READERS {
            work::add(black_box(&*hits).iter().map(work::damage).sum());
        }
    };
    cell.run_afresh(make, operation, |_| work::take_sum())
}

/// Returns a world with `count` equal systems.
pub(super) fn systems(count: usize, system: fn()) -> World {
    let mut world = world();
    for _ in 0..count {
        world.add_system(system);
    }
    world
}

/// Updates systems that do nothing. `ran` is the number of systems that other subjects run.
fn empty_systems(cell: Cell, count: usize, ran: usize) -> Reading {
    cell.run(systems(count, || {}), update, |_| ran as u64)
}

/// Updates a world with one system that does nothing.
pub(super) fn one_system(cell: Cell) -> Reading {
    empty_systems(cell, 1, 0)
}

pub(super) fn conditions_false(cell: Cell) -> Reading {
    empty_systems(cell, SYSTEMS, 0)
}

pub(super) fn conditions_true(cell: Cell) -> Reading {
    empty_systems(cell, SYSTEMS, SYSTEMS)
}

pub(super) fn failing(cell: Cell) -> Reading {
    empty_systems(cell, FAILING, FAILING)
}

/// Returns the number of positions, which is also the number of events in other subjects.
fn spawned(world: &mut World) -> u64 {
    world.query::<&Position>().count() as u64
}

pub(super) fn spawn_many(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        world.spawn_many(work::body(0), MANY);
    };
    cell.run_afresh(world, operation, spawned)
}

pub(super) fn spawn_each(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        for index in 0..MANY {
            world.spawn(work::body(index));
        }
    };
    cell.run_afresh(world, operation, spawned)
}

/// Copies a column, and removes it.
pub(super) fn removed_values(cell: Cell) -> Reading {
    let make = || {
        work::take_sum();
        let mut world = world();
        world.spawn_batch((0..MANY).map(work::body));
        (world, Vec::with_capacity(MANY))
    };
    let operation = |(world, taken): &mut (World, Vec<Velocity>)| {
        taken.extend(world.query::<&Velocity>().iter());
        let all = QueryDescriptor::of::<&Velocity, ()>();
        world.batch(&all).remove::<Velocity>().expect("there is memory");
        work::add(taken.iter().map(|velocity| u64::from(velocity.0.y.to_bits())).sum());
    };
    cell.run_afresh(make, operation, |_| work::take_sum())
}

/// Spawns, adds, removes and despawns, by query and one by one.
pub(super) fn change_structure(world: &mut World) {
    world.spawn_many(work::body(0), MANY);
    let all = QueryDescriptor::of::<&Position, ()>();
    world.batch(&all).add(A(1.0)).map_err(|rejected| rejected.error).expect("there is memory");
    world.batch(&all).remove::<A>().expect("there is memory");
    world.batch(&all).despawn().expect("there is memory");
    for index in 0..FEW {
        let entity = world.spawn(work::body(index));
        world.add(entity, B(1.0)).map_err(|rejected| rejected.error).expect("it exists");
        world.remove::<B>(entity).expect("it exists");
        world.despawn(entity).expect("it exists");
    }
}

pub(super) fn structure(cell: Cell) -> Reading {
    cell.run_afresh(world, change_structure, |world| world.entity_count() as u64)
}

/// A component that is disabled and enabled.
#[derive(Clone, Component, Copy)]
#[component(enableable)]
pub(super) struct Awake;

/// A world with many chunks, and an entity of one chunk in a hundred.
pub(super) struct Toggles {
    pub(super) world: World,
    switched: Vec<Entity>,
    is_on: bool,
}

impl Toggles {
    /// Enables or disables the entities, and updates the world.
    pub(super) fn switch(&mut self) {
        self.is_on = !self.is_on;
        for &entity in &self.switched {
            self.world.set_component_enabled::<Awake>(entity, self.is_on).expect("it exists");
        }
        update(&mut self.world);
    }
}

/// Returns a world with [`CHUNKS`] chunks.
pub(super) fn toggles() -> Toggles {
    let settings = WorldSettings::new().chunk_capacity_limit(ROWS);
    let mut world = World::with_settings("peers", settings);
    let all: Vec<Entity> = world.spawn_many(Awake, CHUNKS * ROWS).collect();
    assert_eq!(world.chunks().count(), CHUNKS);
    let switched = all.into_iter().step_by(100 * ROWS).collect();
    Toggles { world, switched, is_on: true }
}

/// Switches some entities, and finds the chunks by their versions.
pub(super) fn toggle(cell: Cell) -> Reading {
    let mut state = toggles();
    state.world.add_system(|all: Query<'_, (), (Present<Awake>, Changed<Awake>)>| {
        work::add(all.count() as u64 / ROWS as u64);
    });
    update(&mut state.world);
    work::take_sum();
    cell.run(state, Toggles::switch, |_| work::take_sum())
}

/// Returns a world with entities of two components, and their list.
fn bodies() -> Populated {
    let mut world = world();
    let entities = world.spawn_batch((0..MANY).map(work::body)).collect();
    (world, entities)
}

/// Returns a recorder for this thread.
pub(super) fn commands<'w>(world: &'w World, buffer: &'w mut EntityCommandBuffer) -> Commands<'w> {
    world.commands(buffer).expect("nothing else records")
}

/// Plays the commands, and clears the buffer for reuse.
pub(super) fn play(world: &mut World, buffer: &mut EntityCommandBuffer) {
    world.play(buffer).expect("all commands are valid");
    buffer.clear().expect("nothing records");
}

/// A component of the size of a link.
#[derive(Clone, Component, Copy)]
struct Link(Entity);

/// Adds a plain component by commands.
pub(super) fn attach(cell: Cell) -> Reading {
    let mut buffer = EntityCommandBuffer::new();
    let make = || {
        let (mut world, entities) = bodies();
        let parent = world.spawn(());
        (world, entities, parent)
    };
    let operation = |(world, entities, parent): &mut (World, Vec<Entity>, Entity)| {
        let mut commands = commands(world, &mut buffer);
        for &entity in entities.iter() {
            commands.add(entity, Link(*parent));
        }
        play(world, &mut buffer);
    };
    cell.run_afresh(make, operation, |(world, ..)| world.query::<&Link>().count() as u64)
}

/// Despawns a list of entities.
pub(super) fn despawn_tree(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        world.batch(&*entities).despawn().expect("all exist");
    };
    cell.run_afresh(bodies, operation, |(world, _)| spawned(world))
}

/// Spawns entities with all components written out.
pub(super) fn required(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        for index in 0..MANY {
            let ship = Velocity(glam::Vec3::splat(index as f32));
            world.spawn((ship, A::default(), B::default(), Position::default()));
        }
    };
    cell.run_afresh(world, operation, |world| world.query::<(&A, &B, &Position)>().count() as u64)
}

/// Adds a tuple of four components by one command per entity.
pub(super) fn chained_commands(cell: Cell) -> Reading {
    let make = || {
        let mut world = world();
        let entities = world.spawn_many((), FEW).collect();
        (world, entities)
    };
    let mut buffer = EntityCommandBuffer::new();
    let operation = |(world, entities): &mut Populated| {
        let mut commands = commands(world, &mut buffer);
        for (index, &entity) in entities.iter().enumerate() {
            let (position, velocity) = work::body(index);
            commands.add(entity, (position, velocity, A(1.0), B(2.0)));
        }
        play(world, &mut buffer);
    };
    cell.run_afresh(make, operation, |(world, _)| chained_result(world))
}

/// Condenses entities with four components.
pub(super) fn chained_result(world: &mut World) -> u64 {
    let query = world.query::<(&Position, &Velocity, &A, &B)>();
    work::in_any_order(query.iter().map(|(p, v, ..)| work::body_row(p, v)))
}

/// Forks a world without resources, and drops the fork.
pub(super) fn fork(cell: Cell) -> Reading {
    let mut world = world();
    world.spawn_batch((0..FEW).map(work::body));
    cell.run(world, |world| drop(world.fork().expect("all is Copy")), |world| spawned(world))
}

/// The value of a resource that is written after a fork.
pub(super) fn large_value() -> Vec<u64> {
    (0..1_000).collect()
}

/// Clones a value, and writes to the clone.
pub(super) fn first_write(cell: Cell) -> Reading {
    let operation = |(from, to): &mut (Vec<u64>, Option<Vec<u64>>)| {
        let mut clone = black_box(&*from).clone();
        clone[0] += 1;
        *to = Some(clone);
    };
    cell.run_afresh(
        || (large_value(), None),
        operation,
        |(_, to)| to.as_ref().map_or(0, |to| to[0]),
    )
}

/// Writes to a value behind a reference.
pub(super) fn later_writes(cell: Cell) -> Reading {
    let operation = |value: &mut Vec<u64>| {
        for _ in 0..WRITES {
            black_box(&mut *value)[0] += 1;
        }
    };
    cell.run(large_value(), operation, |value| value[0])
}

/// Two numbers that a loop compares.
#[derive(Clone, Component, Copy)]
struct Clock {
    elapsed: f64,
    duration: f64,
}

/// Adds to a number, and compares it.
pub(super) fn tick_timers(cell: Cell) -> Reading {
    let mut world = world();
    let clock = |index| Clock { elapsed: 0.0, duration: timer_seconds(index) };
    world.spawn_batch((0..MILLION).map(clock));
    let operation = |world: &mut World| {
        world.query_mut::<&mut Clock>().for_each(|clock| {
            clock.elapsed += FRAME;
            if clock.elapsed >= clock.duration {
                clock.elapsed -= clock.duration;
            }
        });
    };
    cell.run(world, operation, |world| {
        let elapsed = world.query::<&Clock>().iter().map(|clock| clock.elapsed.to_bits());
        work::in_any_order(elapsed.collect::<Vec<_>>().into_iter())
    })
}

/// Returns the duration of a timer: a tenth of a second to a second.
pub(super) fn timer_seconds(index: usize) -> f64 {
    0.1 + (index % 10) as f64 * 0.1
}
