//! Tests of the battle.

use super::*;
use crate::gallery::tests::{go_on, hash, options, run};

fn units(world: &World) -> usize {
    world.query::<&Health>().count()
}

fn losses(world: &World) -> [u64; 2] {
    let mut losses = [0; 2];
    world.query::<&Camp>().for_each(|camp| losses[camp.army as usize] = camp.losses);
    losses
}

/// Returns the number of an army's units in the opponent's half of the field.
fn across(world: &World, army: Army) -> usize {
    let middle = world.singleton::<Battlefield>().unwrap().corner.x * 0.5;
    let is_across = |position: &&Position| (position.0.x > middle) == (army == Army::Red);
    world.query::<&Position>().with_shared(army).iter().filter(is_across).count()
}

#[test]
fn armies_stand_apart_and_meet() {
    let mut world = run(&SAMPLE, &options(2_000), 0);
    assert_eq!(Army::BOTH.map(|army| across(&world, army)), [0, 0]);
    assert_eq!(losses(&world), [0, 0]);
    go_on(&mut world, 200);
    assert!(losses(&world).iter().all(|&losses| losses > 0), "{:?}", losses(&world));
}

#[test]
fn of_an_odd_number_one_army_has_one_more() {
    let world = run(&SAMPLE, &options(2_001), 1);
    let units = |army| world.query::<&Health>().with_shared(army).count();
    assert_eq!(Army::BOTH.map(units), [1_001, 1_000]);
}

#[test]
fn units_stay_as_many_on_the_field_and_the_fallen_are_replaced() {
    let mut world = run(&SAMPLE, &options(2_000), 0);
    let first: Vec<Entity> = world.query_filtered::<Entity, With<Health>>().to_entities();
    let corner = world.singleton::<Battlefield>().unwrap().corner;
    for _ in 0..10 {
        go_on(&mut world, 40);
        assert_eq!(units(&world), 2_000);
        for army in Army::BOTH {
            assert_eq!(world.query::<&Health>().with_shared(army).count(), 1_000);
        }
        for (position, health) in world.query::<(&Position, &Health)>() {
            assert_eq!(position.0, position.0.clamp(Vec2::ZERO, corner));
            assert!((1..=HEALTH).contains(&health.0), "units without health are despawned");
        }
    }
    let gone = first.iter().filter(|&&entity| !world.exists(entity)).count() as u64;
    let [red, blue] = losses(&world);
    assert!(gone > 0 && gone <= red + blue, "{gone} of the first, {red} and {blue} in all");
}

#[test]
fn a_unit_strikes_the_nearest_enemy_and_pauses() {
    let mut world = run(&SAMPLE, &options(0), 0);
    let random = &mut Random::new(1);
    let (here, near) = (Vec2::new(4.0, 4.0), Vec2::new(5.0, 4.0));
    let knight = world.spawn(Army::Red.unit(here, random));
    world.set(knight, Weapon { ready_in: 0.0 }).unwrap();
    let foe = world.spawn(Army::Blue.unit(near, random));
    let other = world.spawn(Army::Blue.unit(near + Vec2::Y, random));
    for unarmed in [foe, other] {
        world.set(unarmed, Weapon { ready_in: 100.0 }).unwrap();
    }
    let health =
        |world: &World| [knight, foe, other].map(|unit| world.get::<Health>(unit).unwrap().0);
    go_on(&mut world, 1);
    assert_eq!(health(&world), [HEALTH, HEALTH - DAMAGE, HEALTH]);
    assert_eq!(world.get::<Weapon>(knight).unwrap().ready_in, STRIKE_INTERVAL);
    go_on(&mut world, 1);
    assert_eq!(health(&world), [HEALTH, HEALTH - DAMAGE, HEALTH]);
}

#[test]
fn who_has_no_health_left_is_replaced_at_the_edge_it_came_from() {
    let mut world = run(&SAMPLE, &options(0), 0);
    let corner = world.singleton::<Battlefield>().unwrap().corner;
    let fallen = Army::BOTH.map(|army| world.spawn(army.unit(corner * 0.5, &mut Random::new(1))));
    for unit in fallen {
        world.set(unit, Health(0)).unwrap();
    }
    go_on(&mut world, 1);
    assert!(fallen.iter().all(|&unit| !world.exists(unit)));
    for (army, edge) in [(Army::Red, 0.0), (Army::Blue, corner.x)] {
        let recruit = world.query::<(&Position, &Health)>().with_shared(army);
        let (position, health) = recruit.single().unwrap();
        assert!((position.0.x - edge).abs() <= 0.02 * corner.x);
        assert_eq!(health.0, HEALTH);
    }
}

#[test]
fn the_state_is_the_same_in_all_cases() {
    hash(&SAMPLE, 3_000, 60);
}
