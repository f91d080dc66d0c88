//! Command line of the gallery.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::gallery::{Kind, Sample, Show, View, WorldSample};
use crate::samples::{DEFAULT, SAMPLES, find};

pub(crate) const USAGE: &str = "\
usage: cargo run --release [-- COMMAND] [OPTIONS]

  (nothing)        show the default sample
  NAME             show a sample
  list             list the samples
  check [NAME]     run all samples, or one, with several worker counts and CPU levels, and compare the results
  bisect NAME      run a sample twice, in order and shuffled, and print the first system and field that differ
  explain CODE     print the page of an error code, such as A0050
  help             print this text

  --frames N       stop after N frames
  --workers N      use N worker threads beside the main thread
  --seed S         seed of the random numbers
  --entities N     number of entities; `help` lists what each sample counts
  --trace FILE     write a trace of all threads, for https://ui.perfetto.dev
  --picture FILE   write the last frame as an SVG picture
  --view VIEW      `terminal` or `none`; by default `terminal` if there is one
  --save FILE      write the last state as a world file
  --load FILE      begin with the state in a world file
  --record FILE    write the first state and the keys as a world file
  --replay FILE    run a recording again, and compare the state hash";

#[derive(Clone, Debug)]
pub(crate) enum Command {
    Show(Show),
    Check { samples: Vec<&'static Sample>, frames: u32 },
    Bisect { sample: &'static Sample, frames: u32, workers: usize },
    Explain { page: &'static str },
    List,
    Help,
}

/// Default number of frames to check.
const CHECKED_FRAMES: u32 = 60;

/// Default number of shuffling workers.
const SHUFFLING_WORKERS: usize = 2;

/// Maximum number of workers: more than any machine needs.
const MAX_WORKERS: usize = 512;

/// Maximum number of entities of any sample: more would not fit in the memory of most machines.
const MAX_ENTITIES: usize = 50_000_000;

/// Parses the arguments.
///
/// # Errors
///
/// Returns a sentence that describes the mistake.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let mut words = Vec::new();
    let mut options: Vec<&'static str> = Vec::new();
    let mut show = Show {
        sample: DEFAULT,
        frames: None,
        workers: None,
        seed: None,
        entities: None,
        trace: None,
        picture: None,
        view: None,
        save: None,
        load: None,
        record: None,
        replay: None,
    };
    while let Some(argument) = arguments.next() {
        let Some(argument) = argument.to_str() else {
            let argument = argument.display();
            return Err(format!("`{argument}` is not valid UTF-8."));
        };
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.into())),
            _ => (argument, None),
        };
        let mut value = |what: &str| {
            value.clone().or_else(|| arguments.next()).ok_or(format!("`{name}` needs {what}."))
        };
        options.push(match name {
            "--frames" => {
                show.frames = Some(number(name, &value("a number")?, 1, u32::MAX)?);
                "--frames"
            }
            "--workers" => {
                show.workers = Some(number(name, &value("a number")?, 0, MAX_WORKERS)?);
                "--workers"
            }
            "--seed" => {
                show.seed = Some(number(name, &value("a number")?, 0, u64::MAX)?);
                "--seed"
            }
            "--entities" => {
                show.entities = Some(number(name, &value("a number")?, 1, MAX_ENTITIES)?);
                "--entities"
            }
            "--trace" => {
                show.trace = Some(PathBuf::from(value("the name of a file")?));
                "--trace"
            }
            "--picture" => {
                show.picture = Some(PathBuf::from(value("the name of a file")?));
                "--picture"
            }
            "--view" => {
                show.view = Some(view(&value("`terminal` or `none`")?)?);
                "--view"
            }
            "--save" => {
                show.save = Some(PathBuf::from(value("the name of a file")?));
                "--save"
            }
            "--load" => {
                show.load = Some(PathBuf::from(value("the name of a file")?));
                "--load"
            }
            "--record" => {
                show.record = Some(PathBuf::from(value("the name of a file")?));
                "--record"
            }
            "--replay" => {
                show.replay = Some(PathBuf::from(value("the name of a file")?));
                "--replay"
            }
            "--help" | "-h" => return Ok(Command::Help),
            option if option.starts_with('-') => {
                return Err(format!(
                    "There is no option `{option}`; there are --frames, --workers, --seed, --entities, \
                     --trace, --picture, --view, --save, --load, --record and --replay."
                ));
            }
            _ => {
                words.push(argument.to_owned());
                continue;
            }
        });
    }
    command(&words, &options, show)
}

