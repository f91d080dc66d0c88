//! What functions that are systems are given.

#![expect(unsafe_code, reason = "one world that several parameters borrow")]

mod access;
mod allocator;
mod commands;
mod data;
mod error;
mod fetch;
mod local;
mod query;
mod set;
mod single;
mod tuples;
mod values;

use std::any::type_name;
use std::marker::PhantomData;
use std::ptr::NonNull;

pub(crate) use access::{Accesses, Thing, Uses};
pub use allocator::UpdateAllocator;
pub use commands::{CommandsAt, OwnBuffer, PointBuffer};
pub use data::SystemData;
pub use error::ParamConflict;
pub use local::Local;
pub use query::QueryState;
pub use set::ParamSet;
pub use single::Single;
pub use values::{Res, ResMut};

use super::error::SystemFault;
use crate::manager::EntityManager;
use crate::version::Version;
use crate::world::World;

/// What a function can be given that is a system.
///
/// | parameter | what it is |
/// |---|---|
/// | [`Query<D, F>`](crate::Query) | all entities with these components |
/// | [`Lookup<D, F>`](crate::Lookup) | components of entities in any order |
/// | [`Single<D, F>`](crate::Single), `Option<Single<D, F>>` | components of the only such entity |
/// | [`Res<T>`](crate::Res), [`ResMut<T>`](crate::ResMut), and `Option`s of them | a resource of the world |
/// | [`Time`](crate::Time) | what time it is |
/// | [`Commands`](crate::Commands) | records changes that are made right after the system |
/// | [`CommandsAt<P>`](crate::CommandsAt) | records changes that are made at a later point, also in jobs |
/// | [`UpdateAllocator`](crate::UpdateAllocator) | memory for what lives for two updates |
/// | [`Local<T>`](crate::Local) | a value that the system keeps |
/// | [`SystemData<S>`](crate::SystemData) | a system that is a struct, to be read |
/// | [`&JobScheduler`](ancho_jobs::JobScheduler) | the jobs of the world, for those that are not over entities: the system waits for them itself, or [returns](crate::SystemOutput) them |
/// | `&EntityManager` | all entities, to be read |
/// | `&mut EntityManager` | all entities, to be changed |
/// | `&mut World` | everything |
/// | [`ParamSet<(…)>`](crate::ParamSet) | parameters that exclude each other, one at a time |
/// | tuples of up to 16 | all of them |
///
/// A function has up to 16 of them, and writes no lifetimes.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Local, Query, ResMut, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
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
/// # Safety
///
/// Not to be implemented outside of this crate: what a parameter uses of the world it declares, and it uses nothing else.
#[diagnostic::on_unimplemented(
    message = "a system cannot be given `{Self}`",
    label = "no parameter of a system",
    note = "parameters are `Query`, `Lookup`, `Single`, `Res`, `ResMut`, `Time`, `Commands`, `CommandsAt`, `Local`, \
            `UpdateAllocator`, `SystemData`, `ParamSet`, `&JobScheduler`, `&EntityManager`, `&mut EntityManager` and `&mut World`"
)]
pub unsafe trait SystemParam: Sized {
    /// What the system keeps for it.
    #[doc(hidden)]
    type State: Send + 'static;

    /// The same parameter, as it is given.
    type Item<'w, 's>;

    /// Whether it leads to the systems of the world. While a system runs of which no parameter does, they are elsewhere.
    #[doc(hidden)]
    const REACHES_SYSTEMS: bool = false;

    /// Declares what is used, when the system is added.
    #[doc(hidden)]
    fn declare(setup: &mut ParamSetup<'_>) -> Result<Self::State, ParamConflict>;

    /// Notes what all parameters of the system use.
    #[doc(hidden)]
    fn settle(_state: &mut Self::State, _accesses: &SystemUses) {}

    /// Does what has to be done before the parameters are made, while there are none.
    #[doc(hidden)]
    #[inline(always)]
    fn prepare(_state: &mut Self::State, _world: &mut World) -> Result<(), SystemFault> {
        Ok(())
    }

    /// Makes the parameter.
    ///
    /// # Safety
    ///
    /// - the state is of a system of this world, and was just prepared
    /// - it was found that no two parameters exclude each other that are used at the same time
    #[doc(hidden)]
    unsafe fn fetch<'w, 's>(
        state: &'s mut Self::State,
        world: WorldOfParams<'w>,
    ) -> Self::Item<'w, 's>;

    /// Does what has to be done when the system has run and its parameters are gone.
    #[doc(hidden)]
    #[inline(always)]
    fn finish(_state: &mut Self::State, _world: &mut World) -> Result<(), SystemFault> {
        Ok(())
    }

    /// Adds the number of entities that the parameter may find.
    #[doc(hidden)]
    fn add_entities(_state: &mut Self::State, _entities: &EntityManager, _count: &mut usize) {}

    /// Whether there are entities for the parameter: `None` if it asks for none.
    #[doc(hidden)]
    fn has_entities(_state: &mut Self::State, _entities: &EntityManager) -> Option<bool> {
        None
    }
}

/// A system whose parameters are being declared.
#[derive(Debug)]
pub struct ParamSetup<'a> {
    pub(crate) world: &'a mut World,
    /// What the system is called.
    pub(crate) name: &'a str,
    pub(crate) uses: SystemUses,
}

/// What the parameters of a system use.
#[derive(Debug, Default)]
pub struct SystemUses(pub(crate) Accesses);

impl<'a> ParamSetup<'a> {
    pub(crate) fn new(world: &'a mut World, name: &'a str) -> Self {
        Self { world, name, uses: SystemUses::default() }
    }

    /// Declares what a parameter uses. Returns its place.
    fn declare<P>(&mut self, uses: Uses) -> Result<usize, ParamConflict> {
        self.uses.0.declare(short_name::<P>(), uses)
    }
}

/// The name of a parameter: what is of this crate is known without its path.
fn short_name<P>() -> String {
    // Lifetimes say nothing, and nobody has written them.
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

/// A world that the parameters of a system share.
#[derive(Clone, Copy, Debug)]
pub struct WorldOfParams<'w> {
    world: NonNull<World>,
    /// When the system ran before.
    since: Version,
    borrow: PhantomData<&'w mut World>,
}

impl<'w> WorldOfParams<'w> {
    #[inline]
    pub(crate) fn new(world: &'w mut World, since: Version) -> Self {
        Self { world: NonNull::from(world), since, borrow: PhantomData }
    }

    #[inline(always)]
    fn world(self) -> NonNull<World> {
        self.world
    }

    /// The entities.
    #[inline(always)]
    fn entities(self) -> NonNull<EntityManager> {
        // SAFETY: the world is borrowed. This only finds the place of a field.
        unsafe { NonNull::new_unchecked(&raw mut (*self.world.as_ptr()).entities) }
    }
}
