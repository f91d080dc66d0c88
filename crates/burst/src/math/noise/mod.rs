//! Noise: smooth random functions of a point, for terrain, textures, wind and other natural variation.
//!
//! Each function is computed from its arguments alone, without tables. It vectorises in a loop over points, and yields the same
//! bits on every platform. Another seed yields another function of the same kind.
//!
//! | functions | values | range |
//! |---|---|---|
//! | [`value_2d`], [`value_3d`], [`value_4d`] | random numbers at integer points, interpolated: cheap, blocky | -1 to 1 |
//! | [`perlin_2d`], [`perlin_3d`], [`perlin_4d`] | random slopes at integer points, interpolated; zero at integer points | -1 to 1 |
//! | [`simplex_2d`], [`simplex_3d`], [`simplex_4d`] | random slopes on a grid of simplices: no visible axes, cheaper in 4D | -1 to 1 |
//! | [`cellular_2d`], [`cellular_3d`] | distances to the nearest of scattered points, one per cell | 0 to 1.4 |
//! | [`Fractal`] | the sum of several frequencies of another noise | that of the other noise |
//!
//! The functions have details of the size of one unit: multiply points by a frequency first.
//!
//! # Special values
//!
//! Coordinates beyond ±1,048,576 (2^20), infinity and NaN yield NaN. Next to this limit, an `f32` has eight values per unit.
//!
//! # Examples
//!
//! ```
//! use ancho_burst::dispatch;
//! use ancho_burst::math::noise::{Fractal, simplex_2d};
//!
//! let hills = Fractal::<4>::default();
//! let mut heights = vec![0.0_f32; 64];
//! dispatch(|| {
//!     for (x, height) in heights.iter_mut().enumerate() {
//!         *height = hills.sum([x as f32 * 0.1, 3.5], |octave, point| simplex_2d(7 + octave, point));
//!     }
//! });
//! assert!(heights.iter().all(|height| height.abs() <= 1.0));
//! assert!(heights.iter().any(|height| height.abs() > 0.1));
//! ```

mod cellular;
mod fractal;
mod lattice;
mod perlin;
mod simplex;
mod value;

pub use cellular::{Cellular, cellular_2d, cellular_3d};
pub use fractal::Fractal;
pub use perlin::{perlin_2d, perlin_3d, perlin_4d};
pub use simplex::{simplex_2d, simplex_3d, simplex_4d};
pub use value::{value_2d, value_3d, value_4d};
