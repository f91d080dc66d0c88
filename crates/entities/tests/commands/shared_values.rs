//! Entities in shared values: other entities keep the old value, queries filter by resolved placeholders, and each
//! playback resolves them again.

use ancho_entities::{
    Buffer, CommandFault, CommandRecorder, Entity, EntityCommandBuffer, Linked, LinkedEntityGroup,
    QueryDescriptor, Shared, With,
};

use crate::common::*;

fn crew(captain: Entity) -> Shared<Crew> {
    Shared::new(Crew(captain))
}

#[test]
fn placeholders_in_shared_values_of_created_entities_are_resolved() {
    for limit in [2, 1000] {
        let mut world = chunks_of(limit);
        world.spawn_many(A(0), 3);
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        let captains: Vec<_> = commands.spawn_many(Tag, 2).iter().collect();
        let one = commands.spawn((crew(captains[0]), Text("b".into())));
        let many = commands.spawn_many((A(1), crew(captains[1])), 5);
        let batch =
            commands.spawn_batch((0..20).map(|at| (A(at), crew(captains[at as usize % 2]))));
        // Enough entities to be created together.
        let run: Vec<_> = (0..20).map(|at| commands.spawn((crew(captains[at % 2]), Tag))).collect();
        let copy = commands.instantiate(many.get(1).unwrap());
        world.play(&mut buffer).unwrap();
        let id = |placeholder| buffer.resolve(placeholder).unwrap();
        let captain = |placeholder| world.shared::<Crew>(id(placeholder)).unwrap().0;
        assert_eq!(captain(one), id(captains[0]));
        assert!(many.iter().chain([copy]).all(|entity| captain(entity) == id(captains[1])));
        for (at, entity) in batch.iter().enumerate().chain(run.into_iter().enumerate()) {
            assert_eq!(captain(entity), id(captains[at % 2]));
        }
        // Each value is stored once, beside the default.
        assert_eq!(world.shared_values::<Crew>().count(), 3);
    }
}

#[test]
fn a_value_that_others_have_stays_as_it_is() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let captain = commands.spawn(A(1));
    let kept = crew(captain);
    let two = [(); 2].map(|()| commands.spawn(kept.clone()));
    world.play(&mut buffer).unwrap();
    let id = |placeholder| buffer.resolve(placeholder).unwrap();
    assert_eq!(*kept, Crew(captain));
    assert_eq!(two.map(|entity| world.shared(id(entity)).copied()), [Ok(Crew(id(captain))); 2]);
    assert_eq!(world.shared_reference_count(&Crew(id(captain))), 1);
    assert_eq!(world.shared_reference_count(&*kept), 0);
}

#[test]
fn a_value_without_placeholders_is_not_copied() {
    let mut world = world();
    let old = world.spawn(A(1));
    let value = crew(old);
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let one = commands.spawn(value.clone());
    let other = commands.spawn(());
    commands.add(other, value.clone());
    world.play(&mut buffer).unwrap();
    for entity in [one, other].map(|entity| buffer.resolve(entity).unwrap()) {
        assert!(std::ptr::eq(world.shared::<Crew>(entity).unwrap(), &raw const *value));
    }
}

#[test]
fn each_playback_resolves_anew() {
    let mut world = world();
    let targets: Vec<_> = world.spawn_many((A(1), crew(Entity::NULL)), 3).collect();
    let root = world.spawn((A(2), crew(Entity::NULL)));
    let group: Buffer<_> = [root, targets[2]].map(LinkedEntityGroup).into();
    world.add(root, group).map_err(|rejected| rejected.error).unwrap();
    let mut buffer = EntityCommandBuffer::reusable();
    let commands = buffer.commands().unwrap();
    let captain = commands.spawn(Tag);
    let created = commands.spawn(crew(captain));
    let many = commands.spawn_many((Tag, crew(captain)), 2);
    let batch = commands.spawn_batch([(Text("b".into()), crew(captain))]);
    commands.set(targets[0], Shared::new(Crew(captain)));
    commands.batch(&targets[1..2]).set(Shared::new(Crew(captain)));
    commands.batch(Linked(root)).set(crew(captain));
    commands.batch(QueryDescriptor::of::<(), ()>().with_shared(Crew(captain))).add(Link(captain));
    commands
        .batch(QueryDescriptor::of::<&Link, With<Tag>>().with_shared(Crew(captain)))
        .remove::<Link>();
    let mut captains = Vec::new();
    for _ in 0..3 {
        world.play(&mut buffer).unwrap();
        let id = |placeholder| buffer.resolve(placeholder).unwrap();
        let now = Crew(id(captain));
        let new = [created].into_iter().chain(many.iter()).chain(batch.iter()).map(id);
        for entity in new.chain(targets.iter().copied()).chain([root]) {
            assert_eq!(world.shared(entity), Ok(&now));
            let link = (!world.has::<Tag>(entity)).then_some(Link(now.0));
            assert_eq!(world.get(entity).ok().copied(), link);
        }
        captains.push(now);
    }
    captains.dedup();
    assert_eq!(captains.len(), 3);
}

