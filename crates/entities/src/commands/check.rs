//! Inspection of recorded commands before playback: checks, and a trace in words.

use std::convert::Infallible;
use std::fmt::{self, Write};

use ancho_collections::FixedState;
use hashbrown::HashSet;

use super::buffer::CommandLog;
use super::playback::Fault;
use super::recorder::CommandRecorder;
use super::report::UnappliedCommand;
use super::stream::StoredCommand;
use super::vtable::Aspect;
use crate::builtin::Prefab;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::placeholder::Placeholder;

/// A command that was not applied.
struct PendingCommand<'l> {
    /// Position in the order of playback, starting at 1.
    number: usize,
    lane: &'l CommandRecorder,
    stored: StoredCommand<'l>,
    target: Entity,
}

impl fmt::Display for PendingCommand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stored.describe(self.lane.shown(self.target), f)
    }
}

impl CommandLog {
    /// Calls a function with each command that was not applied, in the order of playback.
    fn for_each_pending<E>(
        &self,
        mut each: impl FnMut(PendingCommand<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut segments = Vec::new();
        self.list_segments(&mut segments);
        let mut number = 0;
        for segment in &segments {
            let lane = &self.lanes[segment.lane];
            for run in segment.start..segment.end {
                let mut cursor = lane.stream.run(run);
                while let Some(stored) = cursor.peek() {
                    cursor.skip(stored);
                    number += 1;
                    if let Some(target) = stored.target() {
                        each(PendingCommand { number, lane, stored, target })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Describes all commands that were not applied, one per line.
    pub(super) fn trace(&self) -> String {
        let mut lines = String::new();
        let Ok(()) = self.for_each_pending::<Infallible>(|command| {
            writeln!(lines, "{}: {command}", command.number).expect("a string takes everything");
            Ok(())
        });
        lines
    }

    /// Returns an error for the first command that uses a missing entity, changes a prefab, or creates a prefab in a strict world.
    pub(super) fn check(&self, entities: &EntityManager) -> Result<(), UnappliedCommand> {
        let mut check = Check {
            log: self,
            entities,
            reserved: entities.storage.table.pending_indices(),
            despawned: HashSet::default(),
            may_leave_cleanup: false,
        };
        self.for_each_pending(|command| {
            check.check_command(&command).map_err(|fault| UnappliedCommand {
                number: command.number,
                command: command.to_string(),
                job: command.lane.job,
                fault,
            })
        })
    }
}

/// State of a check, which processes the commands in the order of playback.
struct Check<'c> {
    log: &'c CommandLog,
    entities: &'c EntityManager,
    /// Indices of reserved ids.
    reserved: Vec<u32>,
    /// Entities that are despawned by earlier commands in any case.
    despawned: HashSet<Entity, FixedState>,
    /// Set once commands may have added cleanup components. Then despawned entities may still exist.
    may_leave_cleanup: bool,
}

impl Check<'_> {
    fn check_command(&mut self, command: &PendingCommand<'_>) -> Result<(), Fault> {
        let mut fault = None;
        let mut adds_cleanup = false;
        let mut adds_prefab = false;
        let mut add = |ty: ComponentType| {
            adds_cleanup |= ty.is_cleanup();
            adds_prefab |= ty == ComponentType::of::<Prefab>();
        };
        let mut unknown = false;
        command.stored.inspect(&mut |aspect| match aspect {
            Aspect::Reads(entity)
            | Aspect::Changes(entity)
            | Aspect::RemovesFrom(entity)
            | Aspect::Despawns(entity) => {
                if fault.is_none() {
                    fault = self.check_target(aspect, entity).err();
                }
            }
            Aspect::Adds(ty) => add(ty),
            Aspect::AddsArchetype(archetype) => match self.entities.component_types(archetype) {
                Ok(types) => types.iter().for_each(|&ty| add(ty)),
                // The archetype belongs to another world. Playback refuses it.
                Err(_) => unknown = true,
            },
            Aspect::AddsUnknown => unknown = true,
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        if adds_prefab && self.entities.is_strict() {
            return Err(Fault::CreatesPrefab);
        }
        self.may_leave_cleanup |= adds_cleanup || unknown;
        if !self.may_leave_cleanup {
            command.stored.inspect(&mut |aspect| {
                if let Aspect::Despawns(entity) = aspect
                    && !self.leaves_cleanup(entity)
                {
                    self.despawned.insert(entity);
                }
            });
        }
        Ok(())
    }

    /// Tests whether an entity has cleanup components, which remain when the entity is despawned.
    fn leaves_cleanup(&self, entity: Entity) -> bool {
        let archetype = self.entities.storage.archetype_of(entity);
        archetype.is_some_and(|archetype| archetype.shape.stays())
    }

    /// Returns an error if a command cannot use an entity, for example because an earlier command despawned it.
    fn check_target(&self, aspect: Aspect, target: Entity) -> Result<(), Fault> {
        // Removing components from a missing entity does nothing.
        let ignores_missing = matches!(aspect, Aspect::Despawns(_) | Aspect::RemovesFrom(_))
            && !self.entities.is_strict();
        let is_despawned = self.despawned.contains(&target);
        if is_despawned && ignores_missing {
            return Ok(());
        }
        if let Some(of) = Placeholder::of(target) {
            let lanes = &self.log.lanes;
            let lane = lanes.binary_search_by_key(&of.lane, |lane| lane.lane);
            let lane = lane.ok().map(|lane| &lanes[lane]);
            let may_be_of_log = || of.may_be_of(&self.log.stamps);
            if !lane.map_or_else(may_be_of_log, |lane| of.is_of(lane.prefixes)) {
                return Err(Fault::ForeignPlaceholder { placeholder: target });
            }
            let is_created = lane.is_some_and(|lane| of.number < lane.created);
            if !is_created || is_despawned {
                return Err(Fault::NotCreatedYet { placeholder: target });
            }
            return Ok(());
        }
        let table = &self.entities.storage.table;
        let exists = self.entities.exists(target) || table.is_reserved(target, &self.reserved);
        if is_despawned || !exists {
            if ignores_missing {
                return Ok(());
            }
            let slot_version = table.slot_version(target.index());
            return Err(EntityError::NoSuchEntity { entity: target, slot_version }.into());
        }
        let is_changed = matches!(aspect, Aspect::Changes(_) | Aspect::RemovesFrom(_));
        if is_changed && self.entities.has_type(target, ComponentType::of::<Prefab>()) {
            return Err(Fault::TouchesPrefab { entity: target });
        }
        Ok(())
    }
}
