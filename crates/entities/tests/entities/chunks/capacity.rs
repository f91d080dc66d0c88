//! The layout and capacity of chunks.

use ancho_entities::{
    Archetype, Buffer, BufferElement, Component, ComponentType, Entity, IgnoreEnabled,
    ManagedComponent, Prefab, QueryDescriptor, RuntimeType, Shared, SharedComponent, World,
    WorldSettings,
};

use crate::common::{A, B, C, Checked, Tag, Text, both, world};

/// Computes the largest number of entities whose ids and columns fit a chunk, with each column aligned to 64 bytes.
fn formula(types: &[ComponentType], chunk: usize) -> usize {
    let end = |count: usize| {
        types
            .iter()
            .filter(|ty| !ty.is_tag())
            .fold(8 * count, |end, ty| end.next_multiple_of(ty.align().max(64)) + ty.size() * count)
    };
    (1..).take_while(|count| end(*count) <= chunk).last().unwrap_or(0)
}

fn runtime(size: usize, align: usize) -> ComponentType {
    let name = format!("game::capacity::{size}/{align}");
    ComponentType::register(RuntimeType::new(name, size, align)).unwrap()
}

fn capacity(world: &mut World, types: &[ComponentType]) -> (Archetype, usize) {
    let archetype = world.archetype_of(types).unwrap();
    (archetype, world.archetype_capacity(archetype).unwrap())
}

#[test]
fn the_capacity_is_the_largest_that_fits() {
    // DIFFERENCE: a chunk has no header, so that all its 16,384 bytes are for ids and components.
    let sets: [&[(usize, usize)]; 9] = [
        &[],
        &[(1, 1)],
        &[(4, 4)],
        &[(12, 4)],
        &[(292, 4)],
        &[(300, 4)],
        &[(64, 4), (12, 4), (16, 4)],
        &[(8, 8), (4, 4), (2, 2), (1, 1)],
        &[(16000, 8)],
    ];
    for chunk in [4096, 16 * 1024, 64 * 1024] {
        let mut world = Checked::with_settings(WorldSettings::new().chunk_size(chunk));
        for set in sets {
            let types: Vec<_> = set.iter().map(|(size, align)| runtime(*size, *align)).collect();
            if formula(&types, chunk) == 0 {
                world.archetype_of(&types).unwrap_err();
                continue;
            }
            let (archetype, capacity) = capacity(&mut world, &types);
            let types = world.component_types(archetype).unwrap();
            assert_eq!(capacity, formula(types, chunk), "{set:?} in {chunk}");
        }
    }
}

#[test]
fn well_known_capacities() {
    let mut world = world();
    assert_eq!(capacity(&mut world, &[]).1, 2048);
    let a = ComponentType::of::<A>();
    // 16,384 / 12 = 1365; the ids end at 10,920, and the column begins at 10,944.
    assert_eq!(capacity(&mut world, &[a]).1, 1360);
    // 16,384 / 308 = 53
    assert_eq!(capacity(&mut world, &[runtime(300, 4)]).1, 53);
}

#[test]
fn the_capacity_can_be_limited() {
    // DIFFERENCE: the capacity is limited to 128 only on request.
    let mut world = Checked::with_settings(WorldSettings::new().chunk_capacity_limit(128));
    assert_eq!(capacity(&mut world, &[]).1, 128);
    assert_eq!(capacity(&mut world, &[ComponentType::of::<A>()]).1, 128);
    assert_eq!(capacity(&mut world, &[runtime(300, 4)]).1, 53);
    world.spawn_many(A(1), 300);
    let lengths: Vec<_> = world.chunks().map(|chunk| chunk.len()).collect();
    assert_eq!(lengths, [128, 128, 44]);
    assert!(world.chunks().all(|chunk| chunk.capacity() == 128));
}

#[test]
fn types_without_bytes_do_not_count() {
    let mut world = world();
    let [a, b, tag] =
        [ComponentType::of::<A>(), ComponentType::of::<B>(), ComponentType::of::<Tag>()];
    let (_, without) = capacity(&mut world, &[a, b]);
    assert_eq!(capacity(&mut world, &[a, b, tag, runtime(0, 1)]).1, without);
}

