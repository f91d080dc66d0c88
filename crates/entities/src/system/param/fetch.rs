//! The parameters that access a world: the cell through which they borrow it, and their declaration and fetching.

#![expect(unsafe_code, reason = "several parameters borrow one world")]

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

use ancho_collections::Allocator;
use ancho_jobs::JobScheduler;

use super::values::{Local, Res, ResMut, ResourceRemoved, Single, SystemData, UpdateAllocator};
use super::{ParamSetup, ParamState, SystemParam, short_name};
use crate::commands::{CommandError, Commands, EntityCommandBuffer};
use crate::manager::EntityManager;
use crate::messages::Messages;
use crate::query::{
    Lookup, LookupForm, ManagerBesideViews, Query, QueryData, QueryFilter, SystemQuery,
};
use crate::schedule::{ParamAccess, ParamConflict, SystemAccess, SystemFault, SystemId};
use crate::system::point::{CommandPoint, CommandsAt};
use crate::system::system::System;
use crate::time::Time;
use crate::version::Version;
use crate::world::{BorrowedResource, NonSend, NonSendMut, Resource, ResourceSlot, World};

/// A world that the parameters of a running system share.
///
/// The cell is the exclusive borrow of the world for `'w`, copied to each parameter. No method checks borrows:
/// `SystemParam::declare` refuses systems whose parameters conflict, and each parameter accesses only the data that it declared.
/// Bevy's type of the same name has the same role.
#[derive(Clone, Copy, Debug)]
pub struct UnsafeWorldCell<'w> {
    world: NonNull<World>,
    /// The version of the system's last run.
    since: Version,
    borrow: PhantomData<&'w mut World>,
}

impl<'w> UnsafeWorldCell<'w> {
    #[inline]
    pub(super) fn new(world: &'w mut World, since: Version) -> Self {
        Self { world: NonNull::from(world), since, borrow: PhantomData }
    }

    /// Returns the address of the entities.
    #[inline(always)]
    fn entities(self) -> NonNull<EntityManager> {
        // SAFETY: the pointer is valid for `'w`, and this only computes the address of a field, which is not null.
        unsafe { NonNull::new_unchecked(&raw mut (*self.world.as_ptr()).entities) }
    }

    /// Returns the messages.
    ///
    /// # Safety
    ///
    /// - no parameter in use changes queues of messages
    #[inline]
    pub(super) unsafe fn messages(self) -> &'w Messages {
        // SAFETY: the pointer is valid for `'w`, and the caller says that the field does not change.
        unsafe { &(*self.world.as_ptr()).messages }
    }

    /// Returns the slot of a resource.
    ///
    /// # Safety
    ///
    /// - no parameter in use inserts or removes resources
    #[inline]
    unsafe fn resource(self, place: u32) -> Option<&'w ResourceSlot> {
        // SAFETY: the pointer is valid for `'w`. The caller says that the table of resources does not change, so the reference to the
        // table, which other parameters share, is valid for `'w`. What other parameters write in slots are cells.
        unsafe { (*self.world.as_ptr()).resources.slot(place) }
    }
}

/// The state of [`Query`], [`Lookup`] and [`Single`].
pub struct QueryParamState {
    kept: SystemQuery,
    /// The index of the parameter in the system's access.
    index: usize,
    /// Set if the entities of the query count for `require_matching`, and in tools.
    is_counted: bool,
}

impl QueryParamState {
    /// Declares a query as the parameter `P`.
    fn declare<P>(
        setup: &mut ParamSetup<'_>,
        kept: SystemQuery,
        is_counted: bool,
    ) -> Result<Self, ParamConflict> {
        let (plan, is_lookup) = (kept.plan().clone(), kept.is_lookup());
        let index = setup.declare::<P>(ParamAccess::Query { plan, is_lookup })?;
        Ok(Self { kept, index, is_counted })
    }
}

impl ParamState for QueryParamState {
    fn settle(&mut self, access: &SystemAccess) {
        self.kept.settle(access.concurrent_queries(self.index));
    }

    fn add_entities(&mut self, entities: &EntityManager, count: &mut usize) {
        if self.is_counted {
            *count += self.kept.entity_count(entities);
        }
    }

    fn has_entities(&mut self, entities: &EntityManager) -> Option<bool> {
        self.is_counted.then(|| self.kept.has_chunks(entities))
    }
}

impl fmt::Debug for QueryParamState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryParamState").field("index", &self.index).finish_non_exhaustive()
    }
}

