//! Transfers: the operations on each column when an entity moves from one archetype to another.

use super::archetype::{ArchetypeShape, ColumnEntry, ColumnSlot};
use super::arena::CHUNK_ALIGN;
use super::chunk::flags_of;
use super::recent_cache::{CacheKey, RecentCache};
use crate::component::{ComponentType, Requirement};

/// An edge of the archetype graph, which is the key of a cached transfer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Edge {
    /// The archetype at which the edge begins.
    pub(crate) from: u32,
    /// The number of the component set in the world.
    pub(crate) set: u32,
    pub(crate) change: SetOperation,
}

/// The operation on an entity, with a set of components, that an edge represents.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SetOperation {
    /// Adds the components, and replaces those that the entity has.
    Add,
    /// Adds the components that the entity does not have, with their initial values.
    AddMissing,
    /// Removes those of the components that the entity has.
    Remove,
    /// Replaces the components, all of which the entity has.
    Set,
    /// Removes one set, and adds the components of another.
    Exchange,
    /// Despawns the entity. Only cleanup components remain.
    Despawn,
    /// Creates an instance of the entity.
    Instantiate,
    /// Creates a copy of the entity. The copy is a prefab if the entity is a prefab.
    Copy,
}

/// A plan for moving entities from one archetype to another, for each column.
pub(crate) struct Transfer {
    /// The serial numbers of the old and the new shape.
    serials: (u32, u32),
    /// The archetype that the entity moves to.
    pub(crate) to: u32,
    /// The columns whose values are moved, without tags.
    pub(crate) moves: Box<[ColumnMove]>,
    /// The columns that both archetypes have and that are not written, including tags, as pairs of the old and the new number.
    /// Their versions are kept.
    pub(crate) kept: Box<[(u32, u32)]>,
    /// The columns of the old chunk whose values are not moved and need to be dropped.
    pub(crate) left: Box<[u32]>,
    /// The columns of the new chunk that are written: new and replaced ones.
    pub(crate) written: Box<[u32]>,
    /// The offsets of the set's components in the new chunk, in the order of the set.
    pub(crate) offsets: Box<[u32]>,
    /// The masks of enableable types that both archetypes have, as pairs of the old and the new number.
    pub(crate) masks_kept: Box<[(u32, u32)]>,
    /// The masks of enableable types that only the new archetype has.
    pub(crate) masks_new: Box<[u32]>,
    /// True if a whole chunk can move to the new archetype without a change to its memory.
    pub(crate) whole: bool,
    /// True if a chunk can move to the new archetype by shifting its columns as listed in `repacked`, with as many rows as fit
    /// there.
    pub(crate) repacks: bool,
    /// The columns whose values are moved, in an order in which no column overwrites one that has not been moved yet.
    pub(crate) repacked: Box<[ColumnMove]>,
    /// The flags of chunks of the new archetype.
    pub(crate) flags: u16,
    /// The sources of the new chunk's shared values, in the order of the shared columns.
    pub(crate) shared: Box<[SharedSource]>,
    /// True if the new archetype has only the tag of despawned entities, so that the entity can be destroyed.
    pub(crate) ends: bool,
    /// The columns of the new chunk for components that arriving ones require, with their constructors.
    pub(crate) required: Box<[RequiredColumn]>,
    /// A component that is removed although a remaining one requires it, and the remaining one.
    pub(crate) broken: Option<(ComponentType, ComponentType)>,
    /// A component of the set that the old archetype has, if there is one.
    pub(crate) present: Option<ComponentType>,
    /// A component of the set that the old archetype does not have, if there is one.
    pub(crate) missing: Option<ComponentType>,
}

/// The source of a shared value of the new chunk.
#[derive(Clone, Copy)]
pub(crate) enum SharedSource {
    /// The old chunk's shared value with this number.
    Kept(u32),
    /// The set's shared value with this number.
    Given(u32),
    /// The default value of the type.
    Default,
}

/// A column whose values are moved from one offset to another.
#[derive(Clone, Copy)]
pub(crate) struct ColumnMove {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) size: u32,
    /// The number of the column in the new chunk.
    pub(crate) column: u32,
}

