//! flecs, in C, through flecs_ecs: archetypes, whose tables a query yields as slices.

use std::cell::RefCell;
use std::hint::black_box;

use flecs_ecs::prelude::*;

use super::types::*;
use super::work::{self, FEW, FRAGMENT, HEAVY, MILLION, Pattern};
use crate::harness::{Cell, Reading};

/// The query of most cases.
type Moving = Query<(&'static mut Position, &'static Velocity)>;
/// A query and its world, which must be dropped in this order.
type Queried = (Moving, World);

fn fill_bodies(world: &World) -> Vec<Entity> {
    let (positions, velocities): (Vec<_>, Vec<_>) = (0..MILLION).map(work::body).unzip();
    world.entity_bulk(MILLION as u32).set(&positions).set(&velocities).build()
}

fn bodies() -> World {
    let world = World::new();
    fill_bodies(&world);
    world
}

/// Returns a query that caches the matching tables.
fn moving(world: World) -> Queried {
    let query = world.query::<(&mut Position, &Velocity)>().set_cached().build();
    (query, world)
}

fn advance((query, _): &mut Queried) {
    query.run(advance_tables);
}

/// Processes the entities table by table, as slices.
fn advance_tables(mut tables: TableIter<true>) {
    while tables.next() {
        let mut positions = tables.field_mut::<Position>(0);
        let velocities = tables.field::<Velocity>(1);
        work::advance_all(positions.as_mut_slice(), velocities.as_slice());
    }
}

fn bodies_result(world: &World) -> u64 {
    let mut rows = Vec::with_capacity(MILLION);
    world.each::<(&Position, &Velocity)>(|(p, v)| rows.push(work::body_row(p, v)));
    work::in_any_order(rows.into_iter())
}

pub(super) fn simple_iter(cell: Cell) -> Reading {
    let world = World::new();
    let (transform, position, rotation, velocity) = work::simple();
    world
        .entity_bulk(FEW as u32)
        .set(&vec![transform; FEW])
        .set(&vec![position; FEW])
        .set(&vec![rotation; FEW])
        .set(&vec![velocity; FEW])
        .build();
    cell.run(moving(world), advance, |(_, world)| {
        let mut rows = Vec::new();
        world.each::<(&Transform, &Position, &Rotation, &Velocity)>(|(t, p, r, v)| {
            rows.push(work::simple_row(t, p, r, v));
        });
        work::in_any_order(rows.into_iter())
    })
}

pub(super) fn iter(cell: Cell) -> Reading {
    cell.run(moving(bodies()), advance, |(_, world)| bodies_result(world))
}

/// Measures a system of the frame, because only systems use several threads.
pub(super) fn iter_par(cell: Cell) -> Reading {
    let world = bodies();
    world.set_threads(2);
    world.system::<(&mut Position, &Velocity)>().par_run(advance_tables);
    cell.run(world, progress, |world| bodies_result(world))
}

fn progress(world: &mut World) {
    world.progress();
}

pub(super) fn frag_iter(cell: Cell) -> Reading {
    fn spawn<M: Mark + ComponentId + DataComponent>(world: &World) {
        let data: Vec<Data> = (0..FRAGMENT).map(work::data).collect();
        world.entity_bulk(FRAGMENT as u32).set(&data).set(&[M::new(0.0); FRAGMENT]).build();
    }
    fn pass(query: &Query<&mut Data>, factor: f32) {
        query.run(|mut tables| {
            while tables.next() {
                for data in tables.field_mut::<Data>(0).as_mut_slice() {
                    data.0 *= factor;
                }
            }
        });
    }
    let world = World::new();
    for spawn in all_marks!(spawn) {
        spawn(&world);
    }
    let query = world.query::<&mut Data>().set_cached().build();
    let operation = |(): &mut ()| work::passes(|factor| pass(&query, factor));
    cell.run((), operation, |()| {
        pass(&query, work::LAST_PASS);
        let mut rows = Vec::new();
        world.each::<&Data>(|data| rows.push(work::row([data.0])));
        work::in_any_order(rows.into_iter())
    })
}

pub(super) fn query(cell: Cell, alive: usize) -> Reading {
    fn spawn<M: Mark + ComponentId + DataComponent>(world: &World) {
        let values: Vec<A> = (0..FRAGMENT).map(|index| A(index as f32)).collect();
        world.entity_bulk(FRAGMENT as u32).set(&values).set(&[M::new(0.0); FRAGMENT]).build();
    }
    fn add<M: Mark + ComponentId + DataComponent>(world: &World, entity: Entity) {
        world.entity_from_id(entity).set(M::new(0.0));
    }
    let world = World::new();
    for spawn in twenty_marks!(spawn) {
        spawn(&world);
    }
    for marks in work::others(alive) {
        let entity = world.entity().id();
        for mark in marks {
            twenty_marks!(add)[mark](&world, entity);
        }
    }
    let query = world.query::<&mut A>().set_cached().build();
    let operation = |(): &mut ()| {
        query.run(|mut tables| {
            while tables.next() {
                for a in tables.field_mut::<A>(0).as_mut_slice() {
                    a.0 += 1.0;
                }
            }
        });
    };
    cell.run((), operation, |()| {
        let mut rows = Vec::new();
        world.each::<&A>(|a| rows.push(work::row([a.0])));
        work::in_any_order(rows.into_iter())
    })
}

