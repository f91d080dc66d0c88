//! Memory that lives for two updates.

use ancho_collections::{NativeArray, NativeList};
use ancho_entities::{
    FixedRateCatchUp, FixedStep, IntoSystem, Local, Query, ResMut, Resource, SystemGroup,
    UpdateAllocator, World,
};

use crate::trace::Trace;

/// Containers, in the order of creation.
#[derive(Resource, Default)]
#[resource(local)]
struct Made(Vec<NativeArray<u32>>);

impl Made {
    /// Returns for each container whether it is usable, the newest last.
    fn usable(&self) -> Vec<bool> {
        self.0.iter().map(|array| array.get().is_ok()).collect()
    }
}

fn make(memory: UpdateAllocator, mut made: ResMut<Made>) {
    let number = made.0.len() as u32;
    made.0.push(NativeArray::from_fn_in(10, |_| number, &memory));
}

fn world() -> World {
    let mut world = World::new("Simulation");
    world.insert_resource(Made::default());
    world
}

#[test]
fn containers_of_an_update_live_for_two_updates() {
    let mut world = world();
    world.add_system(make);
    world.add_system(|made: ResMut<Made>| {
        let usable = made.usable();
        let (old, young) = usable.split_at(usable.len().saturating_sub(2));
        assert!(old.iter().all(|&usable| !usable) && young.iter().all(|&usable| usable));
    });
    for update in 1..=5 {
        world.try_update(0.1).unwrap();
        let made = &world.resource::<Made>().0;
        assert_eq!(made.len(), update);
        // Also after the update, until the second next one begins.
        for (at, array) in made.iter().enumerate().skip(update.saturating_sub(2)) {
            assert_eq!(array.get().unwrap(), [at as u32; 10]);
        }
    }
    assert_eq!(world.resource::<Made>().usable(), [false, false, false, true, true]);
}

#[test]
fn using_an_older_container_is_refused_with_a0013() {
    let mut world = world();
    let list = NativeList::<u32>::new_in(&world.update_allocator()).named("hits");
    world.update(0.1);
    assert!(list.get().is_ok(), "made before the first update");
    world.update(0.1);
    let refused = list.get().unwrap_err().to_string();
    assert!(refused.starts_with("A0013: `hits` ("), "{refused}");
    assert!(
        refused.ends_with(
            "can no longer be used, because the update allocator of the world has been rewound; make a new one"
        ),
        "{refused}"
    );
    let jobs = world.jobs();
    let refused = jobs.schedule(&[], list.read(), |_| ()).unwrap_err().to_string();
    assert!(refused.starts_with("A0013: "), "{refused}");
    drop(world);
    drop(list);
}

#[test]
fn without_updates_nothing_is_taken_back() {
    let mut world = world();
    let make = world.add_system(make);
    for _ in 0..5 {
        world.update_system(make).unwrap();
    }
    assert_eq!(world.resource::<Made>().usable(), [true; 5]);
    assert!(world.try_update(f64::NAN).is_err());
    assert!(world.try_update(f64::NAN).is_err());
    assert_eq!(world.resource::<Made>().usable(), [true; 5]);
}

#[test]
fn a_group_with_a_rate_has_separate_memory() {
    let mut world = world();
    world.add_system(make.in_group(FixedStep));
    world.set_rate(FixedStep, FixedRateCatchUp::new(0.25)).unwrap();
    // Steps at 0.0, 0.25, 0.5 and 0.75, then none in four updates.
    world.set_maximum_delta(10.0).unwrap();
    world.try_update(0.75).unwrap();
    let usable = world.resource::<Made>().usable();
    assert_eq!(usable, [false, false, true, true], "steps count, and not updates");
    for _ in 0..4 {
        world.try_update(0.01).unwrap();
    }
    assert_eq!(world.resource::<Made>().usable(), [false, false, true, true]);
    world.try_update(0.25).unwrap();
    assert_eq!(world.resource::<Made>().usable(), [false, false, false, true, true]);
}

#[test]
fn memory_of_a_group_is_that_of_its_systems_alone() {
    #[derive(Clone, Copy)]
    struct Inner;
    impl SystemGroup for Inner {}

    let (mut world, trace) = (world(), Trace::default());
    let note = |what: &'static str, trace: &Trace| {
        let trace = trace.clone();
        move |memory: UpdateAllocator, mut first: Local<Option<NativeList<u32>>>| {
            let list = first.get_or_insert_with(|| NativeList::new_in(&memory));
            trace.note(format!("{what}:{}", u32::from(list.get().is_ok())));
        }
    };
    world.add_system(Inner.in_group(FixedStep).rate(FixedRateCatchUp::new(0.5)));
    world.set_rate(FixedStep, FixedRateCatchUp::new(1.0)).unwrap();
    world.set_maximum_delta(10.0).unwrap();
    world.add_system(note("inner", &trace).in_group(Inner));
    world.add_system(note("outer", &trace).in_group(FixedStep).after(Inner));
    world.add_system(note("world", &trace));
    world.try_update(1.0).unwrap();
    // Two steps of the outer group: in the first the inner group has one step, in the second two.
    assert_eq!(trace.take(), "inner:1 outer:1 inner:1 inner:0 outer:1 world:1");
}

#[test]
fn forks_have_separate_memory() {
    let mut world = world();
    let list = NativeList::<u32>::new_in(&world.update_allocator());
    let mut fork = world.fork().unwrap();
    let of_fork = NativeList::<u32>::new_in(&fork.update_allocator());
    fork.update(0.1);
    fork.update(0.1);
    assert!(list.get().is_ok() && of_fork.get().is_err());
}

#[test]
fn an_exclusive_system_can_use_update_memory() {
    let mut world = world();
    world.add_system(|memory: UpdateAllocator, world: &mut World| {
        assert_eq!(*memory, world.update_allocator());
    });
    world.add_system(|_: Query<()>, memory: UpdateAllocator| {
        assert_eq!(memory.name(), "the update allocator of the world");
    });
    world.try_update(0.1).unwrap();
}