impl Transfer {
    /// Plans an operation with a set, which moves entities from one shape to another. `to_number` is the number of the new
    /// archetype.
    pub(crate) fn new(
        from: &ArchetypeShape,
        to: &ArchetypeShape,
        to_number: u32,
        set: &[ComponentType],
        change: SetOperation,
    ) -> Self {
        let writes =
            matches!(change, SetOperation::Add | SetOperation::Set | SetOperation::Exchange);
        let is_written = |ty: ComponentType| !from.has(ty) || (writes && set.contains(&ty));
        let (mut moves, mut kept, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for (at, &ty) in (0..).zip(&from.types) {
            match to.index.find(ty) {
                Some(found) if !is_written(ty) => {
                    kept.push((at, found.column));
                    let ColumnSlot { offset, size } = from.columns[at as usize];
                    if size > 0 {
                        let (to, column) = (found.offset, found.column);
                        moves.push(ColumnMove { from: offset, to, size, column });
                    }
                }
                _ if ty.0.drop.is_some() => left.push(at),
                _ => {}
            }
        }
        let written = (0..).zip(&to.types).filter(|&(_, &ty)| is_written(ty));
        let written: Box<[u32]> = written.map(|(at, _)| at).collect();
        let mut masks_kept = Vec::new();
        let mut masks_new = Vec::new();
        for (mask, &column) in (0..).zip(&to.enableable) {
            let before = from.index.find(to.types[column as usize]);
            match before.and_then(ColumnEntry::mask) {
                Some(theirs) => masks_kept.push((theirs, mask)),
                None => masks_new.push(mask),
            }
        }
        let repacked = in_order_of_moves(&moves);
        let keeps_all = left.is_empty();
        Self {
            serials: (from.serial, to.serial),
            to: to_number,
            whole: keeps_all && is_whole(from, to, &written),
            repacks: keeps_all && is_repackable(from, to) && repacked.is_some(),
            repacked: repacked.unwrap_or_default(),
            flags: flags_of(to),
            written,
            offsets: set.iter().filter_map(|&ty| Some(to.index.find(ty)?.offset)).collect(),
            moves: moves.into(),
            kept: kept.into(),
            left: left.into(),
            // One operation may have removed all components, including the tag.
            ends: to.is_bare_cleanup() || (from.is_cleanup_only() && to.types.is_empty()),
            masks_kept: masks_kept.into(),
            masks_new: masks_new.into(),
            shared: shared_sources(from, to, is_written, if writes { set } else { &[] }),
            required: Box::default(),
            broken: None,
            present: set.iter().copied().find(|&ty| from.has(ty)),
            missing: set.iter().copied().find(|&ty| !from.has(ty)),
        }
    }
}

/// A column for a required component.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequiredColumn {
    pub(crate) column: u32,
    pub(crate) requirement: Requirement,
}

impl RequiredColumn {
    /// Returns the columns of requirements in an archetype that has all of them.
    pub(crate) fn of_all(required: &[Requirement], to: &ArchetypeShape) -> Box<[Self]> {
        let column = |&requirement: &Requirement| {
            let found = to.index.find(requirement.ty).expect("the archetype has what is required");
            Self { column: found.column, requirement }
        };
        required.iter().map(column).collect()
    }
}

impl Transfer {
    /// Adds the requirements of arriving components, which the new shape has. Their constructors run for each row, so no chunk moves
    /// as a whole.
    pub(crate) fn with_required(self, required: &[Requirement], to: &ArchetypeShape) -> Self {
        if required.is_empty() {
            return self;
        }
        let required = RequiredColumn::of_all(required, to);
        Self { required, whole: false, repacks: false, ..self }
    }

    /// Iterates over the written columns that are not required, in ascending order.
    pub(crate) fn initial(&self) -> impl Iterator<Item = u32> {
        let is_required = |column: u32| self.required.iter().any(|found| found.column == column);
        self.written.iter().copied().filter(move |&column| !is_required(column))
    }

