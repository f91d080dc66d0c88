#![doc = include_str!("../README.md")]

mod allocator;
mod array;
mod error;
mod lanes;
mod list;
mod native;

pub use allocator::{Allocator, LineAligned, LiveContainer, MemorySource};
pub use array::NativeArray;
pub use error::{AllocationError, CapacityError, Rejected};
pub use lanes::{Lane, Lanes, ParallelWriter};
pub use list::{List, ListLane, NativeList};
pub use native::{Container, Native};
