//! Double buffering with two arrays, and jobs scheduled far ahead.
//!
//! Each generation of Conway's Game of Life reads one array and writes the other, so a job never reads a partial
//! generation. The arrays are swapped right after scheduling, long before the job runs: a job keeps the array that it
//! captured. All generations can therefore be scheduled in a row, each after the previous one, and completed once.

use std::time::Instant;

use ancho::burst::math::Random;
use ancho::jobs::{AccessError, JobHandle, JobScheduler, JobSlice, ScheduleError};

use crate::gallery::{JobSample, Kind, Sample, SampleResult, Stage};
use crate::state_hash::StateHash;

pub(crate) const SAMPLE: Sample = Sample {
    name: "life",
    summary: "the Game of Life in two arrays, generations scheduled ahead",
    kind: Kind::Jobs(JobSample {
        frames: 60,
        show,
        state_hash: |jobs, frames| Board::random(SIZE, SIZE).run(jobs, frames),
    }),
};

const SIZE: usize = 512;
/// Number of rows in a batch.
const ROWS: usize = 8;

/// A board without edges: opposite sides are connected.
struct Board {
    width: usize,
    /// The latest generation, row by row: 1 for a living cell, 0 for a dead cell.
    current: JobSlice<u8>,
    /// The previous generation, which the next one overwrites.
    next: JobSlice<u8>,
}

impl Board {
    fn new(width: usize, cells: Vec<u8>) -> Self {
        let next = JobSlice::new(cells.len(), 0).named("cells B");
        Self { width, current: JobSlice::from(cells).named("cells A"), next }
    }

    fn random(width: usize, height: usize) -> Self {
        let cell = |i| u8::from(Random::from_index(0, i).chance(0.3));
        Self::new(width, (0..(width * height) as u64).map(cell).collect())
    }

    fn schedule_generation(
        &mut self,
        jobs: &JobScheduler,
        after: JobHandle,
    ) -> Result<JobHandle, ScheduleError> {
        let width = self.width;
        let data = (self.current.read(), self.next.write());
        // A batch is a number of whole rows, and each call has exclusive access to its rows of `next`.
        let job = jobs.named("Generation").schedule_parallel(
            &[after],
            data,
            self.current.len(),
            width * ROWS,
            move |(current, next), range| {
                let height = current.len() / width;
                let row = |y: usize| &current[y % height * width..][..width];
                let first = range.start / width;
                for (y, next) in (first..).zip(next.chunks_exact_mut(width)) {
                    step_row(row(y + height - 1), row(y), row(y + 1), next);
                }
            },
        )?;
        std::mem::swap(&mut self.current, &mut self.next);
        Ok(job)
    }

    /// Schedules a number of generations, completes them, and returns the hash of the last.
    fn run(&mut self, jobs: &JobScheduler, generations: u32) -> SampleResult<u64> {
        let mut last = JobHandle::COMPLETED;
        for _ in 0..generations {
            last = self.schedule_generation(jobs, last)?;
        }
        jobs.complete(last);
        let mut hash = StateHash::new();
        hash.add_bytes(self.current.as_slice()?);
        Ok(hash.finish())
    }

    fn population(&self) -> Result<usize, AccessError> {
        Ok(self.current.as_slice()?.iter().map(|&cell| usize::from(cell)).sum())
    }

    /// Draws the upper left corner.
    fn corner(&self, width: usize, height: usize) -> Result<String, AccessError> {
        let draw = |row: &[u8]| -> String {
            row.iter().take(width).map(|&cell| if cell == 1 { '#' } else { '.' }).collect()
        };
        let rows = self.current.as_slice()?.chunks_exact(self.width);
        Ok(rows.take(height).map(draw).collect::<Vec<_>>().join("\n"))
    }
}

/// Writes the next generation of one row. The first and the last column are neighbours.
fn step_row(above: &[u8], row: &[u8], below: &[u8], next: &mut [u8]) {
    let last = row.len() - 1;
    // Windows instead of indices: the compiler removes the bounds checks, and vectorises the loop.
    let windows = above.windows(3).zip(row.windows(3)).zip(below.windows(3));
    for (next, ((above, row), below)) in next[1..last].iter_mut().zip(windows) {
        *next = step_cell(above, row, below);
    }
    for (left, x, right) in [(last, 0, 1), (last - 1, last, 0)] {
        let window = |row: &[u8]| [row[left], row[x], row[right]];
        next[x] = step_cell(&window(above), &window(row), &window(below));
    }
}

/// Returns the next state of the cell in the middle of three by three.
fn step_cell(above: &[u8], row: &[u8], below: &[u8]) -> u8 {
    let sum = |row: &[u8]| row[0] + row[1] + row[2];
    let around = sum(above) + row[0] + row[2] + sum(below);
    // Alive with three living neighbours, or with two if alive: `around | cell` is 3 in exactly these cases.
    u8::from((around | row[1]) == 3)
}

fn show(stage: &Stage<'_>) -> SampleResult<()> {
    let mut board = Board::random(SIZE, SIZE);
    say!("living cells at the start: {}", board.population()?);
    let start = Instant::now();
    board.run(stage.jobs, stage.frames)?;
    let seconds = start.elapsed().as_secs_f64();
    say!("living cells {} generations later: {}", stage.frames, board.population()?);
    say!(
        "{SIZE} x {SIZE} cells on {} threads: {:.3} ms a generation, {:.2} billion cells a second",
        stage.jobs.thread_count(),
        seconds * 1000.0 / f64::from(stage.frames),
        (SIZE * SIZE) as f64 * f64::from(stage.frames) / seconds / 1e9,
    );
    say!("the upper left corner:\n{}", board.corner(64, 16)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use ancho::jobs::JobPool;

    use super::*;
    use crate::gallery::hash_in_all_cases;

    fn board(rows: &[&str]) -> Board {
        let cells = rows.concat().bytes().map(|cell| u8::from(cell == b'#')).collect();
        Board::new(rows[0].len(), cells)
    }

    #[track_caller]
    fn assert_after(board: &mut Board, generations: u32, expected: &[&str]) {
        let jobs = JobScheduler::new(&JobPool::new());
        board.run(&jobs, generations).unwrap();
        assert_eq!(board.corner(100, 100).unwrap(), expected.join("\n"));
    }

    const GLIDER: [&str; 6] = [
        ".#....", //
        "..#...", "###...", "......", "......", "......",
    ];

    #[test]
    fn a_glider_takes_a_step() {
        let mut board = board(&GLIDER);
        assert_after(&mut board, 1, &["......", "#.#...", ".##...", ".#....", "......", "......"]);
        assert_after(&mut board, 3, &["......", "..#...", "...#..", ".###..", "......", "......"]);
    }

    #[test]
    fn a_glider_comes_back_from_around_the_board() {
        // A glider moves by one cell in each direction in four generations.
        assert_after(&mut board(&GLIDER), 6 * 4, &GLIDER);
    }

    #[test]
    fn the_state_is_the_same_in_all_cases() {
        // The last batch has fewer rows than the others.
        hash_in_all_cases(|jobs| Board::random(48, 4 * ROWS + 3).run(jobs, 20)).unwrap();
    }
}
