//! The bytes that values write to a hasher: their contents, and nothing else.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::marker::PhantomData;
use std::num::{NonZero, Wrapping};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI16, AtomicU64};
use std::time::Duration;

use ancho_collections::{
    BlobArray, BlobAsset, BlobAssetReference, BlobBuilder, BlobStore, FixedList32, FixedString32,
};
use ancho_entities::{Entity, Field, StateHasher};
use proptest::prelude::*;

fn hash<T: Field>(value: &T) -> u64 {
    let mut state = StateHasher::new();
    value.hash_state(&mut state);
    state.finish()
}

/// Checks that the hash of a value is that of the bytes.
#[track_caller]
fn writes<T: Field>(value: T, bytes: &[u8]) {
    let mut state = StateHasher::new();
    state.write_bytes(bytes);
    assert_eq!(hash(&value), state.finish());
    // A slice writes its elements one after the other.
    let mut state = StateHasher::new();
    T::hash_states(&[value], &mut state);
    let slice = state.finish();
    let mut state = StateHasher::new();
    state.write_bytes(bytes);
    assert_eq!(slice, state.finish());
}

#[test]
fn scalars_write_their_bytes() {
    writes(0x0102_u16, &[2, 1]);
    writes(-2_i32, &[0xFE, 0xFF, 0xFF, 0xFF]);
    writes(-1_i128, &[0xFF; 16]);
    writes(7_usize, &[7, 0, 0, 0, 0, 0, 0, 0]);
    writes(-1_isize, &[0xFF; 8]);
    writes(true, &[1]);
    writes('a', &[0x61, 0, 0, 0]);
    writes((), &[]);
    writes(PhantomData::<String>, &[]);
    writes(1.0_f32, &1.0_f32.to_bits().to_le_bytes());
    writes(-0.0_f64, &(1_u64 << 63).to_le_bytes());
    writes(Entity::from_parts(1, 2), &[1, 0, 0, 0, 2, 0, 0, 0]);
    writes(NonZero::new(3_u8), &[1, 0, 0, 0, 3]);
    writes(Wrapping(3_u8), &[3]);
    writes(AtomicU64::new(3), &[3, 0, 0, 0, 0, 0, 0, 0]);
    writes(AtomicI16::new(-1), &[0xFF, 0xFF]);
    writes(AtomicBool::new(true), &[1]);
    writes(Duration::new(1, 2), &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
    writes(Ordering::Greater, &[2, 0, 0, 0]);
}

#[test]
fn every_nan_is_the_same() {
    let canonical = hash(&f32::from_bits(0x7FC0_0000));
    for bits in [0x7F80_0001, 0x7FFF_FFFF, 0xFFC0_0000, 0xFF80_0001] {
        assert_eq!(hash(&f32::from_bits(bits)), canonical);
        assert_eq!(hash(&[f32::from_bits(bits)]), canonical);
    }
    assert_ne!(hash(&f32::INFINITY), canonical);
    let canonical = hash(&f64::from_bits(0x7FF8_0000_0000_0000));
    for bits in [0x7FF0_0000_0000_0001, u64::MAX] {
        assert_eq!(hash(&f64::from_bits(bits)), canonical);
        assert_eq!(hash(&[f64::from_bits(bits)]), canonical);
    }
}

#[test]
fn arrays_and_tuples_write_their_elements() {
    writes([1_u8, 2, 3], &[1, 2, 3]);
    writes([[1_u8, 2], [3, 4]], &[1, 2, 3, 4]);
    writes([0_u8; 0], &[]);
    writes((1_u8, 2_u16, 3_u8), &[1, 2, 0, 3]);
    writes((1_u8,), &[1]);
    writes(1_u8..3, &[1, 3]);
}

#[test]
fn variants_write_their_index_first() {
    writes(None::<u8>, &[0, 0, 0, 0]);
    writes(Some(7_u8), &[1, 0, 0, 0, 7]);
    writes(Ok::<u8, u16>(7), &[0, 0, 0, 0, 7]);
    writes(Err::<u8, u16>(7), &[1, 0, 0, 0, 7, 0]);
}

#[test]
fn collections_write_their_length_first() {
    let two = [2, 0, 0, 0, 0, 0, 0, 0];
    let numbers = [&two[..], &[5, 6]].concat();
    writes(vec![5_u8, 6], &numbers);
    writes(vec![5_u8, 6].into_boxed_slice(), &numbers);
    writes(BTreeSet::from([6_u8, 5]), &numbers);
    writes(FixedList32::from([5_u8, 6]), &numbers);
    let mut ring = VecDeque::from([6_u8]);
    ring.push_front(5);
    writes(ring, &numbers);
    writes(BTreeMap::from([(6_u8, 1_u8), (5, 2)]), &[&two[..], &[5, 2, 6, 1]].concat());

    let text = [&two[..], b"ab"].concat();
    writes(String::from("ab"), &text);
    writes(Box::<str>::from("ab"), &text);
    writes(Arc::<str>::from("ab"), &text);
    writes("ab", &text);
    writes(FixedString32::from_static("ab"), &text);
}

#[test]
fn boxes_write_their_contents() {
    writes(Box::new(7_u8), &[7]);
    writes(Box::new(Box::new((7_u8, 8_u8))), &[7, 8]);
}

#[test]
fn the_end_of_a_text_matters() {
    let pair = |first: &str, second: &str| hash(&(first.to_owned(), second.to_owned()));
    assert_ne!(pair("ab", "c"), pair("a", "bc"));
    assert_ne!(hash(&vec![vec![1_u8], vec![]]), hash(&vec![vec![], vec![1_u8]]));
}

/// The fourth lane of a `Vec3A` holds arbitrary bits of the last operation.
#[cfg(feature = "glam")]
#[test]
fn unnamed_simd_lanes_are_not_hashed() {
    use glam::{Affine3A, Mat3A, Vec3, Vec3A, Vec4};

    let [a, b] = [5.0, 6.0].map(|rest| Vec3A::from_vec4(Vec4::new(1.0, 2.0, 3.0, rest)));
    assert_eq!(hash(&a), hash(&b));
    assert_eq!(hash(&[a, a]), hash(&[b, b]));
    assert_eq!(hash(&a), hash(&Vec3::new(1.0, 2.0, 3.0)));
    let affine = |lane| Affine3A { matrix3: Mat3A::from_cols(lane, lane, lane), translation: lane };
    assert_eq!(hash(&affine(a)), hash(&affine(b)));
    assert!(!Vec3A::SHAPE.plain && Vec3A::SHAPE.any_bits && Vec3::SHAPE.plain);
}

#[cfg(feature = "glam_0_33")]
#[test]
fn both_versions_of_glam_have_the_same_fields() {
    use ancho_entities::glam_0_33::{ToGlam, ToGlam033};

    let theirs = glam_0_33::Affine3A::from_translation(glam_0_33::Vec3::new(1.0, 2.0, 3.0));
    assert_eq!(hash(&theirs), hash(&theirs.to_glam()));
    assert_eq!(hash(&theirs.to_glam().to_glam_0_33()), hash(&theirs));
    assert_ne!(hash(&theirs), hash(&glam_0_33::Affine3A::IDENTITY));
    let shape = glam_0_33::Vec2::SHAPE;
    assert!(shape.plain && shape.any_bits && shape.name == "Vec2");
    assert!(!glam_0_33::BVec2::SHAPE.any_bits, "a byte other than 0 and 1 is not a `bool`");
}

/// Returns the hash of the values written one by one, and all at once.
fn both_ways<T: Field>(values: &[T]) -> (u64, u64) {
    let (mut each, mut all) = (StateHasher::new(), StateHasher::new());
    values.iter().for_each(|value| value.hash_state(&mut each));
    T::hash_states(values, &mut all);
    (each.finish(), all.finish())
}

/// Draws numbers from bits, so that NaN is among them.
fn floats() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<u32>().prop_map(f32::from_bits),
        Just(f32::NAN),
        Just(-f32::NAN),
        any::<f32>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn hashing_a_slice_equals_hashing_its_elements(
        words in proptest::collection::vec(any::<[u32; 3]>(), 0..300),
        numbers in proptest::collection::vec(floats(), 0..300),
    ) {
        let check = |(each, all): (u64, u64)| assert_eq!(each, all);
        check(both_ways(&words));
        check(both_ways(&words.iter().map(|[a, b, c]| (*a, *b as u8, *c)).collect::<Vec<_>>()));
        check(both_ways(&words.iter().map(|[a, b, _]| (u64::from(*a), *b as i64)).collect::<Vec<_>>()));
        check(both_ways(&words.iter().map(|[a, ..]| a % 2 == 0).collect::<Vec<_>>()));
        check(both_ways(&numbers));
        check(both_ways(&numbers.iter().map(|number| f64::from(*number)).collect::<Vec<_>>()));
        check(both_ways(numbers.as_chunks::<3>().0));
        check(both_ways(&numbers.as_chunks::<3>().0.iter().map(|[a, b, c]| (*a, [*b, *c])).collect::<Vec<_>>()));
        check(both_ways(&numbers.iter().map(|number| (*number, 7_u32)).collect::<Vec<_>>()));
        check(both_ways(&numbers.iter().map(|number| (*number, *number as u8)).collect::<Vec<_>>()));
        check(both_ways(&numbers.iter().map(|number| (*number, f64::from(*number))).collect::<Vec<_>>()));
    }
}

