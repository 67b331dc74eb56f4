//! Simulated series whose truth is known: how often the analysis is right, and when it invents.
//!
//! All from a seed. Knows nothing of how the analysis finds anything.

use harness::analysis::cliff::Levels;
use harness::analysis::series::{Series, Step};
use harness::units::{Bytes, Nanos};

use crate::dice::Dice;

/// A simulated series.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Its samples.
    pub series: Series,
    /// Where its one cliff is; none where it has none.
    pub cliff: Option<Bytes>,
    /// Bytes of a sample before the cliff.
    pub step: Bytes,
    /// What it is, to be told in a failure.
    pub what: String,
}

impl Simulated {
    /// How many samples the one fall that was found is off; none where another number of changes was found.
    #[must_use]
    pub fn samples_off(&self, found: &Levels) -> Option<f64> {
        let ([cliff], true) = (&found.cliffs[..], found.recoveries.is_empty()) else { return None };
        Some((cliff.at.0 as f64 - self.cliff?.0 as f64).abs() / self.step.0 as f64)
    }

    /// Whether the first fall that was found says of itself that the truth is possible.
    #[must_use]
    pub fn is_possible(&self, found: &Levels) -> bool {
        let cliff = self.cliff.zip(found.cliffs.first());
        cliff.is_some_and(|(truth, cliff)| (cliff.low..=cliff.high).contains(&truth))
    }
}

/// Bytes of every series.
const TOTAL: f64 = 1e12;

/// Samples of so many seconds until the total is written; `rate` in MB/s at a share of the bytes.
#[must_use]
pub fn drive(seconds: f64, noise: f64, dice: &mut Dice, rate: impl Fn(f64) -> f64) -> Vec<Step> {
    const FINE: usize = 20;
    let mut done = 0.0;
    let mut steps = Vec::new();
    while done < TOTAL && steps.len() < 20_000 {
        let luck = (1.0 + noise * dice.normal()).max(0.05);
        let start = done;
        for _ in 0..FINE {
            done += rate(done / TOTAL) * 1e6 * luck * seconds / FINE as f64;
        }
        steps.push(Step { elapsed_ns: Nanos((seconds * 1e9) as u64), bytes: Bytes((done - start) as u64) });
    }
    steps
}

/// A fall of over three times the noise, anywhere from 4 % to 96 % of the bytes, on 40 to 800 samples;
/// every second series has outliers, every third a slope.
#[must_use]
pub fn fall(seed: u64) -> Simulated {
    let mut dice = Dice::of(seed);
    let (noise, drop) = loop {
        let (noise, drop) = (dice.between(0.005, 0.1), dice.between(0.15, 0.9));
        if drop > 3.0 * noise {
            break (noise, drop);
        }
    };
    let (fast, at) = (dice.between(200.0, 3000.0), dice.between(0.04, 0.96));
    let samples = dice.between(40.0, 800.0);
    let slope = if seed.is_multiple_of(3) { dice.between(0.0, 0.5) } else { 0.0 };
    let time = TOTAL / 1e6 / fast * (at + (1.0 - at) / (1.0 - drop));
    let rate = |x: f64| fast * (1.0 - slope * x) * if x < at { 1.0 } else { 1.0 - drop };
    let mut steps = drive(time / samples, noise, &mut dice, rate);
    if seed.is_multiple_of(2) {
        for step in &mut steps {
            if dice.unit() < 0.01 {
                step.elapsed_ns.0 = (step.elapsed_ns.0 as f64 * dice.between(0.5, 4.0)) as u64;
            }
        }
    }
    let samples = steps.len();
    Simulated {
        series: Series::new(steps),
        cliff: Some(Bytes((at * TOTAL) as u64)),
        step: Bytes((fast * 1e6 * time / samples as f64) as u64),
        what: format!("noise {noise:.3} drop {drop:.3} slope {slope:.2} at {at:.3} of {samples} samples"),
    }
}

/// A series without a cliff: flat, sloped, oscillating, wandering, with bursts, with stalls.
#[must_use]
pub fn quiet(seed: u64) -> Simulated {
    const TAU: f64 = std::f64::consts::TAU;
    let mut dice = Dice::of(seed);
    let noise = dice.between(0.005, 0.1);
    let samples = dice.between(40.0, 800.0);
    let fast = dice.between(100.0, 3000.0);
    let (kind, size) = (seed % 14, dice.between(0.05, 0.5));
    let (turns, phase) = (dice.between(0.0, 6.0).exp(), dice.unit());
    let share = dice.between(0.05, 0.95);
    let stay = (-1.0 / dice.between(1.0, 1.0 + samples / 60.0)).exp();
    let rate = |x: f64| match kind {
        1 => fast * (1.0 - size * x),
        2 => fast * (1.0 - size * x * x),
        3 => fast * (1.0 + size * (TAU * (turns * x + phase)).sin()),
        // Square waves of three and more periods, and bursts at the start of each of as many segments.
        4 => fast * if (turns * 3.0 * x + phase).fract() < 0.5 { 1.0 + size } else { 1.0 - size },
        5 => fast * if (turns * 3.0 * x).fract() < share { 1.0 + 2.0 * size } else { 1.0 },
        // A disk's zones.
        6 => fast * (1.0 - size * (x * 16.0).floor() / 16.0),
        _ => fast,
    };
    let noise = if matches!(kind, 7..=10) { 0.01 } else { noise };
    let mut steps = drive(TOTAL / 1e6 / fast / samples, noise, &mut dice, rate);
    let (mut wander, mut slow) = (0.0, false);
    for step in &mut steps {
        wander = stay * wander + (1.0 - stay * stay).sqrt() * dice.normal();
        slow = if dice.unit() < 1.0 - stay { dice.unit() < share } else { slow };
        let times = match kind {
            7 => (0.3 * size * wander).exp(),
            8 => (0.2 * wander + dice.between(-0.3, 0.3)).exp(),
            9 => 1.0 + if slow { size } else { 0.0 },
            10 => 1.0 + if dice.unit() < share { size } else { 0.0 },
            11 => dice.between(-0.3, 0.3).exp(),
            12 if dice.unit() < 0.02 => dice.between(0.3, 10.0),
            13 => (0.05 * dice.normal() / dice.between(0.2, 1.0)).exp(),
            _ => 1.0,
        };
        step.elapsed_ns.0 = (step.elapsed_ns.0 as f64 * times) as u64;
    }
    Simulated {
        series: Series::new(steps),
        cliff: None,
        step: Bytes((TOTAL / samples) as u64),
        what: format!(
            "kind {kind} size {size:.2} turns {turns:.1} share {share:.2} stay {stay:.2} noise {noise:.3}, {samples:.0} samples"
        ),
    }
}
