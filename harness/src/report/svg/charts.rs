//! Which pictures a report has, and what stands in each: the run's curve, where it falls, where it is steady, and what
//! the baseline did there.
//!
//! Must never know how anything is drawn.

use super::thin::{MOST, Stretch, shares, stretches};
use super::{Axis, Chart, Layer, Role, Scale, Shape};
use crate::report::table::number;
use crate::report::{CliffLine, FillReport, Interval, LatencyLine, LevelReport, Point, Report, words};
use crate::verdict::baseline::Level;
use crate::verdict::curve::Spread;

/// Pictures of the fill.
#[must_use]
pub fn fill(report: &Report, fill: &FillReport) -> Vec<Chart> {
    let baseline = accepted(report, "fill.cliff_gb");
    let mut charts: Vec<Chart> = over_bytes(
        "Fill: throughput over bytes written",
        &fill.intervals,
        &fill.cliffs,
        report.ghosts.get("fill"),
        baseline,
    )
    .into_iter()
    .collect();
    charts.extend(over_time("Fill: throughput over time", &fill.intervals, None));
    charts
}

/// Pictures of one level of random writes.
#[must_use]
pub fn level(report: &Report, level: &LevelReport) -> Vec<Chart> {
    let name = format!("Random writes at {}", words::level(&level.level));
    let id = |figure: &str| format!("random_write.{}.{figure}", level.level);
    let mut charts = Vec::new();
    charts.extend(over_time(&format!("{name}: throughput over time"), &level.intervals, Some(level)).map(
        |mut chart| {
            if let Some(accepted) = accepted(report, &id("steady_mb_s")) {
                let (low, high) = chart.x.scale.ends();
                let line = Shape::Line(vec![(low, accepted), (high, accepted)]);
                chart.layers.push(Layer::new(Role::Ghost, "baseline, steady", line));
                chart.description += &format!(" The baseline's steady rate is {} MB/s.", number(accepted));
            }
            chart
        },
    ));
    let baseline = accepted(report, &id("cliff_gb"));
    let title = format!("{name}: throughput over bytes written");
    let ghost = report.ghosts.get(&format!("random_write.{}", level.level));
    charts.extend(over_bytes(&title, &level.intervals, &level.cliffs, ghost, baseline));
    let of_baseline =
        [("p99_us", 1), ("p999_us", 2)].map(|(figure, nines)| Some((nines, accepted(report, &id(figure))?)));
    charts.extend(level.latency.map(|latency| percentiles(&format!("{name}: latency"), latency, of_baseline)));
    charts
}

/// The steady rate over the bytes in use, where two levels or more were steady.
#[must_use]
pub fn space(report: &Report) -> Option<Chart> {
    let of = |level: &LevelReport| Some((level.used_gb?, level.steady.mb_s?));
    let points: Vec<(f64, f64)> = report.random_write.iter().filter_map(of).collect();
    let baseline = report.random_write.iter().filter_map(|level| {
        let id = format!("random_write.{}.steady_mb_s", level.level);
        Some((level.used_gb?, accepted(report, &id)?))
    });
    let baseline: Vec<(f64, f64)> = baseline.collect();
    let mut chart = space_chart(&[("this run".to_owned(), Role::Run, points)])?;
    if !baseline.is_empty() {
        chart.y.scale = Scale::from_zero(heights(&chart).chain(baseline.iter().map(|(_, y)| *y)));
        chart.layers.insert(0, Layer::new(Role::Ghost, "baseline", Shape::Line(baseline.clone())));
        chart.layers.insert(1, Layer::new(Role::Ghost, "", Shape::Dots(baseline)));
    }
    if let Some(fsef) = report.fsef {
        let each = number(fsef.mb_s_per_gb);
        chart.description += &format!(" Each free GB more gives {each} MB/s more.");
    }
    Some(chart)
}

/// A drive's name, its role, and its steady rates: GB in use, MB/s.
pub type Drive = (String, Role, Vec<(f64, f64)>);

