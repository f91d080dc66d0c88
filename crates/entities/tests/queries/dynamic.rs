//! Queries by types known only at run time.

use ancho_entities::{
    Absent, Any, Changed, ChunkInJob, ComponentType, Entity, EntityAt, EntityCommandBuffer,
    EntityError, EntityJob, IgnoreEnabled, IncludeDisabled, IncludePrefabs, IsDisabled, PerChunk,
    Present, QueryDescriptor, QueryFilter, RuntimeType, Shared, Version, With, Without, World,
};
use ancho_jobs::{JobSlice, ParallelJobStruct};

use crate::common::*;

fn x() -> ComponentType {
    ComponentType::of::<X>()
}

fn y() -> ComponentType {
    ComponentType::of::<Y>()
}

fn a() -> ComponentType {
    ComponentType::of::<A>()
}

#[track_caller]
fn same<F: QueryFilter>(world: &World, query: &QueryDescriptor) {
    let typed = world.query_filtered::<(), F>();
    assert_eq!(query.query(world).to_entities(), typed.to_entities());
    assert_eq!(query.query(world).count(), typed.count());
    assert_eq!(query.query(world).is_empty(), typed.is_empty());
    assert_eq!(query.query(world).count_unfiltered(), typed.count_unfiltered());
    for entity in world.all_entities() {
        assert_eq!(query.query(world).matches(entity), typed.matches(entity));
        assert_eq!(query.query(world).mask().matches(entity), typed.mask().matches(entity));
    }
    let all = world.query_filtered::<(), (F, IncludeDisabled, IncludePrefabs)>();
    let dynamic = query.clone().include_disabled().include_prefabs();
    assert_eq!(dynamic.query(world).to_entities(), all.to_entities());
    assert!(all.count() > typed.count());
    let dynamic = query.clone().ignore_enabled();
    assert_eq!(
        dynamic.query(world).to_entities(),
        world.query_filtered::<(), (F, IgnoreEnabled)>().to_entities()
    );
}

#[test]
fn dynamic_and_typed_queries_find_the_same() {
    for limit in [1, 10, 70, 1000] {
        let world = crowd(limit);
        let query = QueryDescriptor::new;
        same::<()>(&world, &query());
        same::<With<X>>(&world, &query().all([x()]));
        same::<With<(X, A)>>(&world, &query().all([x(), a()]));
        same::<Without<(X, Y)>>(&world, &query().none([x(), y()]));
        same::<(With<A>, Any<(X, Y)>)>(&world, &query().all([a()]).any([x(), y()]));
        same::<(Absent<Y>, Present<X>)>(&world, &query().absent([y()]).present([x()]));
        same::<(IsDisabled<X>, With<Y>)>(&world, &query().disabled([x()]).all([y()]));
    }
}

#[test]
fn chunks_report_which_rows_match() {
    let world = crowd(70);
    let mut found = 0;
    for chunk in QueryDescriptor::new().all([x()]).chunks(&world) {
        assert!(chunk.count() > 0 && chunk.rows().count() == chunk.count());
        let values = chunk.chunk().slice::<X>().unwrap();
        assert!(chunk.rows().all(|row| values[row].0 % 5 != 0));
        assert!(chunk.entities().all(|entity| world.query::<&X>().matches(entity)));
        found += chunk.count();
        assert!(format!("{chunk:?}").starts_with("QueryChunk"));
    }
    assert_eq!(found, world.query::<&X>().count());
}

