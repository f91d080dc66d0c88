//! Write groups of components.

use std::any::TypeId;
use std::fmt;

use super::Component;

/// A write group to which a component belongs. See [`Component::WRITE_GROUPS`].
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, WriteGroup};
///
/// #[derive(Component)]
/// struct LocalToWorld([f32; 16]);
///
/// #[derive(Component)]
/// #[component(write_group(LocalToWorld))]
/// struct Rotation(f32);
///
/// assert_eq!(Rotation::WRITE_GROUPS, [WriteGroup::of::<LocalToWorld>()]);
/// ```
// A `WriteGroup` runs no user code, so it can be read at any time. It holds functions, because two components may belong to each
// other's group.
#[derive(Clone, Copy)]
pub struct WriteGroup {
    target: fn() -> TypeId,
    /// Returns the groups to which the target belongs.
    beyond: fn() -> &'static [WriteGroup],
}

impl WriteGroup {
    /// Creates the write group of a component.
    pub const fn of<T: Component>() -> Self {
        Self { target: TypeId::of::<T>, beyond: || T::WRITE_GROUPS }
    }

    /// Returns the component type whose write group this is.
    pub(crate) fn target(self) -> TypeId {
        (self.target)()
    }

    /// Returns the groups to which the target belongs.
    pub(crate) fn beyond(self) -> &'static [Self] {
        (self.beyond)()
    }
}

impl PartialEq for WriteGroup {
    fn eq(&self, other: &Self) -> bool {
        self.target() == other.target()
    }
}

impl Eq for WriteGroup {}

impl fmt::Debug for WriteGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WriteGroup").field(&self.target()).finish()
    }
}
