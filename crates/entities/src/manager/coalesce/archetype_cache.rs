//! Caches for coalesced commands: shapes, moves between archetypes, and columns of sets.
//!
//! Entities never have an intermediate set of types in storage. So a shape is only a list of types, with cached edges to other
//! shapes. Archetypes are created only for the final shapes.

use std::alloc::Layout;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use crate::builtin::CleanupEntity;
use crate::builtin::LinkedEntityGroup;
use crate::component::{ComponentType, broken_requirement};
use crate::manager::Sets;
use crate::storage::{
    ArchetypeShape, Archetypes, Edge, NOWHERE, RecentCache, SetOperation, StorageSettings,
    Transfer, sort_types,
};

/// The maximum number of types of a supported shape. Each type is a bit of a word.
pub(super) const MOST_TYPES: usize = 64;

/// A set of types that an entity has during the simulation of commands.
pub(super) struct CachedShape {
    /// The types, in the order of archetypes.
    pub(super) types: Box<[ComponentType]>,
    /// The archetype of these types, or [`NOWHERE`] if it is not known yet.
    pub(super) archetype: u32,
    /// True if commands for entities of this shape can be coalesced.
    pub(super) is_supported: bool,
    /// True if one of the types is shared.
    pub(super) has_shared: bool,
    /// True if the shape has neither cleanup components nor a linked group, so that despawning affects only the entity.
    pub(super) despawns_alone: bool,
    /// The target for this shape while a batch is applied, or [`NOWHERE`].
    pub(super) target: u32,
}

/// The effect of an operation on entities of a shape.
#[derive(Clone, Copy)]
pub(super) struct ShapeEdge {
    pub(super) to: u32,
    /// True if the shape has one of the types of the set.
    pub(super) has_one: bool,
    /// True if the shape has all types of the set.
    pub(super) has_all: bool,
    /// True if the shared values do not change.
    pub(super) keeps_shared: bool,
}

/// All shapes, by number. The first shape has no types.
#[derive(Default)]
pub(super) struct ShapeCache {
    list: Vec<CachedShape>,
    by_types: HashMap<Box<[ComponentType]>, u32, FixedState>,
    /// The number of the shape of each archetype, or [`NOWHERE`].
    by_archetype: Vec<u32>,
    edges: RecentCache<Edge, ShapeEdge, 64>,
}

impl ShapeCache {
    /// Returns the shape of an archetype.
    #[inline]
    pub(super) fn of_archetype(
        &mut self,
        archetype: u32,
        archetypes: &Archetypes,
        settings: &StorageSettings,
    ) -> u32 {
        match self.by_archetype.get(archetype as usize) {
            Some(&shape) if shape != NOWHERE => shape,
            _ => {
                let number = self.of_types(&archetypes[archetype].shape.types, settings);
                self.note_archetype(number, archetype);
                number
            }
        }
    }

    /// Records the archetype of a shape.
    pub(super) fn note_archetype(&mut self, shape: u32, archetype: u32) {
        if archetype as usize >= self.by_archetype.len() {
            self.by_archetype.resize(archetype as usize + 1, NOWHERE);
        }
        self.by_archetype[archetype as usize] = shape;
        self[shape].archetype = archetype;
    }

    /// Returns the shape with these types, which are sorted.
    #[cold]
    fn of_types(&mut self, types: &[ComponentType], settings: &StorageSettings) -> u32 {
        if self.list.is_empty() && !types.is_empty() {
            self.of_types(&[], settings);
        }
        if let Some(&number) = self.by_types.get(types) {
            return number;
        }
        let is_simple = |ty: &ComponentType| ty.0.per_chunk.is_none();
        let is_cleanup_only = types.contains(&ComponentType::of::<CleanupEntity>());
        let group = ComponentType::of_buffer::<LinkedEntityGroup>();
        let is_supported = types.len() <= MOST_TYPES
            && types.iter().all(is_simple)
            && !is_cleanup_only
            && ArchetypeShape::new(types, settings).is_ok();
        let despawns_alone =
            types.iter().all(|&ty| !ty.is_cleanup() && ty != group && !ty.is_in_relationship());
        let has_shared = types.iter().any(|ty| ty.is_shared());
        let number = u32::try_from(self.list.len()).expect("fewer shapes than entities");
        let (archetype, target) = (NOWHERE, NOWHERE);
        self.list.push(CachedShape {
            types: types.into(),
            archetype,
            is_supported,
            has_shared,
            despawns_alone,
            target,
        });
        self.by_types.insert(types.into(), number);
        number
    }

    /// Returns the shape without types. New entities begin with it.
    #[inline]
    pub(super) fn empty(&mut self, settings: &StorageSettings) -> u32 {
        if self.list.is_empty() {
            self.of_types(&[], settings);
        }
        0
    }

    /// Returns the effect of adding, setting or removing a set.
    #[inline]
    pub(super) fn edge(
        &mut self,
        edge: Edge,
        sets: &Sets,
        settings: &StorageSettings,
    ) -> ShapeEdge {
        let number = match self.edges.find(edge) {
            Some(number) => number,
            None => {
                let made = self.make_edge(edge, sets, settings);
                self.edges.insert(edge, made)
            }
        };
        self.edges[number]
    }

