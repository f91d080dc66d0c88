//! `Added`, `Ref`, and writes through `TrackedMut`.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use ancho_entities::{
    Added, Buffer, BufferElement, Changed, Entity, EntityCommandBuffer, Or, Prefab, Query,
    QueryDescriptor, Ref, Res, ResMut, Resource, Shared, TrackedMut, Version, With, World,
    WorldSettings,
};

use crate::common::{A, B, E, S, T, Team};

/// Returns the entities with an added `T`, after checking that `Ref` and jobs find the same.
fn added(world: &World, since: Version) -> Vec<Entity> {
    let found = world.query_filtered::<Entity, Added<T>>().since(since).to_entities();
    let query = world.query::<(Entity, Ref<T>)>().since(since);
    let by_ref: Vec<_> =
        query.iter().filter(|(_, value)| value.is_added()).map(|(entity, _)| entity).collect();
    assert_eq!(found, by_ref);
    let changed = world.query_filtered::<Entity, Changed<T>>().since(since).to_entities();
    let by_ref: Vec<_> =
        query.iter().filter(|(_, value)| value.is_changed()).map(|(entity, _)| entity).collect();
    assert_eq!(changed, by_ref);
    assert!(found.iter().all(|entity| changed.contains(entity)), "what is added is changed");
    found
}

/// Returns the current version, and begins another one.
fn now(world: &mut World) -> Version {
    let seen = world.version();
    world.advance_version();
    seen
}

fn world() -> World {
    World::with_settings("Simulation", WorldSettings::new().chunk_capacity_limit(10))
}

/// Adds components to entities, and returns the entities.
type Way<'a> = &'a dyn Fn(&mut World) -> Vec<Entity>;

#[test]
fn every_way_to_get_a_component_adds_it() {
    let mut world = world();
    let old: Vec<_> = world.spawn_many((A(1), T(1)), 25).collect();
    let bare: Vec<_> = world.spawn_many(A(2), 25).collect();
    let prefab = world.spawn((T(2), Prefab));
    let ways: [Way; 8] = [
        &|world| vec![world.spawn(T(3))],
        &|world| world.spawn_many((T(3), B(1)), 30).collect(),
        &|world| {
            world.add(bare[3], T(4)).unwrap();
            vec![bare[3]]
        },
        &|world| vec![world.instantiate(prefab).unwrap()],
        &|world| {
            let some = &bare[5..8];
            world.batch(some).add(T(5)).unwrap();
            some.to_vec()
        },
        &|world| {
            let mut buffer = EntityCommandBuffer::new();
            let commands = buffer.commands().unwrap();
            for &entity in &bare[10..14] {
                commands.entity(entity).add(S).add(T(6)).remove::<S>();
            }
            // Removed and added again is a new value.
            commands.entity(old[0]).remove::<T>().add(T(7));
            world.play(&mut buffer).unwrap();
            bare[10..14].to_vec()
        },
        &|world| {
            world.exchange::<A, _>(bare[20], (T(7), B(1))).unwrap();
            vec![bare[20]]
        },
        &|world| {
            world.remove::<T>(old[5]).unwrap();
            world.add(old[5], T(1)).unwrap();
            vec![old[5]]
        },
    ];
    for (at, way) in ways.into_iter().enumerate() {
        let seen = now(&mut world);
        assert_eq!(added(&world, seen), [], "{at}");
        let mut expected = way(&mut world);
        let mut found = added(&world, seen);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{at}");
        world.check_invariants().unwrap();
    }
    assert_eq!(added(&world, Version::NEVER).len(), world.query::<&T>().count());
}

#[test]
fn moves_and_writes_are_no_additions() {
    let mut world = world();
    let all: Vec<_> = world.spawn_many((T(1), E(1)), 25).collect();
    let seen = now(&mut world);
    world.add(all[3], A(1)).unwrap();
    world.add(all[4], (T(2), A(1))).unwrap();
    world.set(all[5], T(2)).unwrap();
    world.add(all[6], T(2)).unwrap();
    world.get_mut::<T>(all[7]).unwrap().0 = 3;
    world.add(all[8], Shared::new(Team(1))).unwrap();
    world.set_component_enabled::<E>(all[9], false).unwrap();
    world.set_component_enabled::<E>(all[9], true).unwrap();
    world.set_enabled(all[10], false).unwrap();
    world.set_enabled(all[10], true).unwrap();
    world.swap_components(all[11], all[12]).unwrap();
    world.despawn(all[0]).unwrap();
    world.batch(QueryDescriptor::of::<&T, ()>()).add(B(1)).unwrap();
    assert_eq!(added(&world, seen), []);
    let mut changed = world.query_filtered::<Entity, Changed<T>>().since(seen).to_entities();
    changed.sort_unstable();
    assert_eq!(changed, [all[4], all[5], all[6], all[7], all[11], all[12]]);
    world.check_invariants().unwrap();
}

#[test]
fn forks_and_transfers() {
    let mut world = world();
    world.spawn_many(T(1), 5);
    let seen = now(&mut world);
    let late = world.spawn(T(2));
    let fork = world.fork().unwrap();
    assert_eq!(added(&fork, seen), [late]);
    let mut target = World::with_settings("target", world.settings().clone());
    target.spawn_many((T(3), A(1)), 3);
    let before = now(&mut target);
    let mut fork = fork;
    let map = target.move_entities_from(&mut fork).unwrap();
    assert_eq!(added(&target, before).len(), 6, "arrivals are added");
    assert!(added(&target, before).contains(&map.get(late).unwrap()));
    target.check_invariants().unwrap();
}

