//! [`EntityRemap`]: replacement of the entities in values.

use std::fmt;

use crate::Entity;

/// A mapping from old to new entities, applied when values move to other entities or another world.
///
/// The mapping wraps a function. [`Entity::NULL`] maps to itself, without a call of the function.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Entity, EntityRemap, Field};
///
/// let mut targets = [Entity::from_parts(4, 1), Entity::NULL];
/// let mut shift = |entity: Entity| Entity::from_parts(entity.index() + 100, 1);
/// targets.remap(&mut EntityRemap::new(&mut shift));
/// assert_eq!(targets, [Entity::from_parts(104, 1), Entity::NULL]);
/// ```
pub struct EntityRemap<'a> {
    map: &'a mut (dyn FnMut(Entity) -> Entity + 'a),
    /// The number of values of a column whose replacement has begun. If one panics, the caller can continue with the next value.
    begun: usize,
}

impl<'a> EntityRemap<'a> {
    /// Creates a mapping from a function.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Entity, EntityRemap};
    ///
    /// let mut forget = |_| Entity::NULL;
    /// let mut remap = EntityRemap::new(&mut forget);
    /// assert!(remap.apply(Entity::from_parts(4, 1)).is_null());
    /// ```
    pub fn new(map: &'a mut (dyn FnMut(Entity) -> Entity + 'a)) -> Self {
        Self { map, begun: 0 }
    }

    /// Records that the replacement of the next value of a column begins.
    #[inline]
    pub(crate) fn begin_value(&mut self) {
        self.begun += 1;
    }

    /// Returns the number of values that were begun, and resets it to zero.
    pub(crate) fn take_begun(&mut self) -> usize {
        std::mem::take(&mut self.begun)
    }

    /// Returns the replacement of an entity.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Entity, EntityRemap};
    ///
    /// let mut map = |entity: Entity| Entity::from_parts(entity.index(), 9);
    /// let mut remap = EntityRemap::new(&mut map);
    /// assert_eq!(remap.apply(Entity::from_parts(4, 1)), Entity::from_parts(4, 9));
    /// assert_eq!(remap.apply(Entity::NULL), Entity::NULL);
    /// ```
    #[inline]
    #[must_use = "the entity itself stays as it is"]
    pub fn apply(&mut self, entity: Entity) -> Entity {
        if entity.is_null() { entity } else { (self.map)(entity) }
    }
}

impl fmt::Debug for EntityRemap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityRemap").finish_non_exhaustive()
    }
}
