//! Memory that lives for two updates.

use ancho_collections::{NativeArray, NativeList};
use ancho_entities::{
    FixedRateCatchUp, FixedStep, IntoSystem, Local, Query, ResMut, SystemGroup, UpdateAllocator,
    World,
};
use ancho_jobs::JobHandle;

use crate::blackbox::support::Trace;

/// Containers, in the order of creation.
#[derive(Default)]
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
fn what_is_made_in_an_update_lives_for_two() {
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
fn using_what_is_older_is_refused_in_a_sentence() {
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
fn jobs_that_have_a_container_go_on_when_it_is_taken_back() {
    let mut world = world();
    let mut sums = NativeArray::<u32>::new(1);
    let numbers = NativeArray::from_fn_in(1000, |at| at as u32, &world.update_allocator());
    let sum = world
        .jobs()
        .schedule(&[], (numbers.read(), sums.write()), |(numbers, sums)| {
            sums[0] = numbers.iter().sum();
        })
        .unwrap();
    drop(numbers);
    // No call flushes the job: it runs when it is completed, three updates later.
    for _ in 0..3 {
        world.update(0.1);
        let _other = NativeArray::from_fn_in(1000, |_| 1_u32, &world.update_allocator());
    }
    world.jobs().complete(sum);
    assert_eq!(sums.get().unwrap(), [499_500]);
}

#[test]
fn a_job_fills_in_one_update_what_is_read_in_the_next() {
    #[derive(Default)]
    struct Filled(Option<(NativeArray<u32>, JobHandle)>);

    fn fill(world: &mut World, trace: &Trace) {
        let memory = world.update_allocator();
        let mut filled = NativeArray::<u32>::new_in(100, &memory);
        let token = filled.write();
        let job = world.jobs().schedule(&[], token, |values| values.fill(7)).unwrap();
        let before = world.resource_mut::<Filled>().0.replace((filled, job));
        if let Some((before, job)) = before {
            world.jobs().complete(job);
            trace.note(before.get().map_or("lost".into(), |values| values[99].to_string()));
        }
    }

    let (mut world, trace) = (world(), Trace::default());
    world.insert_resource(Filled::default());
    let noted = trace.clone();
    world.add_system(move |world: &mut World| fill(world, &noted));
    for _ in 0..4 {
        world.try_update(0.1).unwrap();
    }
    assert_eq!(trace.take(), "7 7 7");
}

#[test]
fn a_group_with_a_rate_of_its_own_has_memory_of_its_own() {
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
fn forks_have_memory_of_their_own() {
    let mut world = world();
    let list = NativeList::<u32>::new_in(&world.update_allocator());
    let mut fork = world.fork().unwrap();
    let of_fork = NativeList::<u32>::new_in(&fork.update_allocator());
    fork.update(0.1);
    fork.update(0.1);
    assert!(list.get().is_ok() && of_fork.get().is_err());
}

#[test]
fn a_system_that_has_the_world_can_have_memory_too() {
    let mut world = world();
    world.add_system(|memory: UpdateAllocator, world: &mut World| {
        assert_eq!(*memory, world.update_allocator());
    });
    world.add_system(|_: Query<()>, memory: UpdateAllocator| {
        assert_eq!(memory.name(), "the update allocator of the world");
    });
    world.try_update(0.1).unwrap();
}
