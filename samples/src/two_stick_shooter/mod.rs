//! A shooter for two sticks: one moves, the other shoots. Enemies come from above.
//!
//! All state is in entities. Even the request for a shot is an entity, which a later system turns into the shot.
//! Systems that make structural changes record commands. Commands of `Commands` are applied when the system returns.
//! Commands of `CommandsAt` are applied at their point of the frame, after the jobs that record them.
//!
//! If no key is pressed for a while, a script plays.

mod enemies;
mod player;
mod shots;
#[cfg(test)]
mod tests;

use ancho::burst::math::Random;
use ancho::entities::{CommandsAt, EndSimulation};
use ancho::prelude::*;

use crate::gallery::{Canvas, Color, Kind, Options, Sample, SampleResult, Steering, WorldSample};
use enemies::{Enemy, EnemySpawner};
use player::Player;
use shots::{EnemyShot, PlayerShot, ShotSpawn};

pub(crate) const SAMPLE: Sample = Sample {
    name: "two_stick_shooter",
    summary: "a shooter, played by a script until you press a key",
    kind: Kind::World(WorldSample {
        counts: "enemies that appear at a time",
        entities: 1,
        most: 1_000,
        frames: 1200,
        seed: Some(0xAF77),
        build,
        add_systems,
        paint,
        steering: Some(Steering { help: "w a s d move   arrows shoot", press: player::press }),
    }),
};

/// Distance of the field's edges from its middle.
const FIELD_HALF_SIZE: f32 = 30.0;

/// Distance at which shots hit.
const HIT_RADIUS: f32 = 1.0;

#[derive(Component, Clone, Copy, Debug)]
struct Position(Vec3);

/// Direction of view and of movement, a vector of length 1.
#[derive(Component, Clone, Copy, Debug)]
struct Heading(Vec3);

/// Forward speed, in units per second.
#[derive(Component, Clone, Copy, Debug)]
struct MoveSpeed(f32);

#[derive(Component, Clone, Copy, Debug)]
struct Health(i32);

/// Appearance of an entity. It is shared: all entities of a chunk look the same.
#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Look {
    Player,
    Enemy,
    PlayerShot,
    EnemyShot,
}

/// Score of the session.
#[derive(Component, Clone, Copy, Debug, Default)]
struct Score {
    /// Number of destroyed enemies.
    kills: u32,
    /// Number of lost games.
    defeats: u32,
    /// Seconds without a player.
    pause: f32,
}

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("TwoStickShooter");
    world.spawn(Score::default());
    let random = Random::new(options.seed);
    world.spawn(EnemySpawner { cooldown: 0.0, count: options.entities, random });
    let player = world.spawn(player::new());
    world.add(player, Shared::new(Look::Player))?;
    Ok(world)
}

fn add_systems(world: &mut World) {
    world.add_system(player::play_by_script);
    world.add_system(player::take_input);
    world.add_system(player::move_player);
    world.add_system(enemies::spawn_enemies);
    world.add_system(enemies::shoot);
    world.add_system(ShotSpawn);
    world.add_system(shots::spawn_shots);
    world.add_system(move_forward);
    world.add_system(shots::damage::<Enemy, PlayerShot>);
    world.add_system(shots::damage::<Player, EnemyShot>);
    world.add_system(shots::destroy_shots);
    world.add_system(enemies::remove_outside);
    world.add_system(remove_dead);
    world.add_system(restart);
}

fn move_forward(time: Time, mut movers: Query<(&mut Position, &Heading, &MoveSpeed)>) {
    let dt = time.delta();
    movers.schedule_parallel(move |(position, heading, speed)| {
        position.0 += dt * speed.0 * heading.0;
    });
}

/// Destroys entities without health, or everything with health if there is no living player.
fn remove_dead(
    mortals: Query<(Entity, &Health)>,
    players: Query<&Health, With<Player>>,
    mut commands: CommandsAt<EndSimulation>,
) -> JobHandle {
    let is_lost = players.iter().all(|health| health.0 <= 0);
    let job = mortals.job().with(commands.writer());
    job.schedule_parallel(move |(entity, health), commands| {
        if health.0 <= 0 || is_lost {
            commands.despawn(entity);
        }
    })
}

/// Counts kills and defeats, and restarts two seconds after a defeat.
fn restart(
    time: Time,
    enemies: Query<&Health, With<Enemy>>,
    players: Query<&Health, With<Player>>,
    mut score: Single<&mut Score>,
    mut commands: Commands,
) {
    // Enemies that have left the field have negative health.
    score.kills += enemies.iter().filter(|health| health.0 == 0).count() as u32;
    match players.iter().next() {
        Some(health) => score.defeats += u32::from(health.0 <= 0),
        None => score.pause += time.delta(),
    }
    if score.pause >= 2.0 {
        score.pause = 0.0;
        let player = commands.spawn(player::new());
        commands.add(player, Shared::new(Look::Player));
    }
}

fn paint(world: &World, canvas: &mut Canvas) {
    canvas.look_at(Vec3::ZERO, Vec2::splat(2.0 * FIELD_HALF_SIZE + 4.0));
    for (position, look) in &world.query::<(&Position, &Shared<Look>)>() {
        match *look {
            Look::Player => canvas.disc(position.0, 1.2, Color::GREEN),
            Look::Enemy => canvas.disc(position.0, 1.0, Color::RED),
            Look::PlayerShot => canvas.square(position.0, 0.6, Color::YELLOW),
            Look::EnemyShot => canvas.square(position.0, 0.6, Color::VIOLET),
        }
    }
    if let Ok(score) = world.singleton::<Score>() {
        canvas.caption(format!("{} enemies shot, {} defeats", score.kills, score.defeats));
    }
    if let Ok((health, pilot)) = world.query::<(&Health, &player::Pilot)>().single() {
        let who = if pilot.is_steered() { "you steer" } else { "a script plays" };
        canvas.caption(format!("health {}   {who}", health.0));
    }
}
