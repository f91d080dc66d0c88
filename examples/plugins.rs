//! Plugins and the main loop: parts of a program that add their own systems, and an `App` that updates the world.
//!
//! Shows plugins as types and as functions, a plugin that needs another one, startup systems, sets, conditions, chains, piped and
//! one-shot systems.
//!
//! ```toml
//! [dependencies]
//! ancho = { path = "../ancho/crates/ancho", features = ["app"] }
//! ```
//!
//! Last line: `day 3: 6 villagers, 22 food`

use ancho::app::{App, Exit};
use ancho::entities::{
    Condition, In, IntoSystems, Plugin, Startup, SystemSet, any_with, every, resource_exists,
};
use ancho::prelude::*;

#[derive(Component, Clone, Copy)]
struct Villager;

#[derive(Resource, Clone, Default)]
struct Food(u32);

#[derive(Resource, Clone, Default)]
struct Calendar {
    day: u32,
}

/// Counts days. A plugin that is a type can have settings, and is added once.
struct CalendarPlugin {
    last_day: u32,
}

impl Default for CalendarPlugin {
    fn default() -> Self {
        Self { last_day: 3 }
    }
}

impl Plugin for CalendarPlugin {
    fn build(self, world: &mut World) -> SystemResult {
        let last_day = self.last_day;
        world.insert_resource(Calendar::default());
        let next_day = move |mut calendar: ResMut<Calendar>, mut exit: ResMut<Exit>| {
            calendar.day += 1;
            if calendar.day == last_day {
                exit.request();
            }
        };
        // A day has one second.
        world.add_system(next_day.named("next_day").run_if(every(1.0)));
        Ok(())
    }
}

/// The systems of villagers.
struct Village;

impl SystemSet for Village {}

/// A plugin can also be a function.
fn village(world: &mut World) {
    world.require_plugin::<CalendarPlugin>();
    world.insert_resource(Food(10));
    let is_inhabited = resource_exists::<Food>.and(any_with::<Villager>);
    // The conditions of a set hold for all its systems, also for those of other plugins.
    world.configure_set(Village).run_if(is_inhabited);
    world.add_system(settle.in_group(Startup));
    // Each system of a chain runs after the one before.
    world.add_systems(
        (harvest, eat, count_births.pipe(settle_more)).chain().in_set(Village).run_if(every(1.0)),
    );
}

fn settle(mut commands: Commands) {
    commands.spawn_many(Villager, 3);
}

fn harvest(villagers: Query<&Villager>, mut food: ResMut<Food>) {
    food.0 += 2 * villagers.count() as u32;
}

fn eat(villagers: Query<&Villager>, mut food: ResMut<Food>) {
    food.0 = food.0.saturating_sub(villagers.count() as u32);
}

/// The output of a piped system is the input of the next one.
fn count_births(food: Res<Food>) -> usize {
    (food.0 / 13) as usize
}

fn settle_more(In(births): In<usize>, mut commands: Commands) {
    commands.spawn_many(Villager, births);
}

/// A one-shot system returns its output to the caller.
fn describe(calendar: Res<Calendar>, villagers: Query<&Villager>, food: Res<Food>) -> String {
    format!("day {}: {} villagers, {} food", calendar.day, villagers.count(), food.0)
}

fn main() {
    let mut world = World::new("Village");
    world.add_plugin(village);
    // The app measures time for the frames, and ends when a system requests it. Without a clock, each frame has the same length.
    let mut finished = App::new(world).fixed_delta(1.0 / 60.0).run();
    println!("{}", finished.worlds[0].run_system(describe).unwrap());
}
