//! Sizes, alignments, and memory that runs out.
#![forbid(unsafe_code)]

mod alignment;
mod entity_sizes;
mod many_types;
mod out_of_memory;
mod out_of_memory_in_forks;
mod too_large;
mod zero_sized;
