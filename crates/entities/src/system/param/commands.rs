//! Command buffers as parameters.

#![expect(unsafe_code, reason = "one world that several parameters borrow")]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use ancho_jobs::CellConcurrent;

use super::{ParamConflict, ParamSetup, SystemParam, Uses, WorldOfParams};
use crate::commands::{CommandLog, Commands, EntityCommandBuffer};
use crate::manager::EntityManager;
use crate::system::error::SystemFault;
use crate::system::id::SystemId;
use crate::system::point::CommandPoint;
use crate::world::World;

/// The buffer of a system, which is played when it has run.
#[derive(Debug)]
pub struct OwnBuffer {
    buffer: EntityCommandBuffer,
    /// Whether something may be in it.
    is_open: bool,
}

// SAFETY: that it sets ids aside is declared, and it uses nothing else.
unsafe impl SystemParam for Commands<'_> {
    type State = OwnBuffer;
    type Item<'w, 's> = Commands<'s>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<OwnBuffer, ParamConflict> {
        setup.declare::<Self>(Uses::Ids { at_once: true })?;
        Ok(OwnBuffer { buffer: EntityCommandBuffer::new().named("commands"), is_open: false })
    }

    fn prepare(state: &mut OwnBuffer, _: &mut World) -> Result<(), SystemFault> {
        // The system has failed, or playing it has, or the world was given other entities, whose ids others are.
        if state.is_open {
            state.buffer = EntityCommandBuffer::new().named("commands");
        }
        state.is_open = true;
        Ok(())
    }

    unsafe fn fetch<'s>(state: &'s mut OwnBuffer, world: WorldOfParams<'_>) -> Commands<'s> {
        // SAFETY: the world is borrowed longer than the state, and views have no mutable references to it. What
        // is recorded is played right afterwards, before the world can be given other entities.
        let commands = unsafe { state.buffer.commands_beside_views(world.entities()) };
        commands.expect("nobody else has the buffer")
    }

    fn finish(state: &mut OwnBuffer, world: &mut World) -> Result<(), SystemFault> {
        if state.buffer.is_empty() {
            state.is_open = false;
            return Ok(());
        }
        // If code of the user panics, it stays open, and the next run has another one.
        let played = world.entities.play(&mut state.buffer);
        state.is_open = state.buffer.clear().is_err();
        Ok(played?)
    }
}

/// Records commands that are carried out when a [`CommandPoint`] comes: on the main thread and in jobs.
///
/// Each system that has one has a buffer of its own for each run, and buffers are played in the order in which their systems ran.
/// The point waits for the jobs that record. Of a job that panics, and of a system that fails, nothing is carried out. Unity's
/// `EntityCommandBufferSystem.CreateCommandBuffer`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{CommandsAt, Component, EndSimulation, Entity, Query, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// fn bury(all: Query<(Entity, &Health)>, mut commands: CommandsAt<EndSimulation>) {
///     let job = all.job().with(commands.writer());
///     job.schedule_parallel(|(entity, health), commands| {
///         if health.0 == 0 {
///             commands.despawn(entity);
///         }
///     });
/// }
///
/// let mut world = World::new("Simulation");
/// world.spawn_batch((0..100).map(|number| Health(number % 10)));
/// world.add_system(bury);
/// world.update(0.1);
/// assert_eq!(world.entity_count(), 90);
/// ```
pub struct CommandsAt<'s, P> {
    buffer: &'s mut EntityCommandBuffer,
    entities: NonNull<EntityManager>,
    world: PhantomData<&'s EntityManager>,
    of: PhantomData<fn() -> P>,
}

impl<P: CommandPoint> CommandsAt<'_, P> {
    /// Records commands on this thread. Entities that are created have their ids at once.
    ///
    /// # Panics
    ///
    /// With A0003 if a job records that was not completed: to record in a job and on this thread too, take two parameters.
    #[track_caller]
    pub fn commands(&mut self) -> Commands<'_> {
        // SAFETY: the world is borrowed longer, and views have no mutable references to it. The buffer is
        // played in this world: if its entities are others by then, they do not know the ids, and refuse.
        match unsafe { self.buffer.commands_beside_views(self.entities) } {
            Ok(commands) => commands,
            Err(error) => panic!("{error}"),
        }
    }

    /// Says whether what this run of the system records is carried out at all. If not, the point passes over it, and it is dropped. See
    /// [`EntityCommandBuffer::set_should_play`].
    pub fn set_should_play(&mut self, should_play: bool) {
        self.buffer.set_should_play(should_play);
    }

    /// A token for jobs that record commands. Entities that they create have placeholders.
    pub fn writer(&mut self) -> CellConcurrent<'_, CommandLog> {
        self.buffer.writer()
    }
}

impl<P> fmt::Debug for CommandsAt<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommandsAt<{}>", type_name::<P>())
    }
}

/// The buffer of a system for a point.
#[derive(Debug)]
pub struct PointBuffer {
    /// Which of the world's points.
    point: u32,
    /// Who records, and what that is called.
    recorder: (Option<SystemId>, Arc<str>),
    buffer: Option<EntityCommandBuffer>,
}

// SAFETY: that it sets ids aside is declared, and it uses nothing else.
unsafe impl<P: CommandPoint> SystemParam for CommandsAt<'_, P> {
    type State = PointBuffer;
    type Item<'w, 's> = CommandsAt<'s, P>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<PointBuffer, ParamConflict> {
        setup.declare::<Self>(Uses::Ids { at_once: false })?;
        let systems = &mut setup.world.systems;
        let recorder = (systems.executing, setup.name.into());
        Ok(PointBuffer { point: systems.points.place_of::<P>(), recorder, buffer: None })
    }

    fn prepare(state: &mut PointBuffer, world: &mut World) -> Result<(), SystemFault> {
        // If there is one left, the system has failed.
        state.buffer = Some(world.systems.points.begin(state.point)?);
        Ok(())
    }

    unsafe fn fetch<'s>(state: &'s mut PointBuffer, world: WorldOfParams<'_>) -> CommandsAt<'s, P> {
        let buffer = state.buffer.as_mut().expect("it was prepared");
        let entities = world.entities();
        CommandsAt { buffer, entities, world: PhantomData, of: PhantomData }
    }

    fn finish(state: &mut PointBuffer, world: &mut World) -> Result<(), SystemFault> {
        if let Some(buffer) = state.buffer.take() {
            world.systems.points.wait(state.point, buffer, &state.recorder);
        }
        Ok(())
    }
}
