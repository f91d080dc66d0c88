//! Jobs that follow links, and changes of links that wait for them.

use std::sync::mpsc::channel;

use ancho_entities::{Buffer, Child, Entity, Lookup, Parent, Query, World};

use crate::jobs::common::*;

/// Spawns a chain of parents. Returns its entities, the root first.
fn chain(world: &mut World, length: usize) -> Vec<Entity> {
    let mut all = vec![world.spawn(A(0))];
    for number in 1..length as u32 {
        let last = all[all.len() - 1];
        all.push(world.spawn((A(number), Parent(last))));
    }
    all
}

#[test]
fn jobs_follow_links_in_both_directions() {
    let mut world = world_with(3);
    let all = chain(&mut world, 20);
    let (root, leaf) = (all[0], all[19]);
    let (sender, found) = channel();
    let expected = all.clone();
    world.add_system(
        move |query: Query<&A>, parents: Lookup<&Parent>, children: Lookup<&Buffer<Child>>| {
            let sender = sender.clone();
            let job = query.job().with((parents.into_job(), children.into_job()));
            job.schedule(move |_, (parents, children)| {
                let above: Vec<_> = parents.ancestors(leaf).unwrap().collect();
                let below: Vec<_> = children.descendants(root).unwrap().collect();
                sender.send((above, below, parents.root_of(leaf).unwrap())).unwrap();
            });
        },
    );
    world.update(0.1);
    world.jobs().complete_everything();
    let (above, below, found_root) = found.try_iter().next().unwrap();
    assert!(above.iter().eq(expected[..19].iter().rev()));
    assert_eq!((below, found_root), (expected[1..].to_vec(), root));
}

#[test]
fn attaching_waits_for_jobs_that_read_the_children_of_the_parent() {
    let mut world = world_with(3);
    let all = chain(&mut world, 2);
    let newcomer = world.spawn(A(9));
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query::<&Buffer<Child>>().job());
    gate.await_job(&world);
    gate.after("attach", || world.add(newcomer, Parent(all[0])).unwrap());
    assert_eq!(world.children(all[0]), [all[1], newcomer]);
}
