//! Worlds that receive entities of other worlds while jobs run, and worlds that change their thread.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]
#![deny(warnings)]

mod jobs_in_the_way;
mod sent;
mod transactions;
