//! The limit: loops over columns in vectors, boxed functions, and chunks that are moved as a whole.

use std::hint::black_box;

use super::types::{A, B, C, D, E, Position, Velocity};
use super::work::{self, EACH, MOVED};
use crate::harness::{Cell, Reading};

/// The columns of the four archetypes.
#[derive(Default)]
struct Columns {
    a: [Vec<A>; 4],
    b: [Vec<B>; 4],
    c: [Vec<C>; 3],
    d: Vec<D>,
    e: Vec<E>,
}

/// Runs one loop after the other. (Sharing the loops between two threads takes longer.)
pub(in crate::parts::systems) fn schedule(cell: Cell) -> Reading {
    let mut columns = Columns::default();
    for index in 0..EACH {
        let (a, b) = work::ab(index);
        columns.a.iter_mut().for_each(|column| column.push(a));
        columns.b.iter_mut().for_each(|column| column.push(b));
        let ((.., c), (.., cd, d), (.., ce, e)) =
            (work::abc(index), work::abcd(index), work::abce(index));
        columns.c.iter_mut().zip([c, cd, ce]).for_each(|(column, c)| column.push(c));
        columns.d.push(d);
        columns.e.push(e);
    }
    let operation = |columns: &mut Columns| {
        let Columns { a, b, c: [_, cd, ce], d, e } = columns;
        a.iter_mut().zip(b).for_each(|(a, b)| work::swap_all(a, b));
        work::swap_all(cd, d);
        work::swap_all(ce, e);
    };
    cell.run(columns, operation, |Columns { a, b, c, d, e }| {
        let mut rows = Vec::new();
        for table in 0..4_usize {
            for index in 0..EACH {
                let c = table.checked_sub(1).map(|table| &c[table][index]);
                let d = (table == 2).then(|| &d[index]);
                let e = (table == 3).then(|| &e[index]);
                rows.push(work::swapped_row(&a[table][index], &b[table][index], c, d, e));
            }
        }
        work::in_any_order(rows.into_iter())
    })
}

pub(in crate::parts::systems) fn empty_100(cell: Cell) -> Reading {
    empty(cell, 100)
}

pub(in crate::parts::systems) fn empty_1000(cell: Cell) -> Reading {
    empty(cell, 1_000)
}

fn empty(cell: Cell, count: usize) -> Reading {
    let operation = |functions: &mut Functions| {
        for function in black_box(functions) {
            function();
        }
    };
    let ran = work::count_runs(systems(count, work::counted), operation);
    cell.run(systems(count, work::nothing), operation, |_| ran)
}

type Functions = Vec<Box<dyn FnMut()>>;

/// Returns `count` equal functions.
fn systems(count: usize, system: impl Fn() + Copy + 'static) -> Functions {
    (0..count).map(|_| Box::new(system) as Box<dyn FnMut()>).collect()
}

/// Number of rows in a chunk. A chunk has 16 KiB, and a row 32 bytes.
const ROWS: usize = 512;

/// The entity of a row.
#[derive(Clone, Copy)]
struct Handle {
    index: u32,
    version: u32,
}

/// The location of an entity with its version, or the next free slot.
#[derive(Clone, Copy)]
struct Slot {
    place: u32,
    version: u32,
}

/// Rows of a chunk. All chunks except the last are full.
struct Chunk {
    entities: Vec<Handle>,
    positions: Vec<Position>,
    velocities: Vec<Velocity>,
}

#[derive(Default)]
struct Store {
    chunks: Vec<Chunk>,
    slots: Vec<Slot>,
    free: u32,
}

impl Store {
    fn bodies() -> Self {
        let mut store = Self::default();
        for first in (0..MOVED).step_by(ROWS) {
            let indices = first..MOVED.min(first + ROWS);
            let handles = indices.clone().map(|index| Handle { index: index as u32, version: 1 });
            store
                .slots
                .extend(indices.clone().map(|index| Slot { place: index as u32, version: 1 }));
            let entities = handles.collect();
            let (positions, velocities) = indices.map(work::body).unzip();
            store.chunks.push(Chunk { entities, positions, velocities });
        }
        store
    }

    /// Moves whole chunks, with new handles for all entities, since the old ones may be in use.
    fn move_from(&mut self, source: &mut Store) {
        // All entities leave, so each slot of the source becomes free and links to the next.
        for (index, slot) in source.slots.iter_mut().enumerate() {
            *slot = Slot { place: index as u32 + 1, version: slot.version + 1 };
        }
        source.free = 0;
        self.slots.reserve(source.slots.len());
        for mut chunk in source.chunks.drain(..) {
            let place = (self.chunks.len() * ROWS) as u32;
            let first = self.slots.len() as u32;
            let rows = chunk.entities.len() as u32;
            for (entity, index) in chunk.entities.iter_mut().zip(first..) {
                *entity = Handle { index, version: 1 };
            }
            self.slots.extend((place..place + rows).map(|place| Slot { place, version: 1 }));
            self.chunks.push(chunk);
        }
    }

    fn result(&self) -> u64 {
        let rows = self.slots.iter().enumerate().map(|(index, slot)| {
            let (chunk, row) = (slot.place as usize / ROWS, slot.place as usize % ROWS);
            let Chunk { entities, positions, velocities } = &self.chunks[chunk];
            assert!(entities[row].index == index as u32 && entities[row].version == slot.version);
            work::body_row(&positions[row], &velocities[row])
        });
        work::in_any_order(rows)
    }
}

pub(in crate::parts::systems) fn world_move(cell: Cell) -> Reading {
    type Pair = (Store, Store);
    let make = || (Store::bodies(), Store::default());
    let operation = |(source, target): &mut Pair| target.move_from(source);
    cell.run_afresh(make, operation, |(source, target)| {
        work::moved(source.chunks.len(), target.result())
    })
}
