//! The steps of random command scripts.

use proptest::prelude::*;

pub(crate) const OLD: usize = 6;
/// The number of archetypes to create entities of.
pub(crate) const ARCHETYPES: usize = 3;
/// The number of queries.
pub(crate) const QUERIES: usize = 6;
/// The number of types to choose from.
pub(crate) const TYPES: usize = 7;
pub(crate) const TEAMS: [&str; 3] = ["red", "green", "blue"];

/// An entity that a step names, before the number of entities is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Someone {
    Null,
    Foreign,
    Old(usize),
    New(usize),
}

/// A component set given to an entity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<W> {
    pub(crate) kind: usize,
    pub(crate) value: u32,
    pub(crate) about: W,
}

#[derive(Clone, Debug)]
pub(crate) enum Step<W> {
    Spawn(Given<W>),
    SpawnMany(usize, Given<W>),
    SpawnBatch(usize, u32, W),
    CreateOf(usize),
    Instantiate(W),
    InstantiateMany(W, usize),
    Despawn(W),
    DespawnSlice(Vec<W>),
    Add(W, Given<W>),
    Set(W, Given<W>),
    Remove(W, usize),
    AddTypes(W, usize),
    RemoveTypes(W, usize),
    AddToSlice(Vec<W>, Given<W>),
    SetSlice(Vec<W>, Given<W>),
    RemoveFromSlice(Vec<W>, usize),
    SetShared(W, u32),
    AddGroup(W, W),
    AddToLinked(W, Option<usize>, Given<W>),
    SetLinked(W, Option<usize>, Given<W>),
    RemoveFromLinked(W, Option<usize>, usize),
    Append(W, W),
    SetBuffer(W, usize, W),
    Switch(W, bool),
    Enable(W, bool),
    Name(W, u32),
    QueryAdd(usize, Given<W>),
    QueryRemove(usize, usize),
    QueryAddTypes(usize, usize),
    QueryRemoveTypes(usize, usize),
    QuerySetShared(usize, u32),
    QuerySwitch(usize, bool),
    QueryEnable(usize, bool),
    QueryDespawn(usize),
}

/// A step with its sort key; `promised` reserves the ids of created entities at recording.
#[derive(Clone, Debug)]
pub(crate) struct Keyed<W> {
    pub(crate) key: Option<u32>,
    pub(crate) promised: bool,
    pub(crate) step: Step<W>,
}

fn someone() -> impl Strategy<Value = Someone> {
    prop_oneof![
        1 => Just(Someone::Null),
        1 => Just(Someone::Foreign),
        30 => (0..OLD).prop_map(Someone::Old),
        50 => any::<usize>().prop_map(Someone::New),
    ]
}

fn given() -> impl Strategy<Value = Given<Someone>> {
    (0..11_usize, 0..6_u32, someone()).prop_map(|(kind, value, about)| Given { kind, value, about })
}

