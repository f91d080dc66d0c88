//! Strided views.

use crate::common;
use crate::common::model;

use std::mem::offset_of;
use std::ops::Range;

use ancho_collections::{NativeArray, NativeSlice, NativeSliceMut, SliceError};
use common::{assert_refused, scheduler};
use model::{cases, time_is_up};
use proptest::prelude::*;
use zerocopy::{FromBytes, Immutable, IntoBytes};

#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    mass: f32,
    id: u64,
    kind: u8,
    flags: [u8; 3],
    team: u32,
}

fn particle(number: u8) -> Particle {
    let value = f32::from(number);
    Particle {
        position: [value, value + 0.25, value + 0.5],
        mass: -value,
        id: u64::from(number) << 40,
        kind: number,
        flags: [number, 0, 1],
        team: u32::from(number) * 7,
    }
}

fn particles(count: u8) -> Vec<Particle> {
    (0..count).map(particle).collect()
}

#[test]
fn each_field_of_all_structs_is_a_view() {
    let all = particles(10);
    fn check<F>(all: &[Particle], offset: usize, field: fn(&Particle) -> F)
    where
        F: FromBytes + Immutable + PartialEq + std::fmt::Debug,
    {
        let view = NativeSlice::<F>::of_field(all, offset).unwrap();
        assert_eq!((view.len(), view.stride()), (all.len(), 32));
        for (i, particle) in all.iter().enumerate() {
            assert_eq!(view[i], field(particle));
        }
        assert!(
            view.iter().map(std::ptr::from_ref).eq(all
                .iter()
                .map(|particle| { std::ptr::from_ref(particle).wrapping_byte_add(offset).cast() }))
        );
    }
    check(&all, offset_of!(Particle, position), |p| p.position);
    check(&all, offset_of!(Particle, mass), |p| p.mass);
    check(&all, offset_of!(Particle, id), |p| p.id);
    check(&all, offset_of!(Particle, kind), |p| p.kind);
    check(&all, offset_of!(Particle, flags), |p| p.flags);
    check(&all, offset_of!(Particle, team), |p| p.team);
    // A part of a field is a field, and so is the whole struct.
    check(&all, offset_of!(Particle, position) + 4, |p| p.position[1]);
    check(&all, 0, |p| *p);
}

#[test]
fn fields_are_changed_and_nothing_else_is() {
    let mut all = particles(5);
    let mut masses = NativeSliceMut::<f32>::of_field(&mut all, offset_of!(Particle, mass)).unwrap();
    masses[1] = 100.0;
    *masses.get_mut(2).unwrap() = 200.0;
    assert!(masses.get_mut(5).is_none());
    for mass in masses.iter_mut().skip(3) {
        *mass *= 2.0;
    }
    let mut expected = particles(5);
    for (particle, mass) in expected.iter_mut().zip([0.0, 100.0, 200.0, -6.0, -8.0]) {
        particle.mass = mass;
    }
    assert_eq!(all, expected);
}

#[test]
fn a_field_that_is_not_inside_the_struct_is_refused() {
    let mut all = particles(3);
    for offset in [29, 30, 32, 36, 1 << 40, usize::MAX - 3, usize::MAX] {
        let refused = NativeSlice::<u32>::of_field(&all, offset).unwrap_err();
        assert!(refused.to_string().starts_with("A0028: "), "{refused}");
        assert_eq!(NativeSliceMut::<u32>::of_field(&mut all, offset).unwrap_err(), refused);
    }
    let refused = NativeSlice::<[u64; 6]>::of_field(&all, 0).unwrap_err().to_string();
    assert_eq!(
        refused,
        "A0028: a field of 48 bytes at offset 0 ends beyond a struct of 32 bytes; use `offset_of!`"
    );
    // The same holds for an empty slice.
    assert!(NativeSlice::<u32>::of_field(&all[..0], 30).is_err());
    assert!(NativeSlice::<()>::of_field(&all, 32).is_ok(), "nothing fits everywhere");
    assert!(NativeSlice::<()>::of_field(&all, 33).is_err());
}

