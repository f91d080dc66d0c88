//! Ids of the entities that the commands of a buffer create.

use super::playback::Fault;
use crate::entity::Entity;
use crate::field::EntityRemap;
use crate::placeholder::{BufferStamps, Placeholder, Prefixes};
use crate::set::ComponentSet;

/// Ids of the entities that the commands of a lane create, in order.
#[derive(Debug, Default)]
pub(super) struct LaneIds {
    pub(super) lane: u32,
    pub(super) prefixes: Prefixes,
    pub(super) ids: Vec<Entity>,
    /// Number of leading ids that were reserved during recording.
    pub(super) reserved: usize,
}

/// Ids of the entities of a buffer's placeholders.
#[derive(Debug, Default)]
pub(crate) struct ResolvedIds {
    pub(super) stamps: BufferStamps,
    /// Ids of each lane, sorted by lane.
    pub(super) lanes: Vec<LaneIds>,
}

/// Entities of placeholders that were not created, because their commands failed or were skipped.
#[derive(Debug, Default)]
pub(super) struct UncreatedIds(
    /// Lane, first number and count. Consecutive numbers are one element.
    Vec<(u32, u32, u32)>,
);

impl UncreatedIds {
    /// Adds the entity with a number in a lane.
    pub(super) fn push(&mut self, lane: u32, number: u32) {
        match self.0.last_mut() {
            Some(last) if (last.0, last.1 + last.2) == (lane, number) => last.2 += 1,
            _ => self.0.push((lane, number, 1)),
        }
    }

    /// Sets the ids of the entities to null, and clears the list.
    pub(super) fn clear_ids(&mut self, resolved: &mut ResolvedIds) {
        for (lane, first, count) in self.0.drain(..) {
            if let Ok(at) = resolved.lanes.binary_search_by_key(&lane, |ids| ids.lane)
                && let Some(ids) = resolved.lanes[at].ids.get_mut(first as usize..)
            {
                ids.iter_mut().take(count as usize).for_each(|id| *id = Entity::NULL);
            }
        }
    }
}

impl ResolvedIds {
    /// Returns the entity of a placeholder. Other entities are returned unchanged.
    #[inline]
    pub(crate) fn resolve(&self, entity: Entity) -> Result<Entity, Fault> {
        if entity.is_placeholder() { self.resolve_placeholder(entity) } else { Ok(entity) }
    }

    fn resolve_placeholder(&self, placeholder: Entity) -> Result<Entity, Fault> {
        let ids = self.ids_from(placeholder)?;
        ids.first().copied().ok_or(Fault::NotCreatedYet { placeholder })
    }

    /// Returns the entity that messages display: the id if it was reserved during recording, the target otherwise.
    pub(super) fn shown(&self, target: Entity) -> Entity {
        let id = Placeholder::of(target).and_then(|of| {
            let lane =
                self.lanes.iter().find(|ids| ids.lane == of.lane && of.is_of(ids.prefixes))?;
            lane.ids[..lane.reserved].get(of.number as usize)
        });
        id.copied().unwrap_or(target)
    }

    /// Returns the ids of a placeholder and of the placeholders that follow it in the same lane.
    #[inline]
    pub(super) fn ids_from(&self, placeholder: Entity) -> Result<&[Entity], Fault> {
        let foreign = || Fault::ForeignPlaceholder { placeholder };
        let Some(of) = Placeholder::of(placeholder) else {
            return Err(foreign());
        };
        let not_yet = || Fault::NotCreatedYet { placeholder };
        let at = match self.lanes.first() {
            Some(first) if first.lane == of.lane => 0,
            _ => self
                .lanes
                .binary_search_by_key(&of.lane, |ids| ids.lane)
                .map_err(|_| if of.may_be_of(&self.stamps) { not_yet() } else { foreign() })?,
        };
        let lane = &self.lanes[at];
        if !of.is_of(lane.prefixes) {
            return Err(foreign());
        }
        lane.ids.get(of.number as usize..).ok_or_else(not_yet)
    }

    /// Replaces the placeholders in the components of a set.
    #[inline(never)]
    pub(super) fn resolve_set<S: ComponentSet>(&self, set: &mut S) -> Result<(), Fault> {
        self.resolve_all(|map| set.remap_entities(map))
    }

    /// Replaces the placeholders that a function passes to the remap.
    pub(crate) fn resolve_all(
        &self,
        remap: impl FnOnce(&mut EntityRemap<'_>),
    ) -> Result<(), Fault> {
        let mut fault = None;
        let mut resolve = |entity| {
            self.resolve(entity).unwrap_or_else(|why| {
                fault.get_or_insert(why);
                entity
            })
        };
        remap(&mut EntityRemap::new(&mut resolve));
        fault.map_or(Ok(()), Err)
    }
}
