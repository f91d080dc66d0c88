//! Fields of component types: shapes, state hashes and entity references.

#[cfg(feature = "derive")]
mod derive;
mod hash;
mod hasher;
#[cfg(feature = "derive")]
mod padding;
mod remap;
mod shape;
