//! A baseline: the accepted state of one drive model, capacity and target kind under one profile.
//!
//! Pure: TOML text ↔ [`Baseline`]; knows no file and judges nothing. `baselines/README.md` tells the format to
//! people. It is made to be reviewed: the order is fixed, figures have six significant digits, nothing in it
//! changes unless the accepted state does.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::baseline_check::{check, explain};
use super::curve::Curves;
use crate::analysis::metric::Kind;

/// Raised when a reader of the old number would misread a baseline.
pub const SCHEMA: u32 = 1;

/// The accepted state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// [`SCHEMA`] of the text.
    pub schema: u32,
    /// The profile's fingerprint: runs under another one are never compared.
    pub fingerprint: String,
    /// What it is a baseline of.
    pub key: Key,
    /// What surrounded the last accepted run: what must match, and what is under test.
    pub environment: BTreeMap<String, String>,
    /// By metric id.
    pub metric: BTreeMap<String, Accepted>,
    /// Where the values come from.
    pub provenance: Provenance,
    /// Each time that somebody accepted, the oldest first.
    pub accepted: Vec<Acceptance>,
    /// The first accepted state: what slow drift is measured against.
    pub golden: Golden,
    /// What the runs did, by suite or level, for pictures; older baselines have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub curve: BTreeMap<String, Curves>,
}

/// What a baseline is of. Only stable facts: a kernel name may change at a reboot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The drive's model; of a drive that says none its transport, of no drive the filesystem's type.
    pub drive: String,
    /// Addressable bytes of the drive; 0 where unknown.
    pub capacity_bytes: u64,
    /// `folder`, `device` or `simulated`.
    pub target_kind: String,
    /// The profile's name.
    pub profile: String,
}

/// The accepted figures of one metric.
///
/// One of three: figures; no cliff (`more_than`), perhaps with figures of those runs that had one; or no figure
/// in any run, and why (`absent`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Which way is better.
    pub direction: Direction,
    /// Sort of figure.
    pub kind: Kind,
    /// Unit of the figures, as in reports.
    pub unit: String,
    /// Loss that is accepted for this metric, as a fraction, in place of the profile's for its kind; seconds an
    /// hour for stalls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// The smallest tolerance that the gate can hold one equal run by, as `baseline qualify` measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_floor: Option<f64>,
    /// No cliff up to this; of several runs the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_than: Option<f64>,
    /// Why no run has a figure: `too-short`, `never`, `not-applicable` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// One figure a run, in the order of the provenance; `nan` for a run without one; empty where no run has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// More is better.
    More,
    /// Less is better.
    Less,
    /// Neither: a finding.
    Neither,
}

/// Where the values come from: parallel arrays with one entry a run; what is unknown is an empty text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The run's id.
    pub run: Vec<String>,
    /// The drive itself: its serial number, hashed.
    pub unit: Vec<String>,
    /// Firmware.
    pub firmware: Vec<String>,
    /// Kernel.
    pub kernel: Vec<String>,
    /// Driver.
    pub driver: Vec<String>,
    /// When the run began, RFC 3339, UTC.
    pub date: Vec<String>,
}

/// Who accepted what, when and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    /// RFC 3339, UTC.
    pub when: String,
    /// A name, or `unknown`.
    pub who: String,
    /// The reason that was given.
    pub why: String,
    /// The runs that were accepted.
    pub runs: Vec<String>,
}

/// The first accepted figures of each metric, a line a metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Golden {
    /// When the state was accepted, RFC 3339, UTC; metrics that came later are those of a later day.
    pub when: String,
    /// No cliff up to this, as in [`Accepted`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub more_than: BTreeMap<String, f64>,
    /// One figure a run, as in [`Accepted`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Vec<f64>>,
}

/// What a baseline says of a metric, in one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// The median of the figures; of counts the greatest.
    Number(f64),
    /// No cliff up to this.
    MoreThan(f64),
}

/// Why a text is no baseline that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// A newer program wrote it.
    #[error("the baseline has schema {found} and this program reads up to {SCHEMA}: use a newer storage-check")]
    Newer {
        /// Its schema.
        found: i64,
    },
    /// It is not of the form.
    #[error("{}{why}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
    Damaged {
        /// Counted from 1, where it can be told.
        line: Option<usize>,
        /// What is wrong.
        why: String,
    },
}

impl Baseline {
    /// Reads and checks a baseline.
    ///
    /// # Errors
    /// It is a newer program's, or damaged; with the line.
    pub fn parse(text: &str) -> Result<Baseline, BaselineError> {
        let table: toml::Table = toml::from_str(text).map_err(|why| explain(text, &why))?;
        match table.get("schema").and_then(toml::Value::as_integer) {
            Some(found) if found > i64::from(SCHEMA) => return Err(BaselineError::Newer { found }),
            Some(1..) => {}
            _ => {
                let why = "this is no baseline: it does not begin with `schema = 1`".to_owned();
                return Err(BaselineError::Damaged { line: None, why });
            }
        }
        let baseline: Baseline = toml::from_str(text).map_err(|why| explain(text, &why))?;
        check(&baseline, text)?;
        Ok(baseline)
    }

    /// Units of the model that its runs are of.
    #[must_use]
    pub fn units(&self) -> usize {
        self.provenance.unit.iter().collect::<BTreeSet<_>>().len()
    }

    /// The baseline as TOML that parses back to the same baseline.
    ///
    /// # Panics
    /// Never: it holds only texts, numbers and tables of them.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let body = toml::to_string(self).expect("texts, numbers and tables with text keys");
        format!("# Accepted with `storage-check baseline accept`; the README of this folder tells the format.\n{body}")
    }
}

