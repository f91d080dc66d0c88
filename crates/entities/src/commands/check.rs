//! Commands are looked at before they are carried out.

use ancho_collections::FixedState;
use hashbrown::HashSet;

use super::error::StoppedAt;
use super::log::CommandLog;
use super::placeholder::Placeholder;
use super::play::Fault;
use super::verb::Kind;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::stock::Prefab;

impl CommandLog {
    /// Looks for the first command that names an entity which is not there, or a prefab.
    pub(super) fn check(&self, entities: &EntityManager) -> Result<(), StoppedAt> {
        let mut segments = Vec::new();
        self.segments(&mut segments);
        let promised = entities.storage.table.promised_indices();
        let mut despawned = HashSet::<Entity, FixedState>::default();
        self.for_each(&segments, |command| {
            let (kind, target) = (command.kind(), command.target);
            let is_checked = match kind {
                Kind::Other => false,
                // To despawn what is not there does nothing.
                Kind::Despawn => entities.is_strict() || target.is_placeholder(),
                Kind::Touch => true,
            };
            let is_despawned =
                despawned.contains(&target) && (kind != Kind::Despawn || entities.is_strict());
            if is_checked
                && let Err(fault) = self.check_target(entities, target, is_despawned, &promised)
            {
                return Err(StoppedAt {
                    number: command.number,
                    commands: self.len(),
                    command: command.to_string(),
                    job: command.lane.job,
                    fault,
                    is_checked: true,
                });
            }
            if kind == Kind::Despawn {
                despawned.insert(target);
            }
            Ok(())
        })
    }

    /// Whether a command can be carried out on this entity, which an earlier one may have destroyed.
    fn check_target(
        &self,
        entities: &EntityManager,
        target: Entity,
        is_despawned: bool,
        promised: &[u32],
    ) -> Result<(), Fault> {
        if let Some(Placeholder { stamp, lane, number }) = Placeholder::of(target) {
            if stamp != self.stamp {
                return Err(Fault::ForeignPlaceholder { placeholder: target });
            }
            let lane = self.lanes.binary_search_by_key(&lane, |lane| lane.lane);
            let is_created = lane.is_ok_and(|lane| number < self.lanes[lane].created);
            if !is_created || is_despawned {
                return Err(Fault::NotCreatedYet { placeholder: target });
            }
            return Ok(());
        }
        let table = &entities.storage.table;
        if is_despawned || (!entities.exists(target) && !table.is_set_aside(target, promised)) {
            let slot_version = table.slot_version(target.index());
            return Err(EntityError::NoSuchEntity { entity: target, slot_version }.into());
        }
        if entities.has_type(target, ComponentType::of::<Prefab>()) {
            return Err(Fault::TouchesPrefab { entity: target });
        }
        Ok(())
    }
}
