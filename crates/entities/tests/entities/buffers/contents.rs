//! Dynamic buffers: contents, growth, refused calls, and moves of their entities.

use std::sync::Arc;

use ancho_entities::{
    Buffer, BufferElement, Component, ComponentType, DynamicBuffer, Entity, EntityError, FieldKind,
    World, WorldSettings,
};

use crate::common::panic_message;

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(inline = 8, name = "entities::buffers::contents::Eight")]
pub(crate) struct Eight(pub(crate) u32);

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Four(pub(crate) u32);

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
struct One(u8);

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
struct Large([u8; 129]);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Position(pub(crate) f32);

fn numbers(count: u32) -> Buffer<Eight> {
    (0..count).map(Eight).collect()
}

pub(crate) fn values(elements: &[Eight]) -> Vec<u32> {
    elements.iter().map(|element| element.0).collect()
}

/// Runs a function with a buffer of `count` elements.
fn with<R>(count: u32, function: impl FnOnce(&mut DynamicBuffer<'_, Eight>) -> R) -> R {
    let mut world = World::new("buffers");
    let entity = world.spawn(numbers(count));
    let result = function(&mut world.buffer_mut(entity).unwrap());
    world.check_invariants().unwrap();
    result
}

#[test]
fn the_first_capacity_is_the_inline_capacity() {
    fn fresh<T: BufferElement + ancho_entities::Mutable>() -> (usize, usize) {
        let mut world = World::new("buffers");
        let entity = world.spawn(Buffer::<T>::new());
        let buffer = world.buffer_mut::<T>(entity).unwrap();
        (buffer.len(), buffer.capacity())
    }

    assert_eq!(fresh::<Eight>(), (0, 8));
    assert_eq!(fresh::<Four>(), (0, 32));
    assert_eq!(fresh::<One>(), (0, 128));
    assert_eq!(fresh::<Large>(), (0, 0));
    assert_eq!(ComponentType::of_buffer::<Eight>().size(), 16 + 8 * 4);
    assert_eq!(ComponentType::of_buffer::<Large>().size(), 16);
}

#[test]
fn growth_doubles_and_is_eight_at_least() {
    let grown = |first: usize, len: u32, more: usize| {
        let mut world = World::new("buffers");
        let entity = world.spawn(Buffer::<Large>::new());
        let mut buffer = world.buffer_mut::<Large>(entity).unwrap();
        buffer.set_capacity(first);
        buffer.resize(len as usize, Large([7; 129]));
        buffer.reserve(more);
        buffer.capacity()
    };
    assert_eq!(grown(0, 0, 1), 8);
    assert_eq!(grown(3, 3, 1), 8);
    assert_eq!(grown(8, 8, 1), 16);
    assert_eq!(grown(8, 8, 9), 17);
    assert_eq!(grown(5, 5, 1), 10);
    assert_eq!(grown(0, 0, 100), 100);

    // From inline to the heap.
    with(8, |buffer| {
        assert_eq!(buffer.capacity(), 8);
        buffer.push(Eight(8));
        assert_eq!((buffer.len(), buffer.capacity()), (9, 16));
        assert_eq!(values(buffer), Vec::from_iter(0..9));
    });
}

#[test]
fn an_explicit_capacity_is_exact() {
    with(5, |buffer| {
        for capacity in [100, 9, 1000, 8, 6, 5, 70, 8] {
            buffer.set_capacity(capacity);
            assert_eq!(buffer.capacity(), capacity, "also below what is inline");
            assert_eq!(values(buffer), [0, 1, 2, 3, 4]);
        }
        let inline = buffer.as_ptr();
        // A capacity set below the inline capacity grows within it, if the growth rule needs no more.
        buffer.truncate(3);
        buffer.set_capacity(3);
        buffer.push(Eight(3));
        assert_eq!((buffer.capacity(), buffer.as_ptr()), (8, inline));
        buffer.set_capacity(9);
        assert_ne!(buffer.as_ptr(), inline);
        buffer.set_capacity(4);
        assert_eq!((values(buffer), buffer.as_ptr()), (vec![0, 1, 2, 3], inline));
    });
}

#[test]
fn a_capacity_below_the_length_is_refused() {
    with(5, |buffer| {
        let message = panic_message(|| buffer.set_capacity(4));
        assert_eq!(
            message,
            "A0067: a buffer of `entities::buffers::contents::Eight` with 5 elements cannot have a capacity of 4; `truncate` it first, or \
             use `shrink_to_fit`"
        );
        assert_eq!((buffer.len(), buffer.capacity()), (5, 8));
        let message = panic_message(|| buffer.reserve(usize::MAX));
        assert!(message.starts_with("A0068: "), "{message}");
        let message = panic_message(|| buffer.set_capacity(u32::MAX as usize + 1));
        assert!(message.starts_with("A0068: "), "{message}");
        assert_eq!((buffer.len(), buffer.capacity()), (5, 8));
    });
}

#[test]
fn shrinking_keeps_the_needed_or_the_inline_capacity() {
    with(10, |buffer| {
        buffer.set_capacity(16);
        buffer.shrink_to_fit();
        assert_eq!(buffer.capacity(), 10);
        buffer.set_capacity(100);
        buffer.truncate(3);
        assert_eq!(buffer.capacity(), 100);
        buffer.shrink_to_fit();
        assert_eq!((buffer.capacity(), values(buffer)), (8, vec![0, 1, 2]));
    });
}

#[test]
fn clearing_and_shortening_keep_the_capacity() {
    with(20, |buffer| {
        let capacity = buffer.capacity();
        buffer.resize(5, Eight(0));
        assert_eq!((buffer.len(), buffer.capacity()), (5, capacity));
        buffer.resize(7, Eight(9));
        assert_eq!(values(buffer), [0, 1, 2, 3, 4, 9, 9]);
        buffer.clear();
        assert_eq!((buffer.len(), buffer.capacity()), (0, capacity));
    });
}

#[test]
fn elements_are_added_and_removed() {
    with(5, |buffer| {
        buffer.insert(0, Eight(10));
        buffer.insert(6, Eight(11));
        buffer.insert(3, Eight(12));
        assert_eq!(values(buffer), [10, 0, 1, 12, 2, 3, 4, 11]);
        assert_eq!(buffer.remove(3), Eight(12));
        assert_eq!(buffer.swap_remove(0), Eight(10));
        assert_eq!(values(buffer), [11, 0, 1, 2, 3, 4]);
        assert_eq!(buffer.swap_remove(5), Eight(4));
        assert_eq!(buffer.pop(), Some(Eight(3)));
        buffer.extend_from_slice(&[Eight(5), Eight(6)]);
        buffer.extend([Eight(7)]);
        buffer.extend(&[Eight(8)]);
        assert_eq!(values(buffer), [11, 0, 1, 2, 5, 6, 7, 8]);
        buffer[1] = Eight(20);
        for element in buffer.iter_mut() {
            element.0 += 1;
        }
        assert_eq!(values(buffer), [12, 21, 2, 3, 6, 7, 8, 9]);
        buffer.copy_from(&[Eight(1), Eight(2)]);
        assert_eq!(values(buffer), [1, 2]);
    });
    with(0, |buffer| assert_eq!(buffer.pop(), None));
}

#[test]
fn ranges_are_closed_in_order_or_from_the_end() {
    let removed =
        |start, end| with(8, |buffer| (buffer.remove_range(start..end), values(buffer)).1);
    assert_eq!(removed(2, 4), [0, 1, 4, 5, 6, 7]);
    assert_eq!(removed(0, 8), []);
    assert_eq!(removed(5, 8), [0, 1, 2, 3, 4]);
    assert_eq!(removed(8, 8), Vec::from_iter(0..8));
    let swapped = |start, end| {
        with(8, |buffer| {
            buffer.swap_remove_range(start..end);
            values(buffer)
        })
    };
    assert_eq!(swapped(1, 3), [0, 6, 7, 3, 4, 5]);
    // Fewer elements follow the range than are in it.
    assert_eq!(swapped(1, 6), [0, 6, 7]);
    assert_eq!(swapped(0, 8), []);
    assert_eq!(swapped(3, 3), Vec::from_iter(0..8));
    with(8, |buffer| {
        buffer.remove_range(..=1);
        buffer.swap_remove_range(4..);
        assert_eq!(values(buffer), [2, 3, 4, 5]);
        buffer.remove_range(..);
        assert!(buffer.is_empty());
    });
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "is refused")]
fn an_index_out_of_range_is_refused_and_changes_nothing() {
    with(3, |buffer| {
        let message = panic_message(|| buffer.insert(4, Eight(9)));
        assert_eq!(
            message,
            "A0066: cannot insert at index 4 of a buffer of `entities::buffers::contents::Eight` with 3 elements; insert at 0 \
             to 3, or use `push`"
        );
        let message = panic_message(|| assert_eq!(buffer.remove(3), Eight(0)));
        assert_eq!(
            message,
            "A0066: index 3 is out of bounds for a buffer of `entities::buffers::contents::Eight` with 3 elements; compare the \
             index with `len()` first"
        );
        assert!(
            panic_message(|| assert_eq!(buffer.swap_remove(usize::MAX), Eight(0)))
                .starts_with("A0066: ")
        );
        let message = panic_message(|| buffer.remove_range(1..4));
        assert_eq!(
            message,
            "A0066: the range 1..4 is out of bounds for a buffer of `entities::buffers::contents::Eight` with 3 elements; use \
             a range within 0..3"
        );
        assert!(panic_message(|| buffer.remove_range(2..1)).starts_with("A0066: "));
        assert!(panic_message(|| buffer.swap_remove_range(..=usize::MAX)).starts_with("A0066: "));
        assert!(panic_message(|| buffer.swap_remove_range(4..)).starts_with("A0066: "));
        assert_eq!((values(buffer), buffer.capacity()), (vec![0, 1, 2], 8));
    });
}

