//! The track of one job: rows of a log, each the rate over a window that ends at a moment, as spans without gaps.
//!
//! Owns what becomes of moments that repeat, go back, begin late or leave a gap. Knows no format and no file.

use super::moved;
use crate::units::{Bytes, Nanos};

/// One row of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    /// End of its window, by the log's clock.
    pub(super) end_ns: u64,
    /// Bytes a second within the window.
    pub(super) bytes_s: f64,
    /// Where it stands in the file, from 1.
    pub(super) line: usize,
}

/// What a log means by a time without rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Nothing completed in it: fio writes no row then.
    Idle,
    /// Nobody knows: the next row's rate is taken for all the time since the row before.
    Unknown,
}

/// A stretch of a track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    /// Its end, by the log's clock.
    pub(super) end_ns: u64,
    /// Bytes a second.
    pub(super) bytes_s: f64,
}

/// One job's throughput in one direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track {
    /// Its file.
    pub(super) file: String,
    /// What its file's name says it belongs to: tracks of the same family ran together.
    pub(super) family: String,
    /// `write`, `read`, `trim`; `random-write` where the format says so.
    pub(super) kind: &'static str,
    /// Which of the jobs of its file, from 1, where the clock restarts.
    pub(super) part: Option<(usize, usize)>,
    /// Start of the first span, by the log's clock.
    pub(super) start_ns: u64,
    /// Whether that clock counts from 1970.
    pub(super) epoch: bool,
    /// Spans in order, without gaps.
    pub(super) spans: Vec<Span>,
    /// Usual length of a span.
    pub(super) period_ns: u64,
    /// What was done to the rows.
    pub(super) warnings: Vec<String>,
}

impl Track {
    /// The end of the last span.
    pub(super) fn end_ns(&self) -> u64 {
        self.spans.last().map_or(self.start_ns, |span| span.end_ns)
    }

    /// Each span with its start.
    pub(super) fn starts(&self) -> impl Iterator<Item = (u64, Span)> {
        let starts = std::iter::once(self.start_ns).chain(self.spans.iter().map(|span| span.end_ns));
        starts.zip(self.spans.iter().copied())
    }

    /// Time and bytes of each span.
    pub(super) fn steps(&self) -> impl Iterator<Item = (Nanos, Bytes)> {
        self.starts().map(|(start, span)| {
            let elapsed = Nanos(span.end_ns - start);
            (elapsed, moved(span.bytes_s, elapsed))
        })
    }
}

/// A clock that shows more counts milliseconds since 1970: 1973 in nanoseconds.
const EPOCH_NS: u64 = 100_000_000_000_000_000;
/// A window is that many periods at the most; what is longer holds a gap.
const LONGEST: f64 = 1.5;
/// A window that is shorter than this share of the period is a short one.
const SHORT: f64 = 0.5;
/// Share of short windows above which rows do not come by a clock.
const MOST_SHORT: f64 = 0.1;
/// Share of short and long windows above which they do not either.
const MOST_UNEVEN: f64 = 0.5;
/// A period is at least this long.
const LEAST_PERIOD_NS: u64 = 3_000_000;
/// Share of the moments that must repeat equally often for rows to be of several jobs.
const SAME_REPEATS: f64 = 0.8;

/// Rows of one direction of one file, cut where the clock restarts.
pub(super) fn parts(rows: Vec<Row>) -> Vec<Vec<Row>> {
    let mut deltas: Vec<u64> = rows.windows(2).map(|pair| pair[1].end_ns.abs_diff(pair[0].end_ns)).collect();
    let slack = LONGEST * median(&mut deltas) as f64;
    let mut parts: Vec<Vec<Row>> = Vec::new();
    let mut latest = 0;
    for row in rows {
        match parts.last_mut() {
            // Rows that are a window late are out of order, and no new start.
            Some(part) if row.end_ns as f64 + slack >= latest as f64 && latest > row.end_ns || row.end_ns >= latest => {
                latest = row.end_ns.max(latest);
                part.push(row);
            }
            _ => {
                latest = row.end_ns;
                parts.push(vec![row]);
            }
        }
    }
    parts
}

