//! Runs of one request after another: until they are decided, or there are enough, or the write budget is spent.
//!
//! Decides which run comes next and whether one does; measures nothing.

use super::{Outcome, Request};
use crate::journal::record::{Repeat, Side};
use crate::report::Report;
use crate::units::Bytes;
use crate::verdict::Verdict;
use crate::verdict::judge::Role;

/// Where two states alternate, they do so as A-B-B-A: what drifts from run to run then weighs on both alike.
const ORDER: [Side; 4] = [Side::A, Side::B, Side::B, Side::A];

/// Repeated runs.
#[derive(Clone, Debug)]
pub struct Series {
    request: Request,
    /// At the most; where two states alternate, of each.
    most: u32,
    /// Before each run; two alternate.
    commands: Vec<String>,
    earlier: Vec<String>,
    written: Bytes,
    to_the_end: bool,
}

/// Why no further run is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As many as were asked for were made.
    All,
    /// This many were enough, and so many were asked for.
    Decided(usize, usize),
    /// Further runs could not tell more.
    Hopeless,
    /// A run failed.
    Failed,
}

impl Series {
    /// At most `most` runs of a request. Of two commands the first switches to the state to compare with and the
    /// second to the one that is judged, and each state is measured so often.
    #[must_use]
    pub fn new(request: Request, most: u32, commands: Vec<String>) -> Series {
        Series { request, most: most.max(1), commands, earlier: Vec::new(), written: Bytes(0), to_the_end: false }
    }

    /// As many runs as were asked for, whatever they show.
    #[must_use]
    pub fn to_the_end(self) -> Series {
        Series { to_the_end: true, ..self }
    }

    /// Runs that are made at the most.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.most as usize * if self.alternates() { 2 } else { 1 }
    }

    fn alternates(&self) -> bool {
        self.commands.len() > 1
    }

    /// The next run: it knows those before it, and has what is left of the write budget.
    #[must_use]
    pub fn next_request(&self) -> Request {
        let side = self.alternates().then(|| ORDER[self.earlier.len() % ORDER.len()]);
        let command = usize::from(side == Some(Side::B));
        Request {
            before_run: self.commands.get(command).cloned(),
            earlier: self.earlier.clone(),
            repeat: Repeat { most: self.most, side },
            max_write: self.request.max_write.map(|most| Bytes(most.0.saturating_sub(self.written.0))),
            ..self.request.clone()
        }
    }

    /// Takes a run that was made; says why there is no next one, if so.
    pub fn take(&mut self, outcome: &Outcome) -> Option<Ended> {
        let report = &outcome.report;
        self.earlier.push(report.run.clone());
        self.written = Bytes(self.written.0.saturating_add(report.bytes_written));
        let (made, all) = (self.earlier.len(), self.runs());
        if report.failure.is_some() || report.verdict == Verdict::Error {
            return Some(Ended::Failed);
        }
        // Two states are judged when there are as many runs of either.
        let balanced = !self.alternates() || made.is_multiple_of(2);
        match decided(report) {
            _ if made >= all => Some(Ended::All),
            _ if self.to_the_end => None,
            Some(true) if balanced => Some(Ended::Decided(made, all)),
            Some(false) if balanced => Some(Ended::Hopeless),
            _ => None,
        }
    }
}

/// Whether a report decides: yes, not even with further runs, or not yet.
fn decided(report: &Report) -> Option<bool> {
    let compared = report.baseline.as_ref().is_some_and(|baseline| baseline.not_used.is_none());
    let open = report.metrics.iter().filter(|judged| judged.role == Role::Gate).any(|judged| {
        let weighed = judged.against.as_ref().is_some_and(|against| against.weighed.is_some());
        judged.verdict == Verdict::Inconclusive && weighed
    });
    match report.verdict {
        Verdict::Regressed => Some(true),
        // Without a baseline there is nothing to decide: the runs are made to be accepted.
        _ if !compared => None,
        Verdict::Inconclusive if open => None,
        Verdict::Inconclusive => Some(false),
        _ => Some(true),
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::All => f.write_str("all runs were made"),
            Ended::Decided(made, all) => write!(f, "decided after {made} of at most {all} runs"),
            Ended::Hopeless => f.write_str("further runs would not decide it: see what stands against it"),
            Ended::Failed => f.write_str("the run failed: no further one is made"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::plan::builtin;
    use crate::report::samples;

    fn series(most: u32, commands: &[&str]) -> Series {
        let request = Request::new(PathBuf::from("x"), builtin::profile("quick").unwrap(), PathBuf::from("out"));
        let request = Request { max_write: Some(Bytes(100)), ..request };
        Series::new(request, most, commands.iter().map(|&command| command.to_owned()).collect())
    }

    fn outcome(verdict: Verdict) -> Outcome {
        let report = Report { verdict, bytes_written: 40, failure: None, ..samples::finished() };
        Outcome { report, folder: PathBuf::new() }
    }

    #[test]
    fn a_run_knows_those_before_it_and_what_is_left_of_the_budget() {
        let mut series = series(3, &["switch"]);
        assert_eq!(series.take(&outcome(Verdict::NoBaseline)), None);
        let next = series.next_request();
        assert_eq!((next.earlier.len(), next.max_write), (1, Some(Bytes(60))));
        assert_eq!((next.before_run.as_deref(), next.repeat), (Some("switch"), Repeat { most: 3, side: None }));
        assert_eq!(series.take(&outcome(Verdict::Regressed)), Some(Ended::Decided(2, 3)));
        assert_eq!(series.take(&outcome(Verdict::NoBaseline)), Some(Ended::All));
    }

    #[test]
    fn two_states_alternate_as_a_b_b_a_and_are_judged_in_pairs() {
        let mut series = series(2, &["a", "b"]);
        let mut seen = Vec::new();
        for ended in [None, Some(Ended::Decided(2, 4)), None, Some(Ended::All)] {
            let next = series.next_request();
            seen.push((next.before_run.unwrap(), next.repeat.side.unwrap()));
            assert_eq!(series.take(&outcome(Verdict::Regressed)), ended);
        }
        let expect = [("a", Side::A), ("b", Side::B), ("b", Side::B), ("a", Side::A)];
        assert_eq!(seen, expect.map(|(command, side)| (command.to_owned(), side)));
    }

    #[test]
    fn a_run_that_failed_is_the_last() {
        assert_eq!(series(3, &[]).take(&outcome(Verdict::Error)), Some(Ended::Failed));
    }
}
