//! Type-erased metadata of a relationship: a component that refers to another entity, and the buffer of the other direction.

use std::any::TypeId;
use std::fmt;

use super::ComponentType;
use crate::entity::Entity;

/// A type whose values can be changed through references.
///
/// The derives of [`Component`](crate::Component) and [`BufferElement`](crate::BufferElement) implement this trait, except for the
/// types of a [`Relationship`](crate::Relationship). Both directions of a relationship have to agree, so that the world changes them
/// together.
///
/// # Examples
///
/// ```compile_fail,E0277
/// use ancho_entities::{BufferElement, Component, Entity, Query};
///
/// #[derive(Component, Clone, Copy)]
/// #[relationship(reverse = Cargo)]
/// struct CarriedBy(Entity);
///
/// #[derive(BufferElement, Clone, Copy)]
/// #[buffer(reverse_of = CarriedBy)]
/// struct Cargo(Entity);
///
/// fn steal(_: Query<&mut CarriedBy>) {}
/// # let _ = steal;
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be changed through a reference",
    label = "immutable, or without `impl Mutable`",
    note = "the types of a relationship are immutable: change a link with `add`, `set` or `remove`, and read it with `&{Self}`",
    note = "`#[derive(Component)]` and `#[derive(BufferElement)]` implement `Mutable` for other types"
)]
pub trait Mutable {}

/// The type-erased metadata of a relationship.
#[doc(hidden)]
pub struct RelationshipInfo {
    /// Returns the Rust types of the source component and of the elements of the buffer.
    pub(crate) rust_types: fn() -> (TypeId, TypeId),
    /// Returns the type of the component that refers to the target.
    pub(crate) source: fn() -> ComponentType,
    /// Returns the type of the buffer with the sources of a target.
    pub(crate) reverse: fn() -> ComponentType,
    /// True if the buffer keeps the order in which sources were attached.
    pub(crate) ordered: bool,
    /// True if no entity may be its own ancestor.
    pub(crate) acyclic: bool,
    /// True if an entity may refer to itself.
    pub(crate) allow_self: bool,
    /// True if sources are despawned together with their target.
    pub(crate) linked: bool,
    /// Writes a source component.
    pub(crate) write: WriteSource,
    /// Reads the target of a source component.
    pub(crate) target: ReadTarget,
    /// Writes an empty buffer of the other direction.
    pub(crate) write_empty: WriteEmpty,
    /// Gives access to the buffer of the other direction.
    pub(crate) edit: EditSources,
}

/// Returns the target of the source component at an address.
///
/// # Safety
///
/// - the address has a value of the source component, which does not change during the call
pub(crate) type ReadTarget = unsafe fn(*const u8) -> Entity;

/// Writes the source component with a target to an address.
///
/// # Safety
///
/// - the address has room for a value of the source component
pub(crate) type WriteSource = unsafe fn(*mut u8, Entity);

/// Writes an empty buffer to an address.
///
/// # Safety
///
/// - the address has room for a buffer of the reverse type
pub(crate) type WriteEmpty = unsafe fn(*mut u8);

/// Calls a function with the buffer at an address.
///
/// # Safety
///
/// - the address has a buffer of the reverse type, which no other code uses during the call
pub(crate) type EditSources = unsafe fn(*mut u8, &mut dyn FnMut(&mut dyn SourceList));

/// The entities in the buffer of a target.
pub(crate) trait SourceList {
    /// Returns the entities.
    fn as_slice(&self) -> &[Entity];
    /// Returns the entities, which may be permuted.
    fn as_mut_slice(&mut self) -> &mut [Entity];
    /// Appends entities.
    fn extend(&mut self, sources: &[Entity]);
    /// Inserts an entity at an index.
    fn insert(&mut self, index: usize, source: Entity);
    /// Removes the entity at an index. The others keep their order.
    fn remove(&mut self, index: usize);
    /// Removes the entity at an index. The last entity takes its place.
    fn swap_remove(&mut self, index: usize);
    /// Keeps the first `len` entities.
    fn truncate(&mut self, len: usize);
}

impl fmt::Debug for RelationshipInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelationshipInfo")
            .field("source", &(self.source)())
            .field("reverse", &(self.reverse)())
            .field("ordered", &self.ordered)
            .field("acyclic", &self.acyclic)
            .field("allow_self", &self.allow_self)
            .field("linked", &self.linked)
            .finish()
    }
}
