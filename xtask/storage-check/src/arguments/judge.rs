//! The words of verdicts and baselines.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{Options, What};

pub(crate) const JUDGE_EXAMPLES: &str = "\
Examples:
  cargo xtask storage-check judge storage-check-runs/20261130T132402Z-vda-acceptance
        print the report of a stored run against the baseline as it is now
  cargo xtask storage-check judge storage-check-runs/* --out reports
        judge many runs, each by itself, and write their reports to reports/<run>/; exits with the gravest code";

pub(crate) const BASELINE_EXAMPLES: &str = "\
Examples:
  cargo xtask storage-check baseline accept storage-check-runs/2026113* --reason 'as delivered, firmware 1.2'
        accept these runs, and show what that changes in the baseline's file
  cargo xtask storage-check baseline show baselines/acme-turbo960-960gb-folder/quick.toml";

pub(crate) const SELF_TEST_EXAMPLES: &str = "\
Examples:
  cargo xtask storage-check self-test
        seconds; exits with 4 if this build of the gate breaks one of its claims
  cargo xtask storage-check self-test --table --draws 10000
        the table in docs/rules-compared.md";

/// Against what a run is judged, and how strictly.
#[derive(Args, Debug)]
pub(crate) struct Judged {
    /// Folder of the baselines
    #[arg(long, value_name = "DIR", default_value = "baselines")]
    pub(crate) baselines: PathBuf,
    /// What may have changed since the baseline because it is tested; everything else must match. Known are firmware,
    /// driver, kernel, link, write-cache, scheduler, options, program, and facts as report.json names them
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "firmware,driver,kernel")]
    pub(crate) under_test: Vec<String>,
    /// Exit with 6 where there is no baseline to compare with [default: true where CI is set and not empty]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) require_baseline: Option<bool>,
    /// What an inconclusive verdict is
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Inconclusive::Fail)]
    pub(crate) inconclusive: Inconclusive,
}

/// What an inconclusive verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inconclusive {
    /// A warning: exits with 0
    Warn,
    /// A failure: exits with 5
    Fail,
}

#[derive(Args, Debug)]
pub(crate) struct JudgeArguments {
    /// Run folders, or their journals
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Write the reports into a folder a run in this one
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Take tolerances, gates and limits from this profile instead of the one that the run was made with
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) profile: Option<String>,
    #[command(flatten)]
    pub(crate) judged: Judged,
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Args, Debug)]
pub(crate) struct BaselineArguments {
    #[command(subcommand)]
    pub(crate) command: BaselineCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Accept finished runs, and show what that changes in the baseline's file
    Accept(AcceptArguments),
    /// Show the accepted figures, and who accepted them when and why
    Show(ShowArguments),
    /// List the baselines
    List(ListArguments),
    /// Find baselines that are damaged, stale, unreachable or never used, and tolerances that could be smaller
    Check(CheckArguments),
    /// Measure equal runs, or take stored ones, accept them, and write down what the gate can tell
    Qualify(QualifyArguments),
}

#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    /// Folder of the baselines
    #[arg(long, value_name = "DIR", default_value = "baselines")]
    pub(crate) baselines: PathBuf,
    /// Folder of run folders, to see which baselines are in use
    #[arg(long, value_name = "DIR", default_value = "storage-check-runs")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Args, Debug)]
pub(crate) struct QualifyArguments {
    /// Stored runs of one state; without them --repeat runs are made
    #[arg(value_name = "RUN", conflicts_with_all = ["target", "profile", "fill_volume", "max_write", "repeat"])]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) what: What,
    /// Runs to make
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub(crate) repeat: u32,
    /// Folder that run folders go into
    #[arg(long, value_name = "DIR", default_value = "storage-check-runs")]
    pub(crate) out: PathBuf,
    /// Why this is the state to compare with
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Folder of the baselines
    #[arg(long, value_name = "DIR", default_value = "baselines")]
    pub(crate) baselines: PathBuf,
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Args, Debug)]
pub(crate) struct AcceptArguments {
    /// Run folders, or their journals
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Why this is the state to compare with
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Folder of the baselines
    #[arg(long, value_name = "DIR", default_value = "baselines")]
    pub(crate) baselines: PathBuf,
    /// Keep the runs that were accepted before, whatever the new ones show
    #[arg(long, conflicts_with = "replace")]
    pub(crate) add: bool,
    /// Drop the runs that were accepted before
    #[arg(long)]
    pub(crate) replace: bool,
    /// Measure slow drift from this state on, not from the first one that was accepted
    #[arg(long)]
    pub(crate) new_golden: bool,
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Args, Debug)]
pub(crate) struct ShowArguments {
    /// A baseline's file; without it all in the folder
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Folder of the baselines
    #[arg(long, value_name = "DIR", default_value = "baselines")]
    pub(crate) baselines: PathBuf,
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Args, Debug)]
pub(crate) struct ListArguments {
    /// Folder of the baselines
    #[arg(long, value_name = "DIR", default_value = "baselines")]
    pub(crate) baselines: PathBuf,
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Args, Debug)]
pub(crate) struct SelfTestArguments {
    /// Set the gate beside three rules in common use, on the same drives
    #[arg(long)]
    pub(crate) table: bool,
    /// Pairs of drives a claim; with fewer than 5000 chance is allowed for
    #[arg(long, value_name = "N", default_value_t = harness::session::self_test::DRAWS,
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) draws: u64,
    #[command(flatten)]
    pub(crate) options: Options,
}

impl BaselineCommand {
    /// The options of whichever command was given.
    pub(crate) fn options(&self) -> Options {
        match self {
            BaselineCommand::Accept(arguments) => arguments.options,
            BaselineCommand::Show(arguments) => arguments.options,
            BaselineCommand::List(arguments) => arguments.options,
            BaselineCommand::Check(arguments) => arguments.options,
            BaselineCommand::Qualify(arguments) => arguments.options,
        }
    }
}
