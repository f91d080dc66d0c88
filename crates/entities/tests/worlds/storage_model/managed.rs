//! Managed components: values in boxes, used by one thread at a time.

use std::cell::Cell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use ancho_entities::{ArchetypeChunk, Entity, Managed, ManagedComponent, World};

use crate::storage_model::components::{Live, MEMO, PAGE, Small, list_of, number_of};
use crate::storage_model::plain::Row;
use crate::storage_model::script::{Run, Step};
use crate::storage_model::sets::{Part, Set};

/// An enableable value that refers to an entity, and changes behind a shared reference.
#[derive(ManagedComponent, Clone, Default)]
#[managed(enableable)]
pub(crate) struct Page {
    text: String,
    here: Entity,
    #[field(opaque)]
    turned: Cell<u32>,
    #[field(opaque)]
    _counted: Counted,
}

/// The number of live pages.
pub(crate) static PAGES: AtomicUsize = AtomicUsize::new(0);

/// A counter of pages.
struct Counted;

impl Counted {
    fn new() -> Self {
        PAGES.fetch_add(1, Relaxed);
        Self
    }
}

impl Default for Counted {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        PAGES.fetch_sub(1, Relaxed);
    }
}

/// A value that stays when its entity is despawned.
#[derive(ManagedComponent, Clone, Default)]
#[managed(cleanup)]
pub(crate) struct Memo(#[field(opaque)] Cell<u32>, #[field(opaque)] Live);

/// A managed component that is made from a number, and read back as a number and a list.
pub(crate) trait ManagedKind: ManagedComponent {
    const KIND: usize;

    fn make(number: u64, list: &[u64]) -> Self;

    fn number(&self) -> u64;

    fn list(&self) -> Vec<u64>;
}

impl ManagedKind for Page {
    const KIND: usize = PAGE;

    fn make(number: u64, list: &[u64]) -> Self {
        Self {
            text: if number == 0 { String::new() } else { number.to_string() },
            here: Entity::from_bits(list[0]),
            turned: Cell::new(list[1] as u32),
            _counted: Counted::new(),
        }
    }

    fn number(&self) -> u64 {
        if self.text.is_empty() { 0 } else { self.text.parse().unwrap() }
    }

    fn list(&self) -> Vec<u64> {
        vec![self.here.to_bits(), self.turned.get().into()]
    }
}

impl ManagedKind for Memo {
    const KIND: usize = MEMO;

    fn make(number: u64, _: &[u64]) -> Self {
        Self(Cell::new(number as u32), Live::new())
    }

    fn number(&self) -> u64 {
        self.0.get().into()
    }

    fn list(&self) -> Vec<u64> {
        Vec::new()
    }
}

impl<T: ManagedKind> Set for Managed<T> {
    fn kinds(into: &mut Vec<usize>) {
        into.push(T::KIND);
    }

    fn make(number: u64) -> Self {
        let number = number_of(T::KIND, number);
        Self::new(T::make(number, &list_of(T::KIND, number)))
    }

    fn read(self, into: &mut Vec<Part>) {
        let value = self.into_inner();
        into.push((T::KIND, value.number(), value.list()));
    }
}

/// Checks that an entity has the managed components of a row.
pub(crate) fn compare_managed(world: &World, entity: Entity, row: &Row) {
    compare::<Page>(world.managed(entity).ok(), row);
    compare::<Memo>(world.managed(entity).ok(), row);
}

/// Checks that the entities of a chunk have the managed components of their rows.
pub(crate) fn compare_managed_column(chunk: &ArchetypeChunk<'_>, rows: &[&Row]) {
    compare_column::<Page>(chunk, rows);
    compare_column::<Memo>(chunk, rows);
}

fn compare_column<T: ManagedKind>(chunk: &ArchetypeChunk<'_>, rows: &[&Row]) {
    match chunk.managed::<T>() {
        Some(values) => {
            assert_eq!(values.len(), rows.len());
            values.zip(rows).for_each(|(value, row)| compare(Some(value), row));
        }
        None => rows.iter().for_each(|row| compare::<T>(None, row)),
    }
}

fn compare<T: ManagedKind>(found: Option<&T>, row: &Row) {
    let found = found.map(|value| (value.number(), value.list()));
    let expected = row.get(&T::KIND).map(|value| (value.number, value.list.clone()));
    assert_eq!(found, expected);
}

impl Run {
    pub(crate) fn managed(&mut self, step: &Step) {
        if self.lacks(PAGE, step) {
            self.spawn_many::<(Small, Managed<Page>)>(step);
        }
        match step.set % 8 {
            0..2 => self.turn(step),
            2..4 => {
                let entity = self.pick_having(PAGE, step.entity);
                let here =
                    if step.number.is_multiple_of(2) { entity } else { self.pick(step.other) };
                self.write_managed::<Page>(entity, step.number, &[here.to_bits(), 0]);
            }
            4 => {
                let entity = self.pick_having(MEMO, step.entity);
                self.write_managed::<Memo>(entity, step.number, &[]);
            }
            5 => self.write_managed_in_chunks::<Memo>(step),
            6 => self.write_managed_in_chunks::<Page>(step),
            _ => {
                let entity = self.pick(step.entity);
                self.write_managed::<Page>(entity, step.number, &[entity.to_bits(), 7]);
            }
        }
    }

    /// Changes a value behind a shared reference, which is not tracked.
    fn turn(&mut self, step: &Step) {
        let entity = self.pick_having(PAGE, step.entity);
        let found = self.current().world.managed::<Page>(entity).map(|page| {
            page.turned.set(page.turned.get() + 1);
        });
        if self.agrees(found, self.presence(entity, &[PAGE])) {
            let row = self.current().plain.entities.get_mut(&entity).unwrap();
            row.get_mut(&PAGE).unwrap().list[1] += 1;
        }
    }

    pub(crate) fn write_managed<T: ManagedKind>(
        &mut self,
        entity: Entity,
        number: u64,
        list: &[u64],
    ) {
        let found = self.current().world.managed_mut::<T>(entity);
        let found = found.map(|value| *value = T::make(number, list));
        if self.agrees(found, self.presence(entity, &[T::KIND])) {
            let plain = &mut self.current().plain;
            let mut row = plain.row(&[T::KIND], |_| number);
            row.get_mut(&T::KIND).unwrap().list = list.to_vec();
            plain.write(entity, row);
        }
    }

    fn write_managed_in_chunks<T: ManagedKind>(&mut self, step: &Step) {
        let mut written = Vec::new();
        let list = list_of(T::KIND, step.number);
        self.current().world.for_each_chunk_mut(|mut chunk| {
            let entities = chunk.as_chunk().entities().to_vec();
            let refused = match chunk.managed_mut::<T>() {
                Ok(values) => {
                    values.for_each(|value| *value = T::make(step.number, &list));
                    return written.extend(entities);
                }
                Err(error) => error.to_string(),
            };
            assert!(refused.starts_with("A0051"), "{refused}");
        });
        let having = |row: &&Row| row.contains_key(&T::KIND);
        let plain = &mut self.current().plain;
        assert_eq!(plain.entities.values().filter(having).count(), written.len());
        for entity in written {
            let row = plain.row(&[T::KIND], |_| step.number);
            assert!(!plain.write(entity, row));
        }
    }
}
