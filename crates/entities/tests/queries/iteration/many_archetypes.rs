//! Repeated loops over many archetypes find the current entities.
//!
//! Unchanged chunks are cached in one list, which every change must invalidate.

use ancho_entities::{Entity, QueryDescriptor, Shared, With, World};
use proptest::prelude::*;

use crate::common::*;

/// More loops than are needed to build the chunk list, and one that uses it.
const SETTLED: u32 = 6;

/// Creates a world with chunks of three entities, and every combination of some components, eight times.
fn many() -> Checked {
    let mut world = chunks_of(3);
    for at in 0..128 {
        let entity = world.spawn(A(at));
        if at & 1 != 0 {
            world.add(entity, B(u64::from(at))).unwrap();
        }
        if at & 2 != 0 {
            world.add(entity, Tag).unwrap();
        }
        if at & 4 != 0 {
            world.add(entity, Text(at.to_string())).unwrap();
        }
        if at & 8 != 0 {
            world.add(entity, Shared::new(Team(at % 3))).unwrap();
        }
    }
    world
}

/// Returns the result of a scan of all entities, in iteration order.
fn scan(world: &World) -> Vec<(Entity, u32, Option<u64>)> {
    let all = world.all_entities().into_iter();
    all.filter_map(|entity| {
        let a = world.get::<A>(entity).ok()?.0;
        Some((entity, a, world.get::<B>(entity).ok().map(|b| b.0)))
    })
    .collect()
}

/// Iterates in all ways, once.
fn walk(world: &mut World) {
    let expected = scan(world);
    let mut given = Vec::new();
    world.query_mut::<(Entity, &mut A, Option<&mut B>)>().for_each(|(entity, a, b)| {
        given.push((entity, a.0, b.as_ref().map(|b| b.0)));
        a.0 = a.0.wrapping_add(1);
        b.into_iter().for_each(|b| b.0 = b.0.wrapping_add(2));
    });
    assert_eq!(given, expected);

    let expected = scan(world);
    given.clear();
    world.query::<(&A, Option<&B>, Entity)>().for_each_chunk(|(a, b, entities)| {
        for (at, (entity, a)) in entities.iter().zip(a).enumerate() {
            given.push((*entity, a.0, b.map(|b| b[at].0)));
        }
    });
    assert_eq!(given, expected);

    // Without data, and with all kinds of it.
    let mut count = 0;
    world.query_filtered::<(), With<A>>().for_each(|()| count += 1);
    assert_eq!(count, expected.len());
    let mut tagged = Vec::new();
    world.query::<(&A, &Tag, Entity)>().for_each(|(a, _, entity)| tagged.push((entity, a.0)));
    let has_tag = expected.iter().filter(|(entity, ..)| world.has::<Tag>(*entity));
    assert_eq!(tagged, has_tag.map(|&(entity, a, _)| (entity, a)).collect::<Vec<_>>());
    for team in 0..4 {
        let mut members = Vec::new();
        world.query::<Entity>().with_shared(Team(team)).for_each(|entity| members.push(entity));
        let has_team =
            |entity: &Entity| world.shared::<Team>(*entity).is_ok_and(|has| has.0 == team);
        let all = world.all_entities();
        assert_eq!(members, all.into_iter().filter(has_team).collect::<Vec<_>>());
    }
}

/// Iterates often enough to build the chunk lists.
fn settle(world: &mut World) {
    (0..SETTLED).for_each(|_| walk(world));
}

/// Applies a change to a world with cached chunk lists, and checks the loops.
fn changed_by(change: impl FnOnce(&mut World)) {
    let mut world = many();
    settle(&mut world);
    change(&mut world);
    settle(&mut world);
}

fn first_with<T: ancho_entities::Component>(world: &World) -> Entity {
    let mut all = world.all_entities().into_iter();
    all.find(|&entity| world.has::<T>(entity)).unwrap()
}

#[test]
fn nothing_changes() {
    changed_by(|_| {});
}

#[test]
fn adding_or_removing_an_entity_adds_or_frees_a_chunk() {
    changed_by(|world| _ = world.spawn(A(1)));
    changed_by(|world| _ = world.spawn_many((A(1), B(2), Tag), 10).count());
    for _ in 0..3 {
        changed_by(|world| {
            let entity = first_with::<Text>(world);
            world.despawn(entity).unwrap();
        });
    }
    // All entities of a chunk, one by one.
    changed_by(|world| {
        for entity in world.all_entities().into_iter().take(3) {
            world.despawn(entity).unwrap();
        }
    });
}