// SAFETY:
// - the query's components are declared
// - the query accesses nothing else
unsafe impl<D: QueryData, F: QueryFilter> SystemParam for Query<'_, D, F> {
    type State = QueryParamState;
    type Item<'w, 's> = Query<'w, D, F>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<QueryParamState, ParamConflict> {
        let kept = SystemQuery::of_query::<D, F>(&setup.world.entities);
        let kept = kept.map_err(ParamConflict::of_message)?;
        QueryParamState::declare::<Self>(setup, kept, true)
    }

    #[inline]
    fn prepare(state: &mut QueryParamState, world: &mut World) -> Result<(), SystemFault> {
        Ok(state.kept.prepare(&mut world.entities)?)
    }

    #[inline]
    unsafe fn fetch<'w>(
        state: &mut QueryParamState,
        world: UnsafeWorldCell<'w>,
    ) -> Query<'w, D, F> {
        // SAFETY:
        // - `declare` made the state of `D` and `F`, and the caller prepared it for this world
        // - the cell borrows the manager mutably for `'w`; parameters in use do not conflict, so they access it by views only
        // - views that conflict with this one were refused
        // - the state was settled with the system's other queries after they were declared
        unsafe { state.kept.query(world.entities(), world.since) }
    }
}

// SAFETY:
// - the lookup's components are declared
// - the lookup accesses nothing else
unsafe impl<D: QueryData, F: QueryFilter> SystemParam for Lookup<'_, D, F> {
    type State = QueryParamState;
    type Item<'w, 's> = Lookup<'w, D, F>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<QueryParamState, ParamConflict> {
        let kept = SystemQuery::of_lookup::<D, F>(&setup.world.entities);
        let kept = kept.map_err(ParamConflict::of_message)?;
        QueryParamState::declare::<Self>(setup, kept, false)
    }

    #[inline]
    fn prepare(state: &mut QueryParamState, world: &mut World) -> Result<(), SystemFault> {
        Query::<D, F>::prepare(state, world)
    }

    #[inline]
    unsafe fn fetch<'w>(
        state: &mut QueryParamState,
        world: UnsafeWorldCell<'w>,
    ) -> Lookup<'w, D, F> {
        // SAFETY:
        // - `declare` made the state of `D` and `F`, and the caller prepared it for this world
        // - the cell borrows the manager mutably for `'w`; parameters in use do not conflict, so they access it by views only
        // - views that conflict with this one were refused
        // - the state was settled with the system's other queries after they were declared
        unsafe { state.kept.lookup(world.entities()) }
    }
}

/// Prepares a [`Single`]. Returns an error if the number of matches is not in `minimum..=1`; then the system does not run.
fn prepare_single<D: QueryData, F: QueryFilter>(
    state: &mut QueryParamState,
    world: &mut World,
    minimum: usize,
) -> Result<(), SystemFault> {
    state.kept.prepare(&mut world.entities)?;
    let entities = NonNull::from(&mut world.entities);
    // A [`Single`] matches in each run, so `Changed` compares with no version.
    // SAFETY:
    // - `declare` made the state of `D` and `F`, and it was just prepared for this manager
    // - the manager is borrowed mutably, and the view ends in this statement
    // - there is no other view
    // - the state was settled after all parameters were declared
    let found = unsafe { state.kept.query::<D, F>(entities, Version::NEVER) }.count();
    if found > 1 || found < minimum {
        let query = short_name::<Single<'_, D, F>>();
        return Err(SystemFault::NotSingle { query, found });
    }
    Ok(())
}

/// Fetches the item of the only match, or returns the number of matches.
///
/// # Safety
///
/// - the contract of `SystemParam::fetch`
unsafe fn fetch_single<'w, D: QueryData, F: QueryFilter>(
    state: &mut QueryParamState,
    world: UnsafeWorldCell<'w>,
) -> Result<Single<'w, D, F>, usize> {
    let since = Version::NEVER;
    // SAFETY: the caller meets the contract of `Query::fetch`. The state of a `Single` is that of a `Query` with the same types.
    let query = unsafe { Query::<D, F>::fetch(state, UnsafeWorldCell { since, ..world }) };
    Ok(Single { item: query.into_only()?, filter: PhantomData })
}

/// Panics for a [`Single`] in a parameter set, if another member has enabled or disabled its entity.
#[cold]
#[track_caller]
fn refuse_single<D: QueryData, F: QueryFilter>(found: usize) -> ! {
    let (single, query) = (short_name::<Single<'_, D, F>>(), short_name::<Query<'_, D, F>>());
    panic!(
        "A0136: `{single}` now matches {found} entities, but one was expected: another parameter of its `ParamSet` \
         enabled or disabled components; use the single before that, or take a `{query}` instead"
    );
}

