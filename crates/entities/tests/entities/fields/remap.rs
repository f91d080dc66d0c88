//! Every entity in a value is found and replaced.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ancho_collections::{FixedList32, FixedString32};
use ancho_entities::{Entity, EntityRemap, Field};

fn entity(index: u32) -> Entity {
    Entity::from_parts(index, 1)
}

/// Returns the value with 100 added to the index of each entity, and the indices that were replaced.
fn shifted<T: Field>(mut value: T) -> (T, Vec<u32>) {
    let mut asked = Vec::new();
    let mut map = |entity: Entity| {
        asked.push(entity.index());
        Entity::from_parts(entity.index() + 100, entity.version())
    };
    value.remap(&mut EntityRemap::new(&mut map));
    (value, asked)
}

#[test]
fn null_stays_null() {
    assert_eq!(shifted(Entity::NULL), (Entity::NULL, vec![]));
    // Only index 0 with version 0 is null.
    let first = Entity::from_parts(0, 1);
    assert_eq!(shifted(first), (entity(100), vec![0]));
}

#[test]
fn entities_are_found_in_everything() {
    let (value, asked) = shifted((
        entity(1),
        [entity(2), Entity::NULL],
        Some((7_u8, entity(3))),
        Err::<u8, Entity>(entity(4)),
        Box::new([Box::new(entity(5))]),
        vec![(entity(6), String::from("six"))],
        vec![entity(7)].into_boxed_slice(),
        entity(8)..entity(9),
        FixedList32::from([entity(10)]),
    ));
    assert_eq!(asked, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(value.1, [entity(102), Entity::NULL]);
    assert_eq!((value.2, value.3), (Some((7, entity(103))), Err(entity(104))));
    assert_eq!((*value.4[0], value.5[0].0), (entity(105), entity(106)));
    assert_eq!((value.7, value.8[0]), (entity(108)..entity(109), entity(110)));
    assert_eq!(shifted(VecDeque::from([entity(1)])).0, [entity(101)]);
}

#[test]
fn sets_and_maps_are_sorted_again() {
    // Maps 1 to 3, 2 to 4, and 3 to 1.
    let rotate = |entity: Entity| Entity::from_parts((entity.index() + 1) % 4 + 1, 1);
    let mut set = BTreeSet::from([entity(1), entity(2), entity(3)]);
    set.remap(&mut EntityRemap::new(&mut { rotate }));
    assert_eq!(set.into_iter().collect::<Vec<_>>(), [entity(1), entity(3), entity(4)]);

    let mut map = BTreeMap::from([(entity(1), 'a'), (entity(3), 'b')]);
    map.remap(&mut EntityRemap::new(&mut { rotate }));
    assert_eq!(map.into_iter().collect::<Vec<_>>(), [(entity(1), 'b'), (entity(3), 'a')]);

    let (values, asked) = shifted(BTreeMap::from([(1, entity(1)), (2, entity(2))]));
    assert_eq!((asked, values[&2]), (vec![1, 2], entity(102)));
}

#[test]
fn keys_that_become_equal_become_one() {
    let mut map = BTreeMap::from([(entity(1), 'a'), (entity(3), 'b')]);
    map.remap(&mut EntityRemap::new(&mut |_| entity(5)));
    assert_eq!(map, BTreeMap::from([(entity(5), 'b')]));
}

#[test]
fn types_without_entities_say_so() {
    fn has_entities<T: Field>() -> bool {
        T::HAS_ENTITIES
    }

    assert!(has_entities::<Entity>() && has_entities::<(u8, [Entity; 1])>());
    assert!(has_entities::<Option<Entity>>() && has_entities::<FixedList32<Entity>>());
    assert!(!has_entities::<(u8, f32)>() && !has_entities::<[Entity; 0]>());
    assert!(!has_entities::<String>() && !has_entities::<FixedString32>());
    assert!(!has_entities::<Option<Result<u8, char>>>() && !has_entities::<FixedList32<u8>>());
    // The contents behind a pointer may be of any type.
    assert!(has_entities::<Vec<u8>>() && has_entities::<Box<u8>>());
}

#[cfg(feature = "derive")]
mod panics {
    use std::cell::Cell;
    use std::cmp::Ordering;
    use std::collections::{BTreeMap, BTreeSet};
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use ancho_entities::{Component, Entity, EntityRemap, Field, World};

    use super::entity;

    thread_local! {
        /// The number of comparisons that succeed; all later ones panic.
        static COMPARISONS: Cell<u32> = const { Cell::new(u32::MAX) };
    }

    /// An entity whose comparison panics.
    #[derive(Field, Clone, Debug, PartialEq, Eq)]
    struct Rival(Entity);

    impl Ord for Rival {
        fn cmp(&self, other: &Self) -> Ordering {
            match COMPARISONS.get() {
                0 => resume_unwind(Box::new("told to")),
                left => COMPARISONS.set(left - 1),
            }
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Rival {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    #[derive(Component, Clone, Debug, PartialEq)]
    struct Feud {
        rivals: BTreeSet<Rival>,
        grudges: BTreeMap<Rival, String>,
    }

    fn feud(offset: u32) -> Feud {
        let rivals = (1..9).map(|index| Rival(entity(index + offset)));
        let grudges = rivals.clone().map(|rival| (rival, "stolen apples".to_owned())).collect();
        Feud { rivals: rivals.collect(), grudges }
    }

    #[test]
    fn sets_and_maps_keep_their_values_if_their_order_panics() {
        let mut world = World::new("Simulation");
        let owner = world.spawn(feud(0));
        let mut completed = 0;
        for allowed in 0..200 {
            let before = world.get::<Feud>(owner).unwrap().clone();
            COMPARISONS.set(allowed);
            let result = catch_unwind(AssertUnwindSafe(|| {
                let shift = |entity: Entity| Entity::from_parts(entity.index() + 100, 1);
                world.remap_references(shift).unwrap();
            }));
            COMPARISONS.set(u32::MAX);
            let after = world.get::<Feud>(owner).unwrap();
            let shifted = feud(before.rivals.first().unwrap().0.index() + 99);
            assert!([&before.rivals, &shifted.rivals].contains(&&after.rivals), "{after:?}");
            // The map is remapped after the set.
            assert!([&before.grudges, &shifted.grudges].contains(&&after.grudges), "{after:?}");
            if result.is_ok() {
                assert_eq!(*after, shifted);
                completed += 1;
            }
            *world.get_mut::<Feud>(owner).unwrap() = feud(0);
        }
        assert!((1..200).contains(&completed), "some panicked, and some did not");
    }

    #[test]
    fn sets_and_maps_keep_their_values_if_the_function_that_replaces_entities_panics() {
        let mut value = feud(0);
        let mut calls = 0;
        let mut replace = |entity: Entity| {
            calls += 1;
            if calls == 5 {
                resume_unwind(Box::new("told to"));
            }
            entity
        };
        let mut map = EntityRemap::new(&mut replace);
        assert!(catch_unwind(AssertUnwindSafe(|| value.remap(&mut map))).is_err());
        assert_eq!(value, feud(0));
    }
}
