//! Random changes of tracked components, compared with the recorded version of each write.

use ancho_entities::{
    Changed, ComponentType, Entity, Or, Present, QueryDescriptor, QueryFilter, Shared, TrackedMut,
    Version, With, Without, World, WorldSettings,
};
use proptest::prelude::*;

use crate::common::*;
use crate::fixtures::model::{cases, time_is_up};

/// A model entity: the version of each write, and whether the component is enabled.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    t: Option<Version>,
    e: Option<(Version, bool)>,
    s: Option<Version>,
    a: bool,
    team: Option<u32>,
}

impl Row {
    /// Returns the row with everything written now.
    fn written(self, now: Version) -> Self {
        let e = self.e.map(|(_, on)| (now, on));
        Self { t: self.t.map(|_| now), e, s: self.s.map(|_| now), ..self }
    }
}

/// Returns whether the write is newer than a version.
fn is_new(written: Option<Version>, since: Version) -> bool {
    written.is_some_and(|written| written.is_newer_than(since))
}

#[derive(Clone, Debug)]
enum Op {
    Spawn(u8),
    SpawnMany(u8, usize),
    Instantiate(usize, usize),
    Despawn(usize),
    DespawnMany(usize, usize),
    Add(usize, u8),
    Remove(usize, u8),
    /// Writes by one of several methods.
    Write(usize, u8),
    Switch(usize, bool),
    SetTeams(usize, usize, u32),
    Swap(usize, usize),
    /// Writes all matches.
    WriteAll(u8),
    WriteChanged(usize),
    WriteFirst(usize),
    WriteSome(u32),
    WriteOptional,
    CopyFrom,
    SliceMut,
    /// Applies a batch to the matches of a filter; the second number selects the batch.
    ByQuery(u8, u8, usize),
    Read,
    Advance,
    Fork,
    Ask,
}

fn op() -> impl Strategy<Value = Op> {
    let at = || 0..300_usize;
    prop_oneof![
        3 => (0..16_u8).prop_map(Op::Spawn),
        2 => (0..16_u8, 0..80_usize).prop_map(|(kind, count)| Op::SpawnMany(kind, count)),
        2 => (at(), 1..5_usize).prop_map(|(at, count)| Op::Instantiate(at, count)),
        2 => at().prop_map(Op::Despawn),
        1 => (at(), 0..40_usize).prop_map(|(at, count)| Op::DespawnMany(at, count)),
        4 => (at(), 0..5_u8).prop_map(|(at, which)| Op::Add(at, which)),
        4 => (at(), 0..5_u8).prop_map(|(at, which)| Op::Remove(at, which)),
        8 => (at(), 0..5_u8).prop_map(|(at, way)| Op::Write(at, way)),
        3 => (at(), any::<bool>()).prop_map(|(at, on)| Op::Switch(at, on)),
        1 => (at(), 0..40_usize, 0..3_u32).prop_map(|(at, count, team)| Op::SetTeams(at, count, team)),
        2 => (at(), at()).prop_map(|(left, right)| Op::Swap(left, right)),
        1 => (0..3_u8).prop_map(Op::WriteAll),
        1 => (0..4_usize).prop_map(Op::WriteChanged),
        1 => at().prop_map(Op::WriteFirst),
        2 => (2..40_u32).prop_map(Op::WriteSome),
        1 => Just(Op::WriteOptional),
        1 => Just(Op::CopyFrom),
        1 => Just(Op::SliceMut),
        12 => (0..7_u8, 0..18_u8, 0..4_usize)
            .prop_map(|(filter, what, back)| Op::ByQuery(filter, what, back)),
        1 => Just(Op::Read),
        4 => Just(Op::Advance),
        1 => Just(Op::Fork),
        2 => Just(Op::Ask),
    ]
}

struct Model {
    world: World,
    rows: Vec<(Entity, Row)>,
    /// Past versions, the newest last.
    seen: Vec<Version>,
    /// Shares memory with the world, after a fork.
    other: Option<World>,
}

impl Model {
    fn now(&self) -> Version {
        self.world.version()
    }

    fn since(&self, back: usize) -> Version {
        self.seen.iter().rev().nth(back).copied().unwrap_or(Version::NEVER)
    }

