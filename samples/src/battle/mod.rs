//! Two armies of 50,000 units each: they march, strike and fall, and new units replace them.
//!
//! Systems of a frame:
//!
//! ```text
//! build_grids         Grid of each army  <── Position
//! fight               Position, Weapon   <── the nearest enemy in the grid of the other army
//!                     hits               <── entities that were struck
//! apply_damage        Health             <── hits
//! replace_dead_units  despawns units without health, and spawns others at the edge of the field
//! ```
//!
//! Each system schedules jobs and returns immediately. Jobs are ordered by the components and containers that they use.
//!
//! Results do not depend on the number of threads. A unit reads grids that do not change meanwhile, and writes only its
//! own components. Hits and commands are recorded in the order of the units.

mod grid;
#[cfg(test)]
mod tests;

use ancho::burst::math::Random;
use ancho::entities::{CommandsAt, ComponentSet, EndSimulation, SystemResult};
use ancho::jobs::{JobCell, JobScheduler};
use ancho::prelude::*;

use crate::gallery::{Canvas, Color, Kind, Options, Sample, SampleResult, WorldSample};
use grid::Grid;

pub(crate) const SAMPLE: Sample = Sample {
    name: "battle",
    summary: "100,000 units of two armies march, strike, fall and are replaced",
    kind: Kind::World(WorldSample {
        counts: "units of both armies",
        entities: 100_000,
        most: 5_000_000,
        frames: 600,
        seed: Some(1),
        build,
        add_systems,
        paint,
        steering: None,
    }),
};

/// Average speed of a unit, in units per second. Each unit has its own pace.
const SPEED: f32 = 12.0;
/// Range of a weapon.
const WEAPON_RANGE: f32 = 3.0;
/// Seconds between two strikes.
const STRIKE_INTERVAL: f32 = 0.5;
const DAMAGE: i32 = 10;
const HEALTH: i32 = 100;
/// Speed at which units leave a crowd, per unit of difference in density.
const CROWD_SPEED: f32 = 0.35;

/// Side of a unit. It is a shared component: units of one army share chunks, and a query for one army skips the other.
#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Army {
    Red,
    Blue,
}

#[derive(Component, Clone, Copy)]
struct Position(Vec2);

#[derive(Component, Clone, Copy)]
struct Speed(f32);

#[derive(Component, Clone, Copy)]
struct Health(i32);

#[derive(Component, Clone, Copy)]
struct Weapon {
    /// Seconds until the next strike.
    ready_in: f32,
}

/// State of an army, on one entity for each army.
#[derive(Component, Clone, Copy, Debug)]
struct Camp {
    army: Army,
    /// Number of fallen units.
    losses: u64,
}

/// The field and the elapsed time. A singleton.
#[derive(Component, Clone, Copy, Debug)]
struct Battlefield {
    /// The corner of the field that is opposite to the origin.
    corner: Vec2,
    seconds: f32,
}

/// Scratch data, rebuilt in each frame. It is not part of the state, so it is not a component.
#[derive(Resource, Debug)]
#[resource(local)]
struct BattleData {
    /// Units by position, for each army.
    grids: [JobCell<Grid>; 2],
    /// Entities struck by the units of each army.
    hits: [NativeList<Entity>; 2],
}

impl Army {
    const BOTH: [Self; 2] = [Self::Red, Self::Blue];

    fn enemy(self) -> Self {
        match self {
            Self::Red => Self::Blue,
            Self::Blue => Self::Red,
        }
    }

    /// Returns the components of a new unit at its army's edge of the field. The place along the edge changes slowly,
    /// and the front moves with it.
    fn recruit(self, corner: Vec2, seconds: f32, mut random: Random) -> impl ComponentSet {
        let (edge, hurry) = match self {
            Self::Red => (0.0, 0.13),
            Self::Blue => (corner.x, -0.17),
        };
        let along = 0.5 + 0.35 * ancho::burst::math::sin(seconds * hurry);
        let spread = Vec2::new(random.range(-0.02..0.02), random.range(-0.15..0.15));
        let position = Vec2::new(edge, along * corner.y) + spread * corner;
        self.unit(position.clamp(Vec2::ZERO, corner), &mut random)
    }

    fn unit(self, position: Vec2, random: &mut Random) -> impl ComponentSet + use<> {
        (
            Position(position),
            Speed(SPEED * random.range(0.8..1.2)),
            Health(HEALTH),
            Weapon { ready_in: random.range(0.0..STRIKE_INTERVAL) },
            Shared::new(self),
        )
    }
}

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("Battle");
    let half = options.entities / 2;
    // The field has twice the area that the units need, and is twice as wide as high.
    let height = (options.entities as f32).max(64.0).sqrt();
    let corner = Vec2::new(2.0 * height, height);

    let mut random = Random::new(options.seed);
    // If the number is odd, the first army has one unit more.
    for (army, count) in Army::BOTH.into_iter().zip([options.entities - half, half]) {
        world.spawn(Camp { army, losses: 0 });
        // The armies stand in rows, one unit of distance apart, and face each other across the middle.
        let in_row = (height * 0.8) as usize;
        world.spawn_batch((0..count).map(|number| {
            let (rank, file) = ((number / in_row) as f32, (number % in_row) as f32);
            let from_middle = height * 0.06 + rank + random.range(-0.4..0.4);
            let across = height * 0.1 + file + random.range(-0.4..0.4);
            let x = match army {
                Army::Red => corner.x * 0.5 - from_middle,
                Army::Blue => corner.x * 0.5 + from_middle,
            };
            army.unit(Vec2::new(x, across).clamp(Vec2::ZERO, corner), &mut random)
        }));
    }

    world.spawn(Battlefield { corner, seconds: 0.0 });
    Ok(world)
}