#[test]
fn a_chunk_has_ids_first_and_then_a_dense_array_of_each_type() {
    for mut world in both() {
        let sets = (0..3000).map(|number| (A(number), C(number.into()), Text(number.to_string())));
        world.spawn_batch(sets);
        let mut seen = 0;
        for chunk in world.chunks() {
            let ids = chunk.entities().as_ptr_range();
            let base = ids.start.addr();
            assert_eq!(base % 64, 0);
            let (a, c) = (chunk.slice::<A>().unwrap(), chunk.slice::<C>().unwrap());
            let text = chunk.slice::<Text>().unwrap();
            assert_eq!([a.len(), c.len(), text.len()], [chunk.len(); 3]);
            let mut ranges = [
                (base, base + chunk.capacity() * size_of::<Entity>()),
                (a.as_ptr().addr(), a.as_ptr().addr() + chunk.capacity() * size_of::<A>()),
                (c.as_ptr().addr(), c.as_ptr().addr() + chunk.capacity() * size_of::<C>()),
                (text.as_ptr().addr(), text.as_ptr().addr() + chunk.capacity() * size_of::<Text>()),
            ];
            ranges.sort();
            assert_eq!(ranges[0].0, base);
            assert!(ranges.iter().all(|range| range.0 % 64 == 0));
            assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
            assert!(ranges[3].1 <= base + 16 * 1024);
            for (row, entity) in chunk.entities().iter().enumerate() {
                let number = (seen + row) as u32;
                assert_eq!((a[row], c[row]), (A(number), C(number.into())));
                assert_eq!(text[row].0, number.to_string());
                assert_eq!(world.get(*entity), Ok(&a[row]));
            }
            seen += chunk.len();
        }
        assert_eq!(seen, 3000);
    }
}

#[test]
fn values_keep_their_addresses_while_other_entities_change() {
    #[derive(Component, Clone, Copy)]
    struct Here(u32);

    let mut world = world();
    let entity = world.spawn(Here(7));
    let place = std::ptr::from_ref(world.get::<Here>(entity).unwrap());
    let others: Vec<_> = world.spawn_many(Here(0), 10_000).collect();
    world.batch(&others).despawn().unwrap();
    world.spawn_many((Here(0), A(1)), 100);
    let here = world.get::<Here>(entity).unwrap();
    assert_eq!((std::ptr::from_ref(here), here.0), (place, 7));
}

/// Components with a maximum chunk capacity.
mod limited {
    use super::*;

    #[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
    #[component(name = "game::Sixteen", maximum_chunk_capacity = 16)]
    pub(super) struct Sixteen(pub(super) u32);

    #[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
    #[component(name = "game::Seven", maximum_chunk_capacity = 7)]
    pub(super) struct Seven;

    #[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
    #[component(name = "game::Five", enableable, maximum_chunk_capacity = 5)]
    pub(super) struct Five(pub(super) u32);

    #[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
    #[buffer(name = "game::Four", maximum_chunk_capacity = 4)]
    pub(super) struct Four(pub(super) u32);

    #[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[shared(name = "game::Three", maximum_chunk_capacity = 3)]
    pub(super) struct Three(pub(super) u32);

    #[derive(ManagedComponent, Clone, Debug, PartialEq)]
    #[managed(name = "game::Two", maximum_chunk_capacity = 2)]
    pub(super) struct Two(pub(super) String);

    /// A maximum larger than the chunk's capacity.
    #[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
    #[component(name = "game::Many", maximum_chunk_capacity = 4_000_000_000)]
    pub(super) struct Many(pub(super) [u64; 32]);

    /// A component that stays when its entity is despawned.
    #[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
    #[component(name = "game::StaysInOnes", cleanup, maximum_chunk_capacity = 1)]
    pub(super) struct StaysInOnes;
}

