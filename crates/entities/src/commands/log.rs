//! Everything that a command buffer has recorded, in the order in which it is played.

#![expect(unsafe_code, reason = "goes through commands in the memory of lanes")]

use std::fmt;
use std::mem;
use std::sync::Arc;

use ancho_collections::{Container, Lanes, ParallelWriter};
use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel, current_job};

use super::buffer::EntityCommandBuffer;
use super::command::Given;
use super::error::{StoppedAt, already_played};
use super::lane::{Found, VerbRun, find};
use super::placeholder::BufferStamps;
use super::play::{LaneIds, Player, Resolved};
use super::promises::Returns;
use super::recorder::{CommandRecorder, NO_KEY};
use super::verb::Kind;
use super::walk::Walk;
use crate::entity::Entity;
use crate::manager::{DistinctEntities, EntityManager};
use crate::panics::FirstPanic;

/// What an [`EntityCommandBuffer`] shares with jobs: what its tokens are of.
#[derive(Debug)]
pub struct CommandLog {
    /// Who has recorded, in order. Their numbers rise.
    pub(super) lanes: Vec<CommandRecorder>,
    /// What the batches of a job record, until it is done.
    batches: Lanes<CommandRecorder>,
    /// Lanes without commands, whose memory is used again.
    spare: Vec<CommandRecorder>,
    /// The number of the next lane.
    next_lane: u32,
    pub(super) stamps: BufferStamps,
    /// Whether the last lane is that of the main thread, which goes on in it.
    goes_on: bool,
    pub(super) reusable: bool,
    pub(super) is_played: bool,
    /// What the placeholders stand for, once they have been given ids.
    resolved: Resolved,
    /// The world that has promised ids to entities of this, and what it is given back.
    promised_by: Option<Arc<Returns>>,
    /// Memory for what is needed while this is played.
    segments: Vec<Segment>,
    list: Vec<Entity>,
    members: DistinctEntities,
}

/// Commands that are played one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    key: u64,
    pub(super) lane: usize,
    /// Which runs of the lane.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A command that was not used.
pub(super) struct Seen<'l> {
    /// The how manieth it is, from 1 on.
    pub(super) number: usize,
    pub(super) lane: &'l CommandRecorder,
    found: Found,
    pub(super) target: Entity,
}

impl Seen<'_> {
    pub(super) fn kind(&self) -> Kind {
        self.found.verb.kind
    }

    /// Calls a function with each entity that it is done to.
    pub(super) fn named(&self, each: &mut dyn FnMut(Entity)) {
        // SAFETY: there is a payload of the verb, which was not used, and the log is not changed meanwhile.
        unsafe { (self.found.verb.named)(self.found.payload, self.target, each) };
    }

    /// Notes which components it gives.
    pub(super) fn gives(&self, given: &mut Given<'_>) {
        // SAFETY: there is a payload of the verb, which was not used, and the log is not changed meanwhile.
        unsafe { (self.found.verb.gives)(self.found.payload, given) };
    }
}

impl fmt::Display for Seen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: there is a payload of the verb.
        unsafe { (self.found.verb.describe)(self.found.payload, self.lane.shown(self.target), f) }
    }
}

impl Container for CommandLog {
    #[track_caller]
    fn label() -> ContainerLabel {
        ContainerLabel::of::<EntityCommandBuffer>()
    }
}

impl ConcurrentWrite for CommandLog {
    type Writer<'v> = ParallelWriter<'v, CommandRecorder>;
    type Item<'b> = &'b mut CommandRecorder;

