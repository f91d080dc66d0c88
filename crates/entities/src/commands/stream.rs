//! Memory of recorded commands.
//!
//! ```text
//! bytes:  target payload, target payload, target header elements, …
//! runs:   2 commands of vtable A, 1 command of vtable B, …
//! ```

#![expect(unsafe_code, reason = "payloads of many types in one block of memory")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ptr::{self, NonNull};

use super::playback::{Context, Fault};
use super::resolved_ids::ResolvedIds;
use super::vtable::{Aspect, CommandVTable, Effect, ListHeader};
use crate::entity::Entity;
use crate::manager::CoalesceResult;
use crate::panics::FirstPanic;

/// Replacement for [`Entity::USED`] if a caller passes it as a target: a placeholder that no buffer returns.
const INVALID: Entity = Entity::from_bits(u64::MAX - 1);

/// Returns the target as the stream stores it.
#[inline(always)]
fn recorded(target: Entity) -> Entity {
    if target.to_bits() == Entity::USED.to_bits() { INVALID } else { target }
}

/// Alignment of commands in a stream.
const STEP: usize = align_of::<Entity>();

/// Recorded commands: the target and the payload of each command, in one block of memory.
///
/// Positions are offsets in bytes. They stay valid when the memory is reallocated, because the memory is aligned to the largest
/// payload.
pub(super) struct CommandStream {
    data: NonNull<u8>,
    capacity: usize,
    align: usize,
    /// Bytes in use.
    len: usize,
    /// Runs of commands, in the order of recording.
    runs: Vec<StreamRun>,
    /// Set if the next command begins a run, even if its vtable is that of the last run.
    begins_run: bool,
    /// Set if payloads have to be dropped.
    has_drops: bool,
}

/// Consecutive commands with one vtable.
#[derive(Clone, Copy)]
struct StreamRun {
    vtable: &'static CommandVTable,
    /// Position of the first command.
    start: usize,
    count: usize,
}

// SAFETY: payloads are `Send`.
unsafe impl Send for CommandStream {}
// SAFETY: through a shared reference, safe functions only read `Copy` fields and elements of payloads, and never change them.
unsafe impl Sync for CommandStream {}

/// One command in a stream.
#[derive(Clone, Copy)]
pub(super) struct StoredCommand<'l> {
    vtable: &'static CommandVTable,
    slot: *mut Entity,
    payload: *mut u8,
    /// Position of the next command.
    next: usize,
    stream: PhantomData<&'l CommandStream>,
}

impl StoredCommand<'_> {
    /// Returns the target of the command, or `None` if the payload was used.
    #[inline(always)]
    pub(super) fn target(self) -> Option<Entity> {
        // SAFETY: the stream is borrowed, so the memory of the command is valid. Only the thread that plays the stream writes
        // targets.
        let target = unsafe { *self.slot };
        if target.to_bits() == Entity::USED.to_bits() { None } else { Some(target) }
    }

    /// Describes the command in words.
    pub(super) fn describe(self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the payload belongs to this vtable. The stream is borrowed, so the bytes of the payload are valid.
        unsafe { (self.vtable.describe)(self.payload, target, f) }
    }

    /// Returns the entities that have to exist, or null.
    pub(super) fn needed(self, target: Entity) -> [Entity; 2] {
        // SAFETY: the payload belongs to this vtable. The stream is borrowed, so the bytes of the payload are valid.
        unsafe { (self.vtable.needed)(self.payload, target) }
    }

    /// Reports the entities that the command uses and the components that it adds.
    pub(super) fn inspect(self, each: &mut dyn FnMut(Aspect)) {
        if let Some(target) = self.target() {
            // SAFETY: the payload belongs to this vtable. The stream is borrowed, so the payload is valid, and it is not marked as
            // used.
            unsafe { (self.vtable.inspect)(self.payload, target, each) };
        }
    }

    /// Coalesces the command.
    ///
    /// # Safety
    ///
    /// - the payload was not used, and only this playback uses the stream
    #[inline(always)]
    pub(super) unsafe fn coalesce(self, context: &mut Context<'_>) -> CoalesceResult {
        let Some(coalesce) = self.vtable.coalesce else { return CoalesceResult::Refused };
        let target = self.target().expect("a command is applied once");
        // SAFETY: the payload belongs to this vtable, and the caller says that it was not used. The slot is that of the same
        // command. Only this playback uses both.
        unsafe { coalesce(context, target, self.payload, self.slot) }
    }
}

