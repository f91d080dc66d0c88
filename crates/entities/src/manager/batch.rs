//! Changes of many entities at once.

use std::fmt;

use ancho_collections::Rejected;

use super::{DistinctEntities, EntityManager, RowSelection};
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::set::{CloneSet, ComponentSet};
use crate::shared::{Shared, SharedComponent};
use crate::storage::SetOperation;

/// The members of an entity's [group](crate::LinkedEntityGroup) as the targets of a [batch](EntityManager::batch), each once.
///
/// An entity without a group is its only member. Members that do not exist are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked(pub Entity);

/// The entities that a [`Batch`] changes: `&[Entity]` or [`Linked`].
///
/// Implemented for types of this crate alone.
pub trait BatchTargets<'t>: sealed::Resolve<'t> {}

impl<'t, T: sealed::Resolve<'t>> BatchTargets<'t> for T {}

pub(crate) mod sealed {
    use super::{EntityError, EntityManager, Targets};

    /// Finds the entities of a batch.
    #[expect(unnameable_types, reason = "no other crate implements it")]
    pub trait Resolve<'t> {
        /// Finds the entities, before the first of them is changed.
        fn resolve(self, entities: &EntityManager) -> Result<Targets<'t>, EntityError>;
    }
}

/// The entities of a batch.
#[derive(Debug)]
#[expect(unnameable_types, reason = "the signature of a sealed trait has it")]
pub struct Targets<'t>(TargetsKind<'t>);

#[derive(Debug)]
enum TargetsKind<'t> {
    Slice(&'t [Entity]),
    List(DistinctEntities),
    Rows(RowSelection),
}

impl Targets<'_> {
    /// The rows that a query has matched.
    #[expect(dead_code, reason = "for query descriptions as targets")]
    pub(crate) fn rows(found: RowSelection) -> Self {
        Self(TargetsKind::Rows(found))
    }
}

impl<'t> sealed::Resolve<'t> for &'t [Entity] {
    fn resolve(self, _: &EntityManager) -> Result<Targets<'t>, EntityError> {
        Ok(Targets(TargetsKind::Slice(self)))
    }
}

impl<'t, const N: usize> sealed::Resolve<'t> for &'t [Entity; N] {
    fn resolve(self, _: &EntityManager) -> Result<Targets<'t>, EntityError> {
        Ok(Targets(TargetsKind::Slice(self)))
    }
}

impl<'t> sealed::Resolve<'t> for &'t Vec<Entity> {
    fn resolve(self, _: &EntityManager) -> Result<Targets<'t>, EntityError> {
        Ok(Targets(TargetsKind::Slice(self)))
    }
}

impl<'t> sealed::Resolve<'t> for Linked {
    fn resolve(self, entities: &EntityManager) -> Result<Targets<'t>, EntityError> {
        let mut members = DistinctEntities::default();
        entities.linked_members(self.0, &mut members)?;
        Ok(Targets(TargetsKind::List(members)))
    }
}

impl EntityManager {
    /// Prepares a change of many entities at once: of a slice, or of the members of a [group](Linked).
    ///
    /// It is faster than one change after another if neighbours in a slice are neighbours in a chunk, as entities are that were
    /// created together. A slice may name an entity twice.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Poisoned;
    ///
    /// let mut world = World::new("Simulation");
    /// let orcs: Vec<_> = world.spawn_many(Health(20), 1000).collect();
    /// assert_eq!(world.batch(&orcs[..10]).add(Poisoned).unwrap(), 10);
    /// assert_eq!(world.batch(&orcs[5..]).despawn(), Ok(995));
    /// ```
    pub fn batch<'w>(&'w mut self, targets: impl BatchTargets<'w>) -> Batch<'w> {
        let targets = targets.resolve(self);
        Batch { manager: self, targets }
    }
}

/// A change of many entities at once, from [`EntityManager::batch`].
///
/// Unless a method says otherwise, a change is made for all of the entities or, after an error, for none.
#[must_use = "nothing changes until one of its methods is called"]
pub struct Batch<'w> {
    manager: &'w mut EntityManager,
    targets: Result<Targets<'w>, EntityError>,
}

