#![doc = include_str!("../README.md")]
// Under loom there are no jobs, and so no containers; see the models of `ancho_jobs`.
#![cfg(not(loom))]

mod allocator;
mod array;
mod bit_array;
mod blob;
mod columns;
mod error;
mod fixed;
mod lanes;
mod list;
mod map;
mod multi_map;
mod native;
mod queue;
mod reference;
mod ring;
mod ring_queue;
mod set;
mod shared_values;
mod slice;
mod sort;
mod stream;
mod table;
mod text;

pub use allocator::{
    Allocator, FrameMemory, FrameReport, LeakReport, LineAligned, LiveContainer,
    MAX_TEMP_JOB_FRAMES, MemorySource, RewindableAllocator, Temp, TempList, temp_scope,
};
pub use array::NativeArray;
pub use bit_array::{BitArray, NativeBitArray};
pub use blob::{
    BlobArray, BlobAsset, BlobAssetReference, BlobBuilder, BlobData, BlobError, BlobPlace,
    BlobPlaces, BlobPtr, BlobReader, BlobStore, BlobString, BlobVisitor,
};
pub use columns::{Columns, ColumnsRead, ColumnsWrite, NativeColumns, Row};
pub use error::{AllocationError, CapacityError, Rejected};
pub use fixed::{
    FixedList, FixedList32, FixedList64, FixedList128, FixedList512, FixedList4096, FixedListFull,
    FixedListIntoIter, FixedString, FixedString32, FixedString64, FixedString128, FixedString512,
    FixedString4096, FixedStringError, FormatError,
};
pub use lanes::{Lane, Lanes, ParallelWriter};
pub use list::{List, ListLane, NativeList};
pub use map::{
    DuplicateKey, FixedState, Map, MapIntoIter, MapIter, MapIterMut, MapLane, NativeHashMap,
};
pub use multi_map::{
    MultiMap, MultiMapIter, MultiMapLane, MultiMapValues, MultiMapValuesMut, NativeMultiHashMap,
};
pub use native::{Container, Growable, Native};
pub use queue::{Fifo, NativeQueue, Queue, QueueLane, Unbounded};
pub use reference::{NativeReference, Reference};
pub use ring::QueueDrain;
pub use ring_queue::{Bounded, NativeRingQueue, QueueFull, RingQueue};
pub use set::{NativeHashSet, Set, SetIntoIter, SetIter, SetLane};
pub use shared_values::{Groups, SharedValues};
pub use slice::{NativeSlice, NativeSliceIter, NativeSliceMut, SliceError};
pub use stream::{LaneReader, LaneWriter, NativeStream, Stream, StreamError, StreamWriter};
pub use text::{InvalidUtf8, NativeText, Text};

#[doc = include_str!("../guide/writing_containers.md")]
pub mod writing_containers {}
