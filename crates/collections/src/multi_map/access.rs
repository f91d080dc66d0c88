//! Insertion, lookup and removal of values in a multi-map.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use super::nodes::{Chain, NIL};
use super::{Head, MultiMap, MultiMapIter, MultiMapValues, MultiMapValuesMut};
use crate::error::expect_memory;
use crate::list::List;

impl<K: Hash + Eq, V, S: BuildHasher> MultiMap<K, V, S> {
    /// Adds a value to a key, after its existing ones.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the map has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::MultiMap::new();
    /// map.add("even", 2);
    /// map.add("odd", 1);
    /// map.add("even", 4);
    /// assert!(map.values_for("even").eq(&[2, 4]));
    /// ```
    #[inline]
    #[track_caller]
    pub fn add(&mut self, key: K, value: V) {
        let hash = self.heads.hash(&key);
        if self.nodes.is_full() || self.heads.is_full() {
            self.grow(hash, &key);
        }
        let head = self.heads.find_or_insert(hash, key, Head::NEW);
        self.nodes.append(&mut head.chain, value);
    }

    /// Reserves room for a value, and for its key if that is new.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn grow(&mut self, hash: u64, key: &K) {
        expect_memory(self.nodes.try_reserve(1));
        let reserved = self.heads.try_reserve(1);
        if self.heads.find_hashed(hash, key).is_none() {
            expect_memory(reserved);
        }
    }

    /// Iterates over the values of a key, in the order in which they were added: none if the key is
    /// missing (Unity's `GetValuesForKey`, `TryGetFirstValue` and `TryGetNextValue`).
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::MultiMap::from([(1, 'a'), (2, 'b'), (1, 'c')]);
    /// assert!(map.values_for(&1).eq(&['a', 'c']));
    /// assert_eq!(map.values_for(&3).next(), None);
    /// ```
    #[inline]
    pub fn values_for<Q>(&self, key: &Q) -> MultiMapValues<'_, V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.nodes.values(self.chain(key))
    }

    /// Iterates over the values of a key, mutably.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::MultiMap::from([(1, 5), (2, 6), (1, 7)]);
    /// map.values_for_mut(&1).for_each(|value| *value += 10);
    /// assert!(map.values_for(&1).eq(&[15, 17]));
    /// ```
    #[inline]
    pub fn values_for_mut<Q>(&mut self, key: &Q) -> MultiMapValuesMut<'_, V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let chain = self.chain(key);
        self.nodes.values_mut(chain)
    }

    /// Returns the first value of a key, if it exists.
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::MultiMap::from([(1, 'a'), (1, 'b')]);
    /// assert_eq!(map.get_first(&1), Some(&'a'));
    /// ```
    #[inline]
    pub fn get_first<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.values_for(key).next()
    }

    /// Returns whether a key has values.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::MultiMap::from([(1, 'a')]).contains_key(&1));
    /// ```
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.chain(key).is_some()
    }

    /// Returns the number of values of a key (Unity's `CountValuesForKey`).
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::MultiMap::from([(1, 'a'), (1, 'b')]);
    /// assert_eq!([map.count_for_key(&1), map.count_for_key(&2)], [2, 0]);
    /// ```
    #[inline]
    pub fn count_for_key<Q>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.chain(key).map_or(0, |chain| chain.count as usize)
    }

    #[inline(always)]
    fn chain<Q>(&self, key: &Q) -> Option<Chain>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.heads.find(key).map(|head| head.chain)
    }

    /// Removes a key with all its values, and returns their number.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::MultiMap::from([(1, 'a'), (2, 'b'), (1, 'c')]);
    /// assert_eq!([map.remove(&1), map.remove(&1)], [2, 0]);
    /// assert_eq!(map.len(), 1);
    /// ```
    pub fn remove<Q>(&mut self, key: &Q) -> usize
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let Some(head) = self.heads.find_entry(key) else { return 0 };
        let ((_, head), _) = head.remove();
        self.nodes.discard(head.chain);
        head.chain.count as usize
    }

    /// Removes all values of a key that are equal to the given one, and returns their number.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::MultiMap::from([(1, 'a'), (1, 'b'), (1, 'a'), (2, 'a')]);
    /// assert_eq!(map.remove_value(&1, &'a'), 2);
    /// assert!(map.values_for(&1).eq(&['b']));
    /// ```
    pub fn remove_value<Q>(&mut self, key: &Q, value: &V) -> usize
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
        V: PartialEq,
    {
        self.retain_key(key, |other| other != value)
    }

    /// Keeps the values of a key for which the function returns `true`, and returns the number of
    /// removed ones (Unity's `Remove` with an iterator).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::MultiMap::from([(1, 5), (1, 6), (1, 7), (2, 6)]);
    /// assert_eq!(map.retain_key(&1, |value| *value % 2 == 1), 1);
    /// assert!(map.values_for(&1).eq(&[5, 7]));
    /// ```
    pub fn retain_key<Q>(&mut self, key: &Q, mut keep: impl FnMut(&mut V) -> bool) -> usize
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let Some(mut head) = self.heads.find_entry(key) else { return 0 };
        let mut removed = 0;
        let mut before = NIL;
        let mut place = head.get().1.chain.first;
        while let Some((value, next)) = self.nodes.get_mut(place) {
            if keep(value) {
                before = place;
            } else {
                let chain = &mut head.get_mut().1.chain;
                // The value is dropped after the map is consistent, since the drop may panic.
                let value = self.nodes.take(chain, before, place);
                removed += 1;
                if chain.count == 0 {
                    head.remove();
                    drop(value);
                    break;
                }
            }
            place = next;
        }
        removed
    }
}

