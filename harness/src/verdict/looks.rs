//! A sequential plan: what share of the allowed error each look at the runs so far may spend.
//!
//! Pure. `--repeat N` judges after every run, and each look is a chance to be wrong. Up to a look at which a share t of
//! the information is there, α·t^ρ of the error is spent (Kim & DeMets 1987, *Design and analysis of group sequential
//! tests based on the type I error spending rate function*, Biometrika 74:149): *held* with ρ = 1, so that equal drives
//! are let go early; *regressed* with ρ = 8, so that one bad run fails a build that has runs to spare only where there is
//! no doubt.
//! The looks share most of their runs and so most of their chances: what each may spend by itself is found by
//! integrating over the paths that were not decided before (Armitage, McPherson & Rowe 1969, *Repeated significance
//! tests on accumulating data*, J. R. Stat. Soc. A 132:235), and used as the level of a t test (Jennison & Turnbull
//! 2000, *Group Sequential Methods*, section 11.5). A run that is alone is the only look and spends all.

/// How often a metric that lost as much as its tolerance may be called held. Below 5 % by what it costs to borrow
/// variances: a metric that is noisier than its kind is then called held more often than this.
pub const HELD_ERROR: f64 = 0.046;
/// How often a run none of whose metrics lost more than its tolerance may be called regressed, all gates together.
pub const FAIL_ERROR: f64 = 0.0025;

/// A test is stricter by a factor the more gates there are; this many gates' is the plan's, which is exact for them and
/// errs to the safe side for fewer.
const GATES: f64 = 50.0;
const HELD_POWER: i32 = 1;
const FAIL_POWER: i32 = 8;

/// The levels of all looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Looks(Vec<Levels>);

/// The levels of the tests at one look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// For *held*, of each gate.
    pub held: f64,
    /// For *regressed*, of all gates together.
    pub fail: f64,
}

impl Looks {
    /// Looks after each of `planned` runs against `baseline` runs.
    ///
    /// With fewer baseline runs than that the looks share more, and the levels err to the safe side.
    #[must_use]
    pub fn new(baseline: usize, planned: usize) -> Looks {
        let planned = planned.max(1);
        let all = information(planned, baseline);
        let shares: Vec<f64> = (1..=planned).map(|runs| information(runs, baseline) / all).collect();
        let held = levels(&shares, HELD_ERROR, HELD_POWER);
        let strict = FAIL_ERROR / GATES;
        let fail = levels(&shares, strict, FAIL_POWER).into_iter().map(|level| level * GATES);
        Looks(held.into_iter().zip(fail).map(|(held, fail)| Levels { held, fail }).collect())
    }

    /// A single look, at so many runs.
    #[must_use]
    pub fn once(runs: usize) -> Looks {
        let nothing = Levels { held: 0.0, fail: 0.0 };
        let mut levels = vec![nothing; runs.max(1)];
        levels[runs.max(1) - 1] = Levels { held: HELD_ERROR, fail: FAIL_ERROR };
        Looks(levels)
    }

    /// The levels after so many runs: nothing can be concluded from none, nor from more than were planned.
    #[must_use]
    pub fn after(&self, runs: usize) -> Levels {
        let levels = runs.checked_sub(1).and_then(|at| self.0.get(at));
        levels.copied().unwrap_or(Levels { held: 0.0, fail: 0.0 })
    }
}

/// Of a difference between the means of so many runs, in units of one run's.
fn information(runs: usize, baseline: usize) -> f64 {
    let (runs, baseline) = (runs as f64, baseline.max(1) as f64);
    runs * baseline / (runs + baseline)
}

/// Points of the density of the paths that are not decided yet; Simpson's rule on them is good for five digits.
const POINTS: usize = 65;
/// How far below zero that density begins, in standard deviations.
const REACH: f64 = 6.0;

/// The level of each look, given the shares of the information, so that all together err with probability `error`.
fn levels(shares: &[f64], error: f64, power: i32) -> Vec<f64> {
    let mut paths = Paths::start();
    let mut spent = 0.0;
    let mut levels = Vec::with_capacity(shares.len());
    for &share in shares {
        let by_now = error * libm::pow(share, f64::from(power));
        let bound = paths.bound(share, by_now - spent);
        levels.push(normal_tail(bound / libm::sqrt(share)));
        paths = paths.below(share, bound);
        spent = by_now;
    }
    levels
}

