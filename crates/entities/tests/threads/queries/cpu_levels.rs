//! The CPU level at which query loops run.
//!
//! Results are the same at every level, so the test looks at the call stack: each level has its own function.
#![cfg(target_arch = "x86_64")]
#![forbid(unsafe_code)]

use std::backtrace::Backtrace;
use std::hint::black_box;
use std::sync::{Arc, Mutex};

use ancho_burst::{CpuLevel, dispatch};
use ancho_entities::{
    Changed, Component, EntityAt, EntityJob, IndexInQuery, Query, With, World, WorldSettings,
};
use ancho_jobs::{JobPool, ParallelJobStruct};

#[derive(Component, Clone, Copy)]
#[component(name = "dispatch::Number")]
struct Number(u32);

#[derive(Component, Clone, Copy)]
#[component(name = "dispatch::Switch", enableable)]
struct Switch;

/// The call stack of a loop's function.
#[derive(Clone, Default)]
struct Callers(Arc<Mutex<String>>);

impl Callers {
    fn note(&self) {
        let mut callers = self.0.lock().unwrap();
        // One stack is enough: resolving the names takes long.
        if callers.is_empty() {
            *callers = Backtrace::force_capture().to_string();
        }
    }

    /// Returns the levels whose functions are on the stack.
    fn levels(&self, way: &str) -> Vec<CpuLevel> {
        let callers = self.0.lock().unwrap();
        assert!(callers.contains("note"), "{way} has run, and names are known:\n{callers}");
        let is_in = |level: &CpuLevel| callers.contains(&format!("at_{level}"));
        CpuLevel::ALL.into_iter().filter(is_in).collect()
    }
}

#[derive(ParallelJobStruct)]
struct Note {
    callers: Callers,
}

impl EntityJob for Note {
    type Query = &'static mut Number;

    fn execute(job: &mut NoteBatch<'_>, _: &mut Number, _: EntityAt) {
        job.callers.note();
    }
}

/// A kind of query loop whose function records its call stack.
type Way = fn(&mut World, Callers);

const WAYS: &[(&str, Way)] = &[
    ("for_each", |world, callers| {
        world.query_mut::<&mut Number>().for_each(|_| callers.note());
    }),
    ("for_each of what is read", |world, callers| {
        world.query::<&Number>().for_each(|_| callers.note());
    }),
    ("for_each by switches", |world, callers| {
        world.query_filtered_mut::<&mut Number, With<Switch>>().for_each(|_| callers.note());
    }),
    ("for_each by changes", |world, callers| {
        world.query_filtered_mut::<&mut Number, Changed<Number>>().for_each(|_| callers.note());
    }),
    ("for_each of a view", |world, callers| {
        world.split::<Query<&mut Number>>().for_each(|_| callers.note());
    }),
    ("for_each_chunk", |world, callers| {
        world.query_mut::<&mut Number>().for_each_chunk(|_| callers.note());
    }),
    ("for_each_chunk of what is read", |world, callers| {
        world.query::<&Number>().for_each_chunk(|_| callers.note());
    }),
    ("for_each_chunk of a view", |world, callers| {
        world.split::<Query<&mut Number>>().for_each_chunk(|_| callers.note());
    }),
    ("for_each_pair", |world, callers| {
        world.query_mut::<&mut Number>().for_each_pair(|_, _| callers.note());
    }),
    ("for_each_pair of what is read", |world, callers| {
        world.query::<&Number>().for_each_pair(|_, _| callers.note());
    }),
    ("for_each_parallel", |world, callers| {
        world.query_mut::<&mut Number>().for_each_parallel(|_| callers.note());
    }),
    ("for_each_parallel of what is read", |world, callers| {
        world.query::<&Number>().for_each_parallel(|_| callers.note());
    }),
    ("run", |world, callers| {
        world.query_mut::<&mut Number>().job().run(|_| callers.note());
    }),
    ("schedule", |world, callers| {
        let job = world.query_mut::<&mut Number>().schedule(move |_| callers.note());
        world.jobs().complete(job);
    }),
    ("schedule_parallel", |world, callers| {
        let mut query = world.query_mut::<&mut Number>();
        let job = query.schedule_parallel(move |_| callers.note());
        world.jobs().complete(job);
    }),
    ("schedule_parallel by switches", |world, callers| {
        let mut query = world.query_filtered_mut::<&mut Number, With<Switch>>();
        let job = query.schedule_parallel(move |_| callers.note());
        world.jobs().complete(job);
    }),
    ("schedule_parallel with something", |world, callers| {
        let job = world.query_mut::<&mut Number>().job().with(IndexInQuery);
        let job = job.schedule_parallel(move |_, _| callers.note());
        world.jobs().complete(job);
    }),
    ("schedule_chunks_parallel", |world, callers| {
        let job = world.query_mut::<&mut Number>().job();
        let job = job.schedule_chunks_parallel(move |_| callers.note());
        world.jobs().complete(job);
    }),
    ("schedule_job", |world, callers| {
        let job = world.query_mut::<&mut Number>().job().schedule_job(Note { callers });
        world.jobs().complete(job);
    }),
    ("schedule_job_parallel", |world, callers| {
        let job = world.query_mut::<&mut Number>().job();
        let job = job.schedule_job_parallel(Note { callers });
        world.jobs().complete(job);
    }),
];

#[test]
fn every_loop_runs_at_the_level_in_use() {
    let _alone = crate::lock_cpu_level();
    for workers in [0, 1] {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let settings = WorldSettings::new().job_pool(&pool).chunk_capacity_limit(100);
        let mut world = World::with_settings("Simulation", settings);
        let all: Vec<_> = world.spawn_many((Number(0), Switch), 250).collect();
        world.set_component_enabled::<Switch>(all[7], false).unwrap();
        for limit in CpuLevel::ALL {
            let level = limit.limit();
            let callers = Callers::default();
            // Without a value after the call, an optimised kernel ends in a jump, and is not on the stack.
            dispatch(|| {
                callers.note();
                black_box(0)
            });
            let expected = callers.levels("dispatch");
            // The containers that entities depend on enable dispatch, so every build has it.
            assert_eq!(expected, [level]);
            for &(name, way) in WAYS {
                let callers = Callers::default();
                way(&mut world, callers.clone());
                let name = format!("{name} with {workers} workers");
                assert_eq!(callers.levels(&name), expected, "{name}");
            }
        }
    }
}