#[test]
fn change_filters_by_runtime_type() {
    let mut world = chunks_of(10);
    let all: Vec<_> = world.spawn_batch((0..95).map(|at| (A(at), T(at)))).collect();
    let seen = world.version();
    let query = || QueryDescriptor::new().since(seen);
    let (of_a, of_t) = (query().changed([a()]), query().changed([ComponentType::of::<T>()]));
    let moved = query().order_changed();
    assert!([&of_a, &of_t, &moved].iter().all(|query| query.query(&world).is_empty()));
    assert_eq!(of_a.clone().since(Version::NEVER).query(&world).to_entities(), all);
    assert_eq!(query().changed([]).query(&world).count(), 95, "no condition");
    assert_eq!(world.query_filtered::<(), Changed<()>>().since(seen).count(), 95, "nor this");
    world.advance_version();
    world.get_mut::<A>(all[5]).unwrap().0 = 1;
    world.get_mut::<T>(all[25]).unwrap().0 = 1;
    world.get_mut::<T>(all[94]).unwrap().0 = 1;
    assert_eq!(of_a.query(&world).to_entities(), all[..10], "the whole chunk");
    // `T` is tracked row by row.
    assert_eq!(of_t.query(&world).to_entities(), [all[25], all[94]]);
    let rows = of_t.chunks(&world).map(|found| (found.count(), found.rows().collect()));
    assert_eq!(rows.collect::<Vec<(usize, Vec<usize>)>>(), [(1, vec![5]), (1, vec![4])]);
    assert!(of_t.query(&world).matches(all[25]) && !of_t.query(&world).matches(all[26]));
    assert_eq!((of_t.query(&world).count(), of_t.query(&world).count_unfiltered()), (2, 95));
    assert!(!of_t.clone().since(world.version()).query(&world).is_empty_unfiltered());
    assert!(of_t.clone().all([x()]).query(&world).is_empty_unfiltered());
    let either = of_t.clone().or(of_a);
    assert_eq!(either.query(&world).to_entities(), [&all[..10], &[all[25], all[94]]].concat());
    world.despawn(all[90]).unwrap();
    assert_eq!(moved.query(&world).count(), 4);
    assert_eq!(world.batch(&of_t).despawn(), Ok(2));
    assert!(!world.exists(all[25]) && world.exists(all[24]));
}

#[test]
fn shared_filters_by_runtime_type() {
    let mut world = chunks_of(10);
    for team in 0..3 {
        world.spawn_many((A(team), Shared::new(Team(team))), 15);
        world.spawn_many((X(team), Shared::new(Team(team)), Shared::new(Mesh(7))), 15);
    }
    let query = |team| QueryDescriptor::new().with_shared(Team(team));
    for team in 0..4 {
        let typed = world.query::<()>().with_shared(Team(team));
        assert_eq!(query(team).query(&world).to_entities(), typed.to_entities());
        assert_eq!(query(team).query(&world).count(), if team < 3 { 30 } else { 0 });
        assert_eq!(query(team).query(&world).is_empty(), team == 3);
        let mut of_chunks = Vec::new();
        query(team).chunks(&world).for_each(|found| of_chunks.extend(found.entities()));
        assert_eq!(of_chunks, typed.to_entities());
    }
    let both = query(1).with_shared(Mesh(7));
    assert_eq!(both.query(&world).count(), 15);
    assert!(both.clone().with_shared(Team(2)).query(&world).is_empty());
    // The shared-value filter also works in a command's query.
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().batch(both.clone().all([x()])).despawn();
    world.play(&mut buffer).unwrap();
    assert_eq!(
        (
            both.query(&world).count(),
            query(1).query(&world).count(),
            query(2).query(&world).count()
        ),
        (0, 15, 30)
    );
    assert_eq!(world.batch(query(2)).add_types(&[ComponentType::of::<B>()]), Ok(30));
    assert_eq!(world.query::<&B>().with_shared(Team(2)).count(), 30);
    let seen = QueryDescriptor::new().since(world.version()).changed([a()]);
    let either = seen.clone().or(seen).with_shared(Team(0)).since(Version::NEVER);
    assert_eq!(either.query(&world).count(), 15, "what is said of the union");
}

#[test]
fn all_matches_are_changed() {
    for limit in [3, 64, 1000] {
        let mut world = chunks_of(limit);
        let all: Vec<_> = world.spawn_batch((0..200).map(|at| (X(at), A(at)))).collect();
        for &entity in all.iter().step_by(4) {
            world.set_component_enabled::<X>(entity, false).unwrap();
        }
        let (on, off) = (QueryDescriptor::new().all([x()]), QueryDescriptor::new().disabled([x()]));
        assert_eq!(world.batch(&on).add_types(&[y(), a()]), Ok(150));
        assert_eq!(world.batch(&on).add_types(&[y()]), Ok(0));
        assert_eq!(world.query::<&Y>().count(), 150);
        assert_eq!(world.batch(on.clone().all([y()])).remove_types(&[a()]), Ok(150));
        assert_eq!(world.query::<&A>().count(), 50);
        // Not all entities have the component, so none is changed.
        let lacks = world.batch(QueryDescriptor::new()).set_type_enabled(y(), false);
        assert!(matches!(lacks, Err(EntityError::MissingComponent { .. })));
        let never = world.batch(&on).set_type_enabled(a(), false);
        assert_eq!(never, Err(EntityError::NotEnableable { component: a() }));
        assert_eq!(world.query::<&Y>().count(), 150);
        assert_eq!(world.batch(&off).set_type_enabled(x(), true), Ok(50));
        assert!(off.query(&world).is_empty() && on.query(&world).count() == 200);
        assert_eq!(world.batch(QueryDescriptor::new().none([y()])).despawn(), Ok(50));
        assert_eq!(world.entity_count(), 150);
        assert!(all.iter().step_by(4).all(|&entity| !world.exists(entity)));
    }
}

