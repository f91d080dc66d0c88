#![doc = include_str!("../README.md")]

mod dispatch;
mod level;

pub use dispatch::dispatch;
pub use level::CpuLevel;
