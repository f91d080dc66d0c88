//! Commands: operations that any thread records now, and that a world applies later.
//!
//! ```text
//! recorder ──> stream: target, payload, target, payload, …     one for each thread or batch of a job
//!              runs: 2 × spawn (A, B), 1 × add C, …            vtables of the payloads
//! log: lanes in order ──> playback: run by run, or in coalesced batches
//! ```
//!
//! A [`CommandRecorder`] writes commands to its [stream](stream). Consecutive commands of one type are a run, which has one
//! [vtable](vtable). The log of a buffer has all lanes in the order of [playback](playback), which assigns ids to created entities
//! first. Vtables apply whole runs, so that shared work is done once.
//!
//! If runs are short, [coalescing](coalesce) records the effects of commands, as long as none would fail, and then applies them
//! together. Each entity moves once at most, entities that become alike move together, and effects that cancel out are never
//! applied. Shared values move along with their entities; commands that add or remove them are applied one by one.
//!
//! If runs are long, recording effects takes longer than applying them. Then only runs that name the same entities in the same
//! order, and [cancel out](playback::Playback::skip_cancelled), are skipped. Which way is taken depends on the commands alone.
//!
//! Very long runs of `spawn` use all threads of the world. Its own thread assigns rows and ids, and only moving the values is
//! parallel, so that the result is the same.

mod batch;
mod buffer;
mod check;
mod coalesce;
mod error;
mod modify;
mod playback;
mod recorder;
mod resolved_ids;
mod spawn;
mod stream;
mod vtable;

pub use batch::BatchCommands;
pub use buffer::{CommandLog, EntityCommandBuffer};
pub use error::{CommandError, CommandFault, PlaybackStopped};
pub use recorder::{CommandRecorder, Commands};
