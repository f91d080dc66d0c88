//! Random scripts of commands: playing them in bulk has the same result as one by one.
//!
//! Created entities get other ids one by one, so worlds are compared up to ids.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::mem::discriminant;

use ancho_entities::{
    Archetype, Buffer, Changed, CommandError, CommandFault, ComponentType, Entity,
    EntityCommandBuffer, EntityError, IgnoreEnabled, IncludeDisabled, Linked, LinkedEntityGroup,
    Managed, QueryDescriptor, Shared, Version, With, Without, World, WorldSettings,
};
use proptest::prelude::*;

use crate::common::*;
use crate::fixtures::model::{cases, time_is_up};
use crate::steps::*;

/// Resolves the entities that each step names, and the order of playback. Values name only entities that an earlier
/// step creates.
fn plan(script: &[Keyed<Someone>], strict: bool) -> (Vec<Keyed<Who>>, Vec<usize>) {
    let mut order: Vec<_> = (0..script.len()).collect();
    order.sort_by_key(|&at| script[at].key.unwrap_or(u32::MAX));
    let mut place = vec![0; script.len()];
    for (at, &step) in order.iter().enumerate() {
        place[step] = at;
    }
    // The step that creates each entity.
    let mut creators = Vec::new();
    let mut planned = Vec::new();
    for (at, keyed) in script.iter().enumerate() {
        let who = |someone, is_value: bool| match someone {
            Someone::Null => Who::Null,
            // With several targets it is unspecified which is checked first.
            Someone::Foreign if !keyed.step.is_of_one() => Who::Null,
            Someone::Foreign => Who::Foreign,
            Someone::Old(number) => Who::Old(number),
            Someone::New(number) if creators.is_empty() => Who::Old(number % OLD),
            Someone::New(number) => {
                let number = number % creators.len();
                let creator: usize = creators[number];
                // References to entities that are created later have their own tests.
                if place[creator] > place[at] {
                    if is_value { Who::Null } else { Who::Old(number % OLD) }
                } else {
                    Who::New(number)
                }
            }
        };
        let mut step =
            keyed.step.map(&|someone| who(someone, false), &|someone| who(someone, true));
        // In a strict world, duplicate targets and targets in the same group have their own test.
        if strict
            && let Step::DespawnSlice(all)
            | Step::AddToSlice(all, _)
            | Step::RemoveFromSlice(all, _) = &mut step
        {
            all.truncate(if matches!(keyed.step, Step::DespawnSlice(_)) { 1 } else { all.len() });
            let mut seen = HashSet::new();
            all.retain(|&who| seen.insert(who));
        }
        creators.extend(std::iter::repeat_n(at, step.creates()));
        planned.push(Keyed { key: keyed.key, promised: keyed.promised, step });
    }
    (planned, order)
}

/// Evaluates an expression with the component set of `Given`.
macro_rules! with_set {
    ($ledger:expr, $given:expr, |$set:ident| $body:expr) => {{
        let Given { kind, value, about } = $given;
        match kind {
            0 => {
                let $set = A(value);
                $body
            }
            1 => {
                let $set = (A(value), $ledger.value(value));
                $body
            }
            2 => {
                let $set = Link(about);
                $body
            }
            3 => {
                let $set = (Glow(value), Tag);
                $body
            }
            4 => {
                let $set: Buffer<Friend> = (0..value)
                    .map(|at| Friend(if at % 2 == 0 { about } else { Entity::NULL }))
                    .collect();
                $body
            }
            5 => {
                let $set = Stays(value);
                $body
            }
            6 => {
                let $set = Shared::new(Team(TEAMS[value as usize % 3]));
                $body
            }
            7 => {
                let $set = (Shared::new(Team(TEAMS[value as usize % 3])), A(value), Link(about));
                $body
            }
            9 => {
                let $set = (Shared::new(Crew(about)), Glow(value));
                $body
            }
            10 => {
                let $set = (Managed::new(Papers { value: $ledger.value(value), about }), A(value));
                $body
            }
            _ => {
                let $set = (Link(about), Text(value.to_string()));
                $body
            }
        }
    }};
}

