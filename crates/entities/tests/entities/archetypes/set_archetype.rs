//! Moving an entity to any archetype.

use std::sync::Arc;

use ancho_entities::{Component, ComponentType, EntityError};

use crate::common::{A, B, Given, Hundred, Tag, Text, both};

#[test]
fn common_components_are_kept_and_the_rest_dropped_or_created() {
    for mut world in both() {
        let entity = world.spawn((A(1), Text("kept".into()), B(2)));
        let target = world.archetype::<(Text, Hundred, Tag, A)>();
        world.set_archetype(entity, target).unwrap();
        assert_eq!(world.entity_archetype(entity), Ok(target));
        assert_eq!(world.get(entity), Ok(&A(1)));
        assert_eq!(world.get(entity), Ok(&Text("kept".into())));
        assert_eq!(world.get(entity), Ok(&Hundred(100)));
        assert!(world.has::<Tag>(entity) && !world.has::<B>(entity));
        let before = world.state_hash();
        world.set_archetype(entity, target).unwrap();
        assert_eq!(world.state_hash(), before);
        let nothing = world.archetype::<()>();
        world.set_archetype(entity, nothing).unwrap();
        assert!(world.exists(entity) && !world.has::<A>(entity));
    }
}

#[test]
fn dropped_components_are_dropped_once() {
    #[derive(Component)]
    struct Counted(#[field(opaque)] Arc<()>);

    for mut world in both() {
        let value = Arc::new(());
        let entity = world.spawn((A(1), Counted(value.clone())));
        let same = world.archetype::<(Counted, Tag)>();
        world.set_archetype(entity, same).unwrap();
        assert_eq!(Arc::strong_count(&value), 2);
        assert_eq!(Arc::strong_count(&world.get::<Counted>(entity).unwrap().0), 2);
        let without = world.archetype::<Tag>();
        world.set_archetype(entity, without).unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

#[test]
fn archetypes_with_components_without_a_default_are_refused() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let kept = world.spawn((A(1), Given(3)));
        let target = world.archetype::<(Given, B)>();
        let before = world.state_hash();
        let component = ComponentType::of::<Given>();
        let refused = EntityError::NoInitialValue { component };
        assert_eq!(world.set_archetype(entity, target), Err(refused));
        assert_eq!(world.state_hash(), before);
        // An existing value is kept, so none has to be created.
        world.set_archetype(kept, target).unwrap();
        assert_eq!(world.get(kept), Ok(&Given(3)));
    }
}
