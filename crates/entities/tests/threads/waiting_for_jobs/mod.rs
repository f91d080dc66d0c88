//! Operations on a world's thread while jobs run: it waits for conflicting jobs, sees their results, and waits for no
//! others.
//!
//! Jobs block at a gate until it is opened, so that a test can see whether the operation has waited for them.
#![forbid(unsafe_code)]

mod operations;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use ancho_entities::{
    Buffer, Component, ComponentType, Disabled, EnabledMut, EnabledRef, Entity, EntityTracker,
    IncludeDisabled, LinkedEntityGroup, Managed, PerChunk, Present, QueryDescriptor, Shared, With,
    World, WorldSettings,
};
use ancho_jobs::{JobHandle, JobPool};

use crate::common::{A, B, Checked, Item, Script, T, Team, Text, X};
use operations::{NEAR, OTHER, Operation, WHOLE};

/// A component in an archetype of its own, which only the `far` jobs use.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Far(u32);

/// A cleanup component.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(cleanup)]
struct Stays(u32);

/// A chunk component.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Detail(u32);

/// A gate that blocks jobs until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn is_open(&self) -> bool {
        *self.0.0.lock().unwrap()
    }

    fn pass(&self) {
        let opened = self.0.1.wait_while(self.0.0.lock().unwrap(), |is_open| !*is_open);
        drop(opened.unwrap());
    }

    /// Opens the gate after a time, unless the returned sender is dropped before.
    fn open_after(&self, time: Duration) -> mpsc::Sender<()> {
        let (gate, (sender, gone)) = (self.clone(), mpsc::channel::<()>());
        thread::spawn(move || {
            if gone.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout) {
                gate.open();
            }
        });
        sender
    }
}

/// Blocking time of jobs that the operation has to wait for.
const A_WHILE: Duration = Duration::from_millis(10);
/// Blocking time of jobs that the operation must not wait for.
const FOR_EVER: Duration = Duration::from_secs(20);

/// The amount that jobs add.
const MORE: u32 = 100;

struct Stage {
    world: Checked,
    /// The value of `A`, before the job or after it.
    a: u32,
    alone: Entity,
    pair: [Entity; 2],
    switched: Entity,
    stays: Entity,
    with_items: Entity,
    of_team: Entity,
    with_detail: Entity,
    with_text: Entity,
    with_script: Entity,
    tracked: Entity,
    root: Entity,
    member: Entity,
    disabled: Entity,
    _fork: Option<World>,
    /// Dropping the last handle waits for its threads.
    _pool: JobPool,
}

impl Stage {
    fn new(workers: usize, forked: bool) -> Self {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let settings = WorldSettings::new().chunk_capacity_limit(4).job_pool(&pool);
        let mut world = Checked(World::with_settings("Simulation", settings));
        for _ in 0..10 {
            world.spawn(A(1));
            world.spawn((A(1), B(1)));
            world.spawn((A(1), X(1)));
            world.spawn((A(1), Shared::new(Team(1))));
            world.spawn(Far(1));
        }
        let alone = world.spawn(A(1));
        let pair = [world.spawn((A(1), B(1))), world.spawn((A(1), B(2)))];
        let switched = world.spawn((A(1), X(1)));
        let stays = world.spawn((A(1), Stays(1)));
        let with_items = world.spawn((A(1), Buffer::from([Item(1)])));
        let of_team = world.spawn((A(1), Shared::new(Team(1))));
        let with_detail = world.spawn((A(1), PerChunk::<Detail>::new()));
        let with_text = world.spawn((A(1), Text("1".into())));
        let with_script = world.spawn((A(1), Managed::new(Script("1".into()))));
        let tracked = world.spawn((A(1), T(1)));
        let (root, member) = (world.spawn(A(1)), world.spawn((A(1), B(1))));
        let group = Buffer::from([LinkedEntityGroup(root), LinkedEntityGroup(member)]);
        world.add(root, group).map_err(|rejected| rejected.error).unwrap();
        let disabled = world.spawn((A(1), Disabled));
        let _fork = forked.then(|| world.fork().unwrap());
        Self {
            world,
            a: 1,
            alone,
            pair,
            switched,
            stays,
            with_items,
            of_team,
            with_detail,
            with_text,
            with_script,
            tracked,
            root,
            member,
            disabled,
            _fork,
            _pool: pool,
        }
    }

