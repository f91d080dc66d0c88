//! Tower defence with rollback: towers are prefab trees of a base and a turret, and an input that arrives late is applied in the past.
//!
//! Shows `spawn_prefab`, transforms, commands, parallel jobs, steps of a fixed length, `fork`, `restore` and `state_hash`.
//!
//! ```toml
//! [dependencies]
//! ancho = { path = "../ancho/crates/ancho" }
//! ```
//!
//! Last line: `replay: the same hash; with the late tower: 20 instead of 9 kills`

use ancho::prelude::*;
use ancho::transforms::{Position, Rotation, look_rotation, spawn_prefab};

/// The length of a step in seconds. The program updates the world once per step, so all replays have the same steps.
const STEP: f64 = 1.0 / 60.0;
const RANGE: f32 = 8.0;
const RELOAD: u32 = 20;

#[derive(Component, Clone, Copy)]
struct Creep {
    health: u32,
    speed: f32,
}

#[derive(Component, Clone, Copy, Default)]
struct Turret {
    /// Steps until the next shot.
    reload: u32,
}

/// Tag for the base of a tower, below its turret.
#[derive(Component, Clone, Copy)]
struct Base;

/// State of the game, a component of one entity. A rollback would restore a resource as well.
#[derive(Component, Clone, Copy, Default)]
struct Game {
    kills: u32,
    escaped: u32,
    /// State of a random number generator.
    random: u32,
}

/// The templates.
#[derive(Resource, Clone, Copy)]
struct Prefabs {
    creep: Entity,
    tower: Entity,
}

/// An input of the player.
#[derive(Clone, Copy)]
struct PlaceTower {
    step: u64,
    at: Vec3,
}

fn main() -> SystemResult {
    let mut world = build();
    let mut inputs = vec![PlaceTower { step: 10, at: Vec3::new(-10.0, 0.0, 2.0) }];
    run(&mut world, &inputs, 300)?;

    // A snapshot consists of the entities, the resources and the time. It shares memory with the world, so it costs microseconds.
    let mut snapshot = world.fork()?;
    run(&mut world, &inputs, 900)?;
    let (hash, kills) = (world.state_hash(), world.singleton::<Game>()?.kills);

    // Replays the same inputs.
    world.restore(&mut snapshot)?;
    run(&mut world, &inputs, 900)?;
    assert_eq!(world.state_hash(), hash, "a replay has the same bits");

    // An input for step 320 arrives now, in step 900. The steps since the snapshot are repeated with it.
    inputs.push(PlaceTower { step: 320, at: Vec3::new(0.0, 0.0, -2.0) });
    world.restore(&mut snapshot)?;
    run(&mut world, &inputs, 900)?;
    assert_ne!(world.state_hash(), hash);
    let with_tower = world.singleton::<Game>()?.kills;
    println!("replay: the same hash; with the late tower: {with_tower} instead of {kills} kills");
    Ok(())
}

/// Updates the world until it has made `end` steps. The inputs of a step are applied before it.
fn run(world: &mut World, inputs: &[PlaceTower], end: u64) -> SystemResult {
    while world.time().frame() < end {
        let step = world.time().frame();
        for input in inputs.iter().filter(|input| input.step == step) {
            let Prefabs { tower, .. } = *world.resource();
            let tower = world.instantiate(tower)?;
            world.set(tower, Position(input.at))?;
        }
        world.try_update(STEP)?;
    }
    Ok(())
}

fn build() -> World {
    let mut world = World::new("Tower defence");
    let creep = world.spawn((Prefab, Creep { health: 3, speed: 3.0 }, Position(Vec3::ZERO)));
    // A tree: each entity gets the tag `Prefab`, the turret gets a `Parent`, and the base lists both for `instantiate`.
    let tower = spawn_prefab(&mut world, (Base, Position(Vec3::ZERO)), |base| {
        let rotation = Rotation(Quat::IDENTITY);
        base.spawn((Turret::default(), Position(Vec3::new(0.0, 1.0, 0.0)), rotation));
    });
    world.insert_resource(Prefabs { creep, tower });
    world.spawn(Game { random: 1, ..Game::default() });

    world.add_system(spawn_creeps);
    world.add_system(walk);
    world.add_system(shoot);
    world.add_system(bury);
    // Computes `LocalToWorld`, at the end of each update.
    world.add_transforms();
    world
}

/// Spawns a creep every half second, in one of several lanes.
fn spawn_creeps(
    time: Time,
    prefabs: Res<Prefabs>,
    mut game: Single<&mut Game>,
    mut commands: Commands,
) {
    if time.frame().is_multiple_of(30) {
        game.random = game.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let lane = (game.random >> 30) as f32 - 1.5;
        let creep = commands.instantiate(prefabs.creep);
        commands.set(creep, Position(Vec3::new(-20.0, 0.0, lane)));
    }
}

/// Schedules a job on all cores. The next system that reads positions waits for it.
fn walk(time: Time, mut creeps: Query<(&mut Position, &Creep)>) {
    let dt = time.delta();
    creeps.schedule_parallel(move |(position, creep)| position.0.x += creep.speed * dt);
}

/// Turns each turret to the creep that is farthest ahead in its range, and shoots.
fn shoot(
    mut turrets: Query<(&mut Turret, &mut Rotation, &LocalToWorld)>,
    mut creeps: Query<(&mut Creep, &Position)>,
) {
    for (turret, rotation, place) in &mut turrets {
        turret.reload = turret.reload.saturating_sub(1);
        let muzzle = place.position();
        let in_range = creeps.iter_mut().filter(|(creep, position)| {
            creep.health > 0 && position.0.distance_squared(muzzle) < RANGE * RANGE
        });
        let first = in_range.max_by(|(_, one), (_, other)| one.0.x.total_cmp(&other.0.x));
        if let Some((creep, position)) = first {
            rotation.0 = look_rotation(position.0 - muzzle, Vec3::Y);
            if turret.reload == 0 {
                creep.health -= 1;
                turret.reload = RELOAD;
            }
        }
    }
}

/// Despawns creeps that are dead or have escaped. Commands are applied right after the system.
fn bury(
    creeps: Query<(Entity, &Creep, &Position)>,
    mut game: Single<&mut Game>,
    mut commands: Commands,
) {
    for (entity, creep, position) in &creeps {
        if creep.health == 0 {
            game.kills += 1;
            commands.despawn(entity);
        } else if position.0.x > 20.0 {
            game.escaped += 1;
            commands.despawn(entity);
        }
    }
}
