//! Every command, beside the method of the world with the same name.

use ancho_entities::{
    Archetype, Buffer, Changed, CommandRecorder, ComponentType, Entity, IgnoreEnabled,
    IncludeDisabled, IncludePrefabs, Linked, LinkedEntityGroup, Managed, Prefab, Present,
    QueryDescriptor, Shared, Version, With, Without, World, WorldSettings,
};
use ancho_jobs::JobPool;

use super::common::*;

/// The entities of the world before playback.
#[derive(Clone, Copy)]
pub(crate) struct Old {
    pub(crate) plain: Entity,
    pub(crate) text: Entity,
    pub(crate) empty: Entity,
    pub(crate) shared: Entity,
    /// A whole chunk, and one more entity.
    pub(crate) team: [Entity; 4],
    pub(crate) items: Entity,
    pub(crate) root: Entity,
    pub(crate) member: Entity,
    pub(crate) stays: Entity,
    pub(crate) prefab: Entity,
    pub(crate) note: Entity,
    pub(crate) archetype: Archetype,
}

pub(crate) fn before(workers: usize) -> (Checked, Old) {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let settings = WorldSettings::new().job_pool(&pool).chunk_capacity_limit(3);
    let mut world = Checked(World::with_settings("Simulation", settings));
    let plain = world.spawn((A(1), Lamp, Glow(5)));
    let (root, member) = (world.spawn(A(7)), world.spawn((A(8), Link(plain))));
    world.add(root, Buffer::from([LinkedEntityGroup(root), LinkedEntityGroup(member)])).unwrap();
    let old = Old {
        plain,
        text: world.spawn((A(2), Text("two".into()))),
        empty: world.spawn(()),
        shared: world.spawn((A(3), Shared::new(Team("red")))),
        team: [1, 2, 3, 4].map(|at| world.spawn((A(at), Shared::new(Team("green"))))),
        items: world.spawn((A(4), Buffer::from([Item(1), Item(2)]))),
        root,
        member,
        stays: world.spawn((A(5), Stays(6))),
        prefab: world.spawn((A(9), Prefab)),
        note: world.spawn(Managed::new(Note { text: "n".into(), about: plain })),
        archetype: world.archetype::<(A, Text, Glow)>(),
    };
    // Leaves free rows and ids to reuse.
    let gone: Vec<_> = world.spawn_many(A(0), 3).collect();
    world.batch(&gone[..2]).despawn().unwrap();
    (world, old)
}

/// Returns types that some entities have, and others lack.
fn types() -> [ComponentType; 3] {
    [ComponentType::of::<Stays>(), ComponentType::of::<Text>(), ComponentType::of::<Lamp>()]
}

pub(crate) type Record = fn(&mut CommandRecorder, &Old);
pub(crate) type Direct = fn(&mut World, &Old);

