//! Forks of a world, on several threads at once.

use std::iter;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier};
use std::thread;

use ancho_entities::{
    ChunkArena, Component, Entity, EntityTracker, Lookup, Query, World, WorldSettings,
};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u64);

/// A component that counts its copies.
#[derive(Component, Clone)]
struct Text(String, #[field(opaque)] Arc<()>);

/// A component that changes through shared references.
#[derive(Component)]
struct Hits(AtomicU32);

impl Clone for Hits {
    fn clone(&self) -> Self {
        Self(AtomicU32::new(self.0.load(Relaxed)))
    }
}

fn settings() -> WorldSettings {
    WorldSettings::new().chunk_size(4 << 10).chunk_capacity_limit(8).arena(ChunkArena::new())
}

/// Creates a world with entities in many chunks.
fn world(counter: &Arc<()>) -> (World, Vec<Entity>) {
    let mut world = World::with_settings("threads", settings());
    let sets = (0..40).map(|at| (Number(at), Text(format!("number {at}"), Arc::clone(counter))));
    let mut all: Vec<Entity> = world.spawn_batch(sets).collect();
    all.extend(world.spawn_batch((0..20).map(|at| (Hits(AtomicU32::new(at)), Number(at.into())))));
    (world, all)
}

/// Uses the world like an unshared one, and returns a hash of the results.
fn work(world: &mut World, all: &[Entity], seed: usize) -> u64 {
    let mut tracker = EntityTracker::new();
    for round in 0..12 {
        for (at, &entity) in all.iter().enumerate() {
            match (at * 7 + seed + round) % 11 {
                0 => {
                    world.despawn(entity).unwrap();
                }
                1 => {
                    world.spawn(Number(at as u64));
                }
                2 if world.exists(entity) => {
                    world.remove::<Text>(entity).unwrap();
                }
                3 if world.exists(entity) => {
                    world.add(entity, Number(seed as u64)).unwrap();
                }
                _ => {
                    if let Ok(number) = world.get_mut::<Number>(entity) {
                        number.0 += seed as u64;
                    }
                    if let Ok(hits) = world.get::<Hits>(entity) {
                        hits.0.fetch_add(1, Relaxed);
                    }
                    if let Ok(text) = world.get::<Text>(entity) {
                        assert!(text.0.starts_with("number "));
                    }
                }
            }
        }
        world.entity_changes(&mut tracker);
        drop(world.fork().unwrap());
    }
    world.check_invariants().unwrap();
    let numbers = world.chunks().filter_map(|chunk| chunk.slice::<Number>());
    numbers.flatten().fold(0, |sum: u64, number| sum.wrapping_mul(31).wrapping_add(number.0))
}

#[test]
fn forks_that_write_concurrently_are_independent() {
    let counter = Arc::new(());
    for _ in 0..4 {
        let (mut first, all) = world(&counter);
        let mut forks: Vec<World> = (0..3).map(|_| first.fork().unwrap()).collect();
        forks.push(first);
        let start = Arc::new(Barrier::new(forks.len()));
        let threads = forks.into_iter().enumerate().map(|(seed, mut fork)| {
            let (start, all) = (Arc::clone(&start), all.clone());
            thread::spawn(move || {
                start.wait();
                // The world is dropped here, and with it the last owner of some chunks.
                work(&mut fork, &all, seed)
            })
        });
        let threads: Vec<_> = threads.collect();
        let found: Vec<u64> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let expected = (0..4).map(|seed| work(&mut world(&counter).0, &all, seed));
        assert_eq!(found, expected.collect::<Vec<u64>>());
    }
    assert_eq!(Arc::strong_count(&counter), 1, "values leaked, or were dropped twice");
}

#[test]
fn forks_read_while_the_world_writes() {
    let counter = Arc::new(());
    let (mut original, all) = world(&counter);
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let snapshot = original.fork().unwrap();
            thread::spawn(move || {
                let hash = |world: &World| {
                    let texts = world.chunks().filter_map(|chunk| chunk.slice::<Text>());
                    texts.flatten().map(|text| text.0.len()).sum::<usize>()
                };
                let before = hash(&snapshot);
                for _ in 0..20 {
                    assert_eq!(hash(&snapshot), before);
                }
                snapshot
            })
        })
        .collect();
    work(&mut original, &all, 3);
    original.despawn_all().unwrap();
    for reader in readers {
        let snapshot = reader.join().unwrap();
        snapshot.check_invariants().unwrap();
        assert_eq!(snapshot.entity_count(), 60);
    }
    drop(original);
    assert_eq!(Arc::strong_count(&counter), 1);
}

