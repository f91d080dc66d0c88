//! Buffer elements of every kind: with references, zero-sized, huge, aligned, generic.

use ancho_entities::{
    Buffer, BufferElement, ComponentType, Duplicate, DynamicBuffer, Entity, EntityError, Prefab,
    World,
};

use crate::buffers::contents::{Eight, Four, Position, values};
use crate::common::panic_message;

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(inline = 1)]
struct Reference {
    steps: u8,
    to: Entity,
}

#[test]
fn references_in_elements_are_remapped_and_hashed() {
    let mut world = World::new("buffers");
    let [old, new] = [world.spawn(()), world.spawn(())];
    let holder = world.spawn(Buffer::from([Reference { steps: 1, to: old }]));
    let many: Buffer<_> = (0..9).map(|steps| Reference { steps, to: old }).collect();
    let other = world.spawn(many);
    let mut fork = world.fork().unwrap();
    world.remap_references(|from| if from == old { new } else { from }).unwrap();
    assert_eq!(world.buffer::<Reference>(holder).unwrap(), [Reference { steps: 1, to: new }]);
    assert!(world.buffer::<Reference>(other).unwrap().iter().all(|reference| reference.to == new));
    assert!(fork.buffer::<Reference>(other).unwrap().iter().all(|reference| reference.to == old));
    assert_ne!(world.state_hash(), fork.state_hash());
    fork.remap_references(|from| if from == old { new } else { from }).unwrap();
    assert_eq!(world.state_hash(), fork.state_hash());
    assert!(ComponentType::of_buffer::<Reference>().shape().has_entities);
}

#[test]
fn the_state_hash_covers_length_and_elements_but_not_capacity() {
    let hash = |first: &[u32], second: &[u32], capacity: usize| {
        let mut world = World::new("buffers");
        for elements in [first, second] {
            let entity = world.spawn(elements.iter().copied().map(Four).collect::<Buffer<Four>>());
            world.buffer_mut::<Four>(entity).unwrap().set_capacity(capacity);
        }
        world.state_hash()
    };
    assert_eq!(hash(&[1, 2], &[3], 2), hash(&[1, 2], &[3], 100));
    assert_ne!(hash(&[1, 2], &[3], 32), hash(&[1], &[2, 3], 32));
    assert_ne!(hash(&[1], &[0], 32), hash(&[1, 0], &[], 32));
}

#[test]
fn elements_without_bytes_are_counted() {
    #[derive(BufferElement, Clone, Copy, Debug, Default, PartialEq)]
    struct Nothing;

    let mut world = World::new("buffers");
    let entity = world.spawn(Buffer::from([Nothing; 3]));
    let mut buffer = world.buffer_mut::<Nothing>(entity).unwrap();
    assert_eq!((buffer.len(), buffer.capacity()), (3, u32::MAX as usize));
    buffer.resize(100_000, Nothing);
    buffer.remove_range(10..99_999);
    buffer.insert(5, Nothing);
    assert_eq!(buffer.len(), 12);
    buffer.set_capacity(12);
    buffer.push(Nothing);
    assert_eq!((buffer.len(), buffer.capacity()), (13, 24));
    buffer.shrink_to_fit();
    // The maximum length.
    let most = vec![[Nothing; 65_535]; 65_537].into_flattened();
    world.set(entity, Buffer::from(most)).unwrap();
    let mut buffer = world.buffer_mut::<Nothing>(entity).unwrap();
    assert_eq!(buffer.len(), u32::MAX as usize);
    assert!(panic_message(|| buffer.push(Nothing)).starts_with("A0068: "));
    let more = vec![[Nothing; 65_536]; 65_536].into_flattened();
    assert!(panic_message(|| drop(Buffer::from(more))).starts_with("A0068: "));
    let mut fork = world.fork().unwrap();
    fork.buffer_mut::<Nothing>(entity).unwrap().truncate(7);
    assert_eq!(world.buffer::<Nothing>(entity).unwrap().len(), u32::MAX as usize);
    assert_eq!(fork.take::<Buffer<Nothing>>(entity).unwrap().len(), 7);
}

