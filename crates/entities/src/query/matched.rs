//! The archetypes that a query has found, and what it needs to know of each.

use super::kept_chunks::KeptChunks;
use super::plan::{Plan, Term};
use super::settings::Options;
use crate::component::ComponentType;
use crate::storage::{ArchetypeShape, Archetypes, EnabledMasks, NOWHERE, StableVec, Storage};

/// What a query knows of the archetypes of a world.
pub(crate) struct Matched {
    pub(crate) plan: Plan,
    /// Jobs point to them.
    pub(crate) matches: StableVec<Match>,
    /// How many archetypes were looked at.
    seen: usize,
    /// For each of them, whether it matches: bits of words.
    is_match: Vec<u64>,
    /// Whether the plan asks for changes at all.
    pub(crate) asks_for_changes: bool,
    /// Whether there is a match of which not all rows have to be found.
    pub(crate) asks_for_bits: bool,
    /// The chunks of all matches.
    pub(super) chunks: KeptChunks,
}

/// An archetype that can have such entities.
pub(crate) struct Match {
    pub(crate) archetype: u32,
    /// What must be true of the masks of a chunk, for each entity.
    pub(crate) bits: Box<[Bit]>,
    /// Changes, which conditions name by number.
    pub(crate) changes: Box<[Change]>,
    /// The conditions about changes. A chunk has no rows that are found if it does not fulfil them all, with
    /// what is not known of whole chunks taken as true.
    pub(crate) changed: Box<[Bit]>,
    /// Whether one of them is not settled by that: then it is also one on the masks.
    pub(crate) asks_for_rows: bool,
    /// Where the parts are.
    pub(crate) places: Box<[Place]>,
}

/// Something that may have to have changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// One of these columns, of which there is one at least.
    Columns(Box<[ChangedColumn]>),
    /// Which entities the chunk has.
    Order,
}

impl Change {
    /// Whether it is known row by row.
    fn is_of_rows(&self) -> bool {
        match self {
            Self::Columns(columns) => columns.iter().any(|column| column.tracked().is_some()),
            Self::Order => false,
        }
    }
}

/// A column that may have to have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangedColumn {
    pub(crate) column: u32,
    /// Which of the tracked columns it is, or [`NOWHERE`] if it changes for all rows of a chunk at once.
    pub(crate) tracked: u32,
}

impl ChangedColumn {
    fn new(shape: &ArchetypeShape, column: u32) -> Self {
        let tracked = shape.tracked.binary_search(&column).map_or(NOWHERE, |at| at as u32);
        Self { column, tracked }
    }

    /// Which of the tracked columns it is, if it is one.
    pub(crate) fn tracked(self) -> Option<u32> {
        (self.tracked != NOWHERE).then_some(self.tracked)
    }
}

/// Where a part is in the chunks of an archetype.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Which column, or [`NOWHERE`] if the archetype does not have the component.
    pub(crate) column: u32,
    /// Where the column begins in the chunk. For shared components, which of them it is.
    pub(crate) offset: u32,
    /// Which mask says whether it is switched on, or [`NOWHERE`] if nobody asks.
    pub(crate) mask: u32,
}

impl Place {
    #[inline(always)]
    pub(crate) fn is_there(self) -> bool {
        self.column != NOWHERE
    }
}

/// A condition on the masks of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bit {
    On(u32),
    Off(u32),
    Any(Box<[u32]>),
    /// All conditions of one of the lists.
    Or(Box<[Box<[Bit]>]>),
    /// One of the changes has happened to the row, as was found out when the chunk was entered.
    Changed(u32),
}

impl Bit {
    /// Whether it is about changes, perhaps among other things.
    fn asks_for_changes(&self) -> bool {
        match self {
            Self::Changed(_) => true,
            Self::Or(lists) => lists.iter().flatten().any(Self::asks_for_changes),
            Self::On(_) | Self::Off(_) | Self::Any(_) => false,
        }
    }

    /// Whether all rows of a chunk fulfil it or none, by these changes.
    fn is_of_chunks(&self, changes: &[Change]) -> bool {
        match self {
            Self::Changed(which) => !changes[*which as usize].is_of_rows(),
            Self::Or(lists) => lists.iter().flatten().all(|bit| bit.is_of_chunks(changes)),
            Self::On(_) | Self::Off(_) | Self::Any(_) => false,
        }
    }
}

/// What conditions are asked of, in a chunk.
#[derive(Clone, Copy)]
pub(crate) struct Masks<'a> {
    pub(crate) enabled: &'a EnabledMasks,
    /// For each change, a bit for each row that says whether it has happened, or nothing if nobody asks. See
    /// [`find_changed`](super::changed_rows::find_changed).
    pub(crate) changed: &'a [u64],
}

impl Masks<'_> {
    /// To which of 64 rows a change has happened: those of a word of the masks of a chunk with so many rows.
    #[inline(always)]
    fn changed(&self, which: u32, word: u32, rows: u32) -> u64 {
        let at = (which * rows.div_ceil(u64::BITS) + word) as usize;
        debug_assert!(at < self.changed.len());
        // No loop has to know how to panic.
        self.changed.get(at).copied().unwrap_or_default()
    }
}

