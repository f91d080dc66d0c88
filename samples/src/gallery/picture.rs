//! A canvas as an SVG picture.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Canvas, Color};

/// Width and height of a dot, in units of the picture.
const DOT: usize = 5;
/// Margin around the dots.
const MARGIN: usize = 15;
/// Height of a line of text.
const LINE: usize = 24;

/// Returns a canvas as an SVG picture that looks like a terminal, with lines of text below it.
///
/// The same canvas always yields the same text, so that files change only with their content.
pub(crate) fn svg(canvas: &Canvas, lines: &[String]) -> String {
    let (width, height) = (canvas.width() * DOT, canvas.height() * DOT);
    let (right, bottom) = (width + 2 * MARGIN, height + 2 * MARGIN + lines.len() * LINE);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {right} {bottom}\">\n\
         <rect width=\"{right}\" height=\"{bottom}\" rx=\"10\" fill=\"#101014\"/>\n\
         <g transform=\"translate({MARGIN} {MARGIN}) scale({DOT})\" shape-rendering=\"crispEdges\">\n"
    );
    // All dots of a color are one path, with a stroke along the middle of each run.
    for (color, path) in paths(canvas) {
        _ = writeln!(text, "<path stroke=\"#{color:03x}\" d=\"{path}\"/>");
    }
    text += "</g>\n<g font-family=\"monospace\" font-size=\"15\" fill=\"#d0d0d8\">\n";
    for (index, line) in lines.iter().enumerate() {
        let y = MARGIN + height + (index + 1) * LINE;
        let line = line.replace('&', "&amp;").replace('<', "&lt;");
        _ = writeln!(text, "<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">{line}</text>");
    }
    text + "</g>\n</svg>\n"
}

/// Returns the runs of each color. Colors are rounded to sixteenths, which shortens the file.
fn paths(canvas: &Canvas) -> BTreeMap<u16, String> {
    let mut paths: BTreeMap<u16, String> = BTreeMap::new();
    for y in 0..canvas.height() {
        let color = |x| canvas.color(x, y).map(coarse);
        let mut x = 0;
        while x < canvas.width() {
            let Some(run) = color(x) else {
                x += 1;
                continue;
            };
            let start = x;
            while x < canvas.width() && color(x) == Some(run) {
                x += 1;
            }
            _ = write!(paths.entry(run).or_default(), "M{start} {y}.5h{}", x - start);
        }
    }
    paths
}

/// Returns the three digits of the color as `#rgb`.
fn coarse(Color(red, green, blue): Color) -> u16 {
    let digit = |part: u8| u16::from(part >> 4);
    digit(red) << 8 | digit(green) << 4 | digit(blue)
}

#[cfg(test)]
mod tests {
    use ancho::prelude::*;

    use super::*;

    #[test]
    fn runs_of_dots_are_strokes_and_lines_are_text() {
        let mut canvas = Canvas::new(4, 2);
        canvas.look_at(Vec3::ZERO, Vec2::new(4.0, 2.0));
        canvas.square(Vec3::new(1.0, 0.0, 0.0), 2.0, Color(255, 0, 0));
        let picture = svg(&canvas, &["1 < 2".to_owned()]);
        assert!(picture.contains("<path stroke=\"#f00\" d=\"M2 0.5h2M2 1.5h2\"/>"), "{picture}");
        assert!(picture.contains("1 &lt; 2</text>"), "{picture}");
    }
}
