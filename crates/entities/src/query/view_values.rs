//! The values of one component of all that a view finds.

#![expect(unsafe_code, reason = "values of chunks of a world that several views borrow")]

use super::cursor::Writes;
use super::data::QueryData;
use super::filter::QueryFilter;
use super::settings::Since;
use super::view::Query;
use crate::component::{Component, ComponentType};
use crate::error::EntityError;
use crate::shared::SharedComponent;
use crate::version::Version;

impl<D: QueryData, F: QueryFilter> Query<'_, D, F> {
    /// How many entities have such components, whatever is switched off, has changed or is shared.
    ///
    /// Unity's `CalculateEntityCountWithoutFiltering`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// world.spawn_many(Engine, 4);
    /// world.set_component_enabled::<Engine>(car, false).unwrap();
    /// let (engines,) = world.split::<(Query<&Engine>,)>();
    /// assert_eq!((engines.count(), engines.count_unfiltered()), (4, 5));
    /// ```
    pub fn count_unfiltered(&self) -> usize {
        self.matched.count_rows(self.storage())
    }

    /// Returns how many chunks the archetypes have that match, whatever is disabled, has changed or is shared. See
    /// [`QueryRef::count_chunks_unfiltered`](crate::QueryRef::count_chunks_unfiltered).
    pub fn count_chunks_unfiltered(&self) -> usize {
        self.matched.count_chunks(self.storage())
    }

    /// Whether no entity has such components, whatever is switched off, has changed or is shared.
    ///
    /// Unity's `IsEmptyIgnoreFilter`.
    pub fn is_empty_unfiltered(&self) -> bool {
        let archetypes = &self.storage().archetypes;
        self.matched.matches.iter().all(|found| archetypes[found.archetype].chunks.is_empty())
    }

    /// Lets [`Changed`](crate::Changed) and [`OrderChanged`](crate::OrderChanged) mean what is newer than this version.
    ///
    /// Systems are given queries to which is new what came after their last run.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Changed, Component, Query, Version, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// fn look(mut changed: Query<&Health, Changed<Health>>) {
    ///     assert_eq!(changed.reborrow().since(Version::NEVER).count(), 1);
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Health(20));
    /// world.add_system(look);
    /// world.update(0.1);
    /// world.update(0.1);
    /// ```
    pub fn since(mut self, version: Version) -> Self {
        self.settings.since = Since(version);
        self
    }

    /// Asks for entities with this value of a [shared component](SharedComponent). It can be said of any number of them.
    ///
    /// Whole chunks are passed over. The value is kept in memory of its own while the view is there.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, Shared, SharedComponent, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// fn heal(mut all: Query<&mut Health>) {
    ///     all.reborrow().with_shared(Team(2)).for_each(|health| health.0 += 5);
    ///     all.for_each(|health| health.0 += 1);
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let ours = world.spawn((Health(20), Shared::new(Team(1))));
    /// let theirs = world.spawn((Health(20), Shared::new(Team(2))));
    /// world.add_system(heal);
    /// world.update(0.1);
    /// assert_eq!(world.get::<Health>(ours).unwrap().0, 21);
    /// assert_eq!(world.get::<Health>(theirs).unwrap().0, 26);
    /// ```
    pub fn with_shared<T: SharedComponent>(mut self, value: T) -> Self {
        self.settings.add_shared(value);
        self
    }

    /// The values of a component, in the order of [`to_entities`](Self::to_entities).
    ///
    /// # Errors
    ///
    /// With A0135 unless the query gives the component: others may be changing what it only asks for.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, With, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Health(1), Health(2)]);
    /// let (health,) = world.split::<(Query<&Health>,)>();
    /// assert_eq!(health.to_components(), Ok(vec![Health(1), Health(2)]));
    /// let (none,) = world.split::<(Query<(), With<Health>>,)>();
    /// assert!(none.to_components::<Health>().is_err());
    /// ```
    pub fn to_components<T: Component + Clone>(&self) -> Result<Vec<T>, EntityError> {
        let component = ComponentType::of::<T>();
        self.gives(component, false)?;
        self.jobs().sync_for_read(component);
        // SAFETY: the query gives the values, so that no other view can change them, and this one is borrowed.
        Ok(unsafe { self.finding().clone_values() })
    }

    /// Writes values of a component to the entities, in the order of [`to_entities`](Self::to_entities). It counts as changed from
    /// now on.
    ///
    /// # Errors
    ///
    /// With A0135 unless the query gives the component to be changed, with A0060 unless there are as many values as entities. Then
    /// nothing was written.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 3);
    /// let (mut health,) = world.split::<(Query<&mut Health>,)>();
    /// health.copy_from(&[Health(1), Health(2), Health(3)])?;
    /// assert_eq!(health.to_components::<Health>()?, [Health(1), Health(2), Health(3)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn copy_from<T: Component + Copy>(&mut self, values: &[T]) -> Result<(), EntityError> {
        let component = ComponentType::of::<T>();
        self.gives(component, true)?;
        let (expected, found) = (self.count(), values.len());
        if expected != found {
            return Err(EntityError::WrongCount { component, expected, found });
        }
        // SAFETY: the chunks were made the world's alone before there were views. The query gives the values to be changed, so that
        // no other view has them, and this one is borrowed mutably.
        Ok(unsafe { self.cursor(Writes::Only(component)).write_values(values) }?)
    }

    /// Refuses unless all entities that are found have a component, and the query gives its values: to be changed, or at all.
    fn gives(&self, component: ComponentType, to_change: bool) -> Result<(), EntityError> {
        match self.matched.plan.gives(component, to_change) {
            true => Ok(()),
            false => Err(EntityError::NotGiven { component, to_change }),
        }
    }
}
