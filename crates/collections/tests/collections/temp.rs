//! Scratch memory: `Temp`, its lists and maps, and `temp_scope`.
#![expect(unsafe_code, reason = "calls an allocator directly")]

use std::alloc::Layout;
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::panic::{AssertUnwindSafe, catch_unwind};

use allocator_api2::alloc::Allocator as _;
use ancho_collections::{Temp, TempList, temp_scope};
use ancho_jobs::{JobPool, JobScheduler};

fn address<T: ?Sized>(value: &T) -> usize {
    (&raw const *value).addr()
}

#[test]
fn slices_begin_at_a_line_and_values_at_the_alignment_of_their_type() {
    #[repr(align(128))]
    #[derive(Clone, Copy)]
    struct Wide;
    #[repr(align(4096))]
    #[derive(Clone, Copy)]
    struct Page(u8);

    let temp = Temp::new();
    for count in 0..100 {
        temp.alloc(1_u8);
        assert!(address(temp.slice(count, 7_u8)).is_multiple_of(64));
        assert!(address(temp.slice_copy(&[1_u64; 3])).is_multiple_of(64));
        assert!(address(temp.alloc(1_u64)).is_multiple_of(8));
        assert!(address(temp.alloc(Wide)).is_multiple_of(128));
        let pages = temp.slice(2, Page(3));
        assert!(address(pages).is_multiple_of(4096) && pages[1].0 == 3);
        assert!(address(temp.slice(count, Wide)).is_multiple_of(128));
    }
    // Single values are contiguous.
    let (one, two) = (temp.alloc(1_u32), temp.alloc(2_u32));
    assert_eq!(address(two) - address(one), 4);
}

#[test]
fn allocations_stay_unchanged() {
    let temp = Temp::new();
    let slices: Vec<_> = (0..2000).map(|n| (n, temp.slice(n, n as u32))).collect();
    assert!(temp.bytes_used() > 2000 * 2000 / 2 * 4);
    for (n, slice) in slices {
        assert_eq!(slice, vec![n as u32; n]);
    }
}

#[test]
fn empty_allocations_take_no_memory() {
    let mut temp = Temp::new();
    assert_eq!(temp.slice(0, 5_u64), []);
    assert_eq!(temp.slice_uninit::<String>(0).len(), 0);
    assert_eq!(temp.slice(1000, ()).len(), 1000);
    temp.alloc(());
    assert_eq!((temp.bytes_used(), temp.bytes_reserved()), (0, 0));
    temp.reset();
    assert_eq!(temp.bytes_reserved(), 0);
    assert_eq!(Temp::with_capacity(0).bytes_reserved(), 0);
}

#[test]
fn repeated_frames_reserve_no_more_memory() {
    let mut temp = Temp::new();
    let frame = |temp: &mut Temp| {
        for n in 0..100 {
            temp.slice(n * 100, 1_u8);
            let mut list = temp.list();
            list.extend(0..n * 10);
        }
        temp.slice(300_000, 1_u8);
        temp.reset();
        temp.bytes_reserved()
    };
    let reserved = frame(&mut temp);
    for _ in 0..50 {
        assert_eq!(frame(&mut temp), reserved);
    }
}

#[test]
fn a_block_that_is_too_small_is_kept_for_smaller_allocations() {
    let mut temp = Temp::with_capacity(1000);
    temp.slice(1 << 20, 0_u8);
    temp.reset();
    // The small block comes first now, but the next allocation needs the large one.
    let reserved = temp.bytes_reserved();
    temp.slice(1 << 20, 0_u8);
    temp.slice(1000, 0_u8);
    assert_eq!(temp.bytes_reserved(), reserved);
}

#[test]
fn more_than_there_is_panics_and_the_rest_stays_usable() {
    let temp = Temp::new();
    let five = temp.alloc(5);
    for count in [usize::MAX, isize::MAX as usize, isize::MAX as usize / 8 - 1000] {
        let panic = catch_unwind(AssertUnwindSafe(|| temp.slice_uninit::<u64>(count))).unwrap_err();
        assert_eq!(
            panic.downcast_ref::<String>().unwrap(),
            &format!(
                "A0021: there is no scratch memory for {count} values of `u64`; ask for fewer, or use a \
                 list of the `Temp`, whose `try_reserve` returns the error"
            )
        );
    }
    let mut list: TempList<u64> = temp.list();
    assert!(list.try_reserve(usize::MAX).is_err());
    assert!(list.try_reserve(isize::MAX as usize / 8 - 1000).is_err());
    list.push(6);
    assert_eq!((*five, &*list), (5, &[6][..]));
}

#[test]
fn a_panic_while_a_slice_is_filled_leaves_the_rest_usable() {
    let temp = Temp::new();
    let before = temp.slice(10, 1);
    let filled = catch_unwind(AssertUnwindSafe(|| {
        temp.slice_from_fn(10, |n| if n == 5 { panic!("five") } else { n })
    }));
    assert!(filled.is_err());
    assert_eq!((before, temp.slice(10, 2)), (&mut [1; 10][..], &mut [2; 10][..]));
}

#[test]
fn a_function_that_fills_a_slice_can_allocate() {
    let temp = Temp::new();
    let rows = temp.slice_from_fn(50, |n| &*temp.slice(n, n));
    assert!(rows.iter().enumerate().all(|(n, row)| *row == vec![n; n]));
}

