//! Shots: how they come to be, whom they hit, and when they are gone.

use ancho::entities::{CommandPoint, CommandsAt, EndSimulation, SystemResult};
use ancho::prelude::*;

use super::player::Player;
use super::{Heading, Health, Look, MoveSpeed, Position, RADIUS};

/// How fast the player's shots are, in units a second.
pub(super) const SHOT_SPEED: f32 = 30.0;

/// The point of a frame at which shots that enemies have asked for are there.
pub(super) struct ShotSpawn;

impl CommandPoint for ShotSpawn {}

#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Shot {
    /// Seconds.
    pub(super) time_to_live: f32,
    /// What it takes from the health of those it hits.
    energy: i32,
}

/// Shots that hit enemies.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct PlayerShot;

/// Shots that hit the player.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct EnemyShot;

/// An entity that is to become a shot.
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

/// Turns requests into shots: the entities stay the same.
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

/// What shots do to those they may hit: a system for each side, `damage::<Enemy, PlayerShot>` and `damage::<Player, EnemyShot>`.
///
/// The first job has those who are hit lose health, the second has shots go that have hit somebody. Both get copies of where
/// the others are, so that no job writes what another thread reads.
pub(super) fn damage<Receiver: Component, Of: Component>(
    mut receivers: Query<(&Position, &mut Health), With<Receiver>>,
    mut shots: Query<(&Position, &mut Shot), With<Of>>,
) -> SystemResult {
    // What is only copied does not count as changed.
    let places: Vec<Position> = receivers.to_components()?;
    let flying: Vec<(Position, Shot)> =
        shots.to_components()?.into_iter().zip(shots.to_components()?).collect();
    receivers.schedule_parallel(move |(position, health)| {
        let hits = flying.iter().filter(|(place, _)| meet(place.0, position.0));
        let damage: i32 = hits.map(|(_, shot)| shot.energy).sum();
        if damage > 0 {
            health.0 = (health.0 - damage).max(0);
        }
    });
    shots.schedule_parallel(move |(position, shot)| {
        if places.iter().any(|place| meet(place.0, position.0)) {
            shot.time_to_live = 0.0;
        }
    });
    Ok(())
}

fn meet(a: Vec3, b: Vec3) -> bool {
    a.distance_squared(b) <= RADIUS * RADIUS
}

/// Shots live for a while. Without a player they go at once.
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
