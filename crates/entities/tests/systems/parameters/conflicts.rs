//! Conflicting parameters, and other systems that cannot be added.

use ancho_entities::{
    Absent, BuildSystem, CommandPoint, Commands, EnabledMut, EnabledRef, EntityManager,
    FixedRateSimple, IntoSystem, Lookup, ParamSet, Query, Res, ResMut, Simulation, Single, System,
    SystemGroup, SystemResult, Time, With, Without, World,
};
use ancho_jobs::JobScheduler;

use crate::common::{A, B, Log, Switch, Tag};
use crate::fixtures::panic_message;

/// Returns the reason why a system is refused.
#[track_caller]
fn refusal<M>(system: impl BuildSystem<M>) -> String {
    let mut world = World::new("test");
    let before = world.system_order().iter().count();
    let message = world.try_add_system(system.named("it")).unwrap_err().to_string();
    assert_eq!(world.system_order().iter().count(), before, "nothing was added");
    message
}

#[track_caller]
fn accepted<M>(system: impl BuildSystem<M>) {
    let mut world = World::new("test");
    world.add_system(system);
    world.try_update(0.1).unwrap();
}

#[test]
fn a0100_two_queries_of_a_component_that_one_writes() {
    assert_eq!(
        refusal(|_: Query<&mut A>, _: Time, _: Query<(&A, &B)>| {}),
        "A0100: system `it` cannot be added: parameter 1, `Query<&mut systems::fixtures::components::A>`, changes and \
         parameter 3, `Query<(&systems::fixtures::components::A, &systems::fixtures::components::B)>`, reads the \
         values of `game::A`, possibly of the same entity; access it in one parameter, filter one by `With<T>` and the \
         other by `Without<T>`, with a component that separates their entities, or put both in a `ParamSet`"
    );
    let bits = refusal(|_: Query<EnabledMut<Switch>>, _: Query<EnabledRef<Switch>>| {});
    assert!(
        bits.contains("changes and parameter 2") && bits.contains("the enabled bit of `Switch`"),
        "{bits}"
    );
    for message in [
        refusal(|_: Query<&mut A>, _: Lookup<&A>| {}),
        refusal(|_: Single<&mut A>, _: Query<&A>| {}),
        refusal(|_: (Query<&mut A>, Query<&B>), _: Query<&mut A>| {}),
        refusal(|_: Query<&mut A>, _: ParamSet<(Query<&B>, Query<&A>)>| {}),
        refusal(|_: Option<Single<&A>>, _: Query<&mut A, With<Tag>>| {}),
    ] {
        assert!(
            message.starts_with("A0100: system `it` cannot be added: parameter 1, "),
            "{message}"
        );
    }
    accepted(|_: Query<&mut A, With<Tag>>, _: Query<&mut A, Without<Tag>>| {});
    accepted(|_: Query<&A>, _: Query<&A>, _: Lookup<&A>| {});
    accepted(|_: ParamSet<(Query<&mut A>, Query<&A>, Lookup<&mut A>)>| {});
}

#[test]
fn a0101_enabled_filters_do_not_make_parameters_disjoint() {
    assert_eq!(
        refusal(|_: Query<&mut A, With<Switch>>, _: Query<&A, Without<Switch>>| {}),
        "A0101: system `it` cannot be added: parameter 1, `Query<&mut systems::fixtures::components::A, \
         With<systems::common::Switch>>`, changes and parameter 2, `Query<&systems::fixtures::components::A, \
         Without<systems::common::Switch>>`, reads the values of `game::A`, and only the enableable component `Switch` \
         separates their entities; filter by `Absent<Switch>` instead of `Without<Switch>`, or by a component that is \
         not enableable, or put both in a `ParamSet`"
    );
    accepted(|_: Query<&mut A, With<Switch>>, _: Query<&A, Absent<Switch>>| {});
}

