//! Mathematical functions that vectorise, and yield the same bits everywhere.
//!
//! The functions of the standard library call those of the platform, one number at a time, and platforms differ in the last bit.
//! These functions are plain arithmetic without branches or tables. In a loop inside [`dispatch`](crate::dispatch) they are
//! compiled for the lanes of the CPU level in use. Their results do not depend on the level, on the platform, or on optimisation.
//!
//! ```
//! use ancho_burst::{dispatch, math};
//!
//! let distances = vec![0.0_f32, 0.5, 1.0, 2.0];
//! let mut weights = vec![0.0_f32; 4];
//! dispatch(|| {
//!     for (distance, weight) in distances.iter().zip(&mut weights) {
//!         *weight = math::exp(-distance * distance);
//!     }
//! });
//! assert_eq!(weights, [1.0, 0.778_800_8, 0.367_879_45, 0.018_315_64]);
//! ```
//!
//! # Accuracy
//!
//! Each function states its largest error in *ulp*, the distance from a result to the next `f32`.
//! The nearest `f32` is at most 0.5 ulp away. `cargo xtask math` compares the functions of one
//! argument with a reference for all 2^32 arguments, the others for a billion pairs.
//!
//! # NaN
//!
//! An undefined result is [`f32::NAN`], always with the bits of that constant.
//!
//! # Reductions
//!
//! [`sum`] and [`dot`] take a [`FloatMode`], which selects whether the order of the elements is kept. [`min`] and [`max`] are the
//! same in any order.
//!
//! # Random numbers and noise
//!
//! [`Random`] is a generator of eight bytes, which fits into components. [`noise`] has smooth random functions of two, three and
//! four coordinates.
//!
//! # glam
//!
//! With the feature `glam`, the modules `quat`, `vec4`, `vec3a` and `affine3a` have the operations of glam whose bits depend on the
//! platform. The README lists them.

mod arc;
mod exp;
#[cfg(feature = "glam")]
mod glam;
mod lane;
mod log;
pub mod noise;
mod pow;
mod random;
mod reduce;
mod rem;
mod trigonometry;

#[cfg(feature = "glam")]
pub use self::glam::{affine3a, quat, vec3a, vec4};
pub use arc::{acos, asin, atan, atan2};
pub use exp::{exp, exp2};
pub use log::{ln, log2};
pub use pow::{pow, rsqrt, sqrt};
pub use random::{Random, RandomNumber, RandomRange};
pub use reduce::{FloatMode, dot, max, min, sum};
pub use rem::{fract, rem};
pub use trigonometry::{cos, sin, sincos, sincos_near, sincos_slice, tan};
