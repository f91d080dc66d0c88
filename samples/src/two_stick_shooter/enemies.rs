//! Enemies: where they come from, and when they shoot.

use ancho::entities::CommandsAt;
use ancho::prelude::*;

use super::player::Player;
use super::shots::{ShotRequest, ShotSpawn};
use super::{FIELD, Heading, Health, Look, MoveSpeed, Position};
use crate::random::Random;

/// Units a second.
const SPEED: f32 = 8.0;
/// Seconds between two of them.
const SPAWN_COOLDOWN: f32 = 0.15;
/// Seconds between two shots of one.
const SHOOT_COOLDOWN: f32 = 1.0;
const HEALTH: i32 = 100;

#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Enemy {
    /// Seconds until its next shot.
    cooldown: f32,
}

#[cfg(test)]
impl Enemy {
    /// One that does not shoot.
    pub(super) fn at_rest() -> Self {
        Self { cooldown: f32::INFINITY }
    }

    /// One that shoots at once.
    pub(super) fn ready() -> Self {
        Self { cooldown: 0.0 }
    }
}

/// Has enemies come. Its random numbers are part of it, so that a game that is replayed goes the same way.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct EnemySpawner {
    pub(super) cooldown: f32,
    pub(super) count: usize,
    pub(super) random: Random,
}

/// At the upper edge, anywhere.
pub(super) fn spawn_enemies(
    time: Time,
    mut spawner: Single<&mut EnemySpawner>,
    players: Query<&Player>,
    mut commands: Commands,
) {
    spawner.cooldown = (spawner.cooldown - time.delta()).max(0.0);
    if spawner.cooldown > 0.0 || players.is_empty() {
        return;
    }
    spawner.cooldown = SPAWN_COOLDOWN;
    for _ in 0..spawner.count {
        let place = Vec3::new(spawner.random.between(-FIELD, FIELD), 0.0, FIELD);
        let enemy = commands.spawn((
            Enemy { cooldown: SHOOT_COOLDOWN },
            Position(place),
            Heading(Vec3::NEG_Z),
            MoveSpeed(SPEED),
            Health(HEALTH),
        ));
        commands.add(enemy, Shared::new(Look::Enemy));
    }
}

/// One job, which asks for shots. They are there after [`ShotSpawn`], before anything moves.
pub(super) fn shoot(
    time: Time,
    enemies: Query<(&mut Enemy, &Position)>,
    players: Query<&Position, With<Player>>,
    mut commands: CommandsAt<ShotSpawn>,
) {
    let Some(&target) = players.iter().next() else { return };
    let dt = time.delta();
    let job = enemies.job().with(commands.writer());
    job.schedule(move |(enemy, position), commands| {
        enemy.cooldown -= dt;
        if enemy.cooldown <= 0.0 {
            enemy.cooldown = SHOOT_COOLDOWN;
            let heading = Heading((target.0 - position.0).normalize_or(Vec3::NEG_Z));
            commands.spawn(ShotRequest::of_enemy(*position, heading));
        }
    });
}

/// Those that have left the field count as dead.
pub(super) fn remove_outside(mut enemies: Query<(&Position, &mut Health), With<Enemy>>) {
    enemies.schedule_parallel(|(position, health)| {
        if position.0.z.abs() > FIELD {
            health.0 = -1;
        }
    });
}
