//! Kernels: the `#[burst]` attribute, dispatch, determinism and vectorisation.

mod burst_attribute;
mod columns;
mod determinism;
#[cfg(feature = "glam")]
mod glam_bits;
mod reductions;
mod vectorised;
