use std::collections::{BTreeMap, BTreeSet};

use ancho::prelude::*;

use super::player::{Pilot, press};
use super::*;
use crate::gallery::Key;
use crate::gallery::tests::{go_on, hash, options, run};

/// Returns a game after one frame, with a single enemy of this health and place.
fn with_enemy(health: i32, place: Vec3) -> World {
    let mut world = run(&SAMPLE, &options(1), 1);
    world.batch(QueryDescriptor::of::<Entity, With<Enemy>>()).despawn().unwrap();
    world.query_mut::<&mut EnemySpawner>().for_each(|spawner| spawner.cooldown = 1e9);
    let enemy = world.spawn((Enemy::at_rest(), Position(place), Heading(Vec3::NEG_Z)));
    world.add(enemy, (MoveSpeed(0.0), Health(health))).unwrap();
    world
}

/// Returns a game in which an enemy shoots at a player that stands still and faces away for three seconds.
fn with_shooting_enemy(enemy: Vec3, player: Vec3) -> World {
    let mut world = with_enemy(100, enemy);
    world.query_mut::<&mut Enemy>().for_each(|enemy| *enemy = Enemy::ready());
    world.query_filtered_mut::<&mut Position, With<Player>>().for_each(|p| p.0 = player);
    press(&mut world, Key::Down);
    world
}

/// Runs `frames` frames. Returns the frames, from 1, in which an entity with this component was new.
fn frames_with_new<T: Component>(world: &mut World, frames: u32) -> Vec<u32> {
    let all = |world: &World| world.query_filtered::<Entity, With<T>>().to_entities();
    let mut known = BTreeSet::from_iter(all(world));
    let mut with_new = Vec::new();
    for frame in 1..=frames {
        go_on(world, 1);
        let before = known.len();
        known.extend(all(world));
        if known.len() > before {
            with_new.push(frame);
        }
    }
    with_new
}

/// Returns the number of chunks with entities that have this component.
fn chunks_with<T: Component>(world: &World) -> usize {
    let mut chunks = 0;
    world.query_filtered::<&Position, With<T>>().for_each_chunk(|_| chunks += 1);
    chunks
}

/// Returns whether consecutive numbers differ by `distance` or by one more, since times are rounded to frames.
fn are_apart(frames: &[u32], distance: u32) -> bool {
    frames.windows(2).all(|pair| (distance..=distance + 1).contains(&(pair[1] - pair[0])))
}

#[test]
fn the_state_is_the_same_in_all_cases() {
    hash(&SAMPLE, 1, 300);
    hash(&SAMPLE, 20, 60);
}

#[test]
fn the_state_is_the_same_when_threads_share_the_work() {
    // Jobs are split by chunks. Enemies fill several chunks after a while, and their shots after a second.
    let world = run(&SAMPLE, &options(500), 65);
    assert!(chunks_with::<Enemy>(&world) > 4, "{}", chunks_with::<Enemy>(&world));
    assert!(chunks_with::<EnemyShot>(&world) > 1, "{}", chunks_with::<EnemyShot>(&world));
    hash(&SAMPLE, 500, 65);
}

#[test]
fn an_enemy_comes_every_0_15_seconds_at_the_upper_edge_with_100_points() {
    let mut world = run(&SAMPLE, &options(1), 0);
    let frames = frames_with_new::<Enemy>(&mut world, 100);
    // Nine frames of 1/60 second.
    assert!(frames[0] == 1 && frames.len() >= 10 && are_apart(&frames, 9), "{frames:?}");
    let enemies = world.query_filtered::<(&Position, &Heading, &Health), With<Enemy>>();
    for (position, heading, health) in &enemies {
        assert!(position.0.x.abs() <= 30.0 && position.0.z < 30.0 && heading.0 == Vec3::NEG_Z);
        assert!(health.0 == 100 || (100 - health.0) % 3 == 0, "{health:?}");
    }
    assert!(enemies.iter().any(|(.., health)| health.0 == 100));
}

