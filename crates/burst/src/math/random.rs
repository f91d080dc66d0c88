//! A generator of pseudo-random numbers.

use std::fmt::Debug;
use std::ops::{Range, RangeInclusive};

use super::lane::select;
use super::{ln, sincos_near, sqrt};

/// A generator of pseudo-random numbers with a state of eight bytes, which yields the same bits on every machine.
///
/// Store one in each entity that needs random numbers, and create it with [`from_index`](Self::from_index). Loops over the entities then
/// need no order, so that they can run in parallel, and they vectorise. A component with a `Random` is forked, hashed and
/// serialized as its other fields.
///
/// The algorithm is xoroshiro64\*\* by Blackman and Vigna, which has a period of 2^64 - 1. It consists of operations on 32 bits,
/// of which a vector has twice as many lanes as for 64 bits. It is not suited for cryptography. Its numbers never change in a
/// later version without a line in the changelog.
///
/// Each method states by how many steps it advances the state. Most methods advance it by the same number in every call.
///
/// # Examples
///
/// ```
/// use ancho_burst::math::Random;
///
/// let mut random = Random::new(7);
/// let die = random.range(1..=6);
/// assert!((1..=6).contains(&die));
/// assert!((-1.0..1.0).contains(&random.range(-1.0_f32..1.0)));
/// assert_eq!(Random::new(7).range(1..=6), die);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[doc(alias = "Rng")]
#[doc(alias = "CreateFromIndex")]
pub struct Random {
    state: [u32; 2],
}

