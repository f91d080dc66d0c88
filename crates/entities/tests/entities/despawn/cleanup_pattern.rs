//! Added, removed and destroyed components, detected without callbacks.

use std::collections::BTreeMap;

use ancho_entities::{Component, Entity, World};

use crate::common::{A, Checked, both};

/// A component that other code adds and removes.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::Sound")]
struct Sound(u32);

/// The state kept for each sound: the number of its voice.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "cleanup::Voice", cleanup)]
struct Voice(u32);

/// Returns the entities that have one component and not another.
fn with_without<T: Component, U: Component>(world: &World) -> Vec<Entity> {
    let chunks = world.chunks().filter(|chunk| chunk.has::<T>() && !chunk.has::<U>());
    chunks.flat_map(|chunk| chunk.entities().to_vec()).collect()
}

/// A service outside of the world that mirrors the sounds.
#[derive(Default)]
struct Mixer {
    voices: BTreeMap<u32, u32>,
    next: u32,
}

impl Mixer {
    /// Returns the number of added and of removed sounds.
    fn update(&mut self, world: &mut Checked) -> (usize, usize) {
        let added = with_without::<Sound, Voice>(world);
        for &entity in &added {
            self.next += 1;
            self.voices.insert(self.next, world.get::<Sound>(entity).unwrap().0);
            world.add(entity, Voice(self.next)).unwrap();
        }
        let removed = with_without::<Voice, Sound>(world);
        for &entity in &removed {
            let Voice(number) = world.take(entity).unwrap();
            assert!(self.voices.remove(&number).is_some());
        }
        (added.len(), removed.len())
    }
}

#[test]
fn additions_removals_and_despawns_are_each_detected_once() {
    for mut world in both() {
        let mut mixer = Mixer::default();
        let all: Vec<_> = world.spawn_batch((0..6).map(|n| (A(n), Sound(n * 10)))).collect();
        assert_eq!(mixer.update(&mut world), (6, 0));
        assert_eq!(mixer.update(&mut world), (0, 0));
        assert!(mixer.voices.values().eq(&[0, 10, 20, 30, 40, 50]));
        // Removed: the entity stays alive.
        world.remove::<Sound>(all[1]).unwrap();
        // Destroyed: the entity exists until the mixer has processed it.
        world.despawn(all[2]).unwrap();
        world.batch(&all[4..]).despawn().unwrap();
        assert_eq!(world.entity_count(), 6);
        assert_eq!(mixer.update(&mut world), (0, 4));
        assert_eq!(mixer.update(&mut world), (0, 0));
        assert!(mixer.voices.values().eq(&[0, 30]));
        assert!(world.exists(all[1]) && !world.has::<Voice>(all[1]));
        assert!([2, 4, 5].iter().all(|&at| !world.exists(all[at])));
        // Added again, and copied: a copy counts as new.
        world.add(all[1], Sound(11)).unwrap();
        let copies: Vec<_> = world.instantiate_many(all[0], 3).unwrap().collect();
        assert_eq!(mixer.update(&mut world), (4, 0));
        assert_eq!(mixer.voices.len(), 6);
        // Created and destroyed in between: never seen.
        let short = world.spawn(Sound(1));
        world.despawn(short).unwrap();
        assert_eq!(mixer.update(&mut world), (0, 0));
        assert!(copies.iter().all(|&entity| world.has::<(Sound, Voice)>(entity)));
        world.despawn_all().unwrap();
        assert_eq!(mixer.update(&mut world), (0, 6));
        assert_eq!((world.entity_count(), mixer.voices.len()), (0, 0));
    }
}

#[test]
fn each_of_many_entities_is_detected_for_its_own_change() {
    // A third keep their sound, a third lose it, a third are despawned, by every available call.
    for mut world in both() {
        let mut mixer = Mixer::default();
        let all: Vec<_> = world.spawn_batch((0..512).map(|n| (A(n), Sound(n)))).collect();
        assert_eq!(mixer.update(&mut world), (512, 0));
        let third = |which: usize| all.iter().copied().skip(which).step_by(3).collect::<Vec<_>>();
        let (kept, removed, despawned) = (third(0), third(1), third(2));
        for &entity in &removed {
            assert_eq!(world.remove::<Sound>(entity), Ok(true));
        }
        let (one_by_one, at_once) = despawned.split_at(100);
        for &entity in one_by_one {
            assert_eq!(world.despawn(entity), Ok(true));
            // A second despawn changes nothing.
            assert_eq!(world.despawn(entity), Ok(false));
        }
        assert_eq!(world.batch(at_once).despawn(), Ok(at_once.len()));
        assert_eq!(world.entity_count(), 512, "their ids are not free yet");
        let new = world.spawn((A(0), Sound(1000)));
        assert_eq!(new.index(), 512);

        assert_eq!(mixer.update(&mut world), (1, removed.len() + despawned.len()));
        assert_eq!(mixer.update(&mut world), (0, 0));
        let mut playing: Vec<u32> = mixer.voices.values().copied().collect();
        playing.sort_unstable();
        let expected: Vec<u32> = (0..512).step_by(3).chain([1000]).collect();
        assert_eq!(playing, expected);
        assert!(kept.iter().all(|&entity| world.has::<(A, Sound, Voice)>(entity)));
        assert!(
            removed.iter().all(|&entity| world.has::<A>(entity) && !world.has::<Voice>(entity))
        );
        assert!(despawned.iter().all(|&entity| !world.exists(entity)));
        // Now the ids are free: each is handed out once.
        let next: Vec<_> = world.spawn_many(A(0), despawned.len()).collect();
        assert!(next.iter().all(|entity| entity.version() == 2));
        assert_eq!(world.entity_count(), 513);
    }
}
