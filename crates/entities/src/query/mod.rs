//! Queries: all entities that have specific components, and access to their data.
//!
//! A query type names the [data](QueryData) that is fetched for each entity, and the [filters](QueryFilter) that select entities.
//! Each world caches, for each query type that it has run, the archetypes that match.

mod access;
mod aspect;
mod batch;
mod bulk;
mod chunk_filter;
mod data;
mod descriptor;
mod filter;
mod iter;
mod job;
mod links;
mod lookup;
mod parallel;
mod special_data;
mod split;
mod system_query;
mod tuples;
mod view;
mod walk;

pub use aspect::{
    Aspect, AspectField, ChunkField, ManagedField, ParallelField, ParallelViewField, PlainField,
    ReadOnlyField, SharedField,
};
pub use batch::{ChunkMarks, ChunkView};
pub use data::{ChunkData, ColumnFetch, QueryData, ReadOnlyData};
pub use descriptor::{QueryChunk, QueryDescriptor};
pub use filter::{
    Absent, Added, Any, Changed, FilterWriteGroups, IgnoreEnabled, IncludeDisabled, IncludePrefabs,
    IsDisabled, Or, OrderChanged, Present, QueryFilter, With, Without,
};
pub use iter::QueryIter;
pub use job::{
    ArrayHeld, BufferElements, ChunkInJob, ChunkJob, ElementsHeld, EntityAt, EntityJob,
    IndexInQuery, JobLookup, JobLookupView, LookupHeld, QueryArray, QueryArrayBatch, QueryJob,
    QueryJobWith, Unchecked,
};
pub use lookup::{
    ArchetypeLookup, ColumnData, ColumnLookup, Indexed, Lookup, LookupForm, StorageInfo,
    StorageInfoLookup,
};
pub use parallel::ParallelData;
pub use special_data::{EnabledMut, EnabledRef, Ref, TrackedMut};
pub use split::{SplitParts, Splitting};
pub use state::{Place, QueryMask};
pub use terms::{KnownGroups, Need, Options, Part};
pub use tuples::ReadableData;
pub use view::Query;

pub(crate) use system_query::{Conflict, ManagerBesideViews, SystemQuery, conflict_of};
pub(crate) use terms::{Plan, Term};

use crate::matching::{cache, state, terms};
