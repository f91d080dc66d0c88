//! Saving, loading, comparing and rewinding worlds.

mod common;
mod deltas;
mod diffs;
mod history;
mod hostile;
mod model;
mod round_trips;
mod scenes;
mod versions;
