//! Values that stay on the thread that stored them.
//!
//! Each thread has an arena of such values. A [`ThreadBound`] owns one of them by its id, which is unique in the process and never
//! used again. The owner is `Send`, because it has no reference to the value: another thread does not find the id in its own arena.
//!
//! If the owner is dropped on another thread, that thread appends the id to a list of the home thread. The home thread drops the
//! value at its next access to the arena, or when it ends.
//!
//! User code never runs while an arena is borrowed, so dropping a value may access the arena again.

use std::any::Any;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::panics::discard;

thread_local! {
    static ARENA: Arena =
        const { Arena { home: OnceCell::new(), slots: RefCell::new(BTreeMap::new()) } };
}

/// The id of the next value.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The values of one thread.
struct Arena {
    /// Created with the first value.
    home: OnceCell<Arc<HomeThread>>,
    /// The values by id, which is the order of insertion. A slot is `None` while its value is lent mutably.
    slots: RefCell<BTreeMap<u64, Option<Rc<dyn Any>>>>,
}

/// The data of an arena that all threads can access.
struct HomeThread {
    name: Arc<str>,
    /// Set when the thread ends and drops its values.
    has_ended: AtomicBool,
    /// Set if `discarded` may have elements, so that accesses to the arena do not lock.
    has_discarded: AtomicBool,
    /// The ids of values whose owners were dropped on other threads.
    discarded: Mutex<Vec<u64>>,
}

/// The owner of a value in the arena of a thread.
pub(super) struct ThreadBound {
    home: Arc<HomeThread>,
    id: u64,
}

/// The reason why a thread-bound value cannot be accessed.
#[derive(Debug)]
pub(super) enum Inaccessible {
    /// The value belongs to another thread.
    OtherThread { home: Arc<str> },
    /// The home thread has ended, and has dropped the value.
    ThreadEnded { home: Arc<str> },
    /// The value is lent to a guard that was leaked.
    Leaked,
}

impl ThreadBound {
    /// Stores a value in the arena of this thread. Drops the value and returns `None` if the thread is ending and its arena was
    /// destroyed.
    pub(super) fn new(value: Rc<dyn Any>) -> Option<Self> {
        with_arena(|arena| {
            // `Relaxed` is enough, because the ids only have to be unique.
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            let home = Arc::clone(arena.home.get_or_init(|| Arc::new(HomeThread::new())));
            arena.slots.borrow_mut().insert(id, Some(value));
            Self { home, id }
        })
    }

    /// Finds the value for shared access, or for exclusive access. Returns its id for [`read`] and [`take`].
    pub(super) fn find(&self, exclusive: bool) -> Result<u64, Inaccessible> {
        let is_lent = |value: &Option<Rc<dyn Any>>| match value {
            Some(value) => exclusive && !is_unshared(value),
            None => true,
        };
        match with_arena(|arena| arena.slots.borrow().get(&self.id).map(is_lent)).flatten() {
            Some(false) => Ok(self.id),
            // A guard that is not leaked borrows the world, so this method could not be called.
            Some(true) => Err(Inaccessible::Leaked),
            None => {
                let home = Arc::clone(&self.home.name);
                // `Acquire` pairs with the end of the thread: what it did before that is visible.
                if self.home.has_ended.load(Ordering::Acquire) {
                    Err(Inaccessible::ThreadEnded { home })
                } else {
                    Err(Inaccessible::OtherThread { home })
                }
            }
        }
    }

    /// Removes the value from the arena. Returns `None` if this is not the home thread; then the home thread drops the value.
    pub(super) fn into_value(self) -> Option<Rc<dyn Any>> {
        with_arena(|arena| arena.slots.borrow_mut().remove(&self.id)).flatten().flatten()
    }
}

impl Drop for ThreadBound {
    fn drop(&mut self) {
        let remove = |arena: &Arena| {
            let is_home = arena.home.get().is_some_and(|home| Arc::ptr_eq(home, &self.home));
            is_home.then(|| arena.slots.borrow_mut().remove(&self.id))
        };
        match with_arena(remove).flatten() {
            // The arena is not borrowed any more.
            Some(value) => drop(value),
            None => self.home.discard(self.id),
        }
    }
}

