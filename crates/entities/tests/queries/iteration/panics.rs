//! User code that panics during a query.

use std::hash::{Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use ancho_entities::{ChunkArena, Component, Shared, SharedComponent, World, WorldSettings};

use crate::common::*;

#[test]
fn a_panic_in_a_loop_leaves_nothing_borrowed() {
    let mut world = chunks_of(10);
    world.spawn_batch((0..100).map(|at| (A(at), X(at))));
    panic_message(|| {
        world.query_mut::<(&mut A, &X)>().for_each(|(a, x)| {
            assert_ne!(x.0, 55, "enough");
            a.0 += 1000;
        });
    });
    assert_eq!(world.query::<&A>().iter().filter(|a| a.0 >= 1000).count(), 55);
    panic_message(|| world.query::<&A>().for_each(|_| panic!("at once")));
    world.spawn((A(1), Tag));
    assert_eq!(world.query_mut::<&mut A>().into_iter().count(), 101);
}

/// A component whose clone panics on request.
#[derive(Component, Debug, PartialEq)]
#[component(name = "queries::Fragile")]
struct Fragile(Box<u32>);

static FRAGILE: AtomicBool = AtomicBool::new(false);

/// A lock for the tests that set `FRAGILE`.
static FRAGILE_TESTS: Mutex<()> = Mutex::new(());

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(!FRAGILE.load(Relaxed), "fragile");
        Self(self.0.clone())
    }
}

#[test]
fn a_clone_that_panics_leaves_both_worlds_as_they_were() {
    let _alone = FRAGILE_TESTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut world = chunks_of(5);
    world.spawn_batch((0..10).map(|at| Fragile(Box::new(at))));
    let fork = Checked(world.fork().unwrap());
    let state = world.state_hash();
    FRAGILE.store(true, Relaxed);
    assert_eq!(panic_message(|| world.query_mut::<&mut Fragile>().for_each(|_| ())), "fragile");
    assert_eq!(panic_message(|| world.query_mut::<&mut Fragile>().unshare()), "fragile");
    FRAGILE.store(false, Relaxed);
    assert_eq!((world.state_hash(), fork.state_hash()), (state, state));
    world.query_mut::<&mut Fragile>().for_each(|fragile| *fragile.0 += 1);
    assert!(fork.query::<&Fragile>().iter().map(|fragile| *fragile.0).eq(0..10));
    assert!(world.query::<&Fragile>().iter().map(|fragile| *fragile.0).eq(1..11));
}

#[test]
fn an_iterator_continues_after_a_chunk_whose_copy_panicked() {
    let _alone = FRAGILE_TESTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut world = chunks_of(5);
    world.spawn_batch((0..15).map(|at| Fragile(Box::new(at))));
    let fork = Checked(world.fork().unwrap());
    let mut iter = world.query_mut::<&mut Fragile>().into_iter();
    // The first chunk, before any item was yielded.
    FRAGILE.store(true, Relaxed);
    assert_eq!(panic_message(|| iter.next().is_some()), "fragile");
    FRAGILE.store(false, Relaxed);
    let mut given: Vec<_> = iter.by_ref().take(5).collect();
    // The last chunk, while all items of the chunk before it are borrowed.
    FRAGILE.store(true, Relaxed);
    assert_eq!(panic_message(|| iter.next().is_some()), "fragile");
    FRAGILE.store(false, Relaxed);
    given.extend(iter.by_ref());
    assert!(given.iter().map(|fragile| *fragile.0).eq(5..10));
    given.iter_mut().for_each(|fragile| *fragile.0 += 100);
    assert!(iter.next().is_none());
    let values = |world: &World| world.query::<&Fragile>().iter().map(|f| *f.0).collect::<Vec<_>>();
    assert!(values(&fork).into_iter().eq(0..15));
    assert!(values(&world).into_iter().eq((0..5).chain(105..110).chain(10..15)));
}

#[test]
fn an_iterator_ends_without_memory() {
    // Memory for two chunks, and for a copy of the first.
    let arena = ChunkArena::with_limit(3 * 16 * 1024);
    let settings = WorldSettings::new().chunk_capacity_limit(5).arena(arena);
    let mut world = Checked(World::with_settings("Simulation", settings));
    world.spawn_batch((0..10).map(|at| (A(at), X(at))));
    let _fork = Checked(world.fork().unwrap());
    let mut iter = world.query_mut::<(&mut A, &X)>().into_iter();
    let mut given: Vec<_> = iter.by_ref().take(5).collect();
    panic_message(|| iter.next().is_some());
    assert!(iter.next().is_none());
    given.iter_mut().for_each(|(a, _)| a.0 += 100);
    assert!(world.query::<&A>().iter().map(|a| a.0).eq((100..105).chain(5..10)));
}

#[test]
fn an_iterator_without_any_memory_yields_nothing() {
    let arena = ChunkArena::with_limit(16 * 1024);
    let mut world = Checked(World::with_settings("Simulation", WorldSettings::new().arena(arena)));
    world.spawn_batch((0..10).map(|at| (A(at), X(at))));
    let _fork = Checked(world.fork().unwrap());
    let mut all = world.query_mut::<&mut A>().into_iter();
    panic_message(|| all.next().is_some());
    assert!(all.next().is_none());
    let mut switched_on = world.query_mut::<(&mut A, &X)>().into_iter();
    panic_message(|| switched_on.next().is_some());
    assert!(switched_on.next().is_none());
}

/// A value whose comparison panics on request.
#[derive(SharedComponent, Clone, Copy, Debug, Eq)]
#[shared(name = "queries::Touchy")]
struct Touchy(u32);

static TOUCHY: AtomicBool = AtomicBool::new(false);

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        assert!(!TOUCHY.load(Relaxed), "touchy");
        self.0 == other.0
    }
}

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[test]
fn a_comparison_panics_before_anything_is_yielded() {
    let mut world = world();
    world.spawn((A(1), Shared::new(Touchy(1))));
    TOUCHY.store(true, Relaxed);
    let said = panic_message(|| {
        world.query_mut::<&mut A>().with_shared(Touchy(1)).for_each(|_| panic!("nothing is given"));
    });
    TOUCHY.store(false, Relaxed);
    assert_eq!(said, "touchy");
    assert_eq!(world.query::<&A>().with_shared(Touchy(1)).count(), 1);
}
