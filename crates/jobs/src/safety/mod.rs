//! Access checks for containers.
//!
//! Every container that jobs share has a *slot*, which records the uncompleted jobs that use it. A job that conflicts
//! with one of them, without depending on it, is refused when it is scheduled. The owner is also refused access while
//! a conflicting job is uncompleted. "Uncompleted" does not mean "unfinished": a conflict is found on every run, even
//! if the other job happens to be done already.
//!
//! The check is made once for each container and schedule or access, and never for each element.
//!
//! *Why a job may outlive the borrow that scheduled it.* A container's memory is a counted block that the job holds
//! too, so it lives long enough without relying on a destructor. A token borrows the container until the job is
//! scheduled, so no reference of the owner's can be alive then. From that moment, the slot replaces the borrow.
//!
//! *Threads.* A slot is touched only through its container, or through tokens that borrow it. Containers are `Send`
//! and not `Sync`, and tokens borrow them, so only one thread at a time reaches a slot. Jobs never read slots.

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
