//! Simulated drives whose truth is known: how often `find` is right, and never less than it must.

use super::cliff::find;
use super::series::{Series, Step};
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

/// At most so many of a thousand of `runs` seeds may fail; those that do are named.
fn check(runs: u64, permille: usize, holds: impl Fn(u64) -> Result<(), String>) {
    let fails = |seed| holds(seed).err().map(|why| format!("seed {seed}: {why}\n"));
    let failures: Vec<String> = (0..runs).filter_map(fails).collect();
    let found = failures.len() * 1_000;
    assert!(found <= permille * runs as usize, "{} of {runs}:\n{}", failures.len(), failures.concat());
}

/// A fall of over three times the noise, anywhere from 4 % to 96 % of the fill, on 40 to 800 samples;
/// every second drive has outliers, every third a slope.
fn falls(seed: u64) -> Result<(), String> {
    let mut random = Random(seed);
    let (noise, drop) = loop {
        let (noise, drop) = (random.between(0.005, 0.1), random.between(0.15, 0.9));
        if drop > 3.0 * noise {
            break (noise, drop);
        }
    };
    let (fast, at) = (random.between(200.0, 3000.0), random.between(0.04, 0.96));
    let samples = random.between(40.0, 800.0);
    let slope = if seed.is_multiple_of(3) { random.between(0.0, 0.5) } else { 0.0 };
    let time = 1e6 / fast * (at + (1.0 - at) / (1.0 - drop));
    let rate = |x: f64| fast * (1.0 - slope * x) * if x < at { 1.0 } else { 1.0 - drop };
    let mut steps = drive(time / samples, noise, &mut random, rate);
    if seed.is_multiple_of(2) {
        outliers(&mut steps, &mut random);
    }
    let series = Series::new(steps);
    let found = find(&series);
    let truth = at * 1e12;
    let step = fast * 1e6 * time / samples;
    let what =
        format!("noise {noise:.3} drop {drop:.3} slope {slope:.2} at {at:.3} of {} samples", series.steps().len());
    match &found.cliffs[..] {
        [cliff] if (cliff.at.0 as f64 - truth).abs() > step => {
            Err(format!("{what}: off by {:.2} steps", (cliff.at.0 as f64 - truth) / step))
        }
        [cliff] if (cliff.low.0 as f64) > truth || (cliff.high.0 as f64) < truth => {
            Err(format!("{what}: not in {cliff:?}"))
        }
        [_] if found.recoveries.is_empty() => Ok(()),
        other => Err(format!("{what}: {} cliffs, {} recoveries", other.len(), found.recoveries.len())),
    }
}

/// One step in a hundred takes from a half to four times its time.
fn outliers(steps: &mut [Step], random: &mut Random) {
    for step in steps {
        if random.unit() < 0.01 {
            step.elapsed_ns.0 = (step.elapsed_ns.0 as f64 * random.between(0.5, 4.0)) as u64;
        }
    }
}

/// A series without a cliff.
fn quiet(seed: u64) -> Result<(), String> {
    const TAU: f64 = std::f64::consts::TAU;
    let mut random = Random(seed);
    let noise = random.between(0.005, 0.1);
    let samples = random.between(40.0, 800.0);
    let fast = random.between(100.0, 3000.0);
    let (kind, size) = (seed % 14, random.between(0.05, 0.5));
    let (turns, phase) = (libm::exp(random.between(0.0, 6.0)), random.unit());
    let share = random.between(0.05, 0.95);
    let stay = libm::exp(-1.0 / random.between(1.0, 1.0 + samples / 60.0));
    let rate = |x: f64| match kind {
        1 => fast * (1.0 - size * x),
        2 => fast * (1.0 - size * x * x),
        3 => fast * (1.0 + size * libm::sin(TAU * (turns * x + phase))),
        // Square waves of three and more periods, and bursts at the start of each of as many segments.
        4 => fast * if (turns * 3.0 * x + phase).fract() < 0.5 { 1.0 + size } else { 1.0 - size },
        5 => fast * if (turns * 3.0 * x).fract() < share { 1.0 + 2.0 * size } else { 1.0 },
        // A disk's zones.
        6 => fast * (1.0 - size * (x * 16.0).floor() / 16.0),
        _ => fast,
    };
    let noise = if matches!(kind, 7..=10) { 0.01 } else { noise };
    let mut steps = drive(1e6 / fast / samples, noise, &mut random, rate);
    let (mut wander, mut slow) = (0.0, false);
    for step in &mut steps {
        wander = stay * wander + libm::sqrt(1.0 - stay * stay) * random.normal();
        slow = if random.unit() < 1.0 - stay { random.unit() < share } else { slow };
        let times = match kind {
            7 => libm::exp(0.3 * size * wander),
            8 => libm::exp(0.2 * wander + random.between(-0.3, 0.3)),
            9 => 1.0 + if slow { size } else { 0.0 },
            10 => 1.0 + if random.unit() < share { size } else { 0.0 },
            11 => libm::exp(random.between(-0.3, 0.3)),
            12 if random.unit() < 0.02 => random.between(0.3, 10.0),
            13 => libm::exp(0.05 * random.normal() / random.between(0.2, 1.0)),
            _ => 1.0,
        };
        step.elapsed_ns.0 = (step.elapsed_ns.0 as f64 * times) as u64;
    }
    let series = Series::new(steps);
    match find(&series).cliffs.first() {
        None => Ok(()),
        Some(cliff) => Err(format!(
            "kind {kind} size {size:.2} turns {turns:.1} share {share:.2} stay {stay:.2} noise {noise:.3}, {} samples: {:.0} to {:.0} at {:.3}",
            series.steps().len(),
            cliff.before.mb_s(),
            cliff.after.mb_s(),
            cliff.at.0 as f64 / 1e12
        )),
    }
}

#[test]
fn a_fall_of_over_three_times_the_noise_is_found_within_a_sampling_step() {
    check(500, 20, falls);
}

#[test]
fn flat_sloped_and_oscillating_drives_have_no_cliff() {
    check(700, 5, quiet);
}
