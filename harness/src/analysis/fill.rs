//! What a fill's samples say: its cliffs, its fast rate and its floor; and what a burst absorbed.
//!
//! Owns the definitions of a fill's figures. Knows nothing of how changes are found.

use std::collections::BTreeMap;

use super::cliff::{self, Cliff, Level, Levels};
use super::series::Series;
use crate::sample::Sample;
use crate::units::{Bytes, Nanos, Rate};

/// The share of a fill that its floor lasts at least, one in so many.
const FLOOR_LASTS: u64 = 20;

/// The figures of a fill. Rates are of the finished attempts alone.
#[derive(Clone, Debug, PartialEq)]
pub struct FillFindings {
    /// Bytes of the finished attempts.
    pub total: Bytes,
    /// Time of the finished attempts.
    pub elapsed: Nanos,
    /// Bytes over time; none where no time passed.
    pub mean: Option<Rate>,
    /// Median rate up to the first cliff, of the whole fill where there is none.
    pub fast: Option<Rate>,
    /// Persistent falls in order; the first is the capacity at the cliff.
    pub cliffs: Vec<Cliff>,
    /// Persistent rises in order.
    pub recoveries: Vec<Cliff>,
    /// Rate of the last level that lasts at least 5 % of the fill; none, that is not applicable, without a cliff.
    pub floor: Option<Rate>,
    /// Mean rate of the first tenth of the bytes.
    pub first_10pct: Option<Rate>,
    /// Mean rate of the last tenth of the bytes.
    pub last_10pct: Option<Rate>,
    /// What lies between the changes.
    pub levels: Vec<Level>,
}

/// What a fill's samples say.
#[must_use]
pub fn fill(samples: &[Sample]) -> FillFindings {
    let finished = finished(samples);
    let series = Series::from_samples(&finished);
    let Levels { cliffs, recoveries, levels } = cliff::find_in_segments(&series, &starts(&finished));
    let first = cliffs.first().map_or(series.total(), |cliff| cliff.at);
    FillFindings {
        total: series.total(),
        elapsed: series.elapsed(),
        mean: series.mean(),
        fast: series.median_between(Bytes(0), first),
        floor: if cliffs.is_empty() { None } else { floor(&levels, series.total()) },
        cliffs,
        recoveries,
        first_10pct: series.first_tenth(),
        last_10pct: series.last_tenth(),
        levels,
    }
}

/// The samples of each segment's last attempt: those of cut attempts are of no finished bytes.
fn finished(samples: &[Sample]) -> Vec<Sample> {
    let mut last = BTreeMap::new();
    for sample in samples {
        let attempt = last.entry(sample.segment).or_insert(sample.attempt);
        *attempt = sample.attempt.max(*attempt);
    }
    samples.iter().filter(|s| last.get(&s.segment) == Some(&s.attempt)).cloned().collect()
}

/// Bytes before each segment's first sample.
fn starts(samples: &[Sample]) -> Vec<Bytes> {
    let mut starts = Vec::new();
    let (mut done, mut last) = (Bytes(0), None);
    for sample in samples {
        if last.replace(sample.segment) != Some(sample.segment) {
            starts.push(done);
        }
        done = done.saturating_add(sample.bytes);
    }
    starts
}

/// The rate of the last level that lasts.
fn floor(levels: &[Level], total: Bytes) -> Option<Rate> {
    levels.iter().rfind(|level| (level.to - level.from).0 >= total.0 / FLOOR_LASTS).map(|level| level.rate)
}

/// What a full drive took at plateau speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Absorbed {
    /// So much, then the rate fell.
    Until(Cliff),
    /// All that was written: more than so much.
    MoreThan(Bytes),
}

/// The figures of a burst onto a full drive after idle time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Bytes at plateau speed.
    pub absorbed: Absorbed,
    /// Median rate of these bytes.
    pub fast: Option<Rate>,
    /// Bytes over time of the whole burst.
    pub mean: Option<Rate>,
}

/// What a burst's samples say.
#[must_use]
pub fn burst(samples: &[Sample]) -> Burst {
    let findings = fill(samples);
    let absorbed = findings.cliffs.first().map_or(Absorbed::MoreThan(findings.total), |&cliff| Absorbed::Until(cliff));
    Burst { absorbed, fast: findings.fast, mean: findings.mean }
}

#[cfg(test)]
mod tests {
    use super::super::simulated::{Fill, Random};
    use super::*;

