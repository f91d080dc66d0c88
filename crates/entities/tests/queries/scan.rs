//! A scan of all entities, to compare queries with.

use std::collections::BTreeMap;
use std::rc::Rc;

use ancho_entities::{ComponentType, Entity, QueryDescriptor, Version, World};

use crate::common::*;

/// The components of a model entity: values, and whether they are enabled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) a: Option<u32>,
    pub(crate) x: Option<(u32, bool)>,
    pub(crate) y: Option<bool>,
    pub(crate) team: Option<u32>,
    pub(crate) prefab: bool,
    pub(crate) disabled: bool,
    /// The version of the last write.
    pub(crate) a_at: Option<Version>,
    pub(crate) x_at: Option<Version>,
}

/// A component of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    A,
    X,
    Y,
    Team,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Absent,
    On,
    Off,
}

impl Row {
    fn state(&self, kind: Kind) -> State {
        let state = |on: Option<bool>| match on {
            None => State::Absent,
            Some(true) => State::On,
            Some(false) => State::Off,
        };
        match kind {
            Kind::A => state(self.a.map(|_| true)),
            Kind::X => state(self.x.map(|(_, on)| on)),
            Kind::Y => state(self.y),
            Kind::Team => state(self.team.map(|_| true)),
        }
    }

    /// Returns the archetype and the shared values of an entity.
    fn shape(&self) -> [Option<u32>; 6] {
        let is = |is: bool| is.then_some(0);
        let (a, x, y) = (is(self.a.is_some()), is(self.x.is_some()), is(self.y.is_some()));
        [a, x, y, self.team, is(self.prefab), is(self.disabled)]
    }
}

