//! The gallery as a program: in a terminal, and outside of one.

mod outside;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod tmux;
