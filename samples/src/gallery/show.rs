//! How a sample is shown.

use std::fs::{self, File};
use std::io::{BufWriter, IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use ancho::jobs::{JobEvent, JobPool, JobScheduler, write_chrome_trace};

use super::{Canvas, JobSample, Kind, Options, Run, Sample, SampleResult, Stage, WorldSample};
use super::{picture, quiet, terminal};

/// How many dots a picture in a file has, across and down.
const PICTURE: (usize, usize) = (192, 96);

/// What is asked of a sample.
#[derive(Clone, Debug)]
pub(crate) struct Show {
    pub(crate) sample: &'static Sample,
    pub(crate) frames: Option<u32>,
    pub(crate) workers: Option<usize>,
    pub(crate) seed: Option<u64>,
    pub(crate) entities: Option<usize>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) picture: Option<PathBuf>,
    pub(crate) view: Option<View>,
}

/// Where a sample is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// In the terminal, as a picture.
    Terminal,
    /// Nowhere: it is run, and there is a summary.
    None,
}

/// Runs a sample, shows it, and says how it went.
pub(crate) fn show(show: &Show) -> SampleResult<()> {
    let mut pool = JobPool::builder();
    if let Some(workers) = show.workers {
        pool = pool.workers(workers);
    }
    let pool = pool.build()?;
    println!("{}: {}", show.sample.name, show.sample.summary);
    match &show.sample.kind {
        Kind::World(sample) => show_world(show, sample, pool),
        Kind::Jobs(sample) => show_jobs(show, sample, &pool),
    }
}

fn show_world(show: &Show, sample: &WorldSample, pool: JobPool) -> SampleResult<()> {
    let entities = show.entities.unwrap_or(sample.entities);
    let seed = show.seed.or(sample.seed).unwrap_or_default();
    let options = Options { entities, seed, pool };
    let mut run = Run::new(sample, &options, show.trace.is_some())?;
    match show.view.unwrap_or_else(View::fitting) {
        View::Terminal => terminal::run(&mut run, show.sample.name, show.frames)?,
        View::None => quiet::run(&mut run, show.frames.unwrap_or(sample.frames))?,
    }
    println!("{}", run.summary());
    if let (Some(file), Some(events)) = (&show.trace, run.trace()) {
        write_trace(events, file)?;
    }
    if let Some(file) = &show.picture {
        write_picture(&run, show.sample.name, file)?;
    }
    Ok(())
}

/// Writes what would be seen now, without anything that is not the same on every machine.
fn write_picture(run: &Run<'_>, name: &str, file: &Path) -> SampleResult<()> {
    let mut canvas = Canvas::new(PICTURE.0, PICTURE.1);
    run.paint(&mut canvas);
    let (frame, entities) = (run.frame_count(), run.entity_count());
    let mut lines = vec![canvas.captions().join("   ")];
    lines.retain(|line| !line.is_empty());
    lines.push(format!("{name}   frame {frame}   {entities} entities"));
    fs::write(file, picture::svg(&canvas, &lines))
        .map_err(|error| format!("The picture {} cannot be written: {error}.", file.display()))?;
    println!("picture     {}", file.display());
    Ok(())
}

fn show_jobs(show: &Show, sample: &JobSample, pool: &JobPool) -> SampleResult<()> {
    let jobs = JobScheduler::new(pool);
    pool.set_profiling(show.trace.is_some());
    let frames = show.frames.unwrap_or(sample.frames);
    if show.view != Some(View::None) {
        (sample.show)(&Stage { jobs: &jobs, frames })?;
    }
    let start = Instant::now();
    let state_hash = (sample.state_hash)(&jobs, frames)?;
    let (ms, threads) = (start.elapsed().as_secs_f64() * 1e3, jobs.thread_count());
    println!("{frames} frames in {ms:.3} ms, threads: {threads}");
    println!("state hash  {state_hash:016x}");
    match &show.trace {
        Some(file) => write_trace(&pool.take_events(), file),
        None => Ok(()),
    }
}

fn write_trace(events: &[JobEvent], file: &Path) -> SampleResult<()> {
    let written = File::create(file).and_then(|file| {
        let mut file = BufWriter::new(file);
        write_chrome_trace(events, &mut file)?;
        file.flush()
    });
    written.map_err(|error| format!("The trace {} cannot be written: {error}.", file.display()))?;
    println!("trace       {}; https://ui.perfetto.dev opens it", file.display());
    Ok(())
}

impl View {
    /// A picture where there is a terminal for it.
    fn fitting() -> Self {
        if stdout().is_terminal() { Self::Terminal } else { Self::None }
    }
}
