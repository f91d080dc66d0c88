//! Random operations on worlds with components of all kinds.

use std::sync::Arc;

use ancho_entities::{
    Buffer, Entity, IncludeDisabled, IncludePrefabs, Managed, PerChunk, Shared, World,
};
use proptest::prelude::*;

use crate::common::*;

/// One random operation. Numbers select among all entities so far.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Spawns with the components of these bits, referring to others.
    Spawn(u16, u16, u16),
    Despawn(u16),
    Switch(u16, bool),
    Team(u16, u8),
    Name(u16),
    Tag(u16),
    /// Writes all values of an entity.
    Write(u16, u16),
    /// Removes the components of these bits.
    Remove(u16, u16),
    Advance,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (any::<u16>(), any::<u16>(), any::<u16>()).prop_map(|(bits, one, other)| Step::Spawn(bits, one, other)),
        2 => any::<u16>().prop_map(Step::Despawn),
        2 => (any::<u16>(), any::<bool>()).prop_map(|(at, on)| Step::Switch(at, on)),
        1 => (any::<u16>(), 0_u8..4).prop_map(|(at, team)| Step::Team(at, team)),
        1 => any::<u16>().prop_map(Step::Name),
        1 => any::<u16>().prop_map(Step::Tag),
        3 => (any::<u16>(), any::<u16>()).prop_map(|(at, other)| Step::Write(at, other)),
        2 => (any::<u16>(), any::<u16>()).prop_map(|(at, bits)| Step::Remove(at, bits)),
        1 => Just(Step::Advance),
    ]
}

/// Applies the steps. They also select among the existing entities.
pub(crate) fn live(world: &mut World, steps: &[Step], owner: &Arc<()>) {
    let mut all = vec![Entity::NULL];
    all.extend(world.iter_entities());
    let at = |all: &[Entity], at: u16| all[at as usize % all.len()];
    for (number, step) in (0..).zip(steps) {
        match *step {
            Step::Spawn(bits, one, other) => {
                let (one, other) = (at(&all, one), at(&all, other));
                let entity = world.spawn(A(number));
                all.push(entity);
                let has = |bit: u16| bits >> bit & 1 != 0;
                if has(0) {
                    world.add(entity, Link(one)).unwrap();
                }
                if has(1) {
                    let friends = [one, other, entity, one].into_iter().map(Friend);
                    let friends: Buffer<_> = friends.take(number as usize % 5).collect();
                    world.add(entity, friends).unwrap();
                }
                if has(2) {
                    world.add(entity, (Text(number.to_string()), Owned(owner.clone()))).unwrap();
                }
                if has(3) {
                    world.add(entity, Lamp(number as u8)).unwrap();
                }
                if has(4) {
                    world.add(entity, team(["", "red", "blue"][number as usize % 3])).unwrap();
                }
                if has(5) && has(6) {
                    world.add(entity, Managed::new(Script(number.to_string()))).unwrap();
                }
                if has(7) && has(8) {
                    world.add(entity, Handle(number.into())).unwrap();
                }
                if has(9) && has(10) {
                    world.add(entity, Shared::new(Mesh(number % 3))).unwrap();
                }
                if has(13) {
                    world.add(entity, Shared::new(Crew(other))).unwrap();
                }
                if has(11) && has(12) {
                    world.add(entity, PerChunk::<Focus>::new()).unwrap();
                    world.set_chunk_component(entity, Focus(one)).unwrap();
                }
            }
            Step::Despawn(entity) => _ = world.despawn(at(&all, entity)),
            Step::Switch(entity, on) => {
                _ = world.set_component_enabled::<Lamp>(at(&all, entity), on);
            }
            Step::Team(entity, value) => {
                _ = world.set_shared(at(&all, entity), Team(value.to_string()));
            }
            Step::Name(entity) => _ = world.set_name(at(&all, entity), "named"),
            Step::Tag(entity) => _ = world.add(at(&all, entity), Tag),
            Step::Write(entity, other) => {
                write(world, at(&all, entity), at(&all, other), number);
            }
            Step::Remove(entity, bits) => remove(world, at(&all, entity), bits),
            Step::Advance => _ = world.advance_version(),
        }
    }
}

/// Writes all values of an entity.
fn write(world: &mut World, entity: Entity, other: Entity, number: u32) {
    if let Ok(a) = world.get_mut::<A>(entity) {
        a.0 = number;
    }
    if let Ok(link) = world.get_mut::<Link>(entity) {
        link.0 = other;
    }
    if let Ok(text) = world.get_mut::<Text>(entity) {
        text.0.push('!');
    }
    if let Ok(lamp) = world.get_mut::<Lamp>(entity) {
        lamp.0 = lamp.0.wrapping_add(1);
    }
    if let Ok(handle) = world.get_mut::<Handle>(entity) {
        handle.0 += 1;
    }
    if let Ok(mut friends) = world.buffer_mut::<Friend>(entity) {
        match number % 3 {
            0 => friends.clear(),
            _ => friends.push(Friend(other)),
        }
    }
    if let Ok(script) = world.managed_mut::<Script>(entity) {
        script.0.push('?');
    }
    _ = world.set_shared(entity, Crew(other));
    _ = world.set_chunk_component(entity, Focus(other));
}

/// Removes components of an entity.
fn remove(world: &mut World, entity: Entity, bits: u16) {
    let has = |bit: u16| bits >> bit & 1 != 0;
    if has(0) {
        _ = world.remove::<Link>(entity);
    }
    if has(1) {
        _ = world.remove::<Buffer<Friend>>(entity);
    }
    if has(2) {
        _ = world.remove::<(Text, Owned)>(entity);
    }
    if has(3) && has(4) {
        _ = world.remove::<Lamp>(entity);
    }
    if has(5) && has(6) {
        _ = world.remove::<Shared<Team>>(entity);
    }
    if has(7) {
        _ = world.remove::<Managed<Script>>(entity);
    }
    if has(8) {
        _ = world.remove::<Handle>(entity);
    }
    if has(9) && has(10) {
        _ = world.remove::<PerChunk<Focus>>(entity);
    }
    if has(13) && has(14) {
        _ = world.remove::<Shared<Crew>>(entity);
    }
    if has(11) && has(12) {
        _ = world.remove::<A>(entity);
    }
}

/// Returns the number of counted values in a world.
pub(crate) fn owned(world: &World) -> usize {
    world.query_filtered::<&Owned, (IncludeDisabled, IncludePrefabs)>().count()
}
