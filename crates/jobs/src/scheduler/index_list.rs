//! Lists of indices, for jobs that append and filter.

/// A list for [`JobScheduler::schedule_append`](crate::JobScheduler::schedule_append) and
/// [`JobScheduler::schedule_filter`](crate::JobScheduler::schedule_filter).
///
/// # Examples
///
/// ```
/// use ancho_jobs::IndexList;
///
/// fn even_squares(mut list: impl IndexList) {
///     (0..5).for_each(|number| list.append(number * number));
///     list.keep(|square| square % 2 == 0);
/// }
///
/// let mut list = Vec::<u32>::new();
/// even_squares(&mut list);
/// assert_eq!(list, [0, 4, 16]);
/// ```
pub trait IndexList {
    /// Adds an index at the end.
    fn append(&mut self, index: usize);

    /// Removes the indices for which `accept` returns false, and keeps the order of the others.
    fn keep(&mut self, accept: impl FnMut(usize) -> bool);
}

impl IndexList for &mut Vec<usize> {
    fn append(&mut self, index: usize) {
        self.push(index);
    }

    fn keep(&mut self, mut accept: impl FnMut(usize) -> bool) {
        self.retain(|&index| accept(index));
    }
}

impl IndexList for &mut Vec<u32> {
    fn append(&mut self, index: usize) {
        self.push(u32::try_from(index).expect("a list of `u32` holds indices up to 4294967295"));
    }

    fn keep(&mut self, mut accept: impl FnMut(usize) -> bool) {
        self.retain(|&index| accept(index as usize));
    }
}
