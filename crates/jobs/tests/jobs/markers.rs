//! Marker traits of the types, and the lifetimes of tokens.

use std::cell::Cell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;

use ancho_jobs::{
    BatchInfo, CellConcurrent, CellRead, CellWrite, ConcurrentWrite, Epoch, EpochStamp, Guarded,
    Held, HeldSlice, JobPool, JobScheduler, JobSlice, SliceRead, SliceUnrestricted, SliceWrite,
};

struct Probe<T>(PhantomData<T>);

trait Otherwise {
    const SEND: bool = false;
    const SYNC: bool = false;
}

impl<T> Otherwise for Probe<T> {}

/// If the bound holds, these methods take precedence over those of the trait.
impl<T: Send> Probe<T> {
    const SEND: bool = true;
}

impl<T: Sync> Probe<T> {
    const SYNC: bool = true;
}

/// Returns whether a type is `Send`, and whether it is `Sync`.
macro_rules! markers {
    ($type:ty) => {
        (Probe::<$type>::SEND, Probe::<$type>::SYNC)
    };
}

struct Counter(AtomicU32);

impl ConcurrentWrite for Counter {
    type Writer<'v> = &'v AtomicU32;
    type Item<'b> = &'b AtomicU32;

    fn writer(&self, _: &BatchInfo) -> &AtomicU32 {
        &self.0
    }

    fn item<'b>(writer: &'b mut &AtomicU32, _: usize) -> &'b AtomicU32 {
        writer
    }
}

#[test]
fn tokens_are_not_sync_and_read_tokens_are_not_send() {
    assert_eq!(markers!(SliceRead<'static, u32>), (false, false));
    assert_eq!(markers!(CellRead<'static, u32>), (false, false));
    // A token that writes borrows its container mutably, so no other reference to the container exists: it could
    // move.
    assert_eq!(markers!(SliceWrite<'static, u32>), (false, false));
    assert_eq!(markers!(SliceUnrestricted<'static, u32>), (false, false));
    assert_eq!(markers!(CellWrite<'static, u32>), (true, false));
    assert_eq!(markers!(CellConcurrent<'static, Counter>), (true, false));
}

#[test]
fn containers_move_between_threads_and_are_not_shared() {
    assert_eq!(markers!(Guarded<Cell<u32>>), (true, false));
    assert_eq!(markers!(Guarded<Rc<u32>>), (false, false));
    assert_eq!(markers!(JobSlice<Cell<u32>>), (true, false));
    assert_eq!(markers!(JobSlice<Rc<u32>>), (false, false));
    assert_eq!(markers!(JobScheduler), (true, false));
}

#[test]
fn held_data_is_send_and_sync_if_the_value_is_send() {
    assert_eq!(markers!(Held<Cell<u32>>), (true, true));
    assert_eq!(markers!(HeldSlice<Cell<u32>>), (true, true));
    assert_eq!(markers!(Held<Rc<u32>>), (false, false));
    assert_eq!(markers!(HeldSlice<Rc<u32>>), (false, false));
    assert_eq!(markers!(Epoch), (true, true));
    assert_eq!(markers!(EpochStamp), (true, true));
    assert_eq!(markers!(JobPool), (true, true));
}

/// A token may be used where a shorter loan is required: this compiles.
#[expect(dead_code, reason = "what matters is that it compiles")]
fn tokens_can_be_lent_for_less<'s, 'l: 's>(
    read: SliceRead<'l, u32>,
    write: SliceWrite<'l, u32>,
    unrestricted: SliceUnrestricted<'l, u32>,
    cell: CellWrite<'l, u32>,
) -> (SliceRead<'s, u32>, SliceWrite<'s, u32>, SliceUnrestricted<'s, u32>, CellWrite<'s, u32>) {
    (read, write, unrestricted, cell)
}
