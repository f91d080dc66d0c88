//! Blob assets: data that is built once, never changes, and lies in one block of bytes.
//!
//! A block begins at a multiple of 16, with its root. What the root's arrays, texts and pointers hold
//! follows, level by level, each behind all that lead to it. A struct of a `u16`, a text `"jump!"` and an
//! array of two `f32` is this:
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
//! - An offset counts bytes from the field it is in, and is never negative. So a block means the same
//!   wherever it lies, and contains no cycles. Offset 0 is for what is empty.
//! - Values lie one behind the other, with no more than the padding that their alignment asks for. All
//!   padding, inside of structs too, is zero. So equal blobs have equal bytes, and equal hashes.
//! - Nothing but the making of a block writes to it. References into it are shared, and the blob types
//!   cannot be cloned, so that an offset never gets to where it means something else.
//!
//! `data` says which types can be in a blob, in a form that `copy` (into the builder), `check` (of bytes
//! from outside) and `describe` (for the header of files, see `bytes`) go through. `pieces` and `layout`
//! are the builder's inside, `table` that of the store.

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
