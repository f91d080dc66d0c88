//! Implementations that `#[derive(Field)]` generates for structs and enums.
//!
//! The crate forbids `unsafe` and warnings, as a user's crate may; the derive compiles all the same.
#![forbid(unsafe_code)]
#![deny(warnings)]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::rc::Rc;

use ancho_entities::{Entity, EntityRemap, Field, FieldKind, StateHasher};

fn hash<T: Field>(value: &T) -> u64 {
    let mut state = StateHasher::new();
    value.hash_state(&mut state);
    state.finish()
}

/// Returns the hash of the bytes that the function writes.
fn hash_of(write: impl FnOnce(&mut StateHasher)) -> u64 {
    let mut state = StateHasher::new();
    write(&mut state);
    state.finish()
}

/// Adds 100 to the index of each entity, and returns the number of entities.
fn shift(value: &mut impl Field) -> usize {
    let mut count = 0;
    let mut map = |entity: Entity| {
        count += 1;
        Entity::from_parts(entity.index() + 100, entity.version())
    };
    value.remap(&mut EntityRemap::new(&mut map));
    count
}

fn has_entities<T: Field>() -> bool {
    T::HAS_ENTITIES
}

fn entity(index: u32) -> Entity {
    Entity::from_parts(index, 1)
}

#[derive(Field, Clone, Debug, PartialEq)]
struct Mixed {
    small: u8,
    large: u64,
    r#type: u16,
}

