//! A kernel compiled for each CPU level.
//!
//! Each level is a separate generic function, including the baseline. The levels therefore differ only in their CPU features, and
//! the inspector finds them all.
//!
//! A kernel that is too large to be copied three times stays one function, compiled for the baseline, that all levels call. It is
//! then as fast as without dispatch. Only `#[inline(always)]` on the kernel's closure helps. Two alternatives failed: an always
//! inlined wrapper that calls the kernel in one place, and a wrapper behind a function pointer. The compiler inlines such
//! wrappers before it counts the callers of the rest.
#![expect(unsafe_code, reason = "calls functions compiled for CPU features that were detected")]

use crate::CpuLevel;

/// Runs the kernel, compiled for the level in use or `limit`, whichever is lower.
///
/// `N` is the type that names the kernel in the inspector.
#[inline(always)]
pub(crate) fn run<N, R, K: FnOnce() -> R>(limit: CpuLevel, kernel: K) -> R {
    match CpuLevel::current().min(limit) {
        // SAFETY: the level in use is never above `CpuLevel::available()`, which detected each feature that `at_v4` is compiled
        // for.
        CpuLevel::V4 => unsafe { at_v4::<N, R, K>(kernel) },
        // SAFETY: the level in use is never above `CpuLevel::available()`, which detected each feature that `at_v3` is compiled
        // for.
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
/// Symbols do not contain it: mangled names omit the types of generic functions.
#[inline(always)]
fn mark<N>() {
    #[cfg(feature = "inspect")]
    std::hint::black_box(std::any::type_name::<N>());
}
