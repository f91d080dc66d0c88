//! Differences between worlds, and patches.

use ancho_entities::{Buffer, Entity, LinkedEntityGroup, Shared, SharedComponent, World};
use ancho_serialize::{EntityGuid, SerializeErrorKind as Kind, WorldDiff};

use crate::common::*;

#[derive(SharedComponent, Clone, Debug, PartialEq, Eq, Hash)]
struct Zone(String);

fn level() -> World {
    let mut world = World::new("Level");
    let mut last = Entity::NULL;
    for guid in 1..40_u128 {
        let padded = Padded {
            small: guid as u8,
            target: last,
            flag: true,
            letter: 'x',
            count: std::num::NonZero::new(3).unwrap(),
        };
        last = world.spawn((EntityGuid(guid), padded, Position([guid as f32; 3])));
        if guid % 3 == 0 {
            world.add(last, Shared::new(Zone(format!("zone {}", guid % 2)))).unwrap();
        }
        if guid % 4 == 0 {
            world.add(last, Buffer::from([Note("a".into()), Note("b".into())])).unwrap();
        }
        if guid % 5 == 0 {
            world.add(last, Engine(guid as u64)).unwrap();
        }
    }
    world.spawn_many(Position::default(), 10);
    world
}

fn find(world: &World, guid: u128) -> Entity {
    let all = world.query::<&EntityGuid>().to_entities();
    all.into_iter().find(|&entity| world.get(entity) == Ok(&EntityGuid(guid))).unwrap()
}

fn edit(world: &mut World) {
    let all: Vec<Entity> = (1..40).map(|guid| find(world, guid)).collect();
    let of = |guid: usize| all[guid - 1];
    world.despawn(of(7)).unwrap();
    world.get_mut::<Position>(of(8)).unwrap().0 = [9.0; 3];
    world.remove::<Position>(of(9)).unwrap();
    world.set_shared(of(12), Zone("new".into())).unwrap();
    world.add(of(13), Shared::new(Zone("added".into()))).unwrap();
    world.set_component_enabled::<Engine>(of(15), false).unwrap();
    world.set_name(of(16), "Sixteen").unwrap();
    let target = of(30);
    world.get_mut::<Padded>(of(17)).unwrap().target = target;
    let root = world.spawn((EntityGuid(100), Mood::Angry { at: target, since: 1.0 }));
    let part = world.spawn((EntityGuid(101), Tag, Shared::new(Zone("zone 1".into()))));
    world.add(root, Buffer::from([LinkedEntityGroup(root), LinkedEntityGroup(part)])).unwrap();
    world.buffer_mut::<Note>(of(20)).unwrap().push(Note("c".into()));
}

#[test]
fn a_patched_world_has_no_difference() {
    let mut editor = level();
    let before = editor.fork().unwrap();
    edit(&mut editor);
    let diff = WorldDiff::between(&before, &editor).unwrap();
    assert_eq!(diff.created().collect::<Vec<_>>(), [EntityGuid(100), EntityGuid(101)]);
    assert_eq!(diff.destroyed().collect::<Vec<_>>(), [EntityGuid(7)]);
    assert!(diff.changed().any(|guid| guid == EntityGuid(17)));
    let diff = WorldDiff::from_reader(&diff.to_bytes()[..]).unwrap();

    // A world in which the same entities have other ids.
    let mut game = World::new("Game");
    game.spawn_many(Position::default(), 1000);
    game.copy_entities_from(&before).unwrap();
    diff.apply(&mut game).unwrap();
    let left = WorldDiff::between(&editor, &game).unwrap();
    assert!(left.is_empty(), "{left:?}");
    let target = game.get::<Padded>(find(&game, 17)).unwrap().target;
    assert_eq!(target, find(&game, 30));
    assert_eq!(game.entity_name(find(&game, 16)), Some("Sixteen"));
    assert!(!game.is_component_enabled::<Engine>(find(&game, 15)).unwrap());
    // The entity that this one referred to was despawned.
    assert_eq!(game.get::<Padded>(find(&game, 8)).unwrap().target, Entity::NULL);
}

#[test]
fn equal_worlds_have_no_difference() {
    let (one, other) = (level(), level());
    assert!(WorldDiff::between(&one, &other).unwrap().is_empty());
}

#[test]
fn duplicate_guids_are_named() {
    let mut world = level();
    let other = world.spawn(EntityGuid(3));
    let refused = WorldDiff::between(&world, &level()).unwrap_err();
    assert_eq!(refused.kind(), Kind::DuplicateGuid);
    assert!(refused.to_string().contains(&other.to_string()), "{refused}");
}

#[test]
fn a_patch_that_cannot_be_applied_changes_nothing() {
    let mut editor = level();
    let before = editor.fork().unwrap();
    edit(&mut editor);
    let diff = WorldDiff::between(&before, &editor).unwrap();
    let mut game = level();
    let gone = find(&game, 17);
    game.despawn(gone).unwrap();
    let hash = game.state_hash();
    let refused = diff.apply(&mut game).unwrap_err();
    assert_eq!(refused.kind(), Kind::Unpatchable);
    assert_eq!(
        refused.to_string(),
        "A0274: entity 0x00000000000000000000000000000011: the changed entity does not exist"
    );
    assert_eq!(game.state_hash(), hash);
}

#[test]
fn invalid_differences_never_panic() {
    let mut editor = level();
    let before = editor.fork().unwrap();
    edit(&mut editor);
    let bytes = WorldDiff::between(&before, &editor).unwrap().to_bytes();
    for at in 0..bytes.len() {
        assert!(WorldDiff::from_reader(&bytes[..at]).is_err());
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(WorldDiff::from_reader(&changed[..]).is_err(), "byte {at}");
        repair(&mut changed);
        if let Ok(diff) = WorldDiff::from_reader(&changed[..]) {
            _ = diff.apply(&mut level());
        }
    }
}
