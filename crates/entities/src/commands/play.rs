//! Commands are carried out.

#![expect(unsafe_code, reason = "payloads of commands, whose types their verbs know")]

use std::marker::PhantomData;

use super::fold::Panic;
use super::lane::{Found, VerbRun, find};
use super::placeholder::{BufferStamps, Placeholder, Stamps};
use super::verb::Verb;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::manager::{DistinctEntities, EntityManager, Spaced};
use crate::set::ComponentSet;

/// Why a command could not be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandFault {
    /// What the world said.
    Entity(EntityError),
    /// A0079: the placeholder is not one of the buffer, or of what the buffer had recorded before it was cleared.
    ForeignPlaceholder {
        /// The placeholder.
        placeholder: Entity,
    },
    /// A0079: no command of the buffer creates the entity, or one that comes later does.
    NotCreatedYet {
        /// The placeholder.
        placeholder: Entity,
    },
    /// A0081: values that are kept for the next playback have to be duplicated, and these cannot be.
    NotDuplicable {
        /// The type.
        component: ComponentType,
    },
    /// A0084: the entity is a prefab. Only a [check](crate::EntityManager::check_commands) before playing minds.
    TouchesPrefab {
        /// The prefab.
        entity: Entity,
    },
    /// A0151: the command creates a prefab, or makes a prefab of an entity. Only a [check](crate::EntityManager::check_commands) before
    /// playing minds, in a strict world.
    CreatesPrefab,
    /// A0082: the id that the entity was promised is not there any more.
    PromiseBroken {
        /// The id.
        entity: Entity,
    },
}

pub(super) type Fault = CommandFault;

impl From<EntityError> for CommandFault {
    fn from(error: EntityError) -> Self {
        Self::Entity(error)
    }
}

/// The entities that the commands of one lane create, in their order.
#[derive(Debug, Default)]
pub(super) struct LaneIds {
    pub(super) lane: u32,
    pub(super) stamps: Stamps,
    pub(super) ids: Vec<Entity>,
    /// How many of the first were known when they were recorded.
    pub(super) promised: usize,
}

/// What the placeholders of a buffer stand for.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub(super) stamps: BufferStamps,
    /// By rising lanes.
    pub(super) lanes: Vec<LaneIds>,
}

impl Resolved {
    /// What an entity stands for: itself, if it is no placeholder.
    #[inline]
    pub(super) fn resolve(&self, entity: Entity) -> Result<Entity, Fault> {
        if !entity.is_placeholder() {
            return Ok(entity);
        }
        self.ids_from(entity).and_then(|ids| {
            ids.first().copied().ok_or(Fault::NotCreatedYet { placeholder: entity })
        })
    }

    /// What a target is called: by its id, if that was known when it was recorded.
    pub(super) fn shown(&self, target: Entity) -> Entity {
        let id = Placeholder::of(target).and_then(|of| {
            let lane = self.lanes.iter().find(|ids| ids.lane == of.lane && of.is_of(ids.stamps))?;
            lane.ids[..lane.promised].get(of.number as usize)
        });
        id.copied().unwrap_or(target)
    }

    /// The ids from that of a placeholder on, of the same lane.
    #[inline]
    pub(super) fn ids_from(&self, placeholder: Entity) -> Result<&[Entity], Fault> {
        let foreign = Fault::ForeignPlaceholder { placeholder };
        let Some(of) = Placeholder::of(placeholder) else {
            return Err(foreign);
        };
        let not_yet = Fault::NotCreatedYet { placeholder };
        let at = match self.lanes.first() {
            Some(first) if first.lane == of.lane => 0,
            _ => self
                .lanes
                .binary_search_by_key(&of.lane, |ids| ids.lane)
                .map_err(|_| if of.may_be_of(&self.stamps) { not_yet } else { foreign })?,
        };
        let lane = &self.lanes[at];
        if !of.is_of(lane.stamps) {
            return Err(foreign);
        }
        lane.ids.get(of.number as usize..).ok_or(not_yet)
    }
}

/// Who carries out the commands of a buffer.
pub(super) struct Player<'p> {
    pub(super) entities: &'p mut EntityManager,
    pub(super) resolved: &'p Resolved,
    /// Whether what was recorded stays, for the next playback.
    pub(super) keeps: bool,
    /// Memory for lists of entities.
    pub(super) list: Vec<Entity>,
    /// Memory for lists of members of groups.
    pub(super) members: DistinctEntities,
    /// What has panicked while a command was noted.
    pub(super) panic: Option<Panic>,
}

