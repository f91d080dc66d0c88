//! Two teams that send ships from planet to planet, without input.
//!
//! Thousands of ships are created and destroyed in every frame. They are instances of a temporary prefab. On arrival, a
//! ship receives a tag at the end of the frame, and is counted in the next frame.
//!
//! ```text
//! grow_planets   adds occupants to planets with an owner
//! order_attacks  sends all occupants of a planet to another one
//! launch_ships   spawns the ships of these occupants, a few in each frame
//! move_ships     moves ships around planets, and marks ships that have arrived
//! land_ships     lets arrived ships fight or settle, and removes them
//! ```

#[cfg(test)]
mod tests;

use ancho::burst::math::Random;
use ancho::entities::{CommandsAt, EndSimulation};
use ancho::prelude::*;

use crate::gallery::{Canvas, Color, Kind, Options, Sample, SampleResult, WorldSample};

pub(crate) const SAMPLE: Sample = Sample {
    name: "galactic_conquest",
    summary: "two teams send ships from planet to planet, and play by themselves",
    kind: Kind::World(WorldSample {
        counts: "maximum number of ships in flight",
        entities: 50_000,
        most: 5_000_000,
        frames: 900,
        seed: Some(1),
        build,
        add_systems,
        paint,
        steering: None,
    }),
};

const PLANETS: usize = 20;
/// Number of attempts to place a planet.
const PLACE_ATTEMPTS: usize = 500;
/// Radius of the galaxy.
const GALAXY_RADIUS: f32 = 100.0;
/// Seconds between two turns, in which planets grow and the teams make a move.
const TURN_SECONDS: f32 = 0.1;
const GROWTH: i32 = 100;
/// Number of ships that leave a planet per second.
const LAUNCHES_PER_SECOND: f32 = 1000.0;
const SHIP_SPEED: f32 = 4.0;

#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
enum Team {
    Neutral,
    One,
    Two,
}

#[derive(Component, Clone, Copy)]
struct Position(Vec2);

#[derive(Component, Clone, Copy, Debug)]
struct Planet {
    radius: f32,
    occupants: i32,
}

/// Ships that wait on a planet, and their target.
#[derive(Component, Clone, Copy, Debug)]
struct Launch {
    target: Entity,
    ships: i32,
}

#[derive(Component, Clone, Copy)]
struct Ship {
    target: Entity,
}

/// Tag of a ship that has reached its target.
#[derive(Component, Clone, Copy)]
struct Arrived;

/// State of the game. A singleton.
#[derive(Component, Clone, Copy, Debug)]
struct Game {
    random: Random,
    /// Seconds until the next turn. `is_turn` is true if a turn is in this frame.
    next_turn: f32,
    is_turn: bool,
    /// Maximum number of ships in flight. Other ships wait.
    most_ships: usize,
}

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("Galactic conquest");
    let mut random = Random::new(options.seed);
    let places = planets(&mut random);
    // Two planets for each team. The others are neutral.
    let owners = [Team::One, Team::One, Team::Two, Team::Two];
    let owners = owners.into_iter().chain(std::iter::repeat(Team::Neutral));
    for ((place, radius), team) in places.into_iter().zip(owners) {
        let occupants = if team == Team::Neutral { random.range(1..100) } else { GROWTH };
        world.spawn((Planet { radius, occupants }, Position(place), team));
    }
    let most_ships = options.entities;
    world.create_singleton(Game { random, next_turn: TURN_SECONDS, is_turn: false, most_ships })?;
    Ok(world)
}

fn add_systems(world: &mut World) {
    world.add_system(take_turns);
    world.add_system(grow_planets);
    world.add_system(order_attacks);
    world.add_system(launch_ships);
    world.add_system(move_ships);
    world.add_system(land_ships);
}

/// Returns positions and radii of planets that do not touch each other.
fn planets(random: &mut Random) -> Vec<(Vec2, f32)> {
    let mut planets: Vec<(Vec2, f32)> = Vec::new();
    for _ in 0..PLACE_ATTEMPTS {
        let (place, radius) =
            (random.inside_unit_circle() * GALAXY_RADIUS, random.range(5.0..20.0));
        let is_free = |other: &(Vec2, f32)| other.0.distance(place) > other.1 + radius;
        if planets.len() < PLANETS && planets.iter().all(is_free) {
            planets.push((place, radius));
        }
    }
    planets
}

fn take_turns(time: Time, mut game: Single<&mut Game>) {
    game.next_turn -= time.delta();
    game.is_turn = game.next_turn <= 0.0;
    if game.is_turn {
        game.next_turn += TURN_SECONDS;
    }
}

fn grow_planets(game: Single<&Game>, mut planets: Query<(&mut Planet, &Team)>) {
    if game.is_turn {
        planets.for_each(|(planet, team)| {
            planet.occupants += if *team == Team::Neutral { 0 } else { GROWTH };
        });
    }
}

