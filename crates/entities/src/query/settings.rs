//! What is said of a query when the program runs.

use std::sync::Arc;

use crate::component::{ComponentType, SharedValue};
use crate::field::EntityRemap;
use crate::shared::{Shared, SharedComponent};
use crate::version::Version;

/// What a query includes that others pass over, or the other way round. Bits of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options(u8);

impl Options {
    /// Nothing is said.
    pub(crate) const NONE: Self = Self(0);
    /// Entities that are [disabled](crate::Disabled).
    pub(crate) const DISABLED: Self = Self(1);
    /// [Prefabs](crate::Prefab).
    pub(crate) const PREFABS: Self = Self(2);
    /// All entities, whatever is switched off.
    pub(crate) const IGNORE_ENABLED: Self = Self(4);
    /// No entities that others write in a special way.
    pub(crate) const WRITE_GROUPS: Self = Self(8);

    pub(crate) const fn has(self, option: Self) -> bool {
        self.0 & option.0 != 0
    }

    pub(crate) const fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn with(self, option: Self) -> Self {
        Self(self.0 | option.0)
    }
}

/// What is said of a query when the program runs.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) options: Options,
    /// What counts as changed is newer.
    pub(crate) since: Since,
    /// The values that entities must have, all of them. `None` if there are none.
    pub(crate) shared: Option<Arc<Vec<(ComponentType, SharedValue)>>>,
}

/// A version, [`Version::NEVER`] unless it is said.
#[derive(Clone, Copy)]
pub(crate) struct Since(pub(crate) Version);

impl Default for Since {
    fn default() -> Self {
        Self(Version::NEVER)
    }
}

impl Settings {
    pub(crate) fn add_shared<T: SharedComponent>(&mut self, value: T) {
        let filters = self.shared.get_or_insert_default();
        Arc::make_mut(filters)
            .push((ComponentType::of_shared::<T>(), Shared::new(value).into_erased()));
    }

    /// Replaces the entities in the values.
    pub(crate) fn remap_entities(&mut self, map: &mut EntityRemap<'_>) {
        let Some(filters) = &mut self.shared else { return };
        for at in 0..filters.len() {
            let (ty, value) = &filters[at];
            let remap = ty.0.shared.and_then(|functions| functions.remap);
            if let Some(other) = remap.and_then(|remap| remap(&**value, map)) {
                // Others may ask for the same.
                Arc::make_mut(filters)[at].1 = other;
            }
        }
    }

    /// Whether there may be entities in the values.
    pub(crate) fn may_name_entities(&self) -> bool {
        let may = |(ty, _): &(ComponentType, SharedValue)| {
            ty.0.shared.is_some_and(|functions| functions.remap.is_some())
        };
        self.shared().iter().any(may)
    }

    pub(crate) fn shared(&self) -> &[(ComponentType, SharedValue)] {
        self.shared.as_ref().map_or(&[], |shared| shared)
    }
}

