//! Function systems.

#![expect(non_snake_case, reason = "values are named as their types are")]

use std::fmt;
use std::marker::PhantomData;

use ancho_jobs::JobHandle;

use super::param::{ParamState, ParamStates, SystemParam};
use crate::all_tuples::all_tuples;
use crate::manager::EntityManager;
use crate::schedule::{SystemAccess, SystemError, SystemFault};
use crate::version::Version;
use crate::world::{ErasedSystem, Outcome, World};

/// The return type of a function system: nothing, or a `Result` whose error the update reports with the name of the system.
///
/// A system can return the handle of a job. The next update waits for the job, and reports its failure with the name of the system.
/// The world tracks jobs over entities automatically. It tracks a job that was scheduled with a
/// [`&JobScheduler`](ancho_jobs::JobScheduler) only if the system returns its handle.
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
    label = "this function returns `{Self}`",
    note = "a system returns `()`, a `JobHandle`, a `Result<(), E>` or a `Result<JobHandle, E>`; the error `E` implements `Display`",
    note = "store results in a resource, an entity or a container; systems are not `async`"
)]
pub trait SystemOutput {
    /// Returns the handle of the job that the world tracks, if there is one, or the message of the error.
    ///
    /// # Errors
    ///
    /// Returns an error if the system failed.
    #[doc(hidden)]
    fn into_result(self) -> Result<Option<JobHandle>, String>;
}

// The notes of the trait list all implementations, so the compiler does not have to.
#[diagnostic::do_not_recommend]
impl SystemOutput for () {
    #[inline(always)]
    fn into_result(self) -> Result<Option<JobHandle>, String> {
        Ok(None)
    }
}

/// Output of an unfinished system, which ends in `todo!()`: the never type.
#[expect(private_interfaces, reason = "it is the way to name a type, and not a type")]
#[diagnostic::do_not_recommend]
impl SystemOutput for <fn() -> ! as Returns>::Output {
    fn into_result(self) -> Result<Option<JobHandle>, String> {
        self
    }
}

/// Trait to name the never type, which has no stable name.
trait Returns {
    type Output;
}

impl<R> Returns for fn() -> R {
    type Output = R;
}

#[diagnostic::do_not_recommend]
impl SystemOutput for JobHandle {
    #[inline]
    fn into_result(self) -> Result<Option<JobHandle>, String> {
        Ok(Some(self))
    }
}

#[diagnostic::do_not_recommend]
impl<E: fmt::Display> SystemOutput for Result<(), E> {
    #[inline]
    fn into_result(self) -> Result<Option<JobHandle>, String> {
        self.map(|()| None).map_err(|error| error.to_string())
    }
}

#[diagnostic::do_not_recommend]
impl<E: fmt::Display> SystemOutput for Result<JobHandle, E> {
    #[inline]
    fn into_result(self) -> Result<Option<JobHandle>, String> {
        self.map(Some).map_err(|error| error.to_string())
    }
}

/// A function or closure whose parameters are [`SystemParam`]s.
///
/// The type parameter `Marker` is inferred. It distinguishes functions by their parameters.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, ResMut, Resource, Time, World};
///
/// #[derive(Resource, Clone)]
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
pub trait SystemFunction<Marker>: FunctionShape<Marker> + Send + 'static {
    /// The parameters, as a tuple.
    #[doc(hidden)]
    type Params: SystemParam;

    /// The return type.
    #[doc(hidden)]
    type Output: SystemOutput;

    /// Calls the function.
    #[doc(hidden)]
    fn call(&mut self, params: <Self::Params as SystemParam>::Item<'_, '_>) -> Self::Output;
}

/// A function or closure with these parameters and this output, whatever their types are.
pub trait FunctionShape<Marker> {}

impl<Out, Function: FnMut() -> Out> FunctionShape<fn() -> Out> for Function {}

impl<Out: SystemOutput, Function> SystemFunction<fn() -> Out> for Function
where
    Function: FnMut() -> Out + Send + 'static,
{
    type Params = ();
    type Output = Out;

    #[inline]
    fn call(&mut self, (): ()) -> Out {
        self()
    }
}

/// Implements [`SystemFunction`] for functions with these parameters.
///
/// The first bound infers the types of the parameters. The second bound says that the function takes parameters of any lifetime.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        impl<Out, Function, $($name),+> FunctionShape<fn($($name),+) -> Out> for Function
        where
            for<'f> &'f mut Function: FnMut($($name),+) -> Out,
        {
        }

        impl<Out, Function, $($name: SystemParam),+> SystemFunction<fn($($name),+) -> Out>
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
                // A direct call would be ambiguous, because both bounds are in scope.
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
        }
    };
}

all_tuples!(implement);

/// A function system and the state of its parameters.
pub(super) struct FunctionSystem<Marker, F: SystemFunction<Marker>> {
    function: F,
    params: Option<ParamStates<F::Params>>,
    name: Box<str>,
    marker: PhantomData<fn() -> Marker>,
}

impl<Marker, F: SystemFunction<Marker>> FunctionSystem<Marker, F> {
    pub(super) fn new(function: F) -> Self {
        Self { function, params: None, name: Box::default(), marker: PhantomData }
    }
}

impl<Marker: 'static, F: SystemFunction<Marker>> ErasedSystem for FunctionSystem<Marker, F> {
    fn create(
        &mut self,
        world: &mut World,
        name: &str,
    ) -> Result<Option<SystemAccess>, SystemError> {
        self.name = name.into();
        match ParamStates::declare(world, name) {
            Ok((params, access)) => {
                self.params = Some(params);
                Ok(Some(access))
            }
            Err(conflict) => Err(SystemError::Parameters {
                system: name.to_owned(),
                conflict: conflict.to_string(),
            }),
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    fn update(&mut self, world: &mut World, since: Version) -> Outcome {
        let params = self.params.as_mut().expect("it was created");
        let output = params.call(world, since, |params| self.function.call(params))?;
        match output.into_result() {
            Ok(None) => {}
            Ok(Some(job)) => world.entities.jobs.record_returned(job),
            Err(message) => return Err(Box::new(SystemFault::Failed { message })),
        }
        Ok(params.state().finish(world)?)
    }

    fn finish(&mut self, world: &mut World) -> Outcome {
        let params = self.params.as_mut().expect("it was created");
        Ok(params.state().finish(world)?)
    }

    fn reaches_systems(&self) -> bool {
        F::Params::REACHES_SYSTEMS
    }

    fn entity_count(&mut self, entities: &EntityManager) -> Option<usize> {
        let mut count = 0;
        self.params.as_mut()?.state().add_entities(entities, &mut count);
        Some(count)
    }

    fn has_entities(&mut self, entities: &EntityManager) -> Option<bool> {
        self.params.as_mut()?.state().has_entities(entities)
    }
}