impl Random {
    /// Creates a generator from a seed. Different seeds have different states.
    #[inline(always)]
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self::from_index(seed, 0)
    }

    /// Creates the generator with number `index` of those with the same seed.
    ///
    /// Generators of one seed have different states, and neighbours are as different as any others. Two of a million generators,
    /// each of which is used a thousand times, share a part of their numbers with a probability of 0.0001.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::Random;
    ///
    /// let mut heights = [0.0; 4];
    /// for (index, height) in heights.iter_mut().enumerate() {
    ///     *height = Random::from_index(1, index as u64).next_f32();
    /// }
    /// assert_eq!(heights[2], Random::from_index(1, 2).next_f32());
    /// assert_ne!(heights[2], heights[3]);
    /// ```
    #[inline(always)]
    #[must_use]
    pub const fn from_index(seed: u64, index: u64) -> Self {
        let bits = mix(mix(seed.wrapping_add(GOLDEN)).wrapping_add(index));
        Self::from_state([bits as u32, (bits >> 32) as u32])
    }

    /// Creates a generator that continues at a [state](Self::state).
    ///
    /// The state of two zeros, which would yield only zeros, is replaced by another one. For seeds use [`new`](Self::new): similar
    /// states have similar first numbers.
    #[inline(always)]
    #[must_use]
    pub const fn from_state(state: [u32; 2]) -> Self {
        let second = if state[0] | state[1] == 0 { GOLDEN as u32 } else { state[1] };
        Self { state: [state[0], second] }
    }

    /// Returns the state, from which [`from_state`](Self::from_state) continues.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::Random;
    ///
    /// let mut random = Random::new(3);
    /// let mut copy = Random::from_state(random.state());
    /// assert_eq!(random.next_u64(), copy.next_u64());
    /// ```
    #[inline(always)]
    #[must_use]
    pub const fn state(self) -> [u32; 2] {
        self.state
    }

    /// Returns 32 random bits. Advances by one step.
    #[inline(always)]
    #[doc(alias = "NextUInt")]
    pub const fn next_u32(&mut self) -> u32 {
        let [first, second] = self.state;
        let both = first ^ second;
        self.state = [first.rotate_left(26) ^ both ^ both << 9, both.rotate_left(13)];
        first.wrapping_mul(0x9E37_79BB).rotate_left(5).wrapping_mul(5)
    }

    /// Returns 64 random bits. Advances by two steps.
    #[inline(always)]
    pub const fn next_u64(&mut self) -> u64 {
        let high = self.next_u32() as u64;
        high << 32 | self.next_u32() as u64
    }

    /// Returns a number from 0 to 1, without 1: a multiple of 2^-24. Advances by one step.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::{dispatch, math::Random};
    ///
    /// let mut generators: Vec<Random> = (0..100).map(|index| Random::from_index(1, index)).collect();
    /// let mut numbers = vec![0.0; 100];
    /// dispatch(|| {
    ///     for (random, number) in generators.iter_mut().zip(&mut numbers) {
    ///         *number = random.next_f32();
    ///     }
    /// });
    /// assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
    /// ```
    #[inline(always)]
    #[doc(alias = "NextFloat")]
    pub const fn next_f32(&mut self) -> f32 {
        // The CPU converts signed integers.
        (self.next_u32() >> 8) as i32 as f32 * (1.0 / 16_777_216.0)
    }

    /// Returns a number from 0 to 1, without 1: a multiple of 2^-53. Advances by two steps.
    #[inline(always)]
    #[doc(alias = "NextDouble")]
    pub const fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as i64 as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns `true` or `false`, each in half of the calls. Advances by one step.
    #[inline(always)]
    pub const fn next_bool(&mut self) -> bool {
        self.next_u32() >> 31 != 0
    }

    /// Returns `true` with a probability, which is a number from 0 to 1. Advances by one step.
    ///
    /// Probabilities of 0 and below never yield `true`, 1 and above always do. NaN never does.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::Random;
    ///
    /// let mut random = Random::new(1);
    /// let hits = (0..1000).filter(|_| random.chance(0.25)).count();
    /// assert!((200..300).contains(&hits));
    /// ```
    #[inline(always)]
    pub const fn chance(&mut self, probability: f32) -> bool {
        self.next_f32() < probability
    }

    /// Returns a number in a range, `from..to` without `to` or `from..=to`, of integers or of floats.
    ///
    /// Integers of up to 32 bits and `f32` advance by one step, `f64` by two. Integers of 64 bits, `usize` and `isize` advance by
    /// one step if the range has at most 2^32 numbers, otherwise by two. A range of `n` integers yields some of them more often
    /// than others, by `n` parts in 2^32; with two steps in 2^64. Rejecting numbers would avoid that, but also vectorisation.
    ///
    /// # Panics
    ///
    /// Panics with code A0250 if the range is empty. Panics too if a bound is NaN, or the bounds are infinitely far apart.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::Random;
    ///
    /// let mut random = Random::new(5);
    /// let index: usize = random.range(0..10);
    /// let angle = random.range(-180.0_f32..180.0);
    /// assert!(index < 10 && (-180.0..180.0).contains(&angle));
    /// ```
    #[inline(always)]
    #[track_caller]
    #[doc(alias = "NextInt")]
    #[doc(alias = "random_range")]
    pub fn range<T>(&mut self, range: impl RandomRange<T>) -> T {
        range.draw(self)
    }

    /// Returns a number of the normal distribution with mean 0 and standard deviation 1. Advances by two steps.
    ///
    /// The result is at most 5.8 away from 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::Random;
    ///
    /// let mut random = Random::new(2);
    /// let near = (0..1000).filter(|_| random.normal().abs() < 1.0).count();
    /// assert!((630..740).contains(&near)); // 68.3 % of the numbers
    /// ```
    #[inline(always)]
    #[doc(alias = "gaussian")]
    pub fn normal(&mut self) -> f32 {
        // Box and Muller (1958). The logarithm is of a number above 0.
        let radius = sqrt(-2.0 * ln(1.0 - self.next_f32()));
        radius * self.circle()[0]
    }

    /// Puts the elements in a random order. Every order has the same probability. Advances by one step per element but one.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::Random;
    ///
    /// let mut cards = [1, 2, 3, 4, 5];
    /// Random::new(1).shuffle(&mut cards);
    /// assert_ne!(cards, [1, 2, 3, 4, 5]);
    /// cards.sort();
    /// assert_eq!(cards, [1, 2, 3, 4, 5]);
    /// ```
    pub fn shuffle<T>(&mut self, elements: &mut [T]) {
        for last in (1..elements.len()).rev() {
            elements.swap(self.range(0..=last), last);
        }
    }

    /// Returns one of the elements, each with the same probability, or `None` for an empty slice. Advances by one step, or by no
    /// step for an empty slice.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::Random;
    ///
    /// let mut random = Random::new(1);
    /// assert!(random.choose(&["red", "green", "blue"]).is_some());
    /// assert_eq!(random.choose::<u32>(&[]), None);
    /// ```
    pub fn choose<'e, T>(&mut self, elements: &'e [T]) -> Option<&'e T> {
        if elements.is_empty() { None } else { elements.get(self.range(0..elements.len())) }
    }

    /// Returns a point of the unit circle. Advances by one step.
    #[inline(always)]
    fn circle(&mut self) -> [f32; 2] {
        let (sin, cos) = sincos_near(self.next_f32() * std::f32::consts::TAU);
        [cos, sin]
    }

    /// Returns an integer below `count`, which is from 1 to 2^32. Advances by one step.
    #[inline(always)]
    const fn below(&mut self, count: u64) -> u32 {
        ((self.next_u32() as u64 * count) >> 32) as u32
    }

    /// Returns an integer from 0 to `last`. Advances by one step or two.
    #[inline(always)]
    const fn up_to(&mut self, last: u64) -> u64 {
        if last <= u32::MAX as u64 {
            return self.below(last + 1) as u64;
        }
        ((self.next_u64() as u128 * (last as u128 + 1)) >> 64) as u64
    }
}

