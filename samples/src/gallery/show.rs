//! Presentation of a sample.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use ancho::jobs::{JobEvent, JobPool, JobScheduler, write_chrome_trace};

use super::{Canvas, JobSample, Kind, Options, Run, Sample, SampleResult, Stage, WorldSample};
use super::{picture, quiet, terminal, world_file};

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
    /// World file that receives the last state.
    pub(crate) save: Option<PathBuf>,
    /// World file with the first state.
    pub(crate) load: Option<PathBuf>,
    /// World file that receives the first state and the keys.
    pub(crate) record: Option<PathBuf>,
    /// World file that was written by `record`.
    pub(crate) replay: Option<PathBuf>,
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
    for path in [&show.save, &show.record].into_iter().flatten() {
        check_folder(path)?;
    }
    let replay = show.replay.as_deref();
    let recording = replay.map(|path| world_file::load_recording(show.sample, path)).transpose()?;
    let world = match show.load.as_deref().or(replay) {
        None => sample.world(&options)?,
        Some(path) => {
            let world = world_file::load(show.sample, sample, &options, path)?;
            say!("loaded      {}{}", path.display(), ignored(show));
            world
        }
    };
    let mut run = Run::new(sample, world, &options.pool, show.trace.is_some());
    if show.record.is_some() {
        run.record()?;
    }
    let mut frames = show.frames;
    if let Some(recording) = &recording {
        let most = recording.frames;
        if frames.is_some_and(|frames| frames > most) {
            return Err(
                format!("The recording has {most} frames; pass a smaller `--frames`.").into()
            );
        }
        frames = frames.or(Some(most));
        run.replay(recording.keys.clone());
    }
    match show.view.unwrap_or_else(View::for_stdout) {
        View::Terminal => terminal::run(&mut run, show.sample.name, frames)?,
        View::None => quiet::run(&mut run, frames.unwrap_or(sample.frames))?,
    }
    say!("{}", run.summary());
    if let Some(path) = &show.save {
        run.save(show.sample.name, path)?;
        say!("saved       {}", path.display());
    }
    if let Some(path) = &show.record {
        let recording = run.save_recording(show.sample.name, path)?;
        let (frames, keys) = (recording.frames, recording.keys.len());
        say!("recorded    {} ({frames} frames, {keys} keys)", path.display());
    }
    if let (Some(file), Some(events)) = (files.trace, run.trace()) {
        write_trace(events, file)?;
    }
    if let Some(file) = files.picture {
        write_picture(&run, show.sample.name, file)?;
    }
    match recording {
        Some(recording) if run.frame_count() == recording.frames as usize => {
            compare(&run, recording.state_hash)
        }
        _ => Ok(()),
    }
}

/// Compares the last state of a replay with that of the recording.
fn compare(run: &Run<'_>, recorded: u64) -> SampleResult<()> {
    let found = run.state_hash();
    if found != recorded {
        return Err(format!(
            "The replay differs from the recording: its state hash is {found:016x} instead of {recorded:016x}."
        )
        .into());
    }
    say!("replayed    with the recorded state hash");
    Ok(())
}

/// Checks that a file can be created at a path, so that most errors are reported before the run.
fn check_folder(path: &Path) -> SampleResult<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let (path, folder_name) = (path.display(), folder.display());
    if !folder.is_dir() {
        return Err(format!(
            "The world file {path} cannot be written: there is no folder {folder_name}."
        )
        .into());
    }
    Ok(())
}

/// Returns a remark about the options that have no effect on a loaded world.
fn ignored(show: &Show) -> &'static str {
    match (show.seed, show.entities) {
        (None, None) => "",
        (Some(_), None) => " (`--seed` is ignored: the file has the state)",
        (None, Some(_)) => " (`--entities` is ignored: the file has the state)",
        (Some(_), Some(_)) => " (`--seed` and `--entities` are ignored: the file has the state)",
    }
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
