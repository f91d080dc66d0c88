//! Rule: text is plain English. Refuses phrases that readers of Rust, Unity or bevy do not know, and documentation that
//! opens with a question word.

use super::Finding;
use super::prose::Prose;
use crate::tree::Tree;

/// Phrases in lower case, and their replacements.
const PHRASES: &[(&str, &str)] = &[
    ("are told", "are reported"),
    ("as above", "the noun"),
    ("as there .", "the noun"),
    ("as there ,", "the noun"),
    ("as there ;", "the noun"),
    ("carried out", "applied"),
    ("carries out", "applies"),
    ("carry out", "apply"),
    ("change of structure", "structural change"),
    ("changes of structure", "structural changes"),
    ("code of the user", "user code"),
    ("comes and goes", "the verbs"),
    ("is in the way", "conflicts"),
    ("are in the way", "conflict"),
    ("is told", "is reported"),
    ("was told", "was reported"),
    ("lie side by side", "are contiguous"),
    ("lies side by side", "is contiguous"),
    ("nobody", "the noun, such as `no job`"),
    ("somebody", "the noun, such as `another job`"),
    ("see there", "a link"),
    ("so many", "the name of the number, such as `count`"),
    ("switch off", "disable"),
    ("switch on", "enable"),
    ("switched off", "disabled"),
    ("switched on", "enabled"),
    ("take along", "capture"),
    ("taken along", "captured"),
    ("takes along", "captures"),
    ("the same as before", "the noun"),
    ("whoever", "the noun"),
    ("whom", "the noun"),
    ("world's alone", "unshared"),
];

/// Words that a definition does not begin with.
const OPENINGS: &[&str] = &[
    "what", "who", "whom", "whose", "which", "how", "whether", "where", "whoever", "whatever",
    "nobody", "such",
];

/// Files that quote the phrases.
const QUOTES: &[&str] = &["xtask/src/tidy/prose.rs", "xtask/src/tidy/wording.rs"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for prose in Prose::of_tree(tree).iter().filter(|prose| !QUOTES.contains(&prose.path)) {
        for (phrase, instead) in PHRASES {
            findings.extend(prose.find(phrase).into_iter().map(|line| {
                let phrase = phrase.trim_end_matches([' ', '.', ',', ';']);
                let message = format!("\"{phrase}\" is not plain English. Write {instead}");
                Finding::failure(prose.path, line, message)
            }));
        }
    }
    for (path, source) in tree.rust_files().filter(|(path, _)| !QUOTES.contains(path)) {
        let mut is_inside = false;
        for (index, line) in source.text().lines().enumerate() {
            let line = line.trim_start();
            let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            if let (Some(text), false) = (text, is_inside) {
                let first = text.trim_start().split(|c: char| !c.is_alphanumeric()).next();
                let first = first.unwrap_or_default().to_lowercase();
                if OPENINGS.contains(&first.as_str()) {
                    let message = format!(
                        "the documentation begins with \"{first}\". Begin with a noun or a verb"
                    );
                    findings.push(Finding::failure(path, index + 1, message));
                }
            }
            is_inside = text.is_some();
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::test_support::printed;
    use super::*;

    #[test]
    fn every_phrase_is_refused() {
        for (phrase, _) in PHRASES {
            let text = format!("// It {phrase}\n");
            assert_eq!(printed(check, [("a.rs", &text)]).len(), 1, "{phrase}");
        }
        assert_eq!(
            printed(check, [("a.md", "A value is\ncarried out.\n")]),
            ["a.md:2: \"carried out\" is not plain English. Write applied"]
        );
    }

    #[test]
    fn names_in_code_are_allowed() {
        let text = "let nobody = whom(); // `nobody`\n";
        assert_eq!(printed(check, [("a.rs", text)]), [""; 0]);
    }

    #[test]
    fn longer_phrases_with_another_meaning_are_allowed() {
        let text = "As many as there are. As long as there is one. In the way that it is.";
        assert_eq!(printed(check, [("a.md", text)]), [""; 0]);
    }

    #[test]
    fn documentation_that_opens_with_a_question_is_refused() {
        for opening in ["/// What it is.", "    //! How it works.", "/// Whether: it is."] {
            assert_eq!(printed(check, [("a.rs", opening)]).len(), 1, "{opening}");
        }
        for opening in ["/// Whatsoever.", "/// The point\n/// where it is.", "// Where it is."] {
            assert_eq!(printed(check, [("a.rs", opening)]), [""; 0], "{opening}");
        }
    }
}
