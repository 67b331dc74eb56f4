//! `fuzz`: many mutants of logs through the importers, in an optimised build.
//!
//! The mutants and what must hold are `tests/tests/mutants.rs`; this says how many.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

/// Runs so many cases, the first one of this seed where one is given.
pub(crate) fn fuzz(cases: u64, seed: Option<u64>) -> Result<()> {
    let shell = Shell::new()?;
    let cases = cases.to_string();
    let mut run = cmd!(shell, "cargo test --release --locked --quiet --package storage-check-tests --test mutants")
        .env("STORAGE_CHECK_CASES", cases);
    if let Some(seed) = seed {
        run = run.env("STORAGE_CHECK_SEED", seed.to_string());
    }
    run.run().context("a mutant was not read as it must be: its seed stands above")
}
