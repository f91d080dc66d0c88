//! Several kinds of components on the same entities, with user code that panics in one of them.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

use ancho_entities::{
    Buffer, BufferElement, ChunkArena, Columns, Component, ComponentType, Entity, EntityError,
    LinkedEntityGroup, Managed, ManagedComponent, PerChunk, Prefab, Shared, SharedComponent, World,
    WorldSettings,
};

use crate::common::{A, B, Stays, Text};
use crate::fixtures::limited_memory::CHUNK;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Clone,
    Default,
    Drop,
}

thread_local! {
    /// The kind of call that panics, and the number of calls before it that succeed.
    static FUSE: Cell<Option<(Call, u32)>> = const { Cell::new(None) };
    /// Its strong count is one more for each live value.
    static OWNER: RefCell<Arc<()>> = RefCell::default();
}

fn perhaps_panic(call: Call) {
    match FUSE.get() {
        Some((kind, 0)) if kind == call => {
            FUSE.set(None);
            resume_unwind(Box::new("told to"));
        }
        Some((kind, left)) if kind == call => FUSE.set(Some((kind, left - 1))),
        _ => {}
    }
}

/// The field of all fragile components.
struct Touchy(#[expect(dead_code, reason = "counted")] Arc<()>);

impl Default for Touchy {
    fn default() -> Self {
        perhaps_panic(Call::Default);
        Self(OWNER.with_borrow(Arc::clone))
    }
}

impl Clone for Touchy {
    fn clone(&self) -> Self {
        perhaps_panic(Call::Clone);
        Self(OWNER.with_borrow(Arc::clone))
    }
}

impl Drop for Touchy {
    fn drop(&mut self) {
        if !thread::panicking() {
            perhaps_panic(Call::Drop);
        }
    }
}

/// A chunk component.
#[derive(Component, Clone, Default)]
#[component(name = "panics::Bounds")]
struct Bounds(#[field(opaque)] Touchy);

/// A managed component.
#[derive(ManagedComponent, Clone, Default)]
#[managed(name = "panics::Script")]
struct Script(#[field(opaque)] Touchy);

/// A plain component.
#[derive(Component, Clone, Default)]
#[component(name = "panics::Word")]
struct Word(#[field(opaque)] Touchy);

/// A buffer element.
#[derive(BufferElement, Clone)]
#[buffer(name = "panics::Item", inline = 1)]
struct Item(#[field(opaque)] Touchy);

/// A shared component.
#[derive(SharedComponent)]
#[shared(name = "panics::Flag")]
struct Flag(u32, #[field(opaque)] Touchy);

impl PartialEq for Flag {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Flag {}

impl Hash for Flag {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

fn flag(number: u32) -> Shared<Flag> {
    Shared::new(Flag(number, Touchy::default()))
}

#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[shared(name = "panics::Team")]
struct Team(u32);

fn team(number: u32) -> Shared<Team> {
    Shared::new(Team(number))
}

const MARK: PerChunk<Bounds> = PerChunk::new();

fn script() -> Managed<Script> {
    Managed::new(Script::default())
}

/// Creates entities of two shared values and several archetypes, in chunks of two. The first is the root of a group.
fn scene() -> (World, Vec<Entity>) {
    scene_in(ChunkArena::new())
}

fn scene_in(arena: ChunkArena) -> (World, Vec<Entity>) {
    let settings = WorldSettings::new().chunk_capacity_limit(2).arena(arena);
    let mut world = World::with_settings("Simulation", settings);
    let mut all: Vec<_> = world.spawn_many((A(1), team(1), MARK), 5).collect();
    all.push(world.spawn((A(2), team(2), MARK, script())));
    all.push(world.spawn((A(3), MARK, Text("x".into()))));
    all.push(world.spawn((A(4), team(2), MARK, Prefab)));
    all.push(world.spawn((A(5), team(3), MARK, Stays)));
    all.push(world.spawn((A(6), team(1), MARK, script(), Stays)));
    let members = [0, 4, 5, 6, 7, 8, 9].map(|at| LinkedEntityGroup(all[at]));
    world.add(all[0], Buffer::from(members)).unwrap();
    (world, all)
}

const MEMBERS: [usize; 7] = [0, 4, 5, 6, 7, 8, 9];

type Action = fn(&mut World, &[Entity]);

/// Makes the first call of a kind panic during the action, then the second, and so on, until none panics. After each,
/// `after` checks the result; it gets the hash of the state before if the call panicked.
#[track_caller]
fn survives(
    call: Call,
    what: &str,
    action: Action,
    after: impl Fn(&str, &World, &[Entity], Option<u64>),
) {
    for position in 0.. {
        let what = format!("{what}, {call:?} {position}");
        OWNER.set(Arc::default());
        let (mut world, all) = scene();
        let before = world.state_hash();
        FUSE.set(Some((call, position)));
        let result = catch_unwind(AssertUnwindSafe(|| action(&mut world, &all)));
        let panicked = FUSE.take().is_none();
        assert_eq!(result.is_err(), panicked, "{what}");
        if let Err(violation) = world.check_invariants() {
            panic!("{what}: {violation}");
        }
        after(&what, &world, &all, panicked.then_some(before));
        // The world still works.
        let new: Vec<_> = world.spawn_many((A(1), team(9), MARK, script()), 5).collect();
        world.batch(&new[1..]).set_shared(Team(1)).unwrap();
        world.check_invariants().unwrap();
        drop(world);
        assert_eq!(OWNER.with_borrow(Arc::strong_count), 1, "{what}");
        if !panicked {
            assert!(position > 0, "{what}: nothing was called");
            return;
        }
    }
}

#[test]
fn no_value_is_left_when_its_chunk_cannot_be_created() {
    let actions: [(&str, Action); 14] = [
        ("spawn", |world, _| {
            world.spawn((A(1), team(9), MARK));
        }),
        ("spawn_many", |world, _| {
            world.spawn_many((A(1), team(9), MARK), 5);
        }),
        ("add", |world, all| {
            world.add(all[1], B(1)).unwrap();
        }),
        ("add a value", |world, all| {
            world.add(all[1], (B(1), team(9))).unwrap();
        }),
        ("add a value to what has none", |world, all| {
            world.add(all[6], team(9)).unwrap();
        }),
        ("add_types", |world, all| {
            let types = [ComponentType::of::<B>()];
            world.add_types(all[5], &types).unwrap();
        }),
        ("set", |world, all| {
            world.set(all[1], (A(7), team(9))).unwrap();
        }),
        ("set_shared", |world, all| {
            world.set_shared(all[4], Team(9)).unwrap();
        }),
        ("set_shared_slice", |world, all| {
            world.batch(&all[2..3]).set_shared(Team(9)).unwrap();
        }),
        ("remove", |world, all| {
            world.remove::<A>(all[1]).unwrap();
        }),
        ("take", |world, all| {
            world.take::<(A, Managed<Script>)>(all[5]).unwrap();
        }),
        ("instantiate", |world, all| {
            world.instantiate(all[7]).unwrap();
        }),
        ("instantiate a group", |world, all| {
            world.instantiate_many(all[0], 5).unwrap();
        }),
        ("set_enabled", |world, all| {
            world.set_enabled(all[0], false).unwrap();
        }),
    ];
    for (what, action) in actions {
        survives(Call::Default, what, action, |what, world, _, panicked| {
            if let Some(before) = panicked {
                assert_eq!(world.state_hash(), before, "{what}");
                let has_it = world.shared_values::<Team>().any(|team| team.0 == 9);
                assert!(!has_it, "{what}");
            }
        });
    }
}

#[test]
fn all_members_are_disabled_when_dropping_a_chunk_component_panics() {
    let actions: [(&str, Action, bool); 2] = [
        ("off", |world, all| assert!(world.set_enabled(all[0], false).unwrap()), false),
        (
            "on",
            |world, all| {
                let fuse = FUSE.take();
                world.set_enabled(all[0], false).unwrap();
                FUSE.set(fuse);
                world.set_enabled(all[0], true).unwrap();
            },
            true,
        ),
    ];
    for (what, action, enabled) in actions {
        survives(Call::Drop, what, action, |what, world, all, _| {
            for at in MEMBERS {
                assert_eq!(world.is_enabled(all[at]), enabled, "{what}: {at}");
            }
        });
    }
}

#[test]
fn all_members_are_despawned_when_dropping_a_value_of_any_kind_panics() {
    survives(
        Call::Drop,
        "despawn",
        |world, all| assert!(world.despawn(all[0]).unwrap()),
        |what, world, all, _| {
            for at in MEMBERS {
                assert_eq!(world.exists(all[at]), at >= 8, "{what}: {at}");
                assert!(!world.has::<A>(all[at]), "{what}: {at}");
            }
            assert_eq!(world.entity_count(), 5, "{what}");
        },
    );
}

#[test]
fn no_instance_exists_when_cloning_a_managed_value_panics() {
    survives(
        Call::Clone,
        "instantiate",
        |world, all| {
            world.instantiate_many(all[0], 3).unwrap();
        },
        |what, world, all, panicked| match panicked {
            Some(before) => assert_eq!(world.state_hash(), before, "{what}"),
            None => assert_eq!(world.entity_count(), all.len() + 3 * MEMBERS.len()),
        },
    );
}

#[test]
fn no_fork_exists_when_cloning_a_value_panics() {
    survives(
        Call::Clone,
        "fork",
        |world, all| {
            let mut fork = world.fork().unwrap();
            let fuse = FUSE.take();
            fork.batch(&all[..3]).set_shared(Team(9)).unwrap();
            fork.despawn(all[0]).unwrap();
            fork.check_invariants().unwrap();
            drop(fork);
            FUSE.set(fuse);
        },
        |what, world, _, panicked| {
            if let Some(before) = panicked {
                assert_eq!(world.state_hash(), before, "{what}");
            }
        },
    );
}

/// Creates the scene, and entities with values of all kinds, which join the group.
fn full_scene(arena: ChunkArena) -> (World, Vec<Entity>) {
    let (mut world, mut all) = scene_in(arena);
    for number in 0..5 {
        let items: Buffer<_> = (0..number).map(|_| Item(Touchy::default())).collect();
        let parts = (Word::default(), flag(number % 2), items);
        all.push(match number % 3 {
            0 => world.spawn((A(number), team(number), MARK, parts)),
            1 => world.spawn((parts, script())),
            _ => world.spawn((MARK, parts, Stays)),
        });
    }
    let mut group = world.buffer_mut::<LinkedEntityGroup>(all[0]).unwrap();
    all[10..].iter().for_each(|&member| group.push(LinkedEntityGroup(member)));
    (world, all)
}

#[test]
fn worlds_are_consistent_whatever_panics() {
    let actions: [(&str, Action); 24] = [
        ("spawn", |world, _| {
            world.spawn((Word::default(), flag(7), MARK, script()));
        }),
        ("spawn_many", |world, _| {
            world.spawn_many((Word::default(), flag(1), MARK, script()), 5);
        }),
        ("spawn_batch", |world, _| {
            world.spawn_batch((0..5).map(|at| (Word::default(), flag(at % 3), MARK)));
        }),
        ("spawn_columns", |world, _| {
            let columns = Columns::new(5).with(|_| Word::default()).with(|_| A(1));
            world.spawn_columns(columns).unwrap();
        }),
        ("create_many", |world, _| {
            let entities = &mut *world;
            let archetype = entities.archetype::<(Word, PerChunk<Bounds>, Managed<Script>)>();
            entities.create_many(archetype, 5).unwrap();
        }),
        ("add", |world, all| {
            all.iter().for_each(|&entity| assert!(world.add(entity, B(1)).is_ok()));
        }),
        ("add all kinds", |world, all| {
            for &entity in all {
                let items = Buffer::from(vec![Item(Touchy::default())]);
                let set = (Word::default(), flag(5), script(), MARK, items);
                assert!(world.add(entity, set).is_ok());
            }
        }),
        ("add_types", |world, all| {
            let types = [
                ComponentType::of::<Word>(),
                ComponentType::of_chunk::<Bounds>(),
                ComponentType::of_managed::<Script>(),
                ComponentType::of_buffer::<Item>(),
            ];
            for &entity in all {
                world.add_types(entity, &types).unwrap();
            }
        }),
        ("set", |world, all| {
            world.set(all[11], (Word::default(), flag(4), script())).map_err(|r| r.error).unwrap();
            world.set(all[10], Word::default()).map_err(|r| r.error).unwrap();
        }),
        ("set_shared", |world, all| {
            for &entity in &all[10..] {
                world.set_shared(entity, Flag(3, Touchy::default())).unwrap();
            }
        }),
        ("set_shared_slice", |world, all| {
            world.batch(&all[10..13]).set_shared(Flag(3, Touchy::default())).unwrap();
            world.batch(&all[1..3]).set_shared(Team(3)).unwrap();
        }),
        ("remove", |world, all| {
            for &entity in all {
                world.remove::<(Word, Managed<Script>)>(entity).unwrap();
                world.remove::<(Shared<Flag>, PerChunk<Bounds>, Buffer<Item>)>(entity).unwrap();
            }
        }),
        ("take", |world, all| {
            drop(world.take::<(Word, Shared<Flag>, Managed<Script>)>(all[11]).unwrap());
            drop(world.take::<(PerChunk<Bounds>, Shared<Flag>, Buffer<Item>)>(all[12]).unwrap());
        }),
        ("set_archetype", |world, all| {
            let archetype = world.archetype::<(Word, PerChunk<Bounds>)>();
            for &entity in &all[1..8] {
                world.set_archetype(entity, archetype).unwrap();
            }
        }),
        ("get_mut", |world, all| {
            all[10..].iter().for_each(|&e| *world.get_mut::<Word>(e).unwrap() = Word::default());
        }),
        ("swap", |world, all| {
            world.swap_components(all[10], all[13]).unwrap();
        }),
        ("despawn", |world, all| {
            world.despawn(all[0]).unwrap();
        }),
        ("despawn_slice", |world, all| {
            world.batch(&all[1..]).despawn().unwrap();
        }),
        ("despawn_all", |world, _| {
            world.despawn_all().unwrap();
        }),
        ("instantiate", |world, all| {
            world.instantiate_many(all[0], 3).unwrap();
        }),
        ("set_enabled", |world, all| {
            world.set_enabled(all[0], false).unwrap();
        }),
        ("fork", |world, all| {
            let mut fork = world.fork().unwrap();
            fork.despawn(all[10]).unwrap();
        }),
        ("duplicate", |world, _| drop(world.duplicate().unwrap())),
        ("remap", |world, _| world.remap_references(|entity| entity).unwrap()),
    ];
    let mut panics = 0;
    for (what, action) in actions {
        for call in [Call::Clone, Call::Default, Call::Drop] {
            for position in 0.. {
                OWNER.set(Arc::default());
                let (mut world, all) = full_scene(ChunkArena::new());
                // Half of the worlds share their memory with a fork.
                let mut fork = (position % 2 == 0).then(|| world.fork().unwrap());
                FUSE.set(Some((call, position / 2)));
                let result = catch_unwind(AssertUnwindSafe(|| action(&mut world, &all)));
                let panicked = FUSE.take().is_none();
                let what = format!("{what}, {call:?} {position}");
                assert_eq!(result.is_err(), panicked, "{what}");
                for world in [Some(&mut world), fork.as_mut()].into_iter().flatten() {
                    if let Err(violation) = world.check_invariants() {
                        panic!("{what}: {violation}");
                    }
                    world.spawn_many((Word::default(), flag(1), MARK, script()), 3);
                    world.despawn(all[10]).unwrap();
                    world.check_invariants().unwrap();
                }
                drop((world, fork));
                assert_eq!(OWNER.with_borrow(Arc::strong_count), 1, "{what}");
                panics += usize::from(panicked);
                if !panicked && position % 2 == 1 {
                    break;
                }
            }
        }
    }
    assert!(panics > 500, "{panics}");
}

#[test]
fn nothing_is_done_when_there_is_too_little_memory() {
    type Action = fn(&mut World, &[Entity]) -> Result<(), EntityError>;
    let actions: [(&str, Action); 15] = [
        ("spawn", |world, _| {
            let spawned = world.try_spawn((Word::default(), flag(7), MARK, script()));
            spawned.map(drop).map_err(|rejected| rejected.error)
        }),
        ("spawn_columns", |world, _| {
            let columns = Columns::new(5).with(|_| Word::default()).with(|_| A(1));
            world.spawn_columns(columns).map(drop).map_err(|rejected| rejected.error)
        }),
        ("create_many", |world, _| {
            let entities = &mut *world;
            let archetype = entities.archetype::<(Word, PerChunk<Bounds>, Managed<Script>)>();
            entities.create_many(archetype, 5).map(drop)
        }),
        ("add", |world, all| world.add(all[1], B(1)).map(drop).map_err(|rejected| rejected.error)),
        ("add all kinds", |world, all| {
            let items = Buffer::from(vec![Item(Touchy::default())]);
            let set = (Word::default(), flag(5), script(), MARK, items);
            world.add(all[2], set).map(drop).map_err(|rejected| rejected.error)
        }),
        ("add_types", |world, all| {
            let types = [ComponentType::of::<Word>(), ComponentType::of_managed::<Script>()];
            world.add_types(all[2], &types).map(drop)
        }),
        ("set", |world, all| {
            let set = (Word::default(), flag(4), script());
            world.set(all[11], set).map_err(|rejected| rejected.error)
        }),
        ("set_shared", |world, all| {
            world.set_shared(all[12], Flag(3, Touchy::default())).map(drop)
        }),
        ("set_shared_slice", |world, all| world.batch(&all[2..3]).set_shared(Team(9)).map(drop)),
        ("take", |world, all| {
            world.take::<(Word, Shared<Flag>, Managed<Script>)>(all[11]).map(drop)
        }),
        ("despawn", |world, all| world.despawn(all[0]).map(drop)),
        ("instantiate", |world, all| world.instantiate_many(all[0], 3).map(drop)),
        ("set_enabled", |world, all| world.set_enabled(all[0], false).map(drop)),
        ("fork", |world, _| world.fork().map(drop)),
        ("duplicate", |world, _| world.duplicate().map(drop)),
    ];
    let mut refused = 0;
    for (what, action) in actions {
        for forked in [false, true] {
            for free in 0.. {
                let what = format!("{what}, {free} chunks, {forked}");
                OWNER.set(Arc::default());
                let arena = ChunkArena::with_limit(64 * CHUNK);
                let (mut world, all) = full_scene(arena.clone());
                let fork = forked.then(|| world.fork().unwrap());
                // Another world takes all memory but `free` chunks.
                let settings = WorldSettings::new().chunk_capacity_limit(1).arena(arena);
                let mut other = World::with_settings("Other", settings);
                let taken: Vec<_> = iter::from_fn(|| other.try_spawn(()).ok()).collect();
                other.batch(&taken[..free]).despawn().unwrap();
                let look = |world: &World| {
                    world.check_invariants().unwrap();
                    let flags = world.shared_values::<Flag>().map(|flag| flag.0);
                    (world.state_hash(), world.entity_count(), flags.collect::<Vec<_>>())
                };
                let before = look(&world);
                let done = action(&mut world, &all);
                let after = look(&world);
                match done {
                    Ok(()) => {}
                    Err(EntityError::OutOfMemory(_)) => {
                        refused += 1;
                        assert_eq!(after, before, "{what}");
                    }
                    Err(error) => panic!("{what}: {error}"),
                }
                drop((world, fork));
                assert_eq!(OWNER.with_borrow(Arc::strong_count), 1, "{what}");
                if done.is_ok() {
                    break;
                }
            }
        }
    }
    assert!(refused > 30, "{refused}");
}