#[test]
fn a_field_that_is_not_aligned_is_refused() {
    let mut all = particles(3);
    for offset in [1, 2, 3, 5, 6, 27] {
        let refused = NativeSlice::<u32>::of_field(&all, offset).unwrap_err();
        assert!(matches!(refused, SliceError::Misaligned { .. }), "{refused}");
        assert!(refused.to_string().starts_with("A0028: "), "{refused}");
        assert!(NativeSliceMut::<u32>::of_field(&mut all, offset).is_err());
        assert!(NativeSlice::<u8>::of_field(&all, offset).is_ok());
    }
    assert!(NativeSlice::<u64>::of_field(&all, 4).is_err());
    // The address of the first field is decisive, not the offset: bytes may be at any address.
    let bytes = [[0_u8; 6]; 5];
    let fields: Vec<_> =
        (0..6).map(|at| NativeSlice::<u16>::of_field(&bytes, at).is_ok()).collect();
    let even = bytes.as_ptr().addr().is_multiple_of(2);
    assert_eq!(fields, [even, !even, even, !even, even, false]);
    // Every other struct would be misaligned.
    let bytes = [[0_u8; 5]; 4];
    assert!((0..5).all(|at| NativeSlice::<u16>::of_field(&bytes, at).is_err()));
}

#[test]
fn a_view_is_narrowed() {
    let numbers: Vec<u32> = (0..20).collect();
    let view = NativeSlice::from(&numbers[..]);
    let seen = |view: NativeSlice<'_, u32>| view.iter().copied().collect::<Vec<_>>();
    assert_eq!(seen(view.slice(3..6)), [3, 4, 5]);
    assert_eq!(seen(view.step_by(7)), [0, 7, 14]);
    assert_eq!(seen(view.slice(1..20).step_by(6).slice(1..3)), [7, 13]);
    assert_eq!(seen(view.step_by(2).step_by(3)), [0, 6, 12, 18]);
    assert_eq!(view.step_by(2).step_by(3).stride(), 24);
    assert_eq!(seen(view.step_by(100)), [0]);
    assert_eq!(seen(view.step_by(usize::MAX)), [0]);
    assert_eq!(seen(view.step_by(1 << 62).step_by(1 << 62).step_by(3)), [0]);
    assert_eq!(seen(view.slice(4..5).step_by(usize::MAX / 4)), [4]);
    assert_eq!(seen(view.slice(20..20)), []);
    assert!(view.slice(7..7).is_empty() && view.slice(0..0).step_by(3).is_empty());
    assert_eq!((view.get(19), view.get(20), view.get(usize::MAX)), (Some(&19), None, None));
}

#[test]
fn places_outside_of_a_view_are_refused() {
    let mut numbers = [0_u32, 1, 2, 3, 4];
    let view = NativeSlice::from(&numbers[..]);
    assert_refused("A0014", || view[5]);
    assert_refused("A0014", || view.slice(0..3)[3]);
    assert_refused("A0014", || view.slice(3..6));
    assert_refused("A0014", || view.slice(Range { start: 3, end: 2 }));
    assert_refused("A0014", || view.slice(0..usize::MAX));
    assert_refused("A0014", || view.step_by(0));
    let mut view = NativeSliceMut::from(&mut numbers[..]).step_by(2);
    assert_refused("A0014", || view[3]);
    assert_refused("A0014", || view[3] = 9);
    view[2] = 9;
    assert_eq!(numbers, [0, 1, 2, 3, 9]);
}

#[test]
fn copies_are_of_one_length() {
    let mut numbers = [1, 2, 3, 4, 5];
    let mut odd = NativeSliceMut::from(&mut numbers[..]).step_by(2);
    for wrong in [&[0; 0][..], &[7, 7], &[7, 7, 7, 7]] {
        let refused = odd.copy_from(wrong).unwrap_err();
        assert!(refused.to_string().starts_with("A0028: "), "{refused}");
        assert!(odd.copy_to(&mut wrong.to_vec()).is_err());
    }
    let mut too_long = [9; 4];
    assert!(odd.copy_to(&mut too_long).is_err());
    assert_eq!(too_long, [9; 4], "nothing was copied");
    let mut copy = [0; 3];
    odd.copy_to(&mut copy).unwrap();
    assert_eq!(copy, [1, 3, 5]);
    odd.copy_from(&[10, 30, 50]).unwrap();
    assert_eq!(numbers, [10, 2, 30, 4, 50]);
    NativeSliceMut::from(&mut numbers[..0]).copy_from(&[]).unwrap();
}

