//! What the gallery is asked to do.

use std::path::PathBuf;

use crate::gallery::{SAMPLES, Sample};

pub(crate) const USAGE: &str = "\
usage: cargo run --release [-- [NAME | --list | --headless] [--trace FILE]]

  (nothing)      list the samples, and show each for a moment
  NAME           show one sample, for longer
  --list         list the samples
  --headless     run each sample for 60 frames, on several worker counts and in several orders,
                 and print the hash of its state
  --trace FILE   where the sample `timeline` writes its trace";

#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    ShowAll,
    ShowOne(&'static Sample),
    Headless,
    List,
    Help,
}

/// Returns the command and the file that a trace goes to, or a sentence that says what is wrong.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = String>,
) -> Result<(Command, Option<PathBuf>), String> {
    let mut arguments = arguments.into_iter();
    let mut command = None;
    let mut trace = None;
    while let Some(argument) = arguments.next() {
        let asked = match argument.as_str() {
            "--headless" => Command::Headless,
            "--help" | "-h" => Command::Help,
            "--list" => Command::List,
            "--trace" => {
                let file = arguments.next().ok_or("`--trace` needs the name of a file.")?;
                trace = Some(PathBuf::from(file));
                continue;
            }
            option if option.starts_with('-') => {
                return Err(format!("There is no option `{option}`."));
            }
            name => Command::ShowOne(find(name)?),
        };
        if command.replace(asked).is_some() {
            return Err(format!("`{argument}` is one thing too many; ask for one at a time."));
        }
    }
    let command = command.unwrap_or(Command::ShowAll);
    let writes_trace = match command {
        Command::ShowAll | Command::Headless => true,
        Command::ShowOne(sample) => sample.name == "timeline",
        Command::List | Command::Help => false,
    };
    if trace.is_some() && !writes_trace {
        return Err("`--trace` is for the sample `timeline`; no other writes a trace.".to_owned());
    }
    Ok((command, trace))
}

fn find(name: &str) -> Result<&'static Sample, String> {
    SAMPLES.iter().find(|sample| sample.name == name).ok_or_else(|| {
        let names: Vec<_> = SAMPLES.iter().map(|sample| sample.name).collect();
        format!("There is no sample `{name}`; there are {}.", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn parse_words(words: &str) -> Result<(Command, Option<PathBuf>), String> {
        parse(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn each_command_is_understood() {
        let command = |words| parse_words(words).unwrap().0;
        assert!(matches!(command(""), Command::ShowAll));
        assert!(matches!(command("--headless"), Command::Headless));
        assert!(matches!(command("--list"), Command::List));
        assert!(matches!(command("--help"), Command::Help));
        assert!(matches!(command("life"), Command::ShowOne(sample) if sample.name == "life"));
    }

    #[test]
    fn a_trace_goes_where_it_is_told() {
        for words in ["--trace a.json", "timeline --trace a.json", "--trace a.json --headless"] {
            let (_, trace) = parse_words(words).unwrap();
            assert_eq!(trace.as_deref(), Some(Path::new("a.json")), "{words}");
        }
    }

    #[test]
    fn mistakes_are_told_in_a_sentence() {
        let mistake = |words| parse_words(words).unwrap_err();
        assert_eq!(
            mistake("lief"),
            "There is no sample `lief`; there are first_job, native_counter, particles, life, mandelbrot, timeline."
        );
        assert_eq!(mistake("--fast"), "There is no option `--fast`.");
        assert_eq!(mistake("--trace"), "`--trace` needs the name of a file.");
        assert_eq!(
            mistake("life --headless"),
            "`--headless` is one thing too many; ask for one at a time."
        );
        assert_eq!(
            mistake("life --trace a.json"),
            "`--trace` is for the sample `timeline`; no other writes a trace."
        );
    }
}
