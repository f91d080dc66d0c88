//! Managed components: values of one thread, each in its own box.

use std::cell::Cell;
use std::sync::Arc;

use ancho_entities::{
    Buffer, ChunkArena, ComponentType, Entity, EntityError, LinkedEntityGroup, Managed,
    ManagedComponent, OutOfMemory, Prefab, World, WorldSettings,
};

use crate::common::{A, B, Checked, Text, both, chunks_of, strict, world};

/// A value that is not `Sync`, and counted by its owner.
#[derive(ManagedComponent, Clone, Debug, Default)]
#[managed(name = "game::Voice")]
struct Voice {
    text: String,
    #[field(opaque)]
    spoken: Cell<u32>,
    #[field(opaque)]
    owner: Arc<()>,
}

fn voice(text: &str, owner: &Arc<()>) -> Managed<Voice> {
    Managed::new(Voice { text: text.into(), spoken: Cell::new(0), owner: Arc::clone(owner) })
}

/// A value that can be neither copied nor cloned, and has no default.
#[derive(ManagedComponent, Debug)]
#[managed(name = "game::Handle of a window")]
struct Window(#[field(opaque)] Arc<()>);

#[derive(ManagedComponent, Clone, Debug, PartialEq)]
#[managed(name = "game::Party")]
struct Party {
    leader: Entity,
    members: Vec<Option<Entity>>,
}

/// A value that is copied as bytes.
#[derive(ManagedComponent, Clone, Copy, Debug, Default, PartialEq)]
#[managed(name = "game::Level", enableable)]
struct Level(u32);

/// A zero-sized value.
#[derive(ManagedComponent, Clone, Debug, Default, PartialEq)]
#[managed(name = "game::Nothing")]
struct Nothing;

#[derive(ManagedComponent, Clone, Debug)]
#[managed(name = "game::Socket", cleanup)]
struct Socket(#[field(opaque)] Arc<()>, #[field(opaque)] Cell<u32>);

#[derive(ManagedComponent, Clone, Debug)]
#[repr(align(256))]
#[managed(name = "game::Aligned")]
struct Aligned(u8);

#[test]
fn values_are_created_and_dropped_with_their_entities() {
    type Ending = fn(&mut Checked, Entity);
    let endings: [(&str, Ending); 7] = [
        ("remove", |world, entity| assert_eq!(world.remove::<Managed<Voice>>(entity), Ok(true))),
        ("remove_types", |world, entity| {
            let types = [ComponentType::of_managed::<Voice>()];
            assert_eq!(world.remove_types(entity, &types), Ok(true));
        }),
        ("take", |world, entity| drop(world.take::<Managed<Voice>>(entity).unwrap())),
        ("set_archetype", |world, entity| {
            let archetype = world.archetype::<B>();
            world.set_archetype(entity, archetype).unwrap();
        }),
        ("despawn", |world, entity| assert_eq!(world.despawn(entity), Ok(true))),
        ("despawn_slice", |world, entity| assert_eq!(world.batch(&[entity]).despawn(), Ok(1))),
        ("despawn_all", |world, _| assert_eq!(world.despawn_all(), Ok(1))),
    ];
    for (what, end) in endings {
        for mut world in both() {
            let owner = Arc::new(());
            let entity = world.spawn((A(1), voice("hello", &owner)));
            assert_eq!(Arc::strong_count(&owner), 2, "{what}");
            assert_eq!(world.managed::<Voice>(entity).unwrap().text, "hello");
            end(&mut world, entity);
            assert_eq!(Arc::strong_count(&owner), 1, "{what}");
            assert!(!world.has::<Managed<Voice>>(entity), "{what}");
        }
    }
}

#[test]
fn values_are_dropped_with_their_world() {
    let owner = Arc::new(());
    let mut world = chunks_of(3);
    world.spawn_batch((0..10).map(|at| (A(at), voice("x", &owner))));
    world.spawn(Managed::new(Window(Arc::clone(&owner))));
    assert_eq!(Arc::strong_count(&owner), 12);
    drop(world);
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn values_stay_in_their_place_when_entities_move() {
    // Only the address is in the chunk.
    let owner = Arc::new(());
    let mut world = chunks_of(4);
    let all: Vec<_> =
        world.spawn_batch((0..9).map(|at| (A(at), voice(&at.to_string(), &owner)))).collect();
    let addresses: Vec<*const Voice> = all
        .iter()
        .map(|&entity| std::ptr::from_ref(world.managed::<Voice>(entity).unwrap()))
        .collect();
    world.add(all[2], Text("moved".into())).unwrap();
    world.add(all[5], B(1)).unwrap();
    world.remove::<A>(all[5]).unwrap();
    world.despawn(all[0]).unwrap();
    world.swap_components(all[1], all[8]).unwrap();
    for at in [2, 3, 4, 5, 6, 7] {
        let found = world.managed::<Voice>(all[at]).unwrap();
        assert_eq!(found.text, at.to_string());
        assert!(std::ptr::eq(found, addresses[at]));
    }
    assert_eq!(world.managed::<Voice>(all[1]).unwrap().text, "8");
    assert_eq!(world.managed::<Voice>(all[8]).unwrap().text, "1");
    assert_eq!(Arc::strong_count(&owner), 9);
}

#[test]
fn values_are_added_and_replaced() {
    let (first, second) = (Arc::new(()), Arc::new(()));
    let mut world = world();
    let entity = world.spawn(A(1));
    assert!(world.add(entity, voice("one", &first)).unwrap());
    assert!(!world.add(entity, (voice("two", &second), A(2))).unwrap());
    assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 2));
    world.set(entity, voice("three", &first)).unwrap();
    assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (2, 1));
    let taken = world.take::<(A, Managed<Voice>)>(entity).unwrap();
    assert_eq!((taken.0, taken.1.into_inner().text.as_str()), (A(2), "three"));
    assert_eq!(Arc::strong_count(&first), 1);
}

