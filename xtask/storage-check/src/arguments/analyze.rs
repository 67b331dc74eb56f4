//! The words of what is said of series: our own and others'.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use harness::units::{Bytes, GIB, parse_bytes};

use super::Options;

pub(crate) const ANALYZE_EXAMPLES: &str = "\
Files that belong together:
  fio logs whose names differ in the job's number only (x_bw.1.log, x_bw.2.log) are the jobs of
  one run: they are summed, each direction by itself. Jobs in one file, one after the other, are
  a series each. --jobs says otherwise. All that is merged, dropped, filled, aligned or taken for
  granted is said as a warning; what is no rate over time is refused.

Understood:
  fio        _bw, _iops and _lat logs (averaged: log_avg_msec=1000); JSON and JSON+ (totals, and
             the window of its steady-state rule)
  sysbench   fileio's output with --report-interval
  CSV        a header with units: t_s,mib_s (intervals by their end; also t_ms, kib_s, mb_s …)
             or offset_mib,mib_s (chunks by their start)
  our own    run folders, journals, samples.csv

Examples:
  cargo xtask storage-check analyze fio_bw.1.log fio_bw.2.log fio_bw.3.log fio_bw.4.log
        sum four jobs, and say where the rate falls and at which level it settles
  cargo xtask storage-check analyze --drive-gib 894 --range-gib 745 rw.csv --format json
        random writes over 745 GiB of an 894 GiB drive, for a script
  cargo xtask storage-check analyze --block-size 4KiB fio_iops.1.log
        an IOPS log that does not say how large its I/Os are

Exit codes:
  0 every file was analysed   2 wrong arguments, or a file was refused (the others are analysed)";

#[derive(Args, Debug)]
pub(crate) struct AnalyzeArguments {
    /// Logs, outputs, CSVs, journals or run folders
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// What the drive offers, in GiB: tells spare flash from data
    #[arg(long, value_name = "N", value_parser = gib)]
    pub(crate) drive_gib: Option<Bytes>,
    /// The range that was filled once and then written at random, in GiB
    #[arg(long, value_name = "N", value_parser = gib)]
    pub(crate) range_gib: Option<Bytes>,
    /// Bytes of an I/O, such as 4KiB, for IOPS logs that do not say
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) block_size: Option<Bytes>,
    /// What fio logs hold whose names do not say
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) log: Option<Log>,
    /// Which jobs ran together and are summed
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Together::Auto)]
    pub(crate) jobs: Together,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// What a fio log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Log {
    /// Bandwidth, KiB/s
    Bw,
    /// I/Os a second
    Iops,
    /// Latencies, ns
    Lat,
}

/// Which jobs ran together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Together {
    /// Files whose names differ in the job's number only
    Auto,
    /// All of a direction, also within one file
    Sum,
    /// None: a series each
    Apart,
}

/// A decimal number of GiB, above zero.
fn gib(text: &str) -> Result<Bytes, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text} is no number of GiB"))?;
    let bytes = number * GIB as f64;
    if (1.0..=1e18).contains(&bytes) { Ok(Bytes(bytes as u64)) } else { Err(format!("{text} GiB is no drive's size")) }
}

pub(crate) const COMPARE_EXAMPLES: &str = "\
Examples:
  cargo xtask storage-check compare storage-check-runs/RUN-OF-A storage-check-runs/RUN-OF-B
        two drives side by side: metrics, steady rate over the bytes in use, timelines
  cargo xtask storage-check compare old/journal.jsonl new/journal.jsonl --format md >> \"$GITHUB_STEP_SUMMARY\"
  cargo xtask storage-check compare RUN-A RUN-B --format html > comparison.html

A comparison judges nothing and exits with 0; `judge` compares with a baseline.";

#[derive(Args, Debug)]
pub(crate) struct CompareArguments {
    /// Run folders, or their journals
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub(crate) runs: Vec<PathBuf>,
    /// How the comparison is printed
    #[arg(long, value_enum, default_value_t = Rendering::Terminal)]
    pub(crate) format: Rendering,
}

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rendering {
    /// For people at a terminal
    #[value(alias = "text")]
    Terminal,
    /// GitHub-flavoured markdown
    #[value(alias = "markdown")]
    Md,
    /// For programs
    Json,
    /// A page that needs nothing else, with pictures
    Html,
    /// The pictures alone
    Svg,
}
