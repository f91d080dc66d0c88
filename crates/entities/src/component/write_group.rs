//! Who else writes a component.

use std::any::TypeId;
use std::fmt;

use super::Component;

/// A component whose write group another one is in: see [`Component::WRITE_GROUPS`].
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
// It has no code of the user's, so that it can be asked in the midst of anything: functions, since a program may have two
// components that are each in the group of the other.
#[derive(Clone, Copy)]
pub struct WriteGroup {
    target: fn() -> TypeId,
    /// The groups that the target is in itself.
    beyond: fn() -> &'static [WriteGroup],
}

impl WriteGroup {
    /// The group of a component.
    pub const fn of<T: Component>() -> Self {
        Self { target: TypeId::of::<T>, beyond: groups_of::<T> }
    }

    /// The type whose group it is.
    pub(crate) fn target(self) -> TypeId {
        (self.target)()
    }

    /// The groups that the target is in itself.
    pub(crate) fn beyond(self) -> &'static [Self] {
        (self.beyond)()
    }
}

fn groups_of<T: Component>() -> &'static [WriteGroup] {
    T::WRITE_GROUPS
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
