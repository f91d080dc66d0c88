//! Component types whose old values observers can request.

#![expect(unsafe_code, reason = "reads old values by type")]

use crate::buffer::{Buffer, BufferElement, Header, elements_of};
use crate::component::{Component, ComponentType, SharedValue};
use crate::managed::{Managed, ManagedComponent};
use crate::set::ComponentSet;
use crate::shared::{Shared, SharedComponent};

/// A component type whose old values observers can request with [`Value`](super::Value).
///
/// | type | old value |
/// |---|---|
/// | a [`Component`] | `&T` |
/// | [`Managed<T>`](Managed) | `&T` |
/// | [`Shared<T>`](Shared) | `&T` |
/// | [`Buffer<T>`](Buffer) | `&[T]` |
///
/// Components implement it by `#[derive(Component)]`, and tuples do not.
///
/// # Safety
///
/// - the set has one type, and `read_old` reads what a column of this type has
///
/// # Examples
///
/// ```
/// use ancho_entities::{Buffer, BufferElement, On, Remove, ResMut, Resource, Value, World};
///
/// #[derive(BufferElement)]
/// struct Item(u32);
///
/// #[derive(Resource, Clone)]
/// struct Loot(Vec<u32>);
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Loot(Vec::new()));
/// world.add_observer(|lost: On<Remove<Buffer<Item>>, Value>, mut loot: ResMut<Loot>| {
///     loot.0.extend(lost.iter().filter_map(|event| event.value()).flatten().map(|item| item.0));
/// });
/// let chest = world.spawn(Buffer::from([Item(3), Item(5)]));
/// world.despawn(chest)?;
/// assert_eq!(world.resource::<Loot>().0, [3, 5]);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no old values",
    label = "no old values",
    note = "components, `Managed<T>`, `Shared<T>` and `Buffer<T>` have old values, and tuples do not"
)]
pub unsafe trait OldValue: ComponentSet {
    /// The type of the value.
    type Target: ?Sized;

    /// Returns one of the old values of a run.
    ///
    /// # Safety
    ///
    /// - there are more than `at` values at the address, in the form that they have in a column, or there is one [`SharedValue`]
    /// - they live as long as the result, and no other thread uses them meanwhile unless they are `Sync`
    #[doc(hidden)]
    unsafe fn read_old<'b>(values: *const u8, at: usize) -> &'b Self::Target;
}

// SAFETY: the column of a component has values of the type.
unsafe impl<T: Component> OldValue for T {
    type Target = T;

    unsafe fn read_old<'b>(values: *const u8, at: usize) -> &'b T {
        // SAFETY: there are more than `at` values of the type, which live as long as the result.
        unsafe { &*values.cast::<T>().add(at) }
    }
}

// SAFETY: the column of a managed component has boxes.
unsafe impl<T: ManagedComponent> OldValue for Managed<T> {
    type Target = T;

    unsafe fn read_old<'b>(values: *const u8, at: usize) -> &'b T {
        // SAFETY: the column of a managed component has boxes. There are more than `at` of them, which live as long as the result,
        // and no other thread uses them.
        unsafe { &*values.cast::<Box<T>>().add(at) }
    }
}

// SAFETY: a shared component has no column, and its old value is a `SharedValue`.
unsafe impl<T: SharedComponent> OldValue for Shared<T> {
    type Target = T;

    unsafe fn read_old<'b>(values: *const u8, _: usize) -> &'b T {
        // SAFETY: all entities of the run have one value, which lives as long as the result.
        let value = unsafe { &*values.cast::<SharedValue>() };
        value.downcast_ref().expect("a value of the shared component")
    }
}

// SAFETY: the column of a buffer has headers with inline elements, of the size of the type.
unsafe impl<T: BufferElement> OldValue for Buffer<T> {
    type Target = [T];

    unsafe fn read_old<'b>(values: *const u8, at: usize) -> &'b [T] {
        let size = ComponentType::of_buffer::<T>().size();
        // SAFETY: there are more than `at` buffers of this size, which live as long as the result and do not change.
        unsafe { elements_of(values.add(at * size).cast::<Header>()) }
    }
}
