//! Baselines and metrics that the tests of this folder share. Only for tests.

use super::baseline::{Acceptance, Accepted, Baseline, Direction, Golden, Key, Provenance, SCHEMA};
use super::candidate::Candidate;
use crate::analysis::metric::{Metric, Value};

/// A baseline of metrics with their figures, one a run.
pub(super) fn baseline(metrics: &[(&str, &[f64])]) -> Baseline {
    let runs = metrics.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
    let each = |text: &str| vec![text.to_owned(); runs];
    let numbered = |text: &str, end: &str| (1..=runs).map(|run| format!("{text}{run}{end}")).collect::<Vec<_>>();
    let when = "2026-01-03T00:00:00Z".to_owned();
    let accepted = |id: &str, values: &[f64]| {
        let metric = Metric::new(id, Value::Number(0.0));
        let (direction, unit) = (Direction::of(metric.kind), metric.unit.to_owned());
        let values = values.to_vec();
        Accepted {
            direction,
            kind: metric.kind,
            unit,
            tolerance: None,
            noise_floor: None,
            more_than: None,
            absent: None,
            values,
        }
    };
    Baseline {
        schema: SCHEMA,
        fingerprint: "0ca223322f164a4e".to_owned(),
        key: Key {
            drive: "ACME TURBO960".to_owned(),
            capacity_bytes: 960_197_124_096,
            target_kind: "folder".to_owned(),
            profile: "acceptance".to_owned(),
        },
        environment: [("kernel", "6.1.0"), ("drive.firmware", "FW01"), ("engine", "sync")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        metric: metrics.iter().map(|(id, values)| ((*id).to_owned(), accepted(id, values))).collect(),
        golden: Golden {
            when: when.clone(),
            more_than: std::collections::BTreeMap::new(),
            values: metrics.iter().map(|(id, values)| ((*id).to_owned(), values.to_vec())).collect(),
        },
        curve: std::collections::BTreeMap::new(),
        provenance: Provenance {
            run: numbered("run-", ""),
            unit: each("5f1d7a84db00"),
            firmware: each("FW01"),
            kernel: each("6.1.0"),
            driver: each("nvme"),
            date: numbered("2026-01-0", "T00:00:00Z"),
        },
        accepted: vec![Acceptance {
            when: when.clone(),
            who: "somebody".to_owned(),
            why: "first state".to_owned(),
            runs: numbered("run-", ""),
        }],
    }
}

/// A baseline of metrics without a cliff up to so many GB.
pub(super) fn none_up_to(metrics: &[(&str, f64)]) -> Baseline {
    let empty: Vec<(&str, &[f64])> = metrics.iter().map(|(id, _)| (*id, [].as_slice())).collect();
    let mut baseline = baseline(&empty);
    for (id, least) in metrics {
        if let Some(accepted) = baseline.metric.get_mut(*id) {
            accepted.more_than = Some(*least);
        }
        baseline.golden.more_than.insert((*id).to_owned(), *least);
        baseline.golden.values.remove(*id);
    }
    baseline
}

/// A run of what [`baseline`] is of, in the same surroundings, that wrote 200 GB.
pub(super) fn candidate(metrics: &[(&str, Value)]) -> Candidate {
    let baseline = baseline(&[]);
    Candidate {
        run: "run-9".to_owned(),
        started: "2026-02-01T00:00:00Z".to_owned(),
        fingerprint: baseline.fingerprint,
        key: baseline.key,
        unit: Some("5f1d7a84db00".to_owned()),
        environment: baseline.environment,
        metrics: metrics.iter().map(|(id, value)| Metric::new(id, value.clone())).collect(),
        reach_gb: [("fill.".to_owned(), 200.0)].into(),
        left_out: Vec::new(),
        health_unread: None,
        curves: std::collections::BTreeMap::new(),
    }
}
