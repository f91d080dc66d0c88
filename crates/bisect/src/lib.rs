#![doc = include_str!("../README.md")]

mod divergence;
mod layout;
mod leaves;
mod side;
mod state;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

pub use divergence::{BisectionError, Difference, DivergedAt, DivergedPlace, Divergence};

use ancho_entities::__inspect::{self, panic_message};
use ancho_entities::World;

use side::{Channel, Outcome, Side};

/// Default number of frames.
const FRAMES: u64 = 600;

type Make<'a> = Arc<dyn Fn() -> World + Send + Sync + 'a>;
type Drive<'a> = Box<dyn FnMut(&mut World, u64) + Send + 'a>;

/// Runs a program twice, and finds the first system, job, chunk, entity and field that differ.
///
/// Use it to find the cause of a desync between two players, or between a recording and its replay. Pass two variants of the world
/// that should behave identically: for example one with more workers, one in shuffle mode (`ExecutionMode::Shuffle`), or one from a
/// file and one from the network.
///
/// Both variants run at the same time, each on its own thread. After each system, its jobs are completed, and the
/// [states](ancho_entities::EntityManager::state_hash), the order of systems and their errors are compared. A difference in data
/// outside of the state, such as resources, is found once it affects components.
///
/// The result is a [`Divergence`].
///
/// # Determinism
///
/// Because jobs are completed after each system, the jobs of two systems never run in parallel. To test whether results depend on
/// the order of batches, compare shuffled (`ExecutionMode::Shuffle`) with serial (`ExecutionMode::Serial`) execution.
///
/// Both runs use the same CPU level, because the level is set for the whole process.
///
/// # Complexity
///
/// Each system costs a [state hash](ancho_entities::EntityManager::state_hash) of the whole world.
///
/// # Examples
///
/// ```
/// use ancho_bisect::Bisection;
/// use ancho_entities::{Component, Query, World, WorldSettings};
/// use ancho_jobs::JobPool;
///
/// #[derive(Component, Clone, Copy)]
/// struct Distance(f32);
///
/// fn race(workers: usize) -> World {
///     let pool = JobPool::builder().workers(workers).build().unwrap();
///     let mut world = World::with_settings("Race", WorldSettings::new().job_pool(&pool));
///     world.spawn_many(Distance(0.0), 1000);
///     world.add_system(|mut all: Query<&mut Distance>| {
///         all.schedule_parallel(|distance| distance.0 += 0.1);
///     });
///     world
/// }
///
/// let found = Bisection::of(|| race(0)).against(|| race(2)).frames(10).run()?;
/// assert!(found.is_none(), "{}", found.unwrap());
/// # Ok::<(), ancho_bisect::BisectionError>(())
/// ```
#[must_use = "it does nothing before `run`"]
pub struct Bisection<'a> {
    make: [Make<'a>; 2],
    drive: [Drive<'a>; 2],
    frames: u64,
}

impl<'a> Bisection<'a> {
    /// Creates a bisection of two worlds that the same function creates.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use ancho_bisect::{Bisection, DivergedAt};
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Number(u32);
    ///
    /// // The counter is shared by both worlds, so each world gets another number.
    /// static NEXT: AtomicU32 = AtomicU32::new(0);
    ///
    /// let careless = || {
    ///     let mut world = World::new("Nursery");
    ///     world.spawn(Number(NEXT.fetch_add(1, Ordering::Relaxed)));
    ///     world
    /// };
    /// let found = Bisection::of(careless).run()?.unwrap();
    /// assert_eq!(found.at, DivergedAt::Made);
    /// # Ok::<(), ancho_bisect::BisectionError>(())
    /// ```
    pub fn of(make: impl Fn() -> World + Send + Sync + 'a) -> Self {
        let make: Make<'a> = Arc::new(make);
        let update = |world: &mut World, _: u64| drop(world.try_update(1.0 / 60.0));
        Self {
            make: [Arc::clone(&make), make],
            drive: [Box::new(update), Box::new(update)],
            frames: FRAMES,
        }
    }

    /// Sets the function that creates the second world.
    pub fn against(mut self, make: impl Fn() -> World + Send + Sync + 'a) -> Self {
        self.make[1] = Arc::new(make);
        self
    }

    /// Sets the number of frames to compare. The default is 600.
    pub fn frames(mut self, frames: u64) -> Self {
        self.frames = frames;
        self
    }

    /// Sets the function that runs a frame: it applies input and updates the world. Its second argument is the number of the frame,
    /// counted from zero. By default, the world is updated by 1/60 second.
    ///
    /// Each run has its own clone of the function and of its captures. If systems may fail, call
    /// [`try_update`](World::try_update) and ignore its errors, which are compared anyway: [`update`](World::update) would panic.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_bisect::Bisection;
    /// use ancho_entities::{ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Key(Option<char>);
    ///
    /// let keys = ['w', 'a', 'd'];
    /// let make = || {
    ///     let mut world = World::new("Player");
    ///     world.insert_resource(Key(None));
    ///     world
    /// };
    /// let found = Bisection::of(make)
    ///     .frames(100)
    ///     .drive(|world, frame| {
    ///         world.resource_mut::<Key>().0 = keys.get(frame as usize).copied();
    ///         world.update(1.0 / 30.0);
    ///     })
    ///     .run()?;
    /// assert!(found.is_none());
    /// # Ok::<(), ancho_bisect::BisectionError>(())
    /// ```
    pub fn drive(mut self, drive: impl FnMut(&mut World, u64) + Clone + Send + 'a) -> Self {
        self.drive = [Box::new(drive.clone()), Box::new(drive)];
        self
    }

    /// Runs both worlds until they diverge. Returns `None` if they do not diverge.
    ///
    /// After a divergence, both worlds finish the frame without further comparisons.
    ///
    /// # Errors
    ///
    /// Returns A0089 if the drivers of both worlds panic. If only one driver panics, that is a divergence. Returns A0090 if
    /// hashing a component panics.
    ///
    /// # Panics
    ///
    /// Panics if a thread cannot be spawned.
    pub fn run(self) -> Result<Option<Divergence>, BisectionError> {
        let Self { make, drive, frames } = self;
        let ((to_first, of_first), (to_second, of_second)) = (channel(), channel());
        let sides = [
            Side::new(0, Channel { to: to_second, from: of_first }),
            Side::new(1, Channel { to: to_first, from: of_second }),
        ]
        .map(|side| Arc::new(Mutex::new(side)));
        let [first, second] = make;
        let [drive_first, drive_second] = drive;
        let ended = thread::scope(|scope| {
            let threads = [(&sides[0], first, drive_first), (&sides[1], second, drive_second)].map(
                |(side, make, drive)| {
                    let run = move || run_and_release(side, &*make, drive, frames);
                    thread::Builder::new().spawn_scoped(scope, run).unwrap_or_else(|error| {
                        // Without this call, a thread that is already running would wait for the missing one.
                        sides.iter().for_each(|side| lock(side).end());
                        panic!("a bisection needs two threads: {error}")
                    })
                },
            );
            threads
                .map(|thread| thread.join().unwrap_or_else(|payload| Some(panic_message(payload))))
        });
        for side in &sides {
            match lock(side).outcome.take() {
                Some(Outcome::Diverged(found)) => return Ok(Some(*found)),
                Some(Outcome::BothPanicked { frame, messages }) => {
                    return Err(BisectionError::Panicked { frame, messages });
                }
                None => {}
            }
        }
        let lost = sides.each_ref().map(|side| lock(side).lost.take());
        let mut lost = (0..).zip(lost.into_iter().zip(ended));
        let lost = lost.find_map(|(run, (lost, ended))| Some((run, lost.or(ended)?)));
        lost.map_or(Ok(None), |(run, message)| Err(BisectionError::Lost { run, message }))
    }

    /// Runs both worlds, and panics if they diverge. Use it in tests.
    ///
    /// # Panics
    ///
    /// Panics if [`run`](Self::run) returns a divergence or an error. The message is its text.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_bisect::Bisection;
    /// use ancho_entities::World;
    ///
    /// Bisection::of(|| World::new("Empty")).frames(3).assert_same();
    /// ```
    #[track_caller]
    pub fn assert_same(self) {
        match self.run() {
            Ok(None) => {}
            Ok(Some(found)) => panic!("{found}"),
            Err(error) => panic!("{error}"),
        }
    }
}

impl fmt::Debug for Bisection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bisection").field("frames", &self.frames).finish_non_exhaustive()
    }
}

