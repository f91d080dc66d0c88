//! `cargo xtask help`.

use crate::step::STEPS;

/// Returns every command with one line each.
pub(crate) fn text() -> String {
    let mut text = String::from("usage: cargo xtask <command>\n\n");
    let mut line = |name: &str, about: &str| {
        text.push_str(format!("  {name:<12} {about}").trim_end());
        text.push('\n');
    };
    line("test", "runs the steps below in this order and prints a summary");
    line("", "  --quick      leaves out the steps marked *");
    line(
        "",
        "  -p CRATE [FILTER]  runs only the tests of one crate, or those whose names contain FILTER",
    );
    line("", "  --fail-fast  stops at the first step that fails");
    for step in STEPS {
        let mark = if step.heavy { " *" } else { "" };
        line(step.name, &format!("{}{mark}", step.about));
        if step.name == "fuzz" {
            line(
                "",
                "  [TARGET] [--runs N | --seconds N] [--asan]  other targets, limits and checks",
            );
        }
        if step.name == "samples" {
            line("", "  --update     rewrites `samples/hashes.txt` instead");
        }
    }
    line(
        "inspect",
        "shows the instructions of kernels at each CPU level: inspect [<kernel>] [flags]",
    );
    line("", "  --package P  the package of the program, with one of the next three flags");
    line("", "  --example E, --test T, --bin B  the program; by default, the example kernels");
    line("", "  --asm        also prints the assembly");
    line("peers", "runs the benchmark against other libraries: peers <part | all> [flags]");
    line("", "  --case NAME  runs one case of the part");
    line("", "  --rounds N   the number of rounds");
    line("", "  --native     builds everything with `-C target-cpu=native`");
    line(
        "",
        "  --json FILE  also writes the figures to a file; the default of `all` is `peers.json` in the target directory",
    );
    line("math", "measures the error of `ancho_burst::math` for all arguments: math [names]");
    line("picture", "draws the picture of the README again");
    line("help", "prints this text");
    text.push_str("\nWith CI=true a step whose tool is missing fails instead of being skipped.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_has_a_line_for_every_step() {
        for step in STEPS {
            assert!(text().contains(&format!("\n  {:<12} ", step.name)), "{}", step.name);
        }
    }
}
