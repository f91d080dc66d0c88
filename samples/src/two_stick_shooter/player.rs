//! The player: who steers, and what comes of it.

use ancho::prelude::*;

use super::shots::{EnemyShot, ShotRequest};
use super::{Enemy, FIELD, Heading, Health, Look, Position};
use crate::gallery::Key;

/// Units a second.
const SPEED: f32 = 15.0;
/// Seconds between two shots.
const COOLDOWN: f32 = 0.1;
/// How long a key works: until it repeats.
const KEY_SECONDS: f32 = 0.3;
/// How long nothing is pressed before the script plays again.
const PATIENCE: f32 = 3.0;

/// The player's entity.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Player {
    /// Both sticks, each at most one long.
    movement: Vec3,
    shoot: Vec3,
    /// Seconds until the next shot.
    pub(super) cooldown: f32,
}

/// Keys that were pressed, and what they still do.
#[derive(Component, Clone, Copy, Debug, Default)]
pub(super) struct Pilot {
    movement: Vec3,
    moves_for: f32,
    shoot: Vec3,
    shoots_for: f32,
    steers_for: f32,
}

impl Pilot {
    pub(super) fn is_steered(&self) -> bool {
        self.steers_for > 0.0
    }
}

pub(super) fn new() -> (Player, Pilot, Position, Heading, Health) {
    let player = Player { movement: Vec3::ZERO, shoot: Vec3::ZERO, cooldown: 0.0 };
    (player, Pilot::default(), Position(Vec3::ZERO), Heading(Vec3::Z), Health(5))
}

/// Somebody has pressed a key.
pub(super) fn press(world: &mut World, key: Key) {
    for (pilot, _) in world.query_mut::<(&mut Pilot, &Player)>() {
        let direction = match key {
            Key::Up | Key::Char('w') => Vec3::Z,
            Key::Down | Key::Char('s') => Vec3::NEG_Z,
            Key::Left | Key::Char('a') => Vec3::NEG_X,
            Key::Right | Key::Char('d') => Vec3::X,
            Key::Char(_) => return,
        };
        pilot.steers_for = PATIENCE;
        if let Key::Char(_) = key {
            (pilot.movement, pilot.moves_for) = (direction, KEY_SECONDS);
        } else {
            (pilot.shoot, pilot.shoots_for) = (direction, KEY_SECONDS);
        }
    }
}

/// Shoots at the nearest enemy, and keeps away from shots and from the edge.
pub(super) fn play_by_script(
    mut players: Query<(&mut Player, &Position, &Pilot)>,
    enemies: Query<&Position, With<Enemy>>,
    shots: Query<&Position, With<EnemyShot>>,
) {
    for (player, position, _) in players.iter_mut().filter(|(.., pilot)| !pilot.is_steered()) {
        let away_from = |place: &Position| position.0 - place.0;
        let nearest = enemies
            .iter()
            .map(away_from)
            .min_by(|a, b| a.length_squared().total_cmp(&b.length_squared()));
        player.shoot = nearest.map_or(Vec3::ZERO, |away| -away.normalize_or_zero());
        let mut movement = position.0 * -0.01;
        for away in shots.iter().map(away_from) {
            let distance = away.length_squared().max(0.1);
            if distance < 64.0 {
                movement += 2.0 * away / distance;
            }
        }
        player.movement = movement.clamp_length_max(1.0);
    }
}

/// Turns keys into sticks, and has time pass for those and the gun.
pub(super) fn take_input(time: Time, mut players: Query<(&mut Player, &mut Pilot)>) {
    let dt = time.delta();
    for (player, pilot) in players.iter_mut() {
        if pilot.is_steered() {
            let held = |direction, seconds| if seconds > 0.0 { direction } else { Vec3::ZERO };
            player.movement = held(pilot.movement, pilot.moves_for);
            player.shoot = held(pilot.shoot, pilot.shoots_for);
        }
        pilot.moves_for = (pilot.moves_for - dt).max(0.0);
        pilot.shoots_for = (pilot.shoots_for - dt).max(0.0);
        pilot.steers_for = (pilot.steers_for - dt).max(0.0);
        player.cooldown = (player.cooldown - dt).max(0.0);
    }
}

/// Moves the player, and asks for a shot if it fires.
pub(super) fn move_player(
    time: Time,
    mut players: Query<(&mut Player, &mut Position, &mut Heading)>,
    mut commands: Commands,
) {
    let dt = time.delta();
    let field = Vec3::new(FIELD, 0.0, FIELD);
    for (player, position, heading) in players.iter_mut() {
        position.0 = (position.0 + dt * SPEED * player.movement).clamp(-field, field);
        if player.cooldown <= 0.0 && player.shoot.length() > 0.5 {
            heading.0 = player.shoot.normalize();
            player.cooldown = COOLDOWN;
            commands.spawn(ShotRequest::of_player(*position, *heading));
        }
    }
}

/// Makes the first player.
pub(super) fn spawn(entities: &mut EntityManager) {
    let player = entities.spawn(new());
    let added = entities.add_shared(player, Look::Player);
    debug_assert!(added.is_ok());
}