// SAFETY:
// - the query's components are declared
// - the query accesses nothing else
unsafe impl<D: QueryData, F: QueryFilter> SystemParam for Single<'_, D, F> {
    type State = QueryParamState;
    type Item<'w, 's> = Single<'w, D, F>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<QueryParamState, ParamConflict> {
        let kept = SystemQuery::of_query::<D, F>(&setup.world.entities);
        let kept = kept.map_err(ParamConflict::of_message)?;
        QueryParamState::declare::<Self>(setup, kept, true)
    }

    fn prepare(state: &mut QueryParamState, world: &mut World) -> Result<(), SystemFault> {
        prepare_single::<D, F>(state, world, 1)
    }

    #[track_caller]
    unsafe fn fetch<'w>(
        state: &mut QueryParamState,
        world: UnsafeWorldCell<'w>,
    ) -> Single<'w, D, F> {
        // SAFETY: the caller meets the contract of `fetch_single`, which is that of this function.
        match unsafe { fetch_single(state, world) } {
            Ok(single) => single,
            Err(found) => refuse_single::<D, F>(found),
        }
    }
}

// SAFETY:
// - the query's components are declared
// - the query accesses nothing else
unsafe impl<D: QueryData, F: QueryFilter> SystemParam for Option<Single<'_, D, F>> {
    type State = QueryParamState;
    type Item<'w, 's> = Option<Single<'w, D, F>>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<QueryParamState, ParamConflict> {
        let kept = SystemQuery::of_query::<D, F>(&setup.world.entities);
        let kept = kept.map_err(ParamConflict::of_message)?;
        QueryParamState::declare::<Single<'_, D, F>>(setup, kept, false)
    }

    fn prepare(state: &mut QueryParamState, world: &mut World) -> Result<(), SystemFault> {
        prepare_single::<D, F>(state, world, 0)
    }

    #[track_caller]
    unsafe fn fetch<'w>(
        state: &mut QueryParamState,
        world: UnsafeWorldCell<'w>,
    ) -> Option<Single<'w, D, F>> {
        // SAFETY: the caller meets the contract of `fetch_single`, which is that of this function.
        match unsafe { fetch_single(state, world) } {
            Ok(single) => Some(single),
            Err(0) => None,
            Err(found) => refuse_single::<D, F>(found),
        }
    }
}

/// The state of [`Res`] and [`ResMut`].
#[derive(Debug)]
pub struct ResourceState {
    /// The index of the resource in the world.
    place: u32,
    /// The version of this run. Reading it from the entities would alias a parameter `&mut EntityManager`.
    version: Version,
}

impl ParamState for ResourceState {}

fn declare_resource<T: Resource, P>(
    setup: &mut ParamSetup<'_>,
    write: bool,
) -> Result<ResourceState, ParamConflict> {
    let (ty, name) = (TypeId::of::<T>(), type_name::<T>());
    setup.declare::<P>(ParamAccess::Resource { ty, name, write })?;
    let place = setup.world.resources.place_of::<T>().map_err(ParamConflict::of_message)?;
    Ok(ResourceState { place, version: Version::NEVER })
}

/// Implements [`SystemParam`] for a resource that is read or written, and for an `Option` of it.
macro_rules! implement_resource {
    ($name:ident, $is_written:literal, $borrow:ident) => {
        // SAFETY:
        // - the resource is declared, as written if this parameter writes it
        // - this parameter accesses nothing else
        unsafe impl<T: Resource> SystemParam for $name<'_, T> {
            type State = ResourceState;
            type Item<'w, 's> = $name<'w, T>;

            fn declare(setup: &mut ParamSetup<'_>) -> Result<ResourceState, ParamConflict> {
                declare_resource::<T, Self>(setup, $is_written)
            }

            #[inline]
            fn prepare(state: &mut ResourceState, world: &mut World) -> Result<(), SystemFault> {
                state.version = world.entities.storage.version;
                let slot = world.resources.slot(state.place);
                match slot.and_then(ResourceSlot::address::<T>) {
                    Some(_) => Ok(()),
                    None => Err(SystemFault::NoResource { resource: type_name::<T>() }),
                }
            }

            #[inline]
            unsafe fn fetch<'w>(
                state: &mut ResourceState,
                world: UnsafeWorldCell<'w>,
            ) -> $name<'w, T> {
                // SAFETY: the caller meets the same contract for this function, and both types declare the same access.
                unsafe { Option::<$name<'_, T>>::fetch(state, world) }.expect("`prepare` found it")
            }
        }

        // SAFETY:
        // - the resource is declared, as written if this parameter writes it
        // - this parameter accesses nothing else
        unsafe impl<T: Resource> SystemParam for Option<$name<'_, T>> {
            type State = ResourceState;
            type Item<'w, 's> = Option<$name<'w, T>>;

            fn declare(setup: &mut ParamSetup<'_>) -> Result<ResourceState, ParamConflict> {
                declare_resource::<T, Self>(setup, $is_written)
            }

            #[inline]
            fn prepare(state: &mut ResourceState, world: &mut World) -> Result<(), SystemFault> {
                state.version = world.entities.storage.version;
                Ok(())
            }

            #[inline]
            unsafe fn fetch<'w>(
                state: &mut ResourceState,
                world: UnsafeWorldCell<'w>,
            ) -> Option<$name<'w, T>> {
                // SAFETY: only `&mut World` inserts and removes resources, and it conflicts with every parameter.
                let slot = unsafe { world.resource(state.place) }?;
                // SAFETY:
                // - `declare` found the index of the type `T`
                // - the world is borrowed mutably for `'w`, and conflicting parameters were refused: those that write this resource,
                //   and, if this parameter writes it, those that read it
                let borrowed = unsafe { BorrowedResource::<T>::new(slot) }?;
                Some($borrow(borrowed, world.since, state.version))
            }
        }
    };
}

