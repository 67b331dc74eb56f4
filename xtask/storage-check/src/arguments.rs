//! What can be written on the command line.
//!
//! Only the words and their help; the commands are in files of their own.

mod analyze;
mod export;
mod judge;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use harness::sample::purge::NamedPurge;
use harness::units::{Bytes, Nanos, parse_bytes, parse_nanos};

pub(crate) use analyze::*;
pub(crate) use export::*;
pub(crate) use judge::*;

const EXAMPLES: &str = "\
Examples:
  cargo xtask storage-check
        measure the disk of this folder with the quick profile, in about a minute
  cargo xtask storage-check plan --target /mnt/new --profile acceptance
        say what the acceptance profile would write and how long it would take, and stop
  cargo xtask storage-check run --target /mnt/new --fill-volume /mnt/new --profile fill-volume
        fill a filesystem of its own to find the capacity at the cliff
  cargo xtask storage-check run --profile ci --repeat 5
        measure until it is decided whether the drive is as good as its baseline (`baseline accept` makes one)
  cargo xtask storage-check run --resume storage-check-runs/20261130T132402Z-vda-acceptance
        go on with a run that was cut

Exit codes:
  0  held, improved, or a first run
  1  regressed, blocks that read back wrong, or a limit broken
  2  wrong arguments, or a file that cannot be used
  3  target refused, nothing was written to it
  4  run failed or interrupted
  5  inconclusive
  6  no baseline where one is required (--require-baseline, or CI is set)

What the words mean and how to read a report: docs/guide in the source.";

/// Measures a drive under fill and random-write suites, and says whether it became worse.
#[derive(Debug, Parser)]
#[command(name = "storage-check", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure, and write journal and reports into a run folder (what happens without a command)
    #[command(after_help = EXAMPLES)]
    Run(RunArguments),
    /// Say what a run would write, erase and take, and stop
    #[command(after_help = EXAMPLES)]
    Plan(PlanArguments),
    /// Judge stored runs again under today's baselines and rules: no I/O on the drive, no change of the runs
    #[command(after_help = JUDGE_EXAMPLES)]
    Judge(JudgeArguments),
    /// Accept runs as the state that later ones are compared with, and look at what was accepted
    #[command(after_help = BASELINE_EXAMPLES)]
    Baseline(BaselineArguments),
    /// Find cliffs and steady state in fio, sysbench and CSV files, and in journals
    #[command(after_help = ANALYZE_EXAMPLES)]
    Analyze(AnalyzeArguments),
    /// Show runs or drives side by side
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArguments),
    /// List the drives of this host: identity, firmware, link, what uses them, and whether they may be erased
    Devices(DevicesArguments),
    /// Prove on drives whose truth is known that the gate passes what is equal and fails what is worse
    #[command(after_help = SELF_TEST_EXAMPLES)]
    SelfTest(SelfTestArguments),
    /// Turn a stored run into CSV, an OpenMetrics file, Bencher's JSON, or one of the reports
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportArguments),
    /// Run as a step of a GitHub workflow: summary, annotations and outputs besides the run folder
    #[command(after_help = GITHUB_EXAMPLES)]
    Github(GithubArguments),
    /// Print the completions of a shell
    Completions(CompletionsArguments),
    /// Write the manual as man pages
    Man(ManArguments),
}

/// What to measure, by what, and where the files go.
#[derive(Args, Debug)]
pub(crate) struct What {
    /// Folder to measure in: files are made in a folder of our own inside it, and removed at the end; or a whole block
    /// device, which --erase must name; or a simulated drive, such as sim:intel-320 or sim:FILE.toml, with overrides:
    /// sim:intel-320?unit=7&slower=8%&fault=gone@60s
    #[arg(long, value_name = "DIR|DEVICE|sim:NAME", default_value = ".")]
    pub(crate) target: PathBuf,
    /// Built-in profile (quick, ci, acceptance, fill-volume, space-throughput, snia-wsat) or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "quick")]
    pub(crate) profile: String,
    /// Allow this filesystem to be filled; it must be the target's own, and not the one that carries /
    #[arg(long, value_name = "MOUNTPOINT")]
    pub(crate) fill_volume: Option<PathBuf>,
    /// Allow the target device to be erased, all of it: its serial number, worldwide name or UUID, so that no other is.
    /// Given again for each other namespace that --purge reaches
    #[arg(long, value_name = "IDENTITY")]
    pub(crate) erase: Vec<String>,
    /// Allow that also where the device is not empty
    #[arg(long, requires = "erase")]
    pub(crate) erase_contents: bool,
    /// Allow it also where other hosts could be using the device: fabrics, iSCSI, Fibre Channel
    #[arg(long, requires = "erase")]
    pub(crate) erase_shared: bool,
    /// Before the run, have the target, a whole NVMe drive, erase itself, which cannot be stopped: format destroys all
    /// data of the namespace, or of all namespaces of the drive where it formats only all at once; sanitize destroys all
    /// data of all namespaces of the drive. The LBA format stays. Without this, what is purged is discarded
    #[arg(long, value_enum, value_name = "HOW", requires = "erase")]
    pub(crate) purge: Option<DrivePurge>,
    /// Refuse a plan that writes more than this, such as 100GB
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) max_write: Option<Bytes>,
}

