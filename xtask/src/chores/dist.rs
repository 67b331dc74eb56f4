//! `dist`: the program as one static binary, for hosts without a toolchain.
#![expect(clippy::print_stdout, reason = "a chore's output is its result")]

use std::fs;

use anyhow::{Context, Result};
use harness::units::Bytes;
use storage_check_tests::dist;
use xshell::{Shell, cmd};

/// Builds it, makes sure that it runs, and says where it is and how large.
pub(crate) fn dist() -> Result<()> {
    let binary = dist::build()?;
    let shell = Shell::new()?;
    let version = cmd!(shell, "{binary} --version").quiet().read().context("running the static program")?;
    let size = Bytes(fs::metadata(&binary)?.len());
    println!("{}\n{version}, static, {size}", binary.display());
    Ok(())
}
