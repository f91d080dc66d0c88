//! hecs: it has no schedule, so systems are loops.

use hecs::{Archetype, ColumnBatchBuilder, ColumnBatchType, PreparedQuery, World};

use super::types::{A, B, C, D, E, Position, Value, Velocity};
use super::work::{self, EACH, MOVED};
use crate::harness::{Cell, Reading};

/// A system: a query that caches the matching archetypes.
type System<X, Y> = PreparedQuery<(&'static mut X, &'static mut Y)>;

fn run<X: Value, Y: Value>(system: &mut System<X, Y>, world: &mut World) {
    system.query_mut(world).for_each(|(x, y)| work::swap(x, y));
}

pub(in crate::parts::systems) fn schedule(cell: Cell) -> Reading {
    let mut world = World::new();
    world.spawn_batch((0..EACH).map(work::ab));
    world.spawn_batch((0..EACH).map(work::abc));
    world.spawn_batch((0..EACH).map(work::abcd));
    world.spawn_batch((0..EACH).map(work::abce));
    let (mut ab, mut cd, mut ce) =
        (System::<A, B>::new(), System::<C, D>::new(), System::<C, E>::new());
    let operation = |world: &mut World| {
        run(&mut ab, world);
        run(&mut cd, world);
        run(&mut ce, world);
    };
    cell.run(world, operation, |world| {
        let query = world.query_mut::<(&A, &B, Option<&C>, Option<&D>, Option<&E>)>();
        work::in_any_order(
            query.into_iter().map(|(a, b, c, d, e)| work::swapped_row(a, b, c, d, e)),
        )
    })
}

/// Copies columns between the worlds, since the types are known and `Copy`. hecs itself only moves entity by entity: `take`, then
/// `spawn`.
pub(in crate::parts::systems) fn world_move(cell: Cell) -> Reading {
    type Pair = (World, World);
    let make = || {
        let mut source = World::new();
        source.spawn_batch((0..MOVED).map(work::body));
        (source, World::new())
    };
    let operation = |(source, target): &mut Pair| {
        for archetype in source.archetypes().filter(|archetype| !archetype.is_empty()) {
            let mut columns = ColumnBatchType::new();
            columns.add::<Position>().add::<Velocity>();
            let mut columns = columns.into_batch(archetype.len());
            copy_column::<Position>(archetype, &mut columns);
            copy_column::<Velocity>(archetype, &mut columns);
            target.spawn_column_batch(columns.build().expect("all columns are full"));
        }
        source.clear();
    };
    cell.run_afresh(make, operation, |(source, target)| {
        let query = target.query_mut::<(&Position, &Velocity)>();
        let arrived = work::in_any_order(query.into_iter().map(|(p, v)| work::body_row(p, v)));
        work::moved(source.len() as usize, arrived)
    })
}

fn copy_column<T: Copy + Send + Sync + 'static>(
    archetype: &Archetype,
    columns: &mut ColumnBatchBuilder,
) {
    let mut writer = columns.writer::<T>().expect("the column was added");
    for &value in &*archetype.get::<&T>().expect("all have it") {
        let _ = writer.push(value);
    }
}