/// Evaluates an expression with the types of a set.
macro_rules! with_types {
    ($kind:expr, $types:ident => $body:expr) => {
        match $kind {
            0 => {
                type $types = A;
                $body
            }
            1 => {
                type $types = (A, Counted);
                $body
            }
            2 => {
                type $types = Link;
                $body
            }
            3 => {
                type $types = (Glow, Tag);
                $body
            }
            4 => {
                type $types = Buffer<Friend>;
                $body
            }
            5 => {
                type $types = Stays;
                $body
            }
            6 => {
                type $types = Shared<Team>;
                $body
            }
            7 => {
                type $types = (Shared<Team>, A, Link);
                $body
            }
            9 => {
                type $types = (Shared<Crew>, Glow);
                $body
            }
            10 => {
                type $types = (Managed<Papers>, A);
                $body
            }
            _ => {
                type $types = (Link, Text);
                $body
            }
        }
    };
}

/// Evaluates an expression with one of the queries, run immediately.
macro_rules! with_query {
    ($number:expr, |$query:ident| $body:expr) => {
        match $number {
            0 => {
                let $query = QueryDescriptor::of::<&A, ()>();
                $body
            }
            1 => {
                let $query = QueryDescriptor::of::<(), With<Glow>>();
                $body
            }
            2 => {
                let $query = QueryDescriptor::of::<(), (With<Link>, Without<Tag>)>();
                $body
            }
            3 => {
                let $query = QueryDescriptor::new().with_shared(Team("red"));
                $body
            }
            4 => {
                let $query = QueryDescriptor::of::<&Glow, IgnoreEnabled>();
                $body
            }
            _ => {
                let $query = QueryDescriptor::of::<&A, IncludeDisabled>();
                $body
            }
        }
    };
}

/// Returns the descriptor of the same query, run at playback.
fn late(number: usize) -> QueryDescriptor {
    let dynamic = QueryDescriptor::new();
    match number {
        0 => QueryDescriptor::of::<&A, ()>(),
        1 => QueryDescriptor::of::<(), With<Glow>>(),
        2 => dynamic.all([ComponentType::of::<Link>()]).none([ComponentType::of::<Tag>()]),
        3 => QueryDescriptor::of::<(), ()>().with_shared(Team("red")),
        4 => (&QueryDescriptor::of::<&Glow, ()>().ignore_enabled()).into(),
        _ => (&dynamic.all([ComponentType::of::<A>()]).include_disabled()).into(),
    }
}

/// Returns the types whose bits are set.
fn types(bits: usize) -> Vec<ComponentType> {
    let all: [ComponentType; TYPES] = [
        ComponentType::of::<A>(),
        ComponentType::of::<Text>(),
        ComponentType::of::<Glow>(),
        ComponentType::of::<Stays>(),
        ComponentType::of_buffer::<Friend>(),
        ComponentType::of::<Link>(),
        ComponentType::of_shared::<Team>(),
    ];
    (0..TYPES).filter(|bit| bits >> bit & 1 != 0).map(|bit| all[bit]).collect()
}

fn team(number: u32) -> Team {
    Team(TEAMS[number as usize])
}

/// Returns archetypes of the initial entities. Some components of the last one have no default.
fn archetypes(world: &World, old: &[Entity]) -> [Archetype; ARCHETYPES] {
    [2, 3, 1].map(|at| world.entity_archetype(old[at]).unwrap())
}

