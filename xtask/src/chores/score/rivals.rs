//! Two public rules for steady state, as an observer would use them who is fed sample by sample.
//!
//! Owns only these rules, for comparison; the judgement of this project is the library's.

use harness::analysis::series::{Series, Step};
use harness::analysis::snia;
use harness::units::{Bytes, Nanos, Rate};

/// SNIA's rule (PTS 2.0.2, 2.1.24): the first five rounds of 60 s whose range is at most 20 % of the mean and whose
/// line rises or falls by at most 10 %.
pub(super) fn snia(series: &Series) -> Option<(Nanos, Rate)> {
    let rounds = snia::rounds(series);
    let window = rounds.windows(snia::WINDOW).find(|window| snia::evidence(window).is_some_and(|e| e.passes()))?;
    let (bytes, elapsed) = window.iter().fold((Bytes(0), Nanos(0)), |sum, round| {
        (sum.0.saturating_add(round.bytes), sum.1.saturating_add(round.elapsed))
    });
    let last = window.last()?;
    Some((last.start.saturating_add(last.elapsed), bytes.per(elapsed)?))
}

/// Seconds of fio's window.
const WINDOW_S: f64 = 600.0;
/// fio's limit: percent of the mean a sample.
const LIMIT: f64 = 0.3;

/// fio's rule `bw_slope:0.3%` over 600 s (axboe/fio f538434, `steadystate.c`): the first window of whole samples whose
/// least-squares slope is at most 0.3 % of their mean *a sample*.
pub(super) fn fio(series: &Series) -> Option<(Nanos, Rate)> {
    let steps = series.steps();
    let interval = steps.first()?.elapsed_ns.secs();
    let length = ((WINDOW_S / interval) as usize).max(2);
    let mut end = Nanos(0);
    steps.iter().enumerate().find_map(|(last, step)| {
        end = end.saturating_add(step.elapsed_ns);
        let window = steps.get((last + 1).checked_sub(length)?..=last)?;
        let (mean, slope) = line(window);
        (100.0 * slope.abs() / mean <= LIMIT).then_some((end, Rate(mean)))
    })
}

/// Mean rate, and the least-squares slope a sample.
fn line(window: &[Step]) -> (f64, f64) {
    let rates: Vec<f64> = window.iter().filter_map(|step| Some(step.rate()?.0)).collect();
    let n = rates.len() as f64;
    let (mean, middle) = (rates.iter().sum::<f64>() / n, (n - 1.0) / 2.0);
    let (mut products, mut squares) = (0.0, 0.0);
    for (at, rate) in rates.iter().enumerate() {
        products += (at as f64 - middle) * (rate - mean);
        squares += (at as f64 - middle) * (at as f64 - middle);
    }
    (mean, products / squares)
}
