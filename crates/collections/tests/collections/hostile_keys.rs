//! Keys that panic when they are hashed: values may be lost, but none is in two places.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};

use ancho_collections::{Map, MultiMap};
use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};

/// A hasher with the same hash for all keys, so that removed keys leave tombstones in the table. It
/// panics after a number of calls.
#[derive(Clone)]
struct Tired(Arc<AtomicIsize>);

impl Tired {
    fn new() -> Self {
        Self(Arc::new(AtomicIsize::new(isize::MAX)))
    }
}

impl BuildHasher for Tired {
    type Hasher = Same;

    fn build_hasher(&self) -> Same {
        assert_ne!(self.0.fetch_sub(1, Relaxed), 0, "tired of hashing");
        Same
    }
}

#[derive(Default)]
struct Same;

impl Hasher for Same {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, _: &[u8]) {}
}

fn batch(index: usize) -> BatchInfo {
    BatchInfo { index, range: 0..0, thread: 0 }
}

/// Hashes `count` times, and then panics.
fn settle<C: ConcurrentWrite>(container: &mut C, tired: &Tired, count: isize) {
    tired.0.store(count, Relaxed);
    let settled = AssertUnwindSafe(|| container.settle(ContainerLabel::of::<u32>()));
    let payload = catch_unwind(settled).unwrap_err();
    tired.0.store(isize::MAX, Relaxed);
    assert!(payload.downcast_ref::<String>().unwrap().contains("tired of hashing"));
}

/// Two batches write. The first finds room for its keys. For the second one the table is rehashed
/// in place.
fn after_a_panic_at(count: isize) -> MultiMap<u32, Box<u32>, Tired> {
    let tired = Tired::new();
    let mut map = MultiMap::with_hasher(tired.clone());
    (0..440).for_each(|key| map.add(key, Box::new(key)));
    (40..440).for_each(|key| _ = map.remove(&key));
    (0..400).for_each(|n| map.add(n % 40, Box::new(1000 + n)));
    let mut first = map.writer(&batch(0));
    (0..8).for_each(|n| first.add(2000 + n / 2, Box::new(n)));
    drop(first);
    let mut second = map.writer(&batch(1));
    (0..60).for_each(|n| second.add(3000 + n, Box::new(n)));
    drop(second);
    settle(&mut map, &tired, count);
    map
}

fn assert_apart(map: &MultiMap<u32, Box<u32>, Tired>) {
    let mut places = BTreeSet::new();
    for (_, value) in map {
        assert!(places.insert(&raw const **value), "two keys have the value {value}");
    }
    for key in map.keys() {
        assert_eq!(map.values_for(key).count(), map.count_for_key(key));
    }
}

#[test]
fn values_whose_key_is_lost_replace_no_other_values() {
    for count in [0, 1, 5, 20, 43] {
        let mut map = after_a_panic_at(count);
        assert_apart(&map);
        // The places of removed values are reused, each once.
        (0..20).for_each(|key| _ = map.remove(&key));
        (0..500).for_each(|n| map.add(n % 7, Box::new(n)));
        assert_apart(&map);
        let mut lent: Vec<_> = map.values_for_mut(&3).collect();
        lent.iter_mut().for_each(|value| ***value += 1);
        let all = lent.iter().map(|value| &raw const ***value).collect::<BTreeSet<_>>();
        assert_eq!(all.len(), lent.len());
        map.set_capacity(5000).unwrap();
        map.set_capacity(map.len()).unwrap();
        assert_apart(&map);
    }
}

#[test]
fn a_map_whose_hasher_panics_can_be_used_afterwards() {
    for count in [0, 1, 5, 20, 43] {
        let tired = Tired::new();
        let mut map = Map::with_hasher(tired.clone());
        map.extend((0..448).map(|key: u32| (key, Box::new(key))));
        map.retain(|key, _| *key < 44);
        let mut lane = map.writer(&batch(0));
        (0..500).for_each(|n| lane.try_add(1000 + n, Box::new(n)));
        drop(lane);
        settle(&mut map, &tired, count);
        assert!(map.iter().all(|(key, value)| *key == **value || *key == **value + 1000));
        assert_eq!(map.iter().count(), map.len());
        assert!((0..44).all(|key| map.contains_key(&key)), "the hashes were taken before");
        (0..1000).for_each(|key| _ = map.insert(key, Box::new(key)));
        assert_eq!(map[&999], Box::new(999));
    }
}

/// A key that cannot be hashed while it is locked.
struct Locked(u32, Arc<AtomicBool>);

impl PartialEq for Locked {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Locked {}

impl Hash for Locked {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(!self.1.load(Relaxed), "the key is locked");
        self.0.hash(state);
    }
}

/// New keys take the places of removed ones, until the table has to be rehashed for them.
#[test]
fn a_key_whose_hash_panics_loses_no_others() {
    let lock = Arc::new(AtomicBool::new(false));
    let free = |key| Locked(key, Arc::default());
    let add_until_refused = |add: &mut dyn FnMut(Locked)| {
        lock.store(true, Relaxed);
        let refused = (1000..10_000).find(|key| {
            let key = free(*key);
            catch_unwind(AssertUnwindSafe(|| add(key))).is_err()
        });
        lock.store(false, Relaxed);
        refused.expect("the table was never tidied up")
    };

    for removed in [44, 200, 400] {
        let mut map = Map::with_hasher(BuildHasherDefault::<Same>::default());
        map.insert(Locked(0, Arc::clone(&lock)), 0);
        map.extend((1..448).map(|key| (free(key), key)));
        map.retain(|key, _| key.0 < removed);
        let refused = add_until_refused(&mut |key| _ = map.insert(key, 0));
        assert!((0..removed).chain(1000..refused).all(|key| map.contains_key(&free(key))));
        assert_eq!(map.len() as u32, removed + refused - 1000);

        let mut many = MultiMap::with_hasher(BuildHasherDefault::<Same>::default());
        many.add(Locked(0, Arc::clone(&lock)), 0);
        (1..448).for_each(|key| many.add(free(key), key));
        (removed..448).for_each(|key| _ = many.remove(&free(key)));
        let refused = add_until_refused(&mut |key| many.add(key, 0));
        assert!((0..removed).chain(1000..refused).all(|key| many.contains_key(&free(key))));
        assert_eq!(many.len() as u32, removed + refused - 1000);
        many.shrink_to_fit();
        assert!((0..removed).all(|key| many.values_for(&free(key)).eq([&key])));
    }
}
