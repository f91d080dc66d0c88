#![expect(unsafe_code, reason = "ids are written to memory that is not initialised")]

use std::thread;

use super::*;

const PAGE: u32 = PAGE_SLOTS as u32;

fn at(chunk: u32, row: u32) -> Location {
    Location { chunk, row }
}

fn entity(index: u32, version: u32) -> Entity {
    Entity::from_parts(index, version)
}

/// Creates entities in the first rows of chunk 0.
fn allocate(table: &mut EntityTable, count: u32) -> Vec<Entity> {
    allocate_in(table, 0, 0, count)
}

/// Creates entities in contiguous rows of a chunk.
pub(super) fn allocate_in(
    table: &mut EntityTable,
    chunk: u32,
    first_row: u32,
    count: u32,
) -> Vec<Entity> {
    let upcoming = table.next_ids(count as usize, Vec::new());
    let mut ids = Vec::with_capacity(count as usize);
    table.allocate_rows(&mut ids.spare_capacity_mut()[..count as usize], chunk, first_row);
    // SAFETY: `allocate_rows` has written `count` ids.
    unsafe { ids.set_len(count as usize) };
    table.check().unwrap();
    assert!(ids.iter().enumerate().all(|(at, &id)| id == upcoming.get(at)));
    ids
}

fn future(table: &EntityTable) -> Vec<u64> {
    let mut told = Vec::new();
    table.hash_free(&mut |number| told.push(number));
    told
}

/// Returns the created and the destroyed entities.
fn diff(old: &EntityTable, new: &EntityTable) -> (Vec<Entity>, Vec<Entity>) {
    let (mut created, mut destroyed) = (Vec::new(), Vec::new());
    EntityTable::diff(old, new, &mut created, &mut destroyed);
    (created, destroyed)
}

#[test]
fn ids_are_handed_out_in_order_and_what_was_freed_last_first() {
    let mut table = EntityTable::new();
    let made: Vec<_> = (0..4).map(|row| table.allocate(at(7, row))).collect();
    assert_eq!(made, [0, 1, 2, 3].map(|index| entity(index, 1)));
    assert_eq!(table.locate(made[2]), Some(at(7, 2)));
    table.free(made[1]);
    table.free(made[3]);
    assert_eq!((table.locate(made[1]), table.living(), table.high_water), (None, 2, 4));
    table.check().unwrap();
    let made: Vec<_> = (0..3).map(|row| table.allocate(at(8, row))).collect();
    assert_eq!(made, [entity(3, 2), entity(1, 2), entity(4, 1)]);
    table.check().unwrap();
}

#[test]
fn only_living_entities_are_found() {
    let mut table = EntityTable::new();
    for stranger in [Entity::NULL, entity(0, 1), entity(u32::MAX, u32::MAX), entity(1 << 31, 1)] {
        assert_eq!(table.locate(stranger), None);
    }
    let made = allocate(&mut table, 2);
    table.free(made[0]);
    // A destroyed entity, a future one, two wrong versions, an unused index, a page that does not exist, and a placeholder.
    for (index, version) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 1), (PAGE, 1), (1 << 31, 1)] {
        assert_eq!(table.locate(entity(index, version)), None, "{index}v{version}");
    }
    assert_eq!(table.locate(made[1]), Some(at(0, 1)));
}

#[test]
fn entities_move() {
    let mut table = EntityTable::new();
    let made = allocate(&mut table, 3);
    table.relocate(made[1], at(5, 9));
    let found: Vec<_> = made.iter().map(|&entity| table.locate(entity).unwrap()).collect();
    assert_eq!(found, [at(0, 0), at(5, 9), at(0, 2)]);
}

