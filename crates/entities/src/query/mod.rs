//! Queries: all entities with these components, and what is in them.
//!
//! A query is a description: which [data](QueryData) is wanted of each entity, and by which [filters](QueryFilter)
//! entities are chosen. Each world keeps, for each description it has met, the archetypes that can have such entities.

mod apart;
mod aspect;
mod batch;
mod bulk;
mod changed_rows;
mod choice;
mod chunk_rows;
mod cursor;
mod data;
mod dynamic;
mod enabled;
mod filter;
mod iter;
mod job;
mod kept_chunks;
mod kept_cursor;
mod kinds;
mod lookup;
mod loops;
mod mask;
mod matched;
mod option_filters;
mod or;
mod parallel;
mod plan;
mod readable;
mod runs;
mod settings;
mod split;
mod states;
mod system_query;
mod tracked;
mod tuples;
mod uses;
mod values;
mod view;
mod walk;
mod write_groups;

pub use aspect::{
    Aspect, AspectField, ChunkField, ManagedField, ParallelField, ParallelViewField, PlainField,
    ReadOnlyField, SharedField,
};
pub use batch::{ChunkMarks, ChunkView};
pub use bulk::Batch;
pub use data::{ChunkData, ColumnFetch, QueryData, ReadOnlyData};
pub use dynamic::{QueryChunk, QueryDescriptor};
pub use enabled::{EnabledMut, EnabledRef};
pub use filter::{
    Absent, Any, Changed, IsDisabled, OrderChanged, Present, QueryFilter, With, Without,
};
pub use iter::QueryIter;
pub use job::{
    ArrayHeld, ChunkInJob, ChunkJob, EntityAt, EntityJob, IndexInQuery, JobLookup, JobLookupView,
    LookupHeld, QueryArray, QueryArrayBatch, QueryJob, QueryJobWith, Unchecked,
};
pub use lookup::{
    ArchetypeLookup, ColumnData, ColumnLookup, Indexed, Lookup, LookupForm, StorageInfo,
    StorageInfoLookup,
};
pub use mask::QueryMask;
pub use matched::Place;
pub use option_filters::{FilterWriteGroups, IgnoreEnabled, IncludeDisabled, IncludePrefabs};
pub use or::Or;
pub use parallel::ParallelData;
pub use plan::{Need, Part, Term};
pub use readable::ReadableData;
pub use settings::Options;
pub use split::{SplitParts, Splitting};
pub use tracked::TrackedMut;
pub use view::Query;
pub use write_groups::KnownGroups;

pub(crate) use batch::{Pool, Rows};
pub(crate) use job::{DeclaredJob, LookupMemory};
pub(crate) use plan::Plan;
pub(crate) use states::QueryStates;
pub(crate) use system_query::{Conflict, SystemQuery, conflict_of};
