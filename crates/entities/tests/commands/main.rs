//! Command buffers: tests are named after the rows of the behaviour they check.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]

mod alone;
mod basics;
mod batch_targets;
mod batching;
mod by_query;
mod cancel;
#[path = "../common/model.rs"]
mod cases;
#[path = "../common/checked.rs"]
mod checked;
mod checks;
mod common;
mod destroyed_later;
mod hostile;
mod in_use;
mod keys;
mod layouts;
mod messages;
mod misuse;
#[cfg(not(tsan))]
mod model;
#[path = "../common/panic_message.rs"]
mod panic_message;
mod placeholders;
mod policy;
mod shared_values;
#[cfg(not(tsan))]
mod steps;
mod targets;
mod together;
