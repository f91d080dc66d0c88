//! Pipes: two functions that run as one system.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;

use super::builder::{BuildSystem, BuilderKind, IntoSystem, SystemBuilder};
use super::function::SystemOutput;
use super::one_shot::{BuildOneShot, TypedSystem};
use crate::schedule::{SystemAccess, SystemError, SystemFault, SystemTarget};
use crate::version::Version;
use crate::world::{ErasedSystem, Outcome, World};

/// Two functions that run as one system: the output of the first is the [input](crate::In) of the second. Created by
/// [`pipe`](IntoSystem::pipe).
pub struct Pipe<A, B, MA, MB> {
    first: A,
    second: B,
    markers: PhantomData<fn() -> (MA, MB)>,
}

impl<A, B, MA, MB> Pipe<A, B, MA, MB> {
    pub(super) fn new(first: A, second: B) -> Self {
        Self { first, second, markers: PhantomData }
    }
}

impl<A, B, MA, MB> fmt::Debug for Pipe<A, B, MA, MB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipe").finish_non_exhaustive()
    }
}

/// Marker of pipes in [`IntoSystem`].
#[derive(Debug)]
pub struct IsPipe;

impl<A, B, MA, MB> BuildOneShot<IsPipe> for Pipe<A, B, MA, MB>
where
    A: BuildOneShot<MA>,
    B: BuildOneShot<MB, In = A::Out>,
    MA: 'static,
    MB: 'static,
{
    type In = A::In;
    type Out = B::Out;

    fn name_of_type() -> String {
        format!("{} | {}", A::name_of_type(), B::name_of_type())
    }

    fn into_typed(self) -> Box<dyn TypedSystem<A::In, B::Out>> {
        let (first, second) = (self.first.into_typed(), self.second.into_typed());
        Box::new(TypedPipe { first, second })
    }
}

#[diagnostic::do_not_recommend]
impl<A: 'static, B: 'static, MA, MB> IntoSystem<IsPipe> for Pipe<A, B, MA, MB> {
    fn target_of_type() -> SystemTarget {
        SystemTarget::Type(TypeId::of::<(A, B)>(), "a pipe of two systems")
    }
}

#[diagnostic::do_not_recommend]
impl<A, B, MA, MB> BuildSystem<IsPipe> for Pipe<A, B, MA, MB>
where
    A: BuildOneShot<MA, In = ()>,
    B: BuildOneShot<MB, In = A::Out>,
    B::Out: SystemOutput,
    MA: 'static,
    MB: 'static,
{
    fn build(self) -> SystemBuilder {
        let name = Self::name_of_type();
        let system = PipeSystem { system: self.into_typed(), name: Box::default() };
        let kind = BuilderKind::Function(Box::new(system));
        SystemBuilder::new(kind, TypeId::of::<(A, B)>(), &name)
    }
}

/// A pipe with the state of its parameters.
struct TypedPipe<In, Between, Out> {
    first: Box<dyn TypedSystem<In, Between>>,
    second: Box<dyn TypedSystem<Between, Out>>,
}

impl<In, Between, Out> TypedSystem<In, Out> for TypedPipe<In, Between, Out> {
    fn create(&mut self, world: &mut World, name: &str) -> Result<(), SystemError> {
        self.first.create(world, name)?;
        self.second.create(world, name)
    }

    fn check(&mut self, world: &mut World) -> Result<(), SystemFault> {
        self.first.check(world)?;
        self.second.check(world)
    }

    fn call(&mut self, input: In, world: &mut World, since: Version) -> Result<Out, SystemFault> {
        let id = world.systems.id;
        // If a parameter of the second function is missing, the first one does not run either.
        self.second.check(world)?;
        let between = self.first.call(input, world, since)?;
        // Parameters belong to one world. A function may have replaced the world by another one.
        if world.systems.id != id {
            return Err(SystemFault::WorldExchanged);
        }
        let output = self.second.call(between, world, since)?;
        if world.systems.id == id { Ok(output) } else { Err(SystemFault::WorldExchanged) }
    }

    fn finish(&mut self, world: &mut World) -> Result<(), SystemFault> {
        let first = self.first.finish(world);
        match self.second.finish(world) {
            Ok(()) => first,
            Err(fault) => world.systems.add_fault(first, fault),
        }
    }
}

/// A pipe as a system of an update.
struct PipeSystem<Out> {
    system: Box<dyn TypedSystem<(), Out>>,
    name: Box<str>,
}

impl<Out: SystemOutput> ErasedSystem for PipeSystem<Out> {
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

    fn update(&mut self, world: &mut World, since: Version) -> Outcome {
        match self.system.call((), world, since)?.into_result() {
            Ok(None) => {}
            Ok(Some(job)) => world.entities.jobs.record_returned(job),
            Err(message) => return Err(Box::new(SystemFault::Failed { message })),
        }
        Ok(self.system.finish(world)?)
    }
}
