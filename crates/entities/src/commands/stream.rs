//! The memory of recorded commands.

#![expect(unsafe_code, reason = "values of many types, one after the other in one block of memory")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::mem;
use std::ptr::{self, NonNull};

use super::vtable::{Deed, List, Verb};
use crate::entity::Entity;
use crate::panics::FirstPanic;

/// The target of a command whose payload was used. No entity and no placeholder is this.
const USED: Entity = Entity::from_bits(u64::MAX);

/// What is recorded in its place, if somebody names it: a placeholder of nobody.
const NOBODY: Entity = Entity::from_bits(u64::MAX - 1);

/// A target as it is recorded.
#[inline(always)]
fn recorded(target: Entity) -> Entity {
    if target.to_bits() == USED.to_bits() { NOBODY } else { target }
}

/// What commands begin at multiples of.
const STEP: usize = align_of::<Entity>();

/// Commands one after the other: of each its target, and its payload.
///
/// Positions are counted in bytes from the beginning. They stay, also when the memory moves, since it is aligned to everything that
/// is in it.
pub(super) struct LaneMemory {
    data: NonNull<u8>,
    capacity: usize,
    align: usize,
    /// How many bytes are in use.
    len: usize,
    /// What is done by the commands, in their order.
    runs: Vec<VerbRun>,
    /// Whether the next command begins a run, whatever it does.
    begins_run: bool,
    /// Whether there are payloads that have to be dropped.
    has_drops: bool,
}

/// Commands that follow each other and do the same.
#[derive(Clone, Copy)]
pub(super) struct VerbRun {
    pub(super) verb: &'static Verb,
    /// Where the first begins.
    pub(super) start: usize,
    /// How many they are.
    pub(super) count: usize,
}

// SAFETY: everything that is recorded can be sent, and shared references to this lead only to what can be copied of it.
unsafe impl Send for LaneMemory {}
// SAFETY: as above.
unsafe impl Sync for LaneMemory {}

/// A command in memory.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) verb: &'static Verb,
    target: *mut Entity,
    pub(super) payload: *mut u8,
    /// Where the next command begins.
    pub(super) next: usize,
}

impl Found {
    /// What it is done to, unless its payload was used.
    ///
    /// # Safety
    ///
    /// - the memory is where it was, and nobody changes it meanwhile
    #[inline(always)]
    pub(super) unsafe fn target(self) -> Option<Entity> {
        // SAFETY: the caller's promise.
        let target = unsafe { *self.target };
        if target.to_bits() == USED.to_bits() { None } else { Some(target) }
    }

    /// Says that the payload was used, so that it is not dropped.
    ///
    /// # Safety
    ///
    /// - the memory is where it was, and nobody else uses it
    #[inline(always)]
    pub(super) unsafe fn mark_used(self) {
        // SAFETY: the caller's promise.
        unsafe { mark_used(self.target) };
    }

    /// Where it says what it is done to.
    pub(super) fn place(self) -> *mut Entity {
        self.target
    }
}

/// Says that the payload of a command was used, so that it is not dropped.
///
/// # Safety
///
/// - it is where a command says what it is done to, and nobody else uses it
#[inline(always)]
pub(crate) unsafe fn mark_used(target: *mut Entity) {
    // SAFETY: the caller's promise.
    unsafe { *target = USED };
}

impl LaneMemory {
    pub(super) const fn new() -> Self {
        Self {
            data: NonNull::dangling(),
            capacity: 0,
            align: STEP,
            len: 0,
            runs: Vec::new(),
            begins_run: true,
            has_drops: false,
        }
    }

    /// What is done, in order.
    pub(super) fn runs(&self) -> &[VerbRun] {
        &self.runs
    }

    /// Has the next command begin a run, whatever it does. Returns the number of that run.
    pub(super) fn begin_run(&mut self) -> usize {
        self.begins_run = true;
        self.runs.len()
    }

