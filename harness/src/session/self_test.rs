//! The self-test on all processors: the claims of the gate, each on drives of its own.
//!
//! Only shares the work out; what is claimed and how it is judged is the verdict's.

use std::sync::Mutex;
use std::thread;

use crate::verdict::self_test::{Claim, Tally, claims, gate};

/// Pairs of drives a claim unless the user says otherwise.
pub const DRAWS: u64 = 10_000;

/// What came of one claim.
#[derive(Clone, Debug)]
pub struct Proven {
    /// What was claimed.
    pub claim: Claim,
    /// What the gate said.
    pub tally: Tally,
    /// Bounds that are broken; none where the claim holds.
    pub broken: Vec<String>,
}

/// Puts the gate to the test of all its claims, with so many pairs of drives each.
///
/// With fewer than [`DRAWS`] a bound may be missed by four standard errors: chance is then no defect.
#[must_use]
pub fn prove(draws: u64) -> Vec<Proven> {
    let errors = if draws < DRAWS { 4.0 } else { 0.0 };
    let left = Mutex::new(claims().into_iter().enumerate().collect::<Vec<_>>());
    let take = || left.lock().ok().and_then(|mut left| left.pop());
    let work = || {
        let mut proven = Vec::new();
        while let Some((at, claim)) = take() {
            let tally = claim.tally(&gate, draws);
            let broken = claim.broken(&tally, errors);
            proven.push((at, Proven { claim, tally, broken }));
        }
        proven
    };
    let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut proven: Vec<(usize, Proven)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    proven.sort_by_key(|(at, _)| *at);
    proven.into_iter().map(|(_, proven)| proven).collect()
}
