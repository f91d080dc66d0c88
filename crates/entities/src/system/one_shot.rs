//! One-shot systems: functions with parameters of systems, run by a call.

#![expect(non_snake_case, reason = "values are named as their types are")]

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use super::builder::{BuilderKind, IsFunction, SystemBuilder};
use super::param::{ParamState, ParamStates, SystemParam};
use super::update_guard::UpdateGuard;
use crate::all_tuples::all_tuples;
use crate::commands::{CommandFault, CommandRecorder, WorldCommandName};
use crate::schedule::{SystemAccess, SystemError, SystemFault, SystemId, UpdateErrors};
use crate::version::Version;
use crate::world::{ErasedSystem, Flags, Outcome, SystemSlot, World};

/// The input of a one-shot system: its first parameter. See [`World::run_system_with`].
///
/// # Examples
///
/// ```
/// use ancho_entities::{In, Res, Resource, World};
///
/// #[derive(Resource, Clone)]
/// struct Tax(u32);
///
/// fn price(In(net): In<u32>, tax: Res<Tax>) -> u32 {
///     net + tax.0
/// }
///
/// let mut world = World::new("Shop");
/// world.insert_resource(Tax(5));
/// assert_eq!(world.run_system_with(price, 20)?, 25);
/// # Ok::<(), ancho_entities::UpdateErrors>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct In<T>(pub T);

/// A function whose parameters are [`SystemParam`]s, after an optional [`In<T>`].
///
/// The type parameter `Marker` is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a one-shot system",
    label = "not a function of system parameters",
    note = "a one-shot system is a function of system parameters, such as `Query` and `Res`; an input is its first parameter, `In<T>`"
)]
pub trait OneShotFunction<Marker>: Send + 'static {
    /// The type of the input. `()` if the function has none.
    type In: 'static;

    /// The parameters, as a tuple.
    #[doc(hidden)]
    type Params: SystemParam;

    /// The return type.
    type Out: 'static;

    /// Calls the function.
    #[doc(hidden)]
    fn call(
        &mut self,
        input: Self::In,
        params: <Self::Params as SystemParam>::Item<'_, '_>,
    ) -> Self::Out;
}

impl<Out: 'static, Function> OneShotFunction<fn() -> Out> for Function
where
    Function: FnMut() -> Out + Send + 'static,
{
    type In = ();
    type Params = ();
    type Out = Out;

    fn call(&mut self, (): (), (): ()) -> Out {
        self()
    }
}

impl<T: 'static, Out: 'static, Function> OneShotFunction<fn(In<T>) -> Out> for Function
where
    Function: FnMut(In<T>) -> Out + Send + 'static,
{
    type In = T;
    type Params = ();
    type Out = Out;

    fn call(&mut self, input: T, (): ()) -> Out {
        self(In(input))
    }
}

/// Implements [`OneShotFunction`] for functions with these parameters, with and without an input.
///
/// The first bound infers the types of the parameters. The second bound says that the function takes parameters of any lifetime.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        impl<Out, Function, $($name: SystemParam),+> OneShotFunction<fn($($name),+) -> Out>
            for Function
        where
            Out: 'static,
            Function: Send + 'static,
            for<'f> &'f mut Function:
                FnMut($($name),+) -> Out + FnMut($($name::Item<'_, '_>),+) -> Out,
        {
            type In = ();
            type Params = ($($name,)+);
            type Out = Out;

            #[inline]
            fn call(
                &mut self,
                (): (),
                params: <Self::Params as SystemParam>::Item<'_, '_>,
            ) -> Out {
                // A direct call would be ambiguous, because both bounds are in scope.
                #[allow(clippy::too_many_arguments, reason = "as many as systems have, some of them few")]
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

        impl<T, Out, Function, $($name: SystemParam),+>
            OneShotFunction<fn(In<T>, $($name),+) -> Out> for Function
        where
            T: 'static,
            Out: 'static,
            Function: Send + 'static,
            for<'f> &'f mut Function:
                FnMut(In<T>, $($name),+) -> Out + FnMut(In<T>, $($name::Item<'_, '_>),+) -> Out,
        {
            type In = T;
            type Params = ($($name,)+);
            type Out = Out;

            #[inline]
            fn call(
                &mut self,
                input: T,
                params: <Self::Params as SystemParam>::Item<'_, '_>,
            ) -> Out {
                // A direct call would be ambiguous, because both bounds are in scope.
                #[allow(clippy::too_many_arguments, reason = "as many as systems have, some of them few")]
                fn call<T, Out, $($name),+>(
                    mut function: impl FnMut(In<T>, $($name),+) -> Out,
                    input: In<T>,
                    $($name: $name),+
                ) -> Out {
                    function(input, $($name),+)
                }
                let ($($name,)+) = params;
                call(self, In(input), $($name),+)
            }
        }
    };
}

