//! Filters: conditions on entities, options of a query, and alternatives.

use std::marker::PhantomData;

use super::terms::{Options, Term};
use crate::all_tuples::all_tuples;
use crate::component::ComponentType;
use crate::set::ComponentSet;

/// Conditions on the entities of a query, besides its data.
///
/// A component is absent, enabled or disabled. Components that are not enableable are always enabled. The filters match these
/// entities:
///
/// | filter | absent | enabled | disabled |
/// |---|---|---|---|
/// | [`With<T>`](With), and `&T` as data | | ✓ | |
/// | [`Without<T>`](Without) | ✓ | | ✓ |
/// | [`Present<T>`](Present) | | ✓ | ✓ |
/// | [`Absent<T>`](Absent) | ✓ | | |
/// | [`IsDisabled<T>`](IsDisabled) | | | ✓ |
/// | [`Any<(T, U)>`](Any) | | ✓ | |
///
/// [`Any`] requires one of its components, all others each of theirs. [`Changed`] and [`OrderChanged`] select chunks by change
/// version, or single entities if a component [tracks](crate::Component::TRACK_CHANGES) changes. A tuple of filters requires all of
/// them, [`Or`](crate::Or) one of them. A query without filters has `()`.
///
/// Filters name components as `has` does: `T`, `Buffer<T>`, `Shared<T>`, `Managed<T>`, `PerChunk<T>`, and tuples.
///
/// A query skips entities that are [`Disabled`](crate::Disabled) and [prefabs](crate::Prefab), unless it includes them or requires
/// the tag, as data or with `With` or `Present`. Methods of a query set such options. Where a query is a type, as in the parameters
/// of a system, these filters set them: [`IncludeDisabled`](crate::IncludeDisabled), [`IncludePrefabs`](crate::IncludePrefabs),
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
/// Sealed: implemented for types of this crate alone.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query filter",
    label = "not a filter",
    note = "use `With<T>`, `Without<T>`, `Any<(T, U)>`, `Changed<T>`, or tuples of filters; `T` and `U` are \
            components, or tuples of components, each with `#[derive(Component)]`",
    note = "`Entity` is not a component; use it as data: `query::<Entity>()`"
)]
pub trait QueryFilter: 'static {
    /// Options of the whole query.
    #[doc(hidden)]
    const OPTIONS: Options = Options::NONE;

    /// Calls the function for each condition.
    #[doc(hidden)]
    fn terms(each: &mut dyn FnMut(Term));
}

/// Implements a filter of a set of components: with one condition per component, or one condition on all of them.
macro_rules! filter {
    ($(#[$doc:meta])* $name:ident, each $term:ident) => {
        filter!($(#[$doc])* $name, |types, each| types.map(Term::$term).for_each(each));
    };
    ($(#[$doc:meta])* $name:ident, any $term:ident) => {
        filter!($(#[$doc])* $name, |types, each| {
            let types: Box<[_]> = types.collect();
            if !types.is_empty() {
                each(Term::$term(types));
            }
        });
    };
    ($(#[$doc:meta])* $name:ident, |$types:ident, $each:ident| $terms:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<S>(PhantomData<fn() -> S>);

        // The compiler reports that the filter is not implemented, not that `S` is no set: the remedy depends on the filter.
        #[diagnostic::do_not_recommend]
        impl<S: ComponentSet> QueryFilter for $name<S> {
            fn terms($each: &mut dyn FnMut(Term)) {
                let $types = types::<S>().into_iter();
                $terms
            }
        }
    };
}

fn types<S: ComponentSet>() -> Vec<ComponentType> {
    let mut types = Vec::new();
    S::types(&mut |ty| types.push(ty));
    types
}

filter! {
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
    With, each With
}

filter! {
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
    Without, each Without
}

filter! {
    /// Entities that have none of these components, neither enabled nor disabled. Unity's `WithAbsent`.
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
    Absent, each Absent
}

filter! {
    /// Entities that have all these components, enabled or disabled. Unity's `WithPresent`.
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
    Present, each Present
}

filter! {
    /// Entities that have all these components, disabled. Unity's `WithDisabled`.
    ///
    /// The first use of the query panics with A0070 if one of them is not enableable.
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
    IsDisabled, each Disabled
}

filter! {
    /// Entities that have at least one of these components, enabled. Unity's `WithAny`.
    ///
    /// `Any<()>` is no condition.
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
    Any, any Any
}

filter! {
    /// Entities in chunks in which one of these components was written after the version of the query, set with
    /// [`since`](crate::Query::since). Unity's change filter.
    ///
    /// It selects whole chunks: entities in the same chunk as a written one match too, and no written entity is missed. A mutable
    /// borrow counts as a write. For components that [track changes](crate::Component::TRACK_CHANGES) it matches only the entities
    /// that were written. A reader that stores the version after its own writes does not match them again. Entities that have none
    /// of the components do not match. `Changed<()>` is no condition.
    ///
    /// It combines with other filters, and can be an alternative in [`Or`](crate::Or).
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
    Changed, any Changed
}

/// Entities in chunks that gained or lost entities after the version of the query, set with [`since`](crate::Query::since). Unity's
/// order version filter. [`Or`](crate::Or) combines it with a change filter: `Or<(Changed<T>, OrderChanged)>`.
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

impl QueryFilter for OrderChanged {
    fn terms(each: &mut dyn FnMut(Term)) {
        each(Term::OrderChanged);
    }
}

/// Implements a filter that sets an option of the whole query, without conditions.
macro_rules! option_filter {
    ($(#[$doc:meta])* $name:ident, $option:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(());

        impl QueryFilter for $name {
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

/// Entities that match at least one filter of a tuple. Unity's queries of several descriptions.
///
/// Each entity is yielded once, however many filters it matches. Each filter may be a tuple of filters, which must all match.
/// Entities that are [`Disabled`](crate::Disabled) and [prefabs](crate::Prefab) match only filters that require the tag.
///
/// In a [split](crate::EntityManager::split) and in the parameters of a system, these filters can make queries disjoint. That holds
/// for up to 64 combinations of alternatives per query. Beyond that, put the filter that makes them disjoint beside the `Or`.
///
/// [`Changed`](crate::Changed) and [`OrderChanged`](crate::OrderChanged) may be alternatives. They match whole chunks, including
/// entities that match none of the other filters. For components that [track changes](crate::Component::TRACK_CHANGES) they match
/// the written entities. Chunks in which no filter can match are skipped as a whole.
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
/// Entities that were written, or whose chunk gained or lost entities:
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

/// Implements the filter for a tuple of elements with their indices.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        impl<$($name: QueryFilter),+> QueryFilter for Or<($($name,)+)> {
            fn terms(each: &mut dyn FnMut(Term)) {
                const {
                    assert!(
                        Options::NONE$(.with($name::OPTIONS))+.is_none(),
                        "a filter for the whole query cannot be part of an `Or`; write it beside the `Or`"
                    );
                }
                each(Term::Or(Box::new([$(terms::<$name>()),+])));
            }
        }
    };
}

all_tuples!(implement);

/// Returns the conditions of a filter.
fn terms<F: QueryFilter>() -> Box<[Term]> {
    let mut terms = Vec::new();
    F::terms(&mut |term| terms.push(term));
    terms.into()
}
