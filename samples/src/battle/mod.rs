//! Two armies of 50,000 units each: they march, strike, fall, and others take their place.
//!
//! What happens to all of them in a frame:
//!
//! ```text
//! sort    Grid of each army  <── where its units are
//! fight   Position, Weapon   <── the nearest enemy, out of the other army's grid
//!         hits               <── who was struck
//! suffer  Health             <── hits
//! fall    who has no health left is despawned, and another one spawned at the edge of the field
//! ```
//!
//! Each line is a system that schedules jobs and returns at once. Which jobs wait for which follows from the components that they
//! use. Only for the grids and the hits, which are no components, do systems hand on the jobs that fill them.
//!
//! Nothing depends on how many threads there are: a unit looks at grids that do not change meanwhile, and writes what is its own;
//! hits and commands are recorded in the order of the units, whoever records them.

mod grid;
#[cfg(test)]
mod tests;

use ancho::entities::{CommandsAt, ComponentSet, EndSimulation, SystemResult};
use ancho::jobs::{JobCell, JobScheduler};
use ancho::prelude::*;

use crate::gallery::{Canvas, Color, Kind, Options, Sample, SampleResult, WorldSample};
use crate::random::Random;
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

/// How far a unit goes in a second, more or less: each has a pace of its own.
const SPEED: f32 = 12.0;
/// How far a weapon reaches.
const REACH: f32 = 3.0;
/// How long it takes to raise a weapon again, in seconds.
const PAUSE: f32 = 0.5;
const DAMAGE: i32 = 10;
const HEALTH: i32 = 100;
/// How fast units leave a crowd, for each unit that is beside them on one side and not on the other.
const ELBOW_ROOM: f32 = 0.35;

/// Which side a unit is on. Units of one army share the value, and chunks: a query for one army passes over the other.
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
    /// How many seconds until it can strike again.
    ready_in: f32,
}

/// What an army knows of itself. There is one entity with it for each.
#[derive(Component, Clone, Copy, Debug)]
struct Camp {
    army: Army,
    /// How many units have fallen.
    losses: u64,
}

/// Where they fight, and for how long already. There is one.
#[derive(Component, Clone, Copy, Debug)]
struct Battlefield {
    /// The corner of the field opposite of zero.
    corner: Vec2,
    seconds: f32,
}

/// What is found out anew in each frame. Nothing of it is needed in the next one, so that it is no component.
#[derive(Debug)]
struct Findings {
    /// For each army, where its units are.
    grids: [JobCell<Grid>; 2],
    /// For each army, whom its units have struck.
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

    /// A new unit, at the edge of the field that the army came from. Where along it changes slowly, so that the front does too.
    fn recruit(self, corner: Vec2, seconds: f32, mut random: Random) -> impl ComponentSet {
        let (edge, hurry) = match self {
            Self::Red => (0.0, 0.13),
            Self::Blue => (corner.x, -0.17),
        };
        let along = 0.5 + 0.35 * ancho::burst::math::sin(seconds * hurry);
        let spread = Vec2::new(random.between(-0.02, 0.02), random.between(-0.15, 0.15));
        let position = Vec2::new(edge, along * corner.y) + spread * corner;
        self.unit(position.clamp(Vec2::ZERO, corner), &mut random)
    }