    #[cold]
    fn make_edge(&mut self, edge: Edge, sets: &Sets, settings: &StorageSettings) -> ShapeEdge {
        let set = &sets.get(edge.set).types;
        let mut types = self[edge.from].types.to_vec();
        let has_one = set.iter().any(|ty| types.contains(ty));
        let has_all = set.iter().all(|ty| types.contains(ty));
        let is_lost =
            |ty: &ComponentType| edge.change != SetOperation::Remove || types.contains(ty);
        // Required components are not supported either: their constructors run user code.
        let requires = edge.change == SetOperation::Add && sets.get(edge.set).requires;
        let keeps_shared = !requires && !set.iter().any(|ty| ty.is_shared() && is_lost(ty));
        match edge.change {
            SetOperation::Remove => types.retain(|ty| !set.contains(ty)),
            SetOperation::Add => {
                let new: Vec<_> = set.iter().filter(|ty| !types.contains(ty)).copied().collect();
                types.extend(new);
            }
            _ => {}
        }
        // A strict world refuses to remove a component that another one requires.
        let is_broken = edge.change == SetOperation::Remove
            && broken_requirement(set, types.iter().copied()).is_some();
        let has_all = has_all && !is_broken;
        let sorted = sort_types(&mut types);
        debug_assert!(sorted.is_ok(), "sets have no type twice, and what is there is not added");
        ShapeEdge { to: self.of_types(&types, settings), has_one, has_all, keeps_shared }
    }
}

impl std::ops::Index<u32> for ShapeCache {
    type Output = CachedShape;

    #[inline]
    fn index(&self, number: u32) -> &CachedShape {
        &self.list[number as usize]
    }
}

impl std::ops::IndexMut<u32> for ShapeCache {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut CachedShape {
        &mut self.list[number as usize]
    }
}

/// A transfer from one archetype to another that keeps all common columns.
pub(super) struct ArchetypeMove {
    pub(super) transfer: Transfer,
    /// The columns of both archetypes that have drop glue, as pairs of the old and the new column.
    pub(super) dropped: Box<[(u32, u32)]>,
}

impl ArchetypeMove {
    fn new(from: &ArchetypeShape, to: &ArchetypeShape, to_number: u32) -> Self {
        let transfer = Transfer::new(from, to, to_number, &[], SetOperation::AddMissing);
        let has_drop = |&&(old, _): &&(u32, u32)| from.types[old as usize].0.drop.is_some();
        Self { dropped: transfer.kept.iter().filter(has_drop).copied().collect(), transfer }
    }
}

/// A cache of moves, by source and target archetype.
pub(super) type ArchetypeMoves = RecentCache<(u32, u32), ArchetypeMove, 32>;

impl ArchetypeMoves {
    /// Returns the move from one archetype to another.
    #[inline]
    pub(super) fn get(&mut self, from: u32, to: u32, archetypes: &Archetypes) -> &ArchetypeMove {
        self.get_or_insert_with((from, to), || {
            ArchetypeMove::new(&archetypes[from].shape, &archetypes[to].shape, to)
        })
    }
}

/// The columns of a set's types in an archetype.
pub(super) struct ColumnMap {
    /// The columns that the archetype has, with one bit per column.
    pub(super) columns: u64,
    /// True if the archetype has all types of the set.
    pub(super) is_whole: bool,
    /// The column of each type of the set, or [`NOWHERE`] if the archetype lacks the type.
    pub(super) each: Box<[u32]>,
    /// The offset of each type's column, if the archetype has all types of the set.
    pub(super) offsets: Box<[u32]>,
    /// True if one of the columns has drop glue.
    pub(super) has_drops: bool,
    /// The layout of a set outside of rows, and the offset of each type. `None` if a set is too large for any memory, so that
    /// none exists.
    pub(super) apart: Option<(Layout, Box<[u32]>)>,
}

impl ColumnMap {
    fn new(shape: &ArchetypeShape, set: &[ComponentType]) -> Self {
        let found = set.iter().map(|&ty| shape.index.find(ty));
        let each: Box<[u32]> =
            found.clone().map(|found| found.map_or(NOWHERE, |found| found.column)).collect();
        let columns = each.iter().filter(|&&column| column != NOWHERE);
        Self {
            apart: side_by_side(set),
            columns: columns.clone().fold(0, |bits, column| bits | 1 << column),
            is_whole: each.iter().all(|&column| column != NOWHERE),
            offsets: found.map(|found| found.map_or(0, |found| found.offset)).collect(),
            has_drops: columns.clone().any(|&column| shape.types[column as usize].0.drop.is_some()),
            each,
        }
    }
}

/// Returns a layout that contains one value of each type, and the offsets of the values.
fn side_by_side(types: &[ComponentType]) -> Option<(Layout, Box<[u32]>)> {
    let mut all = Layout::new::<()>();
    let mut extend = |ty: &ComponentType| {
        let value = Layout::from_size_align(ty.size(), ty.align()).ok()?;
        let (together, offset) = all.extend(value).ok()?;
        all = together;
        u32::try_from(offset).ok()
    };
    let offsets = types.iter().map(&mut extend).collect::<Option<_>>()?;
    Some((all, offsets))
}

/// A cache of column maps, by archetype and set.
pub(super) type ColumnMaps = RecentCache<(u32, u32), ColumnMap, 64>;

impl ColumnMaps {
    /// Returns the columns of a set in an archetype, given its number and shape.
    #[inline]
    pub(super) fn get(
        &mut self,
        archetype: u32,
        shape: &ArchetypeShape,
        set: u32,
        types: &[ComponentType],
    ) -> &ColumnMap {
        self.get_or_insert_with((archetype, set), || ColumnMap::new(shape, types))
    }
}
