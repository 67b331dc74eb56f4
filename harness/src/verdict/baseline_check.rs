//! What a baseline's text must fulfil, and what is said of one that does not: what, where, and in which line.
//!
//! Pure. A baseline is edited and merged by hand, so nothing of it is believed unchecked.

use super::baseline::{Accepted, Baseline, BaselineError, Direction, figures};

/// A parse error with its line.
pub(super) fn explain(text: &str, error: &toml::de::Error) -> BaselineError {
    let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
    BaselineError::Damaged { line, why: error.message().trim().replace('\n', " ") }
}

/// Checks what the types alone do not.
pub(super) fn check(baseline: &Baseline, text: &str) -> Result<(), BaselineError> {
    let damaged = |place: &str, why: String| BaselineError::Damaged { line: line_of(text, place), why };
    let runs = baseline.provenance.run.len();
    if baseline.metric.is_empty() {
        return Err(damaged("", "it has no metric: there is nothing to compare with".to_owned()));
    }
    if runs == 0 {
        return Err(damaged("[provenance]", "provenance names no run".to_owned()));
    }
    let provenance = &baseline.provenance;
    let lists = [
        ("unit", &provenance.unit),
        ("firmware", &provenance.firmware),
        ("kernel", &provenance.kernel),
        ("driver", &provenance.driver),
        ("date", &provenance.date),
    ];
    if let Some((name, list)) = lists.iter().find(|(_, list)| list.len() != runs) {
        let why = format!("provenance has {runs} runs and {} entries of `{name}`: one a run is needed", list.len());
        return Err(damaged("[provenance]", why));
    }
    for (id, accepted) in &baseline.metric {
        check_metric(accepted, runs).map_err(|why| damaged(&format!("[metric.\"{id}\"]"), format!("{id}: {why}")))?;
    }
    for (id, curves) in &baseline.curve {
        curves.check(runs).map_err(|why| damaged(&format!("[curve.{id}]"), format!("curve of {id}: {why}")))?;
    }
    let golden = &baseline.golden;
    for id in golden.values.keys().chain(golden.more_than.keys()) {
        let values = golden.values.get(id).map(Vec::as_slice).unwrap_or_default();
        check_figures(values, golden.more_than.get(id).copied())
            .map_err(|why| damaged("[golden]", format!("golden of {id}: {why}")))?;
    }
    if baseline.accepted.is_empty() || baseline.accepted.iter().any(|accepted| accepted.why.trim().is_empty()) {
        return Err(damaged("[[accepted]]", "nobody accepted it with a reason".to_owned()));
    }
    Ok(())
}

fn check_metric(accepted: &Accepted, runs: usize) -> Result<(), String> {
    let expected = Direction::of(accepted.kind);
    if accepted.direction != expected {
        return Err(format!("its direction is {:?}, and of its kind it is {expected:?}", accepted.direction));
    }
    if !accepted.values.is_empty() && accepted.values.len() != runs {
        return Err(format!("it has {} values of {runs} runs: one a run is needed", accepted.values.len()));
    }
    if accepted.tolerance.is_some_and(|tolerance| !(tolerance >= 0.0 && tolerance.is_finite())) {
        return Err("its tolerance is no number from 0 up".to_owned());
    }
    if let (Some(tolerance), Some(floor)) = (accepted.tolerance, accepted.noise_floor)
        && tolerance < floor
    {
        return Err(format!(
            "its tolerance of {tolerance} is below the noise floor of {floor} that was qualified: raise it, or qualify anew"
        ));
    }
    check_figures(&accepted.values, accepted.more_than)?;
    let known = figures(&accepted.values).count() > 0 || accepted.more_than.is_some();
    match (&accepted.absent, known) {
        (Some(_), true) => Err("it has values and says that there are none: keep one".to_owned()),
        (None, false) => Err("it has neither `values`, `more_than` nor `absent`".to_owned()),
        _ => Ok(()),
    }
}

/// Every figure is finite; `nan` stands for none.
fn check_figures(values: &[f64], more_than: Option<f64>) -> Result<(), String> {
    match figures(values).chain(more_than).find(|value| !value.is_finite()) {
        Some(value) => Err(format!("{value} is no figure")),
        None if more_than.is_some_and(f64::is_nan) => Err("`more_than` is no figure".to_owned()),
        None => Ok(()),
    }
}

