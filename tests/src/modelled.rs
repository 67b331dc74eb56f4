//! Drives drawn at random from the simulator's own models, whose truth is known: a cache that runs out, an SSD in front of
//! a disk, credits that are spent, flash that is used up; and drives without a cliff.
//!
//! All from a seed, in steps of a closed loop as a run has them. Knows nothing of how the analysis finds anything.

use std::collections::VecDeque;
use std::fmt::Display;

use anyhow::{Context, Result};
use harness::analysis::series::{Series, Step};
use harness::engine::sim::drive::Drive;
use harness::engine::sim::{Model, Request};
use harness::units::{Bytes, Nanos};

use crate::dice::Dice;
use crate::simulated::Simulated;

/// What every drive holds and is written once or, at random, as many bytes.
const TOTAL: u64 = 8 << 30;
/// Blocks a sample, on average: few enough to be quick, many enough for a sample to be a rate.
const BLOCKS: f64 = 200.0;
/// Requests in flight.
const DEPTH: usize = 4;

/// What is the same for all drives of this file.
struct Shape {
    /// Samples, about.
    samples: f64,
    /// Bytes a second before a cliff.
    fast: f64,
    /// Length of a sample.
    step: Nanos,
    block: u64,
    random: bool,
    /// What is said of noise in the drive's file.
    noise: String,
}

impl Shape {
    /// `mean` is the mean rate over `fast`; the noise of a sample is that of four draws.
    fn new(dice: &mut Dice, samples: f64, mean: f64, noise: f64) -> Shape {
        let fast = dice.between(200e6, 3e9);
        let step = Nanos((TOTAL as f64 / (fast * mean) / samples * 1e9) as u64);
        let block = ((TOTAL as f64 / samples / BLOCKS) as u64).next_multiple_of(4096);
        let noise = format!("jitter = '10%'\nwander = {{ cv = '{:.3}%', every = '{}ns' }}", 200.0 * noise, step.0 / 4);
        Shape { samples, fast, step, block, random: false, noise }
    }

    /// A share of the fast rate, as a drive's file has it.
    fn rate(&self, share: f64) -> String {
        format!("'{:.0}B/s'", self.fast * share)
    }

    /// The samples of a drive with this medium, and what else its file says of the model.
    fn series(&self, seed: u64, medium: &str, more: &str) -> Result<Series> {
        let text = format!(
            "name = 'drawn'\nproduct = 'DRAWN'\nfirmware = 'A'\ncapacity = '{TOTAL}B'\nfitted = true\nsource = 'a seed'\n\
             [model]\nlatency = '20us'\n{medium}\n{more}\n[model.noise]\n{}\n",
            self.noise
        );
        let drive = Drive::parse("drawn.toml", |_| Ok::<_, std::fmt::Error>(text.clone())).context(text.clone())?;
        Ok(Series::new(self.steps(&mut drive.model(seed), seed)))
    }

    /// Bytes in each step of a closed loop; the last step is cut where the last byte completes.
    fn steps(&self, model: &mut impl Model, seed: u64) -> Vec<Step> {
        let blocks = TOTAL / self.block;
        let mut offsets = Dice::of(seed);
        let mut now = Nanos(0);
        let mut flying = VecDeque::new();
        let mut steps = Vec::new();
        let (mut open, mut end) = (0, self.step);
        let mut complete = |at: Nanos| {
            while at >= end {
                steps.push(Step { elapsed_ns: self.step, bytes: Bytes(std::mem::take(&mut open)) });
                end = end.saturating_add(self.step);
            }
            open += self.block;
            at
        };
        for n in 0..blocks {
            if flying.len() == DEPTH {
                now = flying.pop_front().map_or(now, &mut complete);
            }
            let offset = self.block * if self.random { offsets.below(blocks) } else { n };
            flying.push_back(model.serve(now, Request::Write { offset, len: self.block as u32 }));
        }
        flying.into_iter().for_each(|at| now = complete(at));
        let rest = Step { elapsed_ns: now.saturating_sub(end.saturating_sub(self.step)), bytes: Bytes(open) };
        steps.push(rest);
        steps
    }
}

/// Samples, noise and drop: the drop over three times the noise, 15 % to 90 %.
fn draw(dice: &mut Dice) -> (f64, f64, f64) {
    loop {
        let (noise, drop) = (dice.between(0.005, 0.1), dice.between(0.15, 0.9));
        if drop > 3.0 * noise {
            return (dice.between(40.0, 800.0), noise, drop);
        }
    }
}

