//! A map from old to new entities.

use std::fmt;

use crate::component::ComponentType;
use crate::entity::{Entity, is_id_range};
use crate::field::{EntityRemap, Field};

/// A map from entities of one world to entities of another. Methods that move or copy entities return it.
///
/// Entities that were created together are usually moved together, so the map is small. It has one entry per range of entities
/// whose old and new indices are both consecutive.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct Health(u32);
///
/// let (mut loading, mut game) = (World::new("Loading"), World::new("Game"));
/// game.spawn(());
/// let orc = loading.spawn(Health(20));
/// let moved = game.move_entities_from(&mut loading).unwrap();
/// let orc_in_game = moved.get(orc).unwrap();
/// assert_ne!(orc_in_game, orc);
/// assert_eq!(game.get(orc_in_game), Ok(&Health(20)));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[doc(alias = "EntityMapper")]
#[doc(alias = "EntityRemapInfo")]
pub struct EntityMap {
    /// The ranges of entities, which are disjoint and in ascending order of the old index.
    stretches: Vec<Stretch>,
    /// The number of entities.
    len: usize,
    buckets: Buckets,
    detached: Vec<DetachedLink>,
}

/// A range of entities with consecutive old indices, consecutive new indices, and the same versions.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stretch {
    /// The first old entity.
    old: Entity,
    /// The first new entity.
    new: Entity,
    count: u32,
}

/// An index for many ranges. It divides the old indices into buckets of equal size, and assigns each range to a bucket by its
/// start.
#[derive(Clone, Default, PartialEq, Eq)]
struct Buckets {
    /// For each bucket, the number of the first range that starts in it or later, followed by the number of ranges. Empty if
    /// there are few ranges.
    first: Vec<u32>,
    /// The binary logarithm of the number of indices per bucket.
    shift: u32,
}

/// The maximum number of ranges for which a binary search without buckets is used.
const FEW: usize = 16;

/// A link of a [relationship](crate::Relationship) that ended because only one of its entities was transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetachedLink {
    /// The source component, which the source lost.
    pub component: ComponentType,
    /// The id that the source had before the transfer.
    pub source: Entity,
    /// The id that the target had before the transfer.
    pub target: Entity,
}