    /// Returns the value of `A`, also of disabled entities.
    fn a_of(&self, entity: Entity) -> u32 {
        self.world.get::<A>(entity).unwrap().0
    }
}

/// A job, and the number of entities it has processed.
struct Started {
    gate: Gate,
    done: Arc<AtomicUsize>,
    /// The number of entities to process.
    all: usize,
}

impl Started {
    /// Starts the jobs of the function, which pass the gate and count for each entity.
    fn new(
        world: &mut World,
        all: usize,
        schedule: impl FnOnce(&mut World, Arc<dyn Fn() + Send + Sync>) -> JobHandle,
    ) -> Self {
        let (gate, done) = (Gate::default(), Arc::new(AtomicUsize::new(0)));
        let pass = {
            let (gate, done) = (gate.clone(), Arc::clone(&done));
            move || {
                gate.pass();
                done.fetch_add(1, Ordering::Relaxed);
            }
        };
        let _ = schedule(world, Arc::new(pass));
        world.jobs().flush();
        Self { gate, done, all }
    }

    /// Starts a job that writes `A` of all entities.
    fn near(stage: &mut Stage) -> Self {
        stage.a += MORE;
        let all = stage.world.query_filtered::<&A, IncludeDisabled>().count();
        Self::new(&mut stage.world, all, |world, pass| {
            let mut job = world.query_filtered_mut::<&mut A, IncludeDisabled>();

            job.schedule_parallel(move |a| {
                pass();
                a.0 += MORE;
            })
        })
    }

    /// Starts a job that writes `Far`, in a separate archetype.
    fn far(stage: &mut Stage) -> Self {
        let all = stage.world.query::<&Far>().count();
        Self::new(&mut stage.world, all, |world, pass| {
            world.query_mut::<&mut Far>().schedule_parallel(move |far| {
                pass();
                far.0 += MORE;
            })
        })
    }

    #[track_caller]
    fn must_be_waited_for(self, name: &str, operate: impl FnOnce()) {
        let _opens = self.gate.open_after(A_WHILE);
        operate();
        assert!(self.gate.is_open(), "{name} has not waited");
        assert_eq!(self.done.load(Ordering::Relaxed), self.all, "{name} has not waited for all");
    }

    #[track_caller]
    fn must_not_be_waited_for(self, name: &str, operate: impl FnOnce()) {
        let _opens = self.gate.open_after(FOR_EVER);
        operate();
        assert!(!self.gate.is_open(), "{name} has waited");
        assert_eq!(self.done.load(Ordering::Relaxed), 0);
        self.gate.open();
    }
}

#[test]
fn operations_wait_for_conflicting_jobs() {
    for forked in [false, true] {
        for &(name, operate) in NEAR.iter().chain(WHOLE) {
            let mut stage = Stage::new(2, forked);
            let job = Started::near(&mut stage);
            job.must_be_waited_for(name, || operate(&mut stage));
            stage.world.check_invariants().unwrap();
        }
    }
}

#[test]
fn jobs_over_other_archetypes_are_not_waited_for() {
    for forked in [false, true] {
        for &(name, operate) in NEAR {
            let mut stage = Stage::new(2, forked);
            let job = Started::far(&mut stage);
            job.must_not_be_waited_for(name, || operate(&mut stage));
            assert!(stage.world.query::<&Far>().iter().all(|far| far.0 == 1 + MORE));
        }
    }
}

#[test]
fn jobs_over_other_components_are_not_waited_for() {
    for &(name, operate) in OTHER {
        let mut stage = Stage::new(2, false);
        let job = Started::near(&mut stage);
        job.must_not_be_waited_for(name, || operate(&mut stage));
        let all = stage.world.query_filtered::<&A, IncludeDisabled>();
        assert!(all.iter().all(|a| a.0 == 1 + MORE));
    }
}

#[test]
fn without_workers_the_same_is_found() {
    for forked in [false, true] {
        for &(name, operate) in NEAR.iter().chain(WHOLE).chain(OTHER) {
            let mut stage = Stage::new(0, forked);
            stage.a += MORE;
            let job = stage.world.query_filtered_mut::<&mut A, IncludeDisabled>();
            let _ = job.job().named(name).schedule_parallel(|a| a.0 += MORE);
            operate(&mut stage);
            stage.world.check_invariants().unwrap();
        }
    }
}