    /// Notes a command that begins at a position.
    #[inline(always)]
    fn note(&mut self, verb: &'static Verb, start: usize) {
        // What is the same may be taken for different, if the compiler has made two verbs of one. Then there are more runs, which is
        // the same to all verbs but those that destroy: of what is destroyed together, other rows take the place.
        let is_same = |other: &'static Verb| {
            ptr::eq(other, verb) || (verb.deed == Deed::Destroy && other.deed == Deed::Destroy)
        };
        match self.runs.last_mut() {
            Some(run) if is_same(run.verb) && !self.begins_run => run.count += 1,
            _ => self.note_run(verb, start),
        }
    }

    #[inline(never)]
    fn note_run(&mut self, verb: &'static Verb, start: usize) {
        self.runs.push(VerbRun { verb, start, count: 1 });
        self.begins_run = false;
        self.has_drops |= verb.drop.is_some();
    }

    /// Adds a command.
    ///
    /// # Safety
    ///
    /// - the verb is one for payloads of this type, and not listed
    #[inline(always)]
    pub(super) unsafe fn push<P>(&mut self, verb: &'static Verb, target: Entity, payload: P) {
        debug_assert!(verb.size == size_of::<P>() && verb.align == align_of::<P>());
        let at = self.len;
        let place = payload_at(at, align_of::<P>());
        let end = align_up(place + size_of::<P>(), STEP);
        if end > self.capacity || align_of::<P>() > self.align {
            self.grow(at, end, align_of::<P>());
        }
        // SAFETY: there is room up to the end, and both are aligned.
        unsafe {
            let data = self.data.as_ptr();
            data.add(at).cast::<Entity>().write(recorded(target));
            data.add(place).cast::<P>().write(payload);
        }
        self.note(verb, at);
        self.len = end;
    }

    /// Adds a command with a list of elements. Returns how many they are, or nothing, and adds nothing, if there are more than so many.
    ///
    /// # Safety
    ///
    /// - the verb is one for lists with this beginning, and these elements
    pub(super) unsafe fn push_list<P, T>(
        &mut self,
        verb: &'static Verb,
        target: Entity,
        fixed: P,
        elements: impl IntoIterator<Item = T>,
        most: usize,
    ) -> Option<usize> {
        /// Elements of a command that is not there yet.
        struct Unfinished<'l, T> {
            memory: &'l mut LaneMemory,
            first: usize,
            count: usize,
            of: std::marker::PhantomData<T>,
        }

        impl<T> Drop for Unfinished<'_, T> {
            fn drop(&mut self) {
                // SAFETY: so many elements were written, and nobody knows of them.
                unsafe {
                    let first = self.memory.data.as_ptr().add(self.first).cast::<T>();
                    drop_each(first, self.count);
                }
            }
        }

        debug_assert!(verb.size == Verb::LISTED && verb.align == List::<P>::align::<T>());
        let at = self.len;
        let place = payload_at(at, List::<P>::align::<T>());
        let first = place + List::<P>::first::<T>();
        if first > self.capacity || verb.align > self.align {
            self.grow(at, first, verb.align);
        }
        let elements = elements.into_iter();
        if elements.size_hint().0 > most {
            return None;
        }
        let expected = first.saturating_add(elements.size_hint().0.saturating_mul(size_of::<T>()));
        // What is promised is not always kept: more than this is found room for when it comes.
        let expected = expected.min(first + (1 << 24));
        if expected > self.capacity {
            self.grow(first, expected, verb.align);
        }
        let mut unfinished =
            Unfinished::<T> { memory: self, first, count: 0, of: std::marker::PhantomData };
        elements.for_each(
            #[inline(always)]
            |element: T| {
                let used = first + unfinished.count * size_of::<T>();
                if used + size_of::<T>() > unfinished.memory.capacity {
                    unfinished.memory.grow(used, used + size_of::<T>(), verb.align);
                }
                // SAFETY: there is room for one more, which is aligned.
                unsafe { unfinished.memory.data.as_ptr().add(used).cast::<T>().write(element) };
                unfinished.count += 1;
            },
        );
        let count = unfinished.count;
        if count > most {
            return None;
        }
        mem::forget(unfinished);
        let bytes = first - place + count * size_of::<T>();
        let end = align_up(place + bytes, STEP);
        if end > self.capacity {
            self.grow(place + bytes, end, verb.align);
        }
        // SAFETY: there is room up to the end, and both are aligned.
        unsafe {
            let data = self.data.as_ptr();
            data.add(at).cast::<Entity>().write(recorded(target));
            data.add(place).cast::<List<P>>().write(List { bytes, count, fixed });
        }
        self.note(verb, at);
        self.len = end;
        Some(count)
    }

    /// Where the memory begins, for who goes through it.
    pub(super) fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// Drops everything that was not used. Keeps the memory.
    pub(super) fn clear(&mut self) {
        /// What is left to be dropped.
        struct Rest<'l> {
            memory: &'l mut LaneMemory,
            run: usize,
            done: usize,
            position: usize,
        }

        impl Rest<'_> {
            fn drop_all(&mut self) {
                while let Some(&VerbRun { verb, start, count }) = self.memory.runs.get(self.run) {
                    if let Some(drop) = verb.drop {
                        if self.done == 0 {
                            self.position = start;
                        }
                        while self.done < count {
                            let data = self.memory.data.as_ptr();
                            // SAFETY: there is a command of the verb.
                            let found = unsafe { find(verb, data, self.position) };
                            (self.position, self.done) = (found.next, self.done + 1);
                            // SAFETY: it is a payload of the verb. If it was not used, it will not be.
                            unsafe {
                                if found.target().is_some() {
                                    drop(found.payload);
                                }
                            }
                        }
                    }
                    (self.run, self.done) = (self.run + 1, 0);
                }
            }
        }

        (self.len, self.begins_run) = (0, true);
        let mut panics = FirstPanic::default();
        if mem::take(&mut self.has_drops) {
            let mut rest = Rest { memory: self, run: 0, done: 0, position: 0 };
            // What panics was dropped, and the rest goes all the same.
            while rest.run < rest.memory.runs.len() {
                panics.during(|| rest.drop_all());
            }
        }
        self.runs.clear();
        panics.go_on();
    }

    /// Moves to memory of at least so many bytes, so aligned. What is in use is moved along.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, used: usize, needed: usize, align: usize) {
        let capacity = needed.max(self.capacity * 2).max(1024);
        let align = align.max(self.align);
        let layout = Layout::from_size_align(capacity, align)
            .unwrap_or_else(|_| panic!("commands take more memory than there is"));
        // SAFETY: there are some bytes.
        let data = unsafe { alloc(layout) };
        let Some(data) = NonNull::new(data) else { handle_alloc_error(layout) };
        // SAFETY: so many bytes are in use, and the new memory has room for them.
        unsafe { data.copy_from_nonoverlapping(self.data, used) };
        self.free();
        (self.data, self.capacity, self.align) = (data, capacity, align);
    }

    fn free(&mut self) {
        if self.capacity > 0 {
            // SAFETY: it was allocated like this.
            unsafe {
                let layout = Layout::from_size_align_unchecked(self.capacity, self.align);
                dealloc(self.data.as_ptr(), layout);
            }
        }
    }
}

