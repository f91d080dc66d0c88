//! Changes of structure that are recorded now, by whichever thread, and carried out later.
//!
//! ```text
//! recorder ──> lane: header, payload, header, payload, …      one for each thread or batch that records
//!                     │
//!                     verb: what to do with payloads of this type
//! log: lanes in their order ──> play: runs of one verb, one after the other
//! ```
//!
//! A [`CommandRecorder`] writes [commands](command) to the memory of its [lane](lane), each behind a header with its
//! [verb](verb), which knows the types that were recorded. The [log](log) has all lanes in the order in which they are played, and gives
//! ids to what they create. Verbs carry out as many commands of their own as follow each other, so that what they have in common is
//! done once.

mod buffer;
mod change;
mod check;
mod command;
mod create;
mod error;
mod lane;
mod log;
mod other;
mod placeholder;
mod play;
mod promises;
mod recorder;
mod trace;
mod verb;
mod with_world;

pub use buffer::EntityCommandBuffer;
pub use error::{CommandError, PlaybackError, PlaybackStopped};
pub use log::CommandLog;
pub use other::QueryCommands;
pub use play::CommandFault;
pub(crate) use promises::Promises;
pub use recorder::{CommandRecorder, Created};
pub use with_world::Commands;
