//! Query state: the matching archetypes, and the conditions on the rows of their chunks.

use std::fmt;

use super::cache::ChunkCache;
use super::terms::{Options, Plan, Term};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::storage::{ArchetypeShape, Archetypes, EnabledMasks, NOWHERE, StableVec, Storage};

/// The state of a query in a world: its plan and the matching archetypes.
pub(crate) struct QueryState {
    pub(crate) plan: Plan,
    /// The matching archetypes, in ascending order. Jobs point to the matches, so their addresses are stable.
    pub(crate) matches: StableVec<Match>,
    /// Number of archetypes that were tested.
    seen: usize,
    /// One bit for each tested archetype, set if the archetype matches.
    is_match: Vec<u64>,
    /// True if the plan has change conditions.
    pub(crate) asks_for_changes: bool,
    /// True if a match has conditions on rows.
    pub(crate) asks_for_bits: bool,
    /// The chunks of all matches.
    pub(crate) chunks: ChunkCache,
}

/// A matching archetype, and the conditions that remain for its chunks and rows.
pub(crate) struct Match {
    pub(crate) archetype: u32,
    /// Conditions on the masks of a chunk, which are evaluated for each row.
    pub(crate) bits: Box<[Bit]>,
    /// The changes that [`Bit::Changed`] conditions refer to by index.
    pub(crate) changes: Box<[Change]>,
    /// The conditions that contain a change. A chunk that does not fulfil all of them has no matching rows. When a chunk is tested,
    /// conditions that depend on rows count as fulfilled.
    pub(crate) changed: Box<[Bit]>,
    /// True if a change condition depends on rows. `bits` contains such conditions too.
    pub(crate) asks_for_rows: bool,
    /// The places of the query's parts in the chunks, in the order of the parts.
    pub(crate) places: Box<[Place]>,
}

/// A change that a condition depends on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// At least one of these columns was written. The list is not empty.
    Columns(Box<[ChangedColumn]>),
    /// The chunk gained or lost entities.
    Order,
}

/// A column whose changes a condition depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangedColumn {
    pub(crate) column: u32,
    /// Index among the tracked columns of the archetype. [`NOWHERE`] if the column is not tracked, so that a change applies to all
    /// rows of a chunk.
    pub(crate) tracked: u32,
}

impl ChangedColumn {
    fn new(shape: &ArchetypeShape, column: u32, is_added: bool) -> Self {
        // The versions at which types arrived follow those of their changes.
        let first = if is_added { shape.tracked.len() } else { 0 };
        let tracked = shape.tracked.binary_search(&column);
        let tracked = tracked.map_or(NOWHERE, |at| (first + at) as u32);
        Self { column, tracked }
    }

    /// Returns the index among the tracked columns, if the column is tracked.
    pub(crate) fn tracked(self) -> Option<u32> {
        (self.tracked != NOWHERE).then_some(self.tracked)
    }
}

/// The place of a `Part` in the chunks of an archetype.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The column, or [`NOWHERE`] if the archetype does not have the component.
    pub(crate) column: u32,
    /// Offset of the column in the chunk's memory. For shared components, the index among the shared components of the archetype.
    pub(crate) offset: u32,
    /// Index of the mask of enabled bits. [`NOWHERE`] if the component has none, or the query ignores them.
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
    /// The row fulfils all conditions of at least one of the lists.
    Or(Box<[Box<[Bit]>]>),
    /// The change with this index happened to the row. Changed rows are determined when a loop enters the chunk.
    Changed(u32),
}

impl Bit {
    /// Returns `true` if `test` returns `true` for the condition, or, in an `Or`, for at least one of its conditions. Stops at the
    /// first.
    pub(crate) fn any_leaf(&self, test: &mut dyn FnMut(&Self) -> bool) -> bool {
        match self {
            Self::Or(lists) => lists.iter().flatten().any(|bit| bit.any_leaf(test)),
            leaf => test(leaf),
        }
    }

    /// Returns `true` if the condition is a change condition, or an `Or` that contains one.
    fn asks_for_changes(&self) -> bool {
        self.any_leaf(&mut |bit| matches!(bit, Self::Changed(_)))
    }

    /// Returns `true` if the condition always has the same result for all rows of a chunk. `changes` is the list of the match.
    fn is_of_chunks(&self, changes: &[Change]) -> bool {
        !self.any_leaf(&mut |bit| match bit {
            Self::Changed(which) => match &changes[*which as usize] {
                Change::Columns(columns) => columns.iter().any(|column| column.tracked().is_some()),
                Change::Order => false,
            },
            _ => true,
        })
    }
}

/// The bits of a chunk that conditions are evaluated with.
#[derive(Clone, Copy)]
pub(crate) struct Masks<'a> {
    pub(crate) enabled: &'a EnabledMasks,
    /// One bit per change and row, set if the change happened to the row. Empty if no condition depends on changed rows.
    pub(crate) changed: &'a [u64],
}

impl Masks<'_> {
    /// Returns the changed rows of one mask word, for the change with index `which`, in a chunk with `rows` rows.
    #[inline(always)]
    fn changed(&self, which: u32, word: u32, rows: u32) -> u64 {
        let at = (which * rows.div_ceil(u64::BITS) + word) as usize;
        debug_assert!(at < self.changed.len());
        // `get` instead of an index: without a panic for the bounds check, loops stay small.
        self.changed.get(at).copied().unwrap_or_default()
    }
}

