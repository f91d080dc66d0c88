//! The main loop: frames, exits, several worlds, and panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{ExitCode, Termination};
use std::sync::{Arc, Mutex};

use ancho_app::{App, Exit};
use ancho_entities::{ResMut, Resource, Time, World};

type Log = Arc<Mutex<Vec<String>>>;

/// Writes to the log when it is dropped, with the world that has it.
#[derive(Resource)]
#[resource(local)]
struct Tag(&'static str, Log);

impl Drop for Tag {
    fn drop(&mut self) {
        self.1
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .push(format!("drop {}", self.0));
    }
}

/// A world that logs its updates.
fn world(name: &'static str, log: &Log) -> World {
    let mut world = World::new(name);
    world.insert_resource(Tag(name, log.clone()));
    let log = log.clone();
    world.add_system(move |time: Time| {
        log.lock().unwrap().push(format!("{name} {} {}", time.frame(), time.delta_f64()));
    });
    world
}

fn take(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap())
}

fn exit_at(frame: u64, code: u8) -> impl FnMut(Time, ResMut<Exit>) + Send + 'static {
    move |time, mut exit| {
        if time.frame() == frame {
            exit.request_code(code);
        }
    }
}

#[test]
fn worlds_are_updated_in_the_order_of_adding_and_returned() {
    let log = Log::default();
    let app = App::new(world("a", &log)).add_world(world("b", &log)).fixed_delta(0.5);
    let finished = app.run_for(2);
    assert_eq!(take(&log), ["a 1 0.5", "b 1 0.5", "a 2 0.5", "b 2 0.5"]);
    assert_eq!((finished.frames, finished.exit, finished.worlds.len()), (2, None, 2));
    assert_eq!(finished.worlds[1].name(), "b");
    let first = finished.into_world();
    assert_eq!(first.name(), "a");
    assert_eq!(take(&log), ["drop b"]);
}

#[test]
fn a_request_ends_the_run_after_its_frame() {
    let log = Log::default();
    let mut a = world("a", &log);
    a.add_system(exit_at(2, 0));
    let finished = App::new(a).add_world(world("b", &log)).fixed_delta(0.0).run();
    // The second world is updated in the last frame, too.
    assert_eq!(take(&log), ["a 1 0", "b 1 0", "a 2 0", "b 2 0"]);
    assert_eq!((finished.frames, finished.exit), (2, Some(0)));
    assert_eq!(finished.report(), ExitCode::SUCCESS);
    assert_eq!(take(&log), ["drop b", "drop a"]);
}

#[test]
fn requests_end_every_kind_of_run() {
    let app = || {
        let mut world = World::new("Test");
        world.add_system(exit_at(3, 7));
        App::new(world)
    };
    assert_eq!((app().run_for(10).exit, app().run_for(10).frames), (Some(7), 3));
    assert_eq!((app().run_for(2).exit, app().run_for(2).frames), (None, 2));
    assert_eq!(app().run_for(0).frames, 0);
    assert_eq!(app().run_until(|app| app.frames() == 5).exit, Some(7));
    let finished = app().run_until(|app| app.frames() == 1);
    assert_eq!((finished.exit, finished.frames), (None, 1));
    assert_eq!(app().run().report(), ExitCode::from(7));
}

#[test]
fn the_first_failure_of_a_world_and_the_first_world_count() {
    let mut exit = Exit::default();
    assert_eq!(exit.requested(), None);
    for (code, kept) in [(0, 0), (3, 3), (0, 3), (4, 3)] {
        exit.request_code(code);
        assert_eq!(exit.requested(), Some(kept));
    }
    exit.cancel();
    assert_eq!(exit.requested(), None);

    let mut worlds = ["a", "b", "c"].map(World::new);
    worlds[1].add_system(exit_at(1, 5));
    worlds[2].add_system(exit_at(1, 6));
    let [a, b, c] = worlds;
    assert_eq!(App::new(a).add_world(b).add_world(c).run().exit, Some(5));
}

