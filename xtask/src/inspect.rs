//! `cargo xtask inspect`: shows the machine code of a program's kernels.

use crate::invocation::Invocation;
use crate::tree::Tree;
use crate::workspace::Workspace;

/// The program and the kernel to show.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Options {
    kernel: Option<String>,
    package: Option<String>,
    /// The kind of the target and its name, such as `example` and `kernels`.
    target: Option<(String, String)>,
    assembly: bool,
}

impl Options {
    /// Parses the words after `inspect`.
    ///
    /// # Errors
    ///
    /// Returns a sentence for the user if a word is unknown or a value is missing.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--asm" => options.assembly = true,
                "--package" | "--example" | "--test" | "--bin" => {
                    let Some(value) = words.next() else {
                        return Err(format!("`inspect {word}` needs a name"));
                    };
                    if word == "--package" {
                        options.package = Some(value);
                    } else if let Some((kind, name)) = &options.target {
                        return Err(format!(
                            "`inspect` reads one program, found `--{kind} {name}` and `{word} {value}`"
                        ));
                    } else {
                        options.target = Some((word.trim_start_matches('-').to_owned(), value));
                    }
                }
                flag if flag.starts_with('-') => {
                    return Err(format!("`inspect` has no flag `{flag}`"));
                }
                name => {
                    if let Some(first) = &options.kernel {
                        return Err(format!(
                            "`inspect` shows one kernel, found `{first}` and `{name}`"
                        ));
                    }
                    options.kernel = Some(word);
                }
            }
        }
        if options.package.is_some() && options.target.is_none() {
            return Err("`inspect --package` needs `--example`, `--test` or `--bin` too".to_owned());
        }
        Ok(options)
    }

    fn package(&self) -> &str {
        self.package.as_deref().unwrap_or("ancho_burst")
    }

    fn target(&self) -> (&str, &str) {
        self.target.as_ref().map_or(("example", "kernels"), |(kind, name)| (kind, name))
    }
}

/// Builds the program, and prints its kernels and the reasons for scalar loops. Returns whether that succeeded.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> bool {
    let (kind, name) = options.target();
    let package = options.package();
    let feature = match feature(&workspace.tree(), package) {
        Ok(feature) => feature,
        Err(sentence) => {
            println!("{sentence}");
            return false;
        }
    };
    // The compiler prints its reasons only with one codegen unit and line numbers.
    let words = format!(
        "rustc --release -p {package} --{kind} {name} --features {feature} \
         --message-format=json-render-diagnostics"
    );
    let built = Invocation::cargo(workspace, &words)
        .target_dir(&workspace.target_dir("inspect"))
        .args(["--", "-Ccodegen-units=1", "-Cdebuginfo=1", "-Cremark=loop-vectorize"])
        .capture_both();
    let (messages, remarks) = match built {
        Ok(output) => output,
        Err(error) => {
            println!("{error}");
            return false;
        }
    };
    let Some(executable) = executable(&messages) else {
        println!("cargo built no executable for `--{kind} {name}` of `{package}`");
        return false;
    };
    let words = "run --quiet --release -p ancho_burst --features inspect --example inspector";
    let mut inspector = Invocation::cargo(workspace, words)
        .target_dir(&workspace.target_dir("inspect"))
        .args(["--", &executable]);
    if let Some(kernel) = &options.kernel {
        inspector = inspector.args([kernel]);
    }
    if options.assembly {
        inspector = inspector.args(["--asm"]);
    }
    // Passed in a file: remarks are long, with one line for each loop of the program.
    let file = workspace.target_dir("inspect").join("remarks.txt");
    if let Err(error) = std::fs::write(&file, remarks) {
        println!("cannot write {}: {error}", file.display());
        return false;
    }
    inspector.args([format!("--remarks={}", file.display())]).check()
}