/// The spans of one part: start, spans, period, and what was done.
///
/// # Errors
/// The line, and why the rows are no rate over time.
pub(super) fn spans(mut rows: Vec<Row>, gap: Gap) -> Result<Spans, (usize, String)> {
    let mut done = Vec::new();
    let first_line = rows.first().map_or(0, |row| row.line);
    if let Some(late) = rows.windows(2).find(|pair| pair[1].end_ns < pair[0].end_ns) {
        done.push((late[1].line, "rows out of order were sorted by time".to_owned()));
        rows.sort_by_key(|row| row.end_ns);
    }
    let mut rows = merge(rows, &mut done);
    let mut deltas: Vec<u64> = rows.windows(2).map(|pair| pair[1].end_ns - pair[0].end_ns).collect();
    let period = if deltas.is_empty() { rows.first().map_or(0, |row| row.end_ns) } else { median(&mut deltas) };
    if rows.len() > 2 && !by_a_clock(&rows, period) {
        return Err((
            first_line,
            "rows come at uneven moments, as one row an I/O does: not a rate over time; \
             log averages instead (fio: log_avg_msec=1000)"
                .to_owned(),
        ));
    }
    let Some(first) = rows.first().copied() else { return Err((first_line, "no row in it".to_owned())) };
    let longest = (LONGEST * period as f64) as u64;
    let epoch = first.end_ns >= EPOCH_NS;
    let mut start_ns = 0;
    if first.end_ns == 0 {
        done.push((first.line, "the row at time 0 is of no time, and was dropped".to_owned()));
        rows.remove(0);
        if rows.is_empty() {
            return Err((first.line, "the only row is at time 0: no rate over time".to_owned()));
        }
    } else if first.end_ns > longest {
        start_ns = first.end_ns - period;
        let from = if epoch {
            "the clock counts from 1970".to_owned()
        } else {
            format!("the first row ends at {}", Nanos(first.end_ns))
        };
        done.push((first.line, format!("{from}: the series was made to begin {} before it", Nanos(period))));
    }
    let spans = fill(&rows, start_ns, period, gap, &mut done);
    Ok(Spans { start_ns, epoch, spans, period_ns: period.max(1), done })
}

/// What [`spans`] made of rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spans {
    pub(super) start_ns: u64,
    pub(super) epoch: bool,
    pub(super) spans: Vec<Span>,
    pub(super) period_ns: u64,
    /// Line, and what was done there.
    pub(super) done: Vec<(usize, String)>,
}

impl Spans {
    /// They as the track of a file that is a family of its own: part `at` of `count`, with what was done to the file
    /// and then to its rows.
    pub(super) fn track(
        self,
        file: &str,
        kind: &'static str,
        (at, count): (usize, usize),
        warnings: impl IntoIterator<Item = String>,
    ) -> Track {
        let done = self.done.iter().map(|(line, what)| format!("{file}:{line}: {what}"));
        Track {
            file: file.to_owned(),
            family: file.to_owned(),
            kind,
            part: (count > 1).then_some((at + 1, count)),
            start_ns: self.start_ns,
            epoch: self.epoch,
            period_ns: self.period_ns,
            warnings: warnings.into_iter().chain(done).collect(),
            spans: self.spans,
        }
    }
}

/// Rows of the same moment as one: their sum where all moments repeat alike, as rows of several jobs do, else
/// their mean.
fn merge(rows: Vec<Row>, done: &mut Vec<(usize, String)>) -> Vec<Row> {
    let groups: Vec<&[Row]> = rows.chunk_by(|a, b| a.end_ns == b.end_ns).collect();
    let mut sizes: Vec<u64> = groups.iter().map(|group| group.len() as u64).collect();
    let usual = median(&mut sizes);
    let alike = groups.iter().filter(|group| group.len() as u64 == usual).count();
    let several = usual > 1 && groups.len() > 2 && alike as f64 >= SAME_REPEATS * groups.len() as f64;
    let Some(first) = groups.iter().find(|group| group.len() > 1) else { return rows };
    let repeated = groups.iter().filter(|group| group.len() > 1).count();
    done.push((
        first[1].line,
        if several {
            format!("every moment is there {usual} times, as of {usual} jobs: their rates were summed")
        } else {
            format!("{repeated} moments are there more than once: the mean of each one's rates was taken")
        },
    ));
    let one = |group: &&[Row]| {
        let sum: f64 = group.iter().map(|row| row.bytes_s).sum();
        let bytes_s = if several { sum } else { sum / group.len() as f64 };
        Row { bytes_s, ..group[0] }
    };
    groups.iter().map(one).collect()
}

