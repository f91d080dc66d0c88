//! A container that jobs share: plain data, and its guard.

use std::fmt;

use ancho_jobs::{
    AccessError, CellConcurrent, CellRead, CellWrite, ConcurrentWrite, ContainerLabel, Guarded,
    JobHandle, JobScheduler, Kept, ScheduleError,
};

use crate::allocator::{Allocator, Registration};

/// Plain data that can be shared as a [`Native`] container.
///
/// Implement it for a type of your own to use it as `Native<Type>`. No method is required; override
/// `label` for another name in error messages.
///
/// # Examples
///
/// ```
/// use ancho_collections::{Container, Native};
///
/// #[derive(Default)]
/// struct HighScores {
///     best: [u32; 3],
/// }
///
/// impl Container for HighScores {}
///
/// let mut scores = Native::of(HighScores::default());
/// scores.get_mut().unwrap().best[0] = 100;
/// assert!(scores.label().to_string().starts_with("the Native<HighScores> made at "));
/// ```
pub trait Container: Sized + Send + 'static {
    /// Returns the label for error messages: by default the type, and the place where the container
    /// was created.
    #[track_caller]
    fn label() -> ContainerLabel {
        ContainerLabel::of::<Native<Self>>()
    }
}

/// A container that is made empty and grows: [`Native`] has constructors for it.
///
/// # Examples
///
/// ```
/// use ancho_collections::{Allocator, Container, Growable, List, Native};
///
/// struct Deck(List<u8>);
///
/// impl Container for Deck {}
///
/// impl Growable for Deck {
///     fn new_in(allocator: &Allocator) -> Self {
///         Self(List::new_in(allocator))
///     }
///
///     fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
///         Self(List::with_capacity_in(capacity, allocator))
///     }
/// }
///
/// let deck = Native::<Deck>::with_capacity(52);
/// assert_eq!(deck.get().unwrap().0.capacity(), 52);
/// ```
pub trait Growable: Container {
    /// Creates an empty container that uses the allocator. It allocates nothing yet.
    fn new_in(allocator: &Allocator) -> Self;

    /// Creates an empty container with room for at least `capacity` elements, in the allocator's
    /// memory.
    #[track_caller]
    fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self;
}

/// A container that jobs share with its owner.
///
/// All containers of this crate except [`NativeArray`](crate::NativeArray) are this type with
/// different data: a [`NativeList<T>`](crate::NativeList) is a `Native<List<T>>`. The data itself,
/// such as [`List`](crate::List), is independent of jobs: it can be a local variable, or an element
/// of another container. This type tracks the jobs that use it, and lends it:
///
/// - to its owner, with [`get`](Self::get) and [`get_mut`](Self::get_mut), as long as no
///   uncompleted job conflicts, or with [`wait`](Self::wait) and [`wait_mut`](Self::wait_mut), which
///   complete the jobs that conflict;
/// - to jobs, by tokens: [`read`](Self::read) for any number of them, [`write`](Self::write) for one,
///   [`writer`](Self::writer) for all the batches of a parallel one.
///
/// Access is checked once for each loan, and never for each element.
///
/// Dropping it frees the memory immediately, or when the last job that uses it is done, and never
/// waits. So a container that only a job needs can be dropped after the job is scheduled (Unity's
/// `DeallocateOnJobCompletion`).
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeList;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut primes = NativeList::new().named("primes");
/// primes.get_mut()?.extend_from_slice(&[2, 3, 5]);
///
/// let grow = jobs.schedule(&[], primes.write(), |primes| primes.push(7))?;
/// assert!(primes.get().is_err(), "the job was not completed");
/// jobs.complete(grow);
/// assert_eq!(primes.get()?[..], [2, 3, 5, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Native<C> {
    data: Guarded<C>,
    /// The entry in the registry of the allocator, if it has one.
    registration: Option<Registration>,
}

