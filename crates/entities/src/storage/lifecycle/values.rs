//! Old values of removed and overwritten components, which are moved to the log instead of dropped.

#![expect(unsafe_code, reason = "moves values out of rows")]

use std::alloc::Layout;
use std::ptr;
use std::sync::Arc;

use super::log::{Log, RunKind, ValueRun};
use super::{EventBatch, NOWHERE, WatchNumber};
use crate::component::{ComponentType, SharedValue};
use crate::entity::Entity;
use crate::set::ComponentSet;
use crate::storage::{Chunk, InlineIndices, RowPlace, RowRange, Storage, Transfer};

/// The address of old values of one type, contiguous in the arena of their log or batch, or null.
///
/// Values have the form that they have in a column. The value of a shared component, which has no column, is a [`SharedValue`] for
/// all entities of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OldValues(*const u8);

// SAFETY: an address of values that are `Send`. Reading them is unsafe, see `first`.
unsafe impl Send for OldValues {}
// SAFETY: an address of values that are `Send`. Reading them is unsafe, see `first`.
unsafe impl Sync for OldValues {}

// SAFETY: through a shared batch, only its lists and its old values are read. Reading the values is unsafe, see
// `OldValues::first`.
unsafe impl Sync for EventBatch {}

impl OldValues {
    pub(crate) const NONE: Self = Self(ptr::null());

    pub(super) fn is_none(self) -> bool {
        self.0.is_null()
    }

    /// Returns the values after the first `count`, which have `size` bytes each.
    pub(super) fn after(self, count: u32, size: usize) -> Self {
        Self(self.0.wrapping_add(count as usize * size))
    }

    /// Returns the address of the first value, if there is one.
    ///
    /// Only one thread at a time may read values of managed components, which need not be `Sync`.
    #[inline]
    pub(crate) fn first(self) -> Option<*const u8> {
        (!self.0.is_null()).then_some(self.0)
    }
}

/// Drops a shared value.
///
/// # Safety
///
/// - there is a [`SharedValue`] at the address, which is not used afterwards
unsafe fn drop_shared(value: *mut u8) {
    // SAFETY: there is a value, which is not used afterwards.
    unsafe { value.cast::<SharedValue>().drop_in_place() }
}

impl Log {
    /// Moves values of consecutive entities of a run to the log, which drops them.
    ///
    /// # Safety
    ///
    /// - there are `count` values of the type at the address, and nothing uses or drops them there afterwards
    unsafe fn take(
        &mut self,
        (run, at): (u32, u32),
        (number, ty): (WatchNumber, ComponentType),
        from: *const u8,
        count: u32,
    ) {
        let bytes = ty.size() * count as usize;
        let layout = Layout::from_size_align(bytes, ty.align()).expect("at most a chunk");
        let values = self.values.place(layout);
        // SAFETY: there are values at `from`, and the new memory has room for them. Afterwards only the log owns them.
        unsafe {
            values.copy_from_nonoverlapping(from, bytes);
            self.values.drop_all_later(ty, values, count as usize);
        }
        if let Some(last) = self.value_runs.last_mut()
            && (last.run, last.number, last.at + last.len) == (run, number, at)
            && last.values.after(last.len, ty.size()) == OldValues(values)
        {
            last.len += count;
            return;
        }
        let values = OldValues(values);
        self.value_runs.push(ValueRun { run, at, len: count, number, values });
    }

    /// Keeps the value of a shared component for consecutive entities of a run.
    fn keep_shared(
        &mut self,
        (run, at): (u32, u32),
        number: WatchNumber,
        value: &SharedValue,
        count: u32,
    ) {
        if let Some(&last) = self.value_runs.last()
            && last.number == number
            && let Some(known) = last.values.first()
            // SAFETY: the number belongs to a shared component, so that this function has kept a value at the address. The arena of
            // this log still has it, because the arena is exchanged only together with the list of runs.
            && Arc::ptr_eq(unsafe { &*known.cast::<SharedValue>() }, value)
        {
            if (last.run, last.at + last.len) == (run, at) {
                self.value_runs.last_mut().expect("there is one").len += count;
            } else {
                self.value_runs.push(ValueRun { run, at, len: count, ..last });
            }
            return;
        }
        let kept = self.values.place(Layout::new::<SharedValue>());
        // SAFETY: the memory has room for the value, which only the arena owns.
        unsafe {
            kept.cast::<SharedValue>().write(Arc::clone(value));
            self.values.drop_later_by(drop_shared, kept);
        }
        self.value_runs.push(ValueRun { run, at, len: count, number, values: OldValues(kept) });
    }
}