#[test]
fn a_refused_value_is_returned() {
    // In strict and lenient worlds.
    let owner = Arc::new(());
    for mut world in both() {
        let (plain, dead) = (world.spawn(A(1)), world.spawn(A(2)));
        world.despawn(dead).unwrap();
        let ty = ComponentType::of_managed::<Voice>();
        let missing = EntityError::MissingComponent { entity: plain, component: ty };
        assert_eq!(world.managed::<Voice>(plain).unwrap_err(), missing);
        assert_eq!(world.managed_mut::<Voice>(plain).unwrap_err(), missing);
        assert_eq!(world.take::<Managed<Voice>>(plain).unwrap_err(), missing);
        let refused = world.set(plain, voice("mine", &owner)).unwrap_err();
        assert_eq!((refused.error, refused.value.into_inner().text.as_str()), (missing, "mine"));
        assert_eq!(
            missing.to_string(),
            format!(
                "A0051: entity {plain} has no `Managed<game::Voice>`; add it first, or check with `has`"
            )
        );
        let foreign = Entity::from_parts(900, 1);
        for gone in [dead, foreign, Entity::NULL] {
            let no_such =
                |error| matches!(error, EntityError::NoSuchEntity { entity, .. } if entity == gone);
            assert!(no_such(world.managed::<Voice>(gone).unwrap_err()));
            assert!(no_such(world.managed_mut::<Voice>(gone).unwrap_err()));
            let refused = world.add(gone, voice("mine", &owner)).unwrap_err();
            assert!(no_such(refused.error));
            assert_eq!(refused.value.into_inner().text, "mine");
        }
        assert_eq!(Arc::strong_count(&owner), 1);
    }
    let mut world = strict();
    let entity = world.spawn(voice("theirs", &owner));
    let refused = world.add(entity, voice("mine", &owner)).unwrap_err();
    assert!(matches!(refused.error, EntityError::AlreadyPresent { .. }));
    assert_eq!(refused.value.into_inner().text, "mine");
    assert_eq!(world.managed::<Voice>(entity).unwrap().text, "theirs");
    assert_eq!(Arc::strong_count(&owner), 2);
}

