//! How a run is judged: what the user asks for, and the baseline that was found.
//!
//! Only data; `compose` judges.

use std::path::PathBuf;

use super::baselines::Found;
use crate::journal::record::Side;
use crate::plan::profile::Profile;
use crate::verdict::candidate::Candidate;
use crate::verdict::surroundings::UnderTest;

/// What the user asks of the verdict.
#[derive(Clone, Debug)]
pub struct Judging {
    /// Folder of the baselines.
    pub baselines: PathBuf,
    /// What may have changed since the baseline, and is tested.
    pub under_test: UnderTest,
    /// No baseline is not good enough.
    pub require_baseline: bool,
    /// Inconclusive is no failure.
    pub inconclusive_warns: bool,
    /// Tolerances, prior noise, gates and limits of this profile, in place of those that the run was made with.
    pub rules: Option<Profile>,
}

impl Default for Judging {
    fn default() -> Judging {
        Judging {
            baselines: PathBuf::from("baselines"),
            under_test: UnderTest::default(),
            require_baseline: false,
            inconclusive_warns: false,
            rules: None,
        }
    }
}

/// What a run is judged with.
#[derive(Clone, Debug)]
pub struct Bench {
    /// What the user asks for.
    pub judging: Judging,
    /// What there is to compare with.
    pub found: Found,
    /// The run as the user would name it, to say how it is accepted.
    pub run: String,
    /// Runs of the same request that went before and are judged with it.
    pub earlier: Vec<Earlier>,
    /// What a reader must know of those that are not.
    pub absent: Vec<String>,
}

/// An earlier run of the same request.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// The run.
    pub run: Candidate,
    /// Which of two alternating states it is of.
    pub side: Option<Side>,
}
