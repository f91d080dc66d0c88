//! The figures as a table, for people.

use super::{Bound, Case, Figure, Pair, Part, Require, Role, Sampling, Under, Unit};

/// Renders a part: a row per case, a column per subject, then the ratios of ancho and the required
/// ratios.
pub(crate) fn render(part: &Part, figures: &[Figure], pairs: &[Pair], rounds: usize) -> String {
    let mut header = vec!["case".to_owned()];
    header.extend(part.subjects.iter().map(|subject| subject.name.to_owned()));
    header.extend(["ours : best peer", "ours : limit", "required"].map(str::to_owned));
    let mut rows = vec![header];
    for case in part.cases {
        let of_case: Vec<&Figure> = figures.iter().filter(|row| row.case == case.name).collect();
        if !of_case.is_empty() {
            rows.push(row(part, case, &Row { part, figures: of_case, pairs }));
        }
    }
    format!(
        "{}: {} ({rounds} rounds; minimum / median of process medians)\n\n{}",
        part.name,
        part.about,
        align(&rows)
    )
}

/// The figures of one case.
struct Row<'a> {
    part: &'a Part,
    figures: Vec<&'a Figure>,
    /// The cases that were measured in turns with others.
    pairs: &'a [Pair],
}

impl Row<'_> {
    fn min(&self, subject: &str) -> Option<f64> {
        Some(self.figures.iter().find(|figure| figure.subject == subject)?.figures.min)
    }

    /// Returns the figure of the fastest subject of a role.
    fn best(&self, role: Role) -> Option<&Figure> {
        self.figures
            .iter()
            .copied()
            .filter(|figure| self.part.role(figure.subject) == Some(role))
            .min_by(|a, b| a.figures.min.total_cmp(&b.figures.min))
    }

    /// Returns the ratio of a requirement, and the name of its divisor.
    fn ratio(&self, case: &Case, require: &Require) -> Option<(f64, &'static str)> {
        let over = self.min(require.over)?;
        let (under, name) = match require.under {
            Under::Subject(subject) => (self.min(subject)?, subject),
            Under::Best(subjects) => subjects
                .iter()
                .filter_map(|subject| Some((self.min(subject)?, *subject)))
                .min_by(|(a, _), (b, _)| a.total_cmp(b))?,
            Under::Case(under) => {
                let same = |pair: &&Pair| {
                    (pair.case.name, pair.under.name) == (case.name, under)
                        && pair.subject == require.over
                };
                let [over, least] = self.pairs.iter().find(same)?.mins;
                return Some((over / least, under));
            }
            Under::Given(figure, name) => (figure, name),
            Under::Plus(subject, more, name) => (self.min(subject)? + more, name),
        };
        Some((over / under, name))
    }
}

fn row(part: &Part, case: &Case, row: &Row<'_>) -> Vec<String> {
    let unit = match case.sampling {
        Sampling::Burn { .. } => " (CPU per s)",
        Sampling::Resident { .. } => " (memory each)",
        Sampling::Repeat | Sampling::Afresh | Sampling::AfreshCold | Sampling::AfterIdle(_) => "",
    };
    let mut cells = vec![format!("{}{unit}", case.name)];
    for subject in part.subjects {
        let figure = row.figures.iter().find(|figure| figure.subject == subject.name);
        cells.push(figure.map_or_else(absent, |figure| {
            let text = match figure.unit {
                Unit::Nanoseconds => duration,
                Unit::Bytes => bytes,
            };
            format!("{} / {}", text(figure.figures.min), text(figure.figures.median))
        }));
    }
    let ours = row.best(Role::Ours).map(|figure| figure.figures.min);
    cells.push(best_peer(ours, row).unwrap_or_else(absent));
    cells.push(limit(ours, case, row).unwrap_or_else(absent));
    cells.push(required(case, row));
    cells
}

fn best_peer(ours: Option<f64>, row: &Row<'_>) -> Option<String> {
    let peer = row.best(Role::Peer)?;
    Some(format!("{} {}", ratio(ours? / peer.figures.min), peer.subject))
}

fn limit(ours: Option<f64>, case: &Case, row: &Row<'_>) -> Option<String> {
    let (least, limit) = case
        .limits
        .iter()
        .filter_map(|limit| Some((row.min(limit.subject)? / limit.threads, limit)))
        .min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let shared = if limit.threads > 1.0 { format!("/{}", limit.threads) } else { String::new() };
    Some(format!("{} {}{shared}", ratio(ours? / least), limit.subject))
}

fn required(case: &Case, row: &Row<'_>) -> String {
    let mut texts = Vec::new();
    for require in case.requires {
        let Some((found, name)) = row.ratio(case, require) else { continue };
        let (sign, bound) = match require.bound {
            Bound::AtMost(most) => ("<=", most),
            Bound::AtLeast(least) => (">=", least),
        };
        texts.push(format!(
            "{} : {} {} {sign} {bound} {}",
            require.over,
            name,
            ratio(found),
            if require.bound.holds(found) { "holds" } else { "MISSED" }
        ));
    }
    texts.join("; ")
}

fn absent() -> String {
    "-".to_owned()
}

/// Formats a duration with three significant digits and a unit.
fn duration(nanoseconds: f64) -> String {
    let (figure, unit) = match nanoseconds {
        ..1e3 => (nanoseconds, "ns"),
        ..1e6 => (nanoseconds / 1e3, "µs"),
        ..1e9 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(figure))
}

/// Formats a number of bytes with three significant digits.
fn bytes(bytes: f64) -> String {
    format!("{} B", three_digits(bytes))
}

fn ratio(ratio: f64) -> String {
    if ratio < 1.0 { format!("{ratio:.3}") } else { three_digits(ratio) }
}

fn three_digits(figure: f64) -> String {
    let decimals = match figure {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{figure:.decimals$}")
}

/// Pads the columns to their widest cell, as a Markdown table.
fn align(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..rows[0].len()).filter_map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(&format!("| {cell:<width$} "));
        }
        text.push_str("|\n");
        if index == 0 {
            for width in &widths {
                text.push_str(&format!("|{}", "-".repeat(width + 2)));
            }
            text.push_str("|\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let texts = [0.374, 43.21, 999.0, 15_040.0, 2_216_000.0, 1.002e9].map(duration);
        assert_eq!(texts, ["0.37 ns", "43.2 ns", "999 ns", "15.0 µs", "2.22 ms", "1.00 s"]);
    }

    #[test]
    fn columns_line_up() {
        let rows =
            [vec!["case".to_owned(), "µs".to_owned()], vec!["a".to_owned(), "12".to_owned()]];
        assert_eq!(align(&rows), "| case | µs |\n|------|----|\n| a    | 12 |\n");
    }
}