#[test]
fn threads_use_items_while_the_query_continues() {
    let counter = Arc::new(());
    let (mut world, _) = world(&counter);
    let mut fork = world.fork().unwrap();
    thread::scope(|scope| {
        // Both write to shared chunks, and send items to threads while they copy more.
        for world in [&mut world, &mut fork] {
            scope.spawn(move || {
                let mut iter = world.query_mut::<(&mut Number, &mut Text)>().into_iter();
                thread::scope(|scope| {
                    while let Some(first) = iter.next() {
                        let given: Vec<_> =
                            iter::once(first).chain(iter.by_ref().take(4)).collect();
                        scope.spawn(move || {
                            for (number, text) in given {
                                number.0 += 1000;
                                text.0.push('!');
                            }
                        });
                    }
                });
            });
        }
    });
    for world in [world, fork] {
        let given = world.query::<(&Number, &Text)>();
        assert_eq!(given.count(), 40);
        for (at, (number, text)) in (0..).zip(given) {
            assert_eq!((number.0, &*text.0), (1000 + at, &*format!("number {at}!")));
        }
        world.check_invariants().unwrap();
    }
    assert_eq!(Arc::strong_count(&counter), 1);
}

#[test]
fn threads_use_items_of_a_view_while_other_views_are_used() {
    let counter = Arc::new(());
    let (mut world, all) = world(&counter);
    let mut fork = world.fork().unwrap();
    thread::scope(|scope| {
        for world in [&mut world, &mut fork] {
            let all = &all;
            scope.spawn(move || {
                let (mut texts, mut numbers, hits) =
                    world.split::<(Query<&mut Text>, Lookup<&mut Number>, Query<&Hits>)>();
                thread::scope(|scope| {
                    // The loop marks the same chunks and writes other columns meanwhile.
                    for (text, &entity) in texts.iter_mut().zip(all) {
                        scope.spawn(move || text.0.push('!'));
                        numbers.get_mut(entity).unwrap().0 += 1000;
                        let values: Vec<&Hits> = hits.iter().collect();
                        scope.spawn(move || values.iter().for_each(|hits| ignore(&hits.0)));
                    }
                });
            });
        }
    });
    fn ignore(hits: &AtomicU32) {
        hits.load(Relaxed);
    }
    for world in [world, fork] {
        for (at, (number, text)) in (0..).zip(world.query::<(&Number, &Text)>()) {
            assert_eq!((number.0, &*text.0), (1000 + at, &*format!("number {at}!")));
        }
        world.check_invariants().unwrap();
    }
    assert_eq!(Arc::strong_count(&counter), 1);
}

#[test]
fn trackers_follow_a_world_on_another_thread() {
    let (mut world, all) = world(&Arc::new(()));
    let mut tracker = EntityTracker::new();
    world.entity_changes(&mut tracker);
    // The tracker shares its memory with the world, until the world writes to it.
    let thread = thread::spawn(move || {
        world.batch(&all[..10]).despawn().unwrap();
        world
    });
    let seen = format!("{tracker:?}");
    let mut world = thread.join().unwrap();
    assert_eq!(seen, "EntityTracker { seen: 60 }");
    assert_eq!(world.entity_changes(&mut tracker).destroyed.len(), 10);
}

#[test]
fn types_are_registered_by_several_threads() {
    /// A separate type for each number.
    #[derive(Component, Clone, Copy, Default)]
    struct Numbered<const N: usize>;

    let start = Arc::new(Barrier::new(3));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let start = Arc::clone(&start);
            thread::spawn(move || {
                let mut world = World::with_settings("threads", settings());
                start.wait();
                let set = (Numbered::<0>, Numbered::<1>, Numbered::<2>, Numbered::<3>);
                world.spawn(set);
                world.spawn((Numbered::<3>, Numbered::<4>, Number(1)));
                world.state_hash()
            })
        })
        .collect();
    let mut hashes: Vec<u64> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    hashes.dedup();
    assert_eq!(hashes.len(), 1);
}