/// Common to all commands.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Options {
    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Print only the verdict, and no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) what: What,
    /// Folder that run folders go into
    #[arg(long, value_name = "DIR", default_value = "storage-check-runs")]
    pub(crate) out: PathBuf,
    /// Go on with a run that was cut, named by its folder or journal
    #[arg(long, value_name = "RUN", conflicts_with_all = ["discard", "target", "profile", "fill_volume", "erase", "purge", "max_write", "out"])]
    pub(crate) resume: Option<PathBuf>,
    /// Remove what a run that was cut left on its target
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "profile", "fill_volume", "erase", "purge", "max_write", "out", "keep"])]
    pub(crate) discard: Option<PathBuf>,
    /// Leave the test files in place at the end
    #[arg(long)]
    pub(crate) keep: bool,
    /// Measure up to this many times, each a run of its own, until all runs together decide; the last one's report and
    /// exit code are those of all. --max-write then bounds all runs together
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000),
          conflicts_with_all = ["resume", "discard"])]
    pub(crate) repeat: u32,
    /// End the run after this time at the latest, such as 30min, finished or not
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub(crate) max_time: Option<Nanos>,
    /// Run this by the shell first, to switch what is under test; the run fails if it does. Given twice, the first
    /// switches to the state to compare with and the second to the one that is judged, measured in the order A-B-B-A
    #[arg(long, value_name = "CMD", conflicts_with_all = ["resume", "discard"])]
    pub(crate) before_run: Vec<String>,
    /// At the end, leave the drive as it is, or tell it which space is unused
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = AfterRun::Leave)]
    pub(crate) after: AfterRun,
    /// Print every record of the journal as it is written
    #[arg(long, short)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) judged: Judged,
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Args, Debug)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) what: What,
    /// Folder of the baselines, to say what loss the gate could see
    #[arg(long, value_name = "DIR", default_value = "baselines")]
    pub(crate) baselines: PathBuf,
    /// Runs that the gate would have at the most
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Args, Debug)]
pub(crate) struct DevicesArguments {
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AfterRun {
    /// Remove the test files, no more
    Leave,
    /// Remove them and discard what is unused (fstrim; needs root)
    Purge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrivePurge {
    /// NVMe Format NVM with erasure of user data
    Format,
    /// NVMe Sanitize: block erase where the drive has it, else crypto erase, else overwrite
    Sanitize,
}

impl From<DrivePurge> for NamedPurge {
    fn from(purge: DrivePurge) -> NamedPurge {
        match purge {
            DrivePurge::Format => NamedPurge::Format,
            DrivePurge::Sanitize => NamedPurge::Sanitize,
        }
    }
}

impl Arguments {
    /// The options of whichever command was given.
    pub(crate) fn options(&self) -> Options {
        match &self.command {
            None => self.run.options,
            Some(Command::Run(arguments)) => arguments.options,
            Some(Command::Plan(arguments)) => arguments.options,
            Some(Command::Judge(arguments)) => arguments.options,
            Some(Command::Baseline(arguments)) => arguments.command.options(),
            Some(Command::Analyze(arguments)) => arguments.options,
            Some(Command::Github(arguments)) => arguments.run.options,
            Some(Command::Compare(_) | Command::Export(_) | Command::Completions(_) | Command::Man(_)) => {
                Options { format: Format::Text, quiet: false }
            }
            Some(Command::Devices(arguments)) => arguments.options,
            Some(Command::SelfTest(arguments)) => arguments.options,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_words_are_consistent() {
        Arguments::command().debug_assert();
    }
}
