//! `cargo xtask unit`: the tests as a developer runs them.

use crate::invocation::Invocation;
use crate::packages;
use crate::step::Outcome;
use crate::tree::Tree;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    // One test looks at the gallery in a terminal of others. It passes over that where there is none.
    if let Err(missing) = packages::ensure_program("tmux", "tmux") {
        println!("{missing}; the tests go on without it");
    }
    let words = "test --workspace --all-features --no-fail-fast";
    let mut tests = Invocation::cargo(workspace, words).test();
    // One crate at a time: in one command the features that the others ask of it would be
    // switched on again. Not the examples: those show a crate as most use it, derives included.
    for package in packages_with_default_features(&workspace.tree()) {
        let words = format!("test -p {package} --tests --no-default-features --no-fail-fast");
        tests += Invocation::cargo(workspace, &words).test();
    }
    Outcome::Tested(tests)
}

/// The crates for which leaving out the default features can make a difference.
fn packages_with_default_features(tree: &Tree) -> Vec<String> {
    tree.crates()
        .into_iter()
        .filter(|member| member.manifest.get("features", "default").is_some())
        .map(|member| member.package)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_crates_that_declare_default_features_run_without_them() {
        let tree = Tree::from_files([
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n[features]\ndefault = [\"x\"]\n"),
            ("crates/b/Cargo.toml", "[package]\nname = \"b\"\n[features]\nextra = []\n"),
            ("crates/c/Cargo.toml", "[package]\nname = \"c\"\n"),
        ]);
        assert_eq!(packages_with_default_features(&tree), ["a"]);
    }
}
