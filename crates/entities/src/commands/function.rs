//! Functions that are called when commands are played.

use std::fmt;

use super::command::{Command, Given};
use super::play::{Fault, Player};
use super::recorder::CommandRecorder;
use super::vtable::Kind;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;

impl CommandRecorder {
    /// Calls a function when the commands are played, for what they have no word for. It is called so in messages.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.run("hurt the orc", move |entities| {
    ///     entities.get_mut::<Health>(orc)?.0 -= 5;
    ///     Ok(())
    /// });
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get::<Health>(orc)?.0, 15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<F>(&mut self, name: &'static str, function: F)
    where
        F: FnOnce(&mut EntityManager) -> Result<(), EntityError> + Clone + Send + 'static,
    {
        self.record(Entity::NULL, Function { name, function });
    }
}

struct Function<F> {
    name: &'static str,
    function: F,
}

impl<F> Command for Function<F>
where
    F: FnOnce(&mut EntityManager) -> Result<(), EntityError> + Clone + Send + 'static,
{
    const KIND: Kind = Kind::Other;

    fn play(self, player: &mut Player<'_>, _: Entity) -> Result<(), Fault> {
        (self.function)(player.entities)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self { name: self.name, function: self.function.clone() })
    }

    fn describe(&self, _: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }

    fn gives(&self, given: &mut Given<'_>) {
        // Nobody knows.
        given.leaves = true;
    }
}
