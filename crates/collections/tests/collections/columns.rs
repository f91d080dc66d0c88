//! Tables in columns, alone and in jobs.

use crate::common;
use crate::common::model;

use ancho_collections::{Columns, NativeColumns};
use ancho_jobs::ScheduleError;
use common::source::limited;
use common::{
    Counted, Drops, WORKERS, assert_refused, numbers, panic_message, scheduler, schedulers,
};
use model::{cases, time_is_up};
use proptest::prelude::*;

#[test]
fn rows_are_added_and_removed() {
    let mut table = Columns::from_iter([(1, 'a', "x"), (2, 'b', "y")]);
    table.push((3, 'c', "z"));
    assert_eq!(table.slices(), (&[1, 2, 3][..], &['a', 'b', 'c'][..], &["x", "y", "z"][..]));
    assert_eq!(table.swap_remove(0), (1, 'a', "x"));
    table.set(1, (7, 'q', "w"));
    assert_eq!(
        (table.get(0), table.get(1), table.get(2)),
        (Some((&3, &'c', &"z")), Some((&7, &'q', &"w")), None)
    );
    assert_eq!(
        (table.pop(), table.pop(), table.pop()),
        (Some((7, 'q', "w")), Some((3, 'c', "z")), None)
    );
    assert!(table.is_empty() && table.slices().0.is_empty());
}

#[test]
fn a_row_has_one_to_eight_values() {
    let mut one = Columns::<(u8,)>::new();
    one.extend([(1,), (2,)]);
    assert_eq!(one.slices(), (&[1, 2][..],));
    let mut eight = Columns::new();
    eight.push((1_u8, 2_u16, 3_u32, 4_u64, 5_i8, (), "7", [8.0; 3]));
    eight.slices_mut().3[0] = 40;
    assert_eq!(eight.pop(), Some((1, 2, 3, 40, 5, (), "7", [8.0; 3])));
}

#[test]
fn every_column_begins_at_a_line() {
    #[derive(Clone, Copy)]
    #[repr(align(128))]
    struct Wide;

    let mut table = Columns::new();
    for row in 0..300_u16 {
        table.push((row as u8, row, f64::from(row), Wide));
        let (bytes, words, floats, wides) = table.slices();
        assert!(bytes.as_ptr().addr().is_multiple_of(64));
        assert!(words.as_ptr().addr().is_multiple_of(64));
        assert!(floats.as_ptr().addr().is_multiple_of(64));
        assert!(wides.as_ptr().addr().is_multiple_of(128));
    }
    let (bytes, words, floats, _) = table.slices();
    assert!(words.iter().copied().eq(0..300));
    assert!(words.iter().zip(bytes).all(|(word, byte)| *word as u8 == *byte));
    assert!(words.iter().zip(floats).all(|(word, float)| f64::from(*word) == *float));
}

#[test]
fn rows_out_of_range_are_refused() {
    let drops = Drops::default();
    let mut table: Columns<(Counted, u8)> =
        drops.values::<Vec<_>>(3).into_iter().zip(0..).collect();
    assert_refused("A0014", || table.swap_remove(3));
    assert_refused("A0014", || table.set(3, (drops.value(9), 9)));
    assert_refused("A0014", || table.set(usize::MAX, (drops.value(9), 9)));
    assert_eq!((numbers(table.slices().0), table.slices().1), (vec![0, 1, 2], &[0, 1, 2][..]));
    assert_eq!(drops.alive(), 3);
}

#[test]
fn rows_that_there_is_no_memory_for_are_refused() {
    let (allocator, ledger) = limited(1000);
    let drops = Drops::default();
    let mut table = Columns::<(u64, Counted, u8)>::new_in(&allocator);
    while table.len() < table.capacity() || table.is_empty() {
        table.push((table.len() as u64, drops.value(table.len()), 7));
    }
    let (length, capacity) = (table.len(), table.capacity());
    ledger.refuse();
    assert_refused("A0017", || table.push((0, drops.value(0), 0)));
    assert_refused("A0017", || table.reserve(1));
    assert_refused("A0017", || table.extend([(0, drops.value(0), 0)]));
    assert!(table.try_reserve(usize::MAX).is_err());
    let refused = table.try_reserve(1).unwrap_err();
    assert_eq!(refused.allocator, "Limited");
    assert_eq!((table.len(), table.capacity(), drops.alive()), (length, capacity, length));
    assert!(table.slices().0.iter().copied().eq(0..length as u64));
    ledger.limit(100_000);
    table.push((99, drops.value(99), 9));
    assert_eq!((table.len(), table.pop().unwrap().1.number), (length + 1, 99));
    drop(table);
    assert_eq!((drops.alive(), ledger.out()), (0, 0));
}

