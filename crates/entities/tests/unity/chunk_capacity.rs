//! How chunks are laid out, and how many entities they hold (A2, A3).

use ancho_entities::{
    Archetype, Component, ComponentType, Entity, RuntimeType, World, WorldSettings,
};

use crate::common::{A, B, C, Checked, Tag, Text, both, world};

/// The largest number of entities whose ids and columns, each from a multiple of 64 on, fit a chunk.
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
    let name = format!("unity::capacity::{size}/{align}");
    ComponentType::register(RuntimeType::new(name, size, align)).unwrap()
}

fn capacity(world: &mut World, types: &[ComponentType]) -> (Archetype, usize) {
    let archetype = world.entities_mut().archetype_of(types).unwrap();
    (archetype, world.entities().archetype_capacity(archetype).unwrap())
}

#[test]
fn the_capacity_is_the_largest_that_fits() {
    // A3
    // DIFFERENCE: nothing but ids and components is in a chunk, so that its 16,384 bytes are all for them.
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
                world.entities_mut().archetype_of(&types).unwrap_err();
                continue;
            }
            let (archetype, capacity) = capacity(&mut world, &types);
            let types = world.entities().component_types(archetype).unwrap();
            assert_eq!(capacity, formula(types, chunk), "{set:?} in {chunk}");
        }
    }
}

#[test]
fn well_known_capacities() {
    // A3
    let mut world = world();
    assert_eq!(capacity(&mut world, &[]).1, 2048);
    let a = ComponentType::of::<A>();
    // 16,384 / 12 = 1365; its ids end at 10,920, and the column begins at 10,944.
    assert_eq!(capacity(&mut world, &[a]).1, 1360);
    // 16,384 / 308 = 53
    assert_eq!(capacity(&mut world, &[runtime(300, 4)]).1, 53);
}

#[test]
fn the_capacity_can_be_limited() {
    // A3
    // DIFFERENCE: to 128 only if it is asked for.
    let mut world = Checked::with_settings(WorldSettings::new().chunk_capacity_limit(128));
    assert_eq!(capacity(&mut world, &[]).1, 128);
    assert_eq!(capacity(&mut world, &[ComponentType::of::<A>()]).1, 128);
    assert_eq!(capacity(&mut world, &[runtime(300, 4)]).1, 53);
    world.spawn_many(300, A(1));
    let lengths: Vec<_> = world.entities().chunks().map(|chunk| chunk.len()).collect();
    assert_eq!(lengths, [128, 128, 44]);
    assert!(world.entities().chunks().all(|chunk| chunk.capacity() == 128));
}

#[test]
fn types_without_bytes_do_not_count() {
    // A3, C3
    let mut world = world();
    let [a, b, tag] =
        [ComponentType::of::<A>(), ComponentType::of::<B>(), ComponentType::of::<Tag>()];
    let (_, without) = capacity(&mut world, &[a, b]);
    assert_eq!(capacity(&mut world, &[a, b, tag, runtime(0, 1)]).1, without);
}

#[test]
fn a_chunk_has_ids_first_and_then_a_dense_array_of_each_type() {
    // A2
    for mut world in both() {
        let sets = (0..3000).map(|number| (A(number), C(number.into()), Text(number.to_string())));
        world.spawn_batch(sets);
        let mut seen = 0;
        for chunk in world.entities().chunks() {
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
fn addresses_stay_while_others_come_and_go() {
    // A2
    #[derive(Component, Clone, Copy)]
    struct Here(u32);

    let mut world = world();
    let entity = world.spawn(Here(7));
    let place = std::ptr::from_ref(world.get::<Here>(entity).unwrap());
    let others: Vec<_> = world.spawn_many(10_000, Here(0)).collect();
    world.despawn_slice(&others).unwrap();
    world.spawn_many(100, (Here(0), A(1)));
    let here = world.get::<Here>(entity).unwrap();
    assert_eq!((std::ptr::from_ref(here), here.0), (place, 7));
}