all_tuples!(implement);

/// A function or [pipe](crate::Pipe) that can be registered as a one-shot system.
///
/// The type parameter `Marker` is inferred.
pub trait BuildOneShot<Marker>: Sized + 'static {
    /// The type of the input. `()` if the system has none.
    type In: 'static;

    /// The type of the output.
    type Out: 'static;

    /// Returns the name of the system.
    #[doc(hidden)]
    fn name_of_type() -> String;

    /// Returns the system with the state of its parameters.
    #[doc(hidden)]
    fn into_typed(self) -> Box<dyn TypedSystem<Self::In, Self::Out>>;
}

impl<M: 'static, F: OneShotFunction<M>> BuildOneShot<(IsFunction, M)> for F {
    type In = F::In;
    type Out = F::Out;

    fn name_of_type() -> String {
        type_name::<F>().to_owned()
    }

    fn into_typed(self) -> Box<dyn TypedSystem<F::In, F::Out>> {
        Box::new(FunctionOneShot { function: self, params: None, marker: PhantomData })
    }
}

/// A system with an input and an output, and the state of its parameters.
pub trait TypedSystem<In, Out>: Send {
    /// Creates the state of the parameters, for the system with this name.
    #[doc(hidden)]
    fn create(&mut self, world: &mut World, name: &str) -> Result<(), SystemError>;

    /// Tests whether the world has all parameters.
    #[doc(hidden)]
    fn check(&mut self, world: &mut World) -> Result<(), SystemFault>;

    /// Calls the system. `since` is the version of its last run.
    #[doc(hidden)]
    fn call(&mut self, input: In, world: &mut World, since: Version) -> Result<Out, SystemFault>;

    /// Ends a call: plays commands, or passes them to their command point.
    #[doc(hidden)]
    fn finish(&mut self, world: &mut World) -> Result<(), SystemFault>;
}

/// A function with the state of its parameters.
struct FunctionOneShot<Marker, F: OneShotFunction<Marker>> {
    function: F,
    params: Option<ParamStates<F::Params>>,
    marker: PhantomData<fn() -> Marker>,
}

impl<M: 'static, F: OneShotFunction<M>> FunctionOneShot<M, F> {
    fn params(&mut self) -> &mut ParamStates<F::Params> {
        self.params.as_mut().expect("it was created")
    }
}

impl<M: 'static, F: OneShotFunction<M>> TypedSystem<F::In, F::Out> for FunctionOneShot<M, F> {
    fn create(&mut self, world: &mut World, name: &str) -> Result<(), SystemError> {
        let declared = ParamStates::declare(world, name);
        let (params, _) = declared.map_err(|conflict| SystemError::Parameters {
            system: name.to_owned(),
            conflict: conflict.to_string(),
        })?;
        self.params = Some(params);
        Ok(())
    }

    fn check(&mut self, world: &mut World) -> Result<(), SystemFault> {
        self.params().check(world)
    }

    fn call(
        &mut self,
        input: F::In,
        world: &mut World,
        since: Version,
    ) -> Result<F::Out, SystemFault> {
        let params = self.params.as_mut().expect("it was created");
        params.call(world, since, |params| self.function.call(input, params))
    }

    fn finish(&mut self, world: &mut World) -> Result<(), SystemFault> {
        self.params().state().finish(world)
    }
}

/// A one-shot system in the system table.
struct OneShot<In, Out> {
    system: Box<dyn TypedSystem<In, Out>>,
    name: Box<str>,
}

