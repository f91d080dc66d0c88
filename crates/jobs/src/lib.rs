#![doc = include_str!("../README.md")]
// Under loom, only `tests/loom.rs` is compiled, which includes source files of this crate: see `primitive`.
#![cfg(not(loom))]

mod claims;
mod context;
mod data;
mod dependents;
mod deque;
mod dispose;
mod error;
mod failure;
mod gate;
mod handle;
mod injector;
mod job;
mod mode;
mod node;
mod notes;
mod parker;
mod participant;
mod pool;
mod primitive;
mod profile;
mod ranges;
mod safety;
mod scheduler;
mod sequence;
mod sleep;
mod table;
mod wait;
mod work;

#[cfg(feature = "derive")]
pub use ancho_derive::{JobStruct, ParallelJobStruct};
pub use claims::BatchInfo;
pub use context::{current_job, thread_index};
pub use data::{JobData, ParallelJobData, Plain};
pub use error::{AccessError, Kept, PoolError, ScheduleError};
pub use failure::{JobFailed, note_panic};
pub use handle::JobHandle;
pub use job::{Job, JobStruct, ParallelFor, ParallelForBatch, ParallelJobStruct};
pub use mode::ExecutionMode;
pub use pool::{JobPool, JobPoolBuilder};
#[doc(hidden)]
pub use profile::HAS_CLOCK;
pub use profile::{JobEvent, write_chrome_trace};
#[doc(hidden)]
pub use safety::HeldSlice;
pub use safety::{
    Access, AccessList, CellConcurrent, CellRead, CellWrite, ConcurrentWrite, ContainerLabel,
    Contiguous, Epoch, EpochStamp, Fence, Guarded, Held, JobCell, JobSlice, SliceMemory, SliceRead,
    SliceUnrestricted, SliceWrite, SliceWriteOnly, UnrestrictedSlice, WriteOnlySlice,
};
pub use scheduler::{IndexList, JobBuilder, JobScheduler};
pub use work::Work;
