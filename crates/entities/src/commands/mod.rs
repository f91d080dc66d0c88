//! Commands: operations that are recorded now, on any thread, and applied to a world later.
//!
//! ```text
//! recorder ──> stream: target, payload, target, payload, …     one for each thread or batch of a job
//!              runs: 2 × spawn (A, B), 1 × add C, …            vtables of the payloads
//! log: lanes in order ──> playback: run by run, or in coalesced batches
//! ```
//!
//! A [`CommandRecorder`] writes commands to its [stream](stream). Consecutive commands of one type form a run, which has one
//! [vtable](vtable). The log of a buffer has all lanes. [Playback](playback) first assigns ids to created entities, then applies
//! the lanes in order. A vtable applies a whole run, so that shared work is done once.
//!
//! A command whose entity is gone is skipped. If another command fails, its fault is added to the [report](report), and playback
//! continues after it. A strict world stops. The hot paths do not test whether entities are gone: they fail for a missing entity, and
//! then the entity's version decides.
//!
//! If runs are short, [coalescing](coalesce) records the effects of commands until a command would fail, and then applies the
//! effects together. Each entity moves at most once, entities with the same changes move together, and effects that cancel out are
//! never applied. Entities keep their shared values when they move. Commands that add or remove shared values are applied one by
//! one.
//!
//! If runs are long, recording effects takes longer than applying them. Then playback only skips runs that name the same entities
//! in the same order and [cancel out](playback::Playback::skip_cancelled). The choice depends on the commands alone.
//!
//! Commands that need the [world](world_command) interrupt playback: the world applies them, and playback continues.
//!
//! Very long runs of `spawn` use all threads of the world. The world's thread assigns rows and ids, and only moving the values is
//! parallel, so the result does not depend on the number of threads.

mod batch;
mod buffer;
mod check;
mod coalesce;
mod entity;
mod error;
mod hierarchy;
mod modify;
mod playback;
mod recorder;
mod report;
mod resolved_ids;
mod spawn;
mod stream;
mod vtable;
mod world_command;

pub use batch::BatchCommands;
pub use buffer::{CommandLog, EntityCommandBuffer};
pub use entity::EntityCommands;
pub use error::{CommandError, CommandFault};
pub use hierarchy::ChildCommands;
pub use recorder::{CommandRecorder, Commands};
pub use report::{PlaybackReport, UnappliedCommand};
pub(crate) use resolved_ids::ResolvedIds;
pub(crate) use world_command::{PlaybackHost, WorldCommand, WorldCommandName};
