//! Tests of the rules.

use super::*;
use crate::gallery::tests::{go_on, hash, options, run};
use ancho::entities::IncludePrefabs;

/// Returns two planets of team one and one of team two, 40 apart, without a system that plays.
fn quiet_world() -> (World, [Entity; 3]) {
    let mut world = World::new("Test");
    let mut planet =
        |x, team| world.spawn((Planet { radius: 5.0, occupants: 10 }, Position(Vec2::X * x), team));
    let planets = [planet(0.0, Team::One), planet(40.0, Team::One), planet(80.0, Team::Two)];
    let random = Random::new(1);
    let game = Game { random, next_turn: TURN_SECONDS, is_turn: false, most_ships: 1000 };
    world.create_singleton(game).unwrap();
    world.add_system(take_turns);
    world.add_system(launch_ships);
    world.add_system(move_ships);
    world.add_system(land_ships);
    (world, planets)
}

fn occupants(world: &World, planet: Entity) -> i32 {
    world.get::<Planet>(planet).unwrap().occupants
}

#[test]
fn at_most_20_planets_do_not_touch_and_each_team_has_two() {
    for seed in 0..20 {
        let world = run(&SAMPLE, &Options { seed, ..options(1_000) }, 0);
        let planets = world.query::<(&Planet, &Position, &Team)>();
        let all: Vec<_> = planets.iter().collect();
        assert!((5..=PLANETS).contains(&all.len()));
        for (at, (planet, place, team)) in all.iter().enumerate() {
            assert!((5.0..=20.0).contains(&planet.radius) && place.0.length() <= GALAXY_RADIUS);
            let occupants = if **team == Team::Neutral { 1..=99 } else { GROWTH..=GROWTH };
            assert!(occupants.contains(&planet.occupants));
            for (other, there, _) in &all[at + 1..] {
                assert!(there.0.distance(place.0) > other.radius + planet.radius);
            }
        }
        for team in [Team::One, Team::Two] {
            assert_eq!(all.iter().filter(|planet| *planet.2 == team).count(), 2);
        }
    }
}

#[test]
fn owned_planets_grow_by_100_in_a_tenth_of_a_second() {
    let (mut world, [planet, ..]) = quiet_world();
    let rock = world.spawn((Planet { radius: 5.0, occupants: 7 }, Team::Neutral));
    world.add_system(grow_planets.after(take_turns));
    for turns in 1..=100 {
        // The first update of a world has the same time step as the others.
        (0..10).for_each(|_| world.update(0.01));
        let grown = occupants(&world, planet) - 10;
        // Rounding decides whether a turn falls into this update or the next, even after a hundred turns.
        assert!((grown - 100 * turns).abs() <= 100, "{grown} after {turns} turns");
        assert_eq!(grown % 100, 0);
    }
    assert_eq!(occupants(&world, rock), 7);
}

#[test]
fn somebody_is_sent_off_every_tenth_of_a_second() {
    let mut world = World::new("Test");
    let planet = Planet { radius: 5.0, occupants: 10 };
    // With 150 planets, each turn finds one without a launch. No system here completes a launch.
    world.spawn_many((planet, Position(Vec2::ZERO), Team::One), 150);
    let random = Random::new(1);
    let game = Game { random, next_turn: TURN_SECONDS, is_turn: false, most_ships: 1000 };
    world.create_singleton(game).unwrap();
    world.add_system(take_turns);
    world.add_system(order_attacks.after(take_turns));
    let mut updates = Vec::new();
    for update in 1..=1000 {
        world.update(0.01);
        let launches = world.query::<&Launch>().count();
        assert!(launches <= updates.len() + 1, "one at a time");
        if launches > updates.len() {
            updates.push(update);
        }
    }
    assert!((99..=101).contains(&updates.len()), "{} in ten seconds", updates.len());
    let apart = updates.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(apart.into_iter().all(|distance| (9..=11).contains(&distance)), "{updates:?}");
    for (planet, launch) in &world.query::<(&Planet, &Launch)>() {
        assert_eq!((planet.occupants, launch.ships), (0, 10), "all of them");
    }
}

