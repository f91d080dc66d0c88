//! Finished blobs, and their memory.
#![expect(unsafe_code, reason = "owns the bytes of a blob, and vouches for the type of its root")]

use std::any::type_name;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use super::check::{Fault, check};
use super::data::{BlobData, MAX_ALIGN, check_type};
use super::error::BlobError;
use super::file::{self, HEADER, Refusal, hash, layout_hash};

/// A finished blob: a `T`, with all its arrays and texts, in one immutable block.
///
/// A [`BlobBuilder`](crate::BlobBuilder) builds an asset, and [`from_bytes`](Self::from_bytes)
/// restores one from its bytes. Clones share the block by a reference count, and the last one frees
/// it. Components refer to assets by a [`BlobAssetReference`](crate::BlobAssetReference), which a
/// [`BlobStore`](crate::BlobStore) returns.
///
/// Two assets are equal if their bytes are equal: `-0.0` is not `0.0`, `NaN` equals itself, and
/// values that are shared in one asset have to be shared in the other. [`ptr_eq`](Self::ptr_eq)
/// returns whether they are the same block.
///
/// # Examples
///
/// ```
/// use ancho_collections::{BlobArray, BlobAsset, BlobBuilder};
///
/// let mut builder = BlobBuilder::new(BlobArray::new());
/// builder.array(builder.root(), |root| root, [2_u64, 3, 5]).unwrap();
/// let primes = builder.build().unwrap();
/// let bytes = primes.to_bytes(1);
/// let loaded = BlobAsset::<BlobArray<u64>>::from_bytes(&bytes, 1).unwrap();
/// assert_eq!(loaded[2], 5);
/// assert_eq!(loaded, primes);
/// ```
pub struct BlobAsset<T> {
    block: Arc<Block>,
    root: PhantomData<T>,
}

impl<T: BlobData> BlobAsset<T> {
    /// Creates an asset from a block.
    ///
    /// # Safety
    ///
    /// - The bytes of the block were built with a `T` as root, or checked to have one.
    pub(super) unsafe fn from_block(block: Block) -> Self {
        Self { block: Arc::new(block), root: PhantomData }
    }

    /// Creates an asset from a shared block.
    ///
    /// # Safety
    ///
    /// - The block is that of a `BlobAsset<T>`.
    pub(super) unsafe fn from_shared(block: Arc<Block>) -> Self {
        Self { block, root: PhantomData }
    }

    pub(super) fn into_shared(self) -> Arc<Block> {
        self.block
    }

    /// Creates a blob from the bytes that [`to_bytes`](Self::to_bytes) returned.
    ///
    /// The bytes are not trusted. They can come from a file or a network: every offset, text and
    /// `bool` is checked.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes have another version, another type layout, are not a valid
    /// blob, are truncated, or have trailing bytes.
    ///
    /// # Complexity
    ///
    /// Time and memory are linear in the number of bytes, for any input.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobAsset, BlobBuilder, BlobError};
    ///
    /// let mut bytes = BlobBuilder::new(true).build().unwrap().to_bytes(1);
    /// assert!(*BlobAsset::<bool>::from_bytes(&bytes, 1).unwrap());
    /// *bytes.last_mut().unwrap() = 2;
    /// let refused = BlobAsset::<bool>::from_bytes(&bytes, 1);
    /// assert!(matches!(refused, Err(BlobError::Corrupt { root: "bool", .. })));
    /// ```
    pub fn from_bytes(bytes: &[u8], version: u32) -> Result<Self, BlobError> {
        const { check_type::<T>() };
        let root = type_name::<T>();
        let corrupt =
            |Fault { at, what }, before| BlobError::Corrupt { root, at: at + before, fault: what };
        let block =
            file::from_bytes(bytes, layout_hash::<T>(), version).map_err(
                |refusal| match refusal {
                    Refusal::Version(found) => {
                        BlobError::OtherVersion { root, expected: version, found }
                    }
                    Refusal::Layout(difference) => BlobError::OtherLayout { root, difference },
                    Refusal::Fault(fault) => corrupt(fault, 0),
                },
            )?;
        let mut aligned = AlignedBytes::zeroed(block.len());
        aligned.as_mut_slice().copy_from_slice(block);
        check::<T>(aligned.as_slice()).map_err(|fault| corrupt(fault, HEADER))?;
        // SAFETY: these bytes were just checked to have a `T` as root.
        Ok(unsafe { Self::from_block(Block::new(aligned)) })
    }

    /// Returns the bytes of the blob after a header with the given version, for a file or a
    /// network.
    ///
    /// The user chooses the version: [`from_bytes`](Self::from_bytes) refuses any version but the
    /// expected one. The header also identifies the types, their fields and their layout, on this
    /// machine and in this version of the program.
    ///
    /// # Determinism
    ///
    /// The same blob has the same bytes on all machines of one byte order that agree on the
    /// alignment of numbers.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobBuilder;
    ///
    /// let bytes = BlobBuilder::new(7_u32).build().unwrap().to_bytes(1);
    /// assert_eq!(bytes.len(), 48 + 4);
    /// ```
    pub fn to_bytes(&self, version: u32) -> Vec<u8> {
        file::to_bytes(self.as_bytes(), self.content_hash(), layout_hash::<T>(), version)
    }
}

