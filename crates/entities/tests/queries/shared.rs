//! Filters by shared values (Q8).

use ancho_entities::{Changed, EntityQuery, Shared};

use crate::common::*;

#[test]
fn q8_whole_chunks_by_value() {
    let mut world = world();
    let red: Vec<_> = world.spawn_many(5, (A(1), Shared::new(Team(1)))).collect();
    let blue: Vec<_> = world.spawn_many(6, (A(2), Shared::new(Team(2)))).collect();
    let tagged: Vec<_> = world.spawn_many(2, (A(3), Tag, Shared::new(Team(2)))).collect();
    world.spawn_many(7, A(4));
    let of = |team| world.query::<&A>().with_shared(Team(team));
    assert_eq!(of(1).to_entities(), red);
    assert_eq!(of(2).to_entities(), [blue.clone(), tagged].concat());
    // Nobody has these: the default, and one that was never there.
    assert!(of(0).is_empty() && of(9).is_empty());
    assert_eq!(of(2).count_unfiltered(), 20);
    assert!(of(2).matches(blue[0]) && !of(2).matches(red[0]));
    // A type that the world has not met.
    assert!(world.query::<&A>().with_shared(Mesh(1)).is_empty());
    assert!(!world.query::<&A>().with_shared(Mesh(1)).matches(red[0]));
    assert_eq!(world.query::<&A>().with_shared(Mesh(1)).get(red[0]), None);
}

#[test]
fn q8_all_values_are_needed() {
    let mut world = world();
    for team in 0..3 {
        for mesh in 0..3 {
            world.spawn((A(team * 10 + mesh), Shared::new(Team(team)), Shared::new(Mesh(mesh))));
        }
    }
    let query = world.query::<&A>().with_shared(Team(2)).with_shared(Mesh(1));
    assert_eq!(query.single(), Ok(&A(21)));
    assert!(query.with_shared(Team(1)).is_empty());
}

#[test]
fn q8_a_filter_stays_and_follows_the_entities() {
    let mut world = world();
    let entity = world.spawn((A(0), Shared::new(Team(1))));
    let query = EntityQuery::<&mut A>::new().with_shared(Team(7));
    assert!(query.read(&*world).is_empty());
    world.set_shared(entity, Team(7)).unwrap();
    query.write(&mut *world).for_each(|a| a.0 += 1);
    query.clone().write(&mut *world).for_each(|a| a.0 += 1);
    world.set_shared(entity, Team(1)).unwrap();
    query.write(&mut *world).for_each(|a| a.0 += 1);
    assert_eq!(world.get(entity), Ok(&A(2)));
}

#[test]
fn q8_q9_values_and_changes_are_both_needed() {
    let mut world = world();
    let red = world.spawn((A(1), Shared::new(Team(1))));
    let blue = world.spawn((A(2), Shared::new(Team(2))));
    let seen = world.entities().version();
    world.entities_mut().advance_version();
    world.get_mut::<A>(red).unwrap().0 = 5;
    let query =
        |team| world.query::<&A>().with_shared(Team(team)).filter::<Changed<A>>().since(seen);
    assert_eq!(query(1).to_entities(), [red]);
    assert!(query(2).is_empty() && !query(2).matches(blue));
}