/// Records a step. Returns the created entities.
fn record(
    world: &World,
    archetypes: &[Archetype],
    buffer: &mut EntityCommandBuffer,
    ledger: &'static Ledger,
    keyed: &Keyed<Entity>,
) -> Vec<Entity> {
    if keyed.promised && keyed.step.creates() > 0 {
        let mut c = world.commands(buffer).unwrap();
        c.set_sort_key(keyed.key);
        return match keyed.step {
            Step::Spawn(given) => vec![with_set!(ledger, given, |set| c.spawn(set))],
            Step::SpawnMany(count, given) => {
                with_set!(ledger, given, |set| c.spawn_many(set, count).to_vec())
            }
            Step::SpawnBatch(count, value, about) => {
                let sets = (0..count as u32).map(|at| (A(value + at), Link(about)));
                c.spawn_batch(sets).to_vec()
            }
            Step::CreateOf(number) => vec![c.create(archetypes[number])],
            Step::Instantiate(who) => vec![c.instantiate(who)],
            Step::InstantiateMany(who, count) => c.instantiate_many(who, count).to_vec(),
            _ => unreachable!("these create no entity"),
        };
    }
    let c = buffer.commands().unwrap();
    c.set_sort_key(keyed.key);
    match &keyed.step {
        &Step::Spawn(given) => return vec![with_set!(ledger, given, |set| c.spawn(set))],
        &Step::SpawnMany(count, given) => {
            return with_set!(ledger, given, |set| c.spawn_many(set, count).iter().collect());
        }
        &Step::SpawnBatch(count, value, about) => {
            let sets = (0..count as u32).map(|at| (A(value + at), Link(about)));
            return c.spawn_batch(sets).iter().collect();
        }
        &Step::CreateOf(number) => return vec![c.create(archetypes[number])],
        &Step::Instantiate(who) => return vec![c.instantiate(who)],
        &Step::InstantiateMany(who, count) => {
            return c.instantiate_many(who, count).iter().collect();
        }
        &Step::Despawn(who) => c.despawn(who),
        Step::DespawnSlice(all) => c.batch(all).despawn(),
        &Step::Add(who, given) => with_set!(ledger, given, |set| c.add(who, set)),
        &Step::Set(who, given) => with_set!(ledger, given, |set| c.set(who, set)),
        &Step::Remove(who, kind) => with_types!(kind, Types => c.remove::<Types>(who)),
        &Step::AddTypes(who, bits) => c.add_types(who, &types(bits)),
        &Step::RemoveTypes(who, bits) => c.remove_types(who, &types(bits)),
        Step::AddToSlice(all, given) => with_set!(ledger, *given, |set| c.batch(all).add(set)),
        Step::SetSlice(all, given) => with_set!(ledger, *given, |set| c.batch(all).set(set)),
        Step::RemoveFromSlice(all, kind) => {
            with_types!(*kind, Types => c.batch(all).remove::<Types>());
        }
        &Step::AddGroup(who, member) => c.add_buffer(who, [who, member].map(LinkedEntityGroup)),
        &Step::SetShared(who, number) => c.set(who, Shared::new(team(number))),
        &Step::AddToLinked(who, None, given) => {
            with_set!(ledger, given, |set| c.batch(Linked(who)).add(set));
        }
        &Step::AddToLinked(who, Some(query), given) => {
            with_set!(ledger, given, |set| c.batch(Linked(who).matching(late(query))).add(set));
        }
        &Step::SetLinked(who, None, given) => {
            with_set!(ledger, given, |set| c.batch(Linked(who)).set(set));
        }
        &Step::SetLinked(who, Some(query), given) => {
            with_set!(ledger, given, |set| c.batch(Linked(who).matching(late(query))).set(set));
        }
        &Step::RemoveFromLinked(who, None, kind) => {
            with_types!(kind, Types => c.batch(Linked(who)).remove::<Types>());
        }
        &Step::RemoveFromLinked(who, Some(query), kind) => {
            with_types!(kind, Types => c.batch(Linked(who).matching(late(query))).remove::<Types>());
        }
        &Step::Append(who, about) => c.append(who, Friend(about)),
        &Step::SetBuffer(who, count, about) => c.set_buffer(who, vec![Friend(about); count]),
        &Step::Switch(who, on) => c.set_component_enabled::<Glow>(who, on),
        &Step::Enable(who, on) => c.set_enabled(who, on),
        &Step::Name(who, name) => c.set_name(who, TEAMS[name as usize]),
        &Step::QueryAdd(query, given) => {
            with_set!(ledger, given, |set| c.batch(late(query)).add(set));
        }
        &Step::QueryRemove(query, kind) => {
            with_types!(kind, Types => c.batch(late(query)).remove::<Types>());
        }
        &Step::QueryAddTypes(query, bits) => c.batch(late(query)).add_types(&types(bits)),
        &Step::QueryRemoveTypes(query, bits) => c.batch(late(query)).remove_types(&types(bits)),
        &Step::QuerySetShared(query, number) => c.batch(late(query)).set(Shared::new(team(number))),
        &Step::QuerySwitch(query, on) => {
            c.batch(late(query)).set_component_enabled::<Glow>(on);
        }
        &Step::QueryEnable(query, on) => c.batch(late(query)).set_enabled(on),
        &Step::QueryDespawn(query) => c.batch(late(query)).despawn(),
    }
    Vec::new()
}