fn command(words: &[String], options: &[&str], mut show: Show) -> Result<Command, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // The options that each command accepts.
    let (command, allowed) = match words[..] {
        [] => (Command::Show(show), DEFAULT.options()),
        ["list"] => (Command::List, vec![]),
        ["help"] => (Command::Help, vec![]),
        ["check"] => {
            let frames = show.frames.unwrap_or(CHECKED_FRAMES);
            (Command::Check { samples: SAMPLES.to_vec(), frames }, vec!["--frames"])
        }
        ["check", name] => {
            let frames = show.frames.unwrap_or(CHECKED_FRAMES);
            (Command::Check { samples: vec![find(name)?], frames }, vec!["--frames"])
        }
        ["bisect"] => return Err("`bisect` needs the name of a sample.".to_owned()),
        ["bisect", name] => {
            let frames = show.frames.unwrap_or(CHECKED_FRAMES);
            let workers = show.workers.unwrap_or(SHUFFLING_WORKERS);
            let command = Command::Bisect { sample: find(name)?, frames, workers };
            (command, vec!["--frames", "--workers"])
        }
        ["explain"] => return Err("`explain` needs an error code, such as A0050.".to_owned()),
        ["explain", code] => match ancho::explain(code) {
            Some(page) => (Command::Explain { page }, vec![]),
            None => return Err(format!("There is no error code `{code}`.")),
        },
        [name] => {
            show.sample = find(name)?;
            let options = show.sample.options();
            (Command::Show(show), options)
        }
        [.., extra] => {
            return Err(format!("Unexpected argument `{extra}`; pass one command at a time."));
        }
    };
    if let Command::Show(show) = &command {
        check(show)?;
    }
    match options.iter().find(|option| !allowed.contains(option)) {
        None => Ok(command),
        Some(option) if allowed.is_empty() => {
            Err(format!("`{}` takes no options; remove `{option}`.", words[0]))
        }
        Some(option) => Err(format!(
            "`{}` does not take `{option}`; its options are {}.",
            words.join(" "),
            allowed.join(", ")
        )),
    }
}

/// Checks the options. Returns a sentence for the user if they conflict, or do not fit the sample.
fn check(show: &Show) -> Result<(), String> {
    let name = show.sample.name;
    match (&show.sample.kind, show.entities) {
        (Kind::World(sample), Some(entities)) if entities > sample.most => {
            let WorldSample { counts, most, .. } = sample;
            return Err(format!(
                "`--entities` takes at most {most} for `{name}`, not {entities}: it counts {counts}."
            ));
        }
        (Kind::Jobs(_), _) if show.view == Some(View::Terminal) => {
            return Err(format!(
                "`{name}` has no picture for `--view terminal`; without this option, it prints its results."
            ));
        }
        _ => {}
    }
    if show.replay.is_some() {
        let with = [("--load", show.load.is_some()), ("--record", show.record.is_some())];
        if let Some((option, _)) = with.iter().find(|(_, is_given)| *is_given) {
            return Err(format!("`--replay` cannot be combined with `{option}`."));
        }
    }
    check_files(show)
}

