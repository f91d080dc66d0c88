//! Shared values that refer to entities, when those move to another world, or are remapped.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ancho_entities::{
    ChunkArena, Entity, EntityError, EntityMap, QueryDescriptor, Shared, SharedComponent, With,
    World, WorldSettings,
};

use crate::common::*;

fn crew(captain: Entity) -> Shared<Crew> {
    Shared::new(Crew(captain))
}

/// Spawns two captains, and crews of `each` with their captains. The captains are first.
fn crews(world: &mut World, each: usize) -> Vec<Entity> {
    let mut all: Vec<_> = world.spawn_many(A(0), 2).collect();
    for at in 0..2 {
        let captain = all[at];
        world.add(captain, crew(captain)).unwrap();
        all.extend(world.spawn_many((A(1), crew(captain)), each));
    }
    all
}

fn captain(world: &World, entity: Entity) -> Entity {
    world.shared::<Crew>(entity).unwrap().0
}

/// Returns the number of shared values in use.
fn values(world: &World) -> usize {
    let values = world.shared_values::<Crew>();
    values.filter(|value| world.shared_reference_count(&**value) > 0).count()
}

/// Creates a world in which some indices are used, and some are free.
fn used(limit: usize) -> Checked {
    let mut world = chunks_of(limit);
    let all: Vec<_> = world.spawn_many(A(7), 20).collect();
    for at in [3, 11, 4, 17] {
        world.despawn(all[at]).unwrap();
    }
    world
}

#[test]
fn shared_values_refer_to_the_moved_entities() {
    for (from, to) in [(3, 3), (3, 5), (1000, 1000), (1000, 2)] {
        for is_copied in [false, true] {
            let (mut source, mut destination) = (chunks_of(from), used(to));
            let all = crews(&mut source, 8);
            let before: Vec<_> = all.iter().map(|&entity| captain(&source, entity)).collect();
            let map = if is_copied {
                destination.copy_entities_from(&source).unwrap()
            } else {
                destination.move_entities_from(&mut source).unwrap()
            };
            for (&old, &expected) in all.iter().zip(&before) {
                let new = map.get(old).unwrap();
                assert_eq!(captain(&destination, new), map.get(expected).unwrap());
            }
            assert_eq!((values(&destination), values(&source)), (2, 2 * usize::from(is_copied)));
            let after = all.iter().filter(|_| is_copied).map(|&entity| captain(&source, entity));
            assert!(after.eq(before.into_iter().filter(|_| is_copied)));
            let asked = Crew(map.get(all[1]).unwrap());
            assert_eq!(destination.query::<&A>().with_shared(asked).count(), 9);
        }
    }
}

#[test]
fn shared_values_that_refer_to_entities_left_behind_become_null_and_equal() {
    /// A function that transfers all but the captains.
    type Bring = fn(&mut World, &mut World, &[Entity]) -> Result<EntityMap, EntityError>;
    let bring: [(bool, Bring); 4] = [
        (false, |here, there, all| there.batch(&all[2..]).move_to(here)),
        (true, |here, there, all| there.batch(&all[2..]).copy_to(here)),
        (false, |here, there, _| there.batch(QueryDescriptor::of::<(), With<Tag>>()).move_to(here)),
        (true, |here, there, _| QueryDescriptor::of::<(), With<Tag>>().copy_to(there, here)),
    ];
    for (is_copied, bring) in bring {
        for has_null in [false, true] {
            let (mut source, mut destination) = (chunks_of(4), used(4));
            let all = crews(&mut source, 6);
            for &entity in &all[2..] {
                source.add(entity, Tag).unwrap();
            }
            if has_null {
                destination.spawn((A(1), Tag, crew(Entity::NULL)));
            }
            let map = bring(&mut destination, &mut source, &all).unwrap();
            assert_eq!(map.len(), 12);
            for (_, new) in map.iter() {
                assert!(captain(&destination, new).is_null());
            }
            assert_eq!((values(&destination), values(&source)), (1, 2));
            let left = if is_copied { 14 } else { 2 };
            assert_eq!(source.query_filtered::<&A, With<Shared<Crew>>>().count(), left);
            assert_eq!(captain(&source, all[1]), all[1]);
        }
    }
}

