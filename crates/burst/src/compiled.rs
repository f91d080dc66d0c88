//! A kernel compiled for each CPU level.
#![expect(unsafe_code, reason = "calls functions compiled for CPU features that were detected")]

use crate::CpuLevel;

/// Runs the kernel, compiled for the level in use.
#[inline(always)]
pub(crate) fn run<R, K: FnOnce() -> R>(kernel: K) -> R {
    match CpuLevel::current() {
        // SAFETY: the level in use is never above `CpuLevel::available()`, which detected each
        // feature that `at_v4` is compiled for.
        CpuLevel::V4 => unsafe { at_v4(kernel) },
        // SAFETY: as above, for the features of `at_v3`.
        CpuLevel::V3 => unsafe { at_v3(kernel) },
        CpuLevel::Baseline => kernel(),
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt")]
fn at_v3<R, K: FnOnce() -> R>(kernel: K) -> R {
    kernel()
}

#[target_feature(
    enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
)]
fn at_v4<R, K: FnOnce() -> R>(kernel: K) -> R {
    kernel()
}
