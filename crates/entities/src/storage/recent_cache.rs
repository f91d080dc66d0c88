//! A map whose values are never removed, with a small cache of recently used keys.

use std::hash::Hash;
use std::ops::Index;

use ancho_collections::FixedState;
use hashbrown::HashMap;

/// A map whose values also have numbers, in the order of insertion. Values are never removed.
///
/// Up to `RECENT` recently used keys are found without a lookup in the map, because callers often alternate between a few keys.
pub(crate) struct RecentCache<K, V, const RECENT: usize> {
    list: Vec<V>,
    numbers: HashMap<K, u32, FixedState>,
    /// A direct-mapped cache of recently used keys. It is empty until the first key is found.
    recent: Vec<Option<(K, u32)>>,
}

/// A key of a [`RecentCache`].
pub(crate) trait CacheKey: Copy + Eq + Hash {
    /// Returns the place of the key in the cache. Keys that often alternate should have different places.
    fn place(self) -> u32;
}

impl CacheKey for (u32, u32) {
    #[inline]
    fn place(self) -> u32 {
        self.0 << 2 ^ self.1
    }
}

impl<K: CacheKey, V, const RECENT: usize> RecentCache<K, V, RECENT> {
    /// Returns the number of a key's value, or `None` if the key was not inserted.
    #[inline]
    pub(crate) fn find(&mut self, key: K) -> Option<u32> {
        let place = key.place() as usize % RECENT;
        match self.recent.get(place) {
            Some(&Some((recent, number))) if recent == key => Some(number),
            _ => self.look_up(key, place),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, key: K, place: usize) -> Option<u32> {
        let number = *self.numbers.get(&key)?;
        if self.recent.is_empty() {
            self.recent.resize(RECENT, None);
        }
        self.recent[place] = Some((key, number));
        Some(number)
    }

    /// Inserts the value of a key, and returns its number.
    pub(crate) fn insert(&mut self, key: K, value: V) -> u32 {
        let number = u32::try_from(self.list.len()).expect("fewer values than entities");
        self.list.push(value);
        self.numbers.insert(key, number);
        number
    }

    /// Returns the value of a key. Calls `make` and inserts the result if the key is new.
    #[inline(always)]
    pub(crate) fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &V {
        let place = key.place() as usize % RECENT;
        let number = match self.recent.get(place) {
            Some(&Some((recent, number))) if recent == key => number,
            _ => self.look_up_or_insert(key, place, make),
        };
        &self[number]
    }

    #[cold]
    fn look_up_or_insert(&mut self, key: K, place: usize, make: impl FnOnce() -> V) -> u32 {
        match self.look_up(key, place) {
            Some(number) => number,
            None => self.insert(key, make()),
        }
    }
}

impl<K, V, const RECENT: usize> Default for RecentCache<K, V, RECENT> {
    fn default() -> Self {
        Self { list: Vec::new(), numbers: HashMap::default(), recent: Vec::new() }
    }
}

impl<K, V, const RECENT: usize> Index<u32> for RecentCache<K, V, RECENT> {
    type Output = V;

    #[inline]
    fn index(&self, number: u32) -> &V {
        &self.list[number as usize]
    }
}
