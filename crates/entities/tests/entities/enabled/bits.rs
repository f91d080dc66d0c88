//! Enabling and disabling components.

use std::sync::LazyLock;

use ancho_entities::{
    Archetype, Buffer, BufferElement, Changed, ChunkArena, Component, ComponentType, EnabledMut,
    EnabledRef, Entity, EntityError, IgnoreEnabled, Managed, ManagedComponent, RegisterError,
    RuntimeType, World, WorldSettings,
};

use crate::common::{A, B, Checked, both, chunks_of, world};

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::Engine", enableable)]
pub(crate) struct Engine(pub(crate) u32);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::Lit", enableable)]
pub(crate) struct Lit;

/// A component that owns memory.
#[derive(Component, Clone, Debug, Default, PartialEq)]
#[component(name = "game::Label", enableable)]
struct Label(String);

pub(crate) static AIM: LazyLock<ComponentType> = LazyLock::new(|| {
    ComponentType::register(RuntimeType::new("game::Aim", 8, 4).enableable()).unwrap()
});

#[test]
fn components_start_enabled_however_they_are_added() {
    for mut world in both() {
        let spawned = world.spawn((Engine(1), Lit));
        let many: Vec<_> = world.spawn_many((Engine(1), Label("x".into())), 3).collect();
        let batch: Vec<_> = world.spawn_batch((0..3).map(|n| (Engine(n), A(n)))).collect();
        let columns: Vec<_> = world.spawn_columns(([Engine(1), Engine(2)],)).unwrap().collect();
        let entities = &mut world;
        let archetype = entities.archetype_of(&[ComponentType::of::<Engine>(), *AIM]).unwrap();
        let created = entities.create(archetype).unwrap();
        let added = entities.spawn(A(1));
        entities.add(added, (Lit, Engine(2))).unwrap();
        let typed = entities.spawn(A(1));
        entities.add_types(typed, &[ComponentType::of::<Engine>()]).unwrap();
        let all = [vec![spawned, created, added, typed], many, batch, columns].concat();
        for &entity in &all {
            assert_eq!(entities.is_component_enabled::<Engine>(entity), Ok(true));
        }
        assert_eq!(entities.is_component_enabled::<Lit>(added), Ok(true));
        assert_eq!(entities.is_type_enabled(created, *AIM), Ok(true));
        entities.add_bytes(spawned, *AIM, &[7; 8]).unwrap();
        assert_eq!(entities.is_type_enabled(spawned, *AIM), Ok(true));
    }
}

#[test]
fn components_tags_and_runtime_types_are_enabled_separately() {
    let mut world = world();
    let all: Vec<_> = world.spawn_many((Engine(5), Lit, Label("x".into())), 3).collect();
    let entities = &mut world;
    for &entity in &all {
        entities.add_types(entity, &[*AIM]).unwrap();
    }
    entities.set_component_enabled::<Lit>(all[1], false).unwrap();
    entities.set_type_enabled(all[2], *AIM, false).unwrap();
    let on = |entities: &ancho_entities::EntityManager, entity: Entity| {
        [
            entities.is_component_enabled::<Engine>(entity).unwrap(),
            entities.is_component_enabled::<Lit>(entity).unwrap(),
            entities.is_component_enabled::<Label>(entity).unwrap(),
            entities.is_type_enabled(entity, *AIM).unwrap(),
        ]
    };
    assert_eq!(on(entities, all[0]), [true; 4]);
    assert_eq!(on(entities, all[1]), [true, false, true, true]);
    assert_eq!(on(entities, all[2]), [true, true, true, false]);
    entities.set_component_enabled::<Lit>(all[1], true).unwrap();
    assert_eq!(on(entities, all[1]), [true; 4]);
}

