//! Aspects: query data as user-defined structs.

use super::data::{QueryData, ReadOnlyData};
use super::parallel::ParallelData;
use super::special_data::{EnabledMut, EnabledRef, Ref, TrackedMut};
use crate::buffer::{Buffer, BufferElement, DynamicBuffer};
use crate::component::{Component, Mutable};
use crate::entity::Entity;
use crate::managed::{Managed, ManagedComponent};
use crate::per_chunk::PerChunk;
use crate::set::ComponentSet;
use crate::shared::{Shared, SharedComponent};

/// Query data as a struct with named fields and methods, for components that belong together.
///
/// `#[derive(Aspect)]` implements the trait. A query yields the struct for each entity that matches all fields, as fast as a
/// tuple of the same data. This is Unity's `IAspect`.
///
/// | field | entities |
/// |---|---|
/// | `&'w T`, `&'w mut T` | those that have the component, enabled |
/// | `Entity` | all |
/// | `&'w [T]`, `DynamicBuffer<'w, T>` | those that have the buffer, enabled |
/// | `TrackedMut<'w, T>`, `Ref<'w, T>` | those that have the component, enabled |
/// | `EnabledRef<'w, T>`, `EnabledMut<'w, T>` | those that have the component, enabled or disabled |
/// | `#[aspect(shared)]` `&'w T` | those that have the shared component |
/// | `#[aspect(chunk)]` `&'w T` | those whose chunk has a value |
/// | `#[aspect(managed)]` `&'w T`, `&'w mut T` | those that have the managed component, enabled |
/// | another aspect | those that match it |
/// | `Option` of any of these | all |
///
/// An aspect with only read-only fields is [`ReadOnlyData`], and works with a shared borrow of the world. For a mutable aspect,
/// `#[aspect(read_only = Name)]` on the struct generates a read-only struct with the same fields. Nested aspects then need a
/// read-only struct too.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Aspect, Component, Entity, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Velocity(f32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Drag(f32);
///
/// #[derive(Aspect)]
/// #[aspect(read_only = MoverView)]
/// struct Mover<'w> {
///     entity: Entity,
///     position: &'w mut Position,
///     velocity: &'w Velocity,
///     drag: Option<&'w Drag>,
/// }
///
/// impl Mover<'_> {
///     fn step(&mut self) {
///         self.position.0 += self.velocity.0 * self.drag.map_or(1.0, |drag| 1.0 - drag.0);
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// let stone = world.spawn((Position(0.0), Velocity(2.0)));
/// let feather = world.spawn((Position(0.0), Velocity(2.0), Drag(0.5)));
/// world.query_mut::<Mover>().for_each(|mut mover| mover.step());
/// world.query_mut::<Mover>().get_mut(feather).unwrap().step();
///
/// let moved: Vec<_> = world.query::<MoverView>().iter().map(|mover| (mover.entity, mover.position.0)).collect();
/// assert_eq!(moved, [(stone, 2.0), (feather, 2.0)]);
/// ```
#[doc(alias = "IAspect")]
pub trait Aspect: QueryData {
    /// The read-only form: the struct named in `#[aspect(read_only = …)]`, or the aspect itself.
    type ReadOnly: QueryData;
}

/// A type that can be a field of an aspect, with a marker for the kind of its component.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of an aspect",
    label = "not a field of an aspect",
    note = "fields are `&'w T`, `&'w mut T`, `Entity`, `&'w [T]` and `DynamicBuffer<'w, T>`, `EnabledRef<'w, T>` and \
            `EnabledMut<'w, T>`, other aspects, or an `Option` of these",
    note = "write `#[aspect(shared)]`, `#[aspect(chunk)]` or `#[aspect(managed)]` on a field of a component of such a kind"
)]
pub trait AspectField<Kind> {
    /// The query data of the field.
    type Data: QueryData;
    /// The read-only query data of the field.
    type ReadOnly: QueryData;
}

/// A field whose query data is read-only. Derived code relies on this.
#[doc(hidden)]
pub trait ReadOnlyField<Kind> {
    const SEALED: Sealed;
}

impl<Kind, F: AspectField<Kind, Data: ReadOnlyData>> ReadOnlyField<Kind> for F {
    const SEALED: Sealed = Sealed;
}

/// A field whose query data can be fetched on any thread. Derived code relies on this.
#[doc(hidden)]
pub trait ParallelField<Kind> {
    const SEALED: Sealed;
}

impl<Kind, F: AspectField<Kind, Data: ParallelData>> ParallelField<Kind> for F {
    const SEALED: Sealed = Sealed;
}

/// A field whose read-only query data can be fetched on any thread. Derived code relies on this.
#[doc(hidden)]
pub trait ParallelViewField<Kind> {
    const SEALED: Sealed;
}

impl<Kind, F: AspectField<Kind, ReadOnly: ParallelData>> ParallelViewField<Kind> for F {
    const SEALED: Sealed = Sealed;
}

/// The type of a constant of the field traits. Other crates cannot name it, and so cannot implement these traits.
#[derive(Debug)]
#[expect(unnameable_types, reason = "seals the traits of fields")]
pub struct Sealed;

/// Marker for fields without an attribute.
#[doc(hidden)]
#[derive(Debug)]
pub enum PlainField {}

/// Marker for fields with `#[aspect(shared)]`.
#[doc(hidden)]
#[derive(Debug)]
pub enum SharedField {}

/// Marker for fields with `#[aspect(chunk)]`.
#[doc(hidden)]
#[derive(Debug)]
pub enum ChunkField {}

/// Marker for fields with `#[aspect(managed)]`.
#[doc(hidden)]
#[derive(Debug)]
pub enum ManagedField {}

/// Maps field types to their query data and read-only query data.
macro_rules! fields {
    ($([$($T:ident: $($bound:path),+)?] $kind:ident $field:ty => $data:ty, $read:ty;)+) => {$(
        impl$(<$T: $($bound +)+>)? AspectField<$kind> for $field {
            type Data = $data;
            type ReadOnly = $read;
        }
    )+};
}

fields! {
    [T: Component] PlainField &T => &'static T, &'static T;
    [T: Component, Mutable] PlainField &mut T => &'static mut T, &'static T;
    [T: BufferElement] PlainField &[T] => &'static Buffer<T>, &'static Buffer<T>;
    [T: BufferElement, Mutable] PlainField DynamicBuffer<'_, T> => &'static mut Buffer<T>, &'static Buffer<T>;
    [T: ComponentSet] PlainField EnabledRef<'_, T> => EnabledRef<'static, T>, EnabledRef<'static, T>;
    [T: ComponentSet] PlainField EnabledMut<'_, T> => EnabledMut<'static, T>, EnabledRef<'static, T>;
    [T: Component, Mutable] PlainField TrackedMut<'_, T> => TrackedMut<'static, T>, &'static T;
    [T: Component] PlainField Ref<'_, T> => Ref<'static, T>, Ref<'static, T>;
    [T: SharedComponent] SharedField &T => &'static Shared<T>, &'static Shared<T>;
    [T: Component, Default] ChunkField &T => &'static PerChunk<T>, &'static PerChunk<T>;
    [T: ManagedComponent] ManagedField &T => &'static Managed<T>, &'static Managed<T>;
    [T: ManagedComponent] ManagedField &mut T => &'static mut Managed<T>, &'static Managed<T>;
    [] PlainField Entity => Entity, Entity;
}

impl<Kind, F: AspectField<Kind>> AspectField<Kind> for Option<F> {
    type Data = Option<F::Data>;
    type ReadOnly = Option<F::ReadOnly>;
}
