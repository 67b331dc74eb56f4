//! The chores of this workspace, and storage-check among them: its arguments in, its exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|chore| chore == "storage-check").is_some() {
        // A command line begins with the program's name.
        return storage_check::main(std::iter::once("storage-check".into()).chain(arguments));
    }
    println!("chores of this workspace: storage-check, hello");
    ExitCode::SUCCESS
}
