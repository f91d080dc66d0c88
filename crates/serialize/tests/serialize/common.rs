//! Components of all kinds, and a world that has them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ancho_collections::{FixedList, FixedString};
use ancho_entities::{
    Buffer, BufferElement, Component, ComponentType, Disabled, Entity, FieldKind,
    LinkedEntityGroup, Managed, ManagedComponent, PerChunk, Prefab, RuntimeType, Shared,
    SharedComponent, World,
};
use ancho_serialize::{LoadOptions, SaveOptions, load, save};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Position(pub(crate) [f32; 3]);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Padded {
    pub(crate) small: u8,
    pub(crate) target: Entity,
    pub(crate) flag: bool,
    pub(crate) letter: char,
    pub(crate) count: NonZero<u16>,
}

#[derive(Component, Clone, Copy)]
pub(crate) struct Tag;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(enableable)]
pub(crate) struct Engine(pub(crate) u64);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mood {
    Calm,
    Angry { at: Entity, since: f64 },
    Fleeing(bool, i16),
}

#[derive(Component, Clone, Debug, PartialEq)]
pub(crate) struct Inventory {
    pub(crate) title: String,
    pub(crate) items: Vec<(u32, f32)>,
    pub(crate) names: BTreeSet<String>,
    pub(crate) prices: BTreeMap<i64, Option<u8>>,
    pub(crate) queue: VecDeque<Entity>,
    pub(crate) tree: Option<Box<Node>>,
    pub(crate) lasts: Duration,
    pub(crate) short: FixedString<32>,
    pub(crate) few: FixedList<u16, 64>,
    pub(crate) result: Result<u8, String>,
    #[field(skip)]
    pub(crate) cache: Option<std::sync::Arc<u8>>,
}

#[derive(ancho_entities::Field, Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: u8,
    pub(crate) next: Option<Box<Node>>,
}

#[derive(Component, Debug, Default)]
pub(crate) struct Counter(pub(crate) AtomicU32);

impl Clone for Counter {
    fn clone(&self) -> Self {
        Self(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }
}

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Waypoint(pub(crate) u32, pub(crate) u32);

#[derive(BufferElement, Clone, Debug, PartialEq)]
pub(crate) struct Note(pub(crate) String);

#[derive(SharedComponent, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Team(pub(crate) String);

#[derive(ManagedComponent, Clone, Debug, PartialEq)]
pub(crate) struct Script {
    pub(crate) source: String,
    pub(crate) owner: Entity,
}

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bounds(pub(crate) [f32; 4]);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(cleanup)]
pub(crate) struct Voice(pub(crate) u32);

/// Returns a world with components of all kinds, after despawns and changes.
pub(crate) fn varied_world() -> World {
    let mut world = World::new("Varied");
    let runtime = RuntimeType::new("script::Aim", 16, 8)
        .field("target", 0, FieldKind::Entity)
        .field("distance", 8, FieldKind::F32);
    let runtime = ComponentType::register(runtime).unwrap();
    let plain: Vec<Entity> =
        world.spawn_batch((0..3000).map(|at| Position([at as f32, 0.5, -1.0]))).collect();
    let first = plain[0];
    for at in 0..200_u32 {
        let padded = Padded {
            small: at as u8,
            target: plain[at as usize],
            flag: at.is_multiple_of(2),
            letter: 'ß',
            count: NonZero::new(at as u16 + 1).unwrap(),
        };
        let mood = match at % 3 {
            0 => Mood::Calm,
            1 => Mood::Angry { at: first, since: f64::from(at) },
            _ => Mood::Fleeing(at.is_multiple_of(2), -7),
        };
        let entity = world.spawn((padded, mood, Tag));
        if at.is_multiple_of(5) {
            world.add(entity, inventory(at, first)).unwrap();
        }
        if at.is_multiple_of(7) {
            world.add(entity, Engine(at.into())).unwrap();
            world.set_component_enabled::<Engine>(entity, at.is_multiple_of(2)).unwrap();
        }
    }
    for at in 0..90_u32 {
        let team = Shared::new(Team(format!("team {}", at % 3)));
        let entity = world.spawn((team, Position::default()));
        world.add(entity, Buffer::from_iter((0..at % 40).map(|at| Waypoint(at, 7)))).unwrap();
        world.add(entity, Buffer::from_iter((0..at % 4).map(|at| Note(at.to_string())))).unwrap();
        if at.is_multiple_of(4) {
            let script = Script { source: format!("run {at}"), owner: entity };
            world.add(entity, Managed::new(script)).unwrap();
        }
    }
    for at in 0..10 {
        let counter = Counter(AtomicU32::new(at));
        world.spawn((counter, PerChunk::<Bounds>::new()));
    }
    let ghost = world.spawn((Voice(3), Position::default()));
    world.despawn(ghost).unwrap();
    let tank = world.spawn(Prefab);
    let turret = world.spawn((Prefab, Position::default()));
    let group = Buffer::from([LinkedEntityGroup(tank), LinkedEntityGroup(turret)]);
    world.add(tank, group).unwrap();
    world.spawn((Tag, Disabled));
    let aim = world.spawn(());
    world.add_by_type(aim, runtime);
    world.set_name(tank, "Tank").unwrap();
    world.set_name(first, "First").unwrap();
    for at in (0..3000).step_by(3) {
        world.despawn(plain[at]).unwrap();
    }
    world
}

