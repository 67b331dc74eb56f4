//! `self-test`: proves on drives whose truth is known that the gate passes what is equal and fails what is worse.

use comfy_table::{CellAlignment, Table, presets};
use harness::session::self_test::{Proven, prove};
use harness::verdict::self_test::{Line, Tally, table};

use crate::arguments::{Format, SelfTestArguments};
use crate::console::Console;
use crate::exit::Exit;

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
    let broken: Vec<&String> = proven.iter().flat_map(|proven| &proven.broken).collect();
    console.result(&match console.format {
        Format::Text => text(&proven, &broken, arguments.draws),
        Format::Json => serde_json::json!({
            "draws": arguments.draws,
            "broken": broken,
            "claims": proven.iter().map(claim_json).collect::<Vec<_>>(),
        })
        .to_string(),
    });
    if broken.is_empty() { Exit::Held } else { Exit::RunFailed }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

fn text(proven: &[Proven], broken: &[&String], draws: u64) -> String {
    let mut table = Table::new();
    let heads = ["drives", "false alarms", "missed", "undecided", "runs used", ""];
    table.load_style(presets::NOTHING).set_header(heads);
    for Proven { claim, tally, broken } in proven {
        // Of equal drives a failure is false; of others it is what was wanted, and being held is a miss.
        let (alarms, missed) = match claim.equal() {
            true => (percent(tally.share(tally.failed)), String::new()),
            false => (String::new(), percent(tally.share(tally.held))),
        };
        let (undecided, runs) = (percent(tally.share(tally.undecided)), format!("{:.2}", tally.mean_runs()));
        let verdict = if broken.is_empty() { "ok" } else { "BROKEN" };
        table.add_row([claim.world.name.clone(), alarms, missed, undecided, runs, verdict.to_owned()]);
    }
    for figures in 1..5 {
        if let Some(column) = table.column_mut(figures) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let table = table.to_string();
    let mut out = table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    out += &match broken {
        [] => format!("\n\nthe gate keeps its {} claims, each on {draws} pairs of drives", proven.len()),
        broken => broken.iter().fold("\n".to_owned(), |out, line| format!("{out}\nbroken: {line}")),
    };
    out
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
