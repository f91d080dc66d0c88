//! Duplication and initial values of components, and probes by which the derives select them.
use std::fmt;
use std::marker::PhantomData;

/// The way in which values of a component type are duplicated: as bytes, by cloning, or not at all.
///
/// `#[derive(Component)]` selects the first of these that the type allows.
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
    /// Values are copied as bytes. The function has the same effect.
    Bytes(fn(&T) -> T),
    Clone(fn(&T) -> T),
}

impl<T> Duplicate<T> {
    /// Creates a `Duplicate` that does not allow duplication. A world with such a component cannot be forked.
    pub const fn none() -> Self {
        Self { how: How::NotAtAll }
    }

    /// Creates a `Duplicate` that copies the bytes of values.
    pub const fn bytes() -> Self
    where
        T: Copy,
    {
        Self { how: How::Bytes(|value| *value) }
    }

    /// Returns `true` if values can be duplicated.
    pub(crate) const fn is_possible(&self) -> bool {
        !matches!(self.how, How::NotAtAll)
    }

    /// Duplicates a value, or returns `None` if values cannot be duplicated.
    pub(crate) fn apply(&self, value: &T) -> Option<T> {
        match self.how {
            How::NotAtAll => None,
            How::Bytes(clone) | How::Clone(clone) => Some(clone(value)),
        }
    }

    /// Creates a `Duplicate` that clones values.
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
            How::Bytes(_) => "bytes",
            How::Clone(_) => "clone",
        })
    }
}

/// The initial value of a component that is created without an explicit value: the default of the type, or none.
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
    /// Creates an `Initial` without a value, so that creating the component requires a value.
    pub const fn none() -> Self {
        Self { make: None }
    }

    /// Returns the function that makes the value.
    #[doc(hidden)]
    pub const fn __make(self) -> Option<fn() -> T> {
        self.make
    }

    /// Creates an `Initial` whose value is the [`Default`] of the type.
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

/// A stand-in for a type, on which the derives call a method to select a trait implementation.
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// Creates a probe.
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

/// Selected for types that are `Copy`, which are duplicated as bytes.
pub trait DuplicateBytes<T> {
    /// Returns the selected duplication.
    fn __ancho_duplicate(&self) -> Duplicate<T>;
}

impl<T: Copy> DuplicateBytes<T> for &&Probe<T> {
    fn __ancho_duplicate(&self) -> Duplicate<T> {
        Duplicate::<T>::bytes()
    }
}

/// Selected for types that are `Clone` but not `Copy`, which are duplicated by cloning.
pub trait DuplicateClone<T> {
    /// Returns the selected duplication.
    fn __ancho_duplicate(&self) -> Duplicate<T>;
}

impl<T: Clone> DuplicateClone<T> for &Probe<T> {
    fn __ancho_duplicate(&self) -> Duplicate<T> {
        Duplicate::<T>::clone()
    }
}

/// Selected for types that can be neither copied nor cloned.
pub trait DuplicateNone<T> {
    /// Returns the selected duplication.
    fn __ancho_duplicate(&self) -> Duplicate<T>;
}

impl<T> DuplicateNone<T> for Probe<T> {
    fn __ancho_duplicate(&self) -> Duplicate<T> {
        Duplicate::<T>::none()
    }
}

impl<T: Clone> Probe<T> {
    /// Duplication by `Clone`. This inherent constant takes precedence over the constant of the trait [`CloneNone`].
    pub const __ANCHO_CLONE: Duplicate<T> = Duplicate::<T>::clone();
}

/// Selected for types that are not `Clone`. This is the probe for constant contexts, in which methods cannot be called.
pub trait CloneNone<T> {
    /// The selected duplication.
    const __ANCHO_CLONE: Duplicate<T>;
}

impl<T> CloneNone<T> for Probe<T> {
    const __ANCHO_CLONE: Duplicate<T> = Duplicate::<T>::none();
}

/// Selected for types that implement `Default`, which is their initial value.
pub trait InitialDefault<T> {
    /// Returns the selected initial value.
    fn __ancho_initial(&self) -> Initial<T>;
}

impl<T: Default> InitialDefault<T> for &Probe<T> {
    fn __ancho_initial(&self) -> Initial<T> {
        Initial::<T>::default()
    }
}

/// Selected for types without `Default`, which have no initial value.
pub trait InitialNone<T> {
    /// Returns the selected initial value.
    fn __ancho_initial(&self) -> Initial<T>;
}

impl<T> InitialNone<T> for Probe<T> {
    fn __ancho_initial(&self) -> Initial<T> {
        Initial::<T>::none()
    }
}
