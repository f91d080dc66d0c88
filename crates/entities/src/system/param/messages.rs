//! Parameters that write and read messages.

#![expect(unsafe_code, reason = "several parameters borrow one world")]

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;

use ancho_collections::Native;
use ancho_jobs::{CellConcurrent, Plain};

use super::fetch::UnsafeWorldCell;
use super::{ParamSetup, ParamState, SystemParam};
use crate::messages::{
    AliveToken, JobMessages, Message, MessageIter, MessageSlices, MessageView, Queue,
};
use crate::schedule::{ParamAccess, ParamConflict, SystemFault};
use crate::world::World;

/// Parameter that writes messages of one type. See [`Message`].
///
/// Other systems get the messages when this system has returned. If the system fails, its messages are dropped.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Entity, Message, MessageWriter, Query, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(Message, Clone)]
/// struct Died(Entity);
///
/// fn find(all: Query<(Entity, &Health)>, mut died: MessageWriter<Died>) {
///     for (entity, health) in &all {
///         if health.0 == 0 {
///             died.write(Died(entity));
///         }
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn(Health(0));
/// world.add_system(find);
/// world.update(0.1);
/// assert_eq!(world.read_messages::<Died>().next().unwrap().0, orc);
/// ```
#[doc(alias = "EventWriter")]
pub struct MessageWriter<'s, M: Message> {
    state: &'s mut WriterState<M>,
}

impl<M: Message> MessageWriter<'_, M> {
    /// Writes a message.
    #[inline]
    #[doc(alias = "send")]
    pub fn write(&mut self, message: M) {
        self.state.current.push(message);
    }

    /// Writes several messages.
    pub fn write_batch(&mut self, messages: impl IntoIterator<Item = M>) {
        self.state.current.extend(messages);
    }

    /// Returns a writer for a job. Each batch of the job writes to a lane, and the lanes are joined in the order of the batches.
    ///
    /// The messages have the place in the queue at which this method was called. A reader waits for the job. If the job panics, all
    /// its messages are dropped. Several jobs can write at the same time, each with its own writer.
    ///
    /// # Determinism
    ///
    /// The order of the messages does not depend on the number of threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Message, MessageWriter, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Message, Clone)]
    /// struct Died(Entity);
    ///
    /// fn find(all: Query<(Entity, &Health)>, mut died: MessageWriter<Died>) {
    ///     all.job().with(died.writer()).schedule_parallel(|(entity, health), died| {
    ///         if health.0 == 0 {
    ///             died.write(Died(entity));
    ///         }
    ///     });
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch((0..100).map(|number| Health(number % 10)));
    /// world.add_system(find);
    /// world.update(0.1);
    /// assert_eq!(world.read_messages::<Died>().count(), 10);
    /// ```
    pub fn writer(&mut self) -> CellConcurrent<'_, JobMessages<M>> {
        let WriterState { current, pieces, spare, spare_lists, .. } = &mut *self.state;
        if !current.is_empty() {
            let empty = spare_lists.pop().unwrap_or_default();
            pieces.push(Piece::Messages(mem::replace(current, empty)));
        }
        let container = spare.pop();
        let container = container.unwrap_or_else(|| Native::of(JobMessages::default()));
        pieces.push(Piece::Job(container));
        match pieces.last_mut() {
            Some(Piece::Job(container)) => container.writer(),
            _ => unreachable!("it was just put there"),
        }
    }
}

impl<M: Message> fmt::Debug for MessageWriter<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageWriter<{}>", type_name::<M>())
    }
}

/// The state of [`MessageWriter`]: the messages of the current run.
pub struct WriterState<M: Message> {
    /// The index of the message type in the world.
    place: u32,
    current: Vec<M>,
    /// Earlier messages of this run.
    pieces: Vec<Piece<M>>,
    /// Containers for jobs.
    spare: Vec<Native<JobMessages<M>>>,
    /// Empty lists, whose memory is used again.
    spare_lists: Vec<Vec<M>>,
    /// The number of jobs of the last run.
    jobs: usize,
}

enum Piece<M: Message> {
    Messages(Vec<M>),
    Job(Native<JobMessages<M>>),
}

impl<M: Message> fmt::Debug for WriterState<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterState").field("len", &self.current.len()).finish_non_exhaustive()
    }
}

