//! What the samples of a phase say: series, changes of level, cliffs, the findings of a fill.
//!
//! Pure: the same samples give the same findings, byte for byte, on every machine. Knows no file,
//! no clock, no drive, no profile and no baseline.

mod bins;
pub mod cliff;
pub mod fill;
mod judge;
mod lasting;
pub mod metric;
mod partition;
mod refine;
mod segments;
pub mod series;
#[cfg(test)]
mod simulated;
pub mod suite;
