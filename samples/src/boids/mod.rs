//! 50,000 boids in flocks that follow targets and avoid obstacles.
//!
//! The settings of a flock are a shared component: boids with equal settings share chunks, and a query can filter by
//! the value. For each flock:
//!
//! ```text
//! hash    inserts positions and headings into a multi-hash-map, by cell                    (all threads)
//! merge   computes count, sums, nearest target and nearest obstacle of each cell            (one thread)
//! steer   moves each boid by the summary of its cell                                       (all threads)
//! ```
//!
//! A boid never reads another boid, only the summary of its cell. The cost therefore does not depend on the density of
//! the flock.

#[cfg(test)]
mod tests;

use std::hash::{Hash, Hasher};

use ancho::burst::math::Random;
use ancho::collections::{NativeHashMap, NativeMultiHashMap};
use ancho::entities::SystemResult;
use ancho::jobs::JobScheduler;
use ancho::math::IVec3;
use ancho::prelude::*;

use crate::gallery::{Canvas, Color, Kind, Options, Sample, SampleResult, WorldSample};

pub(crate) const SAMPLE: Sample = Sample {
    name: "boids",
    summary: "50,000 boids in flocks that follow targets and shy away from obstacles",
    kind: Kind::World(WorldSample {
        counts: "boids of both flocks",
        entities: 50_000,
        most: 5_000_000,
        frames: 600,
        seed: Some(1),
        build,
        add_systems,
        paint,
        steering: None,
    }),
};

/// Radius of the ball in which boids start.
const RADIUS: f32 = 75.0;

/// Settings of a flock.
#[derive(SharedComponent, Clone, Copy, Debug)]
struct Flock {
    /// Width of a cell. Boids interact within one cell.
    cell: f32,
    /// Weight of the distance from other boids. `alignment` is the weight of their direction, and `target` that of the target.
    separation: f32,
    alignment: f32,
    target: f32,
    /// Distance at which avoiding an obstacle overrides everything else.
    aversion: f32,
    speed: f32,
}

#[derive(Component, Clone, Copy)]
struct Position(Vec3);

/// Direction of flight, a vector of length 1.
#[derive(Component, Clone, Copy)]
struct Heading(Vec3);

/// A point that boids follow.
#[derive(Component, Clone, Copy)]
struct Target;

/// A point that boids avoid.
#[derive(Component, Clone, Copy)]
struct Obstacle;

/// Circular motion of targets and obstacles.
#[derive(Component, Clone, Copy)]
struct Orbit {
    radius: f32,
    height: f32,
    /// Angle in radians. `speed` is its change in radians per second.
    angle: f32,
    speed: f32,
}

/// Per-frame data of a flock.
#[derive(Debug)]
struct Flight {
    flock: Flock,
    /// Positions and headings of the boids in each cell.
    boids: NativeMultiHashMap<IVec3, (Vec3, Vec3)>,
    cells: NativeHashMap<IVec3, Cell>,
}

#[derive(Resource, Debug, Default)]
#[resource(local)]
struct Flights(Vec<Flight>);

/// Summary of the boids in a cell.
#[derive(Clone, Copy, Debug)]
struct Cell {
    count: f32,
    positions: Vec3,
    headings: Vec3,
    target: Vec3,
    obstacle: Vec3,
}

impl Flock {
    const CALM: Self = Self {
        cell: 8.0,
        separation: 1.0,
        alignment: 1.0,
        target: 2.0,
        aversion: 30.0,
        speed: 25.0,
    };
    const WILD: Self = Self { separation: 2.0, alignment: 2.5, speed: 32.0, ..Self::CALM };

    /// Returns the bits of the settings: flocks are equal if their bits are.
    fn bits(&self) -> [u32; 6] {
        let Self { cell, separation, alignment, target, aversion, speed } = *self;
        [cell, separation, alignment, target, aversion, speed].map(f32::to_bits)
    }

    fn cell_of(&self, position: Vec3) -> IVec3 {
        (position / self.cell).floor().as_ivec3()
    }

    /// Returns the next heading of a boid, computed from the summary of its cell.
    #[inline(always)]
    fn steered(&self, position: Vec3, heading: Vec3, cell: &Cell, dt: f32) -> Vec3 {
        let from_obstacle = position - cell.obstacle;
        let wanted = if from_obstacle.length_squared() < self.aversion * self.aversion {
            cell.obstacle + from_obstacle.normalize_or_zero() * self.aversion - position
        } else {
            let alignment = (cell.headings / cell.count - heading).normalize_or_zero();
            let separation = (position * cell.count - cell.positions).normalize_or_zero();
            let target = (cell.target - position).normalize_or_zero();
            (alignment * self.alignment + separation * self.separation + target * self.target)
                .normalize_or_zero()
        };
        (heading + (wanted - heading) * dt).try_normalize().unwrap_or(heading)
    }
}

