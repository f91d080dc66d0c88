//! Containers with contiguous elements, which are looked up when a job runs, and split between its batches.
#![expect(unsafe_code, reason = "implements a container with contiguous elements")]

use crate::common;

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ancho_jobs::{ContainerLabel, Contiguous, Guarded, ScheduleError};
use common::{Drops, schedulers};

/// A vector that returns the address of its elements, and counts the calls.
struct Shelf<T> {
    items: Vec<T>,
    asked: Arc<AtomicUsize>,
}

// SAFETY: a vector's elements are on the heap, and stay there until it is changed.
unsafe impl<T: Send + 'static> Contiguous for Shelf<T> {
    type Element = T;

    fn elements(&self) -> NonNull<[T]> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let start = NonNull::new(self.items.as_ptr().cast_mut()).unwrap();
        NonNull::slice_from_raw_parts(start, self.items.len())
    }
}

#[track_caller]
fn shelf<T: Send + 'static>(items: Vec<T>) -> Guarded<Shelf<T>> {
    let shelf = Shelf { items, asked: Arc::default() };
    Guarded::new(shelf, ContainerLabel::of::<Shelf<T>>().named("shelf"))
}

#[test]
fn how_many_elements_there_are_is_looked_up_when_the_job_runs() {
    for jobs in schedulers() {
        let mut shelf = shelf(vec![0; 3]);
        let grow = jobs.schedule(&[], shelf.write(), |shelf| shelf.items.resize(50, 0)).unwrap();
        let all = |items: &mut [usize]| items.len();
        let number = |part: &mut [usize], range: std::ops::Range<usize>| {
            part.iter_mut().zip(range).for_each(|(item, i)| *item = i);
        };
        let deferred = jobs
            .named("Deferred")
            .schedule_deferred(&[grow], shelf.write_elements(), all, 3, number)
            .unwrap();
        let fixed =
            jobs.schedule_for_each(&[deferred], shelf.write_elements(), 50, 4, |item, _| {
                *item += 1;
            });
        let sum = jobs.schedule(&[fixed.unwrap()], shelf.read_elements(), |items| {
            assert_eq!(items, (1..=50).collect::<Vec<_>>());
        });
        jobs.complete(sum.unwrap());
        assert_eq!(shelf.get().unwrap().items[49], 50);
    }
}

#[test]
fn a_count_beyond_the_elements_is_refused_as_soon_as_they_are_known() {
    for jobs in schedulers() {
        let mut shelf = shelf(vec![0; 3]);
        let refused = jobs.schedule_for_each(&[], shelf.write_elements(), 4, 1, |_, _| {});
        assert!(matches!(refused, Err(ScheduleError::TooShort { length: 3, count: 4, .. })));

        // An uncompleted job may change the number of elements.
        let cut = jobs.schedule(&[], shelf.write(), |shelf| shelf.items.truncate(2)).unwrap();
        let add = jobs.schedule_for_each(&[cut], shelf.write_elements(), 3, 1, |item, _| {
            *item += 1;
        });
        let failed = jobs.try_complete(add.unwrap()).unwrap_err();
        assert!(
            failed
                .message()
                .starts_with("A0010: a batch has the indices 2..3, but `shelf` (Shelf<"),
            "{failed}"
        );
        assert_eq!(shelf.get().unwrap().items, [1, 1]);

        let grow = jobs.schedule(&[], shelf.write(), |shelf| shelf.items.push(7)).unwrap();
        let fits = jobs.schedule_for_each(&[grow], shelf.write_elements(), 3, 1, |item, _| {
            *item += 1;
        });
        jobs.complete(fits.unwrap());
        assert_eq!(shelf.get().unwrap().items, [2, 2, 8]);
    }
}

#[test]
fn tokens_of_the_value_and_of_its_elements_are_of_one_container() {
    for jobs in schedulers() {
        let mut shelf = shelf(vec![1, 2, 3]);
        let both = (shelf.read(), shelf.read_elements());
        let read = jobs.schedule(&[], both, |(shelf, items)| {
            assert_eq!(shelf.items, items);
        });
        let read = read.unwrap();
        shelf.get().unwrap();
        let refused = jobs.schedule(&[], shelf.write_elements(), |_| {});
        assert!(matches!(refused, Err(ScheduleError::Conflict { .. })));
        let write = jobs.schedule(&[read], shelf.write_elements(), |items| items[0] = 9).unwrap();
        assert!(shelf.get().is_err());
        for refused in [
            jobs.schedule(&[], shelf.read_elements(), |_| {}),
            jobs.schedule(&[], shelf.read(), |_| {}),
            jobs.schedule(&[read], shelf.write(), |_| {}),
        ] {
            assert!(matches!(refused, Err(ScheduleError::Conflict { .. })));
        }
        jobs.complete(write);
        assert_eq!(shelf.into_inner().ok().unwrap().items, [9, 2, 3]);
    }
}

#[test]
fn elements_of_any_size_and_alignment_are_found() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(4096))]
    struct Wide(u8);

    for jobs in schedulers() {
        let mut wide = shelf(vec![Wide(1); 9]);
        let mut nothing = shelf(vec![(); usize::MAX]);
        let mut empty = shelf(Vec::<String>::new());
        let number = |wide: &mut Wide, i| {
            assert!(std::ptr::from_ref(wide).addr().is_multiple_of(4096));
            wide.0 = i as u8;
        };
        let a = jobs.schedule_for_each(&[], wide.write_elements(), 9, 2, number).unwrap();
        let batch = usize::MAX / 7;
        let b = jobs.schedule_parallel(
            &[],
            nothing.write_elements(),
            usize::MAX,
            batch,
            |part: &mut [()], range| assert_eq!(part.len(), range.end - range.start),
        );
        let c = jobs.schedule(&[], empty.write_elements(), |all| assert!(all.is_empty()));
        jobs.complete_all(&[a, b.unwrap(), c.unwrap()]);
        assert_eq!(wide.get().unwrap().items[8], Wide(8));
    }
}

#[test]
fn a_container_that_was_dropped_meanwhile_keeps_its_elements_for_the_job() {
    for jobs in schedulers() {
        let drops = Drops::default();
        let mut shelf = shelf((0..10).map(|_| drops.value()).collect());
        let job = jobs.schedule_for_each(&[], shelf.write_elements(), 10, 1, |item, _| {
            assert_eq!(format!("{item:?}").len(), format!("{item:?}").len());
        });
        drop(shelf);
        assert_eq!(drops.count(), 0);
        jobs.complete(job.unwrap());
        assert_eq!(drops.count(), 10);
    }
}
