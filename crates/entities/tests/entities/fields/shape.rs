//! Shapes of the types of the standard library.

use std::collections::BTreeMap;
use std::mem::offset_of;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

use ancho_entities::{Entity, Field, FieldKind, FieldShape, Shape};

/// Returns whether the bytes may be read, and whether any bytes may be written.
fn bytes<T: Field>() -> (bool, bool) {
    assert_eq!((T::SHAPE.size, T::SHAPE.align), (size_of::<T>(), align_of::<T>()));
    (T::SHAPE.plain, T::SHAPE.any_bits)
}

#[test]
fn numbers_are_read_and_written() {
    assert_eq!(bytes::<u8>(), (true, true));
    assert_eq!(bytes::<i128>(), (true, true));
    assert_eq!(bytes::<f32>(), (true, true));
    assert_eq!(bytes::<Entity>(), (true, true));
    assert_eq!(bytes::<[(u32, f32); 3]>(), (true, true));
    assert_eq!(bytes::<()>(), (true, true));
}

#[test]
fn some_bits_are_no_value() {
    assert_eq!(bytes::<bool>(), (true, false));
    assert_eq!(bytes::<char>(), (true, false));
    assert_eq!(bytes::<NonZero<u32>>(), (true, false));
    assert_eq!(bytes::<(u8, bool)>(), (true, false));
    assert_eq!(bytes::<[bool; 2]>(), (true, false));
}

#[test]
fn padding_and_pointers_are_not_read() {
    assert_eq!(bytes::<(u8, u32)>(), (false, true));
    assert_eq!(bytes::<[(u8, u32); 2]>(), (false, true));
    assert_eq!(bytes::<Option<u8>>(), (false, false));
    assert_eq!(bytes::<Vec<u8>>(), (false, false));
    assert_eq!(bytes::<(u64, String)>(), (false, false));
    assert_eq!(bytes::<&'static str>(), (false, false));
    assert_eq!(bytes::<Duration>(), (false, false));
    assert_eq!(bytes::<Result<u8, u8>>(), (false, false));
}

/// Another thread may change them at any time.
#[test]
fn atomics_are_not_read() {
    assert_eq!(bytes::<AtomicU32>(), (false, true));
    assert_eq!(bytes::<AtomicBool>(), (false, false));
    assert_eq!(bytes::<(AtomicU32, u32)>(), (false, true));
}

#[test]
fn tuples_have_the_offsets_of_the_compiler() {
    type Tuple = (u8, u64, u16);
    let offsets: Vec<usize> = Tuple::SHAPE.fields().iter().map(|field| field.offset).collect();
    assert_eq!(offsets, [offset_of!(Tuple, 0), offset_of!(Tuple, 1), offset_of!(Tuple, 2)]);
    let last = <(u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u32)>::SHAPE.fields()[11];
    assert_eq!((last.name, last.shape.name), ("11", "u32"));
}

#[test]
fn shapes_print_as_types() {
    assert_eq!(<(u8,)>::SHAPE.to_string(), "(u8,)");
    assert_eq!(<[(u8, char); 3]>::SHAPE.to_string(), "[(u8, char); 3]");
    assert_eq!(<Box<Option<Entity>>>::SHAPE.to_string(), "Box<Option<Entity>>");
    assert_eq!(<BTreeMap<u8, Vec<String>>>::SHAPE.to_string(), "BTreeMap<u8, Vec<String>>");
    assert_eq!(<NonZero<u8>>::SHAPE.to_string(), "NonZero<u8>");
    assert_eq!(format!("{:>5}|{:?}", u8::SHAPE, FieldKind::F32), "   u8|f32");
}

#[test]
fn kinds_of_scalars_have_shapes() {
    for kind in [FieldKind::Bool, FieldKind::U8, FieldKind::Isize, FieldKind::Entity] {
        let shape = kind.scalar_shape().unwrap();
        assert_eq!((shape.name, shape.to_string()), (kind.kind_name(), kind.to_string()));
    }
}

#[test]
#[should_panic = "a field is within its type"]
fn a_field_outside_of_its_type_is_refused() {
    const FIELDS: &[FieldShape] = &[FieldShape::new::<u32>("late", 6)];
    let _ = Shape::laid_out("Short", FieldKind::Struct(FIELDS), 8, 4);
}