/// An element that counts its instances.
#[derive(BufferElement, Clone, Debug)]
#[buffer(inline = 2)]
struct Counted(#[field(opaque)] Arc<()>);

#[test]
fn dropping_a_buffer_frees_everything() {
    let count = Arc::new(());
    let some = |number: usize| -> Buffer<Counted> {
        (0..number).map(|_| Counted(Arc::clone(&count))).collect()
    };
    for number in [0, 1, 2, 3, 50] {
        let alive = || Arc::strong_count(&count) - 1;
        let mut world = World::new("buffers");
        let removed = world.spawn((Position(0.0), some(number)));
        assert_eq!(alive(), number);
        assert_eq!(world.remove::<Buffer<Counted>>(removed), Ok(true));
        assert_eq!(alive(), 0);

        let destroyed = world.spawn(some(number));
        world.despawn(destroyed).unwrap();
        assert_eq!(alive(), 0);

        let replaced = world.spawn(some(number));
        world.set(replaced, some(1)).unwrap();
        assert_eq!(alive(), 1);
        assert!(!world.add(replaced, some(number)).unwrap());
        assert_eq!(alive(), number);

        let taken = world.take::<Buffer<Counted>>(replaced).unwrap();
        assert_eq!((taken.len(), alive()), (number, number));
        drop(taken);
        world.spawn_many(some(number), 10);
        assert_eq!(alive(), 10 * number);
        world.despawn_all().unwrap();
        assert_eq!(alive(), 0);
        world.spawn_batch((0..10).map(|_| some(number)));
        drop(world);
        assert_eq!(alive(), 0);
    }
}

#[test]
fn contents_survive_moves_and_blocks_stay_where_they_are() {
    let mut world = World::with_settings("buffers", WorldSettings::new().chunk_capacity_limit(3));
    let all: Vec<Entity> = (0..12).map(|count| world.spawn(numbers(count))).collect();
    let blocks: Vec<_> = all.iter().map(|&e| world.buffer::<Eight>(e).unwrap().as_ptr()).collect();
    // Every second entity moves to another archetype, and half of those move back, while others fill the gaps.
    for &entity in all.iter().step_by(2) {
        world.add(entity, Position(1.0)).unwrap();
    }
    for &entity in all.iter().step_by(4) {
        world.remove::<Position>(entity).unwrap();
    }
    world.swap_components(all[1], all[11]).unwrap();
    for (count, &entity) in all.iter().enumerate() {
        let count = match count {
            1 => 11,
            11 => 1,
            count => count,
        };
        let elements = world.buffer::<Eight>(entity).unwrap();
        assert_eq!(values(elements), Vec::from_iter(0..count as u32));
        if count > 8 {
            assert_eq!(elements.as_ptr(), blocks[count], "on the heap, and not copied");
        }
    }
    world.check_invariants().unwrap();
}

#[test]
fn copies_are_equal_and_independent() {
    for count in [3, 8, 9, 40] {
        let mut world = World::new("buffers");
        let entities: Vec<Entity> = world.spawn_many(numbers(count), 5).collect();
        world.buffer_mut::<Eight>(entities[4]).unwrap().set_capacity(77);
        let mut fork = world.fork().unwrap();
        let mut copy = world.duplicate().unwrap();
        assert_eq!(world.state_hash(), fork.state_hash());
        fork.buffer_mut::<Eight>(entities[0]).unwrap().push(Eight(100));
        copy.buffer_mut::<Eight>(entities[1]).unwrap().clear();
        world.buffer_mut::<Eight>(entities[2]).unwrap()[1] = Eight(200);
        let lengths = |world: &World| -> Vec<usize> {
            entities.iter().map(|&entity| world.buffer::<Eight>(entity).unwrap().len()).collect()
        };
        let count = count as usize;
        assert_eq!(lengths(&world), [count; 5]);
        assert_eq!(lengths(&fork), [count + 1, count, count, count, count]);
        assert_eq!(lengths(&copy), [count, 0, count, count, count]);
        assert_eq!(fork.buffer::<Eight>(entities[2]).unwrap()[1], Eight(1));
        // All copies behave the same.
        for world in [&mut world, &mut fork, &mut copy] {
            assert_eq!(world.buffer_mut::<Eight>(entities[4]).unwrap().capacity(), 77);
        }
        drop(world);
        assert_eq!(fork.buffer::<Eight>(entities[1]).unwrap().len(), count);
    }
}

#[test]
fn elements_seen_as_another_type_are_the_same_elements() {
    #[derive(BufferElement, Clone, Copy)]
    #[buffer(inline = 2)]
    struct Weight(f32);

    let mut world = World::new("buffers");
    let entity = world.spawn(Buffer::from([Weight(1.0), Weight(2.0)]));
    let mut weights = world.buffer_mut::<Weight>(entity).unwrap();
    let mut bits = weights.reinterpret::<u32>();
    assert_eq!(*bits, [1.0_f32.to_bits(), 2.0_f32.to_bits()]);
    bits[0] = 8.0_f32.to_bits();
    // It grows like a buffer of weights, of which two are inline.
    bits.push(3.0_f32.to_bits());
    assert_eq!((bits.len(), bits.capacity()), (3, 8));
    let mut bytes = bits.reinterpret::<[u8; 4]>();
    bytes.push(4.0_f32.to_ne_bytes());
    bytes.remove(1);
    bytes.set_capacity(3);
    let weights = world.buffer::<Weight>(entity).unwrap();
    assert_eq!(weights.iter().map(|weight| weight.0).collect::<Vec<_>>(), [8.0, 3.0, 4.0]);
}

#[test]
fn missing_buffers_are_errors_and_only_writing_marks() {
    let mut world = World::new("buffers");
    let (with, without) = (world.spawn(numbers(3)), world.spawn(Position(0.0)));
    let ty = ComponentType::of_buffer::<Eight>();
    let gone = world.spawn(());
    world.despawn(gone).unwrap();
    let missing = EntityError::MissingComponent { entity: without, component: ty };
    assert_eq!(world.buffer::<Eight>(without).unwrap_err(), missing);
    assert_eq!(world.buffer_mut::<Eight>(without).unwrap_err(), missing);
    assert!(matches!(world.buffer::<Eight>(gone), Err(EntityError::NoSuchEntity { .. })));
    assert!(matches!(world.add_buffer::<Eight>(gone), Err(EntityError::NoSuchEntity { .. })));
    assert_eq!(
        missing.to_string(),
        "A0051: entity 1v1 has no `Buffer<entities::buffers::contents::Eight>`; add it first, or check with `has`"
    );

    let version = |world: &World| {
        let entities = world;
        entities.chunks().find_map(|chunk| chunk.change_version_of(ty)).unwrap()
    };
    let before = version(&world);
    let now = world.advance_version();
    let lookup = world.lookup::<&Buffer<Eight>>();
    assert_eq!(lookup.get(with).map(values), Some(vec![0, 1, 2]));
    assert!(lookup.has(with) && !lookup.has(without) && lookup.get(gone).is_none());
    assert_eq!(world.buffer::<Eight>(with).unwrap().len(), 3);
    assert_eq!(version(&world), before);
    world.buffer_mut::<Eight>(with).unwrap();
    assert_eq!(version(&world), now);

    let now = world.advance_version();
    let mut seen = 0;
    world.for_each_chunk_mut(|mut chunk| match chunk.buffers_mut::<Eight>() {
        Ok(mut buffers) => {
            assert_eq!(buffers.len(), 1);
            buffers.get_mut(0).unwrap().push(Eight(3));
            assert!(buffers.get_mut(1).is_none());
            assert_eq!(buffers.iter_mut().len(), 1);
            seen += 1;
        }
        Err(error) => assert_eq!(error, missing),
    });
    assert_eq!((seen, version(&world)), (1, now));
    let chunk = world.chunks().find_map(|chunk| chunk.buffers::<Eight>()).unwrap();
    assert_eq!(values(&chunk[0]), [0, 1, 2, 3]);
    assert!(chunk.get(1).is_none());
}

#[test]
fn adding_twice_keeps_the_contents_or_replaces_them() {
    let mut world = World::new("buffers");
    let entity = world.spawn(Position(1.0));
    let mut buffer = world.add_buffer::<Eight>(entity).unwrap();
    assert_eq!((buffer.len(), buffer.capacity()), (0, 8));
    buffer.extend_from_slice(&numbers(3));
    assert_eq!(values(&world.add_buffer::<Eight>(entity).unwrap()), [0, 1, 2]);
    assert_eq!(world.add(entity, Buffer::from([Eight(9)])), Ok(false));
    assert_eq!(world.buffer::<Eight>(entity).unwrap(), [Eight(9)]);
    assert_eq!(world.get(entity), Ok(&Position(1.0)));
    let ty = ComponentType::of_buffer::<Eight>();
    assert_eq!(world.add_types(entity, &[ty]), Ok(false));
    assert_eq!(world.buffer::<Eight>(entity).unwrap(), [Eight(9)]);

    let mut strict = World::with_settings("strict", WorldSettings::new().strict(true));
    let entity = strict.spawn(numbers(1));
    let present = EntityError::AlreadyPresent { entity, component: ty };
    assert_eq!(strict.add_buffer::<Eight>(entity).unwrap_err(), present);
}

#[derive(Component, BufferElement, Clone, Copy, Debug, Default, PartialEq)]
#[buffer(component)]
struct Both(u32);

#[test]
fn a_type_can_be_a_component_and_an_element() {
    let mut world = World::new("buffers");
    let entity = world.spawn((Both(1), Buffer::from([Both(2), Both(3)])));
    assert_eq!(world.get(entity), Ok(&Both(1)));
    assert_eq!(world.buffer::<Both>(entity).unwrap(), [Both(2), Both(3)]);
    assert!(world.has::<(Buffer<Both>, Both)>(entity));
    let (alone, buffer) = (ComponentType::of::<Both>(), ComponentType::of_buffer::<Both>());
    assert_ne!(alone, buffer);
    assert_eq!(buffer.name(), format!("Buffer<{}>", alone.name()));
    assert_eq!(ComponentType::find(buffer.name()), Some(buffer));
    assert_eq!(
        world.take::<(Both, Buffer<Both>)>(entity).unwrap().1.into_vec(),
        [Both(2), Both(3)]
    );
    assert_eq!(world.entity_archetype(entity).unwrap(), { world.archetype::<()>() });
}

#[test]
fn buffers_are_lists_and_never_bytes() {
    let ty = ComponentType::of_buffer::<Eight>();
    let shape = ty.shape();
    assert!(matches!(shape.kind, FieldKind::List(element) if element().name == "Eight"));
    assert!(!shape.plain && !shape.any_bits && !shape.has_entities && !ty.is_tag());
    assert_eq!((shape.size, shape.align), (ty.size(), ty.align()));
    let mut world = World::new("buffers");
    let entity = world.spawn(numbers(3));
    let entities = &mut world;
    assert!(matches!(entities.get_bytes(entity, ty), Err(EntityError::NotBytes { .. })));
    let bytes = vec![0; ty.size()];
    assert!(matches!(entities.set_bytes(entity, ty, &bytes), Err(EntityError::NotBytes { .. })));
    assert!(entities.chunks().all(|chunk| chunk.bytes(ty).is_none()));
    assert_eq!(values(world.buffer(entity).unwrap()), [0, 1, 2]);
}

#[test]
fn archetypes_with_buffers_begin_empty() {
    let mut world = World::new("buffers");
    let archetype = world.archetype::<(Both, Buffer<Eight>)>();
    let all: Vec<_> = world.create_many(archetype, 500).unwrap().collect();
    assert!(all.iter().all(|&entity| world.buffer::<Eight>(entity).unwrap().is_empty()));
    world.buffer_mut::<Eight>(all[250]).unwrap().extend((0..20).map(Eight));
    let bare = world.archetype::<Both>();
    world.set_archetype(all[250], bare).unwrap();
    assert!(!world.has::<Buffer<Eight>>(all[250]));
    world.check_invariants().unwrap();
}
