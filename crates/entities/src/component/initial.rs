//! The value of components that nobody gave one.

use std::fmt;

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