impl PartialEq for Flock {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for Flock {}

impl Hash for Flock {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("Boids");
    let mut random = Random::new(options.seed);
    let mut flocks = [Flock::CALM, Flock::WILD].map(Shared::new).into_iter().cycle();
    let half = options.entities / 2;
    for count in [options.entities - half, half] {
        let Some(flock) = flocks.next() else { break };
        world.spawn_batch((0..count).map(|_| {
            let (position, heading) = (random.inside_unit_sphere(), random.inside_unit_sphere());
            let heading = heading.try_normalize().unwrap_or(Vec3::X);
            (Position(position * RADIUS), Heading(heading), flock.clone())
        }));
    }
    for (angle, height) in [(0.0, 30.0), (3.0, -30.0)] {
        let orbit = Orbit { radius: 70.0, height, angle, speed: 0.25 };
        world.spawn((Target, Position(Vec3::ZERO), orbit));
    }
    let orbit = Orbit { radius: 60.0, height: 0.0, angle: 1.0, speed: -0.15 };
    world.spawn((Obstacle, Position(Vec3::ZERO), orbit));

    Ok(world)
}

fn add_systems(world: &mut World) {
    world.insert_resource(Flights::default());
    world.add_system(move_orbits);
    world.add_system(summarise_cells);
    world.add_system(steer);
}

/// Moves targets and obstacles. They are too few for a job.
fn move_orbits(time: Time, mut all: Query<(&mut Position, &mut Orbit)>) {
    all.for_each(|(position, orbit)| {
        orbit.angle += orbit.speed * time.delta();
        let (sine, cosine) = ancho::burst::math::sincos(orbit.angle);
        position.0 = Vec3::new(cosine * orbit.radius, orbit.height, sine * orbit.radius);
    });
}

/// Sorts boids into cells, and summarises each cell.
fn summarise_cells(
    jobs: &JobScheduler,
    mut boids: Query<(&Position, &Heading, &Shared<Flock>)>,
    targets: Query<&Position, With<Target>>,
    obstacles: Query<&Position, With<Obstacle>>,
    mut flights: ResMut<Flights>,
) -> SystemResult {
    // Settings are read once per chunk, not once per boid.
    boids.for_each_chunk(|(_, _, flock)| {
        if flights.0.iter().all(|flight| flight.flock != *flock) {
            flights.0.push(Flight::new(*flock));
        }
    });
    for Flight { flock, boids: by_cell, cells } in &mut flights.0 {
        let flock = *flock;
        let boids = boids.reborrow().with_shared(flock);
        let map = by_cell.get_mut()?;
        map.clear();
        map.reserve(boids.count());
        let hash = boids.job().named("Hash").with(by_cell.writer());
        hash.schedule_parallel(move |(position, heading, _), map| {
            map.add(flock.cell_of(position.0), (position.0, heading.0));
        });

        let targets: Vec<Vec3> = targets.iter().map(|position| position.0).collect();
        let obstacles: Vec<Vec3> = obstacles.iter().map(|position| position.0).collect();
        let data = (by_cell.read(), cells.write());
        jobs.named("Merge").in_turn().schedule(&[], data, move |(boids, cells)| {
            cells.clear();
            for &key in boids.keys() {
                let (mut count, mut positions, mut headings) = (0.0, Vec3::ZERO, Vec3::ZERO);
                for &(position, heading) in boids.values_for(&key) {
                    (count, positions, headings) =
                        (count + 1.0, positions + position, headings + heading);
                }
                let target = nearest(positions / count, &targets);
                let obstacle = nearest(positions / count, &obstacles);
                cells.insert(key, Cell { count, positions, headings, target, obstacle });
            }
        })?;
    }
    Ok(())
}

/// Returns the nearest of some places, or a very distant point if the list is empty.
fn nearest(from: Vec3, places: &[Vec3]) -> Vec3 {
    let distance = |place: &Vec3| place.distance_squared(from);
    let nearest = places.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.copied().unwrap_or(Vec3::splat(1e9))
}

/// Steers each boid by the summary of its cell, and moves it.
#[burst]
fn steer(
    time: Time,
    mut boids: Query<(&mut Position, &mut Heading), With<Shared<Flock>>>,
    flights: Res<Flights>,
) -> SystemResult {
    let dt = time.delta();
    for Flight { flock, cells, .. } in &flights.0 {
        let flock = *flock;
        let job = boids.reborrow().with_shared(flock).job().named("Steer").wait_for_containers();
        job.with(cells.read()).schedule_parallel(move |(position, heading), cells| {
            if let Some(cell) = cells.get(&flock.cell_of(position.0)) {
                heading.0 = flock.steered(position.0, heading.0, cell, dt);
            }
            position.0 += heading.0 * (flock.speed * dt);
        });
    }
    Ok(())
}

impl Flight {
    fn new(flock: Flock) -> Self {
        let boids = NativeMultiHashMap::new().named("boids");
        let cells = NativeHashMap::new().named("cells");
        Self { flock, boids, cells }
    }
}

fn paint(world: &World, canvas: &mut Canvas) {
    canvas.look_at(Vec3::ZERO, Vec2::new(260.0, 200.0));
    for (position, flock) in world.query::<(&Position, &Shared<Flock>)>() {
        let color = if *flock == Flock::CALM { Color::BLUE } else { Color::GREEN };
        canvas.point(position.0, color);
    }
    for position in world.query_filtered::<&Position, With<Target>>() {
        canvas.disc(position.0, 2.5, Color::YELLOW);
    }
    for position in world.query_filtered::<&Position, With<Obstacle>>() {
        canvas.disc(position.0, 4.0, Color::RED);
    }
}
