//! A kernel compiled for each CPU level.
//!
//! Each level is a generic function of its own, the baseline too: the compiler cannot look through the
//! type parameter before code generation, so that at that moment the kernel has one caller, and what has
//! one caller is inlined whatever its size. A level that called the kernel in place would be a second one,
//! and large kernels would stay calls to code compiled for the baseline.
#![expect(unsafe_code, reason = "calls functions compiled for CPU features that were detected")]

use crate::CpuLevel;

/// Runs the kernel, compiled for the level in use or `limit`, whichever is lower.
///
/// `N` is the type that the inspector names the kernel after.
#[inline(always)]
pub(crate) fn run<N, R, K: FnOnce() -> R>(limit: CpuLevel, kernel: K) -> R {
    // A closure of our own, that is inlined always, is what the levels share: the kernel itself is
    // called in one place.
    let shared = {
        #[inline(always)]
        move || kernel()
    };
    match CpuLevel::current().min(limit) {
        // SAFETY: the level in use is never above `CpuLevel::available()`, which detected each
        // feature that `at_v4` is compiled for.
        CpuLevel::V4 => unsafe { at_v4::<N, R, _>(shared) },
        // SAFETY: as above, for the features of `at_v3`.
        CpuLevel::V3 => unsafe { at_v3::<N, R, _>(shared) },
        CpuLevel::Baseline => at_baseline::<N, R, _>(shared),
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
