//! Change detection of resources.

use ancho_entities::{
    IntoSystem, Local, ParamSet, Res, ResMut, Resource, ResourceRemoved, SystemId, World,
};

use crate::common::{Log, Number, take, world};
use crate::fixtures::Wrapped;

/// Logs the marks of a `Number`.
fn watch(number: Option<Res<Number>>, removed: ResourceRemoved<Number>, mut log: ResMut<Log>) {
    let mut line = String::new();
    if let Some(number) = number {
        line += if number.is_added() { "added " } else { "" };
        line += if number.is_changed() { "changed" } else { "same" };
    } else {
        line += if removed.was_removed() { "removed" } else { "absent" };
    }
    log.0.push(line);
}

/// Updates a world, and returns the logged lines.
fn update(world: &mut World) -> Vec<String> {
    world.try_update(0.1).unwrap();
    take(world)
}

#[test]
fn a_system_sees_what_happened_to_a_resource_since_it_last_ran() {
    let mut world = world();
    world.add_system(watch);
    assert_eq!(update(&mut world), ["absent"]);
    world.insert_resource(Number(1));
    assert_eq!(update(&mut world), ["added changed"]);
    assert_eq!(update(&mut world), ["same"]);
    world.resource_mut::<Number>().0 = 2;
    assert_eq!(update(&mut world), ["changed"]);
    world.get_resource_mut::<Number>();
    assert_eq!(update(&mut world), ["changed"]);
    world.insert_resource(Number(3));
    assert_eq!(update(&mut world), ["changed"], "a replaced value was not added");
    world.remove_resource::<Number>();
    assert_eq!(update(&mut world), ["removed"]);
    assert_eq!(update(&mut world), ["absent"], "reported once");
    world.insert_resource(Number(4));
    world.remove_resource::<Number>();
    world.insert_resource(Number(5));
    assert_eq!(update(&mut world), ["added changed"]);
    assert_eq!(world.remove_resource::<Wrapped<u8>>().map(|it| it.0), None);
    world.insert_resource(Number(6));
    world.remove_resource::<Number>();
    assert_eq!(update(&mut world), ["removed"]);
}

#[test]
fn the_first_run_of_a_system_sees_an_existing_resource_as_added() {
    let mut world = world();
    world.insert_resource(Number(1));
    (0..3).for_each(|_| world.update(0.1));
    world.add_system(watch);
    assert_eq!(update(&mut world), ["added changed"]);
    assert_eq!(update(&mut world), ["same"]);
}

#[test]
fn only_a_mutable_borrow_of_res_mut_is_a_change() {
    type Action = fn(ResMut<'_, Number>);
    let actions: [(Action, &str); 6] = [
        (|number| assert_eq!(number.0, 1), "same"),
        (|mut number| number.bypass().0 = 1, "same"),
        (|mut number| assert!(!number.set_if_neq(Number(1))), "same"),
        (|mut number| assert!(number.set_if_neq(Number(2))), "changed"),
        (|mut number| number.0 = 1, "changed"),
        (|number| number.into_inner().0 = 1, "changed"),
    ];
    for (action, expected) in actions {
        let mut world = world();
        world.insert_resource(Number(1));
        world.add_system(watch);
        update(&mut world);
        world.add_system((move |number: ResMut<Number>| action(number)).before(watch));
        assert_eq!(update(&mut world), [expected]);
    }
}

#[test]
fn a_system_does_not_see_its_own_writes_as_changes_in_its_next_run() {
    let mut world = world();
    world.insert_resource(Number(0));
    world.add_system(|mut number: ResMut<Number>, mut log: ResMut<Log>, mut runs: Local<u32>| {
        *runs += 1;
        log.0.push(format!("{} {}", number.is_added(), number.is_changed()));
        number.0 += 1;
        assert!(number.is_changed());
    });
    assert_eq!(update(&mut world), ["true true"]);
    assert_eq!(update(&mut world), ["false false"]);
    world.resource_mut::<Number>().0 = 0;
    assert_eq!(update(&mut world), ["false true"]);
}

#[test]
fn a_skipped_system_sees_changes_when_it_runs_again() {
    let mut world = world();
    world.insert_resource(Number(0));
    let id: SystemId = world.add_system(watch);
    update(&mut world);
    world.set_system_enabled(id, false).unwrap();
    world.resource_mut::<Number>().0 = 1;
    (0..3).for_each(|_| _ = update(&mut world));
    world.set_system_enabled(id, true).unwrap();
    assert_eq!(update(&mut world), ["changed"]);
}

#[test]
fn members_of_a_set_see_the_writes_of_the_others() {
    let mut world = world();
    world.insert_resource(Number(0));
    world.add_system(|mut set: ParamSet<(Res<Number>, ResMut<Number>)>, mut log: ResMut<Log>| {
        let before = set.p0().is_changed();
        set.p1().0 += 1;
        log.0.push(format!("{before} {}", set.p0().is_changed()));
    });
    assert_eq!(update(&mut world), ["true true"]);
    assert_eq!(update(&mut world), ["false true"]);
}

#[test]
fn local_resources_have_change_detection_too() {
    let mut world = world();
    world.insert_resource(Wrapped(std::cell::Cell::new(0)));
    world.add_system(|it: Res<Wrapped<std::cell::Cell<i32>>>, mut log: ResMut<Log>| {
        it.set(1);
        log.0.push(it.is_changed().to_string());
    });
    assert_eq!(update(&mut world), ["true"]);
    assert_eq!(update(&mut world), ["false"]);
}

mod elsewhere {
    use ancho_entities::Resource;

    #[derive(Resource, Clone)]
    pub(super) struct Number(pub(super) u32);

    #[derive(Resource, Clone)]
    #[resource(name = "elsewhere::Number")]
    pub(super) struct Renamed;

    #[derive(Resource)]
    #[resource(local)]
    #[expect(dead_code, reason = "its name is that of a state resource")]
    pub(super) struct Local;
}

#[test]
fn a0180_two_state_resources_with_one_stable_name_are_refused() {
    let mut world = World::new("test");
    world.insert_resource(Number(1));
    let message =
        crate::fixtures::panic_message(|| _ = world.insert_resource(elsewhere::Number(1)));
    assert_eq!(
        message,
        "A0180: the state resources `systems::common::Number` and `systems::parameters::resources::elsewhere::Number` share \
         the stable name `Number`, so a state hash cannot tell them apart; give one of them another name, with \
         `#[resource(name = \"…\")]`"
    );
    world.insert_resource(elsewhere::Renamed);
    let refused = world.try_add_system(|_: Option<Res<elsewhere::Number>>| ()).unwrap_err();
    assert!(refused.to_string().contains("A0180: "), "{refused}");
    world.try_update(0.1).unwrap();
}

#[test]
fn a_type_can_be_a_resource_and_a_component() {
    #[derive(ancho_entities::Component, Resource, Clone, Debug, PartialEq)]
    #[resource(component)]
    struct Both(u32);

    let mut world = World::new("test");
    let entity = world.spawn(Both(1));
    world.insert_resource(Both(2));
    assert_eq!((world.get(entity), world.resource()), (Ok(&Both(1)), &Both(2)));
}

#[test]
fn a_generic_type_is_one_resource_for_each_argument() {
    #[derive(Resource, Clone, Debug, PartialEq)]
    struct Limit<T>(T);

    let mut world = World::new("test");
    world.insert_resource(Limit(1_u8));
    world.insert_resource(Limit("many"));
    let fork = world.fork().unwrap();
    assert_eq!((fork.resource::<Limit<u8>>(), fork.resource()), (&Limit(1), &Limit("many")));
}
