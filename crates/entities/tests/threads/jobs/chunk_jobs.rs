//! Chunk jobs, and the calls before and after the entities of a chunk.

use std::sync::{Arc, Mutex};

use ancho_entities::{
    Changed, ChunkInJob, ChunkJob, Component, ComponentType, EnabledMut, Entity, EntityAt,
    EntityJob, IgnoreEnabled, PerChunk, Query, Shared, Version, With, World,
};
use ancho_jobs::{JobHandle, JobSlice, ParallelJobStruct, SliceWrite};

use crate::jobs::common::*;

/// The input of a chunk job: the chunk, the rows of each run, and the values.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    chunk: usize,
    in_query: std::ops::Range<usize>,
    is_whole: bool,
    entities: usize,
    runs: Vec<(std::ops::Range<usize>, Vec<u32>)>,
}

type Log = Arc<Mutex<Vec<Seen>>>;

#[derive(ParallelJobStruct)]
struct Look {
    log: Log,
}

impl ChunkJob for Look {
    type Query = &'static A;

    fn execute(job: &mut LookBatch<'_>, mut chunk: ChunkInJob<'_, &'static A>) {
        let mut runs = Vec::new();
        let (is_whole, entities) = (chunk.is_whole(), chunk.entities().len());
        assert_eq!(chunk.len(), entities);
        let (index, in_query) = (chunk.index(), chunk.in_query());
        chunk.for_each_run_at(|all, rows| {
            assert_eq!(all.len(), rows.len());
            runs.push((rows, all.iter().map(|a| a.0).collect()));
        });
        job.log.lock().unwrap().push(Seen { chunk: index, in_query, is_whole, entities, runs });
    }
}

/// Runs the job in three ways and in all modes, and returns its input, which is always the same.
fn look(
    world: &World,
    job: impl Fn(&World) -> ancho_entities::QueryJob<'_, &'static A>,
) -> Vec<Seen> {
    let mut first: Option<Vec<Seen>> = None;
    for mode in MODES {
        world.jobs().set_mode(mode);
        for way in 0..3 {
            let log = Log::default();
            let look = Look { log: log.clone() };
            let job = job(world);
            match way {
                0 => job.run_chunk_job(look),
                1 => world.jobs().complete(job.schedule_chunk_job(look)),
                _ => {
                    world.jobs().complete(job.schedule_chunk_job_parallel(look));
                }
            }
            let mut log = log.lock().unwrap().clone();
            if way < 2 {
                assert!(log.is_sorted_by_key(|seen| seen.chunk), "in the order of the chunks");
            }
            log.sort_by_key(|seen| seen.chunk);
            assert_eq!(*first.get_or_insert_with(|| log.clone()), log);
        }
    }
    first.unwrap()
}

#[test]
fn a_job_is_called_once_for_each_chunk() {
    let mut world = world_of(3, 10);
    world.spawn_batch((0..25).map(A));
    world.spawn_batch((25..32).map(|at| (A(at), B(1))));
    world.spawn_many(B(1), 100);
    let log = look(&world, |world| world.query::<&A>().job());
    let chunks: Vec<_> = log.iter().map(|seen| (seen.chunk, seen.in_query.clone())).collect();
    assert_eq!(chunks, [(0, 0..10), (1, 10..20), (2, 20..25), (3, 25..32)]);
    assert!(log.iter().all(|seen| seen.is_whole && seen.runs.len() == 1));
    assert!(log.iter().flat_map(|seen| &seen.runs[0].1).copied().eq(0..32));
    assert!(look(&world, |world| world.query_filtered::<&A, With<X>>().job()).is_empty());
}

#[test]
fn chunks_without_matches_are_passed_over_and_keep_their_numbers() {
    let mut world = world_of(3, 10);
    let all: Vec<_> = world.spawn_batch((0..40).map(|at| (A(at), X(at)))).collect();
    let switch = |world: &mut World, at: usize| {
        world.set_component_enabled::<X>(all[at], false).unwrap();
    };
    // All of the second chunk, and some of the third.
    (10..20).for_each(|at| switch(&mut world, at));
    [20, 21, 25, 29].into_iter().for_each(|at| switch(&mut world, at));
    let log = look(&world, |world| world.query_filtered::<&A, With<X>>().job());
    let chunks: Vec<_> = log.iter().map(|seen| (seen.chunk, seen.in_query.clone())).collect();
    assert_eq!(chunks, [(0, 0..10), (2, 10..16), (3, 16..26)]);
    assert_eq!(log[1].entities, 10, "found or not");
    assert_eq!(log[1].runs, [(2..5, vec![22, 23, 24]), (6..9, vec![26, 27, 28])]);
    assert_eq!(log[0].runs, [(0..10, (0..10).collect())]);
}