/// Whether the rows are averages over windows, and not the moments at which I/Os completed.
fn by_a_clock(rows: &[Row], period: u64) -> bool {
    // The last window may be cut, the first one late.
    let deltas = rows[..rows.len() - 1].windows(2).map(|pair| (pair[1].end_ns - pair[0].end_ns) as f64 / period as f64);
    let (mut short, mut long, mut all) = (0, 0, 0);
    for delta in deltas {
        all += 1;
        short += u32::from(delta < SHORT);
        long += u32::from(delta > LONGEST);
    }
    let many_short = short > 1 && f64::from(short) > MOST_SHORT * f64::from(all);
    period >= LEAST_PERIOD_NS && !many_short && f64::from(short + long) <= MOST_UNEVEN * f64::from(all.max(1))
}

/// Spans without gaps.
fn fill(rows: &[Row], start_ns: u64, period: u64, gap: Gap, done: &mut Vec<(usize, String)>) -> Vec<Span> {
    let longest = (LONGEST * period as f64) as u64;
    let (mut spans, mut last) = (Vec::with_capacity(rows.len()), start_ns);
    let (mut gaps, mut first, mut missing) = (0_u64, 0, 0_u64);
    for row in rows {
        let elapsed = row.end_ns - last;
        if elapsed > longest {
            first = if gaps == 0 { row.line } else { first };
            gaps += 1;
            missing = missing.saturating_add(elapsed - period);
            if gap == Gap::Idle {
                spans.push(Span { end_ns: row.end_ns - period, bytes_s: 0.0 });
            }
        }
        spans.push(Span { end_ns: row.end_ns, bytes_s: row.bytes_s });
        last = row.end_ns;
    }
    if gaps > 0 {
        let missing = Nanos(missing);
        let (s, them) = if gaps == 1 { ("", "it") } else { ("s", "them") };
        done.push((
            first,
            match gap {
                Gap::Idle => format!("{gaps} gap{s} without rows, {missing} in all: nothing completed in {them}"),
                Gap::Unknown => {
                    format!(
                        "{gaps} gap{s} without rows, {missing} in all: filled with the rate of the row after {them}"
                    )
                }
            },
        ));
    }
    if let [.., before, end] = spans[..]
        && (end.end_ns - before.end_ns) as f64 * 2.0 < period as f64
        && let Some(row) = rows.last()
    {
        let short = Nanos(end.end_ns - before.end_ns);
        done.push((row.line, format!("the last window is only {short} of {} long", Nanos(period))));
    }
    spans
}