fn inventory(at: u32, entity: Entity) -> Inventory {
    let node = |value, next| Some(Box::new(Node { value, next }));
    Inventory {
        title: format!("bag {at} ✓"),
        items: (0..at % 9).map(|at| (at, at as f32 / 3.0)).collect(),
        names: ["b", "a"].map(String::from).into(),
        prices: [(-1, None), (at.into(), Some(3))].into(),
        queue: [entity, Entity::NULL].into(),
        tree: node(1, node(2, node(3, None))),
        lasts: Duration::new(7, 9),
        short: "short".try_into().unwrap(),
        few: [1, 2, 3].into_iter().collect(),
        result: if at.is_multiple_of(2) { Ok(3) } else { Err("no".into()) },
        cache: None,
    }
}

trait AddByType {
    fn add_by_type(&mut self, entity: Entity, ty: ComponentType);
}

impl AddByType for World {
    fn add_by_type(&mut self, entity: Entity, ty: ComponentType) {
        self.add_types(entity, &[ty]).unwrap();
        let bytes: [u8; 16] = std::array::from_fn(|at| at as u8);
        self.set_bytes(entity, ty, &bytes).unwrap();
    }
}

pub(crate) fn saved(world: &World) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = save(world, &mut bytes, SaveOptions::new()).unwrap();
    assert_eq!(written, bytes.len() as u64);
    bytes
}

pub(crate) fn loaded(bytes: &[u8]) -> World {
    load(bytes, LoadOptions::new()).unwrap()
}

pub(crate) fn count(world: &World, entity: Entity) -> u32 {
    world.get::<Counter>(entity).unwrap().0.load(Ordering::Relaxed)
}

/// Returns options that know all components of this file, for tests that run alone.
pub(crate) fn all_types() -> LoadOptions {
    LoadOptions::new()
        .component::<Position>()
        .component::<Padded>()
        .component::<Tag>()
        .component::<Engine>()
        .component::<Mood>()
        .component::<Inventory>()
        .component::<Counter>()
        .component::<Voice>()
        .buffer::<Waypoint>()
        .buffer::<Note>()
        .shared::<Team>()
        .managed::<Script>()
        .chunk_component::<Bounds>()
}

/// Computes all checksums of a file again, as far as its sections can be found.
pub(crate) fn repair(bytes: &mut [u8]) {
    let seal = |header: &mut [u8]| {
        let sum = xxh3_64(&header[..56]).to_le_bytes();
        header[56..64].copy_from_slice(&sum);
    };
    if bytes.len() < 64 {
        return;
    }
    seal(&mut bytes[..64]);
    let (mut at, mut sections, mut all) = (64, 0_u64, Xxh3::new());
    while at + 64 <= bytes.len() {
        let stored = u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap());
        let begin = at + 64;
        let end = usize::try_from(stored).ok().and_then(|len| begin.checked_add(len));
        let Some(end) = end.filter(|&end| end <= bytes.len()) else {
            return seal(&mut bytes[at..at + 64]);
        };
        if &bytes[at..at + 4] == b"END " && stored == 16 {
            bytes[begin..begin + 8].copy_from_slice(&sections.to_le_bytes());
            bytes[begin + 8..begin + 16].copy_from_slice(&all.digest().to_le_bytes());
        }
        let sum = xxh3_64(&bytes[begin..end]).to_le_bytes();
        bytes[at + 24..at + 32].copy_from_slice(&sum);
        seal(&mut bytes[at..at + 64]);
        all.update(&bytes[at..at + 64]);
        sections += 1;
        at = begin + (stored as usize).next_multiple_of(64);
    }
}

/// Returns a world with few entities of many kinds, whose file is small.
pub(crate) fn small_world() -> World {
    let varied = varied_world();
    let mut world = World::new("Small");
    world.spawn_many(Position([1.0; 3]), 3);
    for entity in varied.query::<&Mood>().to_entities().into_iter().step_by(37) {
        let mood = varied.get::<Mood>(entity).unwrap();
        let new = world.spawn((*mood, *varied.get::<Padded>(entity).unwrap()));
        if let Ok(inventory) = varied.get::<Inventory>(entity) {
            world.add(new, inventory.clone()).unwrap();
        }
    }
    let team = Shared::new(Team("red".into()));
    let boss = world.spawn((team, Engine(7)));
    world.add(boss, Buffer::from([Waypoint(1, 2), Waypoint(3, 4)])).unwrap();
    let script = Script { source: "x".into(), owner: boss };
    world.add(boss, Managed::new(script)).unwrap();
    world.set_name(boss, "Boss").unwrap();
    let gone = world.spawn(());
    world.despawn(gone).unwrap();
    world
}
