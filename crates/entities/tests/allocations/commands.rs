//! In a steady state, recording, playing and clearing command buffers allocates nothing, and neither do batches over
//! queries.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use ancho_entities::{
    Archetype, ArchetypeChunk, Buffer, BufferElement, CommandRecorder, Component, ComponentType,
    Disabled, EnabledMut, Entity, EntityCommandBuffer, IncludeDisabled, Linked, LinkedEntityGroup,
    Managed, ManagedComponent, QueryDescriptor, Shared, SharedComponent, With, World,
    WorldSettings,
};
use ancho_jobs::JobPool;

use crate::counting_allocator::ALLOCATIONS;

#[derive(Component, Clone, Copy, Default)]
struct Position(f32);

#[derive(Component, Clone, Copy, Default)]
struct Target(Entity);

#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct Awake;

#[derive(Component, Clone, Copy, Default)]
struct Brief;

#[derive(Component, Clone, Copy)]
struct Scale(f32);

#[derive(Component, Clone, Default)]
struct Cloned(u32);

#[derive(Component, Clone, Copy)]
struct Gone;

#[derive(BufferElement, Clone, Copy)]
#[buffer(inline = 8)]
struct Item(u32);

#[derive(BufferElement, Clone, Copy)]
#[buffer(inline = 4)]
struct Friend(Entity);

#[derive(SharedComponent, PartialEq, Eq, Hash)]
struct Team(u32);

#[derive(ManagedComponent, Clone)]
struct Script(u32);

#[derive(Component, Clone, Copy)]
struct Stays;

#[derive(Component, Clone, Copy)]
struct Large;

#[derive(Component, Clone, Copy)]
#[component(track_changes)]
struct Tracked(f32);

/// Returns a shared value that is allocated once and reused.
fn team(number: usize) -> Shared<Team> {
    static TEAMS: OnceLock<[Shared<Team>; 2]> = OnceLock::new();
    TEAMS.get_or_init(|| [Shared::new(Team(0)), Shared::new(Team(1))])[number].clone()
}

