//! A run as the verdict sees it, and whether a baseline is one of the same thing at all.
//!
//! Pure. Knows no journal.

use std::collections::BTreeMap;

use super::baseline::{Baseline, Key};
use super::curve::Curve;
use super::surroundings::{Change, UnderTest, changes, confounders, side_effects};
use crate::analysis::metric::Metric;

/// A run that is judged or accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The run's id.
    pub run: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// Its profile's fingerprint.
    pub fingerprint: String,
    /// What it measured.
    pub key: Key,
    /// The drive itself: its serial number, hashed; none where the drive says none.
    pub unit: Option<String>,
    /// What surrounded it.
    pub environment: BTreeMap<String, String>,
    /// What it found.
    pub metrics: Vec<Metric>,
    /// By suite, such as `fill.` or `random_write.25pct.`: GB written, up to which cliffs were looked for.
    pub reach_gb: BTreeMap<String, f64>,
    /// Parts of the profile that were left out, such as `random_write.25pct`, and why.
    pub left_out: Vec<(String, String)>,
    /// Why some of the drive's and its host's counters of errors could not be read, if so.
    pub health_unread: Option<String>,
    /// What it did from beginning to end, by suite or level, such as `fill` or `random_write.25pct`.
    pub curves: BTreeMap<String, Curve>,
}

/// What surrounds a run against what surrounded its baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Every fact that differs.
    pub changes: Vec<Change>,
    /// Why nothing may be concluded, if so.
    pub confounded: Option<String>,
    /// A link, cache or scheduler that changed with a variable under test.
    pub side_effect: Option<String>,
}

/// The metrics' prefix of a suite or level: `fill.` of `fill.cliff2_gb`.
pub(super) fn suite(id: &str) -> &str {
    id.rfind('.').map_or("", |dot| &id[..=dot])
}

/// Whether the id is that of a second or later cliff.
pub(super) fn is_further_cliff(id: &str) -> bool {
    let number = id[suite(id).len()..].strip_prefix("cliff").and_then(|rest| rest.strip_suffix("_gb"));
    number.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number >= 2)
}