impl<C: Growable> Native<C> {
    /// Creates an empty container, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::NativeList::<u32>::new().get().unwrap().is_empty());
    /// assert!(ancho_collections::NativeHashMap::<u32, u32>::new().get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Self::new_in(&Allocator::PERSISTENT)
    }

    /// Creates an empty container that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeQueue};
    /// assert!(NativeQueue::<u32>::new_in(&Allocator::PERSISTENT).get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new_in(allocator: &Allocator) -> Self {
        Self::of_in(C::new_in(allocator), allocator)
    }

    /// Creates an empty container with room for at least `capacity` elements.
    ///
    /// An element is a key for maps, a value for multi-maps and sets, a byte for text, a row for
    /// columns.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{NativeHashMap, NativeList};
    ///
    /// let list = NativeList::<u32>::with_capacity(100);
    /// assert_eq!(list.get().unwrap().capacity(), 100);
    /// let map = NativeHashMap::<u32, u32>::with_capacity(100);
    /// assert!(map.get().unwrap().capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_in(capacity, &Allocator::PERSISTENT)
    }

    /// Creates an empty container with room for at least `capacity` elements, in the allocator's
    /// memory. See [`with_capacity`](Self::with_capacity).
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeText};
    /// let text = NativeText::with_capacity_in(100, &Allocator::PERSISTENT);
    /// assert_eq!(text.get().unwrap().capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::of_in(C::with_capacity_in(capacity, allocator), allocator)
    }
}

impl<C: Container> Native<C> {
    /// Shares the data.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{List, Native};
    ///
    /// let list = Native::of(List::from([1, 2, 3]));
    /// assert_eq!(list.get().unwrap().len(), 3);
    /// ```
    #[track_caller]
    pub fn of(data: C) -> Self {
        Self::of_in(data, &Allocator::PERSISTENT)
    }

    /// Shares the data, which is in memory of the given allocator: it appears in the allocator's
    /// reports, and expires when the memory is rewound.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{FrameMemory, List, Native};
    ///
    /// let memory = FrameMemory::new("level");
    /// let list = Native::of_in(List::<u32>::new_in(&memory.persistent()), &memory.persistent());
    /// assert_eq!(memory.live().len(), 1);
    /// drop(list);
    /// assert_eq!(memory.live().len(), 0);
    /// ```
    #[track_caller]
    pub fn of_in(data: C, allocator: &Allocator) -> Self {
        let label = C::label();
        let mut data = Guarded::new(data, label);
        if let Some(stamp) = allocator.stamp() {
            data = data.stamped(stamp);
        }
        Self { data, registration: allocator.register(label) }
    }

