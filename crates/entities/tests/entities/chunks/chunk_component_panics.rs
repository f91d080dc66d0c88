//! Chunk components whose code panics: a chunk is created with its value or not at all, and each value is dropped once.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use ancho_entities::{
    ChunkArena, Component, ComponentType, Entity, EntityError, PerChunk, WorldSettings,
};

use crate::common::{A, B, Checked, chunks_of};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Clone,
    Default,
    Drop,
}

/// The live values, the kind of call that panics, and the number of calls before it that succeed.
#[derive(Default)]
struct Registry {
    made: u64,
    alive: Vec<u64>,
    fuse: Option<(Call, usize)>,
}

thread_local! {
    static REGISTRY: RefCell<Registry> = RefCell::default();
}

fn tick(call: Call) {
    let panics = REGISTRY.with_borrow_mut(|registry| match &mut registry.fuse {
        Some((kind, 0)) if *kind == call => {
            registry.fuse = None;
            true
        }
        Some((kind, left)) if *kind == call => {
            *left -= 1;
            false
        }
        _ => false,
    });
    if panics {
        resume_unwind(Box::new("told to"));
    }
}

/// Each chunk has two of them, so that one exists when the other panics.
#[derive(Component)]
struct Fragile<const N: usize>(u64);

impl<const N: usize> Fragile<N> {
    fn new() -> Self {
        Self(REGISTRY.with_borrow_mut(|registry| {
            registry.made += 1;
            registry.alive.push(registry.made);
            registry.made
        }))
    }
}

impl<const N: usize> Default for Fragile<N> {
    fn default() -> Self {
        tick(Call::Default);
        Self::new()
    }
}

impl<const N: usize> Clone for Fragile<N> {
    fn clone(&self) -> Self {
        tick(Call::Clone);
        Self::new()
    }
}

impl<const N: usize> Drop for Fragile<N> {
    fn drop(&mut self) {
        REGISTRY.with_borrow_mut(|registry| {
            let at = registry.alive.iter().position(|&alive| alive == self.0);
            registry.alive.swap_remove(at.expect("dropped twice"));
        });
        if !thread::panicking() {
            tick(Call::Drop);
        }
    }
}