#[test]
fn elements_larger_than_a_chunk_are_on_the_heap() {
    #[derive(BufferElement, Clone)]
    struct Huge([u64; 5000]);

    let mut world = World::new("buffers");
    let entity = world.spawn(Position(0.0));
    let mut buffer = world.add_buffer::<Huge>(entity).unwrap();
    for number in 0..9 {
        buffer.push(Huge([number; 5000]));
    }
    assert_eq!(buffer.capacity(), 16);
    buffer.swap_remove(0);
    let fork = world.fork().unwrap();
    world.buffer_mut::<Huge>(entity).unwrap().set_capacity(8);
    for world in [&world, &fork] {
        let firsts = world.buffer::<Huge>(entity).unwrap().iter().map(|huge| huge.0[4999]);
        assert!(firsts.eq([8, 1, 2, 3, 4, 5, 6, 7]));
    }
}

#[test]
fn inline_room_larger_than_a_chunk_is_refused() {
    #[derive(BufferElement, Debug)]
    #[buffer(inline = 1 << 20)]
    struct Greedy(u64);

    let mut world = World::new("buffers");
    let entity = world.spawn(());
    let error = world.add_buffer::<Greedy>(entity).unwrap_err();
    assert!(matches!(error, EntityError::DoesNotFit { .. }));
    let rejected = world.add(entity, Buffer::from([Greedy(7)])).unwrap_err();
    assert_eq!(rejected.value[0].0, 7);
}

#[test]
fn elements_are_aligned_in_chunks_and_on_the_heap() {
    #[derive(BufferElement, Clone, Copy)]
    #[repr(align(128))]
    #[buffer(inline = 2)]
    struct Wide(u8);

    #[derive(BufferElement, Clone, Copy)]
    #[repr(align(128))]
    #[buffer(inline = 0)]
    struct WideOnHeap(u8);

    #[derive(BufferElement, Clone, Copy)]
    #[repr(align(128))]
    struct Empty;

    fn check<T: BufferElement + ancho_entities::Mutable + Copy>(element: T) {
        let mut world = World::new("buffers");
        let all: Vec<_> = world.spawn_many((Position(0.0), Buffer::<T>::new()), 50).collect();
        for round in 0..6 {
            for &entity in &all {
                let mut buffer = world.buffer_mut::<T>(entity).unwrap();
                assert!(buffer.as_ptr().is_aligned() && buffer.len() == round);
                buffer.push(element);
            }
            world.remove::<Position>(all[round * 2]).unwrap();
        }
        let copy = world.duplicate().unwrap();
        assert!(all.iter().all(|&entity| copy.buffer::<T>(entity).unwrap().as_ptr().is_aligned()));
    }

    check(Wide(1));
    check(WideOnHeap(1));
    check(Empty);
}

#[test]
fn worlds_with_elements_that_are_not_duplicated_are_not_forked() {
    #[derive(BufferElement)]
    struct Ticket(u32);

    assert_eq!(format!("{:?}", Ticket::duplicate()), "none");
    let mut world = World::new("buffers");
    world.spawn(Buffer::from([Ticket(1)]));
    let component = ComponentType::of_buffer::<Ticket>();
    assert_eq!(world.fork().unwrap_err(), EntityError::NotDuplicable { component });
}

#[test]
fn generic_elements_and_elements_without_a_derive() {
    #[derive(BufferElement, Clone, Debug, PartialEq)]
    struct Pair<T: Clone>(T, T);

    #[derive(ancho_entities::Field, Clone, Copy)]
    struct ByHand(u8);

    impl ancho_entities::Mutable for ByHand {}

    impl BufferElement for ByHand {
        const INLINE: usize = 3;

        fn duplicate() -> Duplicate<Self> {
            Duplicate::bytes()
        }
    }

    let mut world = World::new("buffers");
    let entity = world.spawn((
        Buffer::from([Pair(1_u8, 2)]),
        Buffer::from([Pair("a".to_owned(), "b".to_owned())]),
        Buffer::from([ByHand(7)]),
    ));
    assert_ne!(ComponentType::of_buffer::<Pair<u8>>(), ComponentType::of_buffer::<Pair<String>>());
    let fork = world.fork().unwrap();
    world.buffer_mut::<Pair<String>>(entity).unwrap()[0].1.push('c');
    assert_eq!(fork.buffer::<Pair<String>>(entity).unwrap()[0].1, "b");
    assert_eq!(world.buffer_mut::<ByHand>(entity).unwrap().capacity(), 3);
    assert_eq!(world.buffer::<ByHand>(entity).unwrap()[0].0, 7);
}

