//! Random numbers of the tests: seeded, so that a failure can be seen again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The environment variable that gives the seed of a run that is to be repeated.
pub const SEED: &str = "STORAGE_CHECK_SEED";

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub struct Dice {
    seed: u64,
    state: u64,
}

impl Dice {
    /// Dice of the seed that the environment names, else of this moment. The caller prints the seed.
    #[must_use]
    pub fn new() -> Dice {
        let named = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
        let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = named.unwrap_or_else(|| moment.as_secs() << 20 ^ u64::from(moment.subsec_nanos()));
        Dice::of(seed)
    }

    /// Dice of this seed.
    #[must_use]
    pub fn of(seed: u64) -> Dice {
        Dice { seed, state: seed }
    }

    /// What [`SEED`] must be for the same numbers.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Any number.
    pub fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`, or zero.
    pub fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    /// Uniform in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `low..high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Nearly standard normal: twelve uniform draws (Irwin and Hall).
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// A span shorter than `end`.
    pub fn span(&mut self, end: Duration) -> Duration {
        Duration::from_micros(self.below(u64::try_from(end.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl Default for Dice {
    fn default() -> Dice {
        Dice::new()
    }
}