pub(super) fn heavy_compute(cell: Cell) -> Reading {
    let world = World::new();
    for index in 0..HEAVY {
        let (transform, position, rotation, velocity) = work::heavy(index);
        world.entity().set(transform).set(position).set(rotation).set(velocity);
    }
    world.set_threads(2);
    world
        .system::<(&mut Transform, &mut Position)>()
        .par_each(|(transform, position)| work::invert(transform, position));
    cell.run(world, progress, |world| {
        let mut rows = Vec::new();
        world.each::<(&Transform, &Position)>(|(t, p)| rows.push(work::heavy_row(t, p)));
        work::in_any_order(rows.into_iter())
    })
}

/// The entity to look up.
#[derive(Clone, Copy, Component)]
struct Target(Entity);

pub(super) fn lookup(cell: Cell) -> Reading {
    let world = World::new();
    let positions: Vec<Position> = (0..MILLION).map(|index| work::body(index).0).collect();
    let sums = vec![A(0.0); MILLION];
    let entities = world.entity_bulk(MILLION as u32).set(&positions).set(&sums).build();
    let targets = work::shuffled(entities.clone());
    for (entity, target) in entities.into_iter().zip(targets) {
        world.entity_from_id(entity).set(Target(target));
    }
    let query = world.query::<(&Target, &mut A)>().set_cached().build();
    let operation = |(): &mut ()| {
        query.run(|mut tables| {
            while tables.next() {
                let targets = tables.field::<Target>(0);
                let mut sums = tables.field_mut::<A>(1);
                for (target, sum) in targets.as_slice().iter().zip(sums.as_mut_slice()) {
                    let position = world.entity_from_id(target.0).cloned::<&Position>();
                    work::take(sum, &position);
                }
            }
        });
    };
    cell.run((), operation, |()| {
        let mut rows = Vec::new();
        world.each::<(&Position, &A)>(|(p, a)| rows.push(work::taken_row(p, a)));
        work::in_any_order(rows.into_iter())
    })
}

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

fn populated() -> Populated {
    let world = World::new();
    let entities = fill_bodies(&world);
    (world, entities)
}

pub(super) fn add_comp(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        for &entity in entities.iter() {
            world.entity_from_id(entity).set(B(1.0));
        }
    };
    cell.run_afresh(populated, operation, |(world, _)| {
        let mut rows = Vec::new();
        world.each::<(&Position, &Velocity, &B)>(|(p, v, b)| {
            rows.push(work::added_row(p, v, b.0));
        });
        work::in_any_order(rows.into_iter())
    })
}

pub(super) fn add_tag(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        let tag = world.component_id::<Tag>();
        for &entity in entities.iter() {
            world.entity_from_id(entity).add(tag);
        }
    };
    cell.run_afresh(populated, operation, |(world, _)| {
        let mut rows = Vec::new();
        let query = world.query::<(&Position, &Velocity)>().with(Tag::id()).build();
        query.each(|(p, v)| rows.push(work::added_row(p, v, 0.0)));
        work::in_any_order(rows.into_iter())
    })
}

/// Returns a world with bodies whose position can be disabled.
fn toggled_bodies() -> Populated {
    let world = World::new();
    world.component::<Position>().add_trait::<flecs::CanToggle>();
    let entities = fill_bodies(&world);
    (world, entities)
}

/// Toggles the entities one by one, since there is no bulk operation.
pub(super) fn toggle(cell: Cell) -> Reading {
    let (world, entities) = toggled_bodies();
    let component = world.component_id::<Position>();
    let operation = |enabled: &mut bool| {
        *enabled = !*enabled;
        for &entity in black_box(&entities) {
            let entity = world.entity_from_id(entity);
            if *enabled {
                entity.enable(component)
            } else {
                entity.disable(component)
            };
        }
    };
    let result = |_: &mut bool| {
        let is_enabled = |&&entity: &&Entity| world.entity_from_id(entity).is_enabled(component);
        entities.iter().filter(is_enabled).count() as u64
    };
    cell.run(true, operation, result)
}

/// Measures a loop over enabled entities. Toggling a component for the first time moves its entity to a table with bits. So all
/// entities are toggled, in order: otherwise those that stay enabled would remain contiguous in the old table.
pub(super) fn enabled(cell: Cell, pattern: Pattern) -> Reading {
    let (world, entities) = toggled_bodies();
    let component = world.component_id::<Position>();
    let switch = |world: &World, pattern: Pattern| {
        for (index, &entity) in entities.iter().enumerate() {
            let entity = world.entity_from_id(entity);
            if pattern(index) {
                entity.enable(component)
            } else {
                entity.disable(component)
            };
        }
    };
    switch(&world, pattern);
    cell.run(moving(world), advance, |(_, world)| {
        switch(world, |_| true);
        let found = bodies_result(world);
        // Only later operations are timed.
        switch(world, pattern);
        found
    })
}

