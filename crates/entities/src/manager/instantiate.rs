//! Creation of instances and copies of entities.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::links::InstanceLinks;
use super::{DistinctEntities, EntityManager, NewEntities};
use crate::component::Copying;
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::storage::{
    Chunks, EntityTable, Location, NOWHERE, NewRows, NextIds, ReservedRows, RowRange, SetOperation,
    Transfer, for_each_to_end,
};

impl EntityManager {
    /// Creates an instance of an entity: a new entity with copies of its components.
    ///
    /// The instance has all components except [`Prefab`](crate::Prefab) and cleanup components. References to the source become
    /// references to the instance. Other references, and [shared values](crate::SharedComponent), are kept. Disabled components
    /// remain disabled, and the name is copied. The root of a [linked group](crate::LinkedEntityGroup) is instantiated together
    /// with its members. This is Unity's `Instantiate`.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or is [only left for cleanup](Self::is_cleanup_only). Also returns an error
    /// if one of its components can neither be copied nor cloned, or there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Leader(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let first = world.spawn(());
    /// world.add(first, Leader(first)).unwrap();
    /// let second = world.instantiate(first).unwrap();
    /// assert_eq!(world.get(second), Ok(&Leader(second)));
    /// ```
    #[doc(alias = "EntityCloner")]
    #[doc(alias = "clone_and_spawn")]
    pub fn instantiate(&mut self, source: Entity) -> Result<Entity, EntityError> {
        let mut created = self.instantiate_many(source, 1)?;
        Ok(created.next().expect("one was created"))
    }