#[test]
fn room_for_some_columns_only_is_no_room() {
    // Each of these limits makes another column the first without room.
    for limit in (0..4000).step_by(64) {
        let (allocator, ledger) = limited(limit);
        let mut table = Columns::<(u8, u64, u32)>::new_in(&allocator);
        let room = table.try_reserve(100);
        let Err(refused) = room else {
            assert!(table.capacity() >= 100);
            continue;
        };
        assert!(refused.to_string().starts_with("A0017: the allocator `Limited`"), "{refused}");
        assert!(table.is_empty());
        ledger.limit(usize::MAX);
        table.extend((0..100).map(|row| (row as u8, row, row as u32)));
        assert!(table.slices().1.iter().copied().eq(0..100));
        drop(table);
        assert_eq!(ledger.out(), 0);
    }
}

#[test]
fn rows_are_dropped_once() {
    let drops = Drops::default();
    let row = |number| (drops.value(number), drops.value(number), drops.value(number));
    let mut table: Columns<_> = (0..10).map(row).collect();
    drop(table.pop());
    drop(table.swap_remove(0));
    assert_eq!(drops.count(), 6);
    table.set(0, row(77));
    assert_eq!(drops.count(), 9);
    table.truncate(5);
    assert_eq!(drops.alive(), 15);
    table.truncate(100);
    let mut refill = table;
    refill.clear();
    assert_eq!((drops.alive(), refill.len()), (0, 0));
    refill.push(row(1));
    drop(refill);
    assert_eq!(drops.alive(), 0);
}

/// Panics on drop if armed.
struct Grenade(Counted, bool);

impl Drop for Grenade {
    fn drop(&mut self) {
        assert!(!self.1 || std::thread::panicking(), "boom");
    }
}

#[test]
fn a_destructor_that_panics_leaves_columns_of_one_length() {
    type Table = Columns<(Grenade, Grenade, Grenade)>;
    let calls: [fn(&mut Table); 4] = [
        |table| table.truncate(2),
        |table| table.clear(),
        |table| drop(table.swap_remove(3)),
        |table| drop(std::mem::take(table)),
    ];
    for (call_number, call) in calls.into_iter().enumerate() {
        for column in 0..3 {
            let drops = Drops::default();
            let grenade = |row, own| Grenade(drops.value(row), own == column && row == 3);
            let row = |row| (grenade(row, 0), grenade(row, 1), grenade(row, 2));
            let mut table: Columns<_> = (0..6).map(row).collect();
            assert_eq!(panic_message(|| call(&mut table)), "boom", "call {call_number}");
            let (first, second, third) = table.slices();
            assert_eq!((first.len(), second.len()), (third.len(), third.len()));
            assert_eq!(table.len(), third.len());
            let rows = first.iter().zip(second).zip(third);
            assert!(
                rows.into_iter()
                    .all(|((a, b), c)| a.0.number == b.0.number && b.0.number == c.0.number)
            );
            assert_eq!(drops.alive(), 3 * table.len(), "call {call_number}, column {column}");
            table.push((grenade(9, 9), grenade(9, 9), grenade(9, 9)));
            assert_eq!(table.len(), table.slices().2.len());
            drop(table);
            assert_eq!(drops.alive(), 0);
        }
    }
}

#[test]
fn a_replaced_row_whose_destructor_panics_is_replaced_or_not() {
    for column in 0..2 {
        let drops = Drops::default();
        let grenade = |number, own| Grenade(drops.value(number), own == column && number == 1);
        let mut table: Columns<_> = (0..3).map(|row| (grenade(row, 0), grenade(row, 1))).collect();
        assert_eq!(panic_message(|| table.set(1, (grenade(7, 0), grenade(7, 1)))), "boom");
        let (first, second) = table.slices();
        assert_eq!((first.len(), second.len(), drops.alive()), (3, 3, 6));
        assert_eq!((first[0].0.number, second[2].0.number), (0, 2));
        let replaced = [first[1].0.number, second[1].0.number];
        assert!(replaced.iter().all(|number| [1, 7].contains(number)), "{replaced:?}");
    }
}