#[test]
fn reading_is_no_change() {
    // DIFFERENCE: Unity marks a managed component as changed when it is read.
    let owner = Arc::new(());
    let mut world = world();
    let entity = world.spawn((A(1), voice("hello", &owner)));
    let ty = ComponentType::of_managed::<Voice>();
    let version = |world: &World| world.chunks().next().unwrap().change_version_of(ty).unwrap();
    let before = version(&world);
    let now = world.advance_version();
    let read = world.managed::<Voice>(entity).unwrap();
    read.spoken.set(3);
    assert_eq!(world.chunks().next().unwrap().managed::<Voice>().unwrap().len(), 1);
    assert_eq!(version(&world), before);
    world.managed_mut::<Voice>(entity).unwrap().text.push('!');
    assert_eq!(version(&world), now);
    let later = world.advance_version();
    world.for_each_chunk_mut(|mut chunk| {
        chunk.managed_mut::<Voice>().unwrap().for_each(|voice| voice.text.push('?'));
        assert!(matches!(
            chunk.managed_mut::<Level>().map(|levels| levels.len()),
            Err(EntityError::MissingComponent { .. })
        ));
        assert!(chunk.as_chunk().managed::<Level>().is_none());
    });
    assert_eq!(version(&world), later);
    let found = world.managed::<Voice>(entity).unwrap();
    assert_eq!((found.text.as_str(), found.spoken.get()), ("hello!?", 3));
}

#[test]
fn instances_have_clones() {
    let owner = Arc::new(());
    for mut world in both() {
        let prefab = world.spawn((Prefab, A(1), voice("hello", &owner), Managed::new(Level(4))));
        let all: Vec<_> = world.instantiate_many(prefab, 5).unwrap().collect();
        assert_eq!(Arc::strong_count(&owner), 7);
        world.managed_mut::<Voice>(all[0]).unwrap().text = "changed".into();
        world.managed::<Voice>(all[1]).unwrap().spoken.set(1);
        let texts = all.iter().map(|&entity| world.managed::<Voice>(entity).unwrap());
        let texts: Vec<_> = texts.map(|voice| (voice.text.as_str(), voice.spoken.get())).collect();
        let hello = ("hello", 0);
        assert_eq!(texts, [("changed", 0), ("hello", 1), hello, hello, hello]);
        assert_eq!(world.managed(all[4]), Ok(&Level(4)));
        world.despawn(prefab).unwrap();
        assert_eq!(Arc::strong_count(&owner), 6);
    }
}

#[test]
fn values_that_cannot_be_cloned_cannot_be_instantiated() {
    // As for every component: A0058.
    let owner = Arc::new(());
    let mut world = world();
    let entity = world.spawn((A(1), Managed::new(Window(Arc::clone(&owner)))));
    let component = ComponentType::of_managed::<Window>();
    let refused = Err(EntityError::NotDuplicable { component });
    assert_eq!(world.instantiate(entity), refused);
    assert_eq!(World::fork(&mut world).map(|_| ()), Err(EntityError::NotDuplicable { component }));
    assert_eq!(
        World::duplicate(&mut world).map(|_| ()),
        Err(EntityError::NotDuplicable { component })
    );
    assert_eq!((world.entity_count(), Arc::strong_count(&owner)), (1, 2));
}

#[test]
fn references_are_remapped_to_the_instances() {
    let mut world = world();
    let outside = world.spawn(());
    let root = world.spawn(());
    let friend = world.spawn(());
    let party =
        Party { leader: root, members: vec![Some(root), None, Some(friend), Some(outside)] };
    world.add(root, Managed::new(party.clone())).unwrap();
    let alone = world.instantiate(root).unwrap();
    let members = vec![Some(alone), None, Some(friend), Some(outside)];
    assert_eq!(world.managed(alone), Ok(&Party { leader: alone, members }));

    world.add(root, Buffer::from([LinkedEntityGroup(root), LinkedEntityGroup(friend)])).unwrap();
    let instance = world.instantiate(root).unwrap();
    let second = world.buffer::<LinkedEntityGroup>(instance).unwrap()[1].0;
    let members = vec![Some(instance), None, Some(second), Some(outside)];
    assert_eq!(world.managed(instance), Ok(&Party { leader: instance, members }));
    assert_eq!(world.managed(root), Ok(&party));

    world.remap_references(|_| outside).unwrap();
    assert_eq!(world.managed::<Party>(root).unwrap().leader, outside);
}

#[test]
fn entities_start_with_the_default() {
    let mut world = world();
    let archetype = world.archetype::<(A, Managed<Voice>, Managed<Nothing>)>();
    let entity = world.create(archetype).unwrap();
    assert_eq!(world.managed::<Voice>(entity).unwrap().text, "");
    assert_eq!(world.managed(entity), Ok(&Nothing));
    let component = ComponentType::of_managed::<Window>();
    let window = world.archetype::<Managed<Window>>();
    assert_eq!(world.create(window), Err(EntityError::NoInitialValue { component }));
    let plain = world.spawn(A(1));
    let types = [ComponentType::of_managed::<Level>()];
    assert_eq!(world.add_types(plain, &types), Ok(true));
    assert_eq!(world.managed(plain), Ok(&Level(0)));
}

