//! The functions of `ancho_burst::math`: exact bits, error bounds and special values.

mod bits;
mod common;
mod error;
mod special_values;
