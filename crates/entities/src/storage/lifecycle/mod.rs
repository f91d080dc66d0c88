//! The lifecycle log: structural changes of observed component types, from one delivery point to the next.
//!
//! ```text
//! operations ──> log: runs of entities, from one signature to another ──> reduction ──> batch: runs of events
//!                     old values that observers request                   net effect     for observers
//! ```
//!
//! The observed types of an archetype are its *signature*. Storage logs a run of entities when their signature changes, or when an
//! observed value is overwritten. Chunks whose archetype has observed types have the flag
//! [`OBSERVED`](super::chunk::OBSERVED), so other chunks cost nothing.

mod batch;
mod log;
mod masks;
mod reduce;
mod values;

pub(crate) use batch::{EventBatch, EventKind, EventRun};
use log::{Log, RunKind};
pub(crate) use masks::MaskCopies;

use super::archetype::ArchetypeShape;
use super::inline_vec::InlineIndices;
use super::reserve::RowRange;
use super::{NOWHERE, Storage, Transfer};
use crate::builtin::Prefab;
use crate::component::ComponentType;
use crate::entity::Entity;

/// The cause of a [`Remove`](crate::Remove) event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemoveCause {
    /// The component was removed from the entity.
    Removed,
    /// The entity was despawned.
    Despawned,
    /// The entity was moved to another world.
    Moved,
}

/// The number of an observed type, or of the pseudo-type [`DESPAWN`].
pub(crate) type WatchNumber = u16;

/// The number of the pseudo-type that living entities have. Its removal is the despawn of the entity.
pub(crate) const DESPAWN: WatchNumber = WatchNumber::MAX;

/// The number of the pseudo-type of [`Replaced`](crate::Replaced) events.
pub(crate) const REPLACED: WatchNumber = WatchNumber::MAX - 1;

/// The observed types of a storage, and the log of their changes.
#[derive(Default)]
pub(crate) struct Lifecycle {
    /// The id of the manager.
    id: u64,
    /// The id of the world whose observers the types were registered for. Another world must not use their numbers.
    pub(crate) owner: u64,
    /// The id of the manager, or zero while events are pending. Updates compare it anyway, so that pending events cost no test.
    marker: u64,
    /// The observed types. The index of a type is its number. Types that are no longer observed stay in the list.
    watched: Vec<WatchedType>,
    /// The number of observers of despawned entities.
    despawns: u32,
    /// The number of observers of the replacement of all entities.
    replacements: u32,
    /// True if a type, or the despawn of entities, is observed.
    is_active: bool,
    /// True if the entities were replaced since the last delivery.
    replaced: bool,
    signatures: Vec<Signature>,
    /// The signature of entities that do not exist, whose number is [`NOWHERE`].
    no_entity: Signature,
    /// The signature of each archetype, as far as it was needed yet.
    by_archetype: Vec<u32>,
    log: Log,
    /// True if the next move of a row removes values that were already moved to the caller of the operation.
    pub(crate) values_were_moved: bool,
    /// The lists of columns whose values the log does not take. Deferred drops refer to them, so they are never removed.
    left_lists: Vec<Box<[u32]>>,
    scratch: reduce::Scratch,
}

/// An observed type.
struct WatchedType {
    ty: ComponentType,
    /// The number of observers.
    users: u32,
    /// The number of observers that request old values.
    value_users: u32,
}

impl WatchedType {
    /// Returns whether the log takes old values out of rows. Values of shared components are not in rows.
    fn takes_rows(&self) -> bool {
        self.value_users > 0 && !self.ty.is_shared()
    }
}

/// The observed types of an archetype.
#[derive(Default, PartialEq, Eq)]
struct Signature {
    /// The numbers of the types, in the order of columns.
    types: Box<[WatchNumber]>,
    /// True if the entities are not despawned.
    is_alive: bool,
    /// True if the entities are prefabs, which raise events of [`Prefab`] only.
    is_prefab: bool,
}

impl Lifecycle {
    /// Sets the id of the manager.
    pub(crate) fn set_id(&mut self, id: u64) {
        self.id = id;
        self.update_marker();
    }

