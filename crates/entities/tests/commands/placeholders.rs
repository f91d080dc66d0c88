//! Placeholders in values: resolved wherever fields are known, and refused if they are of another buffer or too early.

use ancho_entities::{
    Buffer, CommandFault, CommandRecorder, Component, Entity, EntityCommandBuffer, Linked,
    LinkedEntityGroup, Managed, QueryDescriptor, Shared, SharedComponent, With, World,
};

use crate::common::*;

#[derive(Component, Clone, Debug, PartialEq)]
struct Many {
    some: Option<Entity>,
    list: Vec<Entity>,
    pair: (u8, Entity),
}

/// A command that gives an entity a value that refers to another.
type Give = fn(&mut CommandRecorder, to: Entity, about: Entity);
/// A command that creates an entity with a value that refers to another.
type Create = fn(&mut CommandRecorder, about: Entity);
/// A function that returns the entities a value refers to.
type Read = fn(&World, Entity) -> Vec<Entity>;

fn link(world: &World, entity: Entity) -> Vec<Entity> {
    vec![world.get::<Link>(entity).unwrap().0]
}

fn captain(world: &World, entity: Entity) -> Vec<Entity> {
    vec![world.shared::<Crew>(entity).unwrap().0]
}

fn crew(captain: Entity) -> Shared<Crew> {
    Shared::new(Crew(captain))
}

fn friends(world: &World, entity: Entity) -> Vec<Entity> {
    world.buffer::<Friend>(entity).unwrap().iter().map(|friend| friend.0).collect()
}

fn note(world: &World, entity: Entity) -> Vec<Entity> {
    vec![world.managed::<Note>(entity).unwrap().about]
}

fn written(about: Entity) -> Managed<Note> {
    Managed::new(Note { text: "note".into(), about })
}

const GIVE: &[(&str, Give, Read)] = &[
    ("add", |c, to, about| c.add(to, Link(about)), link),
    ("add a tuple", |c, to, about| c.add(to, (Text("b".into()), Link(about), Tag)), link),
    (
        "set",
        |c, to, about| {
            c.add(to, Link(Entity::NULL));
            c.set(to, Link(about));
        },
        link,
    ),
    ("add to a slice", |c, to, about| c.batch(&[to]).add(Link(about)), link),
    (
        "set of a slice",
        |c, to, about| {
            c.add(to, Link(Entity::NULL));
            c.batch(&[to]).set(Link(about));
        },
        link,
    ),
    ("add to a group", |c, to, about| c.batch(Linked(to)).add(Link(about)), link),
    (
        "set of a group",
        |c, to, about| {
            c.add(to, Link(Entity::NULL));
            c.batch(Linked(to)).set(Link(about));
        },
        link,
    ),
    (
        "by query",
        |c, _, about| c.batch(QueryDescriptor::of::<(), With<A>>()).add(Link(about)),
        link,
    ),
    ("add_buffer", |c, to, about| c.add_buffer(to, [Friend(about); 5]), friends),
    ("add a buffer", |c, to, about| c.add(to, Buffer::from([Friend(about)])), friends),
    (
        "append",
        |c, to, about| {
            c.add(to, Buffer::<Friend>::new());
            c.append(to, Friend(about));
        },
        friends,
    ),
    (
        "set_buffer",
        |c, to, about| {
            c.add(to, Buffer::<Friend>::new());
            c.set_buffer(to, [Friend(about); 3]);
        },
        friends,
    ),
    ("add what is managed", |c, to, about| c.add(to, written(about)), note),
    (
        "set what is managed",
        |c, to, about| {
            c.add(to, written(Entity::NULL));
            c.set(to, written(about));
        },
        note,
    ),
    ("add a shared value", |c, to, about| c.add(to, crew(about)), captain),
    ("add shared values", |c, to, about| c.add(to, (Tag, crew(about), Link(about))), captain),
    ("add_shared", |c, to, about| c.add(to, Shared::new(Crew(about))), captain),
    (
        "set_shared",
        |c, to, about| {
            c.add(to, crew(Entity::NULL));
            c.set(to, Shared::new(Crew(about)));
        },
        captain,
    ),
    ("add a shared value to a slice", |c, to, about| c.batch(&[to]).add(crew(about)), captain),
    (
        "set_shared_slice",
        |c, to, about| {
            c.add(to, crew(Entity::NULL));
            c.batch(&[to, to]).set(Shared::new(Crew(about)));
        },
        captain,
    ),
    ("add a shared value to a group", |c, to, about| c.batch(Linked(to)).add(crew(about)), captain),
    (
        "set a shared value of a group",
        |c, to, about| {
            c.add(to, crew(Entity::NULL));
            c.batch(Linked(to)).set(crew(about));
        },
        captain,
    ),
    (
        "a shared value by query",
        |c, _, about| c.batch(QueryDescriptor::of::<(), With<A>>()).add(crew(about)),
        captain,
    ),
    (
        "set_shared by query",
        |c, _, about| {
            c.batch(QueryDescriptor::of::<(), With<A>>()).add(crew(Entity::NULL));
            c.batch(QueryDescriptor::of::<(), With<A>>()).set(Shared::new(Crew(about)));
        },
        captain,
    ),
    (
        "add fields of fields",
        |c, to, about| {
            c.add(to, Many { some: Some(about), list: vec![about; 3], pair: (1, about) });
        },
        |world, entity| {
            let many = world.get::<Many>(entity).unwrap();
            [many.some.unwrap(), many.pair.1].into_iter().chain(many.list.iter().copied()).collect()
        },
    ),
];

