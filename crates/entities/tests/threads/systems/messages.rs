//! Messages that jobs write and read.

use std::sync::{Arc, Mutex};

use ancho_entities::{
    Component, Entity, IntoSystem, Message, MessageReader, MessageWriter, Query, RateManager,
    RateTurn, Res, ResMut, Resource, SystemGroup, SystemId, Time, World, WorldSettings,
    assert_replays,
};
use ancho_jobs::{JobPool, JobScheduler};

use crate::fixtures::Wrapped;

const WORKERS: [usize; 2] = [0, 3];

#[derive(Component, Clone, Copy)]
struct Place(u32);

#[derive(Message, Clone, Debug, PartialEq)]
struct Note(u32);

fn world(workers: usize) -> World {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    World::with_settings("test", WorldSettings::new().job_pool(&pool))
}

fn read_all(world: &mut World) -> Vec<u32> {
    world.read_messages::<Note>().map(|note| note.0).collect()
}

fn write_places(all: Query<&Place>, mut notes: MessageWriter<Note>) {
    all.job().with(notes.writer()).schedule_parallel(|place, notes| {
        if place.0 % 3 == 0 {
            notes.write(Note(place.0));
        }
    });
}

#[test]
fn messages_of_a_job_are_in_the_order_of_entities() {
    for workers in WORKERS {
        let mut world = world(workers);
        world.spawn_batch((0..20_000).map(Place));
        world.add_system(write_places);
        for _ in 0..3 {
            world.update(0.1);
            assert_eq!(read_all(&mut world), (0..20_000).step_by(3).collect::<Vec<_>>());
        }
    }
}

#[test]
fn messages_of_a_job_have_the_place_at_which_the_writer_was_made() {
    for workers in WORKERS {
        let mut world = world(workers);
        world.spawn_batch((10..20).map(Place));
        world.add_system(
            |all: Query<&Place>, mut notes: MessageWriter<Note>, jobs: &JobScheduler| {
                notes.write(Note(0));
                all.job().with(notes.writer()).schedule_parallel(|place, notes| {
                    notes.write(Note(place.0));
                });
                notes.write(Note(1));
                let single = jobs.schedule(&[], notes.writer(), |mut notes| {
                    notes.write_batch([Note(2), Note(3)]);
                });
                notes.write(Note(4));
                single.unwrap()
            },
        );
        world.add_system(|mut notes: MessageWriter<Note>| notes.write(Note(5)));
        world.update(0.1);
        let expected: Vec<u32> = [0].into_iter().chain(10..20).chain(1..=5).collect();
        assert_eq!(read_all(&mut world), expected);
    }
}

#[test]
fn a_reader_completes_the_jobs_that_write_its_messages_and_no_others() {
    #[derive(Message, Clone)]
    struct Other;

    for workers in WORKERS {
        let mut world = world(workers);
        world.spawn_batch((0..9).map(Place));
        world.add_system(
            |jobs: &JobScheduler,
             mut notes: MessageWriter<Note>,
             mut others: MessageWriter<Other>| {
                let _ =
                    jobs.schedule(&[], notes.writer(), |mut notes| notes.write(Note(1))).unwrap();
                let _ =
                    jobs.schedule(&[], others.writer(), |mut others| others.write(Other)).unwrap();
            },
        );
        world.add_system(|mut notes: MessageReader<Note>, jobs: &JobScheduler| {
            assert_eq!((notes.read().count(), jobs.uncompleted()), (1, 1));
        });
        world.add_system(|mut others: MessageReader<Other>, jobs: &JobScheduler| {
            assert_eq!((others.read().count(), jobs.uncompleted()), (1, 0));
        });
        world.try_update(0.1).unwrap();
    }
}

#[test]
fn a0107_a_job_that_panics_drops_all_its_messages() {
    for workers in WORKERS {
        let mut world = world(workers);
        world.spawn_batch((0..1000).map(Place));
        let write = |all: Query<&Place>, mut notes: MessageWriter<Note>, time: Time| {
            notes.write(Note(1));
            let bad = time.frame() == 1;
            all.job().named("bad").with(notes.writer()).schedule_parallel(move |place, notes| {
                notes.write(Note(7));
                assert!(!bad || place.0 != 900, "stumbled");
            });
        };
        world.add_system(write.named("write"));
        world.try_update(0.1).unwrap();
        assert_eq!(read_all(&mut world), [1]);
        let errors = world.try_update(0.1).unwrap_err().to_string();
        assert!(errors.starts_with("A0107: ") && errors.contains("`bad`"), "{errors}");
        assert_eq!(read_all(&mut world).len(), 1001);
    }
}

