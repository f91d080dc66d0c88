//! The figures as JSON, for machines.

use std::fmt::Write;

use super::{Figure, Unit};

/// Renders an array of `{"part","case","subject","min_ns","median_ns"}`. Figures in bytes have `min_bytes` and `median_bytes`
/// instead.
///
/// Names are identifiers, so they need no escapes.
pub(crate) fn render(parts: &[(&str, Vec<Figure>)]) -> String {
    let mut text = String::from("[");
    let rows = parts.iter().flat_map(|(part, figures)| figures.iter().map(move |row| (part, row)));
    for (index, (part, figure)) in rows.enumerate() {
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
            render(&[
                ("jobs", vec![figure("ancho", Unit::Nanoseconds)]),
                ("storage", vec![figure("rayon", Unit::Bytes)]),
            ]),
            r#"[
  {"part": "jobs", "case": "empty", "subject": "ancho", "min_ns": 40.250, "median_ns": 1000000000.000},
  {"part": "storage", "case": "empty", "subject": "rayon", "min_bytes": 40.250, "median_bytes": 1000000000.000}
]
"#
        );
        assert_eq!(render(&[("jobs", vec![])]), "[\n]\n");
    }
}
