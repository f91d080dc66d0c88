//! Messages of a world, from outside of systems and in commands.

use std::any::type_name;

use super::World;
use crate::commands::{CommandRecorder, WorldCommandName};
use crate::messages::{ClockId, Clocks, MANY, Message, MessageIter};
use crate::schedule::{SystemFault, SystemId};

impl World {
    /// Writes a message. Systems write with a [`MessageWriter`](crate::MessageWriter).
    ///
    /// # Panics
    ///
    /// Panics with A0184 if the world has seen another state message with the same stable name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Message, MessageReader, World};
    ///
    /// #[derive(Message, Clone)]
    /// #[message(local)]
    /// struct KeyPressed(char);
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(|mut keys: MessageReader<KeyPressed>| {
    ///     assert_eq!(keys.read().next().unwrap().0, 'w');
    /// });
    /// world.write_message(KeyPressed('w'));
    /// world.update(0.1);
    /// ```
    #[track_caller]
    #[doc(alias = "send_event")]
    pub fn write_message<M: Message>(&mut self, message: M) {
        let place = match self.messages.place_of::<M>() {
            Ok(place) => place,
            Err(message) => panic!("{message}"),
        };
        let (queue, clocks) = self.messages.queue_mut::<M>(place);
        queue.write(message, clocks);
        if queue.warns() {
            self.warn_of_many_messages::<M>();
        }
    }

    /// Reads the messages that were written since the last call, in write order. Completes jobs that write them.
    ///
    /// The world counts as a reader of each type, whose chances are the updates. This method is for code outside of systems, such as
    /// tests and tools. A message that the iterator has yielded counts as read.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Message, MessageWriter, World};
    ///
    /// #[derive(Message, Clone)]
    /// struct Hit(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(|mut hits: MessageWriter<Hit>| hits.write(Hit(5)));
    /// world.update(0.1);
    /// assert_eq!(world.read_messages::<Hit>().map(|hit| hit.0).sum::<u32>(), 5);
    /// assert_eq!(world.read_messages::<Hit>().count(), 0);
    /// ```
    #[track_caller]
    pub fn read_messages<M: Message>(&mut self) -> MessageIter<'_, M> {
        let place = match self.messages.place_of::<M>() {
            Ok(place) => place,
            Err(message) => panic!("{message}"),
        };
        let (queue, clocks) = self.messages.queue_mut::<M>(place);
        queue.read_by_world(clocks, self.entities.jobs.scheduler())
    }

    /// Returns the number of messages that a system has not read, or `None` if it does not read this type.
    pub(crate) fn unread_messages_of<M: Message>(&mut self, system: SystemId) -> Option<u64> {
        let place = self.messages.find::<M>()?;
        let (queue, clocks) = self.messages.queue_mut::<M>(place);
        queue.unread_of(system, clocks, self.entities.jobs.scheduler())
    }

    /// Reports that a message type has very many messages, which no reader reads.
    #[cold]
    pub(crate) fn warn_of_many_messages<M: Message>(&mut self) {
        let fault = SystemFault::ManyMessages { message: type_name::<M>(), count: MANY };
        self.systems.fail_as(self.name.as_str().into(), fault);
    }

    /// Returns the clock that counts the chances of a system: that of the nearest enclosing group with a rate, or of the root.
    pub(crate) fn clock_of(&mut self, system: Option<SystemId>) -> ClockId {
        let mut group = system.and_then(|id| self.systems.record(id)?.group);
        while let Some(id) = group {
            let Some(record) = self.systems.record_mut(id) else { break };
            if record.children.rate.is_some() {
                return *record.children.clock.get_or_insert_with(|| self.messages.clocks.add());
            }
            group = record.group;
        }
        Clocks::ROOT
    }
}

impl CommandRecorder {
    /// Writes a message when the command is played. See [`World::write_message`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Commands, Message, World};
    ///
    /// #[derive(Message, Clone)]
    /// struct Hit(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(|mut commands: Commands| commands.write_message(Hit(3)));
    /// world.update(0.1);
    /// assert_eq!(world.read_messages::<Hit>().next().unwrap().0, 3);
    /// ```
    pub fn write_message<M: Message>(&mut self, message: M) {
        let name = WorldCommandName { verb: "write message", what: type_name::<M>() };
        self.for_world_once(name, |world, _| {
            world.write_message(message);
            Ok(())
        });
    }
}