/// The line that begins with `place`, counted from 1.
fn line_of(text: &str, place: &str) -> Option<usize> {
    if place.is_empty() {
        return None;
    }
    text.lines().position(|line| line.trim_start().starts_with(place)).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::metric::Kind;
    use crate::verdict::baseline::{Acceptance, Golden, Key, Provenance, SCHEMA, rounded};
    use crate::verdict::sample::baseline;

    /// The sample's text with one change is damaged, in that line and with these words.
    fn refused(change: (&str, &str), expect: &str) {
        let text = baseline(&[("fill.fast_mb_s", &[2384.12, 2379.0])]).to_toml();
        let changed = text.replacen(change.0, change.1, 1);
        assert_ne!(text, changed, "{}", change.0);
        let why = Baseline::parse(&changed).unwrap_err().to_string();
        assert!(why.contains(expect), "{change:?}: {why}");
    }

    #[test]
    fn a_damaged_baseline_is_refused_with_its_line() {
        refused(("schema = 1", "schema = \"one\""), "no baseline");
        refused(("[key]", "[key"), "line 5: ");
        refused(("drive = \"ACME TURBO960\"\n", ""), "missing field `drive`");
        refused(("direction = \"more\"", "direction = \"up\""), "line 17: unknown variant `up`");
        refused(("direction = \"more\"", "direction = \"less\""), "line 16: fill.fast_mb_s: its direction is Less");
        refused(("unit = \"MB/s\"", "unit = \"MB/s\"\ntolerence = 0.1"), "line 20: unknown field `tolerence`");
        refused(("values = [2384.12, 2379.0]", "values = [2384.12]"), "fill.fast_mb_s: it has 1 values of 2 runs");
        refused(("values = [2384.12, 2379.0]", "values = [nan, nan]"), "neither `values`, `more_than` nor `absent`");
        refused(("values = [2384.12, 2379.0]", "values = [1.0, inf]"), "inf is no figure");
        refused(("values = [2384.12, 2379.0]", "values = [1.0, 2.0]\nabsent = \"never\""), "keep one");
        refused(("values = [2384.12, 2379.0]", "tolerance = -0.1\nvalues = [1.0, 2.0]"), "tolerance");
        let below = "tolerance = 0.01\nnoise_floor = 0.02\nvalues = [1.0, 2.0]";
        refused(("values = [2384.12, 2379.0]", below), "below the noise floor of 0.02");
        refused(("\"FW01\", \"FW01\"]", "\"FW01\"]"), "provenance has 2 runs and 1 entries of `firmware`");
        refused(("why = \"first state\"", "why = \" \""), "nobody accepted it with a reason");
    }

    /// A baseline with these figures for each of its metrics, `None` for a run without one.
    fn any_baseline() -> impl Strategy<Value = Baseline> {
        let text = "[a-zA-Z0-9 .\"\\\\é\n#=\\[\\]]{0,12}";
        let figure = prop_oneof![4 => (-6.0..9.0_f64).prop_map(|power| rounded(10.0_f64.powf(power))), 1 => Just(0.0)];
        let runs = 1..5_usize;
        runs.prop_flat_map(move |runs| {
            let values = proptest::collection::vec(prop_oneof![5 => figure.clone(), 1 => Just(f64::NAN)], runs);
            let metric = (values, proptest::option::of(0.0..1.0_f64), proptest::option::of(figure.clone()));
            let texts = proptest::collection::vec(text, runs);
            (proptest::collection::btree_map("[a-z._0-9\"]{1,20}", metric, 1..6), texts, text, any::<i64>())
        })
        .prop_map(|(metrics, texts, text, number)| {
            let sort = |(values, tolerance, more_than): (Vec<f64>, Option<f64>, Option<f64>)| {
                let none = values.iter().all(|value| value.is_nan());
                let absent = (none && more_than.is_none()).then(|| "never".to_owned());
                let values = if none { Vec::new() } else { values };
                let (kind, direction) = (Kind::Capacity, Direction::More);
                Accepted {
                    direction,
                    kind,
                    unit: "GB".to_owned(),
                    tolerance,
                    noise_floor: None,
                    more_than,
                    absent,
                    values,
                }
            };
            let metric: std::collections::BTreeMap<String, Accepted> =
                metrics.into_iter().map(|(id, metric)| (id, sort(metric))).collect();
            let values = metric.iter().filter(|(_, metric)| !metric.values.is_empty());
            let least = metric.iter().filter_map(|(id, metric)| Some((id.clone(), metric.more_than?)));
            let golden = Golden {
                when: text.clone(),
                more_than: least.collect(),
                values: values.map(|(id, metric)| (id.clone(), metric.values.clone())).collect(),
            };
            Baseline {
                schema: SCHEMA,
                fingerprint: text.clone(),
                key: Key {
                    drive: text.clone(),
                    capacity_bytes: number.unsigned_abs() >> 1,
                    target_kind: text.clone(),
                    profile: text.clone(),
                },
                environment: texts.iter().map(|text| (text.clone(), text.clone())).collect(),
                golden,
                metric,
                provenance: Provenance {
                    run: texts.clone(),
                    unit: texts.clone(),
                    firmware: texts.clone(),
                    kernel: texts.clone(),
                    driver: texts.clone(),
                    date: texts.clone(),
                },
                accepted: vec![Acceptance { when: text.clone(), who: text, why: "because".to_owned(), runs: texts }],
                curve: std::collections::BTreeMap::new(),
            }
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(baseline in any_baseline()) {
            let text = baseline.to_toml();
            let read = Baseline::parse(&text).map_err(|why| TestCaseError::fail(format!("{why}\n{text}")))?;
            // Texts are compared, since no NaN equals another.
            prop_assert_eq!(read.to_toml(), text);
            prop_assert_eq!(format!("{read:?}"), format!("{baseline:?}"));
        }

        #[test]
        fn no_text_panics(text in "[\\[\\]a-z =\"0-9\n.]{0,200}") {
            let _ = Baseline::parse(&text);
            let _ = Baseline::parse(&format!("schema = 1\n{text}"));
        }
    }
}