fn step() -> impl Strategy<Value = Step<Someone>> {
    let several = || prop::collection::vec(someone(), 0..4);
    // All members of a group, or those that a query finds.
    let members = || prop::option::of(0..QUERIES);
    prop_oneof![
        8 => given().prop_map(Step::Spawn),
        2 => (0..4_usize, given()).prop_map(|(count, given)| Step::SpawnMany(count, given)),
        2 => (0..4_usize, 0..6_u32, someone()).prop_map(|(n, value, about)| Step::SpawnBatch(n, value, about)),
        1 => (0..ARCHETYPES).prop_map(Step::CreateOf),
        3 => someone().prop_map(Step::Instantiate),
        2 => (someone(), 0..4_usize).prop_map(|(who, count)| Step::InstantiateMany(who, count)),
        6 => someone().prop_map(Step::Despawn),
        1 => several().prop_map(Step::DespawnSlice),
        10 => (someone(), given()).prop_map(|(who, given)| Step::Add(who, given)),
        2 => (someone(), given()).prop_map(|(who, given)| Step::Set(who, given)),
        4 => (someone(), 0..11_usize).prop_map(|(who, kind)| Step::Remove(who, kind)),
        1 => (someone(), types()).prop_map(|(who, types)| Step::AddTypes(who, types)),
        1 => (someone(), types()).prop_map(|(who, types)| Step::RemoveTypes(who, types)),
        1 => (several(), given()).prop_map(|(who, given)| Step::AddToSlice(who, given)),
        1 => (several(), given()).prop_map(|(who, given)| Step::SetSlice(who, given)),
        1 => (several(), 0..11_usize).prop_map(|(who, kind)| Step::RemoveFromSlice(who, kind)),
        2 => (someone(), someone()).prop_map(|(who, member)| Step::AddGroup(who, member)),
        1 => (someone(), 0..3_u32).prop_map(|(who, team)| Step::SetShared(who, team)),
        1 => (someone(), members(), given()).prop_map(|(who, of, given)| Step::AddToLinked(who, of, given)),
        1 => (someone(), members(), given()).prop_map(|(who, of, given)| Step::SetLinked(who, of, given)),
        1 => (someone(), members(), 0..11_usize).prop_map(|(who, of, kind)| Step::RemoveFromLinked(who, of, kind)),
        1 => (someone(), someone()).prop_map(|(who, about)| Step::Append(who, about)),
        1 => (someone(), 1..4_usize, someone()).prop_map(|(who, count, about)| Step::SetBuffer(who, count, about)),
        1 => (someone(), any::<bool>()).prop_map(|(who, on)| Step::Switch(who, on)),
        2 => (someone(), any::<bool>()).prop_map(|(who, on)| Step::Enable(who, on)),
        1 => (someone(), 0..3_u32).prop_map(|(who, name)| Step::Name(who, name)),
        4 => query_step(),
    ]
}

/// Draws types as bits. The last two types have no default and are rare, since most scripts should succeed.
fn types() -> impl Strategy<Value = usize> {
    prop_oneof![9 => 0..1_usize << (TYPES - 2), 1 => 0..1_usize << TYPES]
}

/// Draws steps for all entities that a query finds.
fn query_step() -> impl Strategy<Value = Step<Someone>> {
    prop_oneof![
        (0..QUERIES, given()).prop_map(|(query, given)| Step::QueryAdd(query, given)),
        (0..QUERIES, 0..11_usize).prop_map(|(query, kind)| Step::QueryRemove(query, kind)),
        (0..QUERIES, types()).prop_map(|(query, types)| Step::QueryAddTypes(query, types)),
        (0..QUERIES, types()).prop_map(|(query, types)| Step::QueryRemoveTypes(query, types)),
        (0..QUERIES, 0..3_u32).prop_map(|(query, team)| Step::QuerySetShared(query, team)),
        (0..QUERIES, any::<bool>()).prop_map(|(query, on)| Step::QuerySwitch(query, on)),
        (0..QUERIES, any::<bool>()).prop_map(|(query, on)| Step::QueryEnable(query, on)),
        (0..QUERIES).prop_map(Step::QueryDespawn),
    ]
}

/// Draws steps that are mostly applied together: few fail, and few are of another kind.
fn folding_step() -> impl Strategy<Value = Step<Someone>> {
    let someone = || {
        prop_oneof![
            100 => prop_oneof![Just(0), Just(1), Just(3), Just(5)].prop_map(Someone::Old),
            1 => (0..OLD).prop_map(Someone::Old),
            200 => any::<usize>().prop_map(Someone::New),
        ]
    };
    let kind = || prop_oneof![40 => 0..5_usize, 10 => Just(8), 8 => Just(10), 1 => 5..8_usize, 1 => Just(9)];
    let given = move || {
        (kind(), 0..6_u32, someone()).prop_map(|(kind, value, about)| Given { kind, value, about })
    };
    prop_oneof![
        60 => given().prop_map(Step::Spawn),
        35 => someone().prop_map(Step::Despawn),
        100 => (someone(), given()).prop_map(|(who, given)| Step::Add(who, given)),
        6 => (someone(), given()).prop_map(|(who, given)| Step::Set(who, given)),
        80 => (someone(), kind()).prop_map(|(who, kind)| Step::Remove(who, kind)),
        6 => (someone(), any::<bool>()).prop_map(|(who, on)| Step::Switch(who, on)),
        1 => step(),
    ]
}

