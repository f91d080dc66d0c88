//! Shots: spawning, hits and removal.

use ancho::entities::{CommandPoint, CommandsAt, EndSimulation, SystemResult};
use ancho::prelude::*;

use super::player::Player;
use super::{HIT_RADIUS, Heading, Health, Look, MoveSpeed, Position};

/// Speed of the player's shots, in units per second.
pub(super) const SHOT_SPEED: f32 = 30.0;

/// Point of a frame at which the shots requested by enemies are spawned.
pub(super) struct ShotSpawn;

impl CommandPoint for ShotSpawn {}

#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Shot {
    /// Seconds until the shot is destroyed.
    pub(super) time_to_live: f32,
    /// Health that a hit subtracts.
    energy: i32,
}

/// Shots that hit enemies.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct PlayerShot;

/// Shots that hit the player.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct EnemyShot;

/// Request that turns its entity into a shot.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct ShotRequest {
    position: Position,
    heading: Heading,
    speed: f32,
    is_of_player: bool,
}

impl ShotRequest {
    pub(super) fn of_player(position: Position, heading: Heading) -> Self {
        Self { position, heading, speed: SHOT_SPEED, is_of_player: true }
    }

    pub(super) fn of_enemy(position: Position, heading: Heading) -> Self {
        Self { position, heading, speed: 20.0, is_of_player: false }
    }
}

/// Turns requests into shots, on the same entities.
pub(super) fn spawn_shots(requests: Query<(Entity, &ShotRequest)>, mut commands: Commands) {
    for (entity, request) in &requests {
        commands.remove::<ShotRequest>(entity);
        let shot = Shot { time_to_live: 2.0, energy: 3 };
        commands.add(entity, (shot, request.position, request.heading, MoveSpeed(request.speed)));
        if request.is_of_player {
            commands.add(entity, PlayerShot);
            commands.add(entity, Shared::new(Look::PlayerShot));
        } else {
            commands.add(entity, EnemyShot);
            commands.add(entity, Shared::new(Look::EnemyShot));
        }
    }
}

/// Applies hits, with one system per side: `damage::<Enemy, PlayerShot>` and `damage::<Player, EnemyShot>`.
///
/// The first job subtracts health from the receivers, the second removes shots that have hit. Both capture copies of
/// the other side's places, so that no job writes data that another thread reads.
pub(super) fn damage<Receiver: Component, Of: Component>(
    mut receivers: Query<(&Position, &mut Health), With<Receiver>>,
    mut shots: Query<(&Position, &mut Shot), With<Of>>,
) -> SystemResult {
    // Copying does not count as a change.
    let places: Vec<Position> = receivers.to_components()?;
    let flying: Vec<(Position, Shot)> =
        shots.to_components()?.into_iter().zip(shots.to_components()?).collect();
    receivers.schedule_parallel(move |(position, health)| {
        let hits = flying.iter().filter(|(place, _)| is_hit(place.0, position.0));
        let damage: i32 = hits.map(|(_, shot)| shot.energy).sum();
        if damage > 0 {
            health.0 = (health.0 - damage).max(0);
        }
    });
    shots.schedule_parallel(move |(position, shot)| {
        if places.iter().any(|place| is_hit(place.0, position.0)) {
            shot.time_to_live = 0.0;
        }
    });
    Ok(())
}

fn is_hit(a: Vec3, b: Vec3) -> bool {
    a.distance_squared(b) <= HIT_RADIUS * HIT_RADIUS
}

/// Destroys shots whose time is over, or all shots if there is no player.
pub(super) fn destroy_shots(
    time: Time,
    shots: Query<(Entity, &mut Shot)>,
    players: Query<&Player>,
    mut commands: CommandsAt<EndSimulation>,
) -> JobHandle {
    let (dt, is_lost) = (time.delta(), players.is_empty());
    let job = shots.job().with(commands.writer());
    job.schedule_parallel(move |(entity, shot), commands| {
        shot.time_to_live -= dt;
        if shot.time_to_live <= 0.0 || is_lost {
            commands.despawn(entity);
        }
    })
}