    fn writer(&self, batch: &BatchInfo) -> ParallelWriter<'_, CommandRecorder> {
        assert!(!self.is_played, "{}", already_played(None));
        // What a job does before its batches, as a single job does everything, has no range.
        let number = batch.index as u32 + u32::from(!batch.range.is_empty());
        let mut writer = self.batches.open(batch.index);
        let lane = self.next_lane.saturating_add(number);
        writer.begin(self.stamps.of_lane(lane), lane, current_job());
        writer
    }

    fn item<'b>(
        writer: &'b mut ParallelWriter<'_, CommandRecorder>,
        _: usize,
    ) -> &'b mut CommandRecorder {
        writer
    }

    fn conclude(&mut self, failed: bool) {
        let Self { lanes, batches, spare, next_lane, goes_on, .. } = self;
        let mut panics = FirstPanic::default();
        batches.settle(|lane| {
            // It may be another than was lent, with a number that was used already. Numbers of discarded lanes are not used
            // again: others may have their placeholders.
            *next_lane = (lane.lane + 1).max(*next_lane);
            *goes_on = false;
            if failed {
                panics.during(|| lane.clear());
            } else {
                lanes.push(mem::replace(lane, spare.pop().unwrap_or_default()));
            }
        });
        panics.go_on();
    }
}

impl CommandLog {
    pub(super) fn new(reusable: bool) -> Self {
        Self {
            lanes: Vec::new(),
            batches: Lanes::new(),
            spare: Vec::new(),
            next_lane: 0,
            stamps: BufferStamps::new(),
            goes_on: false,
            reusable,
            is_played: false,
            resolved: Resolved::default(),
            promised_by: None,
            segments: Vec::new(),
            list: Vec::new(),
            members: DistinctEntities::default(),
        }
    }

    /// How many commands there are.
    pub(super) fn len(&self) -> usize {
        self.lanes.iter().map(CommandRecorder::len).sum()
    }

    /// What the main thread records in.
    #[track_caller]
    pub(super) fn main_lane(&mut self) -> &mut CommandRecorder {
        if !self.goes_on {
            let mut lane = self.spare.pop().unwrap_or_default();
            lane.begin(self.stamps.of_lane(self.next_lane), self.next_lane, None);
            self.next_lane += 1;
            self.lanes.push(lane);
            self.goes_on = true;
        }
        let lane = self.lanes.last_mut().expect("there is one to go on with");
        lane.set_sort_key(None);
        lane
    }

    /// Whether the ids that entities of this were promised are those of another world.
    pub(super) fn is_promised_by_other(&self, returns: Option<&Arc<Returns>>) -> bool {
        self.promised_by
            .as_ref()
            .is_some_and(|by| returns.is_none_or(|returns| !Arc::ptr_eq(by, returns)))
    }

    /// What the main thread records in, and who has promised ids to entities of this.
    #[track_caller]
    pub(super) fn main_lane_and_promises(
        &mut self,
    ) -> (&mut CommandRecorder, &mut Option<Arc<Returns>>) {
        self.main_lane();
        let lane = self.lanes.last_mut().expect("it is that of the main thread");
        (lane, &mut self.promised_by)
    }

    /// What an entity stands for.
    pub(super) fn resolve(&self, entity: Entity) -> Option<Entity> {
        self.resolved.resolve(entity).ok().filter(|entity| !entity.is_null())
    }

    /// Forgets everything, and begins anew. Values are dropped, memory is kept.
    pub(super) fn clear(&mut self) {
        self.give_back();
        self.stamps = BufferStamps::new();
        (self.next_lane, self.goes_on, self.is_played) = (0, false, false);
        self.resolved.stamps.clone_from(&self.stamps);
        let mut clearing = Clearing(self);
        clearing.clear();
    }

    /// Gives ids back that were promised, and not used.
    fn give_back(&mut self) {
        if let Some(by) = self.promised_by.take() {
            by.give_back(self.lanes.iter_mut().flat_map(|lane| lane.ids.drain(..)));
        }
    }

