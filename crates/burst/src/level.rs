//! The CPU levels that kernels are compiled for, and the level in use.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// A set of CPU features that kernels are compiled for.
///
/// Levels are ordered: a CPU of one level runs the code of every lower one.
///
/// # Examples
///
/// ```
/// use ancho_burst::CpuLevel;
/// assert!(CpuLevel::Baseline < CpuLevel::V3 && CpuLevel::V3 < CpuLevel::V4);
/// assert_eq!(CpuLevel::V3.to_string(), "v3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CpuLevel {
    /// The features of the build's target: SSE2 on x86-64, NEON on AArch64.
    Baseline = 1,
    /// x86-64-v3: AVX2, FMA, BMI1, BMI2, F16C, LZCNT, MOVBE, POPCNT.
    V3 = 2,
    /// x86-64-v4: V3 and AVX-512 F, BW, CD, DQ and VL.
    V4 = 3,
}

/// The level in use, as a number; zero until it is first read.
///
/// Relaxed everywhere: the level is a pure function of the machine and the last limit, and no other memory depends on it.
static CURRENT: AtomicU8 = AtomicU8::new(0);

impl CpuLevel {
    /// Every level, lowest first.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::CpuLevel;
    /// assert_eq!(CpuLevel::ALL.map(CpuLevel::name), ["baseline", "v3", "v4"]);
    /// ```
    pub const ALL: [Self; 3] = [Self::Baseline, Self::V3, Self::V4];

    /// Returns the level that [`dispatch`](crate::dispatch) uses now.
    ///
    /// This is [`V3`](Self::V3) or the machine's level, whichever is lower, unless [`limit`](Self::limit) or the environment
    /// variable `ANCHO_CPU_LEVEL` set another limit. `V4` must be requested. On the CPU measured, 512-bit vectors are up to twice
    /// as fast in kernels with much computation, but slower in short loops, which are more common. The README has the figures.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::CpuLevel;
    /// assert!(CpuLevel::current() <= CpuLevel::available());
    /// ```
    #[inline]
    pub fn current() -> Self {
        match CURRENT.load(Ordering::Relaxed) {
            1 => Self::Baseline,
            2 => Self::V3,
            3 => Self::V4,
            _ => Self::initialise(),
        }
    }

    /// Returns the highest level that this machine supports.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::CpuLevel;
    /// assert!(CpuLevel::available() >= CpuLevel::Baseline);
    /// ```
    pub fn available() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let v3 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("movbe")
                && is_x86_feature_detected!("popcnt");
            let v4 = v3
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if v4 {
                return Self::V4;
            }
            if v3 {
                return Self::V3;
            }
        }
        Self::Baseline
    }

    /// Limits the level in use to `self` or the machine's level, whichever is lower, and returns the new level in use.
    ///
    /// Use it in tests and measurements. Results do not depend on the level. The limit applies to the whole process.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::CpuLevel;
    /// assert_eq!(CpuLevel::Baseline.limit(), CpuLevel::Baseline);
    /// assert_eq!(CpuLevel::V4.limit(), CpuLevel::available());
    /// ```
    pub fn limit(self) -> Self {
        let level = self.min(Self::available());
        CURRENT.store(level as u8, Ordering::Relaxed);
        level
    }

    /// Returns the name of this level in `ANCHO_CPU_LEVEL`.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_burst::CpuLevel::V3.name(), "v3");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::V3 => "v3",
            Self::V4 => "v4",
        }
    }

    #[cold]
    fn initialise() -> Self {
        let asked = std::env::var("ANCHO_CPU_LEVEL").ok();
        let limit = asked.and_then(|name| Self::ALL.into_iter().find(|level| level.name() == name));
        limit.unwrap_or(Self::V3).limit()
    }
}

impl fmt::Display for CpuLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
