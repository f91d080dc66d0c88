//! Chunks: their layout, rows, views, and the components of a whole chunk.
#![forbid(unsafe_code)]

mod capacity;
mod chunk_component_panics;
mod chunk_components;
mod rows;
mod views;
