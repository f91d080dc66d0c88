//! Playback of recorded commands: run by run, or coalesced.

#![expect(unsafe_code, reason = "takes commands from the memory of streams")]

use std::any::Any;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::buffer::CommandLog;
use super::error::CommandFault;
use super::recorder::{CommandRecorder, NO_KEY};
use super::report::{Rest, Unapplied, UnappliedCommand};
use super::resolved_ids::{LaneIds, ResolvedIds, UncreatedIds};
use super::stream::{ActiveRun, RunCursor, StoredCommand};
use super::world_command::PlaybackHost;
use crate::entity::Entity;
use crate::manager::{CoalesceResult, DistinctEntities, EntityManager, Spaced};
use crate::placeholder::Placeholder;
use crate::set::ComponentSet;

/// Maximum number of commands in a coalesced batch. Records of a batch fit in the caches, and enough of them are alike.
const MAX_BATCH: usize = 64 << 10;

/// Minimum average length of runs that are applied run by run. Long runs share their work without examining each command.
const LONG_RUN: usize = 8;

pub(super) type Fault = CommandFault;

/// Payload of a panic in user code.
pub(super) type Panic = Box<dyn Any + Send>;

/// State that commands use while they are applied.
pub(super) struct Context<'p> {
    pub(super) entities: &'p mut EntityManager,
    pub(super) resolved: &'p ResolvedIds,
    /// Set if the buffer keeps its commands for the next playback.
    pub(super) keeps: bool,
    /// Scratch memory for entities.
    pub(super) list: Vec<Entity>,
    /// Scratch memory for members of groups.
    pub(super) members: DistinctEntities,
    /// Panic of user code while a command was coalesced.
    pub(super) panic: Option<Panic>,
    /// Number of despawned entities that the last command for a list has skipped, and the first of them.
    pub(super) skipped_members: Option<(usize, Entity)>,
    /// Entities that were not created, because their commands failed or were skipped.
    uncreated: &'p mut UncreatedIds,
    /// Commands that were not applied, if there are any.
    unapplied: Option<Box<Unapplied>>,
}

/// Position and origin of a command, for reports.
#[derive(Clone, Copy)]
struct Numbered<'l> {
    command: StoredCommand<'l>,
    target: Entity,
    number: usize,
    job: Option<&'static str>,
}

/// A strict world has stopped at a failed command, or a command has replaced the entities.
struct Stopped;

/// Reason why playback of commands that need only the entities has returned.
enum Interruption {
    /// All commands were played.
    Ended,
    /// The next command needs the world.
    NeedsWorld,
}

