//! legion: archetypes; last released in 2021.

use std::cell::RefCell;

use legion::query::DefaultFilter;
use legion::{
    Entity, EntityStore, IntoQuery, Read, Resources, Schedule, SystemBuilder, World, Write,
    component, maybe_changed,
};

use super::types::*;
use super::work::{self, FEW, FRAGMENT, HEAVY, MILLION};
use crate::harness::{Cell, Reading};

/// A world and a query of it.
type Queried<V> = (World, legion::Query<V, <V as DefaultFilter>::Filter>);
/// The query of most cases.
type Moving = Queried<(Write<Position>, Read<Velocity>)>;

fn moving(world: World) -> Moving {
    (world, <(Write<Position>, Read<Velocity>)>::query())
}

fn bodies() -> World {
    let mut world = World::default();
    world.extend((0..MILLION).map(work::body));
    world
}

/// Processes the entities as slices.
fn advance((world, query): &mut Moving) {
    query.for_each_chunk_mut(world, |chunk| {
        let (positions, velocities) = chunk.into_components();
        work::advance_all(positions, velocities);
    });
}

fn bodies_result(world: &mut World) -> u64 {
    let mut query = <(&Position, &Velocity)>::query();
    work::in_any_order(query.iter(world).map(|(p, v)| work::body_row(p, v)))
}

pub(super) fn simple_iter(cell: Cell) -> Reading {
    let mut world = World::default();
    world.extend((0..FEW).map(|_| work::simple()));
    cell.run(moving(world), advance, |(world, _)| {
        let mut query = <(&Transform, &Position, &Rotation, &Velocity)>::query();
        work::in_any_order(query.iter(world).map(|(t, p, r, v)| work::simple_row(t, p, r, v)))
    })
}

/// Measures the loop. legion tracks writes per archetype.
pub(super) fn iter(cell: Cell) -> Reading {
    cell.run(moving(bodies()), advance, |(world, _)| bodies_result(world))
}

pub(super) fn iter_par(cell: Cell) -> Reading {
    work::two_threads();
    let operation = |(world, query): &mut Moving| {
        query.par_for_each_mut(world, |(p, v)| work::advance(p, v));
    };
    cell.run(moving(bodies()), operation, |(world, _)| bodies_result(world))
}

/// A world and its schedule.
type Scheduled = (World, Resources, Schedule);

fn execute((world, resources, schedule): &mut Scheduled) {
    schedule.execute(world, resources);
}

pub(super) fn frag_iter(cell: Cell) -> Reading {
    fn spawn<M: Mark>(world: &mut World) {
        world.extend((0..FRAGMENT).map(|index| (work::data(index), M::new(0.0))));
    }
    type Fragments = Queried<Write<Data>>;
    fn pass((world, query): &mut Fragments, factor: f32) {
        query.for_each_chunk_mut(world, |chunk| {
            for data in chunk.into_components() {
                data.0 *= factor;
            }
        });
    }
    let mut world = World::default();
    for spawn in all_marks!(spawn) {
        spawn(&mut world);
    }
    let operation = |queried: &mut Fragments| work::passes(|factor| pass(queried, factor));
    cell.run((world, <Write<Data>>::query()), operation, |queried| {
        pass(queried, work::LAST_PASS);
        let (world, query) = queried;
        work::in_any_order(query.iter_mut(world).map(|data| work::row([data.0])))
    })
}

pub(super) fn query(cell: Cell, alive: usize) -> Reading {
    fn spawn<M: Mark>(world: &mut World) {
        world.extend((0..FRAGMENT).map(|index| (A(index as f32), M::new(0.0))));
    }
    fn add<M: Mark>(world: &mut World, entity: Entity) {
        world.entry(entity).expect("it is alive").add_component(M::new(0.0));
    }
    let mut world = World::default();
    for spawn in twenty_marks!(spawn) {
        spawn(&mut world);
    }
    for marks in work::others(alive) {
        let entity = world.push(());
        for mark in marks {
            twenty_marks!(add)[mark](&mut world, entity);
        }
    }
    type Found = Queried<Write<A>>;
    let operation = |(world, query): &mut Found| {
        query.for_each_chunk_mut(world, |chunk| {
            for a in chunk.into_components() {
                a.0 += 1.0;
            }
        });
    };
    cell.run((world, <Write<A>>::query()), operation, |(world, query)| {
        work::in_any_order(query.iter_mut(world).map(|a| work::row([a.0])))
    })
}

pub(super) fn heavy_compute(cell: Cell) -> Reading {
    work::two_threads();
    type Heavy = Queried<(Write<Transform>, Write<Position>)>;
    let mut world = World::default();
    world.extend((0..HEAVY).map(work::heavy));
    let query = <(Write<Transform>, Write<Position>)>::query();
    let operation = |(world, query): &mut Heavy| {
        query.par_for_each_mut(world, |(t, p)| work::invert(t, p));
    };
    cell.run((world, query), operation, |(world, query)| {
        work::in_any_order(query.iter_mut(world).map(|(t, p)| work::heavy_row(t, p)))
    })
}

/// The entity to look up.
#[derive(Clone, Copy)]
struct Target(Entity);

