//! A list whose elements can be read where they were, after it has grown.

#![expect(unsafe_code, reason = "elements in memory that the list has grown out of")]

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// A list that grows while jobs read elements of it through pointers.
///
/// When it needs more memory, the elements move, and their bytes stay where they were, too, for who read them there: jobs. They
/// use only what does not change while they are under way, so that it does not matter which of the two they see. The
/// old memory, as much as the new at most, is released with the list. Before the first job, nothing is kept.
pub(crate) struct Staying<T> {
    list: Vec<T>,
    /// Memory that it has grown out of.
    left: Vec<Vec<MaybeUninit<T>>>,
    /// Whether it may be read through pointers.
    stays: AtomicBool,
}

impl<T> Staying<T> {
    pub(crate) fn push(&mut self, element: T) {
        self.reserve(1);
        self.list.push(element);
    }

    /// Makes room for so many more, unless there is.
    #[inline]
    pub(crate) fn reserve(&mut self, more: usize) {
        if more > self.list.capacity() - self.list.len() {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        if !*self.stays.get_mut() {
            return self.list.reserve(more);
        }
        let len = self.list.len();
        let mut list = Vec::with_capacity((len + more).max(2 * self.list.capacity()));
        let mut old = ManuallyDrop::new(std::mem::take(&mut self.list));
        // SAFETY: there is room for so many, apart from the old ones. They are owned by the new list alone from here on: what is
        // left counts as uninitialised.
        unsafe {
            ptr::copy_nonoverlapping(old.as_ptr(), list.as_mut_ptr(), len);
            list.set_len(len);
            self.left.push(Vec::from_raw_parts(old.as_mut_ptr().cast(), 0, old.capacity()));
        }
        self.list = list;
    }

    /// From now on elements may be read through pointers.
    pub(crate) fn stay(&self) {
        // Relaxed: who grows the list has it mutably.
        self.stays.store(true, Ordering::Relaxed);
    }

    /// Where the elements are, to be changed. None of them is borrowed by that: jobs may be reading them.
    #[inline(always)]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut T {
        self.list.as_mut_ptr()
    }

    /// Takes all elements out. Nobody reads them.
    pub(crate) fn take_all(&mut self) -> Vec<T> {
        self.left.clear();
        std::mem::take(&mut self.list)
    }
}

impl<T> Default for Staying<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for Staying<T> {
    fn from(list: Vec<T>) -> Self {
        Self { list, left: Vec::new(), stays: AtomicBool::new(false) }
    }
}

impl<T> Deref for Staying<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::Staying;

    #[test]
    fn elements_are_still_where_they_were() {
        let mut list = Staying::default();
        list.push(String::from("first"));
        list.stay();
        let first: *const String = &list[0];
        for at in 0..1000 {
            list.push(at.to_string());
        }
        // SAFETY: it is kept, and nobody changes it.
        assert_eq!(unsafe { &*first }, "first");
        assert_eq!((list.len(), &*list[0], &*list[1000]), (1001, "first", "999"));
        assert_ne!(first, &raw const list[0]);
        assert_eq!(list.take_all().len(), 1001);
    }
}
