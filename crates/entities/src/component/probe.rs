//! What else a component's type can do, for the derive.
//!
//! A derive sees no types: whether there is a `Clone` only the compiler knows. It is asked by a method call, which
//! goes to the first implementation that fits when the compiler takes one `&` after the other off the receiver.
//! `&&Probe<T>` has the method if `T` is `Copy`, `&Probe<T>` if it is `Clone`, and `Probe<T>` always. (This is
//! known as autoref specialisation.)
//!
//! The compiler decides where the derive stands. For a generic type it knows of the parameters only what their
//! bounds say, so `struct Pair<T>` is not `Copy` there, and `struct Pair<T: Copy>` may be.

use std::fmt;
use std::marker::PhantomData;

use super::{Duplicate, Initial};

/// Stands for a type in a method call.
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// Makes one.
    #[expect(clippy::new_without_default, reason = "only the derive makes them")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> fmt::Debug for Probe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Probe")
    }
}

/// Values are duplicated as bytes.
pub trait DuplicateBytes<T> {
    /// Says so.
    fn __ancho_duplicate(&self) -> Duplicate<T>;
}

impl<T: Copy> DuplicateBytes<T> for &&Probe<T> {
    fn __ancho_duplicate(&self) -> Duplicate<T> {
        Duplicate::<T>::bytes()
    }
}

/// Values are duplicated by `Clone`.
pub trait DuplicateClone<T> {
    /// Says so.
    fn __ancho_duplicate(&self) -> Duplicate<T>;
}

impl<T: Clone> DuplicateClone<T> for &Probe<T> {
    fn __ancho_duplicate(&self) -> Duplicate<T> {
        Duplicate::<T>::clone()
    }
}

/// Values are not duplicated.
pub trait DuplicateNone<T> {
    /// Says so.
    fn __ancho_duplicate(&self) -> Duplicate<T>;
}

impl<T> DuplicateNone<T> for Probe<T> {
    fn __ancho_duplicate(&self) -> Duplicate<T> {
        Duplicate::<T>::none()
    }
}

impl<T: Clone> Probe<T> {
    /// How values are duplicated: by `Clone`. What a type has itself goes before what a trait gives it.
    pub const __ANCHO_CLONE: Duplicate<T> = Duplicate::<T>::clone();
}

/// Values are not cloned: the same question for who is asked for a constant, which no method can be.
pub trait CloneNone<T> {
    /// Says so.
    const __ANCHO_CLONE: Duplicate<T>;
}

impl<T> CloneNone<T> for Probe<T> {
    const __ANCHO_CLONE: Duplicate<T> = Duplicate::<T>::none();
}

/// Values begin as their `Default`.
pub trait InitialDefault<T> {
    /// Says so.
    fn __ancho_initial(&self) -> Initial<T>;
}

impl<T: Default> InitialDefault<T> for &Probe<T> {
    fn __ancho_initial(&self) -> Initial<T> {
        Initial::<T>::default()
    }
}

/// Values have nothing to begin as.
pub trait InitialNone<T> {
    /// Says so.
    fn __ancho_initial(&self) -> Initial<T>;
}

impl<T> InitialNone<T> for Probe<T> {
    fn __ancho_initial(&self) -> Initial<T> {
        Initial::<T>::none()
    }
}