    fn update_marker(&mut self) {
        self.marker = if self.log.is_empty() && !self.replaced { self.id } else { 0 };
    }

    /// Returns the id of the manager, or zero if events are pending.
    #[inline(always)]
    pub(crate) fn marker(&self) -> u64 {
        self.marker
    }

    /// Returns whether events are pending.
    #[inline(always)]
    pub(crate) fn is_pending(&self) -> bool {
        self.marker == 0
    }

    /// Returns whether a type is observed.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.is_active
    }

    /// Returns the type with a number.
    pub(crate) fn type_of(&self, number: WatchNumber) -> Option<ComponentType> {
        self.watched.get(number as usize).map(|watched| watched.ty)
    }

    fn signature(&self, number: u32) -> &Signature {
        self.signatures.get(number as usize).unwrap_or(&self.no_entity)
    }

    /// Returns whether entities of a signature can raise events.
    fn raises_events(&self, number: u32) -> bool {
        let signature = self.signature(number);
        let is_despawn = self.despawns > 0 && signature.is_alive && !signature.is_prefab;
        is_despawn || !signature.types.is_empty()
    }

    /// Computes the signature of a shape, and returns its number.
    fn find_signature(&mut self, shape: &ArchetypeShape) -> u32 {
        let prefab = ComponentType::of::<Prefab>();
        let is_prefab = shape.has(prefab);
        let mut types: Vec<(u32, WatchNumber)> = (0..)
            .zip(&self.watched)
            .filter(|(_, watched)| watched.users > 0 && (!is_prefab || watched.ty == prefab))
            .filter_map(|(number, watched)| Some((shape.index.find(watched.ty)?.column, number)))
            .collect();
        types.sort_unstable();
        let types = types.into_iter().map(|(_, number)| number).collect();
        let found = Signature { types, is_alive: !shape.is_cleanup_only(), is_prefab };
        let known = self.signatures.iter().position(|known| *known == found);
        known.unwrap_or_else(|| {
            self.signatures.push(found);
            self.signatures.len() - 1
        }) as u32
    }

    /// Returns whether the log takes the old values of a type out of rows, in entities of a signature.
    fn takes(&self, signature: u32, ty: ComponentType) -> Option<WatchNumber> {
        let types = &self.signature(signature).types;
        types.iter().copied().find(|&number| {
            let watched = &self.watched[number as usize];
            watched.takes_rows() && watched.ty == ty
        })
    }

    /// Returns whether the log takes old values out of rows, in entities of a signature.
    fn takes_some(&self, signature: u32) -> bool {
        let types = &self.signature(signature).types;
        types.iter().any(|&number| self.watched[number as usize].takes_rows())
    }

    /// Moves all events since the last call to a batch, which is empty. Returns whether there are any.
    pub(crate) fn take_batch(&mut self, batch: &mut EventBatch) -> bool {
        batch.replaced = std::mem::take(&mut self.replaced);
        self.reduce(batch);
        self.update_marker();
        !batch.runs.is_empty() || batch.replaced
    }

    /// Drops all events. Returns their values, because dropping these runs user code.
    #[must_use = "dropping the values runs user code"]
    pub(crate) fn clear_log(&mut self) -> impl Sized + use<> {
        let log = std::mem::take(&mut self.log);
        self.replaced = false;
        self.update_marker();
        log
    }

    /// Forgets all observed types and events, for another world. Returns the events, because dropping these runs user code.
    #[must_use = "dropping the values runs user code"]
    pub(crate) fn give_to(&mut self, owner: u64) -> impl Sized + use<> {
        let log = self.clear_log();
        *self = Self { id: self.id, owner, ..Self::default() };
        self.update_marker();
        log
    }

    /// Marks all entities as replaced.
    pub(crate) fn set_replaced(&mut self) {
        self.replaced = true;
        self.update_marker();
    }

    /// Moves the observed types from the lifecycle of a storage that is replaced to that of the storage that replaces it.
    /// Returns the old log, because dropping its values runs user code.
    #[must_use = "dropping the values runs user code"]
    pub(crate) fn replace(&mut self, before: &mut Self) -> impl Sized + use<> {
        let log = before.clear_log();
        let id = self.id;
        *self = std::mem::take(before);
        self.by_archetype.clear();
        self.replaced = self.is_active || self.replacements > 0;
        self.set_id(id);
        log
    }
}