#[test]
fn runtime_types_in_archetypes_created_later() {
    let name = "queries::dynamic::Mana";
    let mana = ComponentType::register(RuntimeType::new(name, 4, 4)).unwrap();
    let mut world = world();
    let query = QueryDescriptor::new().all([mana]);
    assert_eq!(query.query(&world).count(), 0);
    let entity = world.spawn(A(1));
    world.add_types(entity, &[mana]).unwrap();
    assert_eq!(query.query(&world).to_entities(), [entity]);
    assert!(format!("{query:?}").contains(name));
    let fork = Checked(world.fork().unwrap());
    assert_eq!(query.query(&fork).to_entities(), [entity]);
}

#[test]
fn enabled_filters_of_types_that_are_not_enableable_are_refused() {
    let said = panic_message(|| QueryDescriptor::new().disabled([x(), a()]));
    assert!(said.starts_with("A0070: `game::A` cannot be"), "{said}");
}

/// Descriptions that name components for writing, although their queries only read.
fn described_writes() -> [QueryDescriptor; 2] {
    [QueryDescriptor::of::<&mut A, ()>(), QueryDescriptor::new().all_mut([a()])]
}

#[test]
fn a_described_query_is_read_in_every_way() {
    let world = crowd(10);
    let expected: Vec<_> = world.query::<&A>().to_entities();
    for query in described_writes() {
        let mut found = Vec::new();
        query.query(&world).for_each(|entity| found.push(entity));
        assert_eq!(found, expected);
        found.clear();
        query.query(&world).for_each_chunk(|entities| found.extend_from_slice(entities));
        assert_eq!(found, expected);
        let mut pairs = 0;
        query.query(&world).for_each_pair(|_, _| pairs += 1);
        assert_eq!(pairs, expected.len() * (expected.len() - 1) / 2);
        assert!(query.query(&world).iter().eq(expected.iter().copied()));
        assert!(expected.iter().all(|&entity| query.query(&world).get(entity) == Some(entity)));
    }
}

#[test]
fn a_job_over_a_described_query_writes_no_values() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(A(1));
    let fork = world.fork().unwrap();
    for query in described_writes() {
        // The world is borrowed to be read, and so is the value.
        let value = world.get::<A>(entity).unwrap();
        let values = JobSlice::from(vec![A(2)]);
        let job = query.query(&world).job();
        let refused = panic_message(|| job.schedule_copy_from(values.read()));
        assert!(refused.starts_with("A0135: "), "{refused}");
        assert_eq!(value, &A(1));
        assert_eq!(fork.get::<A>(entity), Ok(&A(1)));
    }
}

#[derive(ancho_entities::Component, Clone, Copy, Debug, Default, PartialEq)]
struct Sum(u32);

#[derive(ParallelJobStruct)]
struct WriteSum {}

impl EntityJob for WriteSum {
    type Query = Entity;

    fn execute(_: &mut WriteSumBatch<'_>, _: Entity, _: EntityAt) {}

    fn begin_chunk(_: &mut WriteSumBatch<'_>, chunk: &mut ChunkInJob<'_>) -> bool {
        assert_eq!(chunk.chunk_component::<Sum>(), Some(&Sum(1)), "it can be read");
        chunk.chunk_component_mut::<Sum>().unwrap().0 = 2;
        true
    }
}

#[test]
fn a_job_over_a_described_query_writes_no_chunk_component() {
    let mut world = World::new("Simulation");
    let entity = world.spawn((A(1), PerChunk::<Sum>::new()));
    world.set_chunk_component(entity, Sum(1)).unwrap();
    let query = QueryDescriptor::of::<&mut PerChunk<Sum>, ()>();
    // The world is borrowed to be read, and so is the value.
    let value = world.chunk_component::<Sum>(entity).unwrap();
    let refused = panic_message(|| query.query(&world).job().run_job(WriteSum {}));
    assert!(refused.starts_with("A0135: "), "{refused}");
    assert_eq!(value, &Sum(1));
}
