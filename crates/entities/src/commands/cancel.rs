//! Commands that later ones make pointless.
//!
//! What is done to an entity that the same buffer destroys need not be done. So before a buffer is played that destroys
//! something, and does something else too, it is found out which entities are *doomed*: those that are destroyed, and to which
//! nothing is done before that but what cannot be noticed: they are created, and plain components are added and removed. Until
//! a doomed entity is destroyed, its commands are passed over, and what they would have given it is dropped.
//!
//! One that would have been created never is: it is *unborn*. Its id is used up all the same, as if it had been there.

use std::convert::Infallible;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::log::{CommandLog, Segment};
use super::play::Resolved;
use super::verb::Kind;
use crate::entity::Entity;
use crate::manager::EntityManager;

/// Entities that are destroyed by the buffer that is played, as far as something else is to be done to them before.
#[derive(Debug, Default)]
pub(super) struct Doomed {
    entities: HashMap<Entity, Fate, FixedState>,
    /// A bit for each index that a command destroys the entity of: mostly nothing else is done to those, and nothing has to be
    /// looked up then.
    destroyed: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Fate {
    /// The how manieth command destroys it.
    at: usize,
    /// How many commands come before that, and are passed over.
    before: u32,
    /// Whether the first of them creates it.
    is_created: bool,
    /// Whether something else is done to it before, so that nothing is passed over.
    is_used: bool,
}

impl Fate {
    /// Notes a command that comes before the one that destroys the entity.
    fn note(&mut self, kind: Kind) {
        match kind {
            Kind::Create => {
                self.is_created = true;
                self.is_used |= self.before > 0;
                self.before += 1;
            }
            Kind::Change => self.before += 1,
            _ => self.is_used = true,
        }
    }
}

impl Doomed {
    pub(super) fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.entities.clear();
    }

    /// Finds out which entities are doomed.
    pub(super) fn find(
        &mut self,
        log: &CommandLog,
        segments: &[Segment],
        resolved: &Resolved,
        entities: &EntityManager,
    ) {
        self.entities.clear();
        let despawns: usize = log.lanes.iter().map(|lane| lane.despawns).sum();
        // In a strict world what is passed over might have failed. What is not known may look at everything.
        if entities.is_strict()
            || despawns == 0
            || despawns == log.len()
            || log.kinds().any(|kind| kind == Kind::Other)
        {
            return;
        }
        let indices = entities.storage.table.indices() as usize;
        self.destroyed.clear();
        self.destroyed.resize(indices.div_ceil(64), 0);
        let Ok(()) = log.for_each::<Infallible>(segments, |command| {
            if command.kind() == Kind::Despawn
                && let Ok(entity) = resolved.resolve(command.target)
            {
                let (word, bit) = place_of(entity);
                if let Some(bits) = self.destroyed.get_mut(word) {
                    *bits |= bit;
                }
            }
            Ok(())
        });
        let Ok(()) = log.for_each::<Infallible>(segments, |command| {
            if command.kind() != Kind::Despawn
                && let Ok(entity) = resolved.resolve(command.target)
                && self.is_destroyed(entity)
            {
                let fate = Fate { at: 0, before: 0, is_created: false, is_used: false };
                self.entities.insert(entity, fate);
            }
            Ok(())
        });
        if self.entities.is_empty() {
            return;
        }
        let Ok(()) = log.for_each::<Infallible>(segments, |command| {
            if command.kind() == Kind::Despawn
                && let Ok(entity) = resolved.resolve(command.target)
                && let Some(fate) = self.entities.get_mut(&entity)
                && fate.at == 0
            {
                fate.at = command.number;
            }
            Ok(())
        });
        let Ok(()) = log.for_each::<Infallible>(segments, |command| {
            if command.kind() != Kind::Despawn
                && let Ok(entity) = resolved.resolve(command.target)
                && self.is_destroyed(entity)
                && let Some(fate) = self.entities.get_mut(&entity)
                && command.number < fate.at
            {
                fate.note(command.kind());
            }
            Ok(())
        });
        self.entities.retain(|&entity, fate| {
            !fate.is_used && fate.before > 0 && (fate.is_created || entities.exists(entity))
        });
    }

    /// Whether an entity of this index is destroyed.
    fn is_destroyed(&self, entity: Entity) -> bool {
        let (word, bit) = place_of(entity);
        self.destroyed.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Whether the next command for an entity is passed over.
    pub(super) fn passes_over(&mut self, entity: Entity) -> bool {
        match self.entities.get_mut(&entity) {
            Some(fate) if fate.before > 0 => {
                fate.before -= 1;
                true
            }
            _ => false,
        }
    }

    /// Whether an entity would have been created, and is not going to be.
    pub(super) fn is_unborn(&self, entity: Entity) -> bool {
        self.entities.get(&entity).is_some_and(|fate| fate.is_created)
    }

    /// Says that an unborn entity was destroyed.
    pub(super) fn end(&mut self, entity: Entity) -> bool {
        self.is_unborn(entity) && self.entities.remove(&entity).is_some()
    }
}

/// The word and the bit of an entity's index.
fn place_of(entity: Entity) -> (usize, u64) {
    (entity.index() as usize / 64, 1 << (entity.index() % 64))
}
