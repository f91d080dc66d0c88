//! What moves when an entity goes from one archetype to another, whatever it is given on the way.

use ancho_collections::FixedState;
use hashbrown::HashMap;

use crate::storage::{ArchetypeShape, Archetypes, Change, Transfer};

/// What moves from one archetype to another.
pub(super) struct Route {
    pub(super) transfer: Transfer,
    /// Columns with bytes that both have.
    pub(super) moves: Box<[Carried]>,
    /// Columns that both have and whose values have to be dropped, in pairs of the old and the new ones.
    pub(super) dropped: Box<[(u32, u32)]>,
}

/// A column that both have.
#[derive(Clone, Copy)]
pub(super) struct Carried {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) size: u32,
    /// Which column of the new archetype.
    pub(super) column: u32,
}

impl Route {
    fn new(from: &ArchetypeShape, to: &ArchetypeShape, to_number: u32) -> Self {
        let transfer = Transfer::new(from, to, to_number, &[], Change::AddMissing);
        let moves = transfer.kept.iter().map(|&(old, new)| {
            let (old, column) = (from.columns[old as usize], to.columns[new as usize]);
            Carried { from: old.offset, to: column.offset, size: column.size, column: new }
        });
        let has_drop = |&&(old, _): &&(u32, u32)| from.types[old as usize].0.drop.is_some();
        Self {
            moves: moves.filter(|carried| carried.size > 0).collect(),
            dropped: transfer.kept.iter().filter(has_drop).copied().collect(),
            transfer,
        }
    }
}

/// The routes that were needed so far.
#[derive(Default)]
pub(super) struct Routes {
    list: Vec<Route>,
    by_ends: HashMap<(u32, u32), u32, FixedState>,
    recent: Vec<Option<(u32, u32, u32)>>,
}

/// How many routes are found again without a map.
const RECENT: usize = 32;

impl Routes {
    /// The number of the route from one archetype to another.
    #[inline]
    pub(super) fn find(&mut self, from: u32, to: u32, archetypes: &Archetypes) -> u32 {
        let place = (from << 2 ^ to) as usize % RECENT;
        match self.recent.get(place) {
            Some(&Some((start, end, number))) if (start, end) == (from, to) => number,
            _ => self.look_up(from, to, archetypes, place),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, from: u32, to: u32, archetypes: &Archetypes, place: usize) -> u32 {
        let Self { list, by_ends, recent } = self;
        let number = *by_ends.entry((from, to)).or_insert_with(|| {
            list.push(Route::new(&archetypes[from].shape, &archetypes[to].shape, to));
            list.len() as u32 - 1
        });
        if recent.is_empty() {
            recent.resize(RECENT, None);
        }
        recent[place] = Some((from, to, number));
        number
    }

    #[inline]
    pub(super) fn at(&self, number: u32) -> &Route {
        &self.list[number as usize]
    }
}