impl QueryState {
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
            chunks: ChunkCache::default(),
        }
    }

    /// Returns `true` if all archetypes were tested and the chunk list is up to date.
    #[inline]
    pub(crate) fn is_settled(&self, archetypes: &Archetypes) -> bool {
        self.chunks.is_settled(archetypes)
    }

    /// Returns `true` if all archetypes were tested.
    pub(crate) fn is_current(&self, archetypes: &Archetypes) -> bool {
        self.seen == archetypes.len()
    }

    /// Returns `true` if the plan selects all rows of all matches. Required shared values are not part of the plan.
    pub(crate) fn is_plain(&self) -> bool {
        !self.asks_for_changes && !self.asks_for_bits
    }

    /// Tests the archetypes that were added since the last call, and adds those that match.
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

    /// Returns `true` if an archetype matches.
    #[inline]
    pub(crate) fn has(&self, archetype: u32) -> bool {
        let word = self.is_match.get(archetype as usize / 64);
        word.is_some_and(|word| word >> (archetype % 64) & 1 != 0)
    }

    /// Returns the number of rows of the matching archetypes.
    pub(crate) fn count_rows(&self, storage: &Storage) -> usize {
        let archetypes = self.matches.iter().map(|found| &storage.archetypes[found.archetype]);
        let chunks = archetypes.flat_map(|archetype| &archetype.chunks);
        chunks.map(|&chunk| storage.chunks[chunk].len as usize).sum()
    }

    /// Returns the number of chunks of the matching archetypes.
    pub(crate) fn count_chunks(&self, storage: &Storage) -> usize {
        self.matches.iter().map(|found| storage.archetypes[found.archetype].chunks.len()).sum()
    }

    /// Returns `true` if the matching archetypes have no chunks.
    pub(crate) fn has_no_chunks(&self, storage: &Storage) -> bool {
        self.matches.iter().all(|found| storage.archetypes[found.archetype].chunks.is_empty())
    }

    /// Returns the match of an archetype, or `None` if the archetype does not match.
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

/// Tests whether an archetype matches a plan. Returns the conditions that remain for its chunks and rows.
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

/// Tests whether an archetype matches terms. Returns the remaining conditions on masks and changes. Adds the changes that these
/// conditions refer to to `changes`.
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
                // If one of the components is not enableable, all rows match, and no condition remains.
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
            Term::Changed(types) | Term::Added(types) => {
                let is_added = matches!(term, Term::Added(_));
                let columns = types.iter().filter_map(|&ty| shape.index.find(ty));
                let columns: Box<[_]> = columns
                    .map(|found| ChangedColumn::new(shape, found.column, is_added))
                    .collect();
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
                // If no condition remains for one of the alternatives, all rows match.
                found.iter().all(|bits| !bits.is_empty()).then_some(Bit::Or(found))
            }
        };
        bits.extend(bit.filter(|bit| !bits.contains(bit)));
    }
    Some(bits)
}

/// Returns the index of a change in a list. Adds the change if the list does not contain it.
fn number(change: Change, changes: &mut Vec<Change>) -> u32 {
    let at = changes.iter().position(|other| *other == change).unwrap_or(changes.len());
    if at == changes.len() {
        changes.push(change);
    }
    at as u32
}

/// Returns the rows of one mask word that fulfil all conditions, as bits, in a chunk with `rows` rows.
#[inline(always)]
pub(crate) fn matching_rows(bits: &[Bit], masks: &Masks<'_>, word: u32, rows: u32) -> u64 {
    if let [Bit::On(mask)] = bits {
        // The most common case. The bits beyond the last row are zero.
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

/// Returns the rows of one mask word that are before row `end`, as bits.
#[inline(always)]
pub(crate) fn rows_there(word: u32, end: u32) -> u64 {
    let left = end - word * u64::BITS;
    if left >= u64::BITS { u64::MAX } else { (1 << left) - 1 }
}

/// Returns those of `rows`, bits of one mask word, that fulfil all conditions.
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

/// Returns those of `rows`, bits of one mask word, that fulfil all conditions of at least one of the lists.
#[inline(never)]
fn one_of(lists: &[Box<[Bit]>], masks: &Masks<'_>, at: (u32, u32), rows: u64) -> u64 {
    lists.iter().fold(0, |any, bits| any | all_of(bits, masks, at, rows))
}

/// Tests whether an entity's archetype matches a query. Returned by [`Query::mask`](crate::Query::mask).
///
/// The test ignores enabled state, changes and shared values. This is Unity's `EntityQueryMask`.
#[derive(Clone, Copy)]
pub struct QueryMask<'w> {
    pub(crate) storage: &'w Storage,
    pub(crate) matched: &'w QueryState,
}

impl QueryMask<'_> {
    /// Returns `true` if an entity exists and its archetype matches.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Enemy;
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, tree) = (world.spawn(Enemy), world.spawn(()));
    /// let query = world.query::<&Enemy>();
    /// let enemies = query.mask();
    /// assert!(enemies.matches(orc) && !enemies.matches(tree));
    /// ```
    #[inline]
    pub fn matches(&self, entity: Entity) -> bool {
        let at = self.storage.table.locate(entity);
        at.is_some_and(|at| self.matched.has(self.storage.archetype_at(at)))
    }
}

impl fmt::Debug for QueryMask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryMask")
            .field("archetypes", &self.matched.matches.len())
            .finish_non_exhaustive()
    }
}