impl EntityMap {
    /// Returns the number of entities.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let (mut one, mut other) = (World::new("One"), World::new("Other"));
    /// one.spawn_many((), 1000);
    /// assert_eq!(other.move_entities_from(&mut one).unwrap().len(), 1000);
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if the map is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the new entity for an old one, or `None` if the map does not contain it.
    ///
    /// # Complexity
    ///
    /// Constant if the indices are distributed evenly, in any order of creation. Logarithmic in the number of ranges in the worst
    /// case.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let (mut level, mut game) = (World::new("Level"), World::new("Game"));
    /// game.spawn_many((), 10);
    /// let boss = level.spawn(Health(500));
    /// let map = game.move_entities_from(&mut level)?;
    /// assert_eq!(game.get(map.get(boss).unwrap()), Ok(&Health(500)));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn get(&self, old: Entity) -> Option<Entity> {
        self.stretch_before(old.index())?.get(old)
    }

    /// Iterates over pairs of old and new entities, in ascending order of the old index.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let (mut one, mut other) = (World::new("One"), World::new("Other"));
    /// one.spawn_many((), 3);
    /// let moved = other.move_entities_from(&mut one).unwrap();
    /// assert!(moved.iter().all(|(old, new)| !one.exists(old) && other.exists(new)));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (Entity, Entity)> {
        self.stretches.iter().flat_map(|stretch| {
            let Stretch { old, new, count } = *stretch;
            (0..count).map(move |step| {
                let after =
                    |first: Entity| Entity::from_parts(first.index() + step, first.version());
                (after(old), after(new))
            })
        })
    }

    /// Replaces the entities in a value with their new entities, or with [`Entity::NULL`] if the map does not contain them.
    ///
    /// Use it for references to entities that are stored outside the world.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Entity, World};
    ///
    /// let (mut one, mut other) = (World::new("One"), World::new("Other"));
    /// other.spawn(());
    /// let (leader, elsewhere) = (one.spawn(()), Entity::from_parts(77, 1));
    /// let mut selected = [leader, elsewhere];
    /// other.move_entities_from(&mut one).unwrap().remap(&mut selected);
    /// assert!(other.exists(selected[0]) && selected[1].is_null());
    /// ```
    pub fn remap(&self, value: &mut impl Field) {
        let mut replace = self.replacement();
        value.remap(&mut EntityRemap::new(&mut replace));
    }

    /// Returns the links that ended, because one entity was transferred and the other was not.
    ///
    /// The source of such a link has lost its component, and is not in the buffer of the target. If the entities were copied, only the
    /// copies lost the link.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Parent, World};
    ///
    /// let (mut loading, mut game) = (World::new("Loading"), World::new("Game"));
    /// let ship = loading.spawn(());
    /// let gun = loading.spawn(Parent(ship));
    /// let map = loading.batch(&[gun]).move_to(&mut game)?;
    /// assert_eq!((map.detached()[0].source, map.detached()[0].target), (gun, ship));
    /// assert!(loading.children(ship).is_empty());
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn detached(&self) -> &[DetachedLink] {
        &self.detached
    }

    pub(crate) fn set_detached(&mut self, detached: Vec<DetachedLink>) {
        self.detached = detached;
    }

    /// Returns a function that maps an entity to its new entity, or to null. It is fast for sequences of consecutive entities.
    pub(crate) fn replacement(&self) -> impl FnMut(Entity) -> Entity {
        // The next entity is usually in the same range.
        let mut last = self.stretches.first();
        move |old| {
            if let Some(new) = last.and_then(|stretch| stretch.get(old)) {
                return new;
            }
            let stretch = self.stretch_before(old.index());
            last = stretch.or(last);
            stretch.and_then(|stretch| stretch.get(old)).unwrap_or(Entity::NULL)
        }
    }

    /// Returns the last range that starts at or before an index.
    fn stretch_before(&self, index: u32) -> Option<&Stretch> {
        let lowest = self.stretches.first()?.old.index();
        let from_lowest = index.checked_sub(lowest)?;
        let Buckets { first, shift } = &self.buckets;
        let (start, end) = match first.get((from_lowest >> shift) as usize..) {
            Some(&[start, end, ..]) => (start as usize, end as usize),
            // There are few ranges, or the index is after the last bucket.
            _ => (0, self.stretches.len()),
        };
        let begins_before = |stretch: &Stretch| stretch.old.index() <= index;
        // If no range of the bucket starts at or before the index, the result is the last range before the bucket.
        let after = start + self.stretches[start..end].partition_point(begins_before);
        self.stretches.get(after.checked_sub(1)?)
    }

    /// Adds pairs of entities that the map does not contain yet. Call [`put_in_order`](Self::put_in_order) after the last pair.
    pub(crate) fn add(&mut self, old: &[Entity], new: &[Entity]) {
        debug_assert_eq!(old.len(), new.len());
        if old.is_empty() {
            return;
        }
        self.len += old.len();
        if is_id_range(old) && is_id_range(new) {
            self.add_stretch(Stretch { old: old[0], new: new[0], count: old.len() as u32 });
            return;
        }
        for (&old, &new) in old.iter().zip(new) {
            self.add_stretch(Stretch { old, new, count: 1 });
        }
    }

    fn add_stretch(&mut self, stretch: Stretch) {
        if let Some(last) = self.stretches.last_mut()
            && last.is_continued_by(&stretch)
        {
            last.count += stretch.count;
        } else {
            self.stretches.push(stretch);
        }
    }

    /// Sorts the ranges, so that [`get`](Self::get) finds the added entities.
    pub(crate) fn put_in_order(&mut self) {
        let is_sorted = self.stretches.is_sorted_by_key(|stretch| stretch.old.index());
        if self.stretches.len() > FEW {
            self.buckets = Buckets::sort(&mut self.stretches);
        } else if !is_sorted {
            self.stretches.sort_unstable_by_key(|stretch| stretch.old.index());
        }
        if is_sorted {
            return;
        }
        // Ranges that are adjacent after sorting may be merged.
        let before = self.stretches.len();
        self.stretches.dedup_by(|next, stretch| {
            let continues = stretch.is_continued_by(next);
            stretch.count += if continues { next.count } else { 0 };
            continues
        });
        if self.stretches.len() < before {
            let is_many = self.stretches.len() > FEW;
            self.buckets =
                if is_many { Buckets::sort(&mut self.stretches) } else { Buckets::default() };
        }
    }
}

