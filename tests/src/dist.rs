//! The program as one static binary: what `cargo xtask dist` gives, and what virtual machines run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::folder;

/// Builds it, optimised; cargo does nothing where nothing changed.
///
/// With a target named, cargo keeps the flags from build scripts and macros, which cannot be static.
///
/// # Errors
/// It does not build, or is not static.
pub fn build() -> Result<PathBuf> {
    let shell = Shell::new()?;
    shell.change_dir(folder::workspace());
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    cmd!(shell, "{cargo} build --release --locked --quiet --package storage-check --target {target}")
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .quiet()
        .run()
        .context("building the static program: it needs the C library's static part (Debian: libc6-dev)")?;
    let binary = folder::target_dir().join(target).join("release/storage-check");
    ensure!(!asks_for_a_loader(&binary)?, "{} is not static: it asks for a loader", binary.display());
    Ok(binary)
}

/// Whether a 64-bit program has a segment of the type `PT_INTERP` (elf(5)): the path of the loader that it needs.
fn asks_for_a_loader(program: &Path) -> Result<bool> {
    const PT_INTERP: u64 = 3;
    let bytes = fs::read(program).with_context(|| format!("reading {}", program.display()))?;
    let number = |at: usize, len: usize| {
        let field = bytes.get(at..at + len).context("the program is cut")?;
        anyhow::Ok(field.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let (table, size, count) = (number(32, 8)? as usize, number(54, 2)? as usize, number(56, 2)? as usize);
    let kinds = (0..count).map(|n| number(table + n * size, 4)).collect::<Result<Vec<u64>>>()?;
    Ok(kinds.contains(&PT_INTERP))
}
