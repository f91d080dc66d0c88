#![doc = include_str!("../README.md")]

mod entity;

pub use entity::Entity;
