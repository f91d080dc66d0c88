//! The points at which commands are applied.

use std::time::Duration;

use ancho_entities::{
    BeginFixedStep, BeginInitialization, BeginPresentation, BeginSimulation, BeginVariableStep,
    CommandPoint, Commands, CommandsAt, Component, EndFixedStep, EndInitialization, EndSimulation,
    EndVariableStep, Entity, FixedStep, Initialization, IntoSystem, Presentation, Query,
    VariableRate, VariableStep, World,
};

use crate::trace::Trace;

#[derive(Component, Clone, Copy, Debug)]
struct Orc(u32);

#[derive(Component, Clone, Copy, Debug)]
struct Armed;

/// Returns a system that records the number of orcs.
fn counting(trace: &Trace, name: &'static str) -> impl FnMut(Query<&Orc>) + Send + use<> {
    let trace = trace.clone();
    move |orcs: Query<&Orc>| trace.note(format!("{name}:{}", orcs.count()))
}

#[test]
fn commands_are_visible_to_the_next_system_and_not_before() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let noted = trace.clone();
    let spawns = move |mut commands: Commands, orcs: Query<&Orc>| {
        commands.spawn(Orc(1));
        noted.note(format!("within:{}", orcs.count()));
    };
    world.add_system(counting(&trace, "before"));
    world.add_system(spawns);
    world.add_system(counting(&trace, "after"));
    world.try_update(0.1).unwrap();
    assert_eq!(trace.take(), "before:0 within:0 after:1");
}

#[test]
fn commands_are_applied_when_their_point_has_passed() {
    fn spawn_at<P: CommandPoint>(mut commands: CommandsAt<P>) {
        commands.commands().spawn(Orc(1));
    }

    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(counting(&trace, "init").in_group(Initialization).named("init"));
    world.add_system(counting(&trace, "fixed").in_group(FixedStep).named("fixed"));
    world.add_system(counting(&trace, "sim").after(FixedStep).named("sim"));
    world.add_system(counting(&trace, "draw").in_group(Presentation).named("draw"));
    // All commands are recorded first, at the very beginning of `Initialization`'s own systems.
    world.add_system(spawn_at::<EndInitialization>.in_group(Initialization).before("init"));
    world.add_system(spawn_at::<BeginSimulation>.in_group(Initialization).before("init"));
    world.add_system(spawn_at::<BeginFixedStep>.in_group(Initialization).before("init"));
    world.add_system(spawn_at::<EndFixedStep>.in_group(Initialization).before("init"));
    world.add_system(spawn_at::<EndSimulation>.in_group(Initialization).before("init"));
    world.add_system(spawn_at::<BeginPresentation>.in_group(Initialization).before("init"));
    world.add_system(spawn_at::<BeginInitialization>.in_group(Initialization).before("init"));
    world.try_update(0.0).unwrap();
    // End of initialization and begin of simulation: two; begin of the fixed step: three; its end: four. End of
    // simulation and begin of presentation: six. The begin of initialization is in the next frame, before everything.
    assert_eq!(trace.take(), "init:0 fixed:3 sim:4 draw:6");
    world.try_update(0.0).unwrap();
    assert!(trace.take().starts_with("init:7 "));
}

#[test]
fn commands_for_the_variable_step_wait_until_it_runs() {
    fn spawn_at<P: CommandPoint>(mut commands: CommandsAt<P>) {
        commands.commands().spawn(Orc(1));
    }

    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let mut readings = [0, 50, 100].into_iter().map(Duration::from_millis);
    let clock = move || readings.next().unwrap();
    world.set_rate(VariableStep, VariableRate::default().with_clock(clock)).unwrap();
    world.add_system(spawn_at::<BeginVariableStep>.in_group(Initialization));
    world.add_system(spawn_at::<EndVariableStep>.in_group(Initialization));
    world.add_system(counting(&trace, "fixed").in_group(FixedStep));
    world.add_system(counting(&trace, "variable").in_group(VariableStep));
    world.add_system(counting(&trace, "sim"));
    world.try_update(0.0).unwrap();
    assert_eq!(trace.take(), "fixed:0 variable:1 sim:2");
    world.try_update(0.1).unwrap();
    // The variable step is not due yet, and the fixed step runs once for each of its steps.
    assert_eq!(trace.take().replace("fixed:2 ", ""), "sim:2");
    world.try_update(0.0).unwrap();
    assert_eq!(trace.take(), "variable:4 sim:6", "those of two frames, before and after");
}

