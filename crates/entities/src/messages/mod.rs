//! Messages: values that systems write, and that other systems read once, in write order.
//!
//! A world has one queue for each message type. Writers fill lists of their own, which become segments of the queue when the system
//! returns, or when the job is completed. Readers have positions in the queue. Nothing is done per update: messages expire when a
//! reader runs, or when other messages are written.

mod block;
mod chances;
mod iter;
mod queue;
mod reader;

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;

use ancho_collections::FixedState;
use ancho_jobs::JobScheduler;
pub use block::{JobMessages, MessageLane};
pub(crate) use chances::{Chances, ClockId, Clocks};
use hashbrown::HashMap;
pub use iter::{MessageIter, MessageSlices, MessageView};
use queue::ErasedQueue;
pub(crate) use queue::{MANY, Queue};

use crate::component::{stable_hash, stable_name};
use crate::field::{Shape, StateHasher, StateValue};
use crate::panics::FirstPanic;

/// A message: a value that a system writes with a [`MessageWriter`](crate::MessageWriter), and that other systems read with a
/// [`MessageReader`](crate::MessageReader).
///
/// Each reader gets each message once, in write order. A system that runs later in the same update gets it at once, and an earlier
/// one in the next update.
///
/// A message is kept for a reader until the reader has read it, but at most for two *chances* of that reader. A system has a chance
/// in each step of the nearest enclosing group with a rate, or in each update if it is in no such group. Disabled systems have chances, too. If
/// [`FixedStep`](crate::FixedStep) makes no step, its systems have no chance, and lose nothing.
///
/// Messages are *state*, like [resources](crate::Resource): they are forked, hashed and rolled back together with the positions of
/// their readers. The type then has to be `Clone`, `Send` and `Sync`, and the derive implements [`Field`](crate::Field). With
/// `#[message(local)]` they are not. Use it for input, user interfaces and audio. Such a type only has to be `Send` and `Sync`.
///
/// Messages cannot be changed or taken out of the queue. If one system has to own them, use a resource with a `Vec`.
///
/// # Options of the derive
///
/// - `#[message(keep = 4)]` keeps messages for four chances, `#[message(keep = all)]` until all systems have read them.
/// - `#[message(limit = 1000)]` keeps at most 1000 messages, and drops the oldest ones.
/// - `#[message(local)]` makes the messages local.
/// - `#[message(name = "…")]` sets the name that identifies the type in state hashes.
/// - `#[message(component)]`: the type is also a component, whose derive implements [`Field`](crate::Field).
///
/// # Examples
///
/// ```
/// use ancho_entities::{Message, MessageReader, MessageWriter, ResMut, Resource, World};
///
/// #[derive(Message, Clone)]
/// struct Hit(u32);
///
/// #[derive(Resource, Clone)]
/// struct Score(u32);
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Score(0));
/// world.add_system(|mut hits: MessageWriter<Hit>| hits.write(Hit(5)));
/// world.add_system(|mut hits: MessageReader<Hit>, mut score: ResMut<Score>| {
///     score.0 += hits.read().map(|hit| hit.0).sum::<u32>();
/// });
/// world.update(0.1);
/// world.update(0.1);
/// assert_eq!(world.resource::<Score>().0, 10);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    label = "not a message",
    note = "write `#[derive(Message)]` on the type: its messages are then forked, hashed and rolled back; `#[message(local)]` opts out"
)]
#[doc(alias = "Event")]
pub trait Message: Send + Sync + Sized + 'static {
    /// State or local.
    #[doc(hidden)]
    const KIND: MessageKind<Self>;

    /// The number of chances for which a message is kept for each reader, or `None` to keep it until it is read.
    const KEEP: Option<NonZero<u32>> = NonZero::new(2);

    /// The maximum number of messages that are kept. The oldest ones are dropped first.
    const LIMIT: Option<NonZero<usize>> = None;

    /// Returns the name of the type, which is its path by default. A name set with `#[message(name = "…")]` identifies the type in
    /// state hashes.
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

/// State or local, with the functions for state.
pub struct MessageKind<M> {
    state: Option<StateFunctions<M>>,
}

struct StateFunctions<M> {
    feed: fn(&[M], &mut StateHasher),
    shape: &'static Shape,
}

impl<M> MessageKind<M> {
    /// Messages that belong to one world.
    #[must_use]
    pub const fn local() -> Self {
        Self { state: None }
    }

    /// Messages that are forked, hashed and rolled back.
    #[must_use]
    pub const fn state() -> Self
    where
        M: StateValue,
    {
        let feed = |messages: &[M], state: &mut StateHasher| M::hash_states(messages, state);
        Self { state: Some(StateFunctions { feed, shape: M::SHAPE }) }
    }

    fn feed(&self) -> Option<fn(&[M], &mut StateHasher)> {
        self.state.as_ref().map(|functions| functions.feed)
    }
}

impl<M> fmt::Debug for MessageKind<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.state.is_some() { "State" } else { "Local" })
    }
}

/// The messages of a world.
#[derive(Default)]
pub(crate) struct Messages {
    pub(crate) clocks: Clocks,
    places: HashMap<TypeId, u32, FixedState>,
    slots: Vec<MessageSlot>,
    /// The indices of state types, in the order of their stable names.
    state: Vec<u32>,
}

struct MessageSlot {
    ty: MessageType,
    queue: Box<dyn ErasedQueue>,
}

#[derive(Clone, Copy)]
struct MessageType {
    ty: TypeId,
    name: &'static str,
    state: Option<(&'static str, &'static Shape)>,
}

