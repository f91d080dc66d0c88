//! Systems that are functions.

#![expect(unsafe_code, reason = "one world that several parameters borrow")]
#![expect(non_snake_case, reason = "values are named as their types are")]

use std::fmt;
use std::marker::PhantomData;

use ancho_jobs::JobHandle;

use super::erased::{ErasedSystem, Outcome};
use super::error::{SystemError, SystemFault};
use super::param::{Accesses, ParamSetup, SystemParam, WorldOfParams};
use crate::all_tuples::all_tuples;
use crate::manager::EntityManager;
use crate::version::Version;
use crate::world::World;

/// What a function that is a system returns: nothing, or a `Result` whose error is told with the name of the system.
///
/// A system that ends with scheduling a job returns what scheduling does. The next update waits for the job, and tells with the name of
/// the system if it has failed. Of jobs over entities the world knows anyway; of those that a system schedules by a
/// [`&JobScheduler`](ancho_jobs::JobScheduler) it knows if they are returned.
///
/// # Examples
///
/// ```
/// use ancho_entities::{CommandsAt, Component, EndSimulation, Entity, Query, World};
/// use ancho_jobs::JobHandle;
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// fn bury(
///     all: Query<(Entity, &Health)>,
///     mut commands: CommandsAt<EndSimulation>,
/// ) -> JobHandle {
///     all.job().with(commands.writer()).schedule_parallel(|(entity, health), commands| {
///         if health.0 == 0 {
///             commands.despawn(entity);
///         }
///     })
/// }
///
/// let mut world = World::new("Simulation");
/// world.spawn_batch((0..100).map(|number| Health(number % 10)));
/// world.add_system(bury);
/// world.update(0.1);
/// assert_eq!(world.entity_count(), 90);
/// ```
#[diagnostic::on_unimplemented(
    message = "a system cannot return `{Self}`",
    label = "neither nothing nor a `Result<(), E>`",
    note = "what a system finds out goes to a resource, an entity or a container; what goes wrong is the error of a `Result<(), E>` that \
            can be displayed"
)]
pub trait SystemOutput {
    /// The job that the world is to know of, if there is one, or what went wrong, in words.
    ///
    /// # Errors
    ///
    /// If something did.
    #[doc(hidden)]
    fn into_result(self) -> Result<Option<JobHandle>, String>;
}

impl SystemOutput for () {
    #[inline(always)]
    fn into_result(self) -> Result<Option<JobHandle>, String> {
        Ok(None)
    }
}

/// What a function returns that never does: a system that is only begun to be written ends in `todo!()`.
#[expect(private_interfaces, reason = "it is the way to name a type, and not a type")]
impl SystemOutput for <fn() -> ! as Returns>::Output {
    fn into_result(self) -> Result<Option<JobHandle>, String> {
        self
    }
}

/// Names the type that functions return which never do, since it has no name of its own yet.
trait Returns {
    type Output;
}

impl<R> Returns for fn() -> R {
    type Output = R;
}

impl SystemOutput for JobHandle {
    #[inline]
    fn into_result(self) -> Result<Option<JobHandle>, String> {
        Ok(Some(self))
    }
}

impl<E: fmt::Display> SystemOutput for Result<(), E> {
    #[inline]
    fn into_result(self) -> Result<Option<JobHandle>, String> {
        self.map(|()| None).map_err(|error| error.to_string())
    }
}

impl<E: fmt::Display> SystemOutput for Result<JobHandle, E> {
    #[inline]
    fn into_result(self) -> Result<Option<JobHandle>, String> {
        self.map(Some).map_err(|error| error.to_string())
    }
}

/// A function, or a closure, whose parameters are [`SystemParam`]s: a system.
///
/// The marker tells functions of different parameters apart, and is never written.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, ResMut, Time, World};
///
/// struct Clock(f64);
///
/// fn tick(time: Time, mut clock: ResMut<Clock>) {
///     clock.0 = time.elapsed();
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Clock(0.0));
/// world.add_system(tick);
/// let mut beats = 0;
/// let beat = move |mut clock: ResMut<Clock>| {
///     beats += 1;
///     clock.0 += f64::from(beats);
/// };
/// world.add_system(beat.after(tick));
/// world.update(0.25);
/// assert_eq!(world.resource::<Clock>().0, 1.25);
/// ```
///
/// # Safety
///
/// Not to be implemented outside of this crate: all parameters are declared, and what is kept for them is what that gives.
pub unsafe trait SystemFunction<Marker>: Send + 'static {
    /// The parameters.
    #[doc(hidden)]
    type Params: SystemParam;

    /// What it returns.
    #[doc(hidden)]
    type Output: SystemOutput;

    /// Calls it.
    #[doc(hidden)]
    fn call(&mut self, params: <Self::Params as SystemParam>::Item<'_, '_>) -> Self::Output;

    /// Declares the parameters, one after the other.
    #[doc(hidden)]
    fn declare(
        setup: &mut ParamSetup<'_>,
    ) -> Result<<Self::Params as SystemParam>::State, super::param::ParamConflict>;
}

