//! Shared values of many entities at once.

use ancho_entities::{ComponentType, EntityError, Shared, World};

use crate::common::{A, B, Text, both, chunk_entities, chunks_of, world};
use crate::shared::components::{Mesh, Team, chunk_of, order, references, team, teams};

#[test]
fn slices_are_set_all_or_none() {
    for mut world in both() {
        let all: Vec<_> = world.spawn_many((A(1), team(1)), 10).collect();
        let lacks = world.spawn(A(1));
        let before = world.state_hash();
        let component = ComponentType::of_shared::<Team>();
        let missing = EntityError::MissingComponent { entity: lacks, component };
        let slice = [&all[..], &[lacks]].concat();
        assert_eq!(world.batch(&slice).set_shared(Team(2)), Err(missing));
        assert_eq!((world.state_hash(), teams(&world)), (before, vec![0, 1]));
        assert_eq!(world.batch(&[]).set_shared(Team(9)), Ok(0));
        assert_eq!(teams(&world), [0, 1]);
    }
}

#[test]
fn runs_of_adjacent_rows_are_set_together() {
    for (first, last) in [(0, 1), (0, 9), (9, 10), (2, 5), (1, 9), (5, 10), (3, 4)] {
        let mut world = chunks_of(10);
        let all: Vec<_> =
            world.spawn_batch((0..10).map(|at| (A(at), Text(at.to_string()), team(1)))).collect();
        world.spawn_many((A(100), Text(String::new()), team(2)), 8);
        world.batch(&all[first..last]).set_shared(Team(2)).unwrap();
        for (at, &entity) in (0..).zip(&all) {
            let expected = if (first..last).contains(&(at as usize)) { 2 } else { 1 };
            assert_eq!(world.shared(entity), Ok(&Team(expected)), "{first} {last} {at}");
            assert_eq!(world.get(entity), Ok(&A(at)));
            assert_eq!(world.get(entity), Ok(&Text(at.to_string())));
        }
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_whole_chunk_is_set_in_place() {
    let mut world = chunks_of(10);
    let all: Vec<_> = world.spawn_many((A(1), team(1), Shared::new(Mesh(1))), 25).collect();
    let look = |world: &World| {
        let chunks = world.chunks();
        chunks.map(|chunk| chunk.sequence_number()).collect::<Vec<_>>()
    };
    let (before, places) = (look(&world), chunk_entities(&world));
    let (one, two) = (order(&world, 1), order(&world, 2));
    let version = world.advance_version();
    world.batch(&all[..20]).set_shared(Team(2)).unwrap();
    assert_eq!((look(&world), chunk_entities(&world)), (before, places));
    // For a filter by one value, all rows were removed or added.
    let moved = world.chunks().map(|chunk| chunk.order_version() == version);
    assert!(moved.eq([true, true, false]));
    assert_eq!((references(&world, 1), references(&world, 2)), (1, 2));
    assert_eq!(world.shared_reference_count(&Mesh(1)), 3);
    assert!(order(&world, 1) > one && order(&world, 2) > two, "chunks with them were touched");
    let ty = ComponentType::of_shared::<Team>();
    let written = |at| world.chunks().nth(at).unwrap().change_version_of(ty);
    assert_eq!(written(0), Some(version));
    assert_ne!(written(2), Some(version));
    // The last chunk has room, and keeps it.
    world.batch(&all[20..]).set_shared(Team(3)).unwrap();
    assert_eq!(references(&world, 1), 0);
    let new = world.spawn((A(1), team(3), Shared::new(Mesh(1))));
    assert_eq!(chunk_of(&world, new), chunk_of(&world, all[20]));
    // A chunk can join a value that already has chunks.
    let everybody = world.all_entities();
    world.batch(&everybody).set_shared(Team(2)).unwrap();
    assert_eq!((teams(&world), references(&world, 2)), (vec![0, 2], 3));
}

#[test]
fn entities_can_be_listed_twice_and_in_any_order() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_many((A(1), team(1)), 10).collect();
    let mut slice: Vec<_> = all.iter().rev().step_by(2).copied().collect();
    slice.extend_from_slice(&all[3..8]);
    slice.extend_from_slice(&slice.clone());
    world.batch(&slice).set_shared(Team(2)).unwrap();
    for entity in &all {
        let expected = if slice.contains(entity) { 2 } else { 1 };
        assert_eq!(world.shared(*entity), Ok(&Team(expected)));
    }
}

#[test]
fn slices_may_be_of_several_archetypes() {
    let mut world = world();
    let mut all: Vec<_> = world.spawn_many((A(1), team(1)), 5).collect();
    all.extend(world.spawn_many((B(1), team(2), Shared::new(Mesh(1))), 5));
    all.extend(world.spawn_many((B(1), team(2), Shared::new(Mesh(2))), 5));
    all.extend(world.spawn_many(team(3), 5));
    world.batch(&all[3..17]).set_shared(Team(3)).unwrap();
    for (at, &entity) in all.iter().enumerate() {
        let expected = [1, 3, 3, 3][at / 5 + usize::from(at == 3 || at == 4)];
        assert_eq!(world.shared(entity), Ok(&Team(expected)));
    }
    assert_eq!([5, 10].map(|at| world.shared::<Mesh>(all[at]).unwrap().0), [1, 2]);
}
