//! The limit: columns in vectors and the bookkeeping of one archetype, by hand.

use std::array;
use std::hint::black_box;

use super::types::*;
use super::work::{self, FEW, Large, MANY, MILLION, PUSHED};
use crate::harness::{Cell, Reading};

/// The entity of a row.
#[derive(Clone, Copy)]
struct Handle {
    index: u32,
    version: u32,
}

impl Handle {
    /// Creates the first entity with an index.
    fn new(index: u32) -> Self {
        Handle { index, version: 1 }
    }
}

/// The row of an entity, with its version.
#[derive(Clone, Copy)]
struct Location {
    row: u32,
    version: u32,
}

impl Location {
    /// Creates the location of the first entity with an index, in the row of the same number.
    fn new(row: u32) -> Self {
        Location { row, version: 1 }
    }
}

/// Entities of `simple_insert` and `spawn_each`.
#[derive(Default)]
struct Simple {
    entities: Vec<Handle>,
    transforms: Vec<Transform>,
    positions: Vec<Position>,
    rotations: Vec<Rotation>,
    velocities: Vec<Velocity>,
    locations: Vec<Location>,
}

impl Simple {
    fn result(&mut self) -> u64 {
        assert_eq!([self.entities.len(), self.locations.len()], [self.transforms.len(); 2]);
        let halves = self.transforms.iter().zip(&self.positions);
        let rows = halves.zip(self.rotations.iter().zip(&self.velocities));
        work::in_any_order(rows.map(|((t, p), (r, v))| work::simple_row(t, p, r, v)))
    }
}

pub(super) fn simple_insert(cell: Cell) -> Reading {
    let operation = |table: &mut Simple| {
        let (transform, position, rotation, velocity) = work::simple();
        *table = Simple {
            entities: (0..FEW as u32).map(Handle::new).collect(),
            transforms: vec![transform; FEW],
            positions: vec![position; FEW],
            rotations: vec![rotation; FEW],
            velocities: vec![velocity; FEW],
            locations: (0..FEW as u32).map(Location::new).collect(),
        };
    };
    cell.run_afresh(Simple::default, operation, Simple::result)
}

pub(super) fn spawn_each(cell: Cell) -> Reading {
    let operation = |table: &mut Simple| {
        for index in 0..FEW as u32 {
            let (transform, position, rotation, velocity) = work::simple();
            table.entities.push(Handle::new(index));
            table.transforms.push(transform);
            table.positions.push(position);
            table.rotations.push(rotation);
            table.velocities.push(velocity);
            table.locations.push(Location::new(index));
        }
    };
    cell.run_afresh(Simple::default, operation, Simple::result)
}

/// A table of columns of one type, and the entity of each row.
struct Table<const COLUMNS: usize> {
    entities: Vec<u32>,
    columns: [Vec<f32>; COLUMNS],
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    fn new() -> Self {
        Table { entities: Vec::new(), columns: array::from_fn(|_| Vec::new()) }
    }
}

/// Two archetypes that differ by one component, and the row of each entity.
struct Pair<const COLUMNS: usize> {
    without: Table<COLUMNS>,
    with: Table<COLUMNS>,
    extra: Vec<f32>,
    rows: Vec<u32>,
}

impl<const COLUMNS: usize> Pair<COLUMNS> {
    fn new(values: impl Fn(usize, usize) -> f32) -> Self {
        let mut without = Table::new();
        without.entities = (0..FEW as u32).collect();
        for (number, column) in without.columns.iter_mut().enumerate() {
            column.extend((0..FEW).map(|index| values(index, number)));
        }
        let rows = without.entities.clone();
        Pair { without, with: Table::new(), extra: Vec::new(), rows }
    }

    fn add_to_all(&mut self, value: impl Fn(usize) -> f32) {
        for entity in 0..self.rows.len() {
            transfer(&mut self.without, &mut self.with, &mut self.rows, entity);
            self.extra.push(value(entity));
        }
    }

    fn remove_from_all(&mut self) {
        for entity in 0..self.rows.len() {
            let row = transfer(&mut self.with, &mut self.without, &mut self.rows, entity);
            self.extra.swap_remove(row);
        }
    }
}