#[test]
fn a0102_other_parameters_exclude_each_other() {
    assert_eq!(
        refusal(|_: ResMut<Log>, _: Res<Log>| {}),
        "A0102: system `it` cannot be added: parameter 1, `ResMut<systems::common::Log>`, and parameter 2, \
         `Res<systems::common::Log>`, both use the resource `systems::common::Log`, at least one of them mutably; \
         remove one of them, or put both in a `ParamSet`"
    );
    for message in [
        refusal(|_: ResMut<Log>, _: ResMut<Log>| {}),
        refusal(|_: &mut EntityManager, _: Query<&A>| {}),
        refusal(|_: Query<&A>, _: &mut EntityManager| {}),
        refusal(|_: &EntityManager, _: Query<&mut A>| {}),
        refusal(|_: &EntityManager, _: &mut EntityManager| {}),
        refusal(|_: &mut EntityManager, _: Commands| {}),
        refusal(|_: &mut EntityManager, _: &JobScheduler| {}),
        refusal(|_: &JobScheduler, _: &mut World| {}),
        refusal(|_: &mut World, _: Query<&A>| {}),
        refusal(|_: Res<Log>, _: &mut World| {}),
        refusal(|_: &mut World, _: &mut World| {}),
        refusal(|_: &mut World, _: Commands| {}),
        refusal(|_: ParamSet<(&mut World, Query<&A>)>| {}),
        refusal(|_: ParamSet<(Query<&A>, &mut EntityManager)>| {}),
    ] {
        assert!(message.starts_with("A0102: system `it` cannot be added: parameter "), "{message}");
    }
    accepted(|_: &mut EntityManager, _: Time| {});
    accepted(|_: &EntityManager, _: Query<&A>, _: Commands| {});
    accepted(|_: &EntityManager, _: &JobScheduler, _: &JobScheduler, _: Query<&A>| {});
    accepted(|_: &mut World, _: Time| {});
    accepted(|_: Query<&A>, _: Commands, _: Commands| {});
}

#[test]
fn add_system_panics_with_the_message() {
    let mut world = World::new("test");
    let message = panic_message(|| world.add_system(|_: ResMut<Log>, _: ResMut<Log>| {}));
    assert!(message.starts_with("A0102: system `systems::parameters::conflicts::"), "{message}");
}

struct Physics;

impl SystemGroup for Physics {}

struct Point;

impl CommandPoint for Point {}

fn nothing() {}

#[test]
fn a0097_patches_have_no_order() {
    for (what, system) in [
        ("in_group", nothing.patch().in_group(Simulation)),
        ("before", nothing.before("it").patch()),
        ("after", nothing.patch().after("missing")),
        ("first", nothing.first().patch()),
        ("last", nothing.patch().last()),
        ("first", nothing.patch().first().last()),
        ("in_group", nothing.patch().after("missing").in_group("missing")),
    ] {
        assert_eq!(
            refusal(system),
            format!(
                "A0097: `{what}` cannot be used for `it`: it is a patch, which runs after every other system; remove \
                 `{what}` or `patch`"
            )
        );
    }

    let mut world = World::new("test");
    let id = world.add_system(nothing.named("tidy").patch().create_after(Simulation));
    let info = world.system_info(id).unwrap();
    assert_eq!((info.group, info.depth), (None, 0));
    let moved = world.set_group(id, ancho_entities::Presentation).unwrap_err().to_string();
    assert!(
        moved.starts_with("A0097: `set_group` cannot be used for `tidy`: it is a patch"),
        "{moved}"
    );
    world.try_update(0.1).unwrap();
}

#[test]
fn a0097_no_system_is_before_or_after_a_patch() {
    for (word, system) in [("before", nothing.before("tidy")), ("after", nothing.after("tidy"))] {
        let mut world = World::new("test");
        world.add_system(system.named("it"));
        world.add_system(nothing.named("tidy").patch());
        assert_eq!(
            world.try_update(0.1).unwrap_err().to_string(),
            format!(
                "A0097: `it` of `Simulation` should run {word} `tidy`, which is a patch and runs after every other \
                 system; remove `{word}` or `patch`"
            )
        );
    }
    // One target that is not a patch is enough.
    let mut world = World::new("test");
    world.add_system(nothing.patch());
    world.add_system(nothing);
    world.add_system((|| {}).after(nothing));
    world.try_update(0.1).unwrap();
}

