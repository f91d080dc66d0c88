//! Summary of a run.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ancho::entities::SystemKind;
use ancho::prelude::*;

/// Maximum number of jobs in the list. The remaining jobs are short.
const MAX_JOBS: usize = 8;

/// Speed of a sample, time by system and job, and the final state.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    frames: usize,
    median: Duration,
    p99: Duration,
    entities: usize,
    /// Number of times that an entity, or a batch, entered or left a chunk: once when created or destroyed, twice when
    /// moved.
    moves: u64,
    /// Time of each system on the main thread per frame, the longest first.
    systems: Vec<(String, Duration)>,
    /// Time of all threads on the jobs of a name per frame, the longest first.
    jobs: Vec<(String, Duration)>,
    /// Time of each thread on jobs per frame. The first is the main thread.
    threads: Vec<Duration>,
    state_hash: u64,
}

impl Summary {
    pub(crate) fn new(
        world: &mut World,
        frames: &[Duration],
        moves: u64,
        busy: &[Duration],
        jobs: &BTreeMap<&'static str, Duration>,
    ) -> Self {
        let count = frames.len();
        let for_frame = |total: Duration| total / count.max(1) as u32;
        let mut sorted = frames.to_vec();
        sorted.sort_unstable();
        let at = |share: f64| {
            let index = (share * count as f64) as usize;
            sorted.get(index.min(count.saturating_sub(1))).copied().unwrap_or_default()
        };
        let order = world.system_order();
        let ran = order.iter().filter(|system| system.kind != SystemKind::Group && system.runs > 0);
        let mut systems: Vec<_> = ran
            .filter(|system| !is_idle_point(system.kind, for_frame(system.total_time)))
            .map(|system| (short_name(&system.name), for_frame(system.total_time)))
            .collect();
        systems.sort_by_key(|&(_, time)| Reverse(time));
        let jobs = jobs.iter().map(|(name, &time)| (job_name(name), for_frame(time)));
        let mut jobs: Vec<_> = jobs.collect();
        jobs.sort_by_key(|&(_, time)| Reverse(time));
        jobs.truncate(MAX_JOBS);
        Self {
            frames: count,
            median: at(0.5),
            p99: at(0.99),
            entities: world.entity_count(),
            moves,
            systems,
            jobs,
            threads: busy.iter().map(|&time| for_frame(time)).collect(),
            state_hash: world.state_hash(),
        }
    }
}

/// Returns whether this is a command point that had nothing to do.
fn is_idle_point(kind: SystemKind, time: Duration) -> bool {
    kind == SystemKind::Point && time < Duration::from_micros(1)
}

/// Returns the name of a system and of its type parameters, without modules.
fn short_name(name: &str) -> String {
    let mut short = String::new();
    for part in name.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        short += part.rsplit("::").next().unwrap_or(part);
    }
    short
}

/// Returns the name of a job. An unnamed job is a closure, named after its system.
fn job_name(name: &str) -> String {
    short_name(name.trim_end_matches("::{{closure}}"))
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        writeln!(f, "{} frames, {} entities", self.frames, self.entities)?;
        writeln!(f, "frame       median {:.3} ms, p99 {:.3} ms", ms(self.median), ms(self.p99))?;
        let each = self.moves as f64 / self.frames.max(1) as f64;
        writeln!(f, "chunks      entered or left {} times, {each:.1} per frame", self.moves)?;
        writeln!(f, "systems     per frame, on the main thread")?;
        for (name, time) in &self.systems {
            writeln!(f, "  {:>9.3} ms  {name}", ms(*time))?;
        }
        writeln!(f, "jobs        per frame, on all threads")?;
        for (name, time) in &self.jobs {
            writeln!(f, "  {:>9.3} ms  {name}", ms(*time))?;
        }
        writeln!(f, "threads     per frame, in jobs")?;
        for (thread, time) in self.threads.iter().enumerate() {
            match thread {
                0 => writeln!(f, "  {:>9.3} ms  main thread", ms(*time))?,
                _ => writeln!(f, "  {:>9.3} ms  worker {thread}", ms(*time))?,
            }
        }
        write!(f, "state hash  {:016x}", self.state_hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read_at_a_glance() {
        let us = Duration::from_micros;
        let summary = Summary {
            frames: 300,
            median: us(1500),
            p99: us(2250),
            entities: 100_000,
            moves: 750,
            systems: vec![("seek".to_owned(), us(1000)), ("strike".to_owned(), us(250))],
            jobs: vec![("Fight".to_owned(), us(1350))],
            threads: vec![us(700), us(650)],
            state_hash: 0xC0FFEE,
        };
        let expected = "\
300 frames, 100000 entities
frame       median 1.500 ms, p99 2.250 ms
chunks      entered or left 750 times, 2.5 per frame
systems     per frame, on the main thread
      1.000 ms  seek
      0.250 ms  strike
jobs        per frame, on all threads
      1.350 ms  Fight
threads     per frame, in jobs
      0.700 ms  main thread
      0.650 ms  worker 1
state hash  0000000000c0ffee";
        assert_eq!(summary.to_string(), expected);
    }

    #[test]
    fn names_go_without_their_modules() {
        assert_eq!(short_name("samples::rotation::rotate"), "rotate");
        assert_eq!(short_name("a::shots::damage<a::b::Enemy, a::Shot>"), "damage<Enemy, Shot>");
        assert_eq!(short_name("rotate"), "rotate");
        assert_eq!(job_name("Fight"), "Fight");
        assert_eq!(job_name("a::shots::damage<a::Enemy>::{{closure}}"), "damage<Enemy>");
    }

    #[test]
    fn the_median_and_the_slowest_hundredth_are_of_the_frames() {
        let frames: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        let summary = |frames: &[Duration], busy: &[Duration]| {
            Summary::new(&mut World::new("Empty"), frames, 0, busy, &BTreeMap::new())
        };
        let some = summary(&frames, &[Duration::from_secs(2)]);
        assert_eq!(some.median, Duration::from_millis(101));
        assert_eq!(some.p99, Duration::from_millis(199));
        assert_eq!(some.threads, [Duration::from_millis(10)]);
        let none = summary(&[], &[]);
        assert_eq!((none.median, none.p99), (Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn the_longest_jobs_are_told() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let jobs = names.into_iter().zip((1..).map(Duration::from_millis)).collect();
        let frames = [Duration::ZERO; 2];
        let summary = Summary::new(&mut World::new("Empty"), &frames, 0, &[], &jobs);
        let told: Vec<&str> = summary.jobs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(told, ["j", "i", "h", "g", "f", "e", "d", "c"]);
        assert_eq!(summary.jobs[0].1, Duration::from_millis(5));
    }
}
