//! One of two runs, with its connection to the other run.
//!
//! Both runs send their state at the same moments, and wait for the state of the other run. Both decide on the next step from the
//! same two states, so neither waits for a message that is never sent.

use std::mem::{Discriminant, discriminant};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use ancho_entities::__inspect::{
    self, ChunkItem, ItemKind, JobWrites, Moment, StateItem, StateLayout,
};
use ancho_entities::{Entity, SystemFault, Version, World};

use crate::divergence::{Difference, DivergedAt, DivergedPlace, Divergence};
use crate::layout::{self, ChunkPlace, LayoutDifference};
use crate::{leaves, state};

/// Message from one run to the other.
#[derive(Debug)]
pub(crate) enum Message {
    Look(Look),
    Layout(StateLayout),
    Items(Vec<ChunkItem>),
    State(Vec<StateItem>),
    Name(Option<String>),
}

/// State of a run at one moment, which is compared with the state of the other run.
#[derive(Debug)]
pub(crate) struct Look {
    at: DivergedAt,
    world: String,
    hash: u64,
    faults: Vec<Fault>,
    jobs: Vec<JobWrites>,
    panic: Option<String>,
}

/// Error of a system or of the world.
#[derive(Debug)]
struct Fault {
    /// The system that reported the error, or `None` for the world.
    system: Option<Arc<str>>,
    kind: Discriminant<SystemFault>,
    text: String,
}

/// Result of comparing the two runs.
#[derive(Debug)]
pub(crate) enum Outcome {
    Diverged(Box<Divergence>),
    BothPanicked { frame: u64, messages: [String; 2] },
}

/// Connection to the other run.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) to: Sender<Arc<Message>>,
    pub(crate) from: Receiver<Arc<Message>>,
}

/// One of two runs.
#[derive(Debug)]
pub(crate) struct Side {
    /// The number of the run: 0 or 1.
    run: usize,
    /// The connection to the other run, or `None` when the comparison has ended.
    channel: Option<Channel>,
    pub(crate) frame: u64,
    /// Frame and moment of the last comparison without a difference.
    last: (u64, DivergedAt),
    /// The last computed state hash, and the version of the world when it was computed.
    hash: (u64, Option<Version>),
    /// Message of a panic while hashing.
    pub(crate) lost: Option<String>,
    pub(crate) outcome: Option<Outcome>,
}

impl Side {
    pub(crate) fn new(run: usize, channel: Channel) -> Self {
        let last = (0, DivergedAt::Made);
        let hash = (0, None);
        Self { run, channel: Some(channel), frame: 0, last, hash, lost: None, outcome: None }
    }

