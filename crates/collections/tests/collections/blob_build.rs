//! Building blobs, and reading them.
#![cfg(feature = "derive")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_collections::{
    BlobArray, BlobBuilder, BlobData, BlobError, BlobPlace, BlobPtr, BlobString,
};

#[derive(BlobData, Default, Debug)]
#[repr(C)]
struct Curve {
    name: BlobString,
    duration: f32,
    samples: BlobArray<f32>,
}

#[derive(BlobData, Default, Debug)]
#[repr(C)]
struct Node {
    value: u32,
    name: BlobString,
    children: BlobArray<Node>,
    next: BlobPtr<Node>,
}

fn node(value: u32) -> Node {
    Node { value, ..Node::default() }
}

#[test]
fn fields_read_as_plain_data() {
    let mut builder = BlobBuilder::new(Curve { duration: 2.0, ..Curve::default() });
    let root = builder.root();
    builder.string(root, |curve| &curve.name, "jump").unwrap();
    builder.array(root, |curve| &curve.samples, [0.0, 0.5, 1.0]).unwrap();
    let curve = builder.build().unwrap();
    assert_eq!(&*curve.name, "jump");
    assert_eq!(curve.duration, 2.0);
    assert_eq!(curve.samples[1], 0.5);
    assert_eq!(curve.samples.to_vec(), [0.0, 0.5, 1.0]);
    assert_eq!((&curve.samples).into_iter().sum::<f32>(), 1.5);
}

#[test]
fn fields_that_are_not_filled_stay_empty() {
    let curve = BlobBuilder::new(Curve::default()).build().unwrap();
    assert!(curve.name.is_empty() && curve.samples.is_empty());
    let mut builder = BlobBuilder::new(Curve::default());
    builder.string(builder.root(), |curve| &curve.name, "").unwrap();
    builder.array(builder.root(), |curve| &curve.samples, []).unwrap();
    assert_eq!(builder.build().unwrap(), curve);
}

/// A tree with three levels of arrays, each node named by its path.
fn tree(builder: &mut BlobBuilder<Node>, place: BlobPlace<Node>, path: &str, depth: usize) {
    builder.string(place, |node| &node.name, path).unwrap();
    if depth == 0 {
        return;
    }
    let children = builder.array(place, |node| &node.children, (0..3).map(node)).unwrap();
    for (index, child) in children.iter().enumerate() {
        tree(builder, child, &format!("{path}/{index}"), depth - 1);
    }
}

#[test]
fn values_nest_in_any_depth() {
    let mut builder = BlobBuilder::new(node(9));
    let root = builder.root();
    tree(&mut builder, root, "root", 3);
    let blob = builder.build().unwrap();
    let leaf = &blob.children[2].children[0].children[1];
    assert_eq!((leaf.value, &*leaf.name), (1, "root/2/0/1"));
    assert!(leaf.children.is_empty());
}

#[test]
fn the_order_of_the_calls_does_not_change_the_bytes() {
    let mut forwards = BlobBuilder::new(Curve::default());
    forwards.string(forwards.root(), |curve| &curve.name, "jump").unwrap();
    forwards.array(forwards.root(), |curve| &curve.samples, [1.0]).unwrap();
    let mut backwards = BlobBuilder::new(Curve::default());
    backwards.array(backwards.root(), |curve| &curve.samples, [1.0]).unwrap();
    backwards.string(backwards.root(), |curve| &curve.name, "jump").unwrap();
    let (forwards, backwards) = (forwards.build().unwrap(), backwards.build().unwrap());
    assert_eq!(forwards.as_bytes(), backwards.as_bytes());
    assert_eq!(forwards.content_hash(), backwards.content_hash());
}

#[derive(BlobData, Clone, Copy)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u64,
    flag: bool,
}

