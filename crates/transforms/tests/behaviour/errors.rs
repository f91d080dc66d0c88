//! `Debug` of errors is their message, so that `unwrap` shows it.

use ancho_entities::{Entity, EntityError, World};
use ancho_transforms::{Attach, Parent, TransformError, update_transforms};
use glam::Mat4;

#[test]
fn unwrap_shows_the_message_of_each_error() {
    let mut world = World::new("test");
    let (one, two) = (world.spawn(()), world.spawn(()));
    for error in [
        TransformError::NotFinite { entity: one, count: 2 },
        TransformError::NotPlaced { entity: one, ancestor: two },
        TransformError::NotUniform { matrix: Mat4::ZERO },
        TransformError::NoInverse { scale: 0.0 },
        TransformError::NothingToAttach { parent: one, child: two, missing: two },
        TransformError::ChildOfPrefab { child: one, prefab: two },
        TransformError::NotInPrefab { child: one, root: two },
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
    world.spawn(Attach { parent: one, child: two });
    let errors = update_transforms(&mut world).unwrap_err();
    assert!(errors.to_string().starts_with("A0140: "), "{errors}");
    assert_eq!(format!("{errors:?}"), errors.to_string());
}
