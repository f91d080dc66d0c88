//! Unintended uses, after which everything is still consistent.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ancho_entities::{CommandError, Component, Entity, EntityCommandBuffer, EntityTracker, World};

use crate::common::{A, Glow, Owned};

/// A component whose destructor panics, if it is armed.
#[derive(Component, Debug)]
struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0 || std::thread::panicking(), "it went off");
    }
}

mod one {
    #[inline(never)]
    pub(super) fn despawn(
        commands: &mut ancho_entities::CommandRecorder,
        entity: ancho_entities::Entity,
    ) {
        commands.despawn(entity);
    }
}

mod other {
    #[inline(never)]
    pub(super) fn despawn(
        commands: &mut ancho_entities::CommandRecorder,
        entity: ancho_entities::Entity,
    ) {
        commands.despawn(entity);
    }
}

#[test]
fn rows_do_not_depend_on_which_code_has_recorded() {
    let order = |by_two: bool| {
        let mut world = World::new("Simulation");
        let all: Vec<Entity> = world.spawn_batch((0..8).map(A)).collect();
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        for (at, &entity) in all.iter().enumerate().take(5).skip(1) {
            if by_two && at % 2 == 0 {
                other::despawn(commands, entity);
            } else {
                one::despawn(commands, entity);
            }
        }
        world.play(&mut buffer).unwrap();
        world.query::<&A>().iter().map(|a| a.0).collect::<Vec<_>>()
    };
    assert_eq!(order(false), order(true));
}

#[test]
fn an_entity_with_all_bits_set_does_not_exist() {
    let mut world = World::new("Simulation");
    let nobody = Entity::from_bits(u64::MAX);
    let counted = Arc::new(());
    for play in [false, true] {
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        commands.add(nobody, Owned(counted.clone()));
        commands.despawn(nobody);
        assert_eq!(buffer.trace().lines().count(), 2);
        if play {
            let refused = world.play(&mut buffer).unwrap_err();
            assert!(matches!(refused, CommandError::Failed(_)), "{refused}");
        }
        drop(buffer);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().despawn(nobody);
    assert!(world.play(&mut buffer).is_err());
}

#[test]
fn recorders_that_were_exchanged_do_no_harm() {
    let (mut one, mut other) = (World::new("one"), World::new("other"));
    let (mut first, mut second) = (EntityCommandBuffer::new(), EntityCommandBuffer::new());
    one.commands(&mut first).unwrap().spawn(A(1));
    other.commands(&mut second).unwrap().spawn_many(A(1), 3);
    let mut recorder = one.commands(&mut first).unwrap();
    mem::swap(&mut *recorder, &mut *other.commands(&mut second).unwrap());
    drop(first);
    let mut third = EntityCommandBuffer::new();
    third.commands().unwrap().spawn(A(3));
    one.play(&mut third).unwrap();
    _ = other.play(&mut second);
    one.check_invariants().unwrap();
    other.check_invariants().unwrap();
}

#[test]
fn commands_before_a_panic_are_applied() {
    let mut world = World::new("Simulation");
    let orc = world.spawn(A(0));
    let holder = world.spawn(Bomb(true));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.add(orc, Glow(1));
    commands.set(holder, Bomb(false));
    // Commands of one batch are all applied before a value is dropped.
    commands.set(orc, Glow(2));
    commands.run("look", |_| Ok(()));
    commands.despawn(orc);
    assert!(catch_unwind(AssertUnwindSafe(|| world.play(&mut buffer))).is_err());
    assert_eq!(world.get(orc), Ok(&Glow(2)));
    world.check_invariants().unwrap();
}

#[test]
fn a_buffer_belongs_to_no_world_that_has_promised_nothing() {
    let (one, mut other) = (World::new("one"), World::new("other"));
    let entity = other.spawn(A(0));
    let mut buffer = EntityCommandBuffer::new();
    one.commands(&mut buffer).unwrap().set(entity, A(1));
    other.play(&mut buffer).unwrap();
    assert_eq!(other.get(entity), Ok(&A(1)));
}

/// A sequence of numbers without a pattern.
struct Dice(u32);

impl Dice {
    fn throw(&mut self, sides: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % sides
    }

    fn pick(&mut self, among: &[Entity]) -> Entity {
        among[self.throw(among.len() as u32) as usize]
    }
}

#[test]
fn promises_forks_and_ends_of_everything_in_any_order() {
    let counted = Arc::new(());
    for seed in 0..100_u32 {
        let mut dice = Dice(seed.wrapping_mul(2_654_435_761) | 1);
        let mut world = World::new("Simulation");
        let set = |at| (A(at), Owned(counted.clone()));
        let mut all: Vec<Entity> = world.spawn_batch((0..200).map(set)).collect();
        let mut fork = None;
        let mut held = Vec::new();
        for _ in 0..12 {
            let reusable = dice.throw(4) == 0;
            let mut buffer =
                if reusable { EntityCommandBuffer::reusable() } else { EntityCommandBuffer::new() };
            for _ in 0..dice.throw(60) {
                record_something(&mut dice, &world, &mut buffer, &mut all, &counted);
            }
            match dice.throw(5) {
                0 => drop(buffer),
                1 => buffer.clear().unwrap(),
                2 => {
                    fork = Some(world.fork().unwrap());
                    held.push(buffer);
                }
                3 => {
                    world.entity_changes(&mut EntityTracker::new());
                    _ = world.play(&mut buffer);
                    _ = world.play(&mut buffer);
                }
                _ => held.push(buffer),
            }
            if held.len() > 2 {
                _ = world.play(&mut held.remove(0));
            }
            if dice.throw(40) == 0 {
                world.despawn_all().unwrap();
            }
            if dice.throw(20) == 0
                && let Some(fork) = fork.take()
            {
                world = fork;
            }
            world.check_invariants().unwrap();
            all.extend(world.spawn_batch((0..5).map(set)));
        }
    }
    assert_eq!(Arc::strong_count(&counted), 1);
}

/// Records one or two commands.
fn record_something(
    dice: &mut Dice,
    world: &World,
    buffer: &mut EntityCommandBuffer,
    all: &mut Vec<Entity>,
    counted: &Arc<()>,
) {
    let target = dice.pick(all);
    let value = Owned(counted.clone());
    if dice.throw(2) == 0
        && let Ok(mut commands) = world.commands(buffer)
    {
        match dice.throw(4) {
            0 => all.push(commands.spawn((A(1), value.clone()))),
            1 => all.extend_from_slice(commands.spawn_many((A(2), value.clone()), 3)),
            2 => all.extend_from_slice(commands.spawn_batch((0..3).map(A))),
            _ => all.push(commands.instantiate(target)),
        }
    }
    let commands = buffer.commands().unwrap();
    match dice.throw(8) {
        0 | 1 => commands.despawn(target),
        2 => commands.add(target, (Glow(1), value)),
        3 => commands.remove::<Owned>(target),
        4 => {
            commands.set_sort_key(Some(dice.throw(3)));
            commands.add(target, Glow(2));
        }
        5 => all.push(commands.spawn(value)),
        6 => commands.batch(&[target, dice.pick(all)]).add(value),
        _ => commands.set(target, A(7)),
    }
}
