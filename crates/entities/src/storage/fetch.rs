//! Having memory on its way before it is used.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "an instruction that has no name in the language")
)]

/// Has memory on its way to the cache. Whether there is any at the address does not matter.
#[inline(always)]
pub(crate) fn fetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every such CPU has the instruction, which reads nothing and fails at no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Has memory on its way to the cache after the first, where more can be waited for at a time. Whether there is any at the
/// address does not matter.
#[inline(always)]
pub(crate) fn fetch_soon(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let address: *const i8 = std::ptr::without_provenance(address);
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