#[test]
fn rows_are_added_and_removed_in_chunks_that_stay() {
    let mut world = chunks_of(100);
    world.spawn(A(1));
    world.spawn((A(2), B(3)));
    for round in 0..20 {
        settle(&mut world);
        let entity = world.spawn((A(round), B(5)));
        settle(&mut world);
        if round % 3 == 0 {
            world.despawn(entity).unwrap();
        }
    }
}

#[test]
fn a_chunk_number_is_reused_elsewhere() {
    let mut world = chunks_of(1);
    world.spawn(A(0));
    for round in 0..20 {
        let one = world.spawn((A(1), B(1)));
        settle(&mut world);
        world.despawn(one).unwrap();
        // It reuses the chunk's memory and number, with other columns.
        let other = world.spawn((Text("x".into()), A(round), Tag));
        settle(&mut world);
        world.despawn(other).unwrap();
    }
}

#[test]
fn an_entity_moves() {
    changed_by(|world| {
        let entity = first_with::<A>(world);
        world.add(entity, T(1)).unwrap();
    });
    changed_by(|world| {
        let entity = first_with::<Tag>(world);
        world.remove::<Tag>(entity).unwrap();
    });
    changed_by(|world| {
        let entity = first_with::<A>(world);
        world.remove::<A>(entity).unwrap();
    });
    changed_by(|world| {
        let entity = first_with::<A>(world);
        world.add(entity, Shared::new(Team(3))).unwrap();
    });
}

#[test]
fn whole_chunks_change_their_archetype_or_group() {
    changed_by(|world| _ = world.batch(QueryDescriptor::of::<(), ()>()).add(S).unwrap());
    changed_by(|world| _ = world.batch(QueryDescriptor::of::<(), With<B>>()).add(Tag).unwrap());
    changed_by(|world| _ = world.batch(QueryDescriptor::of::<(), ()>()).remove::<Tag>().unwrap());
    changed_by(|world| _ = world.batch(QueryDescriptor::of::<(), ()>()).remove::<A>().unwrap());
    changed_by(|world| {
        _ = world.batch(QueryDescriptor::of::<(), ()>()).add(Shared::new(Team(3))).unwrap();
    });
    changed_by(|world| {
        _ = world.batch(QueryDescriptor::of::<(), ()>().with_shared(Team(1))).set_shared(Team(2));
    });
    changed_by(|world| _ = world.batch(QueryDescriptor::of::<(), With<Text>>()).despawn().unwrap());
    changed_by(|world| _ = world.batch(QueryDescriptor::of::<(), ()>()).despawn().unwrap());
}

#[test]
fn all_entities_are_replaced() {
    changed_by(|world| {
        world.despawn_all().unwrap();
        settle(world);
        world.spawn_many((Text("new".into()), A(7)), 20).for_each(drop);
        world.spawn_many((B(1), A(7)), 20).for_each(drop);
    });
}

#[test]
fn forks_change_independently() {
    let mut world = many();
    settle(&mut world);
    let mut fork = Checked(world.fork().unwrap());
    // Chunk memory is copied while the lists stay the same.
    settle(&mut world);
    settle(&mut fork);
    world.batch(QueryDescriptor::of::<(), With<B>>()).despawn().unwrap();
    fork.spawn_many((A(1), T(2)), 50).for_each(drop);
    settle(&mut fork);
    settle(&mut world);
    let mut again = Checked(fork.fork().unwrap());
    drop(fork);
    settle(&mut again);
}

#[test]
fn swapped_worlds_keep_their_lists() {
    let (mut one, mut other) = (many(), chunks_of(2));
    other.spawn_many((A(1), B(1)), 9).for_each(drop);
    other.spawn_many((A(1), Text("other".into())), 9).for_each(drop);
    settle(&mut one);
    settle(&mut other);
    std::mem::swap(&mut *one, &mut *other);
    settle(&mut one);
    settle(&mut other);
}

#[test]
fn a_list_is_created_during_another_loop_of_the_query() {
    let mut world = many();
    for _ in 0..3 {
        world.spawn((A(1), B(1), T(1)));
        let expected = scan(&world);
        let mut given = Vec::new();
        world.query::<(Entity, &A, Option<&B>)>().for_each(|(entity, a, b)| {
            given.push((entity, a.0, b.map(|b| b.0)));
            let mut inner = Vec::new();
            world.query::<(Entity, &A, Option<&B>)>().for_each(|(entity, a, b)| {
                inner.push((entity, a.0, b.map(|b| b.0)));
            });
            assert_eq!(inner, expected);
        });
        assert_eq!(given, expected);
    }
}

