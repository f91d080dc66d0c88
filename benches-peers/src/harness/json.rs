//! The figures as JSON, for machines.

use std::fmt::Write;

use super::Figure;

/// Renders an array of `{"part","case","subject","min_ns","median_ns"}`.
///
/// Names are identifiers, so they need no escapes.
pub(crate) fn render(part: &str, figures: &[Figure]) -> String {
    let mut text = String::from("[");
    for (index, figure) in figures.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let Figure { case, subject, time } = figure;
        write!(
            text,
            "{comma}\n  {{\"part\": \"{part}\", \"case\": \"{case}\", \"subject\": \"{subject}\", \
             \"min_ns\": {:.3}, \"median_ns\": {:.3}}}",
            time.min, time.median
        )
        .expect("a string takes all");
    }
    text.push_str("\n]\n");
    text
}

#[cfg(test)]
mod tests {
    use super::super::Summary;
    use super::*;

    #[test]
    fn rows() {
        let figure =
            |subject| Figure { case: "empty", subject, time: Summary { min: 40.25, median: 1e9 } };
        assert_eq!(
            render("jobs", &[figure("ancho"), figure("rayon")]),
            r#"[
  {"part": "jobs", "case": "empty", "subject": "ancho", "min_ns": 40.250, "median_ns": 1000000000.000},
  {"part": "jobs", "case": "empty", "subject": "rayon", "min_ns": 40.250, "median_ns": 1000000000.000}
]
"#
        );
        assert_eq!(render("jobs", &[]), "[\n]\n");
    }
}
