//! Relationships: components that refer to another entity, which has a buffer of the entities that refer to it.

#![expect(unsafe_code, reason = "sources and buffers whose type was erased")]

use std::any::TypeId;

use crate::buffer::{Buffer, BufferElement, DynamicBuffer, write_empty};
use crate::builtin::{Child, Parent};
use crate::component::{
    Component, ComponentType, Duplicate, RelationshipInfo, SourceList, TypeSlot,
};
use crate::entity::Entity;
use crate::field::Field;

/// A component that refers to another entity, its *target*. The target has a buffer of all its *sources*.
///
/// The source component is the truth. The world updates the buffer in the same operation that adds, replaces or removes a source, so
/// that both directions always agree. Both are immutable: change a link with [`add`](crate::EntityManager::add),
/// [`set`](crate::EntityManager::set) and [`remove`](crate::EntityManager::remove). A target without sources has no buffer. One
/// source has one target per relationship.
///
/// Options of `#[relationship(…)]`:
///
/// | option | meaning |
/// |---|---|
/// | `reverse = Children` | the element of the buffer; that type has `#[buffer(reverse_of = ChildOf)]` |
/// | `ordered` | the buffer keeps the order of attachment; otherwise the last source takes the place of a removed one |
/// | `acyclic` | an operation that would make an entity its own ancestor fails with A0140 |
/// | `allow_self` | an entity may be its own target; otherwise such an operation fails with A0210 |
/// | `on_target_despawn = despawn` | sources are despawned, enabled, instantiated and moved together with their target |
/// | `on_target_despawn = detach` | sources lose the component when the target is despawned; this is the default |
///
/// # Examples
///
/// ```
/// use ancho_entities::{BufferElement, Component, Entity, World};
///
/// #[derive(Component, Clone, Copy)]
/// #[relationship(reverse = Cargo, ordered, on_target_despawn = despawn)]
/// struct CarriedBy(Entity);
///
/// #[derive(BufferElement, Clone, Copy)]
/// #[buffer(reverse_of = CarriedBy)]
/// struct Cargo(Entity);
///
/// let mut world = World::new("Simulation");
/// let ship = world.spawn(());
/// let barrel = world.spawn(CarriedBy(ship));
/// assert_eq!(world.sources::<CarriedBy>(ship), [barrel]);
/// world.despawn(ship)?;
/// assert!(!world.exists(barrel));
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a relationship",
    label = "not a relationship",
    note = "write `#[derive(Component)]` and `#[relationship(reverse = …)]` on a struct with one field of type `Entity`"
)]
pub trait Relationship: Component + Copy {
    /// The element of the buffer that targets have.
    type Reverse: RelationshipTarget<Source = Self>;

    /// True if the buffer keeps the order in which sources were attached.
    const ORDERED: bool = false;

    /// True if no entity may be its own ancestor.
    const ACYCLIC: bool = false;

    /// True if an entity may be its own target.
    const ALLOW_SELF: bool = false;

    /// True if sources are despawned, enabled, instantiated and moved together with their target.
    const LINKED: bool = false;

    /// Creates the component of a source.
    fn new(target: Entity) -> Self;

    /// Returns the target.
    fn target(&self) -> Entity;
}

/// The element of a buffer that contains the sources of a [`Relationship`].
///
/// `#[buffer(reverse_of = ChildOf)]` on a struct with one field of type `Entity` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the reverse of a relationship",
    label = "not the reverse of a relationship",
    note = "write `#[derive(BufferElement, Clone, Copy)]` and `#[buffer(reverse_of = …)]` on a struct with one field of type \
            `Entity`"
)]
pub trait RelationshipTarget: BufferElement + Copy {
    /// The component that refers to the entity with the buffer.
    type Source: Relationship<Reverse = Self>;

    /// Creates the element of a source.
    fn new(source: Entity) -> Self;

    /// Returns the source.
    fn source(&self) -> Entity;
}

impl RelationshipInfo {
    /// Creates the metadata of a relationship. Only the derive calls this.
    #[must_use]
    pub const fn of<R: Relationship>() -> Self {
        const {
            assert!(
                size_of::<R::Reverse>() == size_of::<Entity>()
                    && align_of::<R::Reverse>() == align_of::<Entity>()
                    && <R::Reverse as Field>::SHAPE.plain
                    && <R::Reverse as Field>::SHAPE.any_bits,
                "the reverse of a relationship is a struct with one field of type `Entity`"
            );
            assert!(
                !R::ENABLEABLE
                    && !R::CLEANUP
                    && !<R::Reverse as BufferElement>::ENABLEABLE
                    && !<R::Reverse as BufferElement>::CLEANUP,
                "the types of a relationship are neither enableable nor cleanup components"
            );
        }
        Self {
            rust_types: || (TypeId::of::<R>(), TypeId::of::<R::Reverse>()),
            source: ComponentType::of::<R>,
            reverse: ComponentType::of_buffer::<R::Reverse>,
            ordered: R::ORDERED,
            acyclic: R::ACYCLIC,
            allow_self: R::ALLOW_SELF,
            linked: R::LINKED,
            write: write_source::<R>,
            target: read_target::<R>,
            write_empty: write_empty_list::<R>,
            edit: edit_sources::<R>,
        }
    }
}