/// A function that records commands for all entities of a crew.
type Ask = fn(&mut CommandRecorder, root: Entity, captain: Entity);

const ASK: &[(&str, Ask)] = &[
    ("batch of a typed query", |c, _, captain| {
        c.batch(QueryDescriptor::of::<(), ()>().with_shared(Crew(captain))).add(Tag);
    }),
    ("batch of a kept query", |c, _, captain| {
        let query = QueryDescriptor::of::<&A, ()>().with_shared(Crew(captain));
        c.batch(&query).add(Tag);
    }),
    ("with two", |c, _, captain| {
        let query =
            QueryDescriptor::of::<&A, ()>().with_shared(Team("red")).with_shared(Crew(captain));
        c.batch(query).add(Tag);
    }),
    ("a dynamic query", |c, _, captain| {
        c.batch(QueryDescriptor::new().with_shared(Crew(captain))).add(Tag);
    }),
    ("add_types", |c, _, captain| {
        let tag = ancho_entities::ComponentType::of::<Tag>();
        c.batch(QueryDescriptor::of::<(), ()>().with_shared(Crew(captain))).add_types(&[tag]);
    }),
    ("remove_types", |c, _, captain| {
        let tag = ancho_entities::ComponentType::of::<Tag>();
        c.batch(QueryDescriptor::of::<&A, ()>()).add(Tag);
        c.batch(QueryDescriptor::of::<(), ()>().with_shared(Crew(Entity::NULL)))
            .remove_types(&[tag]);
        // A second query of the same kind, for a value that no entity has yet.
        c.batch(QueryDescriptor::of::<(), ()>().with_shared(Crew(captain))).remove_types(&[tag]);
        c.batch(QueryDescriptor::of::<(), ()>().with_shared(Crew(captain))).add(Tag);
    }),
    ("members of a group", |c, root, captain| {
        let query: QueryDescriptor = QueryDescriptor::of::<&A, ()>().with_shared(Crew(captain));
        c.batch(Linked(root).matching(query)).add(Tag);
    }),
];

#[test]
fn shared_filters_of_queries_resolve_placeholders() {
    for &(name, ask) in ASK {
        let mut world = world();
        let others: Vec<_> =
            world.spawn_many((A(1), crew(Entity::NULL), Shared::new(Team("red"))), 2).collect();
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        let captain = commands.spawn(());
        let members: Vec<_> = commands
            .spawn_many((A(2), crew(captain), Shared::new(Team("red"))), 3)
            .iter()
            .collect();
        let group: Vec<_> = members.iter().chain(&others).copied().map(LinkedEntityGroup).collect();
        commands.add_buffer(members[0], group);
        ask(commands, members[0], captain);
        world.play(&mut buffer).unwrap_or_else(|error| panic!("{name}: {error}"));
        for member in members.into_iter().map(|member| buffer.resolve(member).unwrap()) {
            assert!(world.has::<Tag>(member), "{name}");
        }
        assert!(others.iter().all(|&other| !world.has::<Tag>(other)), "{name}");
    }
}

#[test]
fn queries_refuse_placeholders_of_others() {
    for &(name, ask) in ASK {
        let mut world = world();
        let root = world.spawn((A(1), crew(Entity::NULL), Shared::new(Team("red"))));
        let placeholder = foreign();
        let (_, fault) = fails(&mut world, |commands| ask(commands, root, placeholder));
        assert_eq!(fault, CommandFault::ForeignPlaceholder { placeholder }, "{name}");
    }
}

#[test]
fn shared_values_are_resolved_in_any_order() {
    const COUNT: u32 = 50;
    let mut world = chunks_of(8);
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.set_sort_key(Some(0));
    let captains: Vec<_> = (0..COUNT).map(|at| commands.spawn(A(at % 3))).collect();
    let next = |at: u32| captains[(at + 1) as usize % captains.len()];
    for (at, &captain) in (0..).zip(&captains) {
        commands.set_sort_key(Some(1 + at * 7 % COUNT));
        commands.spawn((Tag, crew(captain)));
        commands.add(captain, Shared::new(Crew(next(at))));
    }
    world.play(&mut buffer).unwrap();
    let id = |placeholder| buffer.resolve(placeholder).unwrap();
    for (at, &captain) in (0..).zip(&captains) {
        assert_eq!(world.shared(id(captain)), Ok(&Crew(id(next(at)))));
        assert_eq!(world.query::<&A>().with_shared(Crew(id(captain))).count(), 1);
        assert_eq!(world.query::<&Tag>().with_shared(Crew(id(captain))).count(), 1);
    }
}
