//! What telemetry takes from the figures and adds to them: thermal falls, health counters, disturbances.
//!
//! Pure.

use std::collections::BTreeMap;

use super::suites::cliff_line;
use crate::analysis::cliff::Cliff;
use crate::analysis::metric::{Metric, Value};
use crate::analysis::random::LevelFindings;
use crate::analysis::suite::FillSuite;
use crate::analysis::thermal::Heat;
use crate::journal::replay::{PhaseReplay, Replay};
use crate::plan::phase::Work;
use crate::report::ThermalLine;
use crate::sample::telemetry::Telemetry;
use crate::units::{Bytes, Nanos};

/// Counters that tell of errors: any increase during a run fails it. Others (power cycles, minutes of heat) do not.
const HEALTH: [&str; 15] = [
    "critical_warning",
    "media_errors",
    "error_log_entries",
    "uncorrectable_reads",
    "reallocated_sectors",
    "pending_sectors",
    "uncorrectable_sectors",
    "grown_defects",
    "crc_errors",
    "io_errors",
    "pcie_errors",
    "pcie_errors_drive",
    "link_retrains",
    "resets",
    "timeouts",
];
/// A phase that was slowed for a larger share of its time says nothing of the drive's own speed, one in so many.
const SLOWED: u64 = 20;
/// Others may move such a share of our bytes before it is said, one in so many.
const OTHERS: u64 = 10;
/// A core that was busy for so many thousandths was the bottleneck.
const BUSY_PERMILLE: u64 = 900;
/// Processor time taken by the hypervisor that is named, in thousandths.
const STOLEN_PERMILLE: u64 = 50;

/// Takes the thermal falls out of the suites' cliffs; a fill's floor and its cliff's place follow.
pub(super) fn thermal(replay: &Replay, fill: Option<&mut FillSuite>, levels: &mut [LevelFindings]) -> Vec<ThermalLine> {
    let heat = Heat::new(&replay.telemetry);
    let mut lines = Vec::new();
    let mut note = |suite: &str, found: &[Cliff]| {
        lines.extend(found.iter().map(|cliff| ThermalLine { suite: suite.to_owned(), fall: cliff_line(cliff) }));
    };
    if let Some((suite, phase)) = fill.zip(replay.phase("fill.write")) {
        note("fill", &heat.take(&mut suite.write.cliffs, &phase.samples_so_far()));
        if suite.write.cliffs.is_empty() {
            suite.write.floor = None;
        }
    }
    for level in levels {
        let id = format!("random_write.{}", level.level);
        if let Some(phase) = replay.phase(&format!("{id}.write")) {
            note(&id, &heat.take(&mut level.found.cliffs, &phase.samples_so_far()));
        }
    }
    lines
}

/// Beyond a thermal fall nobody saw how far the drive would have gone.
pub(super) fn bound(metrics: &mut [Metric], falls: &[ThermalLine]) {
    for metric in metrics {
        let of_it = |fall: &&ThermalLine| metric.id == format!("{}.cliff_gb", fall.suite);
        if let (Value::MoreThan(gb), Some(fall)) = (&mut metric.value, falls.iter().find(of_it)) {
            *gb = gb.min(fall.fall.at_gb);
        }
    }
}

/// Why heat forbids to conclude anything, if it does.
pub(super) fn too_hot(replay: &Replay, falls: &[ThermalLine]) -> Vec<String> {
    let fell = falls.iter().map(|line| {
        let fall = &line.fall;
        format!(
            "thermal: in {} the rate fell at {:.1} GB from {:.0} to {:.0} MB/s while the drive slowed itself down for heat; cool it, and measure again",
            line.suite, fall.at_gb, fall.before_mb_s, fall.after_mb_s
        )
    });
    let heat = Heat::new(&replay.telemetry);
    let slowed = measured(replay).filter_map(|phase| {
        let end = phase.end_ns.unwrap_or(replay.last_ns);
        let (slow, all) = (heat.within(phase.start_ns, end), end.saturating_sub(phase.start_ns));
        let named = falls.iter().any(|fall| phase.id.starts_with(&fall.suite));
        (!named && slow.0 > all.0 / SLOWED)
            .then(|| format!("thermal: the drive slowed itself down for heat for {slow} of the {all} of {}", phase.id))
    });
    fell.chain(slowed).collect()
}

/// Phases whose rate is a figure.
fn measured(replay: &Replay) -> impl Iterator<Item = &PhaseReplay> {
    replay.phases.iter().filter(|phase| {
        let work = replay.header.plan.phase(&phase.id).map(|planned| &planned.work);
        matches!(work, Some(Work::Fill | Work::RandomWrite { .. }))
    })
}

