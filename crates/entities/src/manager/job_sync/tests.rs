//! Tests that each operation waits for the jobs that conflict with it, and for no others.

#![expect(unsafe_code, reason = "jobs that declare what they use of a world")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use ancho_jobs::{AccessList, JobData, JobPool};

use super::*;
use crate::buffer::{Buffer, BufferElement};
use crate::builtin::Disabled;
use crate::builtin::LinkedEntityGroup;
use crate::component::{Component, Duplicate, Initial};
use crate::error::EntityError;
use crate::field::{EntityRemap, Field, FieldKind, Shape, StateHasher};
use crate::manager::job_access::ResourceUse;
use crate::manager::{EntityTracker, Jobs};
use crate::per_chunk::PerChunk;
use crate::query::{QueryDescriptor, With};
use crate::shared::{Shared, SharedComponent};
use crate::world::{World, WorldSettings};

/// The data of a job that declares accesses to a world, and accesses nothing.
struct Uses<'a>(&'a Jobs, &'a [ResourceUse]);

// SAFETY: the job accesses nothing.
unsafe impl JobData for Uses<'_> {
    type Held = ();
    type Whole<'v> = ();

    fn declare(&self, accesses: &mut AccessList) {
        self.0.declare(self.1, accesses);
    }

    fn hold(self) {}

    unsafe fn whole(_: &mut ()) {}
}

