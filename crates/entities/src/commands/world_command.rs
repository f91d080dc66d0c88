//! Commands that need the world, and the host of a playback.
//!
//! Playback borrows the entities of the host. Before a command that needs the world, playback ends this borrow, so that the command
//! has exclusive access to the world, and begins it again afterwards. This module cannot name the type of worlds, which is defined
//! in a higher module, so the world is passed as [`Any`].

use std::any::Any;
use std::fmt::{self, Formatter};

use super::error::Result;
use super::playback::{Context, Fault};
use super::recorder::CommandRecorder;
use super::resolved_ids::ResolvedIds;
use super::vtable::{Aspect, Command, NoElement, Recorded};
use crate::entity::Entity;
use crate::manager::EntityManager;

/// Entities that commands are applied to, alone or in a world.
pub(crate) trait PlaybackHost {
    fn entities(&mut self) -> &mut EntityManager;

    /// Returns the `World`, if the host is one.
    fn world(&mut self) -> Option<&mut dyn Any>;
}

impl PlaybackHost for EntityManager {
    fn entities(&mut self) -> &mut EntityManager {
        self
    }

    fn world(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

/// Description of a command that needs the world: a verb, and the name of a type in quotes, unless it is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorldCommandName {
    pub(crate) verb: &'static str,
    pub(crate) what: &'static str,
}

impl fmt::Display for WorldCommandName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.what {
            "" => f.write_str(self.verb),
            what => write!(f, "{} `{what}`", self.verb),
        }
    }
}

/// Function that gets the world, at its place among the other commands.
pub(crate) struct WorldCommand<F> {
    pub(crate) name: WorldCommandName,
    pub(crate) function: F,
    /// Clones the function for buffers that are played several times. `None` if the function cannot be cloned.
    pub(crate) clone: Option<fn(&F) -> F>,
}

impl<F> Command for WorldCommand<F>
where
    F: FnOnce(&mut dyn Any, &ResolvedIds) -> Result<(), Fault> + Send + 'static,
{
    type Element = NoElement;

    const NEEDS_WORLD: bool = true;

    fn apply(_: Recorded<'_, Self>, _: &mut Context<'_>, _: Entity) -> Result {
        Err(Fault::NeedsWorld)
    }

    fn apply_to_world(
        command: Recorded<'_, Self>,
        world: &mut dyn Any,
        ids: &ResolvedIds,
    ) -> Result {
        let Self { function, .. } = command.take()?;
        function(world, ids)
    }

    fn duplicate(&mut self) -> Result<Self> {
        let Self { name, function, clone } = self;
        let not_cloneable = Fault::NotCloneable { command: name.verb, value: name.what };
        let function = clone.ok_or(not_cloneable)?(function);
        Ok(Self { name: *name, function, clone: *clone })
    }

    fn describe(command: &Recorded<'_, Self>, _: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", command.name)
    }

    fn needed(_: &Recorded<'_, Self>, _: Entity) -> [Entity; 2] {
        [Entity::NULL; 2]
    }

    fn inspect(_: &Recorded<'_, Self>, _: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::AddsUnknown);
    }
}

impl CommandRecorder {
    /// Records a function that gets the world.
    pub(crate) fn record_world_command<F>(&mut self, command: WorldCommand<F>)
    where
        F: FnOnce(&mut dyn Any, &ResolvedIds) -> Result<(), Fault> + Send + 'static,
    {
        self.needs_world = true;
        self.record(Entity::NULL, command);
    }
}