/// Measures lookups in the whole world, which are read-only, so that results are written afterwards. In a split world a lookup
/// takes six times as long.
pub(super) fn lookup(cell: Cell) -> Reading {
    let mut world = World::default();
    let positions = (0..MILLION).map(|index| (work::body(index).0, A(0.0)));
    let entities = world.extend(positions).to_vec();
    let targets = work::shuffled(entities.clone());
    for (entity, target) in entities.into_iter().zip(targets) {
        world.entry(entity).expect("it is alive").add_component(Target(target));
    }
    let mut targets = <&Target>::query();
    let mut sums = <&mut A>::query();
    let operation = |(world, found): &mut (World, Vec<Position>)| {
        found.clear();
        targets.for_each(world, |target| {
            let entry = world.entry_ref(target.0).expect("all are alive");
            found.push(*entry.get_component().expect("all have it"));
        });
        let mut found = found.iter();
        sums.for_each_mut(world, |sum| work::take(sum, found.next().expect("one for each")));
    };
    cell.run((world, Vec::with_capacity(MILLION)), operation, |(world, _)| {
        let mut query = <(&Position, &A)>::query();
        work::in_any_order(query.iter(world).map(|(p, a)| work::taken_row(p, a)))
    })
}

pub(super) fn add_comp(cell: Cell) -> Reading {
    add_to_all(cell, B(1.0), |world| {
        let mut query = <(&Position, &Velocity, &B)>::query();
        work::in_any_order(query.iter(world).map(|(p, v, b)| work::added_row(p, v, b.0)))
    })
}

pub(super) fn add_tag(cell: Cell) -> Reading {
    add_to_all(cell, Tag, |world| {
        let mut query = <(&Position, &Velocity)>::query().filter(component::<Tag>());
        work::in_any_order(query.iter(world).map(|(p, v)| work::added_row(p, v, 0.0)))
    })
}

fn add_to_all<T: Copy + Send + Sync + 'static>(
    cell: Cell,
    value: T,
    result: impl FnOnce(&mut World) -> u64,
) -> Reading {
    let make = || {
        let mut world = World::default();
        let entities = world.extend((0..MILLION).map(work::body)).to_vec();
        (world, entities)
    };
    let operation = |(world, entities): &mut (World, Vec<Entity>)| {
        for &entity in entities.iter() {
            world.entry(entity).expect("all are alive").add_component(value);
        }
    };
    cell.run_afresh(make, operation, |(world, _)| result(world))
}

/// Measures a loop over changed entities. legion detects changes per archetype.
pub(super) fn changed(cell: Cell, indices: &[usize]) -> Reading {
    let mut world = World::default();
    let entities = world.extend((0..MILLION).map(|_| (A(0.0),))).to_vec();
    let mut query = <&A>::query().filter(maybe_changed::<A>());
    let shared = RefCell::new((world, 0));
    let make = || {
        let (world, turn) = &mut *shared.borrow_mut();
        *turn += 1;
        for &index in indices {
            let mut entry = world.entry(entities[index]).expect("all are alive");
            *entry.get_component_mut::<A>().expect("all have it") =
                work::changed_value(index, *turn);
        }
        0.0
    };
    let operation = |sum: &mut f32| {
        let (world, _) = &*shared.borrow();
        let mut found = 0.0;
        query.for_each_chunk(world, |chunk| {
            found += chunk.get_components().iter().map(|a| a.0).sum::<f32>();
        });
        *sum = found;
    };
    cell.run_afresh(make, operation, |sum| sum.to_bits().into())
}

pub(super) fn empty_parallel(cell: Cell) -> Reading {
    work::two_threads();
    let mut world = World::default();
    world.push((A(0.0),));
    type Found = Queried<Write<A>>;
    let operation = |(world, query): &mut Found| {
        query.par_for_each_mut(world, |a| a.0 += 1.0);
    };
    cell.run((world, <Write<A>>::query()), operation, |(world, query)| {
        query.iter_mut(world).map(|a| u64::from(a.0.to_bits())).sum()
    })
}

/// Measures two systems of a schedule, which may run them at the same time.
pub(super) fn two_jobs(cell: Cell) -> Reading {
    work::two_threads();
    let mut world = World::default();
    world.extend((0..MILLION).map(work::four));
    let first = SystemBuilder::new("first").with_query(<(&mut A, &B)>::query()).build(
        |_, world, _, query| {
            query.for_each_chunk_mut(world, |chunk| {
                let (a, b) = chunk.into_components();
                a.iter_mut().zip(b).for_each(|(a, b)| a.0 += b.0);
            });
        },
    );
    let second = SystemBuilder::new("second").with_query(<(&mut C, &D)>::query()).build(
        |_, world, _, query| {
            query.for_each_chunk_mut(world, |chunk| {
                let (c, d) = chunk.into_components();
                c.iter_mut().zip(d).for_each(|(c, d)| c.0 += d.0);
            });
        },
    );
    let schedule = Schedule::builder().add_system(first).add_system(second).build();
    cell.run((world, Resources::default(), schedule), execute, |(world, ..)| {
        let mut query = <(&A, &B, &C, &D)>::query();
        work::in_any_order(query.iter(world).map(|(a, b, c, d)| work::four_row(a, b, c, d)))
    })
}

/// Measures the loop and the changes one after the other, because structural changes need exclusive access to the world.
pub(super) fn unrelated_structural(cell: Cell) -> Reading {
    let mut world = bodies();
    let others = world.extend((0..FEW).map(|index| (A(index as f32),))).to_vec();
    let operation = |queried: &mut Moving| {
        advance(queried);
        let (world, _) = queried;
        for &entity in &others {
            world.entry(entity).expect("all are alive").add_component(B(1.0));
        }
        for &entity in &others {
            world.entry(entity).expect("all are alive").remove_component::<B>();
        }
    };
    cell.run(moving(world), operation, |(world, _)| {
        let mut query = <&A>::query().filter(!component::<B>());
        let others = work::in_any_order(query.iter(world).map(|a| work::row([a.0])));
        bodies_result(world).wrapping_add(others)
    })
}