    /// Returns whether the transfer leads from one shape to the other.
    pub(super) fn is_between(&self, from: &ArchetypeShape, to: &ArchetypeShape) -> bool {
        self.serials == (from.serial, to.serial)
    }
}

/// Returns whether a whole chunk of shape `from` can become a chunk of shape `to` without a change to its memory. `written` are
/// the columns that get new values.
fn is_whole(from: &ArchetypeShape, to: &ArchetypeShape, written: &[u32]) -> bool {
    let same = |(ours, theirs): (&(u32, ColumnSlot), &(u32, ColumnSlot))| {
        from.types[ours.0 as usize] == to.types[theirs.0 as usize]
            && ours.1.offset == theirs.1.offset
    };
    let has_no_bytes = |&column: &u32| to.columns[column as usize].size == 0;
    // The last owner of shared memory drops the values, and it may have either shape.
    let has_no_drop = |&column: &u32| to.types[column as usize].0.drop.is_none();
    from.capacity == to.capacity
        && to.align <= from.align.max(CHUNK_ALIGN)
        && from.sized.len() == to.sized.len()
        && from.sized.iter().zip(&to.sized).all(same)
        && written.iter().all(|column| has_no_bytes(column) && has_no_drop(column))
        && from.is_shared == to.is_shared
        // Another archetype has its own chunk components, with their default values.
        && (from.serial == to.serial || (from.values.is_none() && to.values.is_none()))
}

/// Returns whether a chunk can move to another shape by shifting columns within its memory.
fn is_repackable(from: &ArchetypeShape, to: &ArchetypeShape) -> bool {
    let is_plain = |shape: &ArchetypeShape| shape.values.is_none() && shape.tracked.is_empty();
    from.serial != to.serial
        && to.align <= from.align.max(CHUNK_ALIGN)
        && is_plain(from)
        && is_plain(to)
}

/// Sorts columns for moves within one chunk's memory. Returns `None` if the columns are not in the same order before and after.
///
/// Columns that move towards the beginning come first, in ascending order, followed by the others in descending order. So no
/// column overwrites one that has not been moved yet.
fn in_order_of_moves(moves: &[ColumnMove]) -> Option<Box<[ColumnMove]>> {
    let mut moves = moves.to_vec();
    moves.sort_unstable_by_key(|column| column.from);
    if !moves.is_sorted_by_key(|column| column.to) {
        return None;
    }
    let (mut to_front, mut to_back): (Vec<_>, Vec<_>) =
        moves.into_iter().partition(|column| column.to <= column.from);
    to_back.reverse();
    to_front.append(&mut to_back);
    Some(to_front.into())
}

/// Returns the sources of the shared values of an archetype, all of which are in the set.
pub(crate) fn given_sources(to: &ArchetypeShape, set: &[ComponentType]) -> Box<[SharedSource]> {
    shared_sources(to, to, |_| true, set)
}

/// Returns the sources of shared values. The source of a value that is written and in the set is the set.
fn shared_sources(
    from: &ArchetypeShape,
    to: &ArchetypeShape,
    is_written: impl Fn(ComponentType) -> bool,
    set: &[ComponentType],
) -> Box<[SharedSource]> {
    let place = |types: &mut dyn Iterator<Item = ComponentType>, ty: ComponentType| {
        let at = types.filter(|ty| ty.is_shared()).position(|other| other == ty);
        at.map(|at| at as u32)
    };
    let source = |&column: &u32| {
        let ty = to.types[column as usize];
        if !is_written(ty) {
            let kept = place(&mut from.types.iter().copied(), ty);
            return SharedSource::Kept(kept.expect("what is not written was there"));
        }
        place(&mut set.iter().copied(), ty).map_or(SharedSource::Default, SharedSource::Given)
    };
    to.shared.iter().map(source).collect()
}

/// The cache of transfers. A transfer is found by its edge, without comparing types.
pub(crate) type Transfers = RecentCache<Edge, Transfer, 16>;

impl CacheKey for Edge {
    #[inline]
    fn place(self) -> u32 {
        self.from ^ self.set << 2 ^ self.change as u32
    }
}
