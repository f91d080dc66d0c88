//! How one value of a component is made of another.
#![expect(unsafe_code, reason = "copies values whose type says that they can be")]

use std::fmt;
use std::marker::PhantomData;

/// How values of a component type are duplicated: as bytes, by cloning, or not at all.
///
/// `#[derive(Component)]` chooses the first of them that the type allows.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Duplicate};
///
/// #[derive(Component, Clone)]
/// struct Name(String);
///
/// #[derive(Component)]
/// struct Ticket(u32);
///
/// assert_eq!(format!("{:?}", Name::duplicate()), "clone");
/// assert_eq!(format!("{:?}", Ticket::duplicate()), "none");
/// ```
#[must_use = "this says how values are duplicated, and duplicates none"]
pub struct Duplicate<T> {
    pub(crate) how: How<T>,
}

pub(crate) enum How<T> {
    NotAtAll,
    Bytes,
    Clone(fn(&T) -> T),
}

impl<T> Duplicate<T> {
    /// Values cannot be duplicated. A world with such a component cannot be forked.
    pub const fn none() -> Self {
        Self { how: How::NotAtAll }
    }

    /// Values are duplicated by copying their bytes.
    pub const fn bytes() -> Self
    where
        T: Copy,
    {
        Self { how: How::Bytes }
    }

    /// Whether values can be duplicated.
    pub(crate) const fn is_possible(&self) -> bool {
        !matches!(self.how, How::NotAtAll)
    }

    /// Makes a second value of one, if that can be.
    pub(crate) fn apply(&self, value: &T) -> Option<T> {
        match self.how {
            How::NotAtAll => None,
            // SAFETY: only values that can be copied are duplicated as bytes.
            How::Bytes => Some(unsafe { std::ptr::read(value) }),
            How::Clone(clone) => Some(clone(value)),
        }
    }

    /// Values are duplicated by cloning them.
    pub const fn clone() -> Self
    where
        T: Clone,
    {
        Self { how: How::Clone(T::clone) }
    }
}

impl<T> fmt::Debug for Duplicate<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.how {
            How::NotAtAll => "none",
            How::Bytes => "bytes",
            How::Clone(_) => "clone",
        })
    }
}

/// The value of a component that is created without giving one: the type's default, or none.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Initial};
///
/// #[derive(Component, Default)]
/// struct Score(u32);
///
/// #[derive(Component)]
/// struct Owner(u32);
///
/// assert_eq!(format!("{:?}", Score::initial()), "default");
/// assert_eq!(format!("{:?}", Owner::initial()), "none");
/// ```
#[must_use = "this says which value is used, and makes none"]
pub struct Initial<T> {
    pub(crate) make: Option<fn() -> T>,
}

impl<T> Initial<T> {
    /// There is no such value: one has to be given.
    pub const fn none() -> Self {
        Self { make: None }
    }

    /// The type's [`Default`].
    pub const fn default() -> Self
    where
        T: Default,
    {
        Self { make: Some(T::default) }
    }
}

impl<T> fmt::Debug for Initial<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.make.is_some() { "default" } else { "none" })
    }
}

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