#[test]
fn an_iterator_that_panics_leaves_whole_rows() {
    let drops = Drops::default();
    let mut table = Columns::new();
    panic_message(|| {
        table.extend((0..10).map(|row| {
            assert!(row < 5, "broken");
            (drops.value(row), row)
        }));
    });
    assert_eq!(
        (numbers(table.slices().0), drops.alive()),
        (table.slices().1.to_vec(), table.len())
    );
}

#[test]
fn there_can_be_no_more_than_a_usize_of_empty_rows() {
    let mut table = Columns::from_iter([((), ()), ((), ())]);
    assert_eq!((table.len(), table.try_reserve(usize::MAX - 2)), (2, Ok(())));
    assert!(table.try_reserve(usize::MAX - 1).is_err());
    assert!(table.try_reserve(usize::MAX).is_err());
    assert_eq!((table.pop(), table.len()), (Some(((), ())), 1));
}

#[test]
fn each_batch_writes_its_part_of_every_column() {
    for (context, jobs) in schedulers() {
        let mut table =
            NativeColumns::from_iter((0..1000_u32).map(|row| (row, f64::from(row), 0_u8)));
        let job = jobs.schedule_parallel(&[], table.write_columns(), 1000, 64, |columns, range| {
            let (ids, floats, bytes) = columns;
            assert_eq!(
                (ids.len(), floats.len(), bytes.len()),
                (range.len(), range.len(), range.len())
            );
            assert_eq!(ids[0] as usize, range.start);
            floats.iter_mut().for_each(|float| *float *= 2.0);
            bytes.fill((range.start / 64) as u8);
        });
        let each =
            jobs.schedule_for_each(&[job.unwrap()], table.write_columns(), 999, 7, |row, i| {
                let (id, float, _) = row;
                assert_eq!((*id as usize, *float), (i, 2.0 * i as f64));
                *id += 1;
            });
        jobs.complete(each.unwrap());
        let (ids, floats, bytes) = table.get().unwrap().slices();
        assert!(ids[..999].iter().copied().eq(1..1000), "{context}");
        assert_eq!(ids[999], 999, "beyond the count");
        assert!(floats.iter().enumerate().all(|(row, float)| *float == 2.0 * row as f64));
        assert!(bytes.iter().enumerate().all(|(row, byte)| usize::from(*byte) == row / 64));
    }
}

#[test]
fn all_batches_read_whole_columns() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let table = NativeColumns::from_iter((0..100_usize).map(|row| (row, 2 * row)));
        let mut sums = NativeColumns::from_iter((0..100).map(|_| (0,)));
        let data = (sums.write_columns(), table.read_columns(), table.read_columns());
        let job = jobs.schedule_for_each(&[], data, 100, 8, |((sum,), (ones, _), (_, twos)), i| {
            *sum = ones[i] + twos[99 - i];
        });
        jobs.complete(job.unwrap());
        let sums = sums.get().unwrap().slices().0;
        assert!(sums.iter().enumerate().all(|(i, sum)| *sum == i + 2 * (99 - i)));
    }
}

#[test]
fn a_single_job_sees_all_rows_and_may_change_their_number() {
    let jobs = scheduler(1);
    let mut table = NativeColumns::new();
    let fill = jobs.schedule(&[], table.write(), |table| table.extend([(3, 'c'), (1, 'a')]));
    let sort = jobs.schedule(&[fill.unwrap()], table.write_columns(), |(numbers, letters)| {
        numbers.swap(0, 1);
        letters.swap(0, 1);
    });
    let read = jobs.schedule(&[sort.unwrap()], table.read_columns(), |(numbers, letters)| {
        assert_eq!((numbers, letters), (&[1, 3][..], &['a', 'c'][..]));
    });
    assert!(table.get().is_err());
    jobs.complete(read.unwrap());
    assert_eq!(table.into_inner().unwrap().pop(), Some((3, 'c')));
}

#[test]
fn a_table_shorter_than_the_count_is_refused() {
    let jobs = scheduler(1);
    let mut table = NativeColumns::from_iter([(1, 'a'), (2, 'b')]).named("pairs");
    let container = table.label();
    let refused =
        jobs.named("Count").schedule_parallel(&[], table.write_columns(), 3, 1, |_, _| {});
    let expected = ScheduleError::TooShort { container, job: "Count", length: 2, count: 3 };
    assert_eq!(refused, Err(expected));
    let label = container.to_string();
    assert!(label.starts_with("`pairs` (NativeColumns<(i32, char)> made at "), "{label}");
    table.get_mut().unwrap().push((3, 'c'));
    let now = jobs.schedule_parallel(&[], table.write_columns(), 3, 1, |_, _| {});
    jobs.complete(now.unwrap());
}

