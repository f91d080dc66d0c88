//! [`ChunkInJob`]: the chunk that a job struct is called for.

use std::any::type_name;
use std::fmt;
use std::ops::Range;

use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::query::batch::OpenBatch;
use crate::query::data::{ChunkData, QueryData};
use crate::query::parallel::ParallelData;
use crate::set::ComponentSet;
use crate::shared::SharedComponent;
use crate::version::Version;

/// The chunk that a [`ChunkJob`](crate::ChunkJob) or an [`EntityJob`](crate::EntityJob) is called for.
///
/// The entities, the shared values and the order version of the chunk can always be read. Values and versions of a component can be
/// accessed only if the query's data has the component, because only then conflicting jobs wait. For a chunk component, the data
/// has to have `&PerChunk<T>` or `&mut PerChunk<T>`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{ChunkInJob, ChunkJob, Component, PerChunk, World};
/// use ancho_jobs::ParallelJobStruct;
///
/// #[derive(Component, Clone, Copy)]
/// struct Height(f32);
///
/// #[derive(Component, Clone, Copy, Default, Debug, PartialEq)]
/// struct Highest(f32);
///
/// #[derive(ParallelJobStruct)]
/// struct FindHighest {}
///
/// impl ChunkJob for FindHighest {
///     type Query = (&'static Height, &'static mut PerChunk<Highest>);
///
///     fn execute(_: &mut FindHighestBatch<'_>, mut chunk: ChunkInJob<'_, Self::Query>) {
///         let mut highest = 0.0;
///         chunk.for_each_run(|(heights, ())| {
///             highest = heights.iter().map(|height| height.0).fold(highest, f32::max);
///         });
///         chunk.chunk_component_mut::<Highest>().unwrap().0 = highest;
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// let hill = world.spawn((Height(3.0), PerChunk::<Highest>::new()));
/// world.spawn((Height(9.0), PerChunk::<Highest>::new()));
/// world.query_mut::<(&Height, &mut PerChunk<Highest>)>().job().schedule_chunk_job_parallel(FindHighest {});
/// // Reading a chunk component waits for the job.
/// assert_eq!(world.chunk_component(hill), Ok(&Highest(9.0)));
/// ```
pub struct ChunkInJob<'c, D: QueryData = ()> {
    batch: OpenBatch<'c, D>,
}

impl<'c, D: QueryData> ChunkInJob<'c, D> {
    pub(super) fn new(batch: OpenBatch<'c, D>) -> Self {
        Self { batch }
    }

    /// Returns the index of the chunk among all chunks of the matching archetypes.
    ///
    /// Chunks that a filter by change, enabled state or shared value excludes are counted too, so the indices of the chunks that
    /// a job is called for can have gaps. The index is less than
    /// [`count_chunks_unfiltered`](crate::Query::count_chunks_unfiltered). This is Unity's `unfilteredChunkIndex`.
    pub fn index(&self) -> usize {
        self.batch.chunk_number
    }

    /// Returns the indices that the chunk's matching entities have among all entities that match.
    pub fn in_query(&self) -> Range<usize> {
        self.batch.found_numbers.clone()
    }

    /// Returns the number of entities in the chunk, including entities that do not match. The number is never zero.
    #[expect(clippy::len_without_is_empty, reason = "there are no empty chunks")]
    pub fn len(&self) -> usize {
        self.batch.chunk.len as usize
    }

    /// Returns the entities of the chunk, including entities that do not match.
    pub fn entities(&self) -> &[Entity] {
        self.batch.chunk.entities()
    }

    /// Returns `true` if no condition of the query depends on single entities, so that all entities of the chunk match.
    pub fn is_whole(&self) -> bool {
        self.batch.found.bits.is_empty()
    }

    /// Returns `true` if the chunk's archetype has all components of a set: `T`, `PerChunk<T>`, `Shared<T>`, or a tuple.
    pub fn has<S: ComponentSet>(&self) -> bool {
        let (shape, mut has) = (self.batch.chunk.shape(), true);
        S::types(&mut |ty| has &= shape.has(ty));
        has
    }

    /// Returns the chunk's value of a shared component, or `None` if the archetype does not have the component.
    pub fn shared<T: SharedComponent>(&self) -> Option<&T> {
        self.batch.shared_value(ComponentType::of_shared::<T>())?.downcast_ref()
    }

    /// Returns the chunk's value of a [chunk component](crate::PerChunk), or `None` if the archetype does not have the component.
    ///
    /// # Panics
    ///
    /// Panics with A0135 unless the query's data has `&PerChunk<T>` or `&mut PerChunk<T>`, perhaps in an `Option`.
    #[track_caller]
    pub fn chunk_component<T: Component + Default>(&self) -> Option<&T> {
        self.batch.chunk_value()
    }

    /// Returns the chunk's value of a [chunk component](crate::PerChunk) for writing, or `None` if the archetype does not have the
    /// component.
    ///
    /// The chunk then counts as changed, in all components that the query can write.
    ///
    /// # Panics
    ///
    /// Panics with A0135 unless the query's data has `&mut PerChunk<T>`, perhaps in an `Option`.
    #[track_caller]
    pub fn chunk_component_mut<T: Component + Default>(&mut self) -> Option<&mut T> {
        self.batch.chunk_value_mut()
    }

    /// Returns the version of the last write to a component in the chunk, or `None` if the archetype does not have the component.
    ///
    /// Writes of the job itself are included only after the job is done.
    ///
    /// # Panics
    ///
    /// Panics with A0135 unless the query's data has the component, with a value, or the query filters by changes of the
    /// component.
    #[track_caller]
    pub fn change_version<T: Component>(&self) -> Option<Version> {
        let ty = ComponentType::of::<T>();
        self.batch.require(ty, false);
        let found = self.batch.chunk.find(ty)?;
        Some(self.batch.chunk.versions.version(found.column))
    }

    /// Returns `true` if a component was written in the chunk since a version, and `false` if the archetype does not have the
    /// component.
    ///
    /// # Panics
    ///
    /// Panics with A0135 for the reasons of [`change_version`](Self::change_version).
    #[track_caller]
    pub fn did_change<T: Component>(&self, since: Version) -> bool {
        self.change_version::<T>().is_some_and(|version| version.is_newer_than(since))
    }

    /// Returns the version of the last time that an entity was added to the chunk or removed from it.
    pub fn order_version(&self) -> Version {
        self.batch.chunk.order_version
    }
}

impl<D: ParallelData + ChunkData> ChunkInJob<'_, D> {
    /// Calls a function with slices of each run of contiguous matching entities. The function is called once if all entities
    /// [match](Self::is_whole).
    pub fn for_each_run(&mut self, mut function: impl FnMut(D::Slices<'_>)) {
        self.for_each_run_at(|slices, _| function(slices));
    }

    /// Calls a function with slices of each run of contiguous matching entities, and with their rows in the chunk.
    pub fn for_each_run_at(&mut self, function: impl FnMut(D::Slices<'_>, Range<usize>)) {
        self.batch.note_yielded();
        self.batch.each_slices(function);
    }
}

impl<D: QueryData> fmt::Debug for ChunkInJob<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChunkInJob<{}>({}, {:?})", type_name::<D>(), self.index(), self.in_query())
    }
}
