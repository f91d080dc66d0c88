//! Values of every size and alignment.

use ancho_entities::{Buffer, CommandRecorder, Component, EntityCommandBuffer};

use crate::common::*;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Line(u8);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[repr(align(256))]
struct Page(u32);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Large([u64; 512]);

/// Larger than a chunk.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Huge(pub(crate) [u8; 20_000]);

/// A zero-sized component with an alignment.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[repr(align(128))]
struct Empty;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Byte(u8);

#[test]
fn values_of_every_size_and_alignment_are_unchanged() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    for round in 0..3 {
        let mut all = Vec::new();
        let commands = buffer.commands().unwrap();
        for at in 0..200_u32 {
            odd(commands, at);
            let entity = commands.spawn((Byte(at as u8), Line(at as u8), Page(at)));
            commands.add(entity, (Large([u64::from(at); 512]), Empty));
            let second = commands.spawn(Byte(7));
            commands.add(second, Page(at + 1));
            commands.set(second, Byte(8));
            commands.add(second, Line(at as u8));
            commands.set(second, Page(at));
            all.push((entity, second));
        }
        world.play(&mut buffer).unwrap();
        for (at, (entity, second)) in (0..).zip(all) {
            let (entity, second) =
                (buffer.resolve(entity).unwrap(), buffer.resolve(second).unwrap());
            assert_eq!(world.get(entity), Ok(&Byte(at as u8)));
            assert_eq!(world.get(entity), Ok(&Line(at as u8)));
            assert_eq!(world.get(entity), Ok(&Page(at)));
            assert_eq!(world.get(entity), Ok(&Large([u64::from(at); 512])));
            assert!(world.has::<Empty>(entity));
            assert_eq!((world.get(second), world.get(second)), (Ok(&Byte(8)), Ok(&Page(at))));
            let page: *const Page = world.get(second).unwrap();
            assert!(page.addr().is_multiple_of(256));
        }
        assert_eq!(world.entity_count(), (round + 1) * 400);
        buffer.clear().unwrap();
    }
}

/// Records commands of odd sizes, so that the next one starts at an arbitrary offset.
fn odd(commands: &mut CommandRecorder, at: u32) {
    let entity = commands.spawn(());
    commands.set_name(entity, &"n".repeat(at as usize % 13));
    commands.despawn(entity);
}

#[test]
fn lists_of_every_size_and_alignment() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let pages = commands.spawn_batch((0..100).map(|at| (Byte(at as u8), Page(at))));
    let empties = commands.spawn_batch((0..1000).map(|_| Empty));
    let larges = commands.spawn_batch((0..20).map(|at| Large([at; 512])));
    let many = commands.spawn_many((Large([7; 512]), Page(7)), 50);
    let all: Vec<_> = pages.iter().collect();
    commands.batch(&all).add((Line(3), Large([9; 512])));
    world.play(&mut buffer).unwrap();
    let id = |placeholder| buffer.resolve(placeholder).unwrap();
    for (at, page) in (0..).zip(pages.iter().map(id)) {
        assert_eq!((world.get(page), world.get(page)), (Ok(&Page(at)), Ok(&Byte(at as u8))));
        assert_eq!((world.get(page), world.get(page)), (Ok(&Line(3)), Ok(&Large([9; 512]))));
    }
    assert!(empties.iter().map(id).all(|entity| world.has::<Empty>(entity)));
    assert!(
        (0..)
            .zip(larges.iter().map(id))
            .all(|(at, entity)| world.get(entity) == Ok(&Large([at; 512])))
    );
    assert!(many.iter().map(id).all(|entity| world.get(entity) == Ok(&Page(7))));
}

#[test]
fn many_commands_of_large_values_and_long_lists() {
    let mut world = world();
    let old = world.spawn(());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.add_buffer(old, (0..100_000).map(Item));
    let batch = commands.spawn_batch((0..100_000).map(A));
    for at in 0..1000 {
        commands.add(old, Large([at; 512]));
    }
    commands.set_name(old, &"long ".repeat(20_000));
    world.play(&mut buffer).unwrap();
    assert!(world.buffer::<Item>(old).unwrap().iter().map(|item| item.0).eq(0..100_000));
    assert_eq!(world.get(old), Ok(&Large([999; 512])));
    assert_eq!(world.entity_name(old).unwrap().len(), 100_000);
    let last = buffer.resolve(batch.get(99_999).unwrap()).unwrap();
    assert_eq!(world.get(last), Ok(&A(99_999)));
}

#[test]
fn values_that_do_not_fit_into_a_chunk_are_refused() {
    let mut world = world();
    let old = world.spawn(());
    let (number, _) = fails(&mut world, |commands| _ = commands.spawn(Huge([0; 20_000])));
    assert_eq!(number, 1);
    let (number, _) = fails(&mut world, |commands| commands.add(old, Huge([0; 20_000])));
    assert_eq!((number, world.entity_count()), (1, 1));
}

#[test]
fn buffers_of_empty_and_of_many() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let entity = commands.spawn(Buffer::<Item>::new());
    commands.set_buffer::<Item>(entity, []);
    for at in 0..1000 {
        commands.append(entity, Item(at));
    }
    world.play(&mut buffer).unwrap();
    let entity = buffer.resolve(entity).unwrap();
    assert!(world.buffer::<Item>(entity).unwrap().iter().map(|item| item.0).eq(0..1000));
}