impl<In: 'static, Out: 'static> ErasedSystem for OneShot<In, Out> {
    fn create(
        &mut self,
        world: &mut World,
        name: &str,
    ) -> Result<Option<SystemAccess>, SystemError> {
        self.name = name.into();
        self.system.create(world, name).map(|()| None)
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn update(&mut self, _: &mut World, _: Version) -> Outcome {
        let message = "it is a one-shot system; call `run_system` instead of `update_system`";
        Err(Box::new(SystemFault::Failed { message: message.to_owned() }))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

/// Identifies a one-shot system of a world. Returned by [`World::register_system`].
///
/// It is valid in one world until [`World::remove_system`] removes its [id](Self::id).
pub struct SystemHandle<In, Out> {
    id: SystemId,
    types: PhantomData<fn(In) -> Out>,
}

impl<In, Out> SystemHandle<In, Out> {
    /// Returns the id of the system.
    pub fn id(self) -> SystemId {
        self.id
    }
}

impl<In, Out> Clone for SystemHandle<In, Out> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<In, Out> Copy for SystemHandle<In, Out> {}

impl<In, Out> PartialEq for SystemHandle<In, Out> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<In, Out> Eq for SystemHandle<In, Out> {}

impl<In, Out> Hash for SystemHandle<In, Out> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl<In, Out> fmt::Debug for SystemHandle<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemHandle({:?})", self.id)
    }
}

/// A system that [`World::run_system`] runs: a function without captures, or a [`SystemHandle`].
///
/// The type parameter `Marker` is inferred.
pub trait IntoOneShot<Marker> {
    /// The type of the input. `()` if the system has none.
    type In: 'static;

    /// The type of the output.
    type Out: 'static;

    /// Returns the id of the system in a world. Registers a function at its first call.
    #[doc(hidden)]
    fn id_in(self, world: &mut World) -> Result<SystemId, SystemError>;
}

/// Marker of handles in [`IntoOneShot`].
#[derive(Debug)]
pub struct IsHandle;

impl<In: 'static, Out: 'static> IntoOneShot<IsHandle> for SystemHandle<In, Out> {
    type In = In;
    type Out = Out;

    fn id_in(self, _: &mut World) -> Result<SystemId, SystemError> {
        Ok(self.id)
    }
}

/// Marker of functions and pipes in [`IntoOneShot`].
#[derive(Debug)]
pub struct IsOneShot;

impl<M, S: BuildOneShot<M>> IntoOneShot<(IsOneShot, M)> for S {
    type In = S::In;
    type Out = S::Out;