/// A filter in the model.
#[derive(Debug)]
pub(crate) enum Cond {
    With(Kind),
    Without(Kind),
    Present(Kind),
    Absent(Kind),
    Off(Kind),
    Any(&'static [Kind]),
    /// Only for `A` and `X`.
    Changed(&'static [Kind]),
    Order,
    All(&'static [Cond]),
    Or(&'static [Cond]),
}

/// The use of enabled state.
#[derive(Clone, Copy)]
pub(crate) enum Switches {
    /// Enabled state counts.
    Count,
    /// Enabled state is ignored: a component is present or absent.
    Ignored,
    /// Any enabled state is possible.
    Possible,
}

/// Changes of an entity.
#[derive(Clone, Copy, Default)]
pub(crate) struct Changes {
    a: bool,
    x: bool,
    order: bool,
}

impl Changes {
    pub(crate) const ALL: Self = Self { a: true, x: true, order: true };
}

impl Cond {
    /// Returns whether a row passes the filter.
    pub(crate) fn holds(&self, row: &Row, switches: Switches, changes: Changes) -> bool {
        let is_there = |kind: &Kind| row.state(*kind) != State::Absent;
        let is_on = |kind: &Kind| match switches {
            Switches::Count => row.state(*kind) == State::On,
            Switches::Ignored | Switches::Possible => is_there(kind),
        };
        match self {
            Self::With(kind) => is_on(kind),
            Self::Without(kind) => match switches {
                Switches::Possible => !is_there(kind) || matches!(kind, Kind::X | Kind::Y),
                Switches::Count | Switches::Ignored => !is_on(kind),
            },
            Self::Present(kind) => is_there(kind),
            Self::Absent(kind) => !is_there(kind),
            Self::Off(kind) => match switches {
                Switches::Count => row.state(*kind) == State::Off,
                Switches::Ignored | Switches::Possible => is_there(kind),
            },
            Self::Any(kinds) => kinds.iter().any(is_on),
            Self::Changed(kinds) => kinds.iter().any(|kind| match kind {
                Kind::A => row.a.is_some() && changes.a,
                Kind::X => row.x.is_some() && changes.x,
                Kind::Y | Kind::Team => unreachable!("the model does not know"),
            }),
            Self::Order => changes.order,
            Self::All(list) => list.iter().all(|cond| cond.holds(row, switches, changes)),
            Self::Or(list) => list.iter().any(|cond| cond.holds(row, switches, changes)),
        }
    }

    /// Returns whether the filter contains a change filter.
    pub(crate) fn asks_for_changes(&self) -> bool {
        match self {
            Self::Changed(_) | Self::Order => true,
            Self::All(list) | Self::Or(list) => list.iter().any(Self::asks_for_changes),
            _ => false,
        }
    }

    /// Returns the same query by types known at run time.
    pub(crate) fn dynamic(&self) -> QueryDescriptor {
        match self {
            Self::Or(list) => {
                let all = list.iter().map(|cond| cond.add_to(QueryDescriptor::new()));
                all.reduce(QueryDescriptor::or).expect("there is one")
            }
            // Further conditions apply to all alternatives.
            Self::All([conds @ .., union @ Self::Or(_)]) => {
                conds.iter().fold(union.dynamic(), |query, cond| cond.add_to(query))
            }
            _ => self.add_to(QueryDescriptor::new()),
        }
    }

    fn add_to(&self, query: QueryDescriptor) -> QueryDescriptor {
        match self {
            Self::With(kind) => query.all([ty(*kind)]),
            Self::Without(kind) => query.none([ty(*kind)]),
            Self::Present(kind) => query.present([ty(*kind)]),
            Self::Absent(kind) => query.absent([ty(*kind)]),
            Self::Off(kind) => query.disabled([ty(*kind)]),
            Self::Any(kinds) => query.any(kinds.iter().map(|&kind| ty(kind))),
            Self::Changed(kinds) => query.changed(kinds.iter().map(|&kind| ty(kind))),
            Self::Order => query.order_changed(),
            Self::All(list) => list.iter().fold(query, |query, cond| cond.add_to(query)),
            Self::Or(_) => unreachable!("the model asks for no union among several"),
        }
    }
}

fn ty(kind: Kind) -> ComponentType {
    match kind {
        Kind::A => ComponentType::of::<A>(),
        Kind::X => ComponentType::of::<X>(),
        Kind::Y => ComponentType::of::<Y>(),
        Kind::Team => ComponentType::of_shared::<Team>(),
    }
}

/// Query options other than the filter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) prefabs: bool,
    pub(crate) disabled: bool,
    pub(crate) ignore_enabled: bool,
}

impl Options {
    pub(crate) fn of_dynamic(self, mut query: QueryDescriptor) -> QueryDescriptor {
        if self.prefabs {
            query = query.include_prefabs();
        }
        if self.disabled {
            query = query.include_disabled();
        }
        if self.ignore_enabled {
            query = query.ignore_enabled();
        }
        query
    }
}

/// The chunk of each entity, and when it changed.
#[derive(Default)]
pub(crate) struct Places {
    of: BTreeMap<Entity, Place>,
    chunks: usize,
}

struct Place {
    chunk: usize,
    /// All entities of its chunk, in row order and sorted.
    neighbours: Rc<[Entity]>,
    sorted: Rc<[Entity]>,
    shape: [Option<u32>; 6],
    /// The version at which the set of entities in the chunk changed.
    new_neighbours: Option<Version>,
    /// The version at which rows may have been reordered: by new or removed rows, another row order, or another
    /// archetype.
    moved: Option<Version>,
}

impl Places {
    /// Records the current chunks of the entities.
    pub(crate) fn note(&mut self, world: &World, rows: &[(Entity, Row)]) {
        let shapes: BTreeMap<_, _> =
            rows.iter().map(|(entity, row)| (*entity, row.shape())).collect();
        let mut before = std::mem::take(&mut self.of);
        let now = Some(world.version());
        self.chunks = 0;
        for chunk in world.chunks() {
            let neighbours: Rc<[Entity]> = chunk.entities().into();
            let mut sorted = chunk.entities().to_vec();
            sorted.sort();
            let sorted: Rc<[Entity]> = sorted.into();
            for &entity in chunk.entities() {
                let shape = shapes.get(&entity).copied().unwrap_or_default();
                let (mut new_neighbours, mut moved) = (now, now);
                if let Some(old) = before.remove(&entity) {
                    if old.sorted == sorted {
                        new_neighbours = old.new_neighbours;
                    }
                    if old.neighbours == neighbours && old.shape == shape {
                        moved = old.moved;
                    }
                }
                let (neighbours, sorted) = (Rc::clone(&neighbours), Rc::clone(&sorted));
                let chunk = self.chunks;
                let place = Place { chunk, neighbours, sorted, shape, new_neighbours, moved };
                self.of.insert(entity, place);
            }
            self.chunks += 1;
        }
    }

    /// Returns the changes of each row since a version: the least and the most that a query may report, since changes
    /// are tracked per chunk.
    pub(crate) fn changes(
        &self,
        rows: &[(Entity, Row)],
        since: Version,
    ) -> Vec<(Changes, Changes)> {
        let is_new = |at: Option<Version>| at.is_some_and(|at| at.is_newer_than(since));
        let mut most = vec![Changes::default(); self.chunks];
        for (entity, row) in rows {
            let place = &self.of[entity];
            let (of_chunk, moved) = (&mut most[place.chunk], is_new(place.moved));
            // A new or removed row may count as a change of all columns of the chunk.
            of_chunk.a |= is_new(row.a_at) || moved;
            of_chunk.x |= is_new(row.x_at) || moved;
            of_chunk.order |= moved;
        }
        let of_row = |(entity, row): &(Entity, Row)| {
            let place = &self.of[entity];
            let (a, x) = (is_new(row.a_at), is_new(row.x_at));
            (Changes { a, x, order: is_new(place.new_neighbours) }, most[place.chunk])
        };
        rows.iter().map(of_row).collect()
    }
}
