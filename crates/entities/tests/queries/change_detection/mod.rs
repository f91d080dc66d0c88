//! Change filters.

mod added;
mod changes;
mod either_changed;
mod tracked_changes;
mod tracked_model;
