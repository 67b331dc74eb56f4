//! The pictures of a comparison: one graph over space for all drives, and a small picture a suite and level with a
//! line a run.

use super::charts::{middles, space_chart};
use super::{Axis, Chart, Layer, Role, Scale, Shape, document, palette};
use crate::report::compare::{Comparison, letter};
use crate::report::table::number;

/// The comparison as a picture of its own.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    let runs = comparison.runs.iter().enumerate();
    let names: Vec<String> = runs.map(|(at, run)| format!("{}: {}", letter(at), run.report.target.drive)).collect();
    let charts: Vec<Chart> = space(comparison).into_iter().chain(timelines(comparison)).collect();
    document(&names, &charts, 2)
}

/// Steady rate over the bytes in use, a line a run; none where no run has two steady levels.
#[must_use]
pub fn space(comparison: &Comparison) -> Option<Chart> {
    let drives = comparison.runs.iter().enumerate().map(|(at, run)| {
        let points = run.levels.iter().filter_map(|level| Some((level.used_gb, level.steady_mb_s?)));
        (letter(at), role(at), points.collect())
    });
    space_chart(&drives.collect::<Vec<_>>())
}

/// A picture a suite and level that any run has, a line a run, all on the same scale for rates of random writes so
/// that levels can be set beside each other.
#[must_use]
pub fn timelines(comparison: &Comparison) -> Vec<Chart> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in comparison.runs.iter().flat_map(|run| run.timelines()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let top = |fill: bool| {
        let ours = comparison.runs.iter().flat_map(|run| run.timelines()).filter(|(name, _)| (name == "fill") == fill);
        ours.flat_map(|(_, points)| points).map(|point| point.mb_s).filter(|rate| rate.is_finite()).fold(0.0, f64::max)
    };
    let (fill, random) = (Scale::from_zero([top(true)]), Scale::from_zero([top(false)]));
    let chart = |name: &String| {
        let y = if name == "fill" { fill.clone() } else { random.clone() };
        picture(comparison, name, y)
    };
    names.iter().map(chart).collect()
}

fn picture(comparison: &Comparison, name: &str, y: Scale) -> Chart {
    let (mut layers, mut told, mut end) = (Vec::new(), Vec::new(), 0.0_f64);
    for (at, run) in comparison.runs.iter().enumerate() {
        let Some((_, points)) = run.timelines().find(|(other, _)| other == name) else { continue };
        let line = middles(points);
        let (Some(first), Some(last)) = (line.first(), line.last()) else { continue };
        end = points.iter().map(|point| point.at_gb).filter(|gb| gb.is_finite()).fold(end, f64::max);
        told.push(format!("{}: from {} to {} MB/s", letter(at), number(first.1), number(last.1)));
        layers.push(Layer::new(role(at), &letter(at), Shape::Line(line)));
    }
    let axis = |label: &str, unit, scale| Axis { label: label.to_owned(), unit, scale };
    let title = name.split_once(" at ").map_or_else(
        || "Fill".to_owned(),
        |(_, level)| format!("Random writes at {}", crate::report::words::level(level)),
    );
    Chart {
        description: format!("{title}: throughput over {} GB written. {}.", number(end), told.join("; ")),
        title,
        x: axis("GB written", "GB", Scale::up_to(end)),
        y: axis("MB/s", "MB/s", y),
        layers,
    }
}

fn role(at: usize) -> Role {
    Role::Series(u8::try_from(at % usize::from(palette::MOST_SERIES)).unwrap_or(0))
}
