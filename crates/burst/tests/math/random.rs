//! `Random`: the sequence, ranges and distributions.

use ancho_burst::math::Random;
use ancho_burst::{CpuLevel, dispatch_at_most};

/// Counts numbers from 0 to 1 in tenths, and asserts that each has its share.
fn assert_even(numbers: impl Iterator<Item = f64>) {
    let mut tenths = [0; 10];
    for number in numbers.take(20_000) {
        tenths[(number * 10.0) as usize] += 1;
    }
    assert!(tenths.iter().all(|count| (1850..2150).contains(count)), "{tenths:?}");
}

#[test]
fn the_sequence_is_that_of_the_published_algorithm() {
    // The first outputs of the authors' program for the state 1, 2.
    let mut random = Random::from_state([1, 2]);
    let outputs: [u32; 10] = std::array::from_fn(|_| random.next_u32());
    assert_eq!(
        outputs,
        [
            3_802_928_447,
            813_792_938,
            1_618_621_494,
            2_955_957_307,
            3_252_880_261,
            1_129_983_909,
            2_539_651_700,
            1_327_610_908,
            1_757_650_787,
            2_763_843_748
        ]
    );
}

#[test]
fn the_zero_state_is_replaced() {
    let mut random = Random::from_state([0, 0]);
    assert_ne!(random.next_u32() | random.next_u32() | random.next_u32(), 0);
    assert_eq!(Random::from_state([0, 5]).state(), [0, 5]);
}

#[test]
fn numbers_are_spread_evenly_along_a_stream_and_across_streams() {
    let mut random = Random::new(1);
    assert_even(std::iter::repeat_with(|| f64::from(random.next_f32())));
    assert_even(std::iter::repeat_with(|| random.next_f64()));
    assert_even((0..).map(|index| f64::from(Random::from_index(1, index).next_f32())));
    assert_even((0..).map(|seed| f64::from(Random::new(seed).next_f32())));
    assert_even((0..).map(|index| {
        let mut random = Random::from_index(2, index);
        random.next_u32();
        f64::from(random.next_f32())
    }));
    // Each bit of the first output is set in half of the streams.
    for bit in 0..32 {
        let set =
            (0..10_000).filter(|&i| Random::from_index(3, i).next_u32() >> bit & 1 == 1).count();
        assert!((4750..5250).contains(&set), "bit {bit}: {set}");
    }
}

#[test]
fn neighbouring_streams_are_not_correlated() {
    let numbers = |index| {
        let mut random = Random::from_index(9, index);
        std::array::from_fn::<f64, 64, _>(|_| f64::from(random.next_f32()) - 0.5)
    };
    let products = (0..500).flat_map(|index| {
        let (first, second) = (numbers(index), numbers(index + 1));
        first.into_iter().zip(second).map(|(a, b)| a * b)
    });
    let mean = products.sum::<f64>() / 32_000.0 * 12.0;
    assert!(mean.abs() < 0.03, "{mean}");
}

#[test]
fn ranges_yield_every_number_and_no_other() {
    let mut random = Random::new(2);
    let mut seen = [0; 7];
    for _ in 0..7000 {
        seen[random.range(0..7_usize)] += 1;
    }
    assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
    let mut ends = [false; 3];
    for _ in 0..200 {
        ends[(random.range(-1..=1_i8) + 1) as usize] = true;
        assert_eq!(random.range(5..6_u64), 5);
        assert_eq!(random.range(i32::MIN..=i32::MIN), i32::MIN);
        assert!((-7..9).contains(&random.range(-7_i64..9)));
        assert!(random.range(u64::MAX - 1..=u64::MAX) >= u64::MAX - 1);
        assert!((0.1..0.1 + f32::EPSILON).contains(&random.range(0.1..0.1 + f32::EPSILON)));
        assert!((-1e308..0.7e308).contains(&random.range(-1e308..0.7e308_f64)));
        assert!((2.0..=3.0).contains(&random.range(2.0..=3.0_f32)));
    }
    assert_eq!(ends, [true; 3]);
    assert_eq!(random.range(4.0..=4.0_f64), 4.0);
    // Full ranges use all bits.
    let bits = (0..100).fold((0, 0), |bits: (u64, i32), _| {
        (bits.0 | random.range(0..=u64::MAX), bits.1 | random.range(i32::MIN..=i32::MAX))
    });
    assert_eq!(bits, (u64::MAX, -1));
}

#[test]
fn a_range_of_64_bit_numbers_draws_the_same_as_one_of_32_bits_if_it_is_small() {
    let draw = || Random::new(8);
    let small = draw().range(0..1000_u32);
    assert_eq!(draw().range(0..1000_u64), u64::from(small));
    assert_eq!(draw().range(0..1000_usize), small as usize);
    assert_eq!(draw().range(0..1000_i64), i64::from(small));
}

