//! Several kinds of components on the same entities, and code of the user that panics in one of them.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

use ancho_entities::{
    Buffer, Component, Entity, LinkedEntityGroup, Managed, ManagedComponent, PerChunk, Prefab,
    Shared, SharedComponent, World, WorldSettings,
};

use crate::common::{A, B, Stays, Text};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Clone,
    Default,
    Drop,
}

thread_local! {
    /// Which call panics, after how many that do not.
    static FUSE: Cell<Option<(Call, u32)>> = const { Cell::new(None) };
    /// Has one more owner for each value that lives.
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

/// What all of them are made of.
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

/// Of chunks.
#[derive(Component, Clone, Default)]
#[component(name = "together::Bounds")]
struct Bounds(#[field(opaque)] Touchy);

/// Of entities, in boxes.
#[derive(ManagedComponent, Clone, Default)]
#[managed(name = "together::Script")]
struct Script(#[field(opaque)] Touchy);

#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[shared(name = "together::Team")]
struct Team(u32);

fn team(number: u32) -> Shared<Team> {
    Shared::new(Team(number))
}

const MARK: PerChunk<Bounds> = PerChunk::new();

fn script() -> Managed<Script> {
    Managed::new(Script::default())
}

/// Entities of two values and several archetypes, in chunks of two. The first is the root of a group of some.
fn scene() -> (World, Vec<Entity>) {
    let settings = WorldSettings::new().chunk_capacity_limit(2);
    let mut world = World::with_settings("Simulation", settings);
    let mut all: Vec<_> = world.spawn_many(5, (A(1), team(1), MARK)).collect();
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

/// Makes the first call of a kind panic during the action, then the second, and so on, until none panics. What was the
/// case after each is for the last function to say, which is told whether it panicked, and the hash of the state before.
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
        // It goes on.
        let new: Vec<_> = world.spawn_many(5, (A(1), team(9), MARK, script())).collect();
        world.set_shared_slice(&new[1..], Team(1)).unwrap();
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
fn no_value_is_left_when_a_chunk_for_it_cannot_be_opened() {
    let actions: [(&str, Action); 14] = [
        ("spawn", |world, _| {
            world.spawn((A(1), team(9), MARK));
        }),
        ("spawn_many", |world, _| {
            world.spawn_many(5, (A(1), team(9), MARK));
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
            let types = [ancho_entities::ComponentType::of::<B>()];
            world.entities_mut().add_types(all[5], &types).unwrap();
        }),
        ("set", |world, all| {
            world.set(all[1], (A(7), team(9))).unwrap();
        }),
        ("set_shared", |world, all| {
            world.set_shared(all[4], Team(9)).unwrap();
        }),
        ("set_shared_slice", |world, all| {
            world.set_shared_slice(&all[2..3], Team(9)).unwrap();
        }),
        ("remove", |world, all| {
            world.remove::<A>(all[1]).unwrap();
        }),
        ("take", |world, all| {
            world.take::<(A, Managed<Script>)>(all[5]).unwrap();
        }),
        ("instantiate", |world, all| {
            world.entities_mut().instantiate(all[7]).unwrap();
        }),
        ("instantiate a group", |world, all| {
            world.entities_mut().instantiate_many(all[0], 5).unwrap();
        }),
        ("set_enabled", |world, all| {
            world.entities_mut().set_enabled(all[0], false).unwrap();
        }),
    ];
    for (what, action) in actions {
        survives(Call::Default, what, action, |what, world, _, panicked| {
            if let Some(before) = panicked {
                assert_eq!(world.state_hash(), before, "{what}");
                let has_it = world.entities().shared_values::<Team>().any(|team| team.0 == 9);
                assert!(!has_it, "{what}");
            }
        });
    }
}

#[test]
fn all_members_are_switched_when_the_value_of_a_chunk_cannot_be_dropped() {
    let actions: [(&str, Action, bool); 2] = [
        (
            "off",
            |world, all| assert!(world.entities_mut().set_enabled(all[0], false).unwrap()),
            false,
        ),
        (
            "on",
            |world, all| {
                let fuse = FUSE.take();
                world.entities_mut().set_enabled(all[0], false).unwrap();
                FUSE.set(fuse);
                world.entities_mut().set_enabled(all[0], true).unwrap();
            },
            true,
        ),
    ];
    for (what, action, enabled) in actions {
        survives(Call::Drop, what, action, |what, world, all, _| {
            for at in MEMBERS {
                assert_eq!(world.entities().is_enabled(all[at]), enabled, "{what}: {at}");
            }
        });
    }
}

#[test]
fn all_members_go_when_a_value_of_any_kind_cannot_be_dropped() {
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
fn no_instance_is_there_when_a_box_cannot_be_cloned() {
    survives(
        Call::Clone,
        "instantiate",
        |world, all| {
            world.entities_mut().instantiate_many(all[0], 3).unwrap();
        },
        |what, world, all, panicked| match panicked {
            Some(before) => assert_eq!(world.state_hash(), before, "{what}"),
            None => assert_eq!(world.entity_count(), all.len() + 3 * MEMBERS.len()),
        },
    );
}

#[test]
fn no_fork_is_there_when_a_value_cannot_be_cloned() {
    survives(
        Call::Clone,
        "fork",
        |world, all| {
            let mut fork = world.fork().unwrap();
            let fuse = FUSE.take();
            fork.set_shared_slice(&all[..3], Team(9)).unwrap();
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