impl Context<'_> {
    /// Returns the number of commands that were skipped so far.
    fn skipped(&self) -> usize {
        self.unapplied.as_ref().map_or(0, |unapplied| unapplied.skipped)
    }

    /// Sets the number of skipped commands back, before commands are played again.
    fn set_skipped(&mut self, skipped: usize) {
        if let Some(unapplied) = &mut self.unapplied {
            unapplied.skipped = skipped;
            if skipped == 0 {
                unapplied.first_skipped = None;
            }
        }
    }

    /// Returns the entity of a command that was despawned, if there is one.
    fn gone_entity(&self, command: Numbered<'_>) -> Option<Entity> {
        let needed = command.command.needed(command.target).into_iter();
        let mut needed = needed.filter_map(|entity| self.resolved.resolve(entity).ok());
        needed.find(|&entity| self.entities.is_gone(entity))
    }

    /// Reports a command that returned a fault. It counts as skipped if its entity is gone, unless the world is strict.
    #[cold]
    fn refuse(&mut self, command: Numbered<'_>, fault: Fault) -> Result<(), Stopped> {
        let is_strict = self.entities.is_strict();
        if !is_strict && let Some(entity) = self.gone_entity(command) {
            self.skip(command, 1, self.entities.no_such(entity).into());
            return Ok(());
        }
        let resolved = self.resolved;
        let unapplied = self.unapplied.get_or_insert_default();
        unapplied.fail(|| command.describe(resolved, fault));
        if is_strict {
            unapplied.rest = Rest::Stopped;
            return Err(Stopped);
        }
        Ok(())
    }

    /// Reports that a command was skipped for `count` entities.
    #[cold]
    fn skip(&mut self, command: Numbered<'_>, count: usize, fault: Fault) {
        let resolved = self.resolved;
        let unapplied = self.unapplied.get_or_insert_default();
        unapplied.skip(count, || command.describe(resolved, fault));
    }

    /// Reports that a command was not coalesced, because its entity is gone.
    #[cold]
    fn skip_coalesced(&mut self, command: Numbered<'_>) {
        let entity = self.resolved.resolve(command.target).unwrap_or(command.target);
        self.skip(command, 1, self.entities.no_such_recorded(entity).into());
    }

    /// Returns the result of a command that creates entities for `count` consecutive placeholders. If it failed, uses up their ids.
    #[inline]
    pub(super) fn created(
        &mut self,
        first: Entity,
        count: usize,
        result: Result<(), Fault>,
    ) -> Result<(), Fault> {
        if result.is_err() {
            self.abandon_ids(first, count);
        }
        result
    }

    /// Uses up the ids of `count` consecutive placeholders whose command failed or was skipped. The entities count as despawned.
    #[cold]
    fn abandon_ids(&mut self, first: Entity, count: usize) {
        if self.entities.is_strict() {
            // Playback stops, and reclaims all ids that were not used.
            return;
        }
        let (Some(of), Ok(ids)) = (Placeholder::of(first), self.resolved.ids_from(first)) else {
            return;
        };
        self.entities.sync_for_move([]);
        for (number, &id) in (of.number..).zip(ids.iter().take(count)) {
            self.entities.storage.table.consume_id(id);
            if !self.entities.exists(id) {
                self.uncreated.push(of.lane, number);
            }
        }
    }

    /// Reserves ids again that were [assigned](Self::assign_ids) and not used, because a command failed.
    #[cold]
    pub(super) fn reserve_unused_ids(&mut self, first: Entity, count: usize) {
        if self.entities.is_strict() {
            return;
        }
        let Some(ids) = self.resolved.ids_from(first).ok().and_then(|ids| ids.get(..count)) else {
            return;
        };
        let used = ids.iter().take_while(|&&id| self.entities.exists(id)).count();
        self.entities.sync_for_move([]);
        self.list.clear();
        // The free list begins with these ids.
        self.entities.storage.table.reserve_many_mut(count - used, &mut self.list);
        debug_assert_eq!(self.list, ids[used..]);
    }

    /// Returns the entity of a command's target, or an error if a later command creates the entity.
    // Always inlined: a call would return the result through memory.
    #[inline(always)]
    pub(super) fn target(&self, target: Entity) -> Result<Entity, Fault> {
        if target.is_placeholder() { self.created_entity(target) } else { Ok(target) }
    }

    /// Returns the entity of a placeholder that an earlier command has created.
    fn created_entity(&self, placeholder: Entity) -> Result<Entity, Fault> {
        let entity = self.resolved.resolve(placeholder)?;
        if self.entities.storage.table.is_marked_reserved(entity) {
            return Err(Fault::NotCreatedYet { placeholder });
        }
        Ok(entity)
    }

    /// Assigns the ids of `count` consecutive placeholders to the next entities that are created.
    pub(super) fn assign_ids(&mut self, first: Entity, count: usize) -> Result<(), Fault> {
        if count == 0 {
            return Ok(());
        }
        let ids = self.resolved.ids_from(first)?;
        let ids = ids.get(..count).ok_or(Fault::NotCreatedYet { placeholder: first })?;
        self.entities.sync_for_move([]);
        let assigned = self.entities.storage.table.release_reserved(ids);
        assigned.map_err(|entity| Fault::PromiseBroken { entity })
    }

    /// Creates an entity from each set, on all threads. The entities get the ids of consecutive placeholders, starting at `first`.
    /// Returns false, and creates nothing, if a set might be refused.
    pub(super) fn spawn_parallel<S: ComponentSet>(
        &mut self,
        first: Entity,
        sets: Spaced<S>,
    ) -> bool {
        let Ok(ids) = self.resolved.ids_from(first) else { return false };
        let Some(ids) = ids.get(..sets.count()) else { return false };
        let table = &self.entities.storage.table;
        ids.iter().all(|&id| table.is_marked_reserved(id)) && self.entities.spawn_spaced(sets, ids)
    }
}

