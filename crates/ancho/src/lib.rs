#![doc = include_str!("../README.md")]

mod explain;
pub mod prelude;

#[cfg(feature = "app")]
pub use ancho_app as app;
pub use ancho_bisect as bisect;
pub use ancho_burst as burst;
pub use ancho_collections as collections;
pub use ancho_entities as entities;
pub use ancho_jobs as jobs;
#[cfg(feature = "serialize")]
pub use ancho_serialize as serialize;
#[cfg(feature = "transforms")]
pub use ancho_transforms as transforms;
pub use explain::explain;
pub use glam as math;

/// Compiles and runs the program of the repository's README as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct RepositoryReadme;

/// Compiles and runs the programs of the pages in `docs/` as tests.
#[cfg(doctest)]
#[cfg(feature = "headless")]
mod pages {
    #[doc = include_str!("../../../docs/from-bevy.md")]
    struct FromBevy;
    #[doc = include_str!("../../../docs/from-unity.md")]
    struct FromUnity;
    #[doc = include_str!("../../../docs/rollback.md")]
    struct Rollback;
}
