//! All commands of a log are gone through, and carried out: one by one, or together.

#![expect(unsafe_code, reason = "goes through commands in the memory of lanes")]

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::error::StoppedAt;
use super::fold::Panic;
use super::lane::{Found, VerbRun, find};
use super::log::Segment;
use super::play::{Fault, Player, Resolved, Run};
use super::recorder::CommandRecorder;

/// How many commands are carried out together at most. What is noted of them has room in the caches then, and there are enough of
/// one kind.
const LONGEST: usize = 64 << 10;

/// How many commands there are at least for each run of one verb, so that runs are carried out one after the other: what they have
/// in common is then found without looking at each command.
const LONG_RUN: usize = 8;

/// Where somebody is in the commands of a log.
#[derive(Clone, Copy)]
pub(super) struct Walk<'l> {
    lanes: &'l [CommandRecorder],
    segments: &'l [Segment],
    /// The run of the first segment.
    run: usize,
    /// Where the next command of the run is, or nothing, if it is the first.
    position: Option<usize>,
    /// How many commands of the run were taken.
    taken: usize,
    /// How many commands were taken.
    played: usize,
}

impl<'l> Walk<'l> {
    pub(super) fn new(lanes: &'l [CommandRecorder], segments: &'l [Segment]) -> Self {
        let run = segments.first().map_or(0, |segment| segment.start);
        Self { lanes, segments, run, position: None, taken: 0, played: 0 }
    }

    /// Whether commands that follow each other mostly do different things, so that they are better carried out together.
    fn pays_to_fold(&self) -> bool {
        let runs: usize = self.segments.iter().map(|segment| segment.end - segment.start).sum();
        let commands: usize = self.lanes.iter().map(CommandRecorder::len).sum();
        runs > 1 && commands < runs * LONG_RUN
    }

    /// The lane and the rest of the run that come next.
    #[inline]
    pub(super) fn rest_of_run(&self) -> Option<(&'l CommandRecorder, VerbRun)> {
        let segment = self.segments.first()?;
        let lane = &self.lanes[segment.lane];
        let VerbRun { verb, start, count } = lane.memory.runs()[self.run];
        let start = self.position.unwrap_or(start);
        Some((lane, VerbRun { verb, start, count: count - self.taken }))
    }

    /// Goes on behind so many commands of the run, of which the next begins there.
    #[inline]
    fn go_on(&mut self, count: usize, next: usize, is_end_of_run: bool) {
        self.played += count;
        self.taken += count;
        self.position = Some(next);
        if is_end_of_run {
            (self.position, self.taken) = (None, 0);
            self.run += 1;
            if self.segments.first().is_some_and(|segment| self.run == segment.end) {
                self.segments = &self.segments[1..];
                self.run = self.segments.first().map_or(0, |segment| segment.start);
            }
        }
    }

    /// Goes on behind a run, without doing anything.
    pub(super) fn skip_run(&mut self) {
        if let Some((_, rest)) = self.rest_of_run() {
            self.go_on(rest.count, rest.start, true);
        }
    }

    /// Carries out all that is left.
    pub(super) fn play(&mut self, player: &mut Player<'_>) -> Result<(), StoppedAt> {
        if self.pays_to_fold() {
            return self.play_together(player);
        }
        self.skip_cancelled(player);
        while let Some((_, rest)) = self.rest_of_run() {
            self.play_some(player, rest.count)?;
            self.skip_cancelled(player);
        }
        Ok(())
    }

    /// Carries out so many commands, run by run, unless there are fewer, or one fails.
    fn play_some(&mut self, player: &mut Player<'_>, count: usize) -> Result<(), StoppedAt> {
        let mut left = count;
        while left > 0
            && let Some((lane, rest)) = self.rest_of_run()
        {
            let now = VerbRun { count: rest.count.min(left), ..rest };
            // SAFETY: there are such commands, and the log is the player's alone.
            let mut run = unsafe { Run::new(lane.memory.data(), now, player.keeps) };
            // SAFETY: the run is of its verb.
            let result = unsafe { (now.verb.play)(player, &mut run) };
            if let Err(fault) = result {
                let number = self.played + now.count - run.left();
                let job = lane.job;
                return Err(stopped_at(&run, player.resolved, fault, number, job));
            }
            debug_assert_eq!(run.left(), 0, "a verb takes commands until there are no more");
            self.go_on(now.count, run.position(), now.count == rest.count);
            left -= now.count;
        }
        Ok(())
    }

