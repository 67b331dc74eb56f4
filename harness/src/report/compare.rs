//! Runs side by side, as data: what each measured, row by row and level by level.
//!
//! Owns which figures stand next to each other. A comparison judges nothing: that is a baseline's. Knows no markup and
//! no terminal.

use super::curve;
use super::table::{number, row};
use super::{Point, Report};
use crate::analysis::metric::{Kind, Metric, Value};

/// Runs side by side, in the order in which they were named.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The runs, at least two.
    pub runs: Vec<Compared>,
}

/// One run, as it is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// What is said of it.
    pub report: Report,
    /// Its levels of random writes, in order of the bytes in use.
    pub levels: Vec<LevelPoint>,
}

/// One level of random writes as a point over the drive's space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelPoint {
    /// Name, such as `25pct`.
    pub level: String,
    /// Bytes of the drive in use while it ran, others' data counted.
    pub used_gb: f64,
    /// Bytes of the drive in use by nobody, where the drive's size is known.
    pub free_gb: Option<f64>,
    /// The steady rate, where it was reached.
    pub steady_mb_s: Option<f64>,
    /// `reached`, `never`, `lost` or `too-short`.
    pub state: &'static str,
}

/// A line of a table: a name, and a text for each run.
pub type Line = (String, Vec<String>);

/// The letter that stands for a run in tables.
#[must_use]
pub fn letter(at: usize) -> String {
    let letter = u8::try_from(at).ok().filter(|at| *at < 26).map(|at| char::from(b'A' + at).to_string());
    letter.unwrap_or_else(|| format!("#{}", at + 1))
}

impl Comparison {
    /// What each letter stands for: drive, profile, run.
    #[must_use]
    pub fn legend(&self) -> Vec<Line> {
        let line = |(at, run): (usize, &Compared)| {
            let Report { target, profile, environment, .. } = &run.report;
            let firmware = environment.get("drive.firmware").filter(|text| !target.drive.contains(*text));
            let profile = format!("{} {}", profile.name, profile.version);
            (
                letter(at),
                vec![target.drive.clone(), firmware.cloned().unwrap_or_default(), profile, run.report.run.clone()],
            )
        };
        self.runs.iter().enumerate().map(line).collect()
    }

    /// What a reader must know before reading on.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(first) = self.runs.first() {
            let other = |run: &&Compared| run.report.profile.fingerprint != first.report.profile.fingerprint;
            if self.runs.iter().any(|run| other(&run)) {
                notes.push(
                    "the runs were made under different profiles: their figures are not of the same measurement"
                        .to_owned(),
                );
            }
        }
        for (at, run) in self.runs.iter().enumerate() {
            let failure =
                run.report.failure.iter().map(|failure| format!("{}: {}", failure.kind.word(), failure.message));
            notes.extend(failure.chain(run.report.notes.iter().cloned()).map(|note| format!("{}: {note}", letter(at))));
        }
        notes
    }

    /// A line a metric that any run has; figures after the first with their ratio to it.
    #[must_use]
    pub fn metrics(&self) -> Vec<Line> {
        let mut ids: Vec<&str> = Vec::new();
        for judged in self.runs.iter().flat_map(|run| &run.report.metrics) {
            if !ids.contains(&judged.metric.id.as_str()) {
                ids.push(&judged.metric.id);
            }
        }
        let cell = |id: &str, at: usize, run: &Compared| {
            let Some(judged) = run.report.metrics.iter().find(|judged| judged.metric.id == id) else {
                return String::new();
            };
            let first = self.runs.first().and_then(|run| run.metric(id)).filter(|_| at > 0);
            row(judged).value + &ratio(first, &judged.metric)
        };
        let line = |id: &&str| {
            let cells = self.runs.iter().enumerate().map(|(at, run)| cell(id, at, run)).collect();
            ((*id).to_owned(), cells)
        };
        ids.iter().map(line).collect()
    }

    /// A line a level that any run has: steady rate at the bytes in use.
    #[must_use]
    pub fn levels(&self) -> Vec<Line> {
        let mut names: Vec<(&str, f64)> = Vec::new();
        for level in self.runs.iter().flat_map(|run| &run.levels) {
            if !names.iter().any(|(name, _)| *name == level.level) {
                names.push((&level.level, level.used_gb));
            }
        }
        names.sort_by(|a, b| a.1.total_cmp(&b.1));
        let cell = |name: &str, run: &Compared| {
            let level = run.levels.iter().find(|level| level.level == name);
            level.map_or_else(String::new, |level| {
                let rate = level
                    .steady_mb_s
                    .map_or_else(|| level.state.replace('-', " "), |rate| format!("{} MB/s", number(rate)));
                format!("{rate} at {} GB", number(level.used_gb))
            })
        };
        let line =
            |(name, _): &(&str, f64)| ((*name).to_owned(), self.runs.iter().map(|run| cell(name, run)).collect());
        names.iter().map(line).collect()
    }

    /// Each run's steady rate over the bytes in use, drawn; none where a run has fewer than two steady levels.
    #[must_use]
    pub fn space_charts(&self, width: usize, height: usize) -> Vec<(String, String)> {
        let chart = |(at, run): (usize, &Compared)| {
            let steady =
                run.levels.iter().filter_map(|level| Some(Point { at_gb: level.used_gb, mb_s: level.steady_mb_s? }));
            let points: Vec<Point> = steady.collect();
            (points.len() > 1).then(|| (letter(at), curve::chart(&points, &[], width, height)))
        };
        self.runs.iter().enumerate().filter_map(chart).collect()
    }

    /// The timelines as lines of blocks: suite and level, the run's letter, the line, and what its top and end are.
    #[must_use]
    pub fn timelines(&self, width: usize) -> Vec<Line> {
        let mut names: Vec<String> = Vec::new();
        for name in self.runs.iter().flat_map(Compared::timelines).map(|(name, _)| name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let lines = names.iter().flat_map(|name| {
            self.runs.iter().enumerate().filter_map(move |(at, run)| {
                let (_, points) = run.timelines().find(|(other, _)| other == name)?;
                let top = points.iter().map(|point| point.mb_s).fold(0.0, f64::max);
                let end = points.last().map_or(0.0, |point| point.at_gb);
                let scale = format!("{} MB/s, {} GB", number(top), number(end));
                Some((name.clone(), vec![letter(at), curve::sparkline(points, width), scale]))
            })
        });
        lines.collect()
    }

    /// Each run's free space erase factor; nothing where none has one.
    #[must_use]
    pub fn fsef(&self) -> Option<Line> {
        let cell = |run: &Compared| {
            run.report.fsef.map_or_else(String::new, |fsef| {
                format!("{} ± {} MB/s per GB", number(fsef.mb_s_per_gb), number(fsef.standard_error))
            })
        };
        let cells: Vec<String> = self.runs.iter().map(cell).collect();
        cells.iter().any(|cell| !cell.is_empty()).then(|| ("FSEF".to_owned(), cells))
    }
}

