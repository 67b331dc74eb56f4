//! From a journal's phases to the findings of each suite, and from findings to the report's lines.

use super::notes::{counted, ratio};
use crate::analysis::analyze::Analysis;
use crate::analysis::cliff::Cliff;
use crate::analysis::fill::{burst, fill};
use crate::analysis::known::{Known, Workload};
use crate::analysis::random::{LevelFindings, LevelInput, level};
use crate::analysis::series::Series;
use crate::analysis::snia::Evidence;
use crate::analysis::space::Fsef;
use crate::analysis::steady::State;
use crate::analysis::suite::FillSuite;
use crate::journal::record::{FaultKind, FaultRecord};
use crate::journal::replay::{PhaseReplay, Replay};
use crate::plan::phase::{Phase, Plan, Work};
use crate::plan::profile::Profile;
use crate::report::{
    CliffLine, FillReport, FsefLine, Interval, LatencyLine, LevelReport, OscillationLine, Point, SteadyLine,
};
use crate::sample::Sample;
use crate::units::{Bytes, Nanos};

/// Points of a report's curve at the most.
const MOST_POINTS: u64 = 400;
/// Bad blocks that a report names at the most.
const MOST_BAD_BLOCKS: usize = 50;
/// What the fill found, if there was one.
pub(super) fn fill_suite(replay: &Replay) -> Option<FillSuite> {
    let write = replay.phase("fill.write")?;
    let read = replay.phase("fill.read");
    let bursts = replay.phases.iter().filter(|phase| phase.id.starts_with("fill.burst.") && phase.end_ns.is_some());
    let idle = |phase: &PhaseReplay| replay.header.plan.phase(&phase.id).map(|planned| planned.rest_ns);
    Some(FillSuite {
        write: fill(&write.samples_so_far()),
        read: read.and_then(|read| Series::from_samples(&read.samples).mean()),
        verify_errors: read.map(|_| replay.verify_errors()),
        bursts: bursts.filter_map(|phase| Some((idle(phase)?, burst(&phase.samples)))).collect(),
    })
}

/// The fill's part of the report.
pub(super) fn fill_report(replay: &Replay, suite: &FillSuite) -> FillReport {
    let samples = replay.phase("fill.write").map(PhaseReplay::samples_so_far).unwrap_or_default();
    FillReport {
        bytes: suite.write.total.0,
        seconds: suite.write.elapsed.secs(),
        curve: curve(&Series::from_samples(&samples)),
        intervals: intervals(&samples),
        cliffs: suite.write.cliffs.iter().map(cliff_line).collect(),
        bad_blocks: replay.faults.iter().filter_map(bad_block).take(MOST_BAD_BLOCKS).collect(),
        counter_ratios: ratios(replay, "fill."),
    }
}

/// Throughput over bytes in steps of equal bytes.
pub(super) fn curve(series: &Series) -> Vec<Point> {
    curve_of(series, MOST_POINTS)
}

/// The same in `most` steps at the most.
pub(super) fn curve_of(series: &Series, most: u64) -> Vec<Point> {
    let total = series.total().0;
    let steps = most.min(series.steps().len() as u64);
    (0..steps)
        .filter_map(|step| {
            let at = |n: u64| Bytes((u128::from(total) * u128::from(n) / u128::from(steps.max(1))) as u64);
            let rate = series.rate_between(at(step), at(step + 1))?;
            Some(Point { at_gb: at(step + 1).gb(), mb_s: rate.mb_s() })
        })
        .collect()
}

fn bad_block(fault: &FaultRecord) -> Option<String> {
    let FaultKind::Verify(_) = fault.what else { return None };
    Some(format!(
        "segment {} at byte {} of the fill: {}",
        fault.segment.unwrap_or(0),
        fault.offset.unwrap_or(0),
        fault.message
    ))
}

pub(super) fn cliff_line(cliff: &Cliff) -> CliffLine {
    CliffLine {
        at_gb: cliff.at.gb(),
        low_gb: cliff.low.gb(),
        high_gb: cliff.high.gb(),
        before_mb_s: cliff.before.mb_s(),
        after_mb_s: cliff.after.mb_s(),
    }
}

fn ratios(replay: &Replay, suite: &str) -> Vec<(String, f64)> {
    let ours = counted(replay).filter(|(id, _)| id.starts_with(suite));
    ours.map(|(id, counted)| (id.to_owned(), ratio(counted))).collect()
}

