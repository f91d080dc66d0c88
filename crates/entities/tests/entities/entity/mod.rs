//! Ids, names and lists of entities.
#![forbid(unsafe_code)]

mod access;
mod exchange;
mod ids;
mod listing;
mod missing;
mod names;
mod tracking;
