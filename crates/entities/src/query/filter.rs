//! Filters: conditions on entities, options of a query, and alternatives.

use std::marker::PhantomData;

use super::terms::{Options, Term};
use crate::all_tuples::all_tuples;
use crate::component::ComponentType;
use crate::set::ComponentSet;

/// Conditions on the entities of a query, besides its data.
///
/// A component of an entity is absent, enabled or disabled. Components that are not enableable count as enabled. The filters
/// match these entities:
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
/// [`Any`] requires at least one of its components. Every other filter requires its condition for all of its components.
/// [`Changed`] and [`OrderChanged`] select chunks by version. `Changed` selects single entities if a component
/// [tracks](crate::Component::TRACK_CHANGES) changes, and [`Added`] always does. An entity matches a tuple of filters if it matches all of them, and
/// [`Or`](crate::Or) if it matches at least one. A query without filters has the filter `()`.
///
/// Filters accept the component sets that [`has`](crate::EntityManager::has) accepts: `T`, `Buffer<T>`, `Shared<T>`, `Managed<T>`,
/// `PerChunk<T>`, and tuples.
///
/// A query skips entities that are [`Disabled`](crate::Disabled) and [prefabs](crate::Prefab), unless it includes them or requires
/// the tag, as data or with `With` or `Present`. These filters set such options of the whole query:
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
/// This trait is sealed: it cannot be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query filter",
    label = "not a filter",
    note = "filters are `With<T>`, `Without<T>`, `Any<(T, U)>`, `Changed<T>`, `Added<T>`, and tuples of filters; `T` and `U` are \
            components, or tuples of components, each with `#[derive(Component)]`",
    note = "`Entity`, `&T` and `&mut T` are data, the first parameter: `Query<(Entity, &T)>`"
)]
pub trait QueryFilter: 'static {
    /// Options of the whole query.
    #[doc(hidden)]
    const OPTIONS: Options = Options::NONE;

    /// Calls the function for each condition of the filter.
    #[doc(hidden)]
    fn terms(each: &mut dyn FnMut(Term));
}

/// Defines a filter type over a set of components. `each` adds one condition per component, `any` one condition on the whole set.
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

        // The compiler reports that `QueryFilter` is not implemented, and not that `S` is not a `ComponentSet`, because the
        // notes of `QueryFilter` name the remedy.
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
    /// Filter for entities that have all components of the set, enabled. This is Unity's `WithAll`.
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
    #[doc(alias = "WithAll")]
    With, each With
}

filter! {
    /// Filter for entities on which each component of the set is absent or disabled. This is Unity's `WithNone`.
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
    #[doc(alias = "WithNone")]
    Without, each Without
}

filter! {
    /// Filter for entities that have no component of the set, neither enabled nor disabled. This is Unity's `WithAbsent`.
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
    #[doc(alias = "WithAbsent")]
    Absent, each Absent
}

filter! {
    /// Filter for entities that have all components of the set, enabled or disabled. This is Unity's `WithPresent`.
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
    #[doc(alias = "WithPresent")]
    Present, each Present
}

filter! {
    /// Filter for entities that have all components of the set, disabled. This is Unity's `WithDisabled`.
    ///
    /// The first use of a query with this filter panics with A0070 if one of the components is not enableable.
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
    #[doc(alias = "WithDisabled")]
    IsDisabled, each Disabled
}

filter! {
    /// Filter for entities that have at least one component of the set, enabled. This is Unity's `WithAny`.
    ///
    /// `Any<()>` matches all entities.
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
    #[doc(alias = "WithAny")]
    #[doc(alias = "AnyOf")]
    Any, any Any
}

filter! {
    /// Filter for entities in chunks in which a component of the set was written after the version that the query was given with
    /// [`since`](crate::Query::since). This is Unity's change filter.
    ///
    /// In a system, that version is the version of the system's last run. `Changed` selects whole chunks: entities in the same
    /// chunk as a written entity match too, and no written entity is missed. A mutable borrow counts as a write. For components
    /// that [track changes](crate::Component::TRACK_CHANGES) only the written entities match. Entities that have no component of
    /// the set do not match. `Changed<()>` matches all entities.
    ///
    /// Code that reads changes and then writes the same components can pass a version to `since` that it stored after its writes.
    /// Its own writes do not match then.
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
    #[doc(alias = "WithChangeFilter")]
    #[doc(alias = "is_changed")]
    Changed, any Changed
}

