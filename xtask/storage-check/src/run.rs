//! `run`: measures, resumes, or removes what a cut run left, and prints what came of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use harness::plan::builtin;
use harness::plan::profile::Profile;
use harness::report::Report;
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
    match &arguments.discard {
        Some(run) => discard(run, console),
        None => measure(arguments, console).exit,
    }
}

/// Measures or resumes.
pub(crate) fn measure(arguments: &RunArguments, console: &mut Console) -> Made {
    let stop = match signals::stop_flag() {
        Ok(stop) => stop,
        Err(why) => {
            let why = format!("installing the signal handlers failed: {why}");
            console.error(&why);
            return Made { why: Some(why), ..Made::default() };
        }
    };
    if let Some(run) = &arguments.resume {
        return resume(run, arguments, console, &stop);
    }
    match series(arguments) {
        Ok(series) => make(series, arguments.verbose, console, &stop),
        Err(why) => Made::default().but(&why, console),
    }
}

/// Runs that were made one after another.
pub(crate) struct Made {
    /// Their folders.
    pub(crate) folders: Vec<PathBuf>,
    /// The last run's: its verdict is that of all runs together.
    pub(crate) exit: Exit,
    /// The report of the last run.
    pub(crate) report: Option<Report>,
    /// Why there is no further run, where one should have been.
    pub(crate) why: Option<String>,
}

impl Default for Made {
    fn default() -> Made {
        Made { folders: Vec::new(), exit: Exit::RunFailed, report: None, why: None }
    }
}

impl Made {
    fn but(self, why: &RequestError, console: &Console) -> Made {
        Made { exit: failed(why, console), why: Some(why.to_string()), ..self }
    }

    /// Prints what a run came to.
    fn take(&mut self, last: Outcome, console: &Console) {
        self.exit = finish(&last, console);
        self.report = Some(last.report);
    }
}

/// Makes the runs of a series: a line for each, and all that is to be said after the last.
pub(crate) fn make(mut series: Series, verbose: bool, console: &mut Console, stop: &Arc<AtomicBool>) -> Made {
    let mut made = Made::default();
    let mut last: Option<Outcome> = None;
    loop {
        let mut progress = Progress::new(console, verbose);
        let result = session::run(&series.next_request(), &mut progress, stop);
        let outcome = match (result, last.take()) {
            (Ok(outcome), _) => outcome,
            (Err(RequestError::Budget(why)), Some(last)) => {
                console.remark(&format!("the write budget is spent: {why}"));
                made.take(last, console);
                return made;
            }
            (Err(why), _) => return made.but(&why, console),
        };
        let ended = series.take(&outcome);
        made.folders.push(outcome.folder.clone());
        if let Some(ended) = ended {
            if series.runs() > 1 {
                console.remark(&ended.to_string());
            }
            made.take(outcome, console);
            return made;
        }
        let verdict = summary::verdict_line(&outcome.report, console);
        let (run, folder) = (made.folders.len(), outcome.folder.display());
        console.remark(&format!("run {run} of at most {}: {verdict}; reports in {folder}", series.runs()));
        last = Some(outcome);
    }
}

fn resume(run: &Path, arguments: &RunArguments, console: &mut Console, stop: &Arc<AtomicBool>) -> Made {
    let limits = Limits { after: after(arguments), max_time: arguments.max_time };
    let mut progress = Progress::new(console, arguments.verbose);
    let resumed = judging(&arguments.judged, None)
        .and_then(|judging| session::resume(run, limits, &judging, &mut progress, stop));
    let mut made = Made::default();
    match resumed {
        Ok(outcome) => {
            made.folders.push(outcome.folder.clone());
            made.take(outcome, console);
            made
        }
        Err(why) => made.but(&why, console),
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
            purge: what.purge.map(Into::into),
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

fn discard(run: &Path, console: &mut Console) -> Exit {
    let mut progress = Progress::new(console, false);
    // A signal ends this at once: nothing that was begun is left half done by it.
    let discarded = session::discard(run, &mut progress, &AtomicBool::new(false));
    match discarded {
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
        RequestError::Folder(FolderError::Render { .. }) | RequestError::Interrupted(_) => Exit::RunFailed,
        _ => Exit::Usage,
    }
}