#[test]
fn a_buffer_takes_and_returns_the_memory_of_a_vector() {
    let mut world = World::new("buffers");
    let elements: Vec<Eight> = (0..20).map(Eight).collect();
    let block = elements.as_ptr();
    let entity = world.spawn(Buffer::from(elements));
    assert_eq!(world.buffer::<Eight>(entity).unwrap().as_ptr(), block);
    let elements = world.take::<Buffer<Eight>>(entity).unwrap().into_vec();
    assert_eq!((elements.as_ptr(), elements.len()), (block, 20));
}

#[test]
fn a_borrowed_buffer_can_outlive_its_handle() {
    fn add(mut buffer: DynamicBuffer<'_, Eight>) {
        buffer.push(Eight(1));
    }

    let mut world = World::new("buffers");
    let entity = world.spawn(Buffer::from([Eight(0)]));
    let mut buffer = world.buffer_mut::<Eight>(entity).unwrap();
    add(buffer.reborrow());
    add(buffer.reborrow());
    assert_eq!(format!("{buffer:?}"), "[Eight(0), Eight(1), Eight(1)]");
    let elements: &mut [Eight] = buffer.into_mut_slice();
    elements[0] = Eight(5);
    assert_eq!(values(world.buffer(entity).unwrap()), [5, 1, 1]);
}

#[test]
fn buffers_are_copied_with_their_entities() {
    let mut world = World::new("buffers");
    for count in [1, 2, 20] {
        let target = world.spawn(());
        let references = (0..count).map(|steps| Reference { steps, to: target });
        let original = world.spawn((Position(1.0), references.collect::<Buffer<Reference>>()));
        let copies: Vec<Entity> = world.instantiate_many(original, 5).unwrap().collect();
        for &copy in &copies {
            let elements = world.buffer::<Reference>(copy).unwrap();
            assert_eq!(elements, world.buffer::<Reference>(original).unwrap());
            world.buffer_mut::<Reference>(copy).unwrap().clear();
        }
        assert_eq!(world.buffer::<Reference>(original).unwrap().len(), count as usize);
    }
}

#[test]
fn buffers_can_be_enableable_and_cleanup() {
    #[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
    #[buffer(enableable)]
    struct Effect(u32);

    #[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
    #[buffer(cleanup, inline = 1)]
    struct Handle(u32);

    let mut world = World::new("buffers");
    let handles = Buffer::from([Handle(1), Handle(2), Handle(3)]);
    let entity = world.spawn((Buffer::from([Effect(1)]), handles));
    let ty = ComponentType::of_buffer::<Effect>();
    world.set_type_enabled(entity, ty, false).unwrap();
    world.add(entity, Position(1.0)).unwrap();
    assert_eq!(world.is_type_enabled(entity, ty), Ok(false));
    assert_eq!(world.buffer::<Effect>(entity).unwrap(), [Effect(1)]);

    world.despawn(entity).unwrap();
    assert!(world.exists(entity) && !world.has::<Buffer<Effect>>(entity));
    assert_eq!(world.buffer::<Handle>(entity).unwrap().len(), 3);
    assert_eq!(world.take::<Buffer<Handle>>(entity).unwrap()[2], Handle(3));
    assert!(!world.exists(entity));
    world.check_invariants().unwrap();
}

#[derive(BufferElement, Clone, Copy)]
struct Padded(u8, u32);

