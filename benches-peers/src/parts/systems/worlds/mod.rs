//! Worlds that run systems, and worlds whose entities move to another.

pub(super) mod ancho;
pub(super) mod bevy;
pub(super) mod flecs;
pub(super) mod hecs;
pub(super) mod legion;
pub(super) mod raw;
pub(super) mod shipyard;
mod types;
pub(super) mod waits;
mod work;
