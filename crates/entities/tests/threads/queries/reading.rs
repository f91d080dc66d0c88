//! Jobs and loops that only read mark nothing as changed.

use ancho_entities::{
    ArchetypeChunk, Buffer, Changed, ComponentType, Entity, EntityError, Lookup, Managed, PerChunk,
    Query, QueryDescriptor, Shared, Version, World,
};

use crate::common::*;

/// Returns the change version of each component in each chunk.
fn versions(world: &World) -> Vec<Option<Version>> {
    let types = [
        ComponentType::of::<A>(),
        ComponentType::of::<X>(),
        ComponentType::of::<T>(),
        ComponentType::of_buffer::<Item>(),
        ComponentType::of_managed::<Script>(),
        ComponentType::of_shared::<Team>(),
        ComponentType::of_chunk::<B>(),
    ];
    let of_chunk = |chunk: ArchetypeChunk<'_>| types.map(|ty| chunk.change_version_of(ty));
    world.chunks().flat_map(of_chunk).collect()
}

#[test]
fn no_form_of_reading_counts_as_a_change() {
    type All<'w> = (
        (Entity, &'w A, Option<&'w X>, &'w T),
        (&'w Buffer<Item>, &'w Shared<Team>, &'w PerChunk<B>),
    );
    type Way = (&'static str, fn(&mut World, Entity));
    let ways: [Way; 16] = [
        ("into_iter", |world, _| world.query_mut::<All<'_>>().into_iter().for_each(drop)),
        ("iter_mut", |world, _| world.query_mut::<All<'_>>().iter_mut().for_each(drop)),
        ("for_each", |world, _| world.query_mut::<All<'_>>().for_each(drop)),
        ("for_each_chunk", |world, _| world.query_mut::<(&A, &T)>().for_each_chunk(drop)),
        ("get", |world, one| assert!(world.query_mut::<All<'_>>().get_mut(one).is_some())),
        ("single", |world, _| assert!(world.query_mut::<All<'_>>().single_mut().is_err())),
        ("for_each_parallel", |world, _| world.query_mut::<All<'_>>().for_each_parallel(drop)),
        ("for_each_pair", |world, _| world.query_mut::<All<'_>>().for_each_pair(|_, _| ())),
        ("managed", |world, _| world.query_mut::<&Managed<Script>>().for_each(drop)),
        ("iter", |world, _| world.query::<All<'_>>().iter().for_each(drop)),
        ("copy_to", |world, _| {
            let copied = QueryDescriptor::of::<&A, ()>().copy_to(world, &mut World::new("Other"));
            assert_eq!(copied.unwrap().len(), 10);
        }),
        ("a job", |world, _| {
            let job = world.query_mut::<All<'_>>().job().schedule_parallel(|_| ());
            world.jobs().complete(job);
        }),
        ("a view", |world, _| {
            let (mut all, _) = world.split::<(Query<All<'_>>, Lookup<&A>)>();
            all.for_each(drop);
            all.iter_mut().for_each(drop);
        }),
        ("Lookup::get", |world, one| {
            let (_, all) = world.split::<(Query<&A>, Lookup<All<'_>>)>();
            assert!(all.get(one).is_some());
        }),
        ("Lookup::get_mut", |world, one| {
            let (_, mut all) = world.split::<(Query<&A>, Lookup<All<'_>>)>();
            assert!(all.get_mut(one).is_some());
        }),
        ("a lookup of a job", |world, one| {
            let (some, all) = world.split::<(Query<&A>, Lookup<All<'_>>)>();
            let job = some.job().with(all.into_job());
            let job = job.schedule(move |_, all| assert!(all.get_mut(one).is_some()));
            world.jobs().complete(job);
        }),
    ];
    for (name, way) in ways {
        let mut world = chunks_of(4);
        let all: Vec<_> = world
            .spawn_batch((0..10).map(|at| {
                let values = (A(at), X(at), T(at), Buffer::from([Item(at)]));
                (
                    values,
                    Shared::new(Team(at / 5)),
                    PerChunk::<B>::new(),
                    Managed::new(Script("s".into())),
                )
            }))
            .collect();
        let before = versions(&world);
        assert!(before.iter().all(Option::is_some));
        world.advance_version();
        way(&mut world, all[3]);
        assert_eq!(versions(&world), before, "{name}");
        // The same access with a write changes them.
        world.query_mut::<&mut A>().get_mut(all[3]).unwrap().0 += 1;
        assert_ne!(versions(&world), before);
    }
}

#[test]
fn a_read_only_view_marks_nothing_and_cannot_write() {
    let mut world = chunks_of(7);
    fill(&mut world);
    let seen = world.version();
    world.advance_version();
    let (all,) = world.split::<(Query<&mut A>,)>();
    let mut read = all.as_read_only();
    read.for_each(|_| {});
    assert_eq!((read.count(), read.to_components::<A>().unwrap().len()), (50, 50));
    assert!(matches!(read.copy_from(&[A(1); 50]), Err(EntityError::NotGiven { .. })));
    read.job().schedule(|_| {});
    assert_eq!(world.query_filtered::<(), Changed<A>>().since(seen).count(), 0);
}
