//! Blob assets: immutable data that is built once, in one block of bytes.
//!
//! A block begins at a multiple of 16, with its root. The contents of the root's arrays, texts and
//! pointers follow, level by level, each after all fields that lead to it. A struct of a `u16`, a text
//! `"jump!"` and an array of two `f32` is this:
//!
//! ```text
//!  byte  0     2     4          8          12         16         20        25    28            36
//!        ┌─────┬─────┬──────────┬──────────┬──────────┬──────────┬─────────┬─────┬──────┬──────┐
//!        │ u16 │  0  │ offset 16│ length 5 │ offset 16│ length 2 │ jump!   │  0  │ f32  │ f32  │
//!        └─────┴─────┴─┬────────┴──────────┴─┬────────┴──────────┴─────────┴─────┴──────┴──────┘
//!                      └─────────────────────│────────────────────▲               ▲
//!                                            └────────────────────────────────────┘
//! ```
//!
//! - An offset counts bytes from the field it is in, and is never negative. So a block can be moved
//!   to any address, and contains no cycles. Offset 0 means empty.
//! - Values follow each other, separated only by the padding of their alignment. All padding,
//!   inside of structs too, is zero. So equal blobs have equal bytes, and equal hashes.
//! - A block is written only while it is built. References into it are shared, and the blob types
//!   cannot be cloned, so an offset is never copied to a place where it is invalid.
//!
//! `data` defines the types that can be in a blob, as a visitor for `pieces` (into the builder),
//! `check` (of bytes from outside) and `file` (for the header of files).

mod asset;
mod builder;
mod check;
mod data;
mod error;
mod file;
mod pieces;
mod reference;
mod relative;
mod store;

#[cfg(feature = "derive")]
pub use ancho_derive::BlobData;
pub use asset::BlobAsset;
pub use builder::{BlobBuilder, BlobPlace, BlobPlaces};
pub use data::{BlobData, BlobVisitor};
pub use error::BlobError;
pub use reference::BlobAssetReference;
pub use relative::{BlobArray, BlobPtr, BlobString};
pub use store::{BlobReader, BlobStore};