#[test]
fn random_numbers_begin_with_0xaf77() {
    let Kind::World(sample) = &SAMPLE.kind else { panic!("it has a world") };
    assert_eq!(sample.seed, Some(0xAF77));
    let world = run(&SAMPLE, &Options { seed: 0xAF77, ..options(1) }, 1);
    let first = world.query_filtered::<&Position, With<Enemy>>().single().unwrap().0;
    assert_eq!(first.x, Random::new(0xAF77).range(-30.0..30.0));
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
fn the_player_shoots_every_tenth_of_a_second() {
    let mut world = with_enemy(100, Vec3::new(0.0, 0.0, 20.0));
    let mut frames = Vec::new();
    for quarter in 0..4 {
        // A key press lasts for 0.3 seconds unless the key repeats.
        press(&mut world, Key::Left);
        let new = frames_with_new::<PlayerShot>(&mut world, 15);
        frames.extend(new.into_iter().map(|frame| 15 * quarter + frame));
    }
    assert!(frames.len() >= 8 && are_apart(&frames, 6), "{frames:?}");
}

#[test]
fn the_player_shoots_if_the_stick_is_more_than_half_way_out() {
    for (stick, shots) in [(0.5, 0), (0.51, 1)] {
        let mut world = with_enemy(100, Vec3::new(0.0, 0.0, 20.0));
        press(&mut world, Key::Char('d'));
        go_on(&mut world, 130);
        assert_eq!(world.query::<&PlayerShot>().count(), 0, "a steered player does not shoot");
        let mut pilots = world.query_mut::<&mut Pilot>();
        let pilot = pilots.single_mut().unwrap();
        pilot.hold_to_shoot(stick * Vec3::NEG_X);
        go_on(&mut world, 3);
        let headings = world.query_filtered::<&Heading, With<PlayerShot>>();
        assert_eq!(headings.count(), shots, "{stick}");
        assert!(headings.iter().all(|heading| heading.0 == Vec3::NEG_X), "its length is one");
    }
}

#[test]
fn the_player_stays_within_30_units_of_the_middle() {
    for (key, way) in [('w', Vec3::Z), ('s', Vec3::NEG_Z), ('a', Vec3::NEG_X), ('d', Vec3::X)] {
        let mut world = with_enemy(100, Vec3::new(0.0, 0.0, 20.0));
        let near = 29.6 * way;
        world.query_filtered_mut::<&mut Position, With<Player>>().for_each(|p| p.0 = near);
        let place = |world: &World| world.query::<(&Position, &Player)>().single().unwrap().0.0;
        press(&mut world, Key::Char(key));
        // A quarter of a unit per frame.
        go_on(&mut world, 1);
        assert!((place(&world) - 29.85 * way).length() < 1e-3, "{}", place(&world));
        for _ in 0..2 {
            go_on(&mut world, 1);
            assert_eq!(place(&world), 30.0 * way);
        }
    }
}

#[test]
fn a_shot_lives_for_two_seconds() {
    // No shot hits: the player is too far away to be reached in time.
    let mut world = with_shooting_enemy(Vec3::new(0.0, 0.0, 29.0), Vec3::new(0.0, 0.0, -29.0));
    go_on(&mut world, 1);
    let shot = world.query_filtered::<Entity, With<EnemyShot>>().single().unwrap();
    go_on(&mut world, 118);
    assert!(world.exists(shot), "at frame 119");
    go_on(&mut world, 2);
    assert!(!world.exists(shot), "at frame 121");
}

#[test]
fn an_enemy_shoots_every_second_at_the_player_with_20_units_a_second() {
    let mut world = with_shooting_enemy(Vec3::new(12.0, 0.0, 20.0), Vec3::new(-12.0, 0.0, -25.0));
    let frames = frames_with_new::<EnemyShot>(&mut world, 125);
    assert!(frames[0] == 1 && frames.len() == 3 && are_apart(&frames, 60), "{frames:?}");
    let towards = Vec3::new(-24.0, 0.0, -45.0).normalize();
    let places = |world: &World| -> BTreeMap<Entity, Vec3> {
        let shots = world.query_filtered::<(Entity, &Position), With<EnemyShot>>();
        shots.iter().map(|(shot, position)| (shot, position.0)).collect()
    };
    let before = places(&world);
    go_on(&mut world, 1);
    let after = places(&world);
    assert!(!after.is_empty());
    for (shot, place) in after {
        assert!((place - before[&shot]).distance(towards * 20.0 / 60.0) < 1e-4);
    }
}

#[test]
fn a_shot_of_an_enemy_takes_three_of_the_players_five() {
    let mut world = with_shooting_enemy(Vec3::new(0.0, 0.0, 10.0), Vec3::ZERO);
    let health = |world: &World| world.query::<(&Health, &Player)>().single().unwrap().0.0;
    // The shot travels nine units to a distance of one, at 20 units per second: 27 frames.
    go_on(&mut world, 26);
    assert_eq!((health(&world), world.query::<&EnemyShot>().count()), (5, 1));
    go_on(&mut world, 2);
    assert_eq!((health(&world), world.query::<&EnemyShot>().count()), (2, 0));
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
    // Eight to ten shots per second, as the cooldown is rounded to frames. All of them hit.
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
    let mut world = with_enemy(100, Vec3::new(0.0, 0.0, -FIELD_HALF_SIZE - 1.0));
    go_on(&mut world, 1);
    assert_eq!(world.query::<&Enemy>().count(), 0);
    assert_eq!(world.singleton::<Score>().unwrap().kills, 0);
}

#[test]
fn with_the_player_everything_goes_and_a_new_one_comes() {
    let mut world = run(&SAMPLE, &options(1), 120);
    assert!(world.query::<&EnemyShot>().count() > 0);
    world.query_filtered_mut::<&mut Health, With<Player>>().for_each(|health| health.0 = 0);
    go_on(&mut world, 3);
    let count = |world: &World| world.query::<&Position>().count();
    assert_eq!(count(&world), 0);
    assert_eq!(world.singleton::<Score>().unwrap().defeats, 1);
    go_on(&mut world, 130);
    assert_eq!(world.query::<&Player>().count(), 1);
    assert_eq!(world.query::<(&Health, &Player)>().single().unwrap().0.0, 5);
}

#[test]
fn arrows_shoot_where_they_point() {
    for (key, direction) in [
        (Key::Up, Vec3::Z),
        (Key::Down, Vec3::NEG_Z),
        (Key::Left, Vec3::NEG_X),
        (Key::Right, Vec3::X),
    ] {
        let mut world = with_enemy(100, Vec3::new(5.0, 0.0, 5.0));
        press(&mut world, key);
        go_on(&mut world, 5);
        let shots = world.query_filtered::<&Heading, With<PlayerShot>>();
        assert_eq!(shots.single().unwrap().0, direction, "{key:?}");
        let player = world.query_filtered::<(&Position, &Heading), With<Player>>();
        let (place, heading) = player.single().unwrap();
        assert_eq!((place.0, heading.0), (Vec3::ZERO, direction), "it stays, and looks there");
    }
}

#[test]
fn keys_steer_and_the_script_takes_over_later() {
    let mut world = with_enemy(100, Vec3::new(0.0, 0.0, 20.0));
    let place = |world: &World| world.query::<(&Position, &Player)>().single().unwrap().0.0;
    let is_steered = |world: &World| world.query::<&Pilot>().single().unwrap().is_steered();
    press(&mut world, Key::Char('d'));
    go_on(&mut world, 12);
    // A fifth of a second at 15 units per second.
    assert!((place(&world) - 3.0 * Vec3::X).length() < 1e-3, "{}", place(&world));
    assert!(is_steered(&world));
    assert_eq!(world.query::<&PlayerShot>().count(), 0, "no arrow was pressed");
    go_on(&mut world, 180);
    assert!(!is_steered(&world));
    assert!(world.query::<&PlayerShot>().count() > 0, "the script shoots");
}