#[test]
fn writing_operations_wait_for_reading_jobs() {
    let start = |stage: &mut Stage| {
        let all = stage.world.query::<&A>().count();
        Started::new(&mut stage.world, all, |world, pass| {
            let expected = 1;

            world.query::<&A>().schedule_parallel(move |a| {
                pass();
                assert_eq!(a.0, expected);
            })
        })
    };
    let writes: &[Operation] = &[
        ("get_mut", |stage| stage.world.get_mut::<A>(stage.pair[0]).unwrap().0 = 9),
        ("a query", |stage| stage.world.query_mut::<&mut A>().for_each(|a| a.0 = 9)),
        ("despawn", |stage| _ = stage.world.despawn(stage.pair[0])),
        ("remove", |stage| _ = stage.world.remove::<B>(stage.pair[0])),
        ("spawn", |stage| _ = stage.world.spawn((A(9), B(9)))),
    ];
    let reads: &[Operation] = &[
        ("get", |stage| assert_eq!(stage.a_of(stage.alone), 1)),
        ("a query", |stage| assert!(stage.world.query::<&A>().iter().all(|a| a.0 == 1))),
        ("lookup", |stage| _ = stage.world.lookup::<&A>()),
        ("get_mut of another component", |stage| {
            stage.world.get_mut::<B>(stage.pair[0]).unwrap().0 = 9;
        }),
    ];
    for &(name, operate) in writes {
        let mut stage = Stage::new(2, false);
        let job = start(&mut stage);
        job.must_be_waited_for(name, || operate(&mut stage));
        assert!(stage.world.jobs().take_failures().is_empty());
    }
    for &(name, operate) in reads {
        let mut stage = Stage::new(2, false);
        let job = start(&mut stage);
        job.must_not_be_waited_for(name, || operate(&mut stage));
        stage.world.check_invariants().unwrap();
        assert!(stage.world.jobs().take_failures().is_empty());
    }
}

#[test]
fn a_chunk_that_a_job_reads_is_not_copied_under_it() {
    let mut stage = Stage::new(2, true);
    let all = stage.world.query::<&A>().count();
    let job = Started::new(&mut stage.world, all, |world, pass| {
        world.query::<&A>().schedule_parallel(move |a| {
            pass();
            assert_eq!(a.0, 1);
        })
    });
    job.must_be_waited_for("get_mut", || stage.world.get_mut::<B>(stage.pair[0]).unwrap().0 = 9);
    assert!(stage.world.jobs().take_failures().is_empty());
}

#[test]
fn operations_wait_for_jobs_that_write_enabled_bits() {
    let start = |stage: &mut Stage| {
        Started::new(&mut stage.world, 11, |world, pass| {
            world.query_mut::<EnabledMut<X>>().schedule_parallel(move |mut x| {
                pass();
                x.set(false);
            })
        })
    };
    let near: &[Operation] = &[
        ("is_component_enabled", |stage| {
            let entities = &stage.world;
            assert_eq!(entities.is_component_enabled::<X>(stage.switched), Ok(false));
        }),
        ("set_component_enabled", |stage| {
            stage.world.set_component_enabled::<X>(stage.switched, true).unwrap();
            assert_eq!(stage.world.query::<&X>().count(), 1);
        }),
        ("a count", |stage| assert_eq!(stage.world.query::<&X>().count(), 0)),
        ("a dynamic count", |stage| {
            let query = QueryDescriptor::new().all([ComponentType::of::<X>()]);
            assert_eq!(query.query(&stage.world).count(), 0);
        }),
        ("switching by query", |stage| {
            let off = stage.world.batch(QueryDescriptor::of::<(), ancho_entities::IsDisabled<X>>());
            assert_eq!(off.set_component_enabled::<X>(true), Ok(11));
            assert_eq!(stage.world.query::<&X>().count(), 11);
        }),
        ("despawn by query", |stage| {
            assert_eq!(stage.world.batch(QueryDescriptor::of::<&X, ()>()).despawn(), Ok(0));
        }),
        ("instantiate", |stage| {
            let new = stage.world.instantiate(stage.switched).unwrap();
            assert_eq!(stage.world.is_component_enabled::<X>(new), Ok(false));
        }),
        ("add", |stage| {
            stage.world.add(stage.switched, B(1)).unwrap();
            let entities = &stage.world;
            assert_eq!(entities.is_component_enabled::<X>(stage.switched), Ok(false));
        }),
        ("get_mut", |stage| stage.world.get_mut::<X>(stage.switched).unwrap().0 = 9),
    ];
    let far: &[Operation] = &[
        ("get_mut of another component", |stage| {
            stage.world.get_mut::<A>(stage.switched).unwrap().0 = 9;
        }),
        ("a query of another component", |stage| {
            assert!(stage.world.query::<&A>().iter().all(|a| a.0 == 1));
        }),
        ("spawn elsewhere", |stage| _ = stage.world.spawn(A(1))),
    ];
    for &(name, operate) in near {
        let mut stage = Stage::new(2, false);
        let job = start(&mut stage);
        job.must_be_waited_for(name, || operate(&mut stage));
    }
    for &(name, operate) in far {
        let mut stage = Stage::new(2, false);
        let job = start(&mut stage);
        job.must_not_be_waited_for(name, || operate(&mut stage));
        assert_eq!(stage.world.query::<&X>().count(), 0);
    }
}