impl Accepted {
    /// The baseline's figure; none where no run has one.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        level(self.kind, &self.values, self.more_than)
    }

    /// Runs that say something of the metric.
    #[must_use]
    pub fn runs(&self) -> usize {
        if self.more_than.is_some() { self.values.len().max(1) } else { figures(&self.values).count() }
    }

    /// Runs with a cliff and runs without, where the runs disagree.
    #[must_use]
    pub fn disagree(&self) -> Option<(usize, usize)> {
        let with = figures(&self.values).count();
        (self.more_than.is_some() && with > 0).then(|| (with, self.values.len() - with))
    }
}

impl Golden {
    /// The first accepted figure of a metric and the runs that it rests on; none where no run had one.
    #[must_use]
    pub fn of(&self, id: &str, kind: Kind) -> Option<(Level, usize)> {
        let values = self.values.get(id).map(Vec::as_slice).unwrap_or_default();
        let level = level(kind, values, self.more_than.get(id).copied())?;
        Some((level, values.len().max(1)))
    }
}

impl Direction {
    /// The direction that a sort of figure has.
    #[must_use]
    pub fn of(kind: Kind) -> Direction {
        match kind {
            Kind::Throughput | Kind::Capacity => Direction::More,
            Kind::TailLatency | Kind::Count | Kind::Stalls => Direction::Less,
            Kind::Finding => Direction::Neither,
        }
    }
}

/// A figure to the six significant digits that baselines hold.
#[must_use]
pub fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Figures of the runs that have one.
pub(super) fn figures(values: &[f64]) -> impl Iterator<Item = f64> {
    values.iter().copied().filter(|value| !value.is_nan())
}

/// The centre, where runs without a cliff stand above all that have one: half the runs are a majority for neither,
/// and count as having none.
fn level(kind: Kind, values: &[f64], more_than: Option<f64>) -> Option<Level> {
    let known: Vec<f64> = figures(values).collect();
    let without = values.len() - known.len();
    match more_than {
        Some(more_than) if known.len() <= without => Some(Level::MoreThan(more_than)),
        _ if known.is_empty() => None,
        _ => Some(Level::Number(centre(kind, &known))),
    }
}

/// One figure for several: the median, which one odd run does not move; of counts the greatest, since it was accepted.
pub(super) fn centre(kind: Kind, values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (kind, sorted.len()) {
        (_, 0) => f64::NAN,
        (Kind::Count, n) => sorted[n - 1],
        (_, n) if n % 2 == 1 => sorted[n / 2],
        (_, n) => sorted[n / 2 - 1] / 2.0 + sorted[n / 2] / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::sample::baseline;

    #[test]
    fn the_text_is_made_to_be_read() {
        let text = baseline(&[("fill.fast_mb_s", &[2384.12, 2379.0]), ("fill.verify_errors", &[0.0, 0.0])]).to_toml();
        let expect = r#"# Accepted with `storage-check baseline accept`; the README of this folder tells the format.
schema = 1
fingerprint = "0ca223322f164a4e"

[key]
drive = "ACME TURBO960"
capacity_bytes = 960197124096
target_kind = "folder"
profile = "acceptance"

[environment]
"drive.firmware" = "FW01"
engine = "sync"
kernel = "6.1.0"

[metric."fill.fast_mb_s"]
direction = "more"
kind = "throughput"
unit = "MB/s"
values = [2384.12, 2379.0]

[metric."fill.verify_errors"]
direction = "less"
kind = "count"
unit = ""
values = [0.0, 0.0]

[provenance]
run = ["run-1", "run-2"]
unit = ["5f1d7a84db00", "5f1d7a84db00"]
firmware = ["FW01", "FW01"]
kernel = ["6.1.0", "6.1.0"]
driver = ["nvme", "nvme"]
date = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]

[[accepted]]
when = "2026-01-03T00:00:00Z"
who = "somebody"
why = "first state"
runs = ["run-1", "run-2"]

[golden]
when = "2026-01-03T00:00:00Z"

[golden.values]
"fill.fast_mb_s" = [2384.12, 2379.0]
"fill.verify_errors" = [0.0, 0.0]
"#;
        assert_eq!(text, expect);
    }

    #[test]
    fn the_figure_is_the_centre_and_no_cliff_is_above_every_cliff() {
        let check = |values: &[f64], more_than, expect| {
            assert_eq!(level(Kind::Stalls, values, more_than), expect, "{values:?}");
        };
        let nan = f64::NAN;
        check(&[3.0], None, Some(Level::Number(3.0)));
        check(&[3.0, 1.0], None, Some(Level::Number(2.0)));
        check(&[9.0, nan, 3.0], None, Some(Level::Number(6.0)));
        check(&[], None, None);
        check(&[nan], None, None);
        check(&[], Some(100.0), Some(Level::MoreThan(100.0)));
        check(&[50.0, nan, nan], Some(100.0), Some(Level::MoreThan(100.0)));
        check(&[50.0, 52.0, nan], Some(100.0), Some(Level::Number(51.0)));
        assert_eq!(centre(Kind::Throughput, &[9.0, 1.0, 3.0]), 3.0);
        assert_eq!(centre(Kind::Count, &[0.0, 3.0, 1.0]), 3.0);
    }

    #[test]
    fn a_newer_baseline_is_refused_in_its_own_words() {
        let why = Baseline::parse("schema = 2\nsomething_new = true\n").unwrap_err();
        assert_eq!(why, BaselineError::Newer { found: 2 });
        assert!(why.to_string().contains("use a newer storage-check"), "{why}");
    }
}
