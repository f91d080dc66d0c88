//! The player: input, script and movement.

use ancho::prelude::*;

use super::shots::{EnemyShot, SHOT_SPEED, ShotRequest};
use super::{Enemy, FIELD_HALF_SIZE, Heading, Health, MoveSpeed, Position};
use crate::gallery::Key;

/// Speed of the player, in units per second.
const SPEED: f32 = 15.0;
/// Seconds between two shots.
const COOLDOWN: f32 = 0.1;
/// Seconds for which a key press lasts: until the key repeats.
const KEY_SECONDS: f32 = 0.3;
/// Seconds without a key before the script plays again.
const IDLE_SECONDS: f32 = 3.0;

/// The player's entity.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Player {
    /// Position of the stick that moves, of length at most one. `shoot` is the position of the
    /// stick that shoots.
    movement: Vec3,
    shoot: Vec3,
    /// Seconds until the next shot.
    pub(super) cooldown: f32,
}

/// Keys that were pressed, and their remaining effect.
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

#[cfg(test)]
impl Pilot {
    /// Holds the stick that shoots in this direction, and leaves the other stick unchanged.
    pub(super) fn hold_to_shoot(&mut self, shoot: Vec3) {
        (self.shoot, self.shoots_for) = (shoot, KEY_SECONDS);
        self.steers_for = IDLE_SECONDS;
    }
}

/// Returns the components of a player, without its look.
pub(super) fn new() -> (Player, Pilot, Position, Heading, Health) {
    let player = Player { movement: Vec3::ZERO, shoot: Vec3::ZERO, cooldown: 0.0 };
    (player, Pilot::default(), Position(Vec3::ZERO), Heading(Vec3::Z), Health(5))
}

/// Handles a key press.
pub(super) fn press(world: &mut World, key: Key) {
    for (pilot, _) in world.query_mut::<(&mut Pilot, &Player)>() {
        let direction = match key {
            Key::Up | Key::Char('w') => Vec3::Z,
            Key::Down | Key::Char('s') => Vec3::NEG_Z,
            Key::Left | Key::Char('a') => Vec3::NEG_X,
            Key::Right | Key::Char('d') => Vec3::X,
            Key::Char(_) => return,
        };
        pilot.steers_for = IDLE_SECONDS;
        if let Key::Char(_) = key {
            (pilot.movement, pilot.moves_for) = (direction, KEY_SECONDS);
        } else {
            (pilot.shoot, pilot.shoots_for) = (direction, KEY_SECONDS);
        }
    }
}

/// Aims at the future place of the weakest enemy, and dodges shots.
pub(super) fn play_by_script(
    mut players: Query<(&mut Player, &Position, &Pilot)>,
    enemies: Query<(&Position, &Heading, &MoveSpeed, &Health), With<Enemy>>,
    shots: Query<(&Position, &Heading), With<EnemyShot>>,
) {
    for (player, here, _) in players.iter_mut().filter(|(.., pilot)| !pilot.is_steered()) {
        let distance = |place: &Position| place.0.distance(here.0);
        let weakest = enemies.iter().min_by(|(a, .., a_health), (b, .., b_health)| {
            a_health.0.cmp(&b_health.0).then(distance(a).total_cmp(&distance(b)))
        });
        player.shoot = weakest.map_or(Vec3::ZERO, |(place, heading, speed, _)| {
            let flight = distance(place) / SHOT_SPEED;
            (place.0 + heading.0 * speed.0 * flight - here.0).normalize_or_zero()
        });
        player.movement = here.0 * -0.02;
        for (shot, heading) in &shots {
            let way = here.0 - shot.0;
            let ahead = way.dot(heading.0);
            let aside = way - heading.0 * ahead;
            if (0.0..15.0).contains(&ahead) && aside.length() < 2.5 {
                let left = Vec3::new(heading.0.z, 0.0, -heading.0.x);
                player.movement += aside.normalize_or(left) * (3.0 / (1.0 + ahead));
            }
        }
        player.movement = player.movement.clamp_length_max(1.0);
    }
}

/// Turns keys into stick positions, and counts down the keys and the gun.
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

/// Moves the player, and requests a shot if it fires.
pub(super) fn move_player(
    time: Time,
    mut players: Query<(&mut Player, &mut Position, &mut Heading)>,
    mut commands: Commands,
) {
    let dt = time.delta();
    let field = Vec3::new(FIELD_HALF_SIZE, 0.0, FIELD_HALF_SIZE);
    for (player, position, heading) in players.iter_mut() {
        position.0 = (position.0 + dt * SPEED * player.movement).clamp(-field, field);
        if player.cooldown <= 0.0 && player.shoot.length() > 0.5 {
            heading.0 = player.shoot.normalize();
            player.cooldown = COOLDOWN;
            commands.spawn(ShotRequest::of_player(*position, *heading));
        }
    }
}
