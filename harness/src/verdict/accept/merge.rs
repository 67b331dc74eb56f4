//! The figures of earlier and new runs side by side: one a run, cliffs and their absence included.
//!
//! Pure. Decides nothing: which runs stay is its caller's.

use std::collections::{BTreeMap, BTreeSet};

use super::Acceptor;
use crate::analysis::metric::{Metric, Value};
use crate::verdict::baseline::{Accepted, Baseline, Direction, Golden, Provenance, rounded};
use crate::verdict::candidate::{Candidate, is_further_cliff, suite};

pub(super) fn provenance(old: Option<&Baseline>, new: &[&Candidate]) -> Provenance {
    let mut all = old.map(|old| old.provenance.clone()).unwrap_or_default();
    for run in new {
        let fact = |name: &str| run.environment.get(name).cloned().unwrap_or_default();
        all.run.push(run.run.clone());
        all.unit.push(run.unit.clone().unwrap_or_default());
        all.firmware.push(fact("drive.firmware"));
        all.kernel.push(fact("kernel"));
        all.driver.push(fact("drive.driver"));
        all.date.push(run.started.clone());
    }
    all
}

/// What one run says of a metric.
enum Said {
    Number(f64),
    MoreThan(f64),
    Absent(String),
}

/// The figures of all runs by metric.
pub(super) fn merged(old: Option<&Baseline>, new: &[&Candidate]) -> Result<BTreeMap<String, Accepted>, String> {
    let earlier = old.map_or(0, |old| old.provenance.run.len());
    let of_old = old.into_iter().flat_map(|old| old.metric.keys().map(String::as_str));
    let of_new = new.iter().flat_map(|run| run.metrics.iter().map(|metric| metric.id.as_str()));
    let ids: BTreeSet<&str> = of_old.chain(of_new).collect();
    let metric = |id: &str| {
        let mut said = old.map(|old| earlier_said(old.metric.get(id), earlier)).unwrap_or_default();
        said.extend(new.iter().map(|run| run_said(run, id)));
        let template = Metric::absent(id, "not-measured");
        (id.to_owned(), accepted(&template, &said))
    };
    let merged: BTreeMap<String, Accepted> = ids.into_iter().map(metric).collect();
    if merged.is_empty() {
        return Err("these runs have no metric: there is nothing to accept".to_owned());
    }
    Ok(merged)
}

fn earlier_said(accepted: Option<&Accepted>, runs: usize) -> Vec<Said> {
    let Some(accepted) = accepted else { return (0..runs).map(|_| Said::Absent("not-measured".to_owned())).collect() };
    let none = || match (accepted.more_than, &accepted.absent) {
        (Some(more_than), _) => Said::MoreThan(more_than),
        (None, why) => Said::Absent(why.clone().unwrap_or_else(|| "not-measured".to_owned())),
    };
    (0..runs)
        .map(|run| match accepted.values.get(run) {
            Some(value) if !value.is_nan() => Said::Number(*value),
            _ => none(),
        })
        .collect()
}

fn run_said(run: &Candidate, id: &str) -> Said {
    match run.metric(id).map(|metric| &metric.value) {
        Some(Value::Number(value)) => Said::Number(rounded(*value)),
        Some(Value::MoreThan(least)) => Said::MoreThan(rounded(*least)),
        Some(Value::Absent(why)) => Said::Absent((*why).to_owned()),
        None => match run.reach_gb.get(suite(id)) {
            // A run that looked this far and has no second cliff.
            Some(reach) if is_further_cliff(id) => Said::MoreThan(rounded(*reach)),
            _ => Said::Absent("not-measured".to_owned()),
        },
    }
}

fn accepted(metric: &Metric, said: &[Said]) -> Accepted {
    let number = |said: &Said| if let Said::Number(value) = said { *value } else { f64::NAN };
    let more_than = said.iter().filter_map(|said| if let Said::MoreThan(least) = said { Some(*least) } else { None });
    let more_than = more_than.reduce(f64::min);
    let mut values: Vec<f64> = said.iter().map(number).collect();
    if values.iter().all(|value| value.is_nan()) {
        values.clear();
    }
    let why = said.iter().rev().find_map(|said| if let Said::Absent(why) = said { Some(why.clone()) } else { None });
    let absent = why.filter(|_| values.is_empty() && more_than.is_none());
    let direction = Direction::of(metric.kind);
    let (kind, unit) = (metric.kind, metric.unit.to_owned());
    Accepted { direction, kind, unit, tolerance: None, noise_floor: None, more_than, absent, values }
}

/// Tolerances are set by hand, and stay; so does the noise floor until it is measured again.
pub(super) fn keep_tolerances(old: &Baseline, new: &mut Baseline) {
    for (id, accepted) in &mut new.metric {
        let old = old.metric.get(id);
        accepted.tolerance = old.and_then(|old| old.tolerance);
        accepted.noise_floor = old.and_then(|old| old.noise_floor);
    }
}

/// The first accepted values of each metric; anew with another fingerprint, or when it is asked for.
pub(super) fn golden(old: Option<&Baseline>, new: &Baseline, acceptor: &Acceptor, remarks: &mut Vec<String>) -> Golden {
    let same = old.filter(|old| old.fingerprint == new.fingerprint && !acceptor.new_golden);
    if old.is_some() && same.is_none() {
        remarks.push("golden begins anew with this state".to_owned());
    }
    let mut golden = same.map(|old| old.golden.clone()).unwrap_or_default();
    if golden.when.is_empty() {
        golden.when.clone_from(&acceptor.when);
    }
    let is_new =
        |(id, accepted): &(&String, &Accepted)| same.is_none_or(|old| old.golden.of(id, accepted.kind).is_none());
    for (id, accepted) in new.metric.iter().filter(is_new) {
        if let Some(least) = accepted.more_than {
            golden.more_than.insert(id.clone(), least);
        }
        if !accepted.values.is_empty() {
            golden.values.insert(id.clone(), accepted.values.clone());
        }
    }
    golden
}
