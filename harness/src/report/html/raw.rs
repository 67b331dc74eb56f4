//! The numbers behind a page, to be taken away: the report as JSON and each curve as a table, inside the file.
//!
//! Knows the header that `analyze` reads, nothing of journals.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

use super::text;
use crate::report::{Interval, Report, json};

/// Rows of a table at the most: whole for a day in steps of ten seconds, and the page stays small.
const MOST_ROWS: usize = 10_000;

pub(super) fn downloads(report: &Report) -> Markup {
    let link = |media: &str, body: &str| format!("data:{media};base64,{}", STANDARD.encode(body));
    let fill = report.fill.iter().map(|fill| ("fill".to_owned(), &fill.intervals));
    let levels = report.random_write.iter().map(|level| (format!("random_write.{}", level.level), &level.intervals));
    let series = fill.chain(levels).filter(|(_, intervals)| !intervals.is_empty());
    html! {
        section {
            h2 { "The numbers" }
            ul.downloads {
                li {
                    a download="report.json" href=(link("application/json", &json::render(report))) { "report.json" }
                    ": all that this page says"
                }
                @for (name, intervals) in series {
                    @let every = intervals.len().div_ceil(MOST_ROWS);
                    @let file = file_name(&name);
                    li {
                        a download=(file) href=(link("text/csv", &csv(intervals, every))) { (file) }
                        ": throughput of each interval of " (text(&name))
                        @if every > 1 { ", " (every) " intervals a row" }
                    }
                }
            }
            p.quiet { "journal.jsonl, beside this page, is the measurement itself, with everything in it." }
        }
    }
}

/// A name that is a file's name everywhere.
fn file_name(series: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    series.chars().take(60).map(plain).collect::<String>() + ".csv"
}

/// `t_s,mb_s`: end of an interval in seconds and the rate over it; `every` intervals make a row.
fn csv(intervals: &[Interval], every: usize) -> String {
    let mut out = "t_s,mb_s\n".to_owned();
    for row in intervals.chunks(every.max(1)) {
        let seconds: f64 = row.iter().map(|interval| interval.elapsed_s).sum();
        let bytes: f64 = row.iter().map(|interval| interval.bytes as f64).sum();
        let Some(last) = row.last().filter(|_| seconds > 0.0) else { continue };
        let (at, rate) = (rounded(last.end_s, 3), rounded(bytes / 1e6 / seconds, 3));
        let _ = writeln!(out, "{at},{rate}");
    }
    out
}

fn rounded(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_row_an_interval_and_fewer_where_there_are_too_many() {
        let one = |at: u32| Interval { end_s: f64::from(at), elapsed_s: 1.0, bytes: u64::from(at) * 1_500_000 };
        let intervals: Vec<Interval> = (1..=4).map(one).collect();
        assert_eq!(csv(&intervals, 1), "t_s,mb_s\n1,1.5\n2,3\n3,4.5\n4,6\n");
        assert_eq!(csv(&intervals, 3), "t_s,mb_s\n3,3\n4,6\n");
    }

    #[test]
    fn a_file_has_a_harmless_name() {
        assert_eq!(file_name("random_write.50pct"), "random_write.50pct.csv");
        assert_eq!(file_name("../<x>\" y"), "..--x---y.csv");
    }
}