#[test]
fn filters_are_combined() {
    #[derive(BufferElement, Clone, Copy)]
    #[buffer(track_changes)]
    struct Item(u32);

    let mut world = world();
    let (one, two) = (world.spawn((T(1), A(1))), world.spawn((S, A(1))));
    let three = world.spawn(A(1));
    let seen = now(&mut world);
    world.add(one, S).unwrap();
    world.add(three, Buffer::from([Item(1)])).unwrap();
    let find =
        |world: &World| world.query_filtered::<Entity, Added<(T, S)>>().since(seen).to_entities();
    assert_eq!(find(&world), [one]);
    world.add(two, T(1)).unwrap();
    let mut found = find(&world);
    found.sort_unstable();
    assert_eq!(found, [one, two]);
    type Either = Or<(Added<T>, With<Buffer<Item>>)>;
    let mut found = world.query_filtered::<Entity, Either>().since(seen).to_entities();
    found.sort_unstable();
    assert_eq!(found, [two, three]);
    let buffers = world.query_filtered::<Entity, Added<Buffer<Item>>>().since(seen);
    assert_eq!(buffers.to_entities(), [three]);
}

#[test]
fn disabled_entities_and_bits_are_hidden_by_the_query() {
    let mut world = world();
    let (one, two) = (world.spawn(E(1)), world.spawn(E(2)));
    world.set_component_enabled::<E>(one, false).unwrap();
    world.set_enabled(two, false).unwrap();
    assert!(world.query_filtered::<Entity, (Added<E>, With<E>)>().is_empty());
    assert_eq!(world.query::<Ref<E>>().count(), 0);
}

#[derive(Resource, Clone, Default)]
#[resource(local)]
struct Log(Vec<String>);

#[test]
fn systems_compare_with_their_last_run() {
    #[derive(Resource, Clone)]
    #[resource(local)]
    struct Target(Entity);

    fn watch(all: Query<Ref<T>>, added: Query<(), Added<T>>, mut log: ResMut<Log>) {
        let changed = all.iter().filter(Ref::is_changed).count();
        log.0.push(format!("{} {changed}", added.count()));
    }

    fn write(mut all: Query<TrackedMut<T>>, target: Res<Target>) {
        all.get_mut(target.0).unwrap().0 += 1;
    }

    let mut world = world();
    let target = world.spawn_many(T(1), 5).next().unwrap();
    world.insert_resource(Log::default());
    world.insert_resource(Target(target));
    world.add_system(watch);
    let writer = world.add_system(write);
    world.update(0.1);
    world.update(0.1);
    world.set_system_enabled(writer, false).unwrap();
    world.update(0.1);
    world.update(0.1);
    world.spawn(T(2));
    world.update(0.1);
    assert_eq!(world.resource::<Log>().0, ["5 5", "0 1", "0 1", "0 0", "1 1"]);
}

#[test]
fn tracked_values_are_written_without_a_mark_or_only_if_they_differ() {
    let mut world = world();
    let all: Vec<_> = world.spawn_batch((0..20).map(T)).collect();
    let seen = now(&mut world);
    for mut value in world.query_mut::<TrackedMut<T>>() {
        let number = value.0;
        match number {
            0..10 => assert_eq!(value.set_if_neq(T(5)), number != 5),
            _ => value.bypass().0 = 99,
        }
    }
    let changed = world.query_filtered::<Entity, Changed<T>>().since(seen).to_entities();
    let expected: Vec<_> = all
        .iter()
        .copied()
        .take(10)
        .enumerate()
        .filter(|&(at, _)| at != 5)
        .map(|(_, id)| id)
        .collect();
    assert_eq!(changed, expected);
    assert_eq!((world.get(all[15]), world.get(all[2])), (Ok(&T(99)), Ok(&T(5))));
}

#[test]
fn jobs_see_what_was_changed_and_added() {
    let mut world = world();
    let old: Vec<_> = world.spawn_many(T(1), 200).collect();
    let seen = now(&mut world);
    world.spawn_many(T(1), 100);
    for &entity in &old[..50] {
        world.get_mut::<T>(entity).unwrap().0 = 2;
    }
    let query = world.query::<(Ref<T>, Entity)>().since(seen);
    let mut found = Vec::new();
    query
        .iter()
        .for_each(|(value, entity)| found.push((entity, value.is_changed(), value.is_added())));
    let counts = Mutex::new((0, 0));
    let count = |value: Ref<T>| {
        let mut counts = counts.lock().unwrap();
        counts.0 += u32::from(value.is_changed());
        counts.1 += u32::from(value.is_added());
    };
    world.query_mut::<Ref<T>>().since(seen).for_each_parallel(count);
    assert_eq!(*counts.lock().unwrap(), (150, 100));
    let counts = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
    let in_job = Arc::clone(&counts);
    let job = world.query::<Ref<T>>().since(seen).job().schedule_parallel(move |value| {
        in_job.0.fetch_add(u32::from(value.is_changed()), Relaxed);
        in_job.1.fetch_add(u32::from(value.is_added()), Relaxed);
    });
    world.jobs().complete(job);
    assert_eq!((counts.0.load(Relaxed), counts.1.load(Relaxed)), (150, 100));
    assert_eq!(found.iter().filter(|found| found.2).count(), 100);
}
