//! A frame is a graph of parallel jobs, and a sum need not depend on the threads.
//!
//! Each property of the particles is an array of its own (a structure of arrays): a job takes the ones
//! it needs, its loop runs over numbers that lie side by side, and jobs that need different ones may
//! run at the same time:
//!
//! ```text
//! Integrate ──┬── Bounce x ──┬── Add up blocks ── Add up
//!             └── Bounce y ──┘
//! ```
//!
//! Adding floats in another order gives another sum. So the energy is added up in blocks of fixed size,
//! never by thread, and the blocks in the order of their numbers.

use std::time::Instant;

use ancho::jobs::{
    AccessError, JobBuilder, JobCell, JobHandle, JobScheduler, JobSlice, ScheduleError,
};

use crate::gallery::{Sample, SampleResult, Stage};
use crate::random;
use crate::state_hash::StateHash;

pub(crate) const SAMPLE: Sample = Sample {
    name: "particles",
    summary: "200,000 particles in arrays, moved by a graph of parallel jobs",
    show,
    state_hash: |jobs, frames| {
        let mut particles = Particles::new(COUNT);
        particles.run(jobs, frames)?;
        Ok(particles.hash()?)
    },
};

const COUNT: usize = 200_000;
/// How many particles one call moves: enough to be worth the call, few enough to share out evenly.
const BATCH: usize = 4096;
/// How many particles are added up together. Another number here is another sum.
const BLOCK: usize = 4096;

const GRAVITY: f32 = 9.81;
const TIME_STEP: f32 = 1.0 / 60.0;
/// The particles are in a box from zero to this.
const BOX: f32 = 100.0;
/// How much speed a bounce leaves.
const BOUNCE: f32 = 0.9;

struct Particles {
    x: JobSlice<f32>,
    y: JobSlice<f32>,
    velocity_x: JobSlice<f32>,
    velocity_y: JobSlice<f32>,
    block_energy: JobSlice<f64>,
    energy: JobCell<f64>,
}

impl Particles {
    fn new(count: usize) -> Self {
        // Four numbers for each particle, one of them for each array.
        let random = |property: u64, least: f32, most: f32| {
            let number = |i| least + (most - least) * random::unit(i * 4 + property);
            JobSlice::from((0..count as u64).map(number).collect::<Vec<_>>())
        };
        Self {
            x: random(0, 0.0, BOX).named("x"),
            y: random(1, 0.0, BOX).named("y"),
            velocity_x: random(2, -20.0, 20.0).named("velocity_x"),
            velocity_y: random(3, -20.0, 20.0).named("velocity_y"),
            block_energy: JobSlice::new(count.div_ceil(BLOCK), 0.0).named("block_energy"),
            energy: JobCell::new(0.0).named("energy"),
        }
    }

    /// Schedules the jobs of one frame. Nothing runs yet.
    fn schedule_frame(&mut self, jobs: &JobScheduler) -> Result<JobHandle, ScheduleError> {
        let moved = self.schedule_integrate(jobs)?;
        let in_x = jobs.named("Bounce x");
        let in_x = schedule_bounce(in_x, moved, &mut self.x, &mut self.velocity_x)?;
        let in_y = jobs.named("Bounce y");
        let in_y = schedule_bounce(in_y, moved, &mut self.y, &mut self.velocity_y)?;
        self.schedule_energy(jobs, &[in_x, in_y])
    }

    fn schedule_integrate(&mut self, jobs: &JobScheduler) -> Result<JobHandle, ScheduleError> {
        let count = self.x.len();
        let Self { x, y, velocity_x, velocity_y, .. } = self;
        let data = (x.write(), y.write(), velocity_x.read(), velocity_y.write());
        // What is written is the batch's own part, from its first element on; what is read is the
        // whole array.
        jobs.named("Integrate").schedule_parallel(
            &[],
            data,
            count,
            BATCH,
            |(x, y, velocity_x, velocity_y), range| {
                for (x, velocity_x) in x.iter_mut().zip(&velocity_x[range]) {
                    *x += velocity_x * TIME_STEP;
                }
                for (y, velocity_y) in y.iter_mut().zip(velocity_y) {
                    *velocity_y -= GRAVITY * TIME_STEP;
                    *y += *velocity_y * TIME_STEP;
                }
            },
        )
    }