#[test]
fn a0098_requirements_by_parameters_are_for_functions() {
    assert_eq!(
        refusal(Once.require_matching()),
        "A0098: `require_matching` is for function systems, but `it` is not a function, so its queries are unknown; \
         remove it, and use `require` or `require_any`"
    );
    assert!(
        refusal(Physics.require_matching())
            .starts_with("A0098: `require_matching` is for function systems")
    );
    for message in [refusal(Once.in_jobs()), refusal(Physics.in_jobs()), refusal(Point.in_jobs())] {
        assert!(message.starts_with("A0098: `in_jobs` is for function systems"), "{message}");
    }
    accepted((|_: Query<&A>| {}).require_matching().in_jobs());
}

#[test]
fn a0110_a_group_must_exist_and_be_a_group() {
    let expected = "A0110: system `it` cannot be in `systems::parameters::conflicts::Physics`, which is not a group of this world; \
                    add the group first, or name another";
    assert_eq!(refusal(nothing.in_group(Physics)), expected);
    assert!(
        refusal(nothing.in_group(ancho_entities::EndSimulation))
            .contains("in `EndSimulation`, which is not a group")
    );
    assert!(refusal(nothing.in_group("missing")).starts_with("A0110: "));
    let itself =
        "A0110: group `it` cannot be in itself, nor in a group that is in it; name another group";
    assert_eq!(refusal(Physics.in_group(Physics)), itself);

    let mut world = World::new("test");
    let physics = world.add_system(Physics.named("Physics"));
    struct Inner;
    impl SystemGroup for Inner {}
    world.add_system(Inner.in_group(Physics));
    let circular = world.set_group(physics, Inner).unwrap_err().to_string();
    assert!(circular.starts_with("A0110: group `Physics` cannot be in itself"), "{circular}");
    world.set_group(physics, ancho_entities::Presentation).unwrap();
    world.try_update(0.1).unwrap();
}

#[test]
fn a0111_rates_are_for_groups() {
    assert_eq!(
        refusal(nothing.rate(FixedRateSimple::new(0.1))),
        "A0111: `rate` is for groups, but `it` is not a group; set it on the group that contains it"
    );
    assert!(refusal(nothing.unsorted()).starts_with("A0111: `unsorted` is for groups"));
}

struct Once;

impl System for Once {
    fn on_update(&mut self, _: &mut World) -> SystemResult {
        Ok(())
    }
}

#[test]
fn a0116_structs_and_groups_are_added_once_functions_any_number_of_times() {
    let mut world = World::new("test");
    world.add_system(Once);
    let again = world.try_add_system(Once).unwrap_err().to_string();
    assert!(
        again.starts_with("A0116: this world already has `systems::parameters::conflicts::Once`"),
        "{again}"
    );
    assert!(world.try_add_system(Simulation).unwrap_err().to_string().starts_with("A0116: "));
    let (one, two) = (world.add_system(nothing), world.add_system(nothing));
    assert_ne!(one, two);
}

#[test]
fn a0112_a_system_that_cannot_be_created_is_not_added() {
    struct Bad(bool);

    impl System for Bad {
        fn on_create(&mut self, world: &mut World) -> SystemResult {
            assert!(world.executing_system().is_some());
            if self.0 { panic!("no disk") } else { Err("no network".into()) }
        }

        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }
    }

    assert_eq!(
        refusal(Bad(false)),
        "A0112: system `it` was not added, because `on_create` failed: no network"
    );
    assert!(refusal(Bad(true)).ends_with("failed: no disk"));
    let mut world = World::new("test");
    assert!(world.try_add_system(Bad(true)).is_err() && world.try_add_system(Bad(false)).is_err());
    assert_eq!((world.executing_system(), world.system::<Bad>().is_some()), (None, false));
}

#[test]
fn a0108_ids_belong_to_one_world_and_one_system() {
    let (mut one, mut other) = (World::new("one"), World::new("other"));
    let id = one.add_system(nothing);
    other.add_system(nothing);
    assert!(!other.has_system(id));
    assert!(
        other
            .remove_system(id)
            .unwrap_err()
            .to_string()
            .starts_with("A0108: this world has no system SystemId(")
    );
    assert!(other.update_system(id).unwrap_err().to_string().starts_with("A0108: "));
    one.remove_system(id).unwrap();
    let next = one.add_system(nothing);
    assert!(!one.has_system(id) && one.has_system(next));
    assert!(
        one.set_system_enabled("missing", true)
            .unwrap_err()
            .to_string()
            .starts_with("A0108: this world has no system `missing`")
    );
}
