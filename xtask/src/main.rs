//! `cargo xtask`: `storage-check` is the product, the rest are this project's chores.

mod bench;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("bench") {
        return bench::bench(std::env::args().nth(2).as_deref()).map_or_else(
            |e| {
                #[expect(clippy::print_stderr, reason = "chore")]
                {
                    eprintln!("{e:#}");
                }
                ExitCode::FAILURE
            },
            |()| ExitCode::SUCCESS,
        );
    }
    storage_check::main(std::env::args_os().skip(1))
}
