//! The changing state of a block, in one word.

/// The changing state of a block.
///
/// ```text
///   63       62     61 ............ 40   39 ............ 0
/// closed  touched   live allocations     lines taken
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Word(pub(super) u64);

impl Word {
    const USED_BITS: u32 = 40;
    pub(super) const MAX_USED: u64 = (1 << Self::USED_BITS) - 1;
    pub(super) const MAX_LIVE: u64 = (1 << (62 - Self::USED_BITS)) - 1;
    /// The block serves no new allocations.
    pub(super) const CLOSED: Self = Self(1 << 63);
    /// The block was used since the last rewind or sweep.
    pub(super) const TOUCHED: Self = Self(1 << 62);
    /// All lines are free.
    pub(super) const OPEN: Self = Self(0);

    /// Returns whether a flag is set.
    pub(super) fn is(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    /// Returns the number of live allocations.
    pub(super) fn live(self) -> u64 {
        (self.0 >> Self::USED_BITS) & Self::MAX_LIVE
    }

    /// Returns the number of lines taken.
    pub(super) fn used(self) -> u64 {
        self.0 & Self::MAX_USED
    }

    /// Sets both numbers, and keeps the flags.
    pub(super) fn with(self, used: u64, live: u64) -> Self {
        debug_assert!(used <= Self::MAX_USED && live <= Self::MAX_LIVE);
        let flags = self.0 & (Self::CLOSED.0 | Self::TOUCHED.0);
        Self(flags | live << Self::USED_BITS | used)
    }

    pub(super) fn with_flag(self, flag: Self) -> Self {
        Self(self.0 | flag.0)
    }

    pub(super) fn without_flag(self, flag: Self) -> Self {
        Self(self.0 & !flag.0)
    }
}
