//! Systems that fail or misbehave.

mod debug;
mod hostile_programs;
mod independence;
mod loud_updates;
mod misbehaving_systems;
mod panic_places;
mod reports;
