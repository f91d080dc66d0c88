//! Entity ids.

use std::fmt;

/// An entity id: the index of a slot in the entity table of its world, and the version of that slot.
///
/// An `Entity` has 8 bytes, is `Copy`, can be stored in components, and may outlive the entity that it refers to.
/// [`exists`](crate::EntityManager::exists) tests whether the entity still exists.
///
/// Two worlds use the same ids for different entities. An id of one world is meaningless in another world, unless one is a
/// [fork](crate::World::fork) of the other.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Entity, World};
///
/// let mut world = World::new("Simulation");
/// let first = world.spawn(());
/// assert_eq!((first.index(), first.version()), (0, 1));
/// assert!(world.exists(first));
/// assert!(!world.exists(Entity::NULL));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(C, align(8))]
pub struct Entity {
    index: u32,
    version: u32,
}

impl Entity {
    /// The null id, which no entity has. It is all zeros, so zeroed memory contains null references.
    #[doc(alias = "PLACEHOLDER")]
    pub const NULL: Self = Self { index: 0, version: 0 };

    /// Marks a command whose payload was used. It is stored as the command's target, and is neither an entity nor a placeholder.
    pub(crate) const USED: Self = Self { index: u32::MAX, version: u32::MAX };

    /// Creates an id from its parts, for example from a file or a message.
    ///
    /// The entity need not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Entity, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(());
    /// let message = (orc.index(), orc.version());
    /// let received = Entity::from_parts(message.0, message.1);
    /// assert_eq!(received, orc);
    /// assert!(!world.exists(Entity::from_parts(message.0, message.1 + 1)));
    /// ```
    pub const fn from_parts(index: u32, version: u32) -> Self {
        Self { index, version }
    }

    /// Returns the index of the slot in the world's entity table.
    pub const fn index(self) -> u32 {
        self.index
    }

    /// Returns the version of the slot, which distinguishes successive entities. Versions of living entities are not zero.
    pub const fn version(self) -> u32 {
        self.version
    }

    /// Returns `true` for [`Entity::NULL`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Default)]
    /// struct Target(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// assert!(Target::default().0.is_null());
    /// assert!(!world.spawn(()).is_null());
    /// ```
    pub const fn is_null(self) -> bool {
        self.index == 0 && self.version == 0
    }

    /// Returns `true` if this id is a placeholder for an entity that a command creates: see
    /// [`CommandRecorder`](crate::CommandRecorder).
    ///
    /// No entity of a world is a placeholder.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{EntityCommandBuffer, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// let orc = buffer.commands()?.spawn(());
    /// assert!(orc.is_placeholder());
    /// world.play(&mut buffer)?;
    /// assert!(!buffer.resolve(orc).unwrap().is_placeholder());
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    pub const fn is_placeholder(self) -> bool {
        self.index >= 1 << 31
    }

    /// Returns the bits of a placeholder without the highest bit.
    #[inline]
    pub(crate) const fn placeholder_bits(self) -> u64 {
        (self.version as u64) << 31 | (self.index & (u32::MAX >> 1)) as u64
    }

    /// Returns the lane and the number of a placeholder. The documentation of `placeholder.rs` shows the encoding.
    #[inline]
    pub(crate) const fn placeholder(self) -> Option<(u32, u32)> {
        if !self.is_placeholder() {
            return None;
        }
        let bits = self.placeholder_bits();
        let lane_bits = if bits >> 62 & 1 == 0 { 10 } else { 20 };
        let number_bits = if bits >> 61 & 1 == 0 { 16 } else { 24 };
        let lane = bits >> number_bits & ((1 << lane_bits) - 1);
        Some((lane as u32, (bits & ((1 << number_bits) - 1)) as u32))
    }

    /// Returns the id as one number: the version in the upper half, the index in the lower.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Entity;
    ///
    /// let entity = Entity::from_parts(5, 2);
    /// assert_eq!(entity.to_bits(), 0x0000_0002_0000_0005);
    /// assert_eq!(Entity::from_bits(entity.to_bits()), entity);
    /// ```
    pub const fn to_bits(self) -> u64 {
        (self.version as u64) << 32 | self.index as u64
    }

    /// Creates an id from the result of [`to_bits`](Self::to_bits).
    pub const fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, version: (bits >> 32) as u32 }
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            return f.pad("null");
        }
        if let Some((lane, number)) = self.placeholder() {
            return f.pad(&format!("placeholder {lane}.{number}"));
        }
        f.pad(&format!("{}v{}", self.index, self.version))
    }
}

impl fmt::Debug for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns `true` if the entities have consecutive indices and the same version. There has to be at least one entity.
pub(crate) fn is_id_range(entities: &[Entity]) -> bool {
    let (first, last) = (entities[0], entities[entities.len() - 1]);
    if last.index().wrapping_sub(first.index()) as usize != entities.len() - 1 {
        return false;
    }
    let stretch = (first.to_bits()..).zip(entities);
    // The loop vectorises, because it has no early exit.
    stretch.fold(0, |differ, (bits, entity)| differ | (bits ^ entity.to_bits())) == 0
}
