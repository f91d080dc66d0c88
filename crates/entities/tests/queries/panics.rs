//! Code of the user that panics in the midst of a query (A10).

use std::hash::{Hash, Hasher};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use ancho_entities::{Component, Shared, SharedComponent};

use crate::common::*;

#[test]
fn a10_a_panic_in_the_loop_holds_nothing() {
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

/// Clones panic when it is said.
#[derive(Component, Debug, PartialEq)]
#[component(name = "queries::Fragile")]
struct Fragile(Box<u32>);

static FRAGILE: AtomicBool = AtomicBool::new(false);

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(!FRAGILE.load(Relaxed), "fragile");
        Self(self.0.clone())
    }
}

#[test]
fn a_clone_that_panics_leaves_both_worlds_as_they_were() {
    let mut world = chunks_of(5);
    world.spawn_batch((0..10).map(|at| Fragile(Box::new(at))));
    let fork = Checked(world.fork().unwrap());
    let state = world.state_hash();
    FRAGILE.store(true, Relaxed);
    assert_eq!(panic_message(|| world.query_mut::<&mut Fragile>().for_each(|_| ())), "fragile");
    assert_eq!(panic_message(|| world.query_mut::<&mut Fragile>().try_iter().map(drop)), "fragile");
    FRAGILE.store(false, Relaxed);
    assert_eq!((world.state_hash(), fork.state_hash()), (state, state));
    world.query_mut::<&mut Fragile>().for_each(|fragile| *fragile.0 += 1);
    assert!(fork.query::<&Fragile>().iter().map(|fragile| *fragile.0).eq(0..10));
    assert!(world.query::<&Fragile>().iter().map(|fragile| *fragile.0).eq(1..11));
}

/// Comparisons panic when it is said.
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
fn a_comparison_that_panics_does_so_before_anything_is_given() {
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
