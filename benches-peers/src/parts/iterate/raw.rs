//! The limit without wider vectors: structs in vectors, and hand-written loops.

use std::cell::RefCell;
use std::hint::black_box;

use rayon::prelude::*;

use super::types::*;
use super::work::{self, BATCH, FEW, FRAGMENT, HEAVY, MILLION, Pattern};
use crate::harness::{Cell, Reading};

/// Bits in a mask word.
const WORD: usize = u64::BITS as usize;
/// Number of rows that share a version where writes are tracked: about as many as fit in a chunk.
const CHUNK: usize = 512;

/// Bodies in one table.
#[derive(Clone)]
struct Bodies {
    positions: Vec<Position>,
    velocities: Vec<Velocity>,
}

impl Bodies {
    fn new(count: usize) -> Self {
        let (positions, velocities) = (0..count).map(work::body).unzip();
        Bodies { positions, velocities }
    }

    fn advance(&mut self) {
        work::advance_all(&mut self.positions, &self.velocities);
    }

    fn result(&mut self) -> u64 {
        let rows = self.positions.iter().zip(&self.velocities);
        work::in_any_order(rows.map(|(p, v)| work::body_row(p, v)))
    }
}

/// Measures the loop of `simple_iter`, which uses two columns of its entities.
pub(super) fn simple_iter(cell: Cell) -> Reading {
    let (transform, position, rotation, velocity) = work::simple();
    let bodies = Bodies { positions: vec![position; FEW], velocities: vec![velocity; FEW] };
    cell.run(bodies, Bodies::advance, |bodies| {
        let rows = bodies.positions.iter().zip(&bodies.velocities);
        work::in_any_order(rows.map(|(p, v)| work::simple_row(&transform, p, &rotation, v)))
    })
}

pub(super) fn iter(cell: Cell) -> Reading {
    cell.run(Bodies::new(MILLION), Bodies::advance, Bodies::result)
}

pub(super) fn iter_par(cell: Cell) -> Reading {
    work::two_threads();
    let operation = |bodies: &mut Bodies| {
        let velocities = bodies.velocities.par_chunks(BATCH);
        let batches = bodies.positions.par_chunks_mut(BATCH).zip(velocities);
        batches.for_each(|(positions, velocities)| work::advance_all(positions, velocities));
    };
    cell.run(Bodies::new(MILLION), operation, Bodies::result)
}

pub(super) fn frag_iter(cell: Cell) -> Reading {
    fn fragment<M: Mark>() -> Vec<Data> {
        (0..FRAGMENT).map(work::data).collect()
    }
    type Tables = Vec<Vec<Data>>;
    fn pass(tables: &mut Tables, factor: f32) {
        for table in tables {
            for data in table {
                data.0 *= factor;
            }
        }
    }
    let tables: Tables = all_marks!(fragment).into_iter().map(|make| make()).collect();
    let operation = |tables: &mut Tables| work::passes(|factor| pass(tables, factor));
    cell.run(tables, operation, |tables| {
        pass(tables, work::LAST_PASS);
        work::in_any_order(tables.iter().flatten().map(|data| work::row([data.0])))
    })
}

/// Measures a loop over the matching tables, however many others exist.
pub(super) fn query(cell: Cell) -> Reading {
    type Tables = Vec<Vec<A>>;
    let tables: Tables =
        (0..20).map(|_| (0..FRAGMENT).map(|index| A(index as f32)).collect()).collect();
    let operation = |tables: &mut Tables| {
        for table in tables {
            for a in table {
                a.0 += 1.0;
            }
        }
    };
    cell.run(tables, operation, |tables| {
        work::in_any_order(tables.iter().flatten().map(|a| work::row([a.0])))
    })
}

pub(super) fn heavy_compute(cell: Cell) -> Reading {
    work::two_threads();
    type Heavy = (Vec<Transform>, Vec<Position>);
    let heavy: Heavy = (0..HEAVY).map(work::heavy).map(|(t, p, ..)| (t, p)).unzip();
    let operation = |(transforms, positions): &mut Heavy| {
        let rows = transforms.par_iter_mut().zip(positions);
        rows.for_each(|(transform, position)| work::invert(transform, position));
    };
    cell.run(heavy, operation, |(transforms, positions)| {
        let rows = transforms.iter().zip(positions.iter());
        work::in_any_order(rows.map(|(t, p)| work::heavy_row(t, p)))
    })
}

