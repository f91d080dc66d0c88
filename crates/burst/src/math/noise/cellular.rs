//! Cellular noise: distances to scattered points.

use super::super::lane::select;
use super::lattice::{add, are_within_limits, begin, finish, split};

/// The distances from a point to the nearest two of the scattered points of cellular noise.
///
/// `second - nearest` is zero at the borders between cells.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(alias = "Worley")]
#[doc(alias = "Voronoi")]
pub struct Cellular {
    /// The distance to the nearest point: at most 1.1 in the plane, 1.18 in space.
    pub nearest: f32,
    /// The distance to the second nearest point: at most 1.4 in the plane, 1.32 in space.
    pub second: f32,
    /// A random number of the nearest point, for its colour or kind.
    pub id: u32,
}

/// Returns cellular noise of a point in the plane, whose cells resemble stones, scales or dried mud.
///
/// Each unit square has one scattered point, at most 0.39 from its centre. The distances are exact and continuous: no nearer point is
/// missed, because scattered points keep away from the borders of their squares.
///
/// # Examples
///
/// ```
/// use ancho_burst::math::noise::cellular_2d;
///
/// let cell = cellular_2d(1, [0.5, 0.5]);
/// assert!(cell.nearest <= cell.second);
/// ```
#[inline(always)]
#[must_use]
pub fn cellular_2d(seed: u32, [x, y]: [f32; 2]) -> Cellular {
    let ((i, x_rest), (j, y_rest)) = (split(x), split(y));
    let seed = begin(seed);
    let mut search = Search::NEW;
    let (i, j) = (i.wrapping_sub(1), j.wrapping_sub(1));
    // Written out, because the loop around this function does not vectorise with loops in it.
    macro_rules! row {
        ($column:literal) => {
            let hash = add(seed, i.wrapping_add($column));
            // Columns and rows are 0, 1 and 2; the cell itself is 1.
            let x = $column as f32 - 0.5 - x_rest;
            search.visit_2d(hash, j, x, -0.5 - y_rest);
            search.visit_2d(hash, j.wrapping_add(1), x, 0.5 - y_rest);
            search.visit_2d(hash, j.wrapping_add(2), x, 1.5 - y_rest);
        };
    }
    row!(0);
    row!(1);
    row!(2);
    search.result(are_within_limits([x, y]))
}

/// Returns cellular noise of a point in space.
///
/// Each unit cube has one scattered point, at most 0.31 from its centre. The distances are exact and continuous. It visits 27 cubes,
/// three times as many as [`cellular_2d`] visits squares.
#[inline(always)]
#[must_use]
pub fn cellular_3d(seed: u32, [x, y, z]: [f32; 3]) -> Cellular {
    let ((i, x_rest), (j, y_rest), (k, z_rest)) = (split(x), split(y), split(z));
    let seed = begin(seed);
    let mut search = Search::NEW;
    let (i, j, k) = (i.wrapping_sub(1), j.wrapping_sub(1), k.wrapping_sub(1));
    macro_rules! plane {
        ($column:literal) => {
            let hash = add(seed, i.wrapping_add($column));
            let x = $column as f32 - 0.5 - x_rest;
            plane!(hash, x, 0);
            plane!(hash, x, 1);
            plane!(hash, x, 2);
        };
        ($hash:ident, $x:ident, $row:literal) => {
            let hash = add($hash, j.wrapping_add($row));
            let y = $row as f32 - 0.5 - y_rest;
            search.visit_3d(hash, k, $x, y, -0.5 - z_rest);
            search.visit_3d(hash, k.wrapping_add(1), $x, y, 0.5 - z_rest);
            search.visit_3d(hash, k.wrapping_add(2), $x, y, 1.5 - z_rest);
        };
    }
    plane!(0);
    plane!(1);
    plane!(2);
    search.result(are_within_limits([x, y, z]))
}

/// The nearest points so far, with squares of distances.
#[derive(Clone, Copy)]
struct Search {
    nearest: f32,
    second: f32,
    id: u32,
}

impl Search {
    const NEW: Self = Self { nearest: 1e9, second: 1e9, id: 0 };

    /// Visits the cell whose last coordinate is `cell`, and whose centre is at an offset.
    #[inline(always)]
    fn visit_2d(&mut self, hash: u32, cell: u32, x: f32, y: f32) {
        let hash = finish(add(hash, cell));
        let (a, b) = (signed(hash & 0xffff, 0x8000), signed(hash >> 16, 0x8000));
        let length = RADIUS_2D / limited(a * a + b * b);
        let (x, y) = (x + a * length, y + b * length);
        self.meet(x * x + y * y, hash);
    }

    /// Visits the cell whose last coordinate is `cell`, and whose centre is at an offset.
    #[inline(always)]
    fn visit_3d(&mut self, hash: u32, cell: u32, x: f32, y: f32, z: f32) {
        let hash = finish(add(hash, cell));
        let (a, b) = (signed(hash & 0x7ff, 0x400), signed(hash >> 11 & 0x7ff, 0x400));
        let c = signed(hash >> 22, 0x200);
        let length = RADIUS_3D / limited(a * a + b * b + c * c);
        let (x, y, z) = (x + a * length, y + b * length, z + c * length);
        self.meet(x * x + y * y + z * z, hash);
    }

    #[inline(always)]
    fn meet(&mut self, square: f32, id: u32) {
        let nearer = square < self.nearest;
        let farther = select(nearer, self.nearest, square);
        self.second = select(farther < self.second, farther, self.second);
        self.nearest = select(nearer, square, self.nearest);
        self.id = select(nearer, id, self.id);
    }

    #[inline(always)]
    fn result(self, defined: bool) -> Cellular {
        Cellular {
            nearest: select(defined, self.nearest.sqrt(), f32::NAN),
            second: select(defined, self.second.sqrt(), f32::NAN),
            id: select(defined, self.id, 0),
        }
    }
}

/// Converts bits to a number from -1 to 1.
#[inline(always)]
fn signed(bits: u32, half: i32) -> f32 {
    (bits as i32 - half) as f32 * (1.0 / half as f32)
}

/// Returns the factor by which a vector is too long for a length of one, given the square of its length: at least 1.
#[inline(always)]
fn limited(square: f32) -> f32 {
    select(square > 1.0, square, 1.0).sqrt()
}

// Largest distance of a scattered point from the centre of its cell. A point at a corner is sqrt(n) / 2 from the nearest centres, and
// 1.5 from the centres of cells that are not visited. Nothing is missed if sqrt(n) / 2 + radius <= 1.5 - radius.
const RADIUS_2D: f32 = 0.39;
const RADIUS_3D: f32 = 0.31;
