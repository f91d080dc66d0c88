//! legion: a `CommandBuffer` of commands that are allocated one by one. It belongs to a world.

use std::cell::RefCell;
use std::mem;

use legion::storage::IntoSoa;
use legion::systems::{CommandBuffer, Resources};
use legion::{Entity, IntoQuery, Read, TryRead, World};

use super::work::{self, Apart, MANY, MIXED, MIXED_COMMANDS, Recorder};
use crate::harness::{Cell, Reading};
use crate::parts::storage::types::{A, B, Position, Velocity};

/// A world with its buffer, and entities that are processed one by one.
struct State {
    world: World,
    entities: Vec<Entity>,
    buffer: CommandBuffer,
}

impl State {
    fn empty() -> Self {
        let mut world = World::default();
        let buffer = with_room(&mut world, MANY);
        State { world, entities: Vec::new(), buffer }
    }

    fn bodies(count: usize, commands: usize) -> Self {
        let mut world = World::default();
        let entities = world.extend((0..count).map(work::body)).to_vec();
        let buffer = with_room(&mut world, commands);
        State { world, entities, buffer }
    }

    /// Creates a world with many bodies, and one that is not processed.
    fn all_but_one() -> Self {
        let mut state = State::bodies(MANY + 1, MANY);
        state.entities.pop();
        state
    }

    fn play(&mut self) {
        self.buffer.flush(&mut self.world, &mut Resources::default());
    }

    fn result(&mut self) -> u64 {
        let mut query = <(Read<Position>, TryRead<Velocity>, TryRead<A>, TryRead<B>)>::query();
        let rows = query.iter(&self.world);
        work::in_any_order(rows.map(|(p, v, a, b)| work::any_row(p, v, a, b)))
    }
}

/// Returns a buffer whose command list has enough capacity, like a buffer that was used before.
fn with_room(world: &mut World, commands: usize) -> CommandBuffer {
    let mut buffer = CommandBuffer::new(world);
    (0..commands).for_each(|_| buffer.exec_mut(|_, _| ()));
    buffer.flush(world, &mut Resources::default());
    buffer
}

pub(super) fn spawn(cell: Cell) -> Reading {
    let operation = |state: &mut State| {
        record(&mut state.buffer, 0..MANY);
        state.play();
    };
    cell.run_afresh(State::empty, operation, State::result)
}

/// Records commands that create entities one by one.
fn record(buffer: &mut CommandBuffer, indices: std::ops::Range<usize>) {
    for index in indices {
        buffer.push(work::body(index));
    }
}

/// Spawns entities as columns.
pub(super) fn spawn_batch(cell: Cell) -> Reading {
    let operation = |state: &mut State| {
        let columns: (Vec<_>, Vec<_>) = (0..MANY).map(work::body).unzip();
        state.buffer.extend(columns.into_soa());
        state.play();
    };
    cell.run_afresh(State::empty, operation, State::result)
}

/// Adds the components with one recorded function, which takes ownership of the list.
pub(super) fn add(cell: Cell) -> Reading {
    let operation = |state: &mut State| {
        let entities = mem::take(&mut state.entities);
        state.buffer.exec_mut(move |world, _| {
            for (index, &entity) in entities.iter().enumerate() {
                let mut entry = world.entry(entity).expect("all are alive");
                entry.add_component(work::charge(index));
            }
        });
        state.play();
    };
    cell.run_afresh(|| State::bodies(MANY, MANY), operation, State::result)
}

pub(super) fn add_each(cell: Cell) -> Reading {
    let operation = |state: &mut State| {
        for (index, &entity) in state.entities.iter().enumerate() {
            state.buffer.add_component(entity, work::charge(index));
        }
        state.play();
    };
    cell.run_afresh(|| State::bodies(MANY, MANY), operation, State::result)
}

pub(super) fn destroy(cell: Cell) -> Reading {
    let operation = |state: &mut State| {
        for &entity in &state.entities {
            state.buffer.remove(entity);
        }
        state.play();
    };
    cell.run_afresh(State::all_but_one, operation, State::result)
}

pub(super) fn record_1t(cell: Cell) -> Reading {
    recording(cell, |[buffer, _]| record(&mut buffer.0, 0..MANY))
}

/// Measures recording on two threads, each with its own buffer.
pub(super) fn record_2t(cell: Cell) -> Reading {
    work::two_threads();
    recording(cell, |[first, second]| {
        rayon::join(|| record(&mut first.0, 0..MANY / 2), || record(&mut second.0, MANY / 2..MANY));
    })
}

/// Measures recording. The recorded commands are played back before the next operation, and the entities destroyed.
fn recording(cell: Cell, record: impl Fn(&mut [Apart<CommandBuffer>; 2])) -> Reading {
    let world = World::default();
    let buffers = [(); 2].map(|()| Apart(CommandBuffer::new(&world)));
    let shared = RefCell::new((world, buffers));
    let play = || {
        let (world, buffers) = &mut *shared.borrow_mut();
        buffers.iter_mut().for_each(|buffer| buffer.0.flush(world, &mut Resources::default()));
    };
    let make = || {
        play();
        shared.borrow_mut().0.clear();
    };
    let operation = |(): &mut ()| record(&mut shared.borrow_mut().1);
    let result = |(): &mut ()| {
        play();
        let mut query = <(&Position, &Velocity)>::query();
        let world = &shared.borrow().0;
        work::in_any_order(query.iter(world).map(|(p, v)| work::any_row(p, Some(v), None, None)))
    };
    cell.run_afresh(make, operation, result)
}

impl Recorder for CommandBuffer {
    type Entity = Entity;

    #[inline]
    fn spawn_body(&mut self, body: (Position, Velocity)) -> Entity {
        self.push(body)
    }

    #[inline]
    fn spawn_charged(&mut self, position: Position, velocity: Velocity, charge: A) {
        self.push((position, velocity, charge));
    }

    #[inline]
    fn add_a(&mut self, entity: Entity, value: A) {
        self.add_component(entity, value);
    }

    #[inline]
    fn add_b(&mut self, entity: Entity, value: B) {
        self.add_component(entity, value);
    }

    #[inline]
    fn set_position(&mut self, entity: Entity, value: Position) {
        self.add_component(entity, value);
    }

    #[inline]
    fn remove_velocity(&mut self, entity: Entity) {
        self.remove_component::<Velocity>(entity);
    }

    #[inline]
    fn despawn(&mut self, entity: Entity) {
        self.remove(entity);
    }
}

pub(super) fn mixed(cell: Cell) -> Reading {
    let operation = |state: &mut State| {
        work::record_mix(&mut state.buffer, &state.entities);
        state.play();
    };
    cell.run_afresh(|| State::bodies(MIXED, MIXED_COMMANDS), operation, State::result)
}

pub(super) fn mixed_play(cell: Cell) -> Reading {
    let make = || {
        let mut state = State::bodies(MIXED, MIXED_COMMANDS);
        work::record_mix(&mut state.buffer, &state.entities);
        state
    };
    cell.run_afresh(make, State::play, State::result)
}
