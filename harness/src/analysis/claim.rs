//! The first claim: steady state seen online, sample by sample, by an observer who does not know the rest.

use super::known::Known;
use super::series::Series;
use crate::units::{Nanos, Rate};

/// That a series is steady, said while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// When, from the start of the series.
    pub decided: Nanos,
    /// The level as it is seen then.
    pub rate: Rate,
}

/// What an observer fed with the series' steps would have claimed first.
pub(super) fn first(_: &Series, _: &Known) -> Option<Claim> {
    None
}
