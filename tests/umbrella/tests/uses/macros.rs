//! Every macro, in a crate that depends on the umbrella crate alone and renames it to `stack`.

use stack::burst::burst;
use stack::collections::{BlobArray, BlobBuilder, BlobData};
use stack::entities::{
    Aspect, Buffer, BufferElement, Component, Entity, Field, Managed, ManagedComponent, Shared,
    SharedComponent, World,
};
use stack::jobs::{CellWrite, Job, JobCell, JobPool, JobScheduler, JobStruct};
use stack::jobs::{JobSlice, ParallelFor, ParallelJobStruct, SliceWrite};
use stack::math::Vec3;

#[derive(Clone, Copy, Debug, Default, Field, PartialEq)]
enum Mood {
    #[default]
    Calm,
    Afraid {
        of: Entity,
    },
}

#[derive(Clone, Component, Copy, Debug, Default, PartialEq)]
#[component(name = "umbrella::Position", track_changes)]
struct Position {
    at: Vec3,
    mood: Mood,
}

#[derive(Clone, Component, Copy, Debug, PartialEq)]
#[component(enableable, write_group(Position))]
struct Velocity<T: Copy>(T);

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(inline = 2)]
struct Waypoint(Vec3);

#[derive(Debug, Eq, Hash, PartialEq, SharedComponent)]
struct Team(&'static str);

#[derive(Debug, ManagedComponent, PartialEq)]
struct Name(String);

#[derive(Aspect)]
#[aspect(read_only = MoverView)]
struct Mover<'w> {
    position: &'w mut Position,
    velocity: &'w Velocity<f32>,
    #[aspect(shared)]
    team: Option<&'w Team>,
    #[aspect(managed)]
    name: Option<&'w Name>,
}

#[test]
fn components_of_every_kind_and_aspects() {
    let mut world = World::new("umbrella");
    let wolf = world.spawn(Position::default());
    let sheep = world.spawn((
        Position { at: Vec3::ZERO, mood: Mood::Afraid { of: wolf } },
        Velocity(2.0_f32),
        Buffer::from([Waypoint(Vec3::X)]),
        Shared::new(Team("flock")),
        Managed::new(Name("Dolly".to_owned())),
    ));
    world.query_mut::<Mover>().for_each(|mover| {
        assert_eq!((mover.team, mover.name.is_some()), (Some(&Team("flock")), true));
        mover.position.at.x += mover.velocity.0;
    });
    let positions: Vec<_> = world.query::<MoverView>().iter().map(|m| m.position.at).collect();
    assert_eq!(positions, [Vec3::new(2.0, 0.0, 0.0)]);
    assert_eq!(world.get::<Position>(sheep).unwrap().mood, Mood::Afraid { of: wolf });
    assert!(world.fork().unwrap_err().to_string().contains("Name"));
}

#[derive(BlobData, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Ease {
    Linear,
    Smooth,
}

#[derive(BlobData)]
#[repr(C)]
struct Curve {
    ease: Ease,
    samples: BlobArray<f32>,
}

#[test]
fn blobs() {
    let curve = BlobBuilder::new(Curve { ease: Ease::Smooth, samples: BlobArray::new() });
    let curve = curve.build().unwrap();
    assert_eq!((curve.ease, curve.samples.len()), (Ease::Smooth, 0));
    assert_ne!(curve.ease, Ease::Linear);
}

#[derive(JobStruct)]
struct Add<'a> {
    total: CellWrite<'a, f32>,
    amount: f32,
}

impl Job for Add<'_> {
    fn execute(job: AddView<'_>) {
        *job.total += *job.amount;
    }
}

#[derive(ParallelJobStruct)]
struct Double<'a> {
    number: SliceWrite<'a, f32>,
}

impl ParallelFor for Double<'_> {
    fn execute(job: DoubleItem<'_>, _: usize) {
        *job.number *= 2.0;
    }
}

#[test]
fn jobs_that_are_structs() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut total = JobCell::new(3.0);
    let add = jobs.schedule_job(&[], Add { total: total.write(), amount: 5.0 }).unwrap();
    jobs.complete(add);
    assert_eq!(*total.get().unwrap(), 8.0);

    let mut numbers = JobSlice::new(100, 4.0);
    let double = Double { number: numbers.write() };
    let double = jobs.schedule_parallel_for(&[], double, 100, 32).unwrap();
    jobs.complete(double);
    assert_eq!(numbers.as_slice().unwrap(), [8.0; 100]);
}

#[burst]
fn advance(positions: &mut [f32], velocities: &[f32]) {
    positions.iter_mut().zip(velocities).for_each(|(position, velocity)| *position += velocity);
}

struct Gravity(f32);

impl Gravity {
    #[burst]
    fn pull(&self, velocities: &mut [f32]) {
        velocities.iter_mut().for_each(|velocity| *velocity += self.0);
    }
}

#[test]
fn kernels() {
    let (mut positions, mut velocities) = ([1.0; 8], [2.0; 8]);
    Gravity(-1.0).pull(&mut velocities);
    advance(&mut positions, &velocities);
    assert_eq!(positions, [2.0; 8]);
}
