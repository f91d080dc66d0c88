//! Relationships: links between entities that the world keeps consistent in both directions.
//!
//! A fleet of ships with turrets (children) that aim at other ships (a relationship of this program). When a ship is despawned, its
//! turrets are despawned with it, and the turrets that aimed at it lose their target.
//!
//! ```toml
//! [dependencies]
//! ancho = { path = "../ancho/crates/ancho" }
//! ```
//!
//! Last line: `1 of 6 ships is left, with 3 turrets and 0 targets`

use ancho::prelude::*;

#[derive(Component, Clone, Copy)]
struct Ship {
    hull: i32,
}

#[derive(Component, Clone, Copy)]
struct Turret {
    damage: i32,
}

/// The target of a turret. The target has a buffer of all turrets that aim at it.
#[derive(Component, Clone, Copy)]
#[relationship(reverse = AimedAtBy, on_target_despawn = detach)]
struct AimsAt(Entity);

/// A turret that aims at the ship.
#[derive(BufferElement, Clone, Copy)]
#[buffer(reverse_of = AimsAt)]
struct AimedAtBy(Entity);

fn main() {
    let mut world = World::new("Battle");
    for number in 0..6 {
        let ship = world.spawn(Ship { hull: 100 + number });
        // Children are despawned, instantiated, enabled and moved together with their parent.
        let mut entity = world.entity_mut(ship).unwrap();
        entity
            .with_children(|turrets| {
                for _ in 0..3 {
                    turrets.spawn(Turret { damage: 5 });
                }
            })
            .unwrap();
        assert_eq!(entity.children().len(), 3);
    }
    world.add_system(aim);
    world.add_system(shoot);
    world.add_system(sink);

    while world.query::<&Ship>().count() > 1 {
        world.update(0.1);
    }

    let ships = world.query::<&Ship>().count();
    let turrets = world.query::<&Turret>().count();
    let targets = world.query::<&AimsAt>().count();
    println!("{ships} of 6 ships is left, with {turrets} turrets and {targets} targets");
}

/// Aims turrets without a target at the first ship that is not their own. Only turrets have parents.
fn aim(
    idle: Query<(Entity, &Parent), Without<AimsAt>>,
    ships: Query<Entity, With<Ship>>,
    mut commands: Commands,
) {
    for (turret, own) in &idle {
        if let Some(target) = ships.iter().find(|&ship| ship != own.0) {
            // This also appends the turret to the buffer of the target.
            commands.entity(turret).add(AimsAt(target));
        }
    }
}

/// Damages each ship by all turrets that aim at it. The buffer exists while there are any.
fn shoot(mut ships: Query<(&mut Ship, &Buffer<AimedAtBy>)>, turrets: Lookup<&Turret>) {
    for (ship, aimed) in &mut ships {
        for turret in aimed.iter() {
            ship.hull -= turrets.get(turret.0).map_or(0, |turret| turret.damage);
        }
    }
}

/// Despawns ships without hull, with their turrets.
fn sink(ships: Query<(Entity, &Ship)>, mut commands: Commands) {
    for (entity, ship) in &ships {
        if ship.hull <= 0 {
            commands.entity(entity).despawn();
        }
    }
}