pub(crate) const CREATE: &[(&str, Record, Direct)] = &[
    (
        "spawn",
        |c, _| _ = c.spawn((A(3), Text("b".into()))),
        |w, _| _ = w.spawn((A(3), Text("b".into()))),
    ),
    ("spawn an empty one", |c, _| _ = c.spawn(()), |w, _| _ = w.spawn(())),
    (
        "spawn with all kinds",
        |c, o| {
            let note = Managed::new(Note { text: "m".into(), about: o.text });
            c.spawn((Tag, Shared::new(Team("x")), Buffer::from([Item(1)]), note, Stays(1)));
        },
        |w, o| {
            let note = Managed::new(Note { text: "m".into(), about: o.text });
            w.spawn((Tag, Shared::new(Team("x")), Buffer::from([Item(1)]), note, Stays(1)));
        },
    ),
    (
        "spawn_many",
        |c, _| _ = c.spawn_many((A(4), Text("b".into())), 5),
        |w, _| _ = w.spawn_many((A(4), Text("b".into())), 5),
    ),
    ("spawn_many of none", |c, _| _ = c.spawn_many(Tag, 0), |w, _| _ = w.spawn_many(Tag, 0)),
    (
        "spawn_batch",
        |c, _| _ = c.spawn_batch((0..7).map(|at| (A(at), Text(at.to_string())))),
        |w, _| _ = w.spawn_batch((0..7).map(|at| (A(at), Text(at.to_string())))),
    ),
    (
        "spawn_batch of none",
        |c, _| _ = c.spawn_batch(std::iter::empty::<Tag>()),
        |w, _| _ = w.spawn_batch(std::iter::empty::<Tag>()),
    ),
    ("create", |c, o| _ = c.create(o.archetype), |w, o| _ = w.create(o.archetype).unwrap()),
    (
        "create_many",
        |c, o| _ = c.create_many(o.archetype, 4),
        |w, o| _ = w.create_many(o.archetype, 4).unwrap(),
    ),
    ("create_many of none", |c, o| _ = c.create_many(o.archetype, 0), |_, _| ()),
    ("instantiate", |c, o| _ = c.instantiate(o.plain), |w, o| _ = w.instantiate(o.plain).unwrap()),
    (
        "instantiate a group",
        |c, o| _ = c.instantiate(o.root),
        |w, o| _ = w.instantiate(o.root).unwrap(),
    ),
    (
        "instantiate a prefab",
        |c, o| _ = c.instantiate(o.prefab),
        |w, o| _ = w.instantiate(o.prefab).unwrap(),
    ),
    (
        "instantiate what is managed",
        |c, o| _ = c.instantiate(o.note),
        |w, o| _ = w.instantiate(o.note).unwrap(),
    ),
    (
        "instantiate_many",
        |c, o| _ = c.instantiate_many(o.items, 5),
        |w, o| _ = w.instantiate_many(o.items, 5).unwrap(),
    ),
    (
        "instantiate_many of a group",
        |c, o| _ = c.instantiate_many(o.root, 3),
        |w, o| _ = w.instantiate_many(o.root, 3).unwrap(),
    ),
    (
        "instantiate_many of none",
        |c, o| _ = c.instantiate_many(o.items, 0),
        |w, o| _ = w.instantiate_many(o.items, 0).unwrap(),
    ),
];

