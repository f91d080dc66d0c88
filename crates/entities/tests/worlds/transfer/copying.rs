//! Copying entities to another world.

use std::sync::Arc;

use ancho_entities::{Entity, EntityError, PerChunk, Prefab, QueryDescriptor};

use crate::common::*;

#[test]
fn copies_have_everything_and_the_source_stays() {
    for (from, to) in [(4, 4), (1, 3), (7, 2), (1000, 1000)] {
        let (mut source, mut destination) = (chunks_of(from), chunks_of(to));
        populate(&mut source, 15);
        populate(&mut destination, 2);
        let (there, here) = (portraits(&source), portraits(&destination));
        let hash = source.state_hash();
        let copied = destination.copy_entities_from(&source).unwrap();
        assert_eq!(source.state_hash(), hash);
        assert_eq!(copied.len(), there.len());
        for (old, portrait) in &there {
            let new = copied.get(*old).unwrap();
            let expected = portrait.clone().in_other_world(&copied);
            assert_eq!(Portrait::of(&destination, new), expected);
        }
        for (entity, portrait) in here {
            assert_eq!(Portrait::of(&destination, entity), portrait);
        }
        // A second copy has other ids.
        let again = destination.copy_entities_from(&source).unwrap();
        assert!(again.iter().zip(copied.iter()).all(|(one, other)| one.1 != other.1));
    }
}

#[test]
fn values_are_cloned_and_independent() {
    for (from, to) in [(5, 5), (5, 3)] {
        let owner = Arc::new(());
        let (mut source, mut destination) = (chunks_of(from), chunks_of(to));
        let all: Vec<_> =
            source.spawn_many((Text("old".into()), Owned(owner.clone())), 12).collect();
        let copied = destination.copy_entities_from(&source).unwrap();
        assert_eq!(Arc::strong_count(&owner), 25);
        let copy = copied.get(all[3]).unwrap();
        destination.get_mut::<Text>(copy).unwrap().0.push_str(" and new");
        assert_eq!(source.get::<Text>(all[3]).unwrap().0, "old");
        drop(source);
        assert_eq!(destination.get::<Text>(copy).unwrap().0, "old and new");
        drop(destination);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn prefabs_stay_prefabs() {
    let (mut source, mut destination) = (world(), world());
    let prefab = source.spawn((A(1), Prefab));
    let copied = destination.copy_entities_from(&source).unwrap();
    assert!(destination.has::<Prefab>(copied.get(prefab).unwrap()));
}

#[test]
fn slices_and_queries_are_copied() {
    let (mut source, mut destination) = (chunks_of(4), chunks_of(4));
    let all: Vec<_> = source.spawn_batch((0..10).map(|n| (A(n), Lamp(0)))).collect();
    source.add(all[5], Link(all[1])).unwrap();
    source.add(all[6], Link(all[2])).unwrap();
    let copied = source.batch(&[all[5], all[1], all[6], all[5]]).copy_to(&mut destination).unwrap();
    assert_eq!(copied.len(), 3);
    let link = |old: usize| destination.get::<Link>(copied.get(all[old]).unwrap()).unwrap().0;
    assert_eq!((link(5), link(6)), (copied.get(all[1]).unwrap(), Entity::NULL));
    source.set_component_enabled::<Lamp>(all[0], false).unwrap();
    let copied = QueryDescriptor::of::<&Lamp, ()>().copy_to(&source, &mut destination).unwrap();
    assert_eq!((copied.len(), copied.get(all[0])), (9, None));
    assert_eq!(destination.entity_count(), 12);
    let gone = Entity::from_parts(99, 1);
    let before = destination.state_hash();
    assert!(source.batch(&[all[0], gone]).copy_to(&mut destination).is_err());
    assert_eq!(destination.state_hash(), before);
}

#[test]
fn components_that_cannot_be_duplicated_are_reported() {
    let (mut source, mut destination) = (world(), world());
    populate(&mut source, 3);
    let ticket = source.spawn((A(1), Ticket(1)));
    let before = destination.state_hash();
    let refused = destination.copy_entities_from(&source).unwrap_err();
    assert!(
        matches!(refused, EntityError::NotDuplicable { component } if component.name() == "worlds::Ticket")
    );
    assert_eq!((destination.state_hash(), destination.entity_count()), (before, 0));
    // Entities without the component can be copied.
    let others: Vec<_> = source.iter_entities().filter(|&entity| entity != ticket).collect();
    assert_eq!(source.batch(&others).copy_to(&mut destination).unwrap().len(), others.len());
}

#[test]
fn values_of_chunks_are_copied_with_whole_chunks() {
    let (mut source, mut destination) = (chunks_of(2), chunks_of(2));
    let all: Vec<_> = source.spawn_many((A(0), PerChunk::<Focus>::new()), 4).collect();
    source.set_chunk_component(all[0], Focus(all[3])).unwrap();
    destination.spawn_many((), 5);
    let copied = destination.copy_entities_from(&source).unwrap();
    let at = |at: usize| copied.get(all[at]).unwrap();
    assert_eq!(destination.chunk_component::<Focus>(at(1)), Ok(&Focus(at(3))));
    assert_eq!(source.chunk_component::<Focus>(all[1]), Ok(&Focus(all[3])));
}

#[test]
fn copies_are_the_same_in_every_run() {
    let run = || {
        let (mut source, mut destination) = (chunks_of(3), chunks_of(5));
        populate(&mut destination, 3);
        populate(&mut source, 9);
        destination.copy_entities_from(&source).unwrap();
        QueryDescriptor::of::<&A, ()>().copy_to(&source, &mut destination).unwrap();
        destination.state_hash()
    };
    assert_eq!(run(), run());
}