/// Returns a shared value that no entity had before.
fn new_team() -> Shared<Team> {
    static NEXT: AtomicU32 = AtomicU32::new(2);
    Shared::new(Team(NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Entities that exist in every frame.
struct Old {
    all: Vec<Entity>,
    /// Entities with a shared component.
    shared: Vec<Entity>,
    /// Roots of groups of three.
    roots: Vec<Entity>,
    /// Root of a large group of several archetypes, whose members refer to each other.
    large: Entity,
    /// One entity of each archetype that others enter and leave, so that the archetype keeps a chunk with room.
    staying: Vec<Entity>,
    archetype: Archetype,
}

/// The work of one frame.
struct Part {
    name: &'static str,
    record: fn(&mut CommandRecorder, &Old),
    /// Commands recorded for all `Brief` entities, after `record` was played.
    then: Option<fn(&mut CommandRecorder, &[Entity])>,
    /// The number of allocations that the recorded values need themselves.
    values: usize,
    /// The number of allocations for copies of values made during playback.
    copies: usize,
}

const fn part(name: &'static str, record: fn(&mut CommandRecorder, &Old)) -> Part {
    Part { name, record, then: None, values: 0, copies: 0 }
}

impl Part {
    const fn then(self, then: fn(&mut CommandRecorder, &[Entity])) -> Self {
        Self { then: Some(then), ..self }
    }

    const fn values(self, values: usize) -> Self {
        Self { values, ..self }
    }

    const fn copies(self, copies: usize) -> Self {
        Self { copies, ..self }
    }
}

const PARTS: &[Part] = &[
    part("set", |commands, old| {
        old.all.iter().for_each(|&entity| commands.set(entity, Position(1.0)));
    }),
    part("set with references", |commands, old| {
        old.all.iter().for_each(|&entity| commands.set(entity, Target(old.all[3])));
    }),
    part("set by descending keys", |commands, old| {
        for (at, &entity) in old.all.iter().enumerate() {
            commands.set_sort_key(Some((old.all.len() - at) as u32));
            commands.set(entity, Position(1.0));
        }
    }),
    part("set of a slice", |commands, old| commands.batch(&old.all).set(Position(1.0))),
    part("switch", |commands, old| {
        old.all.iter().for_each(|&entity| commands.set_component_enabled::<Awake>(entity, true));
    }),
    part("append, and set_buffer of few", |commands, old| {
        for &entity in &old.all {
            commands.append(entity, Item(1));
        }
        for &entity in &old.all {
            commands.set_buffer(entity, [Item(1), Item(2)]);
        }
    }),
    part("add_buffer of entities, and remove it", |commands, old| {
        let new = commands.spawn(Brief);
        for &entity in &old.all {
            commands.add_buffer(entity, [Friend(old.all[5]), Friend(new)]);
            commands.remove::<Buffer<Friend>>(entity);
        }
    })
    .then(|commands, brief| commands.batch(brief).despawn()),
    part("add and remove", |commands, old| {
        old.all.iter().for_each(|&entity| commands.add(entity, Brief));
        old.all.iter().for_each(|&entity| commands.remove::<Brief>(entity));
    }),
    part("add, and remove once it was played", |commands, old| {
        old.all.iter().for_each(|&entity| commands.add(entity, Brief));
    })
    .then(|commands, brief| {
        brief.iter().for_each(|&entity| commands.remove::<Brief>(entity));
    }),
    part("add_types and remove_types", |commands, old| {
        let types = [ComponentType::of::<Brief>()];
        old.all.iter().for_each(|&entity| commands.add_types(entity, &types));
        old.all.iter().for_each(|&entity| commands.remove_types(entity, &types));
    }),
    part("add to a slice and remove from it", |commands, old| {
        commands.batch(&old.all).add(Brief);
        commands.batch(&old.all).remove::<Brief>();
    }),
    part("spawn, and despawn one by one", |commands, _| {
        (0..200).for_each(|at| _ = commands.spawn((Position(at as f32), Brief)));
    })
    .then(|commands, brief| brief.iter().for_each(|&entity| commands.despawn(entity))),
    part("spawn, and despawn one by one, with others between", |commands, old| {
        for at in 0..200 {
            commands.spawn((Position(at as f32), Brief));
            commands.set(old.all[at], Position(1.0));
        }
    })
    .then(|commands, brief| {
        for &entity in brief {
            commands.set(entity, Position(2.0));
            commands.despawn(entity);
        }
    }),
    part("spawn_many and spawn_batch, and despawn a slice", |commands, _| {
        commands.spawn_many((Position(1.0), Brief), 100);
        commands.spawn_batch((0..100).map(|at| (Position(at as f32), Brief)));
    })
    .then(|commands, brief| commands.batch(brief).despawn()),
    part("create, and despawn one by one", |commands, old| {
        (0..200).for_each(|_| _ = commands.create(old.archetype));
    })
    .then(|commands, brief| brief.iter().for_each(|&entity| commands.despawn(entity))),
    part("spawn in pairs that refer to each other, and despawn a slice", |commands, _| {
        for at in 0..100 {
            let first = commands.spawn((Position(at as f32), Brief, Target::default()));
            let second = commands.spawn((Target(first), Brief));
            commands.set(first, Target(second));
        }
    })
    .then(|commands, brief| commands.batch(brief).despawn()),
    part("spawn and despawn at once", |commands, _| {
        for at in 0..200 {
            let brief = commands.spawn(Position(at as f32));
            commands.add(brief, Brief);
            commands.despawn(brief);
        }
    }),
    part("all kinds in turn", |commands, old| {
        for (at, &entity) in old.all.iter().enumerate() {
            let brief = commands.spawn((Position(at as f32), Target(entity)));
            commands.add(entity, Brief);
            commands.set(entity, (Position(2.0), Target(brief)));
            commands.remove::<Target>(brief);
            commands.set_component_enabled::<Awake>(entity, false);
            commands.remove::<Brief>(entity);
            commands.despawn(brief);
        }
    }),
    part("shared values that are there", |commands, old| {
        for round in [1, 0] {
            old.shared.iter().for_each(|&entity| commands.set(entity, team(round)));
        }
    }),
    part("others, for entities with shared values", |commands, old| {
        old.shared.iter().for_each(|&entity| commands.add(entity, Brief));
        old.shared.iter().for_each(|&entity| commands.remove::<Brief>(entity));
    }),
    part("others in turn, for entities with shared values", |commands, old| {
        for (at, &entity) in old.shared.iter().enumerate() {
            commands.add(entity, Brief);
            commands.set(entity, Position(2.0));
            if at % 3 == 0 {
                commands.remove::<Brief>(entity);
            }
        }
    })
    .then(|commands, brief| {
        for &entity in brief {
            commands.set(entity, Position(3.0));
            commands.remove::<Brief>(entity);
        }
    }),
    part("spawn with shared values that are there, and despawn a slice", |commands, _| {
        for at in 0..200 {
            commands.spawn((Position(1.0), team(at % 2), Brief));
        }
    })
    .then(|commands, brief| commands.batch(brief).despawn()),
    // Recording a plain value moves it to a shared allocation.
    part("set_shared and add_shared of values that are recorded", |commands, old| {
        old.shared.iter().for_each(|&entity| commands.set(entity, Shared::new(Team(1))));
        old.shared.iter().for_each(|&entity| commands.add(entity, Shared::new(Team(0))));
    })
    .values(400),
    // Recording a managed value allocates a box.
    part("managed values", |commands, old| {
        old.all.iter().for_each(|&entity| commands.add(entity, Managed::new(Script(1))));
        old.all.iter().for_each(|&entity| commands.set(entity, Managed::new(Script(2))));
        old.all.iter().for_each(|&entity| commands.remove::<Managed<Script>>(entity));
    })
    .values(400),
    part("spawn with shared values that are new, and despawn one by one", |commands, _| {
        for at in 0..20 {
            commands.spawn((Position(at as f32), new_team(), Brief));
        }
    })
    .then(|commands, brief| brief.iter().for_each(|&entity| commands.despawn(entity)))
    .values(20),
    part("spawn with shared values that are new, and despawn a slice", |commands, _| {
        for at in 0..20 {
            commands.spawn((Position(at as f32), new_team(), Brief));
        }
    })
    .then(|commands, brief| commands.batch(brief).despawn())
    .values(20),
    part("spawn with shared values that are new, and despawn by query", |commands, _| {
        for at in 0..20 {
            commands.spawn((Position(at as f32), new_team(), Gone));
        }
        commands.batch(QueryDescriptor::of::<(), With<Gone>>()).despawn();
    })
    .values(20),
    part("shared values that are new", |commands, old| {
        old.shared[..20].iter().for_each(|&entity| commands.set(entity, new_team()));
        old.shared[..20].iter().for_each(|&entity| commands.set(entity, team(0)));
    })
    .values(20),
    part("shared values that are new, by query", |commands, _| {
        commands.batch(QueryDescriptor::of::<(), With<Shared<Team>>>()).add(new_team());
        commands.batch(QueryDescriptor::of::<(), With<Shared<Team>>>()).add(team(0));
    })
    .values(1),
    part("spawn what is tracked, and despawn a slice", |commands, _| {
        for at in 0..200 {
            commands.spawn((Position(at as f32), Tracked(1.0), Brief));
        }
    })
    .then(|commands, brief| commands.batch(brief).despawn()),
    part("add what is tracked, and remove it once it was played", |commands, old| {
        old.all.iter().for_each(|&entity| commands.add(entity, (Tracked(1.0), Brief)));
    })
    .then(|commands, brief| {
        brief.iter().for_each(|&entity| commands.remove::<(Tracked, Brief)>(entity));
    }),
    part("names", |commands, old| {
        for (at, &entity) in old.all.iter().enumerate() {
            commands.set_name(entity, if at % 2 == 0 { "Grishnákh" } else { "Uglúk" });
            commands.set_name(entity, "Ufthak");
        }
    }),
    part("groups", |commands, old| {
        for &root in &old.roots {
            commands.batch(Linked(root)).add((Brief, Target(root)));
            commands.batch(Linked(root)).set(Position(3.0));
            commands.batch(Linked(root)).remove::<Brief>();
        }
    }),
    part("groups, as far as queries find their members", |commands, old| {
        for &root in &old.roots {
            commands.batch(Linked(root).matching(QueryDescriptor::of::<&Target, ()>())).add(Brief);
            commands
                .batch(Linked(root).matching(QueryDescriptor::of::<&Brief, ()>()))
                .set(Position(3.0));
            commands
                .batch(Linked(root).matching(QueryDescriptor::of::<(), With<Brief>>()))
                .remove::<Brief>();
        }
    }),
    part("set_enabled", |commands, old| {
        for &entity in &old.all {
            commands.set_enabled(entity, false);
            commands.set_enabled(entity, true);
        }
    }),
    part("set_enabled of groups", |commands, old| {
        for enabled in [false, true] {
            old.roots.iter().for_each(|&root| commands.set_enabled(root, enabled));
            commands.set_enabled(old.large, enabled);
        }
    }),
    part("set_enabled by query, with groups", |commands, _| {
        for enabled in [false, true] {
            commands
                .batch(QueryDescriptor::of::<(), (With<Stays>, IncludeDisabled)>())
                .set_enabled(enabled);
            commands
                .batch(QueryDescriptor::of::<(), (With<Large>, IncludeDisabled)>())
                .set_enabled(enabled);
        }
    }),
    part("instantiate groups, and despawn one by one", |commands, old| {
        for &root in &old.roots {
            let copy = commands.instantiate(root);
            commands.add(copy, Brief);
        }
    })
    .then(|commands, brief| brief.iter().for_each(|&root| commands.despawn(root))),
    part("instantiate groups, and despawn a slice", |commands, old| {
        for &root in &old.roots {
            let copy = commands.instantiate(root);
            commands.add(copy, Brief);
        }
    })
    .then(|commands, brief| commands.batch(brief).despawn()),
    part("instantiate groups, and despawn by query", |commands, old| {
        for &root in &old.roots {
            let copy = commands.instantiate(root);
            commands.add(copy, Gone);
        }
        commands.batch(QueryDescriptor::of::<(), With<Gone>>()).despawn();
    }),
    // The buffer of this many members does not fit into a chunk.
    part("instantiate a large group, and despawn it", |commands, old| {
        for _ in 0..3 {
            let copy = commands.instantiate(old.large);
            commands.add(copy, Brief);
        }
    })
    .then(|commands, brief| brief.iter().for_each(|&root| commands.despawn(root)))
    .copies(3),
    part("instantiate a large group, and despawn by query", |commands, old| {
        for _ in 0..3 {
            let copy = commands.instantiate(old.large);
            commands.add(copy, Gone);
        }
        commands.batch(QueryDescriptor::of::<(), With<Gone>>()).despawn();
    })
    .copies(3),
    part("functions", |commands, old| {
        let first = old.all[0];
        commands.run("move", move |entities| {
            entities.get_mut::<Position>(first)?.0 += 1.0;
            Ok(())
        });
    }),
    part("switch by query", |commands, _| {
        commands
            .batch(QueryDescriptor::of::<(), With<Awake>>())
            .set_component_enabled::<Awake>(true);
    }),
    part("add and remove by query", |commands, _| {
        commands.batch(QueryDescriptor::of::<&Position, ()>()).add(Brief);
        commands.batch(QueryDescriptor::of::<&Position, ()>()).remove::<Brief>();
    }),
    part("add_types and remove_types by query", |commands, _| {
        let types = [ComponentType::of::<Brief>()];
        commands.batch(QueryDescriptor::of::<&Position, ()>()).add_types(&types);
        commands.batch(QueryDescriptor::of::<&Position, ()>()).remove_types(&types);
    }),
    part("spawn, and despawn by query", |commands, _| {
        (0..200).for_each(|at| _ = commands.spawn((Position(at as f32), Brief)));
        commands.batch(QueryDescriptor::of::<(), With<Brief>>()).despawn();
    }),
    part("instantiate, and despawn a slice", |commands, old| {
        for &entity in &old.all[..50] {
            let copy = commands.instantiate(entity);
            commands.add(copy, Brief);
        }
    })
    .then(|commands, brief| commands.batch(brief).despawn()),
];

type ByQuery = (&'static str, fn(&mut World));

/// Batches over queries that restore the original state.
const BY_QUERY: &[ByQuery] = &[
    ("add and remove", |world| {
        world.batch(QueryDescriptor::of::<&Position, ()>()).add(Brief).unwrap();
        world.batch(QueryDescriptor::of::<&Position, ()>()).remove::<Brief>().unwrap();
    }),
    ("add what is copied, and remove it", |world| {
        let set = (Scale(2.0), Target::default());
        world.batch(QueryDescriptor::of::<&Position, ()>()).add(set).unwrap();
        world.batch(QueryDescriptor::of::<&Position, ()>()).remove::<Scale>().unwrap();
    }),
    ("add what is cloned, to some anew", |world| {
        world.batch(QueryDescriptor::of::<&Awake, ()>()).add(Cloned(1)).unwrap();
        world.batch(QueryDescriptor::of::<&Position, ()>()).add((Cloned(2), Brief)).unwrap();
        world.batch(QueryDescriptor::of::<&Position, ()>()).remove::<(Cloned, Brief)>().unwrap();
    }),
    ("add_types and remove_types", |world| {
        let types = [ComponentType::of::<Brief>(), ComponentType::of::<Cloned>()];
        world.batch(QueryDescriptor::of::<&Position, ()>()).add_types(&types).unwrap();
        world.batch(QueryDescriptor::of::<&Position, ()>()).remove_types(&types).unwrap();
    }),
    ("some of each chunk", |world| {
        let mut at = 0;
        world.query_mut::<EnabledMut<Awake>>().for_each(|mut awake| {
            at += 1;
            awake.set(at % 3 != 0);
        });
        world.batch(QueryDescriptor::of::<&Awake, ()>()).add(Brief).unwrap();
        world.batch(QueryDescriptor::of::<&Brief, With<Awake>>()).remove::<Brief>().unwrap();
    }),
    ("spawn and despawn", |world| {
        world.spawn_many((Position(0.0), Brief, Gone), 200);
        world.batch(QueryDescriptor::of::<&Gone, ()>()).despawn().unwrap();
    }),
    ("spawn and despawn what fills chunks", |world| {
        world.spawn_many((Position(0.0), Awake, Gone), 3000);
        world.batch(QueryDescriptor::of::<&Gone, ()>()).add(Brief).unwrap();
        world.batch(QueryDescriptor::of::<&Gone, ()>()).add(Scale(1.0)).unwrap();
        world.batch(QueryDescriptor::of::<&Gone, ()>()).despawn().unwrap();
    }),
    ("spawn what is tracked, change it, and despawn it", |world| {
        world.spawn_many((Tracked(0.0), Awake, Gone), 3000);
        world.batch(QueryDescriptor::of::<&Gone, ()>()).add(Brief).unwrap();
        world.batch(QueryDescriptor::of::<&Gone, ()>()).add(Scale(1.0)).unwrap();
        world.batch(QueryDescriptor::of::<&Gone, ()>()).remove::<Tracked>().unwrap();
        world.batch(QueryDescriptor::of::<&Gone, ()>()).despawn().unwrap();
    }),
    ("others, for entities with shared values", |world| {
        world.batch(QueryDescriptor::of::<(), With<Shared<Team>>>()).add(Brief).unwrap();
        world.batch(QueryDescriptor::of::<(), With<Shared<Team>>>()).remove::<Brief>().unwrap();
    }),
];

/// The recording thread or job.
#[derive(Clone, Copy, Debug)]
enum By {
    MainThread,
    World,
    SingleJob,
    ParallelJob,
}

/// The number of frames in which allocations are counted. A debug build takes ten times as long for each.
const FRAMES: usize = if cfg!(debug_assertions) { 5 } else { 50 };

/// Counts the allocations of each [`FRAMES`] frames after a warm-up, until a count is within the limit.
fn count_frames(mut frame: impl FnMut(), most: usize, limit: usize) -> Vec<usize> {
    for _ in 0..10 {
        frame();
    }
    let mut counts = Vec::with_capacity(most);
    while counts.len() < most && counts.last().is_none_or(|&last| last > limit) {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..FRAMES {
            frame();
        }
        counts.push(ALLOCATIONS.load(Ordering::Relaxed) - before);
    }
    counts
}

fn world(workers: usize) -> (World, Arc<Old>) {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let settings = WorldSettings::new().chunk_capacity_limit(1000).job_pool(&pool);
    let mut world = World::with_settings("Simulation", settings);
    let set = |at: usize| (Position(at as f32), Target::default(), Buffer::<Item>::new(), Awake);
    let all: Vec<_> = world.spawn_batch((0..200).map(set)).collect();
    let shared = world.spawn_batch((0..200).map(|_| (Position(0.0), team(0)))).collect();
    let root = |at: usize| {
        let root = world.spawn((Position(0.0), Target::default(), Stays));
        let members = [root, all[at], all[at + 1]].map(LinkedEntityGroup);
        world.add(root, Buffer::from(members)).unwrap();
        root
    };
    let roots = (0..10).map(root).collect();
    let member = |at: usize| {
        let member = world.spawn((Position(0.0), Target(all[at])));
        if at.is_multiple_of(3) {
            world.add(member, (Scale(1.0), Cloned(1))).unwrap();
            world.set_name(member, "Snaga").unwrap();
        }
        member
    };
    let mut members: Vec<_> = (0..40).map(member).collect();
    let large = members[0];
    members.iter().for_each(|&member| world.set(member, Target(large)).unwrap());
    world
        .add(large, (Large, members.drain(..).map(LinkedEntityGroup).collect::<Buffer<_>>()))
        .unwrap();
    let staying = vec![
        world.spawn(set(0)),
        world.spawn((Position(0.0), team(0))),
        world.spawn((set(0), Brief)),
        world.spawn((set(0), Buffer::<Friend>::new())),
        world.spawn((set(0), Managed::new(Script(0)))),
        world.spawn((set(0), Disabled)),
        world.spawn(Brief),
        world.spawn((Position(0.0), Brief)),
        world.spawn((Position(0.0), Brief, Target::default())),
        world.spawn((Target::default(), Brief)),
        world.spawn((Position(0.0), team(1))),
        world.spawn((Position(0.0), team(0), Brief)),
        world.spawn((Position(0.0), team(1), Brief)),
        world.spawn((
            Position(0.0),
            Target::default(),
            Stays,
            Buffer::<LinkedEntityGroup>::new(),
            Brief,
        )),
        world.spawn((
            Position(0.0),
            Target::default(),
            Stays,
            Buffer::<LinkedEntityGroup>::new(),
            Disabled,
        )),
    ];
    let archetype = world.archetype::<(Position, Brief)>();
    (world, Arc::new(Old { all, shared, roots, large, staying, archetype }))
}

fn record(
    world: &World,
    buffer: &mut EntityCommandBuffer,
    old: &Arc<Old>,
    part: &'static Part,
    by: By,
) {
    let part = part.record;
    match by {
        By::MainThread => part(buffer.commands().unwrap(), old),
        By::World => part(&mut world.commands(buffer).unwrap(), old),
        By::SingleJob | By::ParallelJob => {
            let (jobs, old) = (world.jobs(), Arc::clone(old));
            let job = if matches!(by, By::SingleJob) {
                jobs.schedule(&[], buffer.writer(), move |mut commands| part(&mut commands, &old))
            } else {
                // Each batch has its own lane, and one batch does all the work.
                jobs.schedule_for_each(&[], buffer.writer(), 64, 8, move |commands, index| {
                    if index == 20 {
                        part(commands, &old);
                    } else {
                        commands.set(old.all[index], Position(2.0));
                    }
                })
            };
            jobs.complete(job.unwrap());
        }
    }
}

/// Records and plays the commands for the `Brief` entities.
fn play_then(
    world: &mut World,
    buffer: &mut EntityCommandBuffer,
    old: &Old,
    part: &Part,
    brief: &mut Vec<Entity>,
) {
    let Some(then) = part.then else { return };
    brief.clear();
    let is_brief = |chunk: &ArchetypeChunk<'_>| chunk.has::<Brief>();
    for chunk in world.chunks().filter(is_brief) {
        let all = chunk.entities().iter().copied();
        brief.extend(all.filter(|entity| !old.staying.contains(entity)));
    }
    then(buffer.commands().unwrap(), brief);
    world.play(buffer).unwrap();
    buffer.clear().unwrap();
}

pub(crate) fn frames_of_commands_allocate_nothing_but_what_values_are_made_of() {
    let mut wrong = Vec::new();
    for part in PARTS {
        for by in [By::MainThread, By::World, By::SingleJob, By::ParallelJob] {
            for workers in [0, 2] {
                let (mut world, old) = world(workers);
                let mut buffer = EntityCommandBuffer::new();
                let mut brief = Vec::with_capacity(500);
                // Memory moves between workers, and takes a while until every block is large enough.
                let most = if workers == 0 { 1 } else { 1000 / FRAMES };
                let expected = [FRAMES * part.values, FRAMES * (part.values + part.copies)];
                let recorded = count_frames(
                    || {
                        record(&world, &mut buffer, &old, part, by);
                        buffer.clear().unwrap();
                    },
                    most,
                    expected[0],
                );
                let played = count_frames(
                    || {
                        record(&world, &mut buffer, &old, part, by);
                        world.play(&mut buffer).unwrap();
                        buffer.clear().unwrap();
                        play_then(&mut world, &mut buffer, &old, part, &mut brief);
                    },
                    most,
                    expected[1],
                );
                let both = [("recorded", recorded), ("played", played)];
                for ((what, counts), expected) in both.into_iter().zip(expected) {
                    if counts.last() != Some(&expected) {
                        let name = part.name;
                        wrong.push(format!(
                            "{name}, {what} by {by:?}, {workers} workers: {counts:?}, expected {expected}"
                        ));
                    }
                }
            }
        }
    }
    for part in PARTS {
        // A reusable buffer is recorded once.
        let (mut world, old) = world(0);
        let (mut kept, mut buffer) = (EntityCommandBuffer::reusable(), EntityCommandBuffer::new());
        (part.record)(kept.commands().unwrap(), &old);
        let mut brief = Vec::with_capacity(500);
        let counts = count_frames(
            || {
                world.play(&mut kept).unwrap();
                play_then(&mut world, &mut buffer, &old, part, &mut brief);
            },
            1,
            0,
        );
        // Duplicates may allocate as much as the original values.
        if counts.last().is_none_or(|&last| last > FRAMES * (part.values + part.copies)) {
            wrong.push(format!("{}, played again: {counts:?}", part.name));
        }
    }
    ask_dynamic_queries_again(&mut wrong);
    skip_commands(&mut wrong);
    for (name, change) in BY_QUERY {
        let (mut world, _) = world(0);
        let counts = count_frames(|| change(&mut world), 1, 0);
        if counts != [0] {
            wrong.push(format!("{name}, by the world alone: {counts:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Checks that only the first skipped command of a playback allocates.
fn skip_commands(wrong: &mut Vec<String>) {
    for alternates in [false, true] {
        let [few, many] = [1, 200].map(|skipped| {
            let (mut world, old) = world(0);
            let dead: Vec<_> = world.spawn_many(Position(1.0), skipped).collect();
            world.batch(&dead).despawn().unwrap();
            let mut buffer = EntityCommandBuffer::new();
            let counts = count_frames(
                || {
                    let commands = buffer.commands().unwrap();
                    for &entity in &dead {
                        commands.set(entity, Position(2.0));
                        if alternates {
                            commands.set(old.all[0], Target(entity));
                            commands.add(entity, Brief);
                        }
                        commands.instantiate(entity);
                    }
                    commands.batch(&dead).set(Position(3.0));
                    assert!(world.play(&mut buffer).unwrap().skipped() >= 3 * skipped);
                    buffer.clear().unwrap();
                },
                3,
                0,
            );
            counts.last().copied()
        });
        if few != many {
            wrong.push(format!("one skipped command: {few:?}, 200 skipped commands: {many:?}"));
        }
    }
}

/// Checks that recording a dynamic query copies its lists, and that playing it again allocates nothing.
fn ask_dynamic_queries_again(wrong: &mut Vec<String>) {
    let (mut world, old) = world(0);
    let mut kept = EntityCommandBuffer::reusable();
    let commands = kept.commands().unwrap();
    let found = QueryDescriptor::new().all([ComponentType::of::<Position>()]);
    commands.batch(&found).add(Brief);
    commands.batch(&found).remove::<Brief>();
    commands.batch(Linked(old.all[0]).matching(&found)).set(Position(3.0));
    let counts = count_frames(|| _ = world.play(&mut kept).unwrap(), 1, 0);
    if counts != [0] {
        wrong.push(format!("dynamic queries, played again: {counts:?}"));
    }
    let counts = count_frames(|| assert!(found.query(&world).count() > 100), 1, 0);
    if counts != [0] {
        wrong.push(format!("a dynamic query, asked again: {counts:?}"));
    }
}