/// `health.*`: by how much each counter of errors rose during the run, from reading to reading: a counter that a
/// reset sets back to zero loses nothing that was seen.
pub(super) fn health(replay: &Replay) -> Vec<Metric> {
    let mut risen: BTreeMap<&str, u64> = BTreeMap::new();
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    for reading in &replay.telemetry {
        for name in HEALTH {
            let Some(&count) = reading.counters.get(name) else { continue };
            if let Some(before) = last.insert(name, count) {
                let more = if name == "critical_warning" {
                    u64::from((count & !before).count_ones())
                } else {
                    count.saturating_sub(before)
                };
                *risen.entry(name).or_insert(0) += more;
            }
        }
    }
    risen.into_iter().map(|(name, more)| Metric::new(&format!("health.{name}"), Value::Number(more as f64))).collect()
}

/// What else was at work, each in a sentence.
pub(super) fn disturbances(replay: &Replay) -> Vec<String> {
    let mut notes: Vec<String> = measured(replay).flat_map(|phase| disturbed(replay, phase)).collect();
    let readings = &replay.telemetry;
    if let Some(rebuild) = readings.iter().find_map(|reading| reading.rebuild.as_ref()) {
        notes.push(format!(
            "an array was at work on the drive meanwhile ({rebuild}): the figures are of a disturbed drive"
        ));
    }
    let links: Vec<&String> = readings.iter().filter_map(|reading| reading.link.as_ref()).collect();
    if let Some((first, other)) = links.first().zip(links.iter().find(|link| Some(link) != links.first().as_ref())) {
        notes.push(format!("the link changed during the run: {first} → {other}"));
    }
    notes
}

/// What else the drive said of itself while it worked: nothing that would explain a loss.
pub(super) fn said(replay: &Replay) -> Vec<String> {
    let readings = &replay.telemetry;
    let mut notes: Vec<String> = amplification(readings).into_iter().collect();
    let hottest = readings.iter().filter_map(|reading| reading.temperature_c).max();
    let coolest = readings.iter().find_map(|reading| reading.temperature_c);
    if let Some((first, most)) = coolest.zip(hottest) {
        notes.push(format!("the drive was at {first} °C when the run began and at most at {most} °C"));
    }
    notes
}

/// How much the drive wrote to its own medium for what hosts wrote to it, from its first to its last word.
fn amplification(readings: &[Telemetry]) -> Option<String> {
    let mut said = readings.iter().filter_map(|reading| reading.host_written.zip(reading.media_written));
    let (first, last) = (said.next()?, said.next_back()?);
    let (host, media) = (last.0.saturating_sub(first.0), last.1.saturating_sub(first.1));
    (host.0 > 0).then(|| {
        let times = media.0 as f64 / host.0 as f64;
        format!("the drive counted {host} from hosts and {media} to its own medium during the run: write amplification {times:.2}")
    })
}

fn disturbed(replay: &Replay, phase: &PhaseReplay) -> Vec<String> {
    let inside: Vec<&Telemetry> = readings(replay, phase).collect();
    let mut notes = Vec::new();
    let (Some(first), Some(last)) = (inside.first(), inside.last()) else { return notes };
    let moved = first.drive_moved.zip(last.drive_moved).map(|(before, after)| after.saturating_sub(before));
    let others = moved.map_or(Bytes(0), |moved| moved.saturating_sub(phase.moved()));
    if phase.end_ns.is_some() && phase.moved().0 > 0 && others.0 > phase.moved().0 / OTHERS {
        let ours = phase.moved();
        notes.push(format!("disturbed: in {} others moved {others} on the drive beside our {ours}", phase.id));
    }
    let workers = replay.header.plan.phase(&phase.id).map_or(1, |planned| u64::from(planned.io.workers.max(1)));
    let busy = mean(inside.iter().skip(1).filter_map(|reading| reading.cpu_permille));
    if let Some(busy) = busy.filter(|&busy| busy >= BUSY_PERMILLE * workers) {
        let percent = busy / workers / 10;
        notes.push(format!("CPU-bound: in {} the workers were busy for {percent} % of the time: the processor is measured, not the drive", phase.id));
    }
    let stolen = mean(inside.iter().skip(1).filter_map(|reading| reading.steal_permille));
    if let Some(stolen) = stolen.filter(|&stolen| stolen >= STOLEN_PERMILLE) {
        notes.push(format!("in {} the hypervisor took {} % of the processors' time", phase.id, stolen / 10));
    }
    notes
}

fn readings<'a>(replay: &'a Replay, phase: &'a PhaseReplay) -> impl Iterator<Item = &'a Telemetry> {
    let end = phase.end_ns.unwrap_or(Nanos(u64::MAX));
    replay.telemetry.iter().filter(move |reading| reading.at_ns >= phase.start_ns && reading.at_ns <= end)
}

fn mean(all: impl Iterator<Item = u64>) -> Option<u64> {
    let all: Vec<u64> = all.collect();
    let count = all.len() as u64;
    (count > 0).then(|| all.iter().sum::<u64>() / count)
}
