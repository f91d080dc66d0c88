//! Random worlds and queries, compared with a scan of all entities.

use std::cell::Cell;

use ancho_entities::{
    Absent, Any, Changed, ComponentType, Disabled, Entity, IgnoreEnabled, IncludeDisabled,
    IncludePrefabs, IsDisabled, Or, OrderChanged, Prefab, Present, QueryDescriptor, QueryFilter,
    Shared, Version, With, Without, World, WorldSettings,
};
use proptest::prelude::*;

use crate::common::*;
use crate::fixtures::model::{cases, time_is_up};
use crate::scan::{Changes, Cond, Kind, Options, Places, Row, Switches};

#[derive(Clone, Debug)]
enum Op {
    Spawn(u8),
    SpawnMany(usize),
    Despawn(usize),
    AddA(usize, u32),
    AddX(usize, u32),
    AddY(usize),
    SetTeam(usize, u32),
    Remove(usize, u8),
    SwitchX(usize, bool),
    SwitchY(usize, bool),
    Mark(usize, bool),
    WriteA(usize),
    /// Increments all `X` of entities that also have `A`.
    Write,
    /// Applies a batch to all entities that one of the queries finds.
    ByQuery(u8, u8),
    /// Sets all matching `X` from a slice, in the order of the entities.
    CopyFrom,
    /// Continues in a fork, and writes to the other world.
    Fork,
    Advance,
    Ask,
}

fn op() -> impl Strategy<Value = Op> {
    let at = 0..200_usize;
    prop_oneof![
        4 => (0..16_u8).prop_map(Op::Spawn),
        1 => (0..80_usize).prop_map(Op::SpawnMany),
        1 => at.clone().prop_map(Op::Despawn),
        1 => (at.clone(), any::<u32>()).prop_map(|(at, value)| Op::AddA(at, value)),
        1 => (at.clone(), 0..1000_u32).prop_map(|(at, value)| Op::AddX(at, value)),
        1 => at.clone().prop_map(Op::AddY),
        1 => (at.clone(), 0..3_u32).prop_map(|(at, team)| Op::SetTeam(at, team)),
        2 => (at.clone(), 0..4_u8).prop_map(|(at, which)| Op::Remove(at, which)),
        3 => (at.clone(), any::<bool>()).prop_map(|(at, on)| Op::SwitchX(at, on)),
        3 => (at.clone(), any::<bool>()).prop_map(|(at, on)| Op::SwitchY(at, on)),
        1 => (at, any::<bool>()).prop_map(|(at, prefab)| Op::Mark(at, prefab)),
        2 => (0..200_usize).prop_map(Op::WriteA),
        1 => Just(Op::Write),
        2 => (0..15_u8, 0..6_u8).prop_map(|(what, which)| Op::ByQuery(what, which)),
        1 => Just(Op::CopyFrom),
        1 => Just(Op::Fork),
        3 => Just(Op::Advance),
        1 => Just(Op::Ask),
    ]
}

struct Model {
    world: World,
    rows: Vec<(Entity, Row)>,
    places: Places,
    /// Past versions, the newest last.
    seen: Vec<Version>,
    /// Counts queries, so that each runs with other options.
    turn: Cell<u8>,
}

impl Model {
    fn row(&mut self, at: usize) -> Option<(&mut World, &mut (Entity, Row))> {
        if self.rows.is_empty() {
            return None;
        }
        let at = at % self.rows.len();
        Some((&mut self.world, &mut self.rows[at]))
    }

    fn now(&self) -> Version {
        self.world.version()
    }

    fn step(&mut self, op: &Op) {
        self.apply(op);
        self.places.note(&self.world, &self.rows);
    }

