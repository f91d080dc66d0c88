#![doc = include_str!("README.md")]

use crossbeam_utils::CachePadded;

use crate::parker::Parker;
use crate::primitive::{AtomicUsize, Mutex, Ordering, fence};

/// Which workers sleep, and how they are woken.
#[derive(Debug)]
pub(crate) struct Sleep {
    /// How many workers are looking for work, those woken to do so included.
    searching: CachePadded<AtomicUsize>,
    /// How many workers are in `asleep`.
    sleepers: AtomicUsize,
    /// The workers that sleep or are about to. The newest is woken first: its caches are warmest.
    asleep: Mutex<Vec<usize>>,
    parkers: Box<[Parker]>,
}

impl Sleep {
    /// Makes the places for `workers` workers, all awake and searching.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            searching: CachePadded::new(AtomicUsize::new(workers)),
            sleepers: AtomicUsize::new(0),
            asleep: Mutex::new(Vec::with_capacity(workers)),
            parkers: (0..workers).map(|_| Parker::new()).collect(),
        }
    }

    /// Says that work was published: wakes a worker unless one is searching already.
    pub(crate) fn notify(&self) {
        // (1) Pairs with (2) and (3), see the README.
        fence(Ordering::SeqCst);
        if self.searching.load(Ordering::Relaxed) == 0 && self.sleepers.load(Ordering::Relaxed) > 0
        {
            self.wake_one();
        }
    }

    /// Says that the caller, who was searching, found work. The last searcher to do so has another
    /// take its place if `more` says that there is more to do.
    pub(crate) fn found(&self, more: impl Fn() -> bool) {
        if self.searching.fetch_sub(1, Ordering::Relaxed) == 1 {
            // (2) Pairs with (1).
            fence(Ordering::SeqCst);
            if self.sleepers.load(Ordering::Relaxed) > 0 && more() {
                self.wake_one();
            }
        }
    }

    /// Says that the caller has no work in hand and looks for some.
    pub(crate) fn search(&self) {
        self.searching.fetch_add(1, Ordering::Relaxed);
    }

    /// Sleeps until woken, unless `work` finds something. The caller was searching and is again.
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

    /// Wakes every worker, to end.
    pub(crate) fn wake_all(&self) {
        fence(Ordering::SeqCst);
        while self.wake_one() {}
    }

    /// Takes the worker off the list; false when somebody did so first and is waking it.
    fn cancel(&self, worker: usize) -> bool {
        let mut asleep = self.asleep.lock().expect("no code panics under this lock");
        let Some(place) = asleep.iter().position(|&other| other == worker) else {
            return false;
        };
        asleep.remove(place);
        self.sleepers.store(asleep.len(), Ordering::Relaxed);
        true
    }

    /// Wakes one worker, which is searching from then on.
    fn wake_one(&self) -> bool {
        let worker = {
            let mut asleep = self.asleep.lock().expect("no code panics under this lock");
            let Some(worker) = asleep.pop() else {
                return false;
            };
            self.sleepers.store(asleep.len(), Ordering::Relaxed);
            // Counted here and not when it wakes, so that the next publisher does not wake another.
            self.searching.fetch_add(1, Ordering::Relaxed);
            worker
        };
        self.parkers[worker].unpark();
        true
    }
}