/// Observed types.
impl Storage {
    /// Begins to observe a type. With `values`, the log takes old values. Returns the number of the type.
    pub(crate) fn watch(&mut self, ty: ComponentType, values: bool) -> WatchNumber {
        let watched = &mut self.lifecycle.watched;
        let number = watched.iter().position(|watched| watched.ty == ty).unwrap_or_else(|| {
            watched.push(WatchedType { ty, users: 0, value_users: 0 });
            watched.len() - 1
        });
        watched[number].users += 1;
        watched[number].value_users += u32::from(values);
        self.refresh_observed();
        WatchNumber::try_from(number).expect("fewer types than numbers")
    }

    /// Ends what [`watch`](Self::watch) began.
    pub(crate) fn unwatch(&mut self, number: WatchNumber, values: bool) {
        let watched = &mut self.lifecycle.watched[number as usize];
        watched.users -= 1;
        watched.value_users -= u32::from(values);
        self.refresh_observed();
    }

    /// Begins to observe despawned entities, or ends it.
    pub(crate) fn watch_despawns(&mut self, begins: bool) {
        let despawns = &mut self.lifecycle.despawns;
        *despawns = if begins { *despawns + 1 } else { *despawns - 1 };
        self.refresh_observed();
    }

    /// Begins to observe the replacement of all entities, or ends it.
    pub(crate) fn watch_replacements(&mut self, begins: bool) {
        let replacements = &mut self.lifecycle.replacements;
        *replacements = if begins { *replacements + 1 } else { *replacements - 1 };
    }

    /// Computes the signatures of all archetypes again, and marks the chunks of those that raise events.
    pub(crate) fn refresh_observed(&mut self) {
        let lifecycle = &mut self.lifecycle;
        lifecycle.is_active =
            lifecycle.despawns > 0 || lifecycle.watched.iter().any(|watched| watched.users > 0);
        lifecycle.log.seal();
        lifecycle.by_archetype.clear();
        if lifecycle.is_active {
            for (_, archetype) in self.archetypes.iter() {
                let signature = lifecycle.find_signature(&archetype.shape);
                lifecycle.by_archetype.push(signature);
            }
        }
        for (_, chunk) in self.chunks.iter_mut() {
            let signature = lifecycle.by_archetype.get(chunk.archetype as usize);
            let raises = signature.is_some_and(|&signature| lifecycle.raises_events(signature));
            chunk.set_observed(raises);
        }
    }

    /// Returns the signature of an archetype.
    fn signature_of(&mut self, archetype: u32) -> u32 {
        if archetype == NOWHERE {
            return NOWHERE;
        }
        while self.lifecycle.by_archetype.len() <= archetype as usize {
            let next = self.lifecycle.by_archetype.len() as u32;
            let signature = self.lifecycle.find_signature(&self.archetypes[next].shape);
            self.lifecycle.by_archetype.push(signature);
        }
        self.lifecycle.by_archetype[archetype as usize]
    }

    /// Marks a chunk whose archetype is new as observed, if the archetype is.
    #[inline]
    pub(crate) fn mark_observed(&mut self, number: u32) {
        if self.lifecycle.is_active {
            let raises = self.raises_events(self.chunks[number].archetype);
            self.chunks[number].set_observed(raises);
        }
    }

    /// Returns whether entities of an archetype can raise events.
    #[cold]
    fn raises_events(&mut self, archetype: u32) -> bool {
        let signature = self.signature_of(archetype);
        self.lifecycle.raises_events(signature)
    }

    /// Returns whether a transfer from a chunk has to be logged.
    #[inline]
    pub(crate) fn is_transfer_observed(&mut self, number: u32, transfer: &Transfer) -> bool {
        self.lifecycle.is_active
            && (self.chunks[number].is_observed() || self.raises_events(transfer.to))
    }