#[test]
fn the_last_list_grows_where_it_is() {
    let temp = Temp::with_capacity(1 << 20);
    let mut list = temp.list();
    list.push(0_u64);
    let place = list.as_ptr();
    list.extend(1..1000);
    assert_eq!(list.as_ptr(), place);
    assert!(list.iter().copied().eq(0..1000));
    // It is not the last allocation any more, and moves.
    temp.alloc(0_u8);
    list.extend(1000..10_000);
    assert_ne!(list.as_ptr(), place);
    assert!(list.iter().copied().eq(0..10_000));
}

#[test]
fn the_last_allocation_is_freed_immediately() {
    let temp = Temp::new();
    for _ in 0..1000 {
        let mut list = temp.list();
        list.extend(0..1000);
        list.shrink_to_fit();
    }
    assert!(temp.bytes_reserved() <= 64 << 10);
    assert_eq!(temp.bytes_used(), 0);
}

#[test]
fn lists_and_maps_run_destructors() {
    struct Counts<'a>(&'a Cell<u32>);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Cell::new(0);
    let temp = Temp::new();
    let mut list = temp.list();
    list.extend((0..10).map(|_| Counts(&dropped)));
    drop(list);
    assert_eq!(dropped.get(), 10);

    let mut map = hashbrown::HashMap::with_hasher_in(RandomState::new(), &temp);
    map.extend((0..1000).map(|n| (n, n.to_string())));
    assert!((0..1000).all(|n| map[&n] == n.to_string()));
}

#[test]
fn memory_can_be_resized_with_another_alignment() {
    let temp = Temp::new();
    let layout = |size, align| Layout::from_size_align(size, align).unwrap();
    temp.alloc(0_u8);
    // SAFETY: each call passes the result of the preceding one, with the layout of that call.
    unsafe {
        let memory = (&temp).allocate(layout(100, 1)).unwrap();
        memory.cast::<u8>().write_bytes(7, 100);
        let memory = (&temp).grow(memory.cast(), layout(100, 1), layout(200, 4096)).unwrap();
        assert!(memory.cast::<u8>().addr().get().is_multiple_of(4096));
        let memory = (&temp).shrink(memory.cast(), layout(200, 4096), layout(100, 8192)).unwrap();
        assert!(memory.cast::<u8>().addr().get().is_multiple_of(8192));
        assert_eq!(memory.as_ref(), [7; 100]);
        (&temp).deallocate(memory.cast(), layout(100, 8192));
        let nothing = (&temp).allocate(layout(0, 8192)).unwrap();
        assert!(nothing.cast::<u8>().addr().get().is_multiple_of(8192));
        let memory = (&temp).grow(nothing.cast(), layout(0, 8192), layout(10, 8192)).unwrap();
        assert_eq!(memory.len(), 10);
    }
}

#[test]
fn it_can_be_sent_when_nothing_borrows_it() {
    let mut temp = Temp::new();
    temp.slice(1000, 1);
    let temp = std::thread::spawn(move || {
        temp.reset();
        temp.slice(1000, 2);
        temp
    });
    assert_eq!(temp.join().unwrap().bytes_used(), 4000);
}

#[test]
fn debug_shows_how_much_is_used() {
    let temp = Temp::with_capacity(1 << 20);
    temp.slice(1000, 0_u8);
    assert_eq!(format!("{temp:?}"), "Temp { bytes_used: 1000, bytes_reserved: 1048640 }");
}

#[test]
fn a_scope_frees_its_allocations() {
    let reserved = || temp_scope(|temp| temp.bytes_reserved());
    temp_scope(|temp| temp.slice(1000, 1).len());
    let before = reserved();
    for _ in 0..1000 {
        temp_scope(|temp| temp.slice(1000, 1).len());
        let panicked = catch_unwind(|| {
            temp_scope(|temp| {
                temp.slice(1000, 1);
                panic!("on purpose");
            })
        });
        assert!(panicked.is_err());
    }
    assert_eq!(reserved(), before);
    temp_scope(|temp| assert_eq!(temp.bytes_used(), 0));
}

#[test]
fn an_inner_scope_does_not_affect_the_outer_one() {
    temp_scope(|outer| {
        let before = outer.slice(100, 1);
        let during = temp_scope(|inner| {
            let mine = inner.slice(100, 2);
            let during = outer.slice(100, 3);
            temp_scope(|innermost| innermost.slice(100, 4).len());
            assert_eq!(mine, [2; 100]);
            during
        });
        temp_scope(|inner| inner.slice(100, 5).len());
        assert_eq!((before, during), (&mut [1; 100][..], &mut [3; 100][..]));
    });
}

#[test]
fn jobs_have_scratch_memory_of_their_thread() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut sums = ancho_jobs::JobSlice::new(1000, 0);
    let job = jobs.schedule_for_each(&[], sums.write(), 1000, 8, |sum: &mut usize, index| {
        *sum = temp_scope(|temp| temp.slice_from_fn(index, |n| n).iter().sum());
    });
    jobs.complete(job.unwrap());
    assert!(
        sums.as_slice()
            .unwrap()
            .iter()
            .enumerate()
            .all(|(n, sum)| *sum == n * n.saturating_sub(1) / 2)
    );
}

#[test]
fn a_scope_works_while_its_thread_ends() {
    struct AtTheEnd;
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            assert_eq!(temp_scope(|temp| temp.slice(1000, 1).len()), 1000);
        }
    }
    thread_local!(static AT_THE_END: AtTheEnd = const { AtTheEnd });
    // Either of the two may be dropped first.
    std::thread::spawn(|| {
        AT_THE_END.with(|_| ());
        temp_scope(|temp| temp.slice(1000, 1).len());
    })
    .join()
    .unwrap();
    std::thread::spawn(|| {
        temp_scope(|temp| temp.slice(1000, 1).len());
        AT_THE_END.with(|_| ());
    })
    .join()
    .unwrap();
}