    /// The commands in the order in which they are played.
    pub(super) fn segments(&self, segments: &mut Vec<Segment>) {
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
            push(key, start, lane.memory.runs().len());
        }
        if has_keys {
            // What has the same key is played as it was recorded. A stable sort would allocate.
            segments.sort_unstable_by_key(|segment| (segment.key, segment.lane, segment.start));
        }
    }

    /// Goes through all commands that were not used, in the order in which they are played.
    pub(super) fn for_each<E>(
        &self,
        segments: &[Segment],
        mut each: impl FnMut(Seen<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut number = 0;
        for segment in segments {
            let lane = &self.lanes[segment.lane];
            for &VerbRun { verb, start, count } in &lane.memory.runs()[segment.start..segment.end] {
                let mut position = start;
                for _ in 0..count {
                    // SAFETY: there is such a command, and nobody changes it.
                    let found = unsafe { find(verb, lane.memory.data(), position) };
                    position = found.next;
                    number += 1;
                    // SAFETY: as above.
                    if let Some(target) = unsafe { found.target() } {
                        each(Seen { number, lane, found, target })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Carries everything out.
    ///
    /// # Errors
    ///
    /// The first command that fails. Those before it are carried out, the others are not.
    pub(super) fn play(&mut self, entities: &mut EntityManager) -> Result<(), StoppedAt> {
        let mut playing = Playing { log: self, entities, is_finished: false };
        playing.give_ids();
        let played = playing.play();
        playing.is_finished = played.is_ok();
        // If a value panics that goes now, the error goes too. What is being returned already would be leaked.
        drop(playing);
        played
    }
}

/// A log whose lanes are cleared, one after the other. One whose values panic when they are dropped goes, and the rest is cleared
/// all the same.
struct Clearing<'l>(&'l mut CommandLog);

impl Clearing<'_> {
    fn clear(&mut self) {
        let CommandLog { lanes, resolved, spare, .. } = &mut *self.0;
        while let Some(mut lane) = lanes.pop() {
            if let Some(LaneIds { ids, .. }) = resolved.lanes.pop()
                && ids.capacity() > lane.ids.capacity()
            {
                lane.ids = ids;
            }
            lane.clear();
            spare.push(lane);
        }
        resolved.lanes.clear();
    }
}

impl Drop for Clearing<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Drop for CommandLog {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// A log that is being played. When that ends, also by a panic, it is in order.
struct Playing<'p> {
    log: &'p mut CommandLog,
    entities: &'p mut EntityManager,
    is_finished: bool,
}

impl Playing<'_> {
    /// Gives ids to the entities that are created, unless they were promised some, in the order in which they were recorded.
    fn give_ids(&mut self) {
        let Self { log, entities, .. } = self;
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
                // With the memory of the last time, if there is nothing in it.
                of_lane.ids = mem::take(&mut lane.ids);
            }
            (of_lane.lane, of_lane.stamps) = (lane.lane, lane.stamps);
            let promised = of_lane.ids.iter().position(|id| id.is_null());
            of_lane.promised = promised.unwrap_or(of_lane.ids.len());
            for id in of_lane.ids.iter_mut().filter(|id| id.is_null()) {
                *id = table.reserve();
            }
            table.reserve_many_mut(created - of_lane.ids.len(), &mut of_lane.ids);
        }
        log.promised_by = None;
    }

    fn play(&mut self) -> Result<(), StoppedAt> {
        let mut segments = mem::take(&mut self.log.segments);
        self.log.segments(&mut segments);
        let keeps = self.log.reusable;
        let mut player = Player {
            entities: &mut *self.entities,
            resolved: &self.log.resolved,
            keeps,
            list: mem::take(&mut self.log.list),
            members: mem::take(&mut self.log.members),
            panic: None,
        };
        let played = Walk::new(&self.log.lanes, &segments).play(&mut player);
        let Player { list, members, .. } = player;
        (self.log.segments, self.log.list, self.log.members) = (segments, list, members);
        played.map_err(|mut stopped| {
            stopped.commands = self.log.len();
            stopped
        })
    }
}

impl Drop for Playing<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            let lanes = &mut self.log.resolved.lanes;
            self.entities.take_back_unused(lanes.iter_mut().flat_map(|lane| &mut lane.ids));
        }
        self.log.is_played = true;
        self.log.goes_on = false;
        if !self.log.reusable {
            // What was not carried out is dropped. One that panics is the last.
            for lane in &mut self.log.lanes {
                lane.keys.clear();
                lane.memory.clear();
            }
        }
    }
}
