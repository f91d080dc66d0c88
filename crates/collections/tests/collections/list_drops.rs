//! Every element of a list is dropped once, even if a destructor panics.

use crate::common;

use ancho_collections::{List, NativeList};
use common::source::limited;
use common::{Counted, Drops, WORKERS, assert_refused, numbers, panic_message, scheduler};

#[test]
fn removed_elements_are_dropped_and_remaining_ones_are_dropped_with_the_list() {
    let drops = Drops::default();
    let mut list: List<Counted> = drops.values(20);
    drop(list.remove(3));
    drop(list.swap_remove(0));
    assert_eq!(drops.count(), 2);
    list.remove_range(0..3);
    list.swap_remove_range(2..4);
    assert_eq!(drops.count(), 7);
    list.retain(|value| value.number % 2 == 0);
    assert_eq!(list.len(), drops.alive());
    list.truncate(3);
    assert_eq!(drops.alive(), 3);
    list.resize(1, drops.value(99));
    assert_eq!(drops.alive(), 1);
    list.push_repeated(drops.value(98), 4);
    list.resize(10, drops.value(97));
    list.insert(0, drops.value(96));
    let popped = list.pop();
    assert_eq!((list.len(), drops.alive()), (10, 11));
    drop(popped);
    let copy = list.clone();
    assert_eq!((numbers(&copy), drops.alive()), (numbers(&list), 20));
    drop(copy);
    list.clear();
    assert_eq!(drops.alive(), 0);
    list.push(drops.value(0));
    drop(list);
    assert_eq!(drops.alive(), 0);
}

#[test]
fn a_refused_value_is_dropped_once_or_returned() {
    let (allocator, ledger) = limited(1000);
    let drops = Drops::default();
    let mut list = List::with_capacity_in(2, &allocator);
    list.push(drops.value(0));
    assert_refused("A0014", || list.insert(2, drops.value(1)));
    assert_eq!((drops.count(), numbers(&list)), (1, vec![0]));
    list.push(drops.value(1));
    ledger.refuse();
    assert_refused("A0017", || list.push(drops.value(2)));
    assert_refused("A0017", || list.insert(0, drops.value(2)));
    assert_refused("A0017", || list.push_repeated(drops.value(2), 5));
    let rejected = list.try_push(drops.value(2)).unwrap_err();
    assert_eq!((drops.alive(), rejected.value.number), (3, 2));
    drop((rejected, list));
    assert_eq!((drops.alive(), ledger.out()), (0, 0));
}

#[test]
fn a_copy_that_panics_loses_nothing() {
    struct Fragile(Counted);

    impl Clone for Fragile {
        fn clone(&self) -> Self {
            assert!(self.0.number != 3, "cannot be copied");
            Self(self.0.clone())
        }
    }

    let drops = Drops::default();
    let mut list: List<_> = (0..5).map(|number| Fragile(drops.value(number))).collect();
    assert_eq!(panic_message(|| list.clone()), "cannot be copied");
    assert_eq!(drops.alive(), 5);
    assert_eq!(
        panic_message(|| list.push_repeated(Fragile(drops.value(3)), 4)),
        "cannot be copied"
    );
    assert_eq!(panic_message(|| list.resize(9, Fragile(drops.value(3)))), "cannot be copied");
    assert_eq!(drops.alive(), list.len());
    assert_eq!(numbers(list.iter().take(5).map(|value| &value.0)), [0, 1, 2, 3, 4]);
    list.push(Fragile(drops.value(5)));
    drop(list);
    assert_eq!(drops.alive(), 0);
}

#[test]
fn an_iterator_that_panics_loses_nothing() {
    let drops = Drops::default();
    let mut list: List<Counted> = drops.values(2);
    let broken = (2..100).map(|number| {
        assert_ne!(number, 50, "broken");
        drops.value(number)
    });
    assert_eq!(
        panic_message(|| list.extend(broken)),
        "assertion `left != right` failed: broken\n  left: 50\n right: 50"
    );
    assert_eq!(list.len(), drops.alive());
    assert!(numbers(&list).into_iter().eq(0..list.len()));
    drop(list);
    assert_eq!(drops.alive(), 0);
}

#[test]
fn a_question_that_panics_loses_nothing() {
    for at in 0..10 {
        let drops = Drops::default();
        let mut list: List<Counted> = drops.values(10);
        panic_message(|| {
            list.retain(|value| {
                assert!(value.number != at, "asked");
                value.number % 2 == 1
            });
        });
        assert_eq!(list.len(), drops.alive(), "at {at}");
        assert!(list.is_sorted_by_key(|value| value.number));
        list.push(drops.value(10));
        drop(list);
        assert_eq!(drops.alive(), 0);
    }
}

/// Panics on drop if armed.
struct Grenade(Counted, bool);

impl Drop for Grenade {
    fn drop(&mut self) {
        assert!(!self.1 || std::thread::panicking(), "boom");
    }
}

#[test]
fn a_destructor_that_panics_loses_nothing_else() {
    let calls: [fn(&mut List<Grenade>); 6] = [
        |list| list.truncate(1),
        |list| list.clear(),
        |list| list.remove_range(1..5),
        |list| list.swap_remove_range(1..5),
        |list| list.retain(|value| value.0.number == 0),
        |list| drop(std::mem::take(list)),
    ];
    for (number, call) in calls.into_iter().enumerate() {
        let drops = Drops::default();
        let mut list: List<_> = (0..8).map(|i| Grenade(drops.value(i), i == 3)).collect();
        assert_eq!(panic_message(|| call(&mut list)), "boom", "call {number}");
        assert_eq!(list.len(), drops.alive(), "call {number}: each is dropped, or in the list");
        list.push(Grenade(drops.value(8), false));
        drop(list);
        assert_eq!(drops.alive(), 0, "call {number}");
    }
}

#[test]
fn a_shared_list_drops_its_elements_when_the_last_job_is_done() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let drops = Drops::default();
        let mut list: NativeList<Counted> = drops.values(10);
        let pop = jobs.schedule(&[], list.write(), |list| drop(list.pop())).unwrap();
        let read = jobs.schedule(&[pop], list.read(), |list| assert_eq!(list.len(), 9)).unwrap();
        drop(list);
        assert_eq!(drops.alive(), 10);
        jobs.complete(pop);
        assert_eq!(drops.alive(), 9, "a job still reads it");
        jobs.complete(read);
        assert_eq!(drops.alive(), 0);
    }
}

#[test]
fn a_dismantled_shared_list_is_dropped_by_its_new_owner() {
    let jobs = scheduler(1);
    let drops = Drops::default();
    let list: NativeList<Counted> = drops.values(3);
    let read = jobs.schedule(&[], list.read(), |_| {}).unwrap();
    let kept = list.into_inner().unwrap_err();
    assert!(kept.error.to_string().starts_with("A0003: "));
    jobs.complete(read);
    let list = kept.container.into_inner().unwrap();
    assert_eq!((numbers(&list), drops.count()), (vec![0, 1, 2], 0));
    drop(list);
    assert_eq!(drops.alive(), 0);
}