/// Locks a side. Ignores poisoning, because the data stays valid after a panic.
fn lock(side: &Mutex<Side>) -> MutexGuard<'_, Side> {
    side.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs one side, and always releases the other side at the end. Returns the message of a panic.
fn run_and_release(
    side: &Arc<Mutex<Side>>,
    make: &dyn Fn() -> World,
    drive: Drive<'_>,
    frames: u64,
) -> Option<String> {
    let ran = catch_unwind(AssertUnwindSafe(|| run_side(side, make, drive, frames)));
    lock(side).end();
    ran.err().map(panic_message)
}

fn run_side(side: &Arc<Mutex<Side>>, make: &dyn Fn() -> World, mut drive: Drive<'_>, frames: u64) {
    let mut world = match catch_unwind(AssertUnwindSafe(make)) {
        Ok(world) => world,
        Err(payload) => {
            let message = panic_message(payload);
            return look(side, |side| side.meet(None, DivergedAt::Made, Some(message)));
        }
    };
    let watched = Arc::clone(side);
    __inspect::watch(&mut world, move |world, moment| {
        look(&watched, |side| side.see(world, moment));
    });
    look(side, |side| side.meet(Some(&mut world), DivergedAt::Made, None));
    for frame in 0..frames {
        if lock(side).is_done() {
            return;
        }
        lock(side).frame = frame;
        let driven = catch_unwind(AssertUnwindSafe(|| drive(&mut world, frame)));
        let panic = driven.err().map(panic_message);
        look(side, |side| side.meet(Some(&mut world), DivergedAt::EndOfFrame, panic));
    }
}

/// Runs a comparison, which calls user code to hash components. If the user code panics, the comparison ends.
fn look(side: &Mutex<Side>, look: impl FnOnce(&mut Side)) {
    let mut side = lock(side);
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| look(&mut side))) {
        side.lose(panic_message(payload));
    }
}
