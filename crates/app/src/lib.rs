#![doc = include_str!("../README.md")]

mod app;
mod clock;
mod exit;

pub use app::{App, Finished};
pub use exit::Exit;