#[test]
fn types_that_are_not_enableable_are_refused() {
    for mut world in both() {
        let entity = world.spawn((A(1), Engine(1)));
        let gone = world.spawn(Engine(1));
        world.despawn(gone).unwrap();
        let before = world.state_hash();
        let entities = &mut world;
        let component = ComponentType::of::<A>();
        let refused = Err(EntityError::NotEnableable { component });
        assert_eq!(entities.set_component_enabled::<A>(entity, false), refused);
        assert_eq!(entities.set_component_enabled::<A>(entity, true), refused);
        assert_eq!(entities.is_component_enabled::<A>(entity), Ok(true));
        // A missing component is reported before one that is not enableable.
        for component in [ComponentType::of::<Lit>(), ComponentType::of::<B>(), *AIM] {
            let missing = EntityError::MissingComponent { entity, component };
            assert_eq!(entities.set_type_enabled(entity, component, false), Err(missing));
            assert_eq!(entities.is_type_enabled(entity, component), Err(missing));
        }
        for nobody in [gone, Entity::NULL] {
            let result = entities.set_component_enabled::<Engine>(nobody, false);
            assert!(matches!(result, Err(EntityError::NoSuchEntity { .. })));
            let result = entities.is_component_enabled::<Engine>(nobody);
            assert!(matches!(result, Err(EntityError::NoSuchEntity { .. })));
        }
        assert_eq!(world.state_hash(), before);
    }
}

#[test]
fn a_runtime_type_cannot_be_registered_again_as_enableable() {
    let aim = RuntimeType::new("game::Aim", 8, 4);
    assert_eq!(ComponentType::register(aim.clone().enableable()), Ok(*AIM));
    let refused = ComponentType::register(aim).unwrap_err();
    assert!(!matches!(refused, RegisterError::BadLayout { .. } | RegisterError::BadField { .. }));
    let mut world = world();
    let plain = ComponentType::register(RuntimeType::new("game::Plain", 8, 4)).unwrap();
    let entity = world.spawn(());
    let entities = &mut world;
    entities.add_types(entity, &[plain]).unwrap();
    let refused = EntityError::NotEnableable { component: plain };
    assert_eq!(entities.set_type_enabled(entity, plain, false), Err(refused));
}

#[test]
fn disabled_components_can_be_read_and_written() {
    let mut world = world();
    let entity = world.spawn((Engine(1), Label("a".into())));
    let entities = &mut world;
    entities.set_component_enabled::<Engine>(entity, false).unwrap();
    entities.set_component_enabled::<Label>(entity, false).unwrap();
    assert!(world.has::<(Engine, Label)>(entity));
    assert_eq!(world.get(entity), Ok(&Engine(1)));
    world.get_mut::<Engine>(entity).unwrap().0 = 2;
    world.set(entity, Label("b".into())).unwrap();
    assert_eq!(world.lookup::<&Engine>().get(entity), Some(&Engine(2)));
    assert_eq!(world.get(entity), Ok(&Label("b".into())));
    assert_eq!(world.is_component_enabled::<Engine>(entity), Ok(false));
    assert_eq!(world.is_component_enabled::<Label>(entity), Ok(false));
}

#[test]
fn adding_a_disabled_component_again_keeps_it_disabled() {
    let mut world = world();
    let entity = world.spawn((Engine(1), Lit));
    let entities = &mut world;
    entities.set_component_enabled::<Engine>(entity, false).unwrap();
    // DIFFERENCE: adding replaces the value, where the reference does nothing.
    assert_eq!(entities.add(entity, Engine(2)), Ok(false));
    assert_eq!(entities.get(entity), Ok(&Engine(2)));
    assert_eq!(entities.is_component_enabled::<Engine>(entity), Ok(false));
    assert_eq!(entities.add_types(entity, &[ComponentType::of::<Engine>()]), Ok(false));
    assert_eq!(entities.is_component_enabled::<Engine>(entity), Ok(false));
    // Also if another new component moves the entity.
    assert_eq!(entities.add(entity, (Engine(3), A(1))), Ok(true));
    assert_eq!(entities.get(entity), Ok(&Engine(3)));
    assert_eq!(entities.is_component_enabled::<Engine>(entity), Ok(false));
    assert_eq!(entities.is_component_enabled::<Lit>(entity), Ok(true));
}

