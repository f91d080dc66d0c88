//! User code that panics during recording and playback.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ancho_entities::{
    Buffer, BufferElement, CommandRecorder, Component, Entity, EntityCommandBuffer, Linked,
    LinkedEntityGroup, QueryDescriptor, Shared, World,
};
use ancho_jobs::{JobPool, JobScheduler};

use crate::common::*;

/// Returns whether the action panics.
fn does_panic(action: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(action)).is_err()
}

#[derive(BufferElement, Clone, Debug)]
struct Held(#[field(opaque)] Counted);

/// A value that refers to an entity, and panics like its counted value.
#[derive(Component, Clone, Debug)]
struct Both {
    entity: Entity,
    #[field(opaque)]
    value: Counted,
}

/// A function that records commands with counted values, for five entities with `A` and a value each.
type Record = fn(&mut CommandRecorder, &'static Ledger, &[Entity]);

const RECORD: &[(&str, Record)] = &[
    ("spawn", |c, ledger, _| {
        for at in 0..5 {
            c.spawn((ledger.value(at), A(at)));
        }
    }),
    ("spawn_many", |c, ledger, _| _ = c.spawn_many((A(1), ledger.value(1)), 7)),
    ("spawn_batch", |c, ledger, _| _ = c.spawn_batch((0..7).map(|at| (A(at), ledger.value(at))))),
    ("instantiate_many", |c, _, all| _ = c.instantiate_many(all[1], 7)),
    ("instantiate", |c, _, all| {
        for &entity in all {
            c.instantiate(entity);
        }
    }),
    ("add what is there", |c, ledger, all| {
        for &entity in all {
            c.add(entity, (ledger.value(7), Tag));
        }
    }),
    ("set", |c, ledger, all| {
        for &entity in all {
            c.set(entity, ledger.value(8));
        }
    }),
    ("remove", |c, _, all| {
        for &entity in all {
            c.remove::<Counted>(entity);
        }
    }),
    ("despawn", |c, _, all| {
        for &entity in all {
            c.despawn(entity);
        }
    }),
    ("despawn_slice", |c, _, all| c.batch(all).despawn()),
    ("add to a slice", |c, ledger, all| c.batch(all).add((ledger.value(9), Tag))),
    ("set of a slice", |c, ledger, all| c.batch(all).set(ledger.value(9))),
    ("remove from a slice", |c, _, all| c.batch(all).remove::<(Counted, A)>()),
    ("add_buffer", |c, ledger, all| {
        c.add_buffer(all[0], (0..9).map(|at| Held(ledger.value(at))));
        c.add_buffer(all[0], (0..9).map(|at| Held(ledger.value(at))));
        c.append(all[0], Held(ledger.value(5)));
        c.set_buffer(all[0], [Held(ledger.value(5))]);
    }),
    ("add to a group", |c, ledger, all| {
        c.add_buffer(all[0], [all[0], all[1], all[2]].map(LinkedEntityGroup));
        c.batch(Linked(all[0])).add((ledger.value(6), Tag));
        c.batch(Linked(all[0])).set(ledger.value(7));
        c.batch(Linked(all[0])).remove::<Counted>();
    }),
    ("by query", |c, ledger, _| {
        c.batch(QueryDescriptor::of::<&A, ()>()).add((ledger.value(6), Tag));
        c.batch(QueryDescriptor::of::<&A, ()>()).add(Text("b".into()));
        c.batch(QueryDescriptor::of::<&A, ()>()).remove::<Counted>();
    }),
    ("despawn by query", |c, _, _| c.batch(QueryDescriptor::of::<&A, ()>()).despawn()),
    ("what is destroyed later", |c, ledger, all| {
        for (at, &entity) in (0..).zip(all) {
            let brief = c.spawn((ledger.value(at), A(at)));
            c.add(entity, (ledger.value(at), Tag));
            c.set(brief, ledger.value(at));
            c.despawn(brief);
            c.despawn(entity);
        }
    }),
    ("with references", |c, ledger, all| {
        let first = c.spawn(());
        for &entity in all {
            c.add(entity, Both { entity: first, value: ledger.value(3) });
            c.spawn_many(Both { entity, value: ledger.value(4) }, 2);
        }
        c.batch(all).add(Both { entity: first, value: ledger.value(5) });
    }),
    ("with a shared one", |c, ledger, all| {
        for &entity in all {
            c.add(entity, (Shared::new(Team("red")), ledger.value(1), A(5)));
        }
    }),
];

fn build(ledger: &'static Ledger) -> (World, Vec<Entity>) {
    let mut world = World::new("Simulation");
    let all = (0..5).map(|at| world.spawn((A(at), ledger.value(at)))).collect();
    (world, all)
}

/// Plays each script with a panic at the first, second, … clone or drop, until none happens.
fn panic_everywhere(reusable: bool, arm: fn(&Ledger, isize)) {
    for &(name, record) in RECORD {
        let mut panics = 0;
        for at in 1.. {
            let ledger = Ledger::new();
            let (mut world, all) = build(ledger);
            let mut buffer =
                if reusable { EntityCommandBuffer::reusable() } else { EntityCommandBuffer::new() };
            record(buffer.commands().unwrap(), ledger, &all);
            arm(ledger, at);
            let panicked = does_panic(|| _ = world.play(&mut buffer).unwrap());
            arm(ledger, 0);
            let what = format!("{name}, panic {at}, reusable: {reusable}");
            world.check_invariants().unwrap_or_else(|error| panic!("{what}: {error}"));
            // Everything in the world still works.
            let numbers: u32 = world.query::<&Counted>().iter().map(|value| value.number).sum();
            assert!(numbers < 1000, "{what}");
            let next = world.spawn((A(1), ledger.value(1), Tag));
            world.despawn(next).unwrap();
            // The buffer works, too.
            buffer.clear().unwrap();
            let in_world = world.query::<&Counted>().count()
                + world.query::<&Both>().count()
                + world.query::<&Buffer<Held>>().iter().map(|held| held.len()).sum::<usize>();
            assert_eq!(ledger.live(), in_world as isize, "{what}");
            buffer.commands().unwrap().spawn(ledger.value(1));
            world.play(&mut buffer).unwrap();
            drop(buffer);
            drop(world);
            assert_eq!(ledger.live(), 0, "{what}");
            if !panicked {
                break;
            }
            panics += 1;
            assert!(panics < 200, "{name} never ends");
        }
    }
}

#[test]
fn a_clone_that_panics_during_playback() {
    panic_everywhere(false, Ledger::panic_at_clone);
}

#[test]
fn a_clone_that_panics_during_playback_of_a_reusable_buffer() {
    panic_everywhere(true, Ledger::panic_at_clone);
}

#[test]
fn a_drop_that_panics_during_playback() {
    panic_everywhere(false, Ledger::panic_at_drop);
}

#[test]
fn a_drop_that_panics_during_playback_of_a_reusable_buffer() {
    panic_everywhere(true, Ledger::panic_at_drop);
}

#[test]
fn commands_before_the_one_that_panics_are_applied() {
    let ledger = Ledger::new();
    let (mut world, all) = build(ledger);
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.set(all[0], A(100));
    commands.batch(&all[1..]).add(ledger.value(3));
    commands.set(all[2], A(200));
    ledger.panic_at_clone(1);
    assert!(does_panic(|| _ = world.play(&mut buffer)));
    ledger.panic_at_clone(0);
    assert_eq!(world.get(all[0]), Ok(&A(100)));
    assert_eq!(world.get(all[2]), Ok(&A(2)));
    world.check_invariants().unwrap();
}

#[test]
fn a_drop_that_panics_when_a_buffer_is_cleared_or_dropped() {
    for is_dropped in [false, true] {
        for at in 1..6 {
            let ledger = Ledger::new();
            let mut buffer = EntityCommandBuffer::new();
            let commands = buffer.commands().unwrap();
            let entity = commands.spawn((ledger.value(1), A(1)));
            commands.add(entity, ledger.value(2));
            commands.spawn_batch((3..5).map(|at| ledger.value(at)));
            commands.spawn_many(ledger.value(5), 3);
            ledger.panic_at_drop(at);
            if is_dropped {
                assert!(does_panic(move || drop(buffer)));
                assert_eq!(ledger.live(), 0, "panic {at}");
            } else {
                assert!(does_panic(|| buffer.clear().unwrap()));
                buffer.clear().unwrap();
                assert_eq!(ledger.live(), 0, "panic {at}");
                // The buffer still works.
                buffer.commands().unwrap().spawn((ledger.value(1), A(1)));
                let mut world = world();
                world.play(&mut buffer).unwrap();
                assert_eq!((ledger.live(), world.entity_count()), (1, 1));
            }
        }
    }
}

/// A component whose destructor panics.
#[derive(Component)]
struct Bomb(#[field(opaque)] Arc<AtomicU32>);

impl Drop for Bomb {
    fn drop(&mut self) {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        panic!("bomb {before}");
    }
}

/// An element whose destructor panics.
#[derive(BufferElement)]
struct BombElement(#[field(opaque)] Bomb);

#[test]
fn several_drops_that_panic_are_reported_once() {
    let message = |action: &mut dyn FnMut()| {
        let payload = catch_unwind(AssertUnwindSafe(action)).unwrap_err();
        payload.downcast_ref::<String>().unwrap().clone()
    };
    for is_dropped in [false, true] {
        let dropped = Arc::new(AtomicU32::new(0));
        let bomb = || Bomb(Arc::clone(&dropped));
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        let entity = commands.spawn((bomb(), A(1)));
        commands.add(entity, bomb());
        commands.set(entity, bomb());
        commands.spawn_batch((0..3).map(|_| bomb()));
        commands.add_buffer(entity, (0..4).map(|_| BombElement(bomb())));
        // A second lane, which is dropped after the first has panicked.
        let jobs = JobScheduler::new(&JobPool::builder().workers(0).build().unwrap());
        let bombs = [bomb(), bomb()];
        let recorded = jobs.schedule(&[], buffer.writer(), move |mut commands| {
            bombs.into_iter().for_each(|bomb| commands.add(entity, bomb));
        });
        jobs.complete(recorded.unwrap());
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        if is_dropped {
            let mut buffer = Some(buffer);
            assert_eq!(message(&mut || drop(buffer.take())), "bomb 0");
        } else {
            assert_eq!(message(&mut || buffer.clear().unwrap()), "bomb 0");
            buffer.commands().unwrap().spawn(A(1));
            let mut world = world();
            world.play(&mut buffer).unwrap();
            assert_eq!(world.entity_count(), 1);
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 12, "all of them");
    }
}

#[test]
fn drops_that_panic_after_an_iterator_has_panicked_are_not_the_end() {
    let dropped = Arc::new(AtomicU32::new(0));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    assert!(does_panic(|| {
        commands.spawn_batch((0..10).map(|number| {
            assert_ne!(number, 5, "an iterator that panics");
            Bomb(Arc::clone(&dropped))
        }));
    }));
    assert_eq!((commands.len(), dropped.load(Ordering::Relaxed)), (0, 5));
}

#[test]
fn an_iterator_that_panics_creates_nothing() {
    let ledger = Ledger::new();
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    for at in [0, 1, 50, 999] {
        let commands = buffer.commands().unwrap();
        let before = commands.spawn(A(1));
        assert!(does_panic(|| {
            commands.spawn_batch((0..1000).map(|number| {
                assert_ne!(number, at, "an iterator that panics");
                (ledger.value(number), A(number))
            }));
        }));
        assert_eq!((commands.len(), ledger.live()), (1, 0));
        let after = commands.spawn(A(2));
        commands.add(after, Link(before));
        world.play(&mut buffer).unwrap();
        let (before, after) = (buffer.resolve(before).unwrap(), buffer.resolve(after).unwrap());
        assert_eq!((world.get(before), world.get(after)), (Ok(&A(1)), Ok(&A(2))));
        assert_eq!(world.get(after), Ok(&Link(before)));
        buffer.clear().unwrap();
    }
    assert_eq!(world.entity_count(), 8);
}

#[test]
fn an_iterator_that_panics_with_the_world_creates_nothing() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let mut commands = world.commands(&mut buffer).unwrap();
    let before = commands.spawn(A(1));
    assert!(does_panic(|| {
        commands.spawn_batch((0..10).map(|number| {
            assert_ne!(number, 5, "an iterator that panics");
            A(number)
        }));
    }));
    let after = commands.spawn(A(2));
    world.check_invariants().unwrap();
    world.play(&mut buffer).unwrap();
    assert_eq!((world.get(before), world.get(after)), (Ok(&A(1)), Ok(&A(2))));
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn an_iterator_of_elements_that_panics_records_nothing() {
    let ledger = Ledger::new();
    let mut world = world();
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    assert!(does_panic(|| {
        commands.add_buffer(
            old,
            (0..10).map(|number| {
                assert_ne!(number, 5, "an iterator that panics");
                Held(ledger.value(number))
            }),
        );
    }));
    assert_eq!((commands.len(), ledger.live()), (0, 0));
    commands.add(old, Tag);
    world.play(&mut buffer).unwrap();
    assert!(world.has::<Tag>(old) && !world.has::<Buffer<Held>>(old));
}

#[test]
fn iterators_that_lie_about_their_length() {
    struct Liar(u32, usize);
    impl Iterator for Liar {
        type Item = A;

        fn next(&mut self) -> Option<A> {
            self.0 = self.0.checked_sub(1)?;
            Some(A(self.0))
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            (self.1, Some(self.1))
        }
    }
    impl ExactSizeIterator for Liar {}
    for said in [0, 1, 99, 101, 100_000] {
        let mut world = world();
        let mut buffer = EntityCommandBuffer::new();
        let batch = buffer.commands().unwrap().spawn_batch(Liar(100, said));
        assert_eq!(batch.len(), 100);
        world.play(&mut buffer).unwrap();
        for (at, entity) in (0..100).rev().zip(batch.iter()) {
            assert_eq!(world.get(buffer.resolve(entity).unwrap()), Ok(&A(at)));
        }
    }
}

#[test]
fn a_function_that_panics_or_fails() {
    let mut world = world();
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.set(old, A(2));
    commands.run("fail", |entities| {
        entities.spawn(A(7));
        entities.get_mut::<A>(Entity::NULL)?.0 = 1;
        Ok(())
    });
    commands.set(old, A(3));
    assert_eq!(first_failure(world.play(&mut buffer)).number(), 2);
    assert_eq!((world.get(old), world.entity_count()), (Ok(&A(3)), 2));
    buffer.clear().unwrap();
    let commands = buffer.commands().unwrap();
    let new = commands.spawn(A(5));
    commands.run("panic", |_| panic!("a function that panics"));
    commands.set(old, A(6));
    assert_eq!(panic_message(|| world.play(&mut buffer)), "a function that panics");
    assert_eq!((world.get(old), world.entity_count()), (Ok(&A(3)), 3));
    assert_eq!(world.get(buffer.resolve(new).unwrap()), Ok(&A(5)));
    world.check_invariants().unwrap();
}

#[test]
fn a_function_may_take_ids_and_destroy_everything() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let first = commands.spawn(A(1));
    commands.run("spawn others", |entities| {
        entities.spawn_many(Text("other".into()), 10);
        entities.despawn_all()?;
        entities.spawn_many(Tag, 3);
        Ok(())
    });
    let last = commands.spawn(A(2));
    let played = world.play(&mut buffer);
    world.check_invariants().unwrap();
    if played.is_ok() {
        assert!(!world.exists(buffer.resolve(first).unwrap()));
        assert_eq!(world.get(buffer.resolve(last).unwrap()), Ok(&A(2)));
        assert_eq!(world.entity_count(), 4);
    } else {
        // `despawn_all` also freed the ids reserved by the buffer.
        assert_eq!((first_failure(played).number(), world.entity_count()), (3, 3));
    }
}

#[test]
fn a_function_may_play_another_buffer() {
    let mut world = world();
    let mut outer = EntityCommandBuffer::reusable();
    let commands = outer.commands().unwrap();
    let first = commands.spawn(A(1));
    commands.run("play another", |entities| {
        let mut inner = EntityCommandBuffer::new();
        let a = inner.commands().unwrap().spawn(A(10));
        inner.commands().unwrap().spawn(Link(a));
        entities.play(&mut inner).unwrap();
        assert!(entities.exists(inner.resolve(a).unwrap()));
        Ok(())
    });
    let last = commands.spawn(Link(first));
    for round in 1..4 {
        world.play(&mut outer).unwrap();
        let (first, last) = (outer.resolve(first).unwrap(), outer.resolve(last).unwrap());
        assert_eq!((world.get(first), world.get(last)), (Ok(&A(1)), Ok(&Link(first))));
        assert_eq!(world.entity_count(), round * 4);
        world.check_invariants().unwrap();
    }
}
