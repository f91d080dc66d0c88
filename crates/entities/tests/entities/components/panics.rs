//! Components whose code panics, is inconsistent, or reenters the world.
//!
//! Clone, Default, Drop and iterators are user code. Wherever they panic, worlds stay consistent: nothing leaks,
//! nothing is dropped twice, and nothing is half done.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};

use ancho_entities::__macro::TypeSlot;
use ancho_entities::{
    ChunkArena, Component, ComponentType, Duplicate, Entity, EntityError, Field, Initial, World,
    WorldSettings,
};

thread_local! {
    /// The number of calls that succeed before one panics.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
    /// The call that panicked.
    static FIRED: Cell<Option<&'static str>> = const { Cell::new(None) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

/// Panics if it is this call's turn.
fn may_panic(who: &'static str) {
    if let Some(left) = FUSE.get() {
        FUSE.set(left.checked_sub(1));
        if left == 0 {
            FIRED.set(Some(who));
            // Prints no message.
            resume_unwind(Box::new(who));
        }
    }
}

#[derive(Debug)]
struct Live;

impl Live {
    fn new() -> Self {
        LIVE.set(LIVE.get() + 1);
        Self
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.set(LIVE.get() - 1);
    }
}

/// A component that panics in every operation. The box is for the address sanitizer.
#[derive(Component, Debug)]
struct Bomb<const N: usize>(Box<u32>, #[field(opaque)] Live);

/// A zero-sized component that panics in every operation.
#[derive(Component, Debug)]
struct EmptyBomb(#[field(opaque)] Live);

fn bomb<const N: usize>(number: u32) -> Bomb<N> {
    Bomb(Box::new(number), Live::new())
}

impl<const N: usize> Clone for Bomb<N> {
    fn clone(&self) -> Self {
        may_panic("clone");
        bomb(*self.0)
    }
}

impl<const N: usize> Default for Bomb<N> {
    fn default() -> Self {
        may_panic("default");
        bomb(0)
    }
}

impl<const N: usize> Drop for Bomb<N> {
    fn drop(&mut self) {
        may_panic("drop");
    }
}

impl Clone for EmptyBomb {
    fn clone(&self) -> Self {
        may_panic("clone");
        Self(Live::new())
    }
}

impl Default for EmptyBomb {
    fn default() -> Self {
        may_panic("default");
        Self(Live::new())
    }
}

impl Drop for EmptyBomb {
    fn drop(&mut self) {
        may_panic("drop");
    }
}

#[derive(Component, Clone, Copy, Default, Debug, PartialEq)]
struct Number(u32);

#[derive(Component, Clone, Copy)]
struct Target(Entity);

type All = (Number, Bomb<0>, Bomb<1>, EmptyBomb);

fn all(number: u32) -> All {
    (Number(number), bomb(number), bomb(number + 1), EmptyBomb(Live::new()))
}

fn settings() -> WorldSettings {
    WorldSettings::new().chunk_capacity_limit(3).arena(ChunkArena::new())
}

/// Creates a world whose first entities have all components, and the next only numbers.
fn world() -> (World, Vec<Entity>) {
    let mut world = World::with_settings("hostile", settings());
    let mut entities: Vec<Entity> = world.spawn_batch((0..8).map(all)).collect();
    entities.extend(
        world.spawn_batch((0..4).map(|at| (Number(at), Target(Entity::from_parts(at, 1))))),
    );
    (world, entities)
}

/// Makes each call that can panic do so, one after the other.
#[track_caller]
fn sweep(name: &str, call: impl Fn(&mut World, &[Entity])) {
    let panics =
        [false, true].map(|shared| (0..).take_while(|&at| run(name, &call, at, shared)).count());
    assert_ne!(panics, [0, 0], "{name} calls nothing");
}

/// Calls that work chunk by chunk: the changes before the panic stay.
const IN_PARTS: [&str; 1] = ["despawn_slice"];

/// Runs a call in which `fuse` steps succeed. Returns whether the next one panicked.
fn run(name: &str, call: &impl Fn(&mut World, &[Entity]), fuse: u32, shared: bool) -> bool {
    let settings = {
        let (mut world, entities) = world();
        let fork = shared.then(|| world.fork().unwrap());
        let before = world.state_hash();
        FIRED.set(None);
        FUSE.set(Some(fuse));
        let result = catch_unwind(AssertUnwindSafe(|| call(&mut world, &entities)));
        FUSE.set(None);
        assert_eq!(result.is_err(), FIRED.get().is_some(), "{name}");
        world.check_invariants().unwrap_or_else(|error| panic!("{name}, {fuse}: {error}"));
        if matches!(FIRED.get(), Some("clone" | "default")) && !IN_PARTS.contains(&name) {
            assert_eq!(world.state_hash(), before, "{name} was half done when step {fuse} failed");
        }
        if let Some(fork) = &fork {
            fork.check_invariants().unwrap();
            assert_eq!(fork.state_hash(), before, "{name} has reached the fork");
        }
        // The world still works.
        let more = world.spawn(all(100));
        assert_eq!(*world.get::<Bomb<1>>(more).unwrap().0, 101);
        world.spawn_many(all(7), 5);
        for chunk in world.chunks() {
            for bomb in chunk.slice::<Bomb<0>>().into_iter().flatten() {
                assert!(*bomb.0 <= 1000);
            }
        }
        world.check_invariants().unwrap();
        world.settings().clone()
    };
    assert_eq!(LIVE.get(), 0, "{name} leaked, or dropped twice, when step {fuse} failed");
    assert!(format!("{settings:?}").contains("used: 0"), "{name} lost a chunk");
    FIRED.get().is_some()
}

#[test]
fn creating() {
    sweep("spawn_many", |world, _| {
        world.spawn_many(all(5), 10);
    });
    sweep("spawn_batch", |world, _| {
        let sets = (0..10).map(|at| {
            may_panic("iterator");
            all(at)
        });
        world.spawn_batch(sets);
    });
    sweep("spawn_columns", |world, _| {
        let columns = (vec![bomb::<0>(4), bomb(5)], [Number(1), Number(2)]);
        world.spawn_columns(columns).unwrap();
        let short = (vec![bomb::<0>(4), bomb(5)], [Number(1)]);
        drop(world.spawn_columns(short).unwrap_err());
    });
    sweep("create_many", |world, _| {
        let archetype = world.archetype::<All>();
        world.create_many(archetype, 7).unwrap();
    });
}

#[test]
fn destroying() {
    sweep("despawn", |world, entities| {
        world.despawn(entities[1]).unwrap();
    });
    sweep("despawn the last", |world, entities| {
        world.despawn(entities[7]).unwrap();
    });
    sweep("despawn_slice", |world, entities| {
        world.batch(&entities[1..7]).despawn().unwrap();
    });
    sweep("despawn_slice of one chunk", |world, entities| {
        world.batch(&entities[3..5]).despawn().unwrap();
    });
    sweep("despawn_all", |world, _| {
        world.despawn_all().unwrap();
    });
    sweep("drop", |world, _| {
        *world = World::with_settings("hostile", world.settings().clone());
    });
}

#[test]
fn changing() {
    sweep("add", |world, entities| {
        world.add(entities[0], (bomb::<2>(1), bomb::<0>(2))).unwrap();
    });
    sweep("add again", |world, entities| {
        world.add(entities[0], (bomb::<1>(1), bomb::<0>(2))).unwrap();
    });
    sweep("add_types", |world, entities| {
        let types = [ComponentType::of::<Bomb<0>>(), ComponentType::of::<Bomb<2>>()];
        world.add_types(entities[5], &types).unwrap();
    });
    sweep("remove", |world, entities| {
        world.remove::<(Bomb<0>, EmptyBomb)>(entities[1]).unwrap();
    });
    sweep("take", |world, entities| {
        drop(world.take::<Bomb<0>>(entities[7]).unwrap());
    });
    sweep("set", |world, entities| {
        world.set(entities[2], (bomb::<1>(5), bomb::<0>(6))).unwrap();
    });
    sweep("set_archetype", |world, entities| {
        let archetype = world.archetype::<(Bomb<2>, Bomb<0>, Bomb<3>)>();
        world.set_archetype(entities[4], archetype).unwrap();
    });
}

#[test]
fn writing_and_copying() {
    sweep("get_mut", |world, entities| {
        *world.get_mut::<Bomb<0>>(entities[3]).unwrap() = bomb(9);
    });
    sweep("swap_components", |world, entities| {
        may_panic("call");
        world.swap_components(entities[0], entities[5]).unwrap();
    });
    sweep("for_each_chunk_mut", |world, _| {
        world.for_each_chunk_mut(|mut chunk| {
            if chunk.as_chunk().entities()[0].index() == 3
                && let Ok(bombs) = chunk.slice_mut::<Bomb<1>>()
            {
                bombs[0] = bomb(9);
            }
        });
    });
    sweep("duplicate", |world, _| {
        let copy = world.duplicate().unwrap();
        assert_eq!(copy.state_hash(), world.state_hash());
    });
    sweep("remap_references", |world, _| {
        let map = |entity: Entity| {
            may_panic("call");
            entity
        };
        world.remap_references(map).unwrap();
    });
}

/// A component whose trait functions return something else on each call.
#[derive(Field, Debug)]
struct Fickle(u32);

static ASKED: AtomicU32 = AtomicU32::new(0);
static FICKLE: [TypeSlot<Fickle>; 3] = [const { TypeSlot::new() }; 3];

impl Clone for Fickle {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl Default for Fickle {
    fn default() -> Self {
        Self(1)
    }
}

impl ancho_entities::Mutable for Fickle {}

impl Component for Fickle {
    fn name() -> &'static str {
        ["fickle::A", "fickle::B", "fickle::C"][ASKED.fetch_add(1, Relaxed) as usize % 3]
    }

    fn duplicate() -> Duplicate<Self> {
        match ASKED.fetch_add(1, Relaxed) % 2 {
            0 => Duplicate::none(),
            _ => Duplicate::clone(),
        }
    }

    fn initial() -> Initial<Self> {
        match ASKED.fetch_add(1, Relaxed) % 3 {
            0 => Initial::none(),
            _ => Initial::default(),
        }
    }

    fn slot() -> Option<&'static TypeSlot<Self>> {
        FICKLE.get(ASKED.fetch_add(1, Relaxed) as usize % 4)
    }
}

#[test]
fn a_type_with_inconsistent_properties() {
    let mut world = World::with_settings("hostile", settings());
    let first = ComponentType::of::<Fickle>();
    for round in 0..40 {
        assert_eq!(ComponentType::of::<Fickle>(), first);
        let entity = world.spawn((Fickle(round), bomb::<0>(round)));
        let archetype = world.archetype::<(Fickle, Number)>();
        let _created = catch_unwind(AssertUnwindSafe(|| world.create_many(archetype, 4).map(drop)));
        let fork = world.fork();
        let _written = catch_unwind(AssertUnwindSafe(|| {
            world.get_mut::<Fickle>(entity).map(|fickle| fickle.0 += 1)
        }));
        world.check_invariants().unwrap();
        assert!([round, round + 1].contains(&world.get::<Fickle>(entity).unwrap().0));
        if let Ok(fork) = fork {
            assert_eq!(fork.get::<Fickle>(entity).unwrap().0, round);
        }
    }
    drop(world);
    assert_eq!(LIVE.get(), 0);
}

#[test]
fn a_type_that_registers_itself_while_it_is_registered() {
    #[derive(Field)]
    struct Eager(u32);

    static INSIDE: AtomicBool = AtomicBool::new(false);

    impl Component for Eager {
        fn name() -> &'static str {
            if !INSIDE.swap(true, Relaxed) {
                ComponentType::of::<Self>();
            }
            "hostile::Eager"
        }
    }

    let mut world = World::with_settings("hostile", settings());
    let entity = world.spawn(Eager(3));
    assert_eq!(world.get::<Eager>(entity).unwrap().0, 3);
}

thread_local! {
    /// Forks that the code of components can reach.
    static FORKS: RefCell<Vec<World>> = const { RefCell::new(Vec::new()) };
}

/// A component that drops a fork, or writes to it, while it is cloned.
#[derive(Component, Debug)]
struct Meddler(Box<u32>, #[field(opaque)] Live);

impl Clone for Meddler {
    fn clone(&self) -> Self {
        let fork = FORKS.take().pop();
        if let Some(mut fork) = fork {
            let first = fork.iter_entities().next().unwrap();
            if self.0.is_multiple_of(2) {
                *fork.get_mut::<Self>(first).unwrap().0 += 1;
                fork.check_invariants().unwrap();
            }
            drop(fork);
        }
        Self(self.0.clone(), Live::new())
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        // Creates and drops worlds of the same arena meanwhile.
        if LIVE.get() % 3 == 0 {
            let mut world = World::with_settings("other", settings());
            world.spawn(Number(*self.0));
        }
        drop(FORKS.take().pop());
    }
}

#[test]
fn forks_that_go_while_a_chunk_is_copied() {
    for number in 0..4 {
        for forks in 1..4 {
            let mut world = World::with_settings("hostile", settings());
            let sets = (0..5).map(|at| (Meddler(Box::new(number + at), Live::new()), Number(at)));
            let entities: Vec<Entity> = world.spawn_batch(sets).collect();
            for _ in 0..forks {
                let fork = world.fork().unwrap();
                FORKS.with_borrow_mut(|forks| forks.push(fork));
            }
            *world.get_mut::<Meddler>(entities[1]).unwrap().0 += 100;
            world.despawn(entities[0]).unwrap();
            world.check_invariants().unwrap();
            assert_eq!(*world.get::<Meddler>(entities[1]).unwrap().0, number + 101);
            world.despawn_all().unwrap();
            drop(FORKS.take());
        }
    }
    assert_eq!(LIVE.get(), 0);
}

/// An iterator that yields `None`, and then values again.
struct Unfused(u32);

impl Iterator for Unfused {
    type Item = Number;

    fn next(&mut self) -> Option<Number> {
        self.0 += 1;
        (!self.0.is_multiple_of(5)).then_some(Number(self.0))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, Some(0))
    }
}

#[test]
fn an_iterator_is_not_called_after_its_end() {
    let mut world = World::with_settings("hostile", settings());
    let mut sets = Unfused(0);
    let created = world.spawn_batch(&mut sets);
    assert_eq!((created.len(), created.count()), (4, 4));
    assert_eq!(sets.0, 5);
    // The entities exist even if the iterator is not consumed.
    world.spawn_batch([Number(1)]);
    assert_eq!(world.entity_count(), 5);
    world.check_invariants().unwrap();
}

#[test]
fn more_entities_than_there_can_be() {
    #[derive(Component, Clone, Copy, Default)]
    struct Tag;

    let arena = ChunkArena::new();
    let mut world = World::with_settings("hostile", WorldSettings::new().arena(arena.clone()));
    let archetype = world.archetype::<Tag>();
    let too_many = (1_usize << 31) + 1;
    let mut refused = |call: &dyn Fn(&mut World)| {
        let panic = catch_unwind(AssertUnwindSafe(|| call(&mut world))).unwrap_err();
        let message = panic.downcast::<String>().unwrap();
        assert!(message.contains("at most 2147483648 entities"), "{message}");
        world.check_invariants().unwrap();
        assert_eq!((world.entity_count(), arena.stats().used), (0, 0));
    };
    refused(&|world| {
        world.spawn_many(Tag, too_many);
    });
    refused(&|world| {
        world.spawn_many((), usize::MAX);
    });
    refused(&|world| {
        let _refused = world.spawn_columns(([Tag; (1 << 31) + 1],));
    });
    refused(&|world| {
        let _refused = world.create_many(archetype, too_many);
    });
}

#[test]
fn alignments_up_to_that_of_a_chunk() {
    #[derive(Component, Clone, Default)]
    #[repr(align(1024))]
    struct Coarse(u8);

    #[derive(Component, Clone, Default)]
    #[repr(align(4096))]
    struct CoarseTag;

    #[derive(Component, Clone, Default)]
    #[repr(align(8192))]
    struct TooCoarse;

    let mut world = World::with_settings("hostile", settings().chunk_size(4096));
    let entities: Vec<Entity> = world.spawn_many((Coarse(3), CoarseTag, Number(7)), 3).collect();
    let mut fork = world.fork().unwrap();
    for entity in entities {
        assert!(std::ptr::from_ref(world.get::<Coarse>(entity).unwrap()).is_aligned());
        assert!(std::ptr::from_mut(fork.get_mut::<CoarseTag>(entity).unwrap()).is_aligned());
        assert_eq!(fork.get(entity), Ok(&Number(7)));
    }
    let refused = world.try_spawn(TooCoarse).unwrap_err().error;
    assert!(matches!(refused, EntityError::DoesNotFit { .. }), "{refused}");
    world.check_invariants().unwrap();
}

#[test]
fn bytes_that_others_may_change_are_not_shown() {
    #[derive(Component, Clone, Copy)]
    struct Flag(bool);

    #[derive(Component)]
    struct Shared(u32, AtomicU32);

    let mut world = World::with_settings("hostile", settings());
    let entity = world.spawn((Shared(1, AtomicU32::new(2)), Flag(true)));
    let ty = ComponentType::of::<Shared>();
    let not_bytes = |write| Err(EntityError::NotBytes { component: ty, write });
    assert_eq!(world.get_bytes(entity, ty), not_bytes(false));
    assert!(world.chunks().all(|chunk| chunk.bytes(ty).is_none()));
    // They can be written: an exclusive reference excludes other readers.
    assert_eq!(world.set_bytes(entity, ty, &[0; 8]), Ok(()));
    let flag = ComponentType::of::<Flag>();
    assert_eq!(world.get_bytes(entity, flag), Ok(&[1][..]));
    assert!(world.set_bytes(entity, flag, &[2]).is_err());
    assert!(world.add_bytes(entity, flag, &[2]).is_err());
}
