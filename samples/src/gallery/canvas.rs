//! A picture of square dots, on which samples draw their worlds.

use ancho::prelude::*;

/// A color of red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Color(pub(crate) u8, pub(crate) u8, pub(crate) u8);

impl Color {
    pub(crate) const WHITE: Self = Self(240, 240, 240);
    pub(crate) const GREY: Self = Self(120, 120, 130);
    pub(crate) const RED: Self = Self(255, 95, 80);
    pub(crate) const ORANGE: Self = Self(255, 170, 70);
    pub(crate) const YELLOW: Self = Self(255, 230, 110);
    pub(crate) const GREEN: Self = Self(110, 220, 120);
    pub(crate) const BLUE: Self = Self(90, 150, 255);
    pub(crate) const VIOLET: Self = Self(190, 120, 255);

    /// Mixes two colors: the first at 0, the second at 1.
    pub(crate) fn mixed(self, other: Self, share: f32) -> Self {
        let share = share.clamp(0.0, 1.0);
        let mix = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * share) as u8;
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

/// A picture of a world from above: x points right, z points up, and y is ignored.
///
/// The canvas is independent of terminals: it has a number of square dots across and down, and the view converts them.
/// Where several points fall on one dot, their colors mix and the dot is brighter.
///
/// All coordinates are in units of the world, after [`look_at`](Self::look_at) has set the visible part.
#[derive(Clone, Debug)]
pub(crate) struct Canvas {
    width: usize,
    height: usize,
    dots: Vec<Dot>,
    /// Dots per unit of the world.
    scale: f32,
    /// World position of the middle of the picture.
    center: Vec3,
    captions: Vec<String>,
}

/// The sums of the colors of the points that fell on a dot, and their number.
#[derive(Clone, Copy, Debug, Default)]
struct Dot {
    red: u32,
    green: u32,
    blue: u32,
    count: u32,
}

impl Canvas {
    /// Creates an empty picture of `width` by `height` dots.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        let dots = vec![Dot::default(); width * height];
        let captions = Vec::new();
        Self { width, height, dots, scale: 1.0, center: Vec3::ZERO, captions }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }

    /// Sets the visible part of the world: a rectangle around `center`, scaled to fit.
    pub(crate) fn look_at(&mut self, center: Vec3, size: Vec2) {
        self.center = center;
        self.scale = (self.width as f32 / size.x).min(self.height as f32 / size.y);
    }

    /// Draws a point. Points outside of the picture are ignored.
    pub(crate) fn point(&mut self, place: Vec3, color: Color) {
        let place = self.to_dots(place);
        self.add(place.x.floor() as i64, place.y.floor() as i64, color);
    }

    /// Draws a disc. A small disc is a point.
    pub(crate) fn disc(&mut self, center: Vec3, radius: f32, color: Color) {
        let (middle, radius) = (self.to_dots(center), radius * self.scale);
        if radius < 1.0 {
            self.point(center, color);
            return;
        }
        self.each_dot_within(middle, Vec2::splat(radius), |canvas, x, y| {
            let place = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
            if place.distance_squared(middle) <= radius * radius {
                canvas.put(x, y, color);
            }
        });
    }

    /// Fills a square with this side, in units of the world. A small square is one dot.
    pub(crate) fn square(&mut self, center: Vec3, side: f32, color: Color) {
        let half = side * 0.5 * self.scale;
        if half < 0.5 {
            self.point(center, color);
            return;
        }
        let middle = self.to_dots(center);
        self.each_dot_within(middle, Vec2::splat(half), |canvas, x, y| {
            let place = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
            if (place - middle).abs().max_element() <= half {
                canvas.put(x, y, color);
            }
        });
    }

    /// Adds a line of text below the picture.
    pub(crate) fn caption(&mut self, text: impl Into<String>) {
        self.captions.push(text.into());
    }

    /// Returns the lines of text below the picture.
    pub(crate) fn captions(&self) -> &[String] {
        &self.captions
    }

    /// Returns the color of a dot, counted from the top left, or `None` if it is empty.
    pub(crate) fn color(&self, x: usize, y: usize) -> Option<Color> {
        let Dot { red, green, blue, count } = *self.dots.get(y * self.width + x)?;
        if count == 0 {
            return None;
        }
        // A single point is well visible. More points are brighter, up to twice as bright.
        let bright = 1.0 - 0.5 / count as f32;
        let of = |sum: u32| ((sum / count) as f32 * bright).min(255.0) as u8;
        Some(Color(of(red), of(green), of(blue)))
    }