impl Messages {
    /// Returns the index of a message type, which never changes.
    ///
    /// # Errors
    ///
    /// Returns the message of A0184 if another state message of the world has the same stable name.
    pub(crate) fn place_of<M: Message>(&mut self) -> Result<u32, String> {
        let ty = TypeId::of::<M>();
        if let Some(&place) = self.places.get(&ty) {
            return Ok(place);
        }
        let state = M::KIND.state.map(|functions| (stable_name::<M>(M::name()), functions.shape));
        let ty = MessageType { ty, name: type_name::<M>(), state };
        self.add_type(ty, Box::new(Queue::<M>::new()))
    }

    fn add_type(&mut self, ty: MessageType, queue: Box<dyn ErasedQueue>) -> Result<u32, String> {
        let place = u32::try_from(self.slots.len()).expect("fewer types than numbers for them");
        if let Some((name, _)) = ty.state {
            let key =
                |&place: &u32| self.slots[place as usize].ty.state.map_or("", |(name, _)| name);
            match self.state.binary_search_by_key(&name, key) {
                Err(at) => self.state.insert(at, place),
                Ok(at) => {
                    let other = self.slots[self.state[at] as usize].ty.name;
                    return Err(format!(
                        "A0184: the messages `{other}` and `{}` share the stable name `{name}`, so a state hash cannot \
                         tell them apart; give one of them another name, with `#[message(name = \"…\")]`",
                        ty.name
                    ));
                }
            }
        }
        self.places.insert(ty.ty, place);
        self.slots.push(MessageSlot { ty, queue });
        Ok(place)
    }

    /// Returns the queue at an index.
    #[inline]
    pub(crate) fn queue<M: Message>(&self, place: u32) -> &Queue<M> {
        let queue = self.slots[place as usize].queue.as_any();
        queue.downcast_ref().expect("a place has one type")
    }

    /// Returns the queue at an index, and the clocks.
    #[inline]
    pub(crate) fn queue_mut<M: Message>(&mut self, place: u32) -> (&mut Queue<M>, &Clocks) {
        let queue = self.slots[place as usize].queue.as_any_mut();
        (queue.downcast_mut().expect("a place has one type"), &self.clocks)
    }

    /// Returns the index of a type, if the world has seen it.
    pub(crate) fn find<M: Message>(&self) -> Option<u32> {
        self.places.get(&TypeId::of::<M>()).copied()
    }

    /// Returns the messages of a fork: those that are state. Completes the jobs that write them.
    pub(crate) fn fork(&mut self, jobs: &JobScheduler) -> Self {
        let mut fork = Self::default();
        for slot in self.slots.iter_mut().filter(|slot| slot.ty.state.is_some()) {
            let queue = slot.queue.fork(&self.clocks, jobs);
            let added = fork.add_type(slot.ty, queue);
            debug_assert!(added.is_ok(), "{added:?}");
        }
        fork
    }

    /// Completes the jobs that write messages.
    pub(crate) fn complete_jobs(&mut self, jobs: &JobScheduler) {
        self.slots.iter_mut().for_each(|slot| slot.queue.complete_jobs(jobs));
    }

    /// Adds the state types of another world, so that [`replace_state`](Self::replace_state) cannot fail.
    ///
    /// # Errors
    ///
    /// Returns the message of A0184 if two types have the same stable name.
    pub(crate) fn add_types_of(&mut self, source: &Self) -> Result<(), String> {
        for &place in &source.state {
            let slot = &source.slots[place as usize];
            if !self.places.contains_key(&slot.ty.ty) {
                self.add_type(slot.ty, slot.queue.new_empty())?;
            }
        }
        Ok(())
    }

    /// Replaces the state messages, and the positions of their readers, by those of another world, whose types are known.
    pub(crate) fn replace_state(&mut self, source: &Self) -> ReplacedMessages {
        let mut replaced = Vec::with_capacity(self.state.len());
        for &place in &self.state {
            let slot = &mut self.slots[place as usize];
            let theirs = source.places.get(&slot.ty.ty);
            let theirs = theirs.map(|&place| &*source.slots[place as usize].queue);
            replaced.push(slot.queue.replace(theirs, &source.clocks, &self.clocks));
        }
        ReplacedMessages(replaced)
    }

    /// Feeds the state messages to a hasher, in the order of the stable names of their types. A type without messages is skipped.
    pub(crate) fn feed(&self, state: &mut StateHasher, jobs: &JobScheduler) {
        for &place in &self.state {
            let slot = &self.slots[place as usize];
            if let Some((name, _)) = slot.ty.state
                && slot.queue.count(jobs) > 0
            {
                state.write_u64(stable_hash(name));
                slot.queue.feed(state);
            }
        }
    }

    /// Returns the stable names, the shapes and the hashed bytes of state messages.
    pub(crate) fn streams(
        &self,
        jobs: &JobScheduler,
    ) -> Vec<(&'static str, &'static Shape, Vec<u8>)> {
        let there = self.state.iter().map(|&place| &self.slots[place as usize]);
        let there = there.filter(|slot| slot.queue.count(jobs) > 0);
        let stream = |slot: &MessageSlot| {
            let (name, shape) = slot.ty.state?;
            Some((name, shape, StateHasher::stream_of(|state| slot.queue.feed(state))))
        };
        there.filter_map(stream).collect()
    }
}

/// State messages that were replaced.
#[must_use = "dropping them is user code"]
pub(crate) struct ReplacedMessages(Vec<Box<dyn Any + Send>>);

impl ReplacedMessages {
    /// Drops the messages type by type.
    pub(crate) fn release(self, panics: &mut FirstPanic) {
        for messages in self.0 {
            panics.during(|| drop(messages));
        }
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.slots.iter().map(|slot| slot.ty.name)).finish()
    }
}

/// The token that shows that the system of a reader still exists.
pub(crate) type AliveToken = Arc<()>;