#[test]
fn buffers_are_played_in_the_order_in_which_their_systems_ran() {
    let mut world = World::new("Simulation");
    let writes = |number: u32| {
        move |mut commands: CommandsAt<EndSimulation>| {
            commands.commands().spawn(Orc(number));
        }
    };
    world.add_system(writes(1).named("one"));
    world.add_system(writes(2).named("two").before("one"));
    world.add_system(writes(3).named("three"));
    world.try_update(0.1).unwrap();
    let orcs: Vec<u32> = world.query::<&Orc>().iter().map(|orc| orc.0).collect();
    assert_eq!(orcs, [2, 1, 3]);
}

#[test]
fn one_failing_buffer_does_not_stop_the_others_and_both_systems_are_named() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let victim = world.spawn(());
    let never = Entity::from_parts(500, 1);
    let good = |mut commands: CommandsAt<EndSimulation>| {
        commands.commands().spawn(Orc(1));
    };
    let bad = move |mut commands: CommandsAt<EndSimulation>| {
        commands.commands().add(never, Armed);
    };
    world.add_system(good.named("first good"));
    world.add_system(bad.named("first bad"));
    world.add_system(good.named("second good"));
    world.add_system(bad.named("second bad"));
    world.add_system(counting(&trace, "draw").in_group(Presentation));
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.iter().len(), 1);
    let told = errors.to_string();
    assert!(
        told.starts_with(
            "A0113: `EndSimulation` did not apply all commands; those of `first bad`: "
        ),
        "{told}"
    );
    assert!(told.contains("; those of `second bad`: "), "{told}");
    assert!(!told.contains("good"), "{told}");
    assert_eq!(trace.take(), "draw:2");
    // The next update plays only what is recorded in it.
    world.add_system(
        (move |mut commands: CommandsAt<EndSimulation>| commands.commands().add(victim, Armed))
            .named("arms"),
    );
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.iter().len(), 1);
    assert!(world.has::<Armed>(victim));
    assert_eq!(trace.take(), "draw:4");
}

#[test]
fn a_removed_point_drops_unplayed_commands() {
    struct Late;
    impl CommandPoint for Late {}

    let mut world = World::new("Simulation");
    let late = world.add_system(Late.first());
    let spawns = |mut commands: CommandsAt<Late>| {
        commands.commands().spawn(Orc(1));
    };
    world.add_system(spawns.named("spawns"));
    world.try_update(0.1).unwrap();
    assert_eq!(world.entity_count(), 0);
    world.remove_system(late).unwrap();
    let told = world.try_update(0.1).unwrap_err().to_string();
    assert!(told.contains("A0114"), "{told}");
    assert!(told.contains("spawns"), "{told}");
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn commands_of_a_system_that_panics_are_not_applied() {
    let mut world = World::new("Simulation");
    let fails = |mut commands: Commands| -> () {
        commands.spawn(Orc(1));
        panic!("after recording");
    };
    world.add_system(fails.named("fails"));
    let told = world.try_update(0.1).unwrap_err().to_string();
    assert_eq!(told, "A0105: system `fails` panicked: after recording");
    assert_eq!(world.entity_count(), 0);
    assert!(world.try_update(0.1).is_err());
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn commands_that_fail_are_reported_with_the_system() {
    let mut world = World::new("Simulation");
    let never = Entity::from_parts(500, 1);
    world.add_system((move |mut commands: Commands| commands.add(never, Armed)).named("arms"));
    let told = world.try_update(0.1).unwrap_err().to_string();
    assert!(told.contains("`arms`"), "{told}");
    assert!(told.contains(&never.to_string()), "{told}");
}