#[test]
fn an_archetype_has_the_smallest_maximum_of_its_components() {
    use limited::*;
    let mut world = world();
    let of = |world: &mut Checked, types: &[ComponentType]| capacity(world, types).1;
    let (sixteen, seven) = (ComponentType::of::<Sixteen>(), ComponentType::of::<Seven>());
    assert_eq!(of(&mut world, &[sixteen]), 16);
    assert_eq!(of(&mut world, &[sixteen, ComponentType::of::<A>()]), 16);
    assert_eq!(of(&mut world, &[seven, sixteen]), 7, "a tag");
    assert_eq!(of(&mut world, &[sixteen, ComponentType::of_buffer::<Four>()]), 4);
    assert_eq!(of(&mut world, &[sixteen, ComponentType::of_shared::<Three>()]), 3);
    assert_eq!(of(&mut world, &[sixteen, ComponentType::of_managed::<Two>()]), 2);
    assert_eq!(of(&mut world, &[ComponentType::of_chunk::<Sixteen>()]), 16, "a value of chunks");
    let many = ComponentType::of::<Many>();
    assert_eq!(of(&mut world, &[many]), formula(&[many], 16 * 1024));
    // The limit of the world counts, too.
    let mut limited = Checked::with_settings(WorldSettings::new().chunk_capacity_limit(10));
    assert_eq!(of(&mut limited, &[sixteen]), 10);
    assert_eq!(of(&mut limited, &[seven]), 7);
}

#[test]
fn adding_a_component_with_a_maximum_splits_chunks() {
    use limited::*;
    for limit in [1000, 6] {
        let mut world = Checked::with_settings(WorldSettings::new().chunk_capacity_limit(limit));
        let all: Vec<_> = world.spawn_batch((0..40).map(A)).collect();
        let check = |world: &Checked, most: usize| {
            let lengths = world.chunks().map(|chunk| chunk.len());
            assert!(lengths.into_iter().all(|len| len <= most.min(limit)));
            world.check_invariants().unwrap();
            for (at, &entity) in all.iter().enumerate() {
                assert_eq!(world.get(entity), Ok(&A(at as u32)));
            }
        };
        // A tag, by query: the limit prevents moving whole chunks.
        assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add(Seven).unwrap(), 40);
        check(&world, 7);
        assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Seven>(), Ok(40));
        check(&world, 1000);
        assert_eq!(
            world.batch(QueryDescriptor::of::<&A, ()>()).add(Shared::new(Three(1))).unwrap(),
            40
        );
        check(&world, 3);
        assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Shared<Three>>(), Ok(40));
        // One by one, with enabled bits.
        for (at, &entity) in (0..).zip(&all) {
            world.add(entity, (Five(at), Buffer::<Four>::from([Four(at)]))).unwrap();
            world.set_component_enabled::<Five>(entity, at % 3 == 0).unwrap();
        }
        check(&world, 4);
        assert_eq!(
            world.batch(QueryDescriptor::of::<(), IgnoreEnabled>()).remove::<Buffer<Four>>(),
            Ok(40)
        );
        check(&world, 5);
        for (at, &entity) in (0..).zip(&all) {
            let is_on = world.is_component_enabled::<Five>(entity);
            assert_eq!((world.get(entity), is_on), (Ok(&Five(at)), Ok(at % 3 == 0)));
        }
        // Forks, copies, instances and other worlds have the same limits.
        let mut fork = world.fork();
        fork.batch(QueryDescriptor::of::<(), IgnoreEnabled>()).add(Seven).unwrap();
        check(&fork, 5);
        check(&world, 5);
        let copies = world.copy_entities(&all).unwrap();
        assert_eq!(copies.len(), 40);
        world.instantiate_many(all[0], 50).unwrap();
        check(&world, 5);
        let mut other = crate::common::world();
        other.move_entities_from(&mut world).unwrap();
        assert!(other.chunks().all(|chunk| chunk.len() <= 5));
        other.check_invariants().unwrap();
    }
}

#[test]
fn cleanup_remains_and_prefabs_keep_the_maximum() {
    use limited::*;
    let mut world = world();
    let all: Vec<_> = world.spawn_many((A(1), StaysInOnes, Prefab), 5).collect();
    assert_eq!(world.chunks().count(), 5);
    world.batch(&all).despawn().unwrap();
    assert_eq!(world.chunks().map(|chunk| chunk.len()).collect::<Vec<_>>(), [1; 5]);
    let prefab = world.spawn((Prefab, Sixteen(3)));
    world.instantiate_many(prefab, 33).unwrap();
    let mut lengths: Vec<_> = world.chunks().map(|chunk| chunk.len()).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [1, 1, 1, 1, 1, 1, 1, 16, 16]);
}
