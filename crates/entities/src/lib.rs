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
mod messages;
mod panics;
mod parts;
mod per_chunk;
mod placeholder;
mod query;
mod relationship;
mod replay;
mod schedule;
mod set;
mod shared;
mod storage;
mod system;
#[cfg_attr(not(test), allow(dead_code, reason = "worlds keep their time in it"))]
mod time;
mod timer;
mod version;
mod world;

#[cfg(feature = "derive")]
pub use ancho_derive::{
    Aspect, BufferElement, Bundle, Component, Field, ManagedComponent, Message, Resource,
    SharedComponent, States, SystemParam,
};
#[cfg(feature = "auto")]
pub use ancho_derive::{bootstrap, system};
pub use batch::{Batch, BatchTargets, Linked};
pub use buffer::{
    Buffer, BufferAccessor, BufferAccessorMut, BufferElement, DynamicBuffer, UntypedBuffer,
};
pub use builtin::{Child, Disabled, LinkedEntityGroup, OmitLinkedEntityGroup, Parent, Prefab};
pub use commands::{
    BatchCommands, ChildCommands, CommandError, CommandFault, CommandLog, CommandRecorder,
    Commands, EntityCommandBuffer, EntityCommands, PlaybackReport, UnappliedCommand,
};
pub use component::{
    Component, ComponentType, Duplicate, Initial, Mutable, RegisterError, RuntimeType, WriteGroup,
};
pub use entity::Entity;
pub use entity_map::{DetachedLink, EntityMap};
pub use error::EntityError;
pub use field::{
    EntityRemap, Field, FieldKind, FieldShape, Scalar, Shape, StateHasher, ValueError, ValuePart,
    ValueReader, ValueWriter, VariantShape,
};
pub use managed::{Managed, ManagedComponent};
pub use manager::{
    Ancestors, Archetype, ArchetypeChunk, ArchetypeChunkMut, ChildSpawner, Descendants,
    EntityChanges, EntityManager, EntityMut, EntityRef, EntityTracker, NewEntities, SourcesMut,
};
pub use messages::{JobMessages, Message, MessageIter, MessageLane, MessageSlices, MessageView};
pub use per_chunk::PerChunk;
pub use placeholder::Placeholders;
pub use query::{
    Absent, Added, Any, Aspect, BufferElements, Changed, ChunkData, ChunkInJob, ChunkJob,
    EnabledMut, EnabledRef, EntityAt, EntityJob, FilterWriteGroups, IgnoreEnabled, IncludeDisabled,
    IncludePrefabs, IndexInQuery, Indexed, IsDisabled, JobLookup, JobLookupView, Lookup, Or,
    OrderChanged, ParallelData, Present, Query, QueryArray, QueryChunk, QueryData, QueryDescriptor,
    QueryFilter, QueryIter, QueryJob, QueryJobWith, QueryMask, ReadOnlyData, ReadableData, Ref,
    SplitParts, StorageInfo, StorageInfoLookup, TrackedMut, Unchecked, With, Without,
};
pub use relationship::{Relationship, RelationshipTarget};
pub use replay::assert_replays;
pub use schedule::{
    FixedRateCatchUp, FixedRateSimple, RateManager, RateState, RateTurn, SystemError, SystemFault,
    SystemId, SystemResult, UpdateError, UpdateErrors, VariableRate,
};
pub use set::{CloneSet, Columns, ComponentColumns, ComponentSet};
pub use shared::{Shared, SharedComponent};
pub use storage::{ArenaStats, ChunkArena, OutOfMemory, RemoveCause};
#[cfg(feature = "auto")]
pub use system::registry::{AutoSystem, Bootstrap};
pub use system::{
    Add, BeginFixedStep, BeginInitialization, BeginPresentation, BeginSimulation,
    BeginVariableStep, BuildCondition, BuildOneShot, BuildSystem, CommandPoint, CommandsAt,
    ComputedState, Condition, Despawn, DespawnOnEnter, DespawnOnExit, Disable, Enable,
    EndFixedStep, EndInitialization, EndSimulation, EndVariableStep, Event, EventWith, Events,
    FixedStep, In, Initialization, Insert, IntoSystem, IntoSystems, LateSimulation, LifecycleEvent,
    Local, MessageReader, MessageWriter, NextState, OldValue, On, ParamSet, Pipe, Plugin,
    Presentation, ReadOnlyParam, Remove, Removed, Replace, Replaced, Res, ResMut, ResourceRemoved,
    Root, RootState, SetSettings, SettableState, Simulation, Single, Startup, State, StateSources,
    States, SubState, System, SystemBuilder, SystemData, SystemGroup, SystemHandle, SystemInfo,
    SystemOrder, SystemParam, SystemSet, UpdateAllocator, Value, VariableStep, any_with, every,
    in_state, not, on_message, resource_changed, resource_exists, resource_removed, system_type,
};
pub use time::{Time, TimeError};
pub use timer::{Stopwatch, Timer, TimerError};
pub use version::Version;
pub use world::{
    ExclusiveEntityTransaction, NonSend, NonSendMut, Resource, SystemKind, World, WorldSettings,
};

