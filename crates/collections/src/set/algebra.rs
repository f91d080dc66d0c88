//! Set algebra with the values of another collection.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use super::Set;

impl<T: Hash + Eq, S: BuildHasher> Set<T, S> {
    /// Adds copies of all the given values: of another set, a slice, or any iterator.
    ///
    /// To move values instead, use [`extend`](Extend::extend).
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the set has to grow and there is no memory for it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::Set;
    ///
    /// let mut set = Set::from([1, 2]);
    /// set.union_with(&Set::from([2, 3]));
    /// set.union_with([4]);
    /// assert_eq!(set, [1, 2, 3, 4].into());
    /// ```
    #[track_caller]
    pub fn union_with<I>(&mut self, values: I)
    where
        I: IntoIterator<Item: Borrow<T>>,
        T: Clone,
    {
        for value in values {
            let value = value.borrow();
            if !self.contains(value) {
                self.add(value.clone());
            }
        }
    }

    /// Removes all values except the given ones.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::Set;
    ///
    /// let mut set = Set::from([1, 2, 3]);
    /// set.intersect_with(&Set::from([2, 3, 4]));
    /// assert_eq!(set, [2, 3].into());
    /// ```
    pub fn intersect_with<I>(&mut self, values: I)
    where
        I: IntoIterator<Item: Borrow<T>>,
    {
        // Marked first, so that a panic removes nothing.
        let mut given = vec![false; self.map.table().num_buckets()];
        for value in values {
            let value = value.borrow();
            let hash = self.map.hasher().hash_one(value);
            if let Some(bucket) =
                self.map.table().find_bucket_index(hash, |(other, ())| other == value)
            {
                given[bucket] = true;
            }
        }
        let buckets: Vec<usize> = self.map.table().iter_buckets().collect();
        for bucket in buckets.into_iter().filter(|&bucket| !given[bucket]) {
            if let Ok(value) = self.map.table_mut().get_bucket_entry(bucket) {
                value.remove();
            }
        }
    }

    /// Removes all the given values.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::Set;
    ///
    /// let mut set = Set::from([1, 2, 3]);
    /// set.except_with(&Set::from([2, 3, 4]));
    /// assert_eq!(set, [1].into());
    /// ```
    pub fn except_with<I>(&mut self, values: I)
    where
        I: IntoIterator<Item: Borrow<T>>,
    {
        for value in values {
            self.remove(value.borrow());
        }
    }
}
