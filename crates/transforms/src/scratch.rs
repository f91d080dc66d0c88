//! Who has been seen, without a set that has to be emptied.

use ancho_entities::Entity;

/// Remembers in which round each entity was last seen, by its index.
#[derive(Debug, Default)]
pub(super) struct Seen {
    rounds: Vec<u64>,
    /// How many rounds there were.
    count: u64,
}

impl Seen {
    /// Begins a round, in which nobody has been seen.
    pub(super) fn next_round(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Whether the last round that an entity was seen in is this one.
    pub(super) fn is_seen(&self, entity: Entity, round: u64) -> bool {
        self.rounds.get(entity.index() as usize) == Some(&round)
    }

    /// Notes that an entity is seen in a round, and returns in which it was before.
    pub(super) fn see(&mut self, entity: Entity, round: u64) -> u64 {
        let index = entity.index() as usize;
        if index >= self.rounds.len() {
            self.rounds.resize((index + 1).next_power_of_two(), 0);
        }
        std::mem::replace(&mut self.rounds[index], round)
    }
}
