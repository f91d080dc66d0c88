//! Worlds that are saved and loaded again.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ancho_entities::{Component, Entity, Field, Parent, Query, Resource, World, WorldSettings};
use ancho_serialize::{
    LoadOptions, SaveOptions, SerializeErrorKind, load, load_file, load_into, load_metadata, merge,
    save, save_file, save_in_background,
};

use crate::common::*;

#[test]
fn a_loaded_world_has_the_same_state() {
    let world = varied_world();
    let bytes = saved(&world);
    let again = loaded(&bytes);
    assert_eq!(again.state_hash(), world.state_hash());
    assert_eq!(again.entity_count(), world.entity_count());
    assert_eq!(again.name(), "Varied");
}

#[test]
fn a_loaded_world_is_saved_with_the_same_bytes() {
    let bytes = saved(&varied_world());
    assert!(saved(&loaded(&bytes)) == bytes);
}

#[test]
fn a_loaded_world_continues_with_the_same_ids_and_chunks() {
    let mut world = varied_world();
    let mut again = loaded(&saved(&world));
    for world in [&mut world, &mut again] {
        for _ in 0..3 {
            world.spawn_many(Position::default(), 700);
            let some: Vec<Entity> = world.query::<&Position>().to_entities();
            for entity in some.into_iter().step_by(5) {
                world.despawn(entity).unwrap();
            }
        }
    }
    assert_eq!(again.state_hash(), world.state_hash());
}

#[test]
fn all_kinds_of_values_are_equal() {
    let world = varied_world();
    let again = loaded(&saved(&world));
    for entity in world.iter_entities() {
        assert_eq!(world.get::<Inventory>(entity).ok(), again.get::<Inventory>(entity).ok());
        assert_eq!(world.get::<Padded>(entity).ok(), again.get::<Padded>(entity).ok());
        assert_eq!(world.get::<Mood>(entity).ok(), again.get::<Mood>(entity).ok());
        assert_eq!(world.shared::<Team>(entity).ok(), again.shared::<Team>(entity).ok());
        assert_eq!(
            world.is_component_enabled::<Engine>(entity).ok(),
            again.is_component_enabled::<Engine>(entity).ok()
        );
        assert_eq!(world.entity_name(entity), again.entity_name(entity));
        if world.has::<Counter>(entity) {
            assert_eq!(count(&world, entity), count(&again, entity));
        }
    }
}

#[test]
fn loading_into_a_world_replaces_its_entities() {
    let mut world = World::new("Other");
    world.spawn_many(Position::default(), 5000);
    let before = world.version();
    world.advance_version();
    let source = varied_world();
    load_into(&mut world, &saved(&source)[..], LoadOptions::new()).unwrap();
    assert_eq!(world.state_hash(), source.state_hash());
    let changed = world.query_filtered::<&Position, ancho_entities::Changed<Position>>();
    assert_eq!(changed.since(before).count(), source.query::<&Position>().count());
    assert_eq!(world.name(), "Other");
}

#[test]
fn a_world_with_other_chunks_gets_all_entities() {
    let source = varied_world();
    for settings in [
        WorldSettings::new().chunk_size(4096),
        WorldSettings::new().chunk_size(1 << 16),
        WorldSettings::new().chunk_capacity_limit(3),
    ] {
        let mut world = World::with_settings("Other", settings);
        load_into(&mut world, &saved(&source)[..], LoadOptions::new()).unwrap();
        assert_eq!(world.entity_count(), source.entity_count());
        for entity in source.iter_entities() {
            assert_eq!(world.get::<Mood>(entity).ok(), source.get::<Mood>(entity).ok());
        }
        // The file remembers the settings.
        let again = loaded(&saved(&world));
        assert_eq!(again.state_hash(), world.state_hash());
    }
}