/// Returns the live members of a group that match the query, if one is given. An entity without a group is its only
/// member.
fn members(world: &mut World, who: Entity, of: Option<usize>) -> Result<Vec<Entity>, EntityError> {
    let mut all: Vec<_> = match world.buffer::<LinkedEntityGroup>(who) {
        Ok([]) | Err(EntityError::MissingComponent { .. }) => vec![who],
        // Dead members are skipped.
        Ok(group) => {
            let members = group.iter().map(|member| member.0);
            members.filter(|&member| world.exists(member)).collect()
        }
        Err(error) => return Err(error),
    };
    all.dedup();
    if let Some(query) = of {
        all.retain(|&who| with_query!(query, |query| query.query(world).matches(who)));
    }
    Ok(all)
}

/// Applies a step with methods of the world. Returns the created entities.
fn direct(
    world: &mut World,
    archetypes: &[Archetype],
    ledger: &'static Ledger,
    step: &Step<Entity>,
) -> Result<Vec<Entity>, EntityError> {
    match step {
        &Step::Spawn(given) => return Ok(vec![with_set!(ledger, given, |set| world.spawn(set))]),
        &Step::SpawnMany(count, given) => {
            return with_set!(ledger, given, |set| Ok(world.spawn_many(set, count).collect()));
        }
        &Step::SpawnBatch(count, value, about) => {
            let sets = (0..count as u32).map(|at| (A(value + at), Link(about)));
            return Ok(world.spawn_batch(sets).collect());
        }
        &Step::CreateOf(number) => {
            return Ok(vec![world.create(archetypes[number])?]);
        }
        &Step::Instantiate(who) => return Ok(vec![world.instantiate(who)?]),
        &Step::InstantiateMany(who, count) => {
            return Ok(world.instantiate_many(who, count)?.collect());
        }
        &Step::Despawn(who) => _ = world.despawn(who)?,
        Step::DespawnSlice(all) => _ = world.batch(all).despawn()?,
        &Step::Add(who, given) => {
            with_set!(ledger, given, |set| _ = world.add(who, set).map_err(|r| r.error)?);
        }
        &Step::Set(who, given) => {
            with_set!(ledger, given, |set| world.set(who, set).map_err(|r| r.error)?);
        }
        &Step::Remove(who, kind) => with_types!(kind, Types => _ = world.remove::<Types>(who)?),
        &Step::AddTypes(who, bits) => _ = world.add_types(who, &types(bits))?,
        &Step::RemoveTypes(who, bits) => {
            _ = world.remove_types(who, &types(bits))?;
        }
        Step::AddToSlice(all, given) => {
            for &who in all {
                with_set!(ledger, *given, |set| _ = world.add(who, set).map_err(|r| r.error)?);
            }
        }
        Step::SetSlice(all, given) => {
            for &who in all {
                with_set!(ledger, *given, |set| world.set(who, set).map_err(|r| r.error)?);
            }
        }
        Step::RemoveFromSlice(all, kind) => {
            for &who in all {
                with_types!(*kind, Types => _ = world.remove::<Types>(who)?);
            }
        }
        &Step::AddGroup(who, member) => {
            let group = Buffer::from([who, member].map(LinkedEntityGroup));
            _ = world.add(who, group).map_err(|r| r.error)?;
        }
        &Step::SetShared(who, number) => _ = world.set_shared(who, team(number))?,
        &Step::AddToLinked(who, of, given) => {
            for who in members(world, who, of)? {
                with_set!(ledger, given, |set| _ = world.add(who, set).map_err(|r| r.error)?);
            }
        }
        &Step::SetLinked(who, of, given) => {
            for who in members(world, who, of)? {
                if with_types!(given.kind, Types => world.has::<Types>(who)) {
                    with_set!(ledger, given, |set| world.set(who, set).map_err(|r| r.error)?);
                }
            }
        }
        &Step::RemoveFromLinked(who, of, kind) => {
            for who in members(world, who, of)? {
                with_types!(kind, Types => _ = world.remove::<Types>(who)?);
            }
        }
        &Step::Append(who, about) => world.buffer_mut::<Friend>(who)?.push(Friend(about)),
        &Step::SetBuffer(who, count, about) => {
            let elements = Buffer::from(vec![Friend(about); count]);
            world.set(who, elements).map_err(|r| r.error)?;
        }
        &Step::Switch(who, on) => {
            world.set_component_enabled::<Glow>(who, on)?;
        }
        &Step::Enable(who, on) => _ = world.set_enabled(who, on)?,
        &Step::Name(who, name) => world.set_name(who, TEAMS[name as usize])?,
        &Step::QueryAdd(query, given) => with_set!(ledger, given, |set| {
            with_query!(query, |query| _ = world.batch(query).add(set).map_err(|r| r.error)?);
        }),
        &Step::QueryRemove(query, kind) => with_types!(kind, Types => {
            with_query!(query, |query| _ = world.batch(query).remove::<Types>()?);
        }),
        &Step::QueryAddTypes(query, bits) => {
            with_query!(query, |query| _ = world.batch(query).add_types(&types(bits))?);
        }
        &Step::QueryRemoveTypes(query, bits) => {
            with_query!(query, |query| _ = world.batch(query).remove_types(&types(bits))?);
        }
        &Step::QuerySetShared(query, number) => {
            with_query!(query, |query| _ = world.batch(query).set_shared(team(number))?);
        }
        &Step::QuerySwitch(query, on) => {
            with_query!(query, |query| _ = world.batch(query).set_component_enabled::<Glow>(on)?);
        }
        &Step::QueryEnable(query, on) => {
            with_query!(query, |query| _ = world.batch(query).set_enabled(on)?);
        }
        &Step::QueryDespawn(query) => {
            with_query!(query, |query| _ = world.batch(query).despawn()?);
        }
    }
    Ok(Vec::new())
}