#[test]
fn rows_are_made_as_one_by_one_from_the_chain_first_and_over_pages() {
    let mut bulk = EntityTable::new();
    let made = allocate(&mut bulk, 10);
    bulk.free_rows(&made[3..7]);
    let mut single = bulk.fork();
    let rows = 2 * PAGE + 100;
    let in_bulk = allocate_in(&mut bulk, 3, 50, rows);
    let one_by_one: Vec<_> = (0..rows).map(|row| single.allocate(at(3, 50 + row))).collect();
    assert_eq!(in_bulk, one_by_one);
    assert_eq!(in_bulk[..5], [(6, 2), (5, 2), (4, 2), (3, 2), (10, 1)].map(|(i, v)| entity(i, v)));
    for (row, &entity) in (50..).zip(&in_bulk) {
        assert_eq!(bulk.locate(entity), Some(at(3, row)));
    }
    assert_eq!(diff(&bulk, &single), (vec![], vec![]));
    assert_eq!(future(&bulk), future(&single));
    assert_eq!(bulk.high_water, 2 * PAGE + 106);
    // No entities, and fewer than the free list has.
    bulk.free_rows(&in_bulk[..4]);
    assert_eq!(allocate(&mut bulk, 0), []);
    assert_eq!(allocate(&mut bulk, 1), [entity(3, 3)]);
}

#[test]
fn rows_are_freed_as_one_by_one() {
    let mut bulk = EntityTable::new();
    let made = allocate(&mut bulk, PAGE + 20);
    let mut single = bulk.fork();
    let rows = &made[PAGE as usize - 10..];
    bulk.free_rows(rows);
    rows.iter().for_each(|&entity| single.free(entity));
    bulk.check().unwrap();
    assert_eq!(future(&bulk), future(&single));
    assert_eq!(bulk.allocate(at(0, 0)), entity(PAGE + 19, 2));
}

#[test]
fn a_page_begins_at_its_first_index() {
    let mut table = EntityTable::new();
    let made = allocate(&mut table, PAGE);
    assert_eq!(table.pages.len(), 1);
    assert_eq!(table.locate(entity(PAGE, 1)), None);
    assert_eq!(table.allocate(at(0, PAGE)), entity(PAGE, 1));
    assert_eq!(table.pages.len(), 2);
    table.check().unwrap();
    assert_eq!(table.locate(made[PAGE as usize - 1]), Some(at(0, PAGE - 1)));
}

#[test]
fn versions_go_around_and_leave_out_that_of_null() {
    let mut table = EntityTable::new();
    allocate(&mut table, 2);
    table.set_version(0, u32::MAX);
    table.set_version(1, u32::MAX);
    table.free(entity(0, u32::MAX));
    assert_eq!(table.allocate(at(0, 0)), entity(0, 1));
    table.set_version(0, u32::MAX);
    table.free_rows(&[entity(0, u32::MAX), entity(1, u32::MAX)]);
    assert_eq!(allocate(&mut table, 2), [entity(1, 1), entity(0, 1)]);
    // Clearing also skips the version of the null entity.
    table.set_version(1, u32::MAX);
    table.clear();
    assert_eq!(allocate(&mut table, 2), [entity(0, 2), entity(1, 1)]);
}

#[test]
fn after_clearing_ids_begin_at_zero_with_other_versions() {
    let mut table = EntityTable::new();
    let made = allocate(&mut table, PAGE + 3);
    table.free_rows(&[made[1], made[PAGE as usize]]);
    table.clear();
    table.check().unwrap();
    assert_eq!((table.living(), table.high_water), (0, 0));
    assert!(made.iter().all(|&entity| table.locate(entity).is_none()));
    // Indices whose entity was alive or destroyed have their second version. The last index was never used.
    let again = allocate(&mut table, PAGE + 4);
    let expected = (0..PAGE + 3).map(|index| entity(index, 2)).chain([entity(PAGE + 3, 1)]);
    assert!(again.iter().copied().eq(expected));
    assert!(made.iter().all(|&entity| table.locate(entity).is_none()));
    assert_eq!(table.pages.len(), 2);
}

