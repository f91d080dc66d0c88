//! Enabled bits follow their entities through every operation.
//!
//! Random scripts of fixed seeds, compared with a map of the expected bits.

use std::collections::BTreeMap;

use ancho_entities::{ArchetypeChunk, Component, ComponentType, Entity, Version};

use crate::common::{A, Checked, Tag, Text, chunks_of, ignore};
use crate::enabled::bits::{AIM, Engine, Lit};

/// The number of component kinds; those before `ALWAYS_ON` are enableable.
const KINDS: usize = 6;
const ALWAYS_ON: usize = 3;
const ENGINE: usize = 0;
const LIT: usize = 1;
const AIMS: usize = 2;
const AS: usize = 3;
const TEXT: usize = 4;
const TAG: usize = 5;

fn type_of(kind: usize) -> ComponentType {
    match kind {
        ENGINE => ComponentType::of::<Engine>(),
        LIT => ComponentType::of::<Lit>(),
        AIMS => *AIM,
        AS => ComponentType::of::<A>(),
        TEXT => ComponentType::of::<Text>(),
        _ => ComponentType::of::<Tag>(),
    }
}

/// For each kind, `Some` if the entity has it, with its enabled state.
type Row = [Option<bool>; KINDS];

/// Returns the row of a new entity.
fn enabled(kinds: &[usize]) -> Row {
    std::array::from_fn(|kind| kinds.contains(&kind).then_some(true))
}

/// A world, and its expected state.
struct Pair {
    world: Checked,
    shadow: BTreeMap<Entity, Row>,
}

struct Script {
    pairs: Vec<Pair>,
    seed: u64,
}

/// The number of entities above which some are despawned.
const MOST: usize = 400;

#[test]
fn enabled_bits_follow_entities_in_chunks_of_three() {
    for seed in 1..=3 {
        Script::new(chunks_of(3), seed).run(250, 12);
    }
}

#[test]
fn enabled_bits_follow_entities_in_chunks_of_more_than_a_word() {
    for seed in 1..=3 {
        Script::new(chunks_of(70), seed).run(250, 100);
    }
}

impl Script {
    fn new(world: Checked, seed: u64) -> Self {
        Self { pairs: vec![Pair { world, shadow: BTreeMap::new() }], seed }
    }