    fn row(&mut self, at: usize) -> Option<(&mut World, &mut (Entity, Row))> {
        if self.rows.is_empty() {
            return None;
        }
        let at = at % self.rows.len();
        Some((&mut self.world, &mut self.rows[at]))
    }

    /// Returns the range of at most `count` consecutive entities in the list.
    fn some(&self, at: usize, count: usize) -> std::ops::Range<usize> {
        let first = at.min(self.rows.len());
        first..(first + count).min(self.rows.len())
    }

    fn each(&mut self, mut change: impl FnMut(Entity, &mut Row)) {
        self.rows.iter_mut().for_each(|(entity, row)| change(*entity, row));
    }

    fn spawn(&mut self, kind: u8, count: usize) {
        let now = self.now();
        let row = Row {
            t: (kind & 1 != 0).then_some(now),
            e: (kind & 2 != 0).then_some((now, true)),
            s: None,
            a: kind & 4 != 0,
            team: (kind & 8 != 0).then_some(1),
        };
        let world = &mut self.world;
        let team = Shared::new(Team(1));
        let new: Vec<Entity> = match kind & 15 {
            0 => world.spawn_many((), count).collect(),
            1 => world.spawn_many(T(1), count).collect(),
            2 => world.spawn_many(E(1), count).collect(),
            3 => world.spawn_batch((0..count).map(|_| (T(1), E(1)))).collect(),
            4 => world.spawn_many(A(1), count).collect(),
            5 => world.spawn_batch((0..count).map(|_| (T(1), A(1)))).collect(),
            6 => world.spawn_many((E(1), A(1)), count).collect(),
            7 => world.spawn_many((T(1), E(1), A(1)), count).collect(),
            8 => world.spawn_many(team, count).collect(),
            9 => world.spawn_many((T(1), team), count).collect(),
            10 => world.spawn_many((E(1), team), count).collect(),
            11 => world.spawn_many((T(1), E(1), team), count).collect(),
            12 => world.spawn_many((A(1), team), count).collect(),
            13 => world.spawn_many((T(1), A(1), team), count).collect(),
            14 => world.spawn_many((E(1), A(1), team), count).collect(),
            _ => world.spawn_many((T(1), E(1), A(1), team), count).collect(),
        };
        self.rows.extend(new.into_iter().map(|entity| (entity, row)));
    }