/// Steady rates over the bytes in use, a line a drive; none where no drive has two.
#[must_use]
pub fn space_chart(drives: &[Drive]) -> Option<Chart> {
    let drives: Vec<_> = drives.iter().filter(|(_, _, points)| points.len() > 1).collect();
    let all = || drives.iter().flat_map(|(_, _, points)| points);
    let (end, top) = (most(all().map(|(x, _)| *x))?, all().map(|(_, y)| *y));
    let mut layers = Vec::new();
    let mut told = Vec::new();
    for (name, role, points) in &drives {
        layers.push(Layer::new(*role, name, Shape::Line(points.clone())));
        layers.push(Layer::new(*role, "", Shape::Dots(points.clone())));
        let points = points.iter().map(|(gb, mb_s)| format!("{} MB/s at {} GB", number(*mb_s), number(*gb)));
        told.push(format!("{name}: {}", points.collect::<Vec<_>>().join(", ")));
    }
    Some(Chart {
        title: "Steady rate of random writes over the space in use".to_owned(),
        description: format!("Steady rate over bytes in use. {}.", told.join("; ")),
        x: axis("GB in use", "GB", Scale::up_to(end * 1.04)),
        y: axis("MB/s", "MB/s", Scale::from_zero(top)),
        layers,
    })
}

/// A curve over bytes, with its cliffs and what the baseline did.
fn over_bytes(
    title: &str,
    intervals: &[Interval],
    cliffs: &[CliffLine],
    ghost: Option<&Spread>,
    baseline_gb: Option<f64>,
) -> Option<Chart> {
    let end = most([intervals.iter().map(|interval| interval.bytes as f64 / 1e9).sum()].into_iter())?;
    let early = cliffs.first().is_some_and(|cliff| cliff.at_gb < end * 0.04);
    let curve = stretches(intervals, MOST, early);
    let coarse = |step: &(f64, f64, [f64; 3])| early && step.0 == 0.0;
    let first = curve.first().filter(|_| curve.len() > 1)?.1;
    let ghosts: Vec<(f64, f64, [f64; 3])> =
        ghost.iter().flat_map(|ghost| steps(ghost, end)).filter(|step| !coarse(step)).collect();
    let rates = curve.iter().map(|(.., rate)| *rate).chain(ghosts.iter().map(|(.., rates)| rates[2]));
    let x = if early { Scale::log(first, end) } else { Scale::up_to(end) };
    let scale = Scale::fitting(rates);
    let mut layers = Vec::new();
    if !ghosts.is_empty() {
        let ends = |(from, to, [low, _, high]): &(f64, f64, [f64; 3])| [(*from, *low, *high), (*to, *low, *high)];
        layers.push(Layer::new(Role::GhostBand, "", Shape::Band(ghosts.iter().flat_map(ends).collect())));
        let middle: Vec<Stretch> = ghosts.iter().map(|(from, to, rates)| (*from, *to, rates[1])).collect();
        layers.push(Layer::new(Role::Ghost, "baseline", Shape::Line(stairs(&middle))));
    }
    for cliff in cliffs.iter().filter(|cliff| cliff.at_gb <= end) {
        layers.push(Layer::new(Role::CliffBand, "", Shape::Window(cliff.low_gb, cliff.high_gb)));
    }
    if let Some(at) = baseline_gb.filter(|at| *at <= end) {
        layers.push(Layer::new(Role::Ghost, "", Shape::Upright(at, String::new())));
    }
    layers.push(Layer::new(Role::Run, "this run", Shape::Line(stairs(&curve))));
    for cliff in cliffs.iter().filter(|cliff| cliff.at_gb <= end) {
        let words = format!("cliff at {} GB", number(cliff.at_gb));
        layers.push(Layer::new(Role::Cliff, "", Shape::Upright(cliff.at_gb, words)));
    }
    Some(Chart {
        title: title.to_owned(),
        description: told_of_bytes(&curve, cliffs, baseline_gb, end),
        x: axis("GB written", "GB", x),
        y: axis("MB/s", "MB/s", scale),
        layers,
    })
}

fn told_of_bytes(curve: &[Stretch], cliffs: &[CliffLine], baseline_gb: Option<f64>, end: f64) -> String {
    let (first, last) = (curve.first().map_or(0.0, |part| part.2), curve.last().map_or(0.0, |part| part.2));
    let mut told = format!(
        "Throughput over {} GB written: {} MB/s at the beginning, {} MB/s at the end.",
        number(end),
        number(first),
        number(last)
    );
    for cliff in cliffs {
        told += &format!(
            " It falls from {} to {} MB/s at {} GB, between {} and {} GB.",
            number(cliff.before_mb_s),
            number(cliff.after_mb_s),
            number(cliff.at_gb),
            number(cliff.low_gb),
            number(cliff.high_gb)
        );
    }
    if cliffs.is_empty() {
        told += " There is no cliff.";
    }
    if let Some(at) = baseline_gb {
        told += &format!(" The baseline's cliff is at {} GB.", number(at));
    }
    told
}

