//! What is compared with what: the runs that are judged together and a baseline, and the figures of a metric in both.
//!
//! Pure. Gathers figures run by run and unit by unit; concludes nothing from them.

use std::collections::BTreeMap;

use super::baseline::{Baseline, Level, centre};
use super::candidate::{Candidate, is_further_cliff, suite};
use super::looks::Looks;
use super::noise::Spread;
use super::weigh::{Figures, Scale};
use crate::analysis::metric::{Kind, Metric, Value};

/// What is compared with what.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// The runs that are judged together, the latest last.
    pub runs: &'a [Candidate],
    /// The plan that they are looks of.
    pub looks: &'a Looks,
    /// The accepted state.
    pub baseline: &'a Baseline,
    /// Why nothing may be concluded from the comparison, if so: what else changed.
    pub confounded: Option<&'a str>,
    /// A link, cache or scheduler that changed with a variable under test: the cause of what became worse, and
    /// more than what stayed can be believed with.
    pub side_effect: Option<&'a str>,
}

impl Standing<'_> {
    /// Every metric that any run or the baseline has, the last run's first.
    pub(super) fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        let of_runs = self.runs.iter().rev().flat_map(|run| run.metrics.iter().map(|metric| &metric.id));
        for id in of_runs.chain(self.baseline.metric.keys()) {
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        ids
    }

    /// The metric over all runs: the median figure where each has one, else what the last run says.
    pub(super) fn metric(&self, id: &str) -> Metric {
        let values = self.values(id);
        let last = || values.last().cloned().flatten().unwrap_or(Value::Absent("not-measured"));
        if let [run] = self.runs {
            return run.metric(id).cloned().unwrap_or_else(|| Metric::new(id, last()));
        }
        let metric = Metric::new(id, last());
        let numbers: Option<Vec<f64>> = values
            .iter()
            .map(|value| if let Some(Value::Number(number)) = value { Some(*number) } else { None })
            .collect();
        let least = values.iter().flatten().fold(f64::INFINITY, |least, value| match value {
            Value::MoreThan(up_to) => least.min(*up_to),
            _ => least,
        });
        let value = match (numbers, &metric.value) {
            (Some(numbers), _) if numbers.iter().all(|number| number.is_finite()) => {
                Value::Number(centre(metric.kind, &numbers))
            }
            (_, Value::MoreThan(_)) => Value::MoreThan(least),
            (_, value) => value.clone(),
        };
        Metric { value, ..metric }
    }

    /// The value of each run; none where a run does not have the metric. A run that looked for cliffs and has no
    /// second one has none up to where it ended.
    pub(super) fn values(&self, id: &str) -> Vec<Option<Value>> {
        let value = |run: &Candidate| match run.metric(id) {
            Some(metric) => Some(metric.value.clone()),
            None if is_further_cliff(id) => {
                run.metric(&format!("{}cliff_gb", suite(id)))?;
                run.reach_gb.get(suite(id)).copied().map(Value::MoreThan)
            }
            None => None,
        };
        self.runs.iter().map(value).collect()
    }

    /// What the runs of a metric that can be weighed vary by.
    pub(super) fn spread(&self, id: &str) -> Option<(Kind, Spread)> {
        let accepted = self.baseline.metric.get(id)?;
        let Level::Number(level) = accepted.level()? else { return None };
        let scale = Scale::of(accepted.kind, level)?;
        Some((accepted.kind, self.figures(id, scale).spread()))
    }

    /// The figures of a metric: its runs', and the baseline's by unit.
    pub(super) fn figures(&self, id: &str, scale: Scale) -> Figures {
        let mut figures = Figures::default();
        let numbers = self.values(id).into_iter().flatten();
        figures.runs = numbers
            .filter_map(|value| if let Value::Number(number) = value { Some(scale.number(number)) } else { None })
            .filter(|number| number.is_finite())
            .collect();
        let bounds: Vec<f64> =
            self.runs.iter().filter_map(|run| run.metric(id)?.bounds).map(|bounds| scale.uncertainty(bounds)).collect();
        figures.uncertainty = bounds.iter().sum::<f64>() / bounds.len().max(1) as f64;
        let unit = self.runs.last().and_then(|run| run.unit.as_deref()).unwrap_or_default();
        let values = self.baseline.metric.get(id).map(|accepted| accepted.values.as_slice()).unwrap_or_default();
        let mut others: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (run, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            match self.baseline.provenance.unit.get(run).map(String::as_str).unwrap_or_default() {
                own if own == unit => figures.same_unit.push(scale.number(*value)),
                other => others.entry(other).or_default().push(scale.number(*value)),
            }
        }
        figures.other_units = others.into_values().collect();
        figures
    }

    /// The first accepted figures, as of one unit: which unit each was of is no longer known.
    pub(super) fn golden_figures(&self, id: &str, scale: Scale, numbers: &[f64]) -> Figures {
        let mut figures = self.figures(id, scale);
        let golden = self.baseline.golden.values.get(id).map(Vec::as_slice).unwrap_or_default();
        let golden: Vec<f64> =
            golden.iter().filter(|value| !value.is_nan()).map(|value| scale.number(*value)).collect();
        figures.runs = numbers.iter().map(|number| scale.number(*number)).collect();
        if figures.paired() {
            (figures.same_unit, figures.other_units) = (golden, Vec::new());
        } else {
            (figures.same_unit, figures.other_units) = (Vec::new(), vec![golden]);
        }
        figures
    }
}