implement_resource!(Res, false, borrow_shared);
implement_resource!(ResMut, true, borrow_mut);

#[inline]
fn borrow_shared<T: Resource>(
    borrowed: BorrowedResource<'_, T>,
    since: Version,
    _: Version,
) -> Res<'_, T> {
    let (is_changed, is_added) = (borrowed.is_changed(since), borrowed.is_added(since));
    Res { value: borrowed.into_ref(), is_changed, is_added }
}

#[inline]
fn borrow_mut<T: Resource>(
    borrowed: BorrowedResource<'_, T>,
    since: Version,
    version: Version,
) -> ResMut<'_, T> {
    ResMut { borrowed, since, version }
}

// SAFETY:
// - the resource is declared as read
// - this parameter accesses nothing else
unsafe impl<T: Resource> SystemParam for ResourceRemoved<T> {
    type State = ResourceState;
    type Item<'w, 's> = Self;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<ResourceState, ParamConflict> {
        declare_resource::<T, Self>(setup, false)
    }

    unsafe fn fetch(state: &mut ResourceState, world: UnsafeWorldCell<'_>) -> Self {
        // SAFETY: only `&mut World` inserts and removes resources, and it conflicts with every parameter.
        let slot = unsafe { world.resource(state.place) };
        let was_removed = slot.is_some_and(|slot| slot.is_removed(world.since));
        Self { was_removed, resource: PhantomData }
    }
}

/// The id of a non-send value, if the world has it.
impl ParamState for Option<u64> {}

/// Panics for a non-send value in a parameter set, if a guard of it was leaked since the value was prepared.
#[cold]
fn refuse_leaked<T>() -> ! {
    let fault = SystemFault::LeakedNonSend { value: type_name::<T>() };
    panic!(
        "{}",
        fault.non_send_message("a parameter of a `ParamSet` was refused").unwrap_or_default()
    );
}

/// Implements [`SystemParam`] for a non-send value that is read or written, and for an `Option` of it.
macro_rules! implement_non_send {
    ($name:ident, $is_written:literal) => {
        // SAFETY:
        // - the value is declared, as written if this parameter writes it
        // - this parameter accesses nothing else of the world: the value belongs to the thread
        unsafe impl<T: 'static> SystemParam for $name<'_, T> {
            type State = Option<u64>;
            type Item<'w, 's> = $name<'w, T>;

            fn declare(setup: &mut ParamSetup<'_>) -> Result<Option<u64>, ParamConflict> {
                let (ty, name) = (TypeId::of::<T>(), type_name::<T>());
                let access = ParamAccess::NonSend { ty, name, write: $is_written };
                setup.declare::<Self>(access).map(|_| None)
            }

            fn prepare(state: &mut Option<u64>, world: &mut World) -> Result<(), SystemFault> {
                *state = Some(world.non_send.find::<T>($is_written)?);
                Ok(())
            }

            unsafe fn fetch<'w>(state: &mut Option<u64>, _: UnsafeWorldCell<'w>) -> $name<'w, T> {
                let id = state.expect("`prepare` found it");
                $name::new(id).unwrap_or_else(|| refuse_leaked::<T>())
            }
        }

        // SAFETY:
        // - the value is declared, as written if this parameter writes it
        // - this parameter accesses nothing else of the world: the value belongs to the thread
        unsafe impl<T: 'static> SystemParam for Option<$name<'_, T>> {
            type State = Option<u64>;
            type Item<'w, 's> = Option<$name<'w, T>>;

            fn declare(setup: &mut ParamSetup<'_>) -> Result<Option<u64>, ParamConflict> {
                <$name<'_, T>>::declare(setup)
            }

            fn prepare(state: &mut Option<u64>, world: &mut World) -> Result<(), SystemFault> {
                *state = None;
                match <$name<'_, T>>::prepare(state, world) {
                    Err(SystemFault::NoNonSend { .. }) => Ok(()),
                    found => found,
                }
            }

            unsafe fn fetch<'w>(
                state: &mut Option<u64>,
                _: UnsafeWorldCell<'w>,
            ) -> Option<$name<'w, T>> {
                state.map(|id| $name::new(id).unwrap_or_else(|| refuse_leaked::<T>()))
            }
        }
    };
}

