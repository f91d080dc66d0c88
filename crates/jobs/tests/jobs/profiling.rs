//! Profiling: the thread and times of each job, recorded on demand, and written as a trace.

use crate::common;

use std::collections::HashMap;
use std::io;

use ancho_jobs::{ExecutionMode, JobScheduler, write_chrome_trace};
use common::{WORKERS, pool, scheduler};

#[test]
fn nothing_is_recorded_by_default() {
    for workers in WORKERS {
        let pool = pool(workers);
        let jobs = JobScheduler::new(&pool);
        let run = |name| {
            let job = jobs.named(name).schedule(&[], (), |()| {}).unwrap();
            jobs.complete(job);
        };
        run("before");
        assert_eq!(pool.take_events(), []);
        pool.set_profiling(true);
        run("during");
        pool.set_profiling(false);
        run("after");
        let events = pool.take_events();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].job, "during");
        assert_eq!(pool.take_events(), [], "events are taken once");
    }
}

#[test]
fn an_event_says_job_thread_and_times() {
    for workers in WORKERS {
        let pool = pool(workers);
        pool.set_profiling(true);
        let jobs = JobScheduler::new(&pool);
        let first = jobs.named("First").schedule(&[], (), |()| {}).unwrap();
        let slow = |()| std::thread::sleep(std::time::Duration::from_millis(2));
        let second = jobs.named("Second").schedule(&[first], (), slow).unwrap();
        jobs.flush();
        jobs.complete(second);
        let events = pool.take_events();
        let [first, second] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!((first.job, second.job), ("First", "Second"));
        assert!(first.sequence < second.sequence);
        assert!(first.start <= first.end && first.end <= second.start);
        assert!(second.end - second.start >= std::time::Duration::from_millis(2));
        assert!(first.thread <= workers && second.thread <= workers);
    }
}

#[test]
fn a_parallel_job_has_one_event_for_each_thread_that_took_part() {
    for workers in WORKERS {
        let pool = pool(workers);
        pool.set_profiling(true);
        let jobs = JobScheduler::new(&pool);
        for mode in [ExecutionMode::Parallel, ExecutionMode::Shuffle { seed: 2 }] {
            jobs.set_mode(mode);
            let job = jobs.named("Wide").schedule_for_each(&[], (), 1000, 1, |(), _| {});
            jobs.complete(job.unwrap());
            let mut threads: Vec<_> = pool
                .take_events()
                .iter()
                .map(|event| {
                    assert_eq!(event.job, "Wide");
                    event.thread
                })
                .collect();
            let events = threads.len();
            threads.sort_unstable();
            threads.dedup();
            assert!((1..=workers + 1).contains(&events));
            assert_eq!(threads.len(), events);
        }
    }
}

#[test]
fn events_of_several_schedulers_are_ordered_by_their_start() {
    let pool = pool(2);
    pool.set_profiling(true);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let jobs = JobScheduler::new(&pool);
                for _ in 0..20 {
                    let job = jobs.schedule_for_each(&[], (), 20, 1, |(), _| {}).unwrap();
                    jobs.complete(job);
                }
            });
        }
    });
    let events = pool.take_events();
    assert!(events.len() >= 60);
    assert!(events.is_sorted_by_key(|event| event.start));
}

#[test]
fn jobs_that_panic_or_do_not_run_do_not_spoil_the_record() {
    let pool = pool(1);
    pool.set_profiling(true);
    let jobs = JobScheduler::new(&pool);
    let bad = jobs.named("Bad").schedule(&[], (), |()| panic!("oh")).unwrap();
    let next = jobs.named("Next").schedule(&[bad], (), |()| {}).unwrap();
    jobs.try_complete(next).unwrap_err();
    let events = pool.take_events();
    assert!(events.iter().any(|event| event.job == "Bad"));
    assert!(events.iter().all(|event| event.job != "Next"), "it did not run");
}

#[test]
fn jobs_that_run_immediately_are_recorded() {
    let pool = pool(1);
    pool.set_profiling(true);
    let jobs = JobScheduler::new(&pool);
    jobs.named("Parallel").run_parallel((), 10, 1, |(), _| {}).unwrap();
    assert!(pool.take_events().iter().any(|event| event.job == "Parallel"));
    jobs.named("Single").run((), |()| {}).unwrap();
    assert!(pool.take_events().iter().any(|event| event.job == "Single"));
}