/// Position in a run of commands, and the number of commands that remain.
#[derive(Clone, Copy)]
pub(super) struct RunCursor<'l> {
    data: *mut u8,
    vtable: &'static CommandVTable,
    position: usize,
    left: usize,
    /// Number of commands after those that [`first`](Self::first) selected.
    beyond: usize,
    stream: PhantomData<&'l CommandStream>,
}

impl<'l> RunCursor<'l> {
    pub(super) fn vtable(self) -> &'static CommandVTable {
        self.vtable
    }

    /// Returns the number of commands that remain.
    #[inline(always)]
    pub(super) fn left(self) -> usize {
        self.left
    }

    /// Returns a cursor over the first `count` commands, or over all if there are fewer.
    #[inline]
    pub(super) fn first(self, count: usize) -> Self {
        let left = self.left.min(count);
        Self { left, beyond: self.beyond + (self.left - left), ..self }
    }

    /// Returns a cursor over all commands of the run that remain.
    #[inline]
    pub(super) fn rest(self) -> Self {
        Self { left: self.left + self.beyond, beyond: 0, ..self }
    }

    /// Returns a cursor without commands.
    #[inline]
    pub(super) fn emptied(self) -> Self {
        Self { left: 0, beyond: 0, ..self }
    }

    /// Returns the next command without moving past it.
    #[inline(always)]
    pub(super) fn peek(self) -> Option<StoredCommand<'l>> {
        // SAFETY: a cursor has commands of its stream, which is borrowed, from its position on.
        (self.left > 0).then(|| unsafe { command_at(self.vtable, self.data, self.position) })
    }

    /// Moves past a command that [`peek`](Self::peek) returned.
    #[inline(always)]
    pub(super) fn skip(&mut self, command: StoredCommand<'l>) {
        debug_assert!(self.left > 0 && command.next > self.position);
        (self.position, self.left) = (command.next, self.left - 1);
    }

    /// Iterates over the targets of the remaining commands, up to the first command that was used.
    pub(super) fn targets(mut self) -> impl Iterator<Item = Entity> {
        std::iter::from_fn(move || {
            let command = self.peek()?;
            self.skip(command);
            command.target()
        })
    }

    /// Returns the target of the last command, if the commands are evenly spaced.
    pub(super) fn last_target(self) -> Option<Entity> {
        if !self.is_evenly_spaced() {
            return self.targets().last();
        }
        let step = self.peek()?.next - self.position;
        let position = self.position + step * (self.left - 1);
        // SAFETY: the commands of the run are at equal distances, so its last command is at this position. The cursor borrows the
        // memory.
        unsafe { command_at(self.vtable, self.data, position) }.target()
    }

    /// Tests whether the commands of the run are at equal distances.
    fn is_evenly_spaced(self) -> bool {
        self.vtable.size != CommandVTable::LISTED && self.vtable.align <= align_of::<Entity>()
    }
}

/// Run of commands during playback.
pub(super) struct ActiveRun<'l> {
    cursor: RunCursor<'l>,
    keeps: bool,
    /// The last command that was taken, and its target.
    last: Option<(StoredCommand<'l>, Entity)>,
}

impl<'l> ActiveRun<'l> {
    /// Applies the commands at a cursor, until all are applied, one fails, or one has skipped members of its list.
    ///
    /// # Safety
    ///
    /// - none of the commands was used, and only this playback uses the stream
    pub(super) unsafe fn apply(
        cursor: RunCursor<'l>,
        context: &mut Context<'_>,
    ) -> (Self, Result<(), Fault>) {
        let mut run = Self { cursor, keeps: context.keeps, last: None };
        // SAFETY: the commands at the cursor belong to the cursor's vtable.
        let result = unsafe { (cursor.vtable.apply)(context, &mut run) };
        (run, result)
    }

    /// Applies the first command at a cursor to a world. The command needs a world, and is dropped without one.
    ///
    /// # Safety
    ///
    /// - the command was not used, and only this playback uses the stream
    pub(super) unsafe fn apply_to_world(
        cursor: RunCursor<'l>,
        world: Option<&mut dyn Any>,
        ids: &ResolvedIds,
        keeps: bool,
    ) -> (Self, Result<(), Fault>) {
        let mut run = Self { cursor, keeps, last: None };
        let apply = cursor.vtable.apply_to_world.expect("the command needs a world");
        // SAFETY: the commands at the cursor belong to the cursor's vtable.
        let result = unsafe { apply(world, ids, &mut run) };
        (run, result)
    }

