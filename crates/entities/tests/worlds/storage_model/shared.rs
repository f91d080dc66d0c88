//! Steps that set shared components: one by one, many at once, and of whole chunks.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use ancho_entities::{Entity, Shared, SharedComponent, World};

use crate::storage_model::components::{
    BANNER, Follow, GHOST, Ghost, Live, MESH, REGISTRY, TEAM, number_of,
};
use crate::storage_model::plain::{Plain, Row};
use crate::storage_model::script::{Pair, Run, Step};
use crate::storage_model::sets::{Part, Set};

/// A shared component that is made from a number, and returns it.
pub(crate) trait SharedKind: SharedComponent {
    const KIND: usize;
    const HAS_DEFAULT: bool;

    fn make(number: u64) -> Self;

    fn number(&self) -> u64;
}

macro_rules! shared {
    ($($kind:ident $name:ident($inner:ident) $has_default:literal, $(#[$option:meta])*;)*) => {$(
        $(#[$option])*
        pub(crate) struct $name($inner, #[field(opaque)] Live);

        // Only the number is compared, and many hashes collide.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0 == other.0
            }
        }

        impl Eq for $name {}

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                (self.number() % 2).hash(state);
            }
        }

        impl SharedKind for $name {
            const KIND: usize = $kind;
            const HAS_DEFAULT: bool = $has_default;

            fn make(number: u64) -> Self {
                Self($inner::inner(number), Live::new())
            }

            fn number(&self) -> u64 {
                self.0.number()
            }
        }
    )*};
}

/// The contents of a shared component.
trait Inner {
    fn inner(number: u64) -> Self;

    fn number(self) -> u64;
}

impl Inner for u32 {
    fn inner(number: u64) -> Self {
        number as Self
    }

    fn number(self) -> u64 {
        self.into()
    }
}

impl Inner for Entity {
    fn inner(number: u64) -> Self {
        Self::from_bits(number)
    }

    fn number(self) -> u64 {
        self.to_bits()
    }
}

shared! {
    TEAM Team(u32) true, #[derive(SharedComponent, Default)];
    MESH Mesh(u32) false, #[derive(SharedComponent)];
    // A cleanup component.
    REGISTRY Registry(u32) true, #[derive(SharedComponent, Default)] #[shared(cleanup)];
    // Refers to an entity.
    BANNER Banner(Entity) true, #[derive(SharedComponent, Clone, Default)];
}

impl<T: SharedKind> Set for Shared<T> {
    fn kinds(into: &mut Vec<usize>) {
        into.push(T::KIND);
    }

    fn make(number: u64) -> Self {
        Self::new(T::make(number_of(T::KIND, number)))
    }

    fn read(self, into: &mut Vec<Part>) {
        into.push((T::KIND, self.number(), Vec::new()));
    }
}

/// Calls a method with one of the shared components.
macro_rules! any_shared {
    ($which:expr, $kind:ident => $call:expr) => {
        match $which % 5 {
            0 => {
                type $kind = Mesh;
                $call
            }
            1 => {
                type $kind = Registry;
                $call
            }
            2 => {
                type $kind = Banner;
                $call
            }
            _ => {
                type $kind = Team;
                $call
            }
        }
    };
}

/// Checks that an entity has the shared values of a row.
pub(crate) fn compare_shared(world: &World, entity: Entity, row: &Row) {
    for which in 0..4 {
        any_shared!(which, T => {
            let found = world.shared::<T>(entity).ok().map(SharedKind::number);
            assert_eq!(found, row.get(&T::KIND).map(|value| value.number), "{entity}");
        });
    }
}

/// The last read order versions of values, by kind and number.
pub(crate) type Orders = BTreeMap<(usize, u64), u32>;

/// Compares the values of a world with those of its chunks. Returns a number for their order.
pub(crate) fn compare_shared_values(world: &World, plain: &Plain, orders: &mut Orders) -> u64 {
    let mut order = 0;
    for which in 0..4 {
        any_shared!(which, T => order = compare_values::<T>(world, plain, orders, order));
    }
    order
}

fn compare_values<T: SharedKind>(
    world: &World,
    plain: &Plain,
    orders: &mut Orders,
    mut order: u64,
) -> u64 {
    let entities = world;
    let mut chunks = BTreeMap::new();
    for chunk in entities.chunks() {
        let value = chunk.shared::<T>().map(SharedKind::number);
        for entity in chunk.entities() {
            let expected = plain.entities[entity].get(&T::KIND).map(|value| value.number);
            assert_eq!(value, expected, "{entity}");
        }
        if let Some(number) = value {
            *chunks.entry(number).or_insert(0) += 1;
        }
    }
    let listed: Vec<u64> = world.shared_values::<T>().map(|value| value.number()).collect();
    let mut expected: BTreeSet<u64> = chunks.keys().copied().collect();
    if T::HAS_DEFAULT {
        assert_eq!(listed[0], 0);
        expected.insert(0);
    }
    assert_eq!(listed.len(), expected.len(), "{listed:?} {expected:?}");
    assert_eq!(listed.iter().copied().collect::<BTreeSet<u64>>(), expected);
    for number in 0..5 {
        let (value, key) = (T::make(number), (T::KIND, number));
        let count = chunks.get(&number).copied().unwrap_or(0);
        assert_eq!(entities.shared_reference_count(&value), count);
        let version = entities.shared_order_version(&value);
        assert!(version >= orders.insert(key, version).unwrap_or(0), "{key:?}");
    }
    for number in listed {
        order = order.wrapping_mul(0x0100_0000_01b3) ^ (number + 1);
    }
    order
}