    /// Returns whether the log takes old values of a chunk's rows when these are removed.
    pub(crate) fn takes_values_of(&mut self, number: u32) -> bool {
        if !self.chunks[number].is_observed() {
            return false;
        }
        let signature = self.signature_of(self.chunks[number].archetype);
        self.lifecycle.takes_some(signature)
    }
}

/// The log.
impl Storage {
    /// Logs new rows, which have ids.
    #[cold]
    #[inline(never)]
    pub(crate) fn log_created(&mut self, run: RowRange) {
        let to = self.signature_of(self.chunks[run.chunk].archetype);
        self.log_change(run, NOWHERE, to, RunKind::Change);
    }

    /// Logs rows that leave for another storage, before they leave. Their values leave with them.
    #[cold]
    #[inline(never)]
    pub(crate) fn log_moved_away(&mut self, run: RowRange) {
        let from = self.signature_of(self.chunks[run.chunk].archetype);
        self.log_change(run, from, NOWHERE, RunKind::MoveAway);
    }

    /// Appends rows to the log. Returns the number of the run, and the position of the first row in it.
    fn log_change(&mut self, run: RowRange, from: u32, to: u32, kind: RunKind) -> (u32, u32) {
        self.lifecycle.marker = 0;
        let entities = self.chunks.entities_in(run);
        self.lifecycle.log.push(entities, from, to, kind)
    }

    /// Logs entities whose rows are elsewhere by now, or do not exist any more.
    pub(crate) fn log_entity(&mut self, entity: Entity, from: u32, to: u32) -> Option<(u32, u32)> {
        let (from, to) = (self.signature_of(from), self.signature_of(to));
        if from == to || !(self.lifecycle.raises_events(from) || self.lifecycle.raises_events(to)) {
            return None;
        }
        self.lifecycle.marker = 0;
        Some(self.lifecycle.log.push(&[entity], from, to, RunKind::Change))
    }

    /// Logs that an entity's value of a type was overwritten, if the type is observed in its archetype. Returns the number of the
    /// run, and the position of the entity in it.
    pub(crate) fn log_overwritten(
        &mut self,
        entity: Entity,
        archetype: u32,
        ty: ComponentType,
    ) -> Option<(u32, u32)> {
        let signature = self.signature_of(archetype);
        let number = self.number_in(signature, ty)?;
        self.lifecycle.marker = 0;
        let kind = RunKind::Overwrite(number);
        Some(self.lifecycle.log.push(&[entity], signature, signature, kind))
    }

    /// Returns the number of a type, if it is observed in entities of a signature.
    fn number_in(&self, signature: u32, ty: ComponentType) -> Option<WatchNumber> {
        let types = &self.lifecycle.signature(signature).types;
        let is_it = |&number: &WatchNumber| self.lifecycle.watched[number as usize].ty == ty;
        types.iter().copied().find(is_it)
    }

    /// Returns those of a list of columns of a chunk whose values the log does not take.
    #[cold]
    pub(crate) fn columns_not_taken(&mut self, number: u32, columns: &[u32]) -> InlineIndices {
        let signature = self.signature_of(self.chunks[number].archetype);
        let types = &self.chunks[number].shape().types;
        let is_left =
            |&column: &u32| self.lifecycle.takes(signature, types[column as usize]).is_none();
        columns.iter().copied().filter(is_left).collect()
    }

    /// Returns the same as [`columns_not_taken`](Self::columns_not_taken), in a list that lives as long as the storage.
    #[cold]
    pub(crate) fn kept_columns_not_taken(&mut self, number: u32, columns: &[u32]) -> *const [u32] {
        let left = self.columns_not_taken(number, columns);
        let lists = &mut self.lifecycle.left_lists;
        let known = lists.iter().position(|list| **list == *left);
        let known = known.unwrap_or_else(|| {
            lists.push((&*left).into());
            lists.len() - 1
        });
        &raw const *lists[known]
    }
}
