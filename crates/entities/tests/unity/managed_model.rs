//! Managed components of several worlds, forks of one another, against plain maps (C8).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use ancho_entities::{Entity, Managed, ManagedComponent};

use crate::common::{A, Checked, Text, chunks_of};

#[derive(ManagedComponent, Clone, Debug)]
#[managed(name = "unity::Page")]
struct Page {
    text: String,
    /// Refers to its entity.
    here: Entity,
    #[field(opaque)]
    turned: Cell<u32>,
    #[field(opaque)]
    owner: Arc<()>,
}

/// The entities of a world, with what their pages say and how often they were turned.
type Plain = BTreeMap<Entity, Option<(String, u32)>>;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }
}

#[track_caller]
fn compare(world: &Checked, plain: &Plain) {
    assert_eq!(world.entity_count(), plain.len());
    for (&entity, expected) in plain {
        let page = world.managed::<Page>(entity).ok();
        let found = page.map(|page| (page.text.as_str(), page.turned.get()));
        let expected = expected.as_ref().map(|(text, turned)| (text.as_str(), *turned));
        assert_eq!(found, expected, "{entity}");
        assert!(page.is_none_or(|page| page.here == entity), "{entity}");
    }
    world.check_invariants().unwrap();
}

fn step(world: &mut Checked, plain: &mut Plain, owner: &Arc<()>, random: &mut Random) {
    let text = random.below(1000).to_string();
    let page = |here| {
        let (text, owner) = (text.clone(), Arc::clone(owner));
        Managed::new(Page { text, here, turned: Cell::new(0), owner })
    };
    let picked = plain.keys().nth(random.below(plain.len().max(1))).copied();
    let Some(entity) = picked.filter(|_| random.below(6) > 0) else {
        let new = world.spawn(A(1));
        world.add(new, page(new)).unwrap();
        plain.insert(new, Some((text, 0)));
        return;
    };
    match random.below(9) {
        0 => {
            world.despawn(entity).unwrap();
            plain.remove(&entity);
        }
        1 => {
            world.add(entity, page(entity)).unwrap();
            plain.insert(entity, Some((text, 0)));
        }
        2 => {
            world.remove::<Managed<Page>>(entity).unwrap();
            plain.insert(entity, None);
        }
        3 => {
            let taken = world.take::<Managed<Page>>(entity).ok();
            let taken = taken.map(Managed::into_inner).map(|page| (page.text, page.turned.get()));
            assert_eq!(taken, plain.insert(entity, None).flatten());
        }
        4 => {
            let instance = world.entities_mut().instantiate(entity).unwrap();
            plain.insert(instance, plain[&entity].clone());
        }
        5 => {
            // Moves it, or not.
            world.add(entity, Text(text)).unwrap();
        }
        6 => {
            world.remove::<Text>(entity).unwrap();
        }
        7 => {
            if let Ok(page) = world.managed_mut::<Page>(entity) {
                page.text.clone_from(&text);
                plain.get_mut(&entity).unwrap().as_mut().unwrap().0 = text;
            }
        }
        _ => {
            if let Ok(page) = world.managed::<Page>(entity) {
                page.turned.set(page.turned.get() + 1);
                plain.get_mut(&entity).unwrap().as_mut().unwrap().1 += 1;
            }
        }
    }
}

#[test]
fn worlds_and_their_forks_against_plain_maps() {
    let owner = Arc::new(());
    let mut random = Random(7);
    let mut worlds = vec![(chunks_of(3), Plain::new())];
    for _ in 0..4000 {
        let at = random.below(worlds.len());
        let count = worlds.len();
        let (world, plain) = &mut worlds[at];
        match random.below(60) {
            0 if plain.len() > 2 => {
                let fork = (world.fork(), plain.clone());
                worlds.push(fork);
            }
            1 => {
                let copy = (world.duplicate(), plain.clone());
                worlds.push(copy);
            }
            2 if count > 4 => drop(worlds.swap_remove(at)),
            _ => {
                step(world, plain, &owner, &mut random);
                compare(world, plain);
            }
        }
        let pages = worlds.iter().flat_map(|(_, plain)| plain.values().flatten()).count();
        assert_eq!(Arc::strong_count(&owner), pages + 1);
    }
    worlds.iter().for_each(|(world, plain)| compare(world, plain));
    assert!(worlds.iter().any(|(_, plain)| plain.len() > 20), "the worlds grew");
    drop(worlds);
    assert_eq!(Arc::strong_count(&owner), 1);
}