#[test]
fn how_many_rows_there_are_may_be_unknown_until_the_job_runs() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        for rows in [0, 1, 63, 64, 65, 1000] {
            let mut table = NativeColumns::<(usize, u8)>::new();
            let fill = jobs.schedule(&[], table.write(), move |table| {
                table.extend((0..rows).map(|row| (row, 0)));
            });
            let token = table.write_columns();
            let mark = jobs.named("Deferred").schedule_deferred(
                &[fill.unwrap()],
                token,
                |(ids, _)| ids.len(),
                64,
                |(ids, marks), range| {
                    assert_eq!(ids[0], range.start);
                    marks.fill(1);
                },
            );
            jobs.complete(mark.unwrap());
            let marks = table.get().unwrap().slices().1;
            assert!(marks.len() == rows && marks.iter().all(|mark| *mark == 1));
        }
    }
}

#[test]
fn a_deferred_job_with_more_indices_than_rows_fails() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut table = NativeColumns::from_iter((0..10).map(|row| (row, row)));
        let job = jobs.named("Deferred").schedule_deferred(
            &[],
            table.write_columns(),
            |_| 11,
            4,
            |(ones, _), _| ones.fill(7),
        );
        jobs.try_complete(job.unwrap()).unwrap_err();
        let (ones, twos) = table.get().unwrap().slices();
        assert_eq!((ones.len(), twos.len(), &ones[..8]), (10, 10, &[7; 8][..]));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push(u8),
    Pop,
    SwapRemove(usize),
    Set(usize, u8),
    Truncate(usize),
    Extend(u8),
    Reserve(usize),
    Clear,
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn any_script_gives_the_result_of_a_vector_of_tuples(
        steps in prop::collection::vec(
            prop_oneof![
                8 => any::<u8>().prop_map(Step::Push),
                3 => Just(Step::Pop),
                3 => (0..40_usize).prop_map(Step::SwapRemove),
                3 => (0..40_usize, any::<u8>()).prop_map(|(at, value)| Step::Set(at, value)),
                1 => (0..40_usize).prop_map(Step::Truncate),
                2 => (0..40_u8).prop_map(Step::Extend),
                1 => (0..40_usize).prop_map(Step::Reserve),
                1 => Just(Step::Clear),
            ],
            1..80,
        ),
    ) {
        if time_is_up() {
            return Ok(());
        }
        let (allocator, ledger) = limited(1 << 20);
        let row = |value: u8| (value, value.to_string(), (), [u64::from(value); 3]);
        let (mut table, mut model) = (Columns::new_in(&allocator), Vec::new());
        for step in steps {
            match step {
                Step::Push(value) => {
                    table.push(row(value));
                    model.push(row(value));
                }
                Step::Pop => prop_assert_eq!(table.pop(), model.pop()),
                Step::SwapRemove(at) if at < model.len() => {
                    prop_assert_eq!(table.swap_remove(at), model.swap_remove(at));
                }
                Step::Set(at, value) if at < model.len() => {
                    table.set(at, row(value));
                    model[at] = row(value);
                }
                Step::SwapRemove(_) | Step::Set(..) => {}
                Step::Truncate(length) => {
                    table.truncate(length);
                    model.truncate(length);
                }
                Step::Extend(count) => {
                    table.extend((0..count).map(row));
                    model.extend((0..count).map(row));
                }
                Step::Reserve(additional) => {
                    table.reserve(additional);
                    prop_assert!(table.capacity() >= model.len() + additional);
                }
                Step::Clear => {
                    table.clear();
                    model.clear();
                }
            }
            prop_assert_eq!(table.len(), model.len());
            let (bytes, texts, units, words) = table.slices();
            prop_assert_eq!(units.len(), model.len());
            prop_assert!(bytes.iter().eq(model.iter().map(|row| &row.0)));
            prop_assert!(texts.iter().eq(model.iter().map(|row| &row.1)));
            prop_assert!(words.iter().eq(model.iter().map(|row| &row.3)));
        }
        drop(table);
        prop_assert_eq!(ledger.out(), 0);
    }
}
