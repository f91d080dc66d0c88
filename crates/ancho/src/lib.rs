#![doc = include_str!("../README.md")]

mod explain;
pub mod prelude;

pub use ancho_bisect as bisect;
pub use ancho_burst as burst;
pub use ancho_collections as collections;
pub use ancho_entities as entities;
pub use ancho_jobs as jobs;
#[cfg(feature = "transforms")]
pub use ancho_transforms as transforms;
pub use explain::explain;
pub use glam as math;

/// Compiles and runs the program of the repository's README as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct RepositoryReadme;
