//! Who is placed, and who is below one that rests.

use ancho_entities::{Entity, QueryFilter, World};

use super::seen::Seen;
use super::{Links, is_gone, rests};
use crate::parent::{Parent, PreviousParent};

impl Links {
    /// Lists those that pass a filter and take part, with all that is above them. Returns whether they are all that pass.
    pub(crate) fn list_awake<F: QueryFilter>(&mut self, world: &World) -> bool {
        let Self { awake, seen, .. } = self;
        awake.clear();
        let mut above = Above { awake: seen.next_round(), asleep: seen.next_round(), seen };
        let mut are_all = true;
        let mut found = world.query_filtered::<(Entity, Option<&Parent>), F>();
        found.for_each(|(entity, parent)| {
            if parent.is_some() && above.is_asleep(world, entity) {
                are_all = false;
            } else {
                awake.push(entity);
            }
        });
        are_all
    }
}

/// Finds out who is below one that rests. Each entity is asked once, however many are below it.
struct Above<'a> {
    seen: &'a mut Seen,
    /// The round in which those are seen that take part, and the one of the others.
    awake: u64,
    asleep: u64,
}

impl Above<'_> {
    /// Whether an entity rests, or one above it does.
    fn is_asleep(&mut self, world: &World, entity: Entity) -> bool {
        let walk = self.seen.next_round();
        let mut at = entity;
        let is_asleep = loop {
            if is_gone(world, at) || rests(world, at) || self.seen.is_seen(at, self.asleep) {
                break true;
            }
            if self.seen.is_seen(at, self.awake) {
                break false;
            }
            // Who is above itself is nowhere.
            if self.seen.see(at, walk) == walk {
                break true;
            }
            match (parent_of(world, at), world.get::<PreviousParent>(at)) {
                (None, _) => break false,
                // Nobody has taken notice of its parent yet, or it waits for it.
                (Some(parent), Ok(previous)) if previous.0 != parent => break true,
                (Some(_), Err(_)) => break true,
                (Some(parent), Ok(_)) => at = parent,
            }
        };
        let round = if is_asleep { self.asleep } else { self.awake };
        let mut at = Some(entity).filter(|&entity| self.seen.is_seen(entity, walk));
        while let Some(entity) = at {
            self.seen.see(entity, round);
            at = parent_of(world, entity).filter(|&parent| self.seen.is_seen(parent, walk));
        }
        is_asleep
    }
}

fn parent_of(world: &World, entity: Entity) -> Option<Entity> {
    world.get::<Parent>(entity).ok().map(|parent| parent.0)
}