impl<T> BlobAsset<T> {
    /// Returns the bytes of the blob, without a header.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobBuilder;
    ///
    /// let blob = BlobBuilder::new([1_u8, 2, 3]).build().unwrap();
    /// assert_eq!(blob.as_bytes(), [1, 2, 3]);
    /// ```
    pub fn as_bytes(&self) -> &[u8] {
        self.block.as_bytes()
    }

    /// Returns a hash of the bytes of the blob: XXH64 with seed 0.
    ///
    /// It is stable across runs and versions of this crate, so it can be written to files.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobBuilder;
    ///
    /// let blob = BlobBuilder::new(*b"abc").build().unwrap();
    /// assert_eq!(blob.content_hash(), 0x44BC_2CF5_AD77_0999);
    /// ```
    pub fn content_hash(&self) -> u64 {
        self.block.hash()
    }

    /// Returns whether two assets are the same block.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobAsset, BlobBuilder};
    ///
    /// let seven = BlobBuilder::new(7).build().unwrap();
    /// let again = BlobBuilder::new(7).build().unwrap();
    /// assert!(BlobAsset::ptr_eq(&seven, &seven.clone()));
    /// assert!(seven == again && !BlobAsset::ptr_eq(&seven, &again));
    /// ```
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        Arc::ptr_eq(&this.block, &other.block)
    }
}

impl<T: BlobData> Deref for BlobAsset<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: an asset is made only from blocks that have a `T` as root.
        unsafe { self.block.root() }
    }
}

impl<T> Clone for BlobAsset<T> {
    fn clone(&self) -> Self {
        Self { block: self.block.clone(), root: PhantomData }
    }
}

impl<T> PartialEq for BlobAsset<T> {
    fn eq(&self, other: &Self) -> bool {
        Self::ptr_eq(self, other)
            || (self.content_hash() == other.content_hash() && self.as_bytes() == other.as_bytes())
    }
}

impl<T> Eq for BlobAsset<T> {}

impl<T> Hash for BlobAsset<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.content_hash().hash(state);
    }
}

/// Shows the root.
impl<T: BlobData + fmt::Debug> fmt::Debug for BlobAsset<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Sixteen bytes, with the alignment of blobs.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Unit([u8; UNIT]);

const UNIT: usize = 16;
const _: () = assert!(align_of::<Unit>() == MAX_ALIGN && size_of::<Unit>() == UNIT);

/// Bytes at an address that is a multiple of 16. New ones are zero.
pub(super) struct AlignedBytes {
    units: Vec<Unit>,
    length: usize,
}

impl AlignedBytes {
    pub(super) fn new() -> Self {
        Self { units: Vec::new(), length: 0 }
    }

    pub(super) fn zeroed(length: usize) -> Self {
        Self { units: vec![Unit([0; UNIT]); length.div_ceil(UNIT)], length }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Extends the bytes with zeros, or shortens them.
    pub(super) fn resize(&mut self, length: usize) {
        if length < self.length {
            self.as_mut_slice()[length..].fill(0);
        }
        self.units.resize(length.div_ceil(UNIT), Unit([0; UNIT]));
        self.length = length;
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: the units are initialised bytes, of which there are at least `length`.
        unsafe { slice::from_raw_parts(self.units.as_ptr().cast(), self.length) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the units are initialised bytes, of which there are at least `length`, and they
        // are borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.units.as_mut_ptr().cast(), self.length) }
    }
}

/// A finished blob: bytes that never change and never move.
///
/// The provenance of the bytes is exposed. That allows following a pointer inside of them, which is
/// reached only through a reference to itself; see `relative`.
pub(super) struct Block {
    /// The first unit of a leaked box. The provenance of the pointer is exposed.
    start: NonNull<Unit>,
    length: usize,
    hash: u64,
}

// SAFETY: a block owns its bytes, which are never written.
unsafe impl Send for Block {}
// SAFETY: a block owns its bytes, which are never written.
unsafe impl Sync for Block {}

impl Block {
    /// Creates a block from bytes. All of them are initialised, including padding: only bytes are
    /// ever written to them.
    pub(super) fn new(bytes: AlignedBytes) -> Self {
        let hash = hash(bytes.as_slice());
        let AlignedBytes { units, length } = bytes;
        let start = NonNull::from(Box::leak(units.into_boxed_slice())).cast::<Unit>();
        start.as_ptr().expose_provenance();
        Self { start, length, hash }
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        // SAFETY: the bytes are initialised, live as long as the block, and are never written.
        unsafe { slice::from_raw_parts(self.start.as_ptr().cast(), self.length) }
    }

    /// Returns the start of the bytes: the address of the root, valid as long as the block lives.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start.cast()
    }

    /// Returns the root.
    ///
    /// # Safety
    ///
    /// - The bytes were built with a `T` as root, or checked to have one.
    #[inline]
    pub(super) unsafe fn root<T: BlobData>(&self) -> &T {
        // SAFETY: the bytes begin with a `T`, aligned since blocks are aligned to 16 and no `T`
        // requires more. They live as long as the block, and are never written.
        unsafe { self.start.cast::<T>().as_ref() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let units = ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.length.div_ceil(UNIT));
        // SAFETY: leaked by `new` from a box with this number of units, and not freed since.
        drop(unsafe { Box::from_raw(units) });
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes, hash {:016x})", self.length, self.hash)
    }
}
