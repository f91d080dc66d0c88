#![doc = include_str!("../README.md")]

mod columns;
#[cfg(all(feature = "dispatch", target_arch = "x86_64"))]
mod compiled;
mod dispatch;
#[cfg(feature = "inspect")]
pub mod inspect;
mod level;
pub mod math;

#[cfg(feature = "macros")]
#[doc = include_str!("../guide/writing_kernels.md")]
pub mod writing_kernels {}

/// Compiles a function for each CPU level, and runs the best version that the CPU supports.
///
/// The body is a kernel as for [`dispatch`], named after the function. Closures in it are marked `#[inline(always)]`, unless they
/// have an `inline` attribute, so that none stays a call to code compiled for the baseline. Closures in the arguments of macros
/// and in nested functions are left unchanged. Slices should be parameters of the function: the compiler then assumes that they
/// do not overlap.
///
/// `#[burst(inline)]` is for helpers of kernels: the function and its closures are always inlined. `#[burst(closures)]` is for
/// functions that contain kernels but are not kernels themselves, such as one that schedules jobs: only the closures are marked.
///
/// Methods with `self` can be kernels. Functions that are `async`, `const`, `unsafe` or `extern` cannot. Neither can functions in
/// an `impl` without `self` that name parameters of the `impl` or `Self`.
///
/// # Determinism
///
/// The result is the same bit for bit at every level.
///
/// # Examples
///
/// ```
/// use ancho_burst::burst;
///
/// #[burst]
/// fn advance(positions: &mut [f32], velocities: &[f32], seconds: f32) {
///     for (position, velocity) in positions.iter_mut().zip(velocities) {
///         *position += travelled(*velocity, seconds);
///     }
/// }
///
/// #[burst(inline)]
/// fn travelled(velocity: f32, seconds: f32) -> f32 {
///     velocity * seconds
/// }
///
/// let mut positions = [0.0, 1.0];
/// advance(&mut positions, &[2.0, 4.0], 0.5);
/// assert_eq!(positions, [1.0, 3.0]);
/// ```
#[cfg(feature = "macros")]
pub use ancho_derive::burst;
pub use columns::{ColumnSlices, FloatArray, Floats, in_columns};
pub use dispatch::{dispatch, dispatch_as, dispatch_at_most};
pub use level::CpuLevel;