#[test]
fn merged_entities_get_new_ids_and_keep_their_references() {
    let mut world = World::new("Game");
    world.spawn_many(Position::default(), 100);
    let source = varied_world();
    let map = merge(&mut world, &saved(&source)[..], LoadOptions::new()).unwrap();
    assert_eq!(map.len(), source.entity_count());
    assert_eq!(world.entity_count(), source.entity_count() + 100);
    for (old, new) in map.iter() {
        let (Ok(before), Ok(after)) = (source.get::<Padded>(old), world.get::<Padded>(new)) else {
            continue;
        };
        assert_eq!(after.target, map.get(before.target).unwrap_or(Entity::NULL));
        assert_eq!(source.entity_name(old), world.entity_name(new));
    }
}

#[cfg(feature = "lz4")]
#[test]
fn compressed_worlds_are_smaller_and_equal() {
    let world = varied_world();
    let mut small = Vec::new();
    save(&world, &mut small, SaveOptions::new().compression(ancho_serialize::Compression::Lz4))
        .unwrap();
    assert!(small.len() < saved(&world).len() / 2);
    assert_eq!(loaded(&small).state_hash(), world.state_hash());
}

#[test]
fn an_empty_world_is_saved() {
    let world = World::new("Empty");
    assert_eq!(loaded(&saved(&world)).state_hash(), world.state_hash());
    let mut cleared = World::new("Cleared");
    cleared.spawn_many(Position::default(), 10);
    cleared.despawn_all().unwrap();
    let mut again = loaded(&saved(&cleared));
    assert_eq!(again.state_hash(), cleared.state_hash());
    assert_eq!(again.spawn(()), cleared.spawn(()));
}

#[test]
fn reserved_ids_are_never_used_again() {
    let mut world = World::new("Game");
    world.spawn_many((), 3);
    let mut buffer = ancho_entities::EntityCommandBuffer::new();
    let reserved = world.commands(&mut buffer).unwrap().spawn(());
    let mut again = loaded(&saved(&world));
    assert_eq!(again.state_hash(), world.state_hash());
    assert_eq!(again.entity_count(), 3);
    assert_ne!(again.spawn(()), reserved);
}

#[test]
fn a_failed_save_keeps_the_old_file() {
    #[derive(Component)]
    struct Sealed(#[field(opaque)] u32);

    let path = std::env::temp_dir().join(format!("{}-keep.ancho", std::process::id()));
    let mut world = varied_world();
    save_file(&world, &path, SaveOptions::new().sync()).unwrap();
    world.spawn(Sealed(7));
    let refused = save_file(&world, &path, SaveOptions::new()).unwrap_err();
    assert_eq!(refused.kind(), SerializeErrorKind::Unsavable);
    assert!(refused.to_string().contains("Sealed"), "{refused}");
    assert!(load_file(&path, LoadOptions::new()).is_ok());
    let folder = path.parent().unwrap();
    let left = std::fs::read_dir(folder).unwrap().filter_map(Result::ok).filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.contains("-keep.ancho") && name.contains(&std::process::id().to_string())
    });
    assert_eq!(left.count(), 1);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_writer_that_fails_half_way_is_reported() {
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let refused = save(&varied_world(), Full(10_000), SaveOptions::new()).unwrap_err();
    assert_eq!(refused.kind(), SerializeErrorKind::Io);
}