/// Moves an entity to the end of another table, and the last entity of its table to its place.
#[inline]
fn transfer<const COLUMNS: usize>(
    from: &mut Table<COLUMNS>,
    to: &mut Table<COLUMNS>,
    rows: &mut [u32],
    entity: usize,
) -> usize {
    let row = rows[entity] as usize;
    rows[entity] = to.entities.len() as u32;
    to.entities.push(from.entities.swap_remove(row));
    for (from, to) in from.columns.iter_mut().zip(&mut to.columns) {
        to.push(from.swap_remove(row));
    }
    if let Some(&moved) = from.entities.get(row) {
        rows[moved as usize] = row as u32;
    }
    row
}

pub(super) fn add_remove(cell: Cell) -> Reading {
    let operation = |pair: &mut Pair<1>| {
        pair.add_to_all(|_| black_box(1.0));
        pair.remove_from_all();
    };
    let result = |pair: &mut Pair<1>| {
        pair.add_to_all(|_| 1.0);
        let rows = pair.with.columns[0].iter().zip(&pair.extra);
        let found = work::in_any_order(rows.map(|(&a, &b)| work::row([a, b])));
        pair.remove_from_all();
        found
    };
    cell.run(Pair::new(|index, _| index as f32), operation, result)
}

pub(super) fn move_20_components(cell: Cell) -> Reading {
    let operation = |pair: &mut Pair<20>| {
        pair.add_to_all(|_| black_box(1.0));
        pair.remove_from_all();
    };
    let result = |pair: &mut Pair<20>| {
        pair.add_to_all(|_| 1.0);
        let Pair { with: Table { columns, .. }, extra, .. } = pair;
        let found = work::in_any_order(
            (0..FEW).map(|i| work::row([columns[0][i], columns[10][i], columns[19][i], extra[i]])),
        );
        pair.remove_from_all();
        found
    };
    cell.run(Pair::new(|index, _| index as f32), operation, result)
}

/// Bodies in one table, and the row of each entity.
struct Bodies {
    entities: Vec<Handle>,
    positions: Vec<Position>,
    velocities: Vec<Velocity>,
    locations: Vec<Location>,
}

impl Bodies {
    fn new(count: usize) -> Self {
        let (positions, velocities) = (0..count).map(work::body).unzip();
        Bodies {
            entities: (0..count as u32).map(Handle::new).collect(),
            positions,
            velocities,
            locations: (0..count as u32).map(Location::new).collect(),
        }
    }

    fn result(&self) -> u64 {
        let rows = self.positions.iter().zip(&self.velocities);
        work::in_any_order(rows.map(|(position, velocity)| work::body_row(position, velocity)))
    }
}

pub(super) fn despawn_each(cell: Cell) -> Reading {
    let make = || {
        let bodies = Bodies::new(MANY);
        (bodies.entities.clone(), bodies)
    };
    let operation = |(entities, bodies): &mut (Vec<Handle>, Bodies)| {
        for entity in entities.iter() {
            let location = &mut bodies.locations[entity.index as usize];
            if location.version != entity.version {
                continue;
            }
            location.version += 1;
            let row = location.row as usize;
            bodies.entities.swap_remove(row);
            bodies.positions.swap_remove(row);
            bodies.velocities.swap_remove(row);
            if let Some(moved) = bodies.entities.get(row) {
                bodies.locations[moved.index as usize].row = row as u32;
            }
        }
    };
    cell.run_afresh(make, operation, |(_, bodies)| bodies.positions.len() as u64)
}

pub(super) fn despawn_bulk(cell: Cell) -> Reading {
    let operation = |bodies: &mut Bodies| {
        for location in &mut bodies.locations {
            location.version += 1;
        }
        bodies.entities.clear();
        bodies.positions.clear();
        bodies.velocities.clear();
    };
    cell.run_afresh(|| Bodies::new(MANY), operation, |bodies| bodies.positions.len() as u64)
}

/// The columns of `create_100k_320B`.
type LargeColumns = (Vec<Payload0>, Vec<Payload1>, Vec<Payload2>, Vec<Payload3>, Vec<Payload4>);

fn large_result((p0, p1, p2, p3, p4): &mut LargeColumns) -> u64 {
    work::in_any_order(
        (0..p0.len()).map(|i| work::large_row(&p0[i], &p1[i], &p2[i], &p3[i], &p4[i])),
    )
}

