//! `github`: a run as a step of a GitHub workflow; what it writes for the runner besides the run folder.
//!
//! Knows the runner's environment variables, and nobody else here does.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::Write as _;
use std::path::PathBuf;

use harness::report::{Report, github, markdown};

use crate::arguments::RunArguments;
use crate::console::Console;
use crate::exit::Exit;
use crate::run::{Made, measure};

pub(crate) fn github(arguments: &RunArguments, console: &mut Console) -> Exit {
    if arguments.discard.is_some() {
        console.error("--discard measures nothing: use `run --discard RUN`");
        return Exit::Usage;
    }
    // What a drive calls itself must not be taken for a command: between these lines the runner takes none.
    let token = format!("storage-check-{:016x}", RandomState::new().build_hasher().finish());
    console.result(&format!("::stop-commands::{token}"));
    let made = measure(arguments, console);
    console.result(&format!("::{token}::"));
    // A report that is not the last word is none.
    let report = made.report.as_ref().filter(|_| made.why.is_none());
    let annotations = match report {
        Some(report) => github::annotations(report),
        None => github::no_report(made.why.as_deref().unwrap_or("there is no report")),
    };
    console.result(annotations.trim_end());
    let summary = match report {
        Some(report) => markdown::render(report),
        None => "# ‼ storage-check: error\n\nThere is no verdict: see the log of this step.\n".to_owned(),
    };
    let written =
        append("GITHUB_STEP_SUMMARY", &summary).and_then(|()| append("GITHUB_OUTPUT", &outputs(&made, report)));
    match written {
        Ok(()) => made.exit,
        Err(why) => {
            console.error(&why);
            Exit::gravest([made.exit, Exit::RunFailed])
        }
    }
}

fn outputs(made: &Made, report: Option<&Report>) -> String {
    let run = made.folders.last().map(|folder| folder.display().to_string()).unwrap_or_default();
    let file = |name: &str| if run.is_empty() { String::new() } else { format!("{run}/{name}") };
    let exit = (made.exit as u8).to_string();
    github::outputs(&[
        ("verdict", report.map_or("error", |report| report.verdict.word())),
        ("exit-code", &exit),
        ("run", &run),
        ("report", &file("report.md")),
        ("junit", &file("junit.xml")),
    ])
}

/// Appends to the file that a variable names; without the variable there is nobody to write for.
fn append(variable: &str, text: &str) -> Result<(), String> {
    let Some(path) = std::env::var_os(variable).filter(|path: &OsString| !path.is_empty()).map(PathBuf::from) else {
        return Ok(());
    };
    let write = || OpenOptions::new().create(true).append(true).open(&path)?.write_all(text.as_bytes());
    write().map_err(|why: std::io::Error| format!("writing {} ({variable}) failed: {why}", path.display()))
}
