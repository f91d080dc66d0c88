//! Run conditions: functions that decide whether a system runs.

#![expect(non_snake_case, reason = "values are named as their types are")]

mod supplied;
mod test;

use std::any::type_name;
use std::marker::PhantomData;

pub use supplied::{
    any_with, every, not, on_message, resource_changed, resource_exists, resource_removed,
};
pub(super) use test::hold;

use super::builder::IsFunction;
use super::function::FunctionShape;
use super::param::{ParamStates, ReadOnlyParam, SystemParam};
use crate::all_tuples::all_tuples;
use crate::schedule::{SystemError, SystemFault};
use crate::version::Version;
use crate::world::{ErasedCondition, World};

/// A run condition: a function of [read-only parameters](crate::ReadOnlyParam) that returns `bool`. See
/// [`run_if`](crate::IntoSystem::run_if).
///
/// Conditions are combined by [`and`](Self::and), [`or`](Self::or) and [`not`]. The crate has the conditions [`in_state`](crate::in_state),
/// [`resource_exists`], [`resource_changed`], [`resource_removed`], [`on_message`], [`any_with`] and [`every`].
///
/// Conditions have no memory. Changes are those since the guarded system last ran, so a test that is skipped loses no change.
///
/// If a condition panics, or lacks a parameter, then the system does not run, and the update reports it (A0103, A0104, A0105). That
/// holds for the negated condition too.
///
/// The type parameter `Marker` is inferred.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Condition, IntoSystem, Res, ResMut, Resource, World, resource_exists};
///
/// #[derive(Resource, Clone)]
/// struct Ammunition(u32);
///
/// let is_loaded = |ammunition: Res<Ammunition>| ammunition.0 > 0;
/// let shoot = |mut ammunition: ResMut<Ammunition>| ammunition.0 -= 1;
///
/// let mut world = World::new("Simulation");
/// world.add_system(shoot.run_if(resource_exists::<Ammunition>.and(is_loaded)));
/// world.update(0.1);
/// world.insert_resource(Ammunition(1));
/// world.update(0.1);
/// world.update(0.1);
/// assert_eq!(world.resource::<Ammunition>().0, 0);
/// ```
#[doc(alias = "SystemCondition")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a run condition",
    label = "not a function with up to 16 parameters",
    note = "a condition is a function of read-only parameters that returns `bool`: `|ammunition: Res<Ammunition>| ammunition.0 > 0`"
)]
pub trait Condition<Marker>: Sized {
    /// Combines two conditions. The second one is tested only if the first one is true.
    fn and<M, C>(self, other: C) -> And<Self::Test, C::Test>
    where
        Self: BuildCondition<Marker>,
        C: Condition<M> + BuildCondition<M>,
    {
        And(self.into_test(), other.into_test())
    }

    /// Combines two conditions. The second one is tested only if the first one is false.
    fn or<M, C>(self, other: C) -> Or<Self::Test, C::Test>
    where
        Self: BuildCondition<Marker>,
        C: Condition<M> + BuildCondition<M>,
    {
        Or(self.into_test(), other.into_test())
    }
}

/// A [`Condition`] with read-only parameters that returns `bool`. Generic functions that take conditions have this bound.
pub trait BuildCondition<Marker>: Condition<Marker> {
    /// The condition with the state of its parameters.
    #[doc(hidden)]
    type Test: ConditionTest;

    /// Returns the condition with the state of its parameters.
    #[doc(hidden)]
    fn into_test(self) -> Self::Test;
}

/// A condition with the state of its parameters.
pub trait ConditionTest: Send + 'static {
    /// Creates the state of the parameters in a world, for the system with this name.
    #[doc(hidden)]
    fn declare(&mut self, world: &mut World, system: &str) -> Result<(), SystemError>;

    /// Tests the condition. `since` is the version of the last run of the guarded system.
    #[doc(hidden)]
    fn test(&mut self, world: &mut World, since: Version) -> Result<bool, Box<SystemFault>>;

    /// Returns a copy without the state of the parameters, for another system.
    #[doc(hidden)]
    fn copy(&self) -> Self;

    /// Tests whether the condition reads the system table.
    #[doc(hidden)]
    fn reaches_systems(&self) -> bool;
}

impl<T: ConditionTest> ErasedCondition for T {
    fn declare(&mut self, world: &mut World, system: &str) -> Result<(), SystemError> {
        ConditionTest::declare(self, world, system)
    }

    fn test(&mut self, world: &mut World, since: Version) -> Result<bool, Box<SystemFault>> {
        ConditionTest::test(self, world, since)
    }

    fn copy(&self) -> Box<dyn ErasedCondition> {
        Box::new(ConditionTest::copy(self))
    }

    fn reaches_systems(&self) -> bool {
        ConditionTest::reaches_systems(self)
    }
}

/// A function of read-only parameters that returns `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a run condition",
    label = "a condition returns `bool`, and can be cloned",
    note = "a condition is a function of read-only parameters that returns `bool`; it is `Fn`, and what it captures is `Clone` and `Send`"
)]
pub trait ConditionFunction<Marker>: FunctionShape<Marker> + Clone + Send + 'static {
    /// The parameters, as a tuple.
    #[doc(hidden)]
    type Params: ReadOnlyParam;

    /// Calls the function.
    #[doc(hidden)]
    fn call(&self, params: <Self::Params as SystemParam>::Item<'_, '_>) -> bool;
}