/// Commands of a lane with the same sort key, applied in the order in which they were recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    key: u64,
    pub(super) lane: usize,
    /// First run in the lane's stream.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl CommandLog {
    /// Lists the commands in the order of playback.
    pub(super) fn list_segments(&self, segments: &mut Vec<Segment>) {
        segments.clear();
        let mut has_keys = false;
        for (number, lane) in self.lanes.iter().enumerate() {
            let (mut key, mut start) = (NO_KEY, 0);
            let mut push = |key, start, end| {
                if start < end {
                    segments.push(Segment { key, lane: number, start, end });
                }
            };
            for &(run, next) in &lane.keys {
                push(key, start, run);
                (key, start) = (next, run);
                has_keys = true;
            }
            push(key, start, lane.stream.run_count());
        }
        if has_keys {
            // Commands with equal keys keep their order. A stable sort would allocate.
            segments.sort_unstable_by_key(|segment| (segment.key, segment.lane, segment.start));
        }
    }

    /// Applies all commands. A strict world stops at the first command that fails. Returns the commands that were not applied, if
    /// there are any.
    pub(super) fn play(&mut self, host: &mut dyn PlaybackHost) -> Option<Box<Unapplied>> {
        let manager = host.entities().id();
        let mut guard = PlaybackGuard { log: self, host, manager, is_finished: false };
        guard.assign_ids();
        let unapplied = guard.play();
        guard.is_finished = !unapplied.as_ref().is_some_and(|unapplied| unapplied.has_failed());
        // If dropping a value panics here, unwinding drops the report. Otherwise the report would leak.
        drop(guard);
        unapplied
    }
}

/// Log during playback. Restores the log when playback ends, even by a panic.
struct PlaybackGuard<'p> {
    log: &'p mut CommandLog,
    host: &'p mut dyn PlaybackHost,
    /// Id of the manager that has assigned the ids. A command can replace the entities of its world.
    manager: u64,
    is_finished: bool,
}