    /// Returns a number below `end` (SplitMix64).
    fn below(&mut self, end: usize) -> usize {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % end as u64) as usize
    }

    fn now(&mut self) -> &mut Pair {
        self.pairs.last_mut().unwrap()
    }

    fn any_entity(&mut self) -> Option<Entity> {
        let count = self.now().shadow.len();
        let at = if count == 0 { return None } else { self.below(count) };
        self.now().shadow.keys().nth(at).copied()
    }

    fn any_kinds(&mut self) -> Vec<usize> {
        let bits = self.below(1 << KINDS);
        (0..KINDS).filter(|kind| bits >> kind & 1 == 1).collect()
    }

    fn run(mut self, steps: usize, most_at_once: usize) {
        for _ in 0..steps {
            let count = self.below(most_at_once) + 1;
            self.step(count);
            self.check();
            if self.now().shadow.len() > MOST {
                self.despawn_slice(MOST / 2);
                self.check();
            }
        }
        let disabled = |pair: &Pair| {
            let rows = pair.shadow.values();
            rows.filter(|row| row.contains(&Some(false))).count()
        };
        assert!(self.pairs.iter().map(disabled).sum::<usize>() > 0, "nothing was disabled");
    }

    fn step(&mut self, count: usize) {
        match self.below(20) {
            0 => self.spawn(count),
            1 => self.create(count),
            2 => self.instantiate(count),
            3 | 4 => self.add(),
            5 => self.add_types(),
            6 | 7 => self.remove_types(),
            8 => self.remove_or_take(),
            9 => self.write(),
            10 => self.despawn(),
            11 => self.despawn_slice(count),
            12 | 13 => self.swap(),
            14 => self.set_archetype(),
            15 => self.copy_or_switch(),
            _ => (0..count).for_each(|_| self.toggle()),
        }
    }

    fn created(&mut self, new: Vec<Entity>, row: Row) {
        for entity in new {
            assert_eq!(self.now().shadow.insert(entity, row), None);
        }
    }

    fn spawn(&mut self, count: usize) {
        let way = self.below(5);
        let world = &mut self.now().world;
        let (new, kinds): (Vec<Entity>, &[usize]) = match way {
            0 => (vec![world.spawn((Engine(1), A(1)))], &[ENGINE, AS]),
            1 => (vec![world.spawn((Text("x".into()), Lit))], &[LIT, TEXT]),
            2 => (world.spawn_many((Lit, Engine(1)), count).collect(), &[ENGINE, LIT]),
            3 => {
                let sets = (0..count).map(|at| (Text(at.to_string()), Engine(at as u32), Tag));
                (world.spawn_batch(sets).collect(), &[ENGINE, TEXT, TAG])
            }
            _ => {
                let columns = (vec![Lit; count], vec![A(1); count]);
                (world.spawn_columns(columns).unwrap().collect(), &[LIT, AS])
            }
        };
        self.created(new, enabled(kinds));
    }

    fn create(&mut self, count: usize) {
        let kinds = self.any_kinds();
        let types: Vec<_> = kinds.iter().map(|&kind| type_of(kind)).collect();
        let entities = &mut self.now().world;
        let archetype = entities.archetype_of(&types).unwrap();
        let new = entities.create_many(archetype, count).unwrap().collect();
        self.created(new, enabled(&kinds));
    }

    fn instantiate(&mut self, count: usize) {
        let Some(source) = self.any_entity() else { return };
        let one = self.below(3) == 0;
        let Pair { world, shadow } = self.now();
        let row = shadow[&source];
        let entities = &mut *world;
        let new = if one {
            vec![entities.instantiate(source).unwrap()]
        } else {
            entities.instantiate_many(source, count).unwrap().collect()
        };
        self.created(new, row);
    }

    /// Records that an entity has the kinds; new ones are enabled.
    fn has_now(&mut self, entity: Entity, kinds: &[usize]) {
        let row = self.now().shadow.get_mut(&entity).unwrap();
        for &kind in kinds {
            row[kind].get_or_insert(true);
        }
    }

    fn add(&mut self) {
        let Some(entity) = self.any_entity() else { return };
        let way = self.below(4);
        let world = &mut self.now().world;
        let kinds: &[usize] = match way {
            0 => {
                world.add(entity, Engine(2)).unwrap();
                &[ENGINE]
            }
            1 => {
                world.add(entity, (A(2), Lit)).unwrap();
                &[AS, LIT]
            }
            2 => {
                world.add(entity, (Text("y".into()), Engine(3), Tag)).unwrap();
                &[TEXT, ENGINE, TAG]
            }
            _ => {
                world.add_bytes(entity, *AIM, &[3; 8]).unwrap();
                &[AIMS]
            }
        };
        self.has_now(entity, kinds);
    }

    fn add_types(&mut self) {
        let Some(entity) = self.any_entity() else { return };
        let kinds = self.any_kinds();
        let types: Vec<_> = kinds.iter().map(|&kind| type_of(kind)).collect();
        ignore(self.now().world.add_types(entity, &types).unwrap());
        self.has_now(entity, &kinds);
    }

    fn remove_types(&mut self) {
        let Some(entity) = self.any_entity() else { return };
        let kinds = self.any_kinds();
        let types: Vec<_> = kinds.iter().map(|&kind| type_of(kind)).collect();
        let Pair { world, shadow } = self.now();
        ignore(world.remove_types(entity, &types).unwrap());
        let row = shadow.get_mut(&entity).unwrap();
        kinds.iter().for_each(|&kind| row[kind] = None);
    }

    fn remove_or_take(&mut self) {
        let Some(entity) = self.any_entity() else { return };
        let way = self.below(4);
        let Pair { world, shadow } = self.now();
        let row = shadow.get_mut(&entity).unwrap();
        let removed: &[usize] = match way {
            0 => {
                world.remove::<(Lit, A)>(entity).unwrap();
                &[LIT, AS]
            }
            1 => {
                world.remove::<Engine>(entity).unwrap();
                &[ENGINE]
            }
            2 => {
                assert_eq!(world.take::<Engine>(entity).is_ok(), row[ENGINE].is_some());
                &[ENGINE]
            }
            _ => {
                let both = row[TEXT].and(row[LIT]).is_some();
                assert_eq!(world.take::<(Text, Lit)>(entity).is_ok(), both);
                if both { &[TEXT, LIT] } else { &[] }
            }
        };
        removed.iter().for_each(|&kind| row[kind] = None);
    }

    /// Changes values, and so no bit.
    fn write(&mut self) {
        let Some(entity) = self.any_entity() else { return };
        let Pair { world, shadow } = self.now();
        let row = shadow[&entity];
        assert_eq!(world.set(entity, Engine(7)).is_ok(), row[ENGINE].is_some());
        assert_eq!(world.set(entity, (Lit, A(7))).is_ok(), row[LIT].and(row[AS]).is_some());
        assert_eq!(world.get_mut::<Engine>(entity).is_ok(), row[ENGINE].is_some());
        let bytes = world.set_bytes(entity, *AIM, &[9; 8]);
        assert_eq!(bytes.is_ok(), row[AIMS].is_some());
    }

    fn despawn(&mut self) {
        let Some(entity) = self.any_entity() else { return };
        let Pair { world, shadow } = self.now();
        assert_eq!(world.despawn(entity), Ok(true));
        shadow.remove(&entity);
    }

    /// Despawns neighbours, or entities from anywhere.
    fn despawn_slice(&mut self, count: usize) {
        let living = self.now().shadow.len();
        let slice: Vec<Entity> = if self.below(2) == 0 {
            let first = self.below(living + 1);
            self.now().world.iter_entities().skip(first).take(count).collect()
        } else {
            (0..count).filter_map(|_| self.any_entity()).collect()
        };
        let Pair { world, shadow } = self.now();
        let before = shadow.len();
        slice.iter().for_each(|entity| ignore(shadow.remove(entity)));
        assert_eq!(world.batch(&slice).despawn(), Ok(before - shadow.len()));
    }

    fn swap(&mut self) {
        let Some(left) = self.any_entity() else { return };
        let Pair { world, shadow } = self.now();
        let kinds = |row: Row| row.map(|bit| bit.is_some());
        let alike: Vec<_> = shadow
            .iter()
            .filter(|&(_, &row)| kinds(row) == kinds(shadow[&left]))
            .map(|(&entity, _)| entity)
            .collect();
        let at = left.index() as usize * 31 % alike.len();
        world.swap_components(left, alike[at]).unwrap();
        let was = shadow[&left];
        let other = shadow.insert(alike[at], was).unwrap();
        if left != alike[at] {
            shadow.insert(left, other);
        }
    }

    fn set_archetype(&mut self) {
        let Some(entity) = self.any_entity() else { return };
        let kinds = self.any_kinds();
        let types: Vec<_> = kinds.iter().map(|&kind| type_of(kind)).collect();
        let Pair { world, shadow } = self.now();
        let entities = &mut *world;
        let archetype = entities.archetype_of(&types).unwrap();
        entities.set_archetype(entity, archetype).unwrap();
        let row = shadow.get_mut(&entity).unwrap();
        for (kind, bit) in row.iter_mut().enumerate() {
            *bit = kinds.contains(&kind).then(|| bit.unwrap_or(true));
        }
    }

    fn copy_or_switch(&mut self) {
        match self.below(4) {
            0 => {
                let which = self.below(self.pairs.len());
                let pair = self.pairs.remove(which);
                self.pairs.push(pair);
            }
            way => {
                let Pair { world, shadow } = self.now();
                let copy = if way == 1 { world.duplicate() } else { world.fork() };
                assert_eq!(copy.state_hash(), world.state_hash());
                let shadow = shadow.clone();
                self.pairs.push(Pair { world: copy, shadow });
                if self.pairs.len() > 3 {
                    self.pairs.remove(0);
                }
            }
        }
    }

    /// Toggles one component. Only its chunk and type count as changed, besides the state hash.
    fn toggle(&mut self) {
        let Some(entity) = self.any_entity() else { return };
        let kind = self.below(ALWAYS_ON);
        let to = self.below(2) == 0;
        let Pair { world, shadow } = self.now();
        let entities = &mut *world;
        let Some(bit) = shadow.get_mut(&entity).unwrap()[kind].as_mut() else {
            entities.set_type_enabled(entity, type_of(kind), to).unwrap_err();
            return;
        };
        let was = versions(entities.chunks());
        let version = entities.advance_version();
        entities.set_type_enabled(entity, type_of(kind), to).unwrap();
        let now = versions(entities.chunks());
        for (chunk, (was, now)) in entities.chunks().zip(was.iter().zip(&now)) {
            for other in 0..KINDS {
                let is_it = other == kind && chunk.entities().contains(&entity);
                assert_eq!(now[other], if is_it { Some(version) } else { was[other] });
            }
        }
        if *bit != to {
            // All at one version, so that only the bit differs.
            let after = entities.state_hash();
            entities.set_type_enabled(entity, type_of(kind), !to).unwrap();
            assert_ne!(entities.state_hash(), after);
            entities.set_type_enabled(entity, type_of(kind), to).unwrap();
            assert_eq!(entities.state_hash(), after);
        }
        *bit = to;
    }

    fn check(&self) {
        for Pair { world, shadow } in &self.pairs {
            world.check_invariants().unwrap();
            let entities = world;
            assert_eq!(entities.entity_count(), shadow.len());
            for (&entity, row) in shadow {
                for (kind, &bit) in row.iter().enumerate() {
                    assert_eq!(entities.is_type_enabled(entity, type_of(kind)).ok(), bit);
                }
            }
            for chunk in entities.chunks() {
                check_mask::<Engine>(&chunk, ENGINE, shadow);
                check_mask::<Lit>(&chunk, LIT, shadow);
                assert_eq!(chunk.enabled_mask::<A>(), None);
            }
        }
    }
}

/// Returns the change version of each kind in each chunk.
fn versions<'w>(chunks: impl Iterator<Item = ArchetypeChunk<'w>>) -> Vec<[Option<Version>; KINDS]> {
    chunks.map(|chunk| std::array::from_fn(|kind| chunk.change_version_of(type_of(kind)))).collect()
}

/// Checks that the mask has the bits of the map, and none after the last entity.
fn check_mask<T: Component>(
    chunk: &ArchetypeChunk<'_>,
    kind: usize,
    shadow: &BTreeMap<Entity, Row>,
) {
    let Some(mask) = chunk.enabled_mask::<T>() else {
        assert!(!chunk.has::<T>());
        assert_eq!(chunk.enabled_count::<T>(), 0);
        return;
    };
    let mut expected = vec![0; chunk.capacity().div_ceil(64)];
    for (row, entity) in chunk.entities().iter().enumerate() {
        expected[row / 64] |= u64::from(shadow[entity][kind].unwrap()) << (row % 64);
    }
    assert_eq!(mask, expected);
    let count: u32 = expected.iter().map(|word| word.count_ones()).sum();
    assert_eq!(chunk.enabled_count::<T>(), count as usize);
}