impl<M: Message> ParamState for WriterState<M> {
    fn finish(&mut self, world: &mut World) -> Result<(), SystemFault> {
        if self.current.is_empty() && self.pieces.is_empty() {
            return Ok(());
        }
        let (queue, clocks) = world.messages.queue_mut::<M>(self.place);
        self.jobs = 0;
        for piece in self.pieces.drain(..) {
            match piece {
                Piece::Messages(mut messages) => {
                    queue.append(&mut messages, clocks);
                    self.spare_lists.push(messages);
                }
                Piece::Job(messages) => {
                    self.jobs += 1;
                    queue.push_job(messages, clocks);
                }
            }
        }
        queue.append(&mut self.current, clocks);
        if queue.warns() {
            world.warn_of_many_messages::<M>();
        }
        Ok(())
    }
}

// SAFETY: `fetch` accesses no data of the world.
unsafe impl<M: Message> SystemParam for MessageWriter<'_, M> {
    type State = WriterState<M>;
    type Item<'w, 's> = MessageWriter<'s, M>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<WriterState<M>, ParamConflict> {
        let (ty, write) = (TypeId::of::<M>(), true);
        setup.declare::<Self>(ParamAccess::Message { ty, write })?;
        let place = setup.world.messages.place_of::<M>().map_err(ParamConflict::of_message)?;
        Ok(WriterState {
            place,
            current: Vec::new(),
            pieces: Vec::new(),
            spare: Vec::new(),
            spare_lists: Vec::new(),
            jobs: 0,
        })
    }

    #[inline]
    fn prepare(state: &mut WriterState<M>, world: &mut World) -> Result<(), SystemFault> {
        // Messages of a run that failed are dropped.
        state.current.clear();
        state.pieces.clear();
        if state.spare.len() < state.jobs {
            let (queue, _) = world.messages.queue_mut::<M>(state.place);
            while state.spare.len() < state.jobs
                && let Some(container) = queue.take_container()
            {
                state.spare.push(container);
            }
        }
        Ok(())
    }

    #[inline]
    unsafe fn fetch<'s>(
        state: &'s mut WriterState<M>,
        _: UnsafeWorldCell<'_>,
    ) -> MessageWriter<'s, M> {
        MessageWriter { state }
    }
}

/// Parameter that reads messages of one type, each message once. See [`Message`].
///
/// Two readers of a system have separate positions. Before the system runs, jobs that write messages of this type are completed.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Message, MessageReader, MessageWriter, World};
///
/// #[derive(Message, Clone, PartialEq, Debug)]
/// struct Hit(u32);
///
/// fn log(mut hits: MessageReader<Hit>) {
///     assert_eq!(hits.len(), 2);
///     // The first one is read, and the other one stays unread.
///     assert_eq!(hits.read().next(), Some(&Hit(1)));
///     assert_eq!(hits.len(), 1);
///     hits.clear();
///     assert!(hits.is_empty());
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_system(|mut hits: MessageWriter<Hit>| hits.write_batch([Hit(1), Hit(2)]));
/// world.add_system(log);
/// world.update(0.1);
/// ```
#[doc(alias = "EventReader")]
pub struct MessageReader<'w, M: Message> {
    queue: &'w Queue<M>,
    reader: u32,
}

impl<'w, M: Message> MessageReader<'w, M> {
    /// Reads the messages that this reader has not read, in write order.
    ///
    /// A message counts as read when the iterator has yielded it. If the iterator is dropped early, the rest stays unread.
    #[inline]
    pub fn read(&mut self) -> MessageIter<'_, M> {
        MessageIter::new(self.queue.slices(self.reader), self.queue.position(self.reader))
    }

    /// Reads the messages that this reader has not read as slices, in write order. There is about one slice for each system that has
    /// written messages, and for each batch of a job.
    ///
    /// A slice counts as read when the iterator has yielded it.
    pub fn slices(&mut self) -> MessageSlices<'_, M> {
        MessageSlices::new(self.queue.slices(self.reader), self.queue.position(self.reader))
    }

    /// Returns the number of messages that this reader has not read. They stay unread.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.unread(self.reader) as usize
    }

    /// Tests whether this reader has read all messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.unread(self.reader) == 0
    }

    /// Marks all messages as read.
    pub fn clear(&mut self) {
        self.queue.mark_read(self.reader);
    }

    /// Returns the number of messages that were dropped since the system last ran, before this reader has read them. See
    /// [`Message::KEEP`] and [`Message::LIMIT`].
    #[must_use]
    pub fn missed(&self) -> usize {
        self.queue.missed(self.reader) as usize
    }

    /// Passes the messages that this reader has not read to a job. They all count as read. They stay alive until the job is
    /// completed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Message, MessageReader, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Position(f32);
    ///
    /// #[derive(Message, Clone)]
    /// struct Push(f32);
    ///
    /// fn push(all: Query<&mut Position>, pushes: MessageReader<Push>) {
    ///     all.job().with(pushes.into_job()).schedule_parallel(|position, pushes| {
    ///         position.0 += pushes.iter().map(|push| push.0).sum::<f32>();
    ///     });
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn(Position(1.0));
    /// world.add_system(push);
    /// world.write_message(Push(2.0));
    /// world.update(0.1);
    /// assert_eq!(world.get::<Position>(stone).unwrap().0, 3.0);
    /// ```
    #[doc(alias = "par_read")]
    pub fn into_job(self) -> Plain<MessageView<M>> {
        Plain(self.queue.view(self.reader))
    }
}