impl<K, V, S> MultiMap<K, V, S> {
    /// Iterates over all values, with their keys: key by key, and for each in the order in which
    /// they were added.
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::MultiMap::from([(1, 5), (2, 6), (1, 7)]);
    /// assert_eq!(map.iter().map(|(key, value)| key * value).sum::<i32>(), 24);
    /// ```
    #[inline]
    pub fn iter(&self) -> MultiMapIter<'_, K, V> {
        MultiMapIter::new(self.heads.pairs.iter(), &self.nodes)
    }

    /// Iterates over the keys, each once, in an unspecified order.
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::MultiMap::from([(1, 'a'), (2, 'b'), (1, 'c')]);
    /// assert_eq!(map.keys().len(), 2);
    /// ```
    #[inline]
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &K> + Clone {
        self.heads.pairs.iter().map(|(key, _)| key)
    }

    /// Returns a sorted list of the keys, each once (Unity's `GetUniqueKeyArray`).
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::MultiMap::from([(2, 'b'), (1, 'a'), (2, 'c')]);
    /// assert_eq!(map.unique_keys()[..], [1, 2]);
    /// ```
    pub fn unique_keys(&self) -> List<K>
    where
        K: Ord + Clone,
    {
        let mut keys: List<K> = self.keys().cloned().collect();
        keys.sort_unstable();
        keys
    }

    /// Returns a list of the keys, each repeated for each of its values (Unity's `GetKeyArray`).
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::MultiMap::from([(1, 'a'), (1, 'b')]);
    /// assert_eq!(map.to_key_list()[..], [1, 1]);
    /// ```
    pub fn to_key_list(&self) -> List<K>
    where
        K: Clone,
    {
        self.iter().map(|(key, _)| key.clone()).collect()
    }

    /// Returns a list of the values, in the order of the [keys](Self::to_key_list) (Unity's
    /// `GetValueArray`).
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::MultiMap::from([(1, 'a'), (1, 'b')]);
    /// assert_eq!(map.to_value_list()[..], ['a', 'b']);
    /// ```
    pub fn to_value_list(&self) -> List<V>
    where
        V: Clone,
    {
        self.iter().map(|(_, value)| value.clone()).collect()
    }

    /// Returns a list of the keys, and one of the values in the same order (Unity's `GetKeyValueArrays`).
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::MultiMap::from([(1, 'a'), (1, 'b')]);
    /// let (keys, values) = map.to_key_value_lists();
    /// assert_eq!((&keys[..], &values[..]), (&[1, 1][..], &['a', 'b'][..]));
    /// ```
    pub fn to_key_value_lists(&self) -> (List<K>, List<V>)
    where
        K: Clone,
        V: Clone,
    {
        (self.to_key_list(), self.to_value_list())
    }
}