#[test]
fn ships_leave_from_anywhere_on_the_rim_as_fast_as_they_can() {
    let (mut world, [source, target, _]) = quiet_world();
    world.add(source, Launch { target, ships: 40 }).unwrap();
    world.update(0.016);
    assert_eq!(world.query::<&Ship>().count(), 16);
    assert_eq!(world.get::<Launch>(source).unwrap().ships, 24);
    // The ships have flown for one frame, around their own planet if they started behind it.
    let places = world.query_filtered::<&Position, With<Ship>>();
    assert!(places.iter().all(|place| (place.0.length() - 5.0).abs() < 0.1));
    let behind = places.iter().filter(|place| place.0.x < 0.0).count();
    assert!((1..16).contains(&behind), "on all sides, {behind} behind");
    world.update(0.016);
    world.update(0.016);
    assert_eq!(world.query::<&Ship>().count(), 40);
    assert!(!world.has::<Launch>(source));
    assert_eq!(world.query_filtered::<(), (With<Prefab>, IncludePrefabs)>().count(), 0);
}

#[test]
fn nothing_is_made_while_there_is_no_room_for_ships() {
    let (mut world, [source, target, _]) = quiet_world();
    world.add(source, Launch { target, ships: 40 }).unwrap();
    world.query_mut::<&mut Game>().for_each(|game| game.most_ships = 16);
    world.update(0.016);
    let changes = world.order_version();
    (0..3).for_each(|_| world.update(0.016));
    assert_eq!(world.order_version(), changes, "also no prefab");
    assert_eq!(
        (world.query::<&Ship>().count(), world.get::<Launch>(source).unwrap().ships),
        (16, 24)
    );
}

#[test]
fn ships_fly_4_units_a_second_around_planets() {
    let (mut world, [_, planet, target]) = quiet_world();
    let ship = world.spawn((Ship { target }, Position(Vec2::X * 10.0), Team::One));
    for _ in 0..100 {
        world.update(0.01);
    }
    let place = |world: &World| world.get::<Position>(ship).unwrap().0;
    world.complete_jobs();
    assert!((place(&world).x - 14.0).abs() < 0.01);
    world.set(ship, Position(Vec2::new(35.2, 1.0))).unwrap();
    for _ in 0..600 {
        world.update(0.01);
        let distance = place(&world).distance(world.get::<Position>(planet).unwrap().0);
        assert!(distance > 4.99, "{distance}");
    }
    assert!(place(&world).x > 45.0, "it has come around");
}

#[test]
fn enemies_take_occupants_and_at_none_the_planet() {
    let (mut world, [own, _, target]) = quiet_world();
    let mut land = |ships: usize, target: Entity| {
        let place = *world.get::<Position>(target).unwrap();
        world.spawn_many((Ship { target }, place, Team::One), ships);
        world.update(0.01);
        world.update(0.01);
        assert_eq!(world.query::<&Ship>().count(), 0, "ships that have landed are despawned");
        (occupants(&world, target), *world.get::<Team>(target).unwrap())
    };
    assert_eq!(land(9, target), (1, Team::Two));
    assert_eq!(land(1, target), (0, Team::One));
    assert_eq!(land(5, target), (5, Team::One));
    assert_eq!(land(3, own), (13, Team::One));
}

#[test]
fn the_teams_play_by_themselves() {
    let mut world = run(&SAMPLE, &options(2_000), 100);
    assert!(world.query::<&Ship>().count() > 0);
    go_on(&mut world, 1_500);
    assert!(world.query::<&Ship>().count() <= 2_000);
    let teams = world.query_filtered::<&Team, With<Planet>>();
    let owned = teams.iter().filter(|team| **team != Team::Neutral).count();
    assert!(owned > 4, "{owned} planets have an owner");
}

#[test]
fn the_state_is_the_same_in_all_cases() {
    hash(&SAMPLE, 3_000, 60);
}
