//! All kinds of components on the same entities, in worlds that are forks of one another, compared with plain maps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ancho_entities::{
    Buffer, BufferElement, Columns, Component, Disabled, Entity, EntityError, EntityTracker,
    LinkedEntityGroup, Managed, ManagedComponent, PerChunk, Shared, SharedComponent,
};

use crate::common::{A, Checked, chunks_of};

#[derive(Component, Clone, Debug)]
#[component(name = "together_model::Word")]
struct Word(u32, #[field(opaque)] Arc<()>);

/// A component of three words, which are written to columns four at a time.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "together_model::Engine", enableable)]
struct Engine([u32; 3]);

/// A component too large for the fast paths.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "together_model::Large")]
struct Large([u64; 12]);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "together_model::Stays", cleanup)]
struct Stays(u32);

#[derive(SharedComponent, Clone, Debug)]
#[shared(name = "together_model::Team")]
struct Team(u32, #[field(opaque)] Arc<()>);

impl PartialEq for Team {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Team {}

impl std::hash::Hash for Team {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[shared(name = "together_model::Badge", cleanup)]
struct Badge(u32);

/// A chunk component.
#[derive(Component, Clone, Debug, Default)]
#[component(name = "together_model::Bounds")]
struct Bounds(#[field(opaque)] Vec<Arc<()>>);

#[derive(ManagedComponent, Clone, Debug)]
#[managed(name = "together_model::Script")]
struct Script {
    number: u32,
    refers: Entity,
    #[field(opaque)]
    owner: Arc<()>,
}

#[derive(BufferElement, Clone, Debug)]
#[buffer(name = "together_model::Item", inline = 2)]
struct Item(u32, #[field(opaque)] Arc<()>);

/// The components of an entity.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    a: Option<u32>,
    word: Option<u32>,
    engine: Option<(u32, bool)>,
    large: Option<u32>,
    stays: Option<u32>,
    team: Option<u32>,
    badge: Option<u32>,
    mark: bool,
    script: Option<(u32, Entity)>,
    items: Option<Vec<u32>>,
    group: Option<Vec<Entity>>,
    disabled: bool,
    /// True if it was despawned, and only its cleanup components exist.
    residue: bool,
}

impl Row {
    fn is_gone(&self) -> bool {
        *self == Self { residue: true, ..Self::default() }
    }
}

type Plain = BTreeMap<Entity, Row>;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }
}

fn engine(number: u32) -> Engine {
    Engine([number, number + 1, number + 2])
}

fn large(number: u32) -> Large {
    Large(std::array::from_fn(|at| u64::from(number) + at as u64))
}

fn found(world: &Checked, entity: Entity, residue: bool) -> Row {
    let engine_of = |found: &Engine| {
        assert_eq!(*found, engine(found.0[0]));
        (found.0[0], world.is_component_enabled::<Engine>(entity).unwrap())
    };
    let large_of = |found: &Large| {
        assert_eq!(*found, large(found.0[0] as u32));
        found.0[0] as u32
    };
    Row {
        a: world.get::<A>(entity).ok().map(|a| a.0),
        word: world.get::<Word>(entity).ok().map(|word| word.0),
        engine: world.get(entity).ok().map(engine_of),
        large: world.get(entity).ok().map(large_of),
        stays: world.get::<Stays>(entity).ok().map(|stays| stays.0),
        team: world.shared::<Team>(entity).ok().map(|team| team.0),
        badge: world.shared::<Badge>(entity).ok().map(|badge| badge.0),
        mark: world.chunk_component::<Bounds>(entity).is_ok(),
        script: world.managed::<Script>(entity).ok().map(|script| (script.number, script.refers)),
        items: world.buffer::<Item>(entity).ok().map(|all| all.iter().map(|item| item.0).collect()),
        group: world
            .buffer::<LinkedEntityGroup>(entity)
            .ok()
            .map(|all| all.iter().map(|member| member.0).collect()),
        disabled: world.has::<Disabled>(entity),
        residue,
    }
}

#[track_caller]
fn compare(world: &Checked, plain: &Plain) {
    world.check_invariants().unwrap();
    assert_eq!(world.entity_count(), plain.len());
    for (&entity, expected) in plain {
        assert!(world.exists(entity), "{entity}");
        assert_eq!(found(world, entity, expected.residue), *expected, "{entity}");
    }
}

/// Returns the live entities of a group, and of the groups of those.
fn whole_group(plain: &Plain, root: Entity) -> BTreeSet<Entity> {
    let mut all = BTreeSet::new();
    let mut next = vec![root];
    while let Some(entity) = next.pop() {
        if let Some(row) = plain.get(&entity)
            && all.insert(entity)
        {
            next.extend(row.group.iter().flatten());
        }
    }
    all
}

fn despawn(plain: &mut Plain, root: Entity) {
    for entity in whole_group(plain, root) {
        let Row { stays, badge, .. } = plain.remove(&entity).unwrap();
        // Components added since an earlier despawn are removed, too.
        if stays.is_some() || badge.is_some() {
            plain.insert(entity, Row { stays, badge, residue: true, ..Row::default() });
        }
    }
}

fn instantiate(world: &mut Checked, plain: &mut Plain, source: Entity, count: usize) {
    let members = plain[&source].group.clone().unwrap_or_default();
    let sources = if members.is_empty() { vec![source] } else { members };
    let made = world.instantiate_many(source, count);
    let made: Result<Vec<_>, _> = made.map(Iterator::collect);
    if sources[0] != source {
        assert!(matches!(made, Err(EntityError::GroupWithoutRoot { .. })));
        return;
    }
    if sources.iter().any(|member| plain.get(member).is_none_or(|row| row.residue)) {
        assert!(made.is_err());
        return;
    }
    for root in made.unwrap() {
        // Each instance has the position of its member in the group.
        let instances: Vec<_> = match world.buffer::<LinkedEntityGroup>(root) {
            Ok(group) if !group.is_empty() => group.iter().map(|member| member.0).collect(),
            _ => vec![root],
        };
        assert_eq!((instances.len(), instances[0]), (sources.len(), root));
        let map: BTreeMap<_, _> = sources.iter().copied().zip(instances).collect();
        let instance_of = |entity: Entity| map.get(&entity).copied().unwrap_or(entity);
        for (source, &instance) in &map {
            let mut row = Row { stays: None, badge: None, ..plain[source].clone() };
            row.script = row.script.map(|(number, refers)| (number, instance_of(refers)));
            row.group.iter_mut().flatten().for_each(|member| *member = instance_of(*member));
            assert_eq!(plain.insert(instance, row), None);
        }
    }
}

fn create(world: &mut Checked, plain: &mut Plain, owner: &Arc<()>, random: &mut Random) {
    let (number, count) = (random.below(100) as u32, random.below(12));
    let team = Shared::new(Team(number % 4, owner.clone()));
    let (rows, new): (Vec<Row>, Vec<Entity>) = match random.below(4) {
        0 => {
            let row = Row { a: Some(number), team: Some(number % 4), ..Row::default() };
            let new = world.spawn_many((A(number), team), count);
            (vec![row; count], new.collect())
        }
        1 => {
            let row = |at| Row {
                word: Some(at),
                engine: Some((at, true)),
                large: Some(at + 1),
                ..Row::default()
            };
            let columns = Columns::new(count)
                .with(|at| engine(at as u32))
                .with(|at| Word(at as u32, owner.clone()))
                .with(|at| large(at as u32 + 1));
            let new = world.spawn_columns(columns).unwrap();
            ((0..count as u32).map(row).collect(), new.collect())
        }
        2 => {
            let row = |at| Row {
                badge: Some(at % 3),
                mark: true,
                items: Some(Vec::new()),
                ..Row::default()
            };
            let set =
                |at| (PerChunk::<Bounds>::new(), Shared::new(Badge(at % 3)), Buffer::<Item>::new());
            let new = world.spawn_batch((0..count as u32).map(set));
            ((0..count as u32).map(row).collect(), new.collect())
        }
        _ => {
            let script = Script { number, refers: Entity::NULL, owner: owner.clone() };
            let row = Row { script: Some((number, Entity::NULL)), mark: true, ..Row::default() };
            let new = world.spawn_many((Managed::new(script), PerChunk::<Bounds>::new()), count);
            (vec![row; count], new.collect())
        }
    };
    plain.extend(new.into_iter().zip(rows));
}

fn step(world: &mut Checked, plain: &mut Plain, owner: &Arc<()>, random: &mut Random) {
    let number = random.below(1000) as u32;
    let pick = |random: &mut Random, plain: &Plain| {
        plain.keys().nth(random.below(plain.len().max(1))).copied()
    };
    let Some(entity) = pick(random, plain).filter(|_| plain.len() < 300) else {
        if plain.is_empty() {
            create(world, plain, owner, random);
        } else {
            let half: Vec<_> = world.iter_entities().skip(random.below(100)).collect();
            world.batch(&half).despawn().unwrap();
            half.into_iter().for_each(|entity| {
                if plain.contains_key(&entity) {
                    despawn(plain, entity);
                }
            });
        }
        return;
    };
    let other = pick(random, plain).unwrap();
    let row = plain.get_mut(&entity).unwrap();
    let choice = random.below(if row.residue { 6 } else { 27 });
    match choice {
        0 => {
            assert_eq!(world.remove::<Stays>(entity), Ok(row.stays.take().is_some()));
        }
        1 => {
            assert_eq!(world.remove::<Shared<Badge>>(entity), Ok(row.badge.take().is_some()));
        }
        2 => {
            assert!(world.despawn(entity).is_ok());
            despawn(plain, entity);
        }
        3 => {
            let enabled = random.below(2) == 0;
            world.set_enabled(entity, enabled).unwrap();
            let mut members: BTreeSet<_> = row.group.iter().flatten().copied().collect();
            members.insert(entity);
            for member in members {
                if let Some(row) = plain.get_mut(&member) {
                    row.disabled = !enabled;
                }
            }
        }
        4 => {
            let is_there = row.badge.is_some();
            assert_eq!(world.set_shared(entity, Badge(number % 3)).is_ok(), is_there);
            row.badge = row.badge.map(|_| number % 3);
        }
        5 => create(world, plain, owner, random),
        6 => {
            world.add(entity, A(number)).unwrap();
            row.a = Some(number);
        }
        7 => {
            world.add(entity, (Word(number, owner.clone()), Stays(number))).unwrap();
            (row.word, row.stays) = (Some(number), Some(number));
        }
        8 => {
            let enabled = row.engine.is_none_or(|(_, enabled)| enabled);
            world.add(entity, engine(number)).unwrap();
            row.engine = Some((number, enabled));
        }
        9 => {
            if let Some((_, enabled)) = &mut row.engine {
                *enabled = random.below(2) == 0;
                world.set_component_enabled::<Engine>(entity, *enabled).unwrap();
            }
        }
        10 => {
            world.add(entity, large(number)).unwrap();
            row.large = Some(number);
        }
        11 => {
            let team = Shared::new(Team(number % 4, owner.clone()));
            world.add(entity, (team, A(number))).unwrap();
            (row.team, row.a) = (Some(number % 4), Some(number));
        }
        12 => {
            world.add(entity, Shared::new(Badge(number % 3))).unwrap();
            row.badge = Some(number % 3);
        }
        13 => {
            world.add(entity, PerChunk::<Bounds>::new()).unwrap();
            row.mark = true;
        }
        14 => {
            let script = Script { number, refers: other, owner: owner.clone() };
            world.add(entity, Managed::new(script)).unwrap();
            row.script = Some((number, other));
        }
        15 => {
            let items = (0..number % 5).map(|at| Item(at, owner.clone()));
            world.add(entity, items.collect::<Buffer<_>>()).unwrap();
            row.items = Some((0..number % 5).collect());
        }
        16 => {
            let mut members = vec![entity];
            members.extend((0..random.below(6)).filter_map(|_| pick(random, plain)));
            let group: Buffer<_> = members.iter().copied().map(LinkedEntityGroup).collect();
            world.add(entity, group).unwrap();
            plain.get_mut(&entity).unwrap().group = Some(members);
        }
        17 => {
            assert_eq!(
                world.remove::<(A, Large)>(entity),
                Ok(row.a.is_some() | row.large.is_some())
            );
            (row.a, row.large) = (None, None);
        }
        18 => {
            let taken = world.take::<(Managed<Script>, Word)>(entity).ok();
            let expected = row.script.is_some() && row.word.is_some();
            assert_eq!(taken.is_some(), expected);
            if expected {
                (row.script, row.word) = (None, None);
            }
        }
        19 => {
            let taken = world.take::<Shared<Team>>(entity).ok();
            assert_eq!(taken.map(|team| team.0), row.team.take());
        }
        20 => {
            world.remove::<(Engine, PerChunk<Bounds>)>(entity).unwrap();
            (row.engine, row.mark) = (None, false);
        }
        21 => {
            world.remove::<Buffer<LinkedEntityGroup>>(entity).unwrap();
            row.group = None;
        }
        22 => {
            if let Ok(mut items) = world.buffer_mut::<Item>(entity) {
                items.push(Item(number, owner.clone()));
                row.items.as_mut().unwrap().push(number);
            }
            if let Ok(script) = world.managed_mut::<Script>(entity) {
                script.number = number;
                row.script.as_mut().unwrap().0 = number;
            }
        }
        23 => {
            if row.mark {
                let bounds = Bounds(vec![owner.clone(); 3]);
                world.set_chunk_component(entity, bounds).unwrap();
                assert_eq!(world.chunk_component::<Bounds>(entity).unwrap().0.len(), 3);
            }
        }
        24 => {
            let all = world.iter_entities().filter(|&entity| plain[&entity].team.is_some());
            let some: Vec<_> = all.skip(random.below(10)).take(random.below(40)).collect();
            world.batch(&some).set_shared(Team(number % 4, owner.clone())).unwrap();
            some.iter().for_each(|entity| plain.get_mut(entity).unwrap().team = Some(number % 4));
        }
        25 => {
            let swapped = world.swap_components(entity, other);
            let types = |entity| world.entity_archetype(entity).unwrap();
            assert_eq!(swapped.is_ok(), types(entity) == types(other));
            if swapped.is_ok() {
                let (left, right) = (plain[&entity].clone(), plain[&other].clone());
                plain.insert(entity, right);
                plain.insert(other, left);
            }
        }
        _ => instantiate(world, plain, entity, random.below(4)),
    }
    if plain.get(&entity).is_some_and(Row::is_gone) {
        plain.remove(&entity);
    }
    plain.retain(|_, row| !row.is_gone());
}

#[test]
fn all_kinds_together_equal_plain_maps() {
    for seed in 0..6 {
        let owner = Arc::new(());
        let mut random = Random(seed);
        let mut worlds = vec![(chunks_of(1 + seed as usize % 7), Plain::new())];
        let mut seen = (EntityTracker::new(), BTreeSet::new());
        for round in 0..400 {
            let at = random.below(worlds.len());
            let (world, plain) = &mut worlds[at];
            step(world, plain, &owner, &mut random);
            match random.below(60) {
                0 if at == 0 => {
                    let changes = world.entity_changes(&mut seen.0);
                    let now: BTreeSet<_> = plain.keys().copied().collect();
                    assert!(changes.created.iter().eq(now.difference(&seen.1)));
                    assert!(changes.destroyed.iter().eq(seen.1.difference(&now)));
                    seen.1 = now;
                }
                1 => {
                    let copy = (world.fork(), plain.clone());
                    worlds.push(copy);
                }
                2 => {
                    let copy = (world.duplicate(), plain.clone());
                    worlds.push(copy);
                }
                3 if at > 0 => drop(worlds.swap_remove(at)),
                4 if plain.values().all(|row| row.stays.is_none() && row.badge.is_none()) => {
                    world.despawn_all().unwrap();
                    plain.clear();
                }
                _ => {}
            }
            if round % 10 == 0 {
                worlds.iter().for_each(|(world, plain)| compare(world, plain));
            }
        }
        worlds.iter().for_each(|(world, plain)| compare(world, plain));
        drop(worlds);
        assert_eq!(Arc::strong_count(&owner), 1, "{seed}");
    }
}
