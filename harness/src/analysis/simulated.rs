//! For tests: simulated fills and series, all from a seed.
//!
//! How often the analysis is right on drives of many sorts, tests/tests/simulated.rs says.

use super::series::Step;
use crate::sample::Sample;
use crate::units::{Bytes, Nanos};

/// SplitMix64 (Steele, Lea and Flood 2014): the same draws from a seed everywhere.
pub(super) struct Random(pub(super) u64);

impl Random {
    /// Uniform in `0.0..1.0`.
    pub(super) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Nearly standard normal: twelve uniform draws (Irwin and Hall).
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// A fill of levels in order, each of so many GB at so many MB/s.
#[derive(Clone, Debug)]
pub(super) struct Fill {
    pub(super) levels: Vec<(f64, f64)>,
    /// Equal parts; none of the levels knows of them.
    pub(super) segments: u32,
    /// The share of each segment that goes at double speed at its start.
    pub(super) burst: f64,
    /// Seconds that the flush at each segment's end takes.
    pub(super) flush: f64,
    /// Standard deviation of the rate from step to step.
    pub(super) noise: f64,
    /// The sampling step.
    pub(super) seconds: f64,
}

impl Fill {
    /// In one segment, a step a second, 2 % noise.
    pub(super) fn new(levels: &[(f64, f64)]) -> Fill {
        Fill { levels: levels.to_vec(), segments: 1, burst: 0.0, flush: 0.0, noise: 0.02, seconds: 1.0 }
    }

    /// The samples of the fill, cut at intervals and segments as a run cuts them.
    pub(super) fn samples(&self) -> Vec<Sample> {
        let mut random = Random(1);
        let mut samples = Vec::new();
        let (mut interval, mut left, mut luck) = (0, self.seconds, 1.0);
        for segment in 0..self.segments {
            let mut open = Sample { segment, interval, ..Sample::default() };
            for (bytes, seconds) in self.pieces(segment) {
                let (mut bytes, mut seconds) = (bytes, if bytes > 0.0 { seconds / luck } else { seconds });
                while seconds > 1e-9 {
                    let spent = seconds.min(left);
                    let moved = bytes * spent / seconds;
                    open.bytes.0 += moved.round() as u64;
                    open.elapsed_ns.0 += (spent * 1e9).round() as u64;
                    (bytes, seconds, left) = (bytes - moved, seconds - spent, left - spent);
                    if left < 1e-9 {
                        (interval, left) = (interval + 1, self.seconds);
                        samples.push(std::mem::replace(&mut open, Sample { segment, interval, ..Sample::default() }));
                        let next = (1.0 + self.noise * random.normal()).max(0.1);
                        seconds *= if bytes > 0.0 { luck / next } else { 1.0 };
                        luck = next;
                    }
                }
            }
            samples.extend((open.elapsed_ns.0 > 0).then_some(open));
        }
        samples
    }

    /// Bytes and seconds of what a segment does one after the other, the flush last.
    fn pieces(&self, segment: u32) -> Vec<(f64, f64)> {
        let length = self.levels.iter().map(|level| level.0 * 1e9).sum::<f64>() / f64::from(self.segments);
        let start = length * f64::from(segment);
        let mut pieces = Vec::new();
        let mut from = 0.0;
        for &(gb, mb_s) in &self.levels {
            let to = from + gb * 1e9;
            let fast_end = start + self.burst * length;
            for (first, last, times) in [(start, fast_end, 2.0), (fast_end, start + length, 1.0)] {
                let bytes = f64::min(to, last) - f64::max(from, first);
                if bytes > 0.5 {
                    pieces.push((bytes, bytes / (mb_s * 1e6 * times)));
                }
            }
            from = to;
        }
        pieces.push((0.0, self.flush));
        pieces
    }
}

/// A simulated fill of 1000 GB, sampled every `seconds`; `rate` in MB/s at a share of the bytes.
pub(super) fn drive(seconds: f64, noise: f64, random: &mut Random, rate: impl Fn(f64) -> f64) -> Vec<Step> {
    const TOTAL: f64 = 1e12;
    const FINE: usize = 20;
    let mut done = 0.0;
    let mut steps = Vec::new();
    while done < TOTAL && steps.len() < 20_000 {
        let luck = (1.0 + noise * random.normal()).max(0.05);
        let start = done;
        for _ in 0..FINE {
            done += rate(done / TOTAL) * 1e6 * luck * seconds / FINE as f64;
        }
        steps.push(Step { elapsed_ns: Nanos((seconds * 1e9) as u64), bytes: Bytes((done - start) as u64) });
    }
    steps
}
