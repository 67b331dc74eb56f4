//! `run`: measures, resumes, or removes what a cut run left, and prints what came of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use harness::plan::builtin;
use harness::plan::profile::Profile;
use harness::session::{self, After, Limits, Outcome, Request, RequestError, Target};
use harness::target::Consent;

use crate::arguments::{AfterRun, Format, RunArguments, What};
use crate::console::Console;
use crate::exit::Exit;
use crate::judge::judging;
use crate::progress::Progress;
use crate::{signals, summary};

pub(crate) fn run(arguments: &RunArguments, console: &mut Console) -> Exit {
    if let Some(run) = &arguments.discard {
        return discard(run, console);
    }
    let stop = match signals::stop_flag() {
        Ok(stop) => stop,
        Err(why) => {
            console.error(&format!("installing the signal handlers failed: {why}"));
            return Exit::RunFailed;
        }
    };
    let (mut exits, mut earlier) = (Vec::new(), Vec::new());
    for _ in 0..arguments.repeat {
        let exit = match measure(arguments, earlier.clone(), console, &stop) {
            Ok(outcome) => {
                earlier.push(outcome.report.run.clone());
                finish(&outcome, console)
            }
            Err(why) => {
                console.error(&why.to_string());
                exit_of(&why)
            }
        };
        exits.push(exit);
        // What cannot be measured now is not tried again.
        if matches!(exit, Exit::Usage | Exit::Refused | Exit::RunFailed) {
            break;
        }
    }
    Exit::gravest(exits)
}

fn measure(
    arguments: &RunArguments,
    earlier: Vec<String>,
    console: &mut Console,
    stop: &Arc<AtomicBool>,
) -> Result<Outcome, RequestError> {
    let after = After { keep: arguments.keep, purge: arguments.after == AfterRun::Purge };
    let mut progress = Progress::new(console, arguments.verbose);
    if let Some(run) = &arguments.resume {
        let limits = Limits { after, max_time: arguments.max_time };
        return session::resume(run, limits, &judging(&arguments.judged, None)?, &mut progress, stop);
    }
    let request = Request {
        out: arguments.out.clone(),
        keep: after.keep,
        purge_after: after.purge,
        max_time: arguments.max_time,
        before_run: arguments.before_run.clone(),
        judging: judging(&arguments.judged, None)?,
        earlier,
        ..request(&arguments.what)?
    };
    session::run(&request, &mut progress, stop)
}

/// What the arguments ask for.
pub(crate) fn request(what: &What) -> Result<Request, RequestError> {
    Ok(Request {
        consent: Consent { fill_volume: what.fill_volume.clone() },
        max_write: what.max_write,
        ..Request::new(Target::parse(&what.target)?, profile(&what.profile)?, PathBuf::from("storage-check-runs"))
    })
}

/// A file where one is named, else a built-in profile.
pub(crate) fn profile(name: &str) -> Result<Profile, RequestError> {
    let path = Path::new(name);
    let is_file = name.contains('/') || path.extension().is_some_and(|extension| extension == "toml");
    if !is_file && builtin::text(name).is_some() {
        return Ok(builtin::profile(name)?);
    }
    if !is_file && !path.exists() {
        return Ok(builtin::profile(name)?);
    }
    let text = std::fs::read_to_string(path)
        .map_err(|why| RequestError::Run(format!("reading the profile {name} failed: {why}")))?;
    Profile::parse(&text).map_err(|why| RequestError::Run(format!("profile {name}: {why}")))
}

fn discard(run: &Path, console: &Console) -> Exit {
    match session::discard(run) {
        Ok((run, freed)) => {
            console.result(&match console.format {
                Format::Text => format!("removed the files of run {run}: {freed} freed"),
                Format::Json => serde_json::json!({ "run": run, "freed_bytes": freed.0 }).to_string(),
            });
            Exit::Held
        }
        Err(why) => {
            console.error(&why.to_string());
            exit_of(&why)
        }
    }
}

fn finish(outcome: &Outcome, console: &Console) -> Exit {
    match console.format {
        Format::Json => console.result(harness::report::json::render(&outcome.report).trim_end()),
        Format::Text if console.quiet => console.result(&summary::verdict_line(&outcome.report, console)),
        Format::Text => console.result(&summary::render(&outcome.report, Some(&outcome.folder), console)),
    }
    Exit::of(outcome.report.exit_code)
}

/// Usage errors are 2; a report or journal that could not be written is a failed run.
pub(crate) fn exit_of(why: &RequestError) -> Exit {
    use harness::session::baselines::BaselineFileError;
    use harness::session::folder::FolderError;
    match why {
        RequestError::Folder(FolderError::Io { operation, .. }) if *operation == "writing" => Exit::RunFailed,
        RequestError::Baseline(BaselineFileError::Io { operation, .. }) if *operation == "writing" => Exit::RunFailed,
        RequestError::Folder(FolderError::Render { .. }) => Exit::RunFailed,
        _ => Exit::Usage,
    }
}