/// Returns a value of this thread for shared access.
pub(super) fn read<T: 'static>(id: u64) -> Option<Rc<T>> {
    with_arena(|arena| arena.slots.borrow().get(&id).cloned())??.and_then(downcast)
}

/// Takes a value of this thread out of its slot, if no guard shares it. [`put_back`] ends the exclusive access.
pub(super) fn take<T: 'static>(id: u64) -> Option<Rc<T>> {
    let take = |slot: &mut Option<Rc<dyn Any>>| slot.take_if(|value| is_unshared(value));
    with_arena(|arena| arena.slots.borrow_mut().get_mut(&id).and_then(take))?.and_then(downcast)
}

/// Puts a value back into its slot. Drops the value if the slot does not exist any more, because the thread is ending.
pub(super) fn put_back(id: u64, value: Rc<dyn Any>) {
    let mut value = Some(value);
    with_arena(|arena| {
        if let Some(slot) = arena.slots.borrow_mut().get_mut(&id) {
            mem::swap(slot, &mut value);
        }
    });
}

fn is_unshared(value: &Rc<dyn Any>) -> bool {
    Rc::strong_count(value) == 1
}

fn downcast<T: 'static>(value: Rc<dyn Any>) -> Option<Rc<T>> {
    value.downcast().ok()
}

/// Calls a function with the arena of this thread, after dropping discarded values. Returns `None` if the thread is ending and the
/// arena was destroyed.
fn with_arena<R>(function: impl FnOnce(&Arena) -> R) -> Option<R> {
    let access = |arena: &Arena| {
        arena.drop_discarded();
        function(arena)
    };
    ARENA.try_with(access).ok()
}

impl Arena {
    #[inline]
    fn drop_discarded(&self) {
        // `Relaxed` is enough: the lock orders the list, and an id that is missed now is found at the next access.
        let has_discarded = |home: &&Arc<HomeThread>| home.has_discarded.load(Ordering::Relaxed);
        if let Some(home) = self.home.get().filter(has_discarded) {
            for id in home.take_discarded() {
                let value = self.slots.borrow_mut().remove(&id);
                drop_catching(value);
            }
        }
    }
}

/// Drops the remaining values in the order of insertion, at the end of the thread.
impl Drop for Arena {
    fn drop(&mut self) {
        if let Some(home) = self.home.get() {
            home.has_ended.store(true, Ordering::Release);
        }
        // Values that access the arena while they are dropped do not find it any more.
        mem::take(self.slots.get_mut()).into_values().for_each(drop_catching);
    }
}

/// Drops a value at a moment when no caller expects its panic. The panic hook has reported it.
fn drop_catching<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        discard(payload);
    }
}

impl HomeThread {
    fn new() -> Self {
        Self {
            name: current_thread_name(),
            has_ended: AtomicBool::new(false),
            has_discarded: AtomicBool::new(false),
            discarded: Mutex::new(Vec::new()),
        }
    }

    fn discard(&self, id: u64) {
        // `Relaxed` is enough: the list of a thread that has just ended is freed with its last owner.
        if self.has_ended.load(Ordering::Relaxed) {
            return;
        }
        let mut discarded = self.discarded.lock().unwrap_or_else(PoisonError::into_inner);
        discarded.push(id);
        self.has_discarded.store(true, Ordering::Relaxed);
    }

    fn take_discarded(&self) -> Vec<u64> {
        let mut discarded = self.discarded.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_discarded.store(false, Ordering::Relaxed);
        mem::take(&mut *discarded)
    }
}

/// Returns the name of this thread, or its id if it has no name.
pub(super) fn current_thread_name() -> Arc<str> {
    let thread = thread::current();
    match thread.name() {
        Some(name) => name.into(),
        None => format!("{:?}", thread.id()).into(),
    }
}