/// The middle one, zero where there is none.
pub(super) fn median(values: &mut [u64]) -> u64 {
    let middle = values.len() / 2;
    if values.is_empty() { 0 } else { *values.select_nth_unstable(middle).1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Rows of (milliseconds, bytes a second), a line each.
    fn rows(rows: &[(u64, f64)]) -> Vec<Row> {
        let row = |(at, &(ms, bytes_s)): (usize, &(u64, f64))| Row { end_ns: ms * MS, bytes_s, line: at + 1 };
        rows.iter().enumerate().map(row).collect()
    }

    /// Rows become spans of the same, and so many things were done to them.
    fn check(from: &[(u64, f64)], gap: Gap, start_ms: u64, to: &[(u64, f64)], done: &[(usize, &str)]) {
        let found = spans(rows(from), gap).unwrap();
        let got: Vec<(u64, f64)> = found.spans.iter().map(|span| (span.end_ns / MS, span.bytes_s)).collect();
        assert_eq!((found.start_ns / MS, got.as_slice()), (start_ms, to), "{from:?}");
        let fits = found.done.len() == done.len()
            && found.done.iter().zip(done).all(|((line, text), (at, part))| line == at && text.contains(part));
        assert!(fits, "{from:?}: {:?} instead of {done:?}", found.done);
    }

    fn refused(from: &[(u64, f64)]) {
        let why = spans(rows(from), Gap::Idle).unwrap_err();
        assert!(why.1.contains("uneven"), "{why:?}");
    }

    #[test]
    fn even_rows_are_taken_as_they_are() {
        let even = [(1000, 5.0), (2001, 6.0), (3000, 7.0), (4002, 8.0)];
        check(&even, Gap::Idle, 0, &even, &[]);
        check(&[(700, 5.0)], Gap::Idle, 0, &[(700, 5.0)], &[]);
    }

    #[test]
    fn a_row_of_no_time_is_dropped_and_a_late_start_is_one() {
        let rest = [(1000, 6.0), (2000, 7.0), (3000, 8.0)];
        check(&[&[(0, 5.0)], &rest[..]].concat(), Gap::Idle, 0, &rest, &[(1, "dropped")]);
        let late = [(31_000, 5.0), (32_000, 6.0), (33_000, 7.0)];
        check(&late, Gap::Idle, 30_000, &late, &[(1, "made to begin")]);
        let epoch = 1_700_000_000_000;
        let since = [(epoch, 5.0), (epoch + 1000, 6.0), (epoch + 2000, 7.0)];
        check(&since, Gap::Idle, epoch - 1000, &since, &[(1, "1970")]);
        assert!(spans(rows(&since), Gap::Idle).unwrap().epoch);
        assert!(spans(rows(&[(0, 5.0)]), Gap::Idle).is_err());
    }

    #[test]
    fn a_gap_is_idle_where_the_log_means_that_and_else_unknown() {
        let from = [(1000, 5.0), (2000, 6.0), (6000, 7.0), (7000, 8.0)];
        let idle = [(1000, 5.0), (2000, 6.0), (5000, 0.0), (6000, 7.0), (7000, 8.0)];
        check(&from, Gap::Idle, 0, &idle, &[(3, "nothing completed")]);
        check(&from, Gap::Unknown, 0, &from, &[(3, "the rate of the row after")]);
    }

    #[test]
    fn moments_that_repeat_are_summed_as_of_jobs_or_averaged() {
        let jobs = [(250, 1.0), (250, 2.0), (500, 3.0), (500, 4.0), (750, 5.0), (750, 6.0)];
        check(&jobs, Gap::Idle, 0, &[(250, 3.0), (500, 7.0), (750, 11.0)], &[(2, "2 jobs")]);
        let bug = [(1000, 4.0), (2000, 6.0), (2000, 8.0), (3000, 5.0), (4000, 5.0)];
        check(&bug, Gap::Idle, 0, &[(1000, 4.0), (2000, 7.0), (3000, 5.0), (4000, 5.0)], &[(3, "mean")]);
    }

    #[test]
    fn a_short_last_window_is_kept_and_said() {
        let short = [(1000, 5.0), (2000, 6.0), (3000, 7.0), (3100, 8.0)];
        check(&short, Gap::Idle, 0, &short, &[(4, "100 ms")]);
    }

    #[test]
    fn rows_at_the_moments_of_ios_are_refused() {
        refused(&[(1, 5.0), (1, 5.0), (52, 5.0), (92, 5.0), (93, 5.0), (94, 5.0), (95, 5.0), (249, 5.0), (250, 5.0)]);
        refused(&[
            (51, 5.0),
            (75, 5.0),
            (91, 5.0),
            (94, 5.0),
            (172, 5.0),
            (176, 5.0),
            (181, 5.0),
            (210, 5.0),
            (236, 5.0),
        ]);
    }

    #[test]
    fn a_clock_that_restarts_is_a_new_part_and_a_late_row_is_none() {
        let lengths = |from: &[(u64, f64)]| parts(rows(from)).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(&[(2000, 1.0), (4000, 1.0), (6000, 1.0), (2000, 1.0), (4000, 1.0)]), [3, 2]);
        let late = [(1000, 1.0), (3000, 3.0), (2000, 2.0), (4000, 4.0)];
        assert_eq!(lengths(&late), [4]);
        check(&late, Gap::Idle, 0, &[(1000, 1.0), (2000, 2.0), (3000, 3.0), (4000, 4.0)], &[(3, "sorted")]);
        assert_eq!(lengths(&[]), [0; 0]);
    }
}
