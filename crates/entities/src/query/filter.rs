//! Filters: conditions on entities, options of a query, and alternatives.

#![expect(unsafe_code, reason = "None")]

use std::marker::PhantomData;

use super::descriptor::{Options, Term};
use crate::all_tuples::all_tuples;
use crate::component::ComponentType;
use crate::set::ComponentSet;

/// Conditions on the entities of a query, besides its data.
///
/// A component is absent, or present and on, or present and off; those that cannot be disabled are always on. These
/// entities are chosen:
///
/// | filter | absent | on | off |
/// |---|---|---|---|
/// | [`With<T>`](With), and `&T` as data | | ✓ | |
/// | [`Without<T>`](Without) | ✓ | | ✓ |
/// | [`Present<T>`](Present) | | ✓ | ✓ |
/// | [`Absent<T>`](Absent) | ✓ | | |
/// | [`IsDisabled<T>`](IsDisabled) | | | ✓ |
/// | [`Any<(T, U)>`](Any) | | ✓ | |
///
/// [`Any`] asks for one of its components, all others for each of theirs. [`Changed`] and [`OrderChanged`] choose chunks, by
/// when something happened to them; entities one by one where a component [tracks](crate::Component::TRACK_CHANGES) that. A
/// tuple of filters asks for all of them, [`Or`](crate::Or) for one of them. A query without filters has `()`.
///
/// What is named are components as `has` takes them: `T`, `Buffer<T>`, `Shared<T>`, `Managed<T>`, `PerChunk<T>`, and tuples.
///
/// Entities that are [`Disabled`](crate::Disabled), and [prefabs](crate::Prefab), are passed over, unless the query includes
/// them or asks for the mark, as data or by `With` or `Present`. That, and more, is said of a query by methods, and where it is a
/// type, as it is among the parameters of a system, by filters that are no conditions:
/// [`IncludeDisabled`](crate::IncludeDisabled), [`IncludePrefabs`](crate::IncludePrefabs),
/// [`IgnoreEnabled`](crate::IgnoreEnabled) and [`FilterWriteGroups`](crate::FilterWriteGroups).
///
/// # Examples
///
/// ```
/// use ancho_entities::{Any, Component, Entity, Query, With, Without, World};
///
/// #[derive(Component)]
/// struct Orc;
///
/// #[derive(Component)]
/// struct Burning;
///
/// #[derive(Component)]
/// struct Poisoned;
///
/// #[derive(Component)]
/// struct Asleep;
///
/// let mut world = World::new("Simulation");
/// world.spawn((Orc, Burning, Asleep));
/// world.spawn(Orc);
/// let suffering = world.spawn((Orc, Poisoned));
/// type Wanted = (With<Orc>, Any<(Burning, Poisoned)>, Without<Asleep>);
/// assert_eq!(world.query_filtered::<Entity, Wanted>().single(), Ok(suffering));
/// ```
///
/// # Safety
///
/// Not to be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a filter of queries",
    label = "not a filter",
    note = "use `With<T>`, `Without<T>`, `Any<(T, U)>`, `Changed<T>`, or tuples of filters; what they name is a component, or a \
            tuple of components, each of which has `#[derive(Component)]`",
    note = "`Entity` is no component, since there is no entity without: ask for it as data, `query::<Entity>()`"
)]
pub unsafe trait QueryFilter: 'static {
    /// Options of the whole query.
    #[doc(hidden)]
    const OPTIONS: Options = Options::NONE;

    /// Calls the function for each condition.
    #[doc(hidden)]
    fn terms(each: &mut dyn FnMut(Term));
}

