//! The command line, from words to a [`Request`].

use crate::fuzz;
use crate::inspect;
use crate::peers;
use crate::step::{self, Step};
use crate::test;

/// A parsed command line.
#[derive(Debug)]
pub(crate) enum Request {
    Help,
    Test(test::Options),
    Step(&'static Step),
    Inspect(inspect::Options),
    Peers(peers::Options),
    Fuzz(fuzz::Options),
    /// The names that select functions.
    Math(Vec<String>),
    Picture,
    UpdateHashes,
}

/// Parses the words after `cargo xtask`.
///
/// # Errors
///
/// Returns a sentence for the user if a word is unknown or a value is missing.
pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Request, String> {
    let Some(command) = words.next() else {
        return Err("no command given".to_owned());
    };
    match command.as_str() {
        "help" | "--help" | "-h" => alone("help", words).map(|()| Request::Help),
        "picture" => alone("picture", words).map(|()| Request::Picture),
        "samples" => match words.next().as_deref() {
            None => step::find("samples").map(Request::Step).ok_or_else(String::new),
            Some("--update") => alone("samples --update", words).map(|()| Request::UpdateHashes),
            Some(other) => Err(format!("`samples` has no flag `{other}`")),
        },
        "test" => parse_test(words).map(Request::Test),
        "inspect" => inspect::Options::parse(words).map(Request::Inspect),
        "peers" => peers::Options::parse(words).map(Request::Peers),
        "fuzz" => fuzz::Options::parse(words).map(Request::Fuzz),
        "math" => Ok(Request::Math(words.collect())),
        name => {
            let step = step::find(name).ok_or_else(|| format!("unknown command `{name}`"))?;
            alone(name, words).map(|()| Request::Step(step))
        }
    }
}

/// Rejects words after a command without arguments.
fn alone(command: &str, mut words: impl Iterator<Item = String>) -> Result<(), String> {
    match words.next() {
        Some(extra) => Err(format!("`{command}` takes no arguments, found `{extra}`")),
        None => Ok(()),
    }
}

fn parse_test(mut words: impl Iterator<Item = String>) -> Result<test::Options, String> {
    let mut options = test::Options::default();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => options.quick = true,
            "--fail-fast" => options.fail_fast = true,
            "-p" | "--package" => match words.next() {
                Some(name) => options.package = Some(name),
                None => return Err(format!("`test {word}` needs the name of a crate")),
            },
            flag if flag.starts_with('-') => return Err(format!("`test` has no flag `{flag}`")),
            _ => options.filter.push(word),
        }
    }
    if options.package.is_none() && !options.filter.is_empty() {
        let filter = options.filter.join(" ");
        return Err(format!("a filter needs a crate: `test -p CRATE {filter}`"));
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &[&str]) -> Result<Request, String> {
        parse(words.iter().map(|word| (*word).to_owned()))
    }

    fn error(words: &[&str]) -> String {
        parse_words(words).expect_err("these words should be refused")
    }

    #[test]
    fn test_takes_its_flags_in_any_order() {
        let Ok(Request::Test(options)) = parse_words(&["test", "--fail-fast", "--quick"]) else {
            panic!("should be the test command");
        };
        assert!(options.quick && options.fail_fast);
    }

    #[test]
    fn test_takes_a_crate_and_a_filter() {
        let Ok(Request::Test(options)) = parse_words(&["test", "-p", "entities", "fork"]) else {
            panic!("should be the test command");
        };
        assert_eq!(options.package.as_deref(), Some("entities"));
        assert_eq!(options.filter, ["fork"]);
        assert_eq!(error(&["test", "fork"]), "a filter needs a crate: `test -p CRATE fork`");
        assert_eq!(error(&["test", "-p"]), "`test -p` needs the name of a crate");
    }

    #[test]
    fn a_step_is_a_command() {
        let Ok(Request::Step(step)) = parse_words(&["peers-check"]) else {
            panic!("should be a step");
        };
        assert_eq!(step.name, "peers-check");
    }

    #[test]
    fn math_takes_names_of_functions() {
        let Ok(Request::Math(names)) = parse_words(&["math", "sin", "exp"]) else {
            panic!("should be the math command");
        };
        assert_eq!(names, ["sin", "exp"]);
    }

    #[test]
    fn unknown_words_are_named() {
        assert_eq!(error(&[]), "no command given");
        assert_eq!(error(&["tset"]), "unknown command `tset`");
        assert_eq!(error(&["test", "--slow"]), "`test` has no flag `--slow`");
        assert_eq!(error(&["samples", "a"]), "`samples` has no flag `a`");
        assert_eq!(error(&["picture", "a"]), "`picture` takes no arguments, found `a`");
        assert_eq!(error(&["fmt", "--fix"]), "`fmt` takes no arguments, found `--fix`");
    }
}
