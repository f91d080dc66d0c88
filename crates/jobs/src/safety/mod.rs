//! Who may use a container, and when: the third ring of safety.
//!
//! Every container that jobs share carries a *slot*, which remembers the jobs that use it and were
//! not completed. A job that would conflict with one of them, without depending on it, is refused
//! when it is scheduled; the owner who touches the container meanwhile is refused too. "Not completed"
//! is not "not finished": a conflict is found on every run, also where the other job happens to be
//! done already.
//!
//! The check is made once for each container and schedule, or access, and never for each element.
//!
//! *Why a job may outlive the borrow that scheduled it.* A container's memory is a counted block that
//! the job holds too, so it lives long enough without anyone's destructor having run. A token borrows
//! the container until the job is scheduled, so that no reference of the owner's can be alive then;
//! from that moment the slot stands in for the borrow.
//!
//! *Threads.* A slot is touched only through its container, or through tokens that borrow it.
//! Containers are `Send` and not `Sync`, and tokens borrow them, so one thread at a time does. Jobs never
//! look at slots.

mod access;
mod cell;
mod contiguous;
mod elements;
mod epoch;
mod fence;
mod guarded;
mod label;
mod slice;
mod slice_tokens;
mod slot;
mod write_only;

pub(crate) use access::Declared;
pub use access::{Access, AccessList};
pub use cell::{CellConcurrent, CellRead, CellWrite, ConcurrentWrite, JobCell};
pub use contiguous::{Contiguous, HeldSlice};
pub use elements::SliceMemory;
pub use epoch::{Epoch, EpochStamp};
pub use fence::Fence;
pub use guarded::{Guarded, Held};
pub use label::ContainerLabel;
pub use slice::JobSlice;
pub use slice_tokens::{SliceRead, SliceUnrestricted, SliceWrite, UnrestrictedSlice};
pub(crate) use slot::{Slot, SlotConflict, Use};
pub use write_only::{SliceWriteOnly, WriteOnlySlice};