fn before(strict: bool, rows: usize, ledger: &'static Ledger) -> (World, Vec<Entity>) {
    let settings = WorldSettings::new().strict(strict).chunk_capacity_limit(rows);
    let mut world = World::with_settings("model", settings);
    let plain = world.spawn((A(1), ledger.value(1), Glow(1)));
    let member = world.spawn((A(2), Link(plain)));
    let root = world.spawn((A(3), Tag));
    world.add(root, Buffer::from([root, member].map(LinkedEntityGroup))).unwrap();
    let stays = world.spawn((A(4), Stays(4), Buffer::from([Friend(plain)])));
    let dead = world.spawn(A(5));
    let shared = world.spawn((A(6), Glow(6), Shared::new(Team("red"))));
    world.despawn(dead).unwrap();
    (world, vec![plain, member, root, stays, dead, shared])
}

/// The steps of a script that were not applied.
#[derive(Clone, Debug, Default, PartialEq)]
struct Unapplied {
    /// The numbers of the failed steps, and the reasons. In a strict world, the first one ends the script.
    failed: Vec<(usize, Why)>,
    /// The number of entities that steps were skipped for, because they were despawned.
    skipped: usize,
    /// The number of the first step that was skipped.
    first_skipped: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Why {
    Entity(EntityError),
    Placeholder,
}

impl PartialEq for Why {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Entity(left), Self::Entity(right)) => discriminant(left) == discriminant(right),
            (Self::Placeholder, Self::Placeholder) => true,
            _ => false,
        }
    }
}

