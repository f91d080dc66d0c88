#![doc = include_str!("../README.md")]
// Under loom, only `tests/loom.rs` is compiled, which includes source files of this crate: see `storage/count.rs`.
#![cfg(not(loom))]

mod all_tuples;
mod batch;
mod buffer;
mod builtin;
mod commands;
mod component;
mod debug_as_display;
mod entity;
mod entity_map;
mod error;
mod field;
#[cfg(feature = "glam_0_33")]
pub mod glam_0_33;
mod inspect;
mod managed;
mod manager;
mod matching;
mod panics;
mod per_chunk;
mod placeholder;
mod query;
mod schedule;
mod set;
mod shared;
mod storage;
mod system;
#[cfg_attr(not(test), allow(dead_code, reason = "worlds keep their time in it"))]
mod time;
mod version;
mod world;

#[cfg(feature = "derive")]
pub use ancho_derive::{
    Aspect, BufferElement, Component, Field, ManagedComponent, SharedComponent,
};
#[cfg(feature = "auto")]
pub use ancho_derive::{bootstrap, system};
pub use batch::{Batch, BatchTargets, Linked};
pub use buffer::{
    Buffer, BufferAccessor, BufferAccessorMut, BufferElement, DynamicBuffer, UntypedBuffer,
};
pub use builtin::{Disabled, LinkedEntityGroup, OmitLinkedEntityGroup, Prefab};
pub use commands::{
    BatchCommands, CommandError, CommandFault, CommandLog, CommandRecorder, Commands,
    EntityCommandBuffer, PlaybackReport, UnappliedCommand,
};
pub use component::{
    Component, ComponentType, Duplicate, Initial, RegisterError, RuntimeType, WriteGroup,
};
pub use entity::Entity;
pub use entity_map::EntityMap;
pub use error::EntityError;
pub use field::{EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher, VariantShape};
pub use managed::{Managed, ManagedComponent};
pub use manager::{
    Archetype, ArchetypeChunk, ArchetypeChunkMut, EntityChanges, EntityManager, EntityTracker,
    NewEntities,
};
pub use per_chunk::PerChunk;
pub use placeholder::Placeholders;
pub use query::{
    Absent, Any, Aspect, Changed, ChunkData, ChunkInJob, ChunkJob, EnabledMut, EnabledRef,
    EntityAt, EntityJob, FilterWriteGroups, IgnoreEnabled, IncludeDisabled, IncludePrefabs,
    IndexInQuery, Indexed, IsDisabled, JobLookup, JobLookupView, Lookup, Or, OrderChanged,
    ParallelData, Present, Query, QueryArray, QueryChunk, QueryData, QueryDescriptor, QueryFilter,
    QueryIter, QueryJob, QueryJobWith, QueryMask, ReadOnlyData, ReadableData, SplitParts,
    StorageInfo, StorageInfoLookup, TrackedMut, Unchecked, With, Without,
};
pub use schedule::{
    FixedRateCatchUp, FixedRateSimple, RateManager, RateTurn, SystemError, SystemFault, SystemId,
    SystemResult, UpdateError, UpdateErrors, VariableRate,
};
pub use set::{CloneSet, Columns, ComponentColumns, ComponentSet};
pub use shared::{Shared, SharedComponent};
pub use storage::{ArenaStats, ChunkArena, OutOfMemory};
#[cfg(feature = "auto")]
pub use system::registry::{AutoSystem, Bootstrap};
pub use system::{
    BeginFixedStep, BeginInitialization, BeginPresentation, BeginSimulation, BeginVariableStep,
    BuildSystem, CommandPoint, CommandsAt, EndFixedStep, EndInitialization, EndSimulation,
    EndVariableStep, FixedStep, Initialization, IntoSystem, LateSimulation, Local, ParamSet,
    Presentation, Res, ResMut, Root, Simulation, Single, System, SystemBuilder, SystemData,
    SystemGroup, SystemInfo, SystemOrder, SystemParam, UpdateAllocator, VariableStep, system_type,
};
pub use time::{Time, TimeError};
pub use version::Version;
pub use world::{
    ExclusiveEntityTransaction, NonSend, NonSendMut, SystemKind, World, WorldSettings,
};

/// Items for `ancho_bisect` and other tools of this workspace. Not part of the public API.
#[doc(hidden)]
pub mod __inspect {
    pub use crate::inspect::{
        ArchetypeLayout, ChunkItem, ChunkLayout, ItemKind, JobWrites, Moment, StateLayout,
        chunk_items, layout, panic_message, stop_recording_jobs, take_jobs, unseen_errors, watch,
    };
}

/// Items that generated code uses. Not part of the public API.
#[doc(hidden)]
pub mod __macro {
    pub use crate::component::generic_name;
    pub use crate::component::probe::{
        CloneNone, DuplicateBytes, DuplicateClone, DuplicateNone, InitialDefault, InitialNone,
        Probe,
    };
    pub use crate::component::{Duplicate, Initial, TypeSlot};
    pub use crate::field::{FieldValue, VisitField, VisitNothing, field, opaque_field};
    pub use crate::query::{
        ArchetypeLookup, ArrayHeld, AspectField, ChunkField, ChunkMarks, ChunkView, ColumnData,
        ColumnFetch, ColumnLookup, KnownGroups, LookupForm, LookupHeld, ManagedField, Need,
        Options, ParallelField, ParallelViewField, Part, Place, PlainField, QueryArrayBatch,
        ReadOnlyField, SharedField, Splitting,
    };
    pub use crate::schedule::{ParamConflict, SystemAccess, SystemTarget};
    pub use crate::set::{ComponentColumn, IsComponent, IsSet, SetKind, SetValues};
    pub use crate::shared::require_clone;
    pub use crate::storage::RowPlace;
    #[cfg(feature = "auto")]
    pub use crate::system::registry::{auto_system, bootstrap_hook, builder_of};
    pub use crate::system::{
        ByType, CommandsAtState, CommandsState, FunctionShape, IntoSystemTarget, IntoSystems,
        IsFunction, IsGroup, IsPoint, IsStruct, LocalState, ParamSetup, ParamState,
        QueryParamState, SystemFunction, SystemOutput, UnsafeWorldCell,
    };
    pub use crate::world::Resource;
    #[cfg(feature = "auto")]
    pub use inventory;
}
