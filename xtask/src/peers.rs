//! `cargo xtask peers`: builds and runs the benchmark against other libraries.

use crate::invocation::Invocation;
use crate::workspace::Workspace;

/// The arguments of `cargo xtask peers`, checked here so that a typo does not cost a build.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Options {
    /// True if the benchmark is built for the CPU of this machine. This option is not passed to the benchmark's binary.
    native: bool,
    /// The part, then the flags for the binary.
    words: Vec<String>,
}

impl Options {
    /// Parses the words after `peers`.
    ///
    /// # Errors
    ///
    /// Returns a sentence for the user if a word is unknown or a value is missing.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut native = false;
        let mut part: Option<String> = None;
        let mut flags = Vec::new();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--native" => native = true,
                "--case" | "--json" | "--rounds" => {
                    let Some(value) = words.next() else {
                        return Err(format!("`peers {word}` needs a value"));
                    };
                    if word == "--rounds" && !value.parse::<u32>().is_ok_and(|rounds| rounds > 0) {
                        return Err(format!("`--rounds` needs a positive number, found `{value}`"));
                    }
                    flags.extend([word, value]);
                }
                flag if flag.starts_with('-') => {
                    return Err(format!("`peers` has no flag `{flag}`"));
                }
                name => {
                    if let Some(first) = part {
                        return Err(format!("`peers` runs one part, found `{first}` and `{name}`"));
                    }
                    part = Some(word);
                }
            }
        }
        let Some(part) = part else {
            return Err("`peers` needs the name of a part, such as `jobs`, or `all`".to_owned());
        };
        flags.insert(0, part);
        Ok(Self { native, words: flags })
    }

    /// Returns whether all parts run without a file for their figures.
    fn lacks_file(&self) -> bool {
        self.words[0] == "all" && !self.words.iter().any(|word| word == "--json")
    }
}

/// Builds and runs the benchmark. Returns whether it succeeded.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> bool {
    let manifest = workspace.root.join("benches-peers/Cargo.toml");
    if !manifest.exists() {
        println!("no workspace `benches-peers` at {}", manifest.display());
        return false;
    }
    // Not in the root of the workspace: `--json FILE` is relative to the user's directory.
    let mut cargo = Invocation::new("cargo")
        .args("run --release --bin peers --manifest-path".split(' '))
        .args([&manifest]);
    // A loop of few bytes takes a quarter longer if it crosses a cache line. Alignment makes this the same for all libraries.
    let aligned = "-C llvm-args=-align-loops=64";
    cargo = match options.native {
        false => cargo.env("RUSTFLAGS", aligned),
        true => cargo
            .env("RUSTFLAGS", format!("{aligned} -C target-cpu=native"))
            .target_dir(&workspace.peers_target_dir("native")),
    };
    cargo = cargo.args(["--"]).args(&options.words);
    if !options.lacks_file() {
        return cargo.check();
    }
    let file = workspace.peers_target_dir("peers.json");
    let passed = cargo.args(["--json".as_ref(), file.as_os_str()]).check();
    println!("figures of the parts that were measured: {}", file.display());
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_binary_gets_the_part_first_and_never_the_build_flag() {
        let options = parse("--rounds 5 --native jobs --case empty --json out.json").unwrap();
        assert!(options.native);
        assert_eq!(options.words.join(" "), "jobs --rounds 5 --case empty --json out.json");
        assert!(!parse("jobs").unwrap().native);
    }

    #[test]
    fn a_run_of_all_parts_has_a_file() {
        assert!(parse("all --rounds 5").unwrap().lacks_file());
        assert!(!parse("all --json out.json").unwrap().lacks_file());
        assert!(!parse("jobs").unwrap().lacks_file());
    }

    #[test]
    fn wrong_words_are_named() {
        for (line, message) in [
            ("", "`peers` needs the name of a part, such as `jobs`, or `all`"),
            ("--native", "`peers` needs the name of a part, such as `jobs`, or `all`"),
            ("jobs storage", "`peers` runs one part, found `jobs` and `storage`"),
            ("jobs --cases empty", "`peers` has no flag `--cases`"),
            ("jobs --case", "`peers --case` needs a value"),
            ("jobs --rounds many", "`--rounds` needs a positive number, found `many`"),
            ("jobs --rounds 0", "`--rounds` needs a positive number, found `0`"),
        ] {
            assert_eq!(parse(line), Err(message.to_owned()), "{line:?}");
        }
    }
}