/// Returns whether a step names an entity of another buffer.
fn is_foreign(step: &Step<Who>) -> bool {
    let found = Cell::new(false);
    let note = |who| found.set(found.get() || who == Who::Foreign);
    step.map(&note, &note);
    found.get()
}

/// Applies the steps one by one.
fn one_by_one(
    world: &mut World,
    old: &[Entity],
    ledger: &'static Ledger,
    planned: &[Keyed<Who>],
    order: &[usize],
    strict: bool,
) -> (Vec<Option<Entity>>, Unapplied) {
    let firsts: Vec<_> = planned
        .iter()
        .scan(0, |next, keyed| {
            let first = *next;
            *next += keyed.step.creates();
            Some(first)
        })
        .collect();
    let count = planned.iter().map(|keyed| keyed.step.creates()).sum();
    let mut created: Vec<Option<Entity>> = vec![None; count];
    let archetypes = archetypes(world, old);
    // The id of entities that were not created, because their steps failed or were skipped.
    let uncreated = world.spawn(());
    world.despawn(uncreated).unwrap();
    let mut unapplied = Unapplied::default();
    for (number, &at) in (1..).zip(order) {
        let step = &planned[at].step;
        let who = |who| match who {
            Who::Null => Entity::NULL,
            Who::Foreign => foreign(),
            Who::Old(number) => old[number],
            Who::New(number) => created[number].unwrap_or(uncreated),
        };
        let is_gone = |&who: &Entity| {
            !who.is_null() && !who.is_placeholder() && !world.exists(who) && !strict
        };
        let mut named = step.map(&who, &who);
        let mut gone = 0;
        match &mut named {
            // There is nothing to remove from an entity that is gone.
            Step::Despawn(_)
            | Step::DespawnSlice(_)
            | Step::Remove(..)
            | Step::RemoveTypes(..)
            | Step::RemoveFromSlice(..) => {}
            Step::AddToSlice(all, _) | Step::SetSlice(all, _) => {
                let before = all.len();
                all.retain(|who| !is_gone(who));
                gone = before - all.len();
            }
            _ => {
                let is_skipped = Cell::new(false);
                let note = |who| is_skipped.set(is_skipped.get() || is_gone(&who));
                named.map(&note, &|_| ());
                if is_skipped.get() {
                    unapplied.skip(number, 1);
                    continue;
                }
            }
        }
        if is_foreign(step) {
            unapplied.failed.push((number, Why::Placeholder));
            if strict {
                break;
            }
            continue;
        }
        // If one of several entities is refused, none is changed.
        let done = if step.is_of_several()
            && let Err(error) = direct(&mut world.fork().unwrap(), &archetypes, ledger, &named)
        {
            Err(error)
        } else {
            direct(world, &archetypes, ledger, &named)
        };
        match done {
            Ok(all) => {
                for (slot, entity) in created[firsts[at]..].iter_mut().zip(all) {
                    *slot = Some(entity);
                }
                if gone > 0 {
                    unapplied.skip(number, gone);
                }
            }
            Err(error) => {
                unapplied.failed.push((number, Why::Entity(error)));
                if strict {
                    break;
                }
            }
        }
    }
    (created, unapplied)
}

impl Unapplied {
    fn skip(&mut self, number: usize, entities: usize) {
        self.skipped += entities;
        self.first_skipped.get_or_insert(number);
    }
}