/// Directions, points and rotations. They need the feature `glam`.
#[cfg(feature = "glam")]
impl Random {
    /// Returns a direction in the plane: a vector of length one. Advances by one step.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::Random;
    ///
    /// let direction = Random::new(1).on_unit_circle();
    /// assert!((direction.length() - 1.0).abs() < 1e-6);
    /// ```
    #[inline(always)]
    #[doc(alias = "NextFloat2Direction")]
    pub fn on_unit_circle(&mut self) -> glam::Vec2 {
        self.circle().into()
    }

    /// Returns a point at most one away from the origin, with the same density everywhere. Advances by two steps.
    #[inline(always)]
    pub fn inside_unit_circle(&mut self) -> glam::Vec2 {
        let radius = sqrt(self.next_f32());
        self.on_unit_circle() * radius
    }

    /// Returns a direction in space: a vector of length one. Advances by two steps.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::Random;
    ///
    /// let direction = Random::new(1).on_unit_sphere();
    /// assert!((direction.length() - 1.0).abs() < 1e-6);
    /// ```
    #[inline(always)]
    #[doc(alias = "NextFloat3Direction")]
    pub fn on_unit_sphere(&mut self) -> glam::Vec3 {
        // The area of a sphere between two heights depends on their distance alone (Archimedes).
        let z = self.next_f32() * 2.0 - 1.0;
        let radius = sqrt(1.0 - z * z);
        let [x, y] = self.circle();
        glam::Vec3::new(x * radius, y * radius, z)
    }

    /// Returns a point at most one away from the origin, with the same density everywhere. Advances by three steps.
    #[inline(always)]
    pub fn inside_unit_sphere(&mut self) -> glam::Vec3 {
        let radius = super::pow(self.next_f32(), 1.0 / 3.0);
        self.on_unit_sphere() * radius
    }

    /// Returns a rotation: a quaternion of length one. Every rotation has the same probability. Advances by three steps.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::{Random, quat};
    ///
    /// let rotation = Random::new(1).rotation();
    /// assert!((quat::length(rotation) - 1.0).abs() < 1e-6);
    /// ```
    #[inline(always)]
    #[doc(alias = "NextQuaternionRotation")]
    pub fn rotation(&mut self) -> glam::Quat {
        // Shoemake, "Uniform random rotations" (1992): two points of circles, weighted.
        let share = self.next_f32();
        let (first, second) = (sqrt(1.0 - share), sqrt(share));
        let ([a, b], [c, d]) = (self.circle(), self.circle());
        glam::Quat::from_xyzw(a * first, b * first, c * second, d * second)
    }
}

impl Default for Random {
    /// Returns the generator of seed 0.
    fn default() -> Self {
        Self::new(0)
    }
}

/// A range of numbers for [`Random::range`]: `from..to` or `from..=to`.
pub trait RandomRange<T>: sealed::Sealed {
    /// Draws a number of the range.
    #[doc(hidden)]
    #[track_caller]
    fn draw(self, random: &mut Random) -> T;
}

/// A number type for [`Random::range`]: all integers up to 64 bits, `f32` and `f64`.
pub trait RandomNumber: Copy + PartialOrd + Debug + sealed::Sealed {
    /// Draws a number from `from` to below `to`, which is above `from`.
    #[doc(hidden)]
    fn draw_below(random: &mut Random, from: Self, to: Self) -> Self;

