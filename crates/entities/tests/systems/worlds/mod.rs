//! Worlds with systems: their end, replaced entities, and memory.

mod clock;
mod end_of_a_world;
mod replaced_worlds;
mod rollback;
mod state;
mod update_memory;