#[test]
fn a_component_removed_while_disabled_is_added_enabled() {
    for mut world in both() {
        let entity = world.spawn((Engine(1), Label("a".into())));
        let entities = &mut world;
        entities.set_component_enabled::<Engine>(entity, false).unwrap();
        entities.set_component_enabled::<Label>(entity, false).unwrap();
        assert_eq!(entities.remove::<Engine>(entity), Ok(true));
        assert_eq!(entities.is_component_enabled::<Label>(entity), Ok(false));
        entities.add(entity, Engine(2)).unwrap();
        assert_eq!(entities.is_component_enabled::<Engine>(entity), Ok(true));
        assert_eq!(entities.take::<Label>(entity), Ok(Label("a".into())));
        entities.add(entity, Label("b".into())).unwrap();
        assert_eq!(entities.is_component_enabled::<Label>(entity), Ok(true));
    }
}

#[test]
fn enabling_is_no_structural_change() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_many(Engine(1), 10).collect();
    let archetype =
        |world: &World, entity| -> Archetype { world.entity_archetype(entity).unwrap() };
    let order = |world: &World| -> Vec<_> {
        let chunks = world.chunks();
        chunks.map(|chunk| (chunk.sequence_number(), chunk.order_version())).collect()
    };
    let (home, before) = (archetype(&world, all[0]), order(&world));
    world.advance_version();
    for &entity in &all {
        world.set_component_enabled::<Engine>(entity, false).unwrap();
    }
    assert_eq!((archetype(&world, all[0]), order(&world)), (home, before));
    assert_eq!(world.all_entities(), all);
}

#[test]
fn enabling_counts_as_a_change_even_without_effect() {
    let mut world = chunks_of(2);
    let all: Vec<_> = world.spawn_many((Engine(1), Lit, A(1)), 6).collect();
    for enabled in [true, false, false, true] {
        let before = world.version();
        world.advance_version();
        world.set_component_enabled::<Lit>(all[3], enabled).unwrap();
        let changed: Vec<_> = world
            .chunks()
            .map(|chunk| {
                let others = chunk.did_change::<Engine>(before) || chunk.did_change::<A>(before);
                (chunk.did_change::<Lit>(before), others)
            })
            .collect();
        assert_eq!(changed, [(false, false), (true, false), (false, false)]);
    }
    // Refused and read-only calls are no change.
    let before = world.version();
    world.advance_version();
    world.set_component_enabled::<A>(all[0], false).unwrap_err();
    world.is_component_enabled::<Lit>(all[0]).unwrap();
    assert!(world.chunks().all(|chunk| !chunk.did_change::<A>(before)));
    assert!(world.chunks().all(|chunk| !chunk.did_change::<Lit>(before)));
}

#[test]
fn masks_and_counts_cover_whole_chunks() {
    let mut world = chunks_of(70);
    let all: Vec<_> = world.spawn_many((Engine(1), A(1)), 100).collect();
    for at in [0, 63, 64, 69, 70, 99] {
        world.set_component_enabled::<Engine>(all[at], false).unwrap();
    }
    let chunks: Vec<_> = world.chunks().collect();
    assert_eq!(chunks[0].enabled_mask::<Engine>(), Some(&[u64::MAX >> 2 << 1, 0b1_1110][..]));
    assert_eq!(chunks[1].enabled_mask::<Engine>(), Some(&[(1 << 29) - 2, 0][..]));
    let counts: Vec<_> = chunks.iter().map(|chunk| chunk.enabled_count::<Engine>()).collect();
    assert_eq!(counts, [66, 28]);
    // A component that is not enableable has no mask, and is always enabled.
    assert_eq!((chunks[0].enabled_mask::<A>(), chunks[0].enabled_count::<A>()), (None, 70));
    assert_eq!((chunks[0].enabled_mask::<Lit>(), chunks[0].enabled_count::<Lit>()), (None, 0));
}

