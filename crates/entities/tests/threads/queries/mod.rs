//! Queries whose loops run on several threads.
#![forbid(unsafe_code)]

mod cpu_levels;
mod parallel_loops;
mod reading;