#[test]
fn placeholders_are_resolved_in_values_of_every_kind() {
    for &(name, give, read) in GIVE {
        let mut world = world();
        let to = world.spawn(A(1));
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        commands.spawn_many(Tag, 3);
        let about = commands.spawn(Tag);
        let created = commands.spawn(A(2));
        give(commands, created, about);
        give(commands, to, about);
        world.play(&mut buffer).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (about, created) = (buffer.resolve(about).unwrap(), buffer.resolve(created).unwrap());
        for entity in [to, created] {
            let read = read(&world, entity);
            assert!(!read.is_empty() && read.iter().all(|&entity| entity == about), "{name}");
        }
    }
}

#[test]
fn placeholders_of_others_are_refused_in_values_of_every_kind() {
    for &(name, give, _) in GIVE {
        let mut world = world();
        let to = world.spawn(A(1));
        let placeholder = foreign();
        let (_, fault) = fails(&mut world, |commands| give(commands, to, placeholder));
        assert_eq!(fault, CommandFault::ForeignPlaceholder { placeholder }, "{name}");
        world.check_invariants().unwrap();
    }
}

#[test]
fn placeholders_of_before_are_refused_in_values_of_every_kind() {
    for &(name, give, _) in GIVE {
        let mut world = world();
        let to = world.spawn(A(1));
        let mut buffer = EntityCommandBuffer::new();
        let placeholder = buffer.commands().unwrap().spawn(());
        world.play(&mut buffer).unwrap();
        buffer.clear().unwrap();
        let commands = buffer.commands().unwrap();
        commands.spawn(());
        give(commands, to, placeholder);
        let stopped = first_failure(world.play(&mut buffer));
        assert_eq!(stopped.fault(), CommandFault::ForeignPlaceholder { placeholder }, "{name}");
        world.check_invariants().unwrap();
    }
}

#[test]
fn values_can_refer_to_entities_that_are_created_later() {
    for &(name, give, given) in GIVE {
        let mut world = world();
        let to = world.spawn(A(1));
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        commands.set_sort_key(Some(2));
        let placeholder = commands.spawn(());
        commands.set_sort_key(Some(1));
        give(commands, to, placeholder);
        world.play(&mut buffer).unwrap();
        let entity = buffer.resolve(placeholder).unwrap();
        assert!(world.exists(entity), "{name}");
        let given = given(&world, to);
        assert!(!given.is_empty() && given.iter().all(|&id| id == entity), "{name}");
    }
}

