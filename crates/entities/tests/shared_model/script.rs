//! The steps of a script, and what they do to both worlds.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ancho_entities::{Buffer, ComponentType, Entity, EntityError, Shared, SharedComponent, World};
use proptest::prelude::*;

use crate::row::{Engine, Item, Mesh, Registry, Row, Team, Text, despawn, despawned, look};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Spawn,
    SpawnMany,
    SpawnBatch,
    Create,
    Instantiate,
    SetTeam,
    SetMesh,
    SetRegistry,
    SetSlice,
    SetWholeChunk,
    SetBoth,
    AddTeam,
    AddWithText,
    AddEngine,
    AddTypes,
    RemoveTeam,
    RemoveText,
    Take,
    SetArchetype,
    Swap,
    Toggle,
    Despawn,
    DespawnSlice,
    DespawnAll,
    Fork,
    Switch,
    Forget,
}

pub(crate) const WEIGHTS: [(u32, Call); 27] = [
    (6, Call::Spawn),
    (5, Call::SpawnMany),
    (5, Call::SpawnBatch),
    (3, Call::Create),
    (4, Call::Instantiate),
    (8, Call::SetTeam),
    (5, Call::SetMesh),
    (4, Call::SetRegistry),
    (8, Call::SetSlice),
    (6, Call::SetWholeChunk),
    (5, Call::SetBoth),
    (5, Call::AddTeam),
    (4, Call::AddWithText),
    (4, Call::AddEngine),
    (3, Call::AddTypes),
    (4, Call::RemoveTeam),
    (4, Call::RemoveText),
    (4, Call::Take),
    (3, Call::SetArchetype),
    (4, Call::Swap),
    (10, Call::Toggle),
    (6, Call::Despawn),
    (4, Call::DespawnSlice),
    (1, Call::DespawnAll),
    (4, Call::Fork),
    (4, Call::Switch),
    (2, Call::Forget),
];

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) call: Call,
    pub(crate) entity: usize,
    pub(crate) other: usize,
    pub(crate) count: usize,
    pub(crate) number: u32,
}

pub(crate) fn any_script() -> impl Strategy<Value = Vec<Step>> {
    let call = prop::strategy::Union::new_weighted(
        WEIGHTS.iter().map(|&(weight, call)| (weight, Just(call))).collect(),
    );
    let step = (call, any::<u16>(), any::<u16>(), 0..10_usize, 0..5_u32);
    let step = step.prop_map(|(call, entity, other, count, number)| Step {
        call,
        entity: entity.into(),
        other: other.into(),
        count,
        number,
    });
    prop::collection::vec(step, 1..120)
}

pub(crate) struct Pair {
    pub(crate) world: World,
    pub(crate) plain: BTreeMap<Entity, Row>,
    /// The order versions of values when they were last asked for.
    pub(crate) orders: BTreeMap<u32, u32>,
}

pub(crate) struct Run {
    /// The last is worked on.
    pub(crate) pairs: Vec<Pair>,
    pub(crate) owner: Arc<()>,
    pub(crate) limited: bool,
}

/// Compares a result with what was expected. Returns whether something was done.
pub(crate) fn agrees<T: PartialEq + std::fmt::Debug>(
    limited: bool,
    found: Result<T, EntityError>,
    expected: Result<T, &str>,
) -> bool {
    if limited && matches!(found, Err(EntityError::OutOfMemory(_))) {
        return false;
    }
    let found = found.map_err(|error| error.to_string()[..5].to_owned());
    assert_eq!(found, expected.map_err(str::to_owned));
    found.is_ok()
}

impl Run {
    fn pick(&self, which: usize) -> Entity {
        let plain = &self.pairs.last().unwrap().plain;
        match plain.len() {
            0 => Entity::NULL,
            _ if which % 32 == 31 => Entity::from_parts((which / 32) as u32 % 50, 1),
            living => *plain.keys().nth(which % living).unwrap(),
        }
    }

    fn live(&self) -> Option<Arc<()>> {
        Some(self.owner.clone())
    }

    fn team(&self, number: u32) -> Shared<Team> {
        Shared::new(Team(number, self.live()))
    }

