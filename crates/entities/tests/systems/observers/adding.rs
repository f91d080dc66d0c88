//! Adding observers, their options, and removing them.

use ancho_entities::{
    Add, Commands, Despawn, Disable, In, IntoSystem, On, Presentation, Query, Remove, World,
};

use super::{A, Lamp, Log, Tag, b};

fn nothing(_: On<Add<A>>) {}

fn no_event() {}

fn two_events(_: On<Add<A>>, _: On<Remove<A>>) {}

fn bits_of_a(_: On<Disable<A>>) {}

#[test]
fn observers_without_events_and_systems_with_events_are_refused() {
    let mut world = World::new("Observed");
    let message = |error: Result<_, ancho_entities::SystemError>| error.unwrap_err().to_string();
    assert_eq!(
        message(world.try_add_system(nothing.named("nothing"))),
        "A0200: system `nothing` has a parameter `On`, but only observers receive events; add it with `add_observer`"
    );
    assert_eq!(
        message(world.try_add_observer(no_event.named("nothing"))),
        "A0201: observer `nothing` has no parameter `On`, so it observes nothing; take the events as a parameter, such as \
         `On<Add<T>>`, or add it with `add_system`"
    );
    assert_eq!(
        message(world.try_add_observer(nothing.named("nothing").in_group(Presentation))),
        "A0202: `in_group` cannot be used for observer `nothing`, which runs when events are delivered; remove `in_group`"
    );
    assert_eq!(
        message(world.try_add_observer(nothing.named("nothing").patch())),
        "A0202: `patch` cannot be used for observer `nothing`, which runs when events are delivered; remove `patch`"
    );
    assert_eq!(
        message(world.try_add_system(no_event.named("nothing").for_existing())),
        "A0202: `for_existing` is for observers, but `nothing` is a system; add it with `add_observer`, or remove `for_existing`"
    );
    assert_eq!(
        message(world.try_add_observer(two_events.named("both"))),
        "A0203: observer `both` has several parameters `On`; observe a tuple of components, such as `On<Add<(A, B)>>`, or add \
         an observer for each"
    );
    let error = message(world.try_add_observer(bits_of_a.named("bits")));
    assert!(error.starts_with("A0204: observer `bits` observes the enabled bits of `"), "{error}");
    assert!(
        error.ends_with("`#[component(enableable)]` on the type, or observe `Add` and `Remove`")
    );
    // None of them is there.
    world.spawn((A(1), Lamp(1)));
    world.update(0.1);
    assert_eq!(world.find_system("nothing"), None);
}

#[test]
fn observers_run_in_the_order_of_adding_unless_options_say_otherwise() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let named = |name: &'static str| {
        let log = log.clone();
        (move |_: On<Add<A>>| log.push(name)).named(name)
    };
    world.add_observer(named("first"));
    world.add_observer(named("last").after("middle"));
    world.add_observer(named("middle"));
    world.add_observer(named("zeroth").before("first"));
    world.spawn(A(1));
    assert_eq!(log.take(), ["middle", "last", "zeroth", "first"]);
}

#[test]
fn an_unknown_target_of_the_order_is_reported() {
    let mut world = World::new("Observed");
    world.add_observer(nothing.named("nothing").after("missing"));
    world.spawn(A(1));
    let errors = world.try_update(0.1).unwrap_err();
    assert!(errors.to_string().starts_with("A0124"), "{errors}");
}

#[test]
fn events_of_a_disabled_observer_are_dropped() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let id = {
        let log = log.clone();
        let observer = move |events: On<Add<A>>| log.push(events.len());
        world.add_observer(observer.named("count").enabled(false))
    };
    world.spawn(A(1));
    world.set_system_enabled(id, true).unwrap();
    world.spawn_batch([A(2), A(3)]);
    assert_eq!(log.take(), [2]);
}

#[test]
fn a_removed_observer_gets_no_more_events() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let id = {
        let log = log.clone();
        world.add_observer(move |events: On<Add<A>>| log.push(events.len()))
    };
    world.spawn(A(1));
    world.remove_system(id).unwrap();
    assert!(!world.has_system(id));
    world.spawn(A(1));
    assert_eq!(log.take(), [1]);
    // An observer that is added later begins anew.
    let others = log.clone();
    world.add_observer(move |events: On<Add<A>>| others.push(events.len() * 10));
    world.spawn(A(1));
    assert_eq!(log.take(), [10]);
}