impl Compared {
    fn metric(&self, id: &str) -> Option<&Metric> {
        self.report.metrics.iter().map(|judged| &judged.metric).find(|metric| metric.id == id)
    }

    /// The curves of its suites.
    pub(super) fn timelines(&self) -> impl Iterator<Item = (String, &[Point])> {
        let fill = self.report.fill.iter().map(|fill| ("fill".to_owned(), fill.curve.as_slice()));
        let levels = self.report.random_write.iter();
        fill.chain(levels.map(|level| (format!("random writes at {}", level.level), level.curve.as_slice())))
            .filter(|(_, points)| points.len() > 1)
    }
}

/// ` (×0.45)` of the first run's figure.
fn ratio(first: Option<&Metric>, metric: &Metric) -> String {
    // Of counts and stalls, where nothing is the usual, a ratio says little.
    let first = first.filter(|metric| !matches!(metric.kind, Kind::Count | Kind::Stalls));
    match (first.map(|first| &first.value), &metric.value) {
        (Some(Value::Number(first)), Value::Number(value)) if *first > 0.0 && value.is_finite() => {
            format!(" (×{})", number(value / first))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    fn level(level: &str, used_gb: f64, steady_mb_s: Option<f64>) -> LevelPoint {
        let state = if steady_mb_s.is_some() { "reached" } else { "never" };
        LevelPoint { level: level.to_owned(), used_gb, free_gb: None, steady_mb_s, state }
    }

    fn comparison() -> Comparison {
        let a = Compared {
            report: samples::finished(),
            levels: vec![level("50pct", 100.0, Some(400.0)), level("90pct", 180.0, Some(200.0))],
        };
        let mut b = Compared { report: samples::finished(), levels: vec![level("50pct", 200.0, None)] };
        b.report.metrics.retain(|judged| judged.metric.id != "fill.cliff_gb");
        for judged in &mut b.report.metrics {
            if let Value::Number(value) = &mut judged.metric.value {
                *value /= 2.0;
            }
        }
        b.report.profile.fingerprint = "other".to_owned();
        Comparison { runs: vec![a, b] }
    }

    #[test]
    fn metrics_stand_side_by_side_with_their_ratio() {
        let lines = comparison().metrics();
        let line = |id: &str| lines.iter().find(|(name, _)| name == id).map(|(_, cells)| cells.clone()).unwrap();
        assert_eq!(line("fill.floor_mb_s"), ["400 MB/s", "200 MB/s (×0.500)"]);
        assert_eq!(line("fill.cliff_gb"), ["121 GB", ""]);
    }

    #[test]
    fn levels_stand_at_the_bytes_in_use() {
        let expect = [("50pct", ["400 MB/s at 100 GB", "never at 200 GB"]), ("90pct", ["200 MB/s at 180 GB", ""])];
        let expect: Vec<Line> =
            expect.iter().map(|(name, cells)| ((*name).to_owned(), cells.map(str::to_owned).to_vec())).collect();
        assert_eq!(comparison().levels(), expect);
        let charts = comparison().space_charts(20, 2);
        assert!(charts.len() == 1 && charts[0].0 == "A" && charts[0].1.contains("180 GB"), "{charts:?}");
    }

    #[test]
    fn other_profiles_are_said_first_and_runs_have_letters() {
        let notes = comparison().notes();
        assert!(notes[0].contains("different profiles"), "{notes:?}");
        assert!(notes[1..].iter().all(|note| note.starts_with("A: ") || note.starts_with("B: ")), "{notes:?}");
        assert_eq!([letter(0), letter(25), letter(26)], ["A", "Z", "#27"]);
    }

    #[test]
    fn the_firmware_is_named_once_in_the_legend() {
        let mut comparison = comparison();
        for (run, drive) in comparison.runs.iter_mut().zip(["Disk 1", "Disk 1, firmware FW02"]) {
            run.report.target.drive = drive.to_owned();
            run.report.environment.insert("drive.firmware".to_owned(), "FW02".to_owned());
        }
        let firmware: Vec<String> = comparison.legend().into_iter().map(|(_, what)| what[1].clone()).collect();
        assert_eq!(firmware, ["FW02", ""]);
    }

    #[test]
    fn timelines_of_a_suite_stand_under_each_other() {
        let lines = comparison().timelines(10);
        assert_eq!((lines[0].0.as_str(), lines[0].1[0].as_str(), lines[1].1[0].as_str()), ("fill", "A", "B"));
        assert_eq!(lines[0].1[1].chars().count(), 10);
    }
}
