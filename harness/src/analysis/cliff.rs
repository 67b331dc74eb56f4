//! Cliffs of a series: its persistent falls between two levels, its recoveries, and its levels.
//!
//! Owns the words and the order of the work; the criteria are in `judge` and `segments`, the place in `refine`.

use super::bins::Bins;
use super::series::Series;
use super::{judge, partition, refine, segments};
use crate::units::{Bytes, Rate};

/// A persistent change between two levels: a fall, or among recoveries a rise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cliff {
    /// Bytes before it, from the start of the series.
    pub at: Bytes,
    /// Least bytes before it that the samples allow; at least a sampling step below `high`.
    pub low: Bytes,
    /// Greatest bytes before it that the samples allow.
    pub high: Bytes,
    /// Median rate of the level before it.
    pub before: Rate,
    /// Rate right after it: of the level, or of the trough where there is one.
    pub after: Rate,
}

/// A stretch between two changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Bytes before it.
    pub from: Bytes,
    /// Bytes up to its end.
    pub to: Bytes,
    /// Median rate of its bytes.
    pub rate: Rate,
}

/// All persistent changes of a series, and what lies between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// Falls, in order.
    pub cliffs: Vec<Cliff>,
    /// Rises, in order.
    pub recoveries: Vec<Cliff>,
    /// From the start to the end of the series without gaps; one where nothing changed, none
    /// where there is no byte.
    pub levels: Vec<Level>,
}

/// The levels of a series.
///
/// Change points in the log rate over bytes written are candidates; the persistent changes among
/// them are judged at the scale at which a person sees them on the plot, then placed among the steps.
#[must_use]
pub fn find(series: &Series) -> Levels {
    find_in_segments(series, &[])
}

/// The levels of a series written in segments that start at these bytes: what every segment does again is no change
/// of level.
#[must_use]
pub fn find_in_segments(series: &Series, starts: &[Bytes]) -> Levels {
    find_in_bins(series, &Bins::new(series), starts)
}

/// The same for a series whose bins there are already.
pub(super) fn find_in_bins(series: &Series, bins: &Bins, starts: &[Bytes]) -> Levels {
    let candidates = partition::changes(&bins.tame, bins.noise);
    let changes = judge::persistent(bins, &candidates).into_iter().map(|change| refine::place(series, bins, &change));
    let changes: Vec<Cliff> = changes.filter(|change| !segments::repeats(series, starts, change)).collect();

    let mut found = Levels::default();
    let mut from = Bytes(0);
    for (index, change) in changes.iter().enumerate() {
        let end = changes.get(index + 1).map_or(series.total(), |next| next.at);
        let before = series.median_between(from, change.at).unwrap_or(change.before);
        let falls = change.after < change.before;
        let after = refine::rate_after(series, change.at, end, falls).unwrap_or(change.after);
        let exact = Cliff { before, after, ..*change };
        if falls {
            found.cliffs.push(exact);
        } else {
            found.recoveries.push(exact);
        }
        found.levels.push(Level { from, to: change.at, rate: before });
        from = change.at;
    }
    let last = series.median_between(from, series.total());
    found.levels.extend(last.map(|rate| Level { from, to: series.total(), rate }));
    found
}

#[cfg(test)]
mod tests {
    use super::super::series::Step;
    use super::super::simulated::{Random, drive};
    use super::*;
    use crate::units::Nanos;

    /// The cliffs of a drive of 1000 GB, in GB, each within a percent of the bytes; `rate` in MB/s at a
    /// share of the bytes.
    fn check(seconds: f64, noise: f64, rate: impl Fn(f64) -> f64, cliffs: &[f64]) {
        check_steps(drive(seconds, noise, &mut Random(3), rate), cliffs);
    }

    fn check_steps(steps: Vec<Step>, cliffs: &[f64]) {
        let found = find(&Series::new(steps)).cliffs;
        let ats: Vec<f64> = found.iter().map(|cliff| cliff.at.gb()).collect();
        let near = ats.len() == cliffs.len() && ats.iter().zip(cliffs).all(|(at, gb)| (at - gb).abs() < 10.0);
        assert!(near, "{ats:?} instead of {cliffs:?}: {found:?}");
    }

