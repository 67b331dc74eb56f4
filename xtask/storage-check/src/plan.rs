//! `plan`: what a run would write, erase and take; writes nothing.

use std::fmt::Write as _;

use harness::journal::record::Repeat;
use harness::plan::phase::{Plan, Work};
use harness::session::folder::drive_line;
use harness::session::judging::Judging;
use harness::session::{self, Preview, PreviewError};
use harness::target::guard::purge::foreseen;
use harness::units::{Bytes, Nanos, Rate};
use harness::verdict::foresee::Foreseen;

use crate::arguments::{Format, PlanArguments};
use crate::console::Console;
use crate::exit::Exit;
use crate::run::request;

/// Rates between which the drives of each sort lie under sequential load, in MB/s.
const DISK: (f64, f64) = (80.0, 250.0);
const FLASH: (f64, f64) = (200.0, 2_000.0);

pub(crate) fn plan(arguments: &PlanArguments, console: &mut Console) -> Exit {
    let preview = request(&arguments.what)
        .map(|request| {
            let judging = Judging { baselines: arguments.baselines.clone(), ..Judging::default() };
            session::Request { judging, repeat: Repeat { most: arguments.repeat, side: None }, ..request }
        })
        .map_err(PreviewError::from)
        .and_then(|request| session::preview(&request).map(|preview| (request, preview)));
    match preview {
        Ok((request, preview)) => {
            console.result(&match console.format {
                Format::Text => text(&request, &preview),
                Format::Json => json(&request, &preview),
            });
            if preview.refusal.is_some() { Exit::Refused } else { Exit::Held }
        }
        Err(why) => {
            console.error(&why.to_string());
            if matches!(why, PreviewError::Refused(_)) { Exit::Refused } else { Exit::Usage }
        }
    }
}

/// The least and the most time that drives of this sort take.
fn times(preview: &Preview) -> (Nanos, Nanos) {
    let rotational = preview.facts.drive.as_ref().and_then(|drive| drive.rotational).unwrap_or(false);
    // A virtual disk says "rotational" of anything.
    let (slow, fast) = if rotational { (DISK.0, FLASH.1) } else { FLASH };
    (preview.plan.time_at(Rate::from_mb_s(fast)), preview.plan.time_at(Rate::from_mb_s(slow)))
}

fn text(request: &session::Request, preview: &Preview) -> String {
    let Preview { plan, facts, refusal, .. } = preview;
    let mut out = String::new();
    let (least, most) = times(preview);
    let profile = &request.profile;
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<10}{value}");
    };
    line("profile", format!("{} (version {}, fingerprint {})", profile.name, profile.version, profile.fingerprint()));
    line("", profile.description.clone());
    line("target", format!("{} ({})", facts.path.display(), facts.filesystem().unwrap_or(facts.place.kind())));
    line("drive", drive_line(facts));
    line("space", format!("{} at once, of {} free", plan.space, facts.available()));
    line("writes", format!("{}{}", writes(plan), drive_writes(plan)));
    line("reads", plan.reads.to_string());
    line("time", format!("{least} to {most}, by the speed of the drive"));
    line("erases", erases(request, facts));
    if let Some(command) = &profile.reset {
        line("resets", format!("{command} (by the shell, before the first phase)"));
    }
    for skipped in &plan.skipped {
        line("left out", format!("{}: {}", skipped.what, skipped.reason));
    }
    for (name, value) in gate(preview, request.repeat.most) {
        line(name, value);
    }
    out.push('\n');
    for phase in &plan.phases {
        let rest = if phase.rest_ns.0 > 0 { format!("rest {}, then ", phase.rest_ns) } else { String::new() };
        let _ = writeln!(
            out,
            "  {:<28}{rest}{}",
            phase.id,
            work(&phase.work, phase.layout.bytes(), phase.layout.segments, facts.block().is_some())
        );
    }
    match refusal {
        Some(why) => {
            let _ = write!(out, "\nThis run would be refused. {why}");
        }
        None => out.push_str("\nNothing was written. `run` with the same arguments does it."),
    }
    out
}

