//! The program by itself, for hosts without a toolchain.

use std::process::ExitCode;

fn main() -> ExitCode {
    storage_check::main(std::env::args_os())
}
