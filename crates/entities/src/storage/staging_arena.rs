//! Values that are nobody's for a while, and dropped at the end.

#![expect(
    unsafe_code,
    reason = "values whose type is not known, in memory of the global allocator"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use crate::component::ComponentType;

/// What a block has at least.
const LEAST: usize = 4096;

/// What blocks are aligned to, unless a value asks for more.
const ALIGN: usize = 64;

/// Memory for values that are in no chunk: those that wait to be put into one, and those that are to be dropped when everything
/// else is done.
///
/// Blocks never move, so that addresses stay. The largest is kept when all is [cleared](Self::clear), so that the next time
/// nothing is allocated.
#[derive(Default)]
pub(crate) struct Cellar {
    blocks: Vec<Block>,
    /// How many bytes of the last block are in use.
    used: usize,
    /// What is dropped at the end.
    dead: Vec<Dying>,
}

/// Values that are dropped at the end.
struct Dying {
    value: *mut u8,
    drop: unsafe fn(*mut u8),
    ty: Option<ComponentType>,
}

struct Block {
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory, as a box does, and what is in it are components, and sets of them, which are `Send`.
unsafe impl Send for Cellar {}

impl Cellar {
    /// Room for a value, until everything is cleared.
    pub(crate) fn place(&mut self, layout: Layout) -> *mut u8 {
        if let Some(block) = self.blocks.last() {
            let first = block.memory.as_ptr().addr() + self.used;
            let start = self.used + (first.next_multiple_of(layout.align()) - first);
            if start + layout.size() <= block.layout.size() {
                self.used = start + layout.size();
                // SAFETY: it is in the block.
                return unsafe { block.memory.as_ptr().add(start) };
            }
        }
        self.open_block(layout)
    }

    /// Room for a value at the beginning of another block.
    #[cold]
    fn open_block(&mut self, value: Layout) -> *mut u8 {
        let before = self.blocks.last().map_or(0, |block| block.layout.size());
        let size = value.size().max(before * 2).max(LEAST);
        let layout = Layout::from_size_align(size, value.align().max(ALIGN));
        let layout = layout.expect("as large as what is in memory already");
        // SAFETY: it has a size.
        let memory = unsafe { alloc(layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
        self.blocks.push(Block { memory, layout });
        self.used = value.size();
        memory.as_ptr()
    }

    /// Has a value dropped at the end, which is where it is until then.
    ///
    /// # Safety
    ///
    /// - there is a value of the type, which is in this memory, and nobody else's
    pub(crate) unsafe fn drop_later(&mut self, ty: ComponentType, value: *mut u8) {
        if ty.0.drop.is_some() {
            self.dead.push(Dying { value, drop: nothing, ty: Some(ty) });
        }
    }

    /// Has a value dropped at the end by a function, and returns where that was noted: it can be
    /// [taken back](Self::take_back).
    ///
    /// # Safety
    ///
    /// - the function drops what is there, which is in this memory, and nobody else's, unless it is taken back
    pub(crate) unsafe fn drop_later_by(&mut self, drop: unsafe fn(*mut u8), value: *mut u8) -> u32 {
        let at = u32::try_from(self.dead.len()).expect("fewer values than entities");
        self.dead.push(Dying { value, drop, ty: None });
        at
    }

    /// Lets a value not be dropped: it has another owner now.
    pub(crate) fn take_back(&mut self, at: u32) {
        self.dead[at as usize].drop = nothing;
    }

    /// Moves a value here, to be dropped at the end.
    ///
    /// # Safety
    ///
    /// - there is a value of the type, which is not used any more where it is
    pub(crate) unsafe fn bury(&mut self, ty: ComponentType, value: *const u8) {
        if ty.0.drop.is_none() {
            return;
        }
        let layout = Layout::from_size_align(ty.size(), ty.align()).expect("the layout of a type");
        let place = self.place(layout);
        // SAFETY: both have room for a value, apart from each other. It is nobody else's then.
        unsafe {
            place.copy_from_nonoverlapping(value, ty.size());
            self.drop_later(ty, place);
        }
    }

    /// Drops what is to be dropped: all of it, also when one value panics. Keeps the largest block.
    pub(crate) fn clear(&mut self) {
        /// Goes on with the rest if something panics.
        struct Rest<'c>(&'c mut Cellar);

        impl Rest<'_> {
            fn go_on(&mut self) {
                while let Some(Dying { value, drop, ty }) = self.0.dead.pop() {
                    match ty.and_then(|ty| ty.0.drop) {
                        // SAFETY: there is a value of the type, which nobody else has.
                        Some(drop) => unsafe { drop(value, 1) },
                        // SAFETY: the function is for what is there, or does nothing.
                        None => unsafe { drop(value) },
                    }
                }
            }
        }

        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.go_on();
                let Cellar { blocks, used, .. } = &mut *self.0;
                *used = 0;
                // The last is the largest.
                if blocks.len() > 1 {
                    blocks.drain(..blocks.len() - 1);
                }
            }
        }

        if !self.dead.is_empty() || !self.blocks.is_empty() {
            Rest(self).go_on();
        }
    }
}

/// Drops nothing.
///
/// # Safety
///
/// - none
unsafe fn nothing(_: *mut u8) {}

impl Drop for Cellar {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}
