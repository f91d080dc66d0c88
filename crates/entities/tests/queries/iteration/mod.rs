//! Loops over the entities of a query.

mod counts;
mod forms;
mod long_loops;
mod many_archetypes;
mod pairs;
mod panics;
mod structural_changes;
