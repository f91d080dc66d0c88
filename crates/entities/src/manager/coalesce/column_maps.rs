//! Where the components of a set are in the rows of an archetype, if it has them.

use std::alloc::Layout;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use crate::component::ComponentType;
use crate::storage::{ArchetypeShape, NOWHERE};

/// Where the components of a set are in the rows of an archetype.
pub(super) struct Landing {
    /// The columns that the archetype has, a bit for each.
    pub(super) columns: u64,
    /// Whether it has all of them.
    pub(super) is_whole: bool,
    /// For each type of the set, the column, or [`NOWHERE`].
    pub(super) each: Box<[u32]>,
    /// For each type of the set, where its column begins: if the archetype has all of them.
    pub(super) offsets: Box<[u32]>,
    /// Whether values of one of the columns have to be dropped.
    pub(super) has_drops: bool,
    /// Room for the set where it is in no row, and where each of its types is there. Nothing, if no memory has room for it: then
    /// nobody is given it.
    pub(super) apart: Option<(Layout, Box<[u32]>)>,
}

impl Landing {
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

/// Room for a value of each type, and where each of them is.
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

/// The landings that were needed so far, found again without looking at types.
#[derive(Default)]
pub(super) struct Landings {
    list: Vec<Landing>,
    /// By archetype and set.
    by_place: HashMap<(u32, u32), u32, FixedState>,
    recent: Vec<Option<(u32, u32, u32)>>,
}

/// How many landings are found again without a map.
const RECENT: usize = 64;

impl Landings {
    /// Where the components of a set are in an archetype of this number and shape.
    #[inline]
    pub(super) fn find(
        &mut self,
        archetype: u32,
        shape: &ArchetypeShape,
        set: u32,
        types: &[ComponentType],
    ) -> &Landing {
        let place = (archetype << 2 ^ set) as usize % RECENT;
        let number = match self.recent.get(place) {
            Some(&Some((of, with, number))) if (of, with) == (archetype, set) => number,
            _ => self.look_up(archetype, shape, set, types, place),
        };
        &self.list[number as usize]
    }

    #[inline(never)]
    fn look_up(
        &mut self,
        archetype: u32,
        shape: &ArchetypeShape,
        set: u32,
        types: &[ComponentType],
        place: usize,
    ) -> u32 {
        let Self { list, by_place, recent } = self;
        let number = *by_place.entry((archetype, set)).or_insert_with(|| {
            list.push(Landing::new(shape, types));
            list.len() as u32 - 1
        });
        if recent.is_empty() {
            recent.resize(RECENT, None);
        }
        recent[place] = Some((archetype, set, number));
        number
    }
}