#[test]
fn spawn_many_clones_one_value() {
    let owner = Arc::new(());
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_many((voice("x", &owner), A(1)), 10).collect();
    // The original value was dropped.
    assert_eq!(Arc::strong_count(&owner), 11);
    world.managed_mut::<Voice>(all[3]).unwrap().text.push('y');
    assert_eq!(world.managed::<Voice>(all[4]).unwrap().text, "x");
    world.spawn_many(Managed::new(Aligned(3)), 5);
    let chunks = world.chunks().filter_map(|chunk| chunk.managed::<Aligned>());
    let aligned: Vec<_> = chunks.flatten().collect();
    assert_eq!(aligned.len(), 5);
    assert!(
        aligned.iter().all(|value| std::ptr::from_ref(*value).addr() % 256 == 0 && value.0 == 3)
    );
}

#[test]
fn a_managed_component_is_a_separate_type() {
    let ty = ComponentType::of_managed::<Voice>();
    assert_eq!((ty.name(), ty.size(), ty.align()), ("Managed<game::Voice>", 8, 8));
    assert!(ty.is_managed() && !ty.is_cleanup() && !ty.is_enableable() && !ty.is_tag());
    assert_eq!(ComponentType::find("Managed<game::Voice>"), Some(ty));
    assert!(!ComponentType::of::<A>().is_managed());
    assert!(!ty.shape().has_entities && ComponentType::of_managed::<Party>().shape().has_entities);
    let mut world = world();
    let entity = world.spawn(voice("x", &Arc::new(())));
    // An address cannot be read as bytes.
    let entities = &mut world;
    assert!(matches!(entities.get_bytes(entity, ty), Err(EntityError::NotBytes { .. })));
    assert!(matches!(entities.set_bytes(entity, ty, &[0; 8]), Err(EntityError::NotBytes { .. })));
    assert!(matches!(entities.add_bytes(entity, ty, &[0; 8]), Err(EntityError::NotBytes { .. })));
    assert_eq!(entities.chunks().next().unwrap().bytes(ty), None);
}

#[test]
fn values_can_be_disabled_and_enabled() {
    let mut world = world();
    let entity = world.spawn(Managed::new(Level(1)));
    let ty = ComponentType::of_managed::<Level>();
    world.set_type_enabled(entity, ty, false).unwrap();
    assert_eq!(world.is_type_enabled(entity, ty), Ok(false));
    assert_eq!(world.managed(entity), Ok(&Level(1)));
    let instance = world.instantiate(entity).unwrap();
    assert_eq!(world.is_type_enabled(instance, ty), Ok(false));
    let fork = world.fork();
    assert_eq!(fork.is_type_enabled(instance, ty), Ok(false));
}

#[test]
fn cleanup_values_are_dropped_when_they_are_removed() {
    let (owner, other) = (Arc::new(()), Arc::new(()));
    for mut world in both() {
        let socket = Managed::new(Socket(Arc::clone(&owner), Cell::new(7)));
        let entity = world.spawn((A(1), socket, voice("x", &other)));
        let instance = world.instantiate(entity).unwrap();
        assert!(!world.has::<Managed<Socket>>(instance), "those that stay are not copied");
        assert_eq!(world.despawn(entity), Ok(true));
        assert_eq!((Arc::strong_count(&owner), Arc::strong_count(&other)), (2, 2));
        assert_eq!(world.managed::<Socket>(entity).unwrap().1.get(), 7);
        let mut fork = world.fork();
        assert_eq!(Arc::strong_count(&owner), 3);
        assert_eq!(world.remove::<Managed<Socket>>(entity), Ok(true));
        assert!(!world.exists(entity) && fork.exists(entity));
        assert_eq!(Arc::strong_count(&owner), 2);
        assert_eq!(fork.take::<Managed<Socket>>(entity).unwrap().into_inner().1.get(), 7);
        drop((fork, world));
        assert_eq!((Arc::strong_count(&owner), Arc::strong_count(&other)), (1, 1));
    }
}

