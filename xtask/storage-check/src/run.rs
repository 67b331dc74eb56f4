//! `run`: measures, resumes, or removes what a cut run left, and prints what came of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use harness::plan::builtin;
use harness::plan::profile::Profile;
use harness::session::series::Series;
use harness::session::{self, After, Limits, Outcome, Request, RequestError, Target};
use harness::target::Consent;

use crate::arguments::{AfterRun, Format, RunArguments, What};
use crate::console::Console;
use crate::exit::Exit;
use crate::judge::{failed, judging};
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
    if let Some(run) = &arguments.resume {
        return resume(run, arguments, console, &stop);
    }
    match series(arguments) {
        Ok(series) => make(series, arguments.verbose, console, &stop).exit,
        Err(why) => failed(&why, console),
    }
}

/// Runs that were made one after another.
pub(crate) struct Made {
    /// Their folders.
    pub(crate) folders: Vec<PathBuf>,
    /// The last run's: its verdict is that of all runs together.
    pub(crate) exit: Exit,
}

/// Makes the runs of a series: a line for each, and all that is to be said after the last.
pub(crate) fn make(mut series: Series, verbose: bool, console: &mut Console, stop: &Arc<AtomicBool>) -> Made {
    let mut made = Made { folders: Vec::new(), exit: Exit::RunFailed };
    let mut last: Option<Outcome> = None;
    loop {
        let mut progress = Progress::new(console, verbose);
        let outcome = match session::run(&series.next_request(), &mut progress, stop) {
            Ok(outcome) => outcome,
            Err(RequestError::Budget(why)) if let Some(last) = &last => {
                console.remark(&format!("the write budget is spent: {why}"));
                made.exit = finish(last, console);
                return made;
            }
            Err(why) => return Made { exit: failed(&why, console), ..made },
        };
        let ended = series.take(&outcome);
        made.folders.push(outcome.folder.clone());
        let Some(ended) = ended else {
            let verdict = summary::verdict_line(&outcome.report, console);
            let (run, folder) = (made.folders.len(), outcome.folder.display());
            console.remark(&format!("run {run} of at most {}: {verdict}; reports in {folder}", series.runs()));
            last = Some(outcome);
            continue;
        };
        if series.runs() > 1 {
            console.remark(&ended.to_string());
        }
        made.exit = finish(&outcome, console);
        return made;
    }
}

fn resume(run: &Path, arguments: &RunArguments, console: &mut Console, stop: &Arc<AtomicBool>) -> Exit {
    let limits = Limits { after: after(arguments), max_time: arguments.max_time };
    let mut progress = Progress::new(console, arguments.verbose);
    let resumed = judging(&arguments.judged, None)
        .and_then(|judging| session::resume(run, limits, &judging, &mut progress, stop));
    match resumed {
        Ok(outcome) => finish(&outcome, console),
        Err(why) => failed(&why, console),
    }
}

fn after(arguments: &RunArguments) -> After {
    After { keep: arguments.keep, purge: arguments.after == AfterRun::Purge }
}

fn series(arguments: &RunArguments) -> Result<Series, RequestError> {
    let after = after(arguments);
    let request = Request {
        out: arguments.out.clone(),
        keep: after.keep,
        purge_after: after.purge,
        max_time: arguments.max_time,
        judging: judging(&arguments.judged, None)?,
        ..request(&arguments.what)?
    };
    if arguments.before_run.len() > 2 {
        let why = "--before-run is given more than twice: one switches before every run, two alternate";
        return Err(RequestError::Run(why.to_owned()));
    }
    Ok(Series::new(request, arguments.repeat, arguments.before_run.clone()))
}

/// What the arguments ask for.
pub(crate) fn request(what: &What) -> Result<Request, RequestError> {
    Ok(Request {
        consent: Consent {
            fill_volume: what.fill_volume.clone(),
            erase: what.erase.clone(),
            erase_contents: what.erase_contents,
            shared_storage: what.erase_shared,
            ..Consent::default()
        },
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