impl Matched {
    pub(crate) fn new(plan: Plan) -> Self {
        let asks_for_changes = plan.asks_for_changes();
        let matches = StableVec::default();
        matches.stay();
        Self {
            plan,
            matches,
            seen: 0,
            is_match: Vec::new(),
            asks_for_changes,
            asks_for_bits: false,
            chunks: KeptChunks::default(),
        }
    }

    /// Whether all archetypes were looked at, and nothing else is to be done.
    #[inline]
    pub(crate) fn is_settled(&self, archetypes: &Archetypes) -> bool {
        self.chunks.is_settled(archetypes)
    }

    /// Whether all archetypes were looked at.
    pub(crate) fn is_current(&self, archetypes: &Archetypes) -> bool {
        self.seen == archetypes.len()
    }

    /// Whether all chunks of all matches are found, and all rows of them, unless more is said when the query is asked.
    pub(super) fn is_plain(&self) -> bool {
        !self.asks_for_changes && !self.asks_for_bits
    }

    /// Looks at the archetypes that have come since.
    pub(crate) fn extend(&mut self, archetypes: &Archetypes) {
        while let Some(archetype) = archetypes.get(self.seen as u32) {
            let number = self.seen;
            self.seen += 1;
            if number.is_multiple_of(64) {
                self.is_match.push(0);
            }
            let Some(found) = match_archetype(&self.plan, &archetype.shape, number as u32) else {
                continue;
            };
            self.is_match[number / 64] |= 1 << (number % 64);
            self.asks_for_bits |= !found.bits.is_empty();
            self.matches.push(found);
        }
    }

    /// Whether an archetype matches.
    #[inline]
    pub(crate) fn has(&self, archetype: u32) -> bool {
        let word = self.is_match.get(archetype as usize / 64);
        word.is_some_and(|word| word >> (archetype % 64) & 1 != 0)
    }

    /// How many rows the archetypes have that match.
    pub(super) fn count_rows(&self, storage: &Storage) -> usize {
        let archetypes = self.matches.iter().map(|found| &storage.archetypes[found.archetype]);
        let chunks = archetypes.flat_map(|archetype| &archetype.chunks);
        chunks.map(|&chunk| storage.chunks[chunk].len as usize).sum()
    }

    /// How many chunks the archetypes have that match.
    pub(super) fn count_chunks(&self, storage: &Storage) -> usize {
        self.matches.iter().map(|found| storage.archetypes[found.archetype].chunks.len()).sum()
    }

    /// Whether the archetypes that match have no chunks, and so no rows.
    pub(super) fn has_no_chunks(&self, storage: &Storage) -> bool {
        self.matches.iter().all(|found| storage.archetypes[found.archetype].chunks.is_empty())
    }

    /// The match of an archetype, if it does.
    pub(crate) fn find(&self, archetype: u32) -> Option<&Match> {
        let at = self.matches.binary_search_by_key(&archetype, |found| found.archetype).ok()?;
        Some(&self.matches[at])
    }
}

fn place(shape: &ArchetypeShape, ty: ComponentType, asks: bool) -> Place {
    let Some(found) = shape.index.find(ty) else {
        return Place { column: NOWHERE, offset: 0, mask: NOWHERE };
    };
    let offset = match shape.shared.binary_search(&found.column) {
        Ok(at) => at as u32,
        Err(_) => found.offset,
    };
    let mask = found.mask().filter(|_| asks).unwrap_or(NOWHERE);
    Place { column: found.column, offset, mask }
}

/// Whether entities of an archetype can be what a plan asks for, and what has to be found out then.
fn match_archetype(plan: &Plan, shape: &ArchetypeShape, archetype: u32) -> Option<Match> {
    let ignores = plan.options.has(Options::IGNORE_ENABLED);
    let (mut changes, mut changed, mut bits) = (Vec::new(), Vec::new(), Vec::new());
    for bit in match_terms(&plan.terms, shape, ignores, &mut changes)? {
        if !bit.is_of_chunks(&changes) {
            bits.push(bit.clone());
        }
        changed.extend(Some(bit).filter(Bit::asks_for_changes));
    }
    let asks_for_rows = bits.iter().any(Bit::asks_for_changes);
    let places = plan.parts.iter().map(|part| place(shape, part.ty, part.bits || !ignores));
    Some(Match {
        archetype,
        bits: bits.into(),
        changes: changes.into(),
        changed: changed.into(),
        asks_for_rows,
        places: places.collect(),
    })
}

