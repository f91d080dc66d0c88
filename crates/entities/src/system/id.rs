//! Which system.

use std::fmt;

/// A system of a world: what [`World::add_system`](crate::World::add_system) returns.
///
/// It is of one world, and of one system: when that is removed, it is nobody's. Unity's `SystemHandle`.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
///
/// fn nothing() {}
///
/// let mut world = World::new("Simulation");
/// let id = world.add_system(nothing);
/// assert!(world.has_system(id));
/// world.remove_system(id).unwrap();
/// assert!(!world.has_system(id));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SystemId {
    /// Which world.
    pub(super) world: u32,
    /// Where it is.
    pub(super) index: u32,
    /// The how manieth at this place.
    pub(super) generation: u32,
}

impl fmt::Debug for SystemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemId({}v{})", self.index, self.generation)
    }
}