impl<Function> ConditionFunction<fn() -> bool> for Function
where
    Function: Fn() -> bool + Clone + Send + 'static,
{
    type Params = ();

    #[inline]
    fn call(&self, (): ()) -> bool {
        self()
    }
}

/// Implements [`ConditionFunction`] for functions with these parameters.
///
/// The first bound infers the types of the parameters. The second bound says that the function takes parameters of any lifetime.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        impl<Function, $($name: ReadOnlyParam),+> ConditionFunction<fn($($name),+) -> bool>
            for Function
        where
            Function: FunctionShape<fn($($name),+) -> bool> + Clone + Send + 'static,
            for<'f> &'f Function:
                Fn($($name),+) -> bool + Fn($($name::Item<'_, '_>),+) -> bool,
        {
            type Params = ($($name,)+);

            #[inline]
            fn call(&self, params: <Self::Params as SystemParam>::Item<'_, '_>) -> bool {
                // A direct call would be ambiguous, because both bounds are in scope.
                #[allow(clippy::too_many_arguments, reason = "as many as conditions have, some of them few")]
                #[inline]
                fn call<$($name),+>(
                    function: impl Fn($($name),+) -> bool,
                    $($name: $name),+
                ) -> bool {
                    function($($name),+)
                }
                let ($($name,)+) = params;
                call(self, $($name),+)
            }
        }
    };
}

all_tuples!(implement);

impl<M, F: FunctionShape<M> + 'static> Condition<(IsFunction, M)> for F {}

impl<M: 'static, F: ConditionFunction<M>> BuildCondition<(IsFunction, M)> for F {
    type Test = FunctionCondition<M, F>;

    fn into_test(self) -> FunctionCondition<M, F> {
        FunctionCondition { function: self, params: None, marker: PhantomData }
    }
}

/// A function with the state of its parameters.
pub struct FunctionCondition<Marker, F: ConditionFunction<Marker>> {
    function: F,
    params: Option<ParamStates<F::Params>>,
    marker: PhantomData<fn() -> Marker>,
}

impl<Marker, F: ConditionFunction<Marker>> std::fmt::Debug for FunctionCondition<Marker, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Condition({})", type_name::<F>())
    }
}

impl<M: 'static, F: ConditionFunction<M>> ConditionTest for FunctionCondition<M, F> {
    fn declare(&mut self, world: &mut World, system: &str) -> Result<(), SystemError> {
        let declared = ParamStates::declare(world, system);
        let (params, _) = declared.map_err(|conflict| SystemError::Parameters {
            system: system.to_owned(),
            conflict: conflict.to_string(),
        })?;
        self.params = Some(params);
        Ok(())
    }

    #[inline]
    fn test(&mut self, world: &mut World, since: Version) -> Result<bool, Box<SystemFault>> {
        world.systems.tested = Some(type_name::<F>());
        let params = self.params.as_mut().expect("it was declared");
        match params.call(world, since, |params| self.function.call(params)) {
            Ok(holds) => Ok(holds),
            Err(fault) => Err(fault_of(type_name::<F>(), fault)),
        }
    }

    fn copy(&self) -> Self {
        Self { function: self.function.clone(), params: None, marker: PhantomData }
    }

    fn reaches_systems(&self) -> bool {
        F::Params::REACHES_SYSTEMS
    }
}

#[cold]
fn fault_of(condition: &'static str, fault: SystemFault) -> Box<SystemFault> {
    Box::new(SystemFault::InCondition { condition, fault: Box::new(fault) })
}

/// Marker of combined conditions in [`Condition`].
#[derive(Debug)]
pub struct IsCombined;

/// Two conditions that both have to be true. Created by [`Condition::and`].
#[derive(Debug)]
pub struct And<A, B>(A, B);

/// Two conditions of which one has to be true. Created by [`Condition::or`].
#[derive(Debug)]
pub struct Or<A, B>(A, B);

/// A condition that has to be false. Created by [`not`].
#[derive(Debug)]
pub struct Not<A>(A);

impl<A: ConditionTest, B: ConditionTest> Condition<IsCombined> for And<A, B> {}
impl<A: ConditionTest, B: ConditionTest> Condition<IsCombined> for Or<A, B> {}
impl<A: ConditionTest> Condition<IsCombined> for Not<A> {}

/// Implements a combination of conditions.
macro_rules! implement_combined {
    ($name:ident $($part:ident $at:tt)+, |$self:ident, $world:ident, $since:ident| $test:expr) => {
        impl<$($part: ConditionTest),+> BuildCondition<IsCombined> for $name<$($part),+> {
            type Test = Self;

            fn into_test(self) -> Self {
                self
            }
        }

        impl<$($part: ConditionTest),+> ConditionTest for $name<$($part),+> {
            fn declare(&mut self, world: &mut World, system: &str) -> Result<(), SystemError> {
                $(self.$at.declare(world, system)?;)+
                Ok(())
            }

            #[inline]
            fn test(
                &mut $self,
                $world: &mut World,
                $since: Version,
            ) -> Result<bool, Box<SystemFault>> {
                Ok($test)
            }

            fn copy(&self) -> Self {
                Self($(self.$at.copy()),+)
            }

            fn reaches_systems(&self) -> bool {
                $(self.$at.reaches_systems())||+
            }
        }
    };
}

implement_combined!(And A 0 B 1, |self, world, since| {
    self.0.test(world, since)? && self.1.test(world, since)?
});
implement_combined!(Or A 0 B 1, |self, world, since| {
    self.0.test(world, since)? || self.1.test(world, since)?
});
implement_combined!(Not A 0, |self, world, since| !self.0.test(world, since)?);
