//! Points at which commands are applied.

use ancho_entities::{
    BeginInitialization, BeginPresentation, BeginSimulation, CommandPoint, CommandsAt,
    EndInitialization, EndSimulation, Entity, Initialization, IntoSystem, Presentation, Query,
    ResMut, World,
};

use crate::common::{A, B, Log, take, world};

fn count(mut log: ResMut<Log>, all: Query<&A>) {
    log.0.push(all.count().to_string());
}

#[test]
fn the_standard_points_of_a_frame() {
    fn at<P: CommandPoint>(mut commands: CommandsAt<P>) {
        commands.commands().spawn(A(1));
    }

    let mut world = world();
    world.add_system(at::<EndInitialization>.in_group(Initialization));
    world.add_system(count.in_group(Initialization).last().after(EndInitialization));
    world.add_system(at::<EndSimulation>);
    world.add_system(count);
    world.add_system(count.last().after(EndSimulation));
    world.add_system(at::<BeginPresentation>);
    world.add_system(count.in_group(Presentation).first().before(BeginPresentation));
    world.add_system(count.in_group(Presentation));
    world.add_system(at::<BeginSimulation>.in_group(Presentation));
    world.add_system(at::<BeginInitialization>.in_group(Presentation));
    world.try_update(0.01).unwrap();
    assert_eq!(take(&mut world), ["1", "1", "2", "2", "3"]);
    assert_eq!(world.entity_count(), 3, "the others come at the beginning of the next frame");
    world.try_update(0.01).unwrap();
    assert_eq!(take(&mut world)[0], "5");
}

struct Point;

impl CommandPoint for Point {
    fn name() -> &'static str {
        "Point"
    }
}

#[test]
fn buffers_are_played_in_the_order_of_their_first_use() {
    fn record(value: u32) -> impl FnMut(CommandsAt<'_, Point>, Query<'_, Entity>) + Send + 'static {
        move |mut commands: CommandsAt<'_, Point>, all: Query<'_, Entity>| {
            for entity in &all {
                commands.commands().set(entity, A(value));
            }
        }
    }

    let mut world = world();
    let entity = world.spawn(A(0));
    world.add_system(Point);
    world.add_system(record(1).before(Point));
    world.add_system(record(2).before(Point));
    world.add_system(
        (|mut log: ResMut<Log>, all: Query<&A>| log.0.push(all.single().unwrap().0.to_string()))
            .before(Point),
    );
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["0"]);
    assert_eq!(world.get(entity), Ok(&A(2)));
}

#[test]
fn a_buffer_that_fails_does_not_stop_the_others() {
    let mut world = world();
    let never = Entity::from_parts(500, 1);
    world.add_system(Point);
    world.add_system(
        (move |mut commands: CommandsAt<Point>| commands.commands().add(never, B(1)))
            .named("bad")
            .before(Point),
    );
    world.add_system(
        (|mut commands: CommandsAt<Point>| _ = commands.commands().spawn(A(1)))
            .named("good")
            .before(Point),
    );
    world.add_system(
        (move |mut commands: CommandsAt<Point>| commands.commands().add(never, A(1)))
            .named("worse")
            .before(Point),
    );
    for frame in 1..=2 {
        let errors = world.try_update(0.1).unwrap_err();
        assert_eq!(errors.iter().len(), 1, "one error with all messages");
        let failed = |name| {
            format!(
                "A0078: command 1 of 1 failed, `add `{name}` to 500v1`; the other commands were applied: A0050: entity 500v1 does \
                 not exist: this world has not created it; check whether it belongs to another world"
            )
        };
        assert_eq!(
            errors.to_string(),
            format!(
                "A0113: `Point` did not apply all commands; those of `bad`: {}; those of `worse`: {}",
                failed("game::B"),
                failed("game::A")
            )
        );
        assert_eq!(world.entity_count(), frame);
    }
    world.check_invariants().unwrap();
}

#[test]
fn a_removed_point_applies_nothing() {
    let mut world = world();
    let point = world.add_system(Point);
    world.commands_at::<Point>().unwrap().commands().unwrap().spawn(A(1));
    world.remove_system(point).unwrap();
    assert_eq!(
        world.commands_at::<Point>().unwrap_err().to_string(),
        "A0114: the world has no command point `Point`; add it as a system"
    );
    world.add_system((|_: CommandsAt<Point>| {}).named("recorder"));
    assert_eq!(
        world.try_update(0.1).unwrap_err().to_string(),
        "A0114: system `recorder` was not run: the world has no command point `Point`; add it as a system"
    );
    world.add_system(Point);
    world.try_update(0.1).unwrap();
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn commands_of_a_failed_system_are_not_applied() {
    let mut world: World = world();
    world.add_system(Point);
    let mut runs = 0;
    world.add_system(
        (move |mut commands: CommandsAt<Point>| {
            commands.commands().spawn(A(1));
            runs += 1;
            assert!(runs > 1, "the first time");
        })
        .before(Point),
    );
    assert!(world.try_update(0.1).is_err());
    assert_eq!(world.entity_count(), 0);
    world.try_update(0.1).unwrap();
    assert_eq!(world.entity_count(), 1);
}
