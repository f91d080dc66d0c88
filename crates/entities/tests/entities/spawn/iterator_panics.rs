//! Iterators and functions that panic, or report a wrong length.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use ancho_entities::{Columns, Entity, World, WorldSettings};

use crate::common::{A, B, Link, Owned, Text, ignore};

fn world() -> World {
    World::with_settings("Simulation", WorldSettings::new().chunk_capacity_limit(4))
}

/// An iterator with a wrong size hint.
struct Liar<I>(I, (usize, Option<usize>));

impl<I: Iterator> Iterator for Liar<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.1
    }
}

#[test]
fn the_entities_before_a_panic_exist() {
    for at in 0..15 {
        let owner = Arc::new(());
        let mut world = world();
        world.spawn_many((A(99), Owned(owner.clone())), 2);
        let sets = (0..15).map(|number| {
            if number == at {
                resume_unwind(Box::new("told to"));
            }
            (A(number), Owned(owner.clone()))
        });
        let spawned = catch_unwind(AssertUnwindSafe(|| ignore(world.spawn_batch(sets).len())));
        assert!(spawned.is_err());
        world.check_invariants().unwrap();
        let values: Vec<_> =
            world.chunks().flat_map(|chunk| chunk.slice::<A>().unwrap().to_vec()).skip(2).collect();
        assert_eq!(values, (0..at).map(A).collect::<Vec<_>>());
        assert_eq!(Arc::strong_count(&owner), 3 + at as usize);
        // The ids reserved for the missing entities are still available.
        let next = world.spawn(A(1));
        assert_eq!(next.index(), 2 + at);
        drop(world);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn a_column_that_panics_creates_nothing() {
    for at in 0..30 {
        let owner = Arc::new(());
        let mut world = world();
        world.spawn_many((A(99), B(1), Owned(owner.clone())), 2);
        let gone = world.spawn(B(1));
        world.despawn(gone).unwrap();
        let mut calls = 0;
        let mut tick = || {
            if calls == at {
                resume_unwind(Box::new("told to"));
            }
            calls += 1;
        };
        let ticks = std::cell::RefCell::new(&mut tick);
        let columns = Columns::new(15)
            .with(|index| {
                ticks.borrow_mut()();
                Owned([&owner, &owner][index % 2].clone())
            })
            .with(|index| {
                ticks.borrow_mut()();
                A(index as u32)
            })
            .with(|_| B(7));
        let before: Vec<_> = world.all_entities();
        let spawned = catch_unwind(AssertUnwindSafe(|| ignore(world.spawn_columns(columns))));
        assert!(spawned.is_err());
        world.check_invariants().unwrap();
        assert_eq!(world.all_entities(), before);
        assert_eq!(Arc::strong_count(&owner), 3);
        // The next entities get room, and ids that were never used.
        let next: Vec<_> = world.spawn_columns(([A(1), A(2)], [B(1), B(2)])).unwrap().collect();
        assert!(next.iter().all(|entity| !before.contains(entity) && *entity != gone));
        world.check_invariants().unwrap();
        drop(world);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn the_size_hint_of_an_iterator_is_not_trusted() {
    let hints = [
        (0, Some(0)),
        (0, None),
        (1, Some(1)),
        (1000, Some(1000)),
        (usize::MAX, None),
        (usize::MAX, Some(usize::MAX)),
        (100, Some(1)),
    ];
    for hint in hints {
        let owner = Arc::new(());
        let mut world = world();
        let sets = (0..10).map(|number| (A(number), Owned(owner.clone())));
        let all: Vec<_> = world.spawn_batch(Liar(sets, hint)).collect();
        assert_eq!((all.len(), world.entity_count()), (10, 10));
        for (number, entity) in (0..).zip(all) {
            assert_eq!(world.get(entity), Ok(&A(number)));
        }
        world.check_invariants().unwrap();
        assert_eq!(world.spawn(()).index(), 10);
        drop(world);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn an_iterator_is_not_called_after_its_end() {
    let mut world = world();
    let mut calls = 0;
    let not_fused = std::iter::from_fn(|| {
        calls += 1;
        (calls != 6 && calls < 100).then_some(A(calls))
    });
    assert_eq!(world.spawn_batch(not_fused).len(), 5);
    assert_eq!(calls, 6);
    world.check_invariants().unwrap();
}

#[test]
fn a_panic_between_chunks_keeps_the_written_entities() {
    for at in 0..3 {
        let mut world = world();
        world.spawn_many((A(1), Text("x".into())), 10);
        let mut fork = world.fork().unwrap();
        let mut index = 0;
        let write = || {
            fork.for_each_chunk_mut(|mut chunk| {
                chunk.slice_mut::<A>().unwrap().fill(A(2));
                if index == at {
                    resume_unwind(Box::new("told to"));
                }
                index += 1;
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(write)).is_err());
        let written: usize = fork
            .chunks()
            .map(|chunk| chunk.slice::<A>().unwrap().iter().filter(|a| a.0 == 2).count())
            .sum();
        assert_eq!(written, [4, 8, 10][at]);
        fork.check_invariants().unwrap();
        world.check_invariants().unwrap();
        assert!(world.chunks().all(|c| c.slice::<A>().unwrap().iter().all(|a| a.0 == 1)));
    }
}

#[test]
fn a_panic_while_references_are_remapped_does_no_harm() {
    for at in 0..10 {
        let mut world = world();
        let first = world.spawn(B(0));
        world.spawn_many((Link(first), Text("x".into())), 10);
        let fork = world.fork().unwrap();
        let mut index = 0;
        let remap = || {
            world.remap_references(|entity| {
                if index == at {
                    resume_unwind(Box::new("told to"));
                }
                index += 1;
                Entity::from_parts(entity.index(), 77)
            })
        };
        assert!(catch_unwind(AssertUnwindSafe(remap)).is_err());
        world.check_invariants().unwrap();
        fork.check_invariants().unwrap();
        let all: Vec<_> = fork.all_entities();
        assert!(all[1..].iter().all(|entity| fork.get(*entity) == Ok(&Link(first))));
        world.spawn_many((Link(first), Text("x".into())), 10);
        world.check_invariants().unwrap();
    }
}