/// Plays the steps in one buffer. Returns the created entities, and the failure if there is one.
fn in_bulk(
    world: &mut World,
    old: &[Entity],
    ledger: &'static Ledger,
    planned: &[Keyed<Who>],
    reusable: bool,
) -> (Vec<Option<Entity>>, Unapplied) {
    let other = foreign();
    let archetypes = archetypes(world, old);
    let mut buffer =
        if reusable { EntityCommandBuffer::reusable() } else { EntityCommandBuffer::new() };
    let mut created = Vec::new();
    for keyed in planned {
        let who = |who| match who {
            Who::Null => Entity::NULL,
            Who::Foreign => other,
            Who::Old(number) => old[number],
            Who::New(number) => created[number],
        };
        let step = keyed.step.map(&who, &who);
        let promised = keyed.promised && !reusable;
        created.extend(record(
            world,
            &archetypes,
            &mut buffer,
            ledger,
            &Keyed { key: keyed.key, promised, step },
        ));
    }
    assert_eq!((buffer.len(), buffer.trace().lines().count()), (planned.len(), planned.len()));
    _ = world.check_commands(&buffer);
    let report = match world.play(&mut buffer) {
        Ok(report) => report,
        Err(CommandError::Failed(report)) => *report,
        Err(error) => panic!("{error}"),
    };
    let why = |fault| match fault {
        CommandFault::Entity(error) => Why::Entity(error),
        CommandFault::ForeignPlaceholder { .. } => Why::Placeholder,
        other => panic!("{other}"),
    };
    let failed = report.failures().iter().map(|failed| (failed.number(), why(failed.fault())));
    let unapplied = Unapplied {
        failed: failed.collect(),
        skipped: report.skipped(),
        first_skipped: report.first_skipped().map(|skipped| skipped.number()),
    };
    let resolve = |entity: Entity| {
        let resolved = buffer.resolve(entity);
        // Only placeholders have to be resolved.
        if entity.is_placeholder() { resolved } else { Some(entity) }
    };
    (created.into_iter().map(resolve).collect(), unapplied)
}

/// Returns a name for each initial and created entity, and for the existing members of their groups.
fn names(world: &World, old: &[Entity], created: &[Option<Entity>]) -> HashMap<Entity, String> {
    let mut names: HashMap<_, _> = HashMap::from([(Entity::NULL, "null".to_owned())]);
    names.extend(old.iter().enumerate().map(|(at, &entity)| (entity, format!("old {at}"))));
    let new = created.iter().enumerate();
    names.extend(new.filter_map(|(at, entity)| Some(((*entity)?, format!("new {at}")))));
    let mut todo: Vec<_> = old.iter().copied().chain(created.iter().copied().flatten()).collect();
    while let Some(entity) = todo.pop() {
        for (at, member) in
            world.buffer::<LinkedEntityGroup>(entity).unwrap_or(&[]).iter().enumerate()
        {
            // Members that were never created have no name: the model has one id for all of them.
            if world.exists(member.0) && !names.contains_key(&member.0) {
                names.insert(member.0, format!("{} member {at}", names[&entity]));
                todo.push(member.0);
            }
        }
    }
    names
}

/// Describes all named entities, and counts the others.
fn told(
    world: &World,
    old: &[Entity],
    created: &[Option<Entity>],
    since: Option<Version>,
) -> Vec<String> {
    let names = names(world, old, created);
    let name = |entity: Entity| names.get(&entity).map_or("an unnamed entity", String::as_str);
    let entities = world;
    // With one entity in a chunk, changes are known per entity.
    let changed = since.map(|since| {
        [
            world.query_filtered::<Entity, Changed<A>>().since(since).to_entities(),
            world.query_filtered::<Entity, Changed<Glow>>().since(since).to_entities(),
        ]
    });
    let changed = changed.as_ref().map_or(&[][..], |changed| changed);
    let mut told: Vec<_> = names
        .keys()
        .filter(|&&entity| world.exists(entity))
        .map(|&entity| {
            let archetype = entities.entity_archetype(entity).unwrap();
            let mut types: Vec<_> = entities.component_types(archetype).unwrap().to_vec();
            types.sort_unstable_by_key(|ty| ty.name());
            let friends = world.buffer::<Friend>(entity).unwrap_or(&[]);
            let group = world.buffer::<LinkedEntityGroup>(entity).unwrap_or(&[]);
            let papers = world.managed::<Papers>(entity).ok();
            format!(
                "{}: {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} changed: {:?}",
                name(entity),
                types.iter().map(|ty| ty.name()).collect::<Vec<_>>(),
                world.get::<A>(entity).ok(),
                world.get::<Text>(entity).ok(),
                world.get::<Counted>(entity).ok().map(|value| value.number),
                world.get::<Link>(entity).ok().map(|link| name(link.0)),
                world.get::<Glow>(entity).ok(),
                entities.is_component_enabled::<Glow>(entity).ok(),
                friends.iter().map(|friend| name(friend.0)).collect::<Vec<_>>(),
                group.iter().map(|member| name(member.0)).collect::<Vec<_>>(),
                world.shared::<Team>(entity).ok(),
                world.shared::<Crew>(entity).ok().map(|crew| name(crew.0)),
                world.get::<Stays>(entity).ok(),
                (entities.is_enabled(entity), entities.entity_name(entity)),
                papers.map(|papers| (papers.value.number, name(papers.about))),
                changed.iter().map(|changed| changed.contains(&entity)).collect::<Vec<_>>(),
            )
        })
        .collect();
    told.sort_unstable();
    told.push(format!("{} entities", world.entity_count()));
    told
}