    /// Creates `count` instances of an entity. See [`instantiate`](Self::instantiate).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`instantiate`](Self::instantiate). In that case no instance is created.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Prefab, World};
    ///
    /// #[derive(Component, Clone, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let prefab = world.spawn((Prefab, Health(20)));
    /// let wave: Vec<_> = world.instantiate_many(prefab, 30)?.collect();
    /// assert_eq!(world.query::<&Health>().to_entities(), wave, "prefabs do not match");
    /// assert_eq!(world.get(wave[29]), Ok(&Health(20)));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn instantiate_many(
        &mut self,
        source: Entity,
        count: usize,
    ) -> Result<NewEntities<'_>, EntityError> {
        self.locate(source)?;
        let mut lists = self.instance_lists.take().unwrap_or_default();
        let made = self
            .list_sources(source, &mut lists)
            .and_then(|()| self.instantiate_sources(&mut lists, count));
        lists.clear();
        self.instance_lists = Some(lists);
        made.map(|of_first| {
            self.runs.truncate(of_first);
            NewEntities::new(&self.storage, &self.runs)
        })
    }

    /// Copies entities within the world. Returns the copy of each entity.
    ///
    /// The copies have all components except [cleanup](crate::Component::CLEANUP) components, so a copy of a
    /// [`Prefab`](crate::Prefab) is a prefab. References between the copied entities become references between the copies. Other
    /// references, and [shared values](crate::SharedComponent), are kept. Disabled components remain disabled, and names are
    /// copied. The members of a [linked group](crate::LinkedEntityGroup) are copied only if they are in the list. An entity that
    /// is listed twice is copied once. This is Unity's `CopyEntities`.
    ///
    /// Use [`instantiate`](Self::instantiate) for instances of prefabs and of whole groups.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the entities does not exist, or is [only left for cleanup](Self::is_cleanup_only). Also returns
    /// an error if one of their components can neither be copied nor cloned, or there is no memory. In these cases, and if a
    /// clone panics, nothing was copied.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Links {
    ///     leader: Entity,
    ///     target: Entity,
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let (leader, target) = (world.spawn(()), world.spawn(()));
    /// let orc = world.spawn(Links { leader, target });
    /// let copies = world.copy_entities(&[leader, orc]).unwrap();
    /// let copied = Links { leader: copies.get(leader).unwrap(), target };
    /// assert_eq!(world.get(copies.get(orc).unwrap()), Ok(&copied));
    /// ```
    #[doc(alias = "EntityCloner")]
    pub fn copy_entities(&mut self, entities: &[Entity]) -> Result<EntityMap, EntityError> {
        let mut lists = self.instance_lists.take().unwrap_or_default();
        entities.iter().for_each(|&entity| _ = lists.members.insert(entity));
        let made = self
            .list_members_as_sources(&mut lists, SetOperation::Copy)
            .and_then(|()| self.instantiate_sources(&mut lists, 1));
        let map = made.map(|_| {
            let mut map = EntityMap::default();
            let copies = NewEntities::new(&self.storage, &self.runs);
            lists
                .sources
                .iter()
                .zip(copies)
                .for_each(|(source, copy)| map.add(&[source.entity], &[copy]));
            map.put_in_order();
            map
        });
        lists.clear();
        self.instance_lists = Some(lists);
        map
    }

    /// Adds an entity, or the members of its linked group, to the sources.
    fn list_sources(
        &mut self,
        source: Entity,
        lists: &mut InstanceMemory,
    ) -> Result<(), EntityError> {
        let group = self.group_of(source);
        match group.first() {
            None => _ = lists.members.insert(source),
            Some(first) if first.0 == source => {
                group.iter().for_each(|member| _ = lists.members.insert(member.0));
            }
            Some(first) => {
                return Err(EntityError::GroupWithoutRoot { root: source, first: first.0 });
            }
        }
        self.add_linked_sources(&mut lists.members);
        self.list_members_as_sources(lists, SetOperation::Instantiate)
    }

    /// Adds the listed members to the sources of an operation.
    fn list_members_as_sources(
        &mut self,
        lists: &mut InstanceMemory,
        change: SetOperation,
    ) -> Result<(), EntityError> {
        let InstanceMemory { members, sources, links, .. } = lists;
        for &member in &**members {
            let dropped = self.list_instance_links(member, members, links)?;
            sources.push(self.source(member, change, dropped)?);
        }
        self.prepare_instance_links(links)
    }

    /// Checks that an entity can be instantiated or copied, and returns it as a source.
    fn source(
        &mut self,
        entity: Entity,
        change: SetOperation,
        dropped: u32,
    ) -> Result<Source, EntityError> {
        let from = self.locate(entity)?;
        let archetype = self.storage.archetype_at(from);
        let transfer = self.transfer(archetype, dropped, change)?;
        let shape = &self.storage.archetypes[archetype].shape;
        if shape.is_cleanup_only() {
            return Err(EntityError::CleanupOnly { entity });
        }
        let Transfer { to, ref kept, .. } = self.transfers[transfer];
        let mut quiet = true;
        for &(theirs, _) in kept {
            let component = shape.types[theirs as usize];
            match component.0.copying {
                Copying::NotAtAll => return Err(EntityError::NotDuplicable { component }),
                Copying::Bytes | Copying::Deep(_) => {}
                Copying::Clone(_) => quiet = false,
            }
        }
        Ok(Source { entity, from, transfer, to, group: NOWHERE, quiet, place: 0 })
    }

    /// Creates `count` instances of each source, as one change. Returns the number of runs with instances of the first source.
    fn instantiate_sources(
        &mut self,
        lists: &mut InstanceMemory,
        count: usize,
    ) -> Result<usize, EntityError> {
        let InstanceMemory { sources, references: reference_lists, name, links, .. } = lists;
        let archetypes = sources.iter().flat_map(|source| {
            // The sources are only read, but jobs must not write them meanwhile.
            [self.storage.archetype_at(source.from), source.to]
        });
        self.sync_for_move(archetypes);
        let rows = sources.len().saturating_mul(count);
        self.storage.table.require(rows);
        let mut reserved = ReservedRows::nothing(&mut self.storage, &mut self.runs);
        for source in sources.iter_mut() {
            source.group = reserved.group_by(&self.transfers[source.transfer], source.from.chunk);
        }
        put_together(sources);
        for same in sources.chunk_by(|one, other| one.layout() == other.layout()) {
            reserved.more(same[0].to, same[0].group, same.len() * count)?;
        }
        if sources.len() > 1 && count > 0 {
            reserved.divide(count);
        }
        let sources = &*sources;
        let refers = |source: &Source| {
            let types = &reserved.storage.archetypes[source.to].shape.types;
            types.iter().any(|ty| ty.0.remap.is_some())
        };
        let mut references = sources.iter().any(refers).then(|| {
            let entities = sources.iter().map(|source| source.entity);
            let lists = mem::take(reference_lists);
            References::new(entities, count, &reserved.storage.table, lists)
        });
        let mut done = 0;
        // Returns the source of a run. This is called for all runs in order.
        let mut source_of = |run: RowRange| {
            let source = &sources[done / count];
            done += run.rows as usize;
            source
        };
        let is_quiet = sources.iter().all(|source| source.quiet);
        let mut panicked = None;
        let write = |rows: &mut NewRows, chunks: &Chunks| {
            let source = source_of(rows.run);
            let columns = &self.transfers[source.transfer].kept;
            rows.repeat_row(&chunks[source.from.chunk], source.from.row, columns);
            let Some(references) = &mut references else { return };
            if !is_quiet {
                references.replace(rows);
            } else if panicked.is_none() {
                let replace = AssertUnwindSafe(|| references.replace(rows));
                panicked = catch_unwind(replace).err();
            }
        };
        // Without user code nothing can fail halfway, unless a `Field` was implemented by hand.
        reserved.fill(is_quiet, write);
        reserved.commit();
        if let Some(panic) = panicked {
            self.take_back();
            resume_unwind(panic);
        }
        if let Some(references) = references {
            debug_assert!(
                NewEntities::new(&self.storage, &self.runs)
                    .enumerate()
                    .all(|(at, instance)| instance == references.instances.get(at)),
                "the instances are others than those that are referred to"
            );
            *reference_lists = references.into_lists();
        }
        if !links.is_empty() {
            let instances: Vec<_> = NewEntities::new(&self.storage, &self.runs).collect();
            let sources = sources.iter().map(|source| source.entity);
            self.link_instances(sources, &instances, count, links);
        }
        Ok(self.finish_instances(sources, count, name))
    }

    /// Despawns the instances that were created before an error.
    #[cold]
    fn take_back(&mut self) {
        let created: Vec<_> = NewEntities::new(&self.storage, &self.runs).collect();
        for_each_to_end(created.into_iter().rev(), |entity| {
            if let Ok(location) = self.locate(entity) {
                // The memory of instances is unshared, so despawning cannot fail.
                let _ = self.despawn_one(entity, location);
            }
        });
    }

    /// Copies the enabled bits and names of the sources to their instances. Returns the number of runs with instances of the
    /// first source.
    fn finish_instances(&mut self, sources: &[Source], count: usize, name: &mut String) -> usize {
        let (mut done, mut of_first) = (0, 0);
        for at in 0..self.runs.len() {
            let source = &sources[done / count];
            let RowRange { chunk, first, rows } = self.runs[at];
            for &(theirs, ours) in &self.transfers[source.transfer].masks_kept {
                if !self.storage.chunks[source.from.chunk].enabled.get(theirs, source.from.row) {
                    let enabled = &mut self.storage.chunks[chunk].enabled;
                    (first..first + rows).for_each(|row| enabled.set(ours, row, false));
                }
            }
            if let Some(given) = self.entity_name(source.entity) {
                name.clear();
                name.push_str(given);
                for row in first..first + rows {
                    let instance = self.storage.chunks[chunk].entities()[row as usize];
                    self.names_mut().set(instance, name);
                }
            }
            done += rows as usize;
            of_first += usize::from(done <= count);
        }
        of_first
    }
}

