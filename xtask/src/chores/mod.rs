//! The project's chores, each in a file of its own; `storage-check` is among them so that one help names all.
//!
//! Owns their list and knows nothing of what they do.

mod bench;
mod ci;
mod dist;
mod fuzz;
mod score;
mod sim;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// The tasks of this workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
enum Chore {
    /// Measure a drive and judge it: the product, with a help of its own (storage-check --help)
    #[command(disable_help_flag = true)]
    StorageCheck {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<OsString>,
    },
    /// Check everything that must hold before a change lands
    Ci(ci::Arguments),
    /// Compare our engines with fio on this machine, in alternating pairs
    Bench {
        /// Only the one of this name
        only: Option<String>,
    },
    /// Build the program as one static binary, for hosts without a toolchain
    Dist,
    /// Feed mutants of logs to the importers
    Fuzz {
        /// How many
        #[arg(default_value_t = 1_000_000)]
        cases: u64,
        /// The first one's seed, to repeat a failure
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Score the analysis on real series with known truths
    Score {
        /// Folder with a truth.toml and its series [default: ../shared/corpus]
        corpus: Option<PathBuf>,
        /// Score it on so many simulated drives of each sort instead
        #[arg(long, value_name = "DRIVES", num_args = 0..=1, default_missing_value = "2000", conflicts_with = "corpus")]
        simulated: Option<u64>,
    },
    /// Look for our own bugs: runs on simulated drives, profiles and faults that seeds draw; or serve such a drive
    Sim(sim::Arguments),
}

/// Runs the chore that the command line names.
///
/// # Errors
/// It could not do its work; what it found wrong is its exit code.
pub(crate) fn main() -> anyhow::Result<ExitCode> {
    match Chore::parse() {
        Chore::StorageCheck { arguments } => Ok(crate::product(arguments)),
        Chore::Ci(arguments) => ci::run(&arguments),
        Chore::Score { simulated: Some(drives), .. } => score::simulated(drives),
        Chore::Score { corpus, .. } => score::score(corpus.as_deref()).map(|()| ExitCode::SUCCESS),
        Chore::Dist => dist::dist().map(|()| ExitCode::SUCCESS),
        Chore::Fuzz { cases, seed } => fuzz::fuzz(cases, seed).map(|()| ExitCode::SUCCESS),
        Chore::Sim(arguments) => sim::run(&arguments),
        Chore::Bench { only } => bench::bench(only.as_deref()).map(|()| ExitCode::SUCCESS),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// What the product is given when this is typed after `cargo xtask`.
    fn check(typed: &str, expect: &[&str]) {
        let words = std::iter::once("cargo xtask").chain(typed.split_whitespace());
        let Ok(Chore::StorageCheck { arguments }) = Chore::try_parse_from(words) else {
            panic!("{typed} is not storage-check");
        };
        assert_eq!(arguments, expect, "{typed}");
    }

    #[test]
    fn the_words_are_consistent() {
        Chore::command().debug_assert();
    }

    #[test]
    fn the_product_gets_every_argument_as_typed() {
        check("storage-check", &[]);
        check("storage-check --help", &["--help"]);
        check("storage-check -h", &["-h"]);
        check("storage-check help", &["help"]);
        check("storage-check --version", &["--version"]);
        check("storage-check ci", &["ci"]);
        check("storage-check --target /mnt -q", &["--target", "/mnt", "-q"]);
        check("storage-check run --format=json", &["run", "--format=json"]);
        check("storage-check run -- --odd-name", &["run", "--", "--odd-name"]);
    }
}
