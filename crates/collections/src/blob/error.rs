//! Errors of blobs.

use std::fmt;

use crate::error::debug_as_display;

/// Errors of blobs. In each case nothing was changed.
///
/// The message begins with a code, names the type and states the remedy. The page of each code is
/// in the `errors` folder of the repository.
///
/// # Examples
///
/// ```
/// use ancho_collections::{BlobAssetReference, BlobError, BlobStore};
///
/// let store = BlobStore::new();
/// let nothing = BlobAssetReference::<u32>::NULL;
/// assert_eq!(store.get(nothing), Err(BlobError::Null { asset: "u32" }));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlobError {
    /// A0040: the asset was removed from its store.
    Disposed {
        /// The type of the asset.
        asset: &'static str,
    },
    /// A0041: the reference is null.
    Null {
        /// The type of the requested asset.
        asset: &'static str,
    },
    /// A0042: the reference is of another store.
    ForeignStore {
        /// The type of the requested asset.
        asset: &'static str,
    },
    /// A0043: the reference leads to an asset of another type.
    WrongType {
        /// The type of the requested asset.
        wanted: &'static str,
        /// The type of the asset found.
        found: &'static str,
    },
    /// A0044: the place is of another builder.
    ForeignPlace {
        /// The type of the value at that place.
        value: &'static str,
    },
    /// A0044: the closure did not return a field of its argument.
    NotAField {
        /// The type of the value.
        value: &'static str,
        /// The type of the field.
        field: &'static str,
    },
    /// A0045: the field was filled before.
    FilledTwice {
        /// The type of the value.
        value: &'static str,
        /// The type of the field.
        field: &'static str,
    },
    /// A0046: the field to share with was not filled yet.
    NothingToShare {
        /// The type of the value.
        value: &'static str,
        /// The type of the field.
        field: &'static str,
    },
    /// A0047: the blob would be larger than 4 GiB, counting shared values once for each path.
    TooLarge {
        /// The type of the root.
        root: &'static str,
    },
    /// A0047: the blob would be more than 256 pointers deep.
    TooDeep {
        /// The type of the root.
        root: &'static str,
    },
    /// A0047: a value of the blob would contain itself.
    Cyclic {
        /// The type of the root.
        root: &'static str,
    },
    /// A0048: the bytes are a blob of another version.
    OtherVersion {
        /// The type of the root.
        root: &'static str,
        /// The expected version.
        expected: u32,
        /// The version that the bytes have.
        found: u32,
    },
    /// A0048: the bytes are a blob whose types are laid out differently.
    OtherLayout {
        /// The type of the root.
        root: &'static str,
        /// The first difference that was found.
        difference: &'static str,
    },
    /// A0049: the bytes are not a blob, or were changed.
    Corrupt {
        /// The type of the root.
        root: &'static str,
        /// The position of the byte.
        at: usize,
        /// Description of the fault.
        fault: &'static str,
    },
}

impl fmt::Display for BlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disposed { asset } => write!(
                f,
                "A0040: the blob asset `{asset}` was disposed; remove it from its store only when no \
                 reference to it is left in use"
            ),
            Self::Null { asset } => write!(
                f,
                "A0041: the reference to a blob asset `{asset}` is null; set it to what \
                 `BlobStore::insert` returns"
            ),
            Self::ForeignStore { asset } => write!(
                f,
                "A0042: the reference to a blob asset `{asset}` is of another store; use the store that it was \
                 inserted in"
            ),
            Self::WrongType { wanted, found } => write!(
                f,
                "A0043: the reference to a blob asset `{wanted}` refers to a `{found}`; create references from bits \
                 only with the type that the bits came from"
            ),
            Self::ForeignPlace { value } => write!(
                f,
                "A0044: the place of a `{value}` belongs to another blob builder; use the places that this builder \
                 returned"
            ),
            Self::NotAField { value, field } => write!(
                f,
                "A0044: the `{field}` to fill is not a part of the `{value}` at that place; return a \
                 field of the closure's argument, as in `|value| &value.field`"
            ),
            Self::FilledTwice { value, field } => write!(
                f,
                "A0045: the `{field}` of a `{value}` was filled before; fill each field once, with all \
                 it should hold"
            ),
            Self::NothingToShare { value, field } => write!(
                f,
                "A0046: the `{field}` of a `{value}` that should be shared was not filled; fill it first"
            ),
            Self::TooLarge { root } => write!(
                f,
                "A0047: the blob `{root}` would be larger than 4 GiB; split it into several assets"
            ),
            Self::TooDeep { root } => write!(
                f,
                "A0047: the blob `{root}` would be more than 256 pointers deep; keep its nodes in one \
                 array and refer to them by index"
            ),
            Self::Cyclic { root } => write!(
                f,
                "A0047: a value of the blob `{root}` would contain itself; keep the nodes in one array \
                 and refer to them by index"
            ),
            Self::OtherVersion { root, expected, found } => write!(
                f,
                "A0048: the bytes hold version {found} of the blob `{root}`, not version {expected}; \
                 load them as that version, or make them again"
            ),
            Self::OtherLayout { root, difference } => write!(
                f,
                "A0048: the bytes do not fit the blob `{root}` of this program, because {difference}; \
                 make them again with this program"
            ),
            Self::Corrupt { root, at, fault } => write!(
                f,
                "A0049: the bytes are not a blob `{root}`: at byte {at}, {fault}; pass them exactly as `to_bytes` \
                 returned them"
            ),
        }
    }
}

impl std::error::Error for BlobError {}

debug_as_display!(BlobError);
