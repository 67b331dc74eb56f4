//! Which runs are judged together, and against which state.
//!
//! Pure. Runs of one request belong together; where two states alternate, the one is the baseline of the other.

use crate::journal::record::{Repeat, Side};
use crate::session::judging::Bench;
use crate::verdict::accept::{Acceptor, Earlier, accept};
use crate::verdict::baseline::Baseline;
use crate::verdict::candidate::Candidate;
use crate::verdict::judge::Rules;
use crate::verdict::looks::Looks;
use crate::verdict::surroundings::{UnderTest, changes};

/// Runs that are judged together.
pub(super) struct Together {
    /// The runs that are judged, the latest last.
    pub(super) runs: Vec<Candidate>,
    /// The runs of the other state, as their baseline; none where only one state is measured.
    pub(super) other_state: Option<Baseline>,
    /// What a reader must know of those that are not there.
    pub(super) notes: Vec<String>,
    most: usize,
}

impl Together {
    /// This run and those that went before it.
    pub(super) fn new(run: &Candidate, repeat: Repeat, bench: &Bench, rules: &Rules) -> Together {
        let mut notes = bench.absent.clone();
        let mut sides: [Vec<Candidate>; 2] = [Vec::new(), Vec::new()];
        let nothing = UnderTest::parse(&[]).unwrap_or_default();
        for earlier in &bench.earlier {
            let changed = changes(&earlier.run.environment, &run.environment, &nothing);
            let must = changed.iter().find(|change| change.must_match);
            // What alternates is what is switched: only within one state must nothing change.
            match must.filter(|_| earlier.side == repeat.side) {
                Some(change) => notes.push(format!(
                    "run {} is not judged with this one: {change} changed between them",
                    earlier.run.run
                )),
                None => sides[usize::from(earlier.side == Some(Side::A))].push(earlier.run.clone()),
            }
        }
        sides[usize::from(repeat.side == Some(Side::A))].push(run.clone());
        let most = repeat.most.max(1) as usize;
        let [judged, others] = sides;
        if repeat.side.is_none() || judged.is_empty() || others.is_empty() {
            let runs = if judged.is_empty() { others } else { judged };
            return Together { runs, other_state: None, notes, most };
        }
        let acceptor = Acceptor {
            who: "storage-check".to_owned(),
            when: run.started.clone(),
            why: "the state after the first --before-run".to_owned(),
            earlier: Earlier::Drop,
            new_golden: true,
        };
        match accept(None, &others, rules, &acceptor) {
            Ok(accepted) => Together { runs: judged, other_state: Some(accepted.baseline), notes, most },
            Err(why) => {
                notes.push(format!("the runs after the first --before-run make no state to compare with: {why}"));
                Together { runs: judged, other_state: None, notes, most }
            }
        }
    }

    /// The plan that these runs are looks of.
    pub(super) fn looks(&self, baseline: &Baseline) -> Looks {
        if self.other_state.is_some() {
            // Both sides grow by a run a look, and so does what is known.
            return Looks::new(usize::MAX, self.most.max(self.runs.len()));
        }
        Looks::new(baseline.provenance.run.len(), self.most.max(self.runs.len()))
    }
}
