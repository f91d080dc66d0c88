//! Shared components.

mod components;
mod derive;
mod panics;
mod slices;
mod values;
mod with_other_kinds;
