//! The one entry through which kernels are compiled per CPU level.
#![expect(unsafe_code, reason = "calls functions compiled for CPU features that were detected")]

#[cfg(all(feature = "dispatch", target_arch = "x86_64"))]
use crate::CpuLevel;

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
    match CpuLevel::current() {
        // SAFETY: the level in use is never above `CpuLevel::available()`, which detected each
        // feature that `at_v4` is compiled for.
        CpuLevel::V4 => return unsafe { at_v4(kernel) },
        // SAFETY: as above, for the features of `at_v3`.
        CpuLevel::V3 => return unsafe { at_v3(kernel) },
        CpuLevel::Baseline => {}
    }
    kernel()
}

#[cfg(all(feature = "dispatch", target_arch = "x86_64"))]
#[target_feature(enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt")]
fn at_v3<R, K: FnOnce() -> R>(kernel: K) -> R {
    kernel()
}

#[cfg(all(feature = "dispatch", target_arch = "x86_64"))]
#[target_feature(
    enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
)]
fn at_v4<R, K: FnOnce() -> R>(kernel: K) -> R {
    kernel()
}
