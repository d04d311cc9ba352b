//! The random generator: one fixed algorithm, with a stream for each named object.
//!
//! The generator is xoshiro256++ (Blackman and Vigna 2018), whose output will not change, so that a seed has the same
//! random numbers in every version. A stream's state is derived from the run's seed and the object's name: adding an
//! object to a run does not change the numbers of others.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of the object `name` in a run with this seed.
    #[must_use]
    pub fn stream(seed: u64, name: &str) -> Self {
        Rng(Xoshiro256PlusPlus::seed_from_u64(derive_seed(seed, name)))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number uniform on \[0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// A number uniform on (0, 1], whose logarithm is finite.
    pub fn uniform_open(&mut self) -> f64 {
        1.0 - self.uniform()
    }

    /// True with probability `p` (never for `p <= 0`, always for `p >= 1`, in both cases without drawing a number).
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && (p >= 1.0 || self.uniform() < p)
    }

    /// A whole number uniform on `0..n`, with negligible bias (multiply-shift); 0 for `n = 0`.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
}

/// The seed of the object `name` in a run with seed `seed` (FNV-1a over both).
#[must_use]
pub fn derive_seed(seed: u64, name: &str) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(name.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_pinned() {
        let mut rng = Rng::stream(1, "link.aqm");
        let first: Vec<u64> = (0..3).map(|_| rng.bits()).collect();
        assert_eq!(first, PINNED);
    }

    const PINNED: [u64; 3] = [0x3688_fba6_54c5_f082, 0x1bcf_dc28_71cb_1fe8, 0xf396_7468_5825_85c2];

    #[test]
    fn names_and_seeds_give_different_streams() {
        let draw = |seed, name| Rng::stream(seed, name).bits();
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn uniform_has_the_moments_of_a_uniform() {
        let mut rng = Rng::stream(3, "moments");
        let n = 100_000;
        let xs: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
        let mean = xs.iter().sum::<f64>() / f64::from(n);
        let var = xs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        assert!((var - 1.0 / 12.0).abs() < 0.002, "{var}");
    }

    #[test]
    fn below_covers_its_range() {
        let mut rng = Rng::stream(4, "below");
        let seen: std::collections::BTreeSet<u64> = (0..1000).map(|_| rng.below(7)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), vec![0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(rng.below(0), 0);
    }
}
