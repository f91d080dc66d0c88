//! Scripts of jobs that produce the same world on any number of threads, and in a loop on one thread.

use ancho_entities::{
    Buffer, Changed, ChunkInJob, ChunkJob, Component, EnabledMut, Entity, EntityAt, EntityJob,
    IndexInQuery, JobLookup, Lookup, Query, QueryArray, Version, With, Without, World,
    WorldSettings,
};
use ancho_jobs::{ExecutionMode, ParallelFor, ParallelJobStruct};

use crate::jobs::common::*;

/// A reference to another entity, which may be dead.
#[derive(Component, Clone, Copy, Debug)]
#[component(name = "jobs::Link")]
struct Link(Entity);

/// A small random number generator (SplitMix64), so that scripts are the same each time.
#[derive(Clone)]
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ bits >> 31) % u64::from(below)) as u32
    }
}

/// One step of a script: its kind, and a number for its arguments.
#[derive(Clone, Copy, Debug)]
struct Step {
    kind: u32,
    number: u32,
    other: u32,
}

fn script(seed: u64, steps: usize) -> Vec<Step> {
    let mut numbers = Numbers(seed);
    let mut step =
        || Step { kind: numbers.next(16), number: numbers.next(1000), other: numbers.next(1000) };
    (0..steps).map(|_| step()).collect()
}

#[derive(ParallelJobStruct)]
struct Follow<'a> {
    all: JobLookup<'a, &'static A>,
    by: u32,
}

impl EntityJob for Follow<'_> {
    type Query = (&'static Link, &'static mut B);

    fn execute(job: &mut FollowBatch<'_>, (link, b): (&Link, &mut B), at: EntityAt) {
        b.0 = b.0.wrapping_mul(31).wrapping_add(at.in_query as u64);
        b.0 = b.0.wrapping_add(job.all.get(link.0).map_or(1, |a| (a.0 ^ *job.by).into()));
    }
}

#[derive(ParallelJobStruct)]
struct Even {
    add: u32,
}

impl ChunkJob for Even {
    type Query = &'static mut A;

    fn execute(job: &mut EvenBatch<'_>, mut chunk: ChunkInJob<'_, &'static mut A>) {
        let number = chunk.in_query().start as u32;
        chunk.for_each_run(|all| {
            let sum = all.iter().fold(number, |sum, a| sum.wrapping_add(a.0));
            all.iter_mut().for_each(|a| a.0 = a.0.wrapping_add(sum ^ *job.add));
        });
    }
}

#[derive(ParallelJobStruct)]
struct ByNumber<'a> {
    all: QueryArray<'a, (&'static mut A, &'static B)>,
}

impl ParallelFor for ByNumber<'_> {
    fn execute(job: ByNumberItem<'_>, index: usize) {
        job.all.0.0 = job.all.0.0.wrapping_add(job.all.1.0 as u32 ^ index as u32);
    }
}

/// A player that runs steps by jobs, or by loops.
struct Player {
    world: World,
    all: Vec<Entity>,
    by_jobs: bool,
    since: Version,
}

impl Player {
    fn new(world: World, by_jobs: bool) -> Self {
        let since = world.version();
        let mut player = Self { world, all: Vec::new(), by_jobs, since };
        for number in 0..300 {
            player.spawn(number);
        }
        player
    }

    fn entity(&self, number: u32) -> Entity {
        self.all[number as usize % self.all.len()]
    }

    fn spawn(&mut self, number: u32) {
        let link = Link(if self.all.is_empty() { Entity::NULL } else { self.entity(number * 7) });
        let (a, b) = (A(number), B(number.into()));
        let entity = match number % 3 {
            0 => self.world.spawn((a, b, X(number), link)),
            1 => self.world.spawn((a, X(number), T(number), Buffer::<Item>::new())),
            _ => self.world.spawn((a, b, T(number), link, Tag)),
        };
        self.all.push(entity);
    }

