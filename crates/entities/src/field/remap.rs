//! New entities in the place of old ones.

use std::fmt;

use crate::Entity;

/// What entities become when values are moved to where they have other names.
///
/// It stands around a function, which is never asked about [`Entity::NULL`]: null stays null.
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
    /// How many values of a column were begun with, so that somebody can go on behind one that panics.
    begun: usize,
}

impl<'a> EntityRemap<'a> {
    /// Makes one that asks a function.
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

    /// Notes that the next value of a column is begun with.
    #[inline]
    pub(crate) fn begin_value(&mut self) {
        self.begun += 1;
    }

    /// How many values were begun with, and are forgotten.
    pub(crate) fn take_begun(&mut self) -> usize {
        std::mem::take(&mut self.begun)
    }

    /// Returns what takes the place of an entity.
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
