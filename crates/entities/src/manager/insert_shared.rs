//! Sets with shared components are given to entities.

#![expect(unsafe_code, reason = "writes components to rows that move")]

use ancho_collections::Rejected;

use super::EntityManager;
use crate::component::{ComponentType, SharedValue};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::set::ComponentSet;
use crate::shared::{Shared, SharedComponent};
use crate::storage::{Change, FEW_SHARED, Few, Location, Run, Wanted};

/// What became of a set that was given to an entity.
pub(super) enum Given {
    /// The entity is where it was.
    Same,
    /// It had all components, and is among others that share its values now.
    Moved,
    /// It did not have all of them.
    New,
}

/// What is to be done to give a set to an entity.
enum Way {
    /// Nothing: it has these values.
    Nothing,
    /// It has the shared values, and the others are replaced where they are.
    Replace(Location, u32),
    /// It goes to this chunk, by this transfer.
    Move(Location, u32, u32),
}

impl EntityManager {
    /// Gives a set with shared components to an entity.
    pub(super) fn give_shared<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
        change: Change,
    ) -> Result<Given, Rejected<S, EntityError>> {
        // To be dropped at the end: the set lets go of them when it is written, in the midst of the change.
        let given = shared_values_of(&set);
        let way = match self.way_to_give::<S>(entity, &given, change) {
            Ok(way) => way,
            Err(error) => return Err(Rejected { value: set, error }),
        };
        match way {
            Way::Nothing => Ok(Given::Same),
            Way::Replace(location, transfer) => {
                // SAFETY: the transfer is from the entity's archetype to itself, and the chunk the world's alone.
                unsafe { self.replace(location, transfer, set) };
                Ok(Given::Same)
            }
            Way::Move(location, transfer, to) => {
                let transfer = &self.transfers[transfer];
                let is_new = transfer.to != self.storage.archetype_at(location);
                let chunk = &self.storage.chunks[to];
                // SAFETY:
                // - the offsets are those of the set in the transfer's archetype, which the chunk is of
                // - the row is behind the last, and there is room for it: it has no values
                unsafe { set.write(chunk.row(chunk.len, &transfer.offsets)) };
                // SAFETY: what the transfer does not move was just written. The chunks are of two groups, if they are of
                // one archetype.
                unsafe {
                    self.storage.move_row(entity, location, transfer, to, &transfer.left);
                };
                Ok(if is_new { Given::New } else { Given::Moved })
            }
        }
    }

    /// Sets a value if there are chunks with room that have it, and all others that the entity has. Returns whether the
    /// entity moved, or nothing, if it is not that simple.
    pub(super) fn set_known_shared<T: SharedComponent>(
        &mut self,
        entity: Entity,
        value: &T,
    ) -> Result<Option<bool>, EntityError> {
        let location = self.locate(entity)?;
        let component = ComponentType::of_shared::<T>();
        // Entities with different values are far apart: the row is on its way while the values are looked for.
        self.storage.fetch_row(location);
        let Some(to) = self.storage.room_with(location.chunk, component, value) else {
            let has = self.storage.chunks[location.chunk].shape().has(component);
            return if has {
                Ok(None)
            } else {
                Err(EntityError::MissingComponent { entity, component })
            };
        };
        if to == location.chunk {
            return Ok(Some(false));
        }
        let from = self.storage.archetype_at(location);
        let transfer = self.transfer_of::<Shared<T>>(from, Change::Set)?;
        self.before_transfer(location, transfer);
        self.storage.make_unique(location.chunk)?;
        self.storage.make_unique(to)?;
        let transfer = &self.transfers[transfer];
        // SAFETY: the chunks are of one archetype and two groups, both are the world's alone, and the second has room.
        // Nothing but the shared value is new, which is that of the group.
        unsafe { self.storage.move_row(entity, location, transfer, to, &transfer.left) };
        Ok(Some(true))
    }

    fn way_to_give<S: ComponentSet>(
        &mut self,
        entity: Entity,
        given: &Few<SharedValue, FEW_SHARED>,
        change: Change,
    ) -> Result<Way, EntityError> {
        let location = self.locate(entity)?;
        let set = self.set_number::<S>()?;
        let from = self.storage.archetype_at(location);
        let number = self.transfer(from, set, change)?;
        let transfer = &self.transfers[number];
        match change {
            Change::Set => {
                if let Some(component) = transfer.missing {
                    return Err(EntityError::MissingComponent { entity, component });
                }
            }
            _ => {
                if self.strict
                    && let Some(component) = transfer.present
                {
                    return Err(EntityError::AlreadyPresent { entity, component });
                }
            }
        }
        self.before_transfer(location, number);
        let sought = self.storage.seek(&self.sets.get(set).types, given);
        let (from, given_of) = (Some(location.chunk), |at| sought.get(at));
        let wanted = self.storage.wanted_of(&transfer.shared, from, given_of);
        if self.storage.is_as_wanted(location.chunk, transfer.to, &wanted) {
            if given.len() == S::COUNT {
                return Ok(Way::Nothing);
            }
            self.storage.make_unique(location.chunk)?;
            return Ok(Way::Replace(location, number));
        }
        self.storage.make_unique(location.chunk)?;
        let to = self.storage.room_for(transfer.to, wanted)?;
        Ok(Way::Move(location, number, to))
    }

    /// Creates an entity with shared components, or gives them back.
    #[inline(never)]
    pub(super) fn try_spawn_shared<S: ComponentSet>(
        &mut self,
        set: S,
    ) -> Result<Entity, Rejected<S, EntityError>> {
        self.storage.table.require(1);
        // To be dropped at the end, as above.
        let given = shared_values_of(&set);
        let room = self.set_number::<S>().and_then(|number| {
            let archetype = self.home(number)?.archetype;
            self.before_moving([archetype]);
            let wanted = self.wanted_by_set(number, &given);
            Ok((number, self.storage.room_for(archetype, wanted)?))
        });
        match room {
            Ok((number, chunk)) => Ok(self.spawn_in(number, chunk, set)),
            Err(error) => Err(Rejected { value: set, error }),
        }
    }

    /// Creates entities with shared components. Those of one value that follow each other go on in one chunk.
    pub(super) fn spawn_batch_shared<S: ComponentSet>(
        &mut self,
        sets: impl Iterator<Item = S>,
    ) -> Result<(), EntityError> {
        for set in sets {
            let entity = self.try_spawn_shared(set).map_err(|rejected| rejected.error)?;
            let Location { chunk, row } = self.locate(entity)?;
            match self.runs.last_mut() {
                Some(run) if run.chunk == chunk && run.first + run.rows == row => run.rows += 1,
                _ => self.runs.push(Run { chunk, first: row, rows: 1 }),
            }
        }
        Ok(())
    }

    /// The group of a set's archetype with the set's values, which may have no chunks yet.
    pub(super) fn group_of_set<S: ComponentSet>(
        &mut self,
        number: u32,
        archetype: u32,
        set: &S,
    ) -> u32 {
        let wanted = self.wanted_by_set(number, &shared_values_of(set));
        self.storage.group_of(archetype, wanted)
    }

    /// The values that entities have which are made of a set with a home. Runs code of the user.
    fn wanted_by_set(&self, number: u32, given: &Few<SharedValue, FEW_SHARED>) -> Wanted {
        let sought = self.storage.seek(&self.sets.get(number).types, given);
        self.storage.wanted_of(self.sets.shared_sources(number), None, |at| sought.get(at))
    }

    /// The values that entities of a chunk have of the shared types of a set, which they all have.
    pub(super) fn shared_of_set(&self, chunk: u32, set: u32) -> Vec<SharedValue> {
        let chunk = &self.storage.chunks[chunk];
        let shared = self.sets.get(set).types.iter().filter(|ty| ty.is_shared());
        let value = |&ty: &ComponentType| self.storage.shared_value(chunk, ty).cloned();
        shared.filter_map(value).collect()
    }
}

/// The shared values of a set, in its order.
#[inline(always)]
pub(super) fn shared_values_of<S: ComponentSet>(set: &S) -> Few<SharedValue, FEW_SHARED> {
    let mut values = Few::new();
    if S::SHARED {
        set.shared(&mut |value| values.push(value));
    }
    values
}