impl Run {
    pub(crate) fn shared(&mut self, step: &Step) {
        let which = step.set / 8;
        any_shared!(which, T => {
            if self.lacks(T::KIND, step) {
                self.spawn_many::<(Follow, Shared<T>, Ghost)>(step);
            }
        });
        match step.set % 8 {
            0..3 => any_shared!(which, T => self.set_shared::<T>(step)),
            3 => any_shared!(which, T => self.add_shared::<T>(step)),
            4 => any_shared!(which, T => self.remove_shared::<T>(step)),
            5 => any_shared!(which, T => self.set_shared_of_chunks::<T>(step)),
            _ => any_shared!(which, T => self.set_shared_of_some::<T>(step)),
        }
    }

    /// Sets a shared value of existing entities in the plain world.
    fn write_shared<T: SharedKind>(&mut self, entities: &[Entity], number: u64) {
        let plain = &mut self.current().plain;
        for &entity in entities {
            let row = plain.row(&[T::KIND], |_| number);
            plain.write(entity, row);
        }
    }

    fn shared_number<T: SharedKind>(&self, entity: Entity) -> Option<u64> {
        let row = self.pairs.last().unwrap().plain.entities.get(&entity)?;
        row.get(&T::KIND).map(|value| value.number)
    }

    fn set_shared<T: SharedKind>(&mut self, step: &Step) {
        let entity = self.pick_having(T::KIND, step.entity);
        let number = number_of(T::KIND, step.number);
        let found = self.current().world.set_shared(entity, T::make(number));
        let differs = self.shared_number::<T>(entity) != Some(number);
        if self.agrees(found, self.presence(entity, &[T::KIND]).map(|()| differs)) {
            self.write_shared::<T>(&[entity], number);
        }
    }

    fn add_shared<T: SharedKind>(&mut self, step: &Step) {
        let entity = self.pick(step.entity);
        let number = number_of(T::KIND, step.number);
        let added = self.current().world.add(entity, Shared::new(T::make(number)));
        let found = added.map_err(|rejected| rejected.error);
        let expected = self.adding(entity, T::KIND);
        if self.agrees(found, expected) {
            self.write_shared::<T>(&[entity], number);
        }
    }

    fn remove_shared<T: SharedKind>(&mut self, step: &Step) {
        let entity = self.pick_having(T::KIND, step.entity);
        let found = self.current().world.remove::<Shared<T>>(entity);
        self.removed(entity, &[T::KIND], found);
    }

    /// Sets the value of whole chunks, which moves nothing.
    fn set_shared_of_chunks<T: SharedKind>(&mut self, step: &Step) {
        let chunks = self.current().world.chunks();
        let chunks: Vec<Vec<Entity>> = chunks
            .filter(|chunk| chunk.shared::<T>().is_some())
            .map(|chunk| chunk.entities().to_vec())
            .collect();
        if !chunks.is_empty() {
            let first = step.entity % chunks.len();
            let some = &chunks[first..chunks.len().min(first + 1 + step.count % 3)];
            self.set_shared_slice::<T>(&some.concat(), step.number);
        }
    }

    /// Sets the value of neighbours, in order or reversed, and sometimes of entities without the component, or listed
    /// twice.
    fn set_shared_of_some<T: SharedKind>(&mut self, step: &Step) {
        let all = self.current().world.all_entities();
        let mut some = all;
        if step.other % 16 != 15 {
            some.retain(|&entity| self.has(entity, T::KIND));
        }
        let first = step.entity % (some.len() + 1);
        let mut some = some[first..some.len().min(first + step.count)].to_vec();
        if let Some(&off) = some.last()
            && step.set.is_multiple_of(2)
        {
            // Disables a component, to check that the bit follows its entity.
            self.toggle_one(off, GHOST, false);
        }
        if step.other.is_multiple_of(3) {
            some.reverse();
        }
        match step.other % 16 {
            14 => some.push(self.pick(step.entity)),
            13 => some.extend(some.first().copied()),
            _ => {}
        }
        self.set_shared_slice::<T>(&some, step.number);
    }

    fn set_shared_slice<T: SharedKind>(&mut self, entities: &[Entity], number: u64) {
        let mut number = number_of(T::KIND, number);
        if entities.first().is_some_and(|&first| self.shared_number::<T>(first) == Some(number)) {
            // Mostly another value than they have.
            number = (number + entities.len() as u64) % 3;
        }
        let found = self.current().world.batch(entities).set_shared(T::make(number)).map(drop);
        let refused =
            entities.iter().map(|&entity| self.presence(entity, &[T::KIND])).find(Result::is_err);
        if self.agrees(found, refused.unwrap_or(Ok(()))) {
            self.write_shared::<T>(entities, number);
        } else if refused.is_none() {
            // Without memory the first of them have the new value, and the others the old one.
            let mut went_on = true;
            for &entity in entities {
                let Pair { world, .. } = self.current();
                let has = world.shared::<T>(entity).unwrap().number();
                if Some(has) != self.shared_number::<T>(entity) {
                    assert!(has == number && went_on);
                    self.write_shared::<T>(&[entity], number);
                } else {
                    went_on &= has == number;
                }
            }
        }
    }
}
