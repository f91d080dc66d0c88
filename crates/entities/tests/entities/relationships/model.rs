//! Random operations, compared with a model that keeps only the sources.

use std::collections::BTreeMap;

use ancho_entities::{Buffer, Entity, EntityCommandBuffer, World};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{ChildOf, Children, TargetedBy, Targets};
use crate::common::*;
use crate::fixtures::model::{cases, time_is_up};

/// A random operation. Numbers select living entities.
#[derive(Clone, Copy, Debug)]
enum Op {
    Spawn,
    SpawnChild(usize),
    SpawnChildren(usize, usize),
    Attach(usize, usize),
    Insert(usize, usize, usize),
    Aim(usize, usize),
    Detach(usize),
    DetachAll(usize),
    LoseAim(usize),
    AddOther(usize),
    Despawn(usize),
    DespawnTwo(usize, usize),
    Instantiate(usize),
    AttachAll(usize, usize, usize),
    Commands(usize, usize, usize),
    Reverse(usize),
    Fork,
    RoundTrip,
}

fn op() -> impl Strategy<Value = Op> {
    let at = || any::<usize>();
    prop_oneof![
        2 => Just(Op::Spawn),
        3 => at().prop_map(Op::SpawnChild),
        1 => (at(), 0..6_usize).prop_map(|(a, b)| Op::SpawnChildren(a, b)),
        4 => (at(), at()).prop_map(|(a, b)| Op::Attach(a, b)),
        2 => (at(), at(), 0..5_usize).prop_map(|(a, b, c)| Op::Insert(a, b, c)),
        4 => (at(), at()).prop_map(|(a, b)| Op::Aim(a, b)),
        2 => at().prop_map(Op::Detach),
        1 => at().prop_map(Op::DetachAll),
        2 => at().prop_map(Op::LoseAim),
        1 => at().prop_map(Op::AddOther),
        1 => at().prop_map(Op::Despawn),
        1 => (at(), at()).prop_map(|(a, b)| Op::DespawnTwo(a, b)),
        1 => at().prop_map(Op::Instantiate),
        2 => (at(), at(), 1..6_usize).prop_map(|(a, b, c)| Op::AttachAll(a, b, c)),
        2 => (at(), at(), at()).prop_map(|(a, b, c)| Op::Commands(a, b, c)),
        1 => at().prop_map(Op::Reverse),
        1 => Just(Op::Fork),
        1 => Just(Op::RoundTrip),
    ]
}

/// The sources of all entities: parents with the ordered children, and targets.
#[derive(Clone, Debug, Default)]
struct Model {
    alive: Vec<Entity>,
    parents: BTreeMap<Entity, Entity>,
    children: BTreeMap<Entity, Vec<Entity>>,
    aims: BTreeMap<Entity, Entity>,
}

impl Model {
    fn at(&self, number: usize) -> Option<Entity> {
        self.alive.get(number.checked_rem(self.alive.len())?).copied()
    }

    fn detach(&mut self, child: Entity) {
        if let Some(parent) = self.parents.remove(&child)
            && let Some(children) = self.children.get_mut(&parent)
        {
            children.retain(|&other| other != child);
        }
    }

    fn is_above(&self, entity: Entity, mut below: Entity) -> bool {
        while below != entity {
            let Some(&parent) = self.parents.get(&below) else { return false };
            below = parent;
        }
        true
    }

    /// Attaches a child, unless that closes a cycle. Returns whether the world accepts it.
    fn attach(&mut self, child: Entity, parent: Entity) -> bool {
        if self.is_above(child, parent) {
            return false;
        }
        if self.parents.get(&child) != Some(&parent) {
            self.detach(child);
            self.parents.insert(child, parent);
            self.children.entry(parent).or_default().push(child);
        }
        true
    }

    fn subtree(&self, root: Entity) -> Vec<Entity> {
        let mut all = vec![root];
        for &child in self.children.get(&root).into_iter().flatten() {
            all.extend(self.subtree(child));
        }
        all
    }

    fn despawn(&mut self, root: Entity) {
        for entity in self.subtree(root) {
            self.alive.retain(|&other| other != entity);
            self.detach(entity);
            self.children.remove(&entity);
            self.aims.remove(&entity);
            self.aims.retain(|_, target| *target != entity);
        }
    }

    /// Spawned entities get an `A` with their number, so that queries find them.
    fn spawned(&mut self, entity: Entity) {
        self.alive.push(entity);
    }

