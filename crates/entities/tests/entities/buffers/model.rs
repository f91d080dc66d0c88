//! Random scripts of all buffer operations, compared with vectors and a capacity.
//!
//! Elements are of every kind; elements with a destructor are counted. `PROPTEST_CASES=10000` makes it a long run.

use std::cell::Cell;

use ancho_entities::{
    Buffer, BufferElement, Component, DynamicBuffer, Entity, World, WorldSettings,
};
use proptest::prelude::*;

use crate::fixtures::model::{cases, time_is_up};

thread_local! {
    /// The number of live values that have a destructor.
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

/// A counter of its instances.
struct Live;

impl Live {
    fn new() -> Self {
        LIVE.set(LIVE.get() + 1);
        Self
    }
}

impl Clone for Live {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.set(LIVE.get() - 1);
    }
}

#[derive(Component, Clone, Copy)]
struct Mark(u16);

#[derive(BufferElement, Clone, Copy)]
#[buffer(inline = 3)]
struct Small(u32);

#[derive(BufferElement, Clone)]
#[buffer(inline = 2)]
struct Boxed(Box<u64>, #[field(opaque)] Live);

#[derive(BufferElement, Clone)]
struct Ghost(#[field(opaque)] Live);

#[derive(BufferElement, Clone, Copy)]
#[repr(align(64))]
#[buffer(inline = 9)]
struct Wide(u8);

#[derive(BufferElement, Clone)]
struct Large([u64; 40], #[field(opaque)] Live);

/// An element that is made from a number, and returns that number.
trait Kind: BufferElement + ancho_entities::Mutable + Clone {
    fn make(number: u8) -> Self;

    fn number(&self) -> u8;
}

macro_rules! kinds {
    ($($ty:ident, $number:ident => $make:expr, $value:ident => $read:expr;)*) => {$(
        impl Kind for $ty {
            fn make($number: u8) -> Self {
                $make
            }

            fn number(&self) -> u8 {
                let $value = self;
                assert!(std::ptr::from_ref(self).is_aligned());
                $read
            }
        }
    )*};
}

kinds! {
    Small, n => Self(n.into()), value => value.0 as u8;
    Boxed, n => Self(Box::new(n.into()), Live::new()), value => *value.0 as u8;
    Ghost, _n => Self(Live::new()), _value => 0;
    Wide, n => Self(n), value => value.0;
    Large, n => Self([n.into(); 40], Live::new()), value => {
        assert_eq!(value.0, [value.0[0]; 40]);
        value.0[0] as u8
    };
}

/// The expected state of a buffer.
#[derive(Clone, Debug)]
struct Model {
    elements: Vec<u8>,
    capacity: usize,
}

impl Model {
    fn new<T: Kind>(elements: Vec<u8>) -> Self {
        Self { capacity: inline::<T>().max(elements.len()), elements }
    }

    fn reserve(&mut self, more: usize) {
        let needed = self.elements.len() + more;
        if needed > self.capacity {
            self.capacity = 8.max(2 * self.capacity).max(needed);
        }
    }
}

fn inline<T: Kind>() -> usize {
    T::INLINE.min(u32::MAX as usize)
}

#[derive(Clone, Copy, Debug)]
struct Step {
    operation: u8,
    entity: usize,
    first: usize,
    second: usize,
    number: u8,
}

fn any_step() -> impl Strategy<Value = Step> {
    (0..40_u8, 0..6_usize, 0..24_usize, 0..24_usize, any::<u8>()).prop_map(
        |(operation, entity, first, second, number)| Step {
            operation,
            entity,
            first,
            second,
            number,
        },
    )
}

/// A world and its expected state.
struct Pair {
    world: World,
    models: Vec<(Entity, Model)>,
}

fn make<T: Kind>(elements: &[u8]) -> Vec<T> {
    elements.iter().map(|&number| T::make(number)).collect()
}

/// Returns the numbers as read back from elements made of them.
fn seen<T: Kind>(numbers: impl IntoIterator<Item = u8>) -> Vec<u8> {
    numbers.into_iter().map(|number| T::make(number).number()).collect()
}

/// Applies a step to one buffer and its model.
fn change<T: Kind>(buffer: &mut DynamicBuffer<'_, T>, model: &mut Model, step: Step) {
    let Step { operation, first, second, number, .. } = step;
    let len = model.elements.len();
    let (low, high) = (first.min(second).min(len), first.max(second).min(len));
    let numbers = seen::<T>((0..first as u8).map(|index| number.wrapping_add(index)));
    let number = seen::<T>([number])[0];
    match operation {
        0..6 => {
            model.reserve(1);
            model.elements.push(number);
            buffer.push(T::make(number));
        }
        6 | 7 => {
            let at = first.min(len);
            model.reserve(1);
            model.elements.insert(at, number);
            buffer.insert(at, T::make(number));
        }
        8 => assert_eq!(buffer.pop().map(|element| element.number()), model.elements.pop()),
        9 if len > 0 => {
            assert_eq!(buffer.remove(first % len).number(), model.elements.remove(first % len));
        }
        10 if len > 0 => {
            let expected = model.elements.swap_remove(first % len);
            assert_eq!(buffer.swap_remove(first % len).number(), expected);
        }
        11 => {
            model.elements.drain(low..high);
            buffer.remove_range(low..high);
        }
        12 => {
            let from = high.max(len - (high - low));
            let moved: Vec<u8> = model.elements.drain(from..).collect();
            model.elements.splice(low..high, moved);
            buffer.swap_remove_range(low..high);
        }
        13 | 14 => {
            model.reserve(numbers.len());
            model.elements.extend(&numbers);
            buffer.extend_from_slice(&make(&numbers));
        }
        15 => {
            model.reserve(numbers.len());
            model.elements.extend(&numbers);
            buffer.extend(make::<T>(&numbers));
        }
        16 => {
            // The iterator has no exact size.
            for &number in &numbers {
                model.reserve(1);
                model.elements.push(number);
            }
            buffer.extend(make::<T>(&numbers).into_iter().filter(|_| true));
        }
        17 => {
            if numbers.len() > model.capacity {
                model.reserve(numbers.len() - len);
            }
            model.elements.clone_from(&numbers);
            buffer.copy_from(&make(&numbers));
        }
        18 => {
            model.reserve(first.saturating_sub(len));
            model.elements.resize(first, number);
            buffer.resize(first, T::make(number));
        }
        19 => {
            model.elements.truncate(first);
            buffer.truncate(first);
        }
        20 => {
            model.elements.clear();
            buffer.clear();
        }
        21 => {
            model.reserve(first);
            buffer.reserve(first);
        }
        22 | 23 => {
            model.capacity = first.max(len);
            buffer.set_capacity(first.max(len));
        }
        24 | 25 => {
            model.capacity = len.max(inline::<T>());
            buffer.shrink_to_fit();
        }
        _ => {
            model.elements.reverse();
            buffer.reverse();
        }
    }
}

/// Applies a step to a whole world. May add or remove worlds.
fn restructure<T: Kind>(pairs: &mut Vec<Pair>, current: usize, step: Step) {
    let Step { operation, entity, first, second, number } = step;
    let count = pairs.len();
    let Pair { world, models } = &mut pairs[current];
    let numbers = seen::<T>((0..first as u8).map(|index| number.wrapping_add(index)));
    let (at, other) = (entity % models.len(), second % models.len());
    let (entity, model) = &mut models[at];
    let fresh = Model::new::<T>(numbers.clone());
    match operation {
        28 => assert!(world.add(*entity, Mark(7)).is_ok()),
        29 => assert!(world.remove::<Mark>(*entity).is_ok()),
        30 => {
            world.set(*entity, Buffer::from(make::<T>(&numbers))).unwrap_or_else(|_| panic!());
            *model = fresh;
        }
        31 => {
            let taken = world.take::<Buffer<T>>(*entity).unwrap();
            assert_eq!(seen_in(&taken), model.elements);
            assert!(world.buffer::<T>(*entity).is_err());
            let is_new = world.add(*entity, taken).unwrap_or_else(|_| panic!());
            assert!(is_new);
            // Elements that fit are inline again; otherwise the capacity is kept.
            if model.elements.len() <= inline::<T>() {
                model.capacity = inline::<T>();
            }
        }
        32 => {
            assert_eq!(world.remove::<Buffer<T>>(*entity), Ok(true));
            assert_eq!(world.add_buffer::<T>(*entity).unwrap().len(), 0);
            *model = Model::new::<T>(Vec::new());
        }
        33 => {
            world.despawn(*entity).unwrap();
            *entity = world.spawn((Mark(1), Buffer::from(make::<T>(&numbers))));
            *model = fresh;
        }
        34 => {
            let (left, right) = (models[at].0, models[other].0);
            if world.swap_components(left, right).is_ok() && at != other {
                let taken = models[at].1.clone();
                models[at].1 = std::mem::replace(&mut models[other].1, taken);
            }
        }
        35 => {
            let set = (Buffer::from(make::<T>(&numbers)), Mark(3));
            let new: Vec<Entity> = world.spawn_many(set, second % 3).collect();
            models.extend(new.into_iter().map(|entity| (entity, fresh.clone())));
        }
        36 if models.len() > 3 => {
            let gone: Vec<Entity> = models.drain(3..).map(|(entity, _)| entity).collect();
            world.batch(&gone).despawn().unwrap();
        }
        37 | 38 if count < 4 => {
            let models = models.clone();
            let world = if operation == 37 { world.fork() } else { world.duplicate() };
            pairs.push(Pair { world: world.unwrap(), models });
        }
        _ if count > 1 => drop(pairs.swap_remove(current)),
        _ => {
            world.despawn_all().unwrap();
            let all = world.spawn_batch((0..3).map(|_| Buffer::from(make::<T>(&numbers))));
            *models = all.map(|entity| (entity, fresh.clone())).collect();
        }
    }
}

fn seen_in<T: Kind>(elements: &[T]) -> Vec<u8> {
    elements.iter().map(Kind::number).collect()
}

fn check<T: Kind>(pairs: &mut [Pair], must_drop: bool) {
    for Pair { world, models } in pairs.iter_mut() {
        world.check_invariants().unwrap();
        for (entity, model) in models.iter() {
            assert_eq!(seen_in::<T>(world.buffer(*entity).unwrap()), model.elements);
        }
        let in_chunks: usize = world
            .chunks()
            .filter_map(|chunk| chunk.buffers::<T>())
            .flat_map(|b| b.iter())
            .map(<[T]>::len)
            .sum();
        assert_eq!(in_chunks, models.iter().map(|(_, model)| model.elements.len()).sum());
    }
    if must_drop && let [Pair { models, .. }] = pairs {
        let expected: usize = models.iter().map(|(_, model)| model.elements.len()).sum();
        assert_eq!(LIVE.get(), expected as i64, "elements leaked, or were dropped twice");
    }
}

fn run<T: Kind>(script: &[Step], must_drop: bool) {
    LIVE.set(0);
    let settings = WorldSettings::new().chunk_capacity_limit(3);
    let mut world = World::with_settings("model", settings);
    let models = (0..5).map(|_| (world.spawn(Buffer::<T>::new()), Model::new::<T>(Vec::new())));
    let models = models.collect();
    let mut pairs = vec![Pair { world, models }];
    for &step in script {
        let current = (step.number as usize / 16) % pairs.len();
        if step.operation < 28 {
            let Pair { world, models } = &mut pairs[current];
            let at = step.entity % models.len();
            let (entity, model) = &mut models[at];
            let mut buffer = world.buffer_mut::<T>(*entity).unwrap();
            change(&mut buffer, model, step);
            assert_eq!(seen_in(&buffer), model.elements);
            assert_eq!(buffer.capacity(), model.capacity);
        } else {
            restructure::<T>(&mut pairs, current, step);
        }
        check::<T>(&mut pairs, must_drop);
    }
    drop(pairs);
    assert_eq!(LIVE.get(), 0, "elements leaked, or were dropped twice");
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn buffers_are_vectors(script in prop::collection::vec(any_step(), 1..120)) {
        if time_is_up() {
            return Ok(());
        }
        run::<Small>(&script, false);
        run::<Boxed>(&script, true);
        run::<Ghost>(&script, true);
        run::<Wide>(&script, false);
        run::<Large>(&script, true);
    }
}
