//! Byte slices of the wrong length, or for a type that is not plain bytes.

use ancho_entities::{Component, ComponentType, EntityError, FieldKind, RuntimeType};

use crate::common::{A, Link, Tag, Text, both};

/// Bytes other than 0 and 1 are no valid value.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::Switch")]
struct Switch(bool);

/// A struct with padding between its fields.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::Padded")]
struct Padded {
    small: u8,
    large: u32,
}

/// Its field has no shape.
#[derive(Component, Clone, Copy, Debug, Default)]
#[component(name = "game::Opaque")]
struct Opaque(#[field(opaque)] u32);

#[test]
fn bytes_have_to_be_as_many_as_the_component_takes() {
    for mut world in both() {
        let fuel = ComponentType::register(RuntimeType::new("game::Fuel", 4, 4)).unwrap();
        let entity = world.spawn(());
        for found in [0, 1, 3, 5, 8, 4096] {
            let refused = EntityError::WrongLength { component: fuel, expected: 4, found };
            let bytes = vec![1; found];
            let hash = world.state_hash();
            assert_eq!(world.add_bytes(entity, fuel, &bytes), Err(refused));
            assert_eq!(world.state_hash(), hash);
        }
        world.add_bytes(entity, fuel, &[9; 4]).unwrap();
        for found in [0, 3, 5] {
            let refused = EntityError::WrongLength { component: fuel, expected: 4, found };
            let bytes = vec![1; found];
            assert_eq!(world.set_bytes(entity, fuel, &bytes), Err(refused));
        }
        assert_eq!(world.get_bytes(entity, fuel), Ok(&[9; 4][..]));
        world.check_invariants().unwrap();
    }
}

#[test]
fn types_that_are_not_plain_bytes_are_not_accessed_as_bytes() {
    for mut world in both() {
        let set = (Text("mine".into()), Switch(true), Padded::default(), Opaque(3), Link::null());
        let entity = world.spawn(set);
        let types = [
            // Columns: type, readable as bytes, writable as bytes.
            (ComponentType::of::<Text>(), false, false),
            (ComponentType::of::<Switch>(), true, false),
            (ComponentType::of::<Padded>(), false, true),
            (ComponentType::of::<Opaque>(), false, false),
            (ComponentType::of::<Link>(), true, true),
        ];
        for (component, readable, writable) in types {
            let bytes = vec![0; component.size()];
            let read = world.get_bytes(entity, component).map(<[u8]>::len);
            let in_chunk = world.chunks().next().unwrap().bytes(component);
            assert_eq!(in_chunk.is_some(), readable, "{component}");
            match readable {
                true => assert_eq!(read, Ok(bytes.len())),
                false => assert_eq!(read, Err(EntityError::NotBytes { component, write: false })),
            }
            let refused = Err(EntityError::NotBytes { component, write: true });
            if !writable {
                assert_eq!(world.set_bytes(entity, component, &bytes), refused);
                let other = world.spawn(());
                let added = world.add_bytes(other, component, &bytes);
                assert_eq!(added, refused.map(|()| true));
                world.despawn(other).unwrap();
            } else {
                world.set_bytes(entity, component, &bytes).unwrap();
            }
        }
        assert_eq!(world.get(entity), Ok(&Text("mine".into())));
        assert_eq!(world.get(entity), Ok(&Switch(true)));
        world.check_invariants().unwrap();
    }
}

impl Link {
    fn null() -> Self {
        Self(ancho_entities::Entity::NULL)
    }
}

#[test]
fn typed_and_untyped_access_see_the_same_value() {
    for mut world in both() {
        let a = ComponentType::of::<A>();
        let entity = world.spawn(Tag);
        world.add_bytes(entity, a, &7_u32.to_ne_bytes()).unwrap();
        assert_eq!(world.get(entity), Ok(&A(7)));
        world.get_mut::<A>(entity).unwrap().0 = 8;
        assert_eq!(world.get_bytes(entity, a), Ok(&8_u32.to_ne_bytes()[..]));
        world.set_bytes(entity, a, &9_u32.to_ne_bytes()).unwrap();
        assert_eq!(world.take::<A>(entity), Ok(A(9)));
        world.check_invariants().unwrap();
    }
}

#[test]
fn fields_that_do_not_lie_in_their_type_are_refused() {
    let fields = [
        (FieldKind::U32, 1),
        (FieldKind::U32, 8),
        (FieldKind::Entity, 4),
        (FieldKind::U64, 8),
        (FieldKind::U8, usize::MAX),
    ];
    for (kind, offset) in fields {
        let ty = RuntimeType::new("game::fields", 8, 4).field("field", offset, kind);
        let refused = ComponentType::register(ty);
        // Misaligned, or out of range.
        let inside = offset.checked_add(4).is_some_and(|end| end <= 8);
        assert!(refused.is_err() || inside, "{kind:?} at {offset}");
        if let Err(refused) = refused {
            assert!(refused.to_string().starts_with("A0063: "), "{refused}");
        }
    }
    let overlap = RuntimeType::new("game::overlap", 8, 4).field("one", 0, FieldKind::U32).field(
        "other",
        2,
        FieldKind::U16,
    );
    assert!(ComponentType::register(overlap).is_err());
    assert_eq!(ComponentType::find("game::overlap"), None);
}

#[test]
fn a_runtime_type_cannot_pass_for_another() {
    ComponentType::of::<A>();
    let pun = RuntimeType::new("game::A", 4, 4);
    assert!(ComponentType::register(pun).is_err());
    ComponentType::register(RuntimeType::new("game::pun", 4, 4)).unwrap();
    assert!(ComponentType::register(RuntimeType::new("game::pun", 8, 4)).is_err());
    let with_field = RuntimeType::new("game::pun", 4, 4).field("x", 0, FieldKind::F32);
    assert!(ComponentType::register(with_field).is_err());
}