pub(crate) fn folding_script() -> impl Strategy<Value = Vec<Keyed<Someone>>> {
    let keyed = (prop::bool::weighted(0.2), folding_step());
    let keyed = keyed.prop_map(|(promised, step)| Keyed { key: None, promised, step });
    prop::collection::vec(keyed, 0..60)
}

/// Draws long runs of commands for the same entities, mostly in the same order, which often cancel out.
pub(crate) fn long_script() -> impl Strategy<Value = Vec<Keyed<Someone>>> {
    let given = || {
        let kind = prop_oneof![20 => 0..5_usize, 4 => Just(10), 1 => 5..8_usize, 1 => Just(9)];
        (kind, 0..6_u32).prop_map(|(kind, value)| Given { kind, value, about: Someone::Old(0) })
    };
    let step = prop_oneof![
        5 => given().prop_map(|given| Step::Add((), given.without_whom())),
        2 => given().prop_map(|given| Step::Set((), given.without_whom())),
        4 => (0..5_usize).prop_map(|kind| Step::Remove((), kind)),
        3 => Just(Step::Despawn(())),
    ];
    // A run may differ from the others: reversed order, one entity replaced, or one entity added.
    let run = (step, 0..40_u32, any::<usize>());
    let runs = prop::collection::vec(run, 1..6);
    (8..20_usize, given(), prop::bool::weighted(0.3), runs).prop_map(
        |(count, set, promised, runs)| {
            let keyed = |step| Keyed { key: None, promised, step };
            let mut script = vec![keyed(Step::Spawn(set)); count];
            for (step, odd, other) in runs {
                let mut all: Vec<_> = (0..count).map(Someone::New).collect();
                match odd {
                    0 => all.reverse(),
                    1 => all[other % count] = Someone::Old(other % OLD),
                    2 => all.push(Someone::New(other % count)),
                    _ => {}
                }
                script.extend(
                    all.into_iter().map(|who| keyed(step.map(&|()| who, &|()| Someone::Old(0)))),
                );
            }
            script
        },
    )
}

impl Given<Someone> {
    fn without_whom(self) -> Given<()> {
        Given { kind: self.kind, value: self.value, about: () }
    }
}

pub(crate) fn script() -> impl Strategy<Value = Vec<Keyed<Someone>>> {
    let key = prop_oneof![8 => Just(None), 1 => (0..3_u32).prop_map(Some)];
    let keyed = (key, prop::bool::weighted(0.2), step());
    let keyed = keyed.prop_map(|(key, promised, step)| Keyed { key, promised, step });
    prop::collection::vec(keyed, 0..25)
}

/// An entity that a step names: an index into the initial or the created entities, in the order of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Null,
    Foreign,
    Old(usize),
    New(usize),
}

impl<W: Copy> Step<W> {
    /// Returns the number of nameable entities that the step creates.
    pub(crate) fn creates(&self) -> usize {
        match *self {
            Self::Spawn(_) | Self::CreateOf(_) | Self::Instantiate(_) => 1,
            Self::SpawnMany(count, _)
            | Self::SpawnBatch(count, ..)
            | Self::InstantiateMany(_, count) => count,
            _ => 0,
        }
    }

    /// Returns whether the step has one target, and one value at most.
    pub(crate) fn is_of_one(&self) -> bool {
        match self {
            Self::Spawn(given) | Self::Add(_, given) | Self::Set(_, given) => {
                matches!(given.kind, 2 | 7 | 8 | 10)
            }
            Self::Instantiate(_)
            | Self::Despawn(_)
            | Self::Remove(..)
            | Self::AddTypes(..)
            | Self::RemoveTypes(..)
            | Self::SetShared(..)
            | Self::SetBuffer(..)
            | Self::Append(..) => true,
            _ => false,
        }
    }