/// Chooses a source and a target at random, and sends all ships if the source has an owner.
fn order_attacks(
    mut game: Single<&mut Game>,
    mut planets: Query<(Entity, &mut Planet, &Team), Without<Launch>>,
    targets: Query<Entity, With<Launch>>,
    mut commands: Commands,
) {
    if !game.is_turn {
        return;
    }
    let mut all = planets.to_entities();
    let ready = all.len();
    all.extend(targets.iter());
    if ready == 0 || all.len() < 2 {
        return;
    }
    let source = game.random.range(0..ready);
    let target = (source + 1 + game.random.range(0..all.len() - 1)) % all.len();
    let Some((entity, planet, team)) = planets.get_mut(all[source]) else { return };
    if *team != Team::Neutral && planet.occupants > 0 {
        commands.add(entity, Launch { target: all[target], ships: planet.occupants });
        planet.occupants = 0;
    }
}

/// Spawns ships on the rims of planets. All ships that leave a planet together are instances of one temporary ship.
fn launch_ships(
    time: Time,
    mut game: Single<&mut Game>,
    mut planets: Query<(Entity, &Planet, &Position, &Team, &mut Launch)>,
    ships: Query<&Ship>,
    mut commands: Commands,
) {
    let most = ((LAUNCHES_PER_SECOND * time.delta()) as i32).max(1);
    let mut room = game.most_ships.saturating_sub(ships.count());
    for (planet_entity, planet, place, &team, launch) in &mut planets {
        if room == 0 {
            break;
        }
        let count = launch.ships.min(most).min(room as i32);
        let prefab = commands.spawn((Ship { target: launch.target }, *place, team, Prefab));
        let new = commands.instantiate_many(prefab, count as usize).to_vec();
        for ship in new {
            // The rim is nearer than any other planet, since planets do not touch.
            let rim = place.0 + game.random.on_unit_circle() * planet.radius;
            commands.set(ship, Position(rim));
        }
        commands.despawn(prefab);
        room -= count as usize;
        launch.ships -= count;
        if launch.ships == 0 {
            commands.remove::<Launch>(planet_entity);
        }
    }
}

/// Moves all ships towards their targets, and out of planets that obstruct them.
#[burst]
fn move_ships(
    time: Time,
    planets: Query<(Entity, &Planet, &Position), Without<Ship>>,
    ships: Query<(Entity, &Ship, &mut Position), Without<Arrived>>,
    mut commands: CommandsAt<EndSimulation>,
) -> JobHandle {
    let step = SHIP_SPEED * time.delta();
    let planets = planets.iter().map(|(entity, planet, place)| (entity, place.0, planet.radius));
    let planets: Vec<(Entity, Vec2, f32)> = planets.collect();
    let job = ships.job().named("MoveShips").with(commands.writer());
    job.schedule_parallel(move |(entity, ship, position), commands| {
        let target = planets.iter().find(|planet| planet.0 == ship.target);
        let Some(&(_, target, radius)) = target else { return };
        position.0 += (target - position.0).normalize_or_zero() * step;
        if position.0.distance_squared(target) <= radius * radius {
            commands.add(entity, Arrived);
        }
        for &(planet, place, radius) in &planets {
            let out = position.0 - place;
            if planet != ship.target && out.length_squared() < radius * radius {
                position.0 = place + out.try_normalize().unwrap_or(Vec2::X) * radius;
            }
        }
    })
}

/// Adds arrived ships to their own planets, and has them attack others, one by one in their order.
fn land_ships(
    ships: Query<(Entity, &Ship, &Team), With<Arrived>>,
    mut planets: Lookup<(&mut Planet, &mut Team), Without<Ship>>,
    mut commands: Commands,
) {
    for (entity, ship, &team) in &ships {
        commands.despawn(entity);
        let Some((planet, owner)) = planets.get_mut(ship.target) else { continue };
        if *owner == team {
            planet.occupants += 1;
            continue;
        }
        planet.occupants -= 1;
        if planet.occupants <= 0 {
            *owner = team;
            planet.occupants = 0;
        }
    }
}

fn paint(world: &World, canvas: &mut Canvas) {
    canvas.look_at(Vec3::ZERO, Vec2::splat(2.0 * (GALAXY_RADIUS + 20.0)));
    let on_map = |place: &Position| Vec3::new(place.0.x, 0.0, place.0.y);
    let color = |team: Team| match team {
        Team::Neutral => Color::GREY,
        Team::One => Color::RED,
        Team::Two => Color::BLUE,
    };
    for (planet, place, &team) in world.query::<(&Planet, &Position, &Team)>() {
        canvas.disc(on_map(place), planet.radius, color(team));
    }
    for (place, &team) in world.query_filtered::<(&Position, &Team), With<Ship>>() {
        canvas.point(on_map(place), color(team).mixed(Color::WHITE, 0.4));
    }
    let planets = world.query::<(&Planet, &Team)>();
    for team in [Team::One, Team::Two] {
        let of_team = planets.iter().filter(|(_, owner)| **owner == team);
        canvas.caption(format!("Team {team:?} has {} planets", of_team.count()));
    }
}
