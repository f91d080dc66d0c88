//! User code that misbehaves while entities move between worlds.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ancho_entities::{Shared, SharedComponent};

use crate::common::*;

/// Switch that makes all values compare equal.
static ARE_ALL_EQUAL: AtomicBool = AtomicBool::new(false);

/// A value that sometimes compares equal to others.
#[derive(SharedComponent, Clone, Debug, Eq)]
#[shared(name = "worlds::Fickle")]
struct Fickle(u32);

impl PartialEq for Fickle {
    fn eq(&self, other: &Self) -> bool {
        ARE_ALL_EQUAL.load(Ordering::Relaxed) || self.0 == other.0
    }
}

impl Hash for Fickle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        0.hash(state);
    }
}

#[test]
fn shared_values_that_become_equal_do_not_take_rows_of_others() {
    let owner = Arc::new(());
    for (is_copied, before) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
        let (mut source, mut destination) = (chunks_of(4), chunks_of(3));
        destination.spawn_many((Owned(owner.clone()), Shared::new(Fickle(9))), before);
        for number in 0..10 {
            source.spawn((Owned(owner.clone()), Shared::new(Fickle(number % 3))));
        }
        ARE_ALL_EQUAL.store(true, Ordering::Relaxed);
        let map = if is_copied {
            destination.copy_entities_from(&source)
        } else {
            destination.move_entities_from(&mut source)
        };
        ARE_ALL_EQUAL.store(false, Ordering::Relaxed);
        assert_eq!((map.unwrap().len(), destination.entity_count()), (10, 10 + before));
        assert_eq!(destination.query::<&Owned>().count(), 10 + before);
        destination.check_invariants().unwrap();
        assert_eq!(Arc::strong_count(&owner), 11 + before + source.entity_count());
        drop((source, destination));
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}
