//! States: values that change at points of the update, with systems that run when they do.
//!
//! ```text
//! request ──> plan: new values, in the order of dependencies ──> exit systems ──> despawns ──> values change
//!         ──> transition systems ──> enter systems ──> next round, if there is another request
//! ```
//!
//! The value and the request of a state are state resources, so forks and rollbacks include them. The table of states and the groups
//! of their systems belong to one world.

mod add;
mod despawn;
mod entry;
mod param;
mod transition;
mod value;

use std::any::{TypeId, type_name};
use std::fmt;

pub use add::missing_state;
pub(super) use add::{TransitionGroup, group_of_transition, group_of_value};
pub use despawn::{DespawnOnEnter, DespawnOnExit};
pub use param::{CheckedState, NextState, State, in_state};
pub use value::{CurrentState, StateRequest};

use crate::field::Field;
use crate::schedule::SystemError;
use crate::world::World;

/// A state: a value that changes only at the beginning of a step, and whose changes run systems. Usually an enum.
///
/// The derive implements the trait. [`World::add_state`](crate::World::add_state) adds the state to a world. Systems read it as
/// [`State<S>`](State), request a change with [`NextState<S>`](NextState), and run at changes with
/// [`on_enter`](crate::IntoSystem::on_enter), [`on_exit`](crate::IntoSystem::on_exit) and
/// [`on_transition`](crate::IntoSystem::on_transition). The condition [`in_state`] guards other systems.
///
/// A *sub-state* exists only while its parent state has a certain value: `#[sub_state(of = Game::Running)]`. It starts at its default. A *computed
/// state* is a [function](ComputedState) of other states: `#[computed_state]`.
///
/// The value and the request are state: they are forked, hashed and rolled back.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, NextState, Resource, ResMut, States, World, in_state};
///
/// #[derive(States, Clone, Debug, PartialEq)]
/// enum Game {
///     Menu,
///     Running,
/// }
///
/// #[derive(Resource, Clone)]
/// struct Log(Vec<&'static str>);
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Log(Vec::new()));
/// world.add_state(Game::Menu);
/// world.add_system((|mut log: ResMut<Log>| log.0.push("start")).on_enter(Game::Running));
/// world.add_system((|mut log: ResMut<Log>| log.0.push("tick")).run_if(in_state(Game::Running)));
/// world.update(0.1);
/// world.set_state(Game::Running)?;
/// world.update(0.1);
/// assert_eq!(world.resource::<Log>().0, ["start", "tick"]);
/// # Ok::<(), ancho_entities::SystemError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state",
    label = "not a state",
    note = "write `#[derive(States, Clone, Debug, PartialEq)]` on the enum"
)]
pub trait States: Field + Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Returns the name that errors show.
    fn name() -> &'static str {
        type_name::<Self>()
    }

    /// Adds the state to a world that does not have it, if another state depends on it. `chain` has the states that are being added.
    #[doc(hidden)]
    fn add_missing(world: &mut World, chain: &mut StateChain) -> Result<(), SystemError>;
}

/// A state whose value can be requested, unlike that of a computed state.
#[diagnostic::on_unimplemented(
    message = "the state `{Self}` cannot be set",
    label = "not a state that can be set",
    note = "a computed state is a function of other states; set one of these instead"
)]
pub trait SettableState: States {}

/// A state that always exists, unlike sub-states and computed states.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no value of its own to start with",
    label = "not a state with an initial value",
    note = "a sub-state is added with `add_sub_state::<{Self}>()`, and a computed state with `add_computed_state::<{Self}>()`"
)]
pub trait RootState: SettableState {}

/// A state that exists only while its parent state has a certain value. The derive with `#[sub_state(of = Parent::Value)]` implements it.
///
/// # Examples
///
/// ```
/// use ancho_entities::{States, World};
///
/// #[derive(States, Clone, Debug, PartialEq)]
/// enum Game {
///     Menu,
///     Running,
/// }
///
/// #[derive(States, Clone, Debug, Default, PartialEq)]
/// #[sub_state(of = Game::Running)]
/// enum Phase {
///     #[default]
///     Day,
///     Night,
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_state(Game::Menu);
/// world.add_sub_state::<Phase>();
/// world.set_state(Game::Running)?;
/// world.update(0.1);
/// assert_eq!(world.state(), Some(&Phase::Day));
/// # Ok::<(), ancho_entities::SystemError>(())
/// ```
#[doc(alias = "SubStates")]
pub trait SubState: SettableState + Default {
    /// The state that decides whether this one exists.
    type Parent: States;