fn check(script: &[Keyed<Someone>], strict: bool, rows: usize) {
    if time_is_up() {
        return;
    }
    let (planned, order) = plan(script, strict);
    let ledger = Ledger::new();
    {
        let (mut world, old) = before(strict, rows, ledger);
        let (mut again, _) = before(strict, rows, ledger);
        let (mut expected, _) = before(strict, rows, ledger);
        let since = (rows == 1).then(|| world.version());
        for world in [&mut world, &mut again, &mut expected] {
            world.advance_version();
        }
        let (created, failed) = in_bulk(&mut world, &old, ledger, &planned, false);
        world.check_invariants().unwrap();
        let (same, _) = in_bulk(&mut again, &old, ledger, &planned, false);
        assert_eq!((&same, again.state_hash()), (&created, world.state_hash()));
        // Each value is dropped once, as soon as no entity has it.
        let counted = |world: &World| {
            let all = world.all_entities();
            let counted = all.iter().filter(|&&entity| world.has::<Counted>(entity)).count();
            let papers = all.iter().filter(|&&entity| world.has::<Managed<Papers>>(entity)).count();
            (counted + papers) as isize
        };
        let values = counted(&world) + counted(&again) + counted(&expected);
        assert_eq!(ledger.live(), values);
        let (naive, said) = one_by_one(&mut expected, &old, ledger, &planned, &order, strict);
        let comparable = |unapplied: &Unapplied| {
            let mut unapplied = unapplied.clone();
            for (number, why) in &mut unapplied.failed {
                if is_foreign(&planned[order[*number - 1]].step) {
                    // The reasons may differ.
                    *why = Why::Placeholder;
                }
            }
            unapplied
        };
        assert_eq!(comparable(&failed), comparable(&said));
        let mut created = created;
        for (at, (bulk, naive)) in created.iter_mut().zip(&naive).enumerate() {
            if naive.is_none() {
                let is_promised = bulk.is_some_and(|entity| !world.exists(entity));
                assert!(bulk.is_none() || is_promised, "entity {at} was created");
                *bulk = None;
            }
        }
        assert_eq!(told(&world, &old, &created, since), told(&expected, &old, &naive, since));
        if planned.iter().all(|keyed| !keyed.promised) {
            let (mut reused, _) = before(strict, rows, ledger);
            reused.advance_version();
            let once = failed.clone();
            let (created, failed) = in_bulk(&mut reused, &old, ledger, &planned, true);
            assert_eq!((failed, reused.state_hash()), (once, world.state_hash()));
            assert_eq!(created, same);
            reused.check_invariants().unwrap();
        }
    }
    assert_eq!(ledger.live(), 0);
}

#[test]
fn bulk_playback_equals_single_commands() {
    proptest!(cases(400), |(script in script(), strict in prop::bool::weighted(0.2), rows in 1..6_usize)| {
        check(&script, strict, rows);
    });
}

#[test]
fn coalesced_playback_equals_single_commands() {
    proptest!(cases(400), |(script in folding_script(), strict in prop::bool::weighted(0.1), rows in 1..6_usize)| {
        check(&script, strict, rows);
    });
}

#[test]
fn long_runs_that_cancel_out_equal_single_commands() {
    proptest!(cases(400), |(script in long_script(), strict in prop::bool::weighted(0.1), rows in 1..6_usize)| {
        check(&script, strict, rows);
    });
}
