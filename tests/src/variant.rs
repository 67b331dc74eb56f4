//! What may happen to a real series on its way to us, and what must come of it.
//!
//! Each change is seeded. Knows nothing of what the analysis finds.

use harness::analysis::series::Step;
use harness::units::{Bytes, Nanos};

use crate::corpus::Truth;
use crate::dice::Dice;

/// A change to a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// None.
    AsMeasured,
    /// Every second sample left out; what is left stands for what was dropped, so that places stay what they were.
    Halved,
    /// So many neighbouring samples as one, as at a lower sampling rate.
    Merged(usize),
    /// Noise of so many percent on every rate.
    Noisy(u32),
    /// One rate in a hundred is a tenth to a double of itself.
    Outliers,
    /// Every rate a thousand times as high.
    Scaled,
    /// Ends in the middle of its plateau.
    CutOnThePlateau,
    /// Ends so many samples after its trough.
    CutAfterTheTrough(usize),
}

/// Samples in which a cliff is seen, at the least.
const FEWEST: usize = 6;

impl Variant {
    /// All changes that are tried.
    pub const ALL: [Variant; 11] = [
        Variant::AsMeasured,
        Variant::Halved,
        Variant::Merged(2),
        Variant::Merged(6),
        Variant::Noisy(2),
        Variant::Noisy(5),
        Variant::Outliers,
        Variant::Scaled,
        Variant::CutOnThePlateau,
        Variant::CutAfterTheTrough(1),
        Variant::CutAfterTheTrough(4),
    ];

    /// In words.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Variant::AsMeasured => "as measured".to_owned(),
            Variant::Halved => "every second sample dropped".to_owned(),
            Variant::Merged(count) => format!("{count} samples merged"),
            Variant::Noisy(percent) => format!("{percent} % noise"),
            Variant::Outliers => "1 % outliers".to_owned(),
            Variant::Scaled => "scaled by 1000".to_owned(),
            Variant::CutOnThePlateau => "cut on the plateau".to_owned(),
            Variant::CutAfterTheTrough(1) => "cut right after the trough".to_owned(),
            Variant::CutAfterTheTrough(samples) => format!("cut {samples} samples after the trough"),
        }
    }

    /// Whether each seed makes another series.
    #[must_use]
    pub fn is_random(self) -> bool {
        matches!(self, Variant::Noisy(_) | Variant::Outliers)
    }

    /// Times that a sample of the variant is as long as one of the series.
    #[must_use]
    pub fn samples(self) -> f64 {
        match self {
            Variant::Halved => 2.0,
            Variant::Merged(count) => count as f64,
            _ => 1.0,
        }
    }

    /// The series after the change, and what a person would see in it; none where it makes no sense there.
    #[must_use]
    pub fn of(self, steps: &[Step], truth: &Truth, seed: u64) -> Option<(Vec<Step>, Truth)> {
        let mut dice = Dice::of(seed);
        let times = |step: &Step, times: f64| {
            if truth.is_fill() {
                Step { elapsed_ns: Nanos((step.elapsed_ns.0 as f64 / times) as u64), ..*step }
            } else {
                Step { bytes: Bytes((step.bytes.0 as f64 * times) as u64), ..*step }
            }
        };
        let mut truth_after = truth.clone();
        let steps = match self {
            Variant::AsMeasured => steps.to_vec(),
            Variant::Halved => steps.chunks_exact(2).map(|pair| halved(pair, truth.is_fill())).collect(),
            // A minute for ten seconds; the levels of a series that is coarser already are not there any more.
            Variant::Merged(count) if count > 2 && (truth.is_fill() || steps[0].elapsed_ns > Nanos::from_secs(10)) => {
                return None;
            }
            Variant::Merged(count) => steps.chunks(count).map(sum).collect(),
            Variant::Noisy(percent) => steps
                .iter()
                .map(|step| times(step, (1.0 + f64::from(percent) / 100.0 * dice.normal()).max(0.1)))
                .collect(),
            Variant::Outliers => steps
                .iter()
                .map(|step| times(step, if dice.unit() < 0.01 { 0.1 + 1.9 * dice.unit() } else { 1.0 }))
                .collect(),
            Variant::Scaled => {
                let scaled = |gib: Option<f64>| gib.map(|gib| gib * if truth.is_fill() { 1.0 } else { 1000.0 });
                let after = &mut truth_after;
                after.cliff_gib = truth
                    .cliff_gib
                    .map(|[low, high]| [scaled(Some(low)).unwrap_or(low), scaled(Some(high)).unwrap_or(high)]);
                for rate in [&mut after.before_mib_s, &mut after.after_mib_s, &mut after.steady_mib_s] {
                    *rate = rate.map(|rate| 1000.0 * rate);
                }
                steps.iter().map(|step| times(step, 1000.0)).collect()
            }
            Variant::CutOnThePlateau => {
                let end = cliff(steps, truth)? / 2;
                truth_after.cliff = Some(false);
                // Whether a cut fill was steady, nobody can say.
                truth_after.steady = (!truth.is_fill()).then_some(false);
                truth_after.steady_mib_s = None;
                steps[..end].to_vec()
            }
            // A fill has a level there and no trough.
            Variant::CutAfterTheTrough(_) if truth.is_fill() => return None,
            Variant::CutAfterTheTrough(samples) => {
                let cliff = cliff(steps, truth)?;
                let near = (steps.len() / 10).max(10);
                let around = steps.iter().enumerate().skip(cliff).take(near);
                let slowest = around.min_by(|a, b| rate(a.1).total_cmp(&rate(b.1)))?.0;
                truth_after.steady = Some(false);
                truth_after.steady_mib_s = None;
                let end = (slowest + 1 + samples).min(steps.len());
                // In five samples of a minute nobody is sure of a cliff.
                truth_after.cliff = truth.cliff.filter(|_| end > FEWEST);
                steps[..end].to_vec()
            }
        };
        (steps.len() > 1).then_some((steps, truth_after))
    }
}

/// The sample in which the labelled cliff lies.
fn cliff(steps: &[Step], truth: &Truth) -> Option<usize> {
    let [low, high] = truth.cliff_gib?;
    let middle = (low + high) / 2.0 * (1_u64 << 30) as f64;
    let mut sum = 0.0;
    steps.iter().position(|step| {
        sum += step.bytes.0 as f64;
        sum >= middle
    })
}

fn rate(step: &Step) -> f64 {
    step.rate().map_or(0.0, |rate| rate.0)
}

fn sum(steps: &[Step]) -> Step {
    Step {
        elapsed_ns: steps.iter().fold(Nanos(0), |sum, step| sum + step.elapsed_ns),
        bytes: steps.iter().map(|step| step.bytes).sum(),
    }
}

/// The first sample of a pair at the length of both.
fn halved(pair: &[Step], is_fill: bool) -> Step {
    let (both, rate) = (sum(pair), rate(&pair[0]).max(1.0));
    if is_fill {
        Step { elapsed_ns: Nanos((both.bytes.0 as f64 / rate * 1e9) as u64), ..both }
    } else {
        Step { bytes: Bytes((both.elapsed_ns.secs() * rate) as u64), ..both }
    }
}