    fn schedule_energy(
        &mut self,
        jobs: &JobScheduler,
        after: &[JobHandle],
    ) -> Result<JobHandle, ScheduleError> {
        let Self { y, velocity_x, velocity_y, block_energy, energy, .. } = self;
        let blocks = block_energy.len();
        let data = (block_energy.write(), y.read(), velocity_x.read(), velocity_y.read());
        // The blocks are the indices here, one for each call.
        let in_blocks = jobs.named("Add up blocks").schedule_for_each(
            after,
            data,
            blocks,
            1,
            |(block_energy, y, velocity_x, velocity_y), block| {
                let first = block * BLOCK;
                let block = first..y.len().min(first + BLOCK);
                let speeds = velocity_x[block.clone()].iter().zip(&velocity_y[block.clone()]);
                *block_energy = speeds
                    .zip(&y[block])
                    .map(|((x, y), height)| f64::from((x * x + y * y) / 2.0 + GRAVITY * height))
                    .sum();
            },
        )?;
        let data = (block_energy.read(), energy.write());
        jobs.named("Add up").schedule(&[in_blocks], data, |(block_energy, energy)| {
            *energy = block_energy.iter().sum();
        })
    }

    fn run(&mut self, jobs: &JobScheduler, frames: u32) -> Result<(), ScheduleError> {
        for _ in 0..frames {
            let frame = self.schedule_frame(jobs)?;
            jobs.complete(frame);
        }
        Ok(())
    }

    fn hash(&self) -> Result<u32, AccessError> {
        let mut hash = StateHash::new();
        for property in [&self.x, &self.y, &self.velocity_x, &self.velocity_y] {
            hash.add_f32(property.as_slice()?);
        }
        hash.add_f64(*self.energy.get()?);
        Ok(hash.finish())
    }

    fn energy_per_particle(&self) -> Result<f64, AccessError> {
        Ok(*self.energy.get()? / self.x.len() as f64)
    }
}

/// Turns back what has left the box, in one direction.
fn schedule_bounce(
    job: JobBuilder<'_>,
    moved: JobHandle,
    position: &mut JobSlice<f32>,
    velocity: &mut JobSlice<f32>,
) -> Result<JobHandle, ScheduleError> {
    let count = position.len();
    let data = (position.write(), velocity.write());
    job.schedule_parallel(&[moved], data, count, BATCH, |(position, velocity), _| {
        for (position, velocity) in position.iter_mut().zip(velocity) {
            let inside = position.clamp(0.0, BOX);
            // A choice between two values, rather than a branch: that is done for many at once.
            *velocity = if inside == *position { *velocity } else { *velocity * -BOUNCE };
            *position = inside;
        }
    })
}

fn show(stage: &Stage<'_>) -> SampleResult<()> {
    let Stage { jobs, frames, .. } = *stage;
    let mut particles = Particles::new(COUNT);
    // The first frame takes the memory that the others use again, and is not timed.
    particles.run(jobs, 1)?;
    println!("energy per particle at the start:  {:.3}", particles.energy_per_particle()?);

    let timed = frames - 1;
    let start = Instant::now();
    particles.run(jobs, timed)?;
    let seconds = start.elapsed().as_secs_f64();

    println!("energy per particle at the end:    {:.3}", particles.energy_per_particle()?);
    println!(
        "{frames} frames on {} threads: {:.3} ms a frame, {:.0} million particles a second",
        jobs.thread_count(),
        seconds * 1000.0 / f64::from(timed),
        COUNT as f64 * f64::from(timed) / seconds / 1e6,
    );
    println!("state hash {:08x}", particles.hash()?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use ancho::jobs::JobPool;

    use super::*;
    use crate::headless::hash_in_all_cases;

    #[test]
    fn the_state_is_the_same_in_all_cases() {
        // Not a multiple of the block: the last one is shorter.
        let hash = |jobs: &JobScheduler| {
            let mut particles = Particles::new(3 * BLOCK + 17);
            particles.run(jobs, 5)?;
            Ok(particles.hash()?)
        };
        hash_in_all_cases(hash).unwrap();
    }

    #[test]
    fn particles_stay_in_the_box_and_lose_energy() {
        let jobs = JobScheduler::new(&JobPool::new());
        let mut particles = Particles::new(1000);
        particles.run(&jobs, 1).unwrap();
        let at_first = particles.energy_per_particle().unwrap();
        particles.run(&jobs, 200).unwrap();
        assert!(particles.energy_per_particle().unwrap() < at_first);
        for position in [&particles.x, &particles.y] {
            assert!(position.as_slice().unwrap().iter().all(|p| (0.0..=BOX).contains(p)));
        }
    }
}