#[derive(BufferElement, Clone)]
struct Owner(String);

#[derive(BufferElement, Clone, Copy)]
#[buffer(inline = 2)]
struct Pair([u16; 2]);

#[test]
fn tools_see_elements_without_their_type() {
    let mut world = World::new("Simulation");
    let pairs = |count: u16| -> Buffer<Pair> { (0..count).map(|n| Pair([n, !n])).collect() };
    // Inline, exactly full inline, and on the heap.
    let all: Vec<_> = [0, 1, 2, 3, 100].map(|count| (count, world.spawn(pairs(count)))).into();
    let ty = ComponentType::of_buffer::<Pair>();
    assert!(ty.is_buffer());
    let fork = world.fork().unwrap();
    world.buffer_mut::<Pair>(all[4].1).unwrap().clear();
    for &(count, entity) in &all {
        let buffer = fork.untyped_buffer(entity, ty).unwrap();
        assert_eq!((buffer.len(), buffer.is_empty()), (count.into(), count == 0));
        assert_eq!((buffer.shape().name, buffer.shape().size), ("Pair", 4));
        for n in 0..count {
            let bytes = [n.to_ne_bytes(), (!n).to_ne_bytes()].concat();
            assert_eq!(buffer.bytes(n.into()), Some(&bytes[..]));
        }
        assert_eq!(buffer.bytes(count.into()), None);
        assert_eq!(buffer.bytes(usize::MAX), None);
        assert_eq!(buffer.all_bytes().unwrap().len(), 4 * usize::from(count));
    }
    assert!(world.untyped_buffer(all[4].1, ty).unwrap().is_empty());
    // By chunk and row.
    let chunk = fork.chunks().next().unwrap();
    let lens: Vec<_> = (0..6).map(|row| chunk.untyped_buffer(ty, row).map(|b| b.len())).collect();
    assert_eq!(lens, [Some(0), Some(1), Some(2), Some(3), Some(100), None]);
    let debug = format!("{:?}", chunk.untyped_buffer(ty, 3).unwrap());
    assert_eq!(debug, "UntypedBuffer { element: Pair, len: 3, .. }");
}

#[test]
fn tools_see_neither_padding_nor_pointers_nor_missing_elements() {
    #[derive(BufferElement, Clone, Copy)]
    struct Nothing;

    let mut world = World::new("Simulation");
    let padded = world.spawn(Buffer::from([Padded(1, 2); 3]));
    let owner = world.spawn(Buffer::from(vec![Owner("a".into()); 20]));
    let nothing = world.spawn(Buffer::from([Nothing; 2]));
    for (entity, ty, len) in [
        (padded, ComponentType::of_buffer::<Padded>(), 3),
        (owner, ComponentType::of_buffer::<Owner>(), 20),
    ] {
        let buffer = world.untyped_buffer(entity, ty).unwrap();
        assert_eq!((buffer.len(), buffer.bytes(0), buffer.all_bytes()), (len, None, None));
    }
    let ty = ComponentType::of_buffer::<Nothing>();
    let buffer = world.untyped_buffer(nothing, ty).unwrap();
    assert_eq!(buffer.len(), 2);
    assert_eq!((buffer.bytes(1), buffer.bytes(2)), (Some(&[][..]), None));
    // Refused: an entity without the buffer, a missing entity, and a type that is no buffer.
    let refused = |entity| world.untyped_buffer(entity, ty).map(|b| b.len());
    assert_eq!(refused(owner), Err(EntityError::MissingComponent { entity: owner, component: ty }));
    assert!(matches!(refused(Entity::NULL), Err(EntityError::NoSuchEntity { .. })));
    let tag = ComponentType::of::<Prefab>();
    let entity = world.spawn(Prefab);
    let found = world.untyped_buffer(entity, tag).map(|buffer| buffer.len());
    assert_eq!(found, Err(EntityError::NotABuffer { component: tag }));
    let chunk = world.chunks().last().unwrap();
    assert!(chunk.untyped_buffer(tag, 0).is_none() && !tag.is_buffer());
}