impl PlaybackGuard<'_> {
    /// Assigns ids to created entities without a reserved id, in the order in which they were recorded.
    fn assign_ids(&mut self) {
        let Self { log, host, .. } = self;
        let entities = host.entities();
        let CommandLog { lanes, resolved, stamps, reusable, .. } = &mut **log;
        resolved.stamps.clone_from(stamps);
        entities.sync_for_move([]);
        let table = &mut entities.storage.table;
        resolved.lanes.resize_with(lanes.len(), LaneIds::default);
        for (lane, of_lane) in lanes.iter_mut().zip(&mut resolved.lanes) {
            let created = lane.created as usize;
            if *reusable {
                of_lane.ids.clear();
            } else {
                // Reuses the memory of the lane's list.
                of_lane.ids = mem::take(&mut lane.ids);
            }
            (of_lane.lane, of_lane.prefixes) = (lane.lane, lane.prefixes);
            let reserved = of_lane.ids.iter().position(|id| id.is_null());
            of_lane.reserved = reserved.unwrap_or(of_lane.ids.len());
            for id in of_lane.ids.iter_mut().filter(|id| id.is_null()) {
                *id = table.reserve();
            }
            table.reserve_many_mut(created - of_lane.ids.len(), &mut of_lane.ids);
        }
        log.reserved_by = None;
    }

    fn play(&mut self) -> Option<Box<Unapplied>> {
        let Self { log, host, manager, .. } = self;
        let log = &mut **log;
        let mut segments = mem::take(&mut log.segments);
        log.list_segments(&mut segments);
        let mut playback = Playback::new(&log.lanes, &segments);
        let coalesces = playback.should_coalesce();
        let (mut unapplied, mut refused) = (None, None);
        loop {
            let mut context = Context {
                entities: host.entities(),
                resolved: &log.resolved,
                keeps: log.reusable,
                list: mem::take(&mut log.list),
                members: mem::take(&mut log.members),
                panic: None,
                skipped_members: None,
                uncreated: &mut log.uncreated,
                unapplied,
            };
            let played = match refused.take() {
                Some((command, fault)) => context.refuse(command, fault),
                None => Ok(()),
            };
            let played = if context.entities.id() == *manager {
                played.and_then(|()| playback.play(&mut context, coalesces))
            } else {
                context.unapplied.get_or_insert_default().rest = Rest::Stopped;
                Err(Stopped)
            };
            (log.list, log.members) = (context.list, context.members);
            unapplied = context.unapplied;
            // If a strict world stopped, the report has the failed command.
            let Ok(Interruption::NeedsWorld) = played else { break };
            refused = playback.play_in_world(&mut **host, *manager, &log.resolved, log.reusable);
        }
        log.segments = segments;
        if let Some(unapplied) = &mut unapplied {
            unapplied.commands = log.len();
        }
        unapplied
    }
}

impl Drop for PlaybackGuard<'_> {
    fn drop(&mut self) {
        // If a command has replaced the entities, the assigned ids do not belong to the new ones.
        if !self.is_finished && self.host.entities().id() == self.manager {
            let lanes = &mut self.log.resolved.lanes;
            self.host
                .entities()
                .reclaim_unused_ids(lanes.iter_mut().flat_map(|lane| &mut lane.ids));
        }
        self.log.uncreated.clear_ids(&mut self.log.resolved);
        self.log.is_played = true;
        self.log.continues_lane = false;
        if !self.log.reusable {
            // Drops commands that were not applied. The first panic ends the loop.
            for lane in &mut self.log.lanes {
                lane.keys.clear();
                lane.stream.clear();
            }
        }
    }
}

/// Position in the commands of a log that is being played.
#[derive(Clone, Copy)]
pub(super) struct Playback<'l> {
    lanes: &'l [CommandRecorder],
    segments: &'l [Segment],
    /// Current run of the first segment.
    run: usize,
    /// Rest of the current run, if some of its commands were applied.
    rest: Option<RunCursor<'l>>,
    /// Number of commands that were applied or skipped.
    played: usize,
}

impl<'l> Playback<'l> {
    fn new(lanes: &'l [CommandRecorder], segments: &'l [Segment]) -> Self {
        let run = segments.first().map_or(0, |segment| segment.start);
        Self { lanes, segments, run, rest: None, played: 0 }
    }

    /// Tests whether runs are short enough for coalescing to be faster.
    fn should_coalesce(&self) -> bool {
        let runs: usize = self.segments.iter().map(|segment| segment.end - segment.start).sum();
        let commands: usize = self.lanes.iter().map(CommandRecorder::len).sum();
        runs > 1 && commands < runs * LONG_RUN
    }

    /// Returns the lane and the rest of the current run.
    // Always inlined: a call would return the result through memory.
    #[inline(always)]
    fn current_run(&self) -> Option<(&'l CommandRecorder, RunCursor<'l>)> {
        let segment = self.segments.first()?;
        let lane = &self.lanes[segment.lane];
        Some((lane, self.rest.unwrap_or_else(|| lane.stream.run(self.run))))
    }

