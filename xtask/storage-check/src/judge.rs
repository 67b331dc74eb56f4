//! `judge`: stored runs under today's baselines and rules; and what the user asks of any verdict.

use harness::session::judging::Judging;
use harness::session::{RequestError, stored};
use harness::verdict::surroundings::UnderTest;

use crate::arguments::{Format, Inconclusive, JudgeArguments, Judged};
use crate::console::Console;
use crate::exit::Exit;
use crate::run::{exit_of, profile};
use crate::summary;

pub(crate) fn judge(arguments: &JudgeArguments, console: &Console) -> Exit {
    let judging = match judging(&arguments.judged, arguments.profile.as_deref()) {
        Ok(judging) => judging,
        Err(why) => return failed(&why, console),
    };
    let mut reports = Vec::new();
    let mut together: Vec<String> = Vec::new();
    let exits: Vec<(String, Exit)> = arguments
        .runs
        .iter()
        .map(|run| match stored::judge(run, &judging, arguments.out.as_deref()) {
            Ok(outcome) => {
                let folder = arguments.out.is_some().then_some(outcome.folder.as_path());
                match console.format {
                    Format::Json => reports.push(harness::report::json::render(&outcome.report).trim_end().to_owned()),
                    Format::Text if console.quiet => {
                        console.result(&summary::verdict_line(&outcome.report, console));
                    }
                    Format::Text => {
                        if arguments.runs.len() > 1 {
                            console.result(&format!("run {}", outcome.report.run));
                        }
                        console.result(&summary::render(&outcome.report, folder, console));
                    }
                }
                let report = &outcome.report;
                together.extend(report.runs.iter().filter(|run| **run != report.run).cloned());
                (report.run.clone(), Exit::of(report.exit_code))
            }
            Err(why) => (String::new(), failed(&why, console)),
        })
        .collect();
    if console.format == Format::Json {
        // One report as `run` prints it, several as a list.
        let text = reports.join(",\n");
        console.result(&if arguments.runs.len() == 1 { text } else { format!("[{text}]") });
    }
    // A run that a later one is judged together with has had its say there, unless it failed.
    let counts = |(run, exit): &(String, Exit)| !together.contains(run) || *exit == Exit::RunFailed;
    Exit::gravest(exits.into_iter().filter(counts).map(|(_, exit)| exit))
}

/// What the arguments ask of a verdict; `rules` names a profile.
pub(crate) fn judging(arguments: &Judged, rules: Option<&str>) -> Result<Judging, RequestError> {
    let ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    Ok(Judging {
        baselines: arguments.baselines.clone(),
        under_test: UnderTest::parse(&arguments.under_test)
            .map_err(|why| RequestError::Run(format!("--under-test: {why}")))?,
        require_baseline: arguments.require_baseline.unwrap_or(ci),
        inconclusive_warns: arguments.inconclusive == Inconclusive::Warn,
        rules: rules.map(profile).transpose()?,
    })
}

pub(crate) fn failed(why: &RequestError, console: &Console) -> Exit {
    console.error(&why.to_string());
    exit_of(why)
}
