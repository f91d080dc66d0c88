//! Component types and their properties.

use ancho_entities::{
    BufferElement, Component, ComponentType, Entity, EntityError, FieldKind, RegisterError,
    RuntimeType, World,
};

use crate::common::{A, B, C, Tag, Text, both, panic_message, world};

#[test]
fn an_entity_has_one_component_of_each_type() {
    for mut world in both() {
        let (a, b) = (ComponentType::of::<A>(), ComponentType::of::<B>());
        let refused = EntityError::DuplicateComponent { component: a };
        let before = world.state_hash();
        assert_eq!(world.archetype_of(&[a, b, a]), Err(refused));
        let spawned = world.try_spawn((A(1), B(2), A(3))).unwrap_err();
        assert_eq!((spawned.error, spawned.value), (refused, (A(1), B(2), A(3))));
        let nested = world.try_spawn((A(1), (B(2), (Tag, A(3))))).unwrap_err();
        assert_eq!(nested.error, refused);
        assert_eq!(panic_message(|| world.spawn((A(1), A(2)))), refused.to_string());
        assert_eq!(panic_message(|| world.spawn_many((A(1), A(2)), 3).len()), refused.to_string());
        let sets = [(A(1), A(2))];
        assert_eq!(panic_message(|| world.spawn_batch(sets).len()), refused.to_string());
        let columns = world.spawn_columns(([A(1)], [A(2)])).unwrap_err();
        assert_eq!(columns.error, refused);
        let archetype = panic_message(|| world.archetype::<(A, A)>());
        assert_eq!(archetype, refused.to_string());
        assert_eq!(world.state_hash(), before);
    }
}

#[test]
fn a_type_twice_is_refused_for_existing_entities() {
    for mut world in both() {
        let a = ComponentType::of::<A>();
        let entity = world.spawn(Text("kept".into()));
        let before = world.state_hash();
        let refused = EntityError::DuplicateComponent { component: a };
        assert_eq!(world.add(entity, (A(1), A(2))).unwrap_err().error, refused);
        assert_eq!(world.add_types(entity, &[a, a]), Err(refused));
        assert_eq!(world.remove_types(entity, &[a, a]), Err(refused));
        assert_eq!(world.state_hash(), before);
        world.add(entity, A(1)).unwrap();
        let before = world.state_hash();
        assert_eq!(world.set(entity, (A(2), A(3))).unwrap_err().error, refused);
        assert_eq!(world.state_hash(), before);
        assert_eq!(world.get(entity), Ok(&A(1)));
    }
}

#[test]
fn components_can_be_any_rust_type() {
    // DIFFERENCE: any type that can cross threads, also one that owns memory. Other types do not compile.
    #[derive(Component, Clone, Debug, PartialEq)]
    struct Rich {
        sign: char,
        open: bool,
        items: Vec<String>,
        next: Option<Box<u64>>,
    }

    let mut world = world();
    let rich = Rich { sign: 'ß', open: true, items: vec!["a".into()], next: Some(Box::new(7)) };
    let entity = world.spawn(rich.clone());
    world.spawn_many(rich.clone(), 100);
    world.add(entity, A(1)).unwrap();
    assert_eq!(world.get(entity), Ok(&rich));
    assert_eq!(world.take::<Rich>(entity), Ok(rich));
}

#[test]
fn components_are_never_called_by_storage() {
    // A world calls no method of a component except `Drop`.
    #[derive(Component)]
    struct Quiet;

    impl Quiet {
        #[expect(dead_code, reason = "it only has to compile")]
        fn update(&self) {
            unreachable!()
        }
    }

    let mut world = world();
    let entity = world.spawn(Quiet);
    world.despawn(entity).unwrap();
}

#[test]
fn a_name_belongs_to_one_type() {
    #[derive(Component)]
    #[component(name = "game::taken")]
    struct First;

    #[derive(Component)]
    #[component(name = "game::taken")]
    struct Second;

    let first = ComponentType::of::<First>();
    assert_eq!(ComponentType::of::<First>(), first);
    let refused = RegisterError::NameTaken { name: "game::taken", by: "game::taken" };
    assert_eq!(panic_message(ComponentType::of::<Second>), refused.to_string());
    let runtime = RuntimeType::new("game::taken", 0, 1);
    assert_eq!(ComponentType::register(runtime), Err(refused));
    assert_eq!(ComponentType::find("game::taken"), Some(first));
    world();
}

#[test]
fn a_type_reports_its_properties() {
    let a = ComponentType::of::<A>();
    assert_eq!((a.name(), a.size(), a.align()), ("game::A", 4, 4));
    assert!(!a.is_tag() && !a.is_runtime());
    assert!(ComponentType::of::<Tag>().is_tag());
    let runtime = RuntimeType::new("game::types::aim", 16, 8).field("at", 8, FieldKind::Entity);
    let aim = ComponentType::register(runtime.clone()).unwrap();
    assert!(aim.is_runtime() && !aim.is_tag());
    assert_eq!((aim.size(), aim.align(), aim.shape().fields()[0].name), (16, 8, "at"));
    assert_eq!(ComponentType::register(runtime), Ok(aim));
    assert_ne!(aim, a);
    assert_eq!(ComponentType::find("game::types::none"), None);
    world();
}

#[test]
fn the_hash_of_a_type_is_made_of_its_name_alone() {
    #[derive(Component)]
    #[component(name = "unity::A")]
    struct Saved;

    // These hashes are stored in files, and must not change.
    assert_eq!(ComponentType::of::<Saved>().stable_hash(), 13_331_027_316_148_935_613);
    let runtime = ComponentType::register(RuntimeType::new("unity::types::rt", 4, 4)).unwrap();
    assert_eq!(runtime.stable_hash(), 11_770_617_382_273_320_961);
    world();
}