    #[test]
    fn a_disk_that_slows_down_inwards_has_no_cliff() {
        for noise in [0.0, 0.005, 0.03] {
            check(20.0, noise, |x| 200.0 - 100.0 * x, &[]);
            check(200.0, noise, |x| 200.0 - 100.0 * x, &[]);
            check(20.0, noise, |x| 200.0 - 100.0 * libm::floor(x * 16.0) / 16.0, &[]);
        }
    }

    #[test]
    fn a_cliff_on_a_slope_is_found() {
        check(20.0, 0.02, |x| (200.0 - 100.0 * x) * if x < 0.4 { 1.0 } else { 0.75 }, &[400.0]);
        check(20.0, 0.0, |x| if x < 0.11 { 500.0 } else { 170.0 - 50.0 * x }, &[110.0]);
    }

    #[test]
    fn a_plateau_of_one_sample_can_be_one() {
        let step = |mb: u64| Step { elapsed_ns: Nanos::from_secs(60), bytes: Bytes(mb * 1_000_000) };
        let steps = [(100_000, 1), (40_000, 1), (15_000, 57)];
        check_steps(steps.iter().flat_map(|&(mb, count)| vec![step(mb); count]).collect(), &[129.4]);
    }

    #[test]
    fn one_slow_or_fast_sample_is_none() {
        for (index, times) in [(0, 4), (30, 4), (58, 4), (59, 4)] {
            let mut steps = drive(60.0, 0.01, &mut Random(3), |_| 280.0);
            steps[index].bytes.0 /= times;
            check_steps(steps.clone(), &[]);
            steps[index].bytes.0 *= times * times;
            check_steps(steps, if index == 0 { &[67.0] } else { &[] });
        }
    }

    #[test]
    fn a_fall_over_a_few_samples_is_one_cliff_and_over_half_the_fill_none() {
        let ramp = |width: f64| move |x: f64| 500.0 - 350.0 * ((x - 0.4) / width).clamp(0.0, 1.0);
        check(10.0, 0.01, ramp(0.01), &[405.0]);
        check(10.0, 0.01, ramp(0.03), &[415.0]);
        check(10.0, 0.01, ramp(0.5), &[]);
    }

    #[test]
    fn quiet_before_and_noisy_after_is_still_a_cliff() {
        let mut random = Random(5);
        let mut steps = drive(10.0, 0.003, &mut random, |x| if x < 0.3 { 500.0 } else { 400.0 });
        for step in steps.iter_mut().skip(60) {
            step.bytes.0 = (step.bytes.0 as f64 * (1.0 + 0.06 * random.normal())) as u64;
        }
        let total: u64 = steps.iter().map(|step| step.bytes.0).sum();
        assert!(total > 900_000_000_000);
        check_steps(steps, &[300.0]);
    }

    #[test]
    fn a_virtual_disk_that_wavers_has_no_cliff() {
        for seed in 0..50 {
            let mut random = Random(seed);
            let mut drift = 0.0;
            let steps = drive(5.0, 0.0, &mut Random(seed), |_| 300.0).into_iter().map(|step| {
                drift = 0.995 * drift + 0.01 * random.normal();
                Step {
                    bytes: Bytes((step.bytes.0 as f64 * libm::exp(drift) * random.between(0.7, 1.3)) as u64),
                    ..step
                }
            });
            check_steps(steps.collect(), &[]);
        }
    }

    #[test]
    fn the_rate_after_a_cliff_is_that_of_its_trough() {
        let rate = |x: f64| if x < 0.3 { 1400.0 } else { 700.0 - 260.0 * libm::exp(-(x - 0.3) * 20.0) };
        let found = find(&Series::new(drive(5.0, 0.005, &mut Random(1), rate)));
        let after = found.cliffs[0].after.mb_s();
        assert!((440.0..460.0).contains(&after), "{after}");
    }

    #[test]
    fn a_single_slow_step_is_no_trough() {
        // Blocks of 1 MiB in steps of 100 ms: two a step, and once one.
        let blocks = (0..180).map(|at| match at {
            ..40 => 8,
            47 => 1,
            _ => 2,
        });
        let step = |blocks: u64| Step { bytes: Bytes(blocks << 20), elapsed_ns: Nanos::from_millis(100) };
        let found = find(&Series::new(blocks.map(step)));
        let after = found.cliffs[0].after.mb_s();
        assert!((20.0..22.0).contains(&after), "{after}");
    }
}