impl Player<'_> {
    /// What the target of a command stands for. If a later command creates it, it stands for nothing yet.
    #[inline]
    pub(super) fn target(&self, target: Entity) -> Result<Entity, Fault> {
        let entity = self.resolved.resolve(target)?;
        if target.is_placeholder() && self.entities.storage.table.is_marked_reserved(entity) {
            return Err(Fault::NotCreatedYet { placeholder: target });
        }
        Ok(entity)
    }

    /// Creates entities of all sets on all threads, with the ids of a placeholder, and of those that follow it. Returns whether it did:
    /// if something might be refused, nothing was done.
    pub(super) fn spawn_all<S: ComponentSet>(&mut self, first: Entity, sets: Spaced<S>) -> bool {
        let Ok(ids) = self.resolved.ids_from(first) else { return false };
        let Some(ids) = ids.get(..sets.count()) else { return false };
        let table = &self.entities.storage.table;
        ids.iter().all(|&id| table.is_marked_reserved(id)) && self.entities.spawn_spaced(sets, ids)
    }

    /// Has the next so many entities get the ids of a placeholder, and of those that follow it.
    pub(super) fn hand_out(&mut self, first: Entity, count: usize) -> Result<(), Fault> {
        if count == 0 {
            return Ok(());
        }
        let ids = self.resolved.ids_from(first)?;
        let ids = ids.get(..count).ok_or(Fault::NotCreatedYet { placeholder: first })?;
        self.entities.sync_for_move([]);
        let handed_out = self.entities.storage.table.release_reserved(ids);
        handed_out.map_err(|entity| Fault::PromiseBroken { entity })
    }
}

/// Puts entities in place of their placeholders in the components of a set.
#[inline(never)]
pub(super) fn resolve_entities<S: ComponentSet>(
    resolved: &Resolved,
    set: &mut S,
) -> Result<(), Fault> {
    resolve_by(resolved, |map| set.remap_entities(map))
}

/// Puts entities in place of their placeholders in what the function goes through.
pub(super) fn resolve_by(
    resolved: &Resolved,
    remap: impl FnOnce(&mut EntityRemap<'_>),
) -> Result<(), Fault> {
    let mut fault = None;
    let mut resolve = |entity| {
        resolved.resolve(entity).unwrap_or_else(|why| {
            fault.get_or_insert(why);
            entity
        })
    };
    remap(&mut EntityRemap::new(&mut resolve));
    fault.map_or(Ok(()), Err)
}

/// Refuses what [`resolve_by`] refuses, and leaves everything as it is.
pub(super) fn check_by(
    resolved: &Resolved,
    remap: impl FnOnce(&mut EntityRemap<'_>),
) -> Result<(), Fault> {
    let mut fault = None;
    let mut check = |entity| {
        if let Err(why) = resolved.resolve(entity) {
            fault.get_or_insert(why);
        }
        entity
    };
    remap(&mut EntityRemap::new(&mut check));
    fault.map_or(Ok(()), Err)
}

/// Commands of one verb that follow each other.
pub(super) struct Run<'r> {
    data: *mut u8,
    position: usize,
    /// How many were not taken.
    left: usize,
    verb: &'static Verb,
    keeps: bool,
    /// The last that was taken.
    pub(super) last: Option<(Found, Entity)>,
    lane: PhantomData<&'r mut ()>,
}

impl Run<'_> {
    /// All commands of a run, in memory that begins at this address.
    ///
    /// # Safety
    ///
    /// - there are such commands, none of which was used, and nobody else uses the memory as long as this lives
    pub(super) unsafe fn new(data: *mut u8, run: VerbRun, keeps: bool) -> Self {
        let VerbRun { verb, start: position, count: left } = run;
        Self { data, position, left, verb, keeps, last: None, lane: PhantomData }
    }

    /// How many were not taken.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Where the next is, or would be.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// The target of the next.
    pub(super) fn next_target(&self) -> Option<Entity> {
        if self.left == 0 {
            return None;
        }
        // SAFETY: there is one.
        unsafe { find(self.verb, self.data, self.position).target() }
    }

    /// Takes all that are left, if a function says that it has used them: it is given the payload of the first, and how far they are
    /// apart, in bytes. Nothing is done if that is not the same for all.
    pub(super) fn all_at_once(
        &mut self,
        function: impl FnOnce(*mut u8, usize, usize) -> bool,
    ) -> bool {
        if self.left == 0
            || self.verb.size == Verb::LISTED
            || self.verb.align > align_of::<Entity>()
        {
            return false;
        }
        // SAFETY: there is one.
        let first = unsafe { find(self.verb, self.data, self.position) };
        if !function(first.payload, first.next - self.position, self.left) {
            return false;
        }
        if self.verb.drop.is_some() {
            while self.next().is_some() {}
        } else {
            self.position += (first.next - self.position) * self.left;
            self.left = 0;
        }
        true
    }

    /// Takes the next: its target, and its payload, which is the caller's now, unless it is kept.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(Entity, *mut u8)> {
        if self.left == 0 {
            return None;
        }
        // SAFETY: there is one.
        let found = unsafe { find(self.verb, self.data, self.position) };
        // SAFETY: as was promised for this.
        let target = unsafe { found.target() }.expect("a command is carried out once");
        self.position = found.next;
        self.left -= 1;
        if self.verb.drop.is_some() && !self.keeps {
            // SAFETY: as was promised for this.
            unsafe { found.mark_used() };
        }
        self.last = Some((found, target));
        Some((target, found.payload))
    }
}
