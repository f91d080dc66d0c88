//! Commands of systems, and the points at which they are applied.

mod playback;
mod points;
mod skipped;
mod world_commands;
