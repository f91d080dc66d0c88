//! Reflection of components: names and offsets of fields, hashes of values, and replacement of the entities in values.
#![expect(unsafe_code, reason = "the contract that lets storage read and write bytes")]

mod flat;
mod hasher;
mod impls;
mod remap;
mod shape;
mod state;
mod values;

use std::marker::PhantomData;
use std::slice;

pub(crate) use flat::FlatLayout;
pub use hasher::StateHasher;
pub(crate) use hasher::Stream;
pub(crate) use impls::unit_field;
pub use remap::EntityRemap;
pub use shape::{FieldKind, FieldShape, Shape, VariantShape, field, opaque_field};
pub use state::{
    OpaqueStateField, StateField, StateValue, opaque_state_field, opaque_state_variant_field,
    state_field, state_variant_field,
};
pub use values::{Scalar, ValueError, ValuePart, ValueReader, ValueWriter, missing, unreadable};
pub(crate) use values::{read_list, read_newtype, write_list, write_newtype};

/// A type with reflection: a component, or a field of one.
///
/// `#[derive(Field)]` implements the trait for structs and enums. `#[derive(Component)]` implements it too. These types implement
/// `Field`:
///
/// - numbers, `bool`, `char`, text, `Duration`, atomics and [`Entity`](crate::Entity)
/// - [`Random`](ancho_burst::math::Random), [`Timer`](crate::Timer) and [`Stopwatch`](crate::Stopwatch)
/// - tuples, arrays, `Option`, `Result`, `Box`, `Vec` and the ordered collections
/// - the fixed strings and lists of `ancho_collections`
/// - blob assets and references to them, which are hashed by content
/// - the types of `glam`, and with the feature `glam_0_33` those of glam 0.33
///
/// Mark a field of any other type with `#[field(opaque)]`. An opaque field is part of the value, but is neither hashed nor searched
/// for entities. Values with shared ownership, such as an `Arc`, must be opaque, because replacing entities for one owner would
/// replace them for all owners. `Arc<str>`, which contains no entities, implements `Field`.
///
/// `HashMap` does not implement `Field`, because its order is undefined. Use `BTreeMap`. Elements of a `BTreeSet` or `BTreeMap`
/// must be `Clone`, so that the collection is unchanged if comparing replaced entities panics. Mark a collection whose keys or
/// values are not `Clone` with `#[field(opaque)]`.
///
/// # Options of the derive
///
/// - `#[field(opaque)]` on a field, or on the whole type, makes it opaque.
/// - `#[field(skip)]` on a field makes it opaque, and lets files omit it: a loaded value has the default of the field's type.
/// - `#[field(alias = "…")]` on a field or a variant is a name that it had in older files.
/// - Type parameters that are used by fields must implement `Field`, unless the fields are opaque.
///
/// # Values from outside
///
/// As with serde's `Deserialize`, values of a type that derives `Field` can be constructed from the values of their fields, without
/// calling a constructor of the type. Files, tools and [`set_bytes`](crate::EntityManager::set_bytes) do so. If unsafe code relies
/// on more than the types of the fields, mark those fields with `#[field(opaque)]`. A type with an opaque field is neither written
/// as bytes nor constructed from fields.
///
/// # Safety
///
/// [`SHAPE`](Self::SHAPE) must describe the type correctly, because code that reads and writes memory relies on it:
/// - the size, the alignment, and the offsets and shapes of the fields are those of the type
/// - if [`plain`](Shape::plain) is true, every byte of a value is initialised, and no byte changes through a shared reference
/// - if [`any_bits`](Shape::any_bits) is true, all byte patterns are valid values, unsafe code of the type does not rely on
///   further invariants, and values need no drop
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
#[doc(alias = "Reflect")]
pub unsafe trait Field: Sized + 'static {
    /// The name, kind, size and fields of the type.
    const SHAPE: &'static Shape;

    /// True if values may contain entities. If false, the search for entities is skipped.
    ///
    /// It is always true for `Box`, `Vec` and other collections, because their contents may be of the same type again.
    const HAS_ENTITIES: bool = Self::SHAPE.has_entities;

    /// Writes the contents of the value to a hasher, in the order of the fields.
    ///
    /// Equal values write the same bytes on every machine, whatever their address:
    ///
    /// - numbers as [`StateHasher`] writes them, `usize` in 64 bits
    /// - an enum as the index of its variant in 32 bits, then its fields
    /// - a collection as its length, then its elements
    /// - an array or a tuple as its elements alone
    fn hash_state(&self, state: &mut StateHasher);

    /// Writes many values to a hasher, one after the other, without their number.
    ///
    /// The result is the same as that of [`hash_state`](Self::hash_state) for each value. It is faster for types without padding
    /// whose values write their bytes as they are in memory. A type that implements `hash_state` by hand, and writes other bytes
    /// than its fields do, must implement this method too.
    #[inline]
    fn hash_states(values: &[Self], state: &mut StateHasher) {
        hasher::write_values(values, state);
    }

    /// Replaces every entity in the value.
    fn remap(&mut self, map: &mut EntityRemap<'_>);

    /// Writes the value to a file or a text, field by field.
    ///
    /// The default is for types that are implemented by hand: it records that the value cannot be written.
    fn write_value(&self, out: &mut dyn ValueWriter) {
        out.opaque(Self::SHAPE.name);
    }

    /// Reads a value from a file or a text, field by field.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has another value, or the type cannot be read.
    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        Err(unreadable(from, Self::SHAPE.name))
    }
}

