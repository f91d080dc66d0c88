//! Changes of structure that are recorded now, by whichever thread, and carried out later.
//!
//! ```text
//! recorder ──> lane: target, payload, target, payload, …      one for each thread or batch that records
//!              runs: 2 × spawn (A, B), 1 × add C, …           what the payloads are, and what to do with them
//! log: lanes in their order ──> walk: one run after the other, or stretches of many
//! ```
//!
//! A [`CommandRecorder`] writes [commands](command) to the memory of its [lane](stream). Those that follow each other and do the same
//! are a run, which has a [verb](vtable) that knows the types which were recorded. The [log](log) has all lanes in the order in which
//! they are played, and gives ids to what they create. Verbs carry out whole runs, so that what commands have in common is done once.
//!
//! Where runs are short, what commands have in common is not the verb but the entity, and what it becomes. So a [walk](playback) over such
//! a log has commands [folded](coalesce) first: noted as if they were carried out, as long as none fails, and then carried out together.
//! An entity moves once at most then, those that become alike are moved together, and what cancels out is never done. Shared values
//! that entities have go along with them; what gives or takes one is carried out by itself. Which way is taken depends on the commands
//! alone.
//!
//! In long runs, noting takes longer than carrying out. Of those that name the same entities in the same order it is only asked whether
//! they [cancel out](cancel): then they are left out.
//!
//! Very long runs of `spawn` are carried out on all threads of the world: rows and ids are given to them on its own thread, and only
//! moving the values is shared, so that the result is the same.

mod batch;
mod buffer;
mod cancel;
mod check;
mod coalesce;
mod command;
mod error;
mod function;
mod linked;
mod log;
mod modify;
mod placeholder;
mod play;
mod playback;
mod promises;
mod recorder;
mod slices;
mod spawn;
mod stream;
mod trace;
mod vtable;
mod with_world;

pub use batch::QueryCommands;
pub use buffer::EntityCommandBuffer;
pub use error::{CommandError, PlaybackError, PlaybackStopped};
pub use log::CommandLog;
pub use play::CommandFault;
pub(crate) use promises::Promises;
pub use recorder::{CommandRecorder, Created};
pub(crate) use stream::mark_used;
pub use with_world::Commands;
