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
    /// Where it is, in the lower half, and the how manieth at this place, in the upper. (Three numbers would be handed over in
    /// memory, two are in registers: ids are handed over for each system that runs.)
    place: u64,
    /// Which world.
    pub(super) world: u32,
}

impl SystemId {
    pub(super) const fn new(world: u32, index: u32, generation: u32) -> Self {
        Self { place: (generation as u64) << 32 | index as u64, world }
    }

    /// Where it is.
    #[inline(always)]
    pub(super) const fn index(self) -> u32 {
        self.place as u32
    }

    /// The how manieth at its place.
    #[inline(always)]
    pub(super) const fn generation(self) -> u32 {
        (self.place >> 32) as u32
    }
}

impl fmt::Debug for SystemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemId({}v{})", self.index(), self.generation())
    }
}
