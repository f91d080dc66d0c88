#![doc = include_str!("README.md")]

use crossbeam_utils::CachePadded;

use crate::parker::Parker;
use crate::primitive::{AtomicUsize, Mutex, Ordering, fence};

/// The sleep state of all workers.
#[derive(Debug)]
pub(crate) struct Sleep {
    /// The number of workers that search for work, including workers that were woken to search.
    searching: CachePadded<AtomicUsize>,
    /// The number of workers in `asleep`.
    sleepers: AtomicUsize,
    /// The workers that sleep or are about to sleep. The newest is woken first, because its caches are warmest.
    asleep: Mutex<Vec<usize>>,
    parkers: Box<[Parker]>,
}

impl Sleep {
    /// Creates the state for `workers` workers, all of which are awake and searching.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            searching: CachePadded::new(AtomicUsize::new(workers)),
            sleepers: AtomicUsize::new(0),
            asleep: Mutex::new(Vec::with_capacity(workers)),
            parkers: (0..workers).map(|_| Parker::new()).collect(),
        }
    }

    /// Reports that work was published. Wakes a worker, unless one is already searching.
    pub(crate) fn notify(&self) {
        // (1) Pairs with (2) and (3), see the README.
        fence(Ordering::SeqCst);
        if self.searching.load(Ordering::Relaxed) == 0 && self.sleepers.load(Ordering::Relaxed) > 0
        {
            self.wake_one();
        }
    }

    /// Reports that the caller, which was searching, found work. If it was the last searcher and `more` returns true,
    /// another worker is woken to search.
    pub(crate) fn found(&self, more: impl Fn() -> bool) {
        if self.searching.fetch_sub(1, Ordering::Relaxed) == 1 {
            // (2) Pairs with (1).
            fence(Ordering::SeqCst);
            if self.sleepers.load(Ordering::Relaxed) > 0 && more() {
                self.wake_one();
            }
        }
    }

    /// Reports that the caller has no work and starts to search.
    pub(crate) fn search(&self) {
        self.searching.fetch_add(1, Ordering::Relaxed);
    }

    /// Sleeps until woken, unless `work` returns true. The caller counts as searching before and after the call.
    pub(crate) fn sleep(&self, worker: usize, work: impl Fn() -> bool) {
        {
            let mut asleep = self.asleep.lock().expect("no code panics under this lock");
            asleep.push(worker);
            self.sleepers.store(asleep.len(), Ordering::Relaxed);
        }
        self.searching.fetch_sub(1, Ordering::Relaxed);
        // (3) Pairs with (1).
        fence(Ordering::SeqCst);
        if work() && self.cancel(worker) {
            self.searching.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.parkers[worker].park();
    }

    /// Wakes every worker, for shutdown.
    pub(crate) fn wake_all(&self) {
        fence(Ordering::SeqCst);
        while self.wake_one() {}
    }

    /// Removes a worker from the list. Returns false if another thread has already removed it, and is waking it.
    fn cancel(&self, worker: usize) -> bool {
        let mut asleep = self.asleep.lock().expect("no code panics under this lock");
        let Some(place) = asleep.iter().position(|&other| other == worker) else {
            return false;
        };
        asleep.remove(place);
        self.sleepers.store(asleep.len(), Ordering::Relaxed);
        true
    }

    /// Wakes one worker, which counts as searching from then on.
    fn wake_one(&self) -> bool {
        let worker = {
            let mut asleep = self.asleep.lock().expect("no code panics under this lock");
            let Some(worker) = asleep.pop() else {
                return false;
            };
            self.sleepers.store(asleep.len(), Ordering::Relaxed);
            // The worker is counted here, and not when it wakes, so that the next publisher does not wake another worker.
            self.searching.fetch_add(1, Ordering::Relaxed);
            worker
        };
        self.parkers[worker].unpark();
        true
    }
}