/// A wrapper: the derive makes generic types neither cloneable nor default.
#[derive(Component, Clone, Default)]
#[component(name = "game::Left")]
struct Left(#[field(opaque)] Fragile<0>);

#[derive(Component, Clone, Default)]
#[component(name = "game::Right")]
struct Right(#[field(opaque)] Fragile<1>);

type Marks = (PerChunk<Left>, PerChunk<Right>);

fn marks() -> Marks {
    Marks::default()
}

type Action = fn(&mut Checked, &[Entity]);

/// Checks that every live value is that of a chunk.
#[track_caller]
fn check(world: &Checked, what: &str) {
    if let Err(violation) = world.check_invariants() {
        panic!("{what}: {violation}");
    }
    let mut found = Vec::new();
    for chunk in world.chunks() {
        found.extend(chunk.chunk_component::<Left>().map(|value| value.0.0));
        found.extend(chunk.chunk_component::<Right>().map(|value| value.0.0));
    }
    let mut alive = REGISTRY.with_borrow(|registry| registry.alive.clone());
    found.sort_unstable();
    alive.sort_unstable();
    assert_eq!(alive, found, "{what}");
}

/// Makes the first call of a kind panic during the action, then the second, and so on, until none panics. Returns the
/// state hashes before and after each panic.
fn survives(call: Call, what: &str, action: Action) -> Vec<(u64, u64)> {
    let mut hashes = Vec::new();
    for position in 0.. {
        let what = format!("{what}, {call:?} {position}");
        REGISTRY.with_borrow_mut(|registry| *registry = Registry::default());
        let mut world = chunks_of(2);
        // Two full chunks, and one with one entity.
        let mut all: Vec<_> = world.spawn_many((A(1), marks()), 5).collect();
        all.push(world.spawn(A(2)));
        let before = world.state_hash();
        REGISTRY.with_borrow_mut(|registry| registry.fuse = Some((call, position)));
        let result = catch_unwind(AssertUnwindSafe(|| action(&mut world, &all)));
        let panicked = REGISTRY.with_borrow_mut(|registry| registry.fuse.take().is_none());
        assert_eq!(result.is_err(), panicked, "{what}");
        check(&world, &what);
        if panicked {
            hashes.push((before, world.state_hash()));
        }
        // Everything still works.
        world.spawn_many((A(1), marks()), 5);
        let entity = world.spawn((B(1), marks()));
        world.set_chunk_component(entity, Left::default()).unwrap();
        check(&world, &what);
        drop(world);
        let alive = REGISTRY.with_borrow(|registry| registry.alive.len());
        assert_eq!(alive, 0, "{what}");
        if !panicked {
            assert!(position > 0, "{what}: nothing was called");
            break;
        }
    }
    hashes
}

#[test]
fn no_chunk_is_created_if_a_default_panics() {
    let actions: [(&str, Action); 9] = [
        ("spawn", |world, _| {
            world.spawn((B(1), marks()));
        }),
        ("spawn_many", |world, _| {
            world.spawn_many((A(1), marks()), 7);
        }),
        ("add", |world, all| {
            world.add(all[1], B(1)).unwrap();
        }),
        ("add it", |world, all| {
            world.add(all[5], (B(1), marks())).unwrap();
        }),
        ("add_types", |world, all| {
            let types = [ComponentType::of_chunk::<Left>(), ComponentType::of::<B>()];
            world.add_types(all[5], &types).unwrap();
        }),
        ("remove", |world, all| {
            world.remove::<A>(all[4]).unwrap();
        }),
        ("take", |world, all| {
            world.take::<A>(all[4]).unwrap();
        }),
        ("create_many", |world, _| {
            let archetype = world.archetype::<(A, Marks)>();
            world.create_many(archetype, 8).unwrap();
        }),
        ("instantiate_many", |world, all| {
            world.instantiate_many(all[0], 8).unwrap();
        }),
    ];
    for (what, action) in actions {
        for (before, after) in survives(Call::Default, what, action) {
            assert_eq!(before, after, "{what}");
        }
    }
    // The entities before the panic exist.
    survives(Call::Default, "spawn_batch", |world, _| {
        world.spawn_batch((0..8).map(|at| (A(at), marks())));
    });
}

#[test]
fn values_that_panic_are_dropped_once_with_their_chunk() {
    let actions: [(&str, Action); 12] = [
        ("despawn", |world, all| {
            world.despawn(all[4]).unwrap();
        }),
        ("despawn_slice", |world, all| {
            world.batch(&all[1..5]).despawn().unwrap();
        }),
        ("despawn_all", |world, _| {
            world.despawn_all().unwrap();
        }),
        ("remove", |world, all| {
            world.remove::<A>(all[4]).unwrap();
        }),
        ("remove it", |world, all| {
            world.remove::<Marks>(all[4]).unwrap();
        }),
        ("take", |world, all| {
            world.take::<A>(all[4]).unwrap();
        }),
        ("add", |world, all| {
            world.add(all[4], B(1)).unwrap();
        }),
        ("add again and again", |world, all| {
            // The second change may take a faster path, and fills the target chunk.
            world.add(all[0], B(1)).unwrap();
            world.add(all[1], B(1)).unwrap();
        }),
        ("set_archetype", |world, all| {
            let archetype = world.archetype::<A>();
            world.set_archetype(all[4], archetype).unwrap();
        }),
        ("set_chunk_component", |world, all| {
            world.set_chunk_component(all[0], Left::default()).unwrap();
        }),
        ("fork", |world, _| drop(world.fork())),
        ("chunk_component_mut", |world, _| {
            world.for_each_chunk_mut(|mut chunk| {
                if let Ok(value) = chunk.chunk_component_mut::<Right>() {
                    *value = Right::default();
                }
            });
        }),
    ];
    for (what, action) in actions {
        survives(Call::Drop, what, action);
    }
}

#[test]
fn no_fork_is_made_if_a_clone_panics() {
    for (what, action) in [
        ("fork", (|world, _| drop(world.fork())) as Action),
        ("duplicate", |world, _| drop(world.duplicate())),
    ] {
        for (before, after) in survives(Call::Clone, what, action) {
            assert_eq!(before, after, "{what}");
        }
    }
}

#[test]
fn a_chunk_without_memory_has_no_values() {
    const CHUNK: usize = 4 << 10;
    for position in 0..6 {
        REGISTRY.with_borrow_mut(|registry| *registry = Registry::default());
        let arena = ChunkArena::with_limit(3 * CHUNK);
        let settings = WorldSettings::new().chunk_size(CHUNK).chunk_capacity_limit(2).arena(arena);
        let mut world = Checked::with_settings(settings);
        let entity = world.spawn((A(1), marks()));
        let archetype = world.archetype::<(A, Marks)>();
        let hash = world.state_hash();
        // New chunks are removed again, and their values panic when dropped.
        REGISTRY.with_borrow_mut(|registry| registry.fuse = Some((Call::Drop, position)));
        let create = || world.create_many(archetype, 9).map(|new| new.len());
        let result = catch_unwind(AssertUnwindSafe(create));
        let panicked = REGISTRY.with_borrow_mut(|registry| registry.fuse.take().is_none());
        assert_eq!(panicked, position < 4);
        match result {
            Ok(refused) => assert!(matches!(refused, Err(EntityError::OutOfMemory(_)))),
            Err(_) => assert!(panicked),
        }
        check(&world, "out of memory");
        assert_eq!((world.state_hash(), world.exists(entity)), (hash, true));
    }
}
