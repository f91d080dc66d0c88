//! World files of the gallery: saved worlds, and recordings of a run.
//!
//! A recording is a world file with the first state. Its metadata has the keys that were pressed, and the hash of the last state.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use ancho::entities::World;
use ancho::serialize::{LoadOptions, SaveOptions, load_into, load_metadata, save_file};

use super::{Key, Options, Sample, SampleResult, WorldSample};

/// Number of entities with which a sample has entities of all of its types. Building such a world registers the types.
const ALL_TYPES: usize = 1_000;

/// The keys of a run, with the number of frames that ran before each press.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recording {
    pub(crate) keys: Vec<(usize, Key)>,
    /// Number of frames of the run.
    pub(crate) frames: u32,
    /// State hash after the last frame.
    pub(crate) state_hash: u64,
}

/// Saves a world of a sample. If the save fails, a file that exists stays as it is.
pub(crate) fn save(name: &str, world: &World, path: &Path) -> SampleResult<()> {
    write(world, path, SaveOptions::new().metadata("sample", name))
}

/// Saves the first state of a run together with its keys.
pub(crate) fn save_recording(
    name: &str,
    first: &World,
    recording: &Recording,
    path: &Path,
) -> SampleResult<()> {
    let keys: Vec<String> =
        recording.keys.iter().map(|(frame, key)| format!("{frame} {}", key_name(*key))).collect();
    let options = SaveOptions::new()
        .metadata("sample", name)
        .metadata("frames", recording.frames.to_string())
        .metadata("keys", keys.join("\n"))
        .metadata("state hash", format!("{:016x}", recording.state_hash));
    write(first, path, options)
}

fn write(world: &World, path: &Path, options: SaveOptions) -> SampleResult<()> {
    let written = save_file(world, path, options);
    written.map_err(|error| {
        format!("The world file {} cannot be written: {error}.", path.display())
    })?;
    Ok(())
}

/// Loads a world of a sample, with the sample's systems.
pub(crate) fn load(
    sample: &Sample,
    of_world: &WorldSample,
    options: &Options,
    path: &Path,
) -> SampleResult<World> {
    read(sample, path)?;
    let entities = ALL_TYPES.min(of_world.most);
    let mut world = of_world.world(&Options { entities, ..options.clone() })?;
    let loaded = load_into(&mut world, open(path)?, LoadOptions::new());
    loaded.map_err(|error| cannot_be_loaded(path, &error))?;
    Ok(world)
}

/// Reads the keys of a recording.
pub(crate) fn load_recording(sample: &Sample, path: &Path) -> SampleResult<Recording> {
    let metadata = read(sample, path)?;
    parse(&metadata).ok_or_else(|| {
        let (name, path) = (sample.name, path.display());
        format!("The world file {path} is not a recording; try `{name} --load {path}`.").into()
    })
}

/// Reads the metadata of a file, and checks that the file is of this sample.
fn read(sample: &Sample, path: &Path) -> SampleResult<BTreeMap<String, String>> {
    let metadata = load_metadata(open(path)?).map_err(|error| cannot_be_loaded(path, &error))?;
    match metadata.get("sample") {
        Some(name) if name == sample.name => Ok(metadata),
        Some(name) => {
            let (path, expected) = (path.display(), sample.name);
            Err(format!("The world file {path} is of the sample `{name}`, not of `{expected}`.")
                .into())
        }
        None => {
            let path = path.display();
            Err(format!("The world file {path} was not written by the gallery.").into())
        }
    }
}

fn parse(metadata: &BTreeMap<String, String>) -> Option<Recording> {
    let frames = metadata.get("frames")?.parse().ok()?;
    let state_hash = u64::from_str_radix(metadata.get("state hash")?, 16).ok()?;
    let keys = metadata.get("keys")?.lines().map(|line| {
        let (frame, name) = line.split_once(' ')?;
        Some((frame.parse().ok()?, key(name)?))
    });
    Some(Recording { keys: keys.collect::<Option<_>>()?, frames, state_hash })
}

fn open(path: &Path) -> SampleResult<BufReader<File>> {
    Ok(BufReader::new(File::open(path).map_err(|error| cannot_be_loaded(path, &error))?))
}

fn cannot_be_loaded(path: &Path, error: &dyn std::error::Error) -> String {
    format!("The world file {} cannot be loaded: {error}.", path.display())
}

fn key_name(key: Key) -> String {
    match key {
        Key::Up => "up".to_owned(),
        Key::Down => "down".to_owned(),
        Key::Left => "left".to_owned(),
        Key::Right => "right".to_owned(),
        Key::Char(char) => char.to_string(),
    }
}

fn key(name: &str) -> Option<Key> {
    Some(match name {
        "up" => Key::Up,
        "down" => Key::Down,
        "left" => Key::Left,
        "right" => Key::Right,
        _ => {
            let mut chars = name.chars();
            let char = chars.next()?;
            chars.next().is_none().then_some(Key::Char(char))?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::tests::options;
    use crate::gallery::{Kind, Run};

    #[test]
    fn a_replay_presses_the_recorded_keys() {
        let sample = &crate::gravity::SAMPLE;
        let Kind::World(of_world) = &sample.kind else { panic!("it has a world") };
        let options = options(50);
        let mut world = of_world.world(&options).unwrap();
        let mut first = world.fork().unwrap();
        let mut run = Run::new(of_world, world, &options.pool, false);
        run.record().unwrap();
        for frame in 0..60 {
            match frame {
                5 => run.press(Key::Char('d')),
                20 | 21 => run.press(Key::Left),
                _ => {}
            }
            run.step().unwrap();
        }
        let path = file("keys.ancho");
        let recorded = run.save_recording(sample.name, &path).unwrap();
        drop(run);
        let recording = load_recording(sample, &path).unwrap();
        assert_eq!(recording, recorded);
        assert_eq!(recording.frames, 60);
        let keys = [(5, Key::Char('d')), (20, Key::Left), (21, Key::Left)];
        assert_eq!(recording.keys, keys);
        let mut hash_with = |keys: Vec<(usize, Key)>| {
            let mut world = first.fork().unwrap();
            (of_world.add_systems)(&mut world);
            let mut run = Run::new(of_world, world, &options.pool, false);
            run.replay(keys);
            for _ in 0..60 {
                run.step().unwrap();
                // Keys of the user have no effect.
                run.press(Key::Char('s'));
            }
            run.state_hash()
        };
        std::fs::remove_file(&path).unwrap();
        assert_eq!(hash_with(recording.keys.clone()), recording.state_hash);
        assert_ne!(hash_with(Vec::new()), recording.state_hash, "the keys have an effect");
    }

    #[test]
    fn each_key_has_a_name() {
        for one in [Key::Up, Key::Down, Key::Left, Key::Right, Key::Char('w'), Key::Char('é')] {
            assert_eq!(key(&key_name(one)), Some(one));
        }
        assert_eq!(key("forward"), None);
        assert_eq!(key(""), None);
    }

    fn file(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("ancho-gallery-{}-{name}", std::process::id()))
    }
}
