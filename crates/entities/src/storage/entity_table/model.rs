//! Random calls on tables and their forks, compared with plain lists.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::tests::allocate_in;
use super::*;

/// A simple model of an entity table.
#[derive(Clone, Default)]
struct Model {
    /// The version of each index that was ever used.
    versions: Vec<u32>,
    living: BTreeMap<u32, Location>,
    /// The free indices. The last one is used next.
    free: Vec<u32>,
    high_water: u32,
}

impl Model {
    fn allocate(&mut self, location: Location) -> Entity {
        let index = self.free.pop().unwrap_or_else(|| {
            self.high_water += 1;
            self.high_water - 1
        });
        if self.versions.len() <= index as usize {
            self.versions.push(1);
        }
        self.living.insert(index, location);
        Entity::from_parts(index, self.versions[index as usize])
    }

    fn reserve(&mut self) -> Entity {
        let id = self.allocate(Location { chunk: 0, row: 0 });
        self.living.remove(&id.index());
        id
    }

    /// Puts reserved ids on the free list, so that the next entities get them in this order.
    fn hand_out(&mut self, ids: &[Entity]) {
        self.free.extend(ids.iter().rev().map(|id| id.index()));
    }

    fn die(&mut self, index: u32) {
        self.living.remove(&index).unwrap();
        let version = &mut self.versions[index as usize];
        *version = version.checked_add(1).unwrap_or(1);
    }

    fn free(&mut self, index: u32) {
        self.die(index);
        self.free.push(index);
    }

    fn clear(&mut self) {
        let living: Vec<_> = self.living.keys().copied().collect();
        living.into_iter().for_each(|index| self.die(index));
        self.free.clear();
        self.high_water = 0;
    }

    fn entity(&self, index: u32) -> Entity {
        Entity::from_parts(index, self.versions[index as usize])
    }

    fn entities(&self) -> Vec<Entity> {
        self.living.keys().map(|&index| self.entity(index)).collect()
    }

    fn future(&self) -> Vec<u64> {
        let fresh = (self.high_water..self.versions.len() as u32)
            .map(|index| self.entity(index))
            .filter(|entity| entity.version() != 1);
        let free = self.free.iter().rev().map(|&index| self.entity(index));
        [u64::from(self.high_water), self.free.len() as u64]
            .into_iter()
            .chain(free.chain(fresh).map(Entity::to_bits))
            .collect()
    }
}

/// A table and its model.
struct Pair {
    table: EntityTable,
    model: Model,
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Allocate(u32),
    AllocateRows(u32, u32),
    /// Reserves ids, creates other entities, and then creates the entities with the second half of the reserved ids, and with the
    /// first half.
    Promise(u32, u32),
    Relocate(usize, u32),
    Free(usize),
    /// Frees entities: the position of the first one, their number, and the distance between them.
    FreeRows(usize, usize, usize),
    /// Gives a living entity one of the last versions before the wrap-around.
    Age(usize),
    Clear,
    /// Continues with a fork of the table, and keeps the table.
    Fork,
    /// Continues with a kept table.
    Switch(usize),
    /// Drops a kept table.
    Forget(usize),
    /// Compares the table with a kept table.
    Diff(usize),
}

fn any_call() -> impl Strategy<Value = Call> {
    let which = any::<usize>();
    prop_oneof![
        6 => (0..9_u32).prop_map(Call::Allocate),
        4 => (0..3000_u32, 0..9_u32).prop_map(|(rows, chunk)| Call::AllocateRows(rows, chunk)),
        4 => (0..6000_u32, prop_oneof![Just(0), 0..50_u32])
            .prop_map(|(promised, meanwhile)| Call::Promise(promised, meanwhile)),
        4 => (which, 0..9_u32).prop_map(|(which, chunk)| Call::Relocate(which, chunk)),
        6 => which.prop_map(Call::Free),
        4 => (which, 0..2000_usize, 1..700_usize)
            .prop_map(|(first, rows, step)| Call::FreeRows(first, rows, step)),
        2 => which.prop_map(Call::Age),
        2 => Just(Call::Clear),
        3 => Just(Call::Fork),
        3 => which.prop_map(Call::Switch),
        1 => which.prop_map(Call::Forget),
        2 => which.prop_map(Call::Diff),
    ]
}

/// Returns one of the living entities, if there are any.
fn pick(model: &Model, which: usize) -> Option<Entity> {
    let which = which.checked_rem(model.living.len())?;
    model.living.keys().nth(which).map(|&index| model.entity(index))
}

fn allocate_rows(pair: &mut Pair, rows: u32, chunk: u32) {
    let ids = allocate_in(&mut pair.table, chunk, 7, rows);
    for (id, row) in ids.into_iter().zip(7..) {
        assert_eq!(id, pair.model.allocate(Location { chunk, row }));
    }
}

