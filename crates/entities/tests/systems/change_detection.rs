//! Changes since a system's last run are newer than it, whatever made them.

use ancho_entities::{
    Changed, CommandsAt, EndSimulation, IntoSystem, OrderChanged, Query, Res, ResMut, Resource,
    System, SystemResult, Version, World,
};

use crate::common::{A, Log, Shared, say, take, world};

/// Logs the entities in chunks with a changed `A`, and in reordered chunks.
fn watch(changed: Query<(), Changed<A>>, moved: Query<&A, OrderChanged>, mut log: ResMut<Log>) {
    log.0.push(format!("{} {}", changed.count(), moved.count()));
}

/// A system that calls a function when it starts, updates, stops or is destroyed.
#[derive(Default)]
struct Hooks {
    start: Option<fn(&mut World)>,
    update: Option<fn(&mut World)>,
    stop: Option<fn(&mut World)>,
    destroy: Option<fn(&mut World)>,
}

fn call(hook: Option<fn(&mut World)>, world: &mut World) -> SystemResult {
    hook.into_iter().for_each(|hook| hook(world));
    Ok(())
}

impl System for Hooks {
    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        call(self.start, world)
    }

    fn on_update(&mut self, world: &mut World) -> SystemResult {
        call(self.update, world)
    }

    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        call(self.stop, world)
    }

    fn on_destroy(&mut self, world: &mut World) -> SystemResult {
        call(self.destroy, world)
    }
}

fn spawn(world: &mut World) {
    world.spawn(A(1));
}

fn write(world: &mut World) {
    world.singleton_mut::<A>().unwrap().0 += 1;
}

#[test]
fn entities_spawned_at_start_are_new_for_the_system_before() {
    let mut world = world();
    world.add_system(watch);
    world.add_system(Hooks { start: Some(spawn), ..Hooks::default() });
    (0..3).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(take(&mut world), ["0 0", "1 1", "0 0"]);
}

#[test]
fn changes_at_stop_are_new_for_the_system_before() {
    let mut world = world();
    world.spawn(A(1));
    world.add_system(watch);
    let id = world.add_system(Hooks { stop: Some(write), ..Hooks::default() });
    world.try_update(0.1).unwrap();
    world.set_system_enabled(id, false).unwrap();
    (0..3).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(take(&mut world), ["1 1", "0 0", "1 0", "0 0"]);
}

#[test]
fn changes_at_destruction_are_new_for_the_system_before() {
    let mut world = world();
    world.spawn(A(1));
    world.add_system(watch);
    // The system removes itself before it runs, right after the watcher.
    fn go(world: &mut World) {
        let own = world.executing_system().unwrap();
        world.remove_system(own).unwrap();
    }
    world.add_system(Hooks { start: Some(go), destroy: Some(write), ..Hooks::default() });
    (0..3).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(take(&mut world), ["1 1", "1 0", "0 0"]);
}

#[test]
fn changes_after_a_nested_update_are_new_for_the_nested_system() {
    let mut world = world();
    world.spawn(A(1));
    let watcher = world.add_system(watch.enabled(false));
    world.add_system(move |world: &mut World| {
        world.set_system_enabled(watcher, true).unwrap();
        world.update_system(watcher).unwrap();
        world.set_system_enabled(watcher, false).unwrap();
        write(world);
    });
    (0..3).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(take(&mut world), ["1 1", "1 0", "1 0"]);
}

#[test]
fn changes_after_a_nested_update_are_new_for_a_patch() {
    let mut world = world();
    world.spawn(A(1));
    let inner = world.add_system(say("inner").enabled(false));
    world.add_system(watch.patch());
    world.add_system(move |world: &mut World| {
        world.set_system_enabled(inner, true).unwrap();
        world.update_system(inner).unwrap();
        world.set_system_enabled(inner, false).unwrap();
        write(world);
        world.resource_mut::<Log>().0.push("outer".to_owned());
    });
    world.try_update(0.1).unwrap();
    take(&mut world);
    world.try_update(0.1).unwrap();
    let lines = take(&mut world);
    let after = |name| lines[1 + lines.iter().position(|line| line == name).unwrap()].as_str();
    assert_eq!((after("inner"), after("outer")), ("0 0", "1 0"));
}

#[test]
fn a_lifecycle_call_that_updates_another_system_continues() {
    let mut world = world();
    world.spawn(A(1));
    world.add_system(watch);
    fn update_and_write(world: &mut World) {
        let watcher = world.find_system(watch).unwrap();
        world.update_system(watcher).unwrap();
        write(world);
    }
    world.add_system(Hooks { start: Some(update_and_write), ..Hooks::default() });
    (0..3).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(take(&mut world), ["1 1", "0 0", "1 0", "0 0"]);
}

