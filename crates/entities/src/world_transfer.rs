//! What worlds do with the entities of other worlds, as it stands on the world itself.

use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::transaction::ExclusiveEntityTransaction;
use crate::world::World;

impl World {
    /// See [`EntityManager::move_entities_from`](crate::EntityManager::move_entities_from).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn move_entities_from(&mut self, source: &mut Self) -> Result<EntityMap, EntityError> {
        self.entities_mut().move_entities_from(source.entities_mut())
    }

    /// See [`EntityManager::move_slice_from`](crate::EntityManager::move_slice_from).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn move_slice_from(
        &mut self,
        source: &mut Self,
        entities: &[Entity],
    ) -> Result<EntityMap, EntityError> {
        self.entities_mut().move_slice_from(source.entities_mut(), entities)
    }

    /// See [`EntityManager::copy_entities`](crate::EntityManager::copy_entities).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn copy_entities(&mut self, entities: &[Entity]) -> Result<EntityMap, EntityError> {
        self.entities_mut().copy_entities(entities)
    }

    /// See [`EntityManager::copy_entities_from`](crate::EntityManager::copy_entities_from).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn copy_entities_from(&mut self, source: &Self) -> Result<EntityMap, EntityError> {
        self.entities_mut().copy_entities_from(source.entities())
    }

    /// See [`EntityManager::copy_slice_from`](crate::EntityManager::copy_slice_from).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn copy_slice_from(
        &mut self,
        source: &Self,
        entities: &[Entity],
    ) -> Result<EntityMap, EntityError> {
        self.entities_mut().copy_slice_from(source.entities(), entities)
    }

    /// See [`EntityManager::copy_and_replace_from`](crate::EntityManager::copy_and_replace_from).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn copy_and_replace_from(&mut self, source: &mut Self) -> Result<(), EntityError> {
        self.entities_mut().copy_and_replace_from(source.entities_mut())
    }

    /// Lends the entities of the world to jobs, one at a time, until the transaction [ends](ExclusiveEntityTransaction::end).
    ///
    /// The transaction has the world until then, so that nobody else can use it: that does not compile. All jobs over its
    /// entities are completed first. Unity's `BeginExclusiveEntityTransaction`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut transaction = World::new("Loading").begin_transaction();
    /// let filled = transaction.schedule(&[], |entities| _ = entities.spawn_many(1000, ()));
    /// transaction.jobs().complete(filled?);
    /// assert_eq!(transaction.end().unwrap().entity_count(), 1000);
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    ///
    /// Nobody else uses the world meanwhile:
    ///
    /// ```compile_fail,E0382
    /// # use ancho_entities::World;
    /// let mut world = World::new("Loading");
    /// let transaction = world.begin_transaction();
    /// world.spawn(());
    /// ```
    ///
    /// Nor is one begun in the midst of another:
    ///
    /// ```compile_fail,E0382
    /// # use ancho_entities::World;
    /// let world = World::new("Loading");
    /// let transaction = world.begin_transaction();
    /// let another = world.begin_transaction();
    /// ```
    #[track_caller]
    pub fn begin_transaction(self) -> ExclusiveEntityTransaction {
        ExclusiveEntityTransaction::new(self)
    }
}