#[test]
fn placeholders_in_values_of_created_entities_are_resolved() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let first = commands.spawn(Tag);
    let one = commands.spawn((Link(first), Text("b".into())));
    let many = commands.spawn_many((Link(one), Buffer::from([Friend(first)])), 3);
    let batch = commands.spawn_batch(many.iter().map(|entity| (Link(entity), written(first))));
    let copy = commands.instantiate(many.get(1).unwrap());
    world.play(&mut buffer).unwrap();
    let id = |placeholder| buffer.resolve(placeholder).unwrap();
    assert_eq!(world.get(id(one)), Ok(&Link(id(first))));
    for entity in many.iter().chain([copy]).map(id) {
        assert_eq!(world.get(entity), Ok(&Link(id(one))));
        assert_eq!(friends(&world, entity), [id(first)]);
    }
    for (at, entity) in batch.iter().map(id).enumerate() {
        assert_eq!(world.get(entity), Ok(&Link(id(many.get(at).unwrap()))));
        assert_eq!(note(&world, entity), [id(first)]);
    }
}

#[test]
fn placeholders_that_are_refused_when_entities_are_created() {
    let other = foreign();
    let record: [(&str, Create); 8] = [
        ("spawn", |c, other| _ = c.spawn(Link(other))),
        ("spawn a tuple", |c, other| _ = c.spawn((Text("b".into()), Link(other)))),
        ("spawn_many", |c, other| _ = c.spawn_many(Buffer::from([Friend(other)]), 3)),
        ("spawn_batch", |c, other| {
            _ = c.spawn_batch([Entity::NULL, other, Entity::NULL].map(Link));
        }),
        ("managed", |c, other| _ = c.spawn(written(other))),
        ("shared", |c, other| _ = c.spawn(crew(other))),
        ("many that share", |c, other| _ = c.spawn_many(crew(other), 3)),
        ("a batch that shares", |c, other| {
            _ = c.spawn_batch([Entity::NULL, other, Entity::NULL].map(crew));
        }),
    ];
    for (name, record) in record {
        let mut world = world();
        let (number, fault) = fails(&mut world, |commands| {
            commands.spawn(Tag);
            record(commands, other);
            commands.spawn(Tag);
        });
        let expected = CommandFault::ForeignPlaceholder { placeholder: other };
        assert_eq!((number, fault), (2, expected), "{name}");
        assert_eq!(world.query_filtered::<(), With<Tag>>().count(), 2, "{name}");
        assert_eq!(world.entity_count(), 2, "{name}");
        world.check_invariants().unwrap();
    }
}

#[test]
fn cb3_2500_entities_refer_to_each_other() {
    const COUNT: usize = 2500;
    for way in 0..3 {
        let mut world = chunks_of(100);
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        let all: Vec<_> = match way {
            0 => (0..COUNT).map(|at| commands.spawn(A(at as u32))).collect(),
            1 => commands.spawn_batch((0..COUNT as u32).map(A)).iter().collect(),
            _ => commands.spawn_many(A(0), COUNT).iter().collect(),
        };
        for (at, &entity) in all.iter().enumerate() {
            commands.add(entity, Link(all[COUNT - 1 - at]));
            commands.add(entity, Buffer::from([Friend(all[(at + 1) % COUNT]), Friend(entity)]));
            commands.append(entity, Friend(all[at * 7 % COUNT]));
        }
        world.play(&mut buffer).unwrap();
        let all: Vec<_> = all.into_iter().map(|entity| buffer.resolve(entity).unwrap()).collect();
        for (at, &entity) in all.iter().enumerate() {
            assert_eq!(world.get(entity), Ok(&Link(all[COUNT - 1 - at])));
            let expected = [all[(at + 1) % COUNT], entity, all[at * 7 % COUNT]];
            assert_eq!(friends(&world, entity), expected);
        }
    }
}

#[test]
fn a_group_of_placeholders_is_a_group() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let root = commands.spawn(A(1));
    let member = commands.spawn(Link(root));
    commands.add_buffer(root, [root, member].map(LinkedEntityGroup));
    let copies = commands.instantiate_many(root, 2);
    commands.batch(Linked(copies.get(1).unwrap())).set(A(5));
    commands.despawn(root);
    world.play(&mut buffer).unwrap();
    assert_eq!(world.entity_count(), 4);
    for (copy, a) in copies.iter().zip([1, 5]) {
        let copy = buffer.resolve(copy).unwrap();
        let group: Vec<_> = world.buffer::<LinkedEntityGroup>(copy).unwrap().to_vec();
        assert_eq!(world.get(group[1].0), Ok(&Link(copy)));
        assert_eq!(world.get(copy), Ok(&A(a)));
    }
}

