//! Conditions of one system, and their combinations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ancho_entities::{Component, Condition, IntoSystem, Query, Single, Time, not};

use super::{Level, is_positive, update, world};
use crate::common::{A, Switch, say};

#[test]
fn a_system_runs_while_its_condition_is_true() {
    let mut world = world();
    world.add_system(say("run").run_if(is_positive));
    assert!(update(&mut world).is_empty());
    world.resource_mut::<Level>().0 = 1;
    assert_eq!(update(&mut world), ["run"]);
    assert_eq!(update(&mut world), ["run"]);
    world.resource_mut::<Level>().0 = 0;
    assert!(update(&mut world).is_empty());
}

#[test]
fn several_conditions_all_have_to_be_true() {
    let mut world = world();
    let later = |time: Time| time.elapsed() > 0.5;
    world.add_system(say("run").run_if(is_positive).run_if(later));
    assert!(update(&mut world).is_empty());
    world.resource_mut::<Level>().0 = 1;
    assert!(update(&mut world).is_empty());
    assert_eq!(update(&mut world), ["run"]);
}

/// Returns a condition that counts its tests, and the count.
fn counted(holds: bool) -> (impl Fn() -> bool + Clone + Send + 'static, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let own = Arc::clone(&count);
    let test = move || {
        own.fetch_add(1, Ordering::Relaxed);
        holds
    };
    (test, count)
}

#[test]
fn tests_end_at_the_first_condition_that_decides() {
    for (first, is_and, expected) in
        [(true, true, 1), (false, true, 0), (true, false, 0), (false, false, 1)]
    {
        let mut world = world();
        let ((left, _), (right, count)) = (counted(first), counted(true));
        match is_and {
            true => world.add_system((|| ()).run_if(left.and(right))),
            false => world.add_system((|| ()).run_if(left.or(right))),
        };
        world.update(0.1);
        assert_eq!(count.load(Ordering::Relaxed), expected, "{first} {is_and}");
    }
    let mut world = world();
    let ((left, _), (right, count)) = (counted(false), counted(true));
    world.add_system((|| ()).run_if(left).run_if(right));
    world.update(0.1);
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn combinations_follow_logic() {
    for bits in 0..8_u32 {
        let [a, b, c] = [0, 1, 2].map(|bit| bits >> bit & 1 == 1);
        let [left, middle, right] = [a, b, c].map(|value| move || value);
        let mut world = world();
        world.add_system(say("run").run_if(left.and(not(middle)).or(right)));
        assert_eq!(!update(&mut world).is_empty(), a && !b || c, "{a} {b} {c}");
    }
}

#[test]
fn conditions_read_queries_and_singles() {
    #[derive(Component)]
    struct Leader(u32);

    let mut world = world();
    world.add_system(say("many").run_if(|all: Query<'_, &A>| all.count() > 2));
    world.add_system(
        say("led").run_if(|leader: Option<Single<'_, &Leader>>| {
            leader.is_some_and(|leader| leader.0 > 1)
        }),
    );
    assert!(update(&mut world).is_empty());
    world.spawn_batch([A(1), A(2), A(3)]);
    assert_eq!(update(&mut world), ["many"]);
    world.spawn(Leader(2));
    assert_eq!(update(&mut world), ["many", "led"]);
}

#[test]
fn a_query_of_a_condition_sees_changes_since_the_system_last_ran() {
    use ancho_entities::Changed;
    let mut world = world();
    let entity = world.spawn(Switch(1));
    let changed = |all: Query<'_, &Switch, Changed<Switch>>| !all.is_empty();
    world.add_system(say("changed").run_if(is_positive).run_if(changed));
    // The change is made while the first condition is false.
    assert!(update(&mut world).is_empty());
    assert!(update(&mut world).is_empty());
    world.resource_mut::<Level>().0 = 1;
    assert_eq!(update(&mut world), ["changed"]);
    assert!(update(&mut world).is_empty(), "the system has seen it");
    world.get_mut::<Switch>(entity).unwrap().0 = 2;
    assert_eq!(update(&mut world), ["changed"]);
}

#[test]
fn a_condition_waits_for_jobs_that_write_what_it_reads() {
    let mut world = world();
    let entity = world.spawn(A(0));
    world.add_system(
        (|mut all: Query<'_, &mut A>| {
            all.schedule_parallel(|a| a.0 += 1);
        })
        .named("count"),
    );
    let is_one = |all: Query<'_, &A>| all.iter().all(|a| a.0 == 1);
    world.add_system(say("one").run_if(is_one).after("count"));
    assert_eq!(update(&mut world), ["one"]);
    assert!(update(&mut world).is_empty());
    assert_eq!(world.get::<A>(entity).unwrap().0, 2);
}

#[test]
fn a_condition_is_added_to_systems_that_exist() {
    let mut world = world();
    let id = world.add_system(say("run"));
    assert_eq!(update(&mut world), ["run"]);
    world.add_run_condition(id, is_positive).unwrap();
    assert!(update(&mut world).is_empty());
    let error = world.add_run_condition("unknown", is_positive).unwrap_err();
    assert!(error.to_string().starts_with("A0108: this world has no system `unknown`"), "{error}");
}

#[test]
fn disabled_systems_do_not_test_their_conditions() {
    let mut world = world();
    let (test, count) = counted(true);
    let id = world.add_system((|| ()).run_if(test).enabled(false));
    world.update(0.1);
    assert_eq!(count.load(Ordering::Relaxed), 0);
    world.set_system_enabled(id, true).unwrap();
    world.update(0.1);
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn conditions_guard_patches_and_structs_that_read_systems() {
    use ancho_entities::{System, SystemData, SystemResult, World};
    struct Switcher(bool);
    impl System for Switcher {
        fn on_update(&mut self, _: &mut World) -> SystemResult {
            self.0 = !self.0;
            Ok(())
        }
    }
    let mut world = world();
    world.add_system(Switcher(false));
    let is_on = |switcher: SystemData<'_, Switcher>| switcher.0;
    world.add_system(say("on").run_if(is_on));
    world.add_system(say("patch").patch().run_if(is_positive));
    assert_eq!(update(&mut world), ["on"]);
    assert!(update(&mut world).is_empty());
    world.resource_mut::<Level>().0 = 1;
    assert!(update(&mut world).contains(&"patch".to_owned()));
}