/// Sorts the sources so that those with the same target archetype and group are adjacent. Targets are in the order of their first
/// sources.
fn put_together(sources: &mut [Source]) {
    if sources.len() > 1 {
        (0..).zip(&mut *sources).for_each(|(place, source)| source.place = place);
        sources.sort_unstable_by_key(|source| (source.layout(), source.place));
        for same in sources.chunk_by_mut(|one, other| one.layout() == other.layout()) {
            // The upper half of the key is the position of the first source with the same target. The lower half is the source's
            // own position.
            let first = same[0].place << u32::BITS;
            same.iter_mut().for_each(|source| source.place |= first);
        }
        sources.sort_unstable_by_key(|source| source.place);
    }
}

/// Memory for instantiation, which the next call reuses. It is empty between two calls.
#[derive(Default)]
pub(super) struct InstanceMemory {
    members: DistinctEntities,
    sources: Vec<Source>,
    references: ReferenceLists,
    links: InstanceLinks,
    name: String,
}

impl InstanceMemory {
    /// Clears the lists, and keeps their memory.
    fn clear(&mut self) {
        self.members.clear();
        self.sources.clear();
        self.links.clear();
    }
}

impl Source {
    /// Returns the archetype and the group of the instances.
    fn layout(&self) -> (u32, u32) {
        (self.to, self.group)
    }
}

