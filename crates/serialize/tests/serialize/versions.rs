//! Types that have changed since a world was saved.

use ancho_entities::{Component, Entity, Field, World};
use ancho_serialize::{LoadOptions, SerializeErrorKind, UnknownTypes, load};

use crate::common::{Position, repair, saved, small_world};

mod old {
    use super::*;

    #[derive(Component, Clone, Copy)]
    #[component(name = "versions::old::Ship")]
    pub(super) struct Ship {
        pub(super) speed: f32,
        pub(super) removed: u64,
        pub(super) owner: Entity,
        pub(super) fuel: u16,
        pub(super) state: State,
        pub(super) mass: i8,
    }

    #[derive(Field, Clone, Copy)]
    pub(super) enum State {
        Docked,
        Flying { height: u8 },
    }

    #[derive(Component, Clone, Copy)]
    #[component(name = "versions::old::Flat")]
    pub(super) struct Flat {
        pub(super) first: u32,
        pub(super) second: u8,
    }
}

mod new {
    use super::*;

    #[derive(Component, Clone, Debug, PartialEq)]
    #[component(name = "versions::new::Ship")]
    pub(super) struct Ship {
        pub(super) fuel: u64,
        pub(super) captain: Option<Entity>,
        #[field(alias = "speed")]
        pub(super) velocity: f64,
        pub(super) owner: Entity,
        pub(super) state: State,
        pub(super) mass: i8,
    }

    #[derive(Field, Clone, Copy, Debug, PartialEq)]
    pub(super) enum State {
        Broken,
        #[field(alias = "Flying")]
        Airborne {
            height: u32,
            since: f32,
        },
        Docked,
    }

    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(name = "versions::new::Flat")]
    pub(super) struct Flat {
        pub(super) second: i32,
        pub(super) added: u16,
        pub(super) first: u64,
    }

    impl Default for Flat {
        fn default() -> Self {
            Self { second: 0, added: 77, first: 0 }
        }
    }

    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(name = "versions::narrow::Flat")]
    pub(super) struct Narrow {
        pub(super) first: u8,
    }

    #[derive(Component, Clone, Debug, PartialEq)]
    #[component(name = "versions::text::Flat")]
    pub(super) struct Text(pub(super) String);
}

fn old_world() -> (World, Entity, Entity) {
    let mut world = World::new("Old");
    let owner = world.spawn(Position::default());
    let ship = |state| old::Ship { speed: 1.5, removed: 9, owner, fuel: 3, state, mass: -4 };
    let docked = world.spawn(ship(old::State::Docked));
    let flying = world.spawn(ship(old::State::Flying { height: 200 }));
    (world, docked, flying)
}

#[test]
fn fields_are_found_by_name_and_widened() {
    let (world, docked, flying) = old_world();
    let options = LoadOptions::new()
        .component::<new::Ship>()
        .rename("versions::old::Ship", "versions::new::Ship");
    let again = load(&saved(&world)[..], options).unwrap();
    let owner = world.get::<old::Ship>(docked).unwrap().owner;
    let ship = new::Ship {
        fuel: 3,
        captain: None,
        velocity: 1.5,
        owner,
        state: new::State::Docked,
        mass: -4,
    };
    assert_eq!(again.get(docked), Ok(&ship));
    let state = new::State::Airborne { height: 200, since: 0.0 };
    assert_eq!(again.get(flying), Ok(&new::Ship { state, ..ship }));
}

#[test]
fn added_fields_come_from_the_default_of_the_type() {
    let mut world = World::new("Old");
    let entity = world.spawn(old::Flat { first: 5, second: 6 });
    let options = LoadOptions::new()
        .component::<new::Flat>()
        .rename("versions::old::Flat", "versions::new::Flat");
    let again = load(&saved(&world)[..], options).unwrap();
    assert_eq!(again.get(entity), Ok(&new::Flat { second: 6, added: 77, first: 5 }));
}

#[test]
fn values_that_do_not_fit_are_errors_with_the_field() {
    let mut world = World::new("Old");
    world.spawn(old::Flat { first: 300, second: 6 });
    let options = LoadOptions::new()
        .component::<new::Narrow>()
        .rename("versions::old::Flat", "versions::narrow::Flat");
    let refused = load(&saved(&world)[..], options).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "A0264: chunk 0 of archetype 1: a value of `versions::narrow::Flat` cannot be read: first: U32(300) does not fit in `u8`"
    );
}

#[test]
fn migrations_convert_whole_values() {
    let mut world = World::new("Old");
    let entity = world.spawn(old::Flat { first: 5, second: 6 });
    let options = LoadOptions::new()
        .component::<new::Text>()
        .rename("versions::old::Flat", "versions::text::Flat")
        .migrate("versions::old::Flat", |old: old::Flat| {
            new::Text(format!("{}/{}", old.first, old.second))
        });
    let again = load(&saved(&world)[..], options).unwrap();
    assert_eq!(again.get(entity), Ok(&new::Text("5/6".into())));
}

/// Replaces a stable name in a file by one of the same length, and repairs the checksums.
pub(crate) fn with_other_name(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut bytes = bytes.to_vec();
    let at = bytes.windows(old.len()).position(|window| window == old.as_bytes()).unwrap();
    bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
    repair(&mut bytes);
    bytes
}

#[test]
fn unknown_types_are_listed_or_skipped_or_kept() {
    let mut world = World::new("Old");
    let entity = world.spawn((old::Flat { first: 5, second: 6 }, Position([1.0; 3])));
    world.spawn(old::Flat { first: 7, second: 8 });
    let bytes = with_other_name(&saved(&world), "versions::old::Flat", "versions::old::Gone");

    let refused = load(&bytes[..], LoadOptions::new()).unwrap_err();
    assert_eq!(refused.kind(), SerializeErrorKind::UnknownTypes);
    assert!(refused.to_string().contains("no component types `versions::old::Gone`;"), "{refused}");

    let skip = LoadOptions::new().unknown_types(UnknownTypes::Skip);
    let again = load(&bytes[..], skip).unwrap();
    assert_eq!(again.entity_count(), 2);
    assert_eq!(again.get(entity), Ok(&Position([1.0; 3])));

    let keep = || LoadOptions::new().unknown_types(UnknownTypes::Keep);
    let kept = load(&bytes[..], keep()).unwrap();
    assert_eq!(kept.entity_count(), 2);
    assert!(saved(&kept) == bytes, "kept types are written back unchanged");
    let back = with_other_name(&saved(&kept), "versions::old::Gone", "versions::old::Flat");
    assert_eq!(load(&back[..], LoadOptions::new()).unwrap().state_hash(), world.state_hash());
}

/// The file was written by the first version of the format, and loads for good. `ANCHO_WRITE_FILES=1` writes it again, which is only
/// right before the format is released.
#[test]
fn a_file_of_format_1_loads() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/format-1.ancho");
    if std::env::var_os("ANCHO_WRITE_FILES").is_some() {
        std::fs::write(path, saved(&small_world())).unwrap();
    }
    let world = ancho_serialize::load_file(path, crate::common::all_types()).unwrap();
    assert_eq!(world.state_hash(), small_world().state_hash());
    assert_eq!(world.name(), "Small");
}