#[test]
fn ranges_without_numbers_are_refused() {
    fn message<T>(draw: impl FnOnce(&mut Random) -> T + std::panic::UnwindSafe) -> String {
        let caught = std::panic::catch_unwind(|| drop(draw(&mut Random::new(1))));
        *caught.expect_err("there is no number").downcast::<String>().unwrap()
    }
    assert_eq!(
        message(|random| random.range(3..3)),
        "A0250: there is no random number in the range 3..3; pass finite bounds, the first below the second"
    );
    #[expect(clippy::reversed_empty_ranges, reason = "the range is to be refused")]
    let reversed = message(|random| random.range(3..=2));
    assert!(reversed.contains("the range 3..=2;"), "{reversed}");
    for range in [0.0..f32::NAN, f32::NEG_INFINITY..0.0, -3e38..3e38, 1.0..0.5] {
        assert!(message(|random| random.range(range)).starts_with("A0250: "));
    }
}

#[test]
fn chances_and_normal_numbers_have_their_shares() {
    let mut random = Random::new(4);
    let heads = (0..10_000).filter(|_| random.next_bool()).count();
    assert!((4800..5200).contains(&heads), "{heads}");
    let hits = (0..10_000).filter(|_| random.chance(0.1)).count();
    assert!((900..1100).contains(&hits), "{hits}");
    assert!((0..1000).all(|_| random.chance(1.0) && !random.chance(0.0)));
    assert!((0..1000).all(|_| !random.chance(f32::NAN)));
    let numbers: Vec<f64> = (0..20_000).map(|_| f64::from(random.normal())).collect();
    let moment = |power| numbers.iter().map(|number| number.powi(power)).sum::<f64>() / 20_000.0;
    assert!(moment(1).abs() < 0.03 && (moment(2) - 1.0).abs() < 0.04);
    assert!(moment(3).abs() < 0.1 && (moment(4) - 3.0).abs() < 0.2);
}

#[test]
fn a_shuffle_yields_every_order_equally_often() {
    let mut random = Random::new(5);
    let mut orders = std::collections::BTreeMap::new();
    for _ in 0..24_000 {
        let mut elements = [0, 1, 2, 3];
        random.shuffle(&mut elements);
        *orders.entry(elements).or_insert(0) += 1;
    }
    assert_eq!(orders.len(), 24);
    assert!(orders.values().all(|count| (850..1150).contains(count)), "{orders:?}");
    random.shuffle::<u8>(&mut []);
    assert_eq!(random.choose(&[9]), Some(&9));
}

#[cfg(feature = "glam")]
#[test]
fn directions_points_and_rotations_favour_no_side() {
    use ancho_burst::math::quat;
    use glam::{Vec2, Vec3, Vec4};

    let mut random = Random::new(6);
    let (mut flat, mut space, mut turned) = (Vec2::ZERO, Vec3::ZERO, Vec4::ZERO);
    let (mut inner, mut squares) = ([0; 2], Vec4::ZERO);
    for _ in 0..10_000 {
        let (circle, sphere, rotation) =
            (random.on_unit_circle(), random.on_unit_sphere(), random.rotation());
        let lengths =
            [circle.length_squared(), sphere.length_squared(), quat::dot(rotation, rotation)];
        assert!(lengths.iter().all(|length| (length - 1.0).abs() < 1e-5), "{lengths:?}");
        flat += circle;
        space += quat::rotate(rotation, sphere);
        turned += Vec4::from(rotation);
        squares += Vec4::from(rotation) * Vec4::from(rotation);
        let (disk, ball) = (random.inside_unit_circle(), random.inside_unit_sphere());
        assert!(disk.length() <= 1.00001 && ball.length() <= 1.00001);
        inner[0] += u32::from(disk.length() < 0.5);
        inner[1] += u32::from(ball.length() < 0.5);
    }
    assert!((flat / 1e4).abs().max_element() < 0.03 && (space / 1e4).abs().max_element() < 0.03);
    assert!((turned / 1e4).abs().max_element() < 0.03);
    assert!((squares / 1e4 - Vec4::splat(0.25)).abs().max_element() < 0.02, "{squares}");
    // A quarter of the area and an eighth of the volume.
    assert!((2350..2650).contains(&inner[0]) && (1150..1350).contains(&inner[1]), "{inner:?}");
}

#[test]
fn every_level_draws_the_same_bits() {
    CpuLevel::V4.limit();
    let draw = |level| {
        let mut generators: Vec<Random> = (0..1001).map(|i| Random::from_index(7, i)).collect();
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut numbers = vec![[0_u32; 4]; generators.len()];
        for _ in 0..4 {
            dispatch_at_most(
                level,
                #[inline(always)]
                || {
                    for (random, number) in generators.iter_mut().zip(&mut numbers) {
                        *number = [
                            random.next_u32(),
                            random.range(-50_i32..50) as u32,
                            random.range(-2.0_f32..3.0).to_bits(),
                            random.normal().to_bits(),
                        ];
                    }
                },
            );
            for bits in numbers.iter().flatten() {
                hash = (hash ^ u64::from(*bits)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        hash
    };
    for level in CpuLevel::ALL {
        assert_eq!(draw(level), HASH, "at {level}");
    }
}

/// One hash for every level, build profile and platform. A change here changes the results of every replayed simulation.
const HASH: u64 = 16_276_665_513_566_039_819;
