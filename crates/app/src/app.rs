//! The main loop.

use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{ExitCode, Termination};
use std::thread;
use std::time::{Duration, Instant};

use ancho_entities::World;

use crate::Exit;
use crate::clock::FrameClock;

/// The main loop of a program: worlds, and the times of their updates.
///
/// Errors of systems are handled as in [`World::update`]: a world passes them to its handler, or panics if it has none. If the loop
/// panics, the worlds are dropped in reverse order.
///
/// # Examples
///
/// ```
/// use ancho_app::App;
/// use ancho_entities::World;
///
/// let finished = App::new(World::new("Server"))
///     .add_world(World::new("Client"))
///     .fixed_delta(1.0 / 64.0)
///     .run_for(32);
/// assert!(finished.worlds.iter().all(|world| world.time().elapsed() == 0.5));
/// ```
#[must_use = "an app does nothing until it runs"]
pub struct App {
    worlds: Worlds,
    /// The least time of a frame.
    frame_time: Duration,
    /// The time that worlds receive, or `None` for the measured time.
    delta: Option<f64>,
    clock: FrameClock,
    /// The time at which the first frame began.
    started: Option<Instant>,
    frames: u64,
}

/// The end of a run: the worlds, and the reason.
///
/// `main` can return it. The exit code of the process is then that of [`exit`](Self::exit).
#[derive(Debug)]
#[must_use = "contains the worlds, which are dropped otherwise"]
#[non_exhaustive]
pub struct Finished {
    /// The worlds, in the order in which they were added.
    pub worlds: Vec<World>,
    /// The exit code, if a system requested the end.
    pub exit: Option<u8>,
    /// The number of frames of the app.
    pub frames: u64,
}

impl App {
    /// Creates an app with one world. Inserts the resource [`Exit`] into it, unless it has one.
    pub fn new(world: World) -> Self {
        let app = Self {
            worlds: Worlds(Vec::new()),
            frame_time: Duration::ZERO,
            delta: None,
            clock: FrameClock::default(),
            started: None,
            frames: 0,
        };
        app.add_world(world)
    }

    /// Adds another world, which is updated after the others. Inserts the resource [`Exit`] into it, unless it has one.
    pub fn add_world(mut self, mut world: World) -> Self {
        if !world.has_resource::<Exit>() {
            world.insert_resource(Exit::default());
        }
        self.worlds.0.push(world);
        self
    }

    /// Limits the frame rate: a frame takes at least `seconds`. The thread sleeps for the rest of the time.
    ///
    /// Zero, the default, means no limit.
    ///
    /// # Panics
    ///
    /// Panics with code A0252 if the number is negative, infinite, NaN, or longer than 584 billion years.
    #[track_caller]
    pub fn frame_time(self, seconds: f64) -> Self {
        match Duration::try_from_secs_f64(seconds) {
            Ok(frame_time) => Self { frame_time, ..self },
            Err(_) => refuse("frame time", seconds),
        }
    }

    /// Updates worlds by the same time in each frame, regardless of the clock. Results then depend on the program alone.
    ///
    /// Without this option, worlds receive the time between the begins of two frames, and 0 in the first frame. Groups with a fixed
    /// step are independent of the time per frame anyway.
    ///
    /// # Panics
    ///
    /// Panics with code A0252 if the number is negative, infinite or NaN.
    #[track_caller]
    pub fn fixed_delta(self, seconds: f64) -> Self {
        if !(0.0..f64::INFINITY).contains(&seconds) {
            refuse("fixed delta time", seconds);
        }
        Self { delta: Some(seconds), ..self }
    }

    /// Runs until a system requests the [exit](Exit).
    #[track_caller]
    pub fn run(self) -> Finished {
        self.run_until(|_| false)
    }

    /// Runs a number of frames, or fewer if a system requests the [exit](Exit).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_app::App;
    /// use ancho_entities::World;
    ///
    /// let finished = App::new(World::new("Test")).run_for(3);
    /// assert_eq!((finished.frames, finished.exit), (3, None));
    /// ```
    #[track_caller]
    pub fn run_for(self, frames: u64) -> Finished {
        if frames == 0 {
            return self.finish(None);
        }
        let mut left = frames;
        self.run_until(move |_| {
            left -= 1;
            left == 0
        })
    }

