//! Parallel jobs over the elements of one buffer.

use ancho_entities::{
    Buffer, BufferElement, Changed, Entity, Lookup, Query, ResMut, Resource, SystemResult, World,
    WorldSettings,
};
use ancho_jobs::JobSlice;

use crate::jobs::common::*;

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(inline = 4)]
struct Cell(u32);

/// Changes are tracked by entity.
#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(inline = 2, track_changes)]
struct Tracked(u32);

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
struct Nothing;

fn cells(count: u32) -> Buffer<Cell> {
    Buffer::from_iter((0..count).map(Cell))
}

fn elements(world: &mut World) -> Lookup<'_, &mut Buffer<Cell>> {
    world.split::<(Lookup<&mut Buffer<Cell>>,)>().0
}

fn numbers(world: &World, entity: Entity) -> Vec<u32> {
    world.buffer::<Cell>(entity).unwrap().iter().map(|cell| cell.0).collect()
}

#[test]
fn each_element_is_visited_once_in_its_own_batch() {
    for workers in WORKERS {
        for mode in MODES {
            let mut world = world_of(workers, 10);
            world.jobs().set_mode(mode);
            // In the chunk, on the heap, and beside other buffers.
            for count in [0, 1, 4, 5, 63, 64, 1000] {
                let others = [world.spawn(cells(7)), world.spawn(cells(900))];
                let entity = world.spawn(cells(count));
                for batch in [1, 16, 5000] {
                    let all = elements(&mut world).into_elements(entity).unwrap();
                    all.schedule_for_each(batch, |cell, index| cell.0 += 1000 * (index as u32 + 1));
                    let all = elements(&mut world).into_elements(entity).unwrap();
                    all.schedule_parallel(batch, move |cells, range| {
                        assert!(cells.len() == range.len() && range.len() <= batch);
                        for (cell, index) in cells.iter_mut().zip(range) {
                            cell.0 -= 1000 * (index as u32 + 1) - 1;
                        }
                    });
                }
                assert!(numbers(&world, entity).into_iter().eq(3..count + 3));
                assert_eq!(others.map(|other| numbers(&world, other).len()), [7, 900]);
                assert!(numbers(&world, others[1]).into_iter().eq(0..900));
            }
        }
    }
}

#[test]
fn an_entity_without_the_buffer_has_no_elements() {
    let mut world = world_with(1);
    let (without, gone) = (world.spawn(A(1)), world.spawn(cells(3)));
    world.despawn(gone).unwrap();
    for entity in [without, gone, Entity::NULL] {
        assert!(elements(&mut world).into_elements(entity).is_none());
    }
}

#[test]
fn the_elements_are_those_that_earlier_jobs_have_left() {
    for workers in WORKERS {
        let mut world = world_with(workers);
        let entity = world.spawn(cells(2));
        // The buffer moves to the heap after the second job is scheduled.
        world.query_mut::<&mut Buffer<Cell>>().job().schedule(|mut cells| {
            cells.extend((2..500).map(Cell));
        });
        let all = elements(&mut world).into_elements(entity).unwrap();
        all.schedule_for_each(32, |cell, index| {
            assert_eq!(cell.0, index as u32);
            cell.0 *= 2;
        });
        world.query_mut::<&mut Buffer<Cell>>().job().schedule(|mut cells| cells.truncate(499));
        assert!(numbers(&world, entity).into_iter().eq((0..499).map(|i| 2 * i)));
    }
}

#[test]
fn the_world_waits_for_the_job() {
    type Action = fn(&mut World, Entity);
    let actions: [(&str, Action); 4] = [
        ("reading", |world, entity| assert_eq!(numbers(world, entity), [5; 100])),
        ("pushing", |world, entity| world.buffer_mut::<Cell>(entity).unwrap().push(Cell(1))),
        ("removing a component", |world, entity| _ = world.remove::<A>(entity).unwrap()),
        ("spawning", |world, _| _ = world.spawn(B(1))),
    ];
    for (name, action) in actions {
        let mut world = world_with(1);
        let (entity, gate) = (world.spawn((cells(100), A(1))), Gate::default());
        let stand = gate.stand();
        let all = elements(&mut world).into_elements(entity).unwrap();
        all.schedule_parallel(100, move |cells, _| {
            stand();
            cells.iter_mut().for_each(|cell| cell.0 = 5);
        });
        gate.await_job(&world);
        gate.beside("reading another component", || assert_eq!(world.get(entity), Ok(&A(1))));
        gate.after(name, || action(&mut world, entity));
    }
}

