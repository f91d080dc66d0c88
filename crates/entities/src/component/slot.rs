//! Where a type remembers what it was registered as.

#![expect(unsafe_code, reason = "reads a pointer that only registration writes")]

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};

use super::TypeInfo;

/// A place for what is known of one component type, so that finding it costs one load.
///
/// The derive makes one for each type that is not generic. It is typed, hence safe code cannot give one
/// type the place of another. Not even of a subtype, as `for<'a> fn(&'a T)` is one of `fn(&'static T)`: those are two
/// types with one place otherwise, and a value of the one would be read as the other.
#[doc(hidden)]
pub struct TypeSlot<T> {
    info: AtomicPtr<TypeInfo>,
    of: PhantomData<fn(T) -> T>,
}

impl<T> TypeSlot<T> {
    /// An empty place.
    pub const fn new() -> Self {
        Self { info: AtomicPtr::new(ptr::null_mut()), of: PhantomData }
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&'static TypeInfo> {
        // Acquire pairs with the release in `set`: who sees the pointer sees what it points to.
        let info = self.info.load(Acquire);
        // SAFETY: it is null, or was made of a `&'static TypeInfo` in `set`.
        unsafe { info.as_ref() }
    }

    pub(crate) fn set(&self, info: &'static TypeInfo) {
        self.info.store(ptr::from_ref(info).cast_mut(), Release);
    }
}

impl<T> Default for TypeSlot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for TypeSlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(info) => write!(f, "TypeSlot({})", info.name),
            None => f.write_str("TypeSlot(unregistered)"),
        }
    }
}