    /// Runs until a function returns `true`, or a system requests the [exit](Exit). The function is called after each frame.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_app::App;
    /// use ancho_entities::World;
    ///
    /// let app = App::new(World::new("Game")).fixed_delta(0.25);
    /// let finished = app.run_until(|app| app.world().time().elapsed() >= 1.0);
    /// assert_eq!(finished.frames, 4);
    /// ```
    #[track_caller]
    pub fn run_until(mut self, mut condition: impl FnMut(&mut Self) -> bool) -> Finished {
        loop {
            let exit = self.update_by_clock();
            if exit.is_some() || condition(&mut self) {
                return self.finish(exit);
            }
            self.wait();
        }
    }

    /// Updates all worlds once, in the order in which they were added, by `seconds`. Returns the exit code, if a system of any world has
    /// requested the end.
    ///
    /// This is for programs with another main loop, such as that of a window. The clock and the options of the app are not used. If
    /// several worlds request the end, the code of the first one counts.
    ///
    /// # Panics
    ///
    /// Panics as [`World::update`] does. The worlds after the one that panicked are not updated in this frame.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_app::App;
    /// use ancho_entities::World;
    ///
    /// let mut app = App::new(World::new("Game"));
    /// assert_eq!(app.update(0.5), None);
    /// assert_eq!(app.world().time().elapsed(), 0.5);
    /// ```
    #[track_caller]
    pub fn update(&mut self, seconds: impl Into<f64>) -> Option<u8> {
        let seconds = seconds.into();
        for world in &mut self.worlds.0 {
            world.update(seconds);
        }
        self.frames += 1;
        self.requested_exit()
    }

    /// Updates all worlds once, by the time since the last frame, or by the [fixed delta](Self::fixed_delta). Does not wait. Returns the
    /// exit code, if a system of any world has requested the end.
    #[track_caller]
    pub fn update_by_clock(&mut self) -> Option<u8> {
        let elapsed = self.elapsed();
        let measured = self.clock.begin(elapsed).as_secs_f64();
        self.update(self.delta.unwrap_or(measured))
    }

    /// Returns the first world.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.worlds.0[0]
    }

    /// Returns the first world, mutably.
    #[must_use]
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.worlds.0[0]
    }

    /// Returns all worlds, in the order in which they were added.
    #[must_use]
    pub fn worlds(&self) -> &[World] {
        &self.worlds.0
    }

    /// Returns all worlds, mutably.
    #[must_use]
    pub fn worlds_mut(&mut self) -> &mut [World] {
        &mut self.worlds.0
    }

    /// Returns the number of updates so far.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the exit code of the first world in which the end was requested.
    #[must_use]
    pub fn requested_exit(&self) -> Option<u8> {
        let mut worlds = self.worlds.0.iter();
        // A system may have removed the resource.
        worlds.find_map(|world| {
            world.has_resource::<Exit>().then(|| world.resource::<Exit>().requested()).flatten()
        })
    }

    /// Sleeps until the next frame is due.
    fn wait(&mut self) {
        let elapsed = self.elapsed();
        let rest = self.clock.wait(elapsed, self.frame_time);
        if rest > Duration::ZERO {
            thread::sleep(rest);
        }
    }

    /// Returns the time since the first frame.
    fn elapsed(&mut self) -> Duration {
        self.started.get_or_insert_with(Instant::now).elapsed()
    }

    fn finish(mut self, exit: Option<u8>) -> Finished {
        Finished { worlds: mem::take(&mut self.worlds.0), exit, frames: self.frames }
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.worlds.0.iter().map(World::name).collect();
        f.debug_struct("App")
            .field("worlds", &names)
            .field("frame_time", &self.frame_time)
            .field("fixed_delta", &self.delta)
            .field("frames", &self.frames)
            .finish()
    }
}

impl Finished {
    /// Returns the first world, and drops the others.
    #[must_use]
    pub fn into_world(self) -> World {
        let mut worlds = Worlds(self.worlds);
        worlds.0.drain(..1).next().expect("an app has a world")
    }
}

impl Termination for Finished {
    /// Drops the worlds, the last one first, and returns the exit code.
    fn report(self) -> ExitCode {
        drop(Worlds(self.worlds));
        ExitCode::from(self.exit.unwrap_or(0))
    }
}

/// Worlds that are dropped in reverse order: a world may use what an earlier one has.
struct Worlds(Vec<World>);

impl Drop for Worlds {
    fn drop(&mut self) {
        let mut panic = None;
        while let Some(world) = self.0.pop() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(world))) {
                panic.get_or_insert(payload);
            }
        }
        if let Some(payload) = panic
            && !thread::panicking()
        {
            resume_unwind(payload);
        }
    }
}

#[cold]
#[track_caller]
fn refuse(what: &str, seconds: f64) -> ! {
    panic!(
        "A0252: the {what} of an app cannot be {seconds} seconds; pass a finite number, zero or above"
    );
}
