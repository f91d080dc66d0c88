//! Operations that fail halfway: all or nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_entities::{Buffer, ChunkArena, Component, Entity, World, WorldSettings};

use super::{ChildOf, Children, Targets};
use crate::common::*;

const CHUNK: usize = 16 * 1024;

/// An entity, the number of its components, its parent, its children, and its hunters.
type Seen = (Entity, usize, Option<Entity>, Vec<Entity>, Vec<Entity>);

/// Returns the components and links of all entities. The rows of a refused operation may be in another order.
fn seen(world: &World) -> Vec<Seen> {
    let mut all: Vec<_> = world
        .iter_entities()
        .map(|entity| {
            let archetype = world.entity_archetype(entity).unwrap();
            let types = world.component_types(archetype).unwrap().len();
            let sources = world.sources::<ChildOf>(entity).to_vec();
            let hunters = world.sources::<Targets>(entity).to_vec();
            (entity, types, world.target::<ChildOf>(entity), sources, hunters)
        })
        .collect();
    all.sort();
    all
}

/// Runs an operation with each number of free chunks, until it succeeds. A failed operation changes nothing.
fn with_little_memory(
    build: impl Fn(&mut World) -> Vec<Entity>,
    operation: impl Fn(&mut World, &[Entity]) -> bool,
) {
    let mut failures = 0;
    for chunks in 1.. {
        let arena = ChunkArena::with_limit(chunks * CHUNK);
        let settings = WorldSettings::new().chunk_capacity_limit(2).arena(arena);
        let mut world = World::with_settings("Simulation", settings);
        let Ok(entities) = catch_unwind(AssertUnwindSafe(|| build(&mut world))) else { continue };
        let before = seen(&world);
        let done = operation(&mut world, &entities);
        world.check_invariants().unwrap();
        if done {
            assert!(failures > 0, "memory was never missing");
            return;
        }
        failures += 1;
        assert_eq!(seen(&world), before);
    }
}

#[test]
fn without_memory_no_link_is_added() {
    let build = |world: &mut World| world.spawn_many(A(1), 6).collect::<Vec<_>>();
    with_little_memory(build, |world, all| world.add(all[1], ChildOf(all[0])).is_ok());
    with_little_memory(build, |world, all| world.try_spawn((B(1), ChildOf(all[0]))).is_ok());
    with_little_memory(build, |world, all| {
        world.batch(&all[1..]).add((ChildOf(all[0]), Targets { enemy: all[2] })).is_ok()
            || world.batch(&all[3..]).add((ChildOf(all[0]), Targets { enemy: all[2] })).is_ok()
    });
}

#[test]
fn without_memory_no_link_is_removed() {
    let build = |world: &mut World| {
        let target = world.spawn(A(1));
        let sources = world.spawn_many((A(2), Targets { enemy: target }), 6);
        let mut all: Vec<_> = sources.collect();
        all.push(target);
        all
    };
    with_little_memory(build, |world, all| world.remove::<Targets>(all[0]).is_ok());
    with_little_memory(build, |world, all| {
        world.remove::<Buffer<super::TargetedBy>>(all[6]).is_ok()
    });
    with_little_memory(build, |world, all| world.despawn(all[6]).is_ok());
}

#[test]
fn without_memory_links_of_a_refused_move_are_restored() {
    let mut from = World::with_settings("From", WorldSettings::new().chunk_capacity_limit(2));
    let parent = from.spawn(());
    let children: Vec<_> = from.spawn_many((A(1), ChildOf(parent)), 6).collect();
    from.sources_mut::<ChildOf>(parent).unwrap().reverse();
    let before = seen(&from);
    let settings = WorldSettings::new().arena(ChunkArena::with_limit(0));
    let mut to = World::with_settings("To", settings);
    assert!(from.batch(&children[1..4]).move_to(&mut to).is_err());
    from.check_invariants().unwrap();
    assert_eq!(seen(&from), before);
    assert_eq!(to.entity_count(), 0);
}

/// A component whose clone or drop panics.
#[derive(Component, Debug)]
#[component(name = "game::Grumpy")]
struct Grumpy {
    on_clone: bool,
    on_drop: bool,
}

impl Clone for Grumpy {
    fn clone(&self) -> Self {
        assert!(!self.on_clone, "no clone");
        Self { ..*self }
    }
}

impl Drop for Grumpy {
    fn drop(&mut self) {
        assert!(!self.on_drop || std::thread::panicking(), "no drop");
    }
}

#[test]
fn a_clone_that_panics_leaves_no_link() {
    let mut world = world();
    let parent = world.spawn(());
    let set = (Grumpy { on_clone: true, on_drop: false }, ChildOf(parent));
    let spawn = AssertUnwindSafe(|| world.spawn_many(set, 3).for_each(drop));
    assert!(catch_unwind(spawn).is_err());
    assert_eq!(world.all_entities(), [parent]);
    assert!(!world.has::<Buffer<Children>>(parent));
    let child = world.spawn((Grumpy { on_clone: true, on_drop: false }, ChildOf(parent)));
    assert!(catch_unwind(AssertUnwindSafe(|| world.instantiate(parent))).is_err());
    assert_eq!(world.sources::<ChildOf>(parent), [child]);
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn a_drop_that_panics_leaves_both_directions_in_agreement() {
    let mut world = world();
    let (left, right) = (world.spawn(()), world.spawn(()));
    let grumpy = || Grumpy { on_clone: false, on_drop: true };
    let child = world.spawn((grumpy(), ChildOf(left)));
    let calm = Grumpy { on_clone: false, on_drop: false };
    let replace = AssertUnwindSafe(|| _ = world.add(child, (calm, ChildOf(right))));
    assert!(catch_unwind(replace).is_err());
    world.check_invariants().unwrap();
    let child = world.spawn((grumpy(), ChildOf(left)));
    assert!(catch_unwind(AssertUnwindSafe(|| world.remove::<(Grumpy, ChildOf)>(child))).is_err());
    world.check_invariants().unwrap();
    world.spawn_batch((0..3).map(|_| (grumpy(), ChildOf(left)))).for_each(drop);
    assert!(catch_unwind(AssertUnwindSafe(|| world.despawn(left))).is_err());
    world.check_invariants().unwrap();
    assert!(!world.exists(left));
}
