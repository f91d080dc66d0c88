//! Blob assets: immutable data that is built once, in one block of bytes.
//!
//! A block begins at a multiple of 16, with its root. The contents of the root's arrays, texts and
//! pointers follow, level by level, each after all that lead to it. A struct of a `u16`, a text
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
//! `data` defines the types that can be in a blob, as a visitor for `copy` (into the builder),
//! `check` (of bytes from outside) and `describe` (for the header of files, see `bytes`). `pieces`
//! and `layout` are internals of the builder, `table` is one of the store.

mod array;
mod asset;
mod block;
mod builder;
mod bytes;
mod check;
mod copy;
mod data;
mod describe;
mod error;
mod hash;
mod layout;
mod pieces;
mod place;
mod pointer;
mod reader;
mod reference;
mod relative;
mod store;
mod string;
mod table;

#[cfg(feature = "derive")]
pub use ancho_derive::BlobData;
pub use array::BlobArray;
pub use asset::BlobAsset;
pub use builder::BlobBuilder;
pub use data::{BlobData, BlobVisitor};
pub use error::BlobError;
pub use place::{BlobPlace, BlobPlaces};
pub use pointer::BlobPtr;
pub use reader::BlobReader;
pub use reference::BlobAssetReference;
pub use store::BlobStore;
pub use string::BlobString;
