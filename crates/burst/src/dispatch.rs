//! The one entry through which kernels are compiled per CPU level.

/// Runs `kernel`, compiled for the level in use, and returns what it returns.
///
/// Everything that is inlined into the closure is compiled with the level's features; a call that
/// is not inlined runs as it was compiled elsewhere. So keep loops inside the closure, and mark
/// closures and helpers that must not stay calls `#[inline(always)]`.
///
/// # Determinism
///
/// The result is the same bit for bit at every level.
///
/// # Examples
///
/// ```
/// let values = [1.0_f32, 2.0, 3.0];
/// let doubled = ancho_burst::dispatch(|| values.map(|value| value * 2.0));
/// assert_eq!(doubled, [2.0, 4.0, 6.0]);
/// ```
#[inline(always)]
pub fn dispatch<R, K: FnOnce() -> R>(kernel: K) -> R {
    #[cfg(all(feature = "dispatch", target_arch = "x86_64"))]
    return crate::compiled::run(kernel);
    #[cfg(not(all(feature = "dispatch", target_arch = "x86_64")))]
    kernel()
}
