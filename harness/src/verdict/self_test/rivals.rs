//! Three rules that are in common use, on the same draws: what ours is to be compared with.
//!
//! Pure. Each takes a run as it comes and decides at once: none of them repeats a run.

use super::Tally;
use super::world::{Subject, World};
use crate::analysis::metric::Value;
use crate::verdict::baseline::Baseline;
use crate::verdict::candidate::Candidate;
use crate::verdict::judge::Rules;
use crate::verdict::noise::{Spread, mean};
use crate::verdict::student::quantile;

/// A rule in common use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rival {
    /// Fails where the figure is worse than the last run's by more than the tolerance (github-action-benchmark).
    RatioToLast,
    /// Fails below a one-sided 97.7 % prediction interval of the baseline's runs (Bencher's t test).
    Prediction,
    /// Fails where Mann & Whitney's test of three runs finds p ≤ 5 % and the medians differ by more than the tolerance
    /// (benchstat's test, with an effect size).
    MannWhitney,
}

impl Rival {
    /// All of them.
    pub const ALL: [Rival; 3] = [Rival::RatioToLast, Rival::Prediction, Rival::MannWhitney];

    /// For people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Rival::RatioToLast => "ratio to the last run",
            Rival::Prediction => "t prediction interval",
            Rival::MannWhitney => "Mann-Whitney + effect",
        }
    }

    /// Runs of a candidate that it takes.
    fn runs(self, world: &World) -> usize {
        if self == Rival::MannWhitney { world.most_runs } else { 1 }
    }

    /// What it says of so many pairs of drives: the same as ours sees, whose metrics are all better when more.
    #[must_use]
    pub fn tally(self, world: &World, rules: &Rules, draws: u64) -> Tally {
        let mut tally = Tally { draws, ..Tally::default() };
        for draw in 1..=draws {
            let mut drives = world.drives(draw);
            let baseline = drives.baseline();
            let runs: Vec<Candidate> = (0..self.runs(world)).map(|_| drives.run()).collect();
            let fails = |subject: &Subject| {
                let (before, after) = (accepted(&baseline, subject.id), figures(&runs, subject.id));
                self.fails(&before, &after, rules.tolerance.throughput)
            };
            tally.runs += runs.len() as u64;
            if world.subjects.iter().any(fails) { tally.failed += 1 } else { tally.held += 1 }
        }
        tally
    }

    fn fails(self, before: &[f64], after: &[f64], tolerance: f64) -> bool {
        match self {
            Rival::RatioToLast => before.last().is_some_and(|last| after[0] < last * (1.0 - tolerance)),
            Rival::Prediction => {
                let spread = Spread::within([before]);
                let n = before.len() as f64;
                let limit = quantile(0.023, spread.df) * libm::sqrt(spread.variance * (1.0 + 1.0 / n));
                after[0] < mean(before) - limit
            }
            Rival::MannWhitney => {
                let better = |value: &f64| before.iter().filter(|before| *before > value).count();
                let u: usize = after.iter().map(better).sum();
                p_of_u(before.len(), after.len(), u) <= 0.05 && median(after) < median(before) * (1.0 - tolerance)
            }
        }
    }
}

fn accepted(baseline: &Baseline, id: &str) -> Vec<f64> {
    baseline.metric.get(id).map(|metric| metric.values.clone()).unwrap_or_default()
}

fn figures(runs: &[Candidate], id: &str) -> Vec<f64> {
    let figure = |run: &Candidate| match run.metric(id)?.value {
        Value::Number(value) => Some(value),
        _ => None,
    };
    runs.iter().filter_map(figure).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Two-sided p of Mann & Whitney's U, exactly: twice the share of all orders of m and n values whose U is as far out
/// (Mann & Whitney 1947, *On a test of whether one of two random variables is stochastically larger*).
fn p_of_u(m: usize, n: usize, u: usize) -> f64 {
    // Ways to make each U by the recurrence of the paper: the greatest value is of the one or of the other.
    fn ways(m: usize, n: usize, u: usize) -> f64 {
        if m == 0 || n == 0 {
            return f64::from(u8::from(u == 0));
        }
        u.checked_sub(n).map_or(0.0, |u| ways(m - 1, n, u)) + ways(m, n - 1, u)
    }
    let all: f64 = (0..=m * n).map(|u| ways(m, n, u)).sum();
    let out: f64 = (u..=m * n).map(|u| ways(m, n, u)).sum();
    (2.0 * out / all).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u_has_the_printed_distribution() {
        // Three against three: the most extreme order of 20 on either side; five against three: of 56.
        assert!((p_of_u(3, 3, 9) - 0.1).abs() < 1e-12);
        assert!((p_of_u(5, 3, 15) - 2.0 / 56.0).abs() < 1e-12);
        assert!((p_of_u(5, 3, 14) - 4.0 / 56.0).abs() < 1e-12);
        assert_eq!(p_of_u(5, 3, 0), 1.0);
    }

    #[test]
    fn each_rule_fails_what_it_is_made_for() {
        let before = [100.0, 101.0, 99.0, 100.5, 99.5];
        for rival in Rival::ALL {
            assert!(rival.fails(&before, &[80.0, 81.0, 82.0], 0.05), "{rival:?}");
            assert!(!rival.fails(&before, &[100.0, 101.0, 99.0], 0.05), "{rival:?}");
        }
    }
}
