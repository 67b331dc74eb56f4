//! `self-test`: proves on drives whose truth is known that the gate passes what is equal and fails what is worse.

use comfy_table::{CellAlignment, Table, presets};
use harness::session::RequestError;
use harness::session::self_test::{Played, Proven, play, prove};
use harness::verdict::self_test::{Line, Tally, table};

use crate::arguments::{Format, SelfTestArguments};
use crate::console::Console;
use crate::exit::Exit;
use crate::judge::failed;

pub(crate) fn self_test(arguments: &SelfTestArguments, console: &Console) -> Exit {
    if arguments.table {
        let lines = table(arguments.draws);
        console.result(&match console.format {
            Format::Text => markdown(&lines, arguments.draws),
            Format::Json => serde_json::Value::Array(lines.iter().map(line_json).collect()).to_string(),
        });
        return Exit::Held;
    }
    let proven = prove(arguments.draws);
    let played = match played() {
        Ok(played) => played,
        Err(why) => return failed(&why, console),
    };
    let mut broken: Vec<String> = proven.iter().flat_map(|proven| proven.broken.clone()).collect();
    broken.extend(played.iter().filter(|played| played.is_broken()).map(|played| {
        format!("whole runs, {}: {} of {} failed", played.what, played.tally.failed, played.tally.draws)
    }));
    console.result(&match console.format {
        Format::Text => text(&proven, &played, &broken, arguments.draws),
        Format::Json => serde_json::json!({
            "draws": arguments.draws,
            "broken": broken,
            "claims": proven.iter().map(claim_json).collect::<Vec<_>>(),
            "whole_runs": played.iter().map(played_json).collect::<Vec<_>>(),
        })
        .to_string(),
    });
    if broken.is_empty() { Exit::Held } else { Exit::RunFailed }
}

/// Pairs of simulated drives on which whole runs are made.
const DRIVES: u64 = 5;

/// Whole runs on simulated drives, in a folder of their own that goes afterwards.
fn played() -> Result<Vec<Played>, RequestError> {
    let failed = |why: std::io::Error| RequestError::Run(format!("a folder for the runs of the self-test: {why}"));
    let folder = tempfile::Builder::new().prefix("storage-check-self-test-").tempdir().map_err(failed)?;
    play(folder.path(), DRIVES)
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

fn text(proven: &[Proven], played: &[Played], broken: &[String], draws: u64) -> String {
    let mut table = Table::new();
    let heads = ["drives", "false alarms", "missed", "undecided", "runs used", ""];
    table.load_style(presets::NOTHING).set_header(heads);
    for Proven { claim, tally, broken } in proven {
        table.add_row(row(&claim.world.name, claim.equal(), tally, broken.is_empty()));
    }
    for played in played {
        let name = format!("simulated, whole runs: {}", played.what);
        table.add_row(row(&name, played.equal, &played.tally, !played.is_broken()));
    }
    for figures in 1..5 {
        if let Some(column) = table.column_mut(figures) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let table = table.to_string();
    let mut out = table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    out += &match broken {
        [] => format!(
            "\n\nthe gate keeps its {} claims on {draws} pairs of drives each, and judges whole runs on simulated drives \
             as they are",
            proven.len()
        ),
        broken => broken.iter().fold("\n".to_owned(), |out, line| format!("{out}\nbroken: {line}")),
    };
    out
}

fn row(name: &str, equal: bool, tally: &Tally, ok: bool) -> [String; 6] {
    // Of equal drives a failure is false; of others it is what was wanted, and being held is a miss.
    let (alarms, missed) = match equal {
        true => (percent(tally.share(tally.failed)), String::new()),
        false => (String::new(), percent(tally.share(tally.held))),
    };
    let (undecided, runs) = (percent(tally.share(tally.undecided)), format!("{:.2}", tally.mean_runs()));
    [name.to_owned(), alarms, missed, undecided, runs, if ok { "ok" } else { "BROKEN" }.to_owned()]
}

fn played_json(played: &Played) -> serde_json::Value {
    let Played { what, equal, tally } = played;
    serde_json::json!({
        "drives": what, "equal": equal, "pairs": tally.draws, "held": tally.held, "regressed": tally.failed,
        "undecided": tally.undecided, "runs": tally.mean_runs(), "broken": played.is_broken(),
    })
}

fn claim_json(proven: &Proven) -> serde_json::Value {
    let Proven { claim, tally, broken } = proven;
    serde_json::json!({
        "drives": claim.world.name, "equal": claim.equal(), "held": tally.share(tally.held),
        "regressed": tally.share(tally.failed), "undecided": tally.share(tally.undecided),
        "runs": tally.mean_runs(), "broken": broken,
    })
}

/// The table of the documents.
fn markdown(lines: &[Line], draws: u64) -> String {
    let mut out = format!(
        "Ten metrics, tolerance 5 %, five baseline runs; `{draws}` pairs of drives a figure. Worse: one metric lost 10 %.\n\n\
         | noise | rule | equal: failed | equal: held | worse: failed | worse: held | runs, equal |\n\
         |---|---|--:|--:|--:|--:|--:|\n"
    );
    for line in lines {
        let share = |tally: &Tally, count: u64| percent(tally.share(count));
        let tails = if line.heavy { ", heavy tails" } else { "" };
        out += &format!(
            "| {} %{tails} | {} | {} | {} | {} | {} | {:.2} |\n",
            line.cv * 100.0,
            line.rule,
            share(&line.equal, line.equal.failed),
            share(&line.equal, line.equal.held),
            share(&line.worse, line.worse.failed),
            share(&line.worse, line.worse.held),
            line.equal.mean_runs(),
        );
    }
    out.trim_end().to_owned()
}

fn line_json(line: &Line) -> serde_json::Value {
    let tally = |tally: &Tally| {
        serde_json::json!({
            "regressed": tally.share(tally.failed), "held": tally.share(tally.held),
            "undecided": tally.share(tally.undecided), "runs": tally.mean_runs(),
        })
    };
    serde_json::json!({
        "cv": line.cv, "heavy_tails": line.heavy, "rule": line.rule,
        "equal": tally(&line.equal), "worse": tally(&line.worse),
    })
}
