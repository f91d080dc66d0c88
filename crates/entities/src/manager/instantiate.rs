//! Instances and copies of entities.

#![expect(unsafe_code, reason = "duplicates rows of chunks")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::{mem, ptr};

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::{DistinctEntities, EntityManager, NewEntities};
use crate::component::Copying;
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::storage::{
    ArchetypeShape, Chunk, EntityTable, Location, NOWHERE, NewRows, NextIds, ReservedRows,
    RowRange, SetOperation, Transfer, duplicate_value, for_each_to_end,
};

impl EntityManager {
    /// Creates an entity with copies of another's components.
    ///
    /// It has all of them but [`Prefab`](crate::Prefab) and cleanup components. Fields that refer to the source refer to the instance;
    /// other references, and [shared values](crate::SharedComponent), stay as they are. Disabled components stay disabled, and names are
    /// kept. The root of a [group](crate::LinkedEntityGroup) is instantiated with its members. Unity's `Instantiate`.
    ///
    /// # Errors
    ///
    /// If the entity does not exist or is [only left for cleanup](Self::is_cleanup_only), one of its components can neither be copied nor
    /// cloned, or there is no memory.
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
    pub fn instantiate(&mut self, source: Entity) -> Result<Entity, EntityError> {
        let mut created = self.instantiate_many(source, 1)?;
        Ok(created.next().expect("one was created"))
    }

    /// Creates `count` entities with copies of another's components, as [`instantiate`](Self::instantiate) creates one.
    ///
    /// # Errors
    ///
    /// The errors of [`instantiate`](Self::instantiate). Then none is created.
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