/// Looks entities up by row number, without a check that the entity still exists.
pub(super) fn lookup(cell: Cell) -> Reading {
    let positions: Vec<Position> = (0..MILLION).map(|index| work::body(index).0).collect();
    let targets: Vec<u32> = work::shuffled((0..MILLION as u32).collect());
    let operation = |sums: &mut Vec<A>| {
        for (sum, &target) in sums.iter_mut().zip(black_box(&targets)) {
            work::take(sum, &positions[target as usize]);
        }
    };
    cell.run(vec![A(0.0); MILLION], operation, |sums| {
        work::in_any_order(positions.iter().zip(sums).map(|(p, a)| work::taken_row(p, a)))
    })
}

/// Copies all columns, and the entity of each row, to a new table with one more column.
pub(super) fn add_comp(cell: Cell) -> Reading {
    let entities: Vec<u64> = (0..MILLION as u64).collect();
    let source = Bodies::new(MILLION);
    type Copied = Option<(Vec<u64>, Bodies, Vec<B>)>;
    let operation = |copied: &mut Copied| {
        *copied = Some((entities.clone(), source.clone(), vec![B(black_box(1.0)); MILLION]));
    };
    cell.run_afresh(
        || None,
        operation,
        |copied| {
            let (_, bodies, added) = copied.take().expect("it was copied");
            let rows = bodies.positions.iter().zip(&bodies.velocities).zip(&added);
            work::in_any_order(rows.map(|((p, v), b)| work::added_row(p, v, b.0)))
        },
    )
}

/// Sets one bit for each entity.
pub(super) fn toggle(cell: Cell) -> Reading {
    type Toggled = (bool, Vec<u64>);
    let operation = |(enabled, bits): &mut Toggled| {
        *enabled = !*enabled;
        bits.fill(if *enabled { u64::MAX } else { 0 });
        black_box(bits);
    };
    let result =
        |(_, bits): &mut Toggled| bits.iter().map(|word| u64::from(word.count_ones())).sum();
    cell.run((true, vec![u64::MAX; MILLION / WORD]), operation, result)
}

pub(super) fn enabled(cell: Cell, pattern: Pattern) -> Reading {
    let bits = mask(pattern);
    let operation = |Bodies { positions, velocities }: &mut Bodies| {
        let rows = positions.chunks_mut(WORD).zip(velocities.chunks(WORD));
        for (&bits, (positions, velocities)) in bits.iter().zip(rows) {
            each_run(bits, |start, end| {
                work::advance_all(&mut positions[start..end], &velocities[start..end]);
            });
        }
    };
    cell.run(Bodies::new(MILLION), operation, Bodies::result)
}

/// Returns one bit for each entity, which is set if the entity is enabled.
pub(super) fn mask(pattern: Pattern) -> Vec<u64> {
    let word = |first: usize| {
        (0..WORD).fold(0, |bits, bit| bits | (u64::from(pattern(first + bit)) << bit))
    };
    (0..MILLION).step_by(WORD).map(word).collect()
}

/// Finds the runs of set bits of a word: their start and end.
#[inline]
pub(super) fn each_run(mut bits: u64, mut run: impl FnMut(usize, usize)) {
    while bits != 0 {
        let start = bits.trailing_zeros();
        let end = start + (!(bits >> start)).trailing_zeros();
        run(start as usize, end as usize);
        bits = if end == u64::BITS { 0 } else { bits >> end << end };
    }
}

/// Rows with one bit each, which is set if the row was written.
struct Marked {
    values: Vec<A>,
    written: Vec<u64>,
    turn: usize,
}

pub(super) fn changed(cell: Cell, indices: &[usize]) -> Reading {
    let marked =
        Marked { values: vec![A(0.0); MILLION], written: vec![0; MILLION / WORD], turn: 0 };
    let shared = RefCell::new(marked);
    let make = || {
        let Marked { values, written, turn } = &mut *shared.borrow_mut();
        *turn += 1;
        written.fill(0);
        for &index in indices {
            values[index] = work::changed_value(index, *turn);
            written[index / WORD] |= 1 << (index % WORD);
        }
        0.0
    };
    let operation = |sum: &mut f32| {
        let Marked { values, written, .. } = &*shared.borrow();
        let mut found = 0.0;
        for (&bits, values) in written.iter().zip(values.chunks_exact(WORD)) {
            let mut bits = bits;
            while bits != 0 {
                found += values[bits.trailing_zeros() as usize].0;
                bits &= bits - 1;
            }
        }
        *sum = found;
    };
    cell.run_afresh(make, operation, |sum| sum.to_bits().into())
}