/// Measures a loop over changed entities. flecs detects changes per table.
pub(super) fn changed(cell: Cell, indices: &[usize]) -> Reading {
    let world = World::new();
    let entities = world.entity_bulk(MILLION as u32).set(&vec![A(0.0); MILLION]).build();
    let query = world.query::<&A>().detect_changes().set_cached().build();
    let turn = RefCell::new(0);
    let make = || {
        let mut turn = turn.borrow_mut();
        *turn += 1;
        for &index in indices {
            world.entity_from_id(entities[index]).set(work::changed_value(index, *turn));
        }
        0.0
    };
    let operation = |sum: &mut f32| {
        let mut found = 0.0;
        query.run(|mut tables| {
            while tables.next() {
                if tables.is_changed() {
                    found += tables.field::<A>(0).as_slice().iter().map(|a| a.0).sum::<f32>();
                }
            }
        });
        *sum = found;
    };
    cell.run_afresh(make, operation, |sum| sum.to_bits().into())
}

/// Measures the loop of `iter`, while another query detects changes of the tables.
pub(super) fn tracked_write(cell: Cell) -> Reading {
    let world = bodies();
    let query = world.query::<(&mut Position, &Velocity)>().set_cached().build();
    let written = world.query::<&Position>().detect_changes().set_cached().build();
    // Visits all tables, so that later writes count as changes.
    let look = || {
        let changed = written.is_changed();
        written.run(|mut tables| while tables.next() {});
        changed
    };
    look();
    let operation = |(): &mut ()| query.run(advance_tables);
    cell.run((), operation, |()| {
        assert!(look(), "all were written");
        assert!(!look(), "nothing was written since");
        bodies_result(&world)
    })
}

pub(super) fn empty_parallel(cell: Cell) -> Reading {
    let world = World::new();
    let entity = world.entity().set(A(0.0)).id();
    world.set_threads(2);
    world.system::<&mut A>().par_each(|a| a.0 += 1.0);
    cell.run(world, progress, |world| {
        world.entity_from_id(entity).cloned::<&A>().0.to_bits().into()
    })
}

/// Measures systems of the frame, each of which uses all threads.
pub(super) fn two_jobs(cell: Cell) -> Reading {
    let world = World::new();
    let (ab, cd): (Vec<_>, Vec<_>) =
        (0..MILLION).map(work::four).map(|(a, b, c, d)| ((a, b), (c, d))).unzip();
    let ((a, b), (c, d)): ((Vec<_>, Vec<_>), (Vec<_>, Vec<_>)) =
        (ab.into_iter().unzip(), cd.into_iter().unzip());
    world.entity_bulk(MILLION as u32).set(&a).set(&b).set(&c).set(&d).build();
    world.set_threads(2);
    world.system::<(&mut A, &B)>().par_run(|mut tables| {
        while tables.next() {
            let (mut a, b) = (tables.field_mut::<A>(0), tables.field::<B>(1));
            a.as_mut_slice().iter_mut().zip(b.as_slice()).for_each(|(a, b)| a.0 += b.0);
        }
    });
    world.system::<(&mut C, &D)>().par_run(|mut tables| {
        while tables.next() {
            let (mut c, d) = (tables.field_mut::<C>(0), tables.field::<D>(1));
            c.as_mut_slice().iter_mut().zip(d.as_slice()).for_each(|(c, d)| c.0 += d.0);
        }
    });
    cell.run(world, progress, |world| {
        let mut rows = Vec::new();
        world.each::<(&A, &B, &C, &D)>(|(a, b, c, d)| rows.push(work::four_row(a, b, c, d)));
        work::in_any_order(rows.into_iter())
    })
}

/// Measures the loop and the changes one after the other, because structural changes need exclusive access to the world.
pub(super) fn unrelated_structural(cell: Cell) -> Reading {
    let world = bodies();
    let values: Vec<A> = (0..FEW).map(|index| A(index as f32)).collect();
    let others = world.entity_bulk(FEW as u32).set(&values).build();
    let added = world.component_id::<B>();
    let operation = |queried: &mut Queried| {
        advance(queried);
        let (_, world) = queried;
        for &entity in &others {
            world.entity_from_id(entity).set(B(1.0));
        }
        for &entity in &others {
            world.entity_from_id(entity).remove(added);
        }
    };
    cell.run(moving(world), operation, |(_, world)| {
        let mut rows = Vec::new();
        let query = world.query::<&A>().without(B::id()).build();
        query.each(|a| rows.push(work::row([a.0])));
        bodies_result(world).wrapping_add(work::in_any_order(rows.into_iter()))
    })
}