/// A shared value without a default, with entities in nested types.
#[derive(SharedComponent, Clone, Debug, PartialEq, Eq, Hash)]
#[shared(name = "worlds::Ranks")]
struct Ranks {
    list: Vec<Option<Entity>>,
    name: String,
}

#[test]
fn shared_values_with_lists_of_entities_can_become_equal() {
    let (mut source, mut destination) = (chunks_of(3), used(3));
    let others: Vec<_> = source.spawn_many((), 4).collect();
    let ranks = |list: &[Entity], name: &str| {
        let list = list.iter().copied().map(Some).chain([None]).collect();
        Shared::new(Ranks { list, name: name.into() })
    };
    let all = [
        source.spawn(ranks(&[others[0], others[3]], "one")),
        source.spawn(ranks(&[others[1], others[3]], "one")),
        source.spawn(ranks(&[others[1], others[3]], "other")),
        source.spawn(ranks(&[others[2], others[3]], "one")),
    ];
    let moved: Vec<_> = all.into_iter().chain(others[2..].iter().copied()).collect();
    let map = source.batch(&moved).move_to(&mut destination).unwrap();
    let [two, three] = [2, 3].map(|at| map.get(others[at]).unwrap());
    let expected = [
        ranks(&[Entity::NULL, three], "one"),
        ranks(&[Entity::NULL, three], "one"),
        ranks(&[Entity::NULL, three], "other"),
        ranks(&[two, three], "one"),
    ];
    for (old, expected) in all.into_iter().zip(&expected) {
        assert_eq!(destination.shared(map.get(old).unwrap()), Ok(&**expected));
    }
    assert_eq!(destination.shared_values::<Ranks>().count(), 3);
    assert_eq!(source.shared_values::<Ranks>().count(), 0);
}

#[test]
fn worlds_with_the_same_ids_have_the_same_values() {
    let (mut source, mut destination) = (chunks_of(3), used(3));
    let all = crews(&mut source, 5);
    let fork = source.fork().unwrap();
    destination.copy_and_replace_from(&mut source).unwrap();
    for &entity in &all {
        assert_eq!(captain(&fork, entity), captain(&source, entity));
        assert_eq!(captain(&destination, entity), captain(&source, entity));
    }
    assert_eq!(destination.state_hash(), source.state_hash());
    source.set_shared(all[5], Crew(all[5])).unwrap();
    assert_ne!(destination.state_hash(), source.state_hash());
}

#[test]
fn arrived_values_are_the_same_in_every_run() {
    let run = || {
        let (mut source, mut destination) = (chunks_of(3), used(3));
        let all = crews(&mut source, 5);
        source.batch(&all[1..9]).copy_to(&mut destination).unwrap();
        destination.move_entities_from(&mut source).unwrap();
        (source.state_hash(), destination.state_hash())
    };
    assert_eq!(run(), run());
}

#[test]
fn instances_have_the_value_of_their_source() {
    let mut world = chunks_of(3);
    let all = crews(&mut world, 1);
    let instances: Vec<_> = world.instantiate_many(all[0], 5).unwrap().collect();
    assert!(instances.iter().all(|&instance| captain(&world, instance) == all[0]));
    assert_eq!(values(&world), 2);
}

#[test]
fn nothing_is_left_of_values_if_there_is_no_memory() {
    let mut source = chunks_of(4);
    let all = crews(&mut source, 9);
    let arena = ChunkArena::with_limit(16 * 1024);
    let settings = WorldSettings::new().chunk_capacity_limit(5).arena(arena);
    let mut destination = Checked(World::with_settings("Limited", settings));
    destination.spawn((A(1), crew(Entity::NULL)));
    let before = (source.state_hash(), destination.state_hash());
    for slice in [&all[..], &all[5..]] {
        let refused = source.batch(slice).move_to(&mut destination).unwrap_err();
        assert!(matches!(refused, EntityError::OutOfMemory(_)));
        let refused = source.batch(slice).copy_to(&mut destination).unwrap_err();
        assert!(matches!(refused, EntityError::OutOfMemory(_)));
        destination.check_invariants().unwrap();
        assert_eq!((source.state_hash(), destination.state_hash()), before);
        assert_eq!(destination.shared_values::<Crew>().count(), 1);
    }
}