/// Measures writes with one version for every few hundred rows.
pub(super) fn tracked_write(cell: Cell) -> Reading {
    type Tracked = (Bodies, Vec<u32>, u32);
    let operation = |(bodies, versions, version): &mut Tracked| {
        *version = version.wrapping_add(1);
        let chunks = bodies.positions.chunks_mut(CHUNK).zip(bodies.velocities.chunks(CHUNK));
        for (written, (positions, velocities)) in versions.iter_mut().zip(chunks) {
            *written = *version;
            work::advance_all(positions, velocities);
        }
    };
    let tracked = (Bodies::new(MILLION), vec![0; MILLION.div_ceil(CHUNK)], 0);
    cell.run(tracked, operation, |(bodies, versions, version)| {
        assert!(versions.iter().all(|written| written == version), "all were written");
        bodies.result()
    })
}

/// Measures a parallel loop of rayon over a single row.
pub(super) fn empty_parallel(cell: Cell) -> Reading {
    work::two_threads();
    let operation = |values: &mut Vec<A>| {
        black_box(values).par_iter_mut().for_each(|a| a.0 += 1.0);
    };
    cell.run(vec![A(0.0)], operation, |values| values[0].0.to_bits().into())
}

/// Four columns.
type Four = ((Vec<A>, Vec<B>), (Vec<C>, Vec<D>));

pub(super) fn two_jobs(cell: Cell) -> Reading {
    work::two_threads();
    let operation = |((a, b), (c, d)): &mut Four| {
        rayon::join(
            || a.iter_mut().zip(b).for_each(|(a, b)| a.0 += b.0),
            || c.iter_mut().zip(d).for_each(|(c, d)| c.0 += d.0),
        );
    };
    let four: Four = (0..MILLION).map(work::four).map(|(a, b, c, d)| ((a, b), (c, d))).unzip();
    cell.run(four, operation, |((a, b), (c, d))| {
        let rows = a.iter().zip(b.iter()).zip(c.iter().zip(d.iter()));
        work::in_any_order(rows.map(|((a, b), (c, d))| work::four_row(a, b, c, d)))
    })
}

/// Two tables, one with an additional column, and the row of each entity.
struct Pair {
    without: Vec<(u32, A)>,
    with: Vec<(u32, A, B)>,
    rows: Vec<u32>,
}

impl Pair {
    fn new() -> Self {
        Pair {
            without: (0..FEW as u32).map(|index| (index, A(index as f32))).collect(),
            with: Vec::new(),
            rows: (0..FEW as u32).collect(),
        }
    }

    fn add_and_remove(&mut self) {
        for entity in 0..FEW {
            let row = self.rows[entity] as usize;
            let (index, a) = self.without.swap_remove(row);
            if let Some(&(moved, _)) = self.without.get(row) {
                self.rows[moved as usize] = row as u32;
            }
            self.rows[entity] = self.with.len() as u32;
            self.with.push((index, a, B(black_box(1.0))));
        }
        for entity in 0..FEW {
            let row = self.rows[entity] as usize;
            let (index, a, _) = self.with.swap_remove(row);
            if let Some(&(moved, ..)) = self.with.get(row) {
                self.rows[moved as usize] = row as u32;
            }
            self.rows[entity] = self.without.len() as u32;
            self.without.push((index, a));
        }
    }
}

/// Measures the loop and the changes at the same time, on two threads.
pub(super) fn unrelated_structural(cell: Cell) -> Reading {
    work::two_threads();
    let operation = |(bodies, pair): &mut (Bodies, Pair)| {
        rayon::join(|| bodies.advance(), || pair.add_and_remove());
    };
    cell.run((Bodies::new(MILLION), Pair::new()), operation, |(bodies, pair)| {
        let others = work::in_any_order(pair.without.iter().map(|(_, a)| work::row([a.0])));
        bodies.result().wrapping_add(others)
    })
}
