//! The functions of `ancho_burst::math`: exact bits, error bounds, special values, random numbers and noise.

mod bits;
mod common;
mod error;
mod noise;
mod random;
mod special_values;