#[test]
fn chunks_that_have_not_changed_are_passed_over() {
    let mut world = world_of(3, 10);
    let all: Vec<_> = world.spawn_batch((0..40).map(|at| (A(at), B(1)))).collect();
    let since = world.version();
    world.advance_version();
    world.get_mut::<B>(all[13]).unwrap().0 = 2;
    world.get_mut::<B>(all[39]).unwrap().0 = 2;
    let log = look(&world, |world| world.query_filtered::<&A, Changed<B>>().since(since).job());
    let chunks: Vec<_> = log.iter().map(|seen| (seen.chunk, seen.in_query.clone())).collect();
    assert_eq!(chunks, [(1, 0..10), (3, 10..20)]);
}

#[test]
fn chunks_with_other_shared_values_are_passed_over() {
    let mut world = world_of(3, 10);
    world.spawn_batch((0..30).map(|at| (A(at), Shared::new(Team(at / 10)))));
    let log = look(&world, |world| world.query::<&A>().with_shared(Team(1)).job());
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].in_query, 0..10);
    assert!(log[0].runs[0].1.iter().copied().eq(10..20));
}

#[test]
fn rows_that_have_changed_are_runs() {
    let mut world = world_of(3, 10);
    let all: Vec<_> = world.spawn_batch((0..30).map(|at| (A(at), T(at)))).collect();
    let since = world.version();
    world.advance_version();
    for at in [11, 12, 17] {
        world.get_mut::<T>(all[at]).unwrap().0 = 0;
    }
    let log = look(&world, |world| world.query_filtered::<&A, Changed<T>>().since(since).job());
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].runs, [(1..3, vec![11, 12]), (7..8, vec![17])]);
    assert_eq!((log[0].chunk, log[0].in_query.clone()), (1, 0..3));
}

/// The events in each chunk.
type Events = Arc<Mutex<Vec<(usize, String)>>>;

#[derive(ParallelJobStruct)]
struct Told<'a> {
    events: Events,
    passed_over: usize,
    elements: SliceWrite<'a, u32>,
}