impl<M: Message> fmt::Debug for MessageReader<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageReader<{}> {{ unread: {} }}", type_name::<M>(), self.len())
    }
}

/// The state of [`MessageReader`].
#[derive(Debug)]
pub struct ReaderState {
    /// The index of the message type in the world.
    place: u32,
    /// The index of the reader in the queue.
    reader: u32,
    /// The queue drops the reader when this token is dropped with the system.
    /// Set if the parameter was fetched since it was last prepared.
    was_fetched: bool,
    #[expect(dead_code, reason = "the queue counts its owners")]
    alive: AliveToken,
}

impl ParamState for ReaderState {}

// SAFETY:
// - reading messages is declared; messages change only before parameters are fetched and after they are dropped
// - the position of the reader is a cell
unsafe impl<M: Message> SystemParam for MessageReader<'_, M> {
    type State = ReaderState;
    type Item<'w, 's> = MessageReader<'w, M>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<ReaderState, ParamConflict> {
        let (ty, write) = (TypeId::of::<M>(), false);
        let parameter = setup.declare::<Self>(ParamAccess::Message { ty, write })?;
        let world = &mut *setup.world;
        let place = world.messages.place_of::<M>().map_err(ParamConflict::of_message)?;
        let system = world.systems.executing;
        let clock = world.clock_of(system);
        let alive = Arc::new(());
        let (queue, clocks) = world.messages.queue_mut::<M>(place);
        let name = (setup.name, system);
        let reader = queue.add_reader(name, parameter as u32, clock, &alive, clocks);
        Ok(ReaderState { place, reader, was_fetched: false, alive })
    }

    #[inline]
    fn prepare(state: &mut ReaderState, world: &mut World) -> Result<(), SystemFault> {
        let (queue, clocks) = world.messages.queue_mut::<M>(state.place);
        // If the system did not run, because it lacked another parameter, the count of missed messages goes on.
        let keeps_missed = !mem::take(&mut state.was_fetched);
        queue.begin_run(state.reader, keeps_missed, clocks, world.entities.jobs.scheduler());
        Ok(())
    }

    #[inline]
    unsafe fn fetch<'w>(
        state: &mut ReaderState,
        world: UnsafeWorldCell<'w>,
    ) -> MessageReader<'w, M> {
        // SAFETY: the world is borrowed for `'w`, and only `&mut World`, which conflicts with every parameter, changes queues.
        let messages = unsafe { world.messages() };
        state.was_fetched = true;
        MessageReader { queue: messages.queue(state.place), reader: state.reader }
    }
}

/// Tests whether the guarded system has unread messages. The parameter of [`on_message`](crate::on_message).
pub struct UnreadMessages<M: Message> {
    pub(in crate::system) any: bool,
    message: PhantomData<fn() -> M>,
}

impl<M: Message> fmt::Debug for UnreadMessages<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UnreadMessages").field(&self.any).finish()
    }
}

/// The state of [`UnreadMessages`].
#[derive(Debug)]
pub struct UnreadState(bool);

impl ParamState for UnreadState {}

// SAFETY: `fetch` accesses no data of the world.
unsafe impl<M: Message> SystemParam for UnreadMessages<M> {
    type State = UnreadState;
    type Item<'w, 's> = Self;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<UnreadState, ParamConflict> {
        let (ty, write) = (TypeId::of::<M>(), false);
        setup.declare::<Self>(ParamAccess::Message { ty, write })?;
        Ok(UnreadState(false))
    }

    fn prepare(state: &mut UnreadState, world: &mut World) -> Result<(), SystemFault> {
        let unread = world.systems.guarded.and_then(|id| world.unread_messages_of::<M>(id));
        state.0 = unread.is_some_and(|count| count > 0);
        Ok(())
    }

    unsafe fn fetch(state: &mut UnreadState, _: UnsafeWorldCell<'_>) -> Self {
        Self { any: state.0, message: PhantomData }
    }
}