    fn unit(self, position: Vec2, random: &mut Random) -> impl ComponentSet + use<> {
        (
            Position(position),
            Speed(SPEED * random.between(0.8, 1.2)),
            Health(HEALTH),
            Weapon { ready_in: random.between(0.0, PAUSE) },
            Shared::new(self),
        )
    }
}

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("Battle");
    let half = options.entities / 2;
    // Twice as much room as there are units, and twice as wide as high.
    let height = (options.entities as f32).max(64.0).sqrt();
    let corner = Vec2::new(2.0 * height, height);

    let mut random = Random::new(options.seed);
    // Of an odd number, the first army has one more.
    for (army, count) in Army::BOTH.into_iter().zip([options.entities - half, half]) {
        world.spawn(Camp { army, losses: 0 });
        // They stand in rows, a step apart, and look at each other across the middle.
        let in_row = (height * 0.8) as usize;
        world.spawn_batch((0..count).map(|number| {
            let (rank, file) = ((number / in_row) as f32, (number % in_row) as f32);
            let from_middle = height * 0.06 + rank + random.between(-0.4, 0.4);
            let across = height * 0.1 + file + random.between(-0.4, 0.4);
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
    world.insert_resource(Findings {
        grids: Army::BOTH.map(|_| JobCell::new(Grid::default()).named("grid")),
        hits: Army::BOTH.map(|_| NativeList::new().named("hits")),
    });
    world.add_system(sort);
    world.add_system(fight);
    world.add_system(suffer);
    world.add_system(fall);
}

/// Finds out where the units of each army are: one thread for each.
fn sort(
    jobs: &JobScheduler,
    mut units: Query<(Entity, &Position)>,
    field: Single<&Battlefield>,
    mut findings: ResMut<Findings>,
) -> SystemResult {
    for army in Army::BOTH {
        let grid = &mut findings.grids[army as usize];
        grid.get_mut()?.begin(field.corner);
        let spot = units.reborrow().with_shared(army).job().named("Spot").with(grid.write());
        spot.schedule(|(entity, position), grid| grid.add(entity, position.0));
        jobs.named("Sort").in_turn().schedule(&[], grid.write(), |grid| grid.sort())?;
    }
    Ok(())
}

/// Has each unit seek the nearest enemy, and strike it if it is in reach.
#[burst]
fn fight(
    time: Time,
    mut units: Query<(&mut Position, &mut Weapon, &Speed)>,
    field: Single<&Battlefield>,
    mut findings: ResMut<Findings>,
) -> SystemResult {
    let (dt, corner) = (time.delta(), field.corner);
    for army in Army::BOTH {
        let units = units.reborrow().with_shared(army);
        let Findings { grids, hits } = &mut *findings;
        let (own, theirs) = (&grids[army as usize], &grids[army.enemy() as usize]);
        let hits = &mut hits[army as usize];
        let list = hits.get_mut()?;
        list.clear();
        list.reserve(units.count());
        let job = units.job().named("Fight").wait_for_containers();
        let with = (own.read(), theirs.read(), hits.writer());
        job.with(with).schedule_parallel(move |(position, weapon, speed), (own, theirs, hits)| {
            weapon.ready_in = (weapon.ready_in - dt).max(0.0);
            let mut way = own.way_out(position.0) * ELBOW_ROOM;
            if let Some((enemy, place)) = theirs.nearest_unit(position.0) {
                if position.0.distance_squared(place) > REACH * REACH {
                    way += (place - position.0).normalize() * speed.0;
                } else if weapon.ready_in == 0.0 {
                    weapon.ready_in = PAUSE;
                    hits.push(enemy);
                }
            } else {
                // Side by side with those who go the same way, rather than to the same place.
                way += theirs.way_to_nearest_cell(position.0).normalize_or_zero() * speed.0;
            }
            position.0 = (position.0 + way.clamp_length_max(SPEED) * dt).clamp(Vec2::ZERO, corner);
        });
    }
    Ok(())
}

/// Takes health from those who were struck, and counts who falls.
fn suffer(
    camps: Query<&mut Camp>,
    health: Lookup<&mut Health>,
    findings: Res<Findings>,
) -> JobHandle {
    let [red, blue] = &findings.hits;
    let with = (red.read(), blue.read(), health.into_job());
    let job = camps.job().named("Suffer").wait_for_containers();
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

/// Removes those without health, and calls another unit for each of them.
fn fall(
    time: Time,
    units: Query<(Entity, &Health, &Shared<Army>)>,
    mut field: Single<&mut Battlefield>,
    mut commands: CommandsAt<EndSimulation>,
) -> JobHandle {
    // Not the time of the world: a copy of the battle goes on from here, in a world that is new.
    field.seconds += time.delta();
    let Battlefield { corner, seconds } = **field;
    let job = units.job().named("Fall").with(commands.writer());
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
        // Who has just struck lights up, and who is hurt turns grey.
        let color = color.mixed(Color::GREY, 1.0 - health.0 as f32 / HEALTH as f32);
        let color = color.mixed(Color::YELLOW, weapon.ready_in / PAUSE * 2.0 - 1.0);
        canvas.point(on_ground(position.0), color);
    }
    for camp in world.query::<&Camp>() {
        canvas.caption(format!("{:?} has lost {} units", camp.army, camp.losses));
    }
}