    /// A fill's cliffs, recoveries and floor: GB and MB/s, each within 2 %, cliffs within two steps.
    fn check(fill_of: &Fill, cliffs: &[f64], recoveries: &[f64], fast: f64, floor: Option<f64>) {
        let samples = fill_of.samples();
        let findings = fill(&samples);
        let near = |found: &[Cliff], expect: &[f64]| {
            found.len() == expect.len()
                && found.iter().zip(expect).all(|(cliff, &gb)| {
                    let spare = 2.0 * fill_of.seconds * cliff.before.mb_s().max(cliff.after.mb_s()) / 1e3;
                    (cliff.at.gb() - gb).abs() <= spare
                        && cliff.low < cliff.high
                        && cliff.low <= cliff.at
                        && cliff.at <= cliff.high
                })
        };
        let like = |found: Option<Rate>, expect: Option<f64>| match (found, expect) {
            (Some(found), Some(expect)) => (found.mb_s() / expect - 1.0).abs() < 0.02,
            (found, expect) => found.is_none() && expect.is_none(),
        };
        assert!(near(&findings.cliffs, cliffs), "cliffs {:?} of {fill_of:?}", findings.cliffs);
        assert!(near(&findings.recoveries, recoveries), "recoveries {:?} of {fill_of:?}", findings.recoveries);
        assert!(like(findings.fast, Some(fast)), "fast {:?} of {fill_of:?}", findings.fast);
        assert!(like(findings.floor, floor), "floor {:?} of {fill_of:?}", findings.floor);
        assert_eq!(findings.total, samples.iter().map(|s| s.bytes).sum());
        assert_eq!(findings.levels.len(), cliffs.len() + recoveries.len() + 1);
    }

    #[test]
    fn a_fill_without_a_fall_has_no_cliff_and_no_floor() {
        check(&Fill::new(&[(1000.0, 500.0)]), &[], &[], 500.0, None);
        check(&Fill { noise: 0.0, ..Fill::new(&[(1000.0, 500.0)]) }, &[], &[], 500.0, None);
        check(&Fill { seconds: 100.0, ..Fill::new(&[(1000.0, 500.0)]) }, &[], &[], 500.0, None);
    }

    #[test]
    fn a_cliff_ends_the_fast_part_and_leads_to_the_floor() {
        check(&Fill::new(&[(121.0, 500.0), (979.0, 140.0)]), &[121.0], &[], 500.0, Some(140.0));
        check(&Fill { noise: 0.0, ..Fill::new(&[(121.0, 500.0), (979.0, 140.0)]) }, &[121.0], &[], 500.0, Some(140.0));
        // A flush of 0.4 s after every 1.1 GB is part of what the drive takes.
        let with_flush = |mb_s: f64| 1100.0 / (1100.0 / mb_s + 0.4);
        check(
            &Fill { segments: 1000, flush: 0.4, ..Fill::new(&[(121.0, 500.0), (979.0, 140.0)]) },
            &[121.0],
            &[],
            with_flush(500.0),
            Some(with_flush(140.0)),
        );
    }

    #[test]
    fn a_shallow_fall_after_a_quiet_plateau_is_a_cliff() {
        check(
            &Fill { noise: 0.003, ..Fill::new(&[(400.0, 500.0), (600.0, 400.0)]) },
            &[400.0],
            &[],
            500.0,
            Some(400.0),
        );
        check(&Fill { noise: 0.003, ..Fill::new(&[(400.0, 500.0), (600.0, 465.0)]) }, &[], &[], 465.0, None);
    }

    #[test]
    fn several_cliffs_and_recoveries_are_all_reported() {
        check(
            &Fill::new(&[(100.0, 2000.0), (500.0, 1000.0), (400.0, 300.0)]),
            &[100.0, 600.0],
            &[],
            2000.0,
            Some(300.0),
        );
        check(&Fill::new(&[(300.0, 900.0), (300.0, 300.0), (400.0, 900.0)]), &[300.0], &[600.0], 900.0, Some(900.0));
        check(&Fill::new(&[(300.0, 900.0), (670.0, 300.0), (30.0, 100.0)]), &[300.0, 970.0], &[], 900.0, Some(300.0));
    }

    #[test]
    fn a_cliff_at_a_segment_border_is_one_whatever_the_noise_at_other_borders() {
        // A throttle's slices: steps that alternate about the level.
        for (cliff_segment, seed) in (2..14).flat_map(|segment| (0..4).map(move |seed| (segment, seed))) {
            let (segment_mb, step_ms) = (125.0, 50.0);
            let mut samples = Vec::new();
            let (mut at, mut start_ns, mut turn) = (0.0, 0_u64, seed);
            while at < 2000.0 {
                let segment = (at / segment_mb) as u32;
                let level = if segment < cliff_segment { 320.0 } else { 120.0 };
                let slice = [0.6, 1.4, 1.0, 1.25, 0.75][turn % 5];
                turn += 1;
                let left = f64::from(segment + 1) * segment_mb - at;
                let mb = (level * slice * step_ms / 1e3_f64).min(left);
                // Each file costs time to make, all of it in the first step.
                let opening =
                    if samples.last().is_none_or(|last: &Sample| last.segment != segment) { 60e6 } else { 0.0 };
                let elapsed = mb / (level * slice) * 1e9 + opening;
                samples.push(Sample {
                    segment,
                    start_ns: Nanos(start_ns),
                    elapsed_ns: Nanos(elapsed as u64),
                    bytes: Bytes((mb * 1e6) as u64),
                    ..Sample::default()
                });
                start_ns += elapsed as u64;
                at += mb.max(1e-3);
            }
            let found = fill(&samples);
            let expect = f64::from(cliff_segment) * segment_mb / 1e3;
            let near = found.cliffs.iter().any(|cliff| (cliff.at.gb() / expect - 1.0).abs() < 0.05);
            assert!(near, "segment {cliff_segment} seed {seed}: {:?}", found.cliffs);
        }
    }

