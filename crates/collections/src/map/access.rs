//! Insertion, lookup and removal of pairs in a map.

use std::any::type_name;
use std::borrow::Borrow;
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::mem;
use std::ops::Index;

use hashbrown::hash_table::Entry;

use super::{Map, MapIter, MapIterMut};
use crate::error::{Rejected, debug_as_display};
use crate::list::List;

impl<K: Hash + Eq, V, S: BuildHasher> Map<K, V, S> {
    /// Sets the value of a key, and adds the key if it is new (Unity's indexer). Returns the old
    /// value.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the map has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut scores = ancho_collections::Map::new();
    /// assert_eq!(scores.insert("Ada", 10), None);
    /// assert_eq!(scores.insert("Ada", 20), Some(10));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.table.entry(&key) {
            Entry::Occupied(mut pair) => Some(mem::replace(&mut pair.get_mut().1, value)),
            Entry::Vacant(room) => {
                room.insert((key, value));
                None
            }
        }
    }

    /// Adds a new key (Unity's `Add`).
    ///
    /// # Errors
    ///
    /// Returns the key and the value, and changes nothing, if the key exists already (A0018).
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the map has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut scores = ancho_collections::Map::new();
    /// scores.add("Ada", 10).unwrap();
    /// assert_eq!(scores.add("Ada", 20).unwrap_err().value, ("Ada", 20));
    /// assert_eq!(scores["Ada"], 10);
    /// ```
    #[inline]
    #[track_caller]
    pub fn add(&mut self, key: K, value: V) -> Result<(), Rejected<(K, V), DuplicateKey>> {
        match self.table.entry(&key) {
            Entry::Occupied(_) => {
                Err(Rejected { value: (key, value), error: DuplicateKey::of::<K>() })
            }
            Entry::Vacant(room) => {
                room.insert((key, value));
                Ok(())
            }
        }
    }

    /// Adds a key if it is new, and returns whether it was added (Unity's `TryAdd`).
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the map has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut scores = ancho_collections::Map::new();
    /// assert!(scores.try_add("Ada", 10));
    /// assert!(!scores.try_add("Ada", 20));
    /// assert_eq!(scores["Ada"], 10);
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_add(&mut self, key: K, value: V) -> bool {
        match self.table.entry(&key) {
            Entry::Occupied(_) => false,
            Entry::Vacant(room) => {
                room.insert((key, value));
                true
            }
        }
    }

    /// Returns the value of a key, and adds the key with the function's result if it is new.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the map has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut counts = ancho_collections::Map::new();
    /// for letter in "hello".chars() {
    ///     *counts.get_or_insert_with(letter, || 0) += 1;
    /// }
    /// assert_eq!(counts[&'l'], 2);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        let pair = match self.table.entry(&key) {
            Entry::Occupied(pair) => pair,
            Entry::Vacant(room) => room.insert((key, value())),
        };
        &mut pair.into_mut().1
    }

    /// Returns the value of a key, if it exists (Unity's `TryGetValue`).
    ///
    /// `map[&key]` also returns the value, and panics with code A0018 if the key is missing.
    ///
    /// # Examples
    ///
    /// ```
    /// let scores = ancho_collections::Map::from([("Ada", 10)]);
    /// assert_eq!(scores.get("Ada"), Some(&10));
    /// assert_eq!(scores.get("Bob"), None);
    /// ```
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.table.find(key)
    }

    /// Returns a mutable reference to the value of a key, if it exists.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut scores = ancho_collections::Map::from([("Ada", 10)]);
    /// *scores.get_mut("Ada").unwrap() += 5;
    /// assert_eq!(scores["Ada"], 15);
    /// ```
    #[inline]
    pub fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.table.find_mut(key)
    }

    /// Returns whether a key exists.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Map::from([("Ada", 10)]).contains_key("Ada"));
    /// ```
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.get(key).is_some()
    }

    /// Removes a key, if it exists, and returns its value.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut scores = ancho_collections::Map::from([("Ada", 10)]);
    /// assert_eq!([scores.remove("Ada"), scores.remove("Ada")], [Some(10), None]);
    /// ```
    #[inline]
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let ((_, value), _) = self.table.find_entry(key)?.remove();
        Some(value)
    }
}

