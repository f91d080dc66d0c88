//! Presentation of a sample.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use ancho::jobs::{JobEvent, JobPool, JobScheduler, write_chrome_trace};

use super::{Canvas, JobSample, Kind, Options, Run, Sample, SampleResult, Stage, WorldSample};
use super::{picture, quiet, terminal};

/// Size of a picture in a file, in dots.
const PICTURE: (usize, usize) = (192, 96);

/// Request to show a sample.
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

/// Form of presentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// A picture in the terminal.
    Terminal,
    /// No picture: only a summary.
    None,
}

/// Runs a sample, shows it, and prints a summary.
pub(crate) fn show(show: &Show) -> SampleResult<()> {
    let mut pool = JobPool::builder();
    if let Some(workers) = show.workers {
        pool = pool.workers(workers);
    }
    let pool = pool.build()?;
    let files = Files {
        trace: Output::open("trace", show.trace.as_deref())?,
        picture: Output::open("picture", show.picture.as_deref())?,
    };
    say!("{}: {}", show.sample.name, show.sample.summary);
    match &show.sample.kind {
        Kind::World(sample) => show_world(show, sample, pool, files),
        Kind::Jobs(sample) => show_jobs(show, sample, &pool, files),
    }
}

/// Files that are written at the end of a run.
struct Files {
    trace: Option<Output>,
    picture: Option<Output>,
}

/// An output file. It is opened before the run, so that errors are reported immediately.
struct Output {
    what: &'static str,
    path: PathBuf,
    file: File,
}

impl Output {
    fn open(what: &'static str, path: Option<&Path>) -> SampleResult<Option<Self>> {
        let Some(path) = path else { return Ok(None) };
        let file = File::create(path).map_err(|error| cannot_be_written(what, path, &error))?;
        Ok(Some(Self { what, path: path.to_owned(), file }))
    }

    /// Writes the content, and prints the path and a hint about its use.
    fn write(
        self,
        hint: &str,
        content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> SampleResult<()> {
        let Self { what, path, file } = self;
        let mut file = BufWriter::new(file);
        let written = content(&mut file).and_then(|()| file.flush());
        written.map_err(|error| cannot_be_written(what, &path, &error))?;
        say!("{what:<11} {}{hint}", path.display());
        Ok(())
    }
}

fn cannot_be_written(what: &str, path: &Path, error: &io::Error) -> String {
    format!("The {what} {} cannot be written: {error}.", path.display())
}

fn show_world(show: &Show, sample: &WorldSample, pool: JobPool, files: Files) -> SampleResult<()> {
    let entities = show.entities.unwrap_or(sample.entities);
    let seed = show.seed.or(sample.seed).unwrap_or_default();
    let options = Options { entities, seed, pool };
    let mut run = Run::new(sample, &options, show.trace.is_some())?;
    match show.view.unwrap_or_else(View::for_stdout) {
        View::Terminal => terminal::run(&mut run, show.sample.name, show.frames)?,
        View::None => quiet::run(&mut run, show.frames.unwrap_or(sample.frames))?,
    }
    say!("{}", run.summary());
    if let (Some(file), Some(events)) = (files.trace, run.trace()) {
        write_trace(events, file)?;
    }
    if let Some(file) = files.picture {
        write_picture(&run, show.sample.name, file)?;
    }
    Ok(())
}

/// Writes the current picture, without anything that differs between machines.
fn write_picture(run: &Run<'_>, name: &str, file: Output) -> SampleResult<()> {
    let mut canvas = Canvas::new(PICTURE.0, PICTURE.1);
    run.paint(&mut canvas);
    let (frame, entities) = (run.frame_count(), run.entity_count());
    let mut lines = vec![canvas.captions().join("   ")];
    lines.retain(|line| !line.is_empty());
    lines.push(format!("{name}   frame {frame}   {entities} entities"));
    file.write("", |file| file.write_all(picture::svg(&canvas, &lines).as_bytes()))
}

fn show_jobs(show: &Show, sample: &JobSample, pool: &JobPool, files: Files) -> SampleResult<()> {
    let jobs = JobScheduler::new(pool);
    pool.set_profiling(show.trace.is_some());
    let frames = show.frames.unwrap_or(sample.frames);
    if show.view != Some(View::None) {
        (sample.show)(&Stage { jobs: &jobs, frames })?;
    }
    let start = Instant::now();
    let state_hash = (sample.state_hash)(&jobs, frames)?;
    let (ms, threads) = (start.elapsed().as_secs_f64() * 1e3, jobs.thread_count());
    say!("{frames} frames in {ms:.3} ms, threads: {threads}");
    say!("state hash  {state_hash:016x}");
    match files.trace {
        Some(file) => write_trace(&pool.take_events(), file),
        None => Ok(()),
    }
}

fn write_trace(events: &[JobEvent], file: Output) -> SampleResult<()> {
    file.write(" (open it with https://ui.perfetto.dev)", |file| write_chrome_trace(events, file))
}

impl View {
    /// Returns `Terminal` if standard output is a suitable terminal.
    fn for_stdout() -> Self {
        if stdout().is_terminal() { Self::Terminal } else { Self::None }
    }
}