/// A curve over time, with the steady window of a level.
fn over_time(title: &str, intervals: &[Interval], level: Option<&LevelReport>) -> Option<Chart> {
    let shares = shares(intervals, MOST);
    let end = intervals.last().filter(|_| shares.len() > 1)?.end_s;
    let (unit, seconds) = clock(end);
    let line = shares.iter().map(|share| (share.at_s / seconds, share.mean)).collect();
    let spread = shares.iter().map(|share| (share.at_s / seconds, share.low, share.high)).collect();
    let rates = shares.iter().flat_map(|share| [share.low, share.high]);
    let mut layers = Vec::new();
    let (whole, mean) = (number(end / seconds), mean(intervals));
    let mut told = format!("Throughput over {whole} {unit}: {} MB/s on average.", number(mean));
    let steady = level.map(|level| (&level.steady, level.steady.since_s.zip(level.steady.mb_s)));
    if let Some((_, Some((since, _)))) = steady {
        layers.push(Layer::new(Role::SteadyWindow, "", Shape::Window(since / seconds, end / seconds)));
    }
    if intervals.len() > shares.len() {
        layers.push(Layer::new(Role::Spread, "slowest to fastest", Shape::Band(spread)));
    }
    layers.push(Layer::new(Role::Run, "this run", Shape::Line(line)));
    match steady {
        Some((_, Some((since, rate)))) => {
            let level = vec![(since / seconds, rate), (end / seconds, rate)];
            layers.push(Layer::new(Role::Steady, "steady", Shape::Line(level)));
            told += &format!(" Steady at {} MB/s since {} {unit}.", number(rate), number(since / seconds));
        }
        Some((steady, None)) => told += &format!(" Steady state: {}.", steady.state.replace('-', " ")),
        None => {}
    }
    Some(Chart {
        title: title.to_owned(),
        description: told,
        x: axis(unit, unit, Scale::up_to(end / seconds)),
        y: axis("MB/s", "MB/s", Scale::from_zero(rates)),
        layers,
    })
}

/// Latencies over how rare they are: each step to the right is ten times as rare.
fn percentiles(title: &str, latency: LatencyLine, baseline: [Option<(i32, f64)>; 2]) -> Chart {
    let LatencyLine { p50_us, p99_us, p999_us, p9999_us, .. } = latency;
    let rare = |share: f64| 1.0 / share;
    let points = vec![(rare(0.5), p50_us), (rare(1e-2), p99_us), (rare(1e-3), p999_us), (rare(1e-4), p9999_us)];
    let mut layers = Vec::new();
    let ghosts: Vec<(f64, f64)> =
        baseline.into_iter().flatten().map(|(nines, us)| (libm::pow(10.0, f64::from(nines + 1)), us)).collect();
    let heights = points.iter().chain(&ghosts).map(|(_, us)| *us).filter(|us| *us > 0.0);
    let (least, most) = heights.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), us| (low.min(us), high.max(us)));
    if !ghosts.is_empty() {
        layers.push(Layer::new(Role::Ghost, "baseline", Shape::Dots(ghosts)));
    }
    layers.push(Layer::new(Role::Run, "this run", Shape::Line(points.clone())));
    layers.push(Layer::new(Role::Run, "", Shape::Dots(points)));
    Chart {
        title: title.to_owned(),
        description: format!(
            "Half of the writes took at most {} µs, 99 % {} µs, 99.9 % {} µs, 99.99 % {} µs; the slowest {} µs.",
            number(p50_us),
            number(p99_us),
            number(p999_us),
            number(p9999_us),
            number(latency.max_us)
        ),
        x: axis("one write in … took longer", "", Scale::log(1.6, 14_000.0)),
        y: axis("µs", "µs", Scale::log(least / 1.5, most * 1.5)),
        layers,
    }
}

fn axis(label: &str, unit: &'static str, scale: Scale) -> Axis {
    Axis { label: label.to_owned(), unit, scale }
}

/// The baseline's figure of a metric, where the run was compared with one.
fn accepted(report: &Report, id: &str) -> Option<f64> {
    let against = report.metrics.iter().find(|judged| judged.metric.id == id)?.against.as_ref()?;
    if let Level::Number(value) = against.level { Some(value) } else { None }
}

