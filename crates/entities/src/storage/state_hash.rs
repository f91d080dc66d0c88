//! State hashes: one number that represents the state of all entities of a world.

use std::sync::atomic::Ordering::Relaxed;

use super::Storage;
use super::archetype::Archetype;
use super::chunk::Chunk;
use crate::component::ComponentType;
use crate::field::StateHasher;

impl Storage {
    /// Feeds all entities, their components and the free ids to a hasher.
    ///
    /// Archetypes are fed in order of creation. Empty ones are skipped, because a mere lookup creates them. Chunks are fed in
    /// list order. Of each chunk, the ids, enabled bits, columns, chunk components and shared values are fed. Types are
    /// represented by the hashes of their stable names.
    ///
    /// # Panics
    ///
    /// Panics with A0154 if two types share a stable name.
    #[track_caller]
    pub(crate) fn hash_state(&self, state: &mut StateHasher) {
        self.refuse_shared_names();
        for archetype in self.inhabited() {
            let shape = &archetype.shape;
            state.write_u64(shape.types.len() as u64);
            for ty in &shape.types {
                state.write_u64(ty.stable_hash());
            }
            state.write_u64(archetype.chunks.len() as u64);
            for &number in &archetype.chunks {
                self.hash_chunk(&self.chunks[number], state);
            }
        }
        self.hash_free(state);
    }

    /// Returns the archetypes with entities, in order of creation.
    pub(crate) fn inhabited(&self) -> impl Iterator<Item = &Archetype> {
        let archetypes = self.archetypes.iter().map(|(_, archetype)| archetype);
        archetypes.filter(|archetype| !archetype.chunks.is_empty())
    }

    /// Panics if two component types in use have the same stable name, because their hashes would be equal.
    #[track_caller]
    fn refuse_shared_names(&self) {
        let types = self.inhabited().flat_map(|archetype| &archetype.shape.types);
        let mut suspects: Vec<ComponentType> =
            types.copied().filter(|ty| ty.0.shares_stable_name.load(Relaxed)).collect();
        suspects.sort_unstable_by_key(|ty| (ty.stable_name(), ty.name()));
        suspects.dedup();
        let same = |pair: &&[ComponentType]| pair[0].stable_hash() == pair[1].stable_hash();
        if let Some(&[first, second]) = suspects.windows(2).find(same) {
            let stable = first.stable_name();
            panic!(
                "A0154: the world has components of the types `{first}` and `{second}`, which share the stable name \
                 `{stable}`, so a state hash cannot tell them apart; give one of them another name, with \
                 `#[component(name = \"…\")]`"
            );
        }
    }

    /// Feeds the contents of a chunk to a hasher: ids, enabled bits, columns, chunk components and shared values.
    pub(crate) fn hash_chunk(&self, chunk: &Chunk, state: &mut StateHasher) {
        let shape = chunk.shape();
        state.write_u64(chunk.len.into());
        for entity in chunk.entities() {
            state.write_u64(entity.to_bits());
        }
        for mask in 0..shape.enableable.len() as u32 {
            chunk.enabled.words(mask).iter().for_each(|&word| state.write_u64(word));
        }
        for column in 0..shape.types.len() {
            chunk.hash_rows(column, 0..chunk.len, state);
        }
        chunk.values.hash_each(|_, _, hash| hash(state));
        for (table, index) in self.archetypes.values_of(chunk) {
            self.shared.feed(table, index, state);
        }
    }

    /// Feeds the free ids to a hasher.
    pub(crate) fn hash_free(&self, state: &mut StateHasher) {
        self.table.hash_free(&mut |word| state.write_u64(word));
    }

    /// Returns the bytes that one component of a row feeds to a hasher.
    ///
    /// # Panics
    ///
    /// Panics if the chunk has no such row or column.
    pub(crate) fn stream_of_row(chunk: &Chunk, column: usize, row: usize) -> Vec<u8> {
        let row = u32::try_from(row).expect("a row of the chunk");
        StateHasher::stream_of(|state| chunk.hash_rows(column, row..row + 1, state))
    }

    /// Returns the bytes that each chunk component feeds to a hasher, with its column and type.
    pub(crate) fn streams_of_chunk(chunk: &Chunk) -> Vec<(u32, ComponentType, Vec<u8>)> {
        let mut streams = Vec::new();
        chunk.values.hash_each(|column, ty, hash| {
            streams.push((column, ty, StateHasher::stream_of(hash)));
        });
        streams
    }

    /// Returns the bytes that each shared value of a chunk feeds to a hasher, with its column.
    pub(crate) fn streams_of_shared(&self, chunk: &Chunk) -> Vec<(u32, Vec<u8>)> {
        let columns = chunk.shape().shared.iter().copied();
        let values = self.archetypes.values_of(chunk);
        let of_value = |(column, (table, index))| {
            (column, StateHasher::stream_of(|state| self.shared.feed(table, index, state)))
        };
        columns.zip(values).map(of_value).collect()
    }
}
