//! Unions of change filters and other filters.

use ancho_entities::{
    Changed, Component, Entity, IgnoreEnabled, IndexInQuery, IsDisabled, Or, OrderChanged, Query,
    QueryDescriptor, QueryFilter, Version, With, Without, World, WorldSettings,
};
use ancho_jobs::JobPool;

use crate::common::*;

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::Seen")]
struct Seen(u32);

/// Facts about an entity. The first three apply to its whole chunk.
#[derive(Clone, Copy)]
struct Facts {
    a_changed: bool,
    b_changed: bool,
    order_changed: bool,
    t_changed: bool,
    x_on: bool,
    tag: bool,
}

/// Every combination of changes, each in a chunk of each of two archetypes, with the facts about each entity.
struct Table {
    world: World,
    facts: Vec<(Entity, Facts)>,
    seen: Version,
}

fn table(in_chunk: usize) -> Table {
    let pool = JobPool::builder().workers(0).build().unwrap();
    let settings = WorldSettings::new().chunk_capacity_limit(in_chunk).job_pool(&pool);
    let mut world = World::with_settings("Simulation", settings);
    let count = 8 * in_chunk;
    let of = |at: usize| (A(at as u32), B(0), X(0), T(0), Y, Seen(0));
    let plain: Vec<_> = world.spawn_batch((0..count).map(of)).collect();
    let tagged = world.spawn_batch((count..2 * count).map(|at| (of(at), Tag)));
    let all: Vec<_> = plain.into_iter().chain(tagged).collect();
    for &entity in all.iter().step_by(3) {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    let seen = world.version();
    world.advance_version();
    let mut facts = Vec::new();
    for (at, &entity) in all.iter().enumerate() {
        let (chunk, row) = (at / in_chunk, at % in_chunk);
        let of_entity = Facts {
            a_changed: chunk & 1 != 0,
            b_changed: chunk & 2 != 0,
            order_changed: chunk & 4 != 0,
            t_changed: at % 5 == 1,
            x_on: at % 3 != 0,
            tag: at >= count,
        };
        // One entity of the chunk is written, and the last one leaves it, so that no other moves.
        if of_entity.a_changed && row == 0 {
            let _ = world.get_mut::<A>(entity).unwrap();
        }
        if of_entity.b_changed && row == 1 {
            let _ = world.get_mut::<B>(entity).unwrap();
        }
        if of_entity.t_changed {
            let _ = world.get_mut::<T>(entity).unwrap();
        }
        if of_entity.order_changed && row + 1 == in_chunk {
            world.despawn(entity).unwrap();
        } else {
            facts.push((entity, of_entity));
        }
    }
    Table { world, facts, seen }
}

/// Returns the entities marked as seen.
fn seen(world: &World) -> Vec<Entity> {
    let all = world.query::<(Entity, &Seen)>();
    all.iter().filter(|(_, seen)| seen.0 > 0).map(|(entity, _)| entity).collect()
}

/// Returns the entities of a list that no longer exist.
fn gone(world: &World, mut all: Vec<Entity>) -> Vec<Entity> {
    all.retain(|&entity| !world.exists(entity));
    all
}

/// A named way to find entities.
type Way = (&'static str, fn(&mut World, Version) -> Vec<Entity>);

/// Returns all ways to find the entities that pass a filter.
fn ways<F: QueryFilter>() -> Vec<Way> {
    vec![
        ("to_entities", |world, since| world.query_filtered::<(), F>().since(since).to_entities()),
        ("iter", |world, since| world.query_filtered::<Entity, F>().since(since).iter().collect()),
        ("for_each", |world, since| {
            let mut found = Vec::new();
            world.query_filtered::<Entity, F>().since(since).for_each(|one| found.push(one));
            found
        }),
        ("for_each_chunk", |world, since| {
            let mut found = Vec::new();
            let mut query = world.query_filtered::<(Entity, &A), F>().since(since);
            query.for_each_chunk(|(entities, _)| found.extend_from_slice(entities));
            found
        }),
        ("a query that is kept", |world, since| {
            QueryDescriptor::of::<Entity, F>().since(since).query(world).iter().collect()
        }),
        ("matches", |world, since| {
            let query = world.query_filtered::<&B, F>().since(since);
            let mut all = world.all_entities();
            all.retain(|&entity| query.matches(entity));
            all
        }),
        ("get", |world, since| {
            let query = world.query_filtered::<&B, F>().since(since);
            let mut all = world.all_entities();
            all.retain(|&entity| query.get(entity).is_some());
            all
        }),
        ("to_components", |world, since| {
            let values = world.query_filtered::<&A, F>().since(since).to_components::<A>();
            let all: Vec<_> = world.query::<(Entity, &A)>().iter().collect();
            let of = |value: A| all.iter().find(|(_, a)| **a == value).unwrap().0;
            values.unwrap().into_iter().map(of).collect()
        }),
        ("loops that write what they ask for", |world, since| {
            let mut found = Vec::new();
            let query = world.query_filtered_mut::<(Entity, &mut A, &mut B, &mut T), F>();
            query.since(since).for_each(|(entity, ..)| found.push(entity));
            found
        }),
        ("iterators that write what they ask for", |world, since| {
            let query = world.query_filtered_mut::<(Entity, &mut A, &mut B, &mut T), F>();
            query.since(since).into_iter().map(|(entity, ..)| entity).collect()
        }),
        ("slices that are written", |world, since| {
            let mut query = world.query_filtered_mut::<(&mut Seen, &mut T), F>().since(since);
            query.for_each_chunk(|(all, _)| all.fill(Seen(1)));
            seen(world)
        }),
        ("copy_from", |world, since| {
            let mut query = world.query_filtered_mut::<&mut Seen, F>().since(since);
            let values = vec![Seen(1); query.count()];
            query.copy_from(&values).unwrap();
            seen(world)
        }),
        ("a view", |world, since| {
            let view = world.split::<Query<(Entity, &mut Seen, &mut T), F>>();
            let mut found = Vec::new();
            view.since(since).for_each(|(entity, ..)| found.push(entity));
            found
        }),
        ("Batch::for_each", |world, since| {
            let mut found = Vec::new();
            let query = world.batch(QueryDescriptor::of::<(), F>().since(since));
            query.for_each(|_, entity| found.push(entity));
            found
        }),
        ("for_each_parallel", |world, since| {
            let mut query = world.query_filtered_mut::<(&mut Seen, &mut A), F>().since(since);
            query.for_each_parallel(|(seen, _)| seen.0 = 1);
            seen(world)
        }),
        ("schedule", |world, since| {
            let mut query = world.query_filtered_mut::<(&mut Seen, &mut T), F>().since(since);
            let _ = query.schedule(|(seen, _)| seen.0 = 1);
            seen(world)
        }),
        ("schedule_parallel", |world, since| {
            let mut query = world.query_filtered_mut::<(&mut Seen, &mut B), F>().since(since);
            let _ = query.schedule_parallel(|(seen, _)| seen.0 = 1);
            seen(world)
        }),
        ("schedule_chunks_parallel", |world, since| {
            let job = world.query_filtered_mut::<&mut Seen, F>().since(since).job();
            let _ = job.schedule_chunks_parallel(|all| all.fill(Seen(1)));
            seen(world)
        }),
        ("numbers", |world, since| {
            let job = world.query_filtered_mut::<&mut Seen, F>().since(since).job();
            let job = job.with(IndexInQuery);
            let _ = job.schedule_parallel(|seen, number| seen.0 = 1 + number as u32);
            let numbers = world.query::<&Seen>().to_components::<Seen>().unwrap();
            let numbers = numbers.iter().map(|seen| seen.0).filter(|&number| number > 0);
            assert!(numbers.eq(1..=seen(world).len() as u32));
            seen(world)
        }),
        ("despawn", |world, since| {
            let all = world.all_entities();
            let found = world.batch(QueryDescriptor::of::<(), F>().since(since)).despawn().unwrap();
            assert_eq!(found, gone(world, all.clone()).len());
            gone(world, all)
        }),
        ("move_to", |world, since| {
            let (all, mut other) = (world.all_entities(), World::new("Other"));
            world.batch(QueryDescriptor::of::<(), F>().since(since)).move_to(&mut other).unwrap();
            gone(world, all)
        }),
        ("remove", |world, since| {
            let mut all = world.all_entities();
            world.batch(QueryDescriptor::of::<(), F>().since(since)).remove::<Seen>().unwrap();
            all.retain(|&entity| !world.has::<Seen>(entity));
            all
        }),
        ("set_component_enabled", |world, since| {
            let query = world.batch(QueryDescriptor::of::<&Y, F>().since(since));
            query.set_component_enabled::<Y>(false).unwrap();
            world.query_filtered::<(), IsDisabled<Y>>().to_entities()
        }),
    ]
}

/// Checks that a filter passes exactly the entities with these facts, in every way.
#[track_caller]
fn passes<F: QueryFilter>(table: &mut Table, wanted: impl Fn(Facts) -> bool) {
    let everything_changed = |facts: Facts| Facts {
        a_changed: true,
        b_changed: true,
        order_changed: true,
        t_changed: true,
        ..facts
    };
    for (since, change) in [(table.seen, false), (Version::NEVER, true)] {
        let of = |facts| if change { everything_changed(facts) } else { facts };
        let found = table.facts.iter().filter(|(_, facts)| wanted(of(*facts)));
        let expected: Vec<_> = found.map(|(entity, _)| *entity).collect();
        let name = std::any::type_name::<F>();
        assert!(!expected.is_empty(), "{name}");
        let query = table.world.query_filtered::<(), F>().since(since);
        assert_eq!((query.count(), query.is_empty()), (expected.len(), false), "{name}");
        for (way, find) in ways::<F>() {
            let mut world = table.world.fork().unwrap();
            assert_eq!(find(&mut world, since), expected, "{way} of {name}");
            world.check_invariants().unwrap();
        }
    }
    // Nothing is newer than the world's version.
    let now = table.world.version();
    let found = table.facts.iter().filter(|(_, facts)| {
        let nothing = Facts { a_changed: false, b_changed: false, order_changed: false, ..*facts };
        wanted(Facts { t_changed: false, ..nothing })
    });
    let query = table.world.query_filtered::<(), F>().since(now);
    assert_eq!(query.count(), found.count());
}

#[test]
fn changed_or_reordered() {
    for in_chunk in [4, 70] {
        let mut table = table(in_chunk);
        passes::<Changed<A>>(&mut table, |is| is.a_changed);
        passes::<OrderChanged>(&mut table, |is| is.order_changed);
        passes::<(Changed<A>, OrderChanged)>(&mut table, |is| is.a_changed && is.order_changed);
        passes::<Or<(Changed<A>, OrderChanged)>>(&mut table, |is| is.a_changed || is.order_changed);
        passes::<Or<(Changed<A>, Changed<B>)>>(&mut table, |is| is.a_changed || is.b_changed);
        passes::<Or<(Changed<(A, B)>,)>>(&mut table, |is| is.a_changed || is.b_changed);
        type Deep = Or<(Changed<A>, Or<(OrderChanged, Changed<B>)>)>;
        passes::<Deep>(&mut table, |is| is.a_changed || is.order_changed || is.b_changed);
        type Both = Or<((Changed<A>, OrderChanged), Changed<B>)>;
        passes::<Both>(&mut table, |is| is.a_changed && is.order_changed || is.b_changed);
        type Beside = (Changed<B>, Or<(Changed<A>, OrderChanged)>);
        passes::<Beside>(&mut table, |is| is.b_changed && (is.a_changed || is.order_changed));
    }
}

#[test]
fn changed_or_with_a_component() {
    for in_chunk in [4, 70] {
        let mut table = table(in_chunk);
        passes::<Or<(Changed<A>, With<Tag>)>>(&mut table, |is| is.a_changed || is.tag);
        passes::<Or<(OrderChanged, With<Tag>)>>(&mut table, |is| is.order_changed || is.tag);
        passes::<Or<((OrderChanged, With<Tag>), Changed<B>)>>(&mut table, |is| {
            is.order_changed && is.tag || is.b_changed
        });
        // No entity has `Text`, so it has not changed.
        passes::<Or<(Changed<Text>, OrderChanged)>>(&mut table, |is| is.order_changed);
        passes::<Or<(Changed<(Text, A)>, With<Text>)>>(&mut table, |is| is.a_changed);
        passes::<Or<(Changed<Tag>, Changed<A>, With<Tag>)>>(&mut table, |is| {
            is.tag || is.a_changed
        });
    }
}

#[test]
fn changed_or_enabled() {
    for in_chunk in [4, 70] {
        let mut table = table(in_chunk);
        passes::<Or<(Changed<A>, With<X>)>>(&mut table, |is| is.a_changed || is.x_on);
        passes::<Or<(OrderChanged, Without<X>)>>(&mut table, |is| is.order_changed || !is.x_on);
        passes::<(With<X>, Or<(OrderChanged, Changed<B>)>)>(&mut table, |is| {
            is.x_on && (is.order_changed || is.b_changed)
        });
        passes::<Or<((Changed<A>, With<X>), (OrderChanged, IsDisabled<X>))>>(&mut table, |is| {
            is.a_changed && is.x_on || is.order_changed && !is.x_on
        });
        type Ignoring = (Or<(Changed<A>, With<X>)>, IgnoreEnabled);
        let ignoring = table.world.query_filtered::<(), Ignoring>();
        assert_eq!(ignoring.since(table.seen).count(), table.facts.len());
    }
}

#[test]
fn tracked_changes_are_found_per_row_beside_other_filters() {
    for in_chunk in [4, 70] {
        let mut table = table(in_chunk);
        passes::<Or<(Changed<T>, OrderChanged)>>(&mut table, |is| is.t_changed || is.order_changed);
        passes::<Or<(Changed<T>, Changed<A>)>>(&mut table, |is| is.t_changed || is.a_changed);
        passes::<Or<(Changed<(T, A)>, Changed<B>)>>(&mut table, |is| {
            is.t_changed || is.a_changed || is.b_changed
        });
        passes::<Or<(Changed<T>, With<X>)>>(&mut table, |is| is.t_changed || is.x_on);
        passes::<(Changed<T>, Or<(Changed<A>, With<X>)>)>(&mut table, |is| {
            is.t_changed && (is.a_changed || is.x_on)
        });
        passes::<(Changed<T>, OrderChanged, Changed<(T, B)>)>(&mut table, |is| {
            is.t_changed && is.order_changed
        });
        passes::<Or<((Changed<A>, With<X>), (Changed<T>, Without<X>))>>(&mut table, |is| {
            if is.x_on { is.a_changed } else { is.t_changed }
        });
    }
}