    pub(super) fn cursor(&self) -> RunCursor<'l> {
        self.cursor
    }

    #[inline(always)]
    pub(super) fn keeps(&self) -> bool {
        self.keeps
    }

    /// Returns the number of commands that were not taken.
    pub(super) fn left(&self) -> usize {
        self.cursor.left
    }

    /// Returns the target of the next command.
    pub(super) fn next_target(&self) -> Option<Entity> {
        self.cursor.peek()?.target()
    }

    /// Returns the last command that was taken, and its target.
    pub(super) fn last(&self) -> Option<(StoredCommand<'l>, Entity)> {
        self.last
    }

    /// Returns to an earlier position, so that commands are taken again. Their payloads need not be dropped.
    pub(super) fn rewind(&mut self, to: RunCursor<'l>) {
        let RunCursor { data, vtable, position, .. } = self.cursor;
        assert!(vtable.drop.is_none(), "payloads are taken once");
        assert!(ptr::eq(vtable, to.vtable) && data == to.data && to.position <= position);
        self.cursor = to;
    }

    /// Takes the next command. Returns its target and its payload. The caller owns the payload unless the buffer keeps its
    /// commands.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(Entity, *mut u8)> {
        let command = self.cursor.peek()?;
        let target = command.target().expect("a command is applied once");
        self.cursor.skip(command);
        if self.cursor.vtable.drop.is_some() && !self.keeps {
            // SAFETY: the slot is that of the command, which only this playback uses.
            unsafe { *command.slot = Entity::USED };
        }
        self.last = Some((command, target));
        Some((target, command.payload))
    }

    /// Calls a function with the payload of the first remaining command, the distance between two payloads in bytes, and the number
    /// of commands. If the function returns true, all remaining commands are taken. Returns false, without calling the function, if
    /// the commands are not evenly spaced.
    pub(super) fn take_all(
        &mut self,
        function: impl FnOnce(*mut u8, usize, usize) -> bool,
    ) -> bool {
        let RunCursor { vtable, position, left, .. } = self.cursor;
        let Some(first) = self.cursor.peek().filter(|_| self.cursor.is_evenly_spaced()) else {
            return false;
        };
        let step = first.next - position;
        if !function(first.payload, step, left) {
            return false;
        }
        if vtable.drop.is_some() {
            while self.next().is_some() {}
        } else {
            (self.cursor.position, self.cursor.left) = (position + step * left, 0);
        }
        true
    }
}

impl Default for CommandStream {
    fn default() -> Self {
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
}

impl CommandStream {
    pub(super) fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// Returns a cursor at the beginning of a run.
    #[inline]
    pub(super) fn run(&self, index: usize) -> RunCursor<'_> {
        let StreamRun { vtable, start: position, count: left } = self.runs[index];
        let data = self.data.as_ptr();
        RunCursor { data, vtable, position, left, beyond: 0, stream: PhantomData }
    }

    /// Makes the next command begin a run. Returns the index of that run.
    pub(super) fn begin_run(&mut self) -> usize {
        self.begins_run = true;
        self.runs.len()
    }