#[test]
fn commands_of_a_point_are_new_for_all_systems_before_it() {
    let mut world = world();
    world.add_system(watch);
    let mut frame = 0;
    let spawner = move |mut commands: CommandsAt<EndSimulation>| {
        frame += 1;
        if frame == 1 {
            commands.commands().spawn(A(1));
        }
    };
    world.add_system(spawner.before(watch));
    (0..3).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(take(&mut world), ["0 0", "1 1", "0 0"]);
}

#[test]
fn changes_between_updates_are_new_for_all_systems() {
    let mut world = world();
    world.spawn(A(1));
    let id = world.add_system(watch.last());
    world.try_update(0.1).unwrap();
    write(&mut world);
    world.try_update(0.1).unwrap();
    world.update_system(id).unwrap();
    write(&mut world);
    world.update_system(id).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1 1", "1 0", "0 0", "1 0", "0 0"]);
}

#[test]
fn a_system_does_not_see_its_own_changes() {
    let mut world = world();
    world.spawn(A(1));
    let inner = world.add_system((|| {}).enabled(false));
    let log = Shared::default();
    let seen = log.clone();
    world.add_system(move |world: &mut World| {
        let since = world.last_run();
        let changed = world.query_filtered::<(), Changed<A>>().since(since).count();
        seen.push(changed.to_string());
        write(world);
        world.update_system(inner).unwrap();
        write(world);
    });
    (0..3).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(log.take(), ["1", "0", "0"]);
}

#[test]
fn changes_stay_new_for_a_system_that_did_not_run() {
    #[derive(Resource, Clone)]
    struct Fuel;

    fn watch_with_fuel(changed: Query<(), Changed<A>>, _: Res<Fuel>, mut log: ResMut<Log>) {
        log.0.push(changed.count().to_string());
    }

    // Profiling uses another code path for updates.
    for profiled in [false, true] {
        let mut world = world();
        world.profile_systems(profiled);
        world.insert_resource(Fuel);
        world.spawn(A(1));
        world.add_system(watch_with_fuel);
        world.try_update(0.1).unwrap();
        write(&mut world);
        world.remove_resource::<Fuel>();
        assert!(world.try_update(0.1).unwrap_err().to_string().starts_with("A0103: "));
        world.insert_resource(Fuel);
        world.try_update(0.1).unwrap();
        world.try_update(0.1).unwrap();
        assert_eq!(take(&mut world), ["1", "1", "0"]);
    }
}

#[test]
fn changes_are_old_for_a_system_that_failed() {
    fn watch_and_fail(changed: Query<(), Changed<A>>, mut log: ResMut<Log>) -> Result<(), String> {
        log.0.push(changed.count().to_string());
        Err("no fuel".to_owned())
    }

    for profiled in [false, true] {
        let mut world = world();
        world.profile_systems(profiled);
        world.spawn(A(1));
        world.add_system(watch_and_fail);
        (0..2).for_each(|_| assert!(world.try_update(0.1).is_err()));
        assert_eq!(take(&mut world), ["1", "0"]);
    }
}

#[test]
fn lifecycle_calls_see_the_last_run_of_their_system() {
    let log = Shared::default();

    struct Asks(Shared);

    impl Asks {
        fn ask(&self, world: &World) -> SystemResult {
            let last = world.last_run();
            self.0.push(if last == Version::NEVER { "never" } else { "before" });
            Ok(())
        }
    }

    impl System for Asks {
        fn on_create(&mut self, world: &mut World) -> SystemResult {
            self.ask(world)
        }

        fn on_start_running(&mut self, world: &mut World) -> SystemResult {
            self.ask(world)
        }

        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }

        fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
            self.ask(world)
        }
    }

    let mut world = world();
    world.add_system(|| {});
    let asks = log.clone();
    let mut frame = 0;
    world.add_system(move |world: &mut World| {
        frame += 1;
        if frame == 2 {
            world.add_system(Asks(asks.clone()));
            let id = world.find_system(ancho_entities::system_type::<Asks>()).unwrap();
            let before = world.last_run();
            world.update_system(id).unwrap();
            assert_eq!(world.last_run(), before);
            world.remove_system(id).unwrap();
            assert_eq!(world.last_run(), before);
        }
    });
    (0..2).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(log.take(), ["never", "never", "before"]);
    assert_eq!(world.last_run(), Version::NEVER);
}
