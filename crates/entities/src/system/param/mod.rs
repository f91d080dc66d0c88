//! Parameters of function systems.
//!
//! A parameter is declared once, when its system is added. A parameter that conflicts with another one is refused then. In each run
//! the parameter is prepared, fetched and finished. Only this file and `fetch` have unsafe code.

#![expect(unsafe_code, reason = "several parameters borrow one world")]
#![expect(non_snake_case, reason = "values are named as their types are")]

mod fetch;
mod messages;
mod read_only;
mod values;

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

pub(crate) use fetch::ParamBuffer;
pub use fetch::{
    CommandsAtState, CommandsState, LocalState, QueryParamState, ResourceState, UnsafeWorldCell,
};
pub use messages::{
    MessageReader, MessageWriter, ReaderState, UnreadMessages, UnreadState, WriterState,
};
pub use read_only::{ParamField, ReadOnlyParam, require_param_field};
pub use values::{Local, Res, ResMut, ResourceRemoved, Single, SystemData, UpdateAllocator};

use crate::all_tuples::all_tuples;
use crate::manager::EntityManager;
use crate::schedule::{ParamAccess, ParamConflict, SystemAccess, SystemFault};
use crate::version::Version;
use crate::world::World;

/// A parameter of a function system.
///
/// | parameter | access |
/// |---|---|
/// | [`Query<D, F>`](crate::Query) | all entities with these components |
/// | [`Lookup<D, F>`](crate::Lookup) | components by entity, in any order |
/// | [`Single<D, F>`](crate::Single), `Option<Single<D, F>>` | components of the only matching entity |
/// | [`Res<T>`](crate::Res), [`ResMut<T>`](crate::ResMut), and `Option`s of them | a resource |
/// | [`ResourceRemoved<T>`](crate::ResourceRemoved) | whether a resource was removed |
/// | [`MessageReader<M>`](crate::MessageReader), [`MessageWriter<M>`](crate::MessageWriter) | messages |
/// | [`NonSend<T>`](crate::NonSend), [`NonSendMut<T>`](crate::NonSendMut), and `Option`s of them | a value that is not `Send`, on its thread |
/// | [`Time`](crate::Time) | the time of the update |
/// | [`Commands`](crate::Commands) | records structural changes that are applied right after the system |
/// | [`CommandsAt<P>`](crate::CommandsAt) | records structural changes that are applied at a command point, also in jobs |
/// | [`Removed<T>`](crate::Removed) | entities that lost a component since the system last ran |
/// | [`On<E>`](crate::On) | the events of an observer |
/// | [`UpdateAllocator`](crate::UpdateAllocator) | memory that lives for two updates |
/// | [`Local<T>`](crate::Local) | a value of the system itself |
/// | [`SystemData<S>`](crate::SystemData) | the fields of a struct system, shared |
/// | [`&JobScheduler`](ancho_jobs::JobScheduler) | the job scheduler, for jobs without entities: the system completes them itself, or returns their handle |
/// | `&EntityManager` | all entities, shared |
/// | `&mut EntityManager` | all entities, exclusive |
/// | `&mut World` | everything, exclusive |
/// | [`ParamSet<(…)>`](crate::ParamSet) | conflicting parameters, one at a time |
/// | tuples of up to 16 | all of them |
/// | structs that derive `SystemParam` | their fields |
///
/// A function has up to 16 parameters. Their types are written without lifetimes.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Local, Query, ResMut, Resource, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(Resource, Clone)]
/// struct Deaths(usize);
///
/// fn count(health: Query<&Health>, mut deaths: ResMut<Deaths>, mut runs: Local<u32>) {
///     deaths.0 = health.iter().filter(|health| health.0 == 0).count();
///     *runs += 1;
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Deaths(0));
/// world.spawn_batch([Health(0), Health(20)]);
/// world.add_system(count);
/// world.update(0.1);
/// assert_eq!(world.resource::<Deaths>().0, 1);
/// ```
///
/// A struct of parameters has the lifetimes `'w`, for data of the world, and `'s`, for data of the system:
///
/// ```
/// use ancho_entities::{Component, Local, Query, SystemParam, World};
///
/// #[derive(Component)]
/// struct Unit(u32);
///
/// #[derive(SystemParam)]
/// struct Census<'w, 's> {
///     units: Query<'w, &'static Unit>,
///     runs: Local<'s, u32>,
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_system(|mut census: Census| *census.runs += census.units.count() as u32);
/// world.update(0.1);
/// ```
///
/// # Safety
///
/// Not to be implemented outside of this crate, except by the derive macro.
///
/// - `declare` declares all data of the world that `fetch` accesses
/// - `fetch` accesses no other data, and accesses it mutably only if that was declared
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a system parameter",
    label = "this function has a parameter `{Self}`",
    note = "parameters are `Query`, `Lookup`, `Single`, `Res`, `ResMut`, `NonSend`, `NonSendMut`, `Time`, `Commands`, `CommandsAt`, `Local`, \
            `MessageReader`, `MessageWriter`, `State`, `NextState`, `UpdateAllocator`, `SystemData`, `ParamSet`, `&JobScheduler`, \
            `&EntityManager`, `&mut EntityManager`, `&mut World`, tuples of up to 16 parameters, and structs with \
            `#[derive(SystemParam)]`",
    note = "they are taken by value: `mut query: Query<&mut T>`; other values come from resources, `Res<T>`, or are captured by a closure"
)]
pub unsafe trait SystemParam: Sized {
    /// The data that the system keeps for the parameter between runs.
    #[doc(hidden)]
    type State: ParamState;

