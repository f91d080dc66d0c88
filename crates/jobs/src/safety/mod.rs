//! Access checks for containers.
//!
//! Every container that jobs share has a *slot*, which records the uncompleted jobs that use the container. If a job conflicts with
//! one of these jobs, and does not depend on it, scheduling the job fails. The owner is also refused access while a conflicting job
//! is uncompleted. "Uncompleted" does not mean "unfinished": a conflict is found on every run, even if the other job has already
//! finished.
//!
//! The check is made once per container, for each scheduled job and each access of the owner, and never for each element.
//!
//! *Why a job may outlive the borrow that scheduled it.* A container's memory is a reference-counted block that the job holds too,
//! so it lives long enough without relying on a destructor. A token borrows the container until the job is scheduled, so the owner
//! cannot have a conflicting reference at that time. From then on, the slot replaces the borrow.
//!
//! *Threads.* A slot is accessed only through its container, or through tokens that borrow the container. Containers are `Send` and
//! not `Sync`, and tokens borrow them, so only one thread at a time accesses a slot. Jobs never read slots.

mod access;
mod cell;
mod contiguous;
mod epoch;
mod fence;
mod guarded;
mod label;
mod slice;
mod slice_tokens;
mod slot;

pub(crate) use access::Declared;
pub use access::{Access, AccessList};
pub use cell::{CellConcurrent, CellRead, CellWrite, ConcurrentWrite, JobCell};
pub use contiguous::{Contiguous, HeldSlice};
pub use epoch::{Epoch, EpochStamp};
pub use fence::Fence;
pub use guarded::{Guarded, Held};
pub use label::ContainerLabel;
pub use slice::{JobSlice, SliceMemory};
pub use slice_tokens::{
    SliceRead, SliceUnrestricted, SliceWrite, SliceWriteOnly, UnrestrictedSlice, WriteOnlySlice,
};
pub(crate) use slot::{Slot, SlotConflict, Use};