    /// Returns whether the step has several targets, applied one after the other.
    pub(crate) fn is_of_several(&self) -> bool {
        matches!(
            self,
            Self::AddToSlice(..)
                | Self::SetSlice(..)
                | Self::RemoveFromSlice(..)
                | Self::AddToLinked(..)
                | Self::SetLinked(..)
                | Self::RemoveFromLinked(..)
        )
    }

    /// Maps the named entities: targets by the first function, entities in values by the second.
    pub(crate) fn map<V>(&self, target: &dyn Fn(W) -> V, value: &dyn Fn(W) -> V) -> Step<V> {
        let given = |given: &Given<W>| Given {
            kind: given.kind,
            value: given.value,
            about: value(given.about),
        };
        let all = |all: &[W]| all.iter().map(|&who| target(who)).collect();
        match self {
            Self::Spawn(set) => Step::Spawn(given(set)),
            Self::SpawnMany(count, set) => Step::SpawnMany(*count, given(set)),
            &Self::SpawnBatch(count, number, about) => {
                Step::SpawnBatch(count, number, value(about))
            }
            &Self::CreateOf(archetype) => Step::CreateOf(archetype),
            &Self::Instantiate(who) => Step::Instantiate(target(who)),
            &Self::InstantiateMany(who, count) => Step::InstantiateMany(target(who), count),
            &Self::Despawn(who) => Step::Despawn(target(who)),
            Self::DespawnSlice(who) => Step::DespawnSlice(all(who)),
            Self::Add(who, set) => Step::Add(target(*who), given(set)),
            Self::Set(who, set) => Step::Set(target(*who), given(set)),
            &Self::Remove(who, kind) => Step::Remove(target(who), kind),
            &Self::AddTypes(who, types) => Step::AddTypes(target(who), types),
            &Self::RemoveTypes(who, types) => Step::RemoveTypes(target(who), types),
            Self::AddToSlice(who, set) => Step::AddToSlice(all(who), given(set)),
            Self::SetSlice(who, set) => Step::SetSlice(all(who), given(set)),
            Self::RemoveFromSlice(who, kind) => Step::RemoveFromSlice(all(who), *kind),
            &Self::AddGroup(who, member) => Step::AddGroup(target(who), value(member)),
            &Self::SetShared(who, team) => Step::SetShared(target(who), team),
            Self::AddToLinked(who, of, set) => Step::AddToLinked(target(*who), *of, given(set)),
            Self::SetLinked(who, of, set) => Step::SetLinked(target(*who), *of, given(set)),
            &Self::RemoveFromLinked(who, of, kind) => Step::RemoveFromLinked(target(who), of, kind),
            &Self::Append(who, about) => Step::Append(target(who), value(about)),
            &Self::SetBuffer(who, count, about) => {
                Step::SetBuffer(target(who), count, value(about))
            }
            &Self::Switch(who, on) => Step::Switch(target(who), on),
            &Self::Enable(who, on) => Step::Enable(target(who), on),
            &Self::Name(who, name) => Step::Name(target(who), name),
            Self::QueryAdd(query, set) => Step::QueryAdd(*query, given(set)),
            &Self::QueryRemove(query, kind) => Step::QueryRemove(query, kind),
            &Self::QueryAddTypes(query, types) => Step::QueryAddTypes(query, types),
            &Self::QueryRemoveTypes(query, types) => Step::QueryRemoveTypes(query, types),
            &Self::QuerySetShared(query, team) => Step::QuerySetShared(query, team),
            &Self::QuerySwitch(query, on) => Step::QuerySwitch(query, on),
            &Self::QueryEnable(query, on) => Step::QueryEnable(query, on),
            &Self::QueryDespawn(query) => Step::QueryDespawn(query),
        }
    }
}