// SAFETY: there are none.
unsafe impl<Out: SystemOutput, Function> SystemFunction<fn() -> Out> for Function
where
    Function: FnMut() -> Out + Send + 'static,
{
    type Params = ();
    type Output = Out;

    #[inline]
    fn call(&mut self, (): ()) -> Out {
        self()
    }

    fn declare(_: &mut ParamSetup<'_>) -> Result<(), super::param::ParamConflict> {
        Ok(())
    }
}

/// Implements the trait for functions with these parameters.
///
/// A function is called with parameters of any lifetime, which is what the second bound says. The first one finds out which
/// parameters they are.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: each parameter is declared.
        unsafe impl<Out, Function, $($name: SystemParam),+> SystemFunction<fn($($name),+) -> Out>
            for Function
        where
            Out: SystemOutput,
            Function: Send + 'static,
            for<'f> &'f mut Function:
                FnMut($($name),+) -> Out + FnMut($($name::Item<'_, '_>),+) -> Out,
        {
            type Params = ($($name,)+);
            type Output = Out;

            #[inline]
            fn call(&mut self, params: <Self::Params as SystemParam>::Item<'_, '_>) -> Out {
                // Which of the two bounds is meant is not clear where both are in sight.
                #[allow(clippy::too_many_arguments, reason = "as many as systems have, some of them few")]
                #[inline]
                fn call<Out, $($name),+>(
                    mut function: impl FnMut($($name),+) -> Out,
                    $($name: $name),+
                ) -> Out {
                    function($($name),+)
                }
                let ($($name,)+) = params;
                call(self, $($name),+)
            }

            fn declare(
                setup: &mut ParamSetup<'_>,
            ) -> Result<<Self::Params as SystemParam>::State, super::param::ParamConflict> {
                Ok(($({
                    setup.uses.0.next_parameter();
                    $name::declare(setup)?
                },)+))
            }
        }
    };
}

all_tuples!(implement);

/// A system that is a function, and what it keeps for its parameters.
pub(super) struct FunctionSystem<Marker, F: SystemFunction<Marker>> {
    function: F,
    state: Option<<F::Params as SystemParam>::State>,
    name: Box<str>,
    marker: PhantomData<fn() -> Marker>,
}

impl<Marker, F: SystemFunction<Marker>> FunctionSystem<Marker, F> {
    pub(super) fn new(function: F) -> Self {
        Self { function, state: None, name: Box::default(), marker: PhantomData }
    }
}

impl<Marker: 'static, F: SystemFunction<Marker>> ErasedSystem for FunctionSystem<Marker, F> {
    fn create(&mut self, world: &mut World, name: &str) -> Result<Option<Accesses>, SystemError> {
        self.name = name.into();
        let mut setup = ParamSetup::new(world, name);
        let declared = F::declare(&mut setup);
        let mut state = declared
            .map_err(|conflict| SystemError::Parameters { system: name.to_owned(), conflict })?;
        F::Params::settle(&mut state, &setup.uses);
        self.state = Some(state);
        Ok(Some(setup.uses.0))
    }

    fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    fn update(&mut self, world: &mut World, since: Version) -> Outcome {
        let state = self.state.as_mut().expect("it was created");
        F::Params::prepare(state, world)?;
        // SAFETY: systems are updated with the world that they were created in, and the state was just prepared. That no two
        // parameters exclude each other was found when they were declared.
        let params = unsafe { F::Params::fetch(state, WorldOfParams::new(world, since)) };
        match self.function.call(params).into_result() {
            Ok(None) => {}
            Ok(Some(job)) => world.entities.jobs.note_returned(job),
            Err(message) => return Err(Box::new(SystemFault::Failed { message })),
        }
        Ok(F::Params::finish(state, world)?)
    }

    fn reaches_systems(&self) -> bool {
        F::Params::REACHES_SYSTEMS
    }

    fn entity_count(&mut self, entities: &EntityManager) -> Option<usize> {
        let mut count = 0;
        F::Params::add_entities(self.state.as_mut()?, entities, &mut count);
        Some(count)
    }

    fn has_entities(&mut self, entities: &EntityManager) -> Option<bool> {
        F::Params::has_entities(self.state.as_mut()?, entities)
    }
}
