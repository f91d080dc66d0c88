//! Types that the derive accepts, in a crate that forbids unsafe code.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]

use ancho_collections::{
    BlobArray, BlobAsset, BlobBuilder, BlobData, BlobError, BlobPtr, BlobString,
};

/// Builds a blob of the value alone, and loads it again.
fn through_bytes<T: BlobData>(value: T) -> BlobAsset<T> {
    let bytes = BlobBuilder::new(value).build().unwrap().to_bytes(0);
    BlobAsset::from_bytes(&bytes, 0).unwrap()
}

#[derive(BlobData, Debug, PartialEq)]
#[repr(C)]
struct Pair<A, B>(A, B)
where
    A: Copy;

#[derive(BlobData, Debug, PartialEq)]
#[repr(C)]
struct Grid<T, const W: usize, const H: usize = 2> {
    cells: [[T; W]; H],
}

#[derive(BlobData, Debug, PartialEq)]
#[repr(transparent)]
struct Name(BlobString);

#[derive(BlobData, Debug, PartialEq)]
#[repr(C)]
struct Unit;

#[derive(BlobData, Debug, PartialEq)]
#[repr(C, align(16))]
struct Wide {
    r#type: u8,
}

#[derive(BlobData, Debug, PartialEq, Clone, Copy)]
#[repr(i16)]
enum Step {
    Back = -1,
    Stay,
    Far = 1000,
}