#[test]
fn enabling_operations_wait_for_jobs_that_read_enabled_bits() {
    let mut stage = Stage::new(2, false);
    let job = Started::new(&mut stage.world, 11, |world, pass| {
        world.query::<EnabledRef<X>>().schedule_parallel(move |x| {
            pass();
            assert!(x.get());
        })
    });
    job.must_be_waited_for("switching", || {
        stage.world.set_component_enabled::<X>(stage.switched, false).unwrap();
    });
    assert!(stage.world.jobs().take_failures().is_empty());
}

#[test]
fn jobs_that_write_buffers_are_waited_for() {
    let near: &[Operation] = &[
        ("buffer", |stage| {
            assert_eq!(stage.world.buffer::<Item>(stage.with_items).unwrap().len(), 9);
        }),
        ("buffer_mut", |stage| stage.world.buffer_mut::<Item>(stage.with_items).unwrap().clear()),
        ("add_buffer", |stage| stage.world.add_buffer::<Item>(stage.with_items).unwrap().clear()),
        ("lookup of buffers", |stage| {
            let items = stage.world.lookup::<&Buffer<Item>>();
            assert_eq!(items.get(stage.with_items).unwrap().len(), 9);
        }),
        ("untyped_buffer", |stage| {
            let ty = ComponentType::of_buffer::<Item>();
            let items = stage.world.untyped_buffer(stage.with_items, ty).unwrap();
            assert_eq!(items.len(), 9);
        }),
        ("remove", |stage| {
            assert_eq!(stage.world.remove::<Buffer<Item>>(stage.with_items), Ok(true));
        }),
    ];
    for &(name, operate) in near {
        let mut stage = Stage::new(2, false);
        let job = Started::new(&mut stage.world, 1, |world, pass| {
            world.query_mut::<&mut Buffer<Item>>().schedule(move |mut items| {
                pass();
                (0..8).for_each(|at| items.push(Item(at)));
            })
        });
        job.must_be_waited_for(name, || operate(&mut stage));
    }
}

#[test]
fn setting_chunk_components_waits_for_jobs_that_read_them() {
    let mut stage = Stage::new(2, false);
    let job = Started::new(&mut stage.world, 1, |world, pass| {
        world.query::<&PerChunk<Detail>>().schedule_parallel(move |detail| {
            pass();
            assert_eq!(*detail, Detail(0));
        })
    });
    job.must_be_waited_for("set_chunk_component", || {
        stage.world.set_chunk_component(stage.with_detail, Detail(2)).unwrap();
    });
    assert!(stage.world.jobs().take_failures().is_empty());
}

