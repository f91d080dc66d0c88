use ancho::prelude::*;

use super::player::{Pilot, press};
use super::shots::Shot;
use super::*;
use crate::gallery::Key;
use crate::gallery::tests::{go_on, hash, options, run};

/// A game of one frame, with only so many enemies of this health and place.
fn with_enemy(health: i32, place: Vec3) -> World {
    let mut world = run(&SAMPLE, &options(1), 1);
    world.query_mut::<Entity>().filter::<With<Enemy>>().despawn().unwrap();
    world.query_mut::<&mut EnemySpawner>().for_each(|spawner| spawner.cooldown = 1e9);
    let enemy = world.spawn((Enemy::at_rest(), Position(place), Heading(Vec3::NEG_Z)));
    world.add(enemy, (MoveSpeed(0.0), Health(health))).unwrap();
    world
}

#[test]
fn the_state_is_the_same_in_all_cases() {
    hash(&SAMPLE, 1, 300);
    hash(&SAMPLE, 20, 60);
}

#[test]
fn an_enemy_comes_every_0_15_seconds() {
    let world = run(&SAMPLE, &options(1), 60);
    // At frames 1, 10, 19, …: the cooldown is nine frames of a sixtieth.
    let spawned = world.query::<&Enemy>().count();
    assert!((6..=7).contains(&spawned), "{spawned}");
    for (position, heading, _) in &world.query::<(&Position, &Heading, &Enemy)>() {
        assert!(position.0.x.abs() <= FIELD && position.0.z < FIELD && heading.0 == Vec3::NEG_Z);
    }
}

#[test]
fn enemies_move_8_units_a_second_and_shots_30() {
    let mut world = run(&SAMPLE, &options(1), 1);
    let (enemy, before) = {
        let (entity, position, _) =
            world.query::<(Entity, &Position, &Enemy)>().iter().next().unwrap();
        (entity, *position)
    };
    go_on(&mut world, 30);
    let moved = world.get::<Position>(enemy).unwrap().0 - before.0;
    assert!((moved - Vec3::new(0.0, 0.0, -4.0)).length() < 1e-3, "{moved}");
    let speeds = |world: &World| -> Vec<f32> {
        world.query::<(&MoveSpeed, &PlayerShot)>().iter().map(|(speed, _)| speed.0).collect()
    };
    assert!(!speeds(&world).is_empty() && speeds(&world).iter().all(|&speed| speed == 30.0));
}

#[test]
fn the_player_shoots_ten_times_a_second_and_shots_last_two_seconds() {
    // Far away and immortal: the script shoots at it, and never hits.
    let mut world = with_enemy(i32::MAX, Vec3::new(0.0, 0.0, 1e6));
    world.query_mut::<&mut Health>().for_each(|health| health.0 = i32::MAX);
    world.query_mut::<&mut Position>().filter::<With<Enemy>>().for_each(|p| p.0.z = 29.0);
    world.query_mut::<&mut Position>().filter::<With<Player>>().for_each(|p| p.0.x = 0.0);
    go_on(&mut world, 60);
    let shots = world.query::<&PlayerShot>().count();
    // Each flies for 29 units, just under a second, before it hits.
    assert!((8..=11).contains(&shots), "{shots}");
    for shot in &world.query::<&Shot>() {
        assert!(shot.time_to_live <= 2.0 && shot.time_to_live > 0.0);
    }
}

#[test]
fn a_shot_takes_three_and_is_gone() {
    let mut world = with_enemy(100, Vec3::new(0.0, 0.0, 5.0));
    let enemy = world.query::<(Entity, &Enemy)>().single().unwrap().0;
    let health = |world: &World| world.get::<Health>(enemy).unwrap().0;
    while health(&world) == 100 {
        go_on(&mut world, 1);
    }
    assert_eq!(health(&world), 97);
    go_on(&mut world, 60);
    // Eight to ten shots a second, as the cooldown is rounded to frames. All of them hit.
    assert!((97 - 30..=97 - 24).contains(&health(&world)), "{}", health(&world));
}

#[test]
fn the_last_shot_kills_and_is_counted() {
    let mut world = with_enemy(3, Vec3::new(0.0, 0.0, 5.0));
    go_on(&mut world, 30);
    assert_eq!(world.query::<&Enemy>().count(), 0);
    assert_eq!(world.singleton::<Score>().unwrap().kills, 1);
}

#[test]
fn enemies_that_leave_the_field_are_gone_and_not_counted() {
    let mut world = with_enemy(100, Vec3::new(0.0, 0.0, -FIELD - 1.0));
    go_on(&mut world, 1);
    assert_eq!(world.query::<&Enemy>().count(), 0);
    assert_eq!(world.singleton::<Score>().unwrap().kills, 0);
}

#[test]
fn with_the_player_everything_goes_and_a_new_one_comes() {
    let mut world = run(&SAMPLE, &options(1), 120);
    assert!(world.query::<&EnemyShot>().count() > 0);
    world.query_mut::<&mut Health>().filter::<With<Player>>().for_each(|health| health.0 = 0);
    go_on(&mut world, 3);
    let count = |world: &World| world.query::<&Position>().count();
    assert_eq!(count(&world), 0);
    assert_eq!(world.singleton::<Score>().unwrap().defeats, 1);
    go_on(&mut world, 130);
    assert_eq!(world.query::<&Player>().count(), 1);
    assert_eq!(world.query::<(&Health, &Player)>().single().unwrap().0.0, 5);
}

#[test]
fn keys_steer_and_the_script_takes_over_later() {
    let mut world = with_enemy(100, Vec3::new(0.0, 0.0, 20.0));
    let place = |world: &World| world.query::<(&Position, &Player)>().single().unwrap().0.0;
    world.query_mut::<&mut Position>().filter::<With<Player>>().for_each(|p| p.0 = Vec3::ZERO);
    press(&mut world, Key::Char('d'));
    press(&mut world, Key::Down);
    go_on(&mut world, 12);
    // A fifth of a second at 15 units a second.
    assert!((place(&world) - 3.0 * Vec3::X).length() < 1e-3, "{}", place(&world));
    for (heading, _) in &world.query::<(&Heading, &PlayerShot)>() {
        assert!(heading.0 == Vec3::NEG_Z || heading.0.z > 0.0, "shot where the arrow points");
    }
    let is_steered = |world: &World| world.query::<&Pilot>().single().unwrap().is_steered();
    assert!(is_steered(&world));
    go_on(&mut world, 180);
    assert!(!is_steered(&world));
}