#[test]
fn an_observer_that_removes_itself_is_removed_when_it_returns() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let runs = log.clone();
    let once = move |_: On<Add<A>>, world: &mut World| {
        let id = world.executing_system().unwrap();
        world.remove_system(id).unwrap();
        assert!(world.has_system(id));
        runs.push(());
    };
    let id = world.add_observer(once);
    world.spawn(A(1));
    world.spawn(A(1));
    assert_eq!(log.take().len(), 1);
    assert!(!world.has_system(id));
}

#[test]
fn existing_entities_are_delivered_on_request_without_prefabs() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let orcs: Vec<_> = world.spawn_batch([A(1), A(2)]).collect();
    let both = world.spawn((A(3), Tag));
    world.spawn((A(4), ancho_entities::Prefab));
    world.spawn(b("other"));
    let added = log.clone();
    let observer = move |events: On<Add<(A, Tag)>>| {
        added.push(
            events.iter().map(|event| (event.entity(), event.component())).collect::<Vec<_>>(),
        );
    };
    world.add_observer(observer.for_existing());
    let (a, tag) = (
        Some(ancho_entities::ComponentType::of::<A>()),
        Some(ancho_entities::ComponentType::of::<Tag>()),
    );
    assert_eq!(log.take(), [[(orcs[0], a), (orcs[1], a), (both, a), (both, tag)]]);
    let more = world.spawn(A(5));
    assert_eq!(log.take(), [[(more, a)]]);
}

#[test]
fn an_observer_that_a_system_adds_gets_later_events_only() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let (outer, counts) = (log.clone(), log.clone());
    world.add_observer(move |events: On<Add<A>>| outer.push(("old", events.len())));
    let mut is_added = false;
    world.add_system(move |world: &mut World| {
        if !std::mem::replace(&mut is_added, true) {
            world.spawn(A(1));
            let counts = counts.clone();
            world.add_observer(move |events: On<Add<A>>| counts.push(("new", events.len())));
            world.spawn_batch([A(2), A(3)]);
        }
    });
    world.update(0.1);
    assert_eq!(log.take(), [("old", 1), ("old", 2), ("new", 2)]);
}

#[test]
fn observers_are_no_entities() {
    let mut world = World::new("Observed");
    let (before, count) = (world.state_hash(), world.entity_count());
    world.add_observer(nothing);
    world.add_observer(|_: On<Despawn>, _: Commands| ());
    assert_eq!((world.state_hash(), world.entity_count()), (before, count));
}

#[test]
fn events_are_dropped_while_a_condition_is_false() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    let observer = move |events: On<Add<A>>| seen.push(events.len());
    world.add_observer(observer.run_if(|all: Query<&Tag>| !all.is_empty()));
    world.spawn(A(1));
    assert_eq!(log.take(), []);
    world.spawn(Tag);
    world.spawn_batch([A(1), A(2)]);
    assert_eq!(log.take(), [2]);
}

#[test]
fn one_shot_systems_deliver_when_they_return() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    world.add_observer(move |events: On<Add<A>>| seen.push(events.len()));
    fn spawn(mut commands: Commands) {
        commands.spawn(A(1));
    }
    world.run_system(spawn).unwrap();
    assert_eq!(log.take(), [1]);
}

#[test]
fn events_in_one_shot_systems_are_refused_and_do_not_affect_later_systems() {
    let mut world = World::new("Observed");
    let refused = world.run_system(nothing).unwrap_err().to_string();
    assert!(refused.contains("A0200"), "{refused}");
    let refused = world.with_params::<On<Add<A>>, _>(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("A0200"), "{refused}");
    // A system whose parameters conflict has declared its events before the conflict was found.
    let conflict = |_: On<Add<A>>, _: Query<&mut A>, _: Query<&A>| ();
    assert!(world.try_add_observer(conflict).is_err());
    world.add_system(no_event);
    world.add_observer(nothing);
    world.spawn(A(1));
    world.try_update(0.1).unwrap();
}

#[test]
fn tools_list_observers_after_the_systems() {
    let mut world = World::new("Observed");
    world.add_observer(nothing.named("observer"));
    let order = world.system_order();
    assert_eq!(order.iter().last().map(|info| info.name.to_string()), Some("observer".to_owned()));
}

#[test]
fn either_function_of_a_pipe_may_take_the_events() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let (first, second) = (log.clone(), log.clone());
    let count = |events: On<Add<A>>| events.len();
    world.add_observer(count.pipe(move |In(count): In<usize>| first.push(("first", count))));
    let one = || 1;
    world.add_observer(one.pipe(move |In(one): In<usize>, events: On<Add<A>>| {
        second.push(("second", events.len() * one));
    }));
    world.spawn_many(A(1), 3);
    world.spawn(A(2));
    assert_eq!(log.take(), [("first", 3), ("second", 3), ("first", 1), ("second", 1)]);
}