    /// Adds a command that begins at a position to the current run, or begins a run with it.
    #[inline(always)]
    fn count(&mut self, vtable: &'static CommandVTable, start: usize) {
        // The compiler may create two vtables for one type. Then there are more runs, with the same result. Only `despawn` depends
        // on the length of runs: despawning entities together moves other rows into the gaps than despawning them one by one.
        let is_same = |other: &'static CommandVTable| {
            let despawns = |vtable: &CommandVTable| matches!(vtable.effect, Effect::Despawn);
            ptr::eq(other, vtable) || despawns(vtable) && despawns(other)
        };
        match self.runs.last_mut() {
            Some(run) if is_same(run.vtable) && !self.begins_run => run.count += 1,
            _ => self.push_run(vtable, start),
        }
    }

    #[inline(never)]
    fn push_run(&mut self, vtable: &'static CommandVTable, start: usize) {
        self.runs.push(StreamRun { vtable, start, count: 1 });
        self.begins_run = false;
        self.has_drops |= vtable.drop.is_some();
    }

    /// Adds a command without a list.
    ///
    /// # Safety
    ///
    /// - the vtable is that of commands of type `P`, without a list
    #[inline(always)]
    pub(super) unsafe fn push<P>(
        &mut self,
        vtable: &'static CommandVTable,
        target: Entity,
        payload: P,
    ) {
        debug_assert!(vtable.size == size_of::<P>() && vtable.align == align_of::<P>());
        let at = self.len;
        let place = payload_at(at, align_of::<P>());
        let end = align_up(place + size_of::<P>(), STEP);
        if end > self.capacity || align_of::<P>() > self.align {
            self.grow(at, end, align_of::<P>());
        }
        // SAFETY: the memory has room up to `end`, and both positions are aligned.
        unsafe {
            let data = self.data.as_ptr();
            data.add(at).cast::<Entity>().write(recorded(target));
            data.add(place).cast::<P>().write(payload);
        }
        self.count(vtable, at);
        self.len = end;
    }

    /// Adds a command with a list. Returns the number of elements. If there are more than `max`, adds nothing and returns `None`.
    ///
    /// # Safety
    ///
    /// - the vtable is that of commands of type `P` with a list of `T`
    pub(super) unsafe fn push_list<P, T>(
        &mut self,
        vtable: &'static CommandVTable,
        target: Entity,
        command: P,
        elements: impl IntoIterator<Item = T>,
        max: usize,
    ) -> Option<usize> {
        /// Elements of a command that is being recorded. Drops the elements if the iterator panics.
        struct Unfinished<'l, T> {
            memory: &'l mut CommandStream,
            first: usize,
            count: usize,
            of: PhantomData<T>,
        }

        impl<T> Drop for Unfinished<'_, T> {
            fn drop(&mut self) {
                // SAFETY: `count` elements were written from `first` on, and are not used again.
                unsafe {
                    let first = self.memory.data.as_ptr().add(self.first).cast::<T>();
                    drop_each(first, self.count);
                }
            }
        }

        debug_assert!(
            vtable.size == CommandVTable::LISTED && vtable.align == ListHeader::<P>::align::<T>()
        );
        let at = self.len;
        let place = payload_at(at, ListHeader::<P>::align::<T>());
        let first = place + ListHeader::<P>::first::<T>();
        if first > self.capacity || vtable.align > self.align {
            self.grow(at, first, vtable.align);
        }
        let elements = elements.into_iter();
        if elements.size_hint().0 > max {
            return None;
        }
        let expected = first.saturating_add(elements.size_hint().0.saturating_mul(size_of::<T>()));
        // The size hint may be too low. Then the memory grows when more elements are written.
        let expected = expected.min(first + (1 << 24));
        if expected > self.capacity {
            self.grow(first, expected, vtable.align);
        }
        let mut unfinished = Unfinished::<T> { memory: self, first, count: 0, of: PhantomData };
        elements.for_each(
            #[inline(always)]
            |element: T| {
                let used = first + unfinished.count * size_of::<T>();
                if used + size_of::<T>() > unfinished.memory.capacity {
                    unfinished.memory.grow(used, used + size_of::<T>(), vtable.align);
                }
                // SAFETY: the memory has room for one more element, and the position is aligned.
                unsafe { unfinished.memory.data.as_ptr().add(used).cast::<T>().write(element) };
                unfinished.count += 1;
            },
        );
        let count = unfinished.count;
        if count > max {
            return None;
        }
        mem::forget(unfinished);
        let bytes = first - place + count * size_of::<T>();
        let end = align_up(place + bytes, STEP);
        if end > self.capacity {
            self.grow(place + bytes, end, vtable.align);
        }
        // SAFETY: the memory has room up to `end`, and both positions are aligned.
        unsafe {
            let data = self.data.as_ptr();
            data.add(at).cast::<Entity>().write(recorded(target));
            data.add(place).cast::<ListHeader<P>>().write(ListHeader { bytes, count, command });
        }
        self.count(vtable, at);
        self.len = end;
        Some(count)
    }

    /// Drops all unused payloads. Keeps the memory.
    pub(super) fn clear(&mut self) {
        /// Payloads that are not dropped yet.
        struct Undropped<'l> {
            stream: &'l mut CommandStream,
            run: usize,
            done: usize,
            position: usize,
        }

        impl Undropped<'_> {
            fn drop_all(&mut self) {
                while let Some(&StreamRun { vtable, start, count }) = self.stream.runs.get(self.run)
                {
                    if let Some(drop) = vtable.drop {
                        if self.done == 0 {
                            self.position = start;
                        }
                        while self.done < count {
                            let data = self.stream.data.as_ptr();
                            // SAFETY: a command of this vtable is stored at this position.
                            let command = unsafe { command_at(vtable, data, self.position) };
                            (self.position, self.done) = (command.next, self.done + 1);
                            if command.target().is_some() {
                                // SAFETY: the payload belongs to this vtable. It was not used, and is not used again.
                                unsafe { drop(command.payload) };
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
            let mut rest = Undropped { stream: self, run: 0, done: 0, position: 0 };
            // If dropping a payload panics, the other payloads are still dropped.
            while rest.run < rest.stream.runs.len() {
                panics.during(|| rest.drop_all());
            }
        }
        self.runs.clear();
        panics.go_on();
    }

    /// Moves the used bytes to memory with at least the needed size and alignment.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, used: usize, needed: usize, align: usize) {
        let capacity = needed.max(self.capacity * 2).max(1024);
        let align = align.max(self.align);
        let layout = Layout::from_size_align(capacity, align)
            .unwrap_or_else(|_| panic!("commands take more memory than there is"));
        // SAFETY: the layout has at least 1024 bytes.
        let data = unsafe { alloc(layout) };
        let Some(data) = NonNull::new(data) else { handle_alloc_error(layout) };
        // SAFETY: `used` bytes of the old memory are initialised, the new memory has room for them, and the two allocations do not
        // overlap.
        unsafe { data.copy_from_nonoverlapping(self.data, used) };
        self.free();
        (self.data, self.capacity, self.align) = (data, capacity, align);
    }

    fn free(&mut self) {
        if self.capacity > 0 {
            // SAFETY: the memory was allocated with this layout.
            unsafe {
                let layout = Layout::from_size_align_unchecked(self.capacity, self.align);
                dealloc(self.data.as_ptr(), layout);
            }
        }
    }
}

/// Returns the command of a vtable at a position in the memory that begins at `data`.
///
/// # Safety
///
/// - a command of this vtable is stored at the position, in memory that is borrowed for `'l`
#[inline(always)]
unsafe fn command_at<'l>(
    vtable: &'static CommandVTable,
    data: *mut u8,
    position: usize,
) -> StoredCommand<'l> {
    let place = payload_at(position, vtable.align);
    // SAFETY: the caller says that a command of this vtable is stored at the position. Its payload is aligned. A payload with a
    // list begins with its size.
    unsafe {
        let payload = data.add(place);
        let is_listed = vtable.size == CommandVTable::LISTED;
        let size = if is_listed { *payload.cast::<usize>() } else { vtable.size };
        let next = align_up(place + size, STEP);
        let slot = data.add(position).cast();
        StoredCommand { vtable, slot, payload, next, stream: PhantomData }
    }
}

/// Drops contiguous values. If dropping a value panics, the other values are still dropped.
///
/// # Safety
///
/// - `count` values are stored from `first` on, and are not used again
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
                // SAFETY: a value is stored at this index. It is dropped once, and not used again.
                unsafe { ptr::drop_in_place(first.add(done - 1)) };
            }
        });
    }
    panics.go_on();
}

/// Returns the position of a command's payload.
#[inline(always)]
fn payload_at(position: usize, align: usize) -> usize {
    align_up(position + size_of::<Entity>(), align)
}

/// Rounds up to a multiple of a power of two.
#[inline(always)]
fn align_up(position: usize, align: usize) -> usize {
    debug_assert!(align.is_power_of_two());
    (position + align - 1) & !(align - 1)
}

impl Drop for CommandStream {
    fn drop(&mut self) {
        /// Frees the memory, even if dropping a payload panics.
        struct Free<'l>(&'l mut CommandStream);

        impl Drop for Free<'_> {
            fn drop(&mut self) {
                self.0.free();
            }
        }

        Free(self).0.clear();
    }
}

impl fmt::Debug for CommandStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandStream").field("bytes", &self.len).finish_non_exhaustive()
    }
}
