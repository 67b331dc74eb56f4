//! Real series from real drives, and what a person sees on the plot of each.
//!
//! The series are nobody's here to publish, so they lie beside the repository, in `../shared/corpus` (or where
//! `STORAGE_CHECK_CORPUS` says). Reads a folder with a `truth.toml`; knows nothing of what the analysis finds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use harness::analysis::analyze::analyze;
use harness::analysis::known::{Known, Workload};
use harness::analysis::series::{Series, Step};
use harness::units::{Bytes, GIB, MIB, Nanos};
use serde::Deserialize;

/// The folder where the corpus lies unless somebody says otherwise.
#[must_use]
pub fn folder() -> PathBuf {
    std::env::var_os("STORAGE_CHECK_CORPUS")
        .map_or_else(|| crate::source::root().join("../shared/corpus"), PathBuf::from)
}

/// What a person sees on the plot of one series. What is absent is not scored.
#[derive(Clone, Debug, Deserialize)]
pub struct Truth {
    /// Path of the series, from the corpus' folder.
    pub file: PathBuf,
    /// How the bytes were written.
    kind: Kind,
    /// Whether there is a cliff.
    pub cliff: Option<bool>,
    /// Where it is.
    pub cliff_gib: Option<[f64; 2]>,
    /// The rate before it.
    pub before_mib_s: Option<f64>,
    /// The rate right after it.
    pub after_mib_s: Option<f64>,
    /// Whether the series is steady at its end.
    pub steady: Option<bool>,
    /// At which rate.
    pub steady_mib_s: Option<f64>,
    /// What the drive offers.
    pub drive_gib: Option<f64>,
    /// The range in use.
    pub range_gib: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Fill,
    RandomWrite,
}

#[derive(Deserialize)]
struct Truths {
    series: BTreeMap<String, Truth>,
}

/// A digest of all that the analysis finds in a corpus: the same bytes whatever compiler, machine and build profile.
///
/// # Errors
/// A series cannot be read.
pub fn digest<'a>(folder: &Path, truths: impl IntoIterator<Item = (&'a String, &'a Truth)>) -> Result<u64> {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for (name, truth) in truths {
        // Rust prints a float as the shortest text that is that float and no other.
        let text = format!("{name} {:?}", analyze(&truth.series(folder)?, &truth.known()));
        // FNV-1a.
        digest = text.bytes().fold(digest, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    }
    Ok(digest)
}

/// All truths of a corpus by name; none where the folder has no `truth.toml`.
///
/// # Errors
/// The file cannot be read, or is no list of truths.
pub fn truths(folder: &Path) -> Result<Option<BTreeMap<String, Truth>>> {
    let path = folder.join("truth.toml");
    if !path.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let truths: Truths = toml::from_str(&text).with_context(|| format!("reading {} as truths", path.display()))?;
    Ok(Some(truths.series))
}

impl Truth {
    /// Whether the series is a fill.
    #[must_use]
    pub fn is_fill(&self) -> bool {
        self.kind == Kind::Fill
    }

    /// What an observer may know of the drive.
    #[must_use]
    pub fn known(&self) -> Known {
        let bytes = |gib: f64| Bytes((gib * GIB as f64) as u64);
        Known {
            workload: if self.is_fill() { Workload::Fill } else { Workload::RandomWrite },
            drive: self.drive_gib.map(bytes),
            range: self.range_gib.map(bytes),
            others: Bytes(0),
        }
    }

    /// The steps of the series: `offset_mib,mib_s` of equal chunks, or `t_s,mib_s` of intervals.
    ///
    /// # Errors
    /// The file is not there, or has other columns.
    pub fn steps(&self, folder: &Path) -> Result<Vec<Step>> {
        let path = folder.join(&self.file);
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        steps(&text).with_context(|| format!("reading {} as a series", path.display()))
    }

    /// The series itself.
    ///
    /// # Errors
    /// The file is not there, or has other columns.
    pub fn series(&self, folder: &Path) -> Result<Series> {
        Ok(Series::new(self.steps(folder)?))
    }
}

fn steps(text: &str) -> Result<Vec<Step>> {
    let mut lines = text.lines();
    let header = lines.next().context("it is empty")?;
    let rows = lines.map(|line| {
        let (x, rate) = line.split_once(',').with_context(|| format!("no comma in {line}"))?;
        Ok((x.parse::<f64>()?, rate.parse::<f64>()?))
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let chunk = match (header, &rows[..]) {
        ("t_s,mib_s", [_, ..]) => None,
        ("offset_mib,mib_s", [first, second, ..]) => Some(second.0 - first.0),
        _ => anyhow::bail!("its columns are {header}, and it has {} rows", rows.len()),
    };
    ensure!(rows.iter().all(|row| row.1 > 0.0), "a rate is not above zero");
    let mut last = 0.0;
    let steps = rows.iter().map(|&(x, rate)| {
        let (seconds, mib) = chunk.map_or((x - last, rate * (x - last)), |chunk| (chunk / rate, chunk));
        last = x;
        Step { elapsed_ns: Nanos((seconds * 1e9) as u64), bytes: Bytes((mib * MIB as f64) as u64) }
    });
    Ok(steps.collect())
}