thread_local! {
    /// The number of clones that succeed before one panics.
    static FUSE: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// A shared value that panics when it is cloned.
#[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
#[shared(name = "worlds::BrittleCrew")]
struct BrittleCrew(Entity, u32);

impl Clone for BrittleCrew {
    fn clone(&self) -> Self {
        match FUSE.get() {
            u32::MAX => {}
            0 => resume_unwind(Box::new("told to")),
            left => FUSE.set(left - 1),
        }
        Self(self.0, self.1)
    }
}

#[test]
fn nothing_arrives_if_cloning_a_value_panics() {
    for is_copied in [false, true] {
        let (mut source, mut destination) = (chunks_of(2), used(2));
        let captain = source.spawn(A(1));
        for number in 0..6 {
            source.spawn((A(number), Shared::new(BrittleCrew(captain, number / 2))));
        }
        let before = (source.state_hash(), destination.state_hash());
        let bring = |source: &mut World, destination: &mut World| {
            if is_copied {
                destination.copy_entities_from(source)
            } else {
                destination.move_entities_from(source)
            }
        };
        for fuse in 0..3 {
            FUSE.set(fuse);
            let result = catch_unwind(AssertUnwindSafe(|| bring(&mut source, &mut destination)));
            FUSE.set(u32::MAX);
            assert!(result.is_err());
            source.check_invariants().unwrap();
            destination.check_invariants().unwrap();
            assert_eq!((source.state_hash(), destination.state_hash()), before);
            assert_eq!(destination.shared_values::<BrittleCrew>().count(), 0);
        }
        // Three values were cloned, each once.
        FUSE.set(3);
        let map = bring(&mut source, &mut destination).unwrap();
        FUSE.set(u32::MAX);
        let new = map.get(captain).unwrap();
        assert_eq!(destination.shared_values::<BrittleCrew>().count(), 3);
        assert!(destination.shared_values::<BrittleCrew>().all(|value| value.0 == new));
        assert_ne!(destination.state_hash(), before.1);
        assert_eq!(source.state_hash() == before.0, is_copied);
    }
}

#[test]
fn remapping_applies_to_shared_values() {
    for limit in [3, 1000] {
        let mut world = chunks_of(limit);
        let all = crews(&mut world, 5);
        let third = world.spawn((A(1), crew(all[2]), team("red")));
        let fork = world.fork().unwrap();
        let places: Vec<_> = world.iter_entities().collect();
        // The crews swap captains, and the third entity joins the first crew.
        let other = |entity| match all.iter().position(|&one| one == entity) {
            Some(0) => all[1],
            Some(1) => all[0],
            _ => all[1],
        };
        world.remap_references(other).unwrap();
        world.check_invariants().unwrap();
        assert!(all[2..7].iter().all(|&entity| captain(&world, entity) == all[1]));
        assert!(all[7..].iter().all(|&entity| captain(&world, entity) == all[0]));
        assert_eq!(
            (captain(&world, third), world.shared(third)),
            (all[1], Ok(&Team("red".into())))
        );
        assert_eq!(values(&world), 2);
        assert!(world.iter_entities().eq(places));
        assert_eq!(captain(&fork, third), all[2]);
        fork.check_invariants().unwrap();
        // All refer to one entity.
        world.remap_references(|_| third).unwrap();
        assert_eq!((values(&world), captain(&world, all[0])), (1, third));
        let before = world.state_hash();
        world.remap_references(|entity| entity).unwrap();
        assert_eq!(world.state_hash(), before);
    }
}

#[test]
fn no_shared_value_changes_if_a_remap_panics() {
    let mut world = chunks_of(3);
    let all = crews(&mut world, 5);
    let before = world.state_hash();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        world.remap_references(|entity| {
            if entity == all[1] {
                resume_unwind(Box::new("told to"));
            }
            all[5]
        })
    }));
    assert!(panicked.is_err());
    assert_eq!((world.state_hash(), values(&world)), (before, 2));
}