implement_non_send!(NonSend, false);
implement_non_send!(NonSendMut, true);

/// A command buffer of a parameter, and the manager in which it reserves ids.
pub(crate) struct ParamBuffer<'s> {
    pub(crate) buffer: &'s mut EntityCommandBuffer,
    entities: ManagerBesideViews<'s>,
}

impl<'s> ParamBuffer<'s> {
    /// Creates the pair for one run.
    ///
    /// # Safety
    ///
    /// - the world is borrowed for `'s`
    /// - the contract of `SystemParam::fetch` is met, for a parameter that reserves ids
    unsafe fn new(buffer: &'s mut EntityCommandBuffer, world: UnsafeWorldCell<'_>) -> Self {
        // SAFETY:
        // - the caller says that the world is borrowed for `'s`
        // - other parameters access the manager through views, which hold no mutable reference to it
        let entities = unsafe { ManagerBesideViews::new(world.entities()) };
        Self { buffer, entities }
    }

    /// Records commands on this thread. They are played in the world of the system. If the world has other entities by then,
    /// playback refuses the ids.
    pub(crate) fn commands(&mut self) -> Result<Commands<'_>, CommandError> {
        self.buffer.commands_beside_views(self.entities)
    }
}

/// The state of [`Commands`]: the buffer that is played after the system.
#[derive(Debug)]
pub struct CommandsState {
    buffer: EntityCommandBuffer,
    /// Set while the buffer may hold commands.
    is_open: bool,
}

impl ParamState for CommandsState {
    fn finish(&mut self, world: &mut World) -> Result<(), SystemFault> {
        if self.buffer.is_empty() {
            self.is_open = false;
            return Ok(());
        }
        if world.systems.is_on_fast_path && self.buffer.needs_world() {
            // The system table is not in the world now. The update calls this method again when it is.
            return Err(SystemFault::Unfinished);
        }
        // If user code panics here, the buffer stays open, and the next run replaces it.
        let played = self.buffer.play_in(world, Location::caller());
        self.is_open = self.buffer.clear().is_err();
        let skipped = SystemFault::skipped_commands(&played);
        let result = played.map(drop).map_err(SystemFault::from);
        match skipped {
            Some(skipped) => world.systems.add_fault(result, skipped),
            None => result,
        }
    }

    fn release(&mut self) {
        self.is_open = false;
    }
}

// SAFETY:
// - reserving ids is declared
// - this parameter accesses nothing else
unsafe impl SystemParam for Commands<'_> {
    type State = CommandsState;
    type Item<'w, 's> = Commands<'s>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<CommandsState, ParamConflict> {
        setup.declare::<Self>(ParamAccess::Ids { at_once: true })?;
        Ok(CommandsState { buffer: EntityCommandBuffer::new().named("commands"), is_open: false })
    }

    fn prepare(state: &mut CommandsState, _: &mut World) -> Result<(), SystemFault> {
        // The buffer is still open if the last run or its playback failed, or if the world has other entities, to which the
        // reserved ids do not belong.
        if state.is_open {
            state.buffer = EntityCommandBuffer::new().named("commands");
        }
        state.is_open = true;
        Ok(())
    }

    unsafe fn fetch<'s>(state: &'s mut CommandsState, world: UnsafeWorldCell<'_>) -> Commands<'s> {
        // SAFETY: the cell borrows the world longer than `'s`, and the caller meets the contract of `fetch`.
        let ParamBuffer { buffer, entities } =
            unsafe { ParamBuffer::new(&mut state.buffer, world) };
        buffer.commands_beside_views(entities).expect("no job has the buffer")
    }
}