    /// Tests whether the state exists while its parent has a value.
    fn exists_in(parent: &Self::Parent) -> bool;
}

/// A state that is a function of other states.
///
/// # Examples
///
/// ```
/// use ancho_entities::{ComputedState, States, World};
///
/// #[derive(States, Clone, Debug, PartialEq)]
/// enum Game {
///     Menu,
///     Level(u32),
/// }
///
/// #[derive(States, Clone, Debug, PartialEq)]
/// #[computed_state]
/// struct InLevel;
///
/// impl ComputedState for InLevel {
///     type Sources = Game;
///
///     fn compute(game: Option<&Game>) -> Option<Self> {
///         matches!(game, Some(Game::Level(_))).then_some(Self)
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_state(Game::Level(1));
/// world.add_computed_state::<InLevel>();
/// world.update(0.1);
/// assert_eq!(world.state(), Some(&InLevel));
/// ```
#[doc(alias = "ComputedStates")]
pub trait ComputedState: States {
    /// The states that this one depends on: one state, or a tuple of up to four.
    type Sources: StateSources;

    /// Computes the value. `None` means that the state does not exist. The function has no effects, and depends on nothing else.
    fn compute(sources: <Self::Sources as StateSources>::Values<'_>) -> Option<Self>;
}

/// The states that a computed state depends on: one state, or a tuple of up to four.
pub trait StateSources: 'static {
    /// An `Option` of a reference for each state, `None` if the state does not exist.
    type Values<'a>;

    /// Returns the values that the states will have after the transition.
    #[doc(hidden)]
    fn values(world: &World) -> Self::Values<'_>;

    /// Adds the states that the world does not have.
    #[doc(hidden)]
    fn add_missing(world: &mut World, chain: &mut StateChain) -> Result<(), SystemError>;

    /// Returns the first of the states.
    #[doc(hidden)]
    fn first() -> TypeId;
}

impl<S: States> StateSources for S {
    type Values<'a> = Option<&'a S>;

    fn values(world: &World) -> Option<&S> {
        world.next_value::<S>()
    }

    fn add_missing(world: &mut World, chain: &mut StateChain) -> Result<(), SystemError> {
        world.add_missing_state::<S>(chain)
    }

    fn first() -> TypeId {
        TypeId::of::<S>()
    }
}

/// Implements [`StateSources`] for a tuple of states.
macro_rules! implement {
    ($first:ident $($name:ident)*) => {
        impl<$first: States, $($name: States),*> StateSources for ($first, $($name,)*) {
            type Values<'a> = (Option<&'a $first>, $(Option<&'a $name>,)*);

            fn values(world: &World) -> Self::Values<'_> {
                (world.next_value::<$first>(), $(world.next_value::<$name>(),)*)
            }

            fn add_missing(world: &mut World, chain: &mut StateChain) -> Result<(), SystemError> {
                world.add_missing_state::<$first>(chain)?;
                $(world.add_missing_state::<$name>(chain)?;)*
                Ok(())
            }

            fn first() -> TypeId {
                TypeId::of::<$first>()
            }
        }
    };
}

implement!(A B);
implement!(A B C);
implement!(A B C D);

/// The states that are being added, each because the one before it depends on it.
#[derive(Debug, Default)]
pub struct StateChain(Vec<(TypeId, &'static str)>);

impl StateChain {
    /// Adds a state to the chain. Returns an error if it is in the chain already.
    pub(super) fn push<S: States>(&mut self) -> Result<(), SystemError> {
        let begin = self.0.iter().position(|&(ty, _)| ty == TypeId::of::<S>());
        self.0.push((TypeId::of::<S>(), S::name()));
        match begin {
            None => Ok(()),
            Some(begin) => {
                let states = self.0[begin..].iter().map(|&(_, name)| name.to_owned());
                Err(SystemError::StateCycle { states: states.collect() })
            }
        }
    }

    pub(super) fn pop(&mut self) {
        self.0.pop();
    }
}
