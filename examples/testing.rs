//! Tests of systems: a world with a few entities, the system, an update, and assertions.
//!
//! Shows how to test a system function, its errors, the time, commands, and that runs are deterministic and can be rolled back. The
//! tests are at the end.
//!
//! ```toml
//! [dependencies]
//! ancho = { path = "../ancho/crates/ancho" }
//! ```
//!
//! `cargo test` runs the tests. In a clone of ancho: `cargo test -p examples --example testing`.
//!
//! Last line: `2 of 3 plants are alive after 10 s`

use ancho::prelude::*;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Plant {
    /// Litres. A plant dies without water.
    water: f32,
}

#[derive(Component, Clone, Copy)]
struct Watered;

/// The weather, which another part of the program writes.
#[derive(Resource, Clone)]
struct Weather {
    is_hot: bool,
}

fn main() {
    let mut world = World::new("Garden");
    world.add_plugin(add_systems);
    world.insert_resource(Weather { is_hot: true });
    world.spawn_batch([Plant { water: 1.0 }, Plant { water: 0.5 }]);
    world.spawn((Plant { water: 0.1 }, Watered));
    for _ in 0..600 {
        world.update(1.0 / 60.0);
    }
    let alive = world.query::<&Plant>().count();
    println!("{alive} of 3 plants are alive after {:.0} s", world.time().elapsed());
}

/// Adds the systems: a plugin. Tests add all systems with it, or one system alone.
fn add_systems(world: &mut World) {
    world.add_system(water);
    world.add_system(evaporate);
    world.add_system(wither);
}

fn water(time: Time, mut plants: Query<&mut Plant, With<Watered>>) {
    let dt = time.delta();
    plants.for_each(|plant| plant.water += 0.2 * dt);
}

/// Fails without a weather: a missing resource is an error of the system.
fn evaporate(time: Time, weather: Res<Weather>, mut plants: Query<&mut Plant>) {
    let rate = if weather.is_hot { 0.075 } else { 0.05 };
    let dt = time.delta();
    plants.schedule_parallel(move |plant| plant.water -= rate * dt);
}

/// Despawns dry plants. Returns an error for a plant whose water is not a number; `?` takes any error.
fn wither(plants: Query<(Entity, &Plant)>, mut commands: Commands) -> SystemResult {
    for (entity, plant) in &plants {
        if plant.water.is_nan() {
            return Err(format!("plant {entity} has no amount of water").into());
        }
        if plant.water <= 0.0 {
            commands.despawn(entity);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One system alone, with a step whose result is easy to compute.
    #[test]
    fn watering_adds_water_to_watered_plants() {
        let mut world = World::new("Test");
        world.add_system(water);
        let watered = world.spawn((Plant { water: 1.0 }, Watered));
        let dry = world.spawn(Plant { water: 1.0 });
        world.update(0.25);
        assert_eq!(world.get(watered), Ok(&Plant { water: 1.05 }));
        assert_eq!(world.get(dry), Ok(&Plant { water: 1.0 }));
    }

    /// A call of the function, with the time made by hand, and a query of the world.
    #[test]
    fn watering_depends_on_the_time() {
        let mut world = World::new("Test");
        let plant = world.spawn((Plant { water: 1.0 }, Watered));
        let call = |plants: Query<_, _>| water(Time::new(0.5, 0.5), plants);
        world.with_params::<Query<&mut Plant, With<Watered>>, _>(call).unwrap();
        assert_eq!(world.get(plant), Ok(&Plant { water: 1.1 }));
    }

    /// Reading a component waits for the jobs that write it.
    #[test]
    fn hot_weather_dries_plants_faster() {
        let left = |is_hot| {
            let mut world = World::new("Test");
            world.insert_resource(Weather { is_hot });
            world.add_system(evaporate);
            let plant = world.spawn(Plant { water: 1.0 });
            world.update(0.25);
            world.get::<Plant>(plant).unwrap().water
        };
        assert!(left(true) < left(false));
    }

    /// Commands are applied right after their system.
    #[test]
    fn dry_plants_are_despawned() {
        let mut world = World::new("Test");
        world.add_system(wither);
        let [dry, alive] = [0.0, 1.0].map(|water| world.spawn(Plant { water }));
        world.update(0.1);
        assert!(!world.exists(dry) && world.exists(alive));
    }

    /// `try_update` returns the errors of systems. `update` panics with the same sentences, so a test that expects none needs
    /// nothing else.
    #[test]
    fn errors_name_the_system() {
        let mut world = World::new("Test");
        world.add_system(wither);
        world.spawn(Plant { water: f32::NAN });
        let errors = world.try_update(0.1).unwrap_err().to_string();
        assert!(errors.contains("wither") && errors.contains("has no amount of water"), "{errors}");
    }

    #[test]
    fn a_missing_resource_is_reported() {
        let mut world = World::new("Test");
        world.add_system(evaporate);
        let errors = world.try_update(0.1).unwrap_err().to_string();
        assert!(errors.contains("evaporate") && errors.contains("Weather"), "{errors}");
    }

    /// Two worlds with the same entities and systems have the same state hash after each update.
    #[test]
    fn runs_are_deterministic() {
        let mut worlds = [(); 2].map(|()| {
            let mut world = World::new("Test");
            world.add_plugin(add_systems);
            world.insert_resource(Weather { is_hot: true });
            world.spawn_many(Plant { water: 0.2 }, 1_000);
            world
        });
        for _ in 0..100 {
            let [one, other] = worlds.each_mut().map(|world| {
                world.update(0.05);
                world.state_hash()
            });
            assert_eq!(one, other);
        }
        assert_eq!(worlds[0].query::<&Plant>().count(), 0);
    }

    /// After a rollback, the same updates lead to the same states.
    #[test]
    fn runs_can_be_rolled_back() {
        let mut world = World::new("Test");
        world.add_plugin(add_systems);
        world.insert_resource(Weather { is_hot: true });
        world.spawn_many(Plant { water: 0.2 }, 1_000);
        ancho::entities::assert_replays(&mut world, 100);
    }
}
