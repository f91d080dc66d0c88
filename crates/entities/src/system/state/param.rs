//! The parameters that read states and request changes.

#![expect(unsafe_code, reason = "parameters that consist of other parameters")]

use std::fmt;
use std::ops::Deref;

use super::value::{CurrentState, StateRequest};
use super::{SettableState, States};
use crate::schedule::{ParamConflict, SystemFault};
use crate::system::param::{ParamSetup, ReadOnlyParam, Res, ResMut, SystemParam, UnsafeWorldCell};
use crate::world::World;

/// The value of a [state](States), read-only.
///
/// If the state does not exist, the system does not run, and the update reports A0226. An `Option<State<S>>` is `None` instead.
///
/// # Examples
///
/// ```
/// use ancho_entities::{State, States, World};
///
/// #[derive(States, Clone, Debug, PartialEq)]
/// enum Weather {
///     Sun,
///     Rain,
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_state(Weather::Rain);
/// let is_wet = world.run_system(|weather: State<Weather>| *weather == Weather::Rain)?;
/// assert!(is_wet);
/// # Ok::<(), ancho_entities::UpdateErrors>(())
/// ```
pub struct State<'w, S: States>(Res<'w, CurrentState<S>>);

impl<S: States> State<'_, S> {
    /// Returns the value.
    pub fn get(&self) -> &S {
        &self.0.0
    }

    /// Tests whether the value has changed since the system last ran.
    pub fn is_changed(&self) -> bool {
        self.0.is_changed()
    }
}

impl<S: States> Deref for State<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.get()
    }
}

impl<S: States> fmt::Debug for State<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(self.get()).finish()
    }
}

/// Requests a change of a [state](States). The change happens at the beginning of the next step of the state's group, or, during a
/// transition, right after it.
///
/// The last request wins. A request for the current value has no effect.
///
/// # Examples
///
/// ```
/// use ancho_entities::{NextState, States, World};
///
/// #[derive(States, Clone, Debug, PartialEq)]
/// enum Game {
///     Menu,
///     Running,
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_state(Game::Menu);
/// world.run_system(|mut next: NextState<Game>| next.set(Game::Running))?;
/// assert_eq!(world.state(), Some(&Game::Menu));
/// world.update(0.1);
/// assert_eq!(world.state(), Some(&Game::Running));
/// # Ok::<(), ancho_entities::UpdateErrors>(())
/// ```
pub struct NextState<'w, S: SettableState>(ResMut<'w, StateRequest<S>>);

impl<S: SettableState> NextState<'_, S> {
    /// Requests a value. It replaces an earlier request.
    pub fn set(&mut self, value: S) {
        self.0.set(value);
    }

    /// Requests that the current value is left and entered again, with its sub-states.
    pub fn reenter(&mut self) {
        self.0.reenter();
    }

    /// Returns the requested value, if there is one.
    pub fn requested(&self) -> Option<&S> {
        self.0.get()
    }

    /// Withdraws the request.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<S: SettableState> fmt::Debug for NextState<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NextState").field(&self.requested()).finish()
    }
}

/// The value of a state that has to be added, or `None` if it does not exist. The parameter of [`in_state`].
pub struct CheckedState<'w, S: States>(Option<Res<'w, CurrentState<S>>>);

impl<S: States> fmt::Debug for CheckedState<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CheckedState").finish_non_exhaustive()
    }
}

/// Condition: the state has a value. False if the state does not exist.
///
/// # Examples
///
/// See [`States`].
pub fn in_state<S: States>(
    value: S,
) -> impl Fn(CheckedState<'_, S>) -> bool + Clone + Send + 'static {
    move |state: CheckedState<'_, S>| state.0.is_some_and(|current| current.0 == value)
}

/// Replaces the fault of a missing resource by that of a missing state.
#[cold]
fn no_state<S: States>(_: SystemFault) -> SystemFault {
    SystemFault::NoState { state: S::name() }
}

/// Implements a parameter that consists of another one.
macro_rules! implement {
    ($(#[$doc:meta])* $ty:ty, $bound:ident, $inner:ty, $item:ty, $wrap:expr, $mentions:literal) => {
        $(#[$doc])*
        // SAFETY:
        // - the inner parameter declares the data that it accesses
        // - only the inner parameter accesses data
        unsafe impl<S: $bound> SystemParam for $ty {
            type State = <$inner as SystemParam>::State;
            type Item<'w, 's> = $item;

            fn declare(setup: &mut ParamSetup<'_>) -> Result<Self::State, ParamConflict> {
                if $mentions {
                    setup.world().mention_state::<S>();
                }
                <$inner as SystemParam>::declare(setup)
            }

            #[inline]
            fn prepare(state: &mut Self::State, world: &mut World) -> Result<(), SystemFault> {
                <$inner as SystemParam>::prepare(state, world).map_err(no_state::<S>)
            }

            #[inline]
            unsafe fn fetch<'w, 's>(
                state: &'s mut Self::State,
                world: UnsafeWorldCell<'w>,
            ) -> $item {
                // SAFETY: the caller meets the contract for this parameter, whose state and access are those of the inner one.
                let inner = unsafe { <$inner as SystemParam>::fetch(state, world) };
                $wrap(inner)
            }
        }
    };
}

implement!(State<'_, S>, States, Res<'static, CurrentState<S>>, State<'w, S>, State, true);
implement!(
    Option<State<'_, S>>,
    States,
    Option<Res<'static, CurrentState<S>>>,
    Option<State<'w, S>>,
    |inner: Option<Res<'w, CurrentState<S>>>| inner.map(State),
    false
);
implement!(
    CheckedState<'_, S>,
    States,
    Option<Res<'static, CurrentState<S>>>,
    CheckedState<'w, S>,
    CheckedState,
    true
);
implement!(
    NextState<'_, S>,
    SettableState,
    ResMut<'static, StateRequest<S>>,
    NextState<'w, S>,
    NextState,
    true
);

impl<S: States> ReadOnlyParam for State<'_, S> {}
impl<S: States> ReadOnlyParam for Option<State<'_, S>> {}
impl<S: States> ReadOnlyParam for CheckedState<'_, S> {}