/// Items for `ancho_bisect` and other tools of this workspace. Not part of the public API.
#[doc(hidden)]
pub mod __inspect {
    pub use crate::inspect::{
        ArchetypeLayout, ChunkItem, ChunkLayout, ItemKind, JobWrites, Moment, StateItem,
        StateItemValue, StateLayout, StateOwner, chunk_items, layout, panic_message, state_items,
        stop_recording_jobs, take_jobs, unseen_errors, watch,
    };
}

/// Items for `ancho_serialize`. Not part of the public API.
#[doc(hidden)]
pub mod __parts {
    pub use crate::manager::PutError;
    pub use crate::parts::{
        ArchetypeParts, BuildError, BuiltState, ChunkParts, ClockParts, ColumnForm, ColumnLayout,
        NewChunk, SharedSlot, SourceChunk, StateBuilder, StateParts, builtin_types, find_stable,
        is_link_list, put_value, stable_names, value_shape, write_initial,
    };
    pub use crate::storage::FutureIds;
}

/// Items that generated code uses. Not part of the public API.
#[doc(hidden)]
pub mod __macro {
    pub use crate::component::float_bits::{FloatBits, Floats, SameBits, SameValue};
    pub use crate::component::generic_name;
    pub use crate::component::probe::{
        CloneNone, DuplicateBytes, DuplicateClone, DuplicateNone, InitialDefault, InitialNone,
        Probe,
    };
    pub use crate::component::{
        Duplicate, Initial, RelationshipInfo, RequireVisitor, RequiredValue, SharedValue, TypeSlot,
    };
    pub use crate::field::{
        FieldType, FieldValue, OpaqueStateField, ReadField, ReadNothing, StateField, StateValue,
        VisitField, VisitNothing, field, missing, opaque_field, opaque_state_field,
        opaque_state_variant_field, state_field, state_variant_field, unreadable,
    };
    pub use crate::messages::MessageKind;
    pub use crate::query::{
        ArchetypeLookup, ArrayHeld, AspectField, ChunkField, ChunkMarks, ChunkView, ColumnData,
        ColumnFetch, ColumnLookup, ElementsHeld, KnownGroups, LookupForm, LookupHeld, ManagedField,
        Need, Options, ParallelField, ParallelViewField, Part, Place, PlainField, QueryArrayBatch,
        ReadOnlyField, SharedField, Splitting,
    };
    pub use crate::schedule::{ParamConflict, SystemAccess, SystemTarget};
    pub use crate::set::{CloneSetFor, ComponentColumn, IsComponent, IsSet, SetKind, SetValues};
    pub use crate::shared::require_clone;
    pub use crate::storage::RowPlace;
    #[cfg(feature = "auto")]
    pub use crate::system::registry::{auto_system, bootstrap_hook, builder_of};
    pub use crate::system::{
        And, ByType, CheckedState, CommandsAtState, CommandsState, ConditionFunction,
        ConditionTest, CurrentState, FunctionCondition, FunctionShape, IntoOneShot, IntoPlugin,
        IntoSystemTarget, IsCombined, IsFunction, IsGroup, IsHandle, IsOneShot, IsPipe, IsPlugin,
        IsPoint, IsStruct, IsSystemSet, LocalState, Not, OnState, OneShotFunction, OrCondition,
        ParamField, ParamSetup, ParamState, QueryParamState, ReaderState, RemovedState,
        ResourceState, StateChain, StateRequest, SystemFunction, SystemOutput, TypedSystem,
        UnreadMessages, UnreadState, UnsafeWorldCell, WriterState, missing_state,
        require_param_field,
    };
    pub use crate::world::{EventType, ResourceKind};
    #[cfg(feature = "auto")]
    pub use inventory;
}