/// Returns the feature that makes kernels keep their names, as a path from the package.
fn feature(tree: &Tree, package: &str) -> Result<String, String> {
    let members = tree.members();
    let Some(member) = members.iter().find(|member| member.package == package) else {
        let names: Vec<&str> = members.iter().map(|member| member.package.as_str()).collect();
        return Err(format!("no package is named `{package}`; there are {}", names.join(", ")));
    };
    let dependencies = member.manifest.dependencies();
    let depends = |name: &str| dependencies.iter().any(|dependency| dependency.package == name);
    // A package's own feature comes first, since its tests may require it.
    if member.manifest.get("features", "inspect").is_some() {
        Ok(format!("{package}/inspect"))
    } else if depends("ancho_burst") {
        Ok("ancho_burst/inspect".to_owned())
    } else if depends("ancho_jobs") {
        Ok("ancho_jobs/inspect".to_owned())
    } else if depends("ancho") {
        Ok("ancho/inspect".to_owned())
    } else {
        Err(format!(
            "`{package}` has no kernels: it depends on none of `ancho`, `ancho_burst` and `ancho_jobs`"
        ))
    }
}

/// Returns the path of the executable from cargo's messages.
fn executable(messages: &str) -> Option<String> {
    let marker = "\"executable\":\"";
    let line = messages.lines().rfind(|line| line.contains(marker))?;
    let path = &line[line.find(marker)? + marker.len()..];
    Some(path[..path.find('"')?].replace("\\\\", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_example_kernels_are_the_default() {
        let options = parse("").unwrap();
        assert_eq!((options.package(), options.target()), ("ancho_burst", ("example", "kernels")));
        let options = parse("steer --package samples --bin samples --asm").unwrap();
        assert_eq!((options.package(), options.target()), ("samples", ("bin", "samples")));
        assert!(options.assembly && options.kernel.as_deref() == Some("steer"));
    }

    #[test]
    fn wrong_words_are_named() {
        for (line, message) in [
            ("--package", "`inspect --package` needs a name"),
            ("--package samples", "`inspect --package` needs `--example`, `--test` or `--bin` too"),
            ("--lib", "`inspect` has no flag `--lib`"),
            ("a b", "`inspect` shows one kernel, found `a` and `b`"),
            ("--bin a --test b", "`inspect` reads one program, found `--bin a` and `--test b`"),
        ] {
            assert_eq!(parse(line), Err(message.to_owned()), "{line:?}");
        }
    }

    #[test]
    fn the_executable_is_the_last_that_cargo_tells_of() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
                        {\"executable\":\"/t/kernels\",\"fresh\":false}\n{\"success\":true}\n";
        assert_eq!(executable(messages).as_deref(), Some("/t/kernels"));
        assert_eq!(executable("{\"executable\":null}"), None);
    }

    #[test]
    fn the_feature_is_reached_through_what_the_package_depends_on() {
        let manifest = |name: &str, dependency: &str| {
            format!("[package]\nname = \"{name}\"\n[dependencies]\n{dependency}.workspace = true\n")
        };
        let (game, other) = (manifest("game", "ancho_jobs"), manifest("other", "syn"));
        let own = manifest("own", "ancho_burst") + "[features]\ninspect = []\n";
        let samples = manifest("samples", "ancho");
        let tree = Tree::from_files([
            ("samples/Cargo.toml", samples.as_str()),
            ("crates/game/Cargo.toml", game.as_str()),
            ("crates/other/Cargo.toml", other.as_str()),
            ("crates/own/Cargo.toml", own.as_str()),
        ]);
        assert_eq!(feature(&tree, "game"), Ok("ancho_jobs/inspect".to_owned()));
        assert_eq!(feature(&tree, "samples"), Ok("ancho/inspect".to_owned()));
        assert_eq!(feature(&tree, "own"), Ok("own/inspect".to_owned()));
        let error = feature(&tree, "other").unwrap_err();
        assert!(error.starts_with("`other` has no kernels"), "{error}");
        let error = feature(&tree, "gaem").unwrap_err();
        assert_eq!(error, "no package is named `gaem`; there are game, other, own, samples");
    }
}
