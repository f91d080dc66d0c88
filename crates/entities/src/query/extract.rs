//! Lists of the entities of a query and of their values, and the way back: values of a list that are written to the entities.

#![expect(unsafe_code, reason = "values of chunks of a world that several views borrow")]

use super::data::QueryData;
use super::filter::QueryFilter;
use super::iter::Writes;
use super::view::Query;
use super::walk::entities;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;

impl<D: QueryData, F: QueryFilter> Query<'_, D, F> {
    /// Returns the entities, in the order of iteration.
    ///
    /// # Determinism
    ///
    /// Archetypes come in the order of their creation, then their chunks, then the rows of a chunk. The order depends on the
    /// operations on the world and on nothing else.
    ///
    /// Structural changes reorder. An entity that gains or loses a component, or gets another shared value, moves to another chunk,
    /// and the last entity of the old chunk takes its place. A list of values from before such a change is not in the order of the
    /// query afterwards. To add a different value to each entity, use [`Batch::add_each`](crate::Batch::add_each), not `add` and
    /// then [`copy_from`](Self::copy_from).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Dead;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Dead);
    /// for entity in world.query::<&Dead>().to_entities() {
    ///     world.despawn(entity).unwrap();
    /// }
    /// assert!(!world.exists(orc));
    /// ```
    pub fn to_entities(&self) -> Vec<Entity> {
        entities(self.finding())
    }

    /// Returns the values of a component, in the order of [`to_entities`](Self::to_entities).
    ///
    /// # Errors
    ///
    /// - A0087 if the query does not require the component, so that entities without it may match
    /// - A0135 if the query is one of several views and does not fetch the component: another view may be writing it
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Health(1), Health(2)]);
    /// assert_eq!(world.query::<&Health>().to_components(), Ok(vec![Health(1), Health(2)]));
    /// assert!(world.query::<()>().to_components::<Health>().is_err());
    /// ```
    pub fn to_components<T: Component + Clone>(&self) -> Result<Vec<T>, EntityError> {
        let component = ComponentType::of::<T>();
        if !self.is_alone {
            self.require_fetched(component, false)?;
        } else if !self.matched.plan.requires(component) {
            return Err(EntityError::NotInQuery { component });
        }
        self.jobs().sync_for_read(component);
        // SAFETY: no other view can write the values: there is none, or this query fetches them. This query is borrowed, so
        // that it writes nothing meanwhile.
        Ok(unsafe { self.finding().clone_values() })
    }

    /// Writes the values of a component, in the order of [`to_entities`](Self::to_entities).
    ///
    /// # Errors
    ///
    /// - A0060 if there are not as many values as entities
    /// - A0135 if the query does not fetch the component for writing
    ///
    /// Nothing is written then.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 2);
    /// let mut query = world.query_mut::<&mut Health>();
    /// query.copy_from(&[Health(1), Health(2)])?;
    /// assert_eq!(query.to_components::<Health>()?, [Health(1), Health(2)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn copy_from<T: Component + Copy>(&mut self, values: &[T]) -> Result<(), EntityError> {
        let component = ComponentType::of::<T>();
        // The plan of a descriptor can name components for writing that its data does not.
        if !D::WRITES {
            return Err(EntityError::NotGiven { component, to_change: true });
        }
        self.require_fetched(component, true)?;
        let (expected, found) = (self.count(), values.len());
        if expected != found {
            return Err(EntityError::WrongCount { component, expected, found });
        }
        self.unshare_for(Writes::Only(component))?;
        // SAFETY: the query fetches the values for writing, so that no other view has them, and it is borrowed mutably.
        Ok(unsafe { self.cursor(Writes::Only(component)).write_values(values) }?)
    }

    fn require_fetched(
        &self,
        component: ComponentType,
        to_change: bool,
    ) -> Result<(), EntityError> {
        match self.matched.plan.gives(component, to_change) {
            true => Ok(()),
            false => Err(EntityError::NotGiven { component, to_change }),
        }
    }
}
