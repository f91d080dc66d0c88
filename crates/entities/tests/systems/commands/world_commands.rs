//! Commands of systems that need the world.

use ancho_entities::{
    Commands, CommandsAt, EndSimulation, IntoSystem, Query, Res, ResMut, Resource, Time, World,
};

use crate::common::{A, Shared};

#[derive(Resource, Clone)]
struct Score(u32);

#[test]
fn the_next_system_sees_the_resource() {
    let mut world = World::new("test");
    let log = Shared::default();
    let told = log.clone();
    world.add_system(|mut commands: Commands| commands.insert_resource(Score(7)));
    world.add_system(move |score: Option<Res<Score>>| {
        told.push(score.map_or(0, |score| score.0).to_string());
    });
    for _ in 0..3 {
        world.update(0.1);
    }
    assert_eq!(log.take(), ["7"; 3]);
}

#[test]
fn a_function_can_add_remove_and_update_systems() {
    let mut world = World::new("test");
    world.insert_resource(Score(0));
    let add = |mut score: ResMut<Score>| score.0 += 1;
    let manual = world.add_system(add.named("add").enabled(false));
    // All of these run on the fast path.
    world.add_system((|_: Query<&A>| {}).named("before"));
    world.add_system(
        (move |mut commands: Commands| {
            commands.run("manage systems", move |world| {
                assert_eq!(world.executing_system(), world.find_system("manager"));
                world.set_system_enabled(manual, true)?;
                world.update_system(manual).unwrap();
                world.set_system_enabled(manual, false)?;
                if world.find_system("late").is_none() {
                    world.add_system((|mut score: ResMut<Score>| score.0 += 100).named("late"));
                }
                Ok(())
            });
        })
        .named("manager"),
    );
    world.add_system((|mut score: ResMut<Score>| score.0 += 10).named("after").after("manager"));
    world.update(0.1);
    assert_eq!(world.resource::<Score>().0, 11);
    world.update(0.1);
    assert_eq!(world.resource::<Score>().0, 122);
}

#[test]
fn a_command_point_applies_them_in_the_order_of_its_buffers() {
    let mut world = World::new("test");
    world.add_system(|mut late: CommandsAt<EndSimulation>| {
        late.commands().insert_resource(Score(1));
    });
    world.add_system(|mut late: CommandsAt<EndSimulation>| {
        late.commands().run("double", |world| {
            world.resource_mut::<Score>().0 += 1;
            world.push_time(Time::new(50.0, 0.5)).unwrap();
            Ok(())
        });
    });
    world.update(0.1);
    assert_eq!(world.resource::<Score>().0, 2);
    assert_eq!(world.time().elapsed(), 0.1, "the pushed time ends with the point");
}

#[test]
fn errors_and_panics_name_the_system() {
    let mut world = World::new("test");
    let fail = |mut commands: Commands| commands.run("refuel", |_| Err("no fuel".into()));
    let panic = |mut commands: Commands| commands.run("refuel", |_| panic!("no tank"));
    world.add_system(fail.named("engine"));
    world.add_system(panic.named("tank"));
    world.add_system((|mut commands: Commands| _ = commands.spawn(A(1))).named("spawner"));
    for round in 1..3 {
        let errors = world.try_update(0.1).unwrap_err().to_string();
        assert!(errors.contains("A0078") && errors.contains("`engine`"), "{errors}");
        assert!(errors.contains("no fuel"), "{errors}");
        assert!(errors.contains("A0105: system `tank` panicked: no tank"), "{errors}");
        assert_eq!(world.entity_count(), round);
    }
}

#[test]
fn a_system_that_fails_has_no_commands_for_the_world() {
    let mut world = World::new("test");
    world.add_system(|mut commands: Commands| {
        commands.insert_resource(Score(1));
        Err::<(), _>("failed")
    });
    world.try_update(0.1).unwrap_err();
    assert!(!world.has_resource::<Score>());
}

#[test]
fn a_command_that_exchanges_the_world_ends_the_update() {
    let mut world = World::new("test");
    world.insert_resource(Score(0));
    world.add_system((|_: Query<&A>| {}).named("before"));
    let exchange = |mut commands: Commands| {
        commands.run("exchange", |world| {
            *world = World::new("other");
            Ok(())
        });
    };
    world.add_system(exchange.named("exchange"));
    world.add_system((|_: Query<&A>| panic!("it is not in this world")).named("after"));
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.contains("A0115"), "{errors}");
    assert_eq!(world.name(), "other");
    world.update(0.1);

    let mut world = World::new("test");
    let exchange = |mut commands: CommandsAt<EndSimulation>| {
        commands.commands().run("exchange", |world| {
            *world = World::new("other");
            Ok(())
        });
    };
    world.add_system(exchange.named("exchange"));
    let spawn = |mut commands: CommandsAt<EndSimulation>| _ = commands.commands().spawn(A(1));
    world.add_system(spawn.named("spawn"));
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.contains("A0115"), "{errors}");
    assert_eq!((world.name(), world.entity_count()), ("other", 0));
    world.update(0.1);
}
