//! Observers: functions that run when components are added to entities, replaced and removed.
//!
//! A grid of rooms knows the monsters in each room. Observers keep it up to date, whichever system, command or job changes the
//! monsters. Each observer runs once after a system, with all events of that system.
//!
//! ```toml
//! [dependencies]
//! ancho = { path = "../ancho/crates/ancho" }
//! ```
//!
//! Last line: `3 rooms with 54 monsters, 17 gold dropped`

use ancho::entities::{Add, On, Remove, Removed, Replace, Timer, Value};
use ancho::prelude::*;

/// The room of a monster. It is replaced as a whole, so that observers see each change.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Room(u32);

#[derive(Component, Clone, Copy)]
struct Gold(u32);

#[derive(Component, Clone, Copy)]
struct Life(Timer);

/// The monsters of each room, by the number of the room.
#[derive(Resource, Clone)]
struct Rooms(Vec<Vec<Entity>>);

#[derive(Resource, Clone, Default)]
struct Dropped {
    gold: u32,
    monsters: usize,
}

fn main() {
    let mut world = World::new("Dungeon");
    world.insert_resource(Rooms(vec![Vec::new(); 3]));
    world.insert_resource(Dropped::default());

    world.add_observer(enter_room);
    world.add_observer(change_room);
    world.add_observer(leave_room);
    world.add_observer(drop_gold);

    world.add_system(wander);
    world.add_system(grow_old);
    world.add_system(count_dead);

    // Outside of an update, observers run at the end of each call.
    world.spawn_batch((0..60).map(|at| {
        let life = if at % 10 == 0 { 1.0 } else { 100.0 };
        (Room(at % 3), Gold(at % 7), Life(Timer::once(life)))
    }));
    assert_eq!(world.resource::<Rooms>().0[0].len(), 20);

    for _ in 0..120 {
        world.update(1.0 / 60.0);
    }
    let dropped = world.resource::<Dropped>();
    assert_eq!(dropped.monsters, 6);
    let rooms = &world.resource::<Rooms>().0;
    let monsters: usize = rooms.iter().map(Vec::len).sum();
    assert_eq!(monsters, world.query::<&Room>().count());
    println!("{} rooms with {monsters} monsters, {} gold dropped", rooms.len(), dropped.gold);
}

/// The events of one delivery come together, in the order of the changes.
fn enter_room(entered: On<Add<Room>>, monsters: Query<&Room>, mut rooms: ResMut<Rooms>) {
    for entity in entered.entities() {
        if let Some(room) = monsters.get(entity) {
            rooms.0[room.0 as usize].push(entity);
        }
    }
}

/// With `Value`, an event has the old value of the component.
fn change_room(
    changed: On<Replace<Room>, Value>,
    monsters: Query<&Room>,
    mut rooms: ResMut<Rooms>,
) {
    for event in changed.iter() {
        if let Some(old) = event.value() {
            rooms.0[old.0 as usize].retain(|&entity| entity != event.entity());
        }
        if let Some(new) = monsters.get(event.entity()) {
            rooms.0[new.0 as usize].push(event.entity());
        }
    }
}

fn leave_room(left: On<Remove<Room>, Value>, mut rooms: ResMut<Rooms>) {
    for event in left.iter() {
        if let Some(old) = event.value() {
            rooms.0[old.0 as usize].retain(|&entity| entity != event.entity());
        }
    }
}

/// Commands of an observer are played when it returns. Their events are the next round.
fn drop_gold(lost: On<Remove<Gold>, Value>, mut dropped: ResMut<Dropped>) {
    dropped.gold += lost.iter().filter_map(|event| event.value()).map(|gold| gold.0).sum::<u32>();
}

/// Moves every monster to the next room, every half second.
fn wander(time: Time, monsters: Query<(Entity, &Room)>, mut commands: Commands) {
    if time.frame().is_multiple_of(30) {
        for (entity, room) in &monsters {
            commands.entity(entity).set(Room((room.0 + 1) % 3));
        }
    }
}

fn grow_old(time: Time, mut monsters: Query<(Entity, &mut Life)>, mut commands: Commands) {
    for (entity, life) in &mut monsters {
        if life.0.tick(time.delta_f64()).just_finished() {
            commands.entity(entity).despawn();
        }
    }
}

/// The parameter `Removed` lists entities without running at once: those that lost a component since the system last ran.
fn count_dead(dead: Removed<Life>, mut dropped: ResMut<Dropped>) {
    dropped.monsters += dead.len();
}
