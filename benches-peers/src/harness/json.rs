//! The figures as JSON, for machines.

use std::fmt::Write;

use super::{Figure, Unit};

/// Renders an array of `{"part","case","subject","min_ns","median_ns"}`; what is no time has
/// `min_bytes` and `median_bytes` instead.
///
/// Names are identifiers, so they need no escapes.
pub(crate) fn render(part: &str, figures: &[Figure]) -> String {
    let mut text = String::from("[");
    for (index, figure) in figures.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let Figure { case, subject, figures, unit } = figure;
        let unit = match unit {
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "bytes",
        };
        write!(
            text,
            "{comma}\n  {{\"part\": \"{part}\", \"case\": \"{case}\", \"subject\": \"{subject}\", \
             \"min_{unit}\": {:.3}, \"median_{unit}\": {:.3}}}",
            figures.min, figures.median
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
        let figures = Summary { min: 40.25, median: 1e9 };
        let figure = |subject, unit| Figure { case: "empty", subject, figures, unit };
        assert_eq!(
            render("jobs", &[figure("ancho", Unit::Nanoseconds), figure("rayon", Unit::Bytes)]),
            r#"[
  {"part": "jobs", "case": "empty", "subject": "ancho", "min_ns": 40.250, "median_ns": 1000000000.000},
  {"part": "jobs", "case": "empty", "subject": "rayon", "min_bytes": 40.250, "median_bytes": 1000000000.000}
]
"#
        );
        assert_eq!(render("jobs", &[]), "[\n]\n");
    }
}