fn splat((p0, p1, p2, p3, p4): Large) -> LargeColumns {
    (vec![p0; MANY], vec![p1; MANY], vec![p2; MANY], vec![p3; MANY], vec![p4; MANY])
}

pub(super) fn create(cell: Cell) -> Reading {
    let values = black_box(work::large());
    cell.run_afresh(LargeColumns::default, |columns| *columns = splat(values), large_result)
}

/// Copies as many bytes as the entities of `create_100k_320B` have.
pub(super) fn create_memcpy(cell: Cell) -> Reading {
    let source = splat(work::large());
    let operation = |columns: &mut LargeColumns| columns.clone_from(black_box(&source));
    cell.run_afresh(LargeColumns::default, operation, large_result)
}

/// A list with all its capacity inline.
#[derive(Clone, Copy, Default)]
struct List {
    elements: [u32; PUSHED],
    len: u32,
}

impl List {
    #[inline]
    fn push(&mut self, element: u32) {
        self.elements[self.len as usize] = element;
        self.len += 1;
    }
}

pub(super) fn buffer_push(cell: Cell) -> Reading {
    let operation = |lists: &mut Vec<List>| {
        let mut next = 0;
        for list in lists {
            for _ in 0..PUSHED {
                list.push(next);
                next += 1;
            }
        }
    };
    let result = |lists: &mut Vec<List>| {
        let elements = |list: &List| list.elements.into_iter().take(list.len as usize);
        work::in_any_order(lists.iter().map(|list| work::pushed_row(elements(list))))
    };
    cell.run_afresh(|| vec![List::default(); MANY], operation, result)
}

pub(super) fn toggle_one(cell: Cell) -> Reading {
    let bodies = Bodies::new(MANY);
    let operation = |(enabled, bits): &mut (bool, Vec<u64>)| {
        *enabled = !*enabled;
        for entity in black_box(&bodies.entities) {
            let location = bodies.locations[entity.index as usize];
            assert_eq!(location.version, entity.version, "all are alive");
            let (word, bit) = (location.row as usize / 64, 1 << (location.row % 64));
            if *enabled {
                bits[word] |= bit;
            } else {
                bits[word] &= !bit;
            }
        }
    };
    let result = |(_, bits): &mut (bool, Vec<u64>)| {
        let bits = (0..MANY).filter(|row| bits[row / 64] & (1 << (row % 64)) != 0);
        bits.count() as u64
    };
    cell.run((true, vec![u64::MAX; MANY.div_ceil(64)]), operation, result)
}

pub(super) fn random_get(cell: Cell) -> Reading {
    let bodies = Bodies::new(MILLION);
    let entities = work::shuffled((0..MILLION as u32).collect());
    let operation = |sum: &mut u64| {
        let positions = &bodies.positions;
        let entities = black_box(&entities).iter();
        let found = entities.map(|&entity| work::looked_up(&positions[entity as usize]));
        *sum = black_box(sum.wrapping_add(found.sum()));
    };
    cell.run(0, operation, |sum| *sum)
}

/// Looks entities up in a table of rows and versions.
pub(super) fn random_get_located(cell: Cell) -> Reading {
    let bodies = Bodies::new(MILLION);
    let entities = work::shuffled(bodies.entities.clone());
    let operation = |sum: &mut u64| {
        let found = black_box(&entities).iter().map(|entity| {
            let location = bodies.locations[entity.index as usize];
            assert_eq!(location.version, entity.version, "all are alive");
            work::looked_up(&bodies.positions[location.row as usize])
        });
        *sum = black_box(sum.wrapping_add(found.sum()));
    };
    cell.run(0, operation, |sum| *sum)
}

pub(super) fn world_clone(cell: Cell) -> Reading {
    let source = Bodies::new(MILLION);
    let operation = |copy: &mut Option<Bodies>| {
        *copy = Some(Bodies {
            entities: source.entities.clone(),
            positions: source.positions.clone(),
            velocities: source.velocities.clone(),
            locations: source.locations.clone(),
        });
    };
    let result = |copy: &mut Option<Bodies>| copy.as_ref().map_or(0, Bodies::result);
    cell.run_afresh(|| None, operation, result)
}

pub(super) fn bytes_per_entity(cell: Cell) -> Reading {
    cell.run_resident(|| Bodies::new(MILLION), |bodies| bodies.result())
}