    /// Carries out all that is left, together as far as it goes.
    fn play_together(&mut self, player: &mut Player<'_>) -> Result<(), StoppedAt> {
        player.entities.coalesced.clear();
        while let Some((_, rest)) = self.rest_of_run() {
            if rest.verb.fold.is_none() {
                self.play_some(player, rest.count)?;
                continue;
            }
            let first = *self;
            self.note_stretch(player);
            let count = self.played - first.played;
            let panic = player.panic.take();
            // One command is as quickly carried out as noted.
            let done = if count > 1 { carry_out(player) } else { Carried::NotAtAll };
            player.entities.clear_coalesced();
            let panic = match done {
                Carried::Out => panic,
                Carried::NotAtAll => {
                    *self = first;
                    self.play_some(player, count)?;
                    panic
                }
                Carried::Panicked(earlier) => {
                    // What comes before it is carried out, as far as it can be told.
                    *self = first;
                    let _ = self.play_some(player, count);
                    Some(earlier)
                }
            };
            if let Some(panic) = panic {
                resume_unwind(panic);
            }
            if count < LONGEST {
                // Whatever the next one is, it was not to be noted.
                self.play_some(player, 1)?;
            }
        }
        Ok(())
    }

    /// Notes commands until one cannot be, or they are enough.
    fn note_stretch(&mut self, player: &mut Player<'_>) {
        let end = self.played + LONGEST;
        while self.played < end
            && let Some((lane, VerbRun { verb, start, count })) = self.rest_of_run()
            && let Some(fold) = verb.fold
        {
            let (data, mut position) = (lane.memory.data(), start);
            let most = count.min(end - self.played);
            let mut noted = 0;
            while noted < most {
                // SAFETY: there is a command, and the log is the player's alone.
                let found = unsafe { find(verb, data, position) };
                // SAFETY: as above.
                let target = unsafe { found.target() }.expect("a command is carried out once");
                // SAFETY: it is a payload of the verb, which was not used.
                if !unsafe { fold(player, target, found.payload, found.place()) } {
                    break;
                }
                position = found.next;
                noted += 1;
            }
            self.go_on(noted, position, noted == count);
            if noted < most {
                return;
            }
        }
    }
}

/// What became of commands that were noted.
enum Carried {
    Out,
    NotAtAll,
    Panicked(Panic),
}

/// Carries out what was noted.
fn carry_out(player: &mut Player<'_>) -> Carried {
    // Code of the user may run before anything is changed, and panic.
    match catch_unwind(AssertUnwindSafe(|| player.entities.prepare_coalesced())) {
        Ok(Ok(())) => {
            player.entities.apply_coalesced();
            Carried::Out
        }
        Ok(Err(_)) => Carried::NotAtAll,
        Err(panic) => Carried::Panicked(panic),
    }
}

/// Says which command of a run has failed: the last that was taken.
#[cold]
fn stopped_at(
    run: &Run<'_>,
    resolved: &Resolved,
    fault: Fault,
    number: usize,
    job: Option<&'static str>,
) -> StoppedAt {
    let command = match run.last {
        Some((Found { verb, payload, .. }, target)) => {
            let target = resolved.shown(target);
            // SAFETY: there is a payload of the verb, which may have been used.
            fmt::from_fn(|f| unsafe { (verb.describe)(payload, target, f) }).to_string()
        }
        None => "begin".to_owned(),
    };
    StoppedAt { number, commands: 0, command, job, fault, is_checked: false }
}
