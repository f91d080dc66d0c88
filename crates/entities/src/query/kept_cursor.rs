//! Memory for cursors, which a thread keeps from one loop to the next.

#![expect(unsafe_code, reason = "memory that is used again, for a cursor of another borrow")]

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};

use super::cursor::Cursor;

/// A cursor at an address of its own.
///
/// It is as a box, and takes the memory of one that was dropped on this thread, if there is any: a loop allocates nothing, but
/// for the first ones.
pub(super) struct KeptCursor<'w> {
    /// With a cursor of this lifetime in it.
    full: FullPlace,
    cursor: PhantomData<Cursor<'w>>,
}

/// Memory with a cursor in it, which is taken out only when this is dropped.
///
/// It does not say of which lifetime: who drops it has no use for what the cursor borrows, and the world may be borrowed by
/// somebody else by then, as with a box.
struct FullPlace(ManuallyDrop<Box<Place>>);

/// Memory for a cursor.
struct Place {
    /// What its lifetime is makes no difference to where its parts are.
    cursor: MaybeUninit<Cursor<'static>>,
    /// The next one that is not in use, and how many there are from there on.
    next: Option<Box<Place>>,
    others: u32,
}

/// How many a thread keeps: loops are rarely nested any deeper.
const MOST: u32 = 16;

thread_local! {
    /// Those that are not in use, in a chain.
    static SPARE: Cell<Option<Box<Place>>> = const { Cell::new(None) };
}

impl<'w> KeptCursor<'w> {
    #[inline]
    pub(super) fn new(cursor: Cursor<'w>) -> Self {
        let mut place = take();
        // SAFETY: there is room for it, whatever its lifetime. It is used as what it is.
        unsafe { place.cursor.as_mut_ptr().cast::<Cursor<'w>>().write(cursor) };
        Self { full: FullPlace(ManuallyDrop::new(place)), cursor: PhantomData }
    }
}

/// Memory for a cursor, with nothing in it.
fn take() -> Box<Place> {
    // A thread that ends has none.
    let spare = SPARE.try_with(|spare| {
        let mut place = spare.take()?;
        spare.set(place.next.take());
        Some(place)
    });
    let new = || Box::new(Place { cursor: MaybeUninit::uninit(), next: None, others: 0 });
    spare.ok().flatten().unwrap_or_else(new)
}

/// Keeps memory with nothing in it, unless there is enough.
fn give_back(mut place: Box<Place>) {
    _ = SPARE.try_with(|spare| {
        let next = spare.take();
        place.others = next.as_ref().map_or(0, |next| next.others + 1);
        if place.others < MOST {
            place.next = next;
            spare.set(Some(place));
        } else {
            spare.set(next);
        }
    });
}

impl<'w> Deref for KeptCursor<'w> {
    type Target = Cursor<'w>;

    #[inline(always)]
    fn deref(&self) -> &Cursor<'w> {
        // SAFETY: it is there until this is dropped, with this lifetime.
        unsafe { &*self.full.0.cursor.as_ptr().cast() }
    }
}

impl<'w> DerefMut for KeptCursor<'w> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Cursor<'w> {
        // SAFETY: it is there until this is dropped, with this lifetime.
        unsafe { &mut *self.full.0.cursor.as_mut_ptr().cast() }
    }
}

impl Drop for FullPlace {
    fn drop(&mut self) {
        // SAFETY: it is there, and not used any more. What it borrows is not touched: only lists of numbers are dropped.
        unsafe { self.0.cursor.assume_init_drop() };
        // SAFETY: this is not used any more.
        give_back(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}