/// What the gate could see, before anything is written.
fn gate(preview: &Preview, runs: u32) -> Vec<(&'static str, String)> {
    let several = |runs: usize| format!("{runs} run{}", if runs == 1 { "" } else { "s" });
    let against = match &preview.baseline {
        Some(path) => format!("by {} against {}", several(runs as usize), path.display()),
        None => format!("there is no baseline yet; by {} against one of 1 run", several(runs as usize)),
    };
    let sees = |foreseen: &Foreseen| {
        let hold = match foreseen.runs_to_hold {
            Some(runs) => format!("an equal drive is held after {}", several(runs)),
            None => format!("{} of the baseline are too few to hold an equal drive", several(foreseen.baseline_runs)),
        };
        let Foreseen { what, smallest_loss, tolerance, noise, .. } = foreseen;
        format!("{what}: a loss of {smallest_loss} would fail (tolerance {tolerance}); {hold}; {noise}")
    };
    let lines = preview.foreseen.iter().map(sees);
    let names = std::iter::once("gate").chain(std::iter::repeat(""));
    names.zip(std::iter::once(against).chain(lines)).collect()
}

/// What a phase does; a device has no files.
fn work(work: &Work, bytes: Bytes, segments: u32, device: bool) -> String {
    match work {
        Work::Fill => format!("write {bytes} in {segments} {}", if device { "parts" } else { "files" }),
        Work::Remove if device => "nothing: there are no files to remove".to_owned(),
        Work::Purge if device => "discard all of it".to_owned(),
        Work::Verify => format!("read {bytes} back and check it"),
        Work::Burst { bytes } => format!("overwrite {bytes}"),
        Work::Remove => "remove the files".to_owned(),
        Work::Purge => "remove the files and discard what is unused".to_owned(),
        Work::RandomWrite { least_ns, least_bytes, most_bytes, watched } => {
            let most = most_bytes.map(|most| format!(", at most {most}")).unwrap_or_default();
            let least = if least_bytes.0 > 0 { format!(" and {least_bytes}") } else { String::new() };
            let steady = if *watched { ", or until they are steady" } else { "" };
            format!("random writes for at least {least_ns}{least}{most}{steady}")
        }
    }
}

/// What is written at least, and at most where that is more.
pub(crate) fn writes(plan: &Plan) -> String {
    match plan.most_writes {
        Some(most) if most == plan.writes => most.to_string(),
        Some(most) => format!("{} to {most}", plan.writes),
        None => format!("{} or more: random writes last as long as the drive needs", plan.writes),
    }
}

fn drive_writes(plan: &Plan) -> String {
    plan.drive_writes().map_or_else(String::new, |times| format!(" ({times:.2} drive writes)"))
}

fn erases(request: &session::Request, facts: &harness::target::Facts) -> String {
    if facts.simulated().is_some() {
        return "nothing: the drive is simulated".to_owned();
    }
    if let Some(block) = facts.block() {
        let names: Vec<&str> = block.identity.iter().map(|identity| identity.name.as_str()).collect();
        let first = request.consent.purge.and_then(|purge| foreseen(block, purge));
        let first = first.map(|what| format!("; first the drive is told to {what}")).unwrap_or_default();
        return format!("ALL of {}, {} ({}){first}", facts.path.display(), block.size, names.join(", "));
    }
    format!("nothing: files are made in a folder of our own in {} and removed at the end", facts.path.display())
}

fn json(request: &session::Request, preview: &Preview) -> String {
    let Preview { plan, facts, refusal, .. } = preview;
    let (least, most) = times(preview);
    serde_json::json!({
        "schema": 1,
        "profile": { "name": request.profile.name, "version": request.profile.version,
            "fingerprint": request.profile.fingerprint() },
        "target": facts.path,
        "drive": drive_line(facts),
        "space_bytes": plan.space.0,
        "writes_bytes": plan.writes.0,
        "most_writes_bytes": plan.most_writes.map(|most| most.0),
        "reads_bytes": plan.reads.0,
        "drive_writes": plan.drive_writes(),
        "time_s": { "least": least.secs().round(), "most": most.secs().round() },
        "erases": erases(request, facts),
        "resets": request.profile.reset,
        "phases": plan.phases,
        "skipped": plan.skipped,
        "refusal": refusal,
        "baseline": preview.baseline,
        "gate": preview.foreseen.iter().map(|foreseen| serde_json::json!({
            "what": foreseen.what, "baseline_runs": foreseen.baseline_runs, "smallest_loss": foreseen.smallest,
            "runs_to_hold": foreseen.runs_to_hold, "noise": foreseen.noise,
        })).collect::<Vec<_>>(),
    })
    .to_string()
}
