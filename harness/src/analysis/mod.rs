//! What the samples of a phase say: series, changes of level, cliffs, the findings of a fill.
//!
//! Pure: the same samples give the same findings, byte for byte, on every machine. Knows no file,
//! no clock, no drive, no profile and no baseline.

pub mod analyze;
mod bins;
pub mod claim;
pub mod cliff;
pub mod fill;
mod flat;
mod judge;
pub mod known;
mod lasting;
pub mod latency;
pub mod metric;
mod partition;
pub mod random;
mod refine;
mod segments;
pub mod series;
#[cfg(test)]
mod simulated;
pub mod snia;
pub mod space;
pub mod steady;
pub mod suite;
mod swings;
pub mod thermal;