    /// The parameter with the lifetimes of one run.
    type Item<'w, 's>;

    /// Set if the parameter accesses the system table. The table is unavailable while a system without such a parameter runs.
    #[doc(hidden)]
    const REACHES_SYSTEMS: bool = false;

    /// Declares the accessed data, when the system is added.
    #[doc(hidden)]
    fn declare(setup: &mut ParamSetup<'_>) -> Result<Self::State, ParamConflict>;

    /// Prepares the parameter before a run. No parameter is borrowed yet, so this method has exclusive access to the world.
    #[doc(hidden)]
    #[inline(always)]
    fn prepare(_state: &mut Self::State, _world: &mut World) -> Result<(), SystemFault> {
        Ok(())
    }

    /// Borrows the parameter.
    ///
    /// # Safety
    ///
    /// - `state` was declared by a system of this world, and prepared since the world last changed
    /// - the system's other parameters that are in use do not conflict with this one
    #[doc(hidden)]
    unsafe fn fetch<'w, 's>(
        state: &'s mut Self::State,
        world: UnsafeWorldCell<'w>,
    ) -> Self::Item<'w, 's>;
}

/// The data that a system keeps for a parameter. The default methods suit a state without queries and commands.
pub trait ParamState: Send + 'static {
    /// Compares a query with the other queries of the system. Called when all parameters are declared.
    #[doc(hidden)]
    fn settle(&mut self, _access: &SystemAccess) {}

    /// Ends a run after the parameters have been dropped: plays commands, or passes them to their command point.
    #[doc(hidden)]
    #[inline(always)]
    fn finish(&mut self, _world: &mut World) -> Result<(), SystemFault> {
        Ok(())
    }

    /// Records that the parameter was prepared, and will be prepared again before it is fetched.
    #[doc(hidden)]
    fn release(&mut self) {}

    /// Adds the number of entities in chunks that match the parameter's queries to the count.
    #[doc(hidden)]
    fn add_entities(&mut self, _entities: &EntityManager, _count: &mut usize) {}

    /// Returns whether a chunk matches the parameter's queries, or `None` if the parameter has no query.
    #[doc(hidden)]
    fn has_entities(&mut self, _entities: &EntityManager) -> Option<bool> {
        None
    }
}

/// The declaration of a system's parameters.
#[derive(Debug)]
pub struct ParamSetup<'a> {
    world: &'a mut World,
    /// The name of the system.
    name: &'a str,
    access: SystemAccess,
}

impl ParamSetup<'_> {
    /// Returns the world in which the parameter is declared.
    pub(in crate::system) fn world(&mut self) -> &mut World {
        self.world
    }

    /// Declares the access of the parameter `P`. Returns its index.
    fn declare<P>(&mut self, access: ParamAccess) -> Result<usize, ParamConflict> {
        self.access.declare(short_name::<P>(), access)
    }
}

/// Returns the name of a parameter's type, without lifetimes and without paths of this crate.
fn short_name<P>() -> String {
    let name = type_name::<P>().replace("<'_>", "").replace("'_, ", "");
    let ends_path = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
    let of_here = |piece: &str| piece.starts_with("ancho_entities::");
    let pieces = name.split_inclusive(ends_path);
    pieces
        .map(
            |piece| if of_here(piece) { piece.rsplit("::").next().unwrap_or(piece) } else { piece },
        )
        .collect()
}

/// The parameters of one system, declared in one world.
pub(super) struct ParamStates<P: SystemParam> {
    state: P::State,
    /// The id of the world's systems.
    world: u64,
}

