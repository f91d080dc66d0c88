//! How an entity gets from one archetype to another.

#![expect(unsafe_code, reason = "transfers that are known to be there")]

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::archetype::{ArchetypeShape, ColumnEntry, ColumnSlot};
use super::arena::CHUNK_ALIGN;
use super::chunk::flags_of;
use crate::component::ComponentType;

/// What is done to a set of components: one key of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Edge {
    /// The archetype it starts from.
    pub(crate) from: u32,
    /// Which set, by the number the world gave it.
    pub(crate) set: u32,
    pub(crate) change: SetOperation,
}

/// What is done with the components of a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SetOperation {
    /// They are added, and replace those that are there.
    Add,
    /// Those that are not there are added, with their initial values.
    AddMissing,
    /// They are removed, as far as they are there.
    Remove,
    /// They replace those that are there, which are all.
    Set,
    /// The entity is despawned: what stays is left.
    Despawn,
    /// Not the entity goes, but an instance of it comes.
    Instantiate,
    /// Not the entity goes, but a copy of it comes, which is a prefab if the entity is one.
    Copy,
}

/// What has to be done with each column when an entity moves from one archetype to another.
pub(crate) struct Transfer {
    /// The archetype it goes to.
    pub(crate) to: u32,
    /// Columns whose values move, tags left out.
    pub(crate) moves: Box<[ColumnMove]>,
    /// Columns that both have and nobody writes to, tags included: their versions follow.
    pub(crate) kept: Box<[(u32, u32)]>,
    /// Columns of the old chunk whose values stay behind and have to be dropped.
    pub(crate) left: Box<[u32]>,
    /// Columns of the new chunk that are written: those that are new, and those that are overwritten.
    pub(crate) written: Box<[u32]>,
    /// Where the set's components are in the new chunk, in the order of the set.
    pub(crate) offsets: Box<[u32]>,
    /// Masks of types that both have, in pairs.
    pub(crate) masks_kept: Box<[(u32, u32)]>,
    /// Masks of types that are new.
    pub(crate) masks_new: Box<[u32]>,
    /// Whether a chunk can be one of the other archetype, with all its rows and without a change to its memory.
    pub(crate) whole: bool,
    /// Whether a chunk can be one of the other archetype, with as many of its rows as that has room for, by moving its columns
    /// within its memory, one after the other as `repacked` says.
    pub(crate) repacks: bool,
    /// The columns whose values move, in an order in which none comes to lie over one that has not moved yet.
    pub(crate) repacked: Box<[ColumnMove]>,
    /// What is not as simple as it mostly is in chunks of the new archetype.
    pub(crate) flags: u8,
    /// Where the values of the new chunk's shared types come from, in the order of its columns.
    pub(crate) shared: Box<[SharedSource]>,
    /// Whether nothing is left of an entity that was despawned but the mark, which goes for good then.
    pub(crate) ends: bool,
    /// A component of the set that the old archetype has, if it has one.
    pub(crate) present: Option<ComponentType>,
    /// One that it does not have.
    pub(crate) missing: Option<ComponentType>,
}

/// Where the value of a shared type comes from.
#[derive(Clone, Copy)]
pub(crate) enum SharedSource {
    /// From the old chunk: the value of its shared type of this number.
    Kept(u32),
    /// From the set: the value of its shared type of this number.
    Given(u32),
    /// It is the default.
    Default,
}

/// A column whose values move.
#[derive(Clone, Copy)]
pub(crate) struct ColumnMove {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) size: u32,
}