/// The density of a Brownian path that crossed no bound so far.
struct Paths {
    /// Time that has passed.
    at: f64,
    /// Places, and each one's probability.
    places: Vec<(f64, f64)>,
}

impl Paths {
    fn start() -> Paths {
        Paths { at: 0.0, places: vec![(0.0, 1.0)] }
    }

    /// The place at time `at` that paths are above with probability `tail`: by bisection.
    fn bound(&self, at: f64, tail: f64) -> f64 {
        let deviation = libm::sqrt(at - self.at);
        let above = |bound: f64| -> f64 {
            self.places.iter().map(|(place, weight)| weight * normal_tail((bound - place) / deviation)).sum()
        };
        let (mut low, mut high) = (-REACH, REACH);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if above(middle) > tail { low = middle } else { high = middle }
        }
        (low + high) / 2.0
    }

    /// Those that are below `bound` at time `at`.
    fn below(&self, at: f64, bound: f64) -> Paths {
        let variance = at - self.at;
        let lowest = -REACH * libm::sqrt(at);
        let step = (bound - lowest) / (POINTS - 1) as f64;
        let scale = step / 3.0 / libm::sqrt(2.0 * std::f64::consts::PI * variance);
        let place = |point: usize| {
            let place = lowest + step * point as f64;
            let density: f64 = self
                .places
                .iter()
                .map(|(from, weight)| weight * libm::exp(-(place - from) * (place - from) / (2.0 * variance)))
                .sum();
            let simpson = if point == 0 || point == POINTS - 1 { 1.0 } else { 2.0 + 2.0 * (point % 2) as f64 };
            (place, density * scale * simpson)
        };
        Paths { at, places: (0..POINTS).map(place).collect() }
    }
}

fn normal_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::self_test::Draws;
    use crate::verdict::student::quantile;

    #[test]
    fn a_single_look_spends_all() {
        for baseline in [1, 5, 100] {
            let only = Looks::new(baseline, 1).after(1);
            assert!((only.held - HELD_ERROR).abs() < 1e-9 && (only.fail - FAIL_ERROR).abs() < 1e-8, "{only:?}");
        }
        let nothing = Levels { held: 0.0, fail: 0.0 };
        assert_eq!((Looks::new(5, 3).after(0), Looks::new(5, 3).after(4)), (nothing, nothing));
    }

    #[test]
    fn looks_together_err_as_often_as_is_allowed() {
        let (baseline, planned, paths) = (5, 4, 200_000);
        let looks = Looks::new(baseline, planned);
        let critical: Vec<f64> =
            (1..=planned).map(|runs| -quantile(1.0 - looks.after(runs).held, f64::from(u32::MAX))).collect();
        let mut draws = Draws::new(3);
        let wrong = (0..paths).filter(|_| {
            // A drive exactly at its tolerance: the mean of its runs against the baseline's.
            let base = draws.normal() / libm::sqrt(baseline as f64);
            let mut sum = 0.0;
            (1..=planned).any(|runs| {
                sum += draws.normal();
                let (runs, n) = (runs as f64, baseline as f64);
                (sum / runs - base) / libm::sqrt(1.0 / runs + 1.0 / n) > critical[runs as usize - 1]
            })
        });
        let share = wrong.count() as f64 / f64::from(paths);
        assert!((share - HELD_ERROR).abs() < 0.0015, "{share}");
    }

    #[test]
    fn the_first_look_spends_the_most_for_held_and_the_least_for_failing() {
        let looks = Looks::new(5, 3);
        let levels: Vec<Levels> = (1..=3).map(|runs| looks.after(runs)).collect();
        // Shares of the information: 0.444, 0.762, 1; the first look spends its own share and no more.
        assert!((levels[0].held / HELD_ERROR - 0.4444).abs() < 1e-3, "{levels:?}");
        assert!(levels[0].fail < levels[1].fail && levels[1].fail < levels[2].fail, "{levels:?}");
        assert!(levels[0].fail < FAIL_ERROR / 100.0 && levels[2].fail < FAIL_ERROR, "{levels:?}");
    }
}