/// Implements [`ReadTarget`](crate::component::ReadTarget).
///
/// # Safety
///
/// - the address has a value of `R`, which does not change during the call
unsafe fn read_target<R: Relationship>(value: *const u8) -> Entity {
    // SAFETY: the address has a value of `R`.
    unsafe { &*value.cast::<R>() }.target()
}

/// Implements [`WriteSource`](crate::component::WriteSource).
///
/// # Safety
///
/// - the address has room for a value of `R`
unsafe fn write_source<R: Relationship>(value: *mut u8, target: Entity) {
    // SAFETY: the address has room for a value of `R`.
    unsafe { value.cast::<R>().write(R::new(target)) }
}

/// Implements [`WriteEmpty`](crate::component::WriteEmpty).
///
/// # Safety
///
/// - the address has room for a buffer of `R::Reverse`
unsafe fn write_empty_list<R: Relationship>(buffer: *mut u8) {
    // SAFETY: the address has room for a buffer of this type.
    unsafe { write_empty::<R::Reverse>(buffer.cast()) }
}

/// Implements [`EditSources`](crate::component::EditSources).
///
/// # Safety
///
/// - the address has a buffer of `R::Reverse`, which no other code uses during the call
unsafe fn edit_sources<R: Relationship>(
    buffer: *mut u8,
    edit: &mut dyn FnMut(&mut dyn SourceList),
) {
    // SAFETY: the address has a buffer of this type, which no other code uses during the call.
    let mut buffer = unsafe { DynamicBuffer::<R::Reverse>::new(buffer.cast()) };
    edit(&mut buffer.reinterpret::<Entity>());
}

impl<S: BufferElement> SourceList for DynamicBuffer<'_, Entity, S> {
    fn as_slice(&self) -> &[Entity] {
        self.as_slice()
    }

    fn as_mut_slice(&mut self) -> &mut [Entity] {
        self.as_mut_slice()
    }

    fn extend(&mut self, sources: &[Entity]) {
        self.extend_from_slice(sources);
    }

    fn insert(&mut self, index: usize, source: Entity) {
        self.insert(index, source);
    }

    fn remove(&mut self, index: usize) {
        self.remove(index);
    }

    fn swap_remove(&mut self, index: usize) {
        self.swap_remove(index);
    }

    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }
}

#[diagnostic::do_not_recommend]
impl Component for Parent {
    const RELATIONSHIP: Option<&'static RelationshipInfo> = Some(&RelationshipInfo::of::<Self>());

    fn name() -> &'static str {
        "ancho::Parent"
    }

    fn duplicate() -> Duplicate<Self> {
        Duplicate::<Self>::bytes()
    }

    fn slot() -> Option<&'static TypeSlot<Self>> {
        static SLOT: TypeSlot<Parent> = TypeSlot::new();
        Some(&SLOT)
    }
}

#[diagnostic::do_not_recommend]
impl Relationship for Parent {
    type Reverse = Child;
    const ORDERED: bool = true;
    const ACYCLIC: bool = true;
    const LINKED: bool = true;

    #[inline]
    fn new(target: Entity) -> Self {
        Self(target)
    }

    #[inline]
    fn target(&self) -> Entity {
        self.0
    }
}

#[diagnostic::do_not_recommend]
impl BufferElement for Child {
    const INLINE: usize = 0;
    const REVERSE_OF: Option<&'static RelationshipInfo> = Parent::RELATIONSHIP;

    fn name() -> &'static str {
        "ancho::Child"
    }

    fn duplicate() -> Duplicate<Self> {
        Duplicate::<Self>::bytes()
    }

    fn slot() -> Option<&'static TypeSlot<Buffer<Self>>> {
        static SLOT: TypeSlot<Buffer<Child>> = TypeSlot::new();
        Some(&SLOT)
    }
}

#[diagnostic::do_not_recommend]
impl RelationshipTarget for Child {
    type Source = Parent;

    #[inline]
    fn new(source: Entity) -> Self {
        Self(source)
    }

    #[inline]
    fn source(&self) -> Entity {
        self.0
    }
}
