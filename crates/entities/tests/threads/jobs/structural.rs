//! Structural changes while jobs run.

use ancho_entities::{ComponentType, Entity, Lookup, Query, QueryDescriptor, Shared, With, World};

use crate::jobs::common::*;

/// Creates three entities: one with `A` and `Tag`, one with `A`, and one with `B` alone.
fn three() -> (Checked, [Entity; 3]) {
    let mut world = world_with(3);
    let both = world.spawn((A(1), Tag));
    let one = world.spawn(A(2));
    let other = world.spawn(B(3));
    (world, [both, one, other])
}

type Change = (&'static str, fn(&mut World, [Entity; 3]));

/// Changes of the archetype of `A` alone: of its rows, or of their data other than components.
const CHANGES: [Change; 22] = [
    ("spawn", |world, _| _ = world.spawn(A(5))),
    ("try_spawn", |world, _| _ = world.try_spawn(A(5)).unwrap()),
    ("spawn_many", |world, _| _ = world.spawn_many(A(5), 3)),
    ("spawn_batch", |world, _| _ = world.spawn_batch([A(5), A(6)])),
    ("spawn_columns", |world, _| _ = world.spawn_columns(([A(5), A(6)],)).unwrap()),
    ("create", |world, _| {
        let archetype = world.archetype::<A>();
        world.create(archetype).unwrap();
    }),
    ("instantiate", |world, [_, one, _]| _ = world.instantiate(one).unwrap()),
    ("despawn", |world, [_, one, _]| _ = world.despawn(one).unwrap()),
    ("despawn_slice", |world, [_, one, _]| _ = world.batch(&[one]).despawn().unwrap()),
    ("despawn_all", |world, _| _ = world.despawn_all().unwrap()),
    ("add from there", |world, [_, one, _]| _ = world.add(one, Tag).unwrap()),
    ("add to there", |world, [_, _, other]| {
        world.remove::<B>(other).unwrap();
        world.add(other, A(5)).unwrap();
    }),
    ("remove from there", |world, [_, one, _]| _ = world.remove::<A>(one).unwrap()),
    ("remove to there", |world, [both, ..]| _ = world.remove::<Tag>(both).unwrap()),
    ("take", |world, [_, one, _]| _ = world.take::<A>(one).unwrap()),
    ("add_types", |world, [_, one, _]| {
        world.add_types(one, &[ComponentType::of::<B>()]).unwrap();
    }),
    ("set_archetype", |world, [_, _, other]| {
        let archetype = world.archetype::<A>();
        world.set_archetype(other, archetype).unwrap();
    }),
    ("add_shared", |world, [_, one, _]| _ = world.add(one, Shared::new(Team(1))).unwrap()),
    ("query despawn", |world, _| {
        _ = world
            .batch(QueryDescriptor::of::<&A, ancho_entities::Without<Tag>>())
            .despawn()
            .unwrap();
    }),
    ("query add", |world, _| {
        let query = world.batch(QueryDescriptor::of::<&A, ancho_entities::Without<Tag>>());
        query.for_each(|entities, entity| _ = entities.add(entity, Tag).unwrap());
    }),
    ("fork", |world, _| _ = world.fork().unwrap()),
    ("set_enabled", |world, [_, one, _]| _ = world.set_enabled(one, false).unwrap()),
];

#[test]
fn changes_of_an_archetype_wait_for_jobs_that_go_through_it() {
    for (name, change) in CHANGES {
        let (mut world, entities) = three();
        let gate = Gate::default();
        let _ = stand_at!(gate, world.query_filtered::<&A, ancho_entities::Without<Tag>>().job());
        gate.await_job(&world);
        gate.after(name, || change(&mut world, entities));
    }
}

#[test]
fn changes_of_an_archetype_do_not_wait_for_jobs_on_others() {
    // `despawn_all` and `fork` affect all archetypes; the other changes move entities to or from one with `Tag` or `B`.
    let elsewhere = CHANGES.into_iter().filter(|(name, _)| !["despawn_all", "fork"].contains(name));
    for (name, change) in elsewhere {
        let (mut world, entities) = three();
        world.spawn((X(1), T(2)));
        let gate = Gate::default();
        let _ = stand_at!(gate, world.query_mut::<(&mut X, &mut T)>().job());
        gate.await_job(&world);
        gate.beside(name, || change(&mut world, entities));
    }
}

#[test]
fn a_blocked_job_continues_after_changes_elsewhere() {
    let (mut world, _) = three();
    let all: Vec<_> = world.spawn_batch((0..1000).map(|at| (X(at), T(at)))).collect();
    let gate = Gate::default();
    let stand = gate.stand();
    let mut first = true;
    let _ = world.query_mut::<(&mut X, &T)>().schedule(move |(x, t)| {
        if std::mem::take(&mut first) {
            stand();
        }
        x.0 += t.0;
    });
    gate.await_job(&world);
    gate.beside("thousands of changes", || {
        // Creates archetypes, chunks, entities and queries, so that their lists grow.
        let more: Vec<_> = world.spawn_many((A(1), B(1)), 5000).collect();
        world.batch(&more[..4000]).despawn().unwrap();
        for at in 0..8_u32 {
            let entity = world.spawn(A(at));
            if at & 1 != 0 {
                world.add(entity, B(1)).unwrap();
            }
            if at & 2 != 0 {
                world.add(entity, Tag).unwrap();
            }
            if at & 4 != 0 {
                world.add(entity, Y).unwrap();
                world.add(entity, Shared::new(Team(at))).unwrap();
            }
            world.archetype::<(X, T, Text)>();
            assert_eq!(world.query::<(&X, &T)>().count_unfiltered(), 1000);
        }
        world.archetype::<(X, T, Text, Y)>();
        world.advance_version();
        // This query has the same state as the job's, and adds new archetypes to it.
        assert_eq!(world.query::<(&T, &B)>().count(), 0);
    });
    gate.open();
    for (at, &entity) in (0..).zip(&all) {
        assert_eq!(world.get::<X>(entity), Ok(&X(2 * at)));
    }
}

#[test]
fn a_lookup_delays_every_structural_change() {
    for (name, change) in CHANGES {
        let (mut world, entities) = three();
        let goal = world.spawn(T(1));
        world.spawn(X(1));
        let gate = Gate::default();
        let stand = gate.stand();
        // Neither the query nor the lookup matches the archetypes that change.
        let (query, lookup) = world.split::<(Query<&mut X>, Lookup<&T>)>();
        let job = query.job().with(lookup.into_job()).schedule(move |x, lookup| {
            stand();
            x.0 = lookup.get(goal).unwrap().0 + 8;
        });
        let _ = job;
        gate.await_job(&world);
        gate.beside("get", || assert_eq!(world.get::<A>(entities[0]), Ok(&A(1))));
        gate.beside("get_mut", || world.get_mut::<A>(entities[0]).unwrap().0 = 4);
        gate.after(name, || change(&mut world, entities));
        if name != "despawn_all" {
            assert_eq!(world.query::<&X>().single(), Ok(&X(9)), "{name}");
        }
    }
}

#[test]
fn a_lookup_waits_for_writers_and_writers_wait_for_it() {
    let (mut world, [_, one, _]) = three();
    world.spawn(T(0));
    let (first, second) = (Gate::default(), Gate::default());
    let stand = first.stand();
    let _ = world.query_filtered_mut::<&mut A, ancho_entities::Without<Tag>>().schedule(move |a| {
        stand();
        a.0 = 30;
    });
    let stand = second.stand();
    let (query, lookup) = world.split::<(Query<&mut T>, Lookup<&A>)>();
    let job = query.job().with(lookup.into_job()).schedule_parallel(move |t, a| {
        t.0 = a.get(one).unwrap().0;
        stand();
    });
    let _ = job;
    let last = world.query_mut::<&mut A>().schedule(|a| a.0 = 40);
    first.await_job(&world);
    a_while();
    assert!(!second.has_arrived());
    first.open();
    second.await_job(&world);
    assert!(!world.jobs().is_completed(last));
    second.after("get", || assert_eq!(world.get::<A>(one), Ok(&A(40))));
    assert_eq!(world.query::<&T>().single(), Ok(&T(30)));
}

#[test]
fn a_lookup_that_writes_is_a_writer() {
    let (mut world, [both, one, other]) = three();
    let gate = Gate::default();
    let stand = gate.stand();
    let (query, lookup) = world.split::<(Query<(Entity, &B)>, Lookup<&mut A>)>();
    let job = query.job().with(lookup.into_job()).schedule(move |(entity, b), a| {
        assert_eq!(entity, other);
        stand();
        a.get_mut(both).unwrap().0 = b.0 as u32;
        a.get_mut(one).unwrap().0 = 10;
        assert!(a.get_mut(other).is_none() && !a.has(other) && a.has(one));
    });
    gate.await_job(&world);
    gate.beside("get B", || assert_eq!(world.get::<B>(other), Ok(&B(3))));
    gate.after("get A", || assert_eq!(world.get::<A>(both), Ok(&A(3))));
    assert_eq!(world.get::<A>(one), Ok(&A(10)));
    world.jobs().complete(job);
}

#[test]
fn values_of_shared_components_outlive_the_wait() {
    let mut world = world_with(3);
    let first = world.spawn((A(1), Shared::new(Team(7))));
    let second = world.spawn((B(1), Shared::new(Team(8))));
    let gate = Gate::default();
    let stand = gate.stand();
    let job = world.query_mut::<(&mut A, &Shared<Team>)>().schedule(move |(a, team)| {
        stand();
        a.0 = team.0;
    });
    let _ = job;
    gate.await_job(&world);
    // The list of values grows and shrinks, and another entity gets the same value.
    gate.beside("other values", || {
        for team in 100..1000 {
            world.set_shared(second, Team(team)).unwrap();
        }
        world.set_shared(second, Team(7)).unwrap();
        world.set_shared(second, Team(9)).unwrap();
    });
    gate.after("the last use of a value", || world.set_shared(first, Team(9)).unwrap());
    assert_eq!(world.get::<A>(first), Ok(&A(7)));
    assert_eq!(world.query_filtered::<&A, With<A>>().count(), 1);
}