#[test]
fn the_state_hash_covers_the_values() {
    let owner = Arc::new(());
    let make = |text: &str| {
        let mut world = chunks_of(2);
        world.spawn_batch((0..5).map(|at| (A(at), voice(text, &owner))));
        world
    };
    let (mut one, two, other) = (make("x"), make("x"), make("y"));
    assert_eq!(one.state_hash(), two.state_hash());
    assert_ne!(one.state_hash(), other.state_hash());
    let entity = one.all_entities()[3];
    // Opaque fields are not hashed.
    one.managed::<Voice>(entity).unwrap().spoken.set(9);
    assert_eq!(one.state_hash(), two.state_hash());
    one.managed_mut::<Voice>(entity).unwrap().text.push('x');
    assert_ne!(one.state_hash(), two.state_hash());
}

#[test]
fn forks_have_separate_values() {
    // Two worlds never share a value.
    let owner = Arc::new(());
    for copy in [Checked::fork as fn(&mut Checked) -> Checked, Checked::duplicate] {
        let mut world = chunks_of(3);
        let plain: Vec<_> = world.spawn_batch((0..5).map(A)).collect();
        let all: Vec<_> = world.spawn_batch((0..7).map(|at| (A(at), voice("x", &owner)))).collect();
        world.despawn(plain[1]).unwrap();
        world.batch(&all[..3]).despawn().unwrap();
        let hash = world.state_hash();
        let mut fork = copy(&mut world);
        assert_eq!((Arc::strong_count(&owner), fork.state_hash()), (9, hash));
        for &entity in &all[3..] {
            let (ours, theirs) = (world.managed::<Voice>(entity), fork.managed::<Voice>(entity));
            assert!(!std::ptr::eq(ours.unwrap(), theirs.unwrap()));
        }
        world.managed::<Voice>(all[4]).unwrap().spoken.set(1);
        assert_eq!(fork.managed::<Voice>(all[4]).unwrap().spoken.get(), 0);
        fork.set(all[4], A(40)).unwrap();
        assert_eq!((world.get(all[4]), fork.get(all[4])), (Ok(&A(4)), Ok(&A(40))));
        // Forks of forks, and moves in them.
        let mut again = copy(&mut fork);
        again.remove::<A>(all[5]).unwrap();
        again.add(plain[0], voice("new", &owner)).unwrap();
        assert_eq!(fork.get(all[5]), Ok(&A(5)));
        assert_eq!(again.managed::<Voice>(all[5]).unwrap().text, "x");
        drop(fork);
        assert_eq!(world.managed::<Voice>(all[6]).unwrap().text, "x");
        drop(world);
        assert_eq!(Arc::strong_count(&owner), 6);
        drop(again);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn a_fork_without_memory_changes_nothing() {
    const CHUNK: usize = 4 << 10;
    let owner = Arc::new(());
    // Three chunks with managed components, and memory for copies of two.
    let arena = ChunkArena::with_limit(6 * CHUNK);
    let settings =
        WorldSettings::new().chunk_size(CHUNK).chunk_capacity_limit(2).arena(arena.clone());
    let mut world = Checked::with_settings(settings);
    let plain = world.spawn(A(1));
    let all: Vec<_> = world.spawn_batch((0..6).map(|at| (A(at), voice("x", &owner)))).collect();
    let before = (world.state_hash(), arena.stats().used, Arc::strong_count(&owner));
    assert!(matches!(World::fork(&mut world), Err(EntityError::OutOfMemory(OutOfMemory { .. }))));
    assert_eq!((world.state_hash(), arena.stats().used, Arc::strong_count(&owner)), before);
    // Nothing is marked as shared: writing needs no memory.
    let last = world.spawn(B(1));
    assert_eq!(arena.stats().used, 5 * CHUNK);
    world.set(plain, A(2)).unwrap();
    world.managed_mut::<Voice>(all[0]).unwrap().text.push('y');
    assert_eq!(arena.stats().used, 5 * CHUNK);
    world.batch(&[last, all[0], all[1], all[2], all[3]]).despawn().unwrap();
    let fork = world.fork();
    assert_eq!((fork.entity_count(), Arc::strong_count(&owner)), (3, 5));
    drop((fork, world));
    assert_eq!((arena.stats().used, Arc::strong_count(&owner)), (0, 1));
}
