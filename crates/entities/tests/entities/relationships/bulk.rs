//! Links of many entities at once.

use ancho_entities::{Buffer, ComponentType, Entity, QueryDescriptor};

use super::{ChildOf, Children, Targets};
use crate::common::*;

fn all_with_a() -> QueryDescriptor {
    QueryDescriptor::new().all([ComponentType::of::<A>()])
}

#[test]
fn many_entities_are_spawned_with_links_in_order() {
    let mut world = chunks_of(7);
    let parent = world.spawn(A(0));
    let many: Vec<_> = world.spawn_many((A(1), ChildOf(parent)), 20).collect();
    assert_eq!(world.sources::<ChildOf>(parent), many);
    let (left, right) = (world.spawn(()), world.spawn(()));
    let targets = [left, right, right, left, right];
    let batch: Vec<_> = world.spawn_batch(targets.map(|enemy| (A(2), Targets { enemy }))).collect();
    assert_eq!(world.sources::<Targets>(left), [batch[0], batch[3]]);
    assert_eq!(world.sources::<Targets>(right), [batch[1], batch[2], batch[4]]);
}

#[test]
#[should_panic(expected = "A0050")]
fn a_batch_with_a_wrong_target_panics() {
    let mut world = world();
    let parent = world.spawn(());
    world.spawn_batch([ChildOf(parent), ChildOf(Entity::from_parts(900, 1))]).for_each(drop);
}

#[test]
fn no_entity_of_a_batch_is_spawned_if_a_target_is_wrong() {
    let mut world = world();
    let parent = world.spawn(());
    let sets = [ChildOf(parent), ChildOf(Entity::from_parts(900, 1))];
    let spawn = std::panic::AssertUnwindSafe(|| world.spawn_batch(sets).for_each(drop));
    assert!(std::panic::catch_unwind(spawn).is_err());
    assert_eq!(world.all_entities(), [parent]);
}

#[test]
fn entities_of_a_query_are_attached_and_detached() {
    let mut world = chunks_of(5);
    let parent = world.spawn(());
    let all: Vec<_> = world.spawn_many(A(1), 12).collect();
    assert_eq!(world.batch(all_with_a()).add((ChildOf(parent), B(1))).unwrap(), 12);
    assert_eq!(world.sources::<ChildOf>(parent), all);
    let other = world.spawn(());
    assert_eq!(world.batch(&all[3..6]).add(ChildOf(other)).unwrap(), 0);
    assert_eq!(world.sources::<ChildOf>(other), &all[3..6]);
    assert_eq!(world.sources::<ChildOf>(parent).len(), 9);
    world.batch(&all[..2]).set(ChildOf(other)).unwrap();
    assert_eq!(world.sources::<ChildOf>(other).len(), 5);
    assert_eq!(world.batch(all_with_a()).remove::<ChildOf>().unwrap(), 12);
    assert!(!world.has::<Buffer<Children>>(parent) && !world.has::<Buffer<Children>>(other));
}

#[test]
fn the_target_may_be_among_the_changed_entities() {
    let mut world = world();
    let all: Vec<_> = world.spawn_many(A(1), 4).collect();
    let links = [
        Targets { enemy: all[1] },
        Targets { enemy: all[2] },
        Targets { enemy: all[3] },
        Targets { enemy: all[0] },
    ];
    assert_eq!(world.batch(all_with_a()).add_each(links).unwrap(), 4);
    for at in 0..4 {
        assert_eq!(world.sources::<Targets>(all[(at + 1) % 4]), [all[at]]);
    }
    assert!(world.ancestors::<Targets>(all[0]).is_err());
    assert!(world.batch(&all[..3]).add(ChildOf(all[1])).is_err(), "one of them is the target");
    assert_eq!(world.batch(all_with_a()).despawn(), Ok(4));
}

#[test]
fn despawning_by_query_ends_links_of_the_others() {
    let mut world = chunks_of(4);
    let parent = world.spawn(());
    let all: Vec<_> = (0..20)
        .map(|number| {
            let child = world.spawn(ChildOf(parent));
            if number % 3 == 0 {
                world.add(child, A(number)).unwrap();
            }
            child
        })
        .collect();
    assert_eq!(world.batch(all_with_a()).despawn(), Ok(7));
    let left: Vec<_> = all.iter().copied().filter(|&child| world.exists(child)).collect();
    assert_eq!(world.sources::<ChildOf>(parent), left);
    assert_eq!(world.batch(&left).despawn(), Ok(13));
    assert!(!world.has::<Buffer<Children>>(parent));
}

#[test]
fn removing_the_buffers_of_a_query_detaches_all() {
    let mut world = world();
    let parents: Vec<_> = world.spawn_many(A(1), 3).collect();
    let children: Vec<_> = parents.iter().flat_map(|&parent| [parent; 4]).collect();
    let children: Vec<_> = world.spawn_batch(children.into_iter().map(ChildOf)).collect();
    assert_eq!(world.batch(all_with_a()).remove::<Buffer<Children>>(), Ok(3));
    assert!(children.iter().all(|&child| !world.has::<ChildOf>(child)));
}

#[test]
fn one_of_many_unordered_sources_is_removed_after_a_fork() {
    let mut world = world();
    let enemy = world.spawn(());
    let all: Vec<_> = world.spawn_many(Targets { enemy }, 1000).collect();
    let mut fork = world.fork();
    for world in [&mut world, &mut fork] {
        for at in [0, 500, 999, 998] {
            world.remove::<Targets>(all[at]).unwrap();
        }
        assert_eq!(world.sources::<Targets>(enemy).len(), 996);
        world.check_invariants().unwrap();
    }
    assert_eq!(world.state_hash(), fork.state_hash());
}