fn add_systems(world: &mut World) {
    world.insert_resource(BattleData {
        grids: Army::BOTH.map(|_| JobCell::new(Grid::default()).named("grid")),
        hits: Army::BOTH.map(|_| NativeList::new().named("hits")),
    });
    world.add_system(build_grids);
    world.add_system(fight);
    world.add_system(apply_damage);
    world.add_system(replace_dead_units);
}

/// Sorts the units of each army into its grid, with one job per army.
fn build_grids(
    jobs: &JobScheduler,
    mut units: Query<(Entity, &Position)>,
    field: Single<&Battlefield>,
    mut data: ResMut<BattleData>,
) -> SystemResult {
    for army in Army::BOTH {
        let grid = &mut data.grids[army as usize];
        grid.get_mut()?.begin(field.corner);
        let fill = units.reborrow().with_shared(army).job().named("FillGrid").with(grid.write());
        fill.schedule(|(entity, position), grid| grid.add(entity, position.0));
        jobs.named("SortGrid").in_turn().schedule(&[], grid.write(), |grid| grid.sort())?;
    }
    Ok(())
}

/// Moves each unit towards the nearest enemy, and strikes the enemy if it is in range.
#[burst]
fn fight(
    time: Time,
    mut units: Query<(&mut Position, &mut Weapon, &Speed)>,
    field: Single<&Battlefield>,
    mut data: ResMut<BattleData>,
) -> SystemResult {
    let (dt, corner) = (time.delta(), field.corner);
    for army in Army::BOTH {
        let units = units.reborrow().with_shared(army);
        let BattleData { grids, hits } = &mut *data;
        let (own, theirs) = (&grids[army as usize], &grids[army.enemy() as usize]);
        let hits = &mut hits[army as usize];
        let list = hits.get_mut()?;
        list.clear();
        list.reserve(units.count());
        let job = units.job().named("Fight").wait_for_containers();
        let with = (own.read(), theirs.read(), hits.writer());
        job.with(with).schedule_parallel(move |(position, weapon, speed), (own, theirs, hits)| {
            weapon.ready_in = (weapon.ready_in - dt).max(0.0);
            let mut velocity = own.direction_out_of_crowd(position.0) * CROWD_SPEED;
            if let Some((enemy, place)) = theirs.nearest_unit(position.0) {
                if position.0.distance_squared(place) > WEAPON_RANGE * WEAPON_RANGE {
                    velocity += (place - position.0).normalize() * speed.0;
                } else if weapon.ready_in == 0.0 {
                    weapon.ready_in = STRIKE_INTERVAL;
                    hits.push(enemy);
                }
            } else {
                // Units of one cell move in parallel, rather than towards the same point.
                velocity += theirs.offset_to_nearest_cell(position.0).normalize_or_zero() * speed.0;
            }
            position.0 =
                (position.0 + velocity.clamp_length_max(SPEED) * dt).clamp(Vec2::ZERO, corner);
        });
    }
    Ok(())
}

/// Subtracts health from the units that were struck, and counts the fallen.
fn apply_damage(
    camps: Query<&mut Camp>,
    health: Lookup<&mut Health>,
    data: Res<BattleData>,
) -> JobHandle {
    let [red, blue] = &data.hits;
    let with = (red.read(), blue.read(), health.into_job());
    let job = camps.job().named("ApplyDamage").wait_for_containers();
    job.with(with).schedule(|camp, (by_red, by_blue, health)| {
        let hits = match camp.army {
            Army::Red => by_blue,
            Army::Blue => by_red,
        };
        for &entity in hits.iter() {
            let Some(health) = health.get_mut(entity) else { continue };
            let lived = health.0 > 0;
            health.0 -= DAMAGE;
            if lived && health.0 <= 0 {
                camp.losses += 1;
            }
        }
    })
}

/// Destroys units without health, and spawns a new unit for each of them.
fn replace_dead_units(
    time: Time,
    units: Query<(Entity, &Health, &Shared<Army>)>,
    mut field: Single<&mut Battlefield>,
    mut commands: CommandsAt<EndSimulation>,
) -> JobHandle {
    // Not the time of the world: a copy of the battle continues in a new world.
    field.seconds += time.delta();
    let Battlefield { corner, seconds } = **field;
    let job = units.job().named("ReplaceDead").with(commands.writer());
    job.schedule_parallel(move |(entity, health, army), commands| {
        if health.0 <= 0 {
            commands.despawn(entity);
            commands.spawn(army.recruit(corner, seconds, Random::new(entity.to_bits())));
        }
    })
}

fn paint(world: &World, canvas: &mut Canvas) {
    let Ok(&Battlefield { corner, .. }) = world.singleton() else { return };
    let on_ground = |place: Vec2| Vec3::new(place.x, 0.0, place.y);
    canvas.look_at(on_ground(corner * 0.5), corner);
    for (position, health, weapon, army) in
        world.query::<(&Position, &Health, &Weapon, &Shared<Army>)>()
    {
        let color = match army {
            Army::Red => Color::RED,
            Army::Blue => Color::BLUE,
        };
        // A unit that has just struck lights up, and a wounded unit turns grey.
        let color = color.mixed(Color::GREY, 1.0 - health.0 as f32 / HEALTH as f32);
        let color = color.mixed(Color::YELLOW, weapon.ready_in / STRIKE_INTERVAL * 2.0 - 1.0);
        canvas.point(on_ground(position.0), color);
    }
    for camp in world.query::<&Camp>() {
        canvas.caption(format!("{:?} has lost {} units", camp.army, camp.losses));
    }
}