impl Storage {
    /// Returns the address of the value of a type in a row.
    fn value_at(chunk: &Chunk, ty: ComponentType, row: u32) -> Option<*mut u8> {
        let found = chunk.find(ty)?;
        Some(chunk.column(found.offset).wrapping_add(row as usize * ty.size()))
    }

    /// Moves the observed values of a type out of rows to the log, if an observer requests them.
    ///
    /// # Safety
    ///
    /// - the rows exist; their memory is unshared, or the type is duplicated by copying bytes
    /// - nothing uses or drops the values in the rows afterwards
    unsafe fn take_rows(&mut self, run: RowRange, number: WatchNumber, place: (u32, u32)) {
        let watched = &self.lifecycle.watched[number as usize];
        if watched.value_users == 0 {
            return;
        }
        let ty = watched.ty;
        if ty.is_shared() {
            return self.keep_shared_of(run.chunk, ty, number, place, run.rows);
        }
        let chunk = &self.chunks[run.chunk];
        let Some(values) = Self::value_at(chunk, ty, run.first) else { return };
        // SAFETY: the rows have values of the type, by the contract of this function.
        unsafe { self.lifecycle.log.take(place, (number, ty), values, run.rows) };
    }

    /// Keeps the value that a chunk has of an observed shared component, for consecutive entities of a run.
    fn keep_shared_of(
        &mut self,
        chunk: u32,
        ty: ComponentType,
        number: WatchNumber,
        place: (u32, u32),
        count: u32,
    ) {
        let Some((table, index)) = self.archetypes.shared_place(&self.chunks[chunk], ty) else {
            return;
        };
        let value = self.shared.value(table, index);
        self.lifecycle.log.keep_shared(place, number, value, count);
    }

    /// Keeps the old value of a shared component of one entity, if an observer requests it. `place` was returned by the log for
    /// the entity, which is still in the chunk.
    pub(crate) fn keep_one_shared(&mut self, place: (u32, u32), chunk: u32, ty: ComponentType) {
        let signature = self.signature_of(self.chunks[chunk].archetype);
        let Some(number) = self.number_in(signature, ty) else { return };
        if self.lifecycle.watched[number as usize].value_users > 0 {
            self.keep_shared_of(chunk, ty, number, place, 1);
        }
    }

    /// Logs rows that are removed, and moves their observed values to the log, before the rows are removed.
    ///
    /// # Safety
    ///
    /// - the rows exist; their memory is unshared, unless [`takes_values_of`](Self::takes_values_of) is false
    /// - the caller drops only the values of [`columns_not_taken`](Self::columns_not_taken)
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn log_destroyed(&mut self, run: RowRange) {
        let from = self.signature_of(self.chunks[run.chunk].archetype);
        let place = self.log_change(run, from, NOWHERE, RunKind::Change);
        for at in 0..self.lifecycle.signature(from).types.len() {
            let number = self.lifecycle.signature(from).types[at];
            // SAFETY: the rows exist in unshared memory, and the caller does not use the values afterwards.
            unsafe { self.take_rows(run, number, place) };
        }
    }

    /// Logs rows that are removed, and whose values were moved elsewhere.
    #[cold]
    pub(crate) fn log_destroyed_without_values(&mut self, run: RowRange) {
        let from = self.signature_of(self.chunks[run.chunk].archetype);
        self.log_change(run, from, NOWHERE, RunKind::Change);
    }

    /// Logs rows that are transferred, before they are. Moves the observed values of components that are removed or replaced to the
    /// log. With `without_values`, these values were already moved elsewhere.
    ///
    /// # Safety
    ///
    /// - the rows exist, and the transfer begins at their archetype
    /// - their memory is unshared, or all its types are duplicated by copying bytes, or the log takes no values
    /// - of the columns that the transfer leaves behind, the caller drops only the values of
    ///   [`columns_not_taken`](Self::columns_not_taken)
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn log_transfer(
        &mut self,
        run: RowRange,
        transfer: &Transfer,
        without_values: bool,
    ) {
        let (from, to) =
            (self.signature_of(self.chunks[run.chunk].archetype), self.signature_of(transfer.to));
        if from != to {
            let place = self.log_change(run, from, to, RunKind::Change);
            for at in 0..self.lifecycle.signature(from).types.len() {
                let number = self.lifecycle.signature(from).types[at];
                let ty = self.lifecycle.watched[number as usize].ty;
                if !without_values && !self.archetypes[transfer.to].shape.has(ty) {
                    // SAFETY: the rows exist, and the caller does not use values that the transfer leaves behind.
                    unsafe { self.take_rows(run, number, place) };
                }
            }
        }
        // SAFETY: the contract of this function includes that of the other one.
        unsafe { self.log_written(run, transfer, from) };
    }