#[test]
fn jobs_that_write_groups_are_waited_for() {
    let mut stage = Stage::new(2, false);
    let alone = stage.alone;
    let job = Started::new(&mut stage.world, 1, |world, pass| {
        world.query_mut::<&mut Buffer<LinkedEntityGroup>>().schedule(move |mut group| {
            pass();
            group.push(LinkedEntityGroup(alone));
        })
    });
    job.must_be_waited_for("despawn", || assert!(stage.world.despawn(stage.root).unwrap()));
    assert!(!stage.world.exists(alone) && !stage.world.exists(stage.member));
}

#[test]
fn a_dropped_world_waits_for_its_jobs() {
    let mut stage = Stage::new(2, false);
    let job = Started::near(&mut stage);
    let Stage { world, .. } = stage;
    job.must_be_waited_for("drop", || drop(world));

    // Also on another thread, and when the world is replaced.
    let mut stage = Stage::new(2, false);
    let job = Started::near(&mut stage);
    let Stage { world, .. } = stage;
    job.must_be_waited_for("drop", || thread::spawn(move || drop(world)).join().unwrap());

    let mut stage = Stage::new(2, false);
    let job = Started::near(&mut stage);
    job.must_be_waited_for("drop", || stage.world.0 = World::new("Another"));
}

#[test]
fn a_world_that_moves_does_not_wait() {
    let mut stage = Stage::new(2, false);
    let mut other = Stage::new(2, false);
    let job = Started::near(&mut stage);
    job.must_not_be_waited_for("swap", || std::mem::swap(&mut stage.world.0, &mut other.world.0));
    // Entities have the same ids in both worlds.
    assert_eq!((stage.a_of(stage.alone), other.a_of(stage.alone)), (1, 1 + MORE));
}

#[test]
fn a_world_dropped_by_one_of_its_jobs_keeps_the_data_of_the_others() {
    let mut stage = Stage::new(2, false);
    let (give, given) = mpsc::channel::<World>();
    let (tell, told) = mpsc::channel();
    let given = Mutex::new(given);
    // One job takes the world and drops it, while another blocks at its gate on the other thread.
    let drops = stage.world.query::<&Stays>().schedule(move |_| {
        drop(given.lock().unwrap().recv().unwrap());
        tell.send(()).unwrap();
    });
    let _ = drops;
    let far = Started::far(&mut stage);
    let world = std::mem::replace(&mut stage.world.0, World::new("Another"));
    give.send(world).unwrap();
    told.recv().unwrap();
    assert!(!far.gate.is_open());
    far.gate.open();
    while far.done.load(Ordering::Relaxed) < far.all {
        thread::yield_now();
    }
}

#[test]
fn alternating_jobs_and_operations_equal_a_sequence() {
    fn run(workers: usize, wait: bool) -> u64 {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let settings = WorldSettings::new().chunk_capacity_limit(8).job_pool(&pool);
        let mut world = Checked(World::with_settings("Simulation", settings));
        let mut all: Vec<Entity> =
            world.spawn_batch((0..200).map(|at| (A(at), B(at.into()), X(at)))).collect();
        for round in 0..60_u32 {
            let at = (round as usize * 37) % all.len();
            let entity = all[at];
            let _ = world
                .query_mut::<(&mut A, &B)>()
                .schedule_parallel(move |(a, b)| a.0 = a.0.wrapping_mul(31) ^ b.0 as u32 ^ round);
            let _ = world.query_mut::<(&mut B, &X)>().schedule(|(b, x)| b.0 += u64::from(x.0));
            if wait {
                world.jobs().complete_everything();
            } else {
                world.jobs().flush();
            }
            match round % 8 {
                0 => world.get_mut::<A>(entity).unwrap().0 += 1,
                1 => world.set_component_enabled::<X>(entity, false).unwrap(),
                2 => _ = world.remove::<X>(entity).unwrap(),
                3 => _ = world.add(entity, X(round)).unwrap(),
                4 => {
                    world.despawn(entity).unwrap();
                    all.swap_remove(at);
                }
                5 => all.push(world.instantiate(entity).unwrap()),
                6 => all.push(world.spawn((A(round), B(1)))),
                _ => _ = world.batch(QueryDescriptor::of::<&X, ()>()).add(T(round)).unwrap(),
            }
        }
        world.state_hash()
    }

    let expected = run(0, true);
    for workers in [0, 1, 2, 4] {
        assert_eq!(run(workers, false), expected, "with {workers} workers");
    }
}
