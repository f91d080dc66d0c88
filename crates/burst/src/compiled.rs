//! A kernel compiled for each CPU level.
//!
//! Each level is a generic function of its own, the baseline too, so that the levels differ in nothing but the
//! features they are compiled for, and the inspector finds them all. A kernel that is too large for the compiler
//! to copy it three times stays one function that all levels call, compiled for the baseline: as fast as without
//! dispatch, and no faster. Only `#[inline(always)]` on the kernel's closure helps. Tried in vain: a wrapper that
//! is always inlined and calls the kernel in one place, and one reached through a function pointer; the compiler
//! inlines what is always inlined before it counts the callers of the rest.
#![expect(unsafe_code, reason = "calls functions compiled for CPU features that were detected")]

use crate::CpuLevel;

/// Runs the kernel, compiled for the level in use or `limit`, whichever is lower.
///
/// `N` is the type that the inspector names the kernel after.
#[inline(always)]
pub(crate) fn run<N, R, K: FnOnce() -> R>(limit: CpuLevel, kernel: K) -> R {
    match CpuLevel::current().min(limit) {
        // SAFETY: the level in use is never above `CpuLevel::available()`, which detected each
        // feature that `at_v4` is compiled for.
        CpuLevel::V4 => unsafe { at_v4::<N, R, K>(kernel) },
        // SAFETY: as above, for the features of `at_v3`.
        CpuLevel::V3 => unsafe { at_v3::<N, R, K>(kernel) },
        CpuLevel::Baseline => at_baseline::<N, R, K>(kernel),
    }
}

// The inspector finds these three by their names.

#[inline(never)]
fn at_baseline<N, R, K: FnOnce() -> R>(kernel: K) -> R {
    mark::<N>();
    kernel()
}

#[target_feature(enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt")]
fn at_v3<N, R, K: FnOnce() -> R>(kernel: K) -> R {
    mark::<N>();
    kernel()
}

#[target_feature(
    enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
)]
fn at_v4<N, R, K: FnOnce() -> R>(kernel: K) -> R {
    mark::<N>();
    kernel()
}

/// Leaves the name of a type in the code, for the inspector to read.
///
/// Symbols do not have it: they are mangled without the types of generic functions.
#[inline(always)]
fn mark<N>() {
    #[cfg(feature = "inspect")]
    std::hint::black_box(std::any::type_name::<N>());
}