impl Batch<'_> {
    /// Despawns the entities. Returns how many existed.
    ///
    /// Reorders query results: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// In a strict world, if one of them does not exist: then none is despawned. If the world shares memory with a fork, and there is
    /// no memory for a copy: then the entities before it are despawned.
    pub fn despawn(self) -> Result<usize, EntityError> {
        match &self.targets?.0 {
            TargetsKind::Slice(entities) => self.manager.despawn_slice(entities),
            TargetsKind::List(entities) => self.manager.despawn_slice(entities),
            TargetsKind::Rows(rows) => self.manager.despawn_rows(rows),
        }
    }

    /// Adds clones of components to the entities. Components that an entity has already are replaced. Returns the number of entities
    /// that lacked one of them.
    ///
    /// Reorders query results: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// If an entity does not exist, or there is no memory. In a strict world, if an entity has one of the components.
    #[expect(
        clippy::should_implement_trait,
        reason = "named as the manager's method; it is not a sum"
    )]
    pub fn add<S: CloneSet>(self, components: S) -> Result<usize, Rejected<S, EntityError>> {
        match self.into_rows() {
            Ok((manager, rows)) => {
                let added = manager.add_to_rows(&rows, components);
                manager.keep_selection(rows);
                added
            }
            Err(error) => Err(Rejected { value: components, error }),
        }
    }

    /// Adds the components that an entity lacks, with their default values, to each of the entities. Returns the number of entities
    /// that lacked one.
    ///
    /// Reorders query results: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// The errors of [`add`](Self::add), and [`EntityError::NoInitialValue`] for a component without a default value.
    pub fn add_types(self, types: &[ComponentType]) -> Result<usize, EntityError> {
        self.change(|manager, rows| manager.add_types_to_rows(rows, types))
    }

    /// Replaces components of the entities by clones of these.
    ///
    /// # Errors
    ///
    /// If an entity does not exist, or lacks one of the components: then none is changed. If there is no memory: then the entities
    /// before it are changed.
    pub fn set<S: CloneSet>(self, mut components: S) -> Result<(), Rejected<S, EntityError>> {
        let set = self.into_list().and_then(|(manager, entities)| {
            manager.check_changes::<S>(&entities, SetOperation::Set)?;
            for entity in entities {
                let clone = components.clone_set();
                manager.set(entity, clone).map_err(|rejected| rejected.error)?;
            }
            Ok(())
        });
        set.map_err(|error| Rejected { value: components, error })
    }

    /// Removes components from the entities. Returns the number of entities that had one of them.
    ///
    /// Reorders query results: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// If an entity does not exist, or there is no memory. In a strict world, if an entity lacks one of the components.
    pub fn remove<S: ComponentSet>(self) -> Result<usize, EntityError> {
        self.change(EntityManager::remove_from_rows::<S>)
    }

    /// Removes components from the entities, as [`remove`](Self::remove).
    ///
    /// # Errors
    ///
    /// The errors of [`remove`](Self::remove).
    pub fn remove_types(self, types: &[ComponentType]) -> Result<usize, EntityError> {
        self.change(|manager, rows| manager.remove_types_from_rows(rows, types))
    }

    /// Replaces the value of a shared component of the entities. Returns the number of entities that had another value.
    ///
    /// Reorders query results: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// The entities of a whole chunk do not move: the chunk gets the value.
    ///
    /// # Errors
    ///
    /// If an entity does not exist, or lacks the component: then none is changed. If there is no memory: then the entities before it
    /// are changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let ants: Vec<_> = world.spawn_many(Shared::new(Team(3)), 1000).collect();
    /// assert_eq!(world.batch(&ants[..500]).set_shared(Team(4)), Ok(500));
    /// assert_eq!(world.shared(ants[499]), Ok(&Team(4)));
    /// assert_eq!(world.shared(ants[500]), Ok(&Team(3)));
    /// ```
    pub fn set_shared<T: SharedComponent>(self, value: T) -> Result<usize, EntityError> {
        let (ty, value) = (ComponentType::of_shared::<T>(), Shared::new(value));
        match &self.targets?.0 {
            TargetsKind::Slice(list) => {
                self.manager.set_shared_for_all(list, ty, &value.into_erased())
            }
            TargetsKind::List(list) => {
                self.manager.set_shared_for_all(list, ty, &value.into_erased())
            }
            TargetsKind::Rows(rows) => self.manager.set_shared_of_rows(rows, &value),
        }
    }

    /// Enables or disables the entities, and the members of their groups, as [`EntityManager::set_enabled`] does. Returns the number
    /// of entities that were changed.
    ///
    /// Reorders query results: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// If an entity does not exist, or there is no memory.
    pub fn set_enabled(self, enabled: bool) -> Result<usize, EntityError> {
        self.change(|manager, rows| manager.set_rows_enabled(rows, enabled))
    }

    /// Enables or disables a component of the entities. It keeps its values, and the entities their places.
    ///
    /// # Errors
    ///
    /// If an entity does not exist or lacks the component, or if the component is not enableable.
    pub fn set_component_enabled<T: Component>(self, enabled: bool) -> Result<(), EntityError> {
        self.set_type_enabled(ComponentType::of::<T>(), enabled)
    }

    /// Enables or disables a component of the entities, as [`set_component_enabled`](Self::set_component_enabled).
    ///
    /// # Errors
    ///
    /// The errors of [`set_component_enabled`](Self::set_component_enabled).
    pub fn set_type_enabled(self, ty: ComponentType, enabled: bool) -> Result<(), EntityError> {
        let (manager, entities) = self.into_list()?;
        for &entity in &entities {
            manager.check_enableable(entity, ty)?;
        }
        for entity in entities {
            manager.set_type_enabled(entity, ty, enabled)?;
        }
        Ok(())
    }

    /// Moves the entities to another world, as [`EntityManager::move_entities_from`] does with all entities. Returns which became
    /// which.
    ///
    /// Chunks all of whose entities move are handed over. Other entities move to chunks of that world with the same components.
    /// [Values of chunks](crate::PerChunk) that do not move stay. Members of a [group](crate::LinkedEntityGroup) move only if they
    /// are named too.
    ///
    /// # Errors
    ///
    /// The errors of [`EntityManager::move_entities_from`], and if an entity does not exist.
    ///
    /// # Panics
    ///
    /// As [`EntityManager::move_entities_from`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let (mut here, mut there) = (World::new("Here"), World::new("There"));
    /// let all: Vec<_> = there.spawn_many((), 10).collect();
    /// let moved = there.batch(&all[..3]).move_to(&mut here).unwrap();
    /// assert_eq!((moved.len(), here.entity_count(), there.entity_count()), (3, 3, 7));
    /// ```
    pub fn move_to(self, destination: &mut EntityManager) -> Result<EntityMap, EntityError> {
        self.change(|source, rows| destination.move_rows_from(source, rows))
    }

    /// Copies the entities to another world, as [`EntityManager::copy_entities_from`] does with all entities. Returns which became
    /// which. Members of a [group](crate::LinkedEntityGroup) are copied only if they are named too.
    ///
    /// # Errors
    ///
    /// The errors of [`EntityManager::copy_entities_from`], and if an entity does not exist.
    ///
    /// # Panics
    ///
    /// As [`EntityManager::copy_entities_from`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let (mut here, mut there) = (World::new("Here"), World::new("There"));
    /// let all: Vec<_> = there.spawn_many((), 10).collect();
    /// let copied = there.batch(&all[..3]).copy_to(&mut here).unwrap();
    /// assert_eq!((copied.len(), here.entity_count(), there.entity_count()), (3, 3, 10));
    /// ```
    pub fn copy_to(self, destination: &mut EntityManager) -> Result<EntityMap, EntityError> {
        self.change(|source, rows| destination.copy_rows_from(source, rows))
    }

    /// Changes the rows of the entities.
    fn change<R>(
        self,
        change: impl FnOnce(&mut EntityManager, &RowSelection) -> Result<R, EntityError>,
    ) -> Result<R, EntityError> {
        let (manager, rows) = self.into_rows()?;
        let changed = change(manager, &rows);
        manager.keep_selection(rows);
        changed
    }
}

impl<'w> Batch<'w> {
    fn into_rows(self) -> Result<(&'w mut EntityManager, RowSelection), EntityError> {
        let rows = match self.targets?.0 {
            TargetsKind::Slice(entities) => self.manager.found_entities(entities)?,
            TargetsKind::List(entities) => self.manager.found_entities(&entities)?,
            TargetsKind::Rows(rows) => rows,
        };
        Ok((self.manager, rows))
    }

    fn into_list(self) -> Result<(&'w mut EntityManager, Vec<Entity>), EntityError> {
        let list = match self.targets?.0 {
            TargetsKind::Slice(entities) => entities.to_vec(),
            TargetsKind::List(entities) => entities.to_vec(),
            TargetsKind::Rows(rows) => self.manager.entities_in(&rows).collect(),
        };
        Ok((self.manager, list))
    }
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.targets.as_ref().map(|targets| match &targets.0 {
            TargetsKind::Slice(entities) => entities.len(),
            TargetsKind::List(entities) => entities.len(),
            TargetsKind::Rows(rows) => rows.rows(),
        });
        f.debug_struct("Batch").field("entities", &count).finish_non_exhaustive()
    }
}