/// Filter for entities to which at least one component of the set was added since the system last ran.
///
/// In the first run of a system, everything counts as added. Outside of systems, [`since`](crate::Query::since) sets the version
/// after which additions count. A component is added when the entity is created with it or gets it, also by `instantiate` or from
/// another world. A new value of a component that the entity has, and a move to another archetype, are no additions. Every component
/// of the set must [track changes](crate::Component::TRACK_CHANGES).
///
/// # Examples
///
/// ```
/// use ancho_entities::{Added, Component, Entity, World};
///
/// #[derive(Component)]
/// #[component(track_changes)]
/// struct Burning(f32);
///
/// let mut world = World::new("Simulation");
/// let (tree, house) = (world.spawn(Burning(1.0)), world.spawn(()));
/// let seen = world.version();
/// world.advance_version();
/// world.get_mut::<Burning>(tree)?.0 = 2.0;
/// world.add(house, Burning(1.0)).unwrap();
/// let added = world.query_filtered::<Entity, Added<Burning>>().since(seen);
/// assert_eq!(added.single(), Ok(house));
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
///
/// A component that does not track changes does not compile:
///
/// ```compile_fail,E0080
/// use ancho_entities::{Added, Component, World};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// World::new("Simulation").query_filtered::<(), Added<Health>>().count();
/// ```
#[derive(Debug)]
pub struct Added<S>(PhantomData<fn() -> S>);

// The notes of `QueryFilter` name the remedy.
#[diagnostic::do_not_recommend]
impl<S: ComponentSet> QueryFilter for Added<S> {
    fn terms(each: &mut dyn FnMut(Term)) {
        const {
            assert!(
                S::TRACKED && S::COUNT > 0,
                "`Added` needs components that track changes; write `#[component(track_changes)]` on the type"
            );
        }
        each(Term::Added(types::<S>().into()));
    }
}

/// Filter for entities in chunks that gained or lost entities after the version that the query was given with
/// [`since`](crate::Query::since). This is Unity's order version filter.
///
/// [`Or`](crate::Or) combines it with a change filter: `Or<(Changed<T>, OrderChanged)>`.
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

/// Defines a filter type that sets an option of the whole query and has no conditions.
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
    /// Filter that includes entities that are [`Disabled`](crate::Disabled).
    ///
    /// The option applies to the whole query, wherever the filter stands among the filters. As an element of an [`Or`](crate::Or)
    /// it does not compile:
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
    /// Filter that includes [prefabs](crate::Prefab). It applies to the whole query, and cannot be part of an [`Or`](crate::Or).
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
    /// Filter that ignores whether components are enabled. It applies to the whole query, and cannot be part of an
    /// [`Or`](crate::Or).
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
    #[doc(alias = "IgnoreComponentEnabledState")]
    IgnoreEnabled, IGNORE_ENABLED
}

option_filter! {
    /// Filter that excludes entities with a component that the query does not name, if that component is a member of the write
    /// group of a component that the query writes.
    ///
    /// It applies to the whole query, and cannot be part of an [`Or`](crate::Or).
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

/// Filter for entities that match at least one filter of a tuple. It replaces Unity's queries with several descriptions.
///
/// Each entity is yielded once, however many filters it matches. An element may be a tuple of filters, which must all match.
/// Entities that are [`Disabled`](crate::Disabled) and [prefabs](crate::Prefab) match only elements that require the tag.
///
/// In a [split](crate::EntityManager::split) and in the parameters of a system, an `Or` can make two queries disjoint, if each
/// query has at most 64 combinations of alternatives. With more combinations, put the filter that makes the queries disjoint beside
/// the `Or`.
///
/// [`Changed`](crate::Changed) and [`OrderChanged`](crate::OrderChanged) may be elements. They match whole chunks, including
/// entities that match no other element. For components that [track changes](crate::Component::TRACK_CHANGES), `Changed` matches
/// the written entities only. Chunks in which no element can match are skipped as a whole.
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
/// A query of entities that were written, or whose chunk gained or lost entities:
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

/// Implements `QueryFilter` for an `Or` of a tuple.
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