    fn mesh(&self, number: u32) -> Shared<Mesh> {
        Shared::new(Mesh(number, self.live()))
    }

    fn registry(&self, number: u32) -> Shared<Registry> {
        Shared::new(Registry(number, self.live()))
    }

    /// Sets a shared value of one entity in the plain world.
    fn set_one<T: SharedComponent>(
        &mut self,
        entity: Entity,
        value: T,
        number: u32,
        part: fn(&mut Row) -> &mut Option<u32>,
    ) {
        let limited = self.limited;
        let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
        let expected = match plain.get_mut(&entity).map(part) {
            None => Err("A0050"),
            Some(None) => Err("A0051"),
            Some(Some(old)) => Ok(*old != number),
        };
        if agrees(limited, world.set_shared(entity, value), expected) {
            *part(plain.get_mut(&entity).unwrap()) = Some(number);
        }
    }

    fn set_slice(&mut self, entities: &[Entity], number: u32) {
        let (limited, value) = (self.limited, Team(number, self.live()));
        let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
        let found = world.set_shared_slice(entities, value);
        let lacks = |entity: &&Entity| plain.get(entity).is_none_or(|row| row.team.is_none());
        match entities.iter().find(lacks) {
            Some(entity) => {
                let expected = if plain.contains_key(entity) { "A0051" } else { "A0050" };
                agrees(limited, found, Err(expected));
            }
            None if agrees(limited, found, Ok(())) => {
                for entity in entities {
                    plain.get_mut(entity).unwrap().team = Some(number);
                }
            }
            None => {
                // Without memory the first of them have it, and the others what they had.
                for entity in entities {
                    let has = world.shared::<Team>(*entity).unwrap().0;
                    let row = plain.get_mut(entity).unwrap();
                    assert!(Some(has) == row.team || has == number);
                    row.team = Some(has);
                }
            }
        }
    }

    fn created(&mut self, entities: Vec<Entity>, rows: impl IntoIterator<Item = Row>) {
        let plain = &mut self.pairs.last_mut().unwrap().plain;
        for (entity, row) in entities.into_iter().zip(rows) {
            assert!(plain.insert(entity, row).is_none());
        }
    }

    /// Calls what panics without memory. Returns nothing then.
    fn or_panics(&mut self, call: impl FnOnce(&mut World) -> Vec<Entity>) -> Option<Vec<Entity>> {
        let world = &mut self.pairs.last_mut().unwrap().world;
        match catch_unwind(AssertUnwindSafe(|| call(world))) {
            Ok(created) => Some(created),
            Err(panic) => {
                let message = panic.downcast::<String>().unwrap();
                assert!(self.limited && message.starts_with("A0056"), "{message}");
                None
            }
        }
    }