impl Candidate {
    /// The metric of that id.
    #[must_use]
    pub fn metric(&self, id: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.id == id)
    }

    /// Why this run is never compared with that baseline, in words of its own for each cause.
    #[must_use]
    pub fn incomparable(&self, baseline: &Baseline) -> Option<String> {
        let (ours, theirs) = (&self.key, &baseline.key);
        if ours.profile != theirs.profile {
            return Some(format!(
                "the baseline is of profile {}, and this run of {}: accept a baseline of this profile",
                theirs.profile, ours.profile
            ));
        }
        if ours.target_kind != theirs.target_kind {
            return Some(format!(
                "the baseline was measured on a target of kind {}, and this run on a {}: they measure different things",
                theirs.target_kind, ours.target_kind
            ));
        }
        if ours.drive != theirs.drive {
            return Some(format!(
                "the baseline is of drive model {:?}, and this run of {:?}: `compare` sets two drives side by side",
                theirs.drive, ours.drive
            ));
        }
        if ours.capacity_bytes != theirs.capacity_bytes {
            return Some(format!(
                "the baseline is of a drive of {} bytes, and this one has {}: accept a baseline of this size",
                theirs.capacity_bytes, ours.capacity_bytes
            ));
        }
        (self.fingerprint != baseline.fingerprint).then(|| {
            format!(
                "the baseline's profile {} has fingerprint {}, and this run's has {}: the profile changed, so accept a new baseline",
                ours.profile, baseline.fingerprint, self.fingerprint
            )
        })
    }

    /// What changed since the baseline, and why that forbids to compare, if it does.
    ///
    /// Another unit is no hindrance where it is known how much units differ (`unit_spread`): from runs of several
    /// units, or from the profile.
    #[must_use]
    pub fn surroundings(&self, baseline: &Baseline, under_test: &UnderTest, unit_spread: bool) -> Surroundings {
        let changes = changes(&baseline.environment, &self.environment, under_test);
        let text = |changes: &[&Change]| changes.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut why = text(&confounders(&changes));
        why.extend(self.other_unit(baseline).filter(|_| !unit_spread && baseline.units() < 2));
        let confounded = (!why.is_empty()).then(|| format!("not comparable: {}", why.join(", ")));
        let causes = text(&changes.iter().filter(|change| change.under_test).collect::<Vec<_>>());
        let effects = text(&side_effects(&changes));
        let side_effect =
            (!effects.is_empty()).then(|| format!("{} changed with {}", effects.join(", "), causes.join(", ")));
        Surroundings { changes, confounded, side_effect }
    }

    /// Another unit of the model than those of the baseline.
    fn other_unit(&self, baseline: &Baseline) -> Option<String> {
        let unit = self.unit.as_deref().unwrap_or_default();
        let units = &baseline.provenance.unit;
        let known = units.iter().any(|known| known == unit);
        (!known).then(|| {
            let name =
                |unit: &str| if unit.is_empty() { "one without a serial number".to_owned() } else { unit.to_owned() };
            let last = units.last().map(String::as_str).unwrap_or_default();
            format!(
                "another unit of this model, and the baseline has one unit (baseline {}, this run {}): accept runs of \
                 more units, or state [judge.unit_spread]",
                name(last),
                name(unit)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::baseline::Provenance;
    use crate::verdict::sample::{baseline, candidate};

    #[test]
    fn what_is_no_baseline_of_this_run_says_why_in_its_own_words() {
        let sample = baseline(&[("fill.fast_mb_s", &[100.0])]);
        let run = candidate(&[]);
        assert_eq!(run.incomparable(&sample), None);
        let check = |change: fn(&mut Baseline), expect: &str| {
            let mut other = sample.clone();
            change(&mut other);
            let why = run.incomparable(&other).unwrap();
            assert!(why.contains(expect), "{why}");
        };
        check(|other| other.fingerprint = "f".repeat(16), "fingerprint ffff");
        check(|other| other.key.drive = "Other".to_owned(), "drive model \"Other\"");
        check(|other| other.key.capacity_bytes = 1, "a drive of 1 bytes");
        check(|other| other.key.target_kind = "device".to_owned(), "target of kind device");
        check(|other| other.key.profile = "ci".to_owned(), "profile ci");
    }

    #[test]
    fn another_unit_is_a_difference_and_two_drives_without_serial_are_not() {
        let mut sample = baseline(&[("fill.fast_mb_s", &[100.0])]);
        let mut run = candidate(&[]);
        let why =
            |run: &Candidate, sample: &Baseline| run.surroundings(sample, &UnderTest::default(), false).confounded;
        assert_eq!(why(&run, &sample), None);
        run.unit = Some("ffff".to_owned());
        assert!(why(&run, &sample).unwrap().contains("another unit of this model"));
        assert_eq!(run.surroundings(&sample, &UnderTest::default(), true).confounded, None);
        let two = baseline(&[("fill.fast_mb_s", &[100.0, 101.0])]);
        let units = vec!["aaaa".to_owned(), "bbbb".to_owned()];
        let two = Baseline { provenance: Provenance { unit: units, ..two.provenance }, ..two };
        assert_eq!(why(&run, &two), None);
        run.unit = None;
        assert!(why(&run, &sample).unwrap().contains("one without a serial number"));
        sample.provenance.unit = vec![String::new()];
        assert_eq!(why(&run, &sample), None);
    }

    #[test]
    fn further_cliffs_are_told_from_the_first() {
        assert!(is_further_cliff("fill.cliff2_gb") && is_further_cliff("fill.cliff10_gb"));
        assert!(!is_further_cliff("fill.cliff_gb") && !is_further_cliff("fill.cliff1_gb"));
        assert_eq!(suite("random_write.25pct.cliff_gb"), "random_write.25pct.");
    }
}