impl<P: SystemParam> ParamStates<P> {
    /// Declares the parameters of the system `name`. Returns their states and their access.
    pub(super) fn declare(
        world: &mut World,
        name: &str,
    ) -> Result<(Self, SystemAccess), ParamConflict> {
        let id = world.systems.id;
        let mut setup = ParamSetup { world, name, access: SystemAccess::default() };
        let mut state = P::declare(&mut setup)?;
        state.settle(&setup.access);
        Ok((Self { state, world: id }, setup.access))
    }

    /// Tests whether the world has the parameters.
    pub(super) fn check(&mut self, world: &mut World) -> Result<(), SystemFault> {
        debug_assert_eq!(self.world, world.systems.id, "systems run in the world that they are in");
        P::prepare(&mut self.state, world)?;
        self.state.release();
        Ok(())
    }

    /// Calls a function with the parameters. `since` is the version of the system's last run.
    #[inline(always)]
    pub(super) fn call<R>(
        &mut self,
        world: &mut World,
        since: Version,
        function: impl FnOnce(P::Item<'_, '_>) -> R,
    ) -> Result<R, SystemFault> {
        debug_assert_eq!(self.world, world.systems.id, "systems run in the world that they are in");
        P::prepare(&mut self.state, world)?;
        // SAFETY:
        // - the state was declared in this world, since systems run only in the world that has them, and was just prepared
        // - `declare` refused parameters that conflict, and the cell borrows the world exclusively
        let params = unsafe { P::fetch(&mut self.state, UnsafeWorldCell::new(world, since)) };
        Ok(function(params))
    }

    /// Returns the states, for calls that fetch no parameters.
    #[inline(always)]
    pub(super) fn state(&mut self) -> &mut P::State {
        &mut self.state
    }
}

impl ParamState for () {}

// SAFETY: the parameter accesses no data, so it has none to declare.
unsafe impl SystemParam for () {
    type State = ();
    type Item<'w, 's> = ();

    fn declare(_: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        Ok(())
    }

    #[inline(always)]
    unsafe fn fetch(_: &mut (), _: UnsafeWorldCell<'_>) {}
}

/// Implements [`SystemParam`] for a tuple of parameters, and [`ParamState`] for the tuple of their states.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        impl<$($name: ParamState),+> ParamState for ($($name,)+) {
            fn settle(&mut self, access: &SystemAccess) {
                $(self.$index.settle(access);)+
            }

            #[inline]
            fn finish(&mut self, world: &mut World) -> Result<(), SystemFault> {
                // All parameters are finished, even after a fault, and all faults are reported.
                let mut result = Ok(());
                $(
                    if let Err(fault) = self.$index.finish(world) {
                        result = world.systems.add_fault(result, fault);
                    }
                )+
                result
            }

            fn release(&mut self) {
                $(self.$index.release();)+
            }

            fn add_entities(&mut self, entities: &EntityManager, count: &mut usize) {
                $(self.$index.add_entities(entities, count);)+
            }

            fn has_entities(&mut self, entities: &EntityManager) -> Option<bool> {
                let mut found = None;
                $(
                    if let Some(has) = self.$index.has_entities(entities) {
                        found = Some(found.unwrap_or(false) || has);
                    }
                )+
                found
            }
        }

        // SAFETY:
        // - each element declares the data that it accesses
        // - only the elements access data
        unsafe impl<$($name: SystemParam),+> SystemParam for ($($name,)+) {
            type State = ($($name::State,)+);
            type Item<'w, 's> = ($($name::Item<'w, 's>,)+);

            const REACHES_SYSTEMS: bool = $($name::REACHES_SYSTEMS)||+;

            fn declare(setup: &mut ParamSetup<'_>) -> Result<Self::State, ParamConflict> {
                setup.access.begin_tuple();
                $(
                    setup.access.next_element();
                    let $name = $name::declare(setup)?;
                )+
                setup.access.end_tuple();
                Ok(($($name,)+))
            }

            #[inline]
            fn prepare(state: &mut Self::State, world: &mut World) -> Result<(), SystemFault> {
                $($name::prepare(&mut state.$index, world)?;)+
                Ok(())
            }

            #[inline]
            unsafe fn fetch<'w, 's>(
                state: &'s mut Self::State,
                world: UnsafeWorldCell<'w>,
            ) -> Self::Item<'w, 's> {
                // SAFETY:
                // - the states of all elements were declared and prepared together with the state of the tuple
                // - the elements do not conflict with each other: each was declared after the others, and conflicts were refused.
                //   The caller says that no other parameter in use conflicts with them
                unsafe { ($($name::fetch(&mut state.$index, world),)+) }
            }
        }
    };
}

all_tuples!(implement);

