//! Truth tables of filters.

use ancho_entities::{
    Absent, Any, Entity, IgnoreEnabled, IsDisabled, Present, QueryFilter, With, Without, World,
};

use crate::common::*;

/// Absent, enabled or disabled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    No,
    On,
    Off,
}

use State::{No, Off, On};

const STATES: [State; 3] = [No, On, Off];

/// Creates an entity for each combination of X, Y and A, in chunks with others of the same archetype.
fn entities(world: &mut World) -> Vec<(Entity, State, State, bool)> {
    let mut all = Vec::new();
    for round in 0..150 {
        for x in STATES {
            for y in STATES {
                for a in [false, true] {
                    let entity = world.spawn(());
                    if x != No {
                        world.add(entity, X(round)).unwrap();
                    }
                    if y != No {
                        world.add(entity, Y).unwrap();
                    }
                    if a {
                        world.add(entity, A(round)).unwrap();
                    }
                    all.push((entity, x, y, a));
                }
            }
        }
    }
    for &(entity, x, y, _) in &all {
        if x == Off {
            world.set_component_enabled::<X>(entity, false).unwrap();
        }
        if y == Off {
            world.set_component_enabled::<Y>(entity, false).unwrap();
        }
    }
    all
}

#[track_caller]
fn finds<F: QueryFilter>(expected: impl Fn(State, State, bool) -> bool) {
    // Chunks of less than a word, of some words, and of maximum size.
    for limit in [7, 64, 100, 10_000] {
        let mut world = chunks_of(limit);
        let all = entities(&mut world);
        let mut wanted: Vec<Entity> = all
            .iter()
            .filter(|&&(_, x, y, a)| expected(x, y, a))
            .map(|&(entity, ..)| entity)
            .collect();
        wanted.sort();
        let query = world.query_filtered::<Entity, F>();
        let mut found: Vec<Entity> = query.iter().collect();
        assert_eq!(found, query.to_entities());
        assert_eq!(found.len(), query.count());
        assert_eq!(found.is_empty(), query.is_empty());
        found.sort();
        assert_eq!(found, wanted, "in chunks of {limit}");
        for &(entity, x, y, a) in &all {
            assert_eq!(query.matches(entity), expected(x, y, a));
            assert_eq!(query.get(entity), expected(x, y, a).then_some(entity));
        }
    }
}

#[test]
fn with_requires_an_enabled_component() {
    finds::<With<X>>(|x, _, _| x == On);
    finds::<With<(X, Y)>>(|x, y, _| x == On && y == On);
    finds::<With<(X, A)>>(|x, _, a| x == On && a);
}

#[test]
fn without_matches_absent_or_disabled_components() {
    finds::<Without<X>>(|x, _, _| x != On);
    finds::<Without<(X, Y)>>(|x, y, _| x != On && y != On);
    finds::<Without<A>>(|_, _, a| !a);
}

#[test]
fn absent_present_and_disabled() {
    finds::<Absent<X>>(|x, _, _| x == No);
    finds::<Absent<(X, A)>>(|x, _, a| x == No && !a);
    finds::<Present<X>>(|x, _, _| x != No);
    finds::<Present<(X, Y)>>(|x, y, _| x != No && y != No);
    finds::<IsDisabled<X>>(|x, _, _| x == Off);
    finds::<IsDisabled<(X, Y)>>(|x, y, _| x == Off && y == Off);
}

#[test]
fn any_matches_a_component_that_is_not_enableable() {
    finds::<Any<X>>(|x, _, _| x == On);
    finds::<Any<(X, Y)>>(|x, y, _| x == On || y == On);
    finds::<Any<(X, A)>>(|x, _, a| x == On || a);
    finds::<Any<(X, Y, A)>>(|x, y, a| x == On || y == On || a);
    finds::<Any<()>>(|_, _, _| true);
}

#[test]
fn all_conditions_of_a_tuple_must_match() {
    finds::<(With<X>, Without<Y>)>(|x, y, _| x == On && y != On);
    finds::<(IsDisabled<X>, Any<(Y, A)>)>(|x, y, a| x == Off && (y == On || a));
    finds::<(Present<X>, Absent<A>, With<Y>)>(|x, y, a| x != No && !a && y == On);
    finds::<((With<X>,), (Without<A>, (Present<Y>, ())))>(|x, y, a| x == On && !a && y != No);
    // A contradiction matches nothing.
    finds::<(With<X>, Without<X>)>(|_, _, _| false);
    finds::<(With<A>, Without<A>)>(|_, _, _| false);
}

#[test]
fn data_requires_enabled_components_unless_optional() {
    let mut world = world();
    let all = entities(&mut world);
    let mut found = 0;
    for (entity, x, a) in world.query_mut::<(Entity, Option<&mut X>, Option<&A>)>() {
        let &(_, state, _, has_a) = all.iter().find(|(other, ..)| *other == entity).unwrap();
        assert_eq!((x.is_some(), a.is_some()), (state == On, has_a));
        if let (Some(x), Some(a)) = (x, a) {
            assert_eq!(x.0, a.0);
        }
        found += 1;
    }
    assert_eq!(found, all.len());
    let on = all.iter().filter(|(_, x, ..)| *x == On).count();
    assert_eq!(world.query::<&X>().iter().count(), on);
    let both = world.query::<Option<(&X, &A)>>().iter().flatten().count();
    assert_eq!(both, all.iter().filter(|(_, x, _, a)| *x == On && *a).count());
}

#[test]
fn ignore_enabled_ignores_the_enabled_state() {
    let mut world = world();
    let all = entities(&mut world);
    let count =
        |has: fn(State, State) -> bool| all.iter().filter(|(_, x, y, _)| has(*x, *y)).count();
    assert_eq!(world.query_filtered::<&X, IgnoreEnabled>().count(), count(|x, _| x != No));
    let without = world.query_filtered::<(), (Without<X>, IgnoreEnabled)>();
    assert_eq!(without.count(), count(|x, _| x == No));
    let disabled = world.query_filtered::<(), (IsDisabled<X>, IgnoreEnabled)>();
    assert_eq!(disabled.count(), count(|x, _| x != No));
    let any = world.query_filtered::<(), (Any<(X, Y)>, IgnoreEnabled)>();
    assert_eq!(any.count(), count(|x, y| x != No || y != No));
    let optional = world.query_filtered::<Option<&X>, IgnoreEnabled>();
    assert_eq!(optional.iter().flatten().count(), count(|x, _| x != No));
}