    /// Copies these entities within the world. Returns the copy of each.
    ///
    /// The copies have all components but [cleanup](crate::Component::CLEANUP) components: a copy of a [`Prefab`](crate::Prefab) is a
    /// prefab. References among the copied entities lead to the copies. Other references, and [shared values](crate::SharedComponent),
    /// stay as they are. Disabled components stay disabled, and names are kept. The members of a [group](crate::LinkedEntityGroup) are
    /// copied only if they are named too. An entity that is named twice is copied once. Unity's `CopyEntities`.
    ///
    /// [`instantiate`](Self::instantiate) makes instances of prefabs and of whole groups.
    ///
    /// # Errors
    ///
    /// If one of the entities does not exist or is [only left for cleanup](Self::is_cleanup_only), one of their components can neither be
    /// copied nor cloned, or there is no memory. Then nothing was copied, also if a clone panics.
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
    pub fn copy_entities(&mut self, entities: &[Entity]) -> Result<EntityMap, EntityError> {
        let mut lists = self.instance_lists.take().unwrap_or_default();
        let made = self
            .list_copied(entities, &mut lists)
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

    /// Lists the entities to copy, each once.
    fn list_copied(
        &mut self,
        entities: &[Entity],
        lists: &mut InstanceMemory,
    ) -> Result<(), EntityError> {
        entities.iter().for_each(|&entity| _ = lists.members.insert(entity));
        for &entity in &*lists.members {
            lists.sources.push(self.source(entity, SetOperation::Copy)?);
        }
        Ok(())
    }

    /// Lists the entity to instantiate, or the members of its group, each once.
    fn list_sources(
        &mut self,
        source: Entity,
        lists: &mut InstanceMemory,
    ) -> Result<(), EntityError> {
        let group = self.group_of(source);
        match group.first() {
            None => lists.sources.push(self.source(source, SetOperation::Instantiate)?),
            Some(first) if first.0 == source => {
                group.iter().for_each(|member| _ = lists.members.insert(member.0));
                for &member in &*lists.members {
                    lists.sources.push(self.source(member, SetOperation::Instantiate)?);
                }
            }
            Some(first) => {
                return Err(EntityError::GroupWithoutRoot { root: source, first: first.0 });
            }
        }
        Ok(())
    }

    /// Checks that an entity can be instantiated or copied, and returns its source record.
    fn source(&mut self, entity: Entity, change: SetOperation) -> Result<Source, EntityError> {
        let from = self.locate(entity)?;
        let archetype = self.storage.archetype_at(from);
        let shape = Arc::clone(&self.storage.archetypes[archetype].shape);
        if shape.is_cleanup_only() {
            return Err(EntityError::CleanupOnly { entity });
        }
        let transfer = self.transfer_of::<()>(archetype, change)?;
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
        let data = ptr::null_mut();
        let (group, place) = (NOWHERE, 0);
        Ok(Source { entity, from, data, shape, transfer, to, group, quiet, place })
    }

    /// Instantiates entities `count` times, as one change. Returns the number of runs of the first entity, which stays the first.
    fn instantiate_sources(
        &mut self,
        lists: &mut InstanceMemory,
        count: usize,
    ) -> Result<usize, EntityError> {
        let InstanceMemory { sources, references: reference_lists, filled, name, .. } = lists;
        let archetypes = sources.iter().flat_map(|source| {
            // Jobs may not write the sources meanwhile.
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
        // No chunk is copied from here on, so the sources stay in place.
        for source in sources.iter_mut() {
            source.data = reserved.storage.chunks[source.from.chunk].data();
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
        // Returns the source of a run. It is called for all runs in their order.
        let mut source_of = |run: RowRange| {
            let source = &sources[done / count];
            done += run.rows as usize;
            source
        };
        // Writes one column of a run, and returns its number in the new archetype.
        let write = |chunk: &Chunk, run: RowRange, source: &Source, (theirs, ours): (u32, u32)| {
            let ty = source.shape.types[theirs as usize];
            let old = source.shape.columns[theirs as usize];
            let new = chunk.shape().columns[ours as usize];
            // SAFETY:
            // - the source row has a value of the type, and is not one of the new rows
            // - the new rows are reserved, and have no values
            // - the type can be duplicated, which was checked
            unsafe {
                duplicate_value(
                    ty,
                    source.data.add(old.offset as usize + source.from.row as usize * ty.size()),
                    chunk.column(new.offset).add(run.first as usize * ty.size()),
                    run.rows as usize,
                );
            }
            ty.0.drop.is_some().then_some(ours)
        };
        if sources.iter().all(|source| source.quiet) {
            let mut panicked = None;
            reserved.fill(|chunk, run| {
                let source = source_of(run);
                for &columns in &self.transfers[source.transfer].kept {
                    write(chunk, run, source, columns);
                }
                // No user code runs, so that nothing can fail half way, unless a `Field` was implemented by hand.
                if let Some(references) = &mut references
                    && panicked.is_none()
                {
                    // SAFETY: all columns of the rows were just written, to unshared memory.
                    let replace = AssertUnwindSafe(|| unsafe { references.replace(chunk, run) });
                    panicked = catch_unwind(replace).err();
                }
            });
            reserved.commit();
            if let Some(panic) = panicked {
                self.take_back();
                resume_unwind(panic);
            }
        } else {
            // Dropped before the reserved rows if a clone panics.
            let mut new_rows = mem::take(filled);
            for &run in reserved.runs.iter() {
                let source = source_of(run);
                let chunk = &reserved.storage.chunks[run.chunk];
                // SAFETY:
                // - archetypes live as long as the storage
                // - the rows are reserved and have no owner, and columns are added only once they are written
                let mut new = unsafe {
                    NewRows::new(chunk.unbound_shape(), chunk.data(), run.first, run.rows)
                };
                for &columns in &self.transfers[source.transfer].kept {
                    new.columns.extend(write(chunk, run, source, columns));
                }
                new_rows.push(new);
                if let Some(references) = &mut references {
                    // SAFETY: all columns of the rows were just written, to unshared memory.
                    unsafe { references.replace(chunk, run) };
                }
            }
            new_rows.drain(..).for_each(NewRows::keep);
            *filled = new_rows;
            reserved.commit();
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
        Ok(self.finish_instances(sources, count, name))
    }

    /// Despawns the entities that were just created.
    #[cold]
    fn take_back(&mut self) {
        let created: Vec<_> = NewEntities::new(&self.storage, &self.runs).collect();
        for_each_to_end(created.into_iter().rev(), |entity| {
            if let Ok(location) = self.locate(entity) {
                // Their memory is unshared, so that it cannot fail.
                let _ = self.despawn_one(entity, location);
            }
        });
    }

    /// Copies enabled bits and names of the sources to the new entities. Returns the number of runs of the first source.
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

/// Groups the sources by target archetype and group, in the order of the first of each.
fn put_together(sources: &mut [Source]) {
    if sources.len() > 1 {
        (0..).zip(&mut *sources).for_each(|(place, source)| source.place = place);
        sources.sort_unstable_by_key(|source| (source.layout(), source.place));
        for same in sources.chunk_by_mut(|one, other| one.layout() == other.layout()) {
            // The upper half is the place of the first of its group. The lower half makes the keys distinct.
            let first = same[0].place << u32::BITS;
            same.iter_mut().for_each(|source| source.place |= first);
        }
        sources.sort_unstable_by_key(|source| source.place);
    }
}

/// Memory for instantiation, reused by the next call. It is empty between two calls.
#[derive(Default)]
pub(super) struct InstanceMemory {
    members: DistinctEntities,
    sources: Vec<Source>,
    references: ReferenceLists,
    filled: Vec<NewRows<'static>>,
    name: String,
}

impl InstanceMemory {
    /// Removes everything but keeps the memory.
    fn clear(&mut self) {
        self.members.clear();
        self.sources.clear();
    }
}

impl Source {
    /// The rows of its instances.
    fn layout(&self) -> (u32, u32) {
        (self.to, self.group)
    }
}

/// An entity to instantiate.
struct Source {
    entity: Entity,
    from: Location,
    /// The memory of its chunk, set once no chunk is copied any more.
    data: *mut u8,
    shape: Arc<ArchetypeShape>,
    transfer: u32,
    /// The archetype of its instances.
    to: u32,
    /// The group of that archetype, if it has groups.
    group: u32,
    /// All its components are copied as bytes, without user code.
    quiet: bool,
    /// Its place among the entities that are instantiated with it.
    place: u64,
}

// SAFETY: the address is that of chunk memory, and is used only during a call that borrows the world mutably.
unsafe impl Send for Source {}

/// The number of sources up to which a linear search is used.
const FEW: usize = 8;

/// Replaces references to sources by references to their instances, in copied values.
pub(super) struct References {
    lists: ReferenceLists,
    /// The number of instances of each source.
    count: usize,
    /// The ids of the instances, source by source.
    pub(super) instances: NextIds,
    /// The number of rows that were processed.
    done: usize,
}

/// Lists of [`References`], whose memory is reused.
#[derive(Default)]
pub(super) struct ReferenceLists {
    sources: Vec<Entity>,
    /// The place of each source, if there are more than [`FEW`].
    places: HashMap<Entity, usize, FixedState>,
    /// The references of the value before, in their order, and where the instances of each begin. Copies of one value have the same
    /// references, so that only those of the first are searched.
    known: Vec<(Entity, Option<usize>)>,
    instances: Vec<Entity>,
}

impl References {
    /// Prepares the references of sources with `count` instances each, which are created next. The lists are empty.
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

    /// Returns the lists, cleared.
    pub(super) fn into_lists(self) -> ReferenceLists {
        let mut lists = self.lists;
        lists.sources.clear();
        lists.places.clear();
        lists.known.clear();
        lists.instances = self.instances.into_list();
        lists
    }

    /// Returns where the instances of an entity begin, if it is a source. `place` is the place of the reference in its value.
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

    /// Replaces references in the values of a run. It has to be called for all runs, in their order.
    ///
    /// # Safety
    ///
    /// - the rows of the chunk have values in all columns, which no other code uses
    pub(super) unsafe fn replace(&mut self, chunk: &Chunk, RowRange { first, rows, .. }: RowRange) {
        let shape = chunk.shape();
        // The index of the first row among the instances of its source.
        let nth = self.done % self.count;
        self.done += rows as usize;
        for (ty, column) in shape.types.iter().zip(&shape.columns) {
            let Some(remap) = ty.0.remap else { continue };
            self.lists.known.clear();
            for row in 0..rows as usize {
                let at = nth + row;
                let mut asked = 0;
                let mut instance_of = |entity| {
                    let first = match self.lists.known.get(asked) {
                        Some(&(before, first)) if before == entity => first,
                        _ => self.find(entity, asked),
                    };
                    asked += 1;
                    first.map_or(entity, |first| self.instances.get(first + at))
                };
                let row = first as usize + row;
                let value = chunk.column(column.offset).wrapping_add(row * ty.size());
                // SAFETY: the caller says that the row has a value of this type, which no other code uses.
                unsafe { remap(ty.0.shape, value, 1, &mut EntityRemap::new(&mut instance_of)) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::buffer::Buffer;
    use crate::builtin::LinkedEntityGroup;
    use crate::component::{Component, Duplicate};
    use crate::field::{EntityRemap, Field, FieldKind, Shape, StateHasher};
    use crate::per_chunk::PerChunk;
    use crate::world::{World, WorldSettings};

    thread_local! {
        /// After how many values one panics.
        static FUSE: Cell<u32> = const { Cell::new(0) };
    }

    /// Copied as bytes, and yet it panics.
    #[derive(Clone, Copy)]
    struct Stubborn(Entity);

    // SAFETY: the shape says nothing of the bytes.
    unsafe impl Field for Stubborn {
        const SHAPE: &'static Shape =
            &Shape::new::<Self>("Stubborn", FieldKind::Opaque).with_entities(true);

        fn hash_state(&self, state: &mut StateHasher) {
            self.0.hash_state(state);
        }

        fn remap(&mut self, map: &mut EntityRemap<'_>) {
            match FUSE.get() {
                0 => resume_unwind(Box::new("told to")),
                left => FUSE.set(left - 1),
            }
            self.0.remap(map);
        }
    }

    impl Component for Stubborn {
        fn duplicate() -> Duplicate<Self> {
            Duplicate::<Self>::bytes()
        }
    }

    thread_local! {
        /// The next value of a chunk panics when it is dropped.
        static IS_LOUD: Cell<bool> = const { Cell::new(false) };
    }

    /// Of chunks.
    #[derive(Default)]
    struct Loud;

    impl Drop for Loud {
        fn drop(&mut self) {
            if IS_LOUD.take() {
                resume_unwind(Box::new("told to"));
            }
        }
    }

    // SAFETY: the shape says nothing of the bytes.
    unsafe impl Field for Loud {
        const SHAPE: &'static Shape = &Shape::new::<Self>("Loud", FieldKind::Opaque);

        fn hash_state(&self, _: &mut StateHasher) {}

        fn remap(&mut self, _: &mut EntityRemap<'_>) {}
    }

    impl Component for Loud {}

    #[test]
    fn no_instance_is_there_when_what_its_chunk_has_panics_too() {
        let mut world =
            World::with_settings("Simulation", WorldSettings::new().chunk_capacity_limit(2));
        let source = world.spawn((Stubborn(Entity::NULL), PerChunk::<Loud>::new()));
        for instances in [2, 3, 9] {
            FUSE.set(1);
            IS_LOUD.set(true);
            let instantiate =
                AssertUnwindSafe(|| world.instantiate_many(source, instances).unwrap().len());
            assert!(catch_unwind(instantiate).is_err());
            assert_eq!((world.entity_count(), IS_LOUD.take()), (1, false));
            world.check_invariants().unwrap();
        }
    }

    #[test]
    fn no_instance_is_there_when_a_field_written_by_hand_panics() {
        for size in [1, 3, 20] {
            let mut world = World::new("Simulation");
            let members: Vec<_> = (0..size).map(|_| world.spawn(())).collect();
            for &member in &members {
                world.add(member, Stubborn(members[0])).map_err(|r| r.error).unwrap();
            }
            let group: Buffer<_> = members.iter().copied().map(LinkedEntityGroup).collect();
            world.add(members[0], group).map_err(|rejected| rejected.error).unwrap();
            // Some values of the first member, then some of another, then enough.
            for (fuse, panics) in [(0, true), (1, true), (2 * size, true), (3 * size, false)] {
                FUSE.set(fuse);
                let instantiate =
                    AssertUnwindSafe(|| world.instantiate_many(members[0], 3).unwrap().len());
                assert_eq!(catch_unwind(instantiate).is_err(), panics, "{size} {fuse}");
                let expected = if panics { size } else { 4 * size };
                assert_eq!(world.entity_count(), expected as usize);
                world.check_invariants().unwrap();
            }
            for chunk in world.chunks() {
                let groups = chunk.buffers::<LinkedEntityGroup>();
                for (&root, group) in
                    chunk.entities().iter().zip(groups.iter().flat_map(|g| g.iter()))
                {
                    let refer_to_it = |member: &LinkedEntityGroup| {
                        world.get::<Stubborn>(member.0).is_ok_and(|value| value.0 == root)
                    };
                    assert!(group.len() == size as usize && group.iter().all(refer_to_it));
                }
            }
        }
    }
}
