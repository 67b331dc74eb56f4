//! `baseline`: accepts runs, shows and lists what was accepted.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table, presets};
use harness::report::table::{number, number_below};
use harness::session::RequestError;
use harness::session::baselines::{self, BaselineFileError};
use harness::session::judging::Judging;
use harness::session::stored::{self, Acceptance, Reason};
use harness::verdict::accept::Earlier;
use harness::verdict::baseline::{Accepted, Baseline, Level};

use crate::arguments::{AcceptArguments, BaselineCommand, Format};
use crate::care;
use crate::console::Console;
use crate::diff::diff;
use crate::exit::Exit;
use crate::judge::failed;

pub(crate) fn baseline(command: &BaselineCommand, console: &mut Console) -> Exit {
    match command {
        BaselineCommand::Accept(arguments) => accept(arguments, console),
        BaselineCommand::Show(arguments) => {
            let files = match &arguments.file {
                Some(file) => Ok(vec![file.clone()]),
                None => baselines::files(&arguments.baselines),
            };
            each(files, &arguments.baselines, console, show)
        }
        BaselineCommand::List(arguments) => {
            each(baselines::files(&arguments.baselines), &arguments.baselines, console, line)
        }
        BaselineCommand::Check(arguments) => care::check(arguments, console),
        BaselineCommand::Qualify(arguments) => care::qualify(arguments, console),
    }
}

fn accept(arguments: &AcceptArguments, console: &Console) -> Exit {
    let earlier = match (arguments.add, arguments.replace) {
        (true, _) => Earlier::Keep,
        (_, true) => Earlier::Drop,
        _ => Earlier::ByState,
    };
    let judging = Judging { baselines: arguments.baselines.clone(), ..Judging::default() };
    let (why, new_golden) = (arguments.reason.clone(), arguments.new_golden);
    let reason = Reason { who: who(), why, earlier, new_golden, qualify: false };
    accept_runs(&arguments.runs, &judging, reason, console)
}

/// Accepts runs, and says what that changed.
pub(crate) fn accept_runs(runs: &[PathBuf], judging: &Judging, reason: Reason, console: &Console) -> Exit {
    match stored::accept_runs(runs, judging, reason) {
        Ok(accepted) => {
            console.result(&match console.format {
                Format::Text => accepted_text(&accepted),
                Format::Json => serde_json::json!({
                    "path": accepted.path, "changed": accepted.changed, "remarks": accepted.remarks,
                    "baseline": accepted.baseline,
                })
                .to_string(),
            });
            Exit::Held
        }
        Err(why) => failed(&why, console),
    }
}

fn accepted_text(accepted: &Acceptance) -> String {
    let mut out = String::new();
    let path = accepted.path.display();
    if accepted.changed {
        out.push_str(&diff(accepted.before.as_deref().unwrap_or_default(), &accepted.baseline.to_toml()));
        let _ = writeln!(out, "\nwrote {path}; commit it, so that others compare with the same state");
    } else {
        let _ = writeln!(out, "{path} is as it was");
    }
    for remark in &accepted.remarks {
        let _ = writeln!(out, "note: {remark}");
    }
    out.trim_end().to_owned()
}

/// The name of who is at the keyboard: what git knows, else the account's name.
pub(crate) fn who() -> String {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let git = || {
        let output = std::process::Command::new("git").args(["config", "user.name"]).output().ok()?;
        let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !name.is_empty()).then_some(name)
    };
    let name = text("GIT_AUTHOR_NAME").or_else(git).or_else(|| text("USER")).or_else(|| text("LOGNAME"));
    name.unwrap_or_else(|| "unknown".to_owned())
}

/// Prints every baseline; a damaged one does not keep the others from being shown, and has its own code.
fn each(
    files: Result<Vec<PathBuf>, BaselineFileError>,
    folder: &Path,
    console: &Console,
    text: fn(&Path, &Baseline) -> String,
) -> Exit {
    let files = match files {
        Ok(files) => files,
        Err(why) => return failed(&RequestError::from(why), console),
    };
    if files.is_empty() && console.format == Format::Text {
        console.result(&format!(
            "there is no baseline in {}: `baseline accept RUN --reason TEXT` makes one",
            folder.display()
        ));
    }
    let mut all = Vec::new();
    let mut exit = Exit::Held;
    for file in files {
        match baselines::read(&file) {
            Ok(Some(baseline)) => match console.format {
                Format::Text => console.result(&text(&file, &baseline)),
                Format::Json => all.push(serde_json::json!({ "path": file, "baseline": baseline })),
            },
            Ok(None) => {
                console.error(&format!("there is no baseline at {}", file.display()));
                exit = Exit::Usage;
            }
            Err(why) => exit = failed(&RequestError::from(why), console),
        }
    }
    if console.format == Format::Json {
        console.result(&serde_json::Value::Array(all).to_string());
    }
    exit
}

fn line(file: &Path, baseline: &Baseline) -> String {
    let last = baseline.accepted.last();
    let accepted = last.map(|last| format!("accepted {} by {}: {}", last.when, last.who, last.why)).unwrap_or_default();
    let runs = baseline.provenance.run.len();
    format!(
        "{}  {} metrics of {runs} run{}, {accepted}",
        file.display(),
        baseline.metric.len(),
        if runs == 1 { "" } else { "s" }
    )
}

fn show(file: &Path, baseline: &Baseline) -> String {
    let mut out = String::new();
    let key = &baseline.key;
    let _ = writeln!(out, "{}", file.display());
    let _ = writeln!(out, "drive      {}, {} bytes, as {}", key.drive, key.capacity_bytes, key.target_kind);
    let _ = writeln!(out, "profile    {}, fingerprint {}", key.profile, baseline.fingerprint);
    for accepted in &baseline.accepted {
        let runs = accepted.runs.join(", ");
        let _ = writeln!(out, "accepted   {} by {}: {} ({runs})", accepted.when, accepted.who, accepted.why);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["metric", "baseline", "runs", "golden", ""]);
    for (id, accepted) in &baseline.metric {
        let golden =
            baseline.golden.of(id, accepted.kind).map(|(level, _)| figure(level, &accepted.unit)).unwrap_or_default();
        table.add_row([id.clone(), level(accepted), accepted.runs().to_string(), golden, remark(accepted)]);
    }
    for figures in 1..4 {
        if let Some(column) = table.column_mut(figures) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let table = table.to_string();
    let _ = write!(out, "\n{}", table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"));
    out
}

fn level(accepted: &Accepted) -> String {
    match accepted.level() {
        Some(level) => figure(level, &accepted.unit),
        None => accepted.absent.clone().unwrap_or_default(),
    }
}

fn figure(level: Level, unit: &str) -> String {
    let text = match level {
        Level::Number(value) => number(value),
        Level::MoreThan(value) => format!("more than {}", number_below(value)),
    };
    format!("{text} {unit}").trim_end().to_owned()
}

fn remark(accepted: &Accepted) -> String {
    let tolerance = accepted.tolerance.map(|tolerance| format!("tolerance {tolerance}"));
    let floor = accepted.noise_floor.map(|floor| format!("noise floor {floor}"));
    let disagree = accepted.disagree().map(|(with, without)| format!("{with} with a cliff and {without} without"));
    [tolerance, floor, disagree].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