    /// Draws a number from `from` to `to`, which is not below `from`.
    #[doc(hidden)]
    fn draw_up_to(random: &mut Random, from: Self, to: Self) -> Self;

    /// Returns whether numbers can be drawn between two bounds in order.
    #[doc(hidden)]
    fn is_finite(from: Self, to: Self) -> bool;
}

mod sealed {
    /// Prevents implementations of other crates.
    #[expect(unnameable_types, reason = "other crates cannot implement what they cannot name")]
    pub trait Sealed {}
}

impl<T: RandomNumber> sealed::Sealed for Range<T> {}
impl<T: RandomNumber> sealed::Sealed for RangeInclusive<T> {}

impl<T: RandomNumber> RandomRange<T> for Range<T> {
    #[inline(always)]
    #[track_caller]
    fn draw(self, random: &mut Random) -> T {
        // Before the state changes, so that the compiler can test it once before a loop.
        if !(self.start < self.end && T::is_finite(self.start, self.end)) {
            refuse(&self);
        }
        T::draw_below(random, self.start, self.end)
    }
}

impl<T: RandomNumber> RandomRange<T> for RangeInclusive<T> {
    #[inline(always)]
    #[track_caller]
    fn draw(self, random: &mut Random) -> T {
        if !(self.start() <= self.end() && T::is_finite(*self.start(), *self.end())) {
            refuse(&self);
        }
        T::draw_up_to(random, *self.start(), *self.end())
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn refuse(range: &dyn Debug) -> ! {
    panic!(
        "A0250: there is no random number in the range {range:?}; pass finite bounds, the first below the second"
    );
}

/// Implements `RandomNumber` for integers. `$unsigned` has the same size, and `$draw` a number from 0 to the given one.
macro_rules! integers {
    ($($number:ident $unsigned:ident |$random:ident, $last:ident| $draw:expr;)*) => {$(
        impl sealed::Sealed for $number {}

        impl RandomNumber for $number {
            #[inline(always)]
            fn draw_below(random: &mut Random, from: Self, to: Self) -> Self {
                Self::draw_up_to(random, from, to.wrapping_sub(1))
            }

            #[inline(always)]
            fn draw_up_to($random: &mut Random, from: Self, to: Self) -> Self {
                let $last = to.wrapping_sub(from) as $unsigned;
                from.wrapping_add($draw as $number)
            }

            #[inline(always)]
            fn is_finite(_: Self, _: Self) -> bool {
                true
            }
        }
    )*};
}

integers! {
    u8 u8 |random, last| random.below(u64::from(last) + 1);
    i8 u8 |random, last| random.below(u64::from(last) + 1);
    u16 u16 |random, last| random.below(u64::from(last) + 1);
    i16 u16 |random, last| random.below(u64::from(last) + 1);
    u32 u32 |random, last| random.below(u64::from(last) + 1);
    i32 u32 |random, last| random.below(u64::from(last) + 1);
    u64 u64 |random, last| random.up_to(last);
    i64 u64 |random, last| random.up_to(last);
    usize usize |random, last| random.up_to(last as u64);
    isize usize |random, last| random.up_to(last as u64);
}

/// Implements `RandomNumber` for floats. `$unit` is a number from 0 to 1 without 1, and `$greatest` the largest of these.
macro_rules! floats {
    ($($number:ident $unit:ident $greatest:expr;)*) => {$(
        impl sealed::Sealed for $number {}

        impl RandomNumber for $number {
            #[inline(always)]
            fn draw_below(random: &mut Random, from: Self, to: Self) -> Self {
                let number = from + (to - from) * random.$unit();
                // The sum may be rounded up to the end of the range.
                select(number < to, number, from)
            }

            #[inline(always)]
            fn draw_up_to(random: &mut Random, from: Self, to: Self) -> Self {
                let number = from + (to - from) * (random.$unit() * (1.0 / $greatest));
                select(number < to, number, to)
            }

            #[inline(always)]
            fn is_finite(from: Self, to: Self) -> bool {
                (to - from).is_finite()
            }
        }
    )*};
}

floats! {
    f32 next_f32 (1.0 - f32::EPSILON / 2.0);
    f64 next_f64 (1.0 - f64::EPSILON / 2.0);
}

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes bits: a bijection, the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
#[inline(always)]
const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}
