//! System orders that leave jobs more time.

use ancho_entities::{
    Changed, CommandPoint, Commands, CommandsAt, Component, EndSimulation, EntityManager,
    IntoSystem, Query, Res, ResMut, Resource, Simulation, System, SystemGroup, SystemKind,
    SystemResult, With, World,
};

use ancho_jobs::JobScheduler;

use crate::systems::common::{A, B, Shared, Switch, world};

#[derive(Component, Clone, Copy)]
#[component(name = "Sum")]
struct Sum(u32);

#[derive(Resource)]
#[resource(local)]
struct Total;

fn add_to_a(mut all: Query<&mut A>) {
    all.schedule(|a| a.0 = a.0 * 3 + 1);
}

fn add_to_b(mut all: Query<&mut B>) {
    all.schedule(|b| b.0 = b.0 * 5 + 1);
}

fn add_to_sum(mut all: Query<&mut Sum>) {
    all.schedule(|sum| sum.0 += 1);
}

fn a_to_b(mut all: Query<(&A, &mut B)>) {
    all.schedule(|(a, b)| b.0 ^= a.0);
}

fn read_a(_: Query<&A>) {}

fn read_b(_: Query<&B>) {}

fn write_a(mut all: Query<&mut A>) {
    all.for_each(|a| a.0 += 1);
}

fn nothing() {}

/// Returns the function systems of a world, in their order.
fn order(world: &mut World) -> String {
    let order = world.system_order();
    let mut names = Vec::new();
    for system in order.iter().filter(|system| system.depth == 2) {
        if matches!(system.kind, SystemKind::Function | SystemKind::Struct) {
            names.push(system.name.as_str());
        }
    }
    names.join(" ")
}

/// Creates a world with two systems that schedule jobs, and two that wait for them.
fn four() -> World {
    let mut world = world();
    world.add_system(add_to_a.named("+a").in_jobs());
    world.add_system(read_a.named("a"));
    world.add_system(add_to_b.named("+b").in_jobs());
    world.add_system(read_b.named("b"));
    world
}

#[test]
fn the_order_for_latency_is_off_by_default_and_can_be_disabled() {
    let mut world = four();
    assert_eq!(order(&mut world), "+a a +b b");
    assert!(!world.system_order().to_string().contains("latency"));
    world.order_systems_for_latency(true);
    assert_eq!(order(&mut world), "+a +b a b");
    assert!(world.system_order().to_string().contains("\n  Simulation (for latency)\n"));
    world.order_systems_for_latency(false);
    assert_eq!(order(&mut world), "+a a +b b");
}

#[test]
fn a_group_can_have_it_otherwise() {
    let mut world = four();
    world.order_group_for_latency(Simulation, Some(true)).unwrap();
    assert_eq!(order(&mut world), "+a +b a b");
    let is_on = |world: &mut World| {
        let order = world.system_order();
        order.iter().filter(|system| system.for_latency).count()
    };
    assert_eq!(is_on(&mut world), 1);
    world.order_systems_for_latency(true);
    world.order_group_for_latency(Simulation, Some(false)).unwrap();
    assert_eq!(order(&mut world), "+a a +b b");
    world.order_group_for_latency(Simulation, None).unwrap();
    assert_eq!(order(&mut world), "+a +b a b");
    let none = world.order_group_for_latency("+a", None).unwrap_err().to_string();
    assert!(none.starts_with("A0111: `order_group_for_latency` is for groups"), "{none}");
}

#[test]
fn it_is_the_order_in_which_systems_run() {
    let mut world = four();
    world.spawn((A(0), B(0)));
    let (seen, say) = (Shared::default(), |seen: &Shared, line: &'static str| {
        let seen = seen.clone();
        move || seen.push(line)
    });
    let (waits, free) = (say(&seen, "waits"), say(&seen, "free"));
    world.add_system(move |_: Query<&A>| waits());
    world.add_system(free);
    world.try_update(0.1).unwrap();
    assert_eq!(seen.take(), ["waits", "free"]);
    world.order_systems_for_latency(true);
    world.try_update(0.1).unwrap();
    assert_eq!(seen.take(), ["free", "waits"]);
}