#[test]
fn only_the_entity_of_the_buffer_counts_as_changed() {
    let mut world = world_with(2);
    let all: Vec<Entity> =
        world.spawn_batch((0..10).map(|i| Buffer::from_iter([Tracked(i)]))).collect();
    let since = world.version();
    world.advance_version();
    let (tracked,) = world.split::<(Lookup<&mut Buffer<Tracked>>,)>();
    tracked.into_elements(all[3]).unwrap().schedule_for_each(8, |element, _| element.0 += 1);
    let changed = world.query_filtered::<Entity, Changed<Buffer<Tracked>>>();
    assert_eq!(changed.since(since).to_entities(), [all[3]]);
}

#[test]
fn other_containers_can_be_captured() {
    for workers in WORKERS {
        let mut world = world_with(workers);
        let entity = world.spawn(cells(300));
        let factors = JobSlice::from((0..300).rev().collect::<Vec<u32>>());
        let mut sums = JobSlice::new(300, 0);
        let all = elements(&mut world).into_elements(entity).unwrap();
        let jobs = all.jobs();
        let data = (all, factors.read(), sums.write());
        let job = jobs.schedule_for_each(&[], data, 300, 32, |(cell, factors, sum), index| {
            *sum = cell.0 + factors[index];
            cell.0 = 7;
        });
        jobs.complete(job.unwrap());
        assert!(sums.as_slice().unwrap().iter().all(|&sum| sum == 299));
        assert_eq!(numbers(&world, entity), [7; 300]);
    }
}

#[test]
fn a_count_beyond_the_elements_fails_the_job() {
    let mut world = world_with(2);
    let entity = world.spawn(cells(50));
    let all = elements(&mut world).into_elements(entity).unwrap();
    let jobs = all.jobs();
    let job = jobs.schedule_for_each(&[], all, 60, 20, |cell, _| cell.0 = 1).unwrap();
    let error = jobs.try_complete(job).unwrap_err().to_string();
    assert!(
        error.contains("A0010: a batch has the indices 40..60, but the buffer of `"),
        "{error}"
    );
    assert!(error.contains("::Cell` has 50 elements; return a smaller count"), "{error}");
}

#[test]
fn a_panic_keeps_the_elements() {
    for workers in WORKERS {
        let mut world = world_with(workers);
        let entity = world.spawn(cells(200));
        let all = elements(&mut world).into_elements(entity).unwrap();
        let job = all.schedule_for_each(10, |cell, index| {
            assert!(index != 55, "not this one");
            cell.0 += 1;
        });
        let error = world.jobs().try_complete(job).unwrap_err().to_string();
        assert!(
            error.contains("not this one") && error.contains("a_panic_keeps_the_elements"),
            "{error}"
        );
        let numbers = numbers(&world, entity);
        assert!(numbers.iter().zip(0..200).all(|(&number, i)| number == i || number == i + 1));
        assert_eq!(numbers[55], 55);
    }
}

#[test]
fn a_fork_keeps_its_elements() {
    let mut world = world_with(2);
    let entity = world.spawn(cells(3));
    let fork = world.fork().unwrap();
    let all = elements(&mut world).into_elements(entity).unwrap();
    all.schedule_for_each(1, |cell, _| cell.0 = 9);
    assert_eq!(numbers(&fork, entity), [0, 1, 2]);
    assert_eq!(numbers(&world, entity), [9, 9, 9]);
}

#[test]
fn elements_without_size_are_counted() {
    let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool(2)));
    let entity = world.spawn(Buffer::from_iter([Nothing; 100]));
    let (all,) = world.split::<(Lookup<&mut Buffer<Nothing>>,)>();
    let (seen, counter) = {
        let seen = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        (seen.clone(), seen)
    };
    let job = all.into_elements(entity).unwrap().schedule_for_each(7, move |_, index| {
        counter.fetch_add(index, std::sync::atomic::Ordering::Relaxed);
    });
    world.jobs().complete(job);
    assert_eq!(seen.load(std::sync::atomic::Ordering::Relaxed), 4950);
}

#[derive(Resource, Clone)]
struct Map(Entity);

fn grow(map: ResMut<Map>, cells: Lookup<&mut Buffer<Cell>>) -> SystemResult {
    let cells = cells.into_elements(map.0).ok_or("the map is gone")?;
    cells.schedule_for_each(64, |cell, _| cell.0 += 1);
    Ok(())
}

fn check(all: Query<&Buffer<Cell>>) {
    assert!(all.iter().flatten().all(|cell| cell.0 > 0));
}

#[test]
fn systems_schedule_jobs_over_elements() {
    let mut world = world_with(2);
    let entity = world.spawn(cells(1000));
    world.insert_resource(Map(entity));
    world.add_system(grow);
    world.add_system(check);
    for _ in 0..10 {
        world.update(0.1);
    }
    assert!(numbers(&world, entity).into_iter().eq(10..1010));
}