fn promise(pair: &mut Pair, promised: u32, meanwhile: u32) {
    let mut ids = Vec::new();
    pair.table.reserve_many(promised as usize, &mut ids);
    let expected: Vec<_> = (0..promised).map(|_| pair.model.reserve()).collect();
    assert_eq!(ids, expected);
    allocate_rows(pair, meanwhile, 1);
    let (early, late) = ids.split_at(ids.len() / 2);
    for part in [late, early] {
        assert_eq!(pair.table.release_reserved(part), Ok(()));
        pair.model.hand_out(part);
        if let Some(&first) = part.first() {
            let again = pair.table.release_reserved(&[first]);
            assert_eq!(again, Err(first), "it is set aside no more");
        }
        // Three more entities are created than ids were released.
        allocate_rows(pair, part.len() as u32 + 3, 2);
    }
}

fn free_rows(pair: &mut Pair, first: usize, rows: usize, step: usize) {
    let entities = pair.model.entities();
    let Some(first) = first.checked_rem(entities.len()) else { return };
    // A step that is coprime to the length visits each entity at most once.
    let step = (step..).find(|&step| greatest_divisor(step, entities.len()) == 1).unwrap_or(1);
    let freed: Vec<_> = (0..rows.min(entities.len()))
        .map(|row| entities[(first + row * step) % entities.len()])
        .collect();
    pair.table.free_rows(&freed);
    freed.iter().for_each(|entity| pair.model.free(entity.index()));
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

fn compare(old: &Pair, new: &Pair) {
    let (mut created, mut destroyed) = (Vec::new(), Vec::new());
    EntityTable::diff(&old.table, &new.table, &mut created, &mut destroyed);
    let (before, after) = (old.model.entities(), new.model.entities());
    let missing = |from: &[Entity], other: &[Entity]| -> Vec<_> {
        from.iter().copied().filter(|entity| other.binary_search(entity).is_err()).collect()
    };
    assert_eq!(created, missing(&after, &before));
    assert_eq!(destroyed, missing(&before, &after));
}

fn check(pair: &Pair) {
    let Pair { table, model } = pair;
    table.check().unwrap();
    assert_eq!(table.living(), model.living.len());
    assert_eq!(table.high_water, model.high_water);
    let mut future = Vec::new();
    table.hash_free(&mut |number| future.push(number));
    assert_eq!(future, model.future());
    for index in 0..model.versions.len() as u32 {
        let entity = model.entity(index);
        assert_eq!(table.locate(entity), model.living.get(&index).copied(), "{entity}");
        let earlier = Entity::from_parts(index, entity.version().wrapping_sub(1));
        assert_eq!(table.locate(earlier), None, "{earlier}");
    }
}

fn run(calls: &[Call]) {
    let mut pair = Pair { table: EntityTable::new(), model: Model::default() };
    let mut kept: Vec<Pair> = Vec::new();
    for &call in calls {
        let picked = |which: usize| which.checked_rem(kept.len());
        match call {
            Call::Allocate(chunk) => {
                let location = Location { chunk, row: 3 };
                assert_eq!(pair.table.allocate(location), pair.model.allocate(location));
            }
            Call::AllocateRows(rows, chunk) => allocate_rows(&mut pair, rows, chunk),
            Call::Promise(promised, meanwhile) => promise(&mut pair, promised, meanwhile),
            Call::Relocate(which, chunk) => {
                if let Some(entity) = pick(&pair.model, which) {
                    let location = Location { chunk, row: 5 };
                    pair.table.relocate(entity, location);
                    pair.model.living.insert(entity.index(), location);
                }
            }
            Call::Free(which) => {
                if let Some(entity) = pick(&pair.model, which) {
                    pair.table.free(entity);
                    pair.model.free(entity.index());
                }
            }
            Call::FreeRows(first, rows, step) => free_rows(&mut pair, first, rows, step),
            Call::Age(which) => {
                if let Some(entity) = pick(&pair.model, which) {
                    let version = u32::MAX - which as u32 % 2;
                    pair.table.set_version(entity.index(), version);
                    pair.model.versions[entity.index() as usize] = version;
                }
            }
            Call::Clear => {
                pair.table.clear();
                pair.model.clear();
            }
            Call::Fork => {
                let fork = Pair { table: pair.table.fork(), model: pair.model.clone() };
                kept.push(std::mem::replace(&mut pair, fork));
                kept.truncate(4);
            }
            Call::Switch(which) => {
                if let Some(which) = picked(which) {
                    std::mem::swap(&mut pair, &mut kept[which]);
                }
            }
            Call::Forget(which) => {
                if let Some(which) = picked(which) {
                    kept.swap_remove(which);
                }
            }
            Call::Diff(which) => {
                if let Some(which) = picked(which) {
                    compare(&kept[which], &pair);
                    compare(&pair, &kept[which]);
                }
            }
        }
        check(&pair);
    }
    // Kept tables are not changed by writes to their forks.
    kept.iter().for_each(check);
}

/// The configuration with the number of scripts to run, which take a second or two. `PROPTEST_CASES` overrides it.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() {
        config
    } else {
        ProptestConfig { cases: 32, ..config }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn tables_are_what_plain_lists_are(calls in prop::collection::vec(any_call(), 1..40)) {
        run(&calls);
    }
}