/// Writes the methods that say more of a query: they are the same for prepared ones and those of a world.
///
/// A type that has them has `settings`, and makes itself of other filters with `refiltered`.
macro_rules! settings_methods {
    ([$($life:lifetime)?] $name:ident) => {
        impl<$($life,)? D: QueryData, F: QueryFilter> $name<$($life,)? D, F> {
            /// Asks for more: entities must pass these filters too.
            ///
            /// # Examples
            ///
            /// ```
            /// use ancho_entities::{Component, With, Without, World};
            ///
            /// #[derive(Component)]
            /// struct Orc;
            ///
            /// #[derive(Component)]
            /// struct Asleep;
            ///
            /// let mut world = World::new("Simulation");
            /// world.spawn((Orc, Asleep));
            /// let awake = world.spawn(Orc);
            /// let query = world.query::<()>().filter::<With<Orc>>().filter::<Without<Asleep>>();
            /// assert_eq!(query.to_entities(), [awake]);
            /// ```
            pub fn filter<G: QueryFilter>(self) -> $name<$($life,)? D, (F, G)> {
                self.refiltered()
            }

            /// Lets [`Changed`](crate::Changed) and [`OrderChanged`](crate::OrderChanged) mean what is newer than this version.
            ///
            /// Until it is said, everything counts as changed.
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
            /// world.spawn(Health(20));
            /// let last = world.version();
            /// assert!(world.query::<&Health>().filter::<Changed<Health>>().since(last).is_empty());
            ///
            /// world.advance_version();
            /// world.query_mut::<&mut Health>().for_each(|health| health.0 += 1);
            /// assert_eq!(world.query::<&Health>().filter::<Changed<Health>>().since(last).count(), 1);
            /// ```
            pub fn since(mut self, version: Version) -> Self {
                self.settings.since = Since(version);
                self
            }

            /// Asks for entities with this value of a [shared component](crate::SharedComponent). It can be said of any
            /// number of them.
            ///
            /// Whole chunks are passed over.
            ///
            /// # Examples
            ///
            /// ```
            /// use ancho_entities::{Component, Shared, SharedComponent, World};
            ///
            /// #[derive(Component, Clone, Copy)]
            /// struct Health(u32);
            ///
            /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
            /// struct Team(u32);
            ///
            /// let mut world = World::new("Simulation");
            /// world.spawn_many((Health(20), Shared::new(Team(1))), 3);
            /// world.spawn_many((Health(20), Shared::new(Team(2))), 4);
            /// assert_eq!(world.query::<&Health>().with_shared(Team(2)).count(), 4);
            /// ```
            pub fn with_shared<T: SharedComponent>(mut self, value: T) -> Self {
                self.settings.add_shared(value);
                self
            }

            /// Includes entities that are [`Disabled`](crate::Disabled).
            ///
            /// # Examples
            ///
            /// ```
            /// use ancho_entities::{Component, Disabled, World};
            ///
            /// #[derive(Component)]
            /// struct Orc;
            ///
            /// let mut world = World::new("Simulation");
            /// world.spawn((Orc, Disabled));
            /// assert_eq!(world.query::<&Orc>().count(), 0);
            /// assert_eq!(world.query::<&Orc>().include_disabled().count(), 1);
            /// ```
            pub fn include_disabled(mut self) -> Self {
                self.settings.options = self.settings.options.with(Options::DISABLED);
                self
            }

            /// Includes [prefabs](crate::Prefab).
            ///
            /// # Examples
            ///
            /// ```
            /// use ancho_entities::{Component, Prefab, World};
            ///
            /// #[derive(Component)]
            /// struct Orc;
            ///
            /// let mut world = World::new("Simulation");
            /// world.spawn((Orc, Prefab));
            /// assert_eq!(world.query::<&Orc>().count(), 0);
            /// assert_eq!(world.query::<&Orc>().include_prefabs().count(), 1);
            /// ```
            pub fn include_prefabs(mut self) -> Self {
                self.settings.options = self.settings.options.with(Options::PREFABS);
                self
            }

            /// Passes over nothing that is switched off: an entity has a component or it does not.
            ///
            /// [`IsDisabled`](crate::IsDisabled) then means what [`Present`](crate::Present) does, and
            /// [`Without`](crate::Without) what [`Absent`](crate::Absent) does.
            ///
            /// # Examples
            ///
            /// ```
            /// use ancho_entities::{Component, World};
            ///
            /// #[derive(Component)]
            /// #[component(enableable)]
            /// struct Engine;
            ///
            /// let mut world = World::new("Simulation");
            /// let car = world.spawn(Engine);
            /// world.set_component_enabled::<Engine>(car, false).unwrap();
            /// assert_eq!(world.query::<&Engine>().count(), 0);
            /// assert_eq!(world.query::<&Engine>().ignore_enabled().count(), 1);
            /// ```
            pub fn ignore_enabled(mut self) -> Self {
                self.settings.options = self.settings.options.with(Options::IGNORE_ENABLED);
                self
            }

            /// Passes over entities of which somebody else writes in a special way what this query writes: those that have
            /// a component of the [write group](crate::Component::WRITE_GROUPS) of such a component.
            ///
            /// - A member that can be switched off excludes entities that have it on, as [`Without`](crate::Without) does.
            /// - Members that the query names, as data or in a filter, exclude nothing: it knows them. So it is if only one of the
            ///   filters of an [`Or`](crate::Or) names them: `Or<(With<A>, With<B>)>` finds what `Any<(A, B)>` does. Of several
            ///   queries that [become one](crate::DynamicQuery::or) each knows what it names itself.
            /// - If the query reads a component that has a write group itself, it counts as knowing the members of that
            ///   group too, and of their groups, and so on.
            /// - Of `Option<&mut T>`, the group of `T` excludes only entities that have a `T`.
            ///
            /// Unity's `EntityQueryOptions.FilterWriteGroup`.
            ///
            /// # Examples
            ///
            /// ```
            /// use ancho_entities::{Component, World};
            ///
            /// #[derive(Component)]
            /// struct Height(f32);
            ///
            /// #[derive(Component)]
            /// #[component(write_group(Height))]
            /// struct Wings;
            ///
            /// let mut world = World::new("Simulation");
            /// world.spawn(Height(9.0));
            /// world.spawn((Height(9.0), Wings));
            /// assert_eq!(world.query::<&mut Height>().filter_write_groups().count(), 1);
            /// assert_eq!(world.query::<(&mut Height, &Wings)>().filter_write_groups().count(), 1);
            /// assert_eq!(world.query::<&Height>().filter_write_groups().count(), 2);
            /// ```
            pub fn filter_write_groups(mut self) -> Self {
                self.settings.options = self.settings.options.with(Options::WRITE_GROUPS);
                self
            }
        }
    };
}

pub(crate) use settings_methods;