    fn apply(&mut self, op: &Op) {
        let now = self.now();
        match *op {
            Op::Spawn(kind) => self.spawn(kind, 1),
            Op::SpawnMany(kind, count) => self.spawn(kind, count),
            Op::Instantiate(at, count) => {
                let Some((world, &mut (source, row))) = self.row(at) else { return };
                let row = row.written(now);
                let new = world.instantiate_many(source, count).unwrap();
                let new: Vec<_> = new.map(|entity| (entity, row)).collect();
                self.rows.extend(new);
            }
            Op::Despawn(at) => {
                if !self.rows.is_empty() {
                    let at = at % self.rows.len();
                    let (entity, _) = self.rows.swap_remove(at);
                    self.world.despawn(entity).unwrap();
                }
            }
            Op::DespawnMany(at, count) => {
                let gone: Vec<_> = self.rows.drain(self.some(at, count)).map(|row| row.0).collect();
                self.world.batch(&gone).despawn().unwrap();
            }
            Op::Add(at, which) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                match which {
                    0 => (row.t, _) = (Some(now), world.add(*entity, T(2)).unwrap()),
                    1 => {
                        world.add(*entity, E(2)).unwrap();
                        row.e = Some((now, row.e.is_none_or(|(_, on)| on)));
                    }
                    2 => (row.a, _) = (true, world.add(*entity, A(2)).unwrap()),
                    3 => (row.s, _) = (Some(now), world.add(*entity, S).unwrap()),
                    _ => {
                        (row.team, _) =
                            (Some(2), world.add(*entity, Shared::new(Team(2))).unwrap());
                    }
                }
            }
            Op::Remove(at, which) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                match which {
                    0 => (row.t, _) = (None, world.remove::<T>(*entity).unwrap()),
                    1 => (row.e, _) = (None, world.remove::<E>(*entity).unwrap()),
                    2 => (row.a, _) = (false, world.remove::<A>(*entity).unwrap()),
                    3 => (row.s, _) = (None, world.remove::<S>(*entity).unwrap()),
                    _ => (row.team, _) = (None, world.remove::<Shared<Team>>(*entity).unwrap()),
                }
            }
            Op::Write(at, way) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                let entity = *entity;
                let written = match way {
                    0 => world.get_mut::<T>(entity).is_ok(),
                    1 => world.set(entity, T(3)).is_ok(),
                    2 => world.query_mut::<&mut T>().get_mut(entity).is_some(),
                    3 => {
                        let ty = ComponentType::of::<T>();
                        world.set_bytes(entity, ty, &[0; 4]).is_ok()
                    }
                    _ => {
                        let mut query = world.query_mut::<TrackedMut<T>>();
                        query.get_mut(entity).map(|mut t| t.0 = 9).is_some()
                    }
                };
                assert_eq!(written, row.t.is_some());
                row.t = row.t.map(|_| now);
            }
            Op::Switch(at, on) => {
                let Some((world, (entity, row))) = self.row(at) else { return };
                let done = world.set_component_enabled::<E>(*entity, on);
                assert_eq!(done.is_ok(), row.e.is_some());
                row.e = row.e.map(|_| (now, on));
            }
            Op::SetTeams(at, count, team) => {
                let range = self.some(at, count);
                let with_team: Vec<_> =
                    self.rows[range.clone()].iter().filter(|row| row.1.team.is_some()).collect();
                let entities: Vec<_> = with_team.iter().map(|row| row.0).collect();
                self.world.batch(&entities).set_shared(Team(team)).unwrap();
                for (_, row) in &mut self.rows[range] {
                    row.team = row.team.map(|_| team);
                }
            }
            Op::Swap(left, right) => {
                if self.rows.is_empty() {
                    return;
                }
                let (left, right) = (left % self.rows.len(), right % self.rows.len());
                let (one, other) = (self.rows[left], self.rows[right]);
                if self.world.swap_components(one.0, other.0).is_ok() {
                    for (at, row) in [(left, other.1), (right, one.1)] {
                        self.rows[at].1 = row.written(now);
                    }
                }
            }
            Op::WriteAll(way) => {
                let mut query = self.world.query_mut::<(&mut T, &mut E)>();
                match way {
                    0 => query.for_each(|(t, _)| t.0 += 1),
                    1 => query.into_iter().for_each(|(t, _)| t.0 += 1),
                    _ => query.for_each_chunk(|(t, _)| t.fill(T(7))),
                }
                self.each(|_, row| {
                    if row.t.is_some() && row.e.is_some_and(|(_, on)| on) {
                        (row.t, row.e) = (Some(now), Some((now, true)));
                    }
                });
            }
            Op::WriteChanged(back) => {
                let since = self.since(back);
                let query = self.world.query_filtered_mut::<&mut T, Changed<T>>();
                query.since(since).for_each(|t| t.0 += 1);
                self.each(|_, row| {
                    if row.t.is_some_and(|t| t.is_newer_than(since)) {
                        row.t = Some(now);
                    }
                });
            }
            Op::WriteFirst(count) => {
                let mut first = self.world.query::<&T>().to_entities();
                first.truncate(count);
                self.world.query_mut::<&mut T>().into_iter().take(count).for_each(|t| t.0 += 1);
                self.each(|entity, row| {
                    if first.contains(&entity) {
                        row.t = Some(now);
                    }
                });
            }
            Op::WriteSome(step) => {
                for (entity, mut t) in self.world.query_mut::<(Entity, TrackedMut<T>)>() {
                    assert!(t.0 < u32::MAX, "reading is no writing");
                    if entity.index() % step == 0 {
                        t.0 += 1;
                    }
                }
                self.each(|entity, row| {
                    if entity.index() % step == 0 {
                        row.t = row.t.map(|_| now);
                    }
                });
            }
            Op::WriteOptional => {
                let mut query =
                    self.world.query_mut::<(&A, Option<&mut E>, Option<TrackedMut<T>>)>();
                query.for_each(|(_, e, _)| e.into_iter().for_each(|e| e.0 += 1));
                self.each(|_, row| {
                    if row.a {
                        row.e = row.e.map(|(was, on)| (if on { now } else { was }, on));
                    }
                });
            }
            Op::CopyFrom => {
                let mut query = self.world.query_mut::<&mut E>();
                let values = vec![E(5); query.count()];
                query.copy_from(&values).unwrap();
                self.each(|_, row| {
                    row.e = row.e.map(|(was, on)| (if on { now } else { was }, on));
                });
            }
            Op::SliceMut => {
                self.world.for_each_chunk_mut(|mut chunk| {
                    if chunk.as_chunk().has::<A>() {
                        let _ = chunk.slice_mut::<T>().map(|slice| slice.fill(T(8)));
                    }
                });
                self.each(|_, row| {
                    if row.a {
                        row.t = row.t.map(|_| now);
                    }
                });
            }
            Op::ByQuery(filter, what, back) => {
                let since = self.since(back);
                match filter {
                    0 => self.by_query::<()>(what, since, |_| true),
                    1 => self.by_query::<With<A>>(what, since, |row| row.a),
                    2 => self.by_query::<With<E>>(what, since, |row| row.e.is_some_and(|e| e.1)),
                    3 => self.by_query::<Changed<T>>(what, since, |row| is_new(row.t, since)),
                    4 => self.by_query::<(Changed<S>, With<E>)>(what, since, |row| {
                        is_new(row.s, since) && row.e.is_some_and(|(_, on)| on)
                    }),
                    5 => self
                        .by_query::<Without<Shared<Team>>>(what, since, |row| row.team.is_none()),
                    _ => self.by_query::<(Changed<(T, S)>, Without<A>)>(what, since, |row| {
                        (is_new(row.t, since) || is_new(row.s, since)) && !row.a
                    }),
                }
                self.world.check_invariants().unwrap();
            }
            Op::Read => {
                self.world.query_mut::<(&T, Option<&E>)>().for_each(|_| ());
                self.world.query_mut::<TrackedMut<T>>().for_each(|t| assert!(t.0 < u32::MAX));
                self.world.query_mut::<&mut T>().count();
                self.world.query_mut::<&mut T>().unshare().unwrap();
            }
            Op::Advance => {
                self.seen.push(now);
                self.world.advance_version();
            }
            Op::Fork => {
                let fork = self.world.fork().unwrap();
                let mut other = std::mem::replace(&mut self.world, fork);
                other.advance_version();
                other.query_mut::<(&mut T, Option<&mut E>)>().for_each(|(t, _)| t.0 = 0);
                other.query_mut::<&mut E>().into_iter().take(3).for_each(|e| e.0 = 0);
                other.check_invariants().unwrap();
                self.other = Some(other);
            }
            Op::Ask => self.ask(),
        }
    }

    /// Applies a batch to the matches of a filter, which are the wanted rows.
    fn by_query<F: QueryFilter>(
        &mut self,
        what: u8,
        since: Version,
        wanted: impl Fn(&Row) -> bool,
    ) {
        let now = self.now();
        let of = QueryDescriptor::of::<(), F>().since(since);
        let expected = self.rows.iter().filter(|(_, row)| wanted(row)).count();
        assert_eq!(of.query(&self.world).count(), expected);
        let team = QueryDescriptor::of::<(), (F, With<Shared<Team>>)>().since(since);
        let present = QueryDescriptor::of::<(), (F, Present<E>)>().since(since);
        let world = &mut self.world;
        let done = match what {
            0 => world.batch(of).add(Tag).is_ok(),
            1 => world.batch(of).remove::<Tag>().is_ok(),
            2 => world.batch(of).add(S).is_ok(),
            3 => world.batch(of).remove::<S>().is_ok(),
            4 => world.batch(of).add(T(4)).is_ok(),
            5 => world.batch(of).remove::<T>().is_ok(),
            6 => world.batch(of).add(E(4)).is_ok(),
            7 => world.batch(of).remove::<(E, Tag)>().is_ok(),
            8 => {
                let types = [ComponentType::of::<T>(), ComponentType::of::<E>()];
                world.batch(of).add_types(&[types[0], types[1], ComponentType::of::<S>()]).is_ok()
            }
            9 => world.batch(of).add((Shared::new(Team(2)), S)).is_ok(),
            10 | 11 => world.batch(team).set_shared(Team(what.into())).is_ok(),
            12 => world.batch(of).remove::<Shared<Team>>().is_ok(),
            13 | 14 => world.batch(present).set_component_enabled::<E>(what == 13).is_ok(),
            15 => world.batch(of).add((A(3), S)).is_ok(),
            16 => world.batch(of).remove::<(A, T)>().is_ok(),
            _ => world.batch(of).despawn().is_ok(),
        };
        assert!(done);
        self.each(|_, row| {
            if !wanted(row) {
                return;
            }
            let on = row.e.is_none_or(|(_, on)| on);
            match what {
                2 => row.s = Some(now),
                3 => row.s = None,
                4 => row.t = Some(now),
                5 => row.t = None,
                6 => row.e = Some((now, on)),
                7 => row.e = None,
                8 => {
                    row.t = row.t.or(Some(now));
                    row.e = row.e.or(Some((now, true)));
                    row.s = row.s.or(Some(now));
                }
                9 => (row.team, row.s) = (Some(2), Some(now)),
                10 | 11 => row.team = row.team.map(|_| what.into()),
                12 => row.team = None,
                13 | 14 => row.e = row.e.map(|_| (now, what == 13)),
                15 => (row.a, row.s) = (true, Some(now)),
                16 => (row.a, row.t) = (false, None),
                _ => {}
            }
        });
        if what == 17 {
            self.rows.retain(|(_, row)| !wanted(row));
        }
    }

    fn asks<F: QueryFilter>(&self, since: Version, wanted: impl Fn(&Row) -> bool) {
        let query = self.world.query_filtered::<(), F>().since(since);
        let mut found = query.to_entities();
        assert_eq!(found.len(), query.count());
        assert_eq!(found.is_empty(), query.is_empty());
        assert_eq!(found.len(), query.iter().count());
        let mut in_chunks = Vec::new();
        let mut by_entity = self.world.query_filtered::<Entity, F>().since(since);
        by_entity.for_each_chunk(|entities| in_chunks.extend_from_slice(entities));
        assert_eq!(in_chunks, found);
        let rows = self.rows.iter();
        let mut expected: Vec<_> = rows.filter(|(_, row)| wanted(row)).map(|row| row.0).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{}", std::any::type_name::<F>());
        for (entity, row) in &self.rows {
            assert_eq!(query.matches(*entity), wanted(row));
            assert_eq!(query.get(*entity).is_some(), wanted(row));
        }
    }

    fn ask(&self) {
        for since in (0..6).map(|back| self.since(back)).chain([Version::NEVER, self.now()]) {
            let t = |row: &Row| row.t.is_some_and(|t| t.is_newer_than(since));
            let e = |row: &Row| row.e.is_some_and(|(e, _)| e.is_newer_than(since));
            let is_on = |row: &Row| row.e.is_some_and(|(_, on)| on);
            self.asks::<Changed<T>>(since, t);
            self.asks::<Changed<E>>(since, e);
            self.asks::<Changed<S>>(since, |row| is_new(row.s, since));
            self.asks::<(Changed<E>, With<E>)>(since, |row| e(row) && is_on(row));
            self.asks::<Changed<(T, E)>>(since, |row| t(row) || e(row));
            self.asks::<(Changed<T>, Changed<E>)>(since, |row| t(row) && e(row));
            self.asks::<(Changed<T>, Present<E>)>(since, |row| t(row) && row.e.is_some());
            self.asks::<Or<(Changed<T>, Changed<E>)>>(since, |row| t(row) || e(row));
            self.asks::<Or<(Changed<T>, With<E>)>>(since, |row| t(row) || is_on(row));
            self.asks::<(Changed<E>, Or<(Changed<T>, Without<E>)>)>(since, |row| {
                e(row) && (t(row) || !is_on(row))
            });
            // An untracked component passes whole chunks, and no change is missed.
            let either = self.world.query_filtered::<(), Changed<(T, A)>>().since(since);
            assert!(self.rows.iter().all(|(entity, row)| !t(row) || either.matches(*entity)));
        }
    }
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn tracked_changes_equal_the_recorded_writes(
        ops in prop::collection::vec(op(), 1..250),
        limit in 1..200_usize,
        first in prop_oneof![Just(1), Just(u32::MAX - 8)],
    ) {
        if time_is_up() {
            return Ok(());
        }
        let settings = WorldSettings::new().chunk_capacity_limit(limit);
        let world = World::with_settings("Simulation", settings);
        let mut model = Model { world, rows: Vec::new(), seen: Vec::new(), other: None };
        model.world.set_version(Version::from_number(first));
        for op in &ops {
            model.apply(op);
        }
        model.ask();
        model.world.check_invariants().unwrap();
    }
}