    /// Returns the rest of the current run.
    // Always inlined: a call would return the result through memory.
    #[inline(always)]
    pub(super) fn rest_of_run(&self) -> Option<RunCursor<'l>> {
        self.current_run().map(|(_, rest)| rest)
    }

    /// Moves past `count` commands of the current run. `rest` is the rest of the run.
    #[inline]
    fn advance(&mut self, count: usize, rest: RunCursor<'l>) {
        self.played += count;
        self.rest = Some(rest);
        if rest.left() == 0 {
            self.rest = None;
            self.run += 1;
            if self.segments.first().is_some_and(|segment| self.run == segment.end) {
                self.segments = &self.segments[1..];
                self.run = self.segments.first().map_or(0, |segment| segment.start);
            }
        }
    }

    /// Moves past the current run without applying it.
    pub(super) fn skip_run(&mut self) {
        if let Some(rest) = self.rest_of_run() {
            // A cursor without commands ends the run.
            self.advance(rest.left(), rest.emptied());
        }
    }

    /// Applies the remaining commands, up to one that needs the world.
    fn play(
        &mut self,
        context: &mut Context<'_>,
        coalesces: bool,
    ) -> Result<Interruption, Stopped> {
        if coalesces {
            return self.play_coalesced(context);
        }
        self.skip_cancelled(context);
        while let Some(rest) = self.rest_of_run() {
            if rest.vtable().apply_to_world.is_some() {
                return Ok(Interruption::NeedsWorld);
            }
            self.play_some(context, rest.left())?;
            self.skip_cancelled(context);
        }
        Ok(Interruption::Ended)
    }

    /// Applies up to `count` commands run by run, and stops before commands that need the world. Continues after commands that fail,
    /// unless the world is strict.
    fn play_some(&mut self, context: &mut Context<'_>, count: usize) -> Result<(), Stopped> {
        let mut left = count;
        while left > 0
            && let Some((lane, rest)) = self.current_run()
            && rest.vtable().apply_to_world.is_none()
        {
            let now = rest.first(left);
            // SAFETY: commands from the position on were not used, and the playback borrows the log exclusively.
            let (run, result) = unsafe { ActiveRun::apply(now, context) };
            let taken = now.left() - run.left();
            self.advance(taken, run.cursor().rest());
            left -= taken;
            if result.is_ok() && run.left() == 0 && context.skipped_members.is_none() {
                continue;
            }
            let (command, target) = run.last().expect("a run that ends early took a command");
            let last = Numbered { command, target, number: self.played, job: lane.job };
            if let Some((count, first)) = context.skipped_members.take() {
                context.skip(last, count, context.entities.no_such(first).into());
            }
            if let Err(fault) = result {
                context.refuse(last, fault)?;
            }
        }
        Ok(())
    }

    /// Applies the remaining commands, up to one that needs the world, in coalesced batches where possible.
    fn play_coalesced(&mut self, context: &mut Context<'_>) -> Result<Interruption, Stopped> {
        context.entities.coalesced.clear();
        while let Some(rest) = self.rest_of_run() {
            if rest.vtable().apply_to_world.is_some() {
                return Ok(Interruption::NeedsWorld);
            }
            if rest.vtable().coalesce.is_none() {
                self.play_some(context, rest.left())?;
                continue;
            }
            let first = *self;
            let skipped = context.skipped();
            self.coalesce_batch(context);
            let count = self.played - first.played;
            let panic = context.panic.take();
            let applied = match count - (context.skipped() - skipped) {
                0 => BatchOutcome::Applied,
                // A single command is applied directly.
                1 if count == 1 => BatchOutcome::Refused,
                _ => apply_batch(context),
            };
            context.entities.clear_coalesced();
            if !matches!(applied, BatchOutcome::Applied) {
                // The commands are played again, and those that were skipped are skipped again.
                context.set_skipped(skipped);
            }
            let panic = match applied {
                BatchOutcome::Applied => panic,
                BatchOutcome::Refused => {
                    *self = first;
                    self.play_some(context, count)?;
                    panic
                }
                BatchOutcome::Panicked(earlier) => {
                    // Applies the commands before the one that panicked, as far as they can be identified.
                    *self = first;
                    let _ = self.play_some(context, count);
                    Some(earlier)
                }
            };
            if let Some(panic) = panic {
                resume_unwind(panic);
            }
            if count < MAX_BATCH {
                // The next command could not be coalesced.
                self.play_some(context, 1)?;
            }
        }
        Ok(Interruption::Ended)
    }

    /// Coalesces commands until the batch is full or a command cannot be coalesced.
    fn coalesce_batch(&mut self, context: &mut Context<'_>) {
        let end = self.played + MAX_BATCH;
        while self.played < end
            && let Some(rest) = self.rest_of_run()
            && rest.vtable().coalesce.is_some()
        {
            let mut cursor = rest.first(end - self.played);
            let count = cursor.left();
            while let Some(command) = cursor.peek() {
                // SAFETY: commands from the position on were not used, and the playback borrows the log exclusively.
                match unsafe { command.coalesce(context) } {
                    CoalesceResult::Recorded => {}
                    CoalesceResult::Skipped => {
                        let number = self.played + count - cursor.left() + 1;
                        self.skip_coalesced(context, command, number);
                    }
                    CoalesceResult::Refused => break,
                }
                cursor.skip(command);
            }
            self.advance(count - cursor.left(), cursor.rest());
            if cursor.left() > 0 {
                return;
            }
        }
    }
}