/// A fall of over three times the noise, anywhere from 4 % to 96 % of the bytes.
///
/// # Errors
/// The drawn figures make no drive.
pub fn fall(seed: u64) -> Result<Simulated> {
    let mut dice = Dice::of(seed);
    let ((samples, noise, drop), at) = (draw(&mut dice), dice.between(0.04, 0.96));
    let mean = 1.0 / (at + (1.0 - at) / (1.0 - drop));
    let mut shape = Shape::new(&mut dice, samples, mean, noise);
    let (fast, slow) = (shape.rate(1.0), shape.rate(1.0 - drop));
    let size = |share: f64| format!("'{}B'", (share * TOTAL as f64) as u64);
    let (kind, medium, more) = match seed % 4 {
        0 => (
            "pslc",
            format!(
                "[model.medium.pslc]\nraw = '{}B'\nbits = 3\nfixed = {}\nwrite = {fast}\nnative = {slow}\nfold = {slow}\nread = {fast}",
                2 * TOTAL,
                size(at)
            ),
            String::new(),
        ),
        1 => {
            // The disk slows down inwards by up to a fifth, and is at the drop's rate where the cliff is.
            let slope = dice.between(0.0, 0.2);
            let disk = |place: f64| shape.rate((1.0 - drop) * (1.0 - slope * (place - at)));
            (
                "tiered",
                format!(
                    "[model.medium.tiered]\nssd = {}\nwrite = {fast}\nread = {fast}\nkeep = '1MB'\nkeep_sustained = '2MB'\n\
                 calm_after = '1s'\nmover = {slow}\ndisk = {{ outer = {}, inner = {}, shortest_seek = '0ns', \
                 longest_seek = '0ns', revolution = '0ns' }}",
                    size(at),
                    disk(0.0),
                    disk(1.0)
                ),
                String::new(),
            )
        }
        2 => {
            let burst = (shape.fast / shape.block as f64) as u64;
            let baseline = (burst as f64 * (1.0 - drop)).round() as u64;
            // A bucket is spent at the burst's rate and filled at the baseline's.
            let bucket = at * TOTAL as f64 / shape.block as f64 * (burst - baseline) as f64 / burst as f64;
            let medium = format!("[model.medium.plain]\nwrite = {0}\nread = {0}", shape.rate(100.0));
            (
                "credits",
                medium,
                format!(
                    "[model.credits]\nunit = '{}B'\nbaseline = {baseline}\nburst = {burst}\nbucket = {bucket:.0}",
                    shape.block
                ),
            )
        }
        _ => {
            shape.random = true;
            (
                "flash",
                format!(
                    "[model.medium.fitted]\nraw = {}\nfresh = {fast}\nread = {fast}\nsettle = '0%'\n\
                 curve = [{{ used = '0B', write = {slow} }}]",
                    size(at)
                ),
                String::new(),
            )
        }
    };
    Ok(Simulated {
        series: shape.series(seed, &medium, &more)?,
        cliff: Some(Bytes((at * TOTAL as f64) as u64)),
        step: Bytes((shape.fast * shape.step.secs()) as u64),
        what: format!("{kind}, noise {noise:.3} drop {drop:.3} at {at:.3} of {samples:.0} samples"),
    })
}

/// A drive without a cliff: flat, sloped, oscillating, wandering, with stalls.
///
/// # Errors
/// The drawn figures make no drive.
pub fn quiet(seed: u64) -> Result<Simulated> {
    let mut dice = Dice::of(seed);
    let (samples, noise, size) = (dice.between(40.0, 800.0), dice.between(0.005, 0.1), dice.between(0.05, 0.6));
    let mut shape = Shape::new(&mut dice, samples, if matches!(seed % 6, 1..=3) { 0.7 } else { 1.0 }, noise);
    let (fast, slow) = (shape.rate(1.0), shape.rate(1.0 - size));
    let steps = |count: f64| format!("'{:.0}ns'", shape.step.0 as f64 * count);
    let noisy = |noise: &dyn Display| format!("{}\n{noise}", shape.noise);
    let plain = format!("[model.medium.plain]\nwrite = {fast}\nread = {fast}");
    let (kind, medium, more, noise_text) = match seed % 6 {
        0 => ("flat", plain, String::new(), None),
        1 => (
            "disk",
            format!(
                "[model.medium.disk]\nouter = {fast}\ninner = {slow}\nshortest_seek = '0ns'\nlongest_seek = '0ns'\nrevolution = '0ns'"
            ),
            String::new(),
            None,
        ),
        2 => (
            "fuller and slower",
            format!(
                "[model.medium.fitted]\nraw = '0B'\nfresh = {fast}\nread = {fast}\nsettle = '0%'\n\
             curve = [{{ used = '0B', write = {fast} }}, {{ used = '{TOTAL}B', write = {slow} }}]"
            ),
            String::new(),
            None,
        ),
        3 => (
            "heat",
            plain,
            format!(
                "[model.thermal]\ntime_constant = {}\nhot = '80%'\ncool = '60%'\nslowed_to = '47%'",
                steps(samples / dice.between(10.0, 60.0))
            ),
            None,
        ),
        4 => (
            "stalls",
            plain,
            String::new(),
            Some(noisy(&format!(
                "stall = {{ every = {}, time = {} }}",
                steps(samples / dice.between(2.0, 50.0)),
                steps(dice.between(0.2, 3.0))
            ))),
        ),
        _ => (
            "wandering",
            plain,
            String::new(),
            Some(format!(
                "jitter = '10%'\nwander = {{ cv = '{:.3}%', every = {} }}",
                100.0 * dice.between(0.01, 0.15),
                steps(dice.between(1.0, 1.0 + samples / 60.0))
            )),
        ),
    };
    shape.noise = noise_text.unwrap_or(shape.noise);
    Ok(Simulated {
        series: shape.series(seed, &medium, &more)?,
        cliff: None,
        step: Bytes((shape.fast * shape.step.secs()) as u64),
        what: format!("{kind}, noise {noise:.3} size {size:.2}, {:.0} samples", shape.samples),
    })
}