/// The state of [`CommandsAt`]: the buffer for the next run of a command point.
#[derive(Debug)]
pub struct CommandsAtState {
    /// The index of the command point in the world.
    point: u32,
    /// The id and the name of the recording system.
    recorder: (Option<SystemId>, Arc<str>),
    buffer: Option<EntityCommandBuffer>,
    /// Set if the buffer was not used since it was taken from the point.
    is_unused: bool,
}

impl ParamState for CommandsAtState {
    fn finish(&mut self, world: &mut World) -> Result<(), SystemFault> {
        if let Some(buffer) = self.buffer.take() {
            world.systems.points.push(self.point, buffer, &self.recorder);
        }
        Ok(())
    }

    fn release(&mut self) {
        self.is_unused = true;
    }
}

// SAFETY:
// - reserving ids is declared
// - this parameter accesses nothing else
unsafe impl<P: CommandPoint> SystemParam for CommandsAt<'_, P> {
    type State = CommandsAtState;
    type Item<'w, 's> = CommandsAt<'s, P>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<CommandsAtState, ParamConflict> {
        setup.declare::<Self>(ParamAccess::Ids { at_once: false })?;
        let systems = &mut setup.world.systems;
        let recorder = (systems.executing, setup.name.into());
        Ok(CommandsAtState {
            point: systems.points.place_of::<P>(),
            recorder,
            buffer: None,
            is_unused: false,
        })
    }

    fn prepare(state: &mut CommandsAtState, world: &mut World) -> Result<(), SystemFault> {
        // A remaining buffer belongs to a run that failed, and is dropped.
        if !std::mem::take(&mut state.is_unused) || state.buffer.is_none() {
            state.buffer = Some(world.systems.points.take_buffer(state.point)?);
        }
        Ok(())
    }

    unsafe fn fetch<'s>(
        state: &'s mut CommandsAtState,
        world: UnsafeWorldCell<'_>,
    ) -> CommandsAt<'s, P> {
        let buffer = state.buffer.as_mut().expect("`prepare` began it");
        // SAFETY: the cell borrows the world longer than `'s`, and the caller meets the contract of `fetch`.
        CommandsAt::new(unsafe { ParamBuffer::new(buffer, world) })
    }
}

/// The state of [`Local`].
#[derive(Debug)]
pub struct LocalState<T>(T);

impl<T: Send + 'static> ParamState for LocalState<T> {}

// SAFETY: this parameter accesses no data of the world, so it has none to declare.
unsafe impl<T: Default + Send + 'static> SystemParam for Local<'_, T> {
    type State = LocalState<T>;
    type Item<'w, 's> = Local<'s, T>;

    fn declare(_: &mut ParamSetup<'_>) -> Result<LocalState<T>, ParamConflict> {
        Ok(LocalState(T::default()))
    }

    #[inline]
    unsafe fn fetch<'s>(state: &'s mut LocalState<T>, _: UnsafeWorldCell<'_>) -> Local<'s, T> {
        Local(&mut state.0)
    }
}

/// The id of the struct system that was found last.
impl ParamState for Option<SystemId> {}

// SAFETY:
// - reading systems is declared
// - this parameter accesses nothing else
unsafe impl<S: System> SystemParam for SystemData<'_, S> {
    type State = Option<SystemId>;
    type Item<'w, 's> = SystemData<'w, S>;

    const REACHES_SYSTEMS: bool = true;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<Option<SystemId>, ParamConflict> {
        setup.declare::<Self>(ParamAccess::Systems)?;
        Ok(None)
    }

    fn prepare(state: &mut Option<SystemId>, world: &mut World) -> Result<(), SystemFault> {
        let systems = &world.systems;
        let known = state.filter(|&id| systems.data_of::<S>(id).is_some());
        *state = known.or_else(|| systems.find_type::<S>());
        if !state.is_some_and(|id| systems.data_of::<S>(id).is_some()) {
            return Err(SystemFault::NoData { system: type_name::<S>() });
        }
        Ok(())
    }

    unsafe fn fetch<'w>(
        state: &mut Option<SystemId>,
        world: UnsafeWorldCell<'w>,
    ) -> SystemData<'w, S> {
        // SAFETY: the world is borrowed for `'w`. Only `&mut World` writes the system table, and it conflicts with every
        // parameter.
        let systems = unsafe { &(*world.world.as_ptr()).systems };
        let system = state.and_then(|id| systems.data_of::<S>(id)).expect("`prepare` found it");
        SystemData { system }
    }
}

impl ParamState for Option<Allocator> {}

// SAFETY: `prepare` clones the handle before parameters exist. `fetch` accesses nothing.
unsafe impl SystemParam for UpdateAllocator {
    type State = Option<Allocator>;
    type Item<'w, 's> = Self;