impl Transfer {
    /// What is to be done from one shape to another, which is this number, when a set is changed in this way.
    pub(crate) fn new(
        from: &ArchetypeShape,
        to: &ArchetypeShape,
        to_number: u32,
        set: &[ComponentType],
        change: SetOperation,
    ) -> Self {
        let writes = matches!(change, SetOperation::Add | SetOperation::Set);
        let is_written = |ty: ComponentType| !from.has(ty) || (writes && set.contains(&ty));
        let mut transfer = Lists::default();
        for (at, &ty) in (0..).zip(&from.types) {
            match to.index.find(ty) {
                Some(found) if !is_written(ty) => {
                    transfer.kept.push((at, found.column));
                    let column = from.columns[at as usize];
                    if column.size > 0 {
                        transfer.moves.push(ColumnMove {
                            from: column.offset,
                            to: found.offset,
                            size: column.size,
                        });
                    }
                }
                _ if ty.0.drop.is_some() => transfer.left.push(at),
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
        let repacked = in_order_of_moves(&transfer.moves);
        let keeps_all = transfer.left.is_empty();
        Self {
            to: to_number,
            whole: keeps_all && is_whole(from, to, &written),
            repacks: keeps_all && is_repackable(from, to) && repacked.is_some(),
            repacked: repacked.unwrap_or_default(),
            flags: flags_of(to),
            written,
            offsets: set
                .iter()
                .filter_map(|&ty| to.index.find(ty))
                .map(|found| found.offset)
                .collect(),
            moves: transfer.moves.into(),
            kept: transfer.kept.into(),
            left: transfer.left.into(),
            // All may have been removed at once, the mark among them.
            ends: to.is_bare_residue() || (from.is_residue() && to.types.is_empty()),
            masks_kept: masks_kept.into(),
            masks_new: masks_new.into(),
            shared: shared_sources(from, to, is_written, if writes { set } else { &[] }),
            present: set.iter().copied().find(|&ty| from.has(ty)),
            missing: set.iter().copied().find(|&ty| !from.has(ty)),
        }
    }
}

/// Whether the memory of a chunk of one shape is that of a chunk of another, whatever is written to these columns of it.
fn is_whole(from: &ArchetypeShape, to: &ArchetypeShape, written: &[u32]) -> bool {
    let same = |(ours, theirs): (&(u32, ColumnSlot), &(u32, ColumnSlot))| {
        from.types[ours.0 as usize] == to.types[theirs.0 as usize]
            && ours.1.offset == theirs.1.offset
    };
    let has_no_bytes = |&column: &u32| to.columns[column as usize].size == 0;
    // Who drops the values of memory that is shared may be of either shape.
    let has_no_drop = |&column: &u32| to.types[column as usize].0.drop.is_none();
    from.capacity == to.capacity
        && to.align <= from.align.max(CHUNK_ALIGN)
        && from.sized.len() == to.sized.len()
        && from.sized.iter().zip(&to.sized).all(same)
        && written.iter().all(|column| has_no_bytes(column) && has_no_drop(column))
        && from.is_shared == to.is_shared
        // A chunk of another archetype begins with values of its own.
        && (from.serial == to.serial || (from.values.is_none() && to.values.is_none()))
}

/// Whether columns of a chunk of one shape can be moved within its memory, so that it is one of another shape.
fn is_repackable(from: &ArchetypeShape, to: &ArchetypeShape) -> bool {
    let is_plain = |shape: &ArchetypeShape| shape.values.is_none() && shape.tracked.is_empty();
    from.serial != to.serial
        && to.align <= from.align.max(CHUNK_ALIGN)
        && is_plain(from)
        && is_plain(to)
}

/// Columns in an order in which they can move within one memory, if they do not change places.
///
/// Those that move towards the beginning do so first, from the first on, and the others from the last on: none comes to lie where
/// another still is.
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

/// Where the values of shared types come from when all are given by a set.
pub(crate) fn given_sources(to: &ArchetypeShape, set: &[ComponentType]) -> Box<[SharedSource]> {
    shared_sources(to, to, |_| true, set)
}

/// Where the values of shared types come from: from the set if they are written and in it.
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

#[derive(Default)]
struct Lists {
    moves: Vec<ColumnMove>,
    kept: Vec<(u32, u32)>,
    left: Vec<u32>,
}

/// The transfers that were needed so far, found again without looking at types.
#[derive(Default)]
pub(crate) struct Transfers {
    list: Vec<Transfer>,
    edges: HashMap<Edge, u32, FixedState>,
    /// Those that were asked for last: where a few take turns, they are found without the map.
    recent: [Option<(Edge, u32)>; RECENT],
}

/// How many edges are found again without a map.
const RECENT: usize = 16;

impl Transfers {
    /// The transfer of an edge that was taken before.
    #[inline]
    pub(crate) fn get(&mut self, edge: Edge) -> Option<u32> {
        let Edge { from, set, change } = edge;
        let place = (from ^ set << 2 ^ change as u32) as usize % RECENT;
        match self.recent[place] {
            Some((recent, number)) if recent == edge => Some(number),
            _ => {
                let number = self.look_up(edge)?;
                self.recent[place] = Some((edge, number));
                Some(number)
            }
        }
    }

    #[inline(never)]
    fn look_up(&self, edge: Edge) -> Option<u32> {
        self.edges.get(&edge).copied()
    }

    /// A transfer that is known to be there.
    ///
    /// # Safety
    ///
    /// - the number was returned by `get` or `insert`
    #[inline]
    pub(crate) unsafe fn at(&self, number: u32) -> &Transfer {
        debug_assert!((number as usize) < self.list.len());
        // SAFETY: it is there.
        unsafe { self.list.get_unchecked(number as usize) }
    }

    pub(crate) fn insert(&mut self, edge: Edge, transfer: Transfer) -> u32 {
        let number = u32::try_from(self.list.len()).expect("fewer transfers than entities");
        self.list.push(transfer);
        self.edges.insert(edge, number);
        number
    }
}

impl std::ops::Index<u32> for Transfers {
    type Output = Transfer;

    #[inline]
    fn index(&self, number: u32) -> &Transfer {
        &self.list[number as usize]
    }
}
