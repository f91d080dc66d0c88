//! Write groups.

use std::any::TypeId;
use std::fmt;

use super::Component;

/// The target of a write group that a component belongs to: see [`Component::WRITE_GROUPS`].
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
// It runs no user code, so it can be read at any time. It holds functions, since two components may be in each other's group.
#[derive(Clone, Copy)]
pub struct WriteGroup {
    target: fn() -> TypeId,
    /// The groups that the target belongs to.
    beyond: fn() -> &'static [WriteGroup],
}

impl WriteGroup {
    /// Returns the group of a component.
    pub const fn of<T: Component>() -> Self {
        Self { target: TypeId::of::<T>, beyond: || T::WRITE_GROUPS }
    }

    /// Returns the target type.
    pub(crate) fn target(self) -> TypeId {
        (self.target)()
    }

    /// Returns the groups that the target belongs to.
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
