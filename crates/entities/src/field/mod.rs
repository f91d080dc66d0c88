//! What components consist of: names and offsets, hashes of values, and the entities in them.
#![expect(unsafe_code, reason = "the contract that lets storage read and write bytes")]

mod containers;
#[cfg(feature = "glam")]
mod glam;
mod hasher;
mod remap;
mod scalar;
mod shape;

pub use hasher::StateHasher;
pub use remap::EntityRemap;
pub use shape::{FieldKind, FieldShape, Shape, VariantField, VariantShape, field, opaque_field};

/// A type that can be looked into: a component, or what is in one.
///
/// `#[derive(Field)]` implements it for structs and enums, and `#[derive(Component)]` does so in passing. It is
/// there for numbers, `bool`, `char`, text, [`Entity`](crate::Entity), tuples, arrays, `Option`, `Result`, `Box`, `Vec`,
/// the ordered collections, `Duration`, atomics, the fixed strings and lists of `ancho_collections`, its blob assets and
/// references to them, which are hashed by their content, and the types of `glam`.
///
/// A field of any other type is marked `#[field(opaque)]`: it is a part of the value, but is neither hashed nor
/// searched for entities. That is also what to do with what is shared, such as an `Arc`: two owners cannot both
/// be given their own entities. (`Arc<str>`, in which there are none, is a field.) `HashMap` is not a
/// field either: its order is not defined. Use `BTreeMap`. What is in a `BTreeSet` or `BTreeMap` is `Clone`, so that the
/// collection stays as it was if comparing replaced entities panics. One with keys or values that are not `Clone` is marked
/// `#[field(opaque)]`.
///
/// # What the derive takes
///
/// - `#[field(opaque)]` on a field, or on the whole type.
/// - Types with parameters: those that are used by fields which are not opaque must be `Field`.
///
/// # Values from outside
///
/// Who derives `Field` allows what deriving `Deserialize` allows in serde: values are put together from the
/// values of fields, by files, tools and [`set_bytes`](crate::EntityManager::set_bytes), around the constructors of the
/// type. If unsafe code relies on more than the types of the fields, mark those fields `#[field(opaque)]`; such a
/// type is neither written as bytes nor made of fields.
///
/// # Safety
///
/// [`SHAPE`](Self::SHAPE) tells the truth about the type, and code that reads and writes memory relies on it:
/// - its size, its alignment, and the offsets and shapes of its fields are those of the type
/// - if it is [plain](Shape::plain), every byte of a value is initialised, and is not changed through a shared
///   reference
/// - if it takes [any bits](Shape::any_bits), all bytes are a valid value, the unsafe code of the type relies
///   on nothing else, and values need not be dropped
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
    message = "`{Self}` cannot be looked into",
    label = "this is not a `Field`",
    note = "derive `Field` for `{Self}`, or mark the field `#[field(opaque)]`: then it is neither hashed nor searched for entities"
)]
pub unsafe trait Field: Sized + 'static {
    /// Name, kind, size and fields of the type.
    const SHAPE: &'static Shape;

    /// Whether values may hold entities. If not, nobody needs to look for them.
    ///
    /// Behind a `Box` or in a `Vec` it is always assumed, since what is there may be of the type that is asked.
    const HAS_ENTITIES: bool = Self::SHAPE.has_entities;

    /// Writes the value: what is in it, in the order of its fields, and nothing of where it is.
    ///
    /// Equal values write the same, on every machine. Numbers are written as [`StateHasher`] does, `usize` in 64
    /// bits, an enum as the index of its variant in 32 and then its fields, a collection as its length and
    /// then its elements, an array or a tuple as its elements alone.
    fn hash_state(&self, state: &mut StateHasher);

    /// Writes many values, one after the other, without their number.
    ///
    /// It is [`hash_state`](Self::hash_state) of each, but faster for types without padding: those of numbers that
    /// are hashed as they lie in memory. A type that implements `hash_state` by hand in a way that is not
    /// that of its fields, as its shape names them, implements this too.
    #[inline]
    fn hash_states(values: &[Self], state: &mut StateHasher) {
        hasher::write_values(values, state);
    }

    /// Replaces every entity in the value.
    fn remap(&mut self, map: &mut EntityRemap<'_>);
}

/// Returns the shape of a type. As a pointer it stands for a shape that is found when it is asked for, which may
/// be the one that holds the pointer.
pub(crate) fn shape_of<T: Field>() -> &'static Shape {
    T::SHAPE
}
