//! Managed components whose code panics (each is dropped once).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use ancho_entities::{Entity, Managed, ManagedComponent};

use crate::common::{A, B, Checked, chunks_of};

/// A value that panics at the call with the requested number.
#[derive(ManagedComponent)]
#[managed(name = "game::Fuse")]
struct Fuse {
    value: u32,
    #[field(opaque)]
    owner: Arc<Count>,
}

#[derive(Default)]
struct Count {
    clones: AtomicUsize,
    drops: AtomicUsize,
}

impl Count {
    fn tick(count: &AtomicUsize) {
        let left = count.load(Relaxed);
        count.store(left.saturating_sub(1), Relaxed);
        if left == 1 {
            resume_unwind(Box::new("told to"));
        }
    }
}

impl Clone for Fuse {
    fn clone(&self) -> Self {
        Count::tick(&self.owner.clones);
        Self { value: self.value, owner: Arc::clone(&self.owner) }
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        if !thread::panicking() {
            Count::tick(&self.owner.drops);
        }
    }
}

type Action = fn(&mut Checked, &[Entity], &Arc<Count>);

/// Runs an action in a world of eight such values, with a panic in the first call, then in the second, and so on.
#[track_caller]
fn survives(fuse: fn(&Count) -> &AtomicUsize, what: &str, action: Action) {
    for position in 1.. {
        let owner = Arc::new(Count::default());
        let make = |value| Managed::new(Fuse { value, owner: Arc::clone(&owner) });
        let mut world = chunks_of(3);
        let all: Vec<_> = world.spawn_batch((0..8).map(|at| (A(at), make(at)))).collect();
        let hash = world.state_hash();
        fuse(&owner).store(position, Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| action(&mut world, &all, &owner)));
        let panicked = fuse(&owner).swap(0, Relaxed) == 0;
        assert_eq!(result.is_err(), panicked, "{what} {position}");
        world.check_invariants().unwrap();
        let inside = world.chunks().filter_map(|chunk| chunk.managed::<Fuse>());
        let inside: usize = inside.map(|values| values.len()).sum();
        assert_eq!(Arc::strong_count(&owner), inside + 1, "{what} {position}");
        if panicked && fuse(&owner).as_ptr() == owner.clones.as_ptr() {
            assert_eq!(world.state_hash(), hash, "{what} {position}");
        }
        world.spawn_many((A(1), make(9)), 5);
        drop(world);
        assert_eq!(Arc::strong_count(&owner), 1, "{what} {position}");
        if !panicked {
            return assert!(position > 1, "{what}: nothing was called");
        }
    }
}

#[test]
fn clones_that_panic_change_nothing() {
    let actions: [(&str, Action); 4] = [
        ("fork", |world, _, _| drop(world.fork())),
        ("duplicate", |world, _, _| drop(world.duplicate())),
        ("instantiate", |world, all, _| {
            world.instantiate_many(all[7], 5).unwrap();
        }),
        ("spawn_many", |world, _, owner| {
            let value = Managed::new(Fuse { value: 1, owner: Arc::clone(owner) });
            world.spawn_many((A(1), value), 7);
        }),
    ];
    for (what, action) in actions {
        survives(|count| &count.clones, what, action);
    }
}

#[test]
fn values_whose_destructor_panics_are_dropped_once() {
    let actions: [(&str, Action); 8] = [
        ("remove", |world, all, _| {
            world.remove::<Managed<Fuse>>(all[1]).unwrap();
        }),
        ("set", |world, all, owner| {
            world.set(all[1], Managed::new(Fuse { value: 1, owner: Arc::clone(owner) })).unwrap();
        }),
        ("add moves", |world, all, owner| {
            let value = Managed::new(Fuse { value: 1, owner: Arc::clone(owner) });
            world.add(all[1], (B(1), value)).unwrap();
        }),
        ("despawn", |world, all, _| {
            world.despawn(all[1]).unwrap();
        }),
        ("despawn_slice", |world, all, _| {
            world.batch(&all[4..7]).despawn().unwrap();
        }),
        ("despawn_all", |world, _, _| {
            world.despawn_all().unwrap();
        }),
        ("set_archetype", |world, all, _| {
            let archetype = world.archetype::<A>();
            world.set_archetype(all[1], archetype).unwrap();
        }),
        ("a fork goes", |world, _, _| drop(world.fork())),
    ];
    for (what, action) in actions {
        survives(|count| &count.drops, what, action);
    }
}
