//! Archetypes, and entities that change theirs.
#![forbid(unsafe_code)]

mod creation;
mod of_other_worlds;
mod set_archetype;
