//! `cargo xtask`: `storage-check` is the product, the rest are this project's chores.

use std::process::ExitCode;

fn main() -> ExitCode {
    storage_check::main(std::env::args_os().skip(1))
}