/// Returns the shape of a type.
///
/// A pointer to this function refers to a shape lazily, so that a shape can refer to itself.
pub(crate) fn shape_of<T: Field>() -> &'static Shape {
    T::SHAPE
}

/// Returns the bytes of values, or `None` if the type is not [plain](Shape::plain).
pub(crate) fn plain_bytes<T: Field>(values: &[T]) -> Option<&[u8]> {
    // SAFETY:
    // - the memory is that of the slice, borrowed for the same lifetime
    // - each byte is initialised and does not change while it is borrowed, which `Field` guarantees for a type whose shape is plain
    T::SHAPE.plain.then(|| unsafe {
        slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values))
    })
}

/// Appends values, given their memory.
///
/// # Panics
///
/// Panics if the type is not [plain](Shape::plain), does not accept [any bits](Shape::any_bits), or the number of bytes is not a
/// multiple of its size.
fn extend_from_bytes<T: Field>(values: &mut Vec<T>, bytes: &[u8]) {
    assert!(T::SHAPE.plain && T::SHAPE.any_bits && bytes.len().is_multiple_of(size_of::<T>()));
    let count = bytes.len() / size_of::<T>();
    values.reserve_exact(count);
    let len = values.len();
    // SAFETY:
    // - the vector has room for `count` more values, which are as large as the bytes; the slice is in other memory
    // - any bytes are valid values, which `Field` guarantees for a type whose shape says so
    unsafe {
        let end = values.as_mut_ptr().add(len).cast::<u8>();
        end.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        values.set_len(len + count);
    }
}

/// A borrowed field of a type that derives [`Field`].
///
/// The methods of [`VisitField`] are found first. If the type of the field is not a `Field`, the methods of [`VisitNothing`] are
/// found, which need one more borrow. The shape, which the derive generates too, has the bound. So the compiler reports such a
/// field once, instead of once per method.
#[derive(Debug)]
pub struct FieldValue<R>(pub R);

/// Hashes and remaps a field.
pub trait VisitField: Sized {
    #[doc(hidden)]
    fn __ancho_hash(self, _: &mut StateHasher) {}

    #[doc(hidden)]
    fn __ancho_remap(self, _: &mut EntityRemap<'_>) {}

    #[doc(hidden)]
    fn __ancho_write(self, _: &mut dyn ValueWriter) {}
}

impl<F: Field> VisitField for FieldValue<&F> {
    #[inline(always)]
    fn __ancho_hash(self, state: &mut StateHasher) {
        self.0.hash_state(state);
    }

    #[inline(always)]
    fn __ancho_write(self, out: &mut dyn ValueWriter) {
        self.0.write_value(out);
    }
}

impl<F: Field> VisitField for FieldValue<&mut F> {
    #[inline(always)]
    fn __ancho_remap(self, map: &mut EntityRemap<'_>) {
        self.0.remap(map);
    }
}

/// Accepts a field that is not a [`Field`], in code that does not compile.
pub trait VisitNothing {
    #[doc(hidden)]
    fn __ancho_hash(&self, _: &mut StateHasher) {}

    #[doc(hidden)]
    fn __ancho_remap(&self, _: &mut EntityRemap<'_>) {}

    #[doc(hidden)]
    fn __ancho_write(&self, _: &mut dyn ValueWriter) {}
}

impl<R> VisitNothing for FieldValue<R> {}

/// Stands for the type of a field that is read. The methods of [`ReadField`] are found before those of [`ReadNothing`].
#[derive(Debug)]
pub struct FieldType<F>(pub PhantomData<fn() -> F>);

/// Reads a field.
pub trait ReadField<F> {
    #[doc(hidden)]
    fn __ancho_read(&self, from: &mut dyn ValueReader) -> Result<F, ValueError>;
}

impl<F: Field> ReadField<F> for FieldType<F> {
    fn __ancho_read(&self, from: &mut dyn ValueReader) -> Result<F, ValueError> {
        F::read_value(from)
    }
}

/// Accepts a field that is not a [`Field`], in code that does not compile.
pub trait ReadNothing<F> {
    #[doc(hidden)]
    fn __ancho_read(&self, from: &mut dyn ValueReader) -> Result<F, ValueError>;
}

impl<F> ReadNothing<F> for &FieldType<F> {
    fn __ancho_read(&self, from: &mut dyn ValueReader) -> Result<F, ValueError> {
        Err(unreadable(from, std::any::type_name::<F>()))
    }
}