#[test]
fn a_trace_is_json_with_the_data_of_the_events() {
    let pool = pool(1);
    pool.set_profiling(true);
    let jobs = JobScheduler::new(&pool);
    let odd = "say \"hi\" \\ \n \t \u{1} ünï \u{1F980}";
    jobs.complete(jobs.named(odd).schedule(&[], (), |()| {}).unwrap());
    jobs.complete(jobs.schedule_for_each(&[], (), 100, 1, |(), _| {}).unwrap());
    let events = pool.take_events();
    let mut trace = Vec::new();
    write_chrome_trace(&events, &mut trace).unwrap();
    let trace = Json::parse(&String::from_utf8(trace).unwrap());
    let written = trace.get("traceEvents").list();
    let is_complete = |event: &&Json| event.get("ph").text() == "X";
    let complete: Vec<_> = written.iter().filter(is_complete).collect();
    assert_eq!(complete.len(), events.len());
    for (written, event) in complete.iter().zip(&events) {
        assert_eq!(written.get("name").text(), event.job);
        assert_eq!(written.get("tid").number(), event.thread as f64);
        assert_eq!(written.get("pid").number(), 1.0);
        let microseconds = event.start.as_nanos() as f64 / 1000.0;
        assert!((written.get("ts").number() - microseconds).abs() < 0.01);
        let microseconds = (event.end - event.start).as_nanos() as f64 / 1000.0;
        assert!((written.get("dur").number() - microseconds).abs() < 0.01);
    }
    let names = written.iter().filter(|event| event.get("ph").text() == "M");
    assert!(names.clone().all(|event| event.get("name").text() == "thread_name"));
    assert_eq!(names.clone().next().unwrap().get("args").get("name").text(), "owner");
}

#[test]
fn an_empty_trace_is_json() {
    let mut trace = Vec::new();
    write_chrome_trace(&[], &mut trace).unwrap();
    let trace = Json::parse(&String::from_utf8(trace).unwrap());
    assert_eq!(trace.get("traceEvents").list().len(), 0);
}

#[test]
fn an_error_of_the_writer_is_returned() {
    struct Full;

    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let error = write_chrome_trace(&[], Full).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn enabling_the_profiler_while_jobs_run_is_harmless() {
    let jobs = scheduler(2);
    for round in 0..100 {
        let job = jobs.schedule_for_each(&[], (), 100, 1, |(), _| {}).unwrap();
        jobs.flush();
        jobs.pool().set_profiling(round % 2 == 0);
        jobs.complete(job);
    }
    for event in jobs.pool().take_events() {
        assert!(event.start <= event.end);
    }
}

/// A strict reader for the subset of JSON in a trace.
#[derive(Debug)]
enum Json {
    Text(String),
    Number(f64),
    List(Vec<Json>),
    Map(HashMap<String, Json>),
}

impl Json {
    fn parse(text: &str) -> Self {
        let mut rest = text.trim_ascii();
        let value = Self::value(&mut rest);
        assert_eq!(rest.trim_ascii(), "", "something follows");
        value
    }

    fn value(rest: &mut &str) -> Self {
        *rest = rest.trim_ascii_start();
        match rest.as_bytes()[0] {
            b'"' => Self::Text(Self::string(rest)),
            b'[' => Self::List(Self::items(rest, ']', Self::value)),
            b'{' => {
                let pair = |rest: &mut &str| {
                    *rest = rest.trim_ascii_start();
                    let key = Self::string(rest);
                    *rest = rest.trim_ascii_start().strip_prefix(':').unwrap();
                    (key, Self::value(rest))
                };
                let pairs = Self::items(rest, '}', pair);
                let count = pairs.len();
                let map: HashMap<_, _> = pairs.into_iter().collect();
                assert_eq!(map.len(), count, "a key stands twice");
                Self::Map(map)
            }
            _ => {
                let end = rest.find(|c: char| !"+-.0123456789eE".contains(c)).unwrap();
                let (number, after) = rest.split_at(end);
                *rest = after;
                Self::Number(number.parse().unwrap())
            }
        }
    }

    fn items<T>(rest: &mut &str, close: char, item: impl Fn(&mut &str) -> T) -> Vec<T> {
        let mut items = Vec::new();
        *rest = rest[1..].trim_ascii_start();
        if let Some(after) = rest.strip_prefix(close) {
            *rest = after;
            return items;
        }
        loop {
            items.push(item(rest));
            *rest = rest.trim_ascii_start();
            if let Some(after) = rest.strip_prefix(close) {
                *rest = after;
                return items;
            }
            *rest = rest.strip_prefix(',').unwrap();
        }
    }

    fn string(rest: &mut &str) -> String {
        *rest = rest.strip_prefix('"').unwrap();
        let mut out = String::new();
        let mut characters = rest.chars();
        loop {
            match characters.next().unwrap() {
                '"' => break,
                '\\' => out.push(match characters.next().unwrap() {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'u' => {
                        let digits: String = characters.by_ref().take(4).collect();
                        char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap()
                    }
                    same @ ('"' | '\\' | '/') => same,
                    other => panic!("no escape: {other}"),
                }),
                control if control < ' ' => panic!("a control character: {control:?}"),
                other => out.push(other),
            }
        }
        *rest = characters.as_str();
        out
    }

    fn get(&self, key: &str) -> &Self {
        match self {
            Self::Map(map) => &map[key],
            other => panic!("no map: {other:?}"),
        }
    }

    fn list(&self) -> &[Self] {
        match self {
            Self::List(list) => list,
            other => panic!("no list: {other:?}"),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }

    fn number(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            other => panic!("no number: {other:?}"),
        }
    }
}
