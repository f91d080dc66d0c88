//! User code that panics while entities arrive from another world.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use ancho_entities::{
    ChunkArena, Component, Entity, Field, PerChunk, Shared, SharedComponent, With, World,
    WorldSettings,
};

use crate::common::*;

thread_local! {
    /// The number of calls that succeed before one panics.
    static FUSE: Cell<u32> = const { Cell::new(u32::MAX) };
}

fn burn() {
    match FUSE.get() {
        u32::MAX => {}
        0 => resume_unwind(Box::new("told to")),
        left => FUSE.set(left - 1),
    }
}

/// A component that panics in clone, and on request in drop.
#[derive(Component, Debug)]
#[component(name = "worlds::Brittle")]
struct Brittle(#[field(opaque)] Arc<()>);

impl Clone for Brittle {
    fn clone(&self) -> Self {
        burn();
        Self(self.0.clone())
    }
}

/// A shared value that panics in comparison and hash.
#[derive(SharedComponent, Clone, Debug, Eq)]
#[shared(name = "worlds::Fussy")]
struct Fussy(u32);

impl PartialEq for Fussy {
    fn eq(&self, other: &Self) -> bool {
        burn();
        self.0 == other.0
    }
}

impl Hash for Fussy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        burn();
        self.0.hash(state);
    }
}

/// A chunk component that panics in drop.
#[derive(Component, Clone, Debug, Default)]
#[component(name = "worlds::Loud")]
struct Loud(bool);

impl Drop for Loud {
    fn drop(&mut self) {
        if std::mem::take(&mut self.0) {
            resume_unwind(Box::new("told to"));
        }
    }
}

/// Runs an action with a fuse of this length. Returns `None` if it panicked.
fn with_fuse<R>(length: u32, action: impl FnOnce() -> R) -> Option<R> {
    FUSE.set(length);
    let result = catch_unwind(AssertUnwindSafe(action));
    FUSE.set(u32::MAX);
    result.ok()
}

#[test]
fn nothing_is_copied_if_a_clone_panics() {
    for (from, to) in [(4, 4), (4, 3)] {
        let owner = Arc::new(());
        let (mut source, mut destination) = (chunks_of(from), chunks_of(to));
        source.spawn_batch((0..20).map(|n| (A(n), Brittle(owner.clone()))));
        populate(&mut source, 3);
        for fuse in 0..20 {
            assert!(with_fuse(fuse, || destination.copy_entities_from(&source)).is_none());
            assert_eq!((destination.entity_count(), Arc::strong_count(&owner)), (0, 21));
            destination.check_invariants().unwrap();
        }
        let copied = with_fuse(20, || destination.copy_entities_from(&source).unwrap()).unwrap();
        assert_eq!((copied.len(), Arc::strong_count(&owner)), (source.entity_count(), 41));
    }
}

#[test]
fn nothing_moves_if_cloning_memory_shared_with_forks_panics() {
    let owner = Arc::new(());
    let (mut source, mut destination) = (chunks_of(4), chunks_of(4));
    source.spawn_batch((0..20).map(|n| (A(n), Brittle(owner.clone()))));
    let fork = source.fork().unwrap();
    let hash = source.state_hash();
    for fuse in [0, 3, 4, 11, 19] {
        let mut fork = source.fork().unwrap();
        let moved = with_fuse(fuse, || destination.move_entities_from(&mut fork));
        assert!(moved.is_none());
        assert_eq!((fork.state_hash(), destination.entity_count()), (hash, 0));
        fork.check_invariants().unwrap();
    }
    drop(fork);
    destination.move_entities_from(&mut source).unwrap();
    assert_eq!(Arc::strong_count(&owner), 21);
}

#[test]
fn nothing_moves_if_a_shared_value_panics() {
    let (mut source, mut destination) = (world(), world());
    for value in 0..5 {
        destination.spawn((A(0), Shared::new(Fussy(value * 2))));
        source.spawn((A(0), Shared::new(Fussy(value))));
    }
    let before = (source.state_hash(), destination.state_hash());
    let mut fuse = 0;
    while with_fuse(fuse, || destination.move_entities_from(&mut source).unwrap()).is_none() {
        assert_eq!((source.state_hash(), destination.state_hash()), before);
        source.check_invariants().unwrap();
        destination.check_invariants().unwrap();
        fuse += 1;
    }
    assert!(fuse >= 5);
    assert_eq!(destination.shared_values::<Fussy>().count(), 7);
}