#[test]
fn constraints_and_parts_hold() {
    let mut world = four();
    world.add_system(add_to_b.named("late").in_jobs().last());
    world.add_system(add_to_a.named("bound").in_jobs().after("b"));
    world.order_systems_for_latency(true);
    assert_eq!(order(&mut world), "+a +b a b bound late");
    world.set_sorting(Simulation, false).unwrap();
    assert_eq!(order(&mut world), "+a a +b b late bound");
    assert!(!world.system_order().to_string().contains(" Simulation (for latency)"));
}

#[test]
fn systems_do_not_pass_systems_with_conflicting_data() {
    fn changed(_: Query<&Sum, Changed<B>>) {}

    fn switched(_: Query<&Sum, With<Switch>>) {}

    fn switch(mut all: Query<&mut Switch>) {
        all.schedule(|switch| switch.0 += 1);
    }

    fn total(_: ResMut<Total>) {}

    fn from_total(_: Res<Total>, mut all: Query<&mut Sum>) {
        all.schedule(|sum| sum.0 += 1);
    }

    fn command(_: CommandsAt<EndSimulation>, mut all: Query<&mut Sum>) {
        all.schedule(|sum| sum.0 += 1);
    }

    let mut of_filters = four();
    of_filters.add_system(changed.named("changed"));
    of_filters.add_system(switched.named("switched"));
    of_filters.add_system(switch.named("switch").in_jobs());
    of_filters.add_system(add_to_b.named("again").in_jobs());
    of_filters.order_systems_for_latency(true);
    assert_eq!(order(&mut of_filters), "+a +b switched switch a b changed again");

    let mut of_resources = four();
    of_resources.add_system(total.named("total"));
    of_resources.add_system(from_total.named("from").in_jobs());
    of_resources.order_systems_for_latency(true);
    assert_eq!(order(&mut of_resources), "+a +b total from a b");

    let mut of_commands = four();
    of_commands.add_system((|_: CommandsAt<EndSimulation>| {}).named("first"));
    of_commands.add_system(command.named("second").in_jobs());
    of_commands.order_systems_for_latency(true);
    assert_eq!(order(&mut of_commands), "+a +b first second a b");
}

#[test]
fn no_system_passes_an_exclusive_system() {
    struct Struct;

    impl System for Struct {
        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }
    }

    struct Inner;

    impl SystemGroup for Inner {}

    struct Point;

    impl CommandPoint for Point {}

    let barriers: [fn(&mut World); 8] = [
        |world| _ = world.add_system(Struct.named("barrier")),
        |world| _ = world.add_system((|_: Commands| {}).named("barrier")),
        |world| _ = world.add_system((|_: &mut World| {}).named("barrier")),
        |world| _ = world.add_system((|_: &JobScheduler| {}).named("barrier")),
        |world| _ = world.add_system((|_: &EntityManager| {}).named("barrier")),
        |world| _ = world.add_system((|_: &mut EntityManager| {}).named("barrier")),
        |world| _ = world.add_system(Point),
        |world| _ = world.add_system(Inner),
    ];
    for add in barriers {
        let mut world = four();
        add(&mut world);
        world.add_system(add_to_sum.named("after").in_jobs());
        world.order_systems_for_latency(true);
        let found = order(&mut world).replace("barrier ", "");
        assert_eq!(found, "+a +b a b after");
    }
    // Without a barrier, the system runs earlier.
    let mut world = four();
    world.add_system(add_to_sum.named("after").in_jobs());
    world.order_systems_for_latency(true);
    assert_eq!(order(&mut world), "+a +b after a b");
}

#[test]
fn results_are_the_same() {
    let run = |on: bool| {
        let mut world = World::new("test");
        world.order_systems_for_latency(on);
        world.spawn_batch((0..100).map(|number| (A(number), B(number + 1))));
        world.add_system(nothing);
        world.add_system(add_to_a.in_jobs());
        world.add_system(write_a);
        world.add_system(add_to_b.in_jobs());
        world.add_system(read_a);
        world.add_system(a_to_b.in_jobs());
        world.add_system(read_b);
        world.add_system(add_to_a.in_jobs());
        for _ in 0..5 {
            world.try_update(0.1).unwrap();
        }
        let values: Vec<_> = world.query::<(&A, &B)>().iter().map(|(a, b)| (a.0, b.0)).collect();
        (values, order(&mut world))
    };
    let (plain, lengthened) = (run(false), run(true));
    assert_ne!(plain.1, lengthened.1);
    assert_eq!(plain.0, lengthened.0);
    assert_eq!(lengthened, run(true));
}
