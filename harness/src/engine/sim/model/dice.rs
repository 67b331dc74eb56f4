//! Seeded draws that are the same on every machine.

/// SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
#[derive(Clone, Copy, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The sequence of `seed` that is called `what`; others of the same seed are independent of it.
    #[must_use]
    pub fn new(seed: u64, what: &str) -> Dice {
        // FNV-1a: names differ in few bytes, SplitMix64's finalizer does the rest.
        let name = what.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let mut dice = Dice(seed ^ name);
        Dice(dice.bits() ^ name.rotate_left(32))
    }

    /// 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Uniform in (0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Standard normal (Box & Muller 1958).
    pub fn normal(&mut self) -> f64 {
        libm::sqrt(-2.0 * libm::log(self.uniform())) * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(self.uniform())
    }

    /// A factor with median 1 and, while it is small, the coefficient of variation `cv` (log-normal).
    pub fn factor(&mut self, cv: f64) -> f64 {
        libm::exp(cv * self.normal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_moments_they_claim() {
        for seed in 0..5 {
            let mut dice = Dice::new(seed, "moments");
            let n = 100_000;
            let normal: Vec<f64> = (0..n).map(|_| dice.normal()).collect();
            let mean = normal.iter().sum::<f64>() / f64::from(n);
            let square = normal.iter().map(|z| z * z).sum::<f64>() / f64::from(n);
            assert!(mean.abs() < 0.015 && (square - 1.0).abs() < 0.02, "seed {seed}: {mean}, {square}");
            let wait = (0..n).map(|_| dice.exponential(3.0)).sum::<f64>() / f64::from(n);
            assert!((wait - 3.0).abs() < 0.05, "seed {seed}: {wait}");
        }
    }

    #[test]
    fn names_and_seeds_give_sequences_of_their_own() {
        let first = |seed, name| Dice::new(seed, name).bits();
        assert_eq!(first(1, "stall"), first(1, "stall"));
        assert_ne!(first(1, "stall"), first(2, "stall"));
        assert_ne!(first(1, "stall"), first(1, "jitter"));
    }
}
