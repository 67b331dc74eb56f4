//! `baseline check` and `baseline qualify`: baselines looked after, and equal runs set against each other.

use std::fmt::Write as _;

use harness::session::check::{Checked, check as checked};
use harness::session::judging::Judging;
use harness::session::series::Series;
use harness::session::stored::Reason;
use harness::session::{Request, RequestError};
use harness::verdict::accept::Earlier;

use crate::arguments::{CheckArguments, Format, QualifyArguments};
use crate::baseline::{accept_runs, who};
use crate::console::Console;
use crate::exit::Exit;
use crate::judge::failed;
use crate::run::{make, request};
use crate::signals;

/// A baseline that cannot be used is a bad file; remarks are none.
pub(crate) fn check(arguments: &CheckArguments, console: &Console) -> Exit {
    let all = match checked(&arguments.baselines, &arguments.out) {
        Ok(all) => all,
        Err(why) => return failed(&why.into(), console),
    };
    console.result(&match console.format {
        Format::Text => text(&all),
        Format::Json => {
            let each = all.iter().map(|checked| {
                serde_json::json!({ "path": checked.path, "broken": checked.broken, "remarks": checked.remarks })
            });
            serde_json::Value::Array(each.collect()).to_string()
        }
    });
    if all.iter().all(|checked| checked.broken.is_empty()) { Exit::Held } else { Exit::Usage }
}

fn text(all: &[Checked]) -> String {
    let mut out = String::new();
    for Checked { path, broken, remarks } in all {
        let word = if broken.is_empty() { "fit" } else { "NOT USABLE" };
        let _ = writeln!(out, "{}: {word}", path.display());
        for line in broken.iter().chain(remarks) {
            let _ = writeln!(out, "  {line}");
        }
    }
    if all.is_empty() {
        out.push_str("there is no baseline");
    }
    out.trim_end().to_owned()
}

pub(crate) fn qualify(arguments: &QualifyArguments, console: &mut Console) -> Exit {
    let judging = Judging { baselines: arguments.baselines.clone(), ..Judging::default() };
    let mut runs = arguments.runs.clone();
    if runs.is_empty() {
        let made = request(&arguments.what).and_then(|request| {
            let request = Request { out: arguments.out.clone(), judging: judging.clone(), ..request };
            let series = Series::new(request, arguments.repeat, Vec::new()).to_the_end();
            let failed = |why| RequestError::Run(format!("installing the signal handlers failed: {why}"));
            Ok(make(series, false, console, &signals::stop_flag().map_err(failed)?))
        });
        runs = match made {
            Ok(made) if made.folders.len() == arguments.repeat as usize && made.exit != Exit::RunFailed => made.folders,
            Ok(made) => return Exit::gravest([made.exit, Exit::Inconclusive]),
            Err(why) => return failed(&why, console),
        };
    }
    let (why, earlier) = (arguments.reason.clone(), Earlier::ByState);
    let reason = Reason { who: who(), why, earlier, new_golden: false, qualify: true };
    accept_runs(&runs, &judging, reason, console)
}
