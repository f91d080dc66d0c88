//! Which components entities would have, had the commands been carried out.
//!
//! Archetypes are made for entities that are there. What an entity is on its way to what it becomes, nobody ever is: so shapes are
//! only lists of types, with the ways from one to another remembered, and an archetype is found for those that entities end in.

use ancho_collections::FixedState;
use hashbrown::HashMap;

use crate::builtin::CleanupEntity;
use crate::component::ComponentType;
use crate::manager::LinkedEntityGroup;
use crate::manager::sets::Sets;
use crate::storage::{
    ArchetypeShape, Archetypes, Change, Edge, NOWHERE, StorageSettings, sort_types,
};

/// How many types a shape has at most: one bit of a word for each.
pub(super) const MOST_TYPES: usize = 64;

/// A set of types that entities have, or would have.
pub(super) struct Shape {
    /// As archetypes have them.
    pub(super) types: Box<[ComponentType]>,
    /// The archetype of these types, or [`NOWHERE`], if it was not asked for yet.
    pub(super) archetype: u32,
    /// Whether commands for entities of it can be carried out together with others: the rest is done one by one.
    pub(super) folds: bool,
    /// Whether some of the types are shared, so that entities of it are in groups.
    pub(super) has_shared: bool,
    /// Whether nothing is left of an entity that is despawned, and nobody goes with it.
    pub(super) goes: bool,
    /// Where entities are gathered that end in this shape, while a stretch is carried out, or [`NOWHERE`].
    pub(super) target: u32,
}

/// What becomes of an entity of a shape.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) to: u32,
    /// Whether the shape has one of the types of the set.
    pub(super) has_one: bool,
    /// Whether it has all of them.
    pub(super) has_all: bool,
    /// Whether the entity has the same shared values then.
    pub(super) keeps_shared: bool,
}

/// All shapes that were met, by their numbers. The first is that without types.
#[derive(Default)]
pub(super) struct Shapes {
    list: Vec<Shape>,
    by_types: HashMap<Box<[ComponentType]>, u32, FixedState>,
    /// The shape of each archetype, or [`NOWHERE`].
    by_archetype: Vec<u32>,
    ways: HashMap<Edge, Way, FixedState>,
    /// Those that were asked for last: mostly a few take turns.
    recent: Vec<Option<(Edge, Way)>>,
}

/// How many ways are found again without a map.
const RECENT: usize = 64;

impl Shapes {
    /// The shape of an archetype.
    #[inline]
    pub(super) fn of_archetype(
        &mut self,
        archetype: u32,
        archetypes: &Archetypes,
        settings: &StorageSettings,
    ) -> u32 {
        match self.by_archetype.get(archetype as usize) {
            Some(&shape) if shape != NOWHERE => shape,
            _ => self.find_archetype(archetype, archetypes, settings),
        }
    }

    #[cold]
    fn find_archetype(
        &mut self,
        archetype: u32,
        archetypes: &Archetypes,
        settings: &StorageSettings,
    ) -> u32 {
        let number = self.of_types(&archetypes[archetype].shape.types, settings);
        self.note_archetype(number, archetype);
        number
    }

    /// Notes which archetype is that of a shape.
    pub(super) fn note_archetype(&mut self, shape: u32, archetype: u32) {
        if archetype as usize >= self.by_archetype.len() {
            self.by_archetype.resize(archetype as usize + 1, NOWHERE);
        }
        self.by_archetype[archetype as usize] = shape;
        self[shape].archetype = archetype;
    }

    /// The shape of types, which are sorted.
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
        let folds = types.len() <= MOST_TYPES
            && types.iter().all(is_simple)
            && !is_cleanup_only
            && ArchetypeShape::new(types, settings).is_ok();
        let goes = types.iter().all(|&ty| !ty.is_cleanup() && ty != group);
        let has_shared = types.iter().any(|ty| ty.is_shared());
        let number = u32::try_from(self.list.len()).expect("fewer shapes than entities");
        let (archetype, target) = (NOWHERE, NOWHERE);
        self.list.push(Shape { types: types.into(), archetype, folds, has_shared, goes, target });
        self.by_types.insert(types.into(), number);
        number
    }

    /// The shape without types, which entities have before they are given something.
    #[inline]
    pub(super) fn empty(&mut self, settings: &StorageSettings) -> u32 {
        if self.list.is_empty() {
            self.of_types(&[], settings);
        }
        0
    }

    /// What becomes of an entity of a shape that a set is given to, or taken from.
    #[inline]
    pub(super) fn way(&mut self, edge: Edge, sets: &Sets, settings: &StorageSettings) -> Way {
        let place = (edge.from ^ edge.set << 3 ^ (edge.change as u32) << 1) as usize % RECENT;
        match self.recent.get(place) {
            Some(&Some((recent, way))) if recent == edge => way,
            _ => self.find_way(edge, place, sets, settings),
        }
    }

    #[inline(never)]
    fn find_way(
        &mut self,
        edge: Edge,
        place: usize,
        sets: &Sets,
        settings: &StorageSettings,
    ) -> Way {
        let way = match self.ways.get(&edge) {
            Some(&way) => way,
            None => {
                let way = self.make_way(edge, sets, settings);
                self.ways.insert(edge, way);
                way
            }
        };
        if self.recent.is_empty() {
            self.recent.resize(RECENT, None);
        }
        self.recent[place] = Some((edge, way));
        way
    }

    #[cold]
    fn make_way(&mut self, edge: Edge, sets: &Sets, settings: &StorageSettings) -> Way {
        let set = &sets.get(edge.set).types;
        let mut types = self[edge.from].types.to_vec();
        let has_one = set.iter().any(|ty| types.contains(ty));
        let has_all = set.iter().all(|ty| types.contains(ty));
        let is_lost = |ty: &ComponentType| edge.change != Change::Remove || types.contains(ty);
        let keeps_shared = !set.iter().any(|ty| ty.is_shared() && is_lost(ty));
        match edge.change {
            Change::Remove => types.retain(|ty| !set.contains(ty)),
            Change::Add => {
                let new: Vec<_> = set.iter().filter(|ty| !types.contains(ty)).copied().collect();
                types.extend(new);
            }
            _ => {}
        }
        let sorted = sort_types(&mut types);
        debug_assert!(sorted.is_ok(), "sets have no type twice, and what is there is not added");
        Way { to: self.of_types(&types, settings), has_one, has_all, keeps_shared }
    }
}

impl std::ops::Index<u32> for Shapes {
    type Output = Shape;

    #[inline]
    fn index(&self, number: u32) -> &Shape {
        &self.list[number as usize]
    }
}

impl std::ops::IndexMut<u32> for Shapes {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Shape {
        &mut self.list[number as usize]
    }
}