    /// Names the container in error messages and reports.
    ///
    /// # Examples
    ///
    /// ```
    /// let list = ancho_collections::NativeList::<u32>::new().named("scores");
    /// assert!(list.label().to_string().starts_with("`scores` (NativeList<u32> made at "));
    /// ```
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        let Self { data, registration } = self;
        let label = data.label().named(name);
        let data = data.relabelled(label);
        if let Some(registration) = &registration {
            // While a job holds the container, its name stays.
            registration.relabel(data.label());
        }
        Self { data, registration }
    }

    /// Returns the last job scheduled to write the container, completed or not.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut list = NativeList::from([1, 2, 3]);
    /// let job = jobs.schedule(&[], list.write(), |list| list.push(4))?;
    /// assert_eq!(list.last_writer(), Some(job));
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    pub fn last_writer(&self) -> Option<JobHandle> {
        self.data.last_writer()
    }

    /// Returns a token for jobs that read the container.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let list = NativeList::from([1, 2, 3]);
    /// let job = jobs.schedule(&[], list.read(), |list| assert_eq!(list.len(), 3)).unwrap();
    /// assert_eq!(list.get().unwrap()[0], 1, "the owner may read beside the job");
    /// jobs.complete(job);
    /// ```
    pub fn read(&self) -> CellRead<'_, C> {
        self.data.read()
    }

    /// Returns a token for a single job that writes the container.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut list = NativeList::from([3, 1, 2]);
    /// jobs.complete(jobs.schedule(&[], list.write(), |list| list.sort()).unwrap());
    /// assert_eq!(list.get().unwrap()[..], [1, 2, 3]);
    /// ```
    pub fn write(&mut self) -> CellWrite<'_, C> {
        self.data.write()
    }

    /// Returns a token for parallel jobs whose batches all write the container (Unity's
    /// `ParallelWriter`).
    ///
    /// Until that job is completed, the container can be neither read nor written by other jobs or
    /// its owner.
    ///
    /// # Determinism
    ///
    /// The writes become part of the container after the last batch, in the order of the batches,
    /// and of the writes in each: the same for any number of threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut even = NativeList::with_capacity(500);
    /// let job = jobs.schedule_for_each(&[], even.writer(), 1000, 64, |even, i| {
    ///     if i % 2 == 0 {
    ///         even.push(i);
    ///     }
    /// });
    /// jobs.complete(job.unwrap());
    /// assert_eq!(even.get().unwrap()[..3], [0, 2, 4]);
    /// ```
    pub fn writer(&mut self) -> CellConcurrent<'_, C>
    where
        C: ConcurrentWrite,
    {
        self.data.concurrent()
    }

    /// Frees the container after the given jobs, on any thread.
    ///
    /// If no other jobs use it, dropping it has the same effect.
    ///
    /// # Errors
    ///
    /// Returns the container and the error if a job that uses it is not among the given ones or
    /// their dependencies (A0001), or if its memory was rewound (A0013). In the second case, drop
    /// it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut list = NativeList::from([3, 1, 2]);
    /// let sort = jobs.schedule(&[], list.write(), |list| list.sort()).unwrap();
    /// let refused = list.dispose_after(&jobs, &[]).unwrap_err();
    /// assert!(refused.to_string().starts_with("A0001: "));
    /// jobs.complete(refused.container.dispose_after(&jobs, &[sort]).unwrap());
    /// ```
    pub fn dispose_after(
        self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
    ) -> Result<JobHandle, Kept<Self, ScheduleError>> {
        let Self { data, registration } = self;
        let disposed = data.dispose_after(jobs, dependencies);
        disposed.map_err(|kept| kept.map(|data| Self { data, registration }))
    }

    pub(crate) fn guarded(&self) -> &Guarded<C> {
        &self.data
    }

    pub(crate) fn guarded_mut(&mut self) -> &mut Guarded<C> {
        &mut self.data
    }
}

impl<C> Native<C> {
    /// Returns the label used in error messages.
    ///
    /// # Examples
    ///
    /// ```
    /// let list = ancho_collections::NativeList::<u32>::new();
    /// assert!(list.label().to_string().starts_with("the NativeList<u32> made at "));
    /// ```
    pub fn label(&self) -> ContainerLabel {
        self.data.label()
    }

    /// Borrows the data.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job writes it (A0003), or if its memory was rewound
    /// (A0013).
    ///
    /// # Examples
    ///
    /// ```
    /// let list = ancho_collections::NativeList::from([1, 2, 3]);
    /// assert_eq!(list.get().unwrap()[1], 2);
    /// ```
    #[inline]
    pub fn get(&self) -> Result<&C, AccessError> {
        self.data.get()
    }

    /// Borrows the data mutably.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job uses it (A0003), or if its memory was rewound
    /// (A0013).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::NativeList::new();
    /// list.get_mut().unwrap().push(5);
    /// assert_eq!(list.get().unwrap()[0], 5);
    /// ```
    #[inline]
    pub fn get_mut(&mut self) -> Result<&mut C, AccessError> {
        self.data.get_mut()
    }