    #[test]
    fn what_every_segment_does_again_is_no_cliff() {
        for segments in [2, 3, 5, 8, 10, 20, 50, 200, 1000] {
            let burst = Fill { segments, burst: 0.2, flush: 0.2, ..Fill::new(&[(1000.0, 300.0)]) };
            let found = fill(&burst.samples());
            assert!(found.cliffs.is_empty() && found.floor.is_none(), "{segments}: {:?}", found.cliffs);
            let both = Fill { segments, burst: 0.1, flush: 0.2, ..Fill::new(&[(640.0, 500.0), (360.0, 100.0)]) };
            let found = fill(&both.samples());
            let ats: Vec<f64> = found.cliffs.iter().map(|cliff| cliff.at.gb()).collect();
            assert!(matches!(ats[..], [at] if (at - 640.0).abs() < 25.0), "{segments}: {ats:?}");
        }
    }

    #[test]
    fn a_stall_is_no_cliff() {
        for (from, count) in [(200, 1), (200, 3), (0, 1), (1900, 2)] {
            let mut samples = Fill::new(&[(1000.0, 500.0)]).samples();
            for sample in &mut samples[from..from + count] {
                sample.elapsed_ns.0 *= 30;
            }
            assert_eq!(fill(&samples).cliffs, [], "{count} from {from}");
            for sample in &mut samples[from..from + count] {
                sample.bytes = Bytes(0);
            }
            assert_eq!(fill(&samples).cliffs, [], "{count} from {from}");
        }
    }

    #[test]
    fn abandoned_attempts_do_not_count() {
        let plan = Fill { segments: 10, ..Fill::new(&[(300.0, 500.0), (700.0, 100.0)]) };
        let samples = plan.samples();
        let cut = samples.iter().filter(|s| s.segment == 1).take(20).cloned();
        let again = samples.iter().map(|s| Sample { attempt: u32::from(s.segment == 1), ..s.clone() });
        let before = samples.iter().filter(|s| s.segment == 0).count();
        let mut resumed: Vec<Sample> = again.collect();
        resumed.splice(before..before, cut);
        assert_eq!(fill(&resumed), fill(&samples));
    }

    #[test]
    fn nothing_measured_is_no_finding() {
        let none = fill(&[]);
        assert_eq!((none.total, none.mean, none.fast, none.floor), (Bytes(0), None, None, None));
        assert_eq!((none.first_10pct, none.last_10pct, none.levels), (None, None, vec![]));
        assert_eq!(burst(&[]).absorbed, Absorbed::MoreThan(Bytes(0)));
        let stalled = vec![Sample { elapsed_ns: Nanos::from_secs(1), ..Sample::default() }; 50];
        assert_eq!(fill(&stalled).cliffs, []);
    }

    #[test]
    fn a_burst_absorbs_up_to_its_cliff_or_more_than_was_written() {
        let absorbed = |levels| burst(&Fill { seconds: 0.5, ..Fill::new(levels) }.samples()).absorbed;
        let fell = absorbed(&[(4.0, 800.0), (6.0, 130.0)]);
        assert!(matches!(fell, Absorbed::Until(cliff) if (cliff.at.gb() - 4.0).abs() < 0.4), "{fell:?}");
        assert_eq!(absorbed(&[(10.0, 800.0)]), Absorbed::MoreThan(Bytes(10_000_000_000)));
    }

    #[test]
    fn the_same_samples_in_other_steps_have_the_same_cliff() {
        let mut random = Random(7);
        let samples = Fill { seconds: 0.5, ..Fill::new(&[(200.0, 500.0), (300.0, 100.0)]) }.samples();
        let whole = fill(&samples).cliffs[0].at.gb();
        for _ in 0..20 {
            let mut merged: Vec<Sample> = Vec::new();
            for sample in &samples {
                match merged.last_mut() {
                    Some(last) if random.unit() < 0.6 => {
                        last.bytes += sample.bytes;
                        last.elapsed_ns = last.elapsed_ns + sample.elapsed_ns;
                    }
                    _ => merged.push(sample.clone()),
                }
            }
            let found = fill(&merged).cliffs;
            assert!(found.len() == 1 && (found[0].at.gb() - whole).abs() < 2.0, "{found:?}");
        }
    }
}
