//! Memory that is kept from one update to the next.

use std::ops::{Deref, DerefMut};

/// A value that is kept for its memory. What is in it counts for one update at most, so that a clone is empty.
#[derive(Debug, Default)]
pub(crate) struct Reused<T>(T);

impl<T: Default> Clone for Reused<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T> Deref for Reused<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Reused<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
