//! Which entities a dynamic query finds.

use super::{DynamicQuery, FoundChunk};
use crate::entity::Entity;
use crate::manager::EntityManager;
use crate::query::cursor::{Cursor, Writes};
use crate::query::loops::{count, entities};
use crate::query::mask::QueryMask;
use crate::query::matched::Matched;
use crate::query::uses::{Asked, before_query};
use crate::query::walk::Walk;

impl DynamicQuery {
    /// The archetypes that match.
    #[track_caller]
    pub(super) fn matched<'w>(&self, entities: &'w EntityManager) -> &'w Matched {
        entities.queries.of_plan(self.plan(), &entities.storage.archetypes)
    }

    /// A walk that says what is found. Waits for the jobs on which that depends.
    #[track_caller]
    fn walk<'w>(&self, entities: &'w EntityManager) -> Walk<'w> {
        let matched = self.matched(entities);
        before_query(entities, matched, Asked::Found);
        Walk::reading(entities, matched, self.settings())
    }

    #[track_caller]
    fn finding<'w>(&self, entities: &'w EntityManager) -> Cursor<'w> {
        Cursor::new(self.walk(entities), Writes::Nothing)
    }

    /// The chunks in which entities are found, in the order of [`EntityManager::chunks`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// world.spawn_many(Engine, 9);
    /// world.set_component_enabled::<Engine>(car, false).unwrap();
    /// let query = DynamicQuery::new().all([ComponentType::of::<Engine>()]);
    /// let found = query.chunks(&world).next().unwrap();
    /// assert_eq!((found.chunk().len(), found.count()), (10, 9));
    /// assert_eq!(found.rows().collect::<Vec<_>>(), (1..10).collect::<Vec<_>>());
    /// ```
    #[track_caller]
    pub fn chunks<'w>(&self, world: &'w EntityManager) -> impl Iterator<Item = FoundChunk<'w>> {
        let entities = world;
        // Everything in them can be read.
        entities.jobs.sync_all();
        let walk = self.walk(entities);
        let since = self.settings().since.0;
        let all = walk.matches.iter().flat_map(|found| {
            let chunks = entities.storage.archetypes[found.archetype].chunks.iter();
            chunks.map(move |&number| (found, number))
        });
        let mut changed = Vec::new();
        all.filter_map(move |(found, number)| {
            let chunk = entities.chunk(number);
            let is_found = walk.is_simple(found) || walk.choose(chunk.chunk, found, &mut changed);
            is_found.then_some(FoundChunk { chunk, found, since })
        })
    }

    /// The entities that are found, in the order of [`chunks`](Self::chunks).
    ///
    /// It waits only for jobs that decide on what is found.
    #[track_caller]
    pub fn to_entities(&self, world: &EntityManager) -> Vec<Entity> {
        entities(self.finding(world))
    }

    /// How many entities are found.
    ///
    /// It waits only for jobs that decide on what is found.
    #[track_caller]
    pub fn count(&self, world: &EntityManager) -> usize {
        count(self.finding(world))
    }

    /// Whether no entity is found.
    ///
    /// It waits only for jobs that decide on what is found.
    #[track_caller]
    pub fn is_empty(&self, world: &EntityManager) -> bool {
        !self.finding(world).next_chunk()
    }

    /// How many entities have such components, whatever is switched off, has changed or is shared.
    ///
    /// See [`QueryRef::count_unfiltered`](crate::QueryRef::count_unfiltered). It waits for no job.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// world.spawn_many(Engine, 4);
    /// world.set_component_enabled::<Engine>(car, false).unwrap();
    /// let query = DynamicQuery::new().all([ComponentType::of::<Engine>()]);
    /// assert_eq!((query.count(&world), query.count_unfiltered(&world)), (4, 5));
    /// ```
    #[track_caller]
    pub fn count_unfiltered(&self, world: &EntityManager) -> usize {
        let entities = world;
        self.matched(entities).count_rows(&entities.storage)
    }

    /// Returns how many chunks the archetypes have that match, whatever is disabled, has changed or is shared. See
    /// [`QueryRef::count_chunks_unfiltered`](crate::QueryRef::count_chunks_unfiltered).
    #[track_caller]
    pub fn count_chunks_unfiltered(&self, world: &EntityManager) -> usize {
        let entities = world;
        self.matched(entities).count_chunks(&entities.storage)
    }

    /// Whether no entity has such components, whatever is switched off, has changed or is shared.
    ///
    /// See [`QueryRef::is_empty_unfiltered`](crate::QueryRef::is_empty_unfiltered). It waits for no job.
    #[track_caller]
    pub fn is_empty_unfiltered(&self, world: &EntityManager) -> bool {
        let entities = world;
        self.matched(entities).has_no_chunks(&entities.storage)
    }

    /// Whether an entity is one of those that are found.
    ///
    /// It waits only for jobs that decide on that. Of many entities [`mask`](Self::mask) tells faster whether they have the
    /// components.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, stone) = (world.spawn(Orc), world.spawn(()));
    /// let query = DynamicQuery::new().all([ComponentType::of::<Orc>()]);
    /// assert!(query.matches(&world, orc) && !query.matches(&world, stone));
    /// ```
    #[track_caller]
    pub fn matches(&self, world: &EntityManager, entity: Entity) -> bool {
        let entities = world;
        let walk = self.walk(entities);
        let Some(at) = entities.storage.table.locate(entity) else { return false };
        let archetype = entities.storage.archetype_at(at);
        let Some(found) = walk.matched.find(archetype) else { return false };
        walk.has_row(found, at.chunk, at.row)
    }

    /// What tells of an entity whether it has such components, whatever is switched off, has changed or is shared.
    ///
    /// See [`QueryRef::mask`](crate::QueryRef::mask).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, stone) = (world.spawn(Orc), world.spawn(()));
    /// let mask = DynamicQuery::new().all([ComponentType::of::<Orc>()]).mask(&world);
    /// assert!(mask.matches(orc) && !mask.matches(stone));
    /// ```
    #[track_caller]
    pub fn mask<'w>(&self, world: &'w EntityManager) -> QueryMask<'w> {
        let entities = world;
        QueryMask::new(&entities.storage, self.matched(entities))
    }
}