    #[expect(clippy::too_many_lines, reason = "one step after the other")]
    fn step(&mut self, Step { kind, number, other }: Step) {
        let (entity, second) = (self.entity(number), self.entity(other));
        let (by_jobs, since) = (self.by_jobs, self.since);
        let world = &mut self.world;
        match kind {
            0 => {
                let add = move |(a, b): (&mut A, &B)| a.0 = a.0.wrapping_add(b.0 as u32 ^ number);
                let mut query = world.query_mut::<(&mut A, &B)>();
                if by_jobs {
                    _ = query.schedule_parallel(add);
                } else {
                    query.for_each(add);
                }
            }
            1 => {
                let (links, all) = world.split::<(Query<(&Link, &mut B)>, Lookup<&A>)>();
                if by_jobs {
                    let job = Follow { all: all.into_job(), by: number };
                    let _ = links.job().schedule_job_parallel(job);
                } else {
                    let mut links = links;
                    for (index, (link, b)) in links.iter_mut().enumerate() {
                        b.0 = b.0.wrapping_mul(31).wrapping_add(index as u64);
                        b.0 =
                            b.0.wrapping_add(all.get(link.0).map_or(1, |a| (a.0 ^ number).into()));
                    }
                }
            }
            2 => {
                let (links, mut all) = world.split::<(Query<(&Link, &B)>, Lookup<&mut A>)>();
                if by_jobs {
                    let job = links.job().with(all.into_job());
                    let _ = job.schedule(move |(link, b), all| {
                        if let Some(a) = all.get_mut(link.0) {
                            a.0 = a.0.rotate_left(1) ^ b.0 as u32;
                        }
                    });
                } else {
                    for (link, b) in links.iter() {
                        if let Some(a) = all.get_mut(link.0) {
                            a.0 = a.0.rotate_left(1) ^ b.0 as u32;
                        }
                    }
                }
            }
            3 => {
                let switch =
                    move |(a, mut on): (&A, EnabledMut<'_, X>)| on.set(a.0 % 5 != number % 5);
                let mut query = world.query_mut::<(&A, EnabledMut<X>)>();
                if by_jobs {
                    _ = query.schedule_parallel(switch);
                } else {
                    query.for_each(switch);
                }
            }
            4 => {
                let add = |a: &mut A| a.0 = a.0.wrapping_mul(3);
                let mut query = world.query_filtered_mut::<&mut A, With<X>>();
                if by_jobs {
                    _ = query.schedule_parallel(add);
                } else {
                    query.for_each(add);
                }
            }
            5 => {
                let add = move |b: &mut B| b.0 ^= u64::from(number);
                let mut query = world.query_filtered_mut::<&mut B, (Without<X>, With<Link>)>();
                if by_jobs { _ = query.schedule(add) } else { query.for_each(add) }
            }
            6 => {
                let mut query = world.query_filtered_mut::<(&mut T, &A), Changed<A>>().since(since);
                let set = |(t, a): (&mut T, &A)| t.0 = t.0.wrapping_add(a.0);
                if by_jobs {
                    _ = query.schedule_parallel(set);
                } else {
                    query.for_each(set);
                }
            }
            7 => {
                let mut query = world.query_filtered_mut::<(&mut A, &T), Changed<T>>().since(since);
                let set = |(a, t): (&mut A, &T)| a.0 = a.0.wrapping_sub(t.0);
                if by_jobs { _ = query.schedule(set) } else { query.for_each(set) }
            }
            8 => {
                let mut query = world.query_mut::<(&mut Buffer<Item>, &A)>();
                if by_jobs {
                    let job = query.schedule_parallel(|(mut items, a)| items.push(Item(a.0)));
                    let _ = job;
                } else {
                    query.for_each(|(mut items, a)| items.push(Item(a.0)));
                }
            }
            9 => {
                let query = world.query_mut::<&mut A>();
                if by_jobs {
                    let _ = query.job().schedule_chunk_job_parallel(Even { add: number });
                } else {
                    query.job().run_chunk_job(Even { add: number });
                }
            }
            10 => {
                let mut query = world.query_mut::<(&mut A, &B)>();
                if by_jobs {
                    let all = query.job().into_array();
                    let (jobs, count) = (all.jobs(), all.len());
                    let _ = jobs.schedule_parallel_for(&[], ByNumber { all }, count, 16).unwrap();
                } else {
                    let mut index = 0_u32;
                    query.for_each(|(a, b)| {
                        a.0 = a.0.wrapping_add(b.0 as u32 ^ index);
                        index += 1;
                    });
                }
            }
            11 => {
                let mut query = world.query_mut::<(&mut T, &X)>();
                if by_jobs {
                    let job = query.job().with(IndexInQuery);
                    let _ = job.schedule_parallel(|(t, _), index| t.0 ^= index as u32);
                } else {
                    let mut index = 0;
                    query.for_each(|(t, _)| {
                        t.0 ^= index;
                        index += 1;
                    });
                }
            }
            12 => (0..number % 20).for_each(|at| self.spawn(number + at)),
            13 => {
                if world.exists(entity) && number % 3 == 0 {
                    world.despawn(entity).unwrap();
                }
            }
            14 => {
                if world.exists(entity) && !world.has::<Tag>(entity) {
                    world.add(entity, Tag).unwrap();
                }
                if world.exists(second) && world.has::<Tag>(second) {
                    world.remove::<Tag>(second).unwrap();
                }
            }
            _ => {
                self.since = world.version();
                world.advance_version();
            }
        }
    }

    fn play(mut self, script: &[Step]) -> Vec<u64> {
        let mut hashes = Vec::new();
        for (at, &step) in script.iter().enumerate() {
            self.step(step);
            // Rarely, so that jobs pile up.
            if at % 50 == 49 {
                hashes.push(self.world.state_hash());
            }
        }
        self.world.check_invariants().unwrap();
        assert!(self.world.jobs().take_failures().is_empty());
        hashes
    }
}

fn world_for(workers: usize) -> World {
    let settings = WorldSettings::new().chunk_capacity_limit(20).job_pool(&pool(workers));
    World::with_settings("Simulation", settings)
}

#[test]
fn every_number_of_threads_produces_the_same_world() {
    for seed in 0..6 {
        let script = script(seed, 200);
        let expected = Player::new(world_for(0), false).play(&script);
        assert!(expected.windows(2).all(|pair| pair[0] != pair[1]), "the script does something");
        for workers in WORKERS {
            let modes = MODES.into_iter().chain([ExecutionMode::Shuffle { seed: 100 + seed }]);
            for mode in modes {
                let world = world_for(workers);
                world.jobs().set_mode(mode);
                let hashes = Player::new(world, true).play(&script);
                assert_eq!(hashes, expected, "seed {seed}, {workers} workers, {mode:?}");
            }
        }
    }
}