    pub(crate) fn step(&mut self, step: &Step) {
        let limited = self.limited;
        let entity = self.pick(step.entity);
        let number = step.number;
        let text = Text(number.to_string());
        let (team, mesh, registry) =
            (self.team(number), self.mesh(step.count as u32 % 3), self.registry(number));
        match step.call {
            Call::Spawn => {
                let kind = step.other % 4;
                let world = &mut self.pairs.last_mut().unwrap().world;
                let (found, row) = match kind {
                    0 => (
                        world.try_spawn((text, team)).map_err(|rejected| rejected.error),
                        Row {
                            text: Some(number.to_string()),
                            team: Some(number),
                            ..Row::default()
                        },
                    ),
                    1 => (
                        world.try_spawn((mesh.clone(), Engine(number), team)).map_err(|r| r.error),
                        Row {
                            engine: Some((number, true)),
                            mesh: Some(mesh.0),
                            team: Some(number),
                            ..Row::default()
                        },
                    ),
                    2 => (
                        world.try_spawn((registry, team, Engine(7))).map_err(|r| r.error),
                        Row {
                            engine: Some((7, true)),
                            registry: Some(number),
                            team: Some(number),
                            ..Row::default()
                        },
                    ),
                    _ => (
                        world
                            .try_spawn((Buffer::from([Item(1), Item(number)]), mesh.clone()))
                            .map_err(|rejected| rejected.error),
                        Row { items: Some(vec![1, number]), mesh: Some(mesh.0), ..Row::default() },
                    ),
                };
                match found {
                    Ok(entity) => self.created(vec![entity], [row]),
                    Err(error) => assert!(limited && matches!(error, EntityError::OutOfMemory(_))),
                }
            }
            Call::SpawnMany => {
                let set = (text, Engine(number), team);
                let row = Row {
                    text: Some(number.to_string()),
                    engine: Some((number, true)),
                    team: Some(number),
                    ..Row::default()
                };
                let created = self.or_panics(|world| world.spawn_many(step.count, set).collect());
                self.created(created.unwrap_or_default(), std::iter::repeat(row));
            }
            Call::SpawnBatch => {
                let values: Vec<u32> =
                    (0..step.count as u32).map(|at| (at / 2 + number) % 3).collect();
                let sets: Vec<_> = values
                    .iter()
                    .map(|&value| (Engine(value), self.team(value), self.mesh(1)))
                    .collect();
                let before = self.pairs.last().unwrap().world.entities().all_entities();
                let created = self.or_panics(|world| world.spawn_batch(sets).collect());
                let rows = values.into_iter().map(|value| Row {
                    engine: Some((value, true)),
                    team: Some(value),
                    mesh: Some(1),
                    ..Row::default()
                });
                let Some(created) = created else {
                    // Those before are there, though nobody got to know them.
                    let world = &mut self.pairs.last_mut().unwrap().world;
                    let before: BTreeSet<_> = before.into_iter().collect();
                    for entity in world.entities().all_entities() {
                        if !before.contains(&entity) {
                            world.despawn(entity).unwrap();
                        }
                    }
                    return;
                };
                self.created(created, rows);
            }
            Call::Create => {
                let entities = self.pairs.last_mut().unwrap().world.entities_mut();
                let archetype = entities.archetype::<(Shared<Team>, Text, Shared<Mesh>)>();
                let created = entities.create_many(archetype, step.count).map(Iterator::collect);
                let row = Row {
                    text: Some(String::new()),
                    team: Some(0),
                    mesh: Some(0),
                    ..Row::default()
                };
                match created {
                    Ok(created) => self.created(created, std::iter::repeat(row)),
                    Err(error) => assert!(limited && matches!(error, EntityError::OutOfMemory(_))),
                }
            }
            Call::Instantiate => {
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let expected = match plain.get(&entity) {
                    None => Err("A0050"),
                    Some(row) if row.despawned => Err("A0072"),
                    Some(_) => Ok(()),
                };
                let mut created = Vec::new();
                let found = world.entities_mut().instantiate_many(entity, step.count);
                let found = found.map(|new| created.extend(new));
                let row = plain.get(&entity).cloned();
                if agrees(limited, found, expected) {
                    let row = Row { registry: None, ..row.unwrap() };
                    self.created(created, std::iter::repeat(row));
                }
            }
            Call::SetTeam => {
                let value = Team(number, self.live());
                self.set_one(entity, value, number, |row| &mut row.team);
            }
            Call::SetMesh => {
                let value = Mesh(number, self.live());
                self.set_one(entity, value, number, |row| &mut row.mesh);
            }
            Call::SetRegistry => {
                let value = Registry(number, self.live());
                self.set_one(entity, value, number, |row| &mut row.registry);
            }
            Call::SetSlice => {
                let all = self.pairs.last().unwrap().world.entities().all_entities();
                let first = step.entity % (all.len() + 1);
                let mut slice = all[first..all.len().min(first + step.count)].to_vec();
                if step.other.is_multiple_of(3) {
                    slice.reverse();
                }
                if step.other % 16 != 15 {
                    let plain = &self.pairs.last().unwrap().plain;
                    slice.retain(|entity| plain[entity].team.is_some());
                }
                self.set_slice(&slice, number);
            }
            Call::SetWholeChunk => {
                let world = &self.pairs.last().unwrap().world;
                let with =
                    world.entities().chunks().filter(|chunk| chunk.shared::<Team>().is_some());
                let chunks: Vec<_> = with.map(|chunk| chunk.entities().to_vec()).collect();
                if !chunks.is_empty() {
                    let first = step.entity % chunks.len();
                    let some = &chunks[first..chunks.len().min(first + 1 + step.count % 3)];
                    self.set_slice(&some.concat(), number);
                }
            }
            Call::SetBoth => {
                let mesh_number = mesh.0;
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let expected = match plain.get(&entity) {
                    None => Err("A0050"),
                    Some(Row { engine: Some(_), team: Some(_), mesh: Some(_), .. }) => Ok(()),
                    Some(_) => Err("A0051"),
                };
                let found = world.set(entity, (mesh, Engine(number), team));
                if agrees(limited, found.map_err(|rejected| rejected.error), expected) {
                    let row = plain.get_mut(&entity).unwrap();
                    row.engine.as_mut().unwrap().0 = number;
                    (row.team, row.mesh) = (Some(number), Some(mesh_number));
                }
            }
            Call::AddTeam => {
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let expected = plain.get(&entity).map(|row| row.team.is_none()).ok_or("A0050");
                let found = world.add(entity, team).map_err(|rejected| rejected.error);
                if agrees(limited, found, expected) {
                    plain.get_mut(&entity).unwrap().team = Some(number);
                }
            }
            Call::AddWithText => {
                let mesh_number = mesh.0;
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let is_new = |row: &Row| row.text.is_none() || row.mesh.is_none();
                let expected = plain.get(&entity).map(is_new).ok_or("A0050");
                let found = world.add(entity, (text, mesh)).map_err(|rejected| rejected.error);
                if agrees(limited, found, expected) {
                    let row = plain.get_mut(&entity).unwrap();
                    (row.text, row.mesh) = (Some(number.to_string()), Some(mesh_number));
                }
            }
            Call::AddEngine => {
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let expected = plain.get(&entity).map(|row| row.engine.is_none()).ok_or("A0050");
                let found = world.add(entity, Engine(number)).map_err(|rejected| rejected.error);
                if agrees(limited, found, expected) {
                    let engine = &mut plain.get_mut(&entity).unwrap().engine;
                    *engine = Some((number, engine.is_none_or(|(_, enabled)| enabled)));
                }
            }
            Call::AddTypes => {
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let types =
                    [ComponentType::of_shared::<Registry>(), ComponentType::of_buffer::<Item>()];
                let is_new = |row: &Row| row.registry.is_none() || row.items.is_none();
                let expected = plain.get(&entity).map(is_new).ok_or("A0050");
                if agrees(limited, world.entities_mut().add_types(entity, &types), expected) {
                    let row = plain.get_mut(&entity).unwrap();
                    row.registry.get_or_insert(0);
                    row.items.get_or_insert_default();
                }
            }
            Call::RemoveTeam | Call::RemoveText => {
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let is_team = matches!(step.call, Call::RemoveTeam);
                let has = |row: &Row| {
                    if is_team {
                        row.team.is_some() || row.registry.is_some()
                    } else {
                        row.text.is_some()
                    }
                };
                let expected = Ok(plain.get(&entity).is_some_and(has));
                let found = if is_team {
                    world.remove::<(Shared<Team>, Shared<Registry>)>(entity)
                } else {
                    world.remove::<Text>(entity)
                };
                if agrees(limited, found, expected)
                    && let Some(row) = plain.get_mut(&entity)
                {
                    if is_team {
                        (row.team, row.registry) = (None, None);
                    } else {
                        row.text = None;
                    }
                    if row.despawned && row.is_bare() {
                        plain.remove(&entity);
                    }
                }
            }
            Call::Take => {
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let expected = match plain.get(&entity) {
                    None => Err("A0050"),
                    Some(Row { text: Some(text), team: Some(team), .. }) => {
                        Ok((text.clone(), *team))
                    }
                    Some(_) => Err("A0051"),
                };
                let found = world.take::<(Text, Shared<Team>)>(entity);
                if agrees(limited, found.map(|(text, team)| (text.0, team.0)), expected) {
                    let row = plain.get_mut(&entity).unwrap();
                    (row.text, row.team) = (None, None);
                    if row.despawned && row.is_bare() {
                        plain.remove(&entity);
                    }
                }
            }
            Call::SetArchetype => {
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let entities = world.entities_mut();
                let archetype = entities.archetype::<(Engine, Shared<Mesh>, Shared<Registry>)>();
                let expected = match plain.get(&entity) {
                    None => Err("A0050"),
                    Some(row) if row.despawned => Err("A0072"),
                    Some(_) => Ok(()),
                };
                if agrees(limited, entities.set_archetype(entity, archetype), expected) {
                    let row = plain.get_mut(&entity).unwrap();
                    *row = Row {
                        engine: Some(row.engine.unwrap_or((0, true))),
                        mesh: Some(row.mesh.unwrap_or(0)),
                        registry: Some(row.registry.unwrap_or(0)),
                        ..Row::default()
                    };
                }
            }
            Call::Swap => {
                let other = self.pick(step.other);
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let expected = match (plain.get(&entity), plain.get(&other)) {
                    (Some(one), Some(other)) if one.kinds() == other.kinds() => Ok(()),
                    (Some(_), Some(_)) => Err("A0061"),
                    _ => Err("A0050"),
                };
                if agrees(limited, world.entities_mut().swap_components(entity, other), expected) {
                    let (one, two) = (plain[&entity].clone(), plain[&other].clone());
                    plain.insert(entity, two);
                    plain.insert(other, one);
                }
            }
            Call::Toggle => {
                // Some in a row, every other one of them off.
                for at in 0..=step.count {
                    let entity = self.pick(step.entity + at);
                    let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                    let enabled = (step.other + at).is_multiple_of(2);
                    let found =
                        world.entities_mut().set_component_enabled::<Engine>(entity, enabled);
                    match plain.get_mut(&entity).map(|row| &mut row.engine) {
                        Some(Some(engine)) => {
                            found.unwrap();
                            engine.1 = enabled;
                        }
                        _ => assert!(found.is_err()),
                    }
                }
            }
            Call::Despawn => {
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let done =
                    plain.get(&entity).cloned().is_some_and(|row| despawned(&row) != Some(row));
                if agrees(limited, world.despawn(entity), Ok(done)) && done {
                    despawn(plain, entity);
                }
            }
            Call::DespawnSlice => {
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                let all = world.entities().all_entities();
                let first = step.entity % (all.len() + 1);
                let slice = &all[first..all.len().min(first + step.count)];
                match world.despawn_slice(slice) {
                    Ok(_) => slice.iter().for_each(|&entity| despawn(plain, entity)),
                    Err(error) => {
                        assert!(limited && matches!(error, EntityError::OutOfMemory(_)));
                        for &entity in slice {
                            let was = &plain[&entity];
                            if !world.exists(entity) || *was != look(world, entity) {
                                despawn(plain, entity);
                            }
                        }
                    }
                }
            }
            Call::DespawnAll => {
                let Pair { world, plain, .. } = self.pairs.last_mut().unwrap();
                match world.despawn_all() {
                    Ok(_) => {
                        let all: Vec<_> = plain.keys().copied().collect();
                        all.into_iter().for_each(|entity| despawn(plain, entity));
                    }
                    Err(error) => {
                        assert!(limited && matches!(error, EntityError::OutOfMemory(_)));
                        let all: Vec<_> = plain.keys().copied().collect();
                        for entity in all {
                            if !world.exists(entity) || plain[&entity] != look(world, entity) {
                                despawn(plain, entity);
                            }
                        }
                    }
                }
            }
            Call::Fork => {
                let Pair { world, plain, orders } = self.pairs.last_mut().unwrap();
                let copied = if step.other % 4 == 3 { world.duplicate() } else { world.fork() };
                match copied {
                    Ok(copy) => {
                        assert_eq!(copy.state_hash(), world.state_hash());
                        let (plain, orders) = (plain.clone(), orders.clone());
                        self.pairs.push(Pair { world: copy, plain, orders });
                    }
                    Err(error) => assert!(limited && matches!(error, EntityError::OutOfMemory(_))),
                }
            }
            Call::Switch => {
                let count = self.pairs.len();
                self.pairs.swap(step.entity % count, count - 1);
            }
            Call::Forget => {
                let count = self.pairs.len();
                if count > 1 {
                    self.pairs.remove(step.entity % count);
                }
            }
        }
    }
}