/// Whether entities of an archetype can fulfil all these conditions, and what must be true of the masks and of changes then. The
/// changes that are asked for are added to the list.
fn match_terms(
    terms: &[Term],
    shape: &ArchetypeShape,
    ignores: bool,
    changes: &mut Vec<Change>,
) -> Option<Vec<Bit>> {
    let mut bits = Vec::new();
    for term in terms {
        let bit = match term {
            Term::With(ty) => {
                let mask = shape.index.find(*ty)?.mask();
                mask.filter(|_| !ignores).map(Bit::On)
            }
            Term::Without(ty) => match shape.index.find(*ty) {
                None => None,
                Some(found) => Some(Bit::Off(found.mask().filter(|_| !ignores)?)),
            },
            Term::Any(types) => {
                let mut found = types.iter().filter_map(|&ty| shape.index.find(ty)).peekable();
                if !types.is_empty() {
                    found.peek()?;
                }
                // One that cannot be switched off is enough.
                let masks: Option<Box<[u32]>> = found.map(|found| found.mask()).collect();
                masks.filter(|masks| !ignores && !masks.is_empty()).map(Bit::Any)
            }
            Term::Absent(ty) => {
                if shape.has(*ty) {
                    return None;
                }
                None
            }
            Term::Present(ty) => {
                shape.index.find(*ty)?;
                None
            }
            Term::Disabled(ty) => {
                let mask = shape.index.find(*ty)?.mask();
                mask.filter(|_| !ignores).map(Bit::Off)
            }
            Term::Changed(types) => {
                let columns = types.iter().filter_map(|&ty| shape.index.find(ty));
                let columns: Box<[_]> =
                    columns.map(|found| ChangedColumn::new(shape, found.column)).collect();
                if columns.is_empty() {
                    return None;
                }
                Some(Bit::Changed(number(Change::Columns(columns), changes)))
            }
            Term::OrderChanged => Some(Bit::Changed(number(Change::Order, changes))),
            Term::NotOfOthers(known) => {
                let excluded = known.excluded_of(shape);
                for ty in shape.types.iter().copied().filter(|&ty| excluded.has(ty)) {
                    let mask = shape.index.find(ty)?.mask().filter(|_| !ignores)?;
                    bits.extend(Some(Bit::Off(mask)).filter(|bit| !bits.contains(bit)));
                }
                None
            }
            Term::Or(alternatives) => {
                let found = alternatives
                    .iter()
                    .filter_map(|terms| match_terms(terms, shape, ignores, changes));
                let found: Box<[Box<[Bit]>]> = found.map(Vec::into_boxed_slice).collect();
                if found.is_empty() {
                    return None;
                }
                // If one of them asks for nothing more, that is enough.
                found.iter().all(|bits| !bits.is_empty()).then_some(Bit::Or(found))
            }
        };
        bits.extend(bit.filter(|bit| !bits.contains(bit)));
    }
    Some(bits)
}

/// The number of a change in a list, to which it is added unless it is there.
fn number(change: Change, changes: &mut Vec<Change>) -> u32 {
    let at = changes.iter().position(|other| *other == change).unwrap_or(changes.len());
    if at == changes.len() {
        changes.push(change);
    }
    at as u32
}

/// Which of 64 rows fulfil all conditions: those of a word of the masks of a chunk with so many rows.
#[inline(always)]
pub(super) fn matching_rows(bits: &[Bit], masks: &Masks<'_>, word: u32, rows: u32) -> u64 {
    if let [Bit::On(mask)] = bits {
        // Mostly there is one, and bits of rows that are not there are zero.
        return masks.enabled.word(*mask, word as usize);
    }
    if let [Bit::Changed(which)] = bits {
        return masks.changed(*which, word, rows);
    }
    rows_of_all(bits, masks, word, rows)
}

#[inline(never)]
fn rows_of_all(bits: &[Bit], masks: &Masks<'_>, word: u32, rows: u32) -> u64 {
    all_of(bits, masks, (word, rows), rows_there(word, rows))
}

/// Which rows of a word are before this one.
#[inline(always)]
pub(super) fn rows_there(word: u32, end: u32) -> u64 {
    let left = end - word * u64::BITS;
    if left >= u64::BITS { u64::MAX } else { (1 << left) - 1 }
}

/// Which of these rows fulfil all conditions: rows of a word of the masks of a chunk with so many rows.
#[inline]
fn all_of(bits: &[Bit], masks: &Masks<'_>, (word, len): (u32, u32), rows: u64) -> u64 {
    let at = word as usize;
    bits.iter().fold(rows, |rows, bit| {
        rows & match bit {
            Bit::On(mask) => masks.enabled.word(*mask, at),
            Bit::Off(mask) => !masks.enabled.word(*mask, at),
            Bit::Changed(which) => masks.changed(*which, word, len),
            Bit::Any(any) => any.iter().fold(0, |rows, &mask| rows | masks.enabled.word(mask, at)),
            Bit::Or(lists) => one_of(lists, masks, (word, len), rows),
        }
    })
}

/// Which of these rows fulfil all conditions of one of the lists.
#[inline(never)]
fn one_of(lists: &[Box<[Bit]>], masks: &Masks<'_>, at: (u32, u32), rows: u64) -> u64 {
    lists.iter().fold(0, |any, bits| any | all_of(bits, masks, at, rows))
}
