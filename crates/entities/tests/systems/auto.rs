//! Systems that a world collects automatically.
// The generated code compiles where unsafe code is forbidden.
#![forbid(unsafe_code)]

use ancho_entities::{
    AutoSystem, Bootstrap, CommandPoint, CommandsAt, Presentation, ResMut, Resource, System,
    SystemError, SystemGroup, SystemResult, World, WorldSettings, bootstrap, system,
};

#[derive(Resource)]
#[resource(local)]
struct Log(Vec<&'static str>);

/// Its path sorts before that of its group.
mod actors {
    use super::*;

    #[system(in_group(groups::Physics))]
    fn collide(mut log: ResMut<Log>) {
        log.0.push("collide");
    }

    #[system(in_group(groups::Inner), before("think"), named("act"))]
    fn act(mut log: ResMut<Log>) {
        log.0.push("act");
    }

    #[system(in_group(groups::Inner), named("think"))]
    fn think(mut log: ResMut<Log>) {
        log.0.push("think");
    }

    #[system(last)]
    fn births(mut log: ResMut<Log>, mut commands: CommandsAt<points::Births>) {
        log.0.push("births");
        commands.commands().spawn(());
    }
}

mod groups {
    use super::*;

    /// Its path sorts before that of its group.
    #[system(in_group(Physics))]
    pub(super) struct Inner;

    impl SystemGroup for Inner {}

    #[system]
    pub(super) struct Physics;

    impl SystemGroup for Physics {}
}

mod points {
    use super::*;

    #[system(in_group(Presentation))]
    pub(super) struct Births;

    impl CommandPoint for Births {}
}

#[system(in_group(Presentation))]
#[derive(Default)]
struct Draw {
    frames: u32,
}

impl System for Draw {
    fn on_update(&mut self, world: &mut World) -> SystemResult {
        self.frames += 1;
        world.resource_mut::<Log>().0.push("draw");
        Ok(())
    }
}

#[system]
#[cfg(any())]
fn not_compiled() {}

#[bootstrap]
fn game(bootstrap: Bootstrap) -> World {
    let mut world = bootstrap.settings(WorldSettings::new().strict(true)).build();
    world.insert_resource(Log(Vec::new()));
    world
}

const PATHS: [&str; 8] = [
    "systems::auto::Draw",
    "systems::auto::actors::act",
    "systems::auto::actors::births",
    "systems::auto::actors::collide",
    "systems::auto::actors::think",
    "systems::auto::groups::Inner",
    "systems::auto::groups::Physics",
    "systems::auto::points::Births",
];

fn paths(systems: &[&AutoSystem]) -> Vec<&'static str> {
    systems.iter().map(|system| system.path()).collect()
}

#[test]
fn systems_are_found_in_the_order_of_their_paths() {
    assert_eq!(paths(&AutoSystem::all()), PATHS);
}

#[test]
fn the_bootstrap_function_creates_the_default_world_with_all_systems() {
    let mut world = World::default_world();
    assert_eq!(world.name(), "Default World");
    // The hook has made the world strict.
    let gone = world.spawn(());
    world.despawn(gone).unwrap();
    assert!(world.despawn(gone).is_err());
    world.try_update(0.1).unwrap();
    assert_eq!(world.resource::<Log>().0, ["act", "think", "collide", "births", "draw"]);
    assert_eq!(world.system::<Draw>().unwrap().frames, 1);
    assert_eq!(world.entity_count(), 1);
}

#[test]
fn every_world_has_its_own_systems() {
    let mut first = World::default_world();
    let mut second = World::default_world();
    first.try_update(0.1).unwrap();
    first.try_update(0.1).unwrap();
    second.try_update(0.1).unwrap();
    assert_eq!(first.system::<Draw>().unwrap().frames, 2);
    assert_eq!(second.system::<Draw>().unwrap().frames, 1);
    assert_eq!(first.system_order().to_string(), second.system_order().to_string());
}

#[test]
fn systems_can_be_excluded() {
    let mut world = Bootstrap::new("Server")
        .without("systems::auto::Draw")
        .retain(|system| !system.path().ends_with("::births"))
        .build();
    world.insert_resource(Log(Vec::new()));
    world.try_update(0.1).unwrap();
    assert_eq!(world.resource::<Log>().0, ["act", "think", "collide"]);
    assert!(world.system::<Draw>().is_none());
}

#[test]
fn excluding_an_unknown_system_is_an_error() {
    let refused = Bootstrap::new("Server").without("draw").try_build().unwrap_err();
    assert!(matches!(refused, SystemError::NoAutoSystem { .. }));
    assert_eq!(
        refused.to_string(),
        "A0129: the system `draw` cannot be left out, because no system with this path is marked with `#[system]`; \
         `AutoSystem::all` lists the paths"
    );
}

#[test]
fn systems_of_an_excluded_group_are_an_error() {
    let refused = Bootstrap::new("Server").without("systems::auto::groups::Physics").try_build();
    let told = refused.unwrap_err().to_string();
    assert!(told.starts_with("A0110: "), "{told}");
    assert!(told.contains("Physics"), "{told}");
}
