//! Seeded random numbers: the same seed gives the same draws everywhere.
//!
//! Pure, on `libm`.

/// SplitMix64 (Steele, Lea & Flood 2014, *Fast splittable pseudorandom number generators*, OOPSLA).
#[derive(Clone, Debug)]
pub(in crate::verdict) struct Draws(u64);

impl Draws {
    pub(in crate::verdict) fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    /// Between 0 and 1, neither of them.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((z >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Standard normal (Box & Muller 1958).
    pub(in crate::verdict) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }

    /// Student's t with 3 degrees of freedom, brought to a variance of 1: tails far heavier than normal.
    pub(super) fn heavy(&mut self) -> f64 {
        let square: f64 = (0..3).map(|_| self.normal()).map(|normal| normal * normal).sum();
        // Its own variance is 3, and the square's mean is 3.
        self.normal() / libm::sqrt(square)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_mean_0_and_variance_1() {
        let mut draws = Draws::new(1);
        let normal: Vec<f64> = (0..100_000).map(|_| draws.normal()).collect();
        let mean = normal.iter().sum::<f64>() / 1e5;
        let square = normal.iter().map(|draw| draw * draw).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.01 && (square - 1.0).abs() < 0.02, "{mean} {square}");
        let mut heavy: Vec<f64> = (0..100_000).map(|_| draws.heavy().abs()).collect();
        heavy.sort_by(f64::total_cmp);
        // t(3) exceeds 5.841 on either side with 1 % (printed tables); here it is divided by √3.
        assert!((heavy[99_000] * libm::sqrt(3.0) / 5.841 - 1.0).abs() < 0.05, "{}", heavy[99_000]);
    }
}
