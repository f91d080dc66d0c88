//! What would be refused of entities, before anything is changed.

use super::EntityManager;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::set::ComponentSet;
use crate::storage::{Change, NOWHERE};

impl EntityManager {
    /// Refuses what [`add`](Self::add), [`set`](Self::set) or [`remove`](Self::remove) would refuse of one of the entities, without
    /// doing it. Only memory may be missing afterwards, and in a strict world one that comes twice may be refused.
    pub(crate) fn check_changes<S: ComponentSet>(
        &mut self,
        entities: &[Entity],
        change: Change,
    ) -> Result<(), EntityError> {
        // Those of one archetype are alike, and often come one after the other.
        let mut passed = NOWHERE;
        for &entity in entities {
            let Some(location) = self.storage.table.locate(entity) else {
                if change == Change::Remove {
                    // A set that cannot be is an error also where there is nothing to be removed.
                    self.set_number::<S>()?;
                    if !self.strict {
                        continue;
                    }
                }
                return Err(self.no_such(entity));
            };
            let archetype = self.storage.archetype_at(location);
            if archetype != passed {
                self.check_change::<S>(entity, archetype, change)?;
                passed = archetype;
            }
        }
        Ok(())
    }

    /// Refuses what would be refused of an entity of this archetype.
    fn check_change<S: ComponentSet>(
        &mut self,
        entity: Entity,
        archetype: u32,
        change: Change,
    ) -> Result<(), EntityError> {
        if change == Change::Set {
            return self.find_set::<S>(entity).map(drop);
        }
        let transfer = self.transfer_of::<S>(archetype, change)?;
        let transfer = &self.transfers[transfer];
        match (change, transfer.present, transfer.missing) {
            (Change::Add, Some(component), _) if self.strict => {
                Err(EntityError::AlreadyPresent { entity, component })
            }
            (Change::Remove, _, Some(component)) if self.strict => {
                Err(EntityError::MissingComponent { entity, component })
            }
            _ => Ok(()),
        }
    }
}
