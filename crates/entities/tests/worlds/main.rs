//! Moving entities between worlds, copying worlds, and lending them to jobs.
//!
//! Each test names the rows of the specification it was written from.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]
#![deny(warnings)]

#[path = "../common/model.rs"]
mod cases;
mod common;
mod lives;

mod copying;
mod hostile;
mod model;
mod moving;
mod moving_by_query;
mod no_memory;
mod panics;
mod replacing;
mod replacing_model;
mod shared_references;
mod storage_model;
mod transactions;
