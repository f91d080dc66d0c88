//! The gallery as a program, with and without a terminal.

mod outside;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod tmux;