#[test]
fn components_lie_in_memory_by_alignment_then_hash() {
    #[derive(Component, Clone, Copy)]
    struct Bytes([u8; 3]);

    #[derive(Component, Clone, Copy)]
    struct Short(u16);

    for mut world in both() {
        let entity = world.spawn((Bytes([0; 3]), A(1), C(2), Tag, B(3), Short(4)));
        let archetype = world.entity_archetype(entity).unwrap();
        let types = world.component_types(archetype).unwrap();
        assert_eq!(types.len(), 6);
        let mut sorted = types.to_vec();
        sorted.sort_by_key(|ty| (std::cmp::Reverse(ty.align()), ty.stable_hash()));
        assert_eq!(types, sorted);
        let (_, _) = (world.get::<Bytes>(entity).unwrap().0, world.get::<Short>(entity).unwrap().0);
    }
}

/// The same components in two modules.
macro_rules! modules {
    ($($module:ident)*) => {$(
        mod $module {
            use ancho_entities::{
                BufferElement, Component, Field, Managed, ManagedComponent, PerChunk, Shared,
                SharedComponent, World,
            };

            #[derive(Component, Clone, Copy)]
            pub(super) struct Position(f32);

            #[derive(Component, Clone, Copy)]
            pub(super) struct Tag;

            #[derive(Component, Clone, Copy)]
            #[component(enableable)]
            struct Mode(Kind);

            #[derive(Field, Clone, Copy)]
            enum Kind {
                Slow,
                Fast(u8),
            }

            #[derive(Component, Clone, Copy)]
            pub(super) struct Slot<T>(T);

            #[derive(Field, Clone, Copy)]
            pub(crate) struct Sword(u32);

            #[derive(BufferElement, Clone, Copy)]
            struct Item(u32);

            #[derive(SharedComponent, PartialEq, Eq, Hash)]
            struct Team(u8);

            #[derive(ManagedComponent, Clone)]
            struct Script(String);

            #[derive(Component, Clone, Copy, Default)]
            struct Bounds(u32);

            pub(super) fn fill(world: &mut World) {
                let slot = Slot((Some(Sword(4)), [Sword(5)]));
                let one = world.spawn((Position(1.0), Tag, Mode(Kind::Fast(2)), slot));
                world.spawn((Mode(Kind::Slow), Shared::new(Team(6)), PerChunk::<Bounds>::new()));
                world.add_buffer::<Item>(one).unwrap().push(Item(7));
                world.add(one, Managed::new(Script("walk".into()))).unwrap();
                world.set_component_enabled::<Mode>(one, false).unwrap();
            }
        }
    )*};
}

modules! { here there }

#[test]
fn the_state_hash_does_not_depend_on_the_paths_of_types() {
    let (mut left, mut right) = (world(), world());
    here::fill(&mut left);
    there::fill(&mut right);
    assert_eq!(left.state_hash(), right.state_hash());
}

#[test]
fn the_default_stable_name_has_no_paths() {
    #[derive(Component)]
    #[component(name = "game::Generic")]
    struct Generic<T>(T);

    #[derive(BufferElement)]
    #[buffer(name = "game::Items")]
    struct Items(u32);

    let sword = ComponentType::of::<here::Slot<Option<there::Sword>>>();
    assert_eq!(sword.stable_name(), "Slot<Option<Sword>>");
    assert!(sword.name().contains("here::Slot<core::option::Option<"), "{sword}");
    assert_eq!(ComponentType::of_chunk::<A>().stable_name(), "PerChunk<game::A>");
    assert_eq!(ComponentType::of_buffer::<Items>().stable_name(), "Buffer<game::Items>");
    let number = ComponentType::of::<Generic<Vec<u8>>>();
    assert_eq!((number.name(), number.stable_name()), ("game::Generic<Vec<u8>>", number.name()));
    let entity = ComponentType::of::<Generic<Option<Entity>>>();
    assert_eq!(entity.stable_name(), "game::Generic<Option<Entity>>");
    world();
}

#[test]
fn two_types_of_a_world_with_one_stable_name_have_no_state_hash() {
    let mut world = World::new("Simulation");
    world.spawn((here::Tag, A(1)));
    let (before, alone) = (world.state_hash(), world.query::<&here::Tag>().count());
    let other = world.spawn(there::Tag);
    let message = panic_message(|| world.state_hash());
    assert_eq!(
        message,
        "A0154: the world has components of the types `entities::components::types::here::Tag` and \
         `entities::components::types::there::Tag`, which share the stable name `Tag`, so a state hash cannot tell them apart; \
         give one of them another name, with `#[component(name = \"…\")]`"
    );
    // All other operations work with them.
    world.add(other, here::Tag).unwrap();
    let again = world.spawn((here::Tag, there::Tag));
    let reversed = world.spawn((there::Tag, here::Tag));
    let archetype = |entity| world.entity_archetype(entity).unwrap();
    assert_eq!([other, again].map(archetype), [archetype(reversed); 2]);
    assert_eq!(world.query::<&here::Tag>().count(), alone + 3);
    world.batch(&[other, again, reversed]).despawn().unwrap();
    world.check_invariants().unwrap();
    assert_ne!(world.state_hash(), before, "ids are used up");
}

#[test]
fn the_state_hash_distinguishes_tags() {
    #[derive(Component)]
    struct Calm;

    #[derive(Component)]
    struct Angry;

    let (mut left, mut right) = (world(), world());
    left.spawn(Calm);
    right.spawn(Angry);
    assert_ne!(left.state_hash(), right.state_hash());
}
