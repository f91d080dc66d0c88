//! Kernels over slices of structs, in columns.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_burst::{CpuLevel, Floats, in_columns};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Body {
    height: f32,
    speed: f32,
}

impl Floats for Body {
    type Array = [f32; 2];

    fn to_array(self) -> [f32; 2] {
        [self.height, self.speed]
    }

    fn from_array([height, speed]: [f32; 2]) -> Self {
        Self { height, speed }
    }
}

fn fixture(length: usize) -> (Vec<[f32; 3]>, Vec<Body>, Vec<f32>) {
    let number = |at: usize, salt: f32| (at as f32 * 0.37 + salt).fract() * 8.0 - 4.0;
    (
        (0..length).map(|at| [number(at, 0.1), number(at, 0.5), number(at, 0.9)]).collect(),
        (0..length).map(|at| Body { height: number(at, 0.2), speed: number(at, 0.3) }).collect(),
        (0..length).map(|at| number(at, 0.7)).collect(),
    )
}

fn kernel(position: &mut [f32; 3], body: &mut Body, scale: f32) {
    let length = position.iter().map(|part| part * part).sum::<f32>().sqrt().max(0.5);
    for part in position {
        *part = *part / length * scale + body.speed;
    }
    body.height += length;
}

/// Returns all lengths near whole blocks, for any block size.
fn lengths() -> impl Iterator<Item = usize> {
    [0, 1, 2, 7, 8, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000].into_iter()
}

#[test]
fn the_result_equals_a_plain_loop() {
    for length in lengths() {
        let (mut positions, mut bodies, scales) = fixture(length);
        let (mut expected_positions, mut expected_bodies) = (positions.clone(), bodies.clone());
        for ((position, body), &scale) in
            expected_positions.iter_mut().zip(&mut expected_bodies).zip(&scales)
        {
            kernel(position, body, scale);
        }
        in_columns((&mut positions[..], &mut bodies[..], &scales[..]), kernel);
        let bits = |positions: &[[f32; 3]]| -> Vec<[u32; 3]> {
            positions.iter().map(|position| position.map(f32::to_bits)).collect()
        };
        assert_eq!(bits(&positions), bits(&expected_positions), "{length}");
        assert_eq!(bodies, expected_bodies, "{length}");
    }
}

#[test]
fn every_index_is_visited_once_in_order() {
    for length in lengths() {
        let numbers: Vec<f32> = (0..length).map(|at| at as f32).collect();
        let mut seen = Vec::new();
        in_columns((&numbers[..],), |number: f32| seen.push(number));
        assert_eq!(seen, numbers);
    }
}

#[test]
fn slices_that_are_only_read_stay_unchanged() {
    let numbers = vec![1.0_f32; 300];
    let mut sums = vec![0.0_f32; 300];
    in_columns(
        (&mut sums[..], &numbers[..], &numbers[..]),
        |sum: &mut f32, one: f32, other: f32| {
            *sum = one + other;
        },
    );
    assert!(numbers.iter().all(|&number| number == 1.0) && sums.iter().all(|&sum| sum == 2.0));
}

#[test]
#[should_panic = "the slices of a kernel have different lengths: [3, 2]; cut them to the shortest"]
fn slices_of_different_lengths_are_refused() {
    let (mut one, other) = ([0.0_f32; 3], [0.0_f32; 2]);
    in_columns((&mut one[..], &other[..]), |_: &mut f32, _: f32| {});
}

#[test]
fn a_kernel_that_panics_leaves_no_partial_write() {
    let mut bodies = vec![Body { height: 0.0, speed: 0.0 }; 1000];
    let mut calls = 0;
    let run = AssertUnwindSafe(|| {
        in_columns((&mut bodies[..],), |body: &mut Body| {
            calls += 1;
            body.height = 1.0;
            assert!(calls < 700, "told to");
            body.speed = 1.0;
        });
    });
    assert!(catch_unwind(run).is_err());
    let written = bodies.iter().take_while(|body| body.height == 1.0 && body.speed == 1.0).count();
    // The plain loop of the baseline works in place, and leaves the element in which it panicked partially written.
    if CpuLevel::current() > CpuLevel::Baseline {
        assert!(bodies[written..].iter().all(|body| body.height == 0.0 && body.speed == 0.0));
    }
    assert!((512..700).contains(&written));
}
