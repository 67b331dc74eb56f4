//! Composes the stages into whole runs: a new one, a resumed one, a plan that is only shown.
//!
//! The one place that knows all stages. Prints nothing: a caller watches through an [`Observer`] and gets
//! an [`Outcome`].

pub mod analyze;
mod arm;
pub mod baselines;
pub mod check;
mod command;
pub mod compare;
pub mod compose;
pub mod export;
pub mod folder;
mod gauge;
pub mod judging;
mod measure;
mod new;
mod placement;
mod preflight;
mod purge;
mod request;
mod resume;
pub mod self_test;
pub mod series;
pub mod stored;
pub mod target;
mod wall;
mod watch;

use std::path::{Path, PathBuf};

use crate::journal::file::JournalError;
use crate::journal::record::{Header, Record};
use crate::journal::replay::Replay;
use crate::plan::phase::{Plan, PlanError};
use crate::plan::profile::ProfileError;
use crate::report::Report;
use crate::target::guard::Need;
use crate::target::{Facts, guard};
use crate::verdict::foresee::{self, Foreseen};
use baselines::BaselineFileError;
use folder::FolderError;
pub use new::{run, run_on};
pub use request::{After, Limits, Request};
pub use resume::{discard, resume};
pub use target::Target;

/// What a caller may watch while a run goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// The run is about to begin or to go on.
    Begins {
        /// Where its files go.
        folder: &'a Path,
        /// What it is.
        header: &'a Header,
        /// What a resumed run has done already.
        so_far: Option<&'a Replay>,
    },
    /// A record went into the journal.
    Record(&'a Record),
    /// Something worth a line: what a dead run left was removed, the run is resumed.
    Note(String),
}

/// Watches a run.
pub trait Observer {
    /// Takes an event; a slow observer slows the journal, never the I/O.
    fn event(&mut self, event: Event<'_>);
}

/// A run that came to an end, good or bad.
#[derive(Debug)]
pub struct Outcome {
    /// What is said of it.
    pub report: Report,
    /// Where its files are.
    pub folder: PathBuf,
}

/// Why there is no run at all: the request itself is unusable.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The target's name.
    #[error(transparent)]
    Target(#[from] target::TargetError),
    /// The plan breaks the user's own budget.
    #[error(transparent)]
    Budget(PlanError),
    /// The output folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The journal of the run to go on with.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A baseline.
    #[error(transparent)]
    Baseline(#[from] BaselineFileError),
    /// The run to resume or discard cannot be.
    #[error("{0}")]
    Run(String),
    /// A signal ended what was begun.
    #[error("{0}")]
    Interrupted(String),
}

/// A plan and what it was made for, to be shown.
#[derive(Debug)]
pub struct Preview {
    /// The plan; or why there is none.
    pub plan: Plan,
    /// The target.
    pub facts: Facts,
    /// Whether the guard would let it run, and if not, why.
    pub refusal: Option<String>,
    /// What the gate could see, metric by metric; of one run against one by the profile alone where there is no baseline.
    pub foreseen: Vec<Foreseen>,
    /// Where the baseline lies; none where there is none.
    pub baseline: Option<PathBuf>,
}

/// What a run would do, and whether it may.
///
/// # Errors
/// The request is unusable, or nothing can be known of the target.
pub fn preview(request: &Request) -> Result<Preview, PreviewError> {
    let request = &request.resolved();
    let mut facts = request.target.facts().map_err(|why| PreviewError::Refused(why.to_string()))?;
    if request.consent.purge.is_some() {
        facts.ask_subsystem();
    }
    let plan = match arm::plan(request, &facts) {
        Ok(plan) => plan,
        Err(why @ PlanError::Budget { .. }) => return Err(RequestError::Budget(why).into()),
        Err(why) => return Err(PreviewError::Refused(arm::no_plan(why, &facts, &request.consent).to_string())),
    };
    let need = Need { space: plan.space, writes: plan.writes };
    let refusal = guard(facts.clone(), &need, &request.consent).err().map(|why| why.to_string());
    let (foreseen, baseline) = foresee(request, &facts)?;
    Ok(Preview { plan, facts, refusal, foreseen, baseline })
}

/// What the gate could see, and the baseline that it goes by.
fn foresee(request: &Request, facts: &Facts) -> Result<(Vec<Foreseen>, Option<PathBuf>), RequestError> {
    let key = compose::key(facts, &request.profile.name);
    let found = baselines::find(&request.judging.baselines, &key)?;
    let (rules, runs) = (compose::rules(Some(&request.profile)), request.repeat.most.max(1) as usize);
    let usable = found.baseline.filter(|baseline| baseline.fingerprint == request.profile.fingerprint());
    Ok(match usable {
        Some(baseline) => (foresee::against(&baseline, compose::unit(facts), &rules, runs), Some(found.path)),
        None => (foresee::without_baseline(&rules, runs), None),
    })
}

/// Why there is no preview.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// The request is unusable.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The target is.
    #[error("{0}")]
    Refused(String),
}