    fn compare(&self, world: &World) {
        world.check_invariants().unwrap();
        assert_eq!(world.entity_count(), self.alive.len());
        for &entity in &self.alive {
            let children = self.children.get(&entity).map_or(&[][..], Vec::as_slice);
            assert_eq!(world.sources::<ChildOf>(entity), children);
            assert_eq!(world.has::<Buffer<Children>>(entity), !children.is_empty());
            assert_eq!(world.target::<ChildOf>(entity), self.parents.get(&entity).copied());
            assert_eq!(world.target::<Targets>(entity), self.aims.get(&entity).copied());
            let mut hunters = world.sources::<Targets>(entity).to_vec();
            hunters.sort();
            let aims = self.aims.iter().filter(|&(_, &target)| target == entity);
            assert!(hunters.iter().eq(aims.map(|(source, _)| source)));
            assert_eq!(world.has::<Buffer<TargetedBy>>(entity), !hunters.is_empty());
        }
    }
}

fn apply(world: &mut World, model: &mut Model, op: Op) {
    let name = |model: &Model, number| model.at(number);
    match op {
        Op::Spawn => model.spawned(world.spawn(A(1))),
        Op::SpawnChild(parent) => {
            let Some(parent) = name(model, parent) else { return };
            let child = world.spawn((A(2), ChildOf(parent)));
            model.spawned(child);
            model.attach(child, parent);
        }
        Op::SpawnChildren(parent, count) => {
            let Some(parent) = name(model, parent) else { return };
            let set = (A(2), ChildOf(parent), Targets { enemy: parent });
            let children: Vec<_> = world.spawn_many(set, count).collect();
            for child in children {
                model.spawned(child);
                model.attach(child, parent);
                model.aims.insert(child, parent);
            }
        }
        Op::Attach(child, parent) => {
            let (Some(child), Some(parent)) = (name(model, child), name(model, parent)) else {
                return;
            };
            assert_eq!(world.add(child, ChildOf(parent)).is_ok(), model.attach(child, parent));
        }
        Op::Insert(child, parent, index) => {
            let (Some(child), Some(parent)) = (name(model, child), name(model, parent)) else {
                return;
            };
            let inserted = world.insert_source::<ChildOf>(parent, index, child);
            assert_eq!(inserted.is_ok(), model.attach(child, parent));
            if inserted.is_ok() {
                let children = model.children.get_mut(&parent).unwrap();
                children.retain(|&other| other != child);
                children.insert(index.min(children.len()), child);
            }
        }
        Op::Aim(source, enemy) => {
            let (Some(source), Some(enemy)) = (name(model, source), name(model, enemy)) else {
                return;
            };
            let added = world.add(source, Targets { enemy });
            assert_eq!(added.is_ok(), source != enemy);
            if source != enemy {
                model.aims.insert(source, enemy);
            }
        }
        Op::Detach(child) => {
            let Some(child) = name(model, child) else { return };
            assert_eq!(world.remove::<ChildOf>(child), Ok(model.parents.contains_key(&child)));
            model.detach(child);
        }
        Op::DetachAll(parent) => {
            let Some(parent) = name(model, parent) else { return };
            world.remove::<(Buffer<Children>, Buffer<TargetedBy>)>(parent).unwrap();
            for child in model.children.get(&parent).cloned().unwrap_or_default() {
                model.detach(child);
            }
            model.aims.retain(|_, target| *target != parent);
        }
        Op::LoseAim(source) => {
            let Some(source) = name(model, source) else { return };
            world.remove::<(Targets, B)>(source).unwrap();
            model.aims.remove(&source);
        }
        Op::AddOther(entity) => {
            let Some(entity) = name(model, entity) else { return };
            world.add(entity, B(1)).unwrap();
        }
        Op::Despawn(entity) => {
            let Some(entity) = name(model, entity) else { return };
            world.despawn(entity).unwrap();
            model.despawn(entity);
        }
        Op::DespawnTwo(one, other) => {
            let (Some(one), Some(other)) = (name(model, one), name(model, other)) else { return };
            world.batch(&[one, other]).despawn().unwrap();
            model.despawn(one);
            if model.alive.contains(&other) {
                model.despawn(other);
            }
        }
        Op::Instantiate(root) => {
            let Some(root) = name(model, root) else { return };
            let originals = model.subtree(root);
            if model.alive.len() + originals.len() > 60 {
                return;
            }
            let instance = world.instantiate(root).unwrap();
            let mut copies = vec![instance];
            copies.extend(world.descendants::<ChildOf>(instance).unwrap());
            assert_eq!(copies.len(), originals.len());
            let copy_of = |entity: Entity| {
                originals.iter().position(|&other| other == entity).map_or(entity, |at| copies[at])
            };
            for (&original, &copy) in originals.iter().zip(&copies) {
                model.spawned(copy);
                if let Some(&parent) = model.parents.get(&original) {
                    assert!(model.attach(copy, copy_of(parent)));
                }
                if let Some(&enemy) = model.aims.get(&original) {
                    model.aims.insert(copy, copy_of(enemy));
                }
            }
        }
        Op::AttachAll(first, parent, count) => {
            let (Some(_), Some(parent)) = (name(model, first), name(model, parent)) else { return };
            let mut list: Vec<_> = (first % model.alive.len()..)
                .take(count)
                .filter_map(|at| name(model, at))
                .collect();
            list.sort();
            list.dedup();
            let fits = list.iter().all(|&child| !model.is_above(child, parent));
            let sets = list.iter().map(|_| ChildOf(parent));
            let added = world.batch(list.as_slice()).add_each(sets);
            assert_eq!(added.is_ok(), fits);
            for child in list.into_iter().filter(|_| fits) {
                model.attach(child, parent);
            }
        }
        Op::Commands(first, parent, other) => {
            let (Some(parent), Some(other)) = (name(model, parent), name(model, other)) else {
                return;
            };
            let mut buffer = EntityCommandBuffer::new();
            let commands = buffer.commands().unwrap();
            let list: Vec<_> = (0..6).filter_map(|step| name(model, first / 2 + step)).collect();
            for &child in &list {
                commands.add(child, ChildOf(parent));
            }
            let new = commands.spawn((A(3), ChildOf(other)));
            commands.add(new, B(2));
            commands.remove::<Targets>(other);
            let is_ok = world.play(&mut buffer).is_ok();
            let mut fits = true;
            for &child in &list {
                fits &= model.attach(child, parent);
            }
            assert_eq!(is_ok, fits);
            let new = buffer.resolve(new).unwrap();
            model.spawned(new);
            model.attach(new, other);
            model.aims.remove(&other);
        }
        Op::Reverse(parent) => {
            let Some(parent) = name(model, parent) else { return };
            if let Ok(sources) = world.sources_mut::<ChildOf>(parent) {
                sources.reverse();
                model.children.get_mut(&parent).unwrap().reverse();
            }
        }
        Op::Fork => {
            let mut fork = world.fork().unwrap();
            let mut model = model.clone();
            let count = model.alive.len();
            for step in 0..count.min(3) {
                apply(&mut fork, &mut model, Op::Attach(step, step + 1));
                apply(&mut fork, &mut model, Op::LoseAim(step * 2));
            }
            model.compare(&fork);
        }
        Op::RoundTrip => {
            let mut other = World::new("Other");
            other.spawn(());
            let there = other.move_entities_from(world).unwrap();
            let back = other
                .batch(there.iter().map(|(_, new)| new).collect::<Vec<_>>().as_slice())
                .move_to(world)
                .unwrap();
            let map = |entity: Entity| back.get(there.get(entity).unwrap()).unwrap();
            let pairs = |links: &BTreeMap<Entity, Entity>| {
                links.iter().map(|(&source, &target)| (map(source), map(target))).collect()
            };
            *model = Model {
                alive: model.alive.iter().map(|&entity| map(entity)).collect(),
                parents: pairs(&model.parents),
                children: model
                    .children
                    .iter()
                    .map(|(&parent, list)| (map(parent), list.iter().map(|&e| map(e)).collect()))
                    .collect(),
                aims: pairs(&model.aims),
            };
        }
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn buffers_always_agree_with_the_sources(ops in vec(op(), 1..60), few in any::<bool>()) {
        if time_is_up() {
            return Ok(());
        }
        let mut world = if few { chunks_of(3) } else { world() };
        let mut model = Model::default();
        for op in ops {
            if model.alive.len() > 60 && !matches!(op, Op::Despawn(_)) {
                continue;
            }
            apply(&mut world, &mut model, op);
            model.compare(&world);
        }
    }
}
