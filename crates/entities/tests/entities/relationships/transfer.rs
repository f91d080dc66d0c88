//! Links of entities that move to another world.

use ancho_entities::{Buffer, DetachedLink, Entity};

use super::despawn::tree;
use super::{ChildOf, Children, Targets};
use crate::common::*;

#[test]
fn links_among_moved_entities_are_kept() {
    let (mut from, mut to) = (world(), world());
    to.spawn_many(A(1), 7).for_each(drop);
    let all = tree(&mut from, 2, 2);
    let map = to.move_entities_from(&mut from).unwrap();
    let new: Vec<_> = all.iter().map(|&old| map.get(old).unwrap()).collect();
    assert!(to.descendants::<ChildOf>(new[0]).unwrap().eq(new[1..].iter().copied()));
    assert!(map.detached().is_empty());
}

#[test]
fn links_to_entities_that_stay_end_on_both_sides() {
    let (mut from, mut to) = (world(), world());
    let all = tree(&mut from, 2, 2);
    let hunter = from.spawn(Targets { enemy: all[1] });
    let map = from.batch(&[all[1], all[2]]).move_to(&mut to).unwrap();
    assert_eq!(from.sources::<ChildOf>(all[0]), [all[4]]);
    assert!(!from.has::<Targets>(hunter) && !from.has::<ChildOf>(all[3]));
    let new = |at: usize| map.get(all[at]).unwrap();
    assert!(!to.has::<ChildOf>(new(1)));
    assert_eq!(to.sources::<ChildOf>(new(1)), [new(2)]);
    let mut links: Vec<_> = map.detached().iter().map(|link| (link.source, link.target)).collect();
    links.sort();
    let mut expected = [(all[1], all[0]), (all[3], all[1]), (hunter, all[1])];
    expected.sort();
    assert_eq!(links, expected);
    let DetachedLink { component, .. } = map.detached()[0];
    assert_eq!(component.name(), "game::ChildOf");
}

#[test]
fn a_linked_move_includes_descendants() {
    let (mut from, mut to) = (world(), world());
    let all = tree(&mut from, 2, 2);
    let map = from.batch(&[all[1]]).move_linked_to(&mut to).unwrap();
    assert_eq!(map.len(), 3);
    assert_eq!(to.sources::<ChildOf>(map.get(all[1]).unwrap()).len(), 2);
    assert_eq!(map.detached().len(), 1);
    let mut rest = world();
    assert_eq!(from.batch(ancho_entities::Linked(all[0])).move_to(&mut rest).unwrap().len(), 4);
    assert_eq!(from.entity_count(), 0);
}

#[test]
fn copies_lose_links_to_entities_that_were_not_copied() {
    let (mut from, mut to) = (world(), world());
    let all = tree(&mut from, 2, 2);
    let map = from.batch(&[all[1], all[2], all[5]]).copy_to(&mut to).unwrap();
    let new = |at: usize| map.get(all[at]).unwrap();
    assert!(!to.has::<ChildOf>(new(1)) && !to.has::<ChildOf>(new(5)));
    assert_eq!(to.sources::<ChildOf>(new(1)), [new(2)]);
    assert_eq!(map.detached().len(), 3);
    assert_eq!(from.sources::<ChildOf>(all[0]), [all[1], all[4]]);
    let whole = to.copy_entities_from(&from).unwrap();
    assert!(whole.detached().is_empty());
    assert!(to.descendants::<ChildOf>(whole.get(all[0]).unwrap()).unwrap().count() == 6);
}

#[test]
fn a_parent_that_moves_alone_has_no_children() {
    let (mut from, mut to) = (world(), world());
    let all = tree(&mut from, 3, 1);
    let map = from.batch(&[all[0]]).move_to(&mut to).unwrap();
    assert!(!to.has::<Buffer<Children>>(map.get(all[0]).unwrap()));
    assert!(all[1..].iter().all(|&child| !from.has::<ChildOf>(child)));
    assert_eq!(from.target::<ChildOf>(Entity::NULL), None);
}