/// What each level of random writes found, in order.
///
/// # Errors
/// A histogram in the journal is damaged.
pub(super) fn levels(replay: &Replay, profile: Option<&Profile>) -> Result<Vec<LevelFindings>, String> {
    let slice_from = profile.and_then(|profile| profile.random_write.as_ref()?.slice_from).map(|from| from.0);
    let plan = &replay.header.plan;
    let phases = replay.phases.iter().filter_map(|phase| Some((phase, plan.phase(&phase.id)?)));
    let random = phases.filter(|(_, planned)| matches!(planned.work, Work::RandomWrite { .. }));
    random
        .map(|(phase, planned)| {
            let free = |drive: Bytes| drive.saturating_sub(used(plan, planned));
            level(&LevelInput {
                level: level_name(&phase.id),
                samples: &phase.samples_so_far(),
                rounds: &rounds(phase),
                known: known(plan, planned),
                slice_from,
                drive_free: plan.drive.map(free),
            })
        })
        .collect()
}

/// Bytes of the drive in use while random writes run, others' data counted.
pub(super) fn used(plan: &Plan, planned: &Phase) -> Bytes {
    plan.in_use.unwrap_or(Bytes(0)).saturating_add(planned.layout.bytes())
}

/// The samples as the report holds them: on a clock of the suite's own.
fn intervals(samples: &[Sample]) -> Vec<Interval> {
    let ends = samples.iter().scan(Nanos(0), |end, sample| {
        *end = end.saturating_add(sample.elapsed_ns);
        Some(Interval { end_s: end.secs(), elapsed_s: sample.elapsed_ns.secs(), bytes: sample.bytes.0 })
    });
    ends.collect()
}

/// What is known of the drive in a phase of random writes.
pub(in crate::session) fn known(plan: &Plan, phase: &Phase) -> Known {
    Known {
        workload: Workload::RandomWrite,
        drive: plan.drive,
        range: Some(phase.layout.bytes()),
        others: plan.in_use.unwrap_or(Bytes(0)),
    }
}

/// `random_write.<level>.write`
fn level_name(id: &str) -> &str {
    id.split('.').nth(1).unwrap_or(id)
}

fn rounds(phase: &PhaseReplay) -> Vec<(Nanos, &str)> {
    phase.rounds.iter().map(|round| (round.start_ns.saturating_sub(phase.start_ns), round.histogram.as_str())).collect()
}

/// A level's part of the report.
pub(super) fn level_report(replay: &Replay, found: &LevelFindings) -> LevelReport {
    let id = format!("random_write.{}.write", found.level);
    let samples: Vec<Sample> = replay.phase(&id).map(PhaseReplay::samples_so_far).unwrap_or_default();
    LevelReport {
        level: found.level.clone(),
        bytes: found.found.total.0,
        seconds: found.found.elapsed.secs(),
        used_gb: replay.header.plan.phase(&id).map(|planned| used(&replay.header.plan, planned).gb()),
        curve: curve(&Series::from_samples(&samples)),
        intervals: intervals(&samples),
        cliffs: found.found.cliffs.iter().map(cliff_line).collect(),
        steady: steady_line(&found.found),
        latency: found.latency.map(|latency| LatencyLine {
            p50_us: latency.p50_us,
            p99_us: latency.p99_us,
            p999_us: latency.p999_us,
            p9999_us: latency.p9999_us,
            max_us: latency.max_us,
        }),
        stalled_s: found.stalled.secs(),
        counter_ratios: ratios(replay, &format!("random_write.{}.", found.level)),
    }
}

/// Whether a rate settled.
pub(super) fn steady_line(found: &Analysis) -> SteadyLine {
    let steady = &found.steady;
    let evidence = |evidence: Evidence| (evidence.range, evidence.excursion);
    let settled = if let State::Reached(settled) = steady.state { Some(settled) } else { None };
    SteadyLine {
        state: steady.word(),
        mb_s: settled.map(|settled| settled.rate.mb_s()),
        bounds_mb_s: settled.map(|settled| (settled.low.mb_s(), settled.high.mb_s())),
        since_s: settled.map(|settled| settled.since.secs()),
        snia: steady.snia.map(evidence),
        own: steady.own.map(evidence),
        decided: found.first_claim.map(|claim| (claim.decided.secs(), claim.rate.mb_s())),
        oscillation: steady.oscillation.map(|wave| OscillationLine {
            period_s: wave.period.secs(),
            low_mb_s: wave.low.mb_s(),
            high_mb_s: wave.high.mb_s(),
        }),
    }
}

/// The line of the free space erase factor.
pub(super) fn fsef_line(fsef: Fsef) -> FsefLine {
    FsefLine { mb_s_per_gb: fsef.mb_s_per_gb, standard_error: fsef.standard_error, levels: fsef.levels }
}