impl EntityJob for Told<'_> {
    type Query = (&'static mut A, EnabledMut<'static, X>, &'static X);

    fn execute(
        job: &mut ToldBatch<'_>,
        (a, mut on, _): (&mut A, EnabledMut<'_, X>, &X),
        at: EntityAt,
    ) {
        job.events.lock().unwrap().push((at.chunk, format!("{}:{}", at.row, at.in_query)));
        job.elements[at.in_batch] = a.0;
        on.set(false);
    }

    fn begin_chunk(job: &mut ToldBatch<'_>, chunk: &mut ChunkInJob<'_>) -> bool {
        assert_eq!(job.elements.len(), chunk.in_query().len());
        job.events.lock().unwrap().push((chunk.index(), format!("begin {:?}", chunk.in_query())));
        chunk.index() != *job.passed_over
    }

    fn end_chunk(job: &mut ToldBatch<'_>, chunk: &mut ChunkInJob<'_>) {
        job.events.lock().unwrap().push((chunk.index(), "end".to_owned()));
    }
}

#[test]
fn begin_is_called_before_the_entities_of_a_chunk_and_end_after() {
    for mode in MODES {
        for way in 0..3 {
            let mut world = world_of(3, 4);
            world.jobs().set_mode(mode);
            let all: Vec<_> = world.spawn_batch((0..14).map(|at| (A(at), X(at)))).collect();
            // One of the first chunk, all of the third.
            for at in [1, 8, 9, 10, 11] {
                world.set_component_enabled::<X>(all[at], false).unwrap();
            }
            let events = Events::default();
            let mut elements = JobSlice::new(9, 100);
            let told = Told { events: events.clone(), passed_over: 1, elements: elements.write() };
            let job = world.query_mut::<(&mut A, EnabledMut<X>, &X)>().job();
            let handle = match way {
                0 => {
                    job.run_job(told);
                    JobHandle::COMPLETED
                }
                1 => job.schedule_job(told),
                _ => job.schedule_job_parallel(told),
            };
            world.jobs().complete(handle);
            let events = events.lock().unwrap();
            let of = |chunk: usize| -> Vec<_> {
                let of_chunk = events.iter().filter(|(at, _)| *at == chunk);
                of_chunk.map(|(_, event)| event.as_str()).collect()
            };
            assert_eq!(of(0), ["begin 0..3", "0:0", "2:1", "3:2", "end"]);
            assert_eq!(of(1), ["begin 3..7"], "there was nothing to do");
            assert!(of(2).is_empty(), "nothing was found");
            assert_eq!(of(3), ["begin 7..9", "0:7", "1:8", "end"]);
            assert_eq!(elements.as_slice().unwrap(), [0, 2, 3, 100, 100, 100, 100, 12, 13]);
            assert_eq!(world.query::<&X>().to_entities(), all[4..8]);
        }
    }
}

#[derive(ParallelJobStruct)]
struct Shout {
    /// The numbers of begun chunks, to check that no chunk is begun twice.
    begun: Arc<Mutex<Vec<usize>>>,
}

impl EntityJob for Shout {
    type Query = (Entity, &'static A);

    fn execute(_: &mut ShoutBatch<'_>, _: (Entity, &A), _: EntityAt) {}

    fn begin_chunk(job: &mut ShoutBatch<'_>, chunk: &mut ChunkInJob<'_>) -> bool {
        job.begun.lock().unwrap().push(chunk.index());
        true
    }
}

#[test]
fn a_large_chunk_is_begun_once() {
    let mut world = world_with(4);
    world.spawn_batch((0..10_000).map(A));
    let chunks = world.chunks().count();
    let begun = Arc::new(Mutex::new(Vec::new()));
    let shout = Shout { begun: begun.clone() };
    let job = world.query::<(Entity, &A)>().job().schedule_job_parallel(shout);
    world.jobs().complete(job);
    let mut begun = begun.lock().unwrap().clone();
    begun.sort_unstable();
    assert!(begun.into_iter().eq(0..chunks));
}

/// A job that writes one element for each chunk: the sum of its matches.
#[derive(ParallelJobStruct)]
struct Sum<'a> {
    sums: SliceWrite<'a, u32>,
}

impl ChunkJob for Sum<'_> {
    type Query = &'static A;

    fn execute(job: &mut SumBatch<'_>, mut chunk: ChunkInJob<'_, &'static A>) {
        assert_eq!(job.sums.len(), 1, "the element of the chunk");
        chunk.for_each_run(|all| job.sums[0] += all.iter().map(|a| a.0).sum::<u32>());
    }
}

/// Returns the sums of a query's chunks, computed in three ways and in all modes.
fn sums(
    world: &World,
    chunks: usize,
    job: impl Fn(&World) -> ancho_entities::QueryJob<'_, &'static A>,
) -> Vec<u32> {
    let mut first: Option<Vec<u32>> = None;
    for mode in MODES {
        world.jobs().set_mode(mode);
        for way in 0..3 {
            let mut sums = JobSlice::new(chunks, 0);
            let sum = Sum { sums: sums.write() };
            let job = job(world);
            let handle = match way {
                0 => {
                    job.run_chunk_job(sum);
                    JobHandle::COMPLETED
                }
                1 => job.schedule_chunk_job(sum),
                _ => job.schedule_chunk_job_parallel(sum),
            };
            world.jobs().complete(handle);
            let sums = sums.as_slice().unwrap().to_vec();
            assert_eq!(*first.get_or_insert_with(|| sums.clone()), sums);
        }
    }
    first.unwrap()
}

#[test]
fn a_chunk_job_writes_the_element_of_each_chunk() {
    let mut world = world_of(3, 10);
    world.spawn_batch((0..25).map(A));
    world.spawn_batch((0..12).map(|_| (A(1), B(1))));
    world.spawn_many(B(1), 100);
    let found = sums(&world, 5, |world| world.query::<&A>().job());
    assert_eq!(found, [45, 145, 110, 10, 2]);
}

#[test]
fn a_chunk_job_writes_elements_by_unfiltered_chunk_number() {
    let mut world = world_of(3, 10);
    let all: Vec<_> = world
        .spawn_batch((0..40).map(|at| (A(at), B(1), X(at), Shared::new(Team(at / 10)))))
        .collect();
    let shared = sums(&world, 4, |world| world.query::<&A>().with_shared(Team(2)).job());
    assert_eq!(shared, [0, 0, 245, 0]);
    let nobody = sums(&world, 4, |world| world.query::<&A>().with_shared(Team(9)).job());
    assert_eq!(nobody, [0; 4]);
    let since = world.version();
    world.advance_version();
    world.get_mut::<B>(all[13]).unwrap().0 = 2;
    world.get_mut::<B>(all[39]).unwrap().0 = 2;
    let changed =
        sums(&world, 4, |world| world.query_filtered::<&A, Changed<B>>().since(since).job());
    assert_eq!(changed, [0, 145, 0, 345]);
    let both = sums(&world, 4, |world| {
        world.query_filtered::<&A, Changed<B>>().since(since).with_shared(Team(3)).job()
    });
    assert_eq!(both, [0, 0, 0, 345]);
    for &entity in all[..10].iter().chain(&all[20..29]) {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    let enabled = sums(&world, 4, |world| world.query_filtered::<&A, With<X>>().job());
    assert_eq!(enabled, [0, 145, 29, 345]);
}

#[test]
fn a0158_a_slice_with_fewer_elements_than_chunks_is_refused() {
    let mut world = world_of(0, 10);
    world.spawn_batch((0..40).map(|at| (A(at), X(at), Shared::new(Team(at / 10)))));
    assert_eq!(world.query::<&A>().with_shared(Team(1)).count_chunks_unfiltered(), 4);
    let mut short = JobSlice::new(3, 0).named("sums");
    // Chunks excluded by a filter make no difference.
    for way in 0..3 {
        let job = world.query_filtered::<&A, With<X>>().with_shared(Team(0)).job().named("Sum");
        let sum = Sum { sums: short.write() };
        let message = panic_message(|| match way {
            0 => job.run_chunk_job(sum),
            1 => _ = job.schedule_chunk_job(sum),
            _ => _ = job.schedule_chunk_job_parallel(sum),
        });
        let start =
            "A0158: chunk job `Sum` writes an element for each of 4 chunks, but `sums` (JobSlice<";
        assert!(message.starts_with(start), "{message}");
        let end = " has 3 elements; make it as long as `count_chunks_unfiltered` of the query, or write an element for \
                   each entity by an `EntityJob`";
        assert!(message.ends_with(end), "{message}");
    }
    assert_eq!(short.as_slice().unwrap(), [0; 3]);
}

/// A job that records the numbers of chunks, by both forms of jobs.
#[derive(ParallelJobStruct)]
struct Numbers {
    seen: Arc<Mutex<Vec<usize>>>,
}

impl EntityJob for Numbers {
    type Query = &'static A;

    fn execute(job: &mut NumbersBatch<'_>, _: &A, at: EntityAt) {
        let mut seen = job.seen.lock().unwrap();
        if !seen.contains(&at.chunk) {
            seen.push(at.chunk);
        }
    }
}

#[test]
fn chunk_indices_ignore_shared_filters() {
    let mut world = world_of(3, 10);
    world.spawn_batch((0..25).map(|at| (A(at), B(0), Shared::new(Team(0)))));
    world.spawn_batch((25..75).map(|at| (A(at), Shared::new(Team(at / 10 % 2)))));
    let log = look(&world, |world| world.query::<&A>().with_shared(Team(1)).job());
    // The three chunks of the first archetype are numbered before.
    let all: Vec<_> = look(&world, |world| world.query_filtered::<&A, With<Shared<Team>>>().job());
    let of_one: Vec<_> = all
        .iter()
        .filter(|seen| log.iter().any(|one| one.runs == seen.runs))
        .map(|seen| seen.chunk)
        .collect();
    assert_eq!(log.iter().map(|seen| seen.chunk).collect::<Vec<_>>(), of_one);
    assert!(log.len() > 1 && of_one[0] >= 3, "{of_one:?}");
    let seen = Arc::default();
    let numbers = Numbers { seen: Arc::clone(&seen) };
    world.query::<&A>().with_shared(Team(1)).job().run_job(numbers);
    assert_eq!(*seen.lock().unwrap(), of_one);
}

/// A job that adds to the matches, but skips one chunk.
#[derive(ParallelJobStruct)]
struct Add {
    passed_over: usize,
}

impl EntityJob for Add {
    type Query = (&'static mut A, &'static mut T, EnabledMut<'static, X>, &'static X);

    fn execute(
        _: &mut AddBatch<'_>,
        (a, t, mut on, _): (&mut A, &mut T, EnabledMut<'_, X>, &X),
        _: EntityAt,
    ) {
        a.0 += 1;
        t.0 += 1;
        on.set(false);
    }

    fn begin_chunk(job: &mut AddBatch<'_>, chunk: &mut ChunkInJob<'_>) -> bool {
        chunk.index() != *job.passed_over
    }
}

#[test]
fn a_chunk_that_begin_passes_over_does_not_count_as_changed() {
    for mode in MODES {
        for way in 0..3 {
            let mut world = world_of(3, 10);
            world.jobs().set_mode(mode);
            let all: Vec<_> = world.spawn_batch((0..30).map(|at| (A(at), T(at), X(at)))).collect();
            world.set_component_enabled::<X>(all[21], false).unwrap();
            let since = world.version();
            world.advance_version();
            let add = Add { passed_over: 1 };
            let job = world.query_mut::<(&mut A, &mut T, EnabledMut<X>, &X)>().job();
            let handle = match way {
                0 => {
                    job.run_job(add);
                    JobHandle::COMPLETED
                }
                1 => job.schedule_job(add),
                _ => job.schedule_job_parallel(add),
            };
            world.jobs().complete(handle);
            let changed = world.query_filtered::<(), Changed<A>>().since(since).to_entities();
            assert_eq!(changed, [&all[..10], &all[20..]].concat(), "A counts by chunk");
            // The rows are those of the match, although the job has disabled them.
            let rows = [&all[..10], &all[20..21], &all[22..]].concat();
            let changed = world.query_filtered::<(), Changed<T>>().since(since).to_entities();
            assert_eq!(changed, rows, "T counts by entity");
            let switched = world.query_filtered::<(), (Changed<X>, IgnoreEnabled)>();
            let switched = switched.since(since).to_entities();
            assert_eq!(switched, [&all[..10], &all[20..]].concat());
        }
    }
}

/// A job that uses the values of one chunk only.
#[derive(ParallelJobStruct)]
struct Choosy {
    taken: usize,
}

impl ChunkJob for Choosy {
    type Query = (&'static mut A, &'static mut T);

    fn execute(
        job: &mut ChoosyBatch<'_>,
        mut chunk: ChunkInJob<'_, (&'static mut A, &'static mut T)>,
    ) {
        if chunk.index() == *job.taken {
            chunk.for_each_run(|(a, _)| a[0].0 += 1);
        }
    }
}

#[test]
fn a_chunk_whose_values_a_job_does_not_access_is_not_marked() {
    for mode in MODES {
        let mut world = world_of(3, 10);
        world.jobs().set_mode(mode);
        let all: Vec<_> = world.spawn_batch((0..30).map(|at| (A(at), T(at)))).collect();
        let since = world.version();
        world.advance_version();
        let job = world.query_mut::<(&mut A, &mut T)>().job();
        let handle = job.schedule_chunk_job_parallel(Choosy { taken: 1 });
        world.jobs().complete(handle);
        let changed = world.query_filtered::<(), Changed<A>>().since(since).to_entities();
        assert_eq!(changed, all[10..20]);
        let changed = world.query_filtered::<(), Changed<T>>().since(since).to_entities();
        assert_eq!(changed, all[10..20]);
    }
}

/// A chunk component.
#[derive(Component, Clone, Copy, Default, Debug, PartialEq)]
struct Total(u64);

/// The facts that a job reads from its chunk.
#[derive(Clone, Debug, PartialEq)]
struct Facts {
    team: Option<u32>,
    total: Option<u64>,
    has: [bool; 4],
    len: usize,
    changed: bool,
    order_changed: bool,
}

#[derive(ParallelJobStruct)]
struct ReadFacts {
    since: Version,
    log: Arc<Mutex<Vec<(usize, Facts)>>>,
}

impl ChunkJob for ReadFacts {
    type Query = (&'static A, Option<&'static PerChunk<Total>>);

    fn execute(job: &mut ReadFactsBatch<'_>, chunk: ChunkInJob<'_, Self::Query>) {
        let facts = Facts {
            team: chunk.shared::<Team>().map(|team| team.0),
            total: chunk.chunk_component::<Total>().map(|total| total.0),
            has: [
                chunk.has::<A>(),
                chunk.has::<B>(),
                chunk.has::<PerChunk<Total>>(),
                chunk.has::<Shared<Team>>(),
            ],
            len: chunk.len(),
            changed: chunk.did_change::<A>(*job.since),
            order_changed: chunk.order_version().is_newer_than(*job.since),
        };
        assert_eq!(chunk.entities().len(), chunk.len());
        assert_eq!(chunk.did_change::<A>(*job.since), {
            chunk.change_version::<A>().unwrap().is_newer_than(*job.since)
        });
        job.log.lock().unwrap().push((chunk.index(), facts));
    }
}

#[test]
fn a_chunk_job_sees_its_chunk() {
    for mode in MODES {
        let mut world = world_of(3, 10);
        world.jobs().set_mode(mode);
        let plain: Vec<_> = world.spawn_batch((0..10).map(A)).collect();
        world.spawn_batch((0..3).map(|at| (A(at), B(1), Shared::new(Team(7)))));
        let totals = world.spawn_batch((0..4).map(|at| (A(at), PerChunk::<Total>::new())));
        let totals: Vec<_> = totals.collect();
        world.set_chunk_component(totals[0], Total(5)).unwrap();
        let since = world.version();
        world.advance_version();
        world.get_mut::<A>(plain[3]).unwrap().0 += 1;
        world.despawn(totals[3]).unwrap();
        let log = Arc::default();
        let job = world.query::<(&A, Option<&PerChunk<Total>>)>().job();
        let job = job.schedule_chunk_job_parallel(ReadFacts { since, log: Arc::clone(&log) });
        world.jobs().complete(job);
        let mut log = log.lock().unwrap().clone();
        log.sort_by_key(|(chunk, _)| *chunk);
        let log: Vec<_> = log.into_iter().map(|(_, facts)| facts).collect();
        let of = |team, total, has, len, changed, order_changed| Facts {
            team,
            total,
            has,
            len,
            changed,
            order_changed,
        };
        assert_eq!(
            log,
            [
                of(None, None, [true, false, false, false], 10, true, false),
                of(Some(7), None, [true, true, false, true], 3, false, false),
                of(None, Some(5), [true, false, true, false], 3, false, true),
            ]
        );
    }
}

#[derive(ParallelJobStruct)]
struct AddTotal {
    factor: u64,
}

impl ChunkJob for AddTotal {
    type Query = (&'static A, &'static mut PerChunk<Total>);

    fn execute(job: &mut AddTotalBatch<'_>, mut chunk: ChunkInJob<'_, Self::Query>) {
        let mut sum = 0;
        chunk.for_each_run(|(all, ())| sum += all.iter().map(|a| u64::from(a.0)).sum::<u64>());
        let total = chunk.chunk_component_mut::<Total>().unwrap();
        total.0 = total.0 * *job.factor + sum;
        assert_eq!(chunk.chunk_component::<Total>().unwrap().0 % *job.factor, sum % *job.factor);
    }
}

#[test]
fn jobs_that_write_a_chunk_component_are_ordered() {
    for workers in WORKERS {
        let mut world = world_of(workers, 10);
        let all = world.spawn_batch((0..40).map(|at| (A(at), PerChunk::<Total>::new())));
        let all: Vec<_> = all.collect();
        let since = world.version();
        world.advance_version();
        let mut expected = [0_u64; 4];
        for factor in [2, 3, 5, 7] {
            let query = world.query_mut::<(&A, &mut PerChunk<Total>)>();
            query.job().schedule_chunk_job_parallel(AddTotal { factor });
            for (at, total) in expected.iter_mut().enumerate() {
                *total = *total * factor + (0..10).map(|row| at as u64 * 10 + row).sum::<u64>();
            }
        }
        // Reading waits for the jobs, and so does a query.
        assert_eq!(world.chunk_component::<Total>(all[39]).unwrap().0, expected[3]);
        let totals = world.query::<&PerChunk<Total>>();
        assert!(totals.iter().map(|total| total.0).step_by(10).eq(expected));
        let changed = world.chunks().map(|chunk| {
            chunk
                .change_version_of(ComponentType::of_chunk::<Total>())
                .unwrap()
                .is_newer_than(since)
        });
        assert!(changed.eq([true; 4]), "{workers} workers");
        assert!(world.chunks().all(|chunk| !chunk.did_change::<A>(since)));
    }
}

#[test]
fn a0092_a_chunk_component_is_not_read_beside_a_job_that_writes_it() {
    let mut world = world_of(2, 10);
    world.spawn_many((A(1), PerChunk::<Total>::new()), 20);
    let message = panic_message(|| {
        _ = world.split::<(Query<(&A, &mut PerChunk<Total>)>, Query<&PerChunk<Total>>)>();
    });
    assert!(message.starts_with("A0092: "), "{message}");
    assert!(message.contains("PerChunk<"), "{message}");
}

/// A job that writes the chunk component before its entities, and reads it after them.
#[derive(ParallelJobStruct)]
struct CountRows {
    done: Arc<Mutex<Vec<u64>>>,
}

impl EntityJob for CountRows {
    type Query = (&'static mut A, &'static mut PerChunk<Total>);

    fn execute(_: &mut CountRowsBatch<'_>, (a, ()): (&mut A, ()), at: EntityAt) {
        a.0 = at.row as u32;
    }

    fn begin_chunk(_: &mut CountRowsBatch<'_>, chunk: &mut ChunkInJob<'_>) -> bool {
        let len = chunk.len() as u64;
        chunk.chunk_component_mut::<Total>().unwrap().0 = len;
        true
    }

    fn end_chunk(job: &mut CountRowsBatch<'_>, chunk: &mut ChunkInJob<'_>) {
        job.done.lock().unwrap().push(chunk.chunk_component::<Total>().unwrap().0);
    }
}

#[test]
fn an_entity_job_writes_the_chunk_component_when_a_chunk_begins() {
    let mut world = world_of(3, 10);
    let all = world.spawn_batch((0..25).map(|at| (A(at), PerChunk::<Total>::new())));
    let all: Vec<_> = all.collect();
    let done = Arc::default();
    let job = world.query_mut::<(&mut A, &mut PerChunk<Total>)>().job();
    job.schedule_job_parallel(CountRows { done: Arc::clone(&done) });
    let totals = [all[0], all[10], all[20]].map(|at| world.chunk_component::<Total>(at).unwrap().0);
    assert_eq!(totals, [10, 10, 5]);
    let mut done = done.lock().unwrap().clone();
    done.sort_unstable();
    assert_eq!(done, [5, 10, 10]);
}

/// A job that uses a chunk component or a version that its query does not declare.
#[derive(ParallelJobStruct)]
struct Undeclared {
    way: u32,
}

impl ChunkJob for Undeclared {
    type Query = (&'static A, &'static PerChunk<Total>);

    fn execute(job: &mut UndeclaredBatch<'_>, mut chunk: ChunkInJob<'_, Self::Query>) {
        match *job.way {
            0 => _ = chunk.chunk_component_mut::<Total>(),
            1 => _ = chunk.chunk_component::<A>(),
            2 => _ = chunk.change_version::<B>(),
            _ => _ = chunk.chunk_component::<Total>().unwrap(),
        }
    }
}

#[test]
fn a0135_a_chunk_job_uses_only_components_of_its_query() {
    let mut world = world_of(2, 10);
    world.spawn_many((A(1), B(1), PerChunk::<Total>::new()), 5);
    let query = || world.query::<(&A, &PerChunk<Total>)>().job();
    for (way, component) in [(0, "`&mut PerChunk<"), (1, "`&PerChunk<"), (2, "`&queries::B`")] {
        let job = query().schedule_chunk_job(Undeclared { way });
        let failed = world.jobs().try_complete(job).unwrap_err();
        assert!(failed.message().starts_with("A0135: "), "{failed}");
        assert!(failed.message().contains(component), "{failed}");
    }
    world.jobs().complete(query().schedule_chunk_job(Undeclared { way: 3 }));
}
