//! The words of what hands results to other programs: formats of others, a step of a workflow, man pages, completions.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Judged, RunArguments};

pub(crate) const EXPORT_EXAMPLES: &str = "\
Examples:
  cargo xtask storage-check export csv storage-check-runs/RUN --output samples.csv
        every interval of the run, for a spreadsheet; `analyze` reads it back
  cargo xtask storage-check export openmetrics storage-check-runs/RUN \\
        --output /var/lib/prometheus/node-exporter/storage-check.prom
        figures and verdict for the textfile collector of Prometheus' node exporter
  cargo xtask storage-check export bencher storage-check-runs/RUN --output bmf.json
        then: bencher run --adapter json --file bmf.json

The run is judged under today's baselines, as `judge` does it; the exit code says only whether the export was made.";

pub(crate) const GITHUB_EXAMPLES: &str = "\
The action in .github/actions/storage-check calls this. It appends report.md to the file that GITHUB_STEP_SUMMARY
names and these outputs to the one that GITHUB_OUTPUT names, prints annotations, and exits as `run` does:
  verdict     held, improved, regressed, inconclusive, no-baseline or error
  exit-code   as in `storage-check --help`
  run         the run folder: journal.jsonl, report.json, report.md, junit.xml; empty where there is none
  report      its report.md
  junit       its junit.xml";

#[derive(Args, Debug)]
pub(crate) struct ExportArguments {
    /// What to make of the run
    #[arg(value_name = "FORMAT", value_enum)]
    pub(crate) to: To,
    /// Run folder, or its journal
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Write to this file, whole or not at all, instead of to stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) judged: Judged,
}

/// A format to export to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    /// Samples of the run, a row an interval
    Csv,
    /// Figures and verdict for Prometheus' node exporter (text file)
    Openmetrics,
    /// Bencher Metric Format (JSON)
    Bencher,
    /// junit.xml, a test case a metric
    Junit,
    /// report.md
    Markdown,
    /// report.json
    Json,
}

#[derive(Args, Debug)]
pub(crate) struct GithubArguments {
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct ManArguments {
    /// Folder that the pages go into: storage-check.1, and one a command
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
