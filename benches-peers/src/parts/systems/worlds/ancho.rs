//! Ours: worlds.

use ancho_entities::World;

use super::types::{Position, Velocity};
use super::work::{self, MOVED};
use crate::harness::{Cell, Reading};

/// By chunks, which the other world takes over; entities have new ids there, and a map tells which.
pub(in crate::parts::systems) fn world_move(cell: Cell) -> Reading {
    type Pair = (World, World);
    let make = || {
        let mut source = World::new("source");
        source.spawn_batch((0..MOVED).map(work::body));
        (source, World::new("target"))
    };
    let operation = |(source, target): &mut Pair| {
        target.move_entities_from(source).expect("there is memory");
    };
    cell.run_afresh(make, operation, |(source, target)| {
        let left_behind = source.query::<&Position>().iter().count();
        let query = target.query::<(&Position, &Velocity)>();
        let arrived = work::in_any_order(query.iter().map(|(p, v)| work::body_row(p, v)));
        work::moved(left_behind, arrived)
    })
}
