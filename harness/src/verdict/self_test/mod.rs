//! Proof on drives whose truth is known that a gate passes what is equal and fails what is worse.
//!
//! Pure and seeded. Judges through the same path as every run: baseline, candidates, verdict. A gate is handed in, so
//! that a broken one can be shown to be found out.

mod claims;
mod draws;
mod rivals;
mod table;
mod world;

pub use claims::{Claim, claims};
#[cfg(test)]
pub(super) use draws::Draws;
pub use rivals::Rival;
pub use table::{Line, table};
pub use world::{Subject, World};

use super::Verdict;
use super::baseline::Baseline;
use super::candidate::Candidate;
use super::judge::{Rules, judge_against, overall};
use super::looks::Looks;
use super::standing::Standing;

/// What decides: baseline, the candidate's runs so far, the plan that they are looks of, rules.
pub type Gate<'a> = &'a dyn Fn(&Baseline, &[Candidate], &Looks, &Rules) -> Verdict;

/// The gate that judges every run.
#[must_use]
pub fn gate(baseline: &Baseline, runs: &[Candidate], looks: &Looks, rules: &Rules) -> Verdict {
    overall(&judge_against(rules, &Standing { runs, looks, baseline, confounded: None, side_effect: None }))
}

/// What a gate said of many drives of one world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Drives.
    pub draws: u64,
    /// Held or improved.
    pub held: u64,
    /// Regressed.
    pub failed: u64,
    /// Neither, after the most runs.
    pub undecided: u64,
    /// Runs of candidates in all.
    pub runs: u64,
}

impl Tally {
    /// A count as a share of the drives.
    #[must_use]
    pub fn share(&self, count: u64) -> f64 {
        count as f64 / self.draws.max(1) as f64
    }

    /// Mean number of runs.
    #[must_use]
    pub fn mean_runs(&self) -> f64 {
        self.share(self.runs)
    }
}

#[cfg(test)]
mod tests;

impl World {
    /// Lets a gate decide on so many pairs of drives, each from run to run until it is decided.
    #[must_use]
    pub fn tally(&self, gate: Gate<'_>, rules: &Rules, draws: u64) -> Tally {
        let looks = Looks::new(self.baseline_runs, self.most_runs);
        let mut tally = Tally { draws, ..Tally::default() };
        for draw in 1..=draws {
            let mut drives = self.drives(draw);
            let baseline = drives.baseline();
            let mut runs = Vec::with_capacity(self.most_runs);
            let verdict = loop {
                runs.push(drives.run());
                let verdict = gate(&baseline, &runs, &looks, rules);
                if verdict != Verdict::Inconclusive || runs.len() >= self.most_runs {
                    break verdict;
                }
            };
            tally.runs += runs.len() as u64;
            match verdict {
                Verdict::Held | Verdict::Improved => tally.held += 1,
                Verdict::Regressed => tally.failed += 1,
                Verdict::Inconclusive | Verdict::NoBaseline | Verdict::Error => tally.undecided += 1,
            }
        }
        tally
    }
}
