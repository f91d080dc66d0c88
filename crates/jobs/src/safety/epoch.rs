//! Epochs, which invalidate containers when their memory is rewound.

use std::fmt;
use std::sync::Arc;

use crate::primitive::{AtomicU64, Ordering};

/// The lifetime shared by the containers of one allocator, which ends when their memory is rewound.
///
/// A container that was [stamped](crate::Guarded::stamped) can be used until the epoch advances. After that, the owner and jobs are
/// refused access to it, with code A0013. Jobs that were scheduled before continue to use the container, so the allocator has to
/// keep the memory alive.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{ContainerLabel, Epoch, Guarded};
///
/// let level = Epoch::new("the level's memory");
/// let enemies = Guarded::new(5, ContainerLabel::of::<u32>()).stamped(level.stamp());
/// assert_eq!(enemies.get(), Ok(&5));
/// level.advance();
/// assert!(enemies.get().unwrap_err().to_string().starts_with("A0013: "));
/// ```
pub struct Epoch {
    current: Arc<Current>,
}

struct Current {
    name: &'static str,
    number: AtomicU64,
}

/// The moment in an [`Epoch`] at which a container was created.
///
/// # Examples
///
/// ```
/// let epoch = ancho_jobs::Epoch::new("scratch");
/// let stamp = epoch.stamp();
/// assert!(!stamp.is_past());
/// epoch.advance();
/// assert!(stamp.is_past());
/// ```
#[derive(Clone)]
pub struct EpochStamp {
    current: Arc<Current>,
    number: u64,
}

impl Epoch {
    /// Creates an epoch of the memory that error messages call `name`.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_jobs::Epoch::new("scratch").stamp().name(), "scratch");
    /// ```
    pub fn new(name: &'static str) -> Self {
        Self { current: Arc::new(Current { name, number: AtomicU64::new(0) }) }
    }

    /// Ends the epoch for all containers that were stamped before, and begins the next one.
    ///
    /// # Examples
    ///
    /// ```
    /// let epoch = ancho_jobs::Epoch::new("scratch");
    /// let before = epoch.stamp();
    /// epoch.advance();
    /// assert!(before.is_past() && !epoch.stamp().is_past());
    /// ```
    pub fn advance(&self) {
        // `Relaxed` is enough: no memory is freed because of this number, so it does not have to order other accesses.
        self.current.number.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a stamp of the current epoch.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!ancho_jobs::Epoch::new("scratch").stamp().is_past());
    /// ```
    pub fn stamp(&self) -> EpochStamp {
        let number = self.current.number.load(Ordering::Relaxed);
        EpochStamp { current: Arc::clone(&self.current), number }
    }
}

impl EpochStamp {
    /// Returns whether the epoch has advanced since this stamp was created.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!ancho_jobs::Epoch::new("scratch").stamp().is_past());
    /// ```
    #[inline]
    pub fn is_past(&self) -> bool {
        self.current.number.load(Ordering::Relaxed) != self.number
    }

    /// Returns the name of the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_jobs::Epoch::new("scratch").stamp().name(), "scratch");
    /// ```
    pub fn name(&self) -> &'static str {
        self.current.name
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Current { name, number } = &*self.current;
        f.debug_tuple("Epoch").field(name).field(&number.load(Ordering::Relaxed)).finish()
    }
}

impl fmt::Debug for EpochStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EpochStamp").field(&self.current.name).field(&self.number).finish()
    }
}
