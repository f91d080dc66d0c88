//! What is said of a whole query, as filters.

#![expect(unsafe_code, reason = "implements a trait that others must not")]

use super::filter::QueryFilter;
use super::plan::Term;
use super::settings::Options;

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
    /// Includes entities that are [`Disabled`](crate::Disabled), as a filter:
    /// [`include_disabled`](crate::QueryRef::include_disabled) where a query is a type.
    ///
    /// It is said of the whole query, wherever it is among the filters. In an [`Or`](crate::Or) it does not compile:
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
    /// Includes [prefabs](crate::Prefab), as a filter: [`include_prefabs`](crate::QueryRef::include_prefabs) where a query is a
    /// type. See [`IncludeDisabled`].
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
    /// Passes over nothing that is switched off, as a filter: [`ignore_enabled`](crate::QueryRef::ignore_enabled) where a query
    /// is a type. See [`IncludeDisabled`].
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
    /// Passes over entities of which somebody else writes in a special way what the query writes, as a filter:
    /// [`filter_write_groups`](crate::QueryRef::filter_write_groups) where a query is a type. See [`IncludeDisabled`].
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