#[test]
fn a_failed_system_drops_the_messages_of_its_jobs() {
    for workers in WORKERS {
        let mut world = world(workers);
        world.spawn_batch((0..10).map(Place));
        world.add_system(|all: Query<&Place>, mut notes: MessageWriter<Note>| {
            all.job().with(notes.writer()).schedule_parallel(|place, notes| {
                notes.write(Note(place.0));
            });
            Err::<(), _>("no fuel")
        });
        assert!(world.try_update(0.1).is_err());
        assert_eq!(read_all(&mut world), [0; 0]);
        assert!(world.try_update(0.1).is_err());
    }
}

#[test]
fn a_job_keeps_the_messages_that_it_reads() {
    for workers in WORKERS {
        let mut world = world(workers);
        let sum = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&sum);
        world.add_system(|mut notes: MessageWriter<Note>, time: Time| {
            notes.write_batch([Note(time.frame() as u32), Note(100)]);
        });
        world.add_system(move |notes: MessageReader<Note>, jobs: &JobScheduler| {
            let own = Arc::clone(&own);
            jobs.schedule(&[], notes.into_job(), move |notes| {
                assert_eq!((notes.len(), notes.is_empty()), (2, false));
                own.lock().unwrap().push(notes.iter().map(|note| note.0).sum::<u32>());
            })
        });
        (0..10).for_each(|_| world.try_update(0.1).unwrap());
        world.complete_jobs();
        assert_eq!(*sum.lock().unwrap(), (101..=110).collect::<Vec<_>>());
    }
}

#[test]
fn forks_and_hashes_complete_the_jobs_that_write() {
    for workers in WORKERS {
        let mut world = world(workers);
        world.spawn_batch((0..5000).map(Place));
        world.add_system(write_places);
        world.update(0.1);
        let before = world.state_hash();
        let mut fork = world.fork().unwrap();
        assert_eq!((fork.state_hash(), world.state_hash()), (before, before));
        assert_eq!(read_all(&mut fork), read_all(&mut world));
    }
}

#[test]
fn replays_with_messages_of_jobs_are_equal() {
    #[derive(Resource, Clone)]
    struct Sum(u64);

    for workers in WORKERS {
        let mut world = world(workers);
        world.insert_resource(Sum(0));
        world.spawn_batch((0..3000).map(Place));
        world.add_system(|mut notes: MessageReader<Note>, mut sum: ResMut<Sum>| {
            for note in notes.read() {
                sum.0 = sum.0.wrapping_mul(31).wrapping_add(note.0.into());
            }
        });
        world.add_system(write_places);
        world.update(0.1);
        assert_replays(&mut world, 5);
    }
}

/// A group that makes as many steps as the plan says.
struct Stepped;

impl SystemGroup for Stepped {}

/// The actions of one update.
#[derive(Clone, Debug, Default)]
struct Plan {
    steps: u32,
    /// The numbers of messages that are written: by a system before the group, by its members, by a job, and after the group.
    writes: [u32; 4],
    /// The enabled readers: before the group, in it, and after it.
    reads: [bool; 3],
    /// The number of messages that a reader reads at most.
    most: usize,
}

struct PlannedRate(Arc<Mutex<Plan>>);

impl RateManager for PlannedRate {
    fn next_update(&mut self, turn: RateTurn) -> Option<Time> {
        (turn.updates < self.0.lock().unwrap().steps).then_some(turn.time)
    }
}

/// A reader of the model, with the messages that it has not read.
#[derive(Default)]
struct ModelReader {
    /// Values, with the step in which they were written, and whether the reader had run in that step or it had ended.
    unread: Vec<(u32, i64, bool)>,
    last_run: Option<i64>,
}

impl ModelReader {
    fn run(&mut self, step: i64, most: usize) -> String {
        let before = self.unread.len();
        self.unread.retain(|&(_, written, had_run)| step - written + i64::from(!had_run) <= 2);
        let missed = before - self.unread.len();
        let count = most.min(self.unread.len());
        let values: Vec<_> = self.unread.drain(..count).map(|(value, ..)| value).collect();
        self.last_run = Some(step);
        format!("{values:?} {missed}")
    }
}

/// A queue with three readers: two with the clock of the root, and one with that of the group.
#[derive(Default)]
struct Model {
    readers: [ModelReader; 3],
    updates: i64,
    steps: i64,
    next: u32,
    log: Vec<String>,
}

impl Model {
    fn write(&mut self, count: u32, is_in_step: bool) {
        for _ in 0..count {
            for (at, reader) in self.readers.iter_mut().enumerate() {
                let step = if at == 1 { self.steps } else { self.updates };
                let had_run = reader.last_run == Some(step) || at == 1 && !is_in_step;
                reader.unread.push((self.next, step, had_run));
            }
            self.next += 1;
        }
    }

