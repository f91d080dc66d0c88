//! Worlds whose entities come from other worlds while jobs are under way, and worlds that change their thread.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]
#![deny(warnings)]

mod jobs_in_the_way;
mod sent;
mod transactions;