#[test]
fn a_view_is_walked_from_both_ends() {
    let numbers = [1, 2, 3, 4, 5, 6, 7];
    let view = NativeSlice::from(&numbers[..]).step_by(2);
    assert!(view.iter().rev().eq(&[7, 5, 3, 1]));
    let mut iter = view.iter();
    assert_eq!((iter.len(), iter.next(), iter.next_back(), iter.len()), (4, Some(&1), Some(&7), 2));
    assert_eq!((iter.clone().count(), iter.nth(1), iter.next()), (2, Some(&5), None));
    assert_eq!((iter.next(), iter.next_back(), iter.len()), (None, None, 0));
    assert_eq!((&view).into_iter().copied().sum::<i32>(), 16);
    assert_eq!(format!("{view:?}"), "[1, 3, 5, 7]");
}

#[test]
fn a_view_of_nothing_has_a_length() {
    let units = [(); 10];
    let view = NativeSlice::from(&units[..]);
    assert_eq!((view.len(), view.step_by(3).len(), view.slice(2..4).iter().count()), (10, 4, 2));
    assert_refused("A0014", || view[10]);
}

#[test]
fn batches_create_views_of_their_elements() {
    let jobs = scheduler(2);
    let mut array = NativeArray::from(particles(200));
    let job = jobs.schedule_parallel(&[], array.write(), 200, 16, |part, _| {
        let teams = NativeSliceMut::<u32>::of_field(part, offset_of!(Particle, team)).unwrap();
        teams.step_by(2).iter_mut().for_each(|team| *team = 1);
    });
    jobs.complete(job.unwrap());
    let array = array.get().unwrap();
    let teams = NativeSlice::<u32>::of_field(array, offset_of!(Particle, team)).unwrap();
    assert!(teams.step_by(2).iter().all(|team| *team == 1));
    assert!(teams.iter().skip(1).step_by(2).zip(0..).all(|(team, i)| *team == (2 * i + 1) * 7));
}

#[derive(Clone, Debug)]
enum Narrow {
    Slice(usize, usize),
    Step(usize),
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_narrowing_is_arithmetic_of_indices(
        length in 0_usize..60,
        steps in prop::collection::vec(
            prop_oneof![
                (0..60_usize, 0..60_usize).prop_map(|(start, end)| Narrow::Slice(start, end)),
                (1..9_usize).prop_map(Narrow::Step),
            ],
            0..8,
        ),
    ) {
        if time_is_up() {
            return Ok(());
        }
        let numbers: Vec<[u16; 2]> = (0..length as u16).map(|number| [number, !number]).collect();
        let mut changed = numbers.clone();
        let mut model: Vec<usize> = (0..length).collect();
        let mut view = NativeSlice::<u16>::of_field(&numbers, 2).unwrap();
        let mut writing = NativeSliceMut::<u16>::of_field(&mut changed, 2).unwrap();
        for step in steps {
            match step {
                Narrow::Slice(one, two) => {
                    let (one, two) = (one % (model.len() + 1), two % (model.len() + 1));
                    let range = one.min(two)..one.max(two);
                    view = view.slice(range.clone());
                    writing = writing.slice(range.clone());
                    model = model[range].to_vec();
                }
                Narrow::Step(step) => {
                    view = view.step_by(step);
                    writing = writing.step_by(step);
                    model = model.into_iter().step_by(step).collect();
                }
            }
        }
        prop_assert_eq!(view.len(), model.len());
        let expected: Vec<u16> = model.iter().map(|i| !(*i as u16)).collect();
        prop_assert!(view.iter().eq(&expected));
        prop_assert!(view.iter().rev().eq(expected.iter().rev()));
        prop_assert!((0..model.len()).all(|i| view[i] == expected[i]));
        prop_assert!(view.get(model.len()).is_none());
        let mut copy = vec![0; model.len()];
        view.copy_to(&mut copy).unwrap();
        prop_assert_eq!(&copy, &expected);

        writing.iter_mut().for_each(|value| *value = 7);
        for (i, pair) in changed.iter().enumerate() {
            let second = if model.contains(&i) { 7 } else { !(i as u16) };
            prop_assert_eq!(*pair, [i as u16, second]);
        }
    }
}
