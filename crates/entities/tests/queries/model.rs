//! Random worlds and queries, compared with a scan of all entities.

use ancho_entities::{
    Absent, Any, Changed, ComponentType, Disabled, Entity, IsDisabled, Prefab, Present,
    QueryFilter, Shared, Version, With, Without, World, WorldSettings,
};
use proptest::prelude::*;

use crate::common::*;

/// What an entity of the model has: values, and whether they are on.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    a: Option<u32>,
    x: Option<(u32, bool)>,
    y: Option<bool>,
    team: Option<u32>,
    prefab: bool,
    disabled: bool,
}

#[derive(Clone, Debug)]
enum Op {
    Spawn(u8),
    Despawn(usize),
    AddA(usize, u32),
    AddX(usize, u32),
    AddY(usize),
    SetTeam(usize, u32),
    Remove(usize, u8),
    SwitchX(usize, bool),
    SwitchY(usize, bool),
    Mark(usize, bool),
    /// Adds to all X that are found together with A.
    Write,
    /// Does something to all that one of the queries finds.
    ByQuery(u8, u8),
    /// The world becomes its fork, and the other is written to.
    Fork,
    Ask,
}

fn op() -> impl Strategy<Value = Op> {
    let at = 0..200_usize;
    prop_oneof![
        4 => (0..16_u8).prop_map(Op::Spawn),
        1 => at.clone().prop_map(Op::Despawn),
        1 => (at.clone(), any::<u32>()).prop_map(|(at, value)| Op::AddA(at, value)),
        1 => (at.clone(), 0..1000_u32).prop_map(|(at, value)| Op::AddX(at, value)),
        1 => at.clone().prop_map(Op::AddY),
        1 => (at.clone(), 0..3_u32).prop_map(|(at, team)| Op::SetTeam(at, team)),
        2 => (at.clone(), 0..4_u8).prop_map(|(at, which)| Op::Remove(at, which)),
        3 => (at.clone(), any::<bool>()).prop_map(|(at, on)| Op::SwitchX(at, on)),
        3 => (at.clone(), any::<bool>()).prop_map(|(at, on)| Op::SwitchY(at, on)),
        1 => (at, any::<bool>()).prop_map(|(at, prefab)| Op::Mark(at, prefab)),
        1 => Just(Op::Write),
        2 => (0..15_u8, 0..6_u8).prop_map(|(what, which)| Op::ByQuery(what, which)),
        1 => Just(Op::Fork),
        1 => Just(Op::Ask),
    ]
}

struct Model {
    world: World,
    rows: Vec<(Entity, Row)>,
}