/// Conflicting parameters of a system, of which one is used at a time.
///
/// It has up to eight members, returned by `p0` to `p7`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, ParamSet, Query, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Healer(u32);
///
/// fn heal(mut both: ParamSet<(Query<(&Health, &Healer)>, Query<&mut Health>)>) {
///     let heals: u32 = both.p0().iter().map(|(_, healer)| healer.0).sum();
///     both.p1().for_each(|health| health.0 += heals);
/// }
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn(Health(20));
/// world.spawn((Health(1), Healer(5)));
/// world.add_system(heal);
/// world.update(0.1);
/// assert_eq!(world.get::<Health>(orc).unwrap().0, 25);
/// ```
pub struct ParamSet<'w, 's, T: SystemParam> {
    /// Pointer to the tuple of the members' states. The type is erased: otherwise each function with a set would have to bound the
    /// items of its queries by `'static`.
    states: NonNull<()>,
    world: UnsafeWorldCell<'w>,
    state: PhantomData<&'s mut ()>,
    /// Makes `T` invariant, because a subtype of `T` has another type of state.
    members: PhantomData<fn(T) -> T>,
}

impl<T: SystemParam> fmt::Debug for ParamSet<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParamSet<{}>", type_name::<T>())
    }
}

/// Implements [`ParamSet`] for a tuple of members, each with the name and the ordinal of its method.
macro_rules! implement_set {
    ($($name:ident $index:tt $method:ident $ordinal:literal,)+) => {
        // SAFETY:
        // - each member declares the data that it accesses
        // - only the member that was fetched last accesses data
        unsafe impl<$($name: SystemParam),+> SystemParam for ParamSet<'_, '_, ($($name,)+)> {
            type State = ($($name::State,)+);
            type Item<'w, 's> = ParamSet<'w, 's, ($($name,)+)>;

            const REACHES_SYSTEMS: bool = $($name::REACHES_SYSTEMS)||+;

            fn declare(setup: &mut ParamSetup<'_>) -> Result<Self::State, ParamConflict> {
                setup.access.begin_set();
                $(
                    let $name = $name::declare(setup)?;
                    setup.access.next_member();
                )+
                setup.access.end_set();
                Ok(($($name,)+))
            }

            fn prepare(state: &mut Self::State, world: &mut World) -> Result<(), SystemFault> {
                <($($name,)+)>::prepare(state, world)
            }

            unsafe fn fetch<'w, 's>(
                state: &'s mut Self::State,
                world: UnsafeWorldCell<'w>,
            ) -> Self::Item<'w, 's> {
                let states = NonNull::from(state).cast();
                ParamSet { states, world, state: PhantomData, members: PhantomData }
            }
        }

        impl<$($name: SystemParam),+> ParamSet<'_, '_, ($($name,)+)> {
            fn states(&mut self) -> &mut ($($name::State,)+) {
                // SAFETY: `fetch` created the pointer from a state of this type, which is borrowed mutably as long as the set.
                unsafe { self.states.cast().as_mut() }
            }

            $(
                #[doc = concat!("Returns the ", $ordinal, " parameter.")]
                #[doc = ""]
                #[doc = "# Panics"]
                #[doc = ""]
                #[doc = "With A0136 if it is a `Single` whose entity was disabled by another member of the set."]
                #[track_caller]
                pub fn $method(&mut self) -> $name::Item<'_, '_> {
                    let world = self.world;
                    // SAFETY:
                    // - the state was declared and prepared together with the state of the set
                    // - items of other members do not exist any more, because they borrow the set mutably, and parameters outside
                    //   of the set that conflict with this one were refused
                    unsafe { $name::fetch(&mut self.states().$index, world) }
                }
            )+
        }
    };
}

implement_set!(A 0 p0 "first",);
implement_set!(A 0 p0 "first", B 1 p1 "second",);
implement_set!(A 0 p0 "first", B 1 p1 "second", C 2 p2 "third",);
implement_set!(A 0 p0 "first", B 1 p1 "second", C 2 p2 "third", D 3 p3 "fourth",);
implement_set!(A 0 p0 "first", B 1 p1 "second", C 2 p2 "third", D 3 p3 "fourth", E 4 p4 "fifth",);
implement_set!(
    A 0 p0 "first", B 1 p1 "second", C 2 p2 "third", D 3 p3 "fourth", E 4 p4 "fifth", F 5 p5 "sixth",
);
implement_set!(
    A 0 p0 "first", B 1 p1 "second", C 2 p2 "third", D 3 p3 "fourth", E 4 p4 "fifth", F 5 p5 "sixth",
    G 6 p6 "seventh",
);
implement_set!(
    A 0 p0 "first", B 1 p1 "second", C 2 p2 "third", D 3 p3 "fourth", E 4 p4 "fifth", F 5 p5 "sixth",
    G 6 p6 "seventh", H 7 p7 "eighth",
);
