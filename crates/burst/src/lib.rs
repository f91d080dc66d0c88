#![doc = include_str!("../README.md")]

#[cfg(all(feature = "dispatch", target_arch = "x86_64"))]
mod compiled;
mod dispatch;
mod level;

pub use dispatch::dispatch;
pub use level::CpuLevel;