impl Stretch {
    /// Returns the new entity for an old one, if the range contains the old one.
    #[inline]
    fn get(&self, old: Entity) -> Option<Entity> {
        let Self { old: first, new, count } = *self;
        let step = old.index().wrapping_sub(first.index());
        (step < count && old.version() == first.version())
            .then(|| Entity::from_parts(new.index() + step, new.version()))
    }

    fn is_continued_by(&self, next: &Self) -> bool {
        let follows = |first: Entity, next: Entity| {
            first.index() + self.count == next.index() && first.version() == next.version()
        };
        follows(self.old, next.old) && follows(self.new, next.new)
    }
}

impl Buckets {
    /// Sorts the ranges, of which there is at least one, into a similar number of buckets.
    fn sort(stretches: &mut Vec<Stretch>) -> Self {
        let begins = |stretch: &Stretch| stretch.old.index();
        let (lowest, highest) = stretches
            .iter()
            .map(begins)
            .fold((u32::MAX, 0), |ends, index| (ends.0.min(index), ends.1.max(index)));
        let indices = u64::from(highest - lowest) + 1;
        let each = indices.div_ceil(stretches.len() as u64).next_power_of_two();
        let shift = each.trailing_zeros();
        let part = |stretch: &Stretch| ((begins(stretch) - lowest) >> shift) as usize;
        let parts = ((highest - lowest) >> shift) as usize + 1;
        // `first` is the number of ranges in the preceding buckets.
        let mut first = vec![0; parts + 1];
        stretches.iter().for_each(|stretch| first[part(stretch) + 1] += 1);
        for at in 0..parts {
            first[at + 1] += first[at];
        }
        if !stretches.is_sorted_by_key(begins) {
            let mut next = first.clone();
            let mut sorted = stretches.clone();
            for stretch in &*stretches {
                let place = &mut next[part(stretch)];
                sorted[*place as usize] = *stretch;
                *place += 1;
            }
            // Each bucket has few ranges.
            for ends in first.windows(2) {
                sorted[ends[0] as usize..ends[1] as usize].sort_unstable_by_key(begins);
            }
            *stretches = sorted;
        }
        Self { first, shift }
    }
}

impl fmt::Debug for EntityMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entities(index: impl IntoIterator<Item = u32>) -> Vec<Entity> {
        index.into_iter().map(|index| Entity::from_parts(index, 1 + index % 2)).collect()
    }

    #[test]
    fn entities_are_found_however_they_were_added() {
        let orders: [Vec<u32>; 6] = [
            vec![],
            vec![7],
            (0..1000).collect(),
            (0..1000).rev().collect(),
            (0..1000).map(|at| at * 7 % 1000 * 3).collect(),
            (0..300).map(|at| at * at * 17 % 65_537 * 1001).collect(),
        ];
        for order in orders {
            let old = entities(order.iter().copied());
            let new: Vec<_> = (0..).zip(&old).map(|(at, _)| Entity::from_parts(at, 1)).collect();
            for part in [1, 7, 64, 2000] {
                let mut map = EntityMap::default();
                old.chunks(part).zip(new.chunks(part)).for_each(|(old, new)| map.add(old, new));
                map.put_in_order();
                assert_eq!(map.len(), old.len());
                for (&old, &new) in old.iter().zip(&new) {
                    assert_eq!(map.get(old), Some(new));
                    let other = Entity::from_parts(old.index(), old.version() + 1);
                    assert_eq!(map.get(other), None);
                }
                let mut all: Vec<_> = old.iter().copied().zip(new.iter().copied()).collect();
                all.sort_unstable_by_key(|(old, _)| old.index());
                assert!(map.iter().eq(all));
                for index in (0..70_000).step_by(131).chain([u32::MAX]) {
                    let entity = Entity::from_parts(index, 1 + index % 2);
                    assert_eq!(map.get(entity).is_some(), old.contains(&entity));
                }
            }
        }
    }

    #[test]
    fn what_was_made_together_is_one_stretch() {
        let old: Vec<_> = (5..5000).map(|index| Entity::from_parts(index, 3)).collect();
        let new: Vec<_> = (0..4995).map(|index| Entity::from_parts(index, 1)).collect();
        let mut map = EntityMap::default();
        old.chunks(170).zip(new.chunks(170)).for_each(|(old, new)| map.add(old, new));
        map.put_in_order();
        assert_eq!(map.stretches.len(), 1);
        assert_eq!(map.get(old[4000]), Some(new[4000]));
    }
}
