//! Memory that jobs give back when they are done.

use std::sync::{Arc, Mutex, PoisonError};

/// Lists that are not in use, to be used again with the memory they have.
pub(crate) struct Pool<T>(Arc<Mutex<Vec<Box<T>>>>);

/// Something from a pool, to which it goes back when it is not needed any more, on whatever thread.
pub(crate) struct Pooled<T> {
    /// Always there, but while this is dropped.
    value: Option<Box<T>>,
    pool: Pool<T>,
}

/// More than that are not kept.
const MOST: usize = 64;

impl<T: Default> Pool<T> {
    /// One that was used before, or a new one.
    pub(crate) fn take(&self) -> Pooled<T> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Pooled { value: Some(value.unwrap_or_default()), pool: self.clone() }
    }
}

impl<T> Pooled<T> {
    #[inline(always)]
    pub(crate) fn get(&self) -> &T {
        self.value.as_deref().expect("it is there until it is dropped")
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect("it is there until it is dropped")
    }
}

impl<T> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Drop for Pooled<T> {
    fn drop(&mut self) {
        let mut kept = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST {
            kept.extend(self.value.take());
        }
    }
}