impl Model {
    fn row(&mut self, at: usize) -> Option<(&mut World, &mut (Entity, Row))> {
        if self.rows.is_empty() {
            return None;
        }
        let at = at % self.rows.len();
        Some((&mut self.world, &mut self.rows[at]))
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Spawn(kind) => {
                let world = &mut self.world;
                let mut row = Row::default();
                let entity = world.spawn(());
                if kind & 1 != 0 {
                    world.add(entity, A(1)).unwrap();
                    row.a = Some(1);
                }
                if kind & 2 != 0 {
                    world.add(entity, X(2)).unwrap();
                    row.x = Some((2, true));
                }
                if kind & 4 != 0 {
                    world.add(entity, Y).unwrap();
                    row.y = Some(true);
                }
                if kind & 8 != 0 {
                    world.add(entity, Shared::new(Team(1))).unwrap();
                    row.team = Some(1);
                }
                self.rows.push((entity, row));
            }
            Op::Despawn(at) => {
                if !self.rows.is_empty() {
                    let at = at % self.rows.len();
                    let (entity, _) = self.rows.swap_remove(at);
                    self.world.despawn(entity).unwrap();
                }
            }
            Op::AddA(at, value) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                world.add(*entity, A(value)).unwrap();
                row.a = Some(value);
            }
            Op::AddX(at, value) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                world.add(*entity, X(value)).unwrap();
                row.x = Some((value, row.x.is_none_or(|(_, on)| on)));
            }
            Op::AddY(at) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                world.add(*entity, Y).unwrap();
                row.y = Some(row.y.unwrap_or(true));
            }
            Op::SetTeam(at, team) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                world.add_shared(*entity, Team(team)).unwrap();
                row.team = Some(team);
            }
            Op::Remove(at, which) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                match which {
                    0 => (row.a, _) = (None, world.remove::<A>(*entity).unwrap()),
                    1 => (row.x, _) = (None, world.remove::<X>(*entity).unwrap()),
                    2 => (row.y, _) = (None, world.remove::<Y>(*entity).unwrap()),
                    _ => (row.team, _) = (None, world.remove_shared::<Team>(*entity).unwrap()),
                }
            }
            Op::SwitchX(at, on) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                let done = world.entities_mut().set_component_enabled::<X>(*entity, on);
                assert_eq!(done.is_ok(), row.x.is_some());
                row.x = row.x.map(|(value, _)| (value, on));
            }
            Op::SwitchY(at, on) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                let done = world.entities_mut().set_component_enabled::<Y>(*entity, on);
                assert_eq!(done.is_ok(), row.y.is_some());
                row.y = row.y.map(|_| on);
            }
            Op::Mark(at, prefab) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                if prefab {
                    world.add(*entity, Prefab).unwrap();
                    row.prefab = true;
                } else {
                    world.add(*entity, Disabled).unwrap();
                    row.disabled = true;
                }
            }
            Op::Write => {
                let query = self.world.query_mut::<(&mut X, &A)>();
                query.for_each(|(x, a)| x.0 = x.0.wrapping_add(a.0));
                for (_, row) in &mut self.rows {
                    if let (Some((x, true)), Some(a), false, false) =
                        (&mut row.x, row.a, row.prefab, row.disabled)
                    {
                        *x = x.wrapping_add(a);
                    }
                }
            }
            Op::ByQuery(what, which) => {
                let x_on = |row: &Row| row.x.is_some_and(|(_, on)| on);
                match which {
                    0 => self.by_query::<()>(what, |_| true),
                    1 => self.by_query::<With<X>>(what, x_on),
                    2 => self.by_query::<(With<A>, Without<X>)>(what, |row| {
                        row.a.is_some() && !x_on(row)
                    }),
                    3 => self.by_query::<IsDisabled<Y>>(what, |row| row.y == Some(false)),
                    4 => self.by_query::<With<Shared<Team>>>(what, |row| row.team.is_some()),
                    _ => self.by_query::<Changed<A>>(what, |row| row.a.is_some()),
                }
            }
            Op::Fork => {
                let fork = self.world.fork().unwrap();
                let mut other = std::mem::replace(&mut self.world, fork);
                other.query_mut::<(&mut A, Option<&mut X>)>().for_each(|(a, x)| {
                    a.0 = u32::MAX;
                    x.into_iter().for_each(|x| x.0 = u32::MAX);
                });
                other.check_invariants().unwrap();
            }
            Op::Ask => self.ask(),
        }
    }

    /// Does something to all that a filter finds, which it knows by what the rows have.
    fn by_query<F: QueryFilter>(&mut self, what: u8, wanted: impl Fn(&Row) -> bool) {
        let query = self.world.query_mut::<()>().filter::<F>();
        let is_found = |row: &Row| wanted(row) && !row.prefab && !row.disabled;
        let mut rows: Vec<_> = self.rows.iter_mut().map(|(_, row)| row).collect();
        rows.retain(|row| is_found(row));
        let count =
            |is_counted: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is_counted(row)).count();
        let (found, expected) = match what {
            0 => (query.despawn().unwrap(), rows.len()),
            1 => (query.add(A(7)).unwrap(), count(&|row| row.a.is_none())),
            2 => (query.add(X(8)).unwrap(), count(&|row| row.x.is_none())),
            3 => (query.add(Y).unwrap(), count(&|row| row.y.is_none())),
            4 => (query.add(Shared::new(Team(2))).unwrap(), count(&|row| row.team.is_none())),
            5 => (query.remove::<A>().unwrap(), count(&|row| row.a.is_some())),
            6 => (query.remove::<X>().unwrap(), count(&|row| row.x.is_some())),
            7 => (query.remove::<Y>().unwrap(), count(&|row| row.y.is_some())),
            8 => (query.remove::<Shared<Team>>().unwrap(), count(&|row| row.team.is_some())),
            9 => (query.set_enabled(false).unwrap(), rows.len()),
            10 | 11 => {
                let switched = query.set_component_enabled::<X>(what == 10);
                if count(&|row| row.x.is_none()) > 0 {
                    switched.unwrap_err();
                    return;
                }
                (switched.unwrap(), rows.len())
            }
            12 => {
                let set = query.set_shared(Team(0));
                if count(&|row| row.team.is_none()) > 0 {
                    set.unwrap_err();
                    return;
                }
                (set.unwrap(), count(&|row| row.team != Some(0)))
            }
            13 => {
                let types = [ComponentType::of::<X>(), ComponentType::of_shared::<Team>()];
                let lack = count(&|row| row.x.is_none() || row.team.is_none());
                (query.add_types(&types).unwrap(), lack)
            }
            _ => {
                let set = (Y, A(9), Shared::new(Team(1)), X(3));
                let lack = count(&|row| {
                    row.y.is_none() || row.a.is_none() || row.team.is_none() || row.x.is_none()
                });
                (query.add(set).unwrap(), lack)
            }
        };
        assert_eq!(found, expected, "what {what}");
        let x_of = |row: &Row, value| Some((value, row.x.is_none_or(|(_, on)| on)));
        for row in &mut rows {
            match what {
                1 => row.a = Some(7),
                2 => row.x = x_of(row, 8),
                3 => row.y = Some(row.y.unwrap_or(true)),
                4 => row.team = Some(2),
                5 => row.a = None,
                6 => row.x = None,
                7 => row.y = None,
                8 => row.team = None,
                9 => row.disabled = true,
                10 | 11 => row.x = row.x.map(|(value, _)| (value, what == 10)),
                12 => row.team = Some(0),
                13 => {
                    row.x = row.x.or(Some((0, true)));
                    row.team = row.team.or(Some(0));
                }
                14 => {
                    row.a = Some(9);
                    row.x = x_of(row, 3);
                    row.y = Some(row.y.unwrap_or(true));
                    row.team = Some(1);
                }
                _ => {}
            }
        }
        if what == 0 {
            self.rows.retain(|(_, row)| !is_found(row));
        }
        self.world.check_invariants().unwrap();
    }

    /// Everything that entities have is as in the model.
    fn compare(&self) {
        assert_eq!(self.world.entity_count(), self.rows.len());
        let entities = self.world.entities();
        for (entity, row) in &self.rows {
            let x = self.world.get::<X>(*entity).ok();
            let found = Row {
                a: self.world.get::<A>(*entity).ok().map(|a| a.0),
                x: x.map(|x| (x.0, entities.is_component_enabled::<X>(*entity).unwrap())),
                y: entities.is_component_enabled::<Y>(*entity).ok(),
                team: entities.shared::<Team>(*entity).ok().map(|team| team.0),
                prefab: self.world.has::<Prefab>(*entity),
                disabled: self.world.has::<Disabled>(*entity),
            };
            assert_eq!(found, *row, "{entity}");
        }
    }

    fn asks<F: QueryFilter>(&self, wanted: impl Fn(&Row) -> bool) {
        for (prefabs, disabled) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut query = self.world.query::<(Entity, Option<&A>, Option<&X>)>().filter::<F>();
            if prefabs {
                query = query.include_prefabs();
            }
            if disabled {
                query = query.include_disabled();
            }
            let is_wanted =
                |row: &Row| wanted(row) && (prefabs || !row.prefab) && (disabled || !row.disabled);
            let mut found: Vec<_> = query
                .iter()
                .map(|(entity, a, x)| (entity, a.map(|a| a.0), x.map(|x| x.0)))
                .collect();
            assert_eq!(found.len(), query.count());
            let mut expected: Vec<_> = self
                .rows
                .iter()
                .filter(|(_, row)| is_wanted(row))
                .map(|(entity, row)| {
                    (*entity, row.a, row.x.filter(|(_, on)| *on).map(|(value, _)| value))
                })
                .collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected);
            for (entity, row) in &self.rows {
                assert_eq!(query.matches(*entity), is_wanted(row));
            }
        }
    }

    fn ask(&self) {
        self.compare();
        let x_on = |row: &Row| row.x.is_some_and(|(_, on)| on);
        let y_on = |row: &Row| row.y == Some(true);
        self.asks::<()>(|_| true);
        self.asks::<With<X>>(x_on);
        self.asks::<(With<A>, Without<X>)>(|row| row.a.is_some() && !x_on(row));
        self.asks::<Any<(X, Y)>>(|row| x_on(row) || y_on(row));
        self.asks::<(Any<(X, A)>, IsDisabled<Y>)>(|row| {
            (x_on(row) || row.a.is_some()) && row.y == Some(false)
        });
        self.asks::<(Present<X>, Absent<Y>)>(|row| row.x.is_some() && row.y.is_none());
        self.asks::<(With<Shared<Team>>, Without<Y>)>(|row| row.team.is_some() && !y_on(row));
        self.asks::<Changed<A>>(|row| row.a.is_some());
        for team in 0..3 {
            let query = self.world.query::<&X>().with_shared(Team(team));
            let query = query.include_prefabs().include_disabled();
            let teammates = self.rows.iter().filter(|(_, row)| row.team == Some(team) && x_on(row));
            assert_eq!(query.count(), teammates.count());
        }
        let never = self.world.query::<()>().filter::<Changed<(A, X, Y)>>();
        assert!(never.since(Version::from_number(u32::MAX / 2)).is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn queries_find_what_a_scan_finds(ops in prop::collection::vec(op(), 1..200), limit in 1..150_usize) {
        let settings = WorldSettings::new().chunk_capacity_limit(limit);
        let mut model = Model { world: World::with_settings("Simulation", settings), rows: Vec::new() };
        for op in &ops {
            model.apply(op);
        }
        model.ask();
        model.world.check_invariants().unwrap();
    }
}
