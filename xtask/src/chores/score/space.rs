//! What the levels of one drive say together: its free space erase factor, and where its flash was used up.
#![expect(clippy::print_stdout, reason = "a chore's output is its result")]

use harness::analysis::analyze::Analysis;
use harness::analysis::space::slope;
use harness::units::{Bytes, GIB, Rate};
use storage_check_tests::corpus::Truth;

/// One level of a drive.
pub(super) struct Level {
    /// Bytes of the drive and of the range in use.
    drive: Bytes,
    range: Bytes,
    steady: Option<Rate>,
    cliff: Option<Bytes>,
}

impl Level {
    /// Of a series of random writes on a drive that is known.
    pub(super) fn of(truth: &Truth, found: &Analysis) -> Option<Level> {
        let known = truth.known();
        let cliff = found.cliffs.first().map(|cliff| cliff.at);
        Some(Level { drive: known.drive?, range: known.range?, steady: found.steady.rate(), cliff })
    }
}

/// Prints both for the levels of one drive that were sampled at the same interval.
pub(super) fn print(levels: &[Level]) {
    let points: Vec<(Bytes, Rate)> =
        levels.iter().filter_map(|level| Some((level.drive.saturating_sub(level.range), level.steady?))).collect();
    if let Some(fsef) = slope(&points) {
        let (slope, error) = (fsef.mb_s_per_gb, fsef.standard_error);
        println!("  FSEF over {} levels: {slope:.3} ± {error:.3} MB/s for each free GB", fsef.levels);
    }
    let sums = levels.iter().filter_map(|level| Some((level.range.0 + level.cliff?.0) as f64 / GIB as f64));
    let sums: Vec<String> = sums.map(|gib| format!("{gib:.0}")).collect();
    if !sums.is_empty() {
        println!("  range in use and bytes at the cliff: {} GiB", sums.join(", "));
    }
}
