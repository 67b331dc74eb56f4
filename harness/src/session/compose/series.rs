//! From an imported series to what is said of it.

use super::suites::{cliff_line, curve, steady_line};
use crate::analysis::analyze::analyze_in_segments;
use crate::analysis::known::Known;
use crate::analysis::series::{Series, Step};
use crate::import::Imported;
use crate::report::series::{LatencySummary, SeriesReport, Stalled};
use crate::units::{Bytes, Nanos};

/// What is said of a series; `drive` and `range` are what the user knows of them.
#[must_use]
pub fn series_report(imported: Imported, drive: Option<Bytes>, range: Option<Bytes>) -> SeriesReport {
    let own = imported.known;
    let known = Known { workload: imported.workload(), drive: drive.or(own.drive), range: range.or(own.range), ..own };
    let series = Series::new(imported.steps.iter().copied());
    let analysis = analyze_in_segments(&series, &known, &imported.segments);
    SeriesReport {
        kind: imported.kind,
        part: imported.part,
        bytes: series.total().0,
        seconds: series.elapsed().secs(),
        mean_mb_s: series.mean().map(|rate| rate.mb_s()),
        curve: curve(&series),
        cliffs: analysis.cliffs.iter().map(cliff_line).collect(),
        recoveries: analysis.recoveries.iter().map(cliff_line).collect(),
        steady: steady_line(&analysis),
        stalled: stalled(&imported.steps),
        latency: imported.latency.map(|latency| LatencySummary {
            of: latency.of,
            count: latency.count,
            mean_us: latency.mean_us,
            p50_us: latency.p50_us,
            p99_us: latency.p99_us,
            max_us: latency.max_us,
        }),
        warnings: imported.warnings,
        files: imported.files,
    }
}

fn stalled(steps: &[Step]) -> Option<Stalled> {
    let (mut at, mut all, mut longest) = (Nanos(0), Nanos(0), (Nanos(0), Nanos(0)));
    for run in steps.chunk_by(|a, b| (a.bytes.0 == 0) == (b.bytes.0 == 0)) {
        let span = run.iter().fold(Nanos(0), |sum, step| sum.saturating_add(step.elapsed_ns));
        if run.iter().all(|step| step.bytes.0 == 0) {
            all = all.saturating_add(span);
            longest = if span > longest.0 { (span, at) } else { longest };
        }
        at = at.saturating_add(span);
    }
    let found = Stalled { seconds: all.secs(), longest_s: longest.0.secs(), longest_at_s: longest.1.secs() };
    (all.0 > 0).then_some(found)
}
