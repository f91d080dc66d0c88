//! All operations at once, checked after each step.

use ancho_entities::{ComponentType, Entity};

use crate::common::{A, B, C, Checked, Tag, Text, both, chunks_of, ignore};

/// Pseudorandom numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn step(world: &mut Checked, numbers: &mut Numbers, known: &mut Vec<Entity>) {
    let any = |numbers: &mut Numbers, known: &[Entity]| match known.len() {
        0 => Entity::NULL,
        count => known[numbers.below(count)],
    };
    let number = numbers.below(1000) as u32;
    match numbers.below(16) {
        0 => known.push(world.spawn(())),
        1 => known.push(world.spawn((A(number), Text(number.to_string())))),
        2 => known.extend(world.spawn_many((B(number), Tag), numbers.below(9))),
        3 => known.extend(world.spawn_batch((0..number % 9).map(|n| (A(n), B(n))))),
        4 => ignore(world.despawn(any(numbers, known))),
        5 => {
            let from = numbers.below(known.len() + 1);
            let to = (from + numbers.below(6)).min(known.len());
            ignore(world.batch(&known[from..to]).despawn());
        }
        6 => ignore(world.add(any(numbers, known), C(number.into()))),
        7 => ignore(world.add(any(numbers, known), (Text(number.to_string()), Tag))),
        8 => ignore(world.remove::<(A, Tag)>(any(numbers, known))),
        9 => ignore(world.take::<Text>(any(numbers, known))),
        10 => ignore(world.set(any(numbers, known), B(number))),
        11 => {
            let types = [ComponentType::of::<A>(), ComponentType::of::<Text>()];
            ignore(world.add_types(any(numbers, known), &types));
        }
        12 => {
            let archetype = world.archetype::<(Text, C)>();
            ignore(world.set_archetype(any(numbers, known), archetype));
        }
        13 => {
            let (one, other) = (any(numbers, known), any(numbers, known));
            ignore(world.swap_components(one, other));
        }
        14 => ignore(world.set_name(any(numbers, known), "named")),
        _ if number < 30 => ignore(world.despawn_all()),
        _ => ignore(world.advance_version()),
    }
}

#[test]
fn invariants_hold_after_every_step() {
    for (seed, mut world) in (1..).zip(both().into_iter().chain([chunks_of(3)])) {
        let (mut numbers, mut known) = (Numbers(seed), Vec::new());
        for number in 0..1500 {
            step(&mut world, &mut numbers, &mut known);
            if let Err(violation) = world.check_invariants() {
                panic!("after step {number} with seed {seed}: {violation}");
            }
            assert_eq!(world.all_entities().len(), world.entity_count());
        }
    }
}

#[test]
fn invariants_hold_in_forks() {
    let (mut numbers, mut known) = (Numbers(99), Vec::new());
    let mut worlds = vec![chunks_of(4)];
    for _ in 0..600 {
        let chosen = numbers.below(worlds.len());
        let hashes: Vec<_> = worlds.iter().map(|world| world.state_hash()).collect();
        step(&mut worlds[chosen], &mut numbers, &mut known);
        for (index, world) in worlds.iter().enumerate() {
            world.check_invariants().unwrap();
            // Changes in one world are invisible in the others.
            assert!(index == chosen || world.state_hash() == hashes[index]);
        }
        match numbers.below(20) {
            0 if worlds.len() < 5 => {
                let fork = worlds[chosen].fork();
                assert_eq!(fork.state_hash(), worlds[chosen].state_hash());
                worlds.push(fork);
            }
            1 if worlds.len() > 1 => drop(worlds.swap_remove(chosen)),
            _ => {}
        }
    }
}
