//! What the user asks for: a run, and what becomes of its files.

use std::path::PathBuf;

use super::judging::Judging;
use super::target::Target;
use crate::journal::record::Repeat;
use crate::plan::profile::Profile;
use crate::target::Consent;
use crate::units::{Bytes, Nanos};

/// What the user asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to measure.
    pub target: Target,
    /// What to do there.
    pub profile: Profile,
    /// Folder that run folders go into.
    pub out: PathBuf,
    /// What the user allows.
    pub consent: Consent,
    /// Leave the scratch folder in place.
    pub keep: bool,
    /// The most that may be written, if less than the profile allows.
    pub max_write: Option<Bytes>,
    /// The run ends after this time at the latest, finished or not.
    pub max_time: Option<Nanos>,
    /// Run by the shell before the target is looked at.
    pub before_run: Option<String>,
    /// Tell the drive at the end which space is unused.
    pub purge_after: bool,
    /// How the run is judged.
    pub judging: Judging,
    /// Runs of the same request that went before, in the same folder: they are judged together.
    pub earlier: Vec<String>,
    /// Where this run stands among repeated ones.
    pub repeat: Repeat,
}

impl Request {
    /// Measure `target` by `profile`, with run folders in `out` and nothing else allowed or asked for.
    #[must_use]
    pub fn new(target: impl Into<Target>, profile: Profile, out: PathBuf) -> Request {
        Request {
            target: target.into(),
            profile,
            out,
            consent: Consent::default(),
            keep: false,
            max_write: None,
            max_time: None,
            before_run: None,
            purge_after: false,
            judging: Judging::default(),
            earlier: Vec::new(),
            repeat: Repeat::default(),
        }
    }

    /// The same request with its paths as the kernel names them: the guard compares them by their parts.
    pub(super) fn resolved(&self) -> Request {
        let mut request = self.clone();
        if let Some(volume) = &mut request.consent.fill_volume
            && let Ok(path) = volume.canonicalize()
        {
            *volume = path;
        }
        request.consent.journal = request.out.canonicalize().ok();
        request
    }
}

/// What becomes of the test files and the drive at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct After {
    /// Leave the scratch folder in place.
    pub keep: bool,
    /// Tell the drive which space is unused.
    pub purge: bool,
}

/// What may be said anew when a run is resumed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// At the end.
    pub after: After,
    /// From now on, at the most.
    pub max_time: Option<Nanos>,
}