#[test]
fn resolve_says_nothing_before_and_of_others() {
    let mut world = world();
    let old = world.spawn(());
    let mut buffer = EntityCommandBuffer::new();
    let placeholder = buffer.commands().unwrap().spawn(());
    assert_eq!(buffer.resolve(placeholder), None);
    assert_eq!(
        (buffer.resolve(old), buffer.resolve(Entity::NULL)),
        (Some(old), Some(Entity::NULL))
    );
    world.play(&mut buffer).unwrap();
    assert!(world.exists(buffer.resolve(placeholder).unwrap()));
    assert_eq!(buffer.resolve(foreign()), None);
    buffer.clear().unwrap();
    assert_eq!(buffer.resolve(placeholder), None);
}

#[test]
fn resolved_entities_can_be_used_in_another_buffer() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let first = buffer.commands().unwrap().spawn(A(1));
    world.play(&mut buffer).unwrap();
    let first = buffer.resolve(first).unwrap();
    let mut second = EntityCommandBuffer::new();
    let link = second.commands().unwrap().spawn(Link(first));
    second.commands().unwrap().set(first, A(2));
    world.play(&mut second).unwrap();
    assert_eq!(world.get(second.resolve(link).unwrap()), Ok(&Link(first)));
    assert_eq!(world.get(first), Ok(&A(2)));
}

#[test]
fn a_reference_to_an_entity_destroyed_meanwhile_is_dead() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let brief = commands.spawn(A(1));
    let stays = commands.spawn(Link(brief));
    commands.despawn(brief);
    commands.add(stays, Buffer::from([Friend(brief)]));
    let next = commands.spawn(A(2));
    world.play(&mut buffer).unwrap();
    let id = |placeholder| buffer.resolve(placeholder).unwrap();
    assert!(!world.exists(id(brief)) && id(brief) != id(next));
    assert_eq!(world.get(id(stays)), Ok(&Link(id(brief))));
    assert_eq!(friends(&world, id(stays)), [id(brief)]);
}

#[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
struct Owner {
    // Without this attribute it does not compile, since the type is not `Clone`: see `tests/ui/shared`.
    #[field(opaque)]
    entity: Entity,
}

#[test]
fn a_placeholder_that_is_hidden_in_a_shared_value_stays_one() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let owner = commands.spawn(A(1));
    let owned = commands.spawn(Shared::new(Owner { entity: owner }));
    commands.batch(QueryDescriptor::of::<&A, ()>()).add(Shared::new(Owner { entity: owner }));
    world.play(&mut buffer).unwrap();
    let owned = buffer.resolve(owned).unwrap();
    // The field keeps the placeholder, which is never mistaken for an entity and resolves until the buffer is cleared.
    let kept = world.shared::<Owner>(owned).unwrap().entity;
    assert!(kept == owner && kept.is_placeholder() && !world.exists(kept));
    let refused = world.get::<A>(kept).unwrap_err().to_string();
    assert!(refused.contains("placeholder"), "{refused}");
    assert_eq!(world.get(buffer.resolve(kept).unwrap()), Ok(&A(1)));
}

#[test]
fn clearing_a_buffer_does_not_reuse_its_placeholders() {
    let mut buffer = EntityCommandBuffer::new();
    let first = buffer.commands().unwrap().spawn(());
    for _ in 0..600_000 {
        buffer.clear().unwrap();
        assert_ne!(buffer.commands().unwrap().spawn(()), first);
    }
    let mut world = world();
    buffer.commands().unwrap().despawn(first);
    let said = first_failure(world.play(&mut buffer));
    assert_eq!(said.fault(), CommandFault::ForeignPlaceholder { placeholder: first });
}

#[test]
fn placeholders_of_many_entities_do_not_repeat_soon() {
    const MANY: usize = 65_537;
    let mut buffer = EntityCommandBuffer::new();
    let mut last = || {
        buffer.clear().unwrap();
        buffer.commands().unwrap().spawn_many((), MANY).get(MANY - 1).unwrap()
    };
    let first = last();
    assert!((0..600_000).all(|_| last() != first));
}
