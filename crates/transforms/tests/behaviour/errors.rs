//! `Debug` of errors is their message, so that `unwrap` shows it.

use ancho_entities::{Entity, EntityError, World};
use ancho_transforms::{Parent, TransformError, update_transforms};
use glam::Mat4;

#[test]
fn unwrap_shows_the_message_of_each_error() {
    let mut world = World::new("test");
    let (one, two) = (world.spawn(()), world.spawn(()));
    for error in [
        TransformError::Cycle { entities: vec![one, two], undone: Some(one) },
        TransformError::NotFinite { entity: one, count: 2 },
        TransformError::NotPlaced { entity: one, ancestor: two },
        TransformError::NotUniform { matrix: Mat4::ZERO },
        TransformError::NoInverse { scale: 0.0 },
        TransformError::NothingToAttach { parent: one, child: two, missing: two },
        TransformError::NotInParent { child: one, parent: two },
        TransformError::Entities(EntityError::NoSuchEntity {
            entity: Entity::NULL,
            slot_version: None,
        }),
    ] {
        let message = error.to_string();
        assert!(message.starts_with("A0"), "{message}");
        assert_eq!(format!("{error:?}"), message);
    }
    world.add(one, Parent(two)).unwrap();
    world.add(two, Parent(one)).unwrap();
    let errors = update_transforms(&mut world).unwrap_err();
    assert!(errors.to_string().starts_with("A0140: "), "{errors}");
    assert_eq!(format!("{errors:?}"), errors.to_string());
}
