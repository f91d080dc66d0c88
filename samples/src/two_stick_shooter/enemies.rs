//! Enemies: spawning, shooting and removal.

use ancho::burst::math::Random;
use ancho::entities::CommandsAt;
use ancho::prelude::*;

use super::player::Player;
use super::shots::{ShotRequest, ShotSpawn};
use super::{FIELD_HALF_SIZE, Heading, Health, Look, MoveSpeed, Position};

/// Speed of an enemy, in units per second.
const SPEED: f32 = 8.0;
/// Seconds between two spawns.
const SPAWN_COOLDOWN: f32 = 0.15;
/// Seconds between two shots of an enemy.
const SHOOT_COOLDOWN: f32 = 1.0;
const HEALTH: i32 = 100;

#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Enemy {
    /// Seconds until the next shot.
    cooldown: f32,
}

#[cfg(test)]
impl Enemy {
    /// Returns an enemy that does not shoot.
    pub(super) fn at_rest() -> Self {
        Self { cooldown: f32::INFINITY }
    }

    /// Returns an enemy that shoots immediately.
    pub(super) fn ready() -> Self {
        Self { cooldown: 0.0 }
    }
}

/// Spawns enemies. The random state is part of it, so that a replayed game is identical.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct EnemySpawner {
    pub(super) cooldown: f32,
    pub(super) count: usize,
    pub(super) random: Random,
}

/// Spawns enemies at random places along the upper edge.
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
        let place = Vec3::new(
            spawner.random.range(-FIELD_HALF_SIZE..FIELD_HALF_SIZE),
            0.0,
            FIELD_HALF_SIZE,
        );
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

/// Requests shots, in one job. The shots exist after [`ShotSpawn`], before anything moves.
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

/// Kills enemies that have left the field.
pub(super) fn remove_outside(mut enemies: Query<(&Position, &mut Health), With<Enemy>>) {
    enemies.schedule_parallel(|(position, health)| {
        if position.0.z.abs() > FIELD_HALF_SIZE {
            health.0 = -1;
        }
    });
}
