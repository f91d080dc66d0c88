//! Sums of a noise at several frequencies.

use super::lattice::inlined;

/// A sum of several octaves of a noise, each with a higher frequency and a smaller amplitude than the one before.
///
/// Also known as fractional Brownian motion. The number of octaves is a constant, because the compiler vectorises only loops without
/// loops in them: up to eight octaves are written out.
///
/// # Examples
///
/// ```
/// use ancho_burst::math::noise::{Fractal, perlin_2d};
///
/// let rough = Fractal::<3> { lacunarity: 2.0, gain: 0.7 };
/// let height = rough.sum([0.3, 0.6], |octave, point| perlin_2d(octave, point));
/// // Ridges: sharp where the noise crosses zero.
/// let ridge = rough.sum([0.3, 0.6], |octave, point| 1.0 - 2.0 * perlin_2d(octave, point).abs());
/// assert!(height.abs() <= 1.0 && ridge.abs() <= 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(alias = "fbm")]
pub struct Fractal<const OCTAVES: usize> {
    /// The frequency of an octave divided by that of the octave before. Usually 2.
    pub lacunarity: f32,
    /// The amplitude of an octave divided by that of the octave before. Usually 0.5; larger numbers are rougher.
    pub gain: f32,
}

impl<const OCTAVES: usize> Fractal<OCTAVES> {
    /// Returns the weighted mean of `noise(octave, point × frequency)`. Its range is that of the noise, if the gain is not negative.
    ///
    /// The closure gets the number of the octave, to be added to the seed: equal seeds make details line up at the origin.
    #[inline(always)]
    #[must_use]
    pub fn sum<const N: usize>(self, point: [f32; N], noise: impl Fn(u32, [f32; N]) -> f32) -> f32 {
        const { assert!(OCTAVES > 0, "a fractal has at least one octave") };
        let mut point = point;
        let (mut sum, mut amplitude, mut total) = (0.0, 1.0, 0.0);
        let mut octave = inlined(
            #[inline(always)]
            |number: u32| {
                sum += noise(number, point) * amplitude;
                total += amplitude;
                amplitude *= self.gain;
                for coordinate in &mut point {
                    *coordinate *= self.lacunarity;
                }
            },
        );
        macro_rules! octaves {
            ($($number:literal)*) => {$(
                if $number < OCTAVES {
                    octave($number as u32);
                }
            )*};
        }
        octaves!(0 1 2 3 4 5 6 7);
        for number in 8..OCTAVES {
            octave(number as u32);
        }
        sum / total
    }
}

impl<const OCTAVES: usize> Default for Fractal<OCTAVES> {
    /// Returns a fractal whose octaves double the frequency and halve the amplitude.
    fn default() -> Self {
        Self { lacunarity: 2.0, gain: 0.5 }
    }
}
