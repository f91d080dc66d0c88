//! Entities move from one world to another.

use std::panic::resume_unwind;
use std::sync::Arc;

use super::plan::{HeldValues, Plan};
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::manager::{EntityManager, Found};

/// How much moves.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    Everything,
    Found,
}

impl EntityManager {
    /// Moves all entities of another world here. That world has none afterwards, and is as good as new. Returns which entity
    /// became which.
    ///
    /// Chunks are handed over as they are: components stay where they are in memory, however many there are. The entities get
    /// ids of this world. Everything else comes with them: what is switched off, shared values, the values of
    /// [chunks](crate::PerChunk), names, managed components, and what [stays](crate::Component::CLEANUP) of entities that were
    /// despawned. Components and shared values that refer to entities which move refer to what these become; all other references are
    /// null. Entities that were there already are not touched. Unity's `MoveEntitiesFrom`.
    ///
    /// For queries that ask for changes, everything that has come was changed now, and came now.
    ///
    /// If the worlds divide chunks differently, as with another [chunk size](crate::WorldSettings::chunk_size), the components
    /// are moved to chunks of this world, and the values of the old chunks are dropped.
    ///
    /// # Errors
    ///
    /// If an entity is larger than a chunk of this world, or there is no memory: for what is moved to other chunks, or for
    /// copies of what the other world shares with forks. Then nothing has moved.
    ///
    /// # Panics
    ///
    /// If there would be more than 2³¹ entities. Nothing has moved then. If code of the user panics that is called when references are
    /// replaced, as where values in a set are put in order again: then everything has moved, and all other references were replaced.
    ///
    /// # Complexity
    ///
    /// Linear in the number of entities, which get other ids, and in the number of values that refer to entities. Components that
    /// refer to none cost nothing.
    ///
    /// # Determinism
    ///
    /// New ids are handed out chunk by chunk, in the order of [`iter_entities`](Self::iter_entities) of the other world.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Leader(Entity);
    ///
    /// let (mut loading, mut game) = (World::new("Loading"), World::new("Game"));
    /// game.spawn_many((), 10);
    /// let captain = loading.spawn(());
    /// let soldier = loading.spawn(Leader(captain));
    ///
    /// let moved = game.move_entities_from(&mut loading).unwrap();
    /// let (captain, soldier) = (moved.get(captain).unwrap(), moved.get(soldier).unwrap());
    /// assert_eq!(game.get(soldier), Ok(&Leader(captain)));
    /// assert_eq!((game.entity_count(), loading.entity_count()), (12, 0));
    /// ```
    ///
    /// A world is not moved into itself:
    ///
    /// ```compile_fail,E0499
    /// # use ancho_entities::World;
    /// let mut world = World::new("Simulation");
    /// world.move_entities_from(&mut world);
    /// ```
    pub fn move_entities_from(&mut self, source: &mut Self) -> Result<EntityMap, EntityError> {
        let all = source.found_all();
        self.move_found(source, &all, Extent::Everything)
    }

    /// Moves these entities of another world here, as [`move_entities_from`](Self::move_entities_from) does with all.
    ///
    /// Of chunks that do not move as a whole, the entities are moved to chunks of this world with the same components; the
    /// values of those chunks stay. An entity may be named twice. The members of a [group](crate::LinkedEntityGroup) move only if
    /// they are named too. [`Batch::move_to`](crate::Batch::move_to) moves what a query finds.
    ///
    /// # Errors
    ///
    /// As there, and if one of the entities is not there. Then nothing has moved.
    ///
    /// # Panics
    ///
    /// As there.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let (mut here, mut there) = (World::new("Here"), World::new("There"));
    /// let all: Vec<_> = there.spawn_many((), 10).collect();
    /// let moved = here.move_slice_from(&mut there, &all[..3]).unwrap();
    /// assert_eq!((moved.len(), here.entity_count(), there.entity_count()), (3, 3, 7));
    /// ```
    pub fn move_slice_from(
        &mut self,
        source: &mut Self,
        entities: &[Entity],
    ) -> Result<EntityMap, EntityError> {
        let found = source.found_entities(entities)?;
        self.move_found(source, &found, Extent::Found)
    }

    /// Moves what was found in another world here.
    pub(crate) fn move_found_from(
        &mut self,
        source: &mut Self,
        found: &Found,
    ) -> Result<EntityMap, EntityError> {
        self.move_found(source, found, Extent::Found)
    }

    fn move_found(
        &mut self,
        source: &mut Self,
        found: &Found,
        extent: Extent,
    ) -> Result<EntityMap, EntityError> {
        let destinations = self.destinations(&source.storage, found)?;
        source.before_moving(found.by_archetype().map(|(archetype, _)| archetype));
        self.before_arrivals(&destinations);
        self.storage.table.require(found.rows());
        for (_, runs) in found.by_archetype() {
            for run in runs {
                source.storage.make_unique(run.chunk)?;
            }
        }
        let Self { storage, runs, names, world_transfers, .. } = self;
        let mut held = HeldValues::new(storage, &source.storage, found, &destinations);
        let plan = Plan::new(&mut held, runs, &source.storage, found, &destinations)?;
        let (arrived, left) = plan.move_all(&mut source.storage, extent == Extent::Everything);
        if !arrived.referring.is_empty() {
            *world_transfers += 1;
            source.world_transfers += 1;
        }
        debug_assert!(held.has_foreseen(&arrived.map), "the entities are others than was foreseen");
        if !source.names.is_empty() {
            Arc::make_mut(names).follow(&source.names, &arrived.map);
            match extent {
                Extent::Everything => source.names = Arc::default(),
                Extent::Found => source.names_mut().forget(&arrived.map),
            }
        }
        let panicked = arrived.replace_references(held.storage);
        // Only now, since it is code of the user.
        let dead = source.storage.shared.take_dead();
        drop((left, dead, held));
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
        Ok(arrived.map)
    }
}