/// Each step's rate at the middle of its bytes.
pub(crate) fn middles(curve: &[Point]) -> Vec<(f64, f64)> {
    let finite = curve.iter().filter(|point| point.at_gb.is_finite() && point.mb_s.is_finite());
    let middles = finite.scan(0.0, |start, point| {
        let middle = (*start + point.at_gb) / 2.0;
        *start = point.at_gb;
        Some((middle, point.mb_s))
    });
    middles.collect()
}

/// A baseline's steps up to where the run's bytes end.
fn steps(ghost: &Spread, end: f64) -> Vec<(f64, f64, [f64; 3])> {
    let starts = std::iter::once(0.0).chain(ghost.at_gb.iter().copied());
    let steps = starts.zip(&ghost.at_gb).zip(&ghost.mb_s).map(|((from, to), rates)| (from, to.min(end), *rates));
    steps.filter(|(from, ..)| *from < end).collect()
}

/// Stretches as a line that is level along each: a mean of bytes says nothing of slopes within.
fn stairs(stretches: &[Stretch]) -> Vec<(f64, f64)> {
    stretches.iter().flat_map(|(from, to, rate)| [(*from, *rate), (*to, *rate)]).collect()
}

fn heights(chart: &Chart) -> impl Iterator<Item = f64> {
    chart.layers.iter().flat_map(|layer| match &layer.shape {
        Shape::Line(points) | Shape::Dots(points) => points.iter().map(|(_, y)| *y).collect(),
        _ => Vec::new(),
    })
}

fn most(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.filter(|value| value.is_finite() && *value > 0.0).reduce(f64::max)
}

fn mean(intervals: &[Interval]) -> f64 {
    let (bytes, seconds) = intervals
        .iter()
        .fold((0.0, 0.0), |(bytes, seconds), interval| (bytes + interval.bytes as f64, seconds + interval.elapsed_s));
    if seconds > 0.0 { bytes / 1e6 / seconds } else { 0.0 }
}

/// The unit in which a time reads well, and its seconds.
fn clock(seconds: f64) -> (&'static str, f64) {
    match seconds {
        hours if hours > 3.0 * 3600.0 => ("hours", 3600.0),
        minutes if minutes > 180.0 => ("minutes", 60.0),
        _ => ("seconds", 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn a_fill_shows_its_cliff_and_what_the_baseline_did() {
        let report = samples::finished();
        let charts = fill(&report, report.fill.as_ref().unwrap());
        assert_eq!(charts.len(), 2);
        let roles: Vec<Role> = charts[0].layers.iter().map(|layer| layer.role).collect();
        assert_eq!(roles, [Role::GhostBand, Role::Ghost, Role::CliffBand, Role::Run, Role::Cliff]);
        assert!(charts[0].description.contains("falls from 2380 to 138 MB/s at 121 GB, between 120 and 122 GB"));
    }

    #[test]
    fn a_level_shows_when_it_was_steady_and_how_rare_slow_writes_are() {
        let report = samples::finished();
        let charts = level(&report, &report.random_write[0]);
        let has = |chart: &Chart, role| chart.layers.iter().any(|layer| layer.role == role);
        assert!(has(&charts[0], Role::SteadyWindow) && has(&charts[0], Role::Steady));
        assert!(charts[0].description.ends_with("Steady at 150 MB/s since 25.0 minutes."), "{:?}", charts[0]);
        assert!(charts[2].description.contains("99.9 % 2100 µs"), "{:?}", charts[2]);
        assert!(charts[2].x.scale.is_log() && charts[2].y.scale.is_log());
    }

    #[test]
    fn an_early_cliff_is_spread_out_and_nothing_measured_is_no_picture() {
        let one = |at: u32| Interval { end_s: f64::from(at), elapsed_s: 1.0, bytes: 1_000_000_000 };
        let curve: Vec<Interval> = (1..=100).map(one).collect();
        let cliff = CliffLine { at_gb: 2.0, low_gb: 1.0, high_gb: 3.0, before_mb_s: 80.0, after_mb_s: 50.0 };
        let log = |cliffs: &[CliffLine]| over_bytes("x", &curve, cliffs, None, None).unwrap().x.scale.is_log();
        assert!(log(&[cliff]) && !log(&[]));
        assert_eq!(over_bytes("x", &[], &[], None, None), None);
        assert_eq!(over_time("x", &[], None), None);
        assert_eq!(space(&samples::finished()), None);
    }
}
