//! Points at which commands are carried out.

use std::any::{TypeId, type_name};
use std::sync::Arc;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::error::SystemFault;
use super::id::SystemId;
use crate::commands::EntityCommandBuffer;

/// A point at which commands are carried out that others have recorded: a type that says which.
///
/// A point is added as a system is, and is one. Systems record with [`CommandsAt`](crate::CommandsAt), and
/// [`World::commands_at`](crate::World::commands_at). When the point is updated, buffers are played in the order in which they
/// were begun, after the jobs that record in them: a point waits for these jobs, and for no others. If a job panics, nothing of
/// what it recorded is played, and the update of the point reports it (A0107). If a buffer fails, the others are played all the
/// same, and one error says who has recorded what. One that is [not to be played](EntityCommandBuffer::set_should_play) is passed over. Unity's
/// `EntityCommandBufferSystem`.
///
/// Every world has points at the beginnings and ends of the [groups](crate::SystemGroup) that it comes with, but for the end of
/// [`Presentation`](crate::Presentation). Groups of one's own have those that are added to them.
///
/// # Examples
///
/// ```
/// use ancho_entities::{CommandPoint, CommandsAt, Component, IntoSystem, Query, ResMut, World};
///
/// struct AfterBirth;
///
/// impl CommandPoint for AfterBirth {}
///
/// #[derive(Component)]
/// struct Orc;
///
/// struct Counts(Vec<usize>);
///
/// fn bear(mut commands: CommandsAt<AfterBirth>) {
///     commands.commands().spawn(Orc);
/// }
///
/// fn count(orcs: Query<&Orc>, mut counts: ResMut<Counts>) {
///     counts.0.push(orcs.count());
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Counts(Vec::new()));
/// world.add_system(AfterBirth);
/// world.add_system(bear.before(AfterBirth));
/// world.add_system(count.after(bear).before(AfterBirth));
/// world.add_system(count.after(AfterBirth));
/// world.update(0.1);
/// assert_eq!(world.resource::<Counts>().0, [0, 1]);
/// ```
pub trait CommandPoint: Sized + Send + 'static {
    /// What it is called.
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

/// Writes points that every world has.
macro_rules! points {
    ($($(#[$doc:meta])* $point:ident,)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $point;

            impl CommandPoint for $point {
                fn name() -> &'static str {
                    stringify!($point)
                }
            }
        )+
    };
}

points! {
    /// The beginning of [`Initialization`](crate::Initialization).
    BeginInitialization,
    /// The end of [`Initialization`](crate::Initialization).
    EndInitialization,
    /// The beginning of [`Simulation`](crate::Simulation).
    BeginSimulation,
    /// The end of [`Simulation`](crate::Simulation).
    EndSimulation,
    /// The beginning of [`FixedStep`](crate::FixedStep).
    BeginFixedStep,
    /// The end of [`FixedStep`](crate::FixedStep).
    EndFixedStep,
    /// The beginning of [`VariableStep`](crate::VariableStep).
    BeginVariableStep,
    /// The end of [`VariableStep`](crate::VariableStep).
    EndVariableStep,
    /// The beginning of [`Presentation`](crate::Presentation).
    BeginPresentation,
}

/// A buffer that waits for its point.
pub(super) struct Waiting {
    pub(super) buffer: EntityCommandBuffer,
    /// Who has recorded it.
    pub(super) recorder: Option<SystemId>,
    pub(super) name: Arc<str>,
}

/// What a world knows of a point.
pub(super) struct Point {
    name: &'static str,
    /// The system that plays the buffers, if there is one.
    pub(super) system: Option<SystemId>,
    pub(super) waiting: Vec<Waiting>,
    /// Buffers that were played, so that the next have their memory.
    spare: Vec<EntityCommandBuffer>,
}

/// The points of a world.
#[derive(Default)]
pub(crate) struct Points {
    by_type: HashMap<TypeId, u32, FixedState>,
    list: Vec<Point>,
}

impl Points {
    /// The place of a point, which never changes.
    pub(crate) fn place_of<P: CommandPoint>(&mut self) -> u32 {
        self.place(TypeId::of::<P>(), P::name())
    }

    pub(super) fn place(&mut self, ty: TypeId, name: &'static str) -> u32 {
        *self.by_type.entry(ty).or_insert_with(|| {
            self.list.push(Point { name, system: None, waiting: Vec::new(), spare: Vec::new() });
            self.list.len() as u32 - 1
        })
    }

    pub(super) fn get_mut(&mut self, place: u32) -> &mut Point {
        &mut self.list[place as usize]
    }

    /// The number of points.
    pub(super) fn count(&self) -> u32 {
        self.list.len() as u32
    }

    /// Whether there is nothing to be carried out at a point.
    #[inline]
    pub(super) fn is_idle(&self, place: u32) -> bool {
        self.list.get(place as usize).is_some_and(|point| point.waiting.is_empty())
    }

    /// An empty buffer for a point.
    pub(crate) fn begin(&mut self, place: u32) -> Result<EntityCommandBuffer, SystemFault> {
        let point = &mut self.list[place as usize];
        if point.system.is_none() {
            return Err(SystemFault::NoPoint { point: point.name });
        }
        Ok(point.spare.pop().unwrap_or_else(|| EntityCommandBuffer::new().named("commands")))
    }

    /// Has a buffer wait for its point, unless nothing is in it.
    pub(super) fn wait(
        &mut self,
        place: u32,
        mut buffer: EntityCommandBuffer,
        (recorder, name): &(Option<SystemId>, Arc<str>),
    ) {
        let point = &mut self.list[place as usize];
        if buffer.is_empty() && !buffer.is_in_use() {
            // Who has it next may record something.
            buffer.set_should_play(true);
            point.spare.push(buffer);
        } else {
            point.waiting.push(Waiting { buffer, recorder: *recorder, name: Arc::clone(name) });
        }
    }

    /// Takes back a buffer that was played, and is empty.
    pub(super) fn give_back(&mut self, place: u32, buffer: EntityCommandBuffer) {
        self.list[place as usize].spare.push(buffer);
    }
}