    fn id_in(self, world: &mut World) -> Result<SystemId, SystemError> {
        const {
            assert!(
                size_of::<S>() == 0,
                "a closure with captures has to be registered: pass it to `register_system`, and run the handle"
            );
        }
        let ty = TypeId::of::<S>();
        if let Some(&id) = world.systems.one_shots.get(&ty)
            && world.systems.slot(id).is_some()
        {
            return Ok(id);
        }
        let id = world.try_register_system(self)?.id;
        world.systems.one_shots.insert(ty, id);
        Ok(id)
    }
}

impl World {
    /// Runs a system once, now, and returns its output. The system is a function without captures, or a [`SystemHandle`].
    ///
    /// The commands of the system are played before the method returns. Jobs that the system scheduled are not completed: a later
    /// access waits for them. A function keeps its [`Local`](crate::Local)s from one call to the next, and `changed` means since its
    /// last call. No time passes. Unit tests of systems can use it: insert the data, run the system, and inspect the world.
    ///
    /// # Errors
    ///
    /// Returns the errors of the system: a parameter is missing (A0103, A0104, A0114, A0118), parameters conflict (A0100 to A0102),
    /// the system panicked (A0105), or its commands failed (A0078). Returns A0108 if the handle belongs to another world or the
    /// system was removed, and A0109 if the system is running. The output of a system that returns a `Result` is that `Result`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component)]
    /// struct Coin(u32);
    ///
    /// fn wealth(coins: Query<&Coin>) -> u32 {
    ///     coins.iter().map(|coin| coin.0).sum()
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Coin(5), Coin(10)]);
    /// assert_eq!(world.run_system(wealth)?, 15);
    /// # Ok::<(), ancho_entities::UpdateErrors>(())
    /// ```
    #[doc(alias = "run_system_once")]
    #[doc(alias = "run_system_cached")]
    pub fn run_system<M, S>(&mut self, system: S) -> Result<S::Out, UpdateErrors>
    where
        S: IntoOneShot<M, In = ()>,
    {
        self.run_system_with(system, ())
    }

    /// Runs a system once with an input, which is its first parameter, [`In<T>`](In). See [`run_system`](Self::run_system).
    ///
    /// # Errors
    ///
    /// Returns the errors of the system. See [`run_system`](Self::run_system).
    ///
    /// # Examples
    ///
    /// See [`In`].
    pub fn run_system_with<M, S>(&mut self, system: S, input: S::In) -> Result<S::Out, UpdateErrors>
    where
        S: IntoOneShot<M>,
    {
        self.reset_abandoned_update();
        let (world, mut before) = (self.systems.id, self.systems.errors.len());
        self.limit_jobs();
        let mut output = None;
        match system.id_in(self) {
            Ok(id) => output = self.run_one_shot::<S::In, S::Out>(id, input),
            Err(error) => {
                let fault = SystemFault::Setup { message: error.to_string() };
                self.systems.fail_as(type_name::<S>().into(), fault);
            }
        }
        if self.systems.id != world {
            // The system has replaced the world by another one, which has the error.
            before = 0;
        }
        self.errors_since(before)?;
        Ok(output.expect("a system without an output has reported an error"))
    }

    /// Calls a function with parameters of this world, and returns its output. The function may borrow local variables.
    ///
    /// Unit tests use it to call a system with some parameters of a world, and with others that are made by hand. Commands are played
    /// before the method returns. All data counts as changed.
    ///
    /// # Errors
    ///
    /// Returns an error if a parameter is missing (A0103, A0104, A0114, A0118), if parameters conflict (A0100 to A0102), or if
    /// commands fail (A0078).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Commands, Component, Query, Res, Resource, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// #[derive(Resource, Clone)]
    /// struct Damage(u32);
    ///
    /// fn hurt(mut all: Query<&mut Health>, damage: Res<Damage>) {
    ///     all.for_each(|health| health.0 -= damage.0);
    /// }
    ///
    /// let mut world = World::new("Test");
    /// let orc = world.spawn(Health(20));
    /// world.with_params::<Query<&mut Health>, _>(|all| hurt(all, Res::from(&Damage(5))))?;
    /// assert_eq!(world.get::<Health>(orc)?.0, 15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "SystemState")]
    pub fn with_params<P: SystemParam, R>(
        &mut self,
        function: impl FnOnce(P::Item<'_, '_>) -> R,
    ) -> Result<R, UpdateErrors> {
        let before = self.systems.errors.len();
        let name: Arc<str> = type_name::<P>().into();
        self.observers.declared.clear();
        let declared = ParamStates::<P>::declare(self, &name);
        let called = match declared {
            Ok(_) if !self.observers.declared.is_empty() => {
                let error = SystemError::EventInSystem { system: name.to_string() };
                Err(SystemFault::Setup { message: error.to_string() })
            }
            Ok((mut params, _)) => {
                self.raise_version();
                let output = params.call(self, Version::NEVER, function);
                output.and_then(|output| params.state().finish(self).map(|()| output))
            }
            Err(conflict) => {
                let (system, conflict) = (name.to_string(), conflict.to_string());
                let message = SystemError::Parameters { system, conflict }.to_string();
                Err(SystemFault::Setup { message })
            }
        };
        let output = called.map_err(|fault| self.systems.fail_as(name, fault)).ok();
        self.raise_version();
        for fault in std::mem::take(&mut self.systems.other_faults) {
            self.systems.fail_as(type_name::<P>().into(), fault);
        }
        self.deliver_outside();
        self.errors_since(before)?;
        Ok(output.expect("a call without an output has reported an error"))
    }

    /// Registers a one-shot system, which runs when [`run_system`](Self::run_system) is called. It can be a closure with captures.
    ///
    /// # Panics
    ///
    /// Panics with A0100, A0101 or A0102 if parameters conflict, A0070 or A0086 if a query is invalid, A0112 if a parameter panicked
    /// when it was created, and A0117 if the world is being dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Commands, Component, In, World};
    ///
    /// #[derive(Component)]
    /// struct Orc(u32);
    ///
    /// let strength = 3;
    /// let mut world = World::new("Simulation");
    /// let recruit = world.register_system(move |In(level): In<u32>, mut commands: Commands| {
    ///     commands.spawn(Orc(level * strength));
    /// });
    /// world.run_system_with(recruit, 2)?;
    /// assert_eq!(world.singleton::<Orc>().unwrap().0, 6);
    /// # Ok::<(), ancho_entities::UpdateErrors>(())
    /// ```
    #[track_caller]
    pub fn register_system<M, S>(&mut self, system: S) -> SystemHandle<S::In, S::Out>
    where
        S: BuildOneShot<M>,
    {
        match self.try_register_system(system) {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    fn try_register_system<M, S: BuildOneShot<M>>(
        &mut self,
        system: S,
    ) -> Result<SystemHandle<S::In, S::Out>, SystemError> {
        let name = S::name_of_type();
        let system = OneShot { system: system.into_typed(), name: Box::default() };
        // The type of the record is not that of the function, so that `before(function)` does not name it.
        let type_id = TypeId::of::<OneShot<S::In, S::Out>>();
        let kind = BuilderKind::Function(Box::new(system));
        let id = self.add_one_shot(SystemBuilder::new(kind, type_id, &name))?;
        Ok(SystemHandle { id, types: PhantomData })
    }

    /// Runs a one-shot system. Returns `None` if it failed, which was recorded as an error.
    fn run_one_shot<In: 'static, Out: 'static>(&mut self, id: SystemId, input: In) -> Option<Out> {
        let flags = self.systems.slot(id).map(|slot| slot.flags);
        let Some(flags) = flags.filter(|flags| !flags.has(Flags::REMOVED)) else {
            self.systems.fail_as(format!("{id:?}").into(), SystemFault::NoSuchSystem);
            return None;
        };
        if flags.has(Flags::EXECUTING) {
            self.systems.fail(id, SystemFault::IsExecuting);
            return None;
        }
        if flags.has(Flags::HAS_ERRORS) {
            self.systems.begin_logged_run(id);
        }
        self.begin_update();
        let world = self.systems.id;
        let _guard = UpdateGuard::begin(world);
        let listed = self.entities.jobs.list_scheduled(true);
        let mut output = None;
        let mut input = Some(input);
        // A run that this one defers is made below, by the outermost run, so that the stack does not grow.
        let is_outermost = !self.systems.deferring.contains(&id);
        self.execute(id, |system, world, since| {
            let system = system.as_any_mut().and_then(|any| any.downcast_mut::<OneShot<In, Out>>());
            let (Some(OneShot { system, .. }), Some(input)) = (system, input.take()) else {
                let message = "it is not a one-shot system".to_owned();
                return Err(Box::new(SystemFault::Failed { message }));
            };
            output = Some(system.call(input, world, since)?);
            Ok(system.finish(world)?)
        });
        if self.systems.id == world {
            self.entities.jobs.list_scheduled(listed);
            self.raise_version();
            self.sync_last_runs();
            if is_outermost && !self.systems.deferred_runs.is_empty() {
                self.run_deferred(id);
            }
        }
        output
    }

    /// Makes the deferred runs of a system, and those that they defer.
    #[cold]
    fn run_deferred(&mut self, id: SystemId) {
        let world = self.systems.id;
        self.systems.deferring.push(id);
        let first = |world: &mut Self| {
            let runs = &mut world.systems.deferred_runs;
            let at = runs.iter().position(|&(system, _)| system == id)?;
            Some(runs.remove(at).1)
        };
        while let Some(run) = first(self) {
            run(self);
            if self.systems.id != world {
                return;
            }
        }
        self.systems.deferring.retain(|&system| system != id);
    }
}

/// Commands that run one-shot systems.
impl CommandRecorder {
    /// Runs a one-shot system at playback. Its output is dropped.
    ///
    /// A system that is running when the command is played, because it has recorded the command itself, runs again as soon as it has
    /// returned.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Commands, In, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Score(0));
    /// let win = world.register_system(|In(points): In<u32>, mut score: ResMut<Score>| score.0 += points);
    /// world.add_system(move |mut commands: Commands| commands.run_system(win, 10));
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Score>().0, 10);
    /// ```
    pub fn run_system<In, Out>(&mut self, system: SystemHandle<In, Out>, input: In)
    where
        In: Send + 'static,
        Out: 'static,
    {
        let name = WorldCommandName { verb: "run a system", what: "" };
        self.for_world_once(name, move |world, _| {
            let is_executing = |slot: &SystemSlot| slot.flags.has(Flags::EXECUTING);
            if world.systems.slot(system.id).is_some_and(is_executing) {
                let run =
                    move |world: &mut World| drop(world.run_one_shot::<In, Out>(system.id, input));
                world.systems.deferred_runs.push((system.id, Box::new(run)));
                return Ok(());
            }
            let ran = world.run_system_with(system, input);
            ran.map(drop)
                .map_err(|errors| CommandFault::Function { message: errors.to_string().into() })
        });
    }
}