impl<K, V, S> Map<K, V, S> {
    /// Keeps the pairs for which the function returns `true`.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut squares: ancho_collections::Map<_, _> = (0..10).map(|i| (i, i * i)).collect();
    /// squares.retain(|key, _| key % 5 == 0);
    /// assert_eq!(squares.len(), 2);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.table.pairs.retain(|(key, value)| keep(key, value));
    }

    /// Iterates over the keys and their values. See [`Map`] for the order.
    ///
    /// # Examples
    ///
    /// ```
    /// let scores = ancho_collections::Map::from([("Ada", 10), ("Bob", 20)]);
    /// assert_eq!(scores.iter().map(|(_, score)| score).sum::<i32>(), 30);
    /// ```
    #[inline]
    pub fn iter(&self) -> MapIter<'_, K, V> {
        MapIter(self.table.pairs.iter())
    }

    /// Iterates over the keys and their values, with mutable values.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut scores = ancho_collections::Map::from([("Ada", 10), ("Bob", 20)]);
    /// scores.iter_mut().for_each(|(_, score)| *score += 1);
    /// assert_eq!(scores["Ada"], 11);
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> MapIterMut<'_, K, V> {
        MapIterMut(self.table.pairs.iter_mut())
    }

    /// Iterates over the keys.
    ///
    /// # Examples
    ///
    /// ```
    /// let scores = ancho_collections::Map::from([("Ada", 10), ("Bob", 20)]);
    /// assert!(scores.keys().any(|name| *name == "Bob"));
    /// ```
    #[inline]
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// Iterates over the values, in the order of the [keys](Self::keys).
    ///
    /// # Examples
    ///
    /// ```
    /// let scores = ancho_collections::Map::from([("Ada", 10), ("Bob", 20)]);
    /// assert_eq!(scores.values().max(), Some(&20));
    /// ```
    #[inline]
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// Iterates over the values, mutably.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut scores = ancho_collections::Map::from([("Ada", 10), ("Bob", 20)]);
    /// scores.values_mut().for_each(|score| *score = 0);
    /// assert_eq!(scores["Bob"], 0);
    /// ```
    #[inline]
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut V> {
        self.iter_mut().map(|(_, value)| value)
    }

    /// Returns a list of the keys (Unity's `GetKeyArray`).
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::Map::from([(1, "one")]);
    /// assert_eq!(map.to_key_list()[..], [1]);
    /// ```
    pub fn to_key_list(&self) -> List<K>
    where
        K: Clone,
    {
        self.keys().cloned().collect()
    }

    /// Returns a list of the values, in the order of the [keys](Self::to_key_list) (Unity's
    /// `GetValueArray`).
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::Map::from([(1, "one")]);
    /// assert_eq!(map.to_value_list()[..], ["one"]);
    /// ```
    pub fn to_value_list(&self) -> List<V>
    where
        V: Clone,
    {
        self.values().cloned().collect()
    }

    /// Returns a list of the keys, and one of their values in the same order (Unity's
    /// `GetKeyValueArrays`).
    ///
    /// # Examples
    ///
    /// ```
    /// let squares: ancho_collections::Map<_, _> = (0..10).map(|i| (i, i * i)).collect();
    /// let (keys, values) = squares.to_key_value_lists();
    /// assert!(keys.iter().zip(&values).all(|(key, value)| key * key == *value));
    /// ```
    pub fn to_key_value_lists(&self) -> (List<K>, List<V>)
    where
        K: Clone,
        V: Clone,
    {
        (self.to_key_list(), self.to_value_list())
    }
}

impl<K, V, S, Q> Index<&Q> for Map<K, V, S>
where
    K: Hash + Eq + Borrow<Q>,
    Q: Hash + Eq + ?Sized,
    S: BuildHasher,
{
    type Output = V;

    /// Returns the value of a key.
    ///
    /// # Panics
    ///
    /// Panics with code A0018 if the key is missing.
    #[inline]
    #[track_caller]
    fn index(&self, key: &Q) -> &V {
        match self.get(key) {
            Some(value) => value,
            None => missing_key::<K>(),
        }
    }
}

/// Error of adding a key that exists already. Code A0018.
///
/// # Examples
///
/// ```
/// let mut scores = ancho_collections::Map::from([("Ada", 10)]);
/// let refused = scores.add("Ada", 20).unwrap_err();
/// assert_eq!(refused.value, ("Ada", 20));
/// assert!(refused.to_string().starts_with("A0018: a key of type `&str` is in the map already; "));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The key's type.
    pub key_type: &'static str,
}

impl DuplicateKey {
    pub(crate) fn of<K>() -> Self {
        Self { key_type: type_name::<K>() }
    }
}

impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "A0018: a key of type `{}` is in the map already; use `insert` to replace its value, or \
             `try_add` to leave it",
            self.key_type
        )
    }
}

impl Error for DuplicateKey {}

debug_as_display!(DuplicateKey);

/// Panics because a key is missing. Keys need not be printable, so the message names their type.
#[cold]
#[inline(never)]
#[track_caller]
fn missing_key<K>() -> ! {
    panic!(
        "A0018: a key of type `{}` is not in the map; use `get` if it may be missing",
        type_name::<K>()
    );
}
