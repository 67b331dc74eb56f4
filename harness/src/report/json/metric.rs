//! One metric in `report.json`: its figure, what it was compared with, and what the comparison rests on.
//!
//! The names are a part of the contract of `json`. Must never know how people read a number.

use serde::Serialize;

use super::Number;
use crate::analysis::metric::{Kind, Value};
use crate::verdict::Verdict;
use crate::verdict::baseline::Level as Accepted;
use crate::verdict::judge::{Judged, Role};
use crate::verdict::weighed::Weighed;

#[derive(Serialize)]
pub(super) struct MetricLine<'a> {
    pub(super) id: &'a str,
    pub(super) kind: Kind,
    pub(super) role: Role,
    pub(super) value: Option<Number>,
    pub(super) low: Option<Number>,
    pub(super) high: Option<Number>,
    pub(super) unit: &'a str,
    /// The baseline's figure; null where nothing was compared or the baseline has no cliff.
    pub(super) baseline: Option<Number>,
    /// A fraction: -0.12 for a fall by 12 %; of counts and stalls the difference in the metric's unit.
    pub(super) change: Option<Number>,
    /// A fraction; of stalls seconds an hour.
    pub(super) tolerance: Option<Number>,
    pub(super) verdict: Verdict,
    /// Without a value the contract's word, such as `never`; else the sentence for people, if any.
    pub(super) reason: Option<&'a str>,
    /// The sentence for people where `reason` is the contract's word.
    pub(super) explanation: Option<&'a str>,
    /// Where the baseline has no cliff: up to this.
    pub(super) baseline_more_than: Option<Number>,
    /// The smallest change that could be told from none, as `change`.
    pub(super) noise_floor: Option<Number>,
    /// The smallest loss that the gate would have failed nineteen times of twenty, as `tolerance`.
    pub(super) smallest_loss: Option<Number>,
    /// The greatest loss that the runs leave possible (one-sided 95 %), as `tolerance`.
    pub(super) most_loss: Option<Number>,
    /// The figure of each run that was judged, the latest last; empty where nothing was weighed.
    pub(super) runs: Vec<Number>,
    /// Standard deviation of one run as a fraction, what it was moderated by, and its degrees of freedom.
    pub(super) noise: Option<Noise>,
    /// Further runs that would decide if the loss stays what it is.
    pub(super) more_runs: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct Noise {
    run: Number,
    prior: Number,
    /// Other metrics of its kind that the prior rests on, besides the profile.
    prior_metrics: usize,
    df: Number,
    own_df: Number,
}

pub(super) fn metric(judged: &Judged) -> MetricLine<'_> {
    let metric = &judged.metric;
    let bounds = metric.bounds.map_or((None, None), |(low, high)| (Some(low), Some(high)));
    let (value, (low, high), word) = match metric.value {
        Value::Number(value) if value.is_finite() => (Some(value), bounds, None),
        Value::Number(_) => (None, (None, None), Some("not-applicable")),
        Value::MoreThan(least) => (None, (Some(least), None), Some("no-cliff")),
        Value::Absent(why) => (None, (None, None), Some(why)),
    };
    let against = judged.against.as_ref();
    let weighed = against.and_then(|against| against.weighed.as_ref());
    let number = |level| if let Accepted::Number(value) = level { Some(Number(value)) } else { None };
    let more_than = |level| if let Accepted::MoreThan(least) = level { Some(Number(least)) } else { None };
    let sentence = Some(judged.reason.as_str()).filter(|reason| !reason.is_empty());
    MetricLine {
        id: &metric.id,
        kind: metric.kind,
        role: judged.role,
        value: value.map(Number),
        low: low.map(Number),
        high: high.map(Number),
        unit: metric.unit,
        baseline: against.and_then(|against| number(against.level)),
        change: against.and_then(|against| against.change).map(Number),
        tolerance: against.and_then(|against| against.tolerance).map(Number),
        verdict: judged.verdict,
        reason: word.or(sentence),
        explanation: sentence.filter(|sentence| word.is_some_and(|word| word != *sentence)),
        baseline_more_than: against.and_then(|against| more_than(against.level)),
        noise_floor: weighed.map(|weighed| Number(weighed.noise_floor())),
        smallest_loss: weighed.map(|weighed| Number(weighed.smallest_loss())),
        most_loss: weighed.map(|weighed| Number(weighed.most_loss())),
        runs: weighed.map(|weighed| weighed.figures().into_iter().map(Number).collect()).unwrap_or_default(),
        noise: weighed.map(noise),
        more_runs: weighed
            .filter(|_| judged.verdict == Verdict::Inconclusive)
            .and_then(|weighed| weighed.evidence.more_runs()),
    }
}

fn noise(weighed: &Weighed) -> Noise {
    Noise {
        run: Number(weighed.run_noise()),
        prior: Number(weighed.prior.cv()),
        prior_metrics: weighed.prior.metrics,
        df: Number(weighed.evidence.df),
        own_df: Number(weighed.own_df),
    }
}