/// Checks that no file is used by two options. Only `--save` may replace the file of `--load` or `--replay`.
fn check_files(show: &Show) -> Result<(), String> {
    let files = [
        ("--trace", &show.trace),
        ("--picture", &show.picture),
        ("--record", &show.record),
        ("--load", &show.load),
        ("--replay", &show.replay),
        ("--save", &show.save),
    ];
    let given: Vec<_> =
        files.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?))).collect();
    for (index, &(one, path)) in given.iter().enumerate() {
        for &(other, other_path) in &given[index + 1..] {
            let is_replaced = other == "--save" && matches!(one, "--load" | "--replay");
            if !is_replaced && is_same_file(path, other_path) {
                return Err(format!("`{one}` and `{other}` cannot both use `{}`.", path.display()));
            }
        }
    }
    Ok(())
}

/// Returns whether two paths name the same file, comparing the names alone.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let full = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    full(one) == full(other)
}

fn view(value: &OsStr) -> Result<View, String> {
    match value.to_str() {
        Some("terminal") => Ok(View::Terminal),
        Some("none") => Ok(View::None),
        _ => Err(format!("There is no view `{}`; there are terminal and none.", value.display())),
    }
}

fn number<T>(option: &str, value: &OsStr, least: T, most: T) -> Result<T, String>
where
    T: FromStr + PartialOrd + std::fmt::Display,
{
    match value.to_str().and_then(|value| value.parse().ok()) {
        Some(number) if (&least..=&most).contains(&&number) => Ok(number),
        _ => {
            let value = value.display();
            Err(format!("`{option}` takes a number from {least} to {most}, not `{value}`."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &str) -> Result<Command, String> {
        parse(words.split_whitespace().map(OsString::from))
    }

    fn shown(words: &str) -> Show {
        match parse_words(words).unwrap() {
            Command::Show(show) => show,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_command_is_understood() {
        assert_eq!(shown("").sample.name, "battle");
        assert_eq!(shown("rotation").sample.name, "rotation");
        assert!(matches!(parse_words("list"), Ok(Command::List)));
        assert!(matches!(parse_words("help"), Ok(Command::Help)));
        assert!(matches!(parse_words("rotation --help"), Ok(Command::Help)));
        let page = parse_words("explain A0050").unwrap();
        assert!(matches!(page, Command::Explain { page } if page.starts_with("# A0050: ")));
        let all = parse_words("check").unwrap();
        assert!(
            matches!(all, Command::Check { samples, frames: 60 } if samples.len() == SAMPLES.len())
        );
        let one = parse_words("check life --frames 5").unwrap();
        assert!(matches!(one, Command::Check { samples, frames: 5 } if samples[0].name == "life"));
        let two = parse_words("bisect boids --frames 7").unwrap();
        assert!(
            matches!(two, Command::Bisect { sample, frames: 7, workers: 2 } if sample.name == "boids")
        );
    }

    #[test]
    fn options_are_understood() {
        let show = shown(
            "rotation --frames 300 --workers 0 --seed=7 --entities 10 --trace a.json --picture b.svg --view none",
        );
        assert_eq!((show.frames, show.workers, show.seed), (Some(300), Some(0), Some(7)));
        assert_eq!((show.entities, show.view), (Some(10), Some(View::None)));
        assert_eq!(show.trace.as_deref(), Some(Path::new("a.json")));
        assert_eq!(show.picture.as_deref(), Some(Path::new("b.svg")));
        assert_eq!(shown("--view terminal").view, Some(View::Terminal));
    }

    #[test]
    fn mistakes_are_reported_in_a_sentence() {
        let mistake = |words| parse_words(words).unwrap_err();
        let names: Vec<_> = SAMPLES.iter().map(|sample| sample.name).collect();
        assert_eq!(
            mistake("lief"),
            format!("There is no sample `lief`; there are {}.", names.join(", "))
        );
        assert_eq!(
            mistake("--fast"),
            "There is no option `--fast`; there are --frames, --workers, --seed, --entities, --trace, --picture, --view, --save, --load, --record and --replay."
        );
        assert_eq!(mistake("--trace"), "`--trace` needs the name of a file.");
        assert_eq!(
            mistake("--frames many"),
            "`--frames` takes a number from 1 to 4294967295, not `many`."
        );
        assert_eq!(
            mistake("--frames 0"),
            "`--frames` takes a number from 1 to 4294967295, not `0`."
        );
        assert_eq!(
            mistake("--workers 9999"),
            "`--workers` takes a number from 0 to 512, not `9999`."
        );
        assert_eq!(mistake("--view moon"), "There is no view `moon`; there are terminal and none.");
        assert_eq!(
            mistake("life rotation"),
            "Unexpected argument `rotation`; pass one command at a time."
        );
        assert_eq!(mistake("list --seed 3"), "`list` takes no options; remove `--seed`.");
        assert_eq!(
            mistake("life --entities 3"),
            "`life` does not take `--entities`; its options are --frames, --workers, --trace, --view."
        );
        assert_eq!(mistake("bisect"), "`bisect` needs the name of a sample.");
        assert_eq!(mistake("explain"), "`explain` needs an error code, such as A0050.");
        assert_eq!(mistake("explain A9999"), "There is no error code `A9999`.");
        assert_eq!(
            mistake("check --view none"),
            "`check` does not take `--view`; its options are --frames."
        );
    }

    #[test]
    fn conflicting_options_are_reported_in_a_sentence() {
        let mistake = |words| parse_words(words).unwrap_err();
        assert_eq!(
            mistake("dungeon --entities 10001"),
            "`--entities` takes at most 10000 for `dungeon`, not 10001: it counts rooms."
        );
        assert_eq!(shown("dungeon --entities 10000").entities, Some(10_000));
        for paths in ["--trace a --picture a", "--trace a --picture ./a"] {
            let expected = "`--trace` and `--picture` cannot both use `a`.";
            assert_eq!(mistake(paths), expected);
        }
        assert_eq!(mistake("--trace a --load ./a"), "`--trace` and `--load` cannot both use `a`.");
        assert_eq!(shown("--load a --save a").save.as_deref(), Some(Path::new("a")));
        assert_eq!(mistake("--replay c --load a"), "`--replay` cannot be combined with `--load`.");
        assert_eq!(
            mistake("--replay c --record b"),
            "`--replay` cannot be combined with `--record`."
        );
        assert_eq!(
            mistake("life --save a"),
            "`life` does not take `--save`; its options are --frames, --workers, --trace, --view."
        );
        assert_eq!(
            mistake("life --view terminal"),
            "`life` has no picture for `--view terminal`; without this option, it prints its results."
        );
        assert_eq!(shown("life --view none").view, Some(View::None));
    }

    #[cfg(unix)]
    #[test]
    fn invalid_utf8_is_rejected_except_in_file_names() {
        use std::os::unix::ffi::OsStringExt;

        let broken = || OsString::from_vec(b"caf\xE9".to_vec());
        let parse_with_it =
            |words: &str| parse(words.split_whitespace().map(OsString::from).chain([broken()]));
        let mistake = |words| parse_with_it(words).unwrap_err();
        assert_eq!(mistake(""), "`caf\u{FFFD}` is not valid UTF-8.");
        assert_eq!(
            mistake("--view"),
            "There is no view `caf\u{FFFD}`; there are terminal and none."
        );
        assert_eq!(
            mistake("--workers"),
            "`--workers` takes a number from 0 to 512, not `caf\u{FFFD}`."
        );
        let Ok(Command::Show(show)) = parse_with_it("--trace") else { panic!("a file is fine") };
        assert_eq!(show.trace, Some(PathBuf::from(broken())));
    }

    #[test]
    fn a_seed_is_refused_where_nothing_is_random() {
        for name in ["chain", "phyllotaxis"] {
            let expected = format!(
                "`{name}` does not take `--seed`; its options are --frames, --workers, --entities, --trace, \
                 --picture, --view, --save, --load, --record, --replay."
            );
            assert_eq!(parse_words(&format!("{name} --seed 1")).unwrap_err(), expected);
        }
        assert_eq!(shown("two_stick_shooter --seed 3").seed, Some(3));
    }
}
