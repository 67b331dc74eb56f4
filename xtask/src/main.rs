//! `cargo xtask`: `storage-check` is the product, all else are this project's chores.
//!
//! Who measures a drive does not wait for the chores to be built: the alias in `.cargo/config.toml` leaves their
//! feature out, and the first chore that is asked for builds it.

#[cfg(feature = "chores")]
mod chores;

use std::ffi::OsString;
use std::process::ExitCode;

#[cfg(feature = "chores")]
fn main() -> anyhow::Result<ExitCode> {
    chores::main()
}

#[cfg(not(feature = "chores"))]
fn main() -> std::io::Result<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(word) if word == "storage-check" => Ok(product(words.collect())),
        word => Err(with_chores(word.into_iter().chain(words))),
    }
}

/// The command line of the product, as if these words were typed after its name.
fn product(words: Vec<OsString>) -> ExitCode {
    storage_check::main(std::iter::once("storage-check".into()).chain(words))
}

/// Becomes a `cargo run` of the same words that has the chores; gives the reason where it cannot.
#[cfg(not(feature = "chores"))]
fn with_chores(words: impl Iterator<Item = OsString>) -> std::io::Error {
    use std::os::unix::process::CommandExt;

    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(&cargo);
    command.args(["run", "--release", "--locked", "--package", "xtask", "--features", "chores", "--manifest-path"]);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).arg("--").args(words);
    let why = command.exec();
    std::io::Error::new(why.kind(), format!("building the chores: starting {}: {why}", cargo.display()))
}
