//! Moving and copying entities to another world.

mod copying;
mod equal_values;
mod model;
mod moving;
mod moving_by_query;
mod out_of_memory;
mod panics;
mod shared_references;