    fn apply(&mut self, op: &Op) {
        let now = Some(self.now());
        match *op {
            Op::Spawn(kind) => {
                let entity = self.world.spawn(());
                self.rows.push((entity, Row::default()));
                let last = self.rows.len() - 1;
                // Each operation is a move.
                for (bit, op) in [
                    (1, Op::AddA(last, 1)),
                    (2, Op::AddX(last, 2)),
                    (4, Op::AddY(last)),
                    (8, Op::SetTeam(last, 1)),
                ] {
                    if kind & bit != 0 {
                        self.places.note(&self.world, &self.rows);
                        self.apply(&op);
                    }
                }
            }
            Op::SpawnMany(count) => {
                let row =
                    Row { a: Some(3), x: Some((4, true)), a_at: now, x_at: now, ..Row::default() };
                let new = self.world.spawn_many((A(3), X(4)), count);
                self.rows.extend(new.map(|entity| (entity, row.clone())));
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
                (row.a, row.a_at) = (Some(value), now);
            }
            Op::AddX(at, value) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                world.add(*entity, X(value)).unwrap();
                row.x = Some((value, row.x.is_none_or(|(_, on)| on)));
                row.x_at = now;
            }
            Op::AddY(at) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                world.add(*entity, Y).unwrap();
                row.y = Some(row.y.unwrap_or(true));
            }
            Op::SetTeam(at, team) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                world.add(*entity, Shared::new(Team(team))).unwrap();
                row.team = Some(team);
            }
            Op::Remove(at, which) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                match which {
                    0 => (row.a, row.a_at, _) = (None, None, world.remove::<A>(*entity).unwrap()),
                    1 => (row.x, row.x_at, _) = (None, None, world.remove::<X>(*entity).unwrap()),
                    2 => (row.y, _) = (None, world.remove::<Y>(*entity).unwrap()),
                    _ => (row.team, _) = (None, world.remove::<Shared<Team>>(*entity).unwrap()),
                }
            }
            Op::SwitchX(at, on) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                let done = world.set_component_enabled::<X>(*entity, on);
                assert_eq!(done.is_ok(), row.x.is_some());
                row.x = row.x.map(|(value, _)| (value, on));
                row.x_at = row.x.and(now);
            }
            Op::SwitchY(at, on) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                let done = world.set_component_enabled::<Y>(*entity, on);
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
            Op::WriteA(at) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                assert_eq!(world.get_mut::<A>(*entity).is_ok(), row.a.is_some());
                row.a_at = row.a.and(now);
            }
            Op::Advance => {
                self.seen.push(self.now());
                self.world.advance_version();
            }
            Op::Write => {
                let mut query = self.world.query_mut::<(&mut X, &A)>();
                query.for_each(|(x, a)| x.0 = x.0.wrapping_add(a.0));
                for (_, row) in &mut self.rows {
                    if let (Some((x, true)), Some(a), false, false) =
                        (&mut row.x, row.a, row.prefab, row.disabled)
                    {
                        *x = x.wrapping_add(a);
                        row.x_at = now;
                    }
                }
            }
            Op::ByQuery(what, which) => {
                let x_on = |row: &Row| row.x.is_some_and(|(_, on)| on);
                match which {
                    0 => self.by_query::<()>(what, &Cond::All(&[]), |_| true),
                    1 => self.by_query::<With<X>>(what, &Cond::With(Kind::X), x_on),
                    2 => {
                        let cond = Cond::All(&[Cond::With(Kind::A), Cond::Without(Kind::X)]);
                        self.by_query::<(With<A>, Without<X>)>(what, &cond, |row| {
                            row.a.is_some() && !x_on(row)
                        });
                    }
                    3 => {
                        let is_off = |row: &Row| row.y == Some(false);
                        self.by_query::<IsDisabled<Y>>(what, &Cond::Off(Kind::Y), is_off);
                    }
                    4 => {
                        let cond = Cond::With(Kind::Team);
                        self.by_query::<With<Shared<Team>>>(what, &cond, |row| row.team.is_some());
                    }
                    _ => {
                        let cond = Cond::Changed(&[Kind::A]);
                        self.by_query::<Changed<A>>(what, &cond, |row| row.a.is_some());
                    }
                }
            }
            Op::CopyFrom => {
                let found = self.world.query::<&X>().to_entities();
                let values: Vec<X> = (0..found.len() as u32).map(|at| X(at * 3)).collect();
                self.world.query_mut::<&mut X>().copy_from(&values).unwrap();
                let more =
                    self.world.query_mut::<&mut X>().copy_from(&[&values[..], &[X(1)]].concat());
                more.unwrap_err();
                for (entity, value) in found.into_iter().zip(values) {
                    let (_, row) =
                        self.rows.iter_mut().find(|(other, _)| *other == entity).unwrap();
                    assert!(row.x.is_some_and(|(_, on)| on));
                    (row.x, row.x_at) = (Some((value.0, true)), now);
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

    /// Applies a batch to all entities that a filter finds, predicted from the rows. Every other time it uses types
    /// known at run time, where possible.
    fn by_query<F: QueryFilter>(&mut self, what: u8, cond: &Cond, wanted: impl Fn(&Row) -> bool) {
        let now = Some(self.now());
        let (turn, dynamic) = (self.turn.get(), cond.dynamic());
        self.turn.set(turn.wrapping_add(1));
        let by_types = turn & 1 != 0;
        let (of_x, of_y) = (ComponentType::of::<X>(), ComponentType::of::<Y>());
        let query = self.world.batch(QueryDescriptor::of::<(), F>());
        let is_found = |row: &Row| wanted(row) && !row.prefab && !row.disabled;
        let mut rows: Vec<_> = self.rows.iter_mut().map(|(_, row)| row).collect();
        rows.retain(|row| is_found(row));
        let count =
            |is_counted: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is_counted(row)).count();
        let (found, expected) = match what {
            0 if by_types => (self.world.batch(&dynamic).despawn().unwrap(), rows.len()),
            0 => (query.despawn().unwrap(), rows.len()),
            1 if by_types => {
                (self.world.batch(&dynamic).add(A(7)).unwrap(), count(&|row| row.a.is_none()))
            }
            1 => (query.add(A(7)).unwrap(), count(&|row| row.a.is_none())),
            2 => (query.add(X(8)).unwrap(), count(&|row| row.x.is_none())),
            3 if by_types => {
                let added = self.world.batch(&dynamic).add_types(&[of_y]);
                (added.unwrap(), count(&|row| row.y.is_none()))
            }
            3 => (query.add(Y).unwrap(), count(&|row| row.y.is_none())),
            4 => (query.add(Shared::new(Team(2))).unwrap(), count(&|row| row.team.is_none())),
            5 => (query.remove::<A>().unwrap(), count(&|row| row.a.is_some())),
            6 if by_types => {
                let removed = self.world.batch(&dynamic).remove_types(&[of_x]);
                (removed.unwrap(), count(&|row| row.x.is_some()))
            }
            6 => (query.remove::<X>().unwrap(), count(&|row| row.x.is_some())),
            7 => (query.remove::<Y>().unwrap(), count(&|row| row.y.is_some())),
            8 => (query.remove::<Shared<Team>>().unwrap(), count(&|row| row.team.is_some())),
            9 if by_types => (self.world.batch(&dynamic).set_enabled(false).unwrap(), rows.len()),
            9 => (query.set_enabled(false).unwrap(), rows.len()),
            10 | 11 => {
                let switched = match by_types {
                    true => self.world.batch(&dynamic).set_type_enabled(of_x, what == 10),
                    false => query.set_component_enabled::<X>(what == 10),
                };
                if count(&|row| row.x.is_none()) > 0 {
                    switched.unwrap_err();
                    return;
                }
                (switched.unwrap(), rows.len())
            }
            12 => {
                let set = match by_types {
                    true => self.world.batch(&dynamic).set_shared(Team(0)),
                    false => query.set_shared(Team(0)),
                };
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
                1 => (row.a, row.a_at) = (Some(7), now),
                2 => (row.x, row.x_at) = (x_of(row, 8), now),
                3 => row.y = Some(row.y.unwrap_or(true)),
                4 => row.team = Some(2),
                5 => (row.a, row.a_at) = (None, None),
                6 => (row.x, row.x_at) = (None, None),
                7 => row.y = None,
                8 => row.team = None,
                9 => row.disabled = true,
                10 | 11 => {
                    row.x = row.x.map(|(value, _)| (value, what == 10));
                    row.x_at = now;
                }
                12 => row.team = Some(0),
                13 => {
                    row.x_at = if row.x.is_some() { row.x_at } else { now };
                    row.x = row.x.or(Some((0, true)));
                    row.team = row.team.or(Some(0));
                }
                14 => {
                    (row.a, row.a_at) = (Some(9), now);
                    (row.x, row.x_at) = (x_of(row, 3), now);
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

    /// Checks that all entities match the model.
    fn compare(&self) {
        assert_eq!(self.world.entity_count(), self.rows.len());
        let entities = &self.world;
        for (entity, row) in &self.rows {
            let x = self.world.get::<X>(*entity).ok();
            let found = Row {
                a: self.world.get::<A>(*entity).ok().map(|a| a.0),
                x: x.map(|x| (x.0, entities.is_component_enabled::<X>(*entity).unwrap())),
                y: entities.is_component_enabled::<Y>(*entity).ok(),
                team: entities.shared::<Team>(*entity).ok().map(|team| team.0),
                prefab: self.world.has::<Prefab>(*entity),
                disabled: self.world.has::<Disabled>(*entity),
                ..row.clone()
            };
            assert_eq!(found, *row, "{entity}");
        }
    }

    /// Runs a filter in all ways, at several versions and with several options.
    fn asks<F: QueryFilter>(&self, cond: &Cond) {
        let mut moments = vec![Version::NEVER];
        if cond.asks_for_changes() {
            moments.extend(self.seen.iter().rev().take(3).copied().chain([self.now()]));
        }
        for since in moments {
            let turn = self.turn.get();
            self.turn.set(turn.wrapping_add(1));
            let (prefabs, disabled) = (turn & 1 != 0, turn & 2 != 0);
            let some = Options { prefabs, disabled, ignore_enabled: turn & 4 != 0 };
            for options in [Options::default(), some] {
                self.asks_with::<F>(cond, since, options);
            }
        }
    }

    fn asks_with<F: QueryFilter>(&self, cond: &Cond, since: Version, options: Options) {
        let Options { prefabs, disabled, ignore_enabled } = options;
        let asks = match (prefabs, disabled, ignore_enabled) {
            (false, false, false) => Self::asks_of::<F>,
            (true, false, false) => Self::asks_of::<(F, IncludePrefabs)>,
            (false, true, false) => Self::asks_of::<(F, IncludeDisabled)>,
            (true, true, false) => Self::asks_of::<(F, IncludePrefabs, IncludeDisabled)>,
            (false, false, true) => Self::asks_of::<(F, IgnoreEnabled)>,
            (true, false, true) => Self::asks_of::<(F, IncludePrefabs, IgnoreEnabled)>,
            (false, true, true) => Self::asks_of::<(F, IncludeDisabled, IgnoreEnabled)>,
            (true, true, true) => {
                Self::asks_of::<(F, IncludePrefabs, IncludeDisabled, IgnoreEnabled)>
            }
        };
        asks(self, cond, since, options);
    }

    fn asks_of<F: QueryFilter>(&self, cond: &Cond, since: Version, options: Options) {
        let query = self.world.query_filtered::<(Entity, Option<&A>, Option<&X>), F>();
        let query = query.since(since);
        let found = query.to_entities();
        let mut sorted = found.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), found.len(), "each once");
        let name = format!("{cond:?} since {since} with {options:?}");
        let (switches, possible) = match options.ignore_enabled {
            true => (Switches::Ignored, Switches::Ignored),
            false => (Switches::Count, Switches::Possible),
        };
        let mask = query.mask();
        let (mut unfiltered, mut of_a) = (0, Vec::new());
        let changes = self.places.changes(&self.rows, since);
        for ((entity, row), (least, most)) in self.rows.iter().zip(changes) {
            let is_included =
                (options.prefabs || !row.prefab) && (options.disabled || !row.disabled);
            let holds = |switches, changes| is_included && cond.holds(row, switches, changes);
            let is_found = sorted.binary_search(entity).is_ok();
            assert!(is_found || !holds(switches, least), "{entity} is missed: {name}");
            assert!(!is_found || holds(switches, most), "{entity} is found: {name}");
            assert_eq!(query.matches(*entity), is_found, "{entity}: {name}");
            let x =
                row.x.filter(|(_, on)| *on || options.ignore_enabled).map(|(value, _)| X(value));
            let expected = is_found.then_some((*entity, row.a.map(A), x));
            let given = query.get(*entity).map(|(entity, a, x)| (entity, a.copied(), x.copied()));
            assert_eq!(given, expected, "{name}");
            let is_possible = holds(possible, Changes::ALL);
            assert_eq!(mask.matches(*entity), is_possible, "{entity}: {name}");
            unfiltered += usize::from(is_possible);
            of_a.extend(row.a.filter(|_| is_found).map(|a| (*entity, A(a))));
        }
        assert!(sorted.iter().all(|entity| self.world.exists(*entity)));
        assert_eq!(query.count(), found.len());
        assert_eq!(query.is_empty(), found.is_empty());
        assert_eq!(query.count_unfiltered(), unfiltered, "{name}");
        assert_eq!(query.is_empty_unfiltered(), unfiltered == 0);
        assert_eq!(query.single().is_ok(), found.len() == 1);
        let given: Vec<_> = query.iter().collect();
        assert!(given.iter().map(|given| given.0).eq(found.iter().copied()));
        assert!(given.iter().all(|given| query.get(given.0) == Some(*given)));
        let mut each = Vec::new();
        query.clone().for_each(|one| each.push((one.0, one.1.copied(), one.2.copied())));
        let copied = given.iter().map(|one| (one.0, one.1.copied(), one.2.copied()));
        assert!(copied.eq(each));
        let mut at = 0;
        query.clone().for_each_chunk(|(entities, a, _)| {
            assert_eq!(entities, &found[at..at + entities.len()]);
            for (row, &entity) in entities.iter().enumerate() {
                assert_eq!(a.map(|a| a[row]), self.world.get::<A>(entity).ok().copied());
            }
            at += entities.len();
        });
        assert_eq!(at, found.len());
        let with_a = self.world.query_filtered::<&A, F>().since(since);
        let values = with_a.to_entities().into_iter().zip(with_a.to_components().unwrap());
        let mut values: Vec<(Entity, A)> = values.collect();
        values.sort_by_key(|(entity, _)| *entity);
        of_a.sort_by_key(|(entity, _)| *entity);
        assert_eq!(values, of_a, "{name}");
        let dynamic = options.of_dynamic(cond.dynamic()).since(since);
        assert_eq!(dynamic.query(&self.world).to_entities(), found, "{name}");
        assert_eq!(dynamic.query(&self.world).count(), found.len());
        assert_eq!(dynamic.query(&self.world).is_empty(), found.is_empty());
        assert_eq!(dynamic.query(&self.world).count_unfiltered(), unfiltered, "{name}");
        let of_types = dynamic.query(&self.world);
        let mask_of_types = of_types.mask();
        for (entity, _) in &self.rows {
            let is_found = sorted.binary_search(entity).is_ok();
            assert_eq!(dynamic.query(&self.world).matches(*entity), is_found, "{entity}: {name}");
            assert_eq!(mask_of_types.matches(*entity), mask.matches(*entity), "{entity}: {name}");
        }
        let mut of_chunks = Vec::new();
        for chunk in dynamic.chunks(&self.world) {
            assert!(chunk.count() > 0 && chunk.count() == chunk.rows().count(), "{name}");
            of_chunks.extend(chunk.entities());
        }
        assert_eq!(of_chunks, found, "{name}");
    }

    fn ask(&self) {
        self.compare();
        self.ask_for_components();
        self.ask_for_changes();
        let x_on = |row: &Row| row.x.is_some_and(|(_, on)| on);
        for team in 0..3 {
            let query = self.world.query_filtered::<&X, (IncludePrefabs, IncludeDisabled)>();
            let query = query.with_shared(Team(team));
            let teammates = self.rows.iter().filter(|(_, row)| row.team == Some(team) && x_on(row));
            let mut teammates: Vec<Entity> = teammates.map(|(entity, _)| *entity).collect();
            assert_eq!(query.count(), teammates.len());
            let mut found = query.to_entities();
            let dynamic =
                QueryDescriptor::new().all([ComponentType::of::<X>()]).with_shared(Team(team));
            let dynamic = dynamic.include_prefabs().include_disabled();
            assert_eq!(dynamic.query(&self.world).to_entities(), found);
            found.sort();
            teammates.sort();
            assert_eq!(found, teammates);
            let matches = |entity| teammates.binary_search(&entity).is_ok();
            for (entity, _) in &self.rows {
                assert_eq!(query.matches(*entity), matches(*entity));
                assert_eq!(dynamic.query(&self.world).matches(*entity), matches(*entity));
            }
        }
        let never = self.world.query_filtered::<(), Changed<(A, X, Y)>>();
        assert!(never.since(Version::from_number(u32::MAX / 2)).is_empty());
    }

    fn ask_for_components(&self) {
        use Cond::{
            Absent as No, All, Any as One, Off, Or as Either, Present as There, With as On,
        };
        use Kind::{A as OfA, Team as OfTeam, X as OfX, Y as OfY};
        self.asks::<()>(&All(&[]));
        self.asks::<With<X>>(&On(OfX));
        self.asks::<(With<A>, Without<X>)>(&All(&[On(OfA), Cond::Without(OfX)]));
        self.asks::<Any<(X, Y)>>(&One(&[OfX, OfY]));
        self.asks::<(Any<(X, A)>, IsDisabled<Y>)>(&All(&[One(&[OfX, OfA]), Off(OfY)]));
        self.asks::<(Present<X>, Absent<Y>)>(&All(&[There(OfX), No(OfY)]));
        self.asks::<(With<Shared<Team>>, Without<Y>)>(&All(&[On(OfTeam), Cond::Without(OfY)]));
        self.asks::<Or<(With<X>, With<A>)>>(&Either(&[On(OfX), On(OfA)]));
        self.asks::<Or<((With<X>, Without<Y>), IsDisabled<Y>)>>(&Either(&[
            All(&[On(OfX), Cond::Without(OfY)]),
            Off(OfY),
        ]));
        self.asks::<(With<A>, Or<(With<Y>, Absent<X>)>)>(&All(&[
            On(OfA),
            Either(&[On(OfY), No(OfX)]),
        ]));
    }

    fn ask_for_changes(&self) {
        use Cond::{All, Changed as New, Or as Either, Order, With as On};
        use Kind::{A as OfA, X as OfX, Y as OfY};
        self.asks::<Changed<A>>(&New(&[OfA]));
        self.asks::<Changed<(A, X)>>(&New(&[OfA, OfX]));
        self.asks::<OrderChanged>(&Order);
        self.asks::<(Changed<X>, With<X>)>(&All(&[New(&[OfX]), On(OfX)]));
        self.asks::<(Changed<A>, Changed<X>)>(&All(&[New(&[OfA]), New(&[OfX])]));
        self.asks::<(Changed<A>, OrderChanged)>(&All(&[New(&[OfA]), Order]));
        self.asks::<Or<(Changed<A>, OrderChanged)>>(&Either(&[New(&[OfA]), Order]));
        self.asks::<Or<(Changed<X>, With<Y>)>>(&Either(&[New(&[OfX]), On(OfY)]));
        self.asks::<Or<((Changed<A>, Without<X>), (OrderChanged, With<X>))>>(&Either(&[
            All(&[New(&[OfA]), Cond::Without(OfX)]),
            All(&[Order, On(OfX)]),
        ]));
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn queries_find_the_same_as_a_scan(ops in prop::collection::vec(op(), 1..200), limit in 1..150_usize) {
        if time_is_up() {
            return Ok(());
        }
        let settings = WorldSettings::new().chunk_capacity_limit(limit);
        let world = World::with_settings("Simulation", settings);
        let (rows, places) = (Vec::new(), Places::default());
        let mut model = Model { world, rows, places, seen: Vec::new(), turn: Cell::new(0) };
        for op in &ops {
            model.step(op);
        }
        model.ask();
        model.world.check_invariants().unwrap();
    }
}
