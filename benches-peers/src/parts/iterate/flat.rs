//! The limit with the CPU's widest vectors: columns of plain numbers, in loops compiled for the CPU at hand.

use ancho_burst::dispatch;
use glam::Vec3;
use rayon::prelude::*;

use super::raw;
use super::types::*;
use super::work::{self, BATCH, FEW, MILLION, Pattern};
use crate::harness::{Cell, Reading};

/// Numbers of a position, or of a velocity.
const LANES: usize = 3;

/// Bodies whose vectors are three contiguous numbers.
struct Bodies {
    positions: Vec<f32>,
    velocities: Vec<f32>,
}

impl Bodies {
    fn new(count: usize, body: impl Fn(usize) -> (Position, Velocity)) -> Self {
        let flat = |vectors: &mut dyn Iterator<Item = Vec3>| {
            vectors.flat_map(|vector| vector.to_array()).collect()
        };
        Bodies {
            positions: flat(&mut (0..count).map(|index| body(index).0.0)),
            velocities: flat(&mut (0..count).map(|index| body(index).1.0)),
        }
    }

    fn million() -> Self {
        Bodies::new(MILLION, work::body)
    }

    fn advance(&mut self) {
        advance(&mut self.positions, &self.velocities);
    }

    fn rows(&self) -> impl Iterator<Item = (Position, Velocity)> {
        let positions = self.positions.chunks_exact(LANES).map(Vec3::from_slice).map(Position);
        positions.zip(self.velocities.chunks_exact(LANES).map(Vec3::from_slice).map(Velocity))
    }

    fn result(&mut self) -> u64 {
        work::in_any_order(self.rows().map(|(p, v)| work::body_row(&p, &v)))
    }
}

fn advance(positions: &mut [f32], velocities: &[f32]) {
    dispatch(
        #[inline(always)]
        || add(positions, velocities),
    );
}

#[inline(always)]
fn add(sums: &mut [f32], addends: &[f32]) {
    for (sum, addend) in sums.iter_mut().zip(addends) {
        *sum += addend;
    }
}

pub(super) fn simple_iter(cell: Cell) -> Reading {
    let (transform, position, rotation, velocity) = work::simple();
    let bodies = Bodies::new(FEW, |_| (position, velocity));
    cell.run(bodies, Bodies::advance, |bodies| {
        let rows = bodies.rows();
        work::in_any_order(rows.map(|(p, v)| work::simple_row(&transform, &p, &rotation, &v)))
    })
}

pub(super) fn iter(cell: Cell) -> Reading {
    cell.run(Bodies::million(), Bodies::advance, Bodies::result)
}

pub(super) fn iter_par(cell: Cell) -> Reading {
    work::two_threads();
    let operation = |bodies: &mut Bodies| {
        let velocities = bodies.velocities.par_chunks(LANES * BATCH);
        let batches = bodies.positions.par_chunks_mut(LANES * BATCH).zip(velocities);
        batches.for_each(|(positions, velocities)| advance(positions, velocities));
    };
    cell.run(Bodies::million(), operation, Bodies::result)
}

/// Processes one mask word at a time. If the word has both states, all rows are computed, and only the results of enabled rows
/// are kept: random runs are too short for branches.
pub(super) fn enabled(cell: Cell, pattern: Pattern) -> Reading {
    const ROWS: usize = LANES * u64::BITS as usize;
    let mask = raw::mask(pattern);
    let spread: Vec<Spread> = (0..=u8::MAX).map(spread).collect();
    let operation = |Bodies { positions, velocities }: &mut Bodies| {
        dispatch(
            #[inline(always)]
            || {
                let rows = positions.chunks_exact_mut(ROWS).zip(velocities.chunks_exact(ROWS));
                for (&bits, (positions, velocities)) in mask.iter().zip(rows) {
                    match bits {
                        0 => {}
                        u64::MAX => add(positions, velocities),
                        _ => add_some(positions, velocities, bits, &spread),
                    }
                }
            },
        );
    };
    cell.run(Bodies::million(), operation, Bodies::result)
}

/// Number of numbers in eight rows.
const EIGHT: usize = LANES * u8::BITS as usize;
/// A mask for each number of eight rows: -1 if the row is enabled, or 0.
type Spread = [i8; EIGHT];

/// Expands each bit to the numbers of its row.
fn spread(bits: u8) -> Spread {
    std::array::from_fn(|number| -((bits >> (number / LANES) & 1) as i8))
}

/// Adds the addends to the rows whose bit is set.
#[inline(always)]
fn add_some(sums: &mut [f32], addends: &[f32], bits: u64, spread: &[Spread]) {
    let rows = sums.chunks_exact_mut(EIGHT).zip(addends.chunks_exact(EIGHT));
    for (bits, (sums, addends)) in bits.to_le_bytes().into_iter().zip(rows) {
        let numbers = sums.iter_mut().zip(addends).zip(&spread[usize::from(bits)]);
        for ((sum, addend), &on) in numbers {
            let on = i32::from(on).cast_unsigned();
            *sum = f32::from_bits(((*sum + addend).to_bits() & on) | (sum.to_bits() & !on));
        }
    }
}

type Four = [Vec<f32>; 4];

pub(super) fn two_loops(cell: Cell) -> Reading {
    four(cell, |[a, b, c, d]| {
        advance(a, b);
        advance(c, d);
    })
}

pub(super) fn two_jobs(cell: Cell) -> Reading {
    work::two_threads();
    four(cell, |[a, b, c, d]| _ = rayon::join(|| advance(a, b), || advance(c, d)))
}

fn four(cell: Cell, operation: fn(&mut Four)) -> Reading {
    let mut four = Four::default();
    for index in 0..MILLION {
        let (a, b, c, d) = work::four(index);
        for (column, value) in four.iter_mut().zip([a.0, b.0, c.0, d.0]) {
            column.push(value);
        }
    }
    cell.run(four, operation, |[a, b, c, d]| {
        let row = |index: usize| work::row([a[index], b[index], c[index], d[index]]);
        work::in_any_order((0..MILLION).map(row))
    })
}
