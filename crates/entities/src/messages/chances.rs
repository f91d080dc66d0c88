//! The chances that a reader had to read an item: clocks that count steps, and the step in which each item was written.

use std::collections::VecDeque;
use std::mem;
use std::num::NonZero;

/// The number of a clock that counts the steps of a group with a rate, or of the root.
pub(crate) type ClockId = u32;

/// Counts of steps. The chances of a reader are the steps of the nearest group with a rate, or of the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks {
    root: Clock,
    groups: Vec<Clock>,
    /// The clock of the step that is being made.
    current: ClockId,
}

#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// The number of steps that have begun.
    steps: i64,
    is_in_step: bool,
}

impl Clocks {
    /// The clock of the root.
    pub(crate) const ROOT: ClockId = 0;

    /// Counts an update of the root.
    #[inline]
    pub(crate) fn begin_update(&mut self) {
        self.root = Clock { steps: self.root.steps + 1, is_in_step: true };
        self.current = Self::ROOT;
    }

    /// Ends an update of the root.
    #[inline]
    pub(crate) fn end_update(&mut self) {
        self.root.is_in_step = false;
    }

    /// Adds a clock for a group with a rate.
    pub(crate) fn add(&mut self) -> ClockId {
        self.groups.push(Clock::default());
        u32::try_from(self.groups.len()).expect("fewer groups than numbers for them")
    }

    /// Begins a step of a group. Returns the value to pass to [`leave_step`](Self::leave_step).
    pub(crate) fn enter_step(&mut self, clock: ClockId) -> ClockId {
        if let Some(clock) = self.groups.get_mut((clock as usize).wrapping_sub(1)) {
            *clock = Clock { steps: clock.steps + 1, is_in_step: true };
        }
        mem::replace(&mut self.current, clock)
    }

    /// Ends the current step of a group.
    pub(crate) fn leave_step(&mut self, outer: ClockId) {
        let ended = mem::replace(&mut self.current, outer);
        if let Some(clock) = self.groups.get_mut((ended as usize).wrapping_sub(1)) {
            clock.is_in_step = false;
        }
    }

    #[inline]
    pub(crate) fn current(&self) -> ClockId {
        self.current
    }

    #[inline]
    fn get(&self, clock: ClockId) -> Clock {
        match clock.checked_sub(1) {
            None => self.root,
            Some(index) => self.groups.get(index as usize).copied().unwrap_or_default(),
        }
    }

    /// Returns the number of steps that have begun.
    #[inline]
    fn now(&self, clock: ClockId) -> i64 {
        self.get(clock).steps
    }
}

/// Items that were written in one step of a reader's clock.
#[derive(Clone, Copy, Debug)]
struct Mark {
    step: i64,
    /// Set if the reader had run in this step before the items were written, or the step had ended.
    had_run: bool,
    /// The number of the first of these items.
    first: u64,
}

/// The chances that a reader had to read items, which are numbered in the order of writing.
#[derive(Clone, Debug)]
pub(crate) struct Chances {
    clock: ClockId,
    /// The step of the last run.
    last_run: Option<i64>,
    marks: VecDeque<Mark>,
    /// The number of the first item that has not expired.
    bound: u64,
}

impl Chances {
    pub(crate) fn new(clock: ClockId, bound: u64) -> Self {
        Self { clock, last_run: None, marks: VecDeque::new(), bound }
    }

    pub(super) fn clock(&self) -> ClockId {
        self.clock
    }

    /// Returns the number of the first item that has not expired.
    pub(crate) fn bound(&self) -> u64 {
        self.bound
    }

    /// Records that items are written now, beginning with a number. With `after_step`, the current step is no chance to read them.
    /// Returns whether they belong to another step than the items before.
    pub(crate) fn mark(&mut self, first: u64, after_step: bool, clocks: &Clocks) -> bool {
        let Clock { steps: step, is_in_step } = clocks.get(self.clock);
        let had_run = !is_in_step || after_step || self.last_run == Some(step);
        let is_same = |last: &Mark| last.step == step && last.had_run == had_run;
        if self.marks.back().is_some_and(is_same) {
            return false;
        }
        self.marks.push_back(Mark { step, had_run, first });
        true
    }

    /// Updates the first item that has not expired. `end` is the number of the next item.
    pub(crate) fn expire(&mut self, keep: NonZero<u32>, end: u64, clocks: &Clocks) {
        let now = clocks.now(self.clock);
        while let Some(first) = self.marks.front() {
            // The chance of the current step included.
            let chances = now - first.step + i64::from(!first.had_run);
            if chances <= i64::from(keep.get()) {
                return;
            }
            self.marks.pop_front();
            self.bound = self.marks.front().map_or(end, |next| next.first);
        }
    }

    /// Begins a run of the reader's system in a step of a clock.
    pub(crate) fn begin_run(&mut self, clock: ClockId, clocks: &Clocks) {
        if self.clock != clock {
            self.change_clock(clock, clocks, clocks);
        }
    }

    /// Records the run, so that later items of the same step count from the next step on.
    pub(crate) fn record_run(&mut self, clocks: &Clocks) {
        self.last_run = Some(clocks.now(self.clock));
    }

    /// Counts steps by another clock. The chances that the reader had stay the same.
    pub(super) fn change_clock(&mut self, clock: ClockId, old: &Clocks, new: &Clocks) {
        let shift = new.now(clock) - old.now(self.clock);
        self.clock = clock;
        self.marks.iter_mut().for_each(|mark| mark.step += shift);
        self.last_run = self.last_run.map(|step| step + shift);
    }

    /// Forgets the progress: all items from a number on are unread.
    pub(super) fn begin_anew(&mut self, bound: u64, clocks: &Clocks) {
        self.clear(bound);
        self.marks.push_back(Mark { step: clocks.now(self.clock), had_run: false, first: bound });
    }

    /// Forgets all items before a number.
    pub(crate) fn clear(&mut self, bound: u64) {
        (self.last_run, self.bound) = (None, bound);
        self.marks.clear();
    }
}
