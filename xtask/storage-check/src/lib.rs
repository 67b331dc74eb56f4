//! The command line of storage-check: arguments in, exit code out.
//!
//! The only place that prints. Everything that measures or judges is in the library; this one renders.

mod analyze;
mod arguments;
mod baseline;
mod care;
mod compare;
mod console;
mod devices;
mod diff;
mod exit;
mod export;
mod github;
mod judge;
mod manual;
mod plan;
mod progress;
mod run;
mod self_test;
mod signals;
mod summary;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use console::Console;
pub use exit::Exit;

/// The whole program: `arguments` begin with the program's name.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    quiet_panics();
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error).into(),
    };
    let mut console = Console::new(arguments.options().quiet, arguments.options().format);
    let run = || match &arguments.command {
        None => run::run(&arguments.run, &mut console),
        Some(Command::Run(arguments)) => run::run(arguments, &mut console),
        Some(Command::Plan(arguments)) => plan::plan(arguments, &mut console),
        Some(Command::Judge(arguments)) => judge::judge(arguments, &console),
        Some(Command::Analyze(arguments)) => analyze::analyze(arguments, &console),
        Some(Command::Compare(arguments)) => compare::compare(arguments, &console),
        Some(Command::Baseline(arguments)) => baseline::baseline(&arguments.command, &mut console),
        Some(Command::Devices(arguments)) => devices::devices(arguments, &console),
        Some(Command::SelfTest(arguments)) => self_test::self_test(arguments, &console),
        Some(Command::Export(arguments)) => export::export(arguments, &console),
        Some(Command::Github(arguments)) => github::github(&arguments.run, &mut console),
        Some(Command::Completions(arguments)) => manual::completions(arguments.shell, &console),
        Some(Command::Man(arguments)) => manual::pages(&arguments.folder, &console),
    };
    // A panic is a defect, never a verdict: it has a code of its own.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(Exit::RunFailed).into()
}

/// Help and version go to stdout and are no error; a wrong argument is.
fn usage(error: &clap::Error) -> Exit {
    // A closed pipe is the reader's choice.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Held }
}

/// One line a panic, instead of a backtrace that only its authors can read.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
        let text = panic.payload().downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.payload().downcast_ref::<String>().cloned()).unwrap_or_default();
        console::complain(&format!(
            "internal error{place}: {text}. This is a defect of storage-check; please report it."
        ));
    }));
}
