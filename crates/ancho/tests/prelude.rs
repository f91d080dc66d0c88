//! The prelude is small, and sufficient for a program of systems.
#![cfg(feature = "derive")]

use ancho::entities::Initialization;
use ancho::prelude::*;

#[derive(Component, Clone, Copy)]
struct Orc {
    health: u32,
}

#[derive(Component)]
struct Dead;

/// Events of a battle.
#[derive(Resource, Clone, Default)]
struct Report {
    lines: Vec<String>,
}

struct Rules;

impl SystemGroup for Rules {}

/// Wounds all orcs, in a job, and counts its updates.
#[derive(Default)]
struct Plague {
    updates: u32,
}

impl System for Plague {
    fn on_create(&mut self, world: &mut World) -> SystemResult {
        world.insert_resource(Report::default());
        Ok(())
    }

    fn on_update(&mut self, world: &mut World) -> SystemResult {
        self.updates += 1;
        world.query_mut::<&mut Orc>().schedule_parallel(|orc| {
            orc.health = orc.health.saturating_sub(1);
        });
        Ok(())
    }
}

fn bury(orcs: Query<(Entity, &Orc), Without<Dead>>, mut commands: CommandsAt<EndSimulation>) {
    let mut commands = commands.commands();
    for (entity, orc) in orcs.iter() {
        if orc.health == 0 {
            commands.add(entity, Dead);
        }
    }
}

fn tell(time: Time, dead: Query<Entity, With<Dead>>, mut report: ResMut<Report>) {
    report.lines.push(format!("{}: {}", time.frame(), dead.count()));
}

fn load(mut commands: Commands, mut is_loaded: Local<bool>) {
    if !*is_loaded {
        commands.spawn(Orc { health: 2 });
        commands.spawn(Orc { health: 3 });
    }
    *is_loaded = true;
}

#[test]
fn systems_and_groups_need_only_the_prelude() {
    let mut world = World::new("Battle");
    world.add_system(Rules.in_group(Simulation));
    world.add_system(Plague::default().in_group(Rules));
    world.add_system(bury.after(Rules));
    world.add_system(tell.in_group(Presentation));
    world.add_system(load.in_group(Initialization));
    for _ in 0..3 {
        world.update(0.1);
    }
    assert_eq!(world.system::<Plague>().unwrap().updates, 3);
    assert_eq!(world.resource::<Report>().lines, ["1: 0", "2: 1", "3: 2"]);
}

#[test]
fn the_prelude_has_at_most_forty_names() {
    let source = include_str!("../src/prelude.rs");
    let lists = source.split("pub use ").skip(1).map(|item| item.split(';').next().unwrap());
    let mut names: Vec<_> = lists
        .flat_map(|list| list.rsplit("::").next().unwrap().split(['{', '}', ',', '\n']))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    assert!(names.contains(&"World") && names.contains(&"burst") && !names.contains(&"*"));
    assert!(names.len() <= 40, "{} names: {names:?}", names.len());
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}
