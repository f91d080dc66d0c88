//! Systems that fail or misbehave.

mod hostile_programs;
mod independence;
mod misbehaving_systems;
mod reports;