    fn to_dots(&self, place: Vec3) -> Vec2 {
        let from_center = (place - self.center) * self.scale;
        Vec2::new(self.width as f32 * 0.5 + from_center.x, self.height as f32 * 0.5 - from_center.z)
    }

    fn each_dot_within(
        &mut self,
        middle: Vec2,
        half: Vec2,
        mut draw: impl FnMut(&mut Self, i64, i64),
    ) {
        let (first, last) = (middle - half, middle + half);
        let (right, bottom) = (self.width as i64 - 1, self.height as i64 - 1);
        for y in (first.y.floor() as i64).max(0)..=(last.y.ceil() as i64).min(bottom) {
            for x in (first.x.floor() as i64).max(0)..=(last.x.ceil() as i64).min(right) {
                draw(self, x, y);
            }
        }
    }

    fn dot(&mut self, x: i64, y: i64) -> Option<&mut Dot> {
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        if x < self.width { self.dots.get_mut(y * self.width + x) } else { None }
    }

    /// Adds a point to a dot.
    fn add(&mut self, x: i64, y: i64, Color(red, green, blue): Color) {
        if let Some(dot) = self.dot(x, y) {
            dot.red += u32::from(red);
            dot.green += u32::from(green);
            dot.blue += u32::from(blue);
            dot.count += 1;
        }
    }

    /// Overwrites a dot, in full brightness.
    fn put(&mut self, x: i64, y: i64, Color(red, green, blue): Color) {
        const FULL: u32 = 1000;
        if let Some(dot) = self.dot(x, y) {
            *dot = Dot {
                red: u32::from(red) * FULL,
                green: u32::from(green) * FULL,
                blue: u32::from(blue) * FULL,
                count: FULL,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the picture as text, with `#` for dots that are not empty.
    fn drawn(canvas: &Canvas) -> String {
        let line = |y| {
            let dot = |x| if canvas.color(x, y).is_some() { '#' } else { '.' };
            (0..canvas.width).map(dot).chain(['\n']).collect::<String>()
        };
        (0..canvas.height).map(line).collect()
    }

    #[test]
    fn points_are_where_they_are_in_the_world() {
        let mut canvas = Canvas::new(4, 2);
        canvas.look_at(Vec3::new(10.0, 7.0, 10.0), Vec2::new(4.0, 2.0));
        canvas.point(Vec3::new(8.5, 0.0, 10.5), Color::RED);
        canvas.point(Vec3::new(11.5, 0.0, 9.5), Color::RED);
        for outside in
            [Vec3::new(7.9, 0.0, 10.5), Vec3::new(12.1, 0.0, 10.5), Vec3::new(9.0, 0.0, 11.5)]
        {
            canvas.point(outside, Color::RED);
        }
        canvas.point(Vec3::NAN, Color::RED);
        assert_eq!(drawn(&canvas).replace('\n', " "), "#... ...# ");
    }

    #[test]
    fn all_that_is_asked_for_is_seen() {
        let mut canvas = Canvas::new(8, 2);
        canvas.look_at(Vec3::ZERO, Vec2::splat(2.0));
        canvas.square(Vec3::ZERO, 2.0, Color::BLUE);
        assert_eq!(drawn(&canvas), "...##...\n...##...\n");
    }

    #[test]
    fn discs_are_round() {
        let mut canvas = Canvas::new(6, 6);
        canvas.look_at(Vec3::ZERO, Vec2::splat(6.0));
        canvas.disc(Vec3::ZERO, 3.0, Color::BLUE);
        assert_eq!(drawn(&canvas), ".####.\n######\n######\n######\n######\n.####.\n");
    }

    #[test]
    fn colors_mix_and_become_brighter() {
        let mut canvas = Canvas::new(1, 1);
        canvas.point(Vec3::ZERO, Color(200, 0, 0));
        assert_eq!(canvas.color(0, 0), Some(Color(100, 0, 0)));
        canvas.point(Vec3::ZERO, Color(0, 0, 200));
        assert_eq!(canvas.color(0, 0), Some(Color(75, 0, 75)));
        canvas.disc(Vec3::ZERO, 5.0, Color(200, 0, 0));
        assert_eq!(canvas.color(0, 0), Some(Color(199, 0, 0)));
    }
}