    /// Returns whether the comparison has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.channel.is_none()
    }

    /// Stores the message of a panic during a comparison, and ends the comparison.
    pub(crate) fn lose(&mut self, message: String) {
        self.lost = Some(message);
        self.end();
    }

    /// Ends the comparison. The other run stops waiting.
    pub(crate) fn end(&mut self) {
        self.channel = None;
    }

    /// Compares the runs at a moment of an update.
    pub(crate) fn see(&mut self, world: &mut World, moment: Moment) {
        let at = match moment {
            Moment::Begun => DivergedAt::BeforeSystems,
            Moment::Ended => DivergedAt::AfterSystems,
            Moment::After(name) => DivergedAt::System(name.to_string()),
            Moment::Passed(name) => {
                return self.compare(Some(world), DivergedAt::System(name.to_string()), true, None);
            }
        };
        self.compare(Some(world), at, false, None);
    }

    /// Compares the runs outside of updates. `panic` is the panic message of this run's driver.
    pub(crate) fn meet(
        &mut self,
        world: Option<&mut World>,
        at: DivergedAt,
        panic: Option<String>,
    ) {
        self.compare(world, at, false, panic);
    }

    /// Compares the runs. With `nothing_done`, the last state hash may be reused.
    fn compare(
        &mut self,
        mut world: Option<&mut World>,
        at: DivergedAt,
        nothing_done: bool,
        panic: Option<String>,
    ) {
        if self.is_done() {
            if let Some(world) = world {
                __inspect::stop_recording_jobs(world);
            }
            return;
        }
        let look = self.look(world.as_deref_mut(), at, nothing_done, panic);
        let Some(both) = self.exchange(Message::Look(look)) else { return };
        let [Message::Look(first), Message::Look(second)] = both.each_ref().map(|it| &**it) else {
            return self.end();
        };
        if let [Some(one), Some(other)] = [first, second].map(|look| look.panic.clone()) {
            let messages = [one, other];
            return self.finish(Outcome::BothPanicked { frame: self.frame, messages });
        }
        let (now, last) = ((self.frame, first.at.clone()), self.last.clone());
        let ((frame, at), difference) = if first.panic.is_some() || second.panic.is_some() {
            let message = [first, second].map(|look| look.panic.clone());
            (last, Some(Difference::Panic { message }))
        } else if first.at != second.at {
            (last, Some(Difference::Order { next: [first, second].map(|look| look.at.clone()) }))
        } else if !first.faults.iter().map(Fault::key).eq(second.faults.iter().map(Fault::key)) {
            let text = |fault: &Fault| fault.text.clone();
            let told = [first, second].map(|look| look.faults.iter().map(text).collect());
            (now, Some(Difference::Faults { told }))
        } else if first.hash != second.hash
            && let Some(world) = world
        {
            (now, self.describe(world))
        } else {
            self.last = now;
            return;
        };
        let Some(difference) = difference else { return self.end() };
        let worlds = [first, second].map(|look| look.world.clone());
        let mut found = Divergence { worlds, frame, at, difference, jobs: Vec::new() };
        if let Some(component) = found.component() {
            for job in first.jobs.iter().chain(&second.jobs) {
                if job.writes.contains(&component) && !found.jobs.contains(&job.name) {
                    found.jobs.push(job.name);
                }
            }
        }
        self.finish(Outcome::Diverged(Box::new(found)));
    }

    fn finish(&mut self, outcome: Outcome) {
        self.outcome = Some(outcome);
        self.end();
    }

    /// Returns the current state of this run.
    fn look(
        &mut self,
        world: Option<&mut World>,
        at: DivergedAt,
        nothing_done: bool,
        panic: Option<String>,
    ) -> Look {
        let (faults, jobs) = (Vec::new(), Vec::new());
        let mut look = Look { at, world: String::new(), hash: 0, faults, jobs, panic };
        let Some(world) = world else { return look };
        world.complete_jobs();
        // Callbacks of skipped systems may still have changed the world.
        let version = Some(world.version());
        if !nothing_done || self.hash.1 != version {
            self.hash = (world.state_hash(), version);
        }
        look.hash = self.hash.0;
        look.jobs = __inspect::take_jobs(world);
        look.world = world.name().to_owned();
        look.faults.extend(__inspect::unseen_errors(world).iter().map(|error| Fault {
            system: (error.system() != look.world).then(|| error.system().into()),
            kind: discriminant(error.fault()),
            text: error.to_string(),
        }));
        look
    }

    /// Sends a message, and waits for the message of the other run. Returns `None` if the other run has ended.
    fn exchange(&mut self, mine: Message) -> Option<[Arc<Message>; 2]> {
        let Channel { to, from } = self.channel.as_ref()?;
        let mine = Arc::new(mine);
        let answer = to.send(Arc::clone(&mine)).ok().and_then(|()| from.recv().ok());
        let Some(theirs) = answer else {
            self.end();
            return None;
        };
        Some(if self.run == 0 { [mine, theirs] } else { [theirs, mine] })
    }

    /// Finds the difference between two states. Returns `None` if the other run has ended.
    fn describe(&mut self, world: &World) -> Option<Difference> {
        let both = self.exchange(Message::Layout(__inspect::layout(world)))?;
        let [Message::Layout(first), Message::Layout(second)] = both.each_ref().map(|it| &**it)
        else {
            return None;
        };
        let mut difference = match layout::compare([first, second]) {
            LayoutDifference::Entities(difference) => difference,
            LayoutDifference::Chunk(place) => self.describe_chunk(world, &place)?,
            LayoutDifference::FreeIds => Difference::FreeIds,
            LayoutDifference::Nothing => self.describe_state(world)?,
        };
        match &mut difference {
            Difference::Exists { entity, name, .. } | Difference::Types { entity, name, .. } => {
                *name = self.name_of(world, *entity)?;
            }
            Difference::Enabled { place, .. } | Difference::Value { place, .. } => {
                if let Some(entity) = place.entity {
                    place.name = self.name_of(world, entity)?;
                }
            }
            _ => {}
        }
        Some(difference)
    }

    /// Finds the difference between the states that do not belong to entities.
    fn describe_state(&mut self, world: &World) -> Option<Difference> {
        let both = self.exchange(Message::State(__inspect::state_items(world)))?;
        let [Message::State(first), Message::State(second)] = both.each_ref().map(|it| &**it)
        else {
            return None;
        };
        Some(state::first_difference([first, second]).unwrap_or(Difference::HashAlone))
    }

    fn describe_chunk(&mut self, world: &World, place: &ChunkPlace) -> Option<Difference> {
        let both = self.exchange(Message::Items(__inspect::chunk_items(
            world,
            place.archetype,
            place.chunk,
        )))?;
        let [Message::Items(first), Message::Items(second)] = both.each_ref().map(|it| &**it)
        else {
            return None;
        };
        let differs = |(one, other): &(&ChunkItem, &ChunkItem)| one.stream != other.stream;
        let Some((one, other)) = first.iter().zip(second).find(differs) else {
            return Some(Difference::HashAlone);
        };
        let component = one.component;
        let place = DivergedPlace {
            archetype: place.types.clone(),
            chunk: place.chunk,
            differing_chunks: place.differing,
            entity: one.entity,
            name: None,
        };
        let streams = [&one.stream[..], &other.stream];
        Some(match one.kind {
            ItemKind::Enabled => {
                let enabled = streams.map(|stream| stream == [1]);
                Difference::Enabled { place, component, enabled }
            }
            ItemKind::Value { shape, is_memory } => {
                let part = leaves::first_difference(shape, is_memory, streams);
                Difference::Value { place, component, field: part.path, values: part.values }
            }
        })
    }

    /// Returns the name of an entity. If the runs have different names, returns that of the first run.
    #[expect(clippy::option_option, reason = "without the other run there is no answer at all")]
    fn name_of(&mut self, world: &World, entity: Entity) -> Option<Option<String>> {
        let mine = world.entity_name(entity).map(str::to_owned);
        let both = self.exchange(Message::Name(mine))?;
        let mut names = both.iter().filter_map(|message| match &**message {
            Message::Name(name) => name.clone(),
            _ => None,
        });
        Some(names.next())
    }
}

impl Fault {
    /// Returns the part that is compared. The text is not compared, because it may contain irrelevant differences.
    fn key(&self) -> (Option<&str>, Discriminant<SystemFault>) {
        (self.system.as_deref(), self.kind)
    }
}