    fn declare(_: &mut ParamSetup<'_>) -> Result<Option<Allocator>, ParamConflict> {
        Ok(None)
    }

    #[inline]
    fn prepare(state: &mut Option<Allocator>, world: &mut World) -> Result<(), SystemFault> {
        *state = Some(world.memory.allocator());
        Ok(())
    }

    #[inline]
    unsafe fn fetch(state: &mut Option<Allocator>, _: UnsafeWorldCell<'_>) -> Self {
        Self(state.clone().expect("`prepare` cloned it"))
    }
}

impl ParamState for Time {}

// SAFETY: `prepare` copies the time before parameters exist. `fetch` accesses nothing.
unsafe impl SystemParam for Time {
    type State = Self;
    type Item<'w, 's> = Self;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<Self, ParamConflict> {
        Ok(setup.world.time.current())
    }

    #[inline(always)]
    fn prepare(state: &mut Self, world: &mut World) -> Result<(), SystemFault> {
        *state = world.time.current();
        Ok(())
    }

    #[inline(always)]
    unsafe fn fetch(state: &mut Self, _: UnsafeWorldCell<'_>) -> Self {
        *state
    }
}

// SAFETY:
// - the scheduler is declared
// - this parameter accesses nothing else
unsafe impl SystemParam for &JobScheduler {
    type State = ();
    type Item<'w, 's> = &'w JobScheduler;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        setup.declare::<Self>(ParamAccess::Jobs).map(|_| ())
    }

    #[inline]
    unsafe fn fetch<'w>(_: &mut (), world: UnsafeWorldCell<'w>) -> &'w JobScheduler {
        // SAFETY: the world is borrowed for `'w`, and a parameter with exclusive access to all entities conflicts with this one.
        // The scheduler is a field of the manager, and views hold no mutable reference to it.
        unsafe { (*world.entities().as_ptr()).jobs.scheduler() }
    }
}

// SAFETY:
// - shared access to all entities is declared
// - this parameter accesses nothing else
unsafe impl SystemParam for &EntityManager {
    type State = ();
    type Item<'w, 's> = &'w EntityManager;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        setup.declare::<Self>(ParamAccess::Entities).map(|_| ())
    }

    #[inline]
    unsafe fn fetch<'w>(_: &mut (), world: UnsafeWorldCell<'w>) -> &'w EntityManager {
        // SAFETY: the world is borrowed for `'w`, and parameters that write entities conflict with this one.
        unsafe { world.entities().as_ref() }
    }
}

// SAFETY:
// - exclusive access to all entities is declared
// - this parameter accesses nothing else
unsafe impl SystemParam for &mut EntityManager {
    type State = ();
    type Item<'w, 's> = &'w mut EntityManager;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        setup.declare::<Self>(ParamAccess::EntitiesMut).map(|_| ())
    }

    #[inline]
    unsafe fn fetch<'w>(_: &mut (), world: UnsafeWorldCell<'w>) -> &'w mut EntityManager {
        // SAFETY: the world is borrowed mutably for `'w`, and parameters that access entities conflict with this one.
        unsafe { world.entities().as_mut() }
    }
}

// SAFETY: exclusive access to everything is declared.
unsafe impl SystemParam for &mut World {
    type State = ();
    type Item<'w, 's> = &'w mut World;

    const REACHES_SYSTEMS: bool = true;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        setup.declare::<Self>(ParamAccess::World).map(|_| ())
    }

    #[inline]
    unsafe fn fetch<'w>(_: &mut (), mut world: UnsafeWorldCell<'w>) -> &'w mut World {
        // SAFETY: the world is borrowed mutably for `'w`, and every other parameter conflicts with this one.
        unsafe { world.world.as_mut() }
    }
}

// Types that stay on the thread of their world. Without the implementations below they would not be `Send` and `Sync` either, but
// the compiler would then report each of their fields that is not, 35 for a world, and no remedy. With them it reports the bound,
// once, with the sentences of the trait. No type implements these traits, and no other crate can name them.
//
// A bound without parameters that is never met is an error, unless it has a bound lifetime: hence the lifetime of the traits.
//
// The traits have no `label`: with one, the compiler adds a line for the trait. The implementations for every `Unimplemented` are
// never used. They are hidden by `do_not_recommend`, which also hides the two lines about the called function. Without them the
// compiler finds that a reference to a `Res` is `Send`, and proposes to borrow the closure of the job.