macro_rules! opaque {
    ($($name:ident)*) => {$(
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        struct $name(u32);

        // SAFETY: an opaque shape makes no statement about the bytes.
        unsafe impl Field for $name {
            const SHAPE: &'static Shape =
                &Shape::new::<Self>(stringify!($name), FieldKind::Opaque);

            fn hash_state(&self, _: &mut StateHasher) {}

            fn remap(&mut self, _: &mut EntityRemap<'_>) {}
        }
    )*};
}

macro_rules! components {
    ($($name:ident { $($what:tt)* })*) => {
        opaque! { $($name)* }

        $(impl crate::component::Mutable for $name {}

        impl Component for $name {
            fn duplicate() -> Duplicate<Self> {
                Duplicate::<Self>::bytes()
            }

            fn initial() -> Initial<Self> {
                Initial::default()
            }

            $($what)*
        })*
    };
}

components! {
    A {}
    B {}
    // An enableable component.
    X { const ENABLEABLE: bool = true; }
    // A cleanup component.
    C { const CLEANUP: bool = true; }
    // A chunk component.
    P {}
}

opaque! { Item Team }

impl crate::component::Mutable for Item {}

impl BufferElement for Item {
    fn duplicate() -> Duplicate<Self> {
        Duplicate::<Self>::bytes()
    }
}

impl SharedComponent for Team {}

/// A world with entities of several archetypes. Each field is named after the components of its entity.
struct Stage {
    world: World,
    a: Entity,
    ab: Entity,
    ab2: Entity,
    ax: Entity,
    /// An entity with a cleanup component.
    ac: Entity,
    /// An entity that is only left for cleanup.
    residue: Entity,
    /// An entity with a buffer.
    ai: Entity,
    /// An entity with a shared component.
    at: Entity,
    /// An entity with a chunk component.
    ap: Entity,
    /// The root of a linked group, with `ab` as the other member.
    root: Entity,
    a_disabled: Entity,
    /// A fork that shares the memory, if the test needs one.
    _fork: Option<World>,
}

impl Stage {
    fn new(forked: bool) -> Self {
        // Without workers, jobs do not run before they are completed.
        let pool = JobPool::builder().workers(0).build().unwrap();
        let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
        let (a, ab, ab2) =
            (world.spawn(A(1)), world.spawn((A(1), B(1))), world.spawn((A(2), B(2))));
        let ax = world.spawn((A(1), X(1)));
        let (ac, residue) = (world.spawn((A(1), C(1))), world.spawn((A(1), C(2))));
        world.despawn(residue).unwrap();
        let ai = world.spawn((A(1), Buffer::from([Item(1)])));
        let at = world.spawn((A(1), Shared::new(Team(1))));
        let ap = world.spawn((A(1), PerChunk::<P>::new()));
        let root = world.spawn(C(3));
        world.remove::<C>(root).unwrap();
        let group = Buffer::from([LinkedEntityGroup(root), LinkedEntityGroup(ab)]);
        world.add(root, group).map_err(|rejected| rejected.error).unwrap();
        let a_disabled = world.spawn((A(1), Disabled));
        let _fork = forked.then(|| world.fork().unwrap());
        Self { world, a, ab, ab2, ax, ac, residue, ai, at, ap, root, a_disabled, _fork }
    }

    /// Returns the access for a name in [`ALL`].
    fn named(&self, name: &str) -> ResourceUse {
        let archetype =
            |entity: Entity| Resource::Rows(self.world.archetypes_of(&[entity]).next().unwrap());
        let resource = match name.trim_end_matches('!') {
            "A" => Resource::Values(ComponentType::of::<A>()),
            "B" => Resource::Values(ComponentType::of::<B>()),
            "X" => Resource::Values(ComponentType::of::<X>()),
            "X?" => Resource::Mask(ComponentType::of::<X>()),
            "Item" => Resource::Values(ComponentType::of_buffer::<Item>()),
            "Team" => Resource::Values(ComponentType::of_shared::<Team>()),
            "Group" => Resource::Values(ComponentType::of_buffer::<LinkedEntityGroup>()),
            "P" => Resource::Values(ComponentType::of_chunk::<P>()),
            "table" => Resource::Table,
            "a" => archetype(self.a),
            "ab" => archetype(self.ab),
            "ax" => archetype(self.ax),
            "ac" => archetype(self.ac),
            "residue" => archetype(self.residue),
            "ai" => archetype(self.ai),
            "at" => archetype(self.at),
            "ap" => archetype(self.ap),
            "root" => archetype(self.root),
            "a_disabled" => archetype(self.a_disabled),
            other => panic!("what is {other}?"),
        };
        (resource, if name.ends_with('!') { Access::Write } else { Access::Read })
    }
}

/// The names of all accesses: values and masks that are read, or written (`!`), rows of archetypes, and the table.
const ALL: &[&str] = &[
    "A",
    "A!",
    "B",
    "B!",
    "X",
    "X!",
    "X?",
    "X?!",
    "Item",
    "Item!",
    "Team",
    "Group",
    "Group!",
    "P",
    "P!",
    "table",
    "a",
    "ab",
    "ax",
    "ac",
    "residue",
    "ai",
    "at",
    "ap",
    "root",
    "a_disabled",
];

/// For each access in [`ALL`], schedules a job with that access. Checks that the operation waits for the job if `waits_for`
/// contains the access, and does not wait otherwise.
#[track_caller]
fn waits(forked: bool, waits_for: &[&str], operate: impl Fn(&mut Stage)) {
    for &name in ALL {
        let mut stage = Stage::new(forked);
        let ran = Arc::new(AtomicBool::new(false));
        let (sets, used) = (Arc::clone(&ran), stage.named(name));
        let jobs = &stage.world.jobs;
        let job = move |()| sets.store(true, Ordering::Relaxed);
        let _ = jobs.scheduler().schedule(&[], Uses(jobs, &[used]), job).unwrap();
        operate(&mut stage);
        let expected = waits_for.contains(&name);
        assert_eq!(ran.load(Ordering::Relaxed), expected, "for a job that uses {name}");
        stage.world.check_invariants().unwrap();
        assert!(ran.load(Ordering::Relaxed));
    }
    assert!(waits_for.iter().all(|name| ALL.contains(name)));
}

#[track_caller]
fn waits_for(these: &[&str], operate: impl Fn(&mut Stage)) {
    waits(false, these, operate);
}

/// Does the same as [`waits_for`], in a world that shares its memory with a fork.
#[track_caller]
fn waits_in_fork_for(these: &[&str], operate: impl Fn(&mut Stage)) {
    waits(true, these, operate);
}

fn x() -> ComponentType {
    ComponentType::of::<X>()
}

#[test]
fn what_only_the_world_changes_can_always_be_asked() {
    waits_for(&[], |stage| {
        let entities = &stage.world;
        assert!(entities.exists(stage.a) && entities.has::<(A, B)>(stage.ab));
        assert!(entities.has_type(stage.ax, x()) && entities.is_enabled(stage.a));
        assert_eq!(entities.entity_count(), entities.all_entities().len());
        assert_eq!(entities.iter_entities().count(), entities.entity_count());
        let archetype = entities.entity_archetype(stage.ab).unwrap();
        assert_eq!(entities.component_types(archetype).unwrap().len(), 2);
        assert!(entities.archetype_capacity(archetype).unwrap() > 0);
        assert!(entities.archetype_count() > 5 && entities.component_order_version::<A>() > 0);
        assert!(entities.shared::<Team>(stage.at).is_ok());
        assert_eq!(entities.shared_values::<Team>().count(), 1);
        assert_eq!(entities.shared_reference_count(&Team(1)), 1);
        assert_ne!(entities.shared_order_version(&Team(1)), 0);
        let places = entities.storage_info();
        assert!(places.exists(stage.a) && places.get(stage.ab2).unwrap().row() == 1);
        assert!(entities.entity_name(stage.a).is_none());
    });
    waits_for(&[], |stage| {
        let entities = &mut stage.world;
        entities.archetype::<(A, B, X)>();
        entities.archetype_of(&[x()]).unwrap();
        entities.advance_version();
        entities.set_name(stage.a, "a").unwrap();
    });
}

#[test]
fn what_is_refused_or_changes_nothing_waits_for_nobody() {
    waits_for(&[], |stage| {
        let (a, ab, gone) = (stage.a, stage.ab, Entity::NULL);
        let entities = &mut stage.world;
        assert!(entities.add(gone, A(1)).is_err() && entities.set(gone, A(1)).is_err());
        assert!(entities.set(a, B(1)).is_err() && entities.take::<B>(a).is_err());
        assert_eq!(entities.remove::<B>(a), Ok(false));
        assert_eq!(entities.remove_types(a, &[x()]), Ok(false));
        assert_eq!(entities.add_types(ab, &[ComponentType::of::<A>()]), Ok(false));
        assert_eq!(entities.despawn(gone), Ok(false));
        assert!(entities.add(a, ()).is_ok() && entities.take::<()>(a).is_ok());
        assert!(entities.swap_components(a, ab).is_err());
        assert!(entities.instantiate(gone).is_err() && entities.set_enabled(gone, false).is_err());
        let archetype = entities.entity_archetype(a).unwrap();
        assert!(entities.set_archetype(a, archetype).is_ok());
        assert_eq!(entities.set_shared(stage.at, Team(1)), Ok(false));
    });
}

#[test]
fn reading_waits_for_writers() {
    waits_for(&["A!"], |stage| assert!(stage.world.get::<A>(stage.ab).is_ok()));
    waits_for(&["A!"], |stage| _ = stage.world.lookup::<&A>());
    waits_for(&["A!"], |stage| {
        // The bytes of an opaque type cannot be read, but the call waits before it checks that.
        let bytes = stage.world.get_bytes(stage.ab, ComponentType::of::<A>());
        assert!(matches!(bytes, Err(EntityError::NotBytes { .. })));
    });
    waits_for(&["Item!"], |stage| {
        assert_eq!(stage.world.buffer::<Item>(stage.ai).unwrap().len(), 1);
    });
    waits_for(&["Item!"], |stage| _ = stage.world.lookup::<&Buffer<Item>>());
    waits_for(&["Item!"], |stage| {
        let ty = ComponentType::of_buffer::<Item>();
        assert_eq!(stage.world.untyped_buffer(stage.ai, ty).unwrap().len(), 1);
    });
    waits_for(&["P!"], |stage| assert!(stage.world.chunk_component::<P>(stage.ap).is_ok()));
    waits_for(&["X?!"], |stage| {
        assert_eq!(stage.world.is_component_enabled::<X>(stage.ax), Ok(true));
    });
}

#[test]
fn writing_waits_for_all_jobs_that_use_the_component() {
    waits_for(&["A", "A!"], |stage| assert!(stage.world.get_mut::<A>(stage.ab).is_ok()));
    waits_for(&["A", "A!"], |stage| assert!(stage.world.set(stage.ab, A(9)).is_ok()));
    waits_for(&["A", "A!", "B", "B!"], |stage| {
        assert!(stage.world.set(stage.ab, (A(9), B(9))).is_ok());
    });
    waits_for(&["A", "A!"], |stage| assert_eq!(stage.world.add(stage.ab, A(9)).ok(), Some(false)));
    waits_for(&["Item", "Item!"], |stage| {
        stage.world.buffer_mut::<Item>(stage.ai).unwrap().push(Item(2));
    });
    waits_for(&["Item", "Item!"], |stage| {
        stage.world.add_buffer::<Item>(stage.ai).unwrap().push(Item(2));
    });
    waits_for(&["P", "P!"], |stage| {
        assert!(stage.world.set_chunk_component(stage.ap, P(2)).is_ok());
    });
    waits_for(&["X", "X!", "X?", "X?!"], |stage| {
        stage.world.set_component_enabled::<X>(stage.ax, false).unwrap();
    });
    // Both entities exchange all their components.
    waits_for(&["ab", "table"], |stage| {
        stage.world.swap_components(stage.ab, stage.ab2).unwrap();
    });
}

#[test]
fn copying_a_chunk_waits_for_all_who_use_it() {
    waits_in_fork_for(&["A", "A!", "ab"], |stage| {
        stage.world.get_mut::<A>(stage.ab).unwrap();
    });
    waits_in_fork_for(&["A", "A!", "ab"], |stage| {
        assert!(stage.world.set(stage.ab, A(9)).is_ok());
    });
    waits_in_fork_for(&["A", "A!", "ab"], |stage| {
        assert!(stage.world.add(stage.ab, A(9)).is_ok());
    });
    waits_in_fork_for(&["Item", "Item!", "ai"], |stage| {
        stage.world.buffer_mut::<Item>(stage.ai).unwrap();
    });
    // Neither chunk components nor enabled bits are in shared memory.
    waits_in_fork_for(&["P", "P!"], |stage| {
        assert!(stage.world.set_chunk_component(stage.ap, P(2)).is_ok());
    });
    waits_in_fork_for(&["X", "X!", "X?", "X?!"], |stage| {
        stage.world.set_component_enabled::<X>(stage.ax, false).unwrap();
    });
    waits_in_fork_for(&["A!"], |stage| assert!(stage.world.get::<A>(stage.ab).is_ok()));
}

#[test]
fn creating_waits_for_who_goes_through_the_archetype_or_looks_for_entities() {
    let to_ab = &["ab", "table"];
    waits_for(to_ab, |stage| _ = stage.world.spawn((A(1), B(1))));
    waits_for(to_ab, |stage| _ = stage.world.spawn_many((A(1), B(1)), 3));
    waits_for(to_ab, |stage| _ = stage.world.spawn_batch([(A(1), B(1)); 3]));
    waits_for(to_ab, |stage| {
        assert!(stage.world.spawn_columns(([A(1)], [B(1)])).is_ok());
    });
    waits_for(to_ab, |stage| {
        let archetype = stage.world.archetype::<(A, B)>();
        stage.world.create(archetype).unwrap();
    });
    waits_for(to_ab, |stage| _ = stage.world.instantiate(stage.ab).unwrap());
    waits_for(&["at", "table"], |stage| _ = stage.world.spawn((A(1), Shared::new(Team(2)))));
    waits_for(&["at", "table"], |stage| {
        stage.world.spawn_batch([(A(1), Shared::new(Team(1))), (A(1), Shared::new(Team(2)))]);
    });
    waits_for(&["at", "table"], |stage| {
        _ = stage.world.spawn_many((A(1), Shared::new(Team(2))), 2);
    });
    waits_for(&["ac", "a", "table"], |stage| {
        // Cleanup components are not copied.
        stage.world.instantiate(stage.ac).unwrap();
    });
    waits_for(&["Group!", "root", "ab", "table"], |stage| {
        stage.world.instantiate_many(stage.root, 2).unwrap();
    });
    // A new archetype has no rows yet.
    waits_for(&["table"], |stage| _ = stage.world.spawn((A(1), B(1), X(1))));
}

#[test]
fn destroying_waits_for_who_goes_through_the_archetype_or_looks_for_entities() {
    waits_for(&["ab", "table"], |stage| assert_eq!(stage.world.despawn(stage.ab), Ok(true)));
    waits_for(&["ab", "table"], |stage| {
        assert_eq!(stage.world.batch(&[stage.ab]).despawn(), Ok(1));
    });
    waits_for(&["ab", "a", "table"], |stage| {
        assert_eq!(stage.world.batch(&[stage.ab, stage.a, stage.ab2]).despawn(), Ok(3));
    });
    waits_for(&["ac", "residue", "table"], |stage| {
        assert_eq!(stage.world.despawn(stage.ac), Ok(true));
    });
    waits_for(&["residue", "table"], |stage| {
        assert_eq!(stage.world.remove::<C>(stage.residue), Ok(true));
        assert!(!stage.world.exists(stage.residue));
    });
    for slice in [false, true] {
        waits_for(&["Group!", "root", "ab", "table"], |stage| {
            if slice {
                assert_eq!(stage.world.batch(&[stage.root]).despawn(), Ok(2));
            } else {
                assert_eq!(stage.world.despawn(stage.root), Ok(true));
            }
        });
    }
}

#[test]
fn moving_waits_for_who_goes_through_both_archetypes_or_looks_for_entities() {
    let both = &["a", "ab", "table"];
    waits_for(both, |stage| assert_eq!(stage.world.add(stage.a, B(1)).ok(), Some(true)));
    waits_for(both, |stage| {
        // The first `add` caches the transfer.
        let another = stage.world.spawn(A(1));
        assert_eq!(stage.world.add(another, B(1)).ok(), Some(true));
        assert_eq!(stage.world.add(stage.a, B(1)).ok(), Some(true));
    });
    waits_for(both, |stage| {
        let b = ComponentType::of::<B>();
        assert_eq!(stage.world.add_types(stage.a, &[b]), Ok(true));
    });
    waits_for(both, |stage| assert_eq!(stage.world.remove::<B>(stage.ab), Ok(true)));
    waits_for(both, |stage| {
        let b = ComponentType::of::<B>();
        assert_eq!(stage.world.remove_types(stage.ab, &[b]), Ok(true));
    });
    waits_for(both, |stage| assert_eq!(stage.world.take::<B>(stage.ab).map(|b| b.0), Ok(1)));
    waits_for(both, |stage| {
        let archetype = stage.world.entity_archetype(stage.ab).unwrap();
        stage.world.set_archetype(stage.a, archetype).unwrap();
    });
    waits_for(&["a", "ai", "table"], |stage| {
        // The buffer is written after the entity is moved.
        let (a, world) = (stage.a, &mut stage.world);
        let ty = ComponentType::of_buffer::<Item>();
        assert_eq!(world.add(a, Buffer::<Item>::new()).ok(), Some(true));
        assert!(world.has_type(a, ty));
    });
    waits_for(&["a", "at", "table"], |stage| {
        assert_eq!(
            stage.world.add(stage.a, Shared::new(Team(2))).map_err(|rejected| rejected.error),
            Ok(true)
        );
    });
    waits_for(&["a", "at", "table"], |stage| {
        assert_eq!(stage.world.remove::<Shared<Team>>(stage.at), Ok(true));
    });
    for way in 0..4 {
        waits_for(&["at", "table"], |stage| {
            let at = stage.at;
            let done = match way {
                0 => stage.world.set_shared(at, Team(2)).is_ok(),
                1 => stage.world.set(at, Shared::new(Team(2))).is_ok(),
                2 => stage.world.add(at, Shared::new(Team(2))).is_ok(),
                _ => stage.world.batch(&[at]).set_shared(Team(2)).is_ok(),
            };
            assert!(done);
        });
    }
    waits_for(&["a", "a_disabled", "table"], |stage| {
        assert_eq!(stage.world.set_enabled(stage.a, false), Ok(true));
    });
    waits_for(&["Group!", "root", "ab", "table"], |stage| {
        assert_eq!(stage.world.set_enabled(stage.root, false), Ok(true));
    });
    waits_for(&["table"], |stage| {
        stage.world.entity_changes(&mut EntityTracker::new());
    });
}

#[test]
fn changes_by_query_wait_for_what_matches_and_where_it_goes() {
    waits_for(&["ab", "a", "table"], |stage| {
        assert_eq!(stage.world.batch(QueryDescriptor::of::<(&A, &B), ()>()).remove::<B>(), Ok(2));
    });
    waits_for(&["ab", "table"], |stage| {
        assert_eq!(stage.world.batch(QueryDescriptor::of::<&B, ()>()).despawn(), Ok(2));
    });
    waits_for(&["ab", "table"], |stage| {
        assert_eq!(stage.world.batch(QueryDescriptor::of::<&B, ()>()).add(X(1)).ok(), Some(2));
    });
    waits_for(&["ab", "table"], |stage| {
        assert_eq!(stage.world.batch(QueryDescriptor::of::<&B, ()>()).add_types(&[x()]), Ok(2));
    });
    waits_for(&["ab", "a", "table"], |stage| {
        let b = ComponentType::of::<B>();
        assert_eq!(stage.world.batch(QueryDescriptor::of::<&B, ()>()).remove_types(&[b]), Ok(2));
    });
    waits_for(&["at", "table"], |stage| {
        let teams = stage.world.batch(QueryDescriptor::of::<(), With<Shared<Team>>>());
        assert_eq!(teams.set_shared(Team(2)), Ok(1));
    });
    waits_for(&["ab", "table"], |stage| {
        assert_eq!(stage.world.batch(QueryDescriptor::of::<&B, ()>()).set_enabled(false), Ok(2));
    });
    waits_for(&["X", "X!", "X?", "X?!"], |stage| {
        assert_eq!(
            stage.world.batch(QueryDescriptor::of::<&X, ()>()).set_component_enabled::<X>(false),
            Ok(1)
        );
    });
}

#[test]
fn what_is_about_everything_waits_for_everybody() {
    waits_for(ALL, |stage| _ = stage.world.chunks());
    waits_for(ALL, |stage| stage.world.for_each_chunk_mut(|_| {}));
    waits_for(ALL, |stage| _ = stage.world.fork().unwrap());
    waits_for(ALL, |stage| _ = stage.world.duplicate().unwrap());
    waits_for(ALL, |stage| _ = stage.world.state_hash());
    waits_for(ALL, |stage| stage.world.check_invariants().unwrap());
    waits_for(ALL, |stage| {
        stage.world.remap_references(|entity| entity).unwrap();
    });
    waits_for(ALL, |stage| {
        let places = stage.world.storage_info();
        assert!(places.get(stage.a).unwrap().chunk().len() > 0);
    });
    // Some entities have cleanup components and remain. Each of the others is despawned separately.
    let rows = ["a", "ab", "ax", "ac", "residue", "ai", "at", "ap", "root", "a_disabled"];
    waits_for(&[&rows[..], &["table", "Group!"]].concat(), |stage| {
        assert_eq!(stage.world.despawn_all(), Ok(10));
    });
    waits_for(ALL, |stage| {
        for stays in [stage.ac, stage.residue] {
            stage.world.take::<C>(stays).unwrap();
        }
        assert_eq!(stage.world.despawn_all(), Ok(10));
    });
    waits_for(ALL, |stage| {
        let query = QueryDescriptor::new().all([x()]);
        assert_eq!(query.chunks(&stage.world).map(|found| found.count()).sum::<usize>(), 1);
    });
}

#[test]
fn q11_en7_queries_of_run_time_wait_for_who_decides_on_what_is_found() {
    waits_for(&["X?!"], |stage| {
        let query = QueryDescriptor::new().all([x()]);
        assert_eq!(query.query(&stage.world).count(), 1);
    });
    waits_for(&["X?!"], |stage| {
        let query = QueryDescriptor::new().all([x()]);
        assert_eq!(query.query(&stage.world).to_entities(), [stage.ax]);
    });
    waits_for(&["X?!"], |stage| {
        let query = QueryDescriptor::new().all([x()]);
        assert!(
            !query.query(&stage.world).is_empty() && query.query(&stage.world).matches(stage.ax)
        );
    });
    waits_for(&["X!"], |stage| {
        let query = QueryDescriptor::new().changed([x()]);
        assert_eq!(query.query(&stage.world).count(), 1);
    });
    waits_for(&[], |stage| {
        let query = QueryDescriptor::new().all([x()]);
        assert_eq!(query.query(&stage.world).count_unfiltered(), 1);
        assert!(query.query(&stage.world).mask().matches(stage.ax));
        let there = QueryDescriptor::new().present([x()]).with_shared(Team(1));
        assert!(there.query(&stage.world).is_empty());
    });
    waits_for(&["ax", "table"], |stage| {
        assert_eq!(stage.world.batch(QueryDescriptor::new().all([x()])).despawn(), Ok(1));
    });
    waits_for(&["X", "X!", "X?", "X?!"], |stage| {
        let query = QueryDescriptor::new().all([x()]);
        assert_eq!(stage.world.batch(&query).set_type_enabled(x(), false), Ok(1));
    });
}

/// A component that sends a message when it is dropped.
struct Loud(mpsc::Sender<()>);

impl Drop for Loud {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

// SAFETY: an opaque shape makes no statement about the bytes.
unsafe impl Field for Loud {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Loud", FieldKind::Opaque);

    fn hash_state(&self, _: &mut StateHasher) {}

    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

impl crate::component::Mutable for Loud {}

impl Component for Loud {}

fn world_with_loud(workers: usize) -> (World, mpsc::Receiver<()>) {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
    let (sender, dropped) = mpsc::channel();
    world.spawn(Loud(sender));
    (world, dropped)
}

const USED: ResourceUse = (Resource::Table, Access::Read);

#[test]
fn a_world_goes_when_its_jobs_have_ended() {
    for workers in [0, 1, 2] {
        let (world, dropped) = world_with_loud(workers);
        let jobs = &world.jobs;
        let dropped = Arc::new(Mutex::new(dropped));
        let seen = Arc::clone(&dropped);
        let (tell, told) = mpsc::channel();
        let job = move |()| {
            thread::sleep(Duration::from_millis(5));
            tell.send(seen.lock().unwrap().try_recv().is_err()).unwrap();
        };
        let _ = jobs.scheduler().schedule(&[], Uses(jobs, &[USED]), job).unwrap();
        jobs.scheduler().flush();
        drop(world);
        assert_eq!(told.try_recv(), Ok(true), "the values were there while the job ran");
        assert!(dropped.lock().unwrap().try_recv().is_ok(), "and not any more");
    }
}

#[test]
fn a_world_goes_inside_of_a_job_of_another() {
    let (world, dropped) = world_with_loud(1);
    let jobs = &world.jobs;
    let (tell, told) = mpsc::channel();
    let job = move |()| tell.send(()).unwrap();
    let _ = jobs.scheduler().schedule(&[], Uses(jobs, &[USED]), job).unwrap();
    let other = World::new("Other");
    let job = other.jobs().schedule(&[], (), move |()| drop(world)).unwrap();
    other.jobs().complete(job);
    assert!(told.try_recv().is_ok() && dropped.try_recv().is_ok());
}

#[test]
fn what_jobs_use_stays_when_one_of_them_drops_the_world() {
    // In the first case no job uses the world, so the storage is dropped.
    for uses in [false, true] {
        let (world, dropped) = world_with_loud(1);
        let (give, given) = mpsc::channel::<World>();
        let (tell, told) = mpsc::channel();
        let jobs = &world.jobs;
        let job = move |()| {
            drop(given.recv().unwrap());
            tell.send(()).unwrap();
        };
        if uses {
            let _ = jobs.scheduler().schedule(&[], Uses(jobs, &[USED]), job).unwrap();
        } else {
            let _ = jobs.scheduler().schedule(&[], (), job).unwrap();
        }
        jobs.scheduler().flush();
        give.send(world).unwrap();
        told.recv().unwrap();
        assert_eq!(dropped.try_recv().is_err(), uses);
    }
}

#[test]
fn inside_of_one_of_its_jobs_a_world_does_not_do_what_others_are_in_the_way_of() {
    let (mut world, _dropped) = world_with_loud(1);
    let entity = world.spawn(A(1));
    let (give, given) = mpsc::channel::<World>();
    let (tell, told) = mpsc::channel();
    let jobs = &world.jobs;
    let uses = [(Resource::Values(ComponentType::of::<A>()), Access::Write)];
    let job = move |()| {
        let mut world = given.recv().unwrap();
        // `exists` conflicts with no job. `get_mut` conflicts with the job itself.
        let read = world.exists(entity);
        let refused = catch_unwind(AssertUnwindSafe(|| world.get_mut::<A>(entity).is_ok()));
        tell.send((read, refused.is_err(), world)).unwrap();
    };
    let _ = jobs.scheduler().schedule(&[], Uses(jobs, &uses), job).unwrap();
    jobs.scheduler().flush();
    give.send(world).unwrap();
    let (read, refused, mut world) = told.recv().unwrap();
    assert!(read && refused);
    assert!(world.get_mut::<A>(entity).is_ok());
}
