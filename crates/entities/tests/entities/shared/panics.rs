//! Shared values whose comparisons, hashes, defaults and destructors panic or lie.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ancho_entities::{
    ComponentType, Entity, EntityError, Shared, SharedComponent, World, WorldSettings,
};

use crate::common::{A, B, Text, both, ignore, panic_message};

thread_local! {
    /// The number of calls until one panics.
    static CALLS_LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}

fn call(what: &str) {
    if let Some(left) = CALLS_LEFT.get() {
        if left == 0 {
            CALLS_LEFT.set(None);
            panic!("{what} panics");
        }
        CALLS_LEFT.set(Some(left - 1));
    }
}

/// A shared value that panics on request, and counts its instances.
#[derive(SharedComponent, Debug)]
#[shared(name = "game::Touchy")]
struct Touchy(u32, #[field(opaque)] Arc<()>);

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        call("eq");
        self.0 == other.0
    }
}

impl Eq for Touchy {}

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        call("hash");
        // All hashes are equal, so that the values are compared.
        0.hash(state);
    }
}

#[test]
fn values_that_panic_leave_everything_as_it_was() {
    type Change = fn(&mut World, &[Entity], &Arc<()>);
    let changes: [Change; 9] = [
        |world, _, owner| {
            world.spawn((A(1), Shared::new(Touchy(9, owner.clone()))));
        },
        |world, _, owner| {
            world.spawn_many((Text("x".into()), Shared::new(Touchy(9, owner.clone()))), 10);
        },
        |world, all, owner| {
            world.set_shared(all[2], Touchy(9, owner.clone())).unwrap();
        },
        |world, all, owner| {
            world.set(all[2], (Text("y".into()), Shared::new(Touchy(9, owner.clone())))).unwrap();
        },
        |world, all, owner| {
            world.add(all[2], (B(1), Shared::new(Touchy(9, owner.clone())))).unwrap();
        },
        |world, all, owner| {
            world.batch(all).set_shared(Touchy(9, owner.clone())).unwrap();
        },
        |world, all, owner| {
            world.batch(&all[1..3]).set_shared(Touchy(9, owner.clone())).unwrap();
        },
        |world, all, owner| {
            let other = world.spawn(B(1));
            assert!(world.add(other, Shared::new(Touchy(0, owner.clone()))).is_ok());
            world.set_shared(all[1], Touchy(1, owner.clone())).unwrap();
        },
        |world, _, owner| {
            world.shared_order_version(&Touchy(9, owner.clone()));
            world.shared_reference_count(&Touchy(9, owner.clone()));
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        for left in 0..8 {
            let owner = Arc::new(());
            let settings = WorldSettings::new().chunk_capacity_limit(4);
            let mut world = World::with_settings("Simulation", settings);
            let touchy = |number| Shared::new(Touchy(number, owner.clone()));
            let all: Vec<_> = (0..10)
                .map(|at| world.spawn((A(at), Text(at.to_string()), touchy(at % 3))))
                .collect();
            let mut fork = world.fork().unwrap();
            CALLS_LEFT.set(Some(left));
            let done = catch_unwind(AssertUnwindSafe(|| change(&mut world, &all, &owner)));
            CALLS_LEFT.set(None);
            world.check_invariants().unwrap();
            if done.is_err() && number != 7 {
                assert_eq!(world.state_hash(), fork.state_hash(), "{number} {left}");
            }
            // The world still works.
            world.batch(&all).set_shared(Touchy(8, owner.clone())).unwrap();
            fork.batch(&all[3..]).set_shared(Touchy(8, owner.clone())).unwrap();
            world.check_invariants().unwrap();
            fork.check_invariants().unwrap();
            drop((world, fork));
            assert_eq!(Arc::strong_count(&owner), 1, "{number} {left}");
        }
    }
}

/// A shared value that is unequal to everything, even itself.
#[derive(SharedComponent, Debug)]
#[shared(name = "game::Lonely")]
struct Lonely(u32, #[field(opaque)] Arc<()>);

impl PartialEq for Lonely {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Eq for Lonely {}

impl Hash for Lonely {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// A shared value that is equal to everything, with a hash that is never the same.
#[derive(SharedComponent, Debug)]
#[shared(name = "game::Fickle")]
struct Fickle(#[field(opaque)] Arc<()>);

impl PartialEq for Fickle {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Fickle {}

impl Hash for Fickle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        thread_local!(static HASHES: Cell<u64> = const { Cell::new(0) });
        HASHES.set(HASHES.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        (HASHES.get() >> 32).hash(state);
    }
}

fn lies<T: SharedComponent>(make: impl Fn(&Arc<()>) -> T) {
    for mut world in both() {
        let owner = Arc::new(());
        let all: Vec<_> =
            (0..50).map(|at| world.spawn((A(at), Shared::new(make(&owner))))).collect();
        for &entity in &all[..20] {
            world.set_shared(entity, make(&owner)).unwrap();
        }
        world.batch(&all[10..30]).set_shared(make(&owner)).unwrap();
        let fork = world.fork();
        world.add(all[3], B(1)).unwrap();
        world.remove::<Shared<T>>(all[4]).unwrap();
        world.instantiate_many(all[5], 5).unwrap();
        world.spawn_batch((0..10).map(|at| (A(at), Shared::new(make(&owner)))));
        world.spawn_many((A(1), Shared::new(make(&owner))), 10);
        assert!(world.shared::<T>(all[30]).is_ok());
        assert!(world.shared_reference_count(&make(&owner)) < 100);
        world.shared_order_version(&make(&owner));
        for (at, &entity) in (0..).zip(&all) {
            assert_eq!(world.get(entity), Ok(&A(at)));
        }
        world.check_invariants().unwrap();
        world.batch(&all).despawn().unwrap();
        world.check_invariants().unwrap();
        fork.check_invariants().unwrap();
        drop((world, fork));
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn values_with_inconsistent_equality_do_no_harm() {
    lies(|owner| Lonely(1, owner.clone()));
    lies(|owner| Fickle(owner.clone()));
}

/// A type whose default panics.
#[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
#[shared(name = "game::NoDefault")]
struct NoDefault(u32);

impl Default for NoDefault {
    fn default() -> Self {
        call("default");
        Self(7)
    }
}

#[test]
fn a_default_that_panics_leaves_everything_as_it_was() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(A(1));
    let before = world.state_hash();
    let ty = ComponentType::of_shared::<NoDefault>();
    CALLS_LEFT.set(Some(0));
    panic_message(|| world.add(entity, Shared::new(NoDefault(1))));
    CALLS_LEFT.set(Some(0));
    panic_message(|| world.add_types(entity, &[ty]));
    CALLS_LEFT.set(Some(0));
    panic_message(|| world.archetype::<(A, Shared<NoDefault>)>());
    world.check_invariants().unwrap();
    assert_eq!(world.state_hash(), before);
    assert_eq!(world.add_types(entity, &[ty]), Ok(true));
    // The default is called once.
    CALLS_LEFT.set(Some(0));
    let archetype = world.archetype::<Shared<NoDefault>>();
    world.create_many(archetype, 10).unwrap();
    CALLS_LEFT.set(None);
    assert_eq!(world.shared(entity), Ok(&NoDefault(7)));
    world.check_invariants().unwrap();
}

/// A shared value whose destructor panics.
#[derive(SharedComponent, Debug)]
#[shared(name = "game::Loud")]
struct Loud(u32, #[field(opaque)] Arc<()>);

impl PartialEq for Loud {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Loud {}

impl Hash for Loud {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        call("drop");
    }
}

#[test]
fn values_whose_destructor_panics_are_dropped_after_the_change() {
    type Change = fn(&mut World, &[Entity], &Arc<()>);
    let changes: [(Change, bool); 10] = [
        (|world, all, _| assert_eq!(world.despawn(all[0]), Ok(true)), true),
        (|world, all, _| assert_eq!(world.remove::<Shared<Loud>>(all[0]), Ok(true)), true),
        (|world, all, _| ignore(world.take::<(A, Shared<Loud>)>(all[0])), true),
        (|world, all, owner| ignore(world.set_shared(all[0], Loud(1, owner.clone()))), true),
        (|world, all, _| ignore(world.batch(all).despawn()), true),
        (|world, _, _| ignore(world.despawn_all()), true),
        (
            |world, all, owner| ignore(world.batch(&all[..1]).set_shared(Loud(9, owner.clone()))),
            true,
        ),
        (
            |world, all, owner| {
                ignore(world.add(all[0], (B(1), Shared::new(Loud(1, owner.clone())))));
            },
            true,
        ),
        // The world has an equal value, so the recorded one is dropped.
        (|world, _, owner| ignore(world.spawn((A(7), Shared::new(Loud(1, owner.clone()))))), false),
        (|world, all, owner| ignore(world.set_shared(all[1], Loud(1, owner.clone()))), false),
    ];
    for (number, (change, frees)) in changes.into_iter().enumerate() {
        let owner = Arc::new(());
        let mut world = World::new("Simulation");
        let loud = |number| Shared::new(Loud(number, owner.clone()));
        let mut all: Vec<_> = (0..2).map(|at| world.spawn((A(at), loud(at)))).collect();
        all.extend(world.spawn_many((A(2), loud(1)), 3));
        CALLS_LEFT.set(Some(0));
        let done = catch_unwind(AssertUnwindSafe(|| change(&mut world, &all, &owner)));
        CALLS_LEFT.set(None);
        assert!(done.is_err(), "{number}");
        world.check_invariants().unwrap();
        let old = world.shared_reference_count(&Loud(0, owner.clone()));
        assert_eq!(old, usize::from(!frees), "{number}");
        // The world still works.
        world.spawn_many((A(2), loud(1)), 3);
        world.check_invariants().unwrap();
        drop(world);
        assert_eq!(Arc::strong_count(&owner), 1, "{number}");
    }
}

#[test]
fn entities_of_another_world_have_no_values() {
    for mut world in both() {
        let mut other = World::new("Other");
        other.spawn_many(A(1), 10);
        let foreign = other.spawn(Shared::new(NoDefault(1)));
        for entity in [foreign, Entity::NULL, Entity::from_parts(u32::MAX, 1)] {
            let is_missing = |error| matches!(error, EntityError::NoSuchEntity { .. });
            assert!(is_missing(world.shared::<NoDefault>(entity).unwrap_err()));
            assert!(is_missing(world.set_shared(entity, NoDefault(2)).unwrap_err()));
            assert!(is_missing(
                world
                    .add(entity, Shared::new(NoDefault(2)))
                    .map_err(|rejected| rejected.error)
                    .unwrap_err()
            ));
            assert!(is_missing(world.batch(&[entity]).set_shared(NoDefault(2)).unwrap_err()));
            assert!(is_missing(world.take::<Shared<NoDefault>>(entity).unwrap_err()));
        }
        let archetype = other.archetype::<Shared<NoDefault>>();
        let foreign = EntityError::ForeignArchetype;
        assert_eq!(world.create(archetype), Err(foreign));
        world.check_invariants().unwrap();
    }
}
