//! The entry point that compiles kernels per CPU level.

use crate::CpuLevel;

/// Runs `kernel`, compiled for the level in use, and returns its result.
///
/// Code that is inlined into the closure is compiled with the level's features. A call that is not inlined runs as compiled
/// elsewhere, mostly for the baseline. Keep loops inside the closure.
///
/// A closure that is large (about twenty lines) stays a call unless it is marked `#[inline(always)]`. `#[burst(closures)]` on the
/// enclosing function marks the closure, and the closures inside it.
///
/// A library that loops over a user's closure should take the closure by value, or call it in a marked closure of its own.
/// Calling a `&F` goes through a function of the standard library, which is compiled for the baseline.
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
    dispatch_as::<K, R, K>(CpuLevel::V4, kernel)
}

/// Runs `kernel` as [`dispatch`] does, at the given level at most, and returns its result.
///
/// With [`CpuLevel::Baseline`] this call is not dispatched. Use it where wider vectors were measured to be slower, and to compare
/// levels in one process. Other kernels keep their level. The level is never above the one in use.
///
/// # Determinism
///
/// The result is the same bit for bit at every level.
///
/// # Examples
///
/// ```
/// use ancho_burst::{CpuLevel, dispatch_at_most};
///
/// let values = [1.0_f32, 2.0, 3.0];
/// let sum = |level| dispatch_at_most(level, || values.iter().sum::<f32>());
/// assert_eq!(sum(CpuLevel::Baseline), sum(CpuLevel::V3));
/// ```
#[inline(always)]
pub fn dispatch_at_most<R, K: FnOnce() -> R>(level: CpuLevel, kernel: K) -> R {
    dispatch_as::<K, R, K>(level, kernel)
}

/// Runs `kernel` as [`dispatch_at_most`] does, for crates whose own closures enclose the user's: the type `N` names the kernel in
/// the inspector.
#[doc(hidden)]
#[inline(always)]
pub fn dispatch_as<N, R, K: FnOnce() -> R>(level: CpuLevel, kernel: K) -> R {
    #[cfg(all(feature = "dispatch", target_arch = "x86_64"))]
    return crate::compiled::run::<N, R, K>(level, kernel);
    #[cfg(not(all(feature = "dispatch", target_arch = "x86_64")))]
    {
        let _ = level;
        kernel()
    }
}