fn curve(points: &[f32]) -> BlobAsset<BlobArray<f32>> {
    let mut builder = BlobBuilder::new(BlobArray::new());
    builder.array(builder.root(), |root| root, points.iter().copied()).unwrap();
    builder.build().unwrap()
}

#[test]
fn blobs_write_the_hash_of_their_content() {
    let asset = curve(&[1.0, 2.0]);
    let hash = asset.content_hash();
    let reference = BlobStore::new().insert(asset.clone());
    writes(asset, &hash.to_le_bytes());
    writes(reference, &u64::from(hash as u32).to_le_bytes());
    writes(BlobAssetReference::<u8>::NULL, &[0; 8]);
    assert!(!<BlobAsset<u32>>::SHAPE.plain && !<BlobAssetReference<u32>>::SHAPE.any_bits);
}

#[cfg(feature = "derive")]
#[test]
fn the_state_hash_sees_which_blobs_components_hold() {
    use ancho_entities::{Component, World};

    #[derive(Component, Clone)]
    struct Owns(BlobAsset<BlobArray<f32>>);

    #[derive(Component, Clone, Copy)]
    struct Refers(BlobAssetReference<BlobArray<f32>>);

    let state = |owned: [&[f32]; 2], referred: [&[f32]; 2], reversed: bool| {
        let mut store = BlobStore::new();
        if reversed {
            referred.iter().rev().for_each(|points| _ = store.insert(curve(points)));
        }
        let mut world = World::new("Simulation");
        for (owned, referred) in owned.into_iter().zip(referred) {
            world.spawn((Owns(curve(owned)), Refers(store.insert(curve(referred)))));
        }
        world.state_hash()
    };
    let (one, two, three): (&[f32], &[f32], &[f32]) = (&[1.0], &[2.0, 0.5], &[]);
    let all = [one, two];
    let expected = state(all, all, false);
    assert_eq!(state(all, all, true), expected, "neither the store nor its order counts");
    for other in [[two, one], [one, three], [one, one]] {
        assert_ne!(state(other, all, false), expected);
        assert_ne!(state(all, other, false), expected);
    }
}
