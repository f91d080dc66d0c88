//! A canvas in the cells of a terminal.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style;
use ratatui::widgets::Widget;

use crate::gallery::{Canvas, Color};

/// A canvas with two dots per cell: the foreground color is the upper half, the background color the lower half.
#[derive(Debug)]
pub(super) struct HalfBlocks<'c> {
    pub(super) canvas: &'c Canvas,
    pub(super) palette: Palette,
}

/// Color support of a terminal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Palette {
    /// 24-bit colors.
    Full,
    /// A cube of six by six by six colors.
    Cube,
}

impl Palette {
    /// Returns `Full` if the environment announces 24-bit colors.
    pub(super) fn of_terminal() -> Self {
        match std::env::var("COLORTERM").as_deref() {
            Ok("truecolor" | "24bit") => Self::Full,
            _ => Self::Cube,
        }
    }

    fn nearest(self, Color(red, green, blue): Color) -> style::Color {
        match self {
            Self::Full => style::Color::Rgb(red, green, blue),
            Self::Cube => {
                // The steps of the cube are at 0, 95, 135, 175, 215 and 255.
                let step = |part: u8| match part {
                    0..48 => 0,
                    48..115 => 1,
                    _ => (part - 35) / 40,
                };
                style::Color::Indexed(16 + 36 * step(red) + 6 * step(green) + step(blue))
            }
        }
    }
}

impl Widget for HalfBlocks<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        for row in 0..area.height {
            for column in 0..area.width {
                let (x, y) = (usize::from(column), 2 * usize::from(row));
                let dot = |y| self.canvas.color(x, y).map(|color| self.palette.nearest(color));
                let (upper, lower) = (dot(y), dot(y + 1));
                let Some(cell) = buffer.cell_mut((area.x + column, area.y + row)) else { continue };
                match (upper, lower) {
                    (None, None) => {}
                    (Some(upper), None) => _ = cell.set_char('▀').set_fg(upper),
                    (None, Some(lower)) => _ = cell.set_char('▄').set_fg(lower),
                    (Some(upper), Some(lower)) => {
                        cell.set_char('▀').set_fg(upper).set_bg(lower);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ancho::math::{Vec2, Vec3};

    use super::*;

    #[test]
    fn a_cell_has_two_dots() {
        let mut canvas = Canvas::new(4, 2);
        canvas.look_at(Vec3::ZERO, Vec2::new(4.0, 2.0));
        let full =
            |canvas: &mut Canvas, x, z, color| canvas.square(Vec3::new(x, 0.0, z), 1.0, color);
        full(&mut canvas, -1.5, 0.5, Color(255, 0, 0));
        full(&mut canvas, -0.5, -0.5, Color(0, 255, 0));
        full(&mut canvas, 0.5, 0.5, Color(255, 0, 0));
        full(&mut canvas, 0.5, -0.5, Color(0, 255, 0));
        let area = Rect::new(0, 0, 4, 1);
        let mut buffer = Buffer::empty(area);
        HalfBlocks { canvas: &canvas, palette: Palette::Cube }.render(area, &mut buffer);
        let cells: Vec<_> = buffer.content.iter().map(|c| (c.symbol(), c.fg, c.bg)).collect();
        let (red, green) = (style::Color::Indexed(196), style::Color::Indexed(46));
        let none = style::Color::Reset;
        let expected = [("▀", red, none), ("▄", green, none), ("▀", red, green), (" ", none, none)];
        assert_eq!(cells, expected);
    }
}