impl<'l> Playback<'l> {
    /// Applies commands that need the world, until one fails or the next one needs only the entities. Returns the failed command. A
    /// command fails if the manager with this id is replaced.
    #[cold]
    fn play_in_world(
        &mut self,
        host: &mut dyn PlaybackHost,
        manager: u64,
        resolved: &ResolvedIds,
        keeps: bool,
    ) -> Option<(Numbered<'l>, Fault)> {
        while let Some((lane, rest)) = self.current_run()
            && rest.vtable().apply_to_world.is_some()
        {
            // SAFETY: commands from the position on were not used, and the playback borrows the log exclusively.
            let (run, result) =
                unsafe { ActiveRun::apply_to_world(rest.first(1), host.world(), resolved, keeps) };
            self.advance(1, run.cursor().rest());
            let is_replaced = host.entities().id() != manager;
            let replaced = is_replaced.then_some(Fault::EntitiesReplaced);
            if let Some(fault) = replaced.or(result.err()) {
                let (command, target) = run.last().expect("a command was taken");
                let number = self.played;
                return Some((Numbered { command, target, number, job: lane.job }, fault));
            }
        }
        None
    }
}

impl Playback<'_> {
    /// Reports a command of the current run that was not coalesced, because its entity is gone.
    #[cold]
    fn skip_coalesced(&self, context: &mut Context<'_>, command: StoredCommand<'_>, number: usize) {
        let job = self.current_run().and_then(|(lane, _)| lane.job);
        if let Some(target) = command.target() {
            context.skip_coalesced(Numbered { command, target, number, job });
        }
    }
}

/// Result of applying a coalesced batch.
enum BatchOutcome {
    Applied,
    /// Nothing was applied, because there is no memory.
    Refused,
    Panicked(Panic),
}

/// Applies the coalesced batch.
fn apply_batch(context: &mut Context<'_>) -> BatchOutcome {
    // User code may run and panic here. Nothing was changed by then.
    match catch_unwind(AssertUnwindSafe(|| context.entities.prepare_coalesced())) {
        Ok(Ok(())) => {
            context.entities.apply_coalesced();
            BatchOutcome::Applied
        }
        Ok(Err(_)) => BatchOutcome::Refused,
        Err(panic) => BatchOutcome::Panicked(panic),
    }
}

impl Numbered<'_> {
    /// Describes the command, and the reason why it was not applied.
    fn describe(self, resolved: &ResolvedIds, fault: Fault) -> UnappliedCommand {
        let Self { command, target, number, job } = self;
        let target = resolved.shown(target);
        let command = fmt::from_fn(|f| command.describe(target, f)).to_string();
        UnappliedCommand { number, command, job, fault }
    }
}