#[test]
fn structs_of_all_forms_are_data() {
    assert_eq!(*through_bytes(Pair(1_u8, 'x')), Pair(1, 'x'));
    assert_eq!(*through_bytes(Grid { cells: [[1.5; 3]; 2] }), Grid { cells: [[1.5; 3]; 2] });
    assert_eq!(*through_bytes(Name(BlobString::new())), Name(BlobString::new()));
    assert_eq!(*through_bytes(Unit), Unit);
    assert_eq!(*through_bytes(Wide { r#type: 7 }), Wide { r#type: 7 });
    assert_eq!(*through_bytes(Pair(Step::Far, [Unit, Unit])), Pair(Step::Far, [Unit, Unit]));
}

impl<A: Copy, B: Copy> Clone for Pair<A, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Copy, B: Copy> Copy for Pair<A, B> {}

#[test]
fn enums_are_checked() {
    for step in [Step::Back, Step::Stay, Step::Far] {
        assert_eq!(*through_bytes(step), step);
    }
    let bytes = BlobBuilder::new([Step::Back, Step::Far]).build().unwrap();
    assert_eq!(bytes.as_bytes(), [(-1_i16).to_ne_bytes(), 1000_i16.to_ne_bytes()].concat());
}

/// `align` makes an enum larger than its number, and the bytes after the number are padding.
#[test]
fn the_padding_of_an_aligned_enum_is_zero_in_a_blob() {
    #[derive(BlobData, Debug, PartialEq, Clone, Copy)]
    #[repr(i8, align(16))]
    enum Turn {
        Left = -1,
        Right = 1,
    }
    #[derive(BlobData, Debug, PartialEq, Clone, Copy)]
    #[repr(u16, align(4))]
    enum Gear {
        Low = 0x102,
        High = 0x304,
    }

    /// Leaves other bytes on the stack than the last call did.
    #[inline(never)]
    fn dirty_stack(byte: u8) {
        std::hint::black_box([byte; 4096]);
    }
    #[inline(never)]
    fn build(turn: Turn, gear: Gear) -> BlobAsset<[Pair<Turn, Shift>; 2]> {
        let pair = Pair(turn, Shift { gear, is_set: true });
        BlobBuilder::new([pair, pair]).build().unwrap()
    }
    #[derive(BlobData, Debug, PartialEq, Clone, Copy)]
    #[repr(C)]
    struct Shift {
        gear: Gear,
        is_set: bool,
    }

    for (turn, gear) in [(Turn::Left, Gear::Low), (Turn::Right, Gear::High)] {
        let [one, other] = [0x55, 0xAA].map(|byte| {
            dirty_stack(byte);
            build(std::hint::black_box(turn), std::hint::black_box(gear))
        });
        let mut pair = [0; 32];
        pair[0] = turn as u8;
        pair[16..18].copy_from_slice(&(gear as u16).to_ne_bytes());
        pair[20] = 1;
        assert_eq!(one.as_bytes(), [pair, pair].as_flattened());
        assert_eq!(one, other);
        let loaded = BlobAsset::<[Pair<Turn, Shift>; 2]>::from_bytes(&one.to_bytes(0), 0);
        assert_eq!(loaded.unwrap()[1], Pair(turn, Shift { gear, is_set: true }));
    }
    assert_eq!(*through_bytes(Turn::Left), Turn::Left);
}

#[test]
fn values_without_bytes_are_not_gone_through() {
    through_bytes([const { Unit }; 1 << 60]);
}

/// A variant with empty parentheses is a function, which would be an address if cast to a number.
#[test]
fn variants_are_numbers_with_and_without_brackets() {
    #[derive(BlobData, Debug, PartialEq, Clone, Copy)]
    #[repr(u8)]
    enum Bare {
        Unit,
        Round(),
        Curly {},
    }

    for (number, bare) in [Bare::Unit, Bare::Round(), Bare::Curly {}].into_iter().enumerate() {
        let loaded = through_bytes(bare);
        assert_eq!((*loaded, loaded.as_bytes()), (bare, &[number as u8][..]));
    }
}

#[test]
fn a_struct_can_contain_arrays_of_itself() {
    #[derive(BlobData)]
    #[repr(C)]
    struct Tree {
        branches: BlobArray<Tree>,
        shadow: BlobPtr<Pair<u8, Tree2>>,
    }
    #[derive(BlobData, Clone, Copy)]
    #[repr(C)]
    struct Tree2;
    let mut builder = BlobBuilder::new(Tree { branches: BlobArray::new(), shadow: BlobPtr::new() });
    let empty = || Tree { branches: BlobArray::new(), shadow: BlobPtr::new() };
    let branches = builder.array(builder.root(), |tree| &tree.branches, [empty(), empty()]);
    let second = branches.unwrap().get(1).unwrap();
    builder.pointer(second, |tree| &tree.shadow, Pair(3, Tree2)).unwrap();
    let bytes = builder.build().unwrap().to_bytes(0);
    let loaded = BlobAsset::<Tree>::from_bytes(&bytes, 0).unwrap();
    assert_eq!(loaded.branches[1].shadow.get().unwrap().0, 3);
}

#[test]
fn every_part_of_a_type_is_part_of_its_layout() {
    mod one {
        #[derive(ancho_collections::BlobData)]
        #[repr(C)]
        pub(super) struct Data {
            pub(super) a: u32,
            pub(super) b: u32,
        }
    }
    mod other_name_of_a_field {
        #[derive(ancho_collections::BlobData)]
        #[repr(C)]
        pub(super) struct Data {
            a: u32,
            c: u32,
        }
    }
    mod other_type_of_a_field {
        #[derive(ancho_collections::BlobData)]
        #[repr(C)]
        pub(super) struct Data {
            a: u32,
            b: i32,
        }
    }
    mod same {
        #[derive(ancho_collections::BlobData)]
        #[repr(C)]
        pub(super) struct Data {
            a: u32,
            pub(super) b: u32,
        }
    }
    let bytes = BlobBuilder::new(one::Data { a: 1, b: 2 }).build().unwrap().to_bytes(0);
    assert_eq!(BlobAsset::<one::Data>::from_bytes(&bytes, 0).unwrap().a, 1);
    assert_eq!(BlobAsset::<same::Data>::from_bytes(&bytes, 0).unwrap().b, 2);
    let refused = BlobAsset::<other_name_of_a_field::Data>::from_bytes(&bytes, 0).map(drop);
    assert!(matches!(refused, Err(BlobError::OtherLayout { .. })));
    let refused = BlobAsset::<other_type_of_a_field::Data>::from_bytes(&bytes, 0).map(drop);
    assert!(matches!(refused, Err(BlobError::OtherLayout { .. })));
    let refused = BlobAsset::<[u32; 2]>::from_bytes(&bytes, 0).map(drop);
    assert!(matches!(refused, Err(BlobError::OtherLayout { .. })));
}

mod shadowed {
    //! A module with types and modules of these names.
    #![allow(dead_code, reason = "they are only there to be in the way")]
    #![allow(non_camel_case_types, non_upper_case_globals, reason = "shadows other names too")]

    pub(super) struct Option;
    pub(super) struct Some;
    pub(super) struct None;
    pub(super) struct Result;
    pub(super) struct Ok;
    pub(super) struct Vec;
    pub(super) struct i128;
    pub(super) struct u8_;
    pub(super) trait Send {}
    pub(super) trait Sync {}
    pub(super) trait Sized {}
    pub(super) trait Drop {}
    pub(super) trait BlobData {}
    pub(super) trait BlobVisitor {}
    pub(super) const visitor: u8 = 1;
    pub(super) const value: u8 = 1;
    mod core {}
    mod std {}
    mod ancho_collections {}

    #[allow(unused_macros, reason = "it is only there to be in the way")]
    macro_rules! assert {
        () => {};
    }

    #[derive(::ancho_collections::BlobData)]
    #[repr(C)]
    pub(super) struct Hidden<T> {
        pub(super) value: T,
        pub(super) visitor: [Kind; 2],
    }

    #[derive(::ancho_collections::BlobData)]
    #[repr(C)]
    pub(super) struct Plain {
        pub(super) value: u32,
    }

    #[derive(::ancho_collections::BlobData, Clone, Copy, PartialEq, Debug)]
    #[repr(u8)]
    pub(super) enum Kind {
        None,
        Some,
    }
}

#[test]
fn user_types_that_shadow_the_prelude_do_not_conflict() {
    use shadowed::{Hidden, Kind, Plain};
    let loaded = through_bytes(Hidden { value: 1.5, visitor: [Kind::None, Kind::Some] });
    assert_eq!((loaded.value, loaded.visitor[1]), (1.5, Kind::Some));
    assert_eq!(through_bytes(Plain { value: 7 }).value, 7);
}
