//! The limit: a vector of commands of few kinds, and columns in vectors, by hand.

use std::cell::RefCell;

use super::work::{self, Apart, MANY};
use crate::harness::{Cell, Reading};
use crate::parts::storage::types::{A, Position, Velocity};

/// The entity of a row.
#[derive(Clone, Copy)]
struct Handle {
    index: u32,
    version: u32,
}

/// The table and row of an entity, with its version.
#[derive(Clone, Copy)]
struct Location {
    row: u32,
    version: u32,
}

/// A deferred command.
enum Command {
    Spawn(Position, Velocity),
    Add(Handle, A),
    Destroy(Handle),
}

/// A table of bodies.
#[derive(Default)]
struct Table {
    entities: Vec<Handle>,
    positions: Vec<Position>,
    velocities: Vec<Velocity>,
}

impl Table {
    #[inline]
    fn push(&mut self, entity: Handle, position: Position, velocity: Velocity) {
        self.entities.push(entity);
        self.positions.push(position);
        self.velocities.push(velocity);
    }

    /// Removes a row, and moves the last row to its place.
    #[inline]
    fn take(&mut self, row: usize, locations: &mut [Location]) -> (Position, Velocity) {
        self.entities.swap_remove(row);
        if let Some(moved) = self.entities.get(row) {
            locations[moved.index as usize].row = row as u32;
        }
        (self.positions.swap_remove(row), self.velocities.swap_remove(row))
    }

    fn rows(&self) -> impl Iterator<Item = (&Position, &Velocity)> {
        assert_eq!(self.entities.len(), self.positions.len());
        self.positions.iter().zip(&self.velocities)
    }
}

/// The tables of bodies without a charge and with a charge.
#[derive(Default)]
struct Store {
    plain: Table,
    charged: Table,
    charges: Vec<A>,
    locations: Vec<Location>,
}

impl Store {
    fn bodies(count: usize) -> Self {
        let mut store = Store::default();
        for (position, velocity) in (0..count).map(work::body) {
            store.spawn(position, velocity);
        }
        store
    }

    #[inline]
    fn spawn(&mut self, position: Position, velocity: Velocity) {
        let entity = Handle { index: self.locations.len() as u32, version: 1 };
        self.locations.push(Location { row: self.plain.entities.len() as u32, version: 1 });
        self.plain.push(entity, position, velocity);
    }

    /// Applies commands, all of which are for bodies without a charge.
    fn play(&mut self, commands: &mut Vec<Command>) {
        for command in commands.drain(..) {
            match command {
                Command::Spawn(position, velocity) => self.spawn(position, velocity),
                Command::Add(entity, charge) => {
                    let Some(row) = self.row(entity) else { continue };
                    let (position, velocity) = self.plain.take(row, &mut self.locations);
                    self.locations[entity.index as usize].row = self.charges.len() as u32;
                    self.charged.push(entity, position, velocity);
                    self.charges.push(charge);
                }
                Command::Destroy(entity) => {
                    let Some(row) = self.row(entity) else { continue };
                    self.locations[entity.index as usize].version += 1;
                    self.plain.take(row, &mut self.locations);
                }
            }
        }
    }

    #[inline]
    fn row(&self, entity: Handle) -> Option<usize> {
        let location = self.locations[entity.index as usize];
        (location.version == entity.version).then_some(location.row as usize)
    }

    fn result(&mut self) -> u64 {
        let plain = self.plain.rows().map(|(p, v)| work::any_row(p, Some(v), None, None));
        let charged = self.charged.rows().zip(&self.charges);
        let charged = charged.map(|((p, v), a)| work::any_row(p, Some(v), Some(a), None));
        work::in_any_order(plain.chain(charged))
    }
}

pub(super) fn spawn(cell: Cell) -> Reading {
    let mut commands = Vec::new();
    let operation = |store: &mut Store| {
        record(&mut commands, 0..MANY);
        store.play(&mut commands);
    };
    cell.run_afresh(Store::default, operation, Store::result)
}

fn record(commands: &mut Vec<Command>, indices: std::ops::Range<usize>) {
    for (position, velocity) in indices.map(work::body) {
        commands.push(Command::Spawn(position, velocity));
    }
}

/// Spawns entities as columns, which are the command, and then become the columns of the table.
pub(super) fn spawn_batch(cell: Cell) -> Reading {
    let operation = |store: &mut Store| {
        let positions = (0..MANY).map(|index| work::body(index).0).collect();
        let velocities = (0..MANY).map(|index| work::body(index).1).collect();
        let indices = 0..MANY as u32;
        let entities = indices.clone().map(|index| Handle { index, version: 1 }).collect();
        store.plain = Table { entities, positions, velocities };
        store.locations = indices.map(|row| Location { row, version: 1 }).collect();
    };
    cell.run_afresh(Store::default, operation, Store::result)
}

pub(super) fn add(cell: Cell) -> Reading {
    changes(cell, MANY, |entity| Command::Add(entity, work::charge(entity.index as usize)))
}

pub(super) fn destroy(cell: Cell) -> Reading {
    changes(cell, MANY + 1, Command::Destroy)
}

/// Measures one command per body.
fn changes(cell: Cell, bodies: usize, command: impl Fn(Handle) -> Command) -> Reading {
    let mut commands = Vec::new();
    let make = || {
        let store = Store::bodies(bodies);
        (store.plain.entities[..MANY].to_vec(), store)
    };
    let operation = |(entities, store): &mut (Vec<Handle>, Store)| {
        for &entity in entities.iter() {
            commands.push(command(entity));
        }
        store.play(&mut commands);
    };
    cell.run_afresh(make, operation, |(_, store)| store.result())
}

pub(super) fn record_1t(cell: Cell) -> Reading {
    recording(cell, |[commands, _]| record(&mut commands.0, 0..MANY))
}

/// Measures recording on two threads, each with its own vector.
pub(super) fn record_2t(cell: Cell) -> Reading {
    work::two_threads();
    recording(cell, |[first, second]| {
        rayon::join(|| record(&mut first.0, 0..MANY / 2), || record(&mut second.0, MANY / 2..MANY));
    })
}

fn recording(cell: Cell, record: impl Fn(&mut [Apart<Vec<Command>>; 2])) -> Reading {
    let commands = RefCell::new(<[Apart<Vec<Command>>; 2]>::default());
    let make = || commands.borrow_mut().iter_mut().for_each(|commands| commands.0.clear());
    let operation = |(): &mut ()| record(&mut commands.borrow_mut());
    let result = |(): &mut ()| {
        let mut store = Store::default();
        commands.borrow_mut().iter_mut().for_each(|commands| store.play(&mut commands.0));
        store.result()
    };
    cell.run_afresh(make, operation, result)
}