#[test]
fn forks_enable_and_disable_separately() {
    let mut world = world();
    let entity = world.spawn((Engine(1), A(1)));
    world.set_component_enabled::<Engine>(entity, false).unwrap();
    for mut copy in [world.fork(), world.duplicate()] {
        assert_eq!(copy.state_hash(), world.state_hash());
        assert_eq!(copy.is_component_enabled::<Engine>(entity), Ok(false));
        copy.set_component_enabled::<Engine>(entity, true).unwrap();
        assert_eq!(world.is_component_enabled::<Engine>(entity), Ok(false));
        assert_ne!(copy.state_hash(), world.state_hash());
    }
}

#[test]
fn enabling_does_not_copy_chunks_shared_with_a_fork() {
    let arena = ChunkArena::with_limit(16 * 1024);
    let mut world = Checked::with_settings(WorldSettings::new().arena(arena.clone()));
    let entity = world.spawn((Engine(1), A(1)));
    let mut fork = world.fork();
    fork.set_component_enabled::<Engine>(entity, false).unwrap();
    assert_eq!(world.is_component_enabled::<Engine>(entity), Ok(true));
    assert_eq!(arena.stats().used, 16 * 1024);
}

#[test]
fn several_types_are_enabled_in_their_own_masks_and_columns() {
    let mut world = chunks_of(150);
    let all: Vec<_> = world.spawn_many((Engine(1), Lit, Label("x".into()), A(1)), 400).collect();
    for round in 0..4 {
        let before = world.version();
        let entities = &mut world;
        entities.advance_version();
        // Entities of the first two chunks, many in a row.
        for (at, &entity) in all[..300].iter().enumerate() {
            entities.set_component_enabled::<Lit>(entity, at % (round + 2) == 0).unwrap();
        }
        for (at, &entity) in all[..300].iter().enumerate() {
            entities.set_component_enabled::<Label>(entity, at % (round + 3) == 0).unwrap();
        }
        for (at, &entity) in all.iter().enumerate() {
            let on = |step: usize| at >= 300 || at % (round + step) == 0;
            assert_eq!(entities.is_component_enabled::<Engine>(entity), Ok(true));
            assert_eq!(entities.is_component_enabled::<Lit>(entity), Ok(on(2)));
            assert_eq!(entities.is_component_enabled::<Label>(entity), Ok(on(3)));
        }
        for (at, chunk) in entities.chunks().enumerate() {
            assert_eq!(chunk.did_change::<Lit>(before), at < 2);
            assert_eq!(chunk.did_change::<Label>(before), at < 2);
            assert!(!chunk.did_change::<Engine>(before) && !chunk.did_change::<A>(before));
        }
    }
}

#[test]
fn loops_use_the_bits_of_buffers_and_managed_components() {
    #[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
    #[buffer(enableable, track_changes)]
    struct Shot(u32);

    #[derive(ManagedComponent, Clone, Debug, PartialEq)]
    #[managed(enableable)]
    struct Brain(u32);

    let mut world = world();
    for number in 0..100 {
        world.spawn((A(number), Buffer::from([Shot(number)]), Managed::new(Brain(number))));
    }
    let seen = world.version();
    world.advance_version();
    type Bits<'w> = (&'w A, EnabledMut<'w, Buffer<Shot>>, EnabledMut<'w, Managed<Brain>>);
    for (a, mut shots, mut brain) in world.query_mut::<Bits>() {
        assert!(shots.get() && brain.get());
        shots.set(a.0 % 2 == 0);
        brain.set(a.0 % 5 == 0);
    }
    assert_eq!(world.query::<&Buffer<Shot>>().count(), 50);
    assert_eq!(world.query::<&Managed<Brain>>().count(), 20);
    type Read<'w> = (EnabledRef<'w, Buffer<Shot>>, EnabledRef<'w, Managed<Brain>>);
    let both = world.query::<Read>();
    assert_eq!(both.iter().filter(|(shots, brain)| shots.get() && brain.get()).count(), 10);
    type Changes = (Changed<Buffer<Shot>>, IgnoreEnabled);
    assert_eq!(world.query_filtered::<(), Changes>().since(seen).count(), 100);
}