#[test]
fn too_many_chunks_for_a_list() {
    let mut world = chunks_of(1);
    for combination in 0..32_u32 {
        for at in 0..40 {
            let entity = world.spawn(A(at));
            if combination & 1 != 0 {
                world.add(entity, B(2)).unwrap();
            }
            if combination & 2 != 0 {
                world.add(entity, Tag).unwrap();
            }
            if combination & 4 != 0 {
                world.add(entity, T(1)).unwrap();
            }
            if combination & 8 != 0 {
                world.add(entity, S).unwrap();
            }
            if combination & 16 != 0 {
                world.add(entity, Text(String::new())).unwrap();
            }
        }
    }
    settle(&mut world);
    // Fewer chunks, so that a list is built.
    world.batch(QueryDescriptor::of::<(), With<S>>()).despawn().unwrap();
    settle(&mut world);
}

#[derive(Clone, Debug)]
enum Op {
    Spawn(u32),
    Despawn(usize),
    Add(usize, u32),
    Remove(usize, u32),
    ByQuery(u8),
    Fork,
    DespawnAll,
    Walk(u32),
}

fn op() -> impl Strategy<Value = Op> {
    let (at, kind) = (0..200_usize, 0..16_u32);
    prop_oneof![
        8 => kind.clone().prop_map(Op::Spawn),
        4 => at.clone().prop_map(Op::Despawn),
        4 => (at.clone(), kind.clone()).prop_map(|(at, kind)| Op::Add(at, kind)),
        4 => (at, kind).prop_map(|(at, kind)| Op::Remove(at, kind)),
        3 => (0..6_u8).prop_map(Op::ByQuery),
        1 => Just(Op::Fork),
        1 => Just(Op::DespawnAll),
        12 => (1..=SETTLED).prop_map(Op::Walk),
    ]
}

fn apply(world: &mut World, op: &Op) {
    let all = world.all_entities();
    let pick = |at: usize| all.get(at % all.len().max(1)).copied();
    match *op {
        Op::Spawn(kind) => {
            let entity = world.spawn(A(kind));
            apply_kind(world, entity, kind);
        }
        Op::Despawn(at) => _ = pick(at).map(|entity| world.despawn(entity).unwrap()),
        Op::Add(at, kind) => {
            pick(at).into_iter().for_each(|entity| apply_kind(world, entity, kind));
        }
        Op::Remove(at, kind) => {
            let Some(entity) = pick(at) else { return };
            match kind % 4 {
                0 => _ = world.remove::<B>(entity).unwrap(),
                1 => _ = world.remove::<Tag>(entity).unwrap(),
                2 => _ = world.remove::<Text>(entity).unwrap(),
                _ => _ = world.remove::<Shared<Team>>(entity).unwrap(),
            }
        }
        Op::ByQuery(what) => {
            let all = QueryDescriptor::new;
            match what {
                0 => _ = world.batch(QueryDescriptor::of::<(), With<B>>()).add(Tag).unwrap(),
                1 => {
                    let query = QueryDescriptor::of::<(), With<Text>>();
                    _ = world.batch(query).remove::<Tag>().unwrap();
                }
                2 => _ = world.batch(all()).add(Shared::new(Team(1))).unwrap(),
                3 => _ = world.batch(all().with_shared(Team(1))).set_shared(Team(2)),
                4 => {
                    let query = QueryDescriptor::of::<(), (With<Tag>, With<B>)>();
                    _ = world.batch(query).despawn().unwrap();
                }
                _ => _ = world.batch(all()).remove::<B>().unwrap(),
            }
        }
        Op::Fork => {
            let fork = world.fork().unwrap();
            let mut other = std::mem::replace(world, fork);
            walk(&mut other);
        }
        Op::DespawnAll => _ = world.despawn_all().unwrap(),
        Op::Walk(times) => (0..times).for_each(|_| walk(world)),
    }
}

fn apply_kind(world: &mut World, entity: Entity, kind: u32) {
    if kind & 1 != 0 {
        world.add(entity, B(1)).unwrap();
    }
    if kind & 2 != 0 {
        world.add(entity, Tag).unwrap();
    }
    if kind & 4 != 0 {
        world.add(entity, Text(kind.to_string())).unwrap();
    }
    if kind & 8 != 0 {
        world.add(entity, Shared::new(Team(kind % 3))).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn loops_between_random_changes_equal_a_scan(ops in prop::collection::vec(op(), 1..120), limit in 1..20_usize) {
        let mut world = chunks_of(limit);
        for op in &ops {
            apply(&mut world, op);
        }
        settle(&mut world);
    }
}
