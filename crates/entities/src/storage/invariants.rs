//! Checks of the invariants of a storage.

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::archetype::Archetype;
use super::chunk::NOWHERE;
use super::shared_groups::SharedGroups;
use super::{Location, Storage};

impl Storage {
    /// Checks the invariants of the storage. Returns the first violation.
    pub(crate) fn check_invariants(&self) -> Result<(), String> {
        self.table.check()?;
        let mut entities = 0;
        let mut chunks = 0;
        for (number, archetype) in self.archetypes.iter() {
            entities += self.check_archetype(number)?;
            chunks += archetype.chunks.len();
        }
        let mut counted = HashMap::<_, _, FixedState>::default();
        for (_, chunk) in self.chunks.iter() {
            for value in self.archetypes.values_of(chunk) {
                *counted.entry(value).or_insert(0) += 1;
            }
        }
        self.shared.check(&counted)?;
        let living = self.table.living();
        holds!(living == entities, "the table has {living} entities, the archetypes {entities}");
        let listed = self.chunks.iter().count();
        holds!(listed == chunks, "there are {listed} chunks, the archetypes have {chunks}");
        let free = &self.chunks.free;
        holds!(
            free.len() + listed == self.chunks.numbers(),
            "of {} chunk numbers {listed} are used and {} free",
            self.chunks.numbers(),
            free.len()
        );
        for &number in free {
            holds!(self.chunks.get(number).is_none(), "chunk {number} is there and free");
        }
        Ok(())
    }

    /// Checks the invariants of an archetype, and returns the number of its entities.
    fn check_archetype(&self, number: u32) -> Result<usize, String> {
        let archetype = &self.archetypes[number];
        let shape = &archetype.shape;
        let mut types = shape.types.to_vec();
        let sorted = super::sort_types(&mut types).is_ok() && *types == *shape.types;
        holds!(sorted, "the types of archetype {number} are not in order: {:?}", shape.types);
        let mut entities = 0;
        for (place, &at) in (0..).zip(&archetype.chunks) {
            let Some(chunk) = self.chunks.get(at) else {
                return Err(format!("archetype {number} has no chunk {at}"));
            };
            holds!(chunk.archetype == number, "chunk {at} is of archetype {}", chunk.archetype);
            holds!(chunk.place == place, "chunk {at} is at {place}, and says {}", chunk.place);
            holds!(
                (1..=shape.capacity).contains(&chunk.len),
                "chunk {at} has {} entities, and room for {}",
                chunk.len,
                shape.capacity
            );
            let has_room = chunk.len < shape.capacity;
            let rooms = self.archetypes.rooms(number, chunk.group);
            let listed = rooms.get(chunk.room_place as usize) == Some(&at);
            holds!(
                has_room == listed && (has_room || chunk.room_place == NOWHERE),
                "chunk {at} has {} entities, room for {}, and is at {} of those with room",
                chunk.len,
                shape.capacity,
                chunk.room_place
            );
            let address = self.chunks.addresses[at as usize];
            holds!(
                (address.data, address.archetype) == (chunk.data, chunk.archetype),
                "the address of chunk {at} is not that of its memory"
            );
            holds!(
                chunk.data().addr().is_multiple_of(shape.align.max(64) as usize),
                "the memory of chunk {at} is not aligned as its archetype says"
            );
            holds!(
                std::ptr::eq(chunk.shape(), &raw const **shape) && chunk.is_of_its_shape(),
                "chunk {at} is not as the shape of its archetype says"
            );
            holds!(
                chunk.values.is_of(shape.values.as_ref()),
                "chunk {at} does not have the values of its archetype's chunks"
            );
            holds!(
                shape.is_shared || !chunk.may_be_shared(),
                "chunk {at} is shared, and has components of one thread"
            );
            holds!(
                !chunk.versions.is_uniform() || self.chunks.uniform.has(at),
                "chunk {at} has one version for all columns, and is not recorded as such"
            );
            let tracked = match chunk.versions.tracking() {
                Some(tracking) => tracking.check(shape.tracked.len(), shape.capacity, chunk.len),
                None if shape.tracked.is_empty() => Ok(()),
                None => Err("tracks nothing".to_owned()),
            };
            tracked.map_err(|wrong| format!("chunk {at} {wrong}"))?;
            for mask in 0..shape.enableable.len() as u32 {
                let behind = (chunk.len..shape.capacity).find(|&row| chunk.enabled.get(mask, row));
                holds!(behind.is_none(), "row {behind:?} of chunk {at} is not there, and enabled");
            }
            for (row, &entity) in (0..).zip(chunk.entities()) {
                let found = self.table.locate(entity);
                holds!(
                    found == Some(Location { chunk: at, row }),
                    "entity {entity} is in row {row} of chunk {at}, and the table has {found:?}"
                );
            }
            entities += chunk.len as usize;
        }
        let with_room =
            archetype.chunks.iter().filter(|&&at| self.chunks[at].len < shape.capacity).count();
        let grouped = self.archetypes.groups(number).into_iter().flat_map(SharedGroups::iter);
        let listed = grouped.map(|(_, group)| group.with_room.len()).sum::<usize>();
        let listed = listed + archetype.with_room.len();
        holds!(
            with_room == listed,
            "archetype {number} has {with_room} chunks with room, and lists {listed}"
        );
        self.check_groups(number, archetype)?;
        Ok(entities)
    }

    /// Checks that the groups of an archetype are exactly those that its chunks belong to.
    fn check_groups(&self, number: u32, archetype: &Archetype) -> Result<(), String> {
        let shared = archetype.shape.shared.len();
        let chunks = || archetype.chunks.iter().map(|&at| (at, &self.chunks[at]));
        let Some(groups) = self.archetypes.groups(number) else {
            holds!(shared == 0, "archetype {number} has shared types, and no groups");
            let grouped = chunks().find(|(_, chunk)| chunk.group != NOWHERE);
            holds!(grouped.is_none(), "archetype {number} has no groups, and a chunk of one");
            return Ok(());
        };
        holds!(archetype.with_room.is_empty(), "archetype {number} has chunks of no group");
        for (&column, &table) in archetype.shape.shared.iter().zip(&groups.tables) {
            let ty = archetype.shape.types[column as usize];
            holds!(self.shared.table(ty) == Some(table), "`{ty}` is not in table {table}");
        }
        for (at, group) in groups.iter() {
            let count = chunks().filter(|(_, chunk)| chunk.group == at).count();
            holds!(
                count > 0 && count == group.chunks as usize && group.values.len() == shared,
                "group {at} of archetype {number} has {count} chunks, and counts {}",
                group.chunks
            );
            holds!(
                groups.find(&group.values) == Some(at),
                "group {at} of archetype {number} is not found by its values"
            );
        }
        for (at, chunk) in chunks() {
            let is_there = groups.iter().any(|(group, _)| group == chunk.group);
            holds!(is_there, "chunk {at} is of group {}, which is not there", chunk.group);
        }
        Ok(())
    }
}