#[test]
fn everything_moves_even_if_dropping_the_rest_panics() {
    let (mut source, mut destination) = (chunks_of(4), chunks_of(3));
    let all: Vec<_> = source.spawn_many((A(1), PerChunk::<Loud>::new()), 10).collect();
    source.set_chunk_component(all[0], Loud(true)).unwrap();
    source.spawn(Link(all[3]));
    let moved = catch_unwind(AssertUnwindSafe(|| destination.move_entities_from(&mut source)));
    assert!(moved.is_err());
    assert_eq!((source.entity_count(), destination.entity_count()), (0, 11));
    let link = *destination.query::<&Link>().single().unwrap();
    assert!(destination.exists(link.0), "references were replaced by then");
}

/// A value that panics in comparison.
#[derive(Field, Clone, Copy, Debug, PartialEq, Eq)]
struct Rival(Entity);

impl Ord for Rival {
    fn cmp(&self, other: &Self) -> Ordering {
        burn();
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Rival {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Component, Clone, Debug, Default)]
#[component(name = "worlds::Rivals")]
struct Rivals(BTreeSet<Rival>);

#[test]
fn other_references_are_remapped_if_one_remap_panics() {
    // Values of other components, of other entities, and of later entities.
    for fuse in 0..10 {
        let (mut source, mut destination) = (world(), world());
        destination.spawn_many((), 7);
        let all: Vec<_> = source.spawn_many((Link::default(), Focus::default()), 5).collect();
        for &entity in &all {
            let rivals = all[..2].iter().copied().map(Rival).collect();
            source.set(entity, (Link(all[1]), Focus(all[2]))).unwrap();
            source.add(entity, Rivals(rivals)).unwrap();
        }
        let moved = with_fuse(fuse, || destination.move_entities_from(&mut source));
        assert_eq!((source.entity_count(), destination.entity_count()), (0, 12));
        let here = destination.query_filtered::<Entity, With<Link>>().to_entities();
        let mut panicked = 0;
        for (link, focus, rivals) in destination.query::<(&Link, &Focus, &Rivals)>().iter() {
            assert_eq!((link.0, focus.0), (here[1], here[2]));
            // If sorting panicked, the set is as it was in the source.
            let is_replaced = rivals.0.iter().all(|rival| here[..2].contains(&rival.0));
            let is_old = rivals.0.iter().all(|rival| all[..2].contains(&rival.0));
            assert!(rivals.0.len() == 2 && is_replaced != is_old);
            panicked += usize::from(is_old);
        }
        // All later comparisons panic, too.
        assert_eq!(panicked > 0, moved.is_none());
    }
}

/// The copies of single rows are dropped when there is no memory for the copy of a whole chunk.
#[test]
fn no_empty_chunk_remains_if_dropping_copies_panics() {
    let mut source = chunks_of(5);
    let loud = [(A(1), Loud(true)), (A(2), Loud(true))];
    let loud: Vec<_> = source.spawn_batch(loud).collect();
    let whole = source.spawn(B(1));
    let arena = ChunkArena::with_limit(16 * 1024);
    let settings = WorldSettings::new().chunk_capacity_limit(5).arena(arena.clone());
    let mut here = Checked(World::with_settings("Limited", settings));
    let copy = || source.batch(&[loud[0], whole]).copy_to(&mut here);
    assert!(catch_unwind(AssertUnwindSafe(copy)).is_err());
    source.query_mut::<&mut Loud>().for_each(|loud| loud.0 = false);
    here.check_invariants().unwrap();
    assert_eq!((here.entity_count(), here.chunks().count(), arena.stats().used), (0, 0, 0));
    here.query_mut::<&mut A>().for_each(|a| a.0 += 1);
    here.spawn((A(1), Loud(false)));
    assert_eq!(here.query::<&Loud>().count(), 1);
}
