//! Our rule beside three common ones on the same draws.
//!
//! Pure. The table of the documents is made of it.

use super::claims::ten;
use super::{Rival, Tally, World, gate};
use crate::verdict::judge::Rules;

/// One rule on drives of one noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Coefficient of variation from run to run, as a fraction.
    pub cv: f64,
    /// Student's t with 3 degrees of freedom in place of the normal distribution.
    pub heavy: bool,
    /// The rule.
    pub rule: &'static str,
    /// Of equal drives.
    pub equal: Tally,
    /// Of drives one of whose ten metrics lost twice the tolerance.
    pub worse: Tally,
}

/// Coefficients of variation of the table.
const CVS: [f64; 4] = [0.005, 0.01, 0.02, 0.03];

/// The table, with so many pairs of drives a figure; the loss is twice the tolerance of 5 %.
#[must_use]
pub fn table(draws: u64) -> Vec<Line> {
    let mut lines = Vec::new();
    for heavy in [false, true] {
        for cv in CVS {
            let world = |loss| World { heavy, ..ten("", cv, loss) };
            let (equal, worse) = (world(0.0), world(0.10));
            // The profile of such a drive says what its noise is.
            let mut rules = Rules { gates: Some(vec!["*".to_owned()]), ..Rules::default() };
            (rules.prior_noise.throughput, rules.prior_noise.capacity) = (cv, cv);
            let line = |rule, equal, worse| Line { cv, heavy, rule, equal, worse };
            lines.push(line("ours", equal.tally(&gate, &rules, draws), worse.tally(&gate, &rules, draws)));
            lines.extend(Rival::ALL.map(|rival| {
                line(rival.name(), rival.tally(&equal, &rules, draws), rival.tally(&worse, &rules, draws))
            }));
        }
    }
    lines
}
