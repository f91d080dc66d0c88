//! Warnings, and the lines that are printed.

use std::sync::mpsc::{self, Receiver};

use super::line_of;
use crate::schedule::{SystemFault, UpdateError};
use crate::system::IntoSystem;
use crate::world::World;

/// A system with a warning.
fn warn(world: &mut World) {
    let id = world.executing_system().expect("the system itself");
    let first = "`add `Burning` to 3v1`".to_owned();
    world.systems.fail(id, SystemFault::SkippedCommands { count: 2, first });
}

const WARNING: &str = "A0160: system `warn` recorded 2 commands for entities that no longer exist, and they were skipped; \
                       the first is `add `Burning` to 3v1`; check entities with `exists` before commands are recorded, or \
                       let only one system despawn and change them";

/// Creates a world with a handler, and returns its errors.
fn world() -> (World, Receiver<String>) {
    let mut world = World::new("test");
    let (sender, errors) = mpsc::channel();
    world.set_error_handler(move |error| {
        assert_eq!(error.is_warning(), error.to_string().starts_with("A0160: "));
        sender.send(format!("{} {error}", error.repeats())).expect("the receiver lives");
    });
    (world, errors)
}

#[test]
fn warnings_do_not_fail_an_update() {
    let mut world = World::new("test");
    world.add_system(warn.named("warn").stop_on_error());
    world.update(0.1);
    world.try_update(0.1).unwrap();
    assert!(world.is_system_enabled("warn").unwrap());
}

#[test]
fn warnings_go_to_the_handler() {
    let (mut world, errors) = world();
    world.add_system(warn.named("warn"));
    world.update(0.1);
    world.try_update(0.1).unwrap();
    world.update_system(world.find_system("warn").unwrap()).unwrap();
    let told: Vec<_> = errors.try_iter().collect();
    assert_eq!(told, [1, 2, 3].map(|count| format!("{count} {WARNING}")));
}

#[test]
fn errors_are_returned_without_the_warnings_between_them() {
    let (mut world, errors) = world();
    world.add_system((|| Err::<(), _>("no fuel")).named("a"));
    world.add_system(warn.named("warn"));
    world.add_system((|| Err::<(), _>("no ammunition")).named("b"));
    assert_eq!(
        world.try_update(0.1).unwrap_err().to_string(),
        "A0106: system `a` failed: no fuel\nA0106: system `b` failed: no ammunition"
    );
    assert_eq!(errors.try_iter().collect::<Vec<_>>(), [format!("1 {WARNING}")]);
    world.update(0.1);
    assert_eq!(errors.try_iter().count(), 3);
}

#[test]
fn warnings_of_a_nested_update_are_reported_by_the_outer_one() {
    let (mut world, errors) = world();
    let inner = world.add_system(warn.named("warn").enabled(false));
    world.add_system(move |world: &mut World| {
        world.set_system_enabled(inner, true).unwrap();
        world.update_system(inner).unwrap();
        world.set_system_enabled(inner, false).unwrap();
    });
    world.update(0.1);
    assert_eq!(errors.try_iter().collect::<Vec<_>>(), [format!("1 {WARNING}")]);
}

#[test]
fn skipped_commands_of_a_system_are_one_warning() {
    let (mut world, errors) = world();
    let twice = |world: &mut World| {
        warn(world);
        warn(world);
    };
    world.add_system(twice.named("warn"));
    world.update(0.1);
    let told: Vec<_> = errors.try_iter().collect();
    assert_eq!(told, [format!("1 {WARNING}").replace("2 commands", "4 commands")]);
}

#[test]
fn systems_with_the_same_name_have_separate_warnings() {
    let (mut world, errors) = world();
    world.add_system(warn.named("warn"));
    world.add_system(warn.named("warn"));
    world.update(0.1);
    let told: Vec<_> = errors.try_iter().collect();
    assert_eq!(told, [format!("1 {WARNING}"), format!("1 {WARNING}")]);
}

#[test]
fn lines_are_printed_at_powers_of_ten() {
    let fault = SystemFault::Failed { message: "no fuel".to_owned() };
    let mut error = UpdateError::new("engine".into(), fault);
    let mut lines = Vec::new();
    for repeats in 1..=1_000 {
        error.repeats = repeats;
        lines.extend(line_of(&error));
    }
    let sentence = "A0106: system `engine` failed: no fuel";
    let times = |count| format!("{sentence} ({count} times in a row)\n");
    assert_eq!(lines, [format!("{sentence}\n"), times(10), times(100), times(1_000)]);
}