/// The command of a verb at a position of memory that begins at an address.
///
/// # Safety
///
/// - there is one
#[inline(always)]
pub(super) unsafe fn find(verb: &'static Verb, data: *mut u8, position: usize) -> Found {
    let place = payload_at(position, verb.align);
    // SAFETY: there is a command, which is aligned.
    unsafe {
        let payload = data.add(place);
        let size = if verb.size == Verb::LISTED { *payload.cast::<usize>() } else { verb.size };
        let next = align_up(place + size, STEP);
        Found { verb, target: data.add(position).cast(), payload, next }
    }
}

/// Drops so many values that lie side by side, all of them, also if several panic.
///
/// # Safety
///
/// - they are there, and not used again
pub(super) unsafe fn drop_each<T>(first: *mut T, count: usize) {
    if !mem::needs_drop::<T>() {
        return;
    }
    let mut panics = FirstPanic::default();
    let mut done = 0;
    while done < count {
        panics.during(|| {
            while done < count {
                done += 1;
                // SAFETY: the caller's promise. Each is dropped once.
                unsafe { ptr::drop_in_place(first.add(done - 1)) };
            }
        });
    }
    panics.go_on();
}

/// Where the payload of a command is.
#[inline(always)]
fn payload_at(position: usize, align: usize) -> usize {
    align_up(position + size_of::<Entity>(), align)
}

/// The next multiple of a power of two.
#[inline(always)]
fn align_up(position: usize, align: usize) -> usize {
    debug_assert!(align.is_power_of_two());
    (position + align - 1) & !(align - 1)
}

impl Drop for LaneMemory {
    fn drop(&mut self) {
        /// Frees the memory also if something panics.
        struct Free<'l>(&'l mut LaneMemory);

        impl Drop for Free<'_> {
            fn drop(&mut self) {
                self.0.free();
            }
        }

        Free(self).0.clear();
    }
}

impl fmt::Debug for LaneMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneMemory").field("bytes", &self.len).finish_non_exhaustive()
    }
}
