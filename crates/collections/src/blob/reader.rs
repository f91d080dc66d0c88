//! The reader by which jobs access assets.

use std::fmt;
use std::sync::Arc;

use super::data::BlobData;
use super::error::BlobError;
use super::reference::BlobAssetReference;
use super::table::Table;

/// A snapshot of a [`BlobStore`](crate::BlobStore), for jobs and other threads.
///
/// Making and cloning it costs one reference count, and it can be sent and shared. Assets inserted
/// later are not in it, and assets removed later stay in it.
///
/// # Examples
///
/// ```
/// use ancho_collections::{BlobBuilder, BlobStore};
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut store = BlobStore::new();
/// let height = store.insert(BlobBuilder::new(1.5).build().unwrap());
/// let reader = store.reader();
/// let job = jobs.schedule(&[], (), move |()| assert_eq!(reader.get(height), Ok(&1.5)));
/// jobs.complete(job.unwrap());
/// ```
#[derive(Clone)]
pub struct BlobReader {
    table: Arc<Table>,
}

impl BlobReader {
    pub(super) fn new(table: Arc<Table>) -> Self {
        Self { table }
    }

    /// Returns the root of an asset.
    ///
    /// # Errors
    ///
    /// Returns an error if the asset was removed before the reader was made, or if the reference is
    /// null, of another store or of another type.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobStore};
    ///
    /// let mut store = BlobStore::new();
    /// let height = store.insert(BlobBuilder::new(1.5).build().unwrap());
    /// let reader = store.reader();
    /// std::thread::spawn(move || assert_eq!(reader.get(height), Ok(&1.5))).join().unwrap();
    /// ```
    #[inline]
    pub fn get<T: BlobData>(&self, reference: BlobAssetReference<T>) -> Result<&T, BlobError> {
        self.table.get(reference)
    }
}

impl fmt::Debug for BlobReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobReader(store {}, {} slots)", self.table.store, self.table.len())
    }
}