#[test]
fn saving_and_loading_can_be_cancelled() {
    let world = varied_world();
    let stop = |progress: ancho_serialize::Progress| match progress.done {
        2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let refused = save(&world, io::sink(), SaveOptions::new().progress(stop)).unwrap_err();
    assert_eq!(refused.kind(), SerializeErrorKind::Cancelled);
    let refused = load(&saved(&world)[..], LoadOptions::new().progress(stop)).unwrap_err();
    assert_eq!(refused.kind(), SerializeErrorKind::Cancelled);
}

#[test]
fn a_world_is_saved_in_the_background_while_it_changes() {
    let path = std::env::temp_dir().join(format!("{}-bg.ancho", std::process::id()));
    let mut world = World::new("Game");
    world.spawn_batch((0..10_000).map(|at| Position([at as f32; 3])));
    let hash = world.state_hash();
    let saving = save_in_background(&mut world, &path, SaveOptions::new()).unwrap();
    world.query_mut::<&mut Position>().for_each(|position| position.0[0] += 1.0);
    saving.wait().unwrap();
    assert_eq!(load_file(&path, LoadOptions::new()).unwrap().state_hash(), hash);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn metadata_is_read_without_the_world() {
    let mut bytes = Vec::new();
    let options = SaveOptions::new().metadata("frame", "100").metadata("sample", "battle");
    save(&varied_world(), &mut bytes, options).unwrap();
    let metadata = load_metadata(&bytes[..512]).unwrap();
    assert_eq!(
        metadata.into_iter().collect::<Vec<_>>(),
        [("frame".to_owned(), "100".to_owned()), ("sample".to_owned(), "battle".to_owned()),]
    );
}

#[test]
fn atomics_are_saved_with_their_values() {
    let mut world = World::new("Game");
    let entity = world.spawn(Counter::default());
    world.get::<Counter>(entity).unwrap().0.store(9, Ordering::Relaxed);
    assert_eq!(count(&loaded(&saved(&world)), entity), 9);
    assert!(!Counter::SHAPE.plain);
}

#[derive(Resource, Clone, Debug, Default, PartialEq)]
struct Score {
    points: u32,
    best: Vec<(String, u64)>,
    leader: Option<Entity>,
}

#[derive(Resource, Clone, Debug, PartialEq)]
#[resource(name = "round_trips::Seed")]
struct Seed(u64);

fn scored_world() -> World {
    let mut world = World::new("Game");
    let leader = world.spawn(Position::default());
    let best = vec![("Ada".to_owned(), 7), ("Bob".to_owned(), 3)];
    world.insert_resource(Score { points: 9, best, leader: Some(leader) });
    world.insert_resource(Seed(u64::MAX));
    world.update(0.25);
    world.set_time_scale(0.5).unwrap();
    world.update(0.25);
    world
}

#[test]
fn resources_and_time_are_part_of_the_state() {
    let world = scored_world();
    let options = LoadOptions::new().resource::<Score>().resource::<Seed>();
    let again = load(&saved(&world)[..], options).unwrap();
    assert_eq!(again.state_hash(), world.state_hash());
    assert_eq!(again.resource::<Score>(), world.resource::<Score>());
    assert_eq!((again.time(), again.time_scale()), (world.time(), 0.5));

    // A world that has other values gets those of the file, and loses those that the file does not have.
    let mut other = World::new("Other");
    other.insert_resource(Score::default());
    other.insert_resource(Seed(1));
    load_into(&mut other, &saved(&world)[..], LoadOptions::new()).unwrap();
    assert_eq!(other.state_hash(), world.state_hash());
    load_into(&mut other, &saved(&varied_world())[..], LoadOptions::new()).unwrap();
    assert!(!other.has_resource::<Score>());
}

#[test]
fn unknown_resources_are_listed_or_skipped() {
    let bytes = saved(&scored_world());
    let refused = load(&bytes[..], LoadOptions::new().resource::<Score>()).unwrap_err();
    assert_eq!(refused.kind(), SerializeErrorKind::UnknownTypes);
    assert!(refused.to_string().contains("no resource types `round_trips::Seed`;"), "{refused}");
    let skip = LoadOptions::new().unknown_types(ancho_serialize::UnknownTypes::Skip);
    assert_eq!(load(&bytes[..], skip).unwrap().entity_count(), 1);
}

#[test]
fn merging_keeps_the_resources_and_the_time_of_the_world() {
    let mut world = World::new("Game");
    world.insert_resource(Seed(4));
    merge(&mut world, &saved(&scored_world())[..], LoadOptions::new()).unwrap();
    assert_eq!(world.resource::<Seed>(), &Seed(4));
    assert_eq!(world.time().frame(), 0);
    assert_eq!(world.entity_count(), 1);
}

fn family() -> (World, [Entity; 4]) {
    let mut world = World::new("Family");
    let root = world.spawn(Position::default());
    let first = world.spawn(Parent(root));
    let second = world.spawn((Parent(root), Position::default()));
    let third = world.spawn(Parent(second));
    (world, [root, first, second, third])
}

#[test]
fn hierarchies_are_kept_in_both_directions() {
    let (world, [root, first, second, third]) = family();
    let mut again = loaded(&saved(&world));
    assert_eq!(again.state_hash(), world.state_hash());
    assert_eq!(again.children(root), [first, second]);
    again.despawn(second).unwrap();
    assert!(!again.exists(third) && again.exists(first));
    assert_eq!(again.children(root), [first]);

    let scene = ancho_serialize::Scene::of(&world).unwrap();
    let mut spawned = World::new("Scene");
    scene.spawn(&mut spawned).unwrap();
    let roots = spawned.query_filtered::<&Position, ancho_entities::Without<Parent>>();
    let root = roots.to_entities()[0];
    assert_eq!(spawned.children(root).len(), 2);
}

#[test]
fn contradicting_links_are_refused() {
    let (world, [root, _, second, third]) = family();
    let bytes = saved(&world);
    // The parent of the third entity becomes the first one, whose list does not have it.
    let column = second.to_bits().to_le_bytes();
    let mut refused = 0;
    for at in (0..bytes.len() - 8).step_by(8) {
        if bytes[at..at + 8] != column {
            continue;
        }
        for other in [root, third, Entity::NULL, Entity::from_parts(999, 1)] {
            let mut changed = bytes.clone();
            changed[at..at + 8].copy_from_slice(&other.to_bits().to_le_bytes());
            repair(&mut changed);
            let error = load(&changed[..], LoadOptions::new()).unwrap_err();
            assert_eq!(error.kind(), SerializeErrorKind::Corrupt, "{error}");
            refused += 1;
        }
    }
    assert!(refused >= 8, "{refused}");
}

#[test]
fn a_summary_needs_no_types() {
    let world = varied_world();
    let mut bytes = Vec::new();
    save(&world, &mut bytes, SaveOptions::new().metadata("frame", "7")).unwrap();
    let info = ancho_serialize::FileInfo::read(&bytes[..]).unwrap();
    assert_eq!(info.entities, world.entity_count() as u64);
    assert_eq!(info.chunks, world.chunks().count() as u64);
    let positions = info.components.iter().find(|component| component.name == "Position").unwrap();
    // Prefabs have positions, too.
    let count = world.query_filtered::<&Position, ancho_entities::IncludePrefabs>().count();
    assert_eq!(positions.entities, count as u64);
    assert!(info.to_string().contains("component `Padded`: 200 entities, "), "{info}");
    bytes[1000] ^= 1;
    let refused = ancho_serialize::FileInfo::read(&bytes[..]).unwrap_err();
    assert_eq!(refused.kind(), SerializeErrorKind::Checksum);
}

#[test]
fn saving_waits_for_jobs() {
    static IS_SAVING: AtomicBool = AtomicBool::new(false);
    static IS_DONE: AtomicBool = AtomicBool::new(false);

    let mut world = World::new("Game");
    world.add_system(|mut all: Query<&mut Position>| {
        all.schedule_parallel(|position| {
            // At most 10 seconds, so that the test fails if `update` waits for the job.
            for _ in 0..10_000 {
                if IS_SAVING.load(Ordering::Acquire) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(20));
            position.0[0] += 1.0;
            IS_DONE.store(true, Ordering::Release);
        });
    });
    let entity = world.spawn(Position::default());
    world.update(0.1);
    assert!(!IS_DONE.load(Ordering::Acquire), "the update waited for the job");
    IS_SAVING.store(true, Ordering::Release);
    let bytes = saved(&world);
    assert!(IS_DONE.load(Ordering::Acquire));
    let loaded = loaded(&bytes);
    assert_eq!(loaded.get(entity), Ok(&Position([1.0, 0.0, 0.0])));
    assert_eq!(loaded.state_hash(), world.state_hash());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_reported() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let refused = save(&varied_world(), full, SaveOptions::new()).unwrap_err();
    assert_eq!(refused.kind(), SerializeErrorKind::Io);
}