/// Never implemented: a world is used by one thread at a time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared with a job or another thread: only one thread can use a world",
    note = "copy values before the job: `let gravity = world.resource::<Gravity>().0;`; pass other data to the job: \
            `.with(lookup.into_job())` for other entities, `.with(commands.writer())` for structural changes"
)]
#[expect(unnameable_types, reason = "no type implements it")]
pub trait WorldInJob<'a> {}

#[diagnostic::do_not_recommend]
impl<T: Unimplemented> WorldInJob<'_> for T {}

/// Never implemented: queries and lookups stay on the thread of their world.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used in a job or on another thread: it stays on the thread of its world",
    note = "to look up entities in a job, pass `.with(lookup.into_job())`, where `lookup` is a parameter `Lookup<&T>` of the system; \
            or collect the values of the query before the job"
)]
#[expect(unnameable_types, reason = "no type implements it")]
pub trait QueryInJob {}

#[diagnostic::do_not_recommend]
impl<T: Unimplemented> QueryInJob for T {}

/// Never implemented: recorders of commands stay on the thread of their world.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used in a job or on another thread: it stays on the thread of its world",
    note = "to record commands in a job, pass `.with(commands.writer())`, where `commands` is a parameter \
            `CommandsAt<EndSimulation>` of the system"
)]
#[expect(unnameable_types, reason = "no type implements it")]
pub trait CommandsInJob<'a> {}

#[diagnostic::do_not_recommend]
impl<T: Unimplemented> CommandsInJob<'_> for T {}

/// Never implemented: a job outlives the run of its system, and with it the borrow of a parameter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be moved to a job or another thread: it is borrowed for one run of the system",
    note = "copy values before the job: `let gravity = gravity.0;`; pass containers to the job: `.with(settings.list.read())`"
)]
#[expect(unnameable_types, reason = "no type implements it")]
pub trait ValueInJob {}

#[diagnostic::do_not_recommend]
impl<T: Unimplemented> ValueInJob for T {}

/// Never implemented.
#[expect(unnameable_types, reason = "no type implements it")]
pub trait Unimplemented {}

// SAFETY: the bound is never met, so a world is not `Sync`.
unsafe impl Sync for World where for<'a> Self: WorldInJob<'a> {}
// SAFETY: the bound is never met, so a manager is not `Sync`.
unsafe impl Sync for EntityManager where for<'a> Self: WorldInJob<'a> {}
// SAFETY: the bound is never met, so a query is not `Send`.
unsafe impl<D: QueryData, F: QueryFilter> Send for Query<'_, D, F> where Self: QueryInJob {}
// SAFETY: the bound is never met, so a query is not `Sync`.
unsafe impl<D: QueryData, F: QueryFilter> Sync for Query<'_, D, F> where Self: QueryInJob {}
// SAFETY: the bound is never met, so a lookup is not `Send`.
unsafe impl<D: QueryData, F: LookupForm> Send for Lookup<'_, D, F> where Self: QueryInJob {}
// SAFETY: the bound is never met, so a lookup is not `Sync`.
unsafe impl<D: QueryData, F: LookupForm> Sync for Lookup<'_, D, F> where Self: QueryInJob {}
// SAFETY: the bound is never met, so a recorder is not `Send`.
unsafe impl Send for Commands<'_> where for<'a> Self: CommandsInJob<'a> {}
// SAFETY: the bound is never met, so a recorder is not `Sync`.
unsafe impl Sync for Commands<'_> where for<'a> Self: CommandsInJob<'a> {}
// SAFETY: the bound is never met, so a recorder is not `Send`.
unsafe impl<P: CommandPoint> Send for CommandsAt<'_, P> where for<'a> Self: CommandsInJob<'a> {}
// SAFETY: the bound is never met, so a recorder is not `Sync`.
unsafe impl<P: CommandPoint> Sync for CommandsAt<'_, P> where for<'a> Self: CommandsInJob<'a> {}
// SAFETY: the bound is never met, so the reference is not `Send`.
unsafe impl<T: Resource> Send for Res<'_, T> where Self: ValueInJob {}
// SAFETY: the bound is never met, so the reference is not `Send`.
unsafe impl<T: Resource> Send for ResMut<'_, T> where Self: ValueInJob {}
// SAFETY: the bound is never met, so the item is not `Send`.
unsafe impl<D: QueryData, F: QueryFilter> Send for Single<'_, D, F> where Self: ValueInJob {}
// SAFETY: the bound is never met, so the reference is not `Send`.
unsafe impl<T: Default + Send> Send for Local<'_, T> where Self: ValueInJob {}
// SAFETY: the bound is never met, so the reference is not `Send`.
unsafe impl<S: System> Send for SystemData<'_, S> where Self: ValueInJob {}