/// Writes a filter that asks for one thing of each component of a set.
macro_rules! filter_of_each {
    ($(#[$doc:meta])* $name:ident, $term:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<S>(PhantomData<fn() -> S>);

        // The filter is what is told not to be one, since what is to be done depends on what it was to be.
        // SAFETY: a condition for each component.
        #[diagnostic::do_not_recommend]
        unsafe impl<S: ComponentSet> QueryFilter for $name<S> {
            fn terms(each: &mut dyn FnMut(Term)) {
                S::types(&mut |ty| each(Term::$term(ty)));
            }
        }
    };
}

/// Writes a filter that asks for something of one of the components of a set.
macro_rules! filter_of_any {
    ($(#[$doc:meta])* $name:ident, $term:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<S>(PhantomData<fn() -> S>);

        // SAFETY: one condition at most.
        #[diagnostic::do_not_recommend]
        unsafe impl<S: ComponentSet> QueryFilter for $name<S> {
            fn terms(each: &mut dyn FnMut(Term)) {
                let types = types::<S>();
                if !types.is_empty() {
                    each(Term::$term(types));
                }
            }
        }
    };
}

fn types<S: ComponentSet>() -> Box<[ComponentType]> {
    let mut types = Vec::new();
    S::types(&mut |ty| types.push(ty));
    types.into()
}

filter_of_each! {
    /// Entities that have all these components, enabled. Unity's `WithAll`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, With, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Orc, 3);
    /// world.spawn(());
    /// assert_eq!(world.query_filtered::<(), With<Orc>>().count(), 3);
    /// ```
    With, With
}

filter_of_each! {
    /// Entities that have none of these components, or have them disabled. Unity's `WithNone`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Without, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// #[derive(Component)]
    /// struct Asleep;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn((Orc, Asleep));
    /// world.spawn(Orc);
    /// assert_eq!(world.query_filtered::<&Orc, Without<Asleep>>().count(), 1);
    /// ```
    Without, Without
}

filter_of_each! {
    /// Entities that have none of these components, neither on nor off. Unity's `WithAbsent`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Absent, Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// world.set_component_enabled::<Engine>(car, false).unwrap();
    /// world.spawn(());
    /// assert_eq!(world.query_filtered::<(), Absent<Engine>>().count(), 1);
    /// ```
    Absent, Absent
}

filter_of_each! {
    /// Entities that have all these components, on or off. Unity's `WithPresent`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Present, World};
    ///
    /// #[derive(Component)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// world.set_component_enabled::<Engine>(car, false).unwrap();
    /// assert_eq!(world.query_filtered::<(), Present<Engine>>().count(), 1);
    /// ```
    Present, Present
}

filter_of_each! {
    /// Entities that have all these components, disabled. Unity's `WithDisabled`.
    ///
    /// It panics with A0070, where the query is first used, if one of them cannot be disabled.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, IsDisabled, World};
    ///
    /// #[derive(Component)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// world.spawn(Engine);
    /// world.set_component_enabled::<Engine>(car, false).unwrap();
    /// assert_eq!(world.query_filtered::<(), IsDisabled<Engine>>().to_entities(), [car]);
    /// ```
    IsDisabled, Disabled
}

filter_of_any! {
    /// Entities that have one of these components at least, enabled. Unity's `WithAny`.
    ///
    /// Of nothing, `Any<()>`, it is no condition.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Any, Component, World};
    ///
    /// #[derive(Component)]
    /// struct Burning;
    ///
    /// #[derive(Component)]
    /// struct Poisoned;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Burning);
    /// world.spawn((Burning, Poisoned));
    /// world.spawn(());
    /// assert_eq!(world.query_filtered::<(), Any<(Burning, Poisoned)>>().count(), 2);
    /// ```
    Any, Any
}

filter_of_any! {
    /// Entities in chunks in which one of these components was written, after the version that the query is
    /// [told](crate::Query::since). Unity's change filter.
    ///
    /// It chooses whole chunks: neighbours of what was written are chosen too, and nothing that was written is missed. What is
    /// borrowed to be written counts as written. Of components that [track changes](crate::Component::TRACK_CHANGES) it chooses
    /// the entities that were written, and no neighbours. Who remembers the version at which he wrote does not see his own writing.
    /// Entities that have none of them are not chosen. Of nothing, `Changed<()>`, it is no condition.
    ///
    /// Beside other filters it is asked for as they are; as one of several possibilities in [`Or`](crate::Or).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Changed, Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let seen = world.version();
    /// world.advance_version();
    /// let changed = |world: &World| world.query_filtered::<&Health, Changed<Health>>().since(seen).count();
    /// assert_eq!(changed(&world), 0);
    /// world.get_mut::<Health>(orc).unwrap().0 -= 1;
    /// assert_eq!(changed(&world), 1);
    /// ```
    Changed, Changed
}

/// Entities in chunks to which entities came, or which some left, after the version that the query is
/// [told](crate::Query::since). Unity's order version filter, which is combined with a change filter by
/// [`Or`](crate::Or): `Or<(Changed<T>, OrderChanged)>`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, OrderChanged, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// world.spawn(Health(20));
/// let seen = world.version();
/// world.advance_version();
/// world.query_mut::<&mut Health>().for_each(|health| health.0 -= 1);
/// assert!(world.query_filtered::<&Health, OrderChanged>().since(seen).is_empty());
/// world.spawn(Health(20));
/// assert_eq!(world.query_filtered::<&Health, OrderChanged>().since(seen).count(), 2);
/// ```
#[derive(Debug)]
pub struct OrderChanged(());

// SAFETY: one condition.
unsafe impl QueryFilter for OrderChanged {
    fn terms(each: &mut dyn FnMut(Term)) {
        each(Term::OrderChanged);
    }
}

/// Writes a filter that says something of the whole query, and is no condition.
macro_rules! option_filter {
    ($(#[$doc:meta])* $name:ident, $option:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(());

        // SAFETY: there are no conditions.
        unsafe impl QueryFilter for $name {
            const OPTIONS: Options = Options::$option;

            fn terms(_: &mut dyn FnMut(Term)) {}
        }
    };
}

option_filter! {
    /// Includes entities that are [`Disabled`](crate::Disabled).
    ///
    /// It applies to the whole query, wherever it is among the filters. In an [`Or`](crate::Or) it does not compile:
    ///
    /// ```compile_fail,E0080
    /// use ancho_entities::{Component, IncludeDisabled, Or, With, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// World::new("Simulation").query_filtered::<(), Or<(With<Orc>, IncludeDisabled)>>().count();
    /// ```
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Disabled, IncludeDisabled, Query, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Orc;
    ///
    /// fn count(awake: Query<&Orc>, all: Query<&Orc, IncludeDisabled>) {
    ///     assert_eq!((awake.count(), all.count()), (3, 5));
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Orc, 3);
    /// world.spawn_many((Orc, Disabled), 2);
    /// world.add_system(count);
    /// world.update(0.1);
    /// ```
    IncludeDisabled, DISABLED
}

option_filter! {
    /// Includes [prefabs](crate::Prefab). See [`IncludeDisabled`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, IncludePrefabs, Prefab, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn((Orc, Prefab));
    /// assert_eq!(world.query::<&Orc>().count(), 0);
    /// assert_eq!(world.query_filtered::<&Orc, IncludePrefabs>().count(), 1);
    /// ```
    IncludePrefabs, PREFABS
}

option_filter! {
    /// Ignores whether components are enabled. See [`IncludeDisabled`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, IgnoreEnabled, World};
    ///
    /// #[derive(Component)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// world.set_component_enabled::<Engine>(car, false).unwrap();
    /// assert_eq!(world.query::<&Engine>().count(), 0);
    /// assert_eq!(world.query_filtered::<&Engine, IgnoreEnabled>().count(), 1);
    /// ```
    IgnoreEnabled, IGNORE_ENABLED
}

option_filter! {
    /// Excludes entities that have another member of the write groups of the components that the query writes. See [`IncludeDisabled`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, FilterWriteGroups, Query, World};
    ///
    /// #[derive(Component)]
    /// struct Height(f32);
    ///
    /// #[derive(Component)]
    /// #[component(write_group(Height))]
    /// struct Wings;
    ///
    /// fn fall(mut heights: Query<&mut Height, FilterWriteGroups>) {
    ///     heights.for_each(|height| height.0 = 0.0);
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let (stone, bird) = (world.spawn(Height(9.0)), world.spawn((Height(9.0), Wings)));
    /// world.add_system(fall);
    /// world.update(0.1);
    /// assert_eq!((world.get::<Height>(stone)?.0, world.get::<Height>(bird)?.0), (0.0, 9.0));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    FilterWriteGroups, WRITE_GROUPS
}

/// Entities that pass one of these filters at least: a filter of a tuple of filters. Unity's queries of several descriptions.
///
/// Each entity is found once, however many of them it passes. Each filter may be a tuple of filters, all of which must be
/// passed then. Entities that are [`Disabled`](crate::Disabled), and [prefabs](crate::Prefab), are found by those filters that
/// ask for the mark.
///
/// Where a world is [split](crate::EntityManager::split), and among the parameters of a system, queries are told apart by each
/// of these filters, as long as there are no more than 64 ways to pass those of a query. Beyond that, what tells them apart stands
/// beside the `Or`.
///
/// [`Changed`](crate::Changed) and [`OrderChanged`](crate::OrderChanged) may be among them. They let whole chunks pass, as they do
/// alone: also entities that pass none of the others, if something changed in their chunk. Of components that
/// [track changes](crate::Component::TRACK_CHANGES) they let the entities pass that were written. Where no filter can be passed, by
/// what has changed, whole chunks are passed over.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Or, With, Without, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Bird;
///
/// #[derive(Component, Clone, Copy)]
/// struct Wounded;
///
/// #[derive(Component, Clone, Copy)]
/// struct Rocket;
///
/// let mut world = World::new("Simulation");
/// let bird = world.spawn(Bird);
/// let rocket = world.spawn(Rocket);
/// world.spawn((Bird, Wounded));
/// let bird_rocket = world.spawn((Bird, Rocket));
/// type Flies = Or<((With<Bird>, Without<Wounded>), With<Rocket>)>;
/// assert_eq!(world.query_filtered::<(), Flies>().to_entities(), [bird, rocket, bird_rocket]);
/// ```
///
/// What was written, or has new neighbours:
///
/// ```
/// use ancho_entities::{Changed, Component, Or, OrderChanged, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32);
///
/// let mut world = World::new("Simulation");
/// let stone = world.spawn(Position(0.0));
/// let mut seen = world.version();
/// let mut is_new = |world: &mut World| {
///     let query = world.query_filtered::<&Position, Or<(Changed<Position>, OrderChanged)>>();
///     let is_new = !query.since(seen).is_empty();
///     seen = world.version();
///     world.advance_version();
///     is_new
/// };
/// assert!(!is_new(&mut world));
/// world.get_mut::<Position>(stone).unwrap().0 = 1.0;
/// assert!(is_new(&mut world));
/// let other = world.spawn(Position(2.0));
/// assert!(is_new(&mut world));
/// world.despawn(other).unwrap();
/// assert!(is_new(&mut world) && !is_new(&mut world));
/// ```
#[derive(Debug)]
pub struct Or<F>(PhantomData<fn() -> F>);

/// Implements the filter for a tuple, of parts with their indices.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: one condition, made of those of the parts.
        unsafe impl<$($name: QueryFilter),+> QueryFilter for Or<($($name,)+)> {
            fn terms(each: &mut dyn FnMut(Term)) {
                const {
                    assert!(
                        Options::NONE$(.with($name::OPTIONS))+.is_none(),
                        "what is said of a whole query cannot be one of several filters; write it beside the `Or`"
                    );
                }
                each(Term::Or(Box::new([$(terms::<$name>()),+])));
            }
        }
    };
}

all_tuples!(implement);

/// The conditions of a filter.
fn terms<F: QueryFilter>() -> Box<[Term]> {
    let mut terms = Vec::new();
    F::terms(&mut |term| terms.push(term));
    terms.into()
}