    /// Logs components of rows that a transfer overwrites, before it does.
    ///
    /// # Safety
    ///
    /// - the contract of [`log_transfer`](Self::log_transfer) holds
    unsafe fn log_written(&mut self, run: RowRange, transfer: &Transfer, from: u32) {
        for at in 0..transfer.written.len() {
            let shape = &self.archetypes[transfer.to].shape;
            let ty = shape.types[transfer.written[at] as usize];
            let Some(number) = self.number_in(from, ty) else { continue };
            let place = self.log_change(run, from, from, RunKind::Overwrite(number));
            // SAFETY: the rows have values of the type, which are overwritten next. Values of shared types are not in the rows.
            unsafe { self.take_rows(run, number, place) };
        }
    }

    /// Logs components of rows that are overwritten in place, before they are. A shared component of the transfer is not logged,
    /// because rows with another value would move.
    ///
    /// # Safety
    ///
    /// - the rows exist in unshared memory, and the transfer leads from their archetype to itself
    /// - the caller drops only the old values of [`columns_not_taken`](Self::columns_not_taken)
    #[cold]
    pub(crate) unsafe fn log_replaced_rows(&mut self, run: RowRange, transfer: &Transfer) {
        let from = self.signature_of(transfer.to);
        for at in 0..transfer.written.len() {
            let ty = self.archetypes[transfer.to].shape.types[transfer.written[at] as usize];
            if ty.is_shared() {
                continue;
            }
            let Some(number) = self.number_in(from, ty) else { continue };
            let place = self.log_change(run, from, from, RunKind::Overwrite(number));
            // SAFETY: the rows have values of the type in unshared memory, which are overwritten next.
            unsafe { self.take_rows(run, number, place) };
        }
    }

    /// Returns whether the log takes the old value of a column, in entities of an archetype.
    pub(crate) fn takes_column(&mut self, archetype: u32, ty: ComponentType) -> bool {
        let signature = self.signature_of(archetype);
        self.lifecycle.takes(signature, ty).is_some()
    }

    /// Logs the change of one entity, and moves its value of a removed or overwritten component to the log.
    ///
    /// # Safety
    ///
    /// - `place` was returned by the log for this entity
    /// - there is a value of the type at the address; nothing uses or drops it there afterwards if the function returns `true`
    pub(crate) unsafe fn take_one(
        &mut self,
        place: (u32, u32),
        archetype: u32,
        ty: ComponentType,
        value: *const u8,
    ) -> bool {
        let signature = self.signature_of(archetype);
        let Some(number) = self.lifecycle.takes(signature, ty) else { return false };
        // SAFETY: there is a value of the type, which is not used afterwards.
        unsafe { self.lifecycle.log.take(place, (number, ty), value, 1) };
        true
    }

    /// Logs the old values of components that were replaced in place, and moves those that observers request to the log.
    #[cold]
    #[inline(never)]
    pub(crate) fn log_replaced<S: ComponentSet>(&mut self, entity: Entity, number: u32, old: S) {
        let archetype = self.chunks[number].archetype;
        let (mut layout, mut offsets) = (Layout::new::<()>(), InlineIndices::default());
        S::types(&mut |ty| {
            let value = Layout::from_size_align(ty.size(), ty.align()).expect("that of a type");
            let (all, offset) = layout.extend(value).expect("as large as a chunk at most");
            layout = all;
            offsets.push(u32::try_from(offset).expect("as large as a chunk at most"));
        });
        let values = self.lifecycle.log.values.place(layout);
        // SAFETY: the memory has room for the set, with an offset for each of its types.
        unsafe { old.write(RowPlace::new(values, &offsets, 0)) };
        let mut next = offsets.iter();
        S::types(&mut |ty| {
            let value = next.next().map(|&offset| values.wrapping_add(offset as usize));
            let Some(value) = value.filter(|_| !ty.is_shared()) else { return };
            let place = self.log_overwritten(entity, archetype, ty);
            let signature = self.signature_of(archetype);
            let taken = self.lifecycle.takes(signature, ty);
            // SAFETY: there is a value of the type in the arena, and only the arena owns it.
            unsafe { self.lifecycle.log.values.drop_all_later(ty, value, 1) };
            if let (Some((run, at)), Some(number)) = (place, taken) {
                let values = OldValues(value);
                self.lifecycle.log.value_runs.push(ValueRun { run, at, len: 1, number, values });
            }
        });
    }
}