/// An entity that is instantiated or copied.
struct Source {
    entity: Entity,
    from: Location,
    transfer: u32,
    /// The archetype of the instances.
    to: u32,
    /// The group of that archetype, or [`NOWHERE`](crate::storage::NOWHERE) if it has no groups.
    group: u32,
    /// True if all components are copied as bytes, without user code.
    quiet: bool,
    /// The position of the source among the sources of the call. [`put_together`] uses it as a sort key.
    place: u64,
}

/// The maximum number of sources for which a linear search is used.
const FEW: usize = 8;

/// The replacement of references to sources with references to their instances, in copied values.
pub(super) struct References {
    lists: ReferenceLists,
    /// The number of instances of each source.
    count: usize,
    /// The ids of the instances, grouped by source.
    pub(super) instances: NextIds,
    /// The number of rows in which references were replaced.
    done: usize,
}

/// The lists of [`References`], whose memory is reused.
#[derive(Default)]
pub(super) struct ReferenceLists {
    sources: Vec<Entity>,
    /// The position of each source, if there are more than [`FEW`] sources.
    places: HashMap<Entity, usize, FixedState>,
    /// The references of the previous value, in order, each with the position of the first instance if it refers to a source.
    /// Copies of one value have the same references, so only those of the first copy are looked up.
    known: Vec<(Entity, Option<usize>)>,
    instances: Vec<Entity>,
}

impl References {
    /// Creates the replacement for sources with `count` instances each, which are created next. The lists are empty.
    pub(super) fn new(
        sources: impl Iterator<Item = Entity>,
        count: usize,
        table: &EntityTable,
        mut lists: ReferenceLists,
    ) -> Self {
        lists.sources.extend(sources);
        if lists.sources.len() > FEW {
            let places = lists.sources.iter().enumerate().map(|(at, &source)| (source, at));
            lists.places.extend(places);
        }
        let memory = mem::take(&mut lists.instances);
        let instances = table.next_ids(lists.sources.len() * count, memory);
        Self { lists, count, instances, done: 0 }
    }

    /// Clears the lists and returns them, so that their memory can be reused.
    pub(super) fn into_lists(self) -> ReferenceLists {
        let mut lists = self.lists;
        lists.sources.clear();
        lists.places.clear();
        lists.known.clear();
        lists.instances = self.instances.into_list();
        lists
    }

    /// Returns the position of an entity's first instance, if the entity is a source. `place` is the number of the reference
    /// within its value.
    #[cold]
    #[inline(never)]
    fn find(&mut self, entity: Entity, place: usize) -> Option<usize> {
        let ReferenceLists { sources, places, known, .. } = &mut self.lists;
        let source = if sources.len() > FEW {
            places.get(&entity).copied()
        } else {
            sources.iter().position(|&source| source == entity)
        };
        let first = source.map(|source| source * self.count);
        known.truncate(place);
        known.push((entity, first));
        first
    }

    /// Replaces references to sources with references to their instances, in new rows. This is called for all rows in order.
    pub(super) fn replace(&mut self, rows: &mut NewRows) {
        // The number of the first row among the instances of its source.
        let first_row = self.done % self.count;
        self.done += rows.len();
        rows.remap(|row, nth, entity| {
            let first = match self.lists.known.get(nth) {
                Some(&(before, first)) if before == entity => first,
                _ => self.find(entity, nth),
            };
            first.map_or(entity, |first| self.instances.get(first + first_row + row))
        });
    }
}

#[cfg(test)]
mod tests;