    /// Waits for the job that writes the container, and borrows the data.
    ///
    /// Only that job and its dependencies are completed. Without such a job, this is [`get`](Self::get).
    /// `jobs` is the scheduler of the job, in a system the scheduler of its world.
    ///
    /// # Errors
    ///
    /// - With A0169 if the job failed. The failure is reported once: another call returns the data as
    ///   the job left it.
    /// - With A0003 if a job of another scheduler writes the container. It was not completed.
    /// - With A0013 if the container's memory was rewound.
    ///
    /// # Panics
    ///
    /// Panics with code A0006 when called from inside a job, unless there is no job to wait for.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut even = NativeList::with_capacity(500);
    /// let _ = jobs.schedule_for_each(&[], even.writer(), 1000, 64, |even, i| {
    ///     if i % 2 == 0 {
    ///         even.push(i);
    ///     }
    /// })?;
    /// assert_eq!(even.wait(&jobs)?.len(), 500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn wait(&self, jobs: &JobScheduler) -> Result<&C, AccessError> {
        self.data.wait(jobs)
    }

    /// Waits for all jobs that use the container, and borrows the data mutably. See
    /// [`wait`](Self::wait).
    ///
    /// # Errors
    ///
    /// The errors of [`wait`](Self::wait). If a job that reads the container fails, its failure is
    /// reported when the job's own handle is completed.
    ///
    /// # Panics
    ///
    /// Panics with code A0006 when called from inside a job, unless there is no job to wait for.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut list = NativeList::from([3, 1, 2]);
    /// let _ = jobs.schedule(&[], list.write(), |list| list.sort())?;
    /// list.wait_mut(&jobs)?.push(4);
    /// assert_eq!(list.get()?[..], [1, 2, 3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn wait_mut(&mut self, jobs: &JobScheduler) -> Result<&mut C, AccessError> {
        self.data.wait_mut(jobs)
    }

    /// Consumes the container, and returns its data.
    ///
    /// # Errors
    ///
    /// Returns the container and the error if an uncompleted job uses it (A0003), or if its memory
    /// was rewound (A0013).
    ///
    /// # Examples
    ///
    /// ```
    /// let list = ancho_collections::NativeList::from([1, 2, 3]);
    /// assert_eq!(list.into_inner().unwrap()[..], [1, 2, 3]);
    /// ```
    pub fn into_inner(self) -> Result<C, Kept<Self, AccessError>> {
        let Self { data, registration } = self;
        data.into_inner().map_err(|kept| kept.map(|data| Self { data, registration }))
    }

    /// Frees the container immediately, or when the last job that uses it is done. The same as
    /// dropping it.
    ///
    /// # Examples
    ///
    /// ```
    /// ancho_collections::NativeList::from([1, 2, 3]).dispose();
    /// ```
    pub fn dispose(self) {}
}

impl<C: Container + Default> Default for Native<C> {
    #[track_caller]
    fn default() -> Self {
        Self::of(C::default())
    }
}

impl<C: Container + From<[T; N]>, T, const N: usize> From<[T; N]> for Native<C> {
    #[track_caller]
    fn from(elements: [T; N]) -> Self {
        Self::of(C::from(elements))
    }
}

impl<C: Container + FromIterator<T>, T> FromIterator<T> for Native<C> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self::of(C::from_iter(elements))
    }
}

impl<C: fmt::Debug> fmt::Debug for Native<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(data) => data.fmt(f),
            Err(error) => write!(f, "Native({})", error.summary()),
        }
    }
}

/// Sets the name of a container's alias in error messages: `NativeList<u32>` instead of
/// `Native<List<u32>>`. Parameters after a semicolon are not part of the name. Use it once in a
/// module.
macro_rules! labelled_as {
    ($data:ident $(<$($parameter:ident),+ $(; $hidden:ident)?>)?, $alias:ident) => {
        mod alias {
            /// A type that is used only for its name in messages.
            pub(super) struct $alias$(<$($parameter),+>(
                std::marker::PhantomData<($($parameter,)+)>
            ))?;
        }

        impl$(<$($parameter: Send + 'static,)+ $($hidden: Send + 'static)?>)? crate::Container
            for $data$(<$($parameter,)+ $($hidden)?>)?
        {
            #[track_caller]
            fn label() -> ancho_jobs::ContainerLabel {
                ancho_jobs::ContainerLabel::of::<alias::$alias$(<$($parameter),+>)?>()
            }
        }
    };
}
pub(crate) use labelled_as;