#[test]
fn clearing_twice_lets_nobody_die_twice() {
    let mut table = EntityTable::new();
    allocate(&mut table, PAGE + 1);
    table.clear();
    table.clear();
    // Before the third call of `clear`, only the first index is used again.
    assert_eq!(allocate(&mut table, 1), [entity(0, 2)]);
    table.clear();
    let again = allocate(&mut table, PAGE + 1);
    assert_eq!(again[..2], [entity(0, 3), entity(1, 2)]);
    assert_eq!(again[PAGE as usize], entity(PAGE, 2));
    EntityTable::new().clear();
}

#[test]
fn a_cleared_table_has_the_same_future_as_one_without_living_entities() {
    let mut table = EntityTable::new();
    let made = allocate(&mut table, PAGE + 500);
    table.free_rows(&made[10..20]);
    table.clear();
    let told = future(&table);
    assert_eq!(told[..3], [0, 0, entity(0, 2).to_bits()]);
    assert_eq!(told.len(), 2 + made.len());
    // In the fork, the first slot is used for an entity that is destroyed again.
    let mut other = table.fork();
    let first = other.allocate(at(0, 0));
    assert_ne!(future(&other), told);
    other.free(first);
    other.set_version(0, 2);
    let told_others = future(&other);
    assert_eq!(told_others[..3], [1, 1, told[2]]);
    assert_eq!(told_others[3..], told[3..]);
    // Slots that were never used write nothing.
    assert_eq!(future(&EntityTable::new()), [0, 0]);
}

#[test]
fn a_fork_is_another_table_with_the_same_entities() {
    let mut table = EntityTable::new();
    let made = allocate(&mut table, PAGE + 5);
    let mut fork = table.fork();
    assert_eq!(diff(&table, &fork), (vec![], vec![]));
    // Both tables write to both pages.
    table.free(made[0]);
    table.relocate(made[PAGE as usize], at(1, 1));
    fork.relocate(made[0], at(2, 2));
    let new = fork.allocate(at(3, 3));
    table.check().unwrap();
    fork.check().unwrap();
    assert_eq!((table.locate(made[0]), fork.locate(made[0])), (None, Some(at(2, 2))));
    assert_eq!(table.locate(made[PAGE as usize]), Some(at(1, 1)));
    assert_eq!(fork.locate(made[PAGE as usize]), Some(at(0, PAGE)));
    assert_eq!(diff(&table, &fork), (vec![made[0], new], vec![]));
    drop(table);
    assert_eq!(fork.locate(made[1]), Some(at(0, 1)));
}

#[test]
fn only_the_pages_that_are_written_are_copied() {
    let memory = |table: &EntityTable| -> Vec<_> { table.pages.iter().map(Page::first).collect() };
    let mut table = EntityTable::new();
    let made = allocate(&mut table, 3 * PAGE);
    let before = memory(&table);
    let fork = table.fork();
    table.free(made[PAGE as usize]);
    let after = memory(&table);
    assert_eq!(memory(&fork), before);
    assert_eq!((after[0], after[2]), (before[0], before[2]));
    assert_ne!(after[1], before[1]);
    // A table that is the only owner again does not copy.
    drop(fork);
    table.free(made[0]);
    assert_eq!(memory(&table), after);
    table.check().unwrap();
}

#[test]
fn forks_of_cleared_tables_go_on_by_themselves() {
    let mut table = EntityTable::new();
    let made = allocate(&mut table, 10);
    let before = table.fork();
    table.clear();
    let mut fork = table.fork();
    assert_eq!(allocate(&mut table, 10), (0..10).map(|i| entity(i, 2)).collect::<Vec<_>>());
    assert_eq!(allocate(&mut fork, 3), (0..3).map(|i| entity(i, 2)).collect::<Vec<_>>());
    for table in [&before, &table, &fork] {
        table.check().unwrap();
    }
    assert!(made.iter().all(|&entity| before.locate(entity).is_some()));
    assert_eq!((before.living(), table.living(), fork.living()), (10, 10, 3));
}

