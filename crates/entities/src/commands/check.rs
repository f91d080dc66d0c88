//! Commands are looked at before they are carried out.

use ancho_collections::FixedState;
use hashbrown::HashSet;

use super::command::Given;
use super::error::StoppedAt;
use super::log::{CommandLog, Seen};
use super::placeholder::Placeholder;
use super::play::Fault;
use super::verb::Kind;
use crate::builtin::Prefab;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;

impl CommandLog {
    /// Looks for the first command that names an entity which is not there, or a prefab, or, in a strict world, makes a prefab.
    pub(super) fn check(&self, entities: &EntityManager) -> Result<(), StoppedAt> {
        let mut segments = Vec::new();
        self.segments(&mut segments);
        let mut check = Check {
            log: self,
            entities,
            promised: entities.storage.table.pending_indices(),
            despawned: HashSet::default(),
            leaves: false,
        };
        self.for_each(&segments, |command| {
            check.look_at(&command).map_err(|fault| StoppedAt {
                number: command.number,
                commands: self.len(),
                command: command.to_string(),
                job: command.lane.job,
                fault,
                is_checked: true,
            })
        })
    }
}

/// Commands of a log that are looked at, one after the other.
struct Check<'c> {
    log: &'c CommandLog,
    entities: &'c EntityManager,
    /// Indices of ids that are set aside.
    promised: Vec<u32>,
    /// Who is gone, as far as it can be told.
    despawned: HashSet<Entity, FixedState>,
    /// Whether entities may have been given components that stay when they are destroyed. Then they may be there afterwards.
    leaves: bool,
}

impl Check<'_> {
    fn look_at(&mut self, command: &Seen<'_>) -> Result<(), Fault> {
        let kind = command.kind();
        if kind != Kind::Other {
            let mut refused = None;
            command.named(&mut |entity| {
                if refused.is_none() {
                    refused = self.check_target(kind, entity).err();
                }
            });
            if let Some(fault) = refused {
                return Err(fault);
            }
        }
        let mut given = Given::new(self.entities);
        command.gives(&mut given);
        if given.prefab && self.entities.is_strict() {
            return Err(Fault::CreatesPrefab);
        }
        self.leaves |= given.leaves;
        if kind == Kind::Despawn && !self.leaves {
            command.named(&mut |entity| {
                if !self.stays(entity) {
                    self.despawned.insert(entity);
                }
            });
        }
        Ok(())
    }

    /// Whether something is left of an entity when it is destroyed.
    fn stays(&self, entity: Entity) -> bool {
        let archetype = self.entities.storage.archetype_of(entity);
        archetype.is_some_and(|archetype| archetype.shape.stays())
    }

    /// Whether a command can be carried out on this entity, which an earlier one may have destroyed.
    fn check_target(&self, kind: Kind, target: Entity) -> Result<(), Fault> {
        // Where there is nothing to be taken, nothing is done.
        let passes_over =
            matches!(kind, Kind::Despawn | Kind::Remove) && !self.entities.is_strict();
        let is_despawned = self.despawned.contains(&target);
        if is_despawned && passes_over {
            return Ok(());
        }
        if let Some(of) = Placeholder::of(target) {
            let lanes = &self.log.lanes;
            let lane = lanes.binary_search_by_key(&of.lane, |lane| lane.lane);
            let lane = lane.ok().map(|lane| &lanes[lane]);
            let may_be_of_log = || of.may_be_of(&self.log.stamps);
            if !lane.map_or_else(may_be_of_log, |lane| of.is_of(lane.stamps)) {
                return Err(Fault::ForeignPlaceholder { placeholder: target });
            }
            let is_created = lane.is_some_and(|lane| of.number < lane.created);
            if !is_created || is_despawned {
                return Err(Fault::NotCreatedYet { placeholder: target });
            }
            return Ok(());
        }
        let table = &self.entities.storage.table;
        let is_there = self.entities.exists(target) || table.is_reserved(target, &self.promised);
        if is_despawned || !is_there {
            if passes_over {
                return Ok(());
            }
            let slot_version = table.slot_version(target.index());
            return Err(EntityError::NoSuchEntity { entity: target, slot_version }.into());
        }
        let is_changed = matches!(kind, Kind::Touch | Kind::Remove);
        if is_changed && self.entities.has_type(target, ComponentType::of::<Prefab>()) {
            return Err(Fault::TouchesPrefab { entity: target });
        }
        Ok(())
    }
}