#[test]
fn an_app_can_be_stepped() {
    let mut app = App::new(World::new("Test")).frame_time(1000.0).fixed_delta(9.0);
    assert_eq!(app.update(0.25), None);
    assert_eq!(app.update(0.5_f32), None);
    assert_eq!((app.frames(), app.world().time().elapsed()), (2, 0.75));
    assert_eq!(app.update_by_clock(), None);
    assert_eq!(app.world().time().delta_f64(), 9.0);
    app.world_mut().resource_mut::<Exit>().request();
    assert_eq!(app.requested_exit(), Some(0));
    assert_eq!(app.update(0.0), Some(0));
    // Without the resource there is no request.
    app.world_mut().remove_resource::<Exit>();
    assert_eq!(app.update(0.0), None);
    assert_eq!(app.worlds().len() + app.worlds_mut().len(), 2);
    let text = format!("{app:?}");
    assert!(
        text.starts_with(r#"App { worlds: ["Test"], frame_time: 1000s, fixed_delta: Some(9.0)"#),
        "{text}"
    );
}

#[test]
fn an_exit_of_the_program_is_kept() {
    let mut world = World::new("Test");
    let mut exit = Exit::default();
    exit.request_code(2);
    world.insert_resource(exit);
    let finished = App::new(world).run();
    assert_eq!((finished.exit, finished.frames), (Some(2), 1));
}

#[test]
fn the_first_frame_lasts_no_time_and_the_clock_never_goes_back() {
    let deltas = Arc::new(Mutex::new(Vec::new()));
    let mut world = World::new("Test");
    let seen = deltas.clone();
    world.add_system(move |time: Time| seen.lock().unwrap().push(time.delta_f64()));
    let finished = App::new(world).run_for(20);
    let deltas = deltas.lock().unwrap();
    assert_eq!(deltas[0], 0.0);
    assert!(deltas.iter().all(|delta| (0.0..f64::INFINITY).contains(delta)));
    assert_eq!(finished.into_world().time().elapsed(), deltas.iter().sum::<f64>());
}

#[test]
fn a_panic_drops_the_worlds_in_reverse_order() {
    let log = Log::default();
    let mut b = world("b", &log);
    b.add_system(|time: Time| assert!(time.frame() < 2, "no more frames"));
    let app = App::new(world("a", &log)).add_world(b).add_world(world("c", &log)).fixed_delta(0.0);
    catch_unwind(AssertUnwindSafe(|| app.run())).expect_err("a system panicked without a handler");
    let log = take(&log);
    assert_eq!(log[3..], ["a 2 0", "b 2 0", "drop c", "drop b", "drop a"]);
}

#[test]
fn errors_go_to_the_handler_of_the_world() {
    let (mut world, errors) = (World::new("Test"), Arc::new(Mutex::new(0)));
    world.add_system(|| panic!("every frame"));
    let count = errors.clone();
    world.set_error_handler(move |_| *count.lock().unwrap() += 1);
    assert_eq!(App::new(world).run_for(3).frames, 3);
    assert_eq!(*errors.lock().unwrap(), 3);
}

#[test]
fn invalid_times_are_refused() {
    let message = |build: fn(App) -> App| {
        let caught = catch_unwind(|| drop(build(App::new(World::new("Test")))));
        *caught.expect_err("the time is invalid").downcast::<String>().unwrap()
    };
    assert_eq!(
        message(|app| app.frame_time(-1.0)),
        "A0252: the frame time of an app cannot be -1 seconds; pass a finite number, zero or above"
    );
    assert_eq!(
        message(|app| app.fixed_delta(f64::INFINITY)),
        "A0252: the fixed delta time of an app cannot be inf seconds; pass a finite number, zero or above"
    );
    assert!(message(|app| app.frame_time(f64::NAN)).starts_with("A0252: "));
    assert!(message(|app| app.fixed_delta(f64::NAN)).starts_with("A0252: "));
}
