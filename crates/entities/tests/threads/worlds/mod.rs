//! Worlds on several threads: forks, transactions, moved entities, and worlds that change their thread.
#![deny(warnings)]

mod conflicting_jobs;
mod forks;
mod managed;
mod moved_transactions;
mod non_send;
mod owners;
mod sent;
mod transactions;