#[test]
fn fields_have_their_names_and_offsets() {
    let shape = Mixed::SHAPE;
    assert_eq!((shape.name, shape.to_string().as_str()), ("Mixed", "Mixed"));
    assert_eq!((shape.size, shape.align), (size_of::<Mixed>(), align_of::<Mixed>()));
    let fields: Vec<_> =
        shape.fields().iter().map(|field| (field.name, field.offset, field.shape.name)).collect();
    assert_eq!(
        fields,
        [
            ("small", offset_of!(Mixed, small), "u8"),
            ("large", offset_of!(Mixed, large), "u64"),
            ("type", offset_of!(Mixed, r#type), "u16"),
        ]
    );
}

#[test]
fn fields_are_hashed_in_the_order_they_are_written_in() {
    let value = Mixed { small: 1, large: 2, r#type: 3 };
    let expected = hash_of(|state| {
        state.write_u8(1);
        state.write_u64(2);
        state.write_u16(3);
    });
    assert_eq!(hash(&value), expected);
    let both = hash_of(|state| Mixed::hash_states(&[value.clone(), value.clone()], state));
    let each = hash_of(|state| {
        value.hash_state(state);
        value.hash_state(state);
    });
    assert_eq!(both, each);
}

#[test]
fn padding_makes_a_struct_not_plain() {
    #[derive(Field)]
    #[repr(C)]
    struct Padded {
        first: u32,
        second: u8,
    }

    #[derive(Field)]
    #[repr(C)]
    struct Dense {
        first: u32,
        second: [u8; 3],
        third: u8,
    }

    #[derive(Field)]
    struct Nested(Dense, f32);

    assert!(!Padded::SHAPE.plain && Padded::SHAPE.any_bits);
    assert!(Dense::SHAPE.plain && Dense::SHAPE.any_bits);
    assert!(Nested::SHAPE.plain && Nested::SHAPE.any_bits);
    assert!(!<(Padded, Dense)>::SHAPE.plain);
}

#[test]
fn some_types_do_not_take_any_bits() {
    #[derive(Field)]
    struct Flag(bool);

    #[derive(Field)]
    struct Letter(char);

    #[derive(Field)]
    struct Sealed {
        value: u32,
        #[field(opaque)]
        _checked: u32,
    }

    #[derive(Field)]
    struct Guard(u32);

    impl Drop for Guard {
        fn drop(&mut self) {}
    }

    assert!(Flag::SHAPE.plain && !Flag::SHAPE.any_bits);
    assert!(Letter::SHAPE.plain && !Letter::SHAPE.any_bits);
    assert!(!Sealed::SHAPE.plain && !Sealed::SHAPE.any_bits);
    assert!(Guard::SHAPE.plain && !Guard::SHAPE.any_bits);
    let _ = Sealed { value: 1, _checked: 2 }.value;
}

#[test]
fn structs_without_fields_write_nothing() {
    #[derive(Field)]
    struct Unit;
    #[derive(Field)]
    struct Braces {}
    #[derive(Field)]
    struct Parens();

    let nothing = hash_of(|_| {});
    assert_eq!((hash(&Unit), hash(&Braces {}), hash(&Parens())), (nothing, nothing, nothing));
    assert!(Unit::SHAPE.plain && Unit::SHAPE.any_bits && !has_entities::<Unit>());
    assert!(matches!(Parens::SHAPE.kind, FieldKind::Struct([])));
}

#[derive(Field, Clone, Debug, PartialEq)]
enum Order {
    Idle,
    Follow(Entity, f32),
    Build { what: String, r#where: [Entity; 2] },
}

#[test]
fn enums_are_hashed_with_the_index_of_their_variant() {
    assert_eq!(hash(&Order::Idle), hash_of(|state| state.write_u32(0)));
    let follow = hash_of(|state| {
        state.write_u32(1);
        state.write_u64(entity(4).to_bits());
        state.write_f32(0.5);
    });
    assert_eq!(hash(&Order::Follow(entity(4), 0.5)), follow);
}

#[test]
fn shapes_of_enums_list_their_variants() {
    let FieldKind::Enum(variants) = Order::SHAPE.kind else { panic!("{:?}", Order::SHAPE) };
    let names: Vec<&str> = variants.iter().map(|variant| variant.name).collect();
    assert_eq!(names, ["Idle", "Follow", "Build"]);
    let fields = variants[2].fields.iter().map(|field| (field.name, field.shape.to_string()));
    assert_eq!(
        fields.collect::<Vec<_>>(),
        [("what", "String".into()), ("where", "[Entity; 2]".to_owned())]
    );
    assert!(!Order::SHAPE.plain && !Order::SHAPE.any_bits && has_entities::<Order>());
}

#[test]
fn entities_in_variants_are_found() {
    let mut orders = vec![
        Order::Idle,
        Order::Follow(entity(1), 2.0),
        Order::Build { what: "wall".into(), r#where: [entity(2), Entity::NULL] },
    ];
    assert_eq!(shift(&mut orders), 2);
    assert_eq!(orders[1], Order::Follow(entity(101), 2.0));
    let place = [entity(102), Entity::NULL];
    assert_eq!(orders[2], Order::Build { what: "wall".into(), r#where: place });
}

#[test]
fn an_enum_without_variants_is_a_field() {
    #[derive(Field)]
    enum Never {}

    assert!(matches!(Never::SHAPE.kind, FieldKind::Enum([])));
    assert_eq!(hash(&None::<Never>), hash_of(|state| state.write_u32(0)));
}

#[derive(Field, Debug, PartialEq)]
struct Tree {
    at: Entity,
    kids: Vec<Tree>,
    next: Option<Box<Tree>>,
}

#[test]
fn types_may_contain_themselves() {
    let leaf = |index| Tree { at: entity(index), kids: Vec::new(), next: None };
    let mut tree =
        Tree { at: entity(1), kids: vec![leaf(2), leaf(3)], next: Some(Box::new(leaf(4))) };
    assert_eq!(shift(&mut tree), 4);
    assert_eq!(tree.kids[1], leaf(103));
    let names: Vec<_> = Tree::SHAPE.fields().iter().map(|field| field.shape.to_string()).collect();
    assert_eq!(names, ["Entity", "Vec<Tree>", "Option<Box<Tree>>"]);
    assert!(!format!("{:?}", Tree::SHAPE).is_empty());
}

#[test]
fn opaque_fields_are_left_alone() {
    #[derive(Field)]
    struct Cached {
        value: u32,
        #[field(opaque)]
        target: Entity,
        #[field(opaque)]
        shared: Rc<str>,
    }

    let mut value = Cached { value: 7, target: entity(1), shared: "a".into() };
    assert_eq!(shift(&mut value), 0);
    assert_eq!(value.target, entity(1));
    assert_eq!(hash(&value), hash(&7_u32));
    assert!(!has_entities::<Cached>());
    let kinds: Vec<_> =
        Cached::SHAPE.fields().iter().map(|field| field.shape.kind.kind_name()).collect();
    assert_eq!(kinds, ["u32", "opaque", "opaque"]);
    assert_eq!(Cached::SHAPE.fields()[2].shape.size, size_of_val(&value.shared));
}

#[test]
fn opaque_fields_of_variants_are_left_alone() {
    #[derive(Field)]
    enum Source {
        Made(#[field(opaque)] Rc<str>, Entity),
    }

    let mut source = Source::Made("a".into(), entity(1));
    assert_eq!(shift(&mut source), 1);
    let Source::Made(text, target) = source;
    assert_eq!((&*text, target), ("a", entity(101)));
}

#[test]
fn opaque_types_are_left_alone() {
    #[derive(Field)]
    #[field(opaque)]
    struct Sealed<T>(T, Rc<u32>);

    #[derive(Field, Clone, Copy)]
    #[field(opaque)]
    union Bits {
        number: f32,
        _bits: u32,
    }

    let mut value = Sealed(entity(1), Rc::new(1));
    assert_eq!((shift(&mut value), value.0, *value.1), (0, entity(1), 1));
    assert_eq!(hash(&value), hash(&()));
    assert_eq!(hash(&Bits { number: 1.0 }), hash(&()));
    assert!(!Bits::SHAPE.plain && !Bits::SHAPE.any_bits);
    assert_eq!((Bits::SHAPE.name, Bits::SHAPE.size), ("Bits", 4));
}

trait Unit {
    type Amount: Debug;
}

struct Metre;

impl Unit for Metre {
    type Amount = (Entity, u32);
}

#[derive(Field, Debug)]
struct Generic<T, U: Unit, M: ?Sized, const N: usize = 2>
where
    T: Clone,
{
    many: [T; N],
    map: BTreeMap<u8, Vec<Option<T>>>,
    amount: U::Amount,
    same: <U as Unit>::Amount,
    of: PhantomData<M>,
    #[field(opaque)]
    unit: PhantomData<fn(U)>,
}

/// Not a field.
#[derive(Debug)]
struct Marker;

#[test]
fn type_parameters_are_fields_where_they_are_used() {
    let many = [entity(1), entity(2)];
    let map = BTreeMap::from([(1, vec![None, Some(entity(3))])]);
    let (amount, same) = ((entity(4), 9), (Entity::NULL, 9));
    let mut value: Generic<Entity, Metre, [Marker]> =
        Generic { many, map, amount, same, of: PhantomData, unit: PhantomData };
    assert_eq!(shift(&mut value), 4);
    assert_eq!(value.many, [entity(101), entity(102)]);
    assert_eq!(value.map[&1][1], Some(entity(103)));
    assert_eq!(value.amount.0, entity(104));

    #[derive(Field)]
    struct Pair<T>(T, T);

    assert!(Pair::<u32>::SHAPE.plain && !Pair::<(u32, u8)>::SHAPE.plain);
    assert!(has_entities::<Pair<Entity>>() && !has_entities::<Pair<u32>>());
    assert_eq!(Pair::<f32>::SHAPE.fields()[1].shape.name, "f32");
    assert_eq!(hash(&Pair(1_u8, 2)), hash(&[1_u8, 2]));
}

/// A module that shadows the names of the prelude.
mod shadowed {
    #![allow(dead_code, non_camel_case_types, reason = "only to be in the way")]

    struct Option;
    struct Some;
    struct None;
    struct Vec;
    struct Box;
    struct bool;
    struct u32;
    struct usize;
    struct str;
    struct Field;
    struct Shape;
    struct FieldShape;
    trait Send {}
    trait Sync {}
    trait Copy {}
    trait Clone {}
    trait Default {}
    trait Blanket {
        fn hash_state(&self) {}
        fn remap(&mut self) {}
        fn write_u32(&mut self) {}
        fn describe(&self) {}
    }
    impl<T: ?::core::marker::Sized> Blanket for T {}
    mod core {}
    mod std {}
    mod ancho_entities {}

    #[derive(::ancho_entities::Field)]
    pub(crate) struct Position {
        x: f32,
        __state: f32,
        __map: i64,
    }

    #[derive(::ancho_entities::Field)]
    pub(crate) enum Choice {
        Some(::ancho_entities::Entity),
        None { __field_0: Position, state: i32 },
        Ok,
    }

    #[derive(::ancho_entities::Field)]
    pub(crate) struct Both<T>(T, #[field(opaque)] Option);
}

#[test]
fn user_types_that_shadow_the_prelude_do_not_conflict() {
    assert_eq!(shadowed::Position::SHAPE.fields().len(), 3);
    assert!(has_entities::<shadowed::Choice>());
    assert!(!has_entities::<shadowed::Both<u8>>());
}

/// Types from macros reach the derive in invisible groups.
#[test]
fn types_from_macros_are_fields() {
    macro_rules! component {
        ($name:ident, $ty:ty, $other:ident) => {
            #[derive(Field)]
            struct $name<$other> {
                value: $ty,
                other: $other,
            }
        };
    }
    component!(Made, Vec<Entity>, T);

    let mut value = Made { value: vec![entity(1)], other: entity(2) };
    assert_eq!(shift(&mut value), 2);
    assert_eq!((value.value[0], value.other), (entity(101), entity(102)));
}
