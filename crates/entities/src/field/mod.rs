//! Reflection of components: names and offsets of fields, hashes of values, and the entities in them.
#![expect(unsafe_code, reason = "the contract that lets storage read and write bytes")]

mod hasher;
mod impls;
mod remap;
mod shape;

use std::slice;

pub use hasher::StateHasher;
pub(crate) use impls::unit_field;
pub use remap::EntityRemap;
pub use shape::{FieldKind, FieldShape, Shape, VariantShape, field, opaque_field};

/// A type with reflection: a component, or a field of one.
///
/// `#[derive(Field)]` implements it for structs and enums, and `#[derive(Component)]` includes it. These types implement it:
///
/// - numbers, `bool`, `char`, text, `Duration`, atomics and [`Entity`](crate::Entity)
/// - tuples, arrays, `Option`, `Result`, `Box`, `Vec` and the ordered collections
/// - the fixed strings and lists of `ancho_collections`
/// - blob assets and references to them, which are hashed by content
/// - the types of `glam`
///
/// Mark a field of any other type with `#[field(opaque)]`. It stays part of the value, but is neither hashed nor searched for
/// entities. Shared values such as an `Arc` must be opaque: two owners cannot each have their own entities. (`Arc<str>`, which
/// holds no entities, is a field.)
///
/// `HashMap` is not a field either, since its order is undefined. Use `BTreeMap`. Elements of a `BTreeSet` or `BTreeMap` must be
/// `Clone`, so that the collection is unchanged if comparing replaced entities panics. Mark a collection whose keys or values are
/// not `Clone` with `#[field(opaque)]`.
///
/// # Options of the derive
///
/// - `#[field(opaque)]` on a field, or on the whole type.
/// - Generic types: parameters used by fields that are not opaque must be `Field`.
///
/// # Values from outside
///
/// Deriving `Field` permits the same as deriving serde's `Deserialize`: files, tools and
/// [`set_bytes`](crate::EntityManager::set_bytes) construct values from the values of their fields and bypass the constructors of
/// the type. If unsafe code relies on more than the types of the fields, mark those fields `#[field(opaque)]`. Such a type is
/// neither written as bytes nor constructed from fields.
///
/// # Safety
///
/// [`SHAPE`](Self::SHAPE) must be true of the type, since code that reads and writes memory relies on it:
/// - its size, its alignment, and the offsets and shapes of its fields are those of the type
/// - if it is [plain](Shape::plain), every byte of a value is initialised, and is not changed through a shared reference
/// - if it takes [any bits](Shape::any_bits), all byte patterns are valid values, the unsafe code of the type relies on nothing
///   else, and values need no drop
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "derive")]
/// # {
/// use ancho_entities::{Entity, Field, StateHasher};
///
/// #[derive(Field)]
/// struct Aim {
///     target: Entity,
///     offset: [f32; 3],
///     #[field(opaque)]
///     cached: Option<std::sync::Arc<Vec<f32>>>,
/// }
///
/// let names: Vec<&str> = Aim::SHAPE.fields().iter().map(|field| field.name).collect();
/// assert_eq!(names, ["target", "offset", "cached"]);
/// assert!(Aim::HAS_ENTITIES);
///
/// let mut state = StateHasher::new();
/// Aim { target: Entity::NULL, offset: [0.0; 3], cached: None }.hash_state(&mut state);
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `Field`",
    label = "this is not a `Field`",
    note = "derive `Field` for `{Self}`, or mark the field `#[field(opaque)]`: then it is neither hashed nor searched for entities"
)]
pub unsafe trait Field: Sized + 'static {
    /// The name, kind, size and fields of the type.
    const SHAPE: &'static Shape;

    /// Is `true` if values may hold entities. If `false`, the search for entities is skipped.
    ///
    /// It is always `true` behind a `Box` or in a `Vec`, since the contents may be of the same type again.
    const HAS_ENTITIES: bool = Self::SHAPE.has_entities;

    /// Writes the contents of the value in the order of its fields, independent of its address.
    ///
    /// Equal values write the same bytes on every machine:
    ///
    /// - numbers as [`StateHasher`] writes them, `usize` in 64 bits
    /// - an enum as the index of its variant in 32 bits, then its fields
    /// - a collection as its length, then its elements
    /// - an array or a tuple as its elements alone
    fn hash_state(&self, state: &mut StateHasher);

    /// Writes many values, one after the other, without their count.
    ///
    /// It equals [`hash_state`](Self::hash_state) of each, but is faster for types without padding that are hashed as they are in
    /// memory. A type whose manual `hash_state` differs from that of the fields in its shape must implement this too.
    #[inline]
    fn hash_states(values: &[Self], state: &mut StateHasher) {
        hasher::write_values(values, state);
    }

    /// Replaces every entity in the value.
    fn remap(&mut self, map: &mut EntityRemap<'_>);
}

/// Returns the shape of a type.
///
/// As a function pointer it refers to a shape lazily, so a shape can refer to itself.
pub(crate) fn shape_of<T: Field>() -> &'static Shape {
    T::SHAPE
}

/// Returns the bytes of the values, if they are plain.
fn plain_bytes<T: Field>(values: &[T]) -> Option<&[u8]> {
    // SAFETY:
    // - the memory is that of the slice, borrowed for the same lifetime
    // - each byte is initialised and does not change while it is borrowed, which `Field` guarantees for a type whose shape is plain
    T::SHAPE.plain.then(|| unsafe {
        slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values))
    })
}