#[test]
fn differences_are_told_by_rising_index() {
    let mut old = EntityTable::new();
    let made = allocate(&mut old, 6);
    let mut new = old.fork();
    new.free_rows(&[made[4], made[2], made[1]]);
    let again = new.allocate(at(0, 0));
    new.relocate(made[5], at(9, 9));
    let later = allocate(&mut new, 3 + PAGE);
    let (created, destroyed) = diff(&old, &new);
    assert_eq!(destroyed, [made[1], made[2], made[4]]);
    assert_eq!(again, entity(1, 2));
    assert!(created.is_sorted());
    assert_eq!(created.len(), 4 + PAGE as usize);
    assert!(later.iter().all(|entity| created.contains(entity)));
    assert_eq!(diff(&new, &old), (destroyed, created));
    // All entities are destroyed in a table that was cleared, whether or not it creates new ones.
    let mut cleared = old.fork();
    cleared.clear();
    assert_eq!(diff(&old, &cleared), (vec![], made.clone()));
    let first = cleared.allocate(at(0, 0));
    assert_eq!(diff(&old, &cleared), (vec![first], made.clone()));
    assert_eq!(diff(&EntityTable::new(), &old), (made, vec![]));
}

#[test]
fn forks_go_to_other_threads() {
    let mut table = EntityTable::new();
    let made = allocate(&mut table, 2 * PAGE);
    for round in 0..20 {
        let fork = table.fork();
        let (first, last) = (made[round], made[made.len() - 1 - round]);
        thread::scope(|scope| {
            let made = &made;
            scope.spawn(move || {
                let mut fork = fork;
                fork.free(last);
                assert!(fork.locate(first).is_some());
                fork.check().unwrap();
                assert_eq!(fork.living(), made.len() - round - 1);
            });
            // The fork may or may not be dropped already when this writes to the same pages.
            table.free(first);
            table.relocate(last, at(1, 1));
        });
        assert_eq!(table.locate(last), Some(at(1, 1)));
        table.check().unwrap();
    }
}

#[test]
#[should_panic = "a world has at most 2147483648 entities; despawn some, or use several worlds"]
fn there_are_so_many_indices_and_no_more() {
    let mut table = EntityTable::new();
    table.high_water = INDICES;
    table.known = INDICES;
    table.living = INDICES;
    table.allocate(at(0, 0));
}

#[test]
#[should_panic = "a world has at most 2147483648 entities"]
fn rows_that_are_too_many_are_refused_before_the_first() {
    let mut table = EntityTable::new();
    table.living = INDICES - 2;
    assert_eq!(table.room(), 2);
    table.allocate_rows(&mut [MaybeUninit::uninit(); 3], 0, 0);
}

#[test]
fn checks_find_what_is_wrong() {
    let wrong = |spoil: &dyn Fn(&mut EntityTable, &[Entity])| {
        let mut table = EntityTable::new();
        let made = allocate(&mut table, 6);
        table.free_rows(&[made[2], made[4]]);
        table.check().unwrap();
        spoil(&mut table, &made);
        table.check().unwrap_err()
    };
    assert_eq!(wrong(&|table, _| table.living += 1), "4 slots are alive, but 5 are counted");
    assert_eq!(wrong(&|table, _| table.high_water = 5), "3 slots are alive, but 4 are counted");
    assert_eq!(wrong(&|table, _| table.first_free.set(2)), "the chain leaves out 1 free indices");
    assert_eq!(
        wrong(&|table, _| table.first_free.set(1)),
        "the chain leads to index 1, which is alive"
    );
    assert_eq!(
        wrong(&|table, _| table.slot_mut(2).row = 4),
        "the chain is longer than there are free indices, or a circle"
    );
    assert_eq!(
        wrong(&|table, _| table.slot_mut(2).row = 77),
        "the chain leads to the fresh index 77"
    );
    assert_eq!(
        wrong(&|table, _| table.slot_mut(3).version = 0),
        "the slot of index 3 has the version of the null entity"
    );
    assert_eq!(wrong(&|table, _| table.known = 5), "6 indices are used, of 5");
    assert_eq!(wrong(&|table, _| table.pages.clear()), "there are 0 pages for 6 indices");
}