pub(crate) const CHANGE: &[(&str, Record, Direct)] = &[
    ("despawn", |c, o| c.despawn(o.plain), |w, o| _ = w.despawn(o.plain).unwrap()),
    ("despawn a group", |c, o| c.despawn(o.root), |w, o| _ = w.despawn(o.root).unwrap()),
    ("despawn what stays", |c, o| c.despawn(o.stays), |w, o| _ = w.despawn(o.stays).unwrap()),
    (
        "despawn_slice",
        |c, o| c.batch(&[o.plain, o.items, o.plain, o.stays]).despawn(),
        |w, o| _ = w.batch(&[o.plain, o.items, o.plain, o.stays]).despawn().unwrap(),
    ),
    ("despawn_slice of none", |c, _| c.batch(&[]).despawn(), |_, _| ()),
    (
        "add",
        |c, o| c.add(o.plain, Text("p".into())),
        |w, o| _ = w.add(o.plain, Text("p".into())).unwrap(),
    ),
    ("add what is there", |c, o| c.add(o.plain, A(5)), |w, o| _ = w.add(o.plain, A(5)).unwrap()),
    (
        "add a set",
        |c, o| c.add(o.empty, (A(1), Tag, Stays(1), Buffer::from([Item(1); 5]))),
        |w, o| _ = w.add(o.empty, (A(1), Tag, Stays(1), Buffer::from([Item(1); 5]))).unwrap(),
    ),
    ("add nothing", |c, o| c.add(o.plain, ()), |w, o| _ = w.add(o.plain, ()).unwrap()),
    ("set", |c, o| c.set(o.plain, A(9)), |w, o| w.set(o.plain, A(9)).unwrap()),
    (
        "set a set",
        |c, o| c.set(o.text, (Text("z".into()), A(9))),
        |w, o| w.set(o.text, (Text("z".into()), A(9))).unwrap(),
    ),
    ("remove", |c, o| c.remove::<A>(o.plain), |w, o| _ = w.remove::<A>(o.plain).unwrap()),
    (
        "remove a set",
        |c, o| c.remove::<(A, Text, Lamp)>(o.plain),
        |w, o| _ = w.remove::<(A, Text, Lamp)>(o.plain).unwrap(),
    ),
    (
        "remove what is not there",
        |c, o| c.remove::<Text>(o.plain),
        |w, o| {
            _ = w.remove::<Text>(o.plain).unwrap();
        },
    ),
    (
        "add_types",
        |c, o| c.add_types(o.plain, &[ComponentType::of::<A>(), ComponentType::of::<Text>()]),
        |w, o| {
            let types = [ComponentType::of::<A>(), ComponentType::of::<Text>()];
            _ = w.add_types(o.plain, &types).unwrap();
        },
    ),
    (
        "remove_types",
        |c, o| c.remove_types(o.plain, &[ComponentType::of::<A>(), ComponentType::of::<Text>()]),
        |w, o| {
            let types = [ComponentType::of::<A>(), ComponentType::of::<Text>()];
            _ = w.remove_types(o.plain, &types).unwrap();
        },
    ),
    (
        "add to a slice",
        |c, o| c.batch(&[o.plain, o.items, o.plain]).add((Tag, Text("s".into()))),
        |w, o| {
            for entity in [o.plain, o.items, o.plain] {
                w.add(entity, (Tag, Text("s".into()))).unwrap();
            }
        },
    ),
    (
        "set of a slice",
        |c, o| c.batch(&[o.plain, o.items, o.text]).set(A(77)),
        |w, o| {
            for entity in [o.plain, o.items, o.text] {
                w.set(entity, A(77)).unwrap();
            }
        },
    ),
    (
        "remove from a slice",
        |c, o| c.batch(&[o.plain, o.items, o.empty]).remove::<(A, Lamp)>(),
        |w, o| {
            for entity in [o.plain, o.items, o.empty] {
                w.remove::<(A, Lamp)>(entity).unwrap();
            }
        },
    ),
    (
        "add_shared",
        |c, o| c.add(o.plain, Shared::new(Team("red"))),
        |w, o| {
            _ = w.add(o.plain, Shared::new(Team("red"))).unwrap();
        },
    ),
    (
        "set_shared",
        |c, o| c.set(o.shared, Shared::new(Team("blue"))),
        |w, o| {
            _ = w.set_shared(o.shared, Team("blue")).unwrap();
        },
    ),
    (
        "remove_shared",
        |c, o| c.remove::<Shared<Team>>(o.shared),
        |w, o| {
            _ = w.remove::<Shared<Team>>(o.shared).unwrap();
        },
    ),
    (
        "set_shared_slice",
        |c, o| c.batch(&[o.shared, o.shared]).set(Shared::new(Team("blue"))),
        |w, o| {
            w.batch(&[o.shared, o.shared]).set_shared(Team("blue")).unwrap();
        },
    ),
    (
        "set_shared_slice of a whole chunk",
        |c, o| c.batch(&o.team[..3]).set(Shared::new(Team("blue"))),
        |w, o| _ = w.batch(&o.team[..3]).set_shared(Team("blue")).unwrap(),
    ),
    (
        "set_shared_slice of some of several chunks",
        |c, o| c.batch(&[o.team[3], o.shared, o.team[0]]).set(Shared::new(Team("blue"))),
        |w, o| _ = w.batch(&[o.team[3], o.shared, o.team[0]]).set_shared(Team("blue")).unwrap(),
    ),
    ("set_shared_slice of none", |c, _| c.batch(&[]).set(Shared::new(Team("blue"))), |_, _| ()),
    (
        "add_buffer",
        |c, o| c.add_buffer(o.plain, (0..40).map(Item)),
        |w, o| _ = w.add(o.plain, (0..40).map(Item).collect::<Buffer<Item>>()).unwrap(),
    ),
    (
        "add_buffer to what has one",
        |c, o| c.add_buffer(o.items, [Item(9)]),
        |w, o| _ = w.add(o.items, Buffer::from([Item(9)])).unwrap(),
    ),
    (
        "set_buffer",
        |c, o| c.set_buffer(o.items, [Item(7); 9]),
        |w, o| w.set(o.items, Buffer::from([Item(7); 9])).unwrap(),
    ),
    (
        "append",
        |c, o| c.append(o.items, Item(3)),
        |w, o| {
            w.buffer_mut::<Item>(o.items).unwrap().push(Item(3));
        },
    ),
    (
        "set_component_enabled",
        |c, o| c.set_component_enabled::<Lamp>(o.plain, false),
        |w, o| w.set_component_enabled::<Lamp>(o.plain, false).unwrap(),
    ),
    (
        "set_type_enabled",
        |c, o| c.set_type_enabled(o.plain, ComponentType::of::<Glow>(), false),
        |w, o| {
            let glow = ComponentType::of::<Glow>();
            w.set_type_enabled(o.plain, glow, false).unwrap();
        },
    ),
    (
        "set_enabled",
        |c, o| c.set_enabled(o.plain, false),
        |w, o| _ = w.set_enabled(o.plain, false).unwrap(),
    ),
    (
        "set_enabled of a group",
        |c, o| c.set_enabled(o.root, false),
        |w, o| _ = w.set_enabled(o.root, false).unwrap(),
    ),
    (
        "set_archetype",
        |c, o| c.set_archetype(o.plain, o.archetype),
        |w, o| w.set_archetype(o.plain, o.archetype).unwrap(),
    ),
    (
        "swap_components",
        |c, o| c.swap_components(o.team[3], o.shared),
        |w, o| w.swap_components(o.team[3], o.shared).unwrap(),
    ),
    (
        "set_name",
        |c, o| c.set_name(o.plain, "Grishnákh"),
        |w, o| w.set_name(o.plain, "Grishnákh").unwrap(),
    ),
    (
        "add to a group",
        |c, o| c.batch(Linked(o.root)).add((Tag, Text("g".into()))),
        |w, o| {
            for member in [o.root, o.member] {
                w.add(member, (Tag, Text("g".into()))).unwrap();
            }
        },
    ),
    (
        "add to a group of one without",
        |c, o| c.batch(Linked(o.plain)).add(Tag),
        |w, o| {
            _ = w.add(o.plain, Tag).unwrap();
        },
    ),
    (
        "set of a group",
        |c, o| c.batch(Linked(o.root)).set(A(70)),
        |w, o| {
            for member in [o.root, o.member] {
                w.set(member, A(70)).unwrap();
            }
        },
    ),
    (
        "set of a group passes over who lacks one",
        |c, o| c.batch(Linked(o.root)).set((A(70), Link(o.root))),
        |w, o| w.set(o.member, (A(70), Link(o.root))).unwrap(),
    ),
    (
        "remove from a group",
        |c, o| c.batch(Linked(o.root)).remove::<(A, Link)>(),
        |w, o| {
            for member in [o.root, o.member] {
                w.remove::<(A, Link)>(member).unwrap();
            }
        },
    ),
    (
        "add to a group that matches",
        |c, o| c.batch(Linked(o.root).matching(QueryDescriptor::of::<&Link, ()>())).add(Tag),
        |w, o| _ = w.add(o.member, Tag).unwrap(),
    ),
    (
        "add to a group that matches of one without, and a dynamic query that does not find it",
        |c, o| {
            let query = QueryDescriptor::new().none([ComponentType::of::<A>()]);
            c.batch(Linked(o.plain).matching(query)).add(Tag);
        },
        |_, _| {},
    ),
    (
        "set of a group that matches",
        |c, o| {
            c.batch(Linked(o.root).matching(QueryDescriptor::of::<&A, Without<Link>>())).set(A(70));
        },
        |w, o| w.set(o.root, A(70)).unwrap(),
    ),
    (
        "remove from a group that matches",
        |c, o| {
            let query = QueryDescriptor::new().all([ComponentType::of::<Link>()]);
            c.batch(Linked(o.root).matching(&query)).remove::<(A, Link)>();
        },
        |w, o| _ = w.remove::<(A, Link)>(o.member).unwrap(),
    ),
    (
        "despawn by query",
        |c, _| c.batch(QueryDescriptor::of::<&A, With<Glow>>()).despawn(),
        |w, _| _ = w.batch(QueryDescriptor::of::<&A, With<Glow>>()).despawn().unwrap(),
    ),
    (
        "add by query",
        |c, _| c.batch(QueryDescriptor::of::<&A, ()>()).add(Text("q".into())),
        |w, _| _ = w.batch(QueryDescriptor::of::<&A, ()>()).add(Text("q".into())).unwrap(),
    ),
    (
        "remove by query",
        |c, _| c.batch(QueryDescriptor::of::<(), With<Text>>()).remove::<(A, Text)>(),
        |w, _| _ = w.batch(QueryDescriptor::of::<(), With<Text>>()).remove::<(A, Text)>().unwrap(),
    ),
    (
        "set_shared by query",
        |c, _| {
            c.batch(QueryDescriptor::of::<(), With<Shared<Team>>>()).set(Shared::new(Team("blue")));
        },
        |w, _| {
            let query = QueryDescriptor::of::<(), With<Shared<Team>>>();
            _ = w.batch(query).set_shared(Team("blue")).unwrap();
        },
    ),
    (
        "set_component_enabled by query",
        |c, _| {
            c.batch(QueryDescriptor::of::<(), Present<Lamp>>())
                .set_component_enabled::<Lamp>(false);
        },
        |w, _| {
            let query = QueryDescriptor::of::<(), Present<Lamp>>();
            _ = w.batch(query).set_component_enabled::<Lamp>(false).unwrap();
        },
    ),
    (
        "set_enabled by query",
        |c, _| c.batch(QueryDescriptor::of::<&A, ()>()).set_enabled(false),
        |w, _| _ = w.batch(QueryDescriptor::of::<&A, ()>()).set_enabled(false).unwrap(),
    ),
    (
        "add_types by query",
        |c, _| c.batch(QueryDescriptor::of::<&A, ()>()).add_types(&types()),
        |w, _| _ = w.batch(QueryDescriptor::of::<&A, ()>()).add_types(&types()).unwrap(),
    ),
    (
        "remove_types by query",
        |c, _| c.batch(QueryDescriptor::of::<&A, ()>()).remove_types(&types()),
        |w, _| _ = w.batch(QueryDescriptor::of::<&A, ()>()).remove_types(&types()).unwrap(),
    ),
    (
        "set_type_enabled by query",
        |c, _| {
            c.batch(QueryDescriptor::of::<&Lamp, ()>())
                .set_type_enabled(ComponentType::of::<Lamp>(), false);
        },
        |w, _| {
            _ = w
                .batch(QueryDescriptor::of::<&Lamp, ()>())
                .set_component_enabled::<Lamp>(false)
                .unwrap();
        },
    ),
    (
        "despawn by query, by a shared value",
        |c, _| c.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team("red"))).despawn(),
        |w, _| {
            _ = w
                .batch(QueryDescriptor::of::<&A, ()>().with_shared(Team("red")))
                .despawn()
                .unwrap();
        },
    ),
    (
        "despawn by query, by a shared value that no entity has",
        |c, _| c.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team("none"))).despawn(),
        |_, _| {},
    ),
    (
        "add by query, prefabs and disabled ones included",
        |c, o| {
            c.set_enabled(o.plain, false);
            c.batch(QueryDescriptor::of::<&A, (IncludeDisabled, IncludePrefabs)>()).add(Tag);
        },
        |w, o| {
            _ = w.set_enabled(o.plain, false).unwrap();
            _ = w
                .batch(QueryDescriptor::of::<&A, (IncludeDisabled, IncludePrefabs)>())
                .add(Tag)
                .unwrap();
        },
    ),
    (
        "add by query, including disabled components",
        |c, o| {
            c.set_component_enabled::<Lamp>(o.plain, false);
            c.batch(QueryDescriptor::of::<&Lamp, ()>()).add(Text("on".into()));
            c.batch(QueryDescriptor::of::<&Lamp, IgnoreEnabled>()).add(Tag);
        },
        |w, o| {
            w.set_component_enabled::<Lamp>(o.plain, false).unwrap();
            _ = w.batch(QueryDescriptor::of::<&Lamp, ()>()).add(Text("on".into())).unwrap();
            _ = w.batch(QueryDescriptor::of::<&Lamp, IgnoreEnabled>()).add(Tag).unwrap();
        },
    ),
    (
        "add by query, to what has not changed since",
        |c, _| {
            c.batch(QueryDescriptor::of::<&A, Changed<A>>().since(Version::from_number(1 << 20)))
                .add(Tag);
        },
        |_, _| {},
    ),
    (
        "add by a query that is kept",
        |c, _| {
            let query = QueryDescriptor::of::<&A, ()>().with_shared(Team("red"));
            c.batch(&query).add(Tag);
            c.batch(query).add(Text("b".into()));
        },
        |w, _| {
            _ = w.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team("red"))).add(Tag).unwrap();
            _ = w
                .batch(QueryDescriptor::of::<&A, ()>().with_shared(Team("red")))
                .add(Text("b".into()))
                .unwrap();
        },
    ),
    (
        "all that can be done by a dynamic query",
        |c, _| {
            let query = || QueryDescriptor::new().all([ComponentType::of::<A>()]);
            c.batch(query()).add(Lamp);
            c.batch(query()).set_component_enabled::<Lamp>(false);
            c.batch(query().all([ComponentType::of::<Lamp>()])).despawn();
            c.batch(query().with_shared(Team("red"))).set(Shared::new(Team("blue")));
            c.batch(query()).add_types(&types());
            c.batch(query()).remove_types(&types()[1..]);
            c.batch(query()).remove::<Link>();
            c.batch(query()).set_enabled(false);
            c.batch(query().include_disabled().include_prefabs()).add(Tag);
        },
        |w, _| {
            _ = w.batch(QueryDescriptor::of::<&A, ()>()).add(Lamp).unwrap();
            _ = w
                .batch(QueryDescriptor::of::<&A, ()>())
                .set_component_enabled::<Lamp>(false)
                .unwrap();
            _ = w
                .batch(QueryDescriptor::of::<&A, ()>().with_shared(Team("red")))
                .set_shared(Team("blue"))
                .unwrap();
            _ = w.batch(QueryDescriptor::of::<&A, ()>()).add_types(&types()).unwrap();
            _ = w.batch(QueryDescriptor::of::<&A, ()>()).remove_types(&types()[1..]).unwrap();
            _ = w.batch(QueryDescriptor::of::<&A, ()>()).remove::<Link>().unwrap();
            _ = w.batch(QueryDescriptor::of::<&A, ()>()).set_enabled(false).unwrap();
            _ = w
                .batch(QueryDescriptor::of::<&A, (IncludeDisabled, IncludePrefabs)>())
                .add(Tag)
                .unwrap();
        },
    ),
    (
        "run",
        |c, o| {
            let plain = o.plain;
            c.run("double", move |entities| {
                entities.get_mut::<A>(plain)?.0 *= 2;
                Ok(())
            });
        },
        |w, o| w.get_mut::<A>(o.plain).unwrap().0 *= 2,
    ),
];

/// Returns the observable state of a world, except for completed jobs.
pub(crate) fn seen(world: &World) -> (u64, Vec<(Entity, Option<String>)>) {
    let entities = world;
    let name = |entity| entities.entity_name(entity).map(str::to_owned);
    (world.state_hash(), entities.iter_entities().map(|entity| (entity, name(entity))).collect())
}