    fn read(&mut self, plan: &Plan, at: usize) {
        if plan.reads[at] {
            let step = if at == 1 { self.steps } else { self.updates };
            let line = self.readers[at].run(step, plan.most);
            self.log.push(format!("{at} {line}"));
        }
    }

    fn update(&mut self, plan: &Plan) {
        self.updates += 1;
        self.read(plan, 0);
        self.write(plan.writes[0], false);
        for _ in 0..plan.steps {
            self.steps += 1;
            self.write(plan.writes[1], true);
            self.read(plan, 1);
        }
        self.write(plan.writes[2], false);
        self.write(plan.writes[3], false);
        self.read(plan, 2);
    }
}

/// The next value of the messages.
#[derive(Resource, Clone)]
struct Next(u32);

impl Next {
    fn take(&mut self, count: u32) -> std::ops::Range<u32> {
        self.0 += count;
        self.0 - count..self.0
    }
}

type Shared<T> = Wrapped<Arc<Mutex<T>>>;
type Log = Wrapped<Vec<String>>;

fn log_reads(
    at: usize,
) -> impl FnMut(MessageReader<'_, Note>, Res<'_, Shared<Plan>>, ResMut<'_, Log>) + Send {
    move |mut notes: MessageReader<'_, Note>,
          plan: Res<'_, Shared<Plan>>,
          mut log: ResMut<'_, Log>| {
        let (missed, most) = (notes.missed(), plan.lock().unwrap().most);
        let values: Vec<_> = notes.read().take(most).map(|note| note.0).collect();
        log.push(format!("{at} {values:?} {missed}"));
    }
}

fn write_planned(
    at: usize,
) -> impl FnMut(MessageWriter<'_, Note>, Res<'_, Shared<Plan>>, ResMut<'_, Next>) + Send {
    move |mut notes: MessageWriter<'_, Note>,
          plan: Res<'_, Shared<Plan>>,
          mut next: ResMut<'_, Next>| {
        let count = plan.lock().unwrap().writes[at];
        notes.write_batch(next.take(count).map(Note));
    }
}

/// Entity `i` writes message `i` of the job.
fn write_in_job(
    all: Query<(Entity, &Place)>,
    mut notes: MessageWriter<Note>,
    plan: Res<Shared<Plan>>,
    mut next: ResMut<Next>,
) {
    let values = next.take(plan.lock().unwrap().writes[2]);
    all.job().with(notes.writer()).schedule_parallel(move |(_, place), notes| {
        if place.0 < values.len() as u32 {
            notes.write(Note(values.start + place.0));
        }
    });
}

fn random_plans(seed: u64) -> Vec<Plan> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % below
    };
    let plan = |_| Plan {
        steps: [0, 0, 1, 1, 3][next(5) as usize],
        writes: [(); 4].map(|()| [0, 0, 1, 5, 200][next(5) as usize]),
        reads: [(); 3].map(|()| next(3) > 0),
        most: [1, 3, 1000, 1000][next(4) as usize],
    };
    (0..40).map(plan).collect()
}

#[test]
fn a_queue_behaves_as_a_list_with_a_position_for_each_reader() {
    for (seed, workers) in (1..25).flat_map(|seed| WORKERS.map(|workers| (seed, workers))) {
        let plans = random_plans(seed);
        let shared = Arc::new(Mutex::new(Plan::default()));
        let mut world = world(workers);
        world.insert_resource(Wrapped(Arc::clone(&shared)));
        world.insert_resource(Wrapped(Vec::<String>::new()));
        world.insert_resource(Next(0));
        world.spawn_batch((0..200).map(Place));
        let before = world.add_system(log_reads(0).named("before"));
        world.add_system(write_planned(0).named("write before").after(before));
        world.add_system(Stepped.rate(PlannedRate(Arc::clone(&shared))).after("write before"));
        world.add_system(write_planned(1).named("write inside").in_group(Stepped));
        let inside = world.add_system(log_reads(1).named("inside").in_group(Stepped));
        world.add_system(write_in_job.after(Stepped));
        world.add_system(write_planned(3).named("write after").after(write_in_job));
        let after = world.add_system(log_reads(2).named("after").after("write after"));
        let readers: [SystemId; 3] = [before, inside, after];
        let mut model = Model::default();
        for (frame, plan) in plans.iter().enumerate() {
            *shared.lock().unwrap() = plan.clone();
            for (reader, enabled) in readers.into_iter().zip(plan.reads) {
                world.set_system_enabled(reader, enabled).unwrap();
            }
            world.try_update(0.1).unwrap();
            model.update(plan);
            let found = std::mem::take(&mut world.resource_mut::<Wrapped<Vec<String>>>().0);
            let expected = std::mem::take(&mut model.log);
            assert_eq!(found, expected, "seed {seed}, {workers} workers, frame {frame}, {plan:?}");
        }
    }
}