#[test]
fn padding_is_zero() {
    let mut builder = BlobBuilder::new(BlobArray::new());
    let value = Padded { small: 0xFF, large: u64::MAX, flag: true };
    builder.array(builder.root(), |root| root, [value; 2]).unwrap();
    let blob = builder.build().unwrap();
    assert_eq!(blob[1].large, u64::MAX);
    let element = &blob.as_bytes()[8..32];
    assert_eq!(element[..8], [0xFF, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(element[16..], [1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn everything_is_aligned_up_to_sixteen() {
    #[derive(BlobData, Default)]
    #[repr(C)]
    struct Mixed {
        bytes: BlobArray<u8>,
        wide: BlobArray<u128>,
        words: BlobArray<u16>,
        longs: BlobArray<u64>,
    }
    let mut builder = BlobBuilder::new(Mixed::default());
    let root = builder.root();
    builder.array(root, |mixed| &mixed.bytes, [1; 3]).unwrap();
    builder.array(root, |mixed| &mixed.wide, [1 << 100; 2]).unwrap();
    builder.array(root, |mixed| &mixed.words, [7]).unwrap();
    builder.array(root, |mixed| &mixed.longs, [9]).unwrap();
    let blob = builder.build().unwrap();
    assert_eq!(blob.wide, [1 << 100; 2]);
    assert!(blob.wide.as_ptr().addr().is_multiple_of(16));
    assert!(blob.longs.as_ptr().addr().is_multiple_of(8));
    assert_eq!((blob.bytes[2], blob.words[0], blob.longs[0]), (1, 7, 9));
}

#[derive(BlobData, Debug, PartialEq)]
#[repr(C)]
struct Nothing;

#[test]
fn values_need_not_have_bytes() {
    let blob = BlobBuilder::new(Nothing).build().unwrap();
    assert_eq!(*blob, Nothing);
    assert!(blob.as_bytes().is_empty());
    let blob = BlobBuilder::new([Nothing, Nothing]).build().unwrap();
    assert_eq!(blob[1], Nothing);
}

#[test]
fn shared_parts_are_stored_once() {
    let mut builder = BlobBuilder::new(BlobArray::new());
    let nodes = builder.array(builder.root(), |root| root, (0..2).map(node)).unwrap();
    let [first, second] = [0, 1].map(|index| nodes.get(index).unwrap());
    // The shared node is made before one of the nodes that lead to it.
    let shared = builder.pointer(second, |node| &node.next, node(7)).unwrap();
    builder.string(shared, |node| &node.name, "shared").unwrap();
    let between = builder.pointer(first, |node| &node.next, node(3)).unwrap();
    builder.share_pointer(between, |node| &node.next, second, |node| &node.next).unwrap();
    builder.share_string(between, |node| &node.name, shared, |node| &node.name).unwrap();
    let blob = builder.build().unwrap();
    let through = blob[0].next.get().unwrap();
    assert!(std::ptr::eq(through.next.get().unwrap(), blob[1].next.get().unwrap()));
    assert_eq!(through.name, "shared");
    assert_eq!(through.name.as_ptr(), blob[1].next.get().unwrap().name.as_ptr());
}

#[test]
fn a_closure_that_returns_something_else_is_refused() {
    static ELSEWHERE: BlobArray<f32> = BlobArray::new();
    let mut builder = BlobBuilder::new(Curve::default());
    let root = builder.root();
    let refused = builder.array(root, |_| &ELSEWHERE, [1.0]).unwrap_err();
    assert!(matches!(refused, BlobError::NotAField { .. }));
    let refused =
        builder.array::<_, f32>(root, |_| const { &BlobArray::new() }, [1.0]).unwrap_err();
    assert!(matches!(refused, BlobError::NotAField { .. }));
    assert_eq!(
        refused.to_string(),
        "A0044: the `ancho_collections::blob::array::BlobArray<f32>` to fill is not a part of the \
         `collections::blob_build::Curve` at that place; return a field of the closure's argument, as in `|value| \
         &value.field`"
    );
    // The failed call changed nothing, so the field can be filled.
    builder.array(root, |curve| &curve.samples, [1.0]).unwrap();
    assert_eq!(builder.build().unwrap().samples, [1.0]);
}

#[test]
fn a_value_without_bytes_has_no_fields() {
    #[derive(BlobData)]
    #[repr(C)]
    struct None([BlobString; 0]);
    let mut builder = BlobBuilder::new(None([]));
    let refused = builder.string(builder.root(), |_| const { &BlobString::new() }, "x");
    assert!(matches!(refused, Err(BlobError::NotAField { .. })));
}

#[test]
fn a_field_is_filled_once() {
    let mut builder = BlobBuilder::new(Curve::default());
    let root = builder.root();
    builder.string(root, |curve| &curve.name, "").unwrap();
    let refused = builder.string(root, |curve| &curve.name, "jump").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "A0045: the `ancho_collections::blob::string::BlobString` of a `collections::blob_build::Curve` was filled \
         before; fill each field once, with all it should hold"
    );
    let refused = builder.share_string(root, |curve| &curve.name, root, |curve| &curve.name);
    assert!(matches!(refused, Err(BlobError::FilledTwice { .. })));
}

#[test]
fn unfilled_parts_are_not_shared() {
    let mut builder = BlobBuilder::new([const { BlobString::new() }; 2]);
    let root = builder.root();
    let refused = builder.share_string(root, |root| &root[0], root, |root| &root[1]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "A0046: the `ancho_collections::blob::string::BlobString` of a \
         `[ancho_collections::blob::string::BlobString; 2]` that should be shared was not filled; fill \
         it first"
    );
}

#[test]
fn places_of_another_builder_are_refused() {
    let mut builder = BlobBuilder::new(Curve::default());
    let other = BlobBuilder::new(Curve::default());
    let refused = builder.string(other.root(), |curve| &curve.name, "jump").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "A0044: the place of a `collections::blob_build::Curve` is of another blob builder; use the places that this \
         builder returned"
    );
}

#[test]
fn values_that_contain_themselves_are_refused() {
    let mut builder = BlobBuilder::new(node(0));
    let root = builder.root();
    let inner = builder.pointer(root, |node| &node.next, node(1)).unwrap();
    builder.share_pointer(inner, |node| &node.next, root, |node| &node.next).unwrap();
    assert_eq!(
        builder.build().unwrap_err().to_string(),
        "A0047: a value of the blob `collections::blob_build::Node` would contain itself; keep the nodes in one array \
         and refer to them by index"
    );
}

fn chain(length: u32) -> Result<u32, BlobError> {
    let mut builder = BlobBuilder::new(node(0));
    let mut place = builder.root();
    for value in 0..length {
        place = builder.pointer(place, |node| &node.next, node(value + 1))?;
    }
    let blob = builder.build()?;
    let mut node = &*blob;
    while let Some(next) = node.next.get() {
        node = next;
    }
    // Deep enough to differ, but not too deep to be shown.
    assert!(format!("{blob:#?}").contains("null"));
    Ok(node.value)
}

#[test]
fn depth_has_a_limit() {
    assert_eq!(chain(256), Ok(256));
    assert_eq!(
        chain(100_000).unwrap_err().to_string(),
        "A0047: the blob `collections::blob_build::Node` would be more than 256 pointers deep; keep its nodes in one \
         array and refer to them by index"
    );
    assert!(matches!(chain(257), Err(BlobError::TooDeep { .. })));
}

#[test]
fn sharing_has_a_limit() {
    let mut builder = BlobBuilder::new(Both::default());
    let mut place = builder.root();
    for _ in 0..40 {
        let next = builder.pointer(place, |both| &both.first, Both::default()).unwrap();
        builder.share_pointer(place, |both| &both.second, place, |both| &both.first).unwrap();
        place = next;
    }
    assert!(matches!(builder.build().map(drop), Err(BlobError::TooLarge { .. })));
}

#[derive(BlobData, Default)]
#[repr(C)]
struct Both {
    first: BlobPtr<Both>,
    second: BlobPtr<Both>,
}

#[test]
fn size_has_a_limit() {
    let mut builder = BlobBuilder::new(Curve::default());
    let many = std::iter::repeat_n(0.0, 1 << 30);
    let refused = builder.array(builder.root(), |curve| &curve.samples, many).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "A0047: the blob `collections::blob_build::Curve` would be larger than 4 GiB; split it into several assets"
    );
}

#[test]
fn an_iterator_that_panics_leaves_the_builder_as_it_was() {
    let mut builder = BlobBuilder::new([const { BlobArray::new() }; 2]);
    let root = builder.root();
    let values = (0..10).map(|index| {
        assert!(index < 5, "in the middle");
        Padded { small: 0xFF, large: u64::MAX, flag: true }
    });
    let fill = || builder.array(root, |root| &root[0], values);
    assert!(catch_unwind(AssertUnwindSafe(fill)).is_err());
    let pick = || builder.array::<_, Padded>(root, |_| panic!("in the closure"), []);
    assert!(catch_unwind(AssertUnwindSafe(pick)).is_err());

    let value = Padded { small: 1, large: 2, flag: false };
    builder.array(root, |root| &root[0], [value]).unwrap();
    let blob = builder.build().unwrap();
    assert_eq!(blob.as_bytes()[16..].iter().map(|byte| u32::from(*byte)).sum::<u32>(), 3);
    assert_eq!(blob[0][0].large, 2);
    assert!(blob[1].is_empty());
}

#[test]
fn blobs_are_shown_as_their_values() {
    let mut builder = BlobBuilder::new(node(1));
    builder.string(builder.root(), |node| &node.name, "a").unwrap();
    builder.array(builder.root(), |node| &node.children, [node(2)]).unwrap();
    assert_eq!(format!("{builder:?}"), "BlobBuilder<collections::blob_build::Node>(3 pieces)");
    assert_eq!(
        format!("{:?}", builder.build().unwrap()),
        r#"Node { value: 1, name: "a", children: [Node { value: 2, name: "", children: [], next: null }], next: null }"#
    );
}
