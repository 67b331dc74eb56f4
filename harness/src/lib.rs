//! storage-check's engine room: measures a drive, and judges the measurement against a baseline.
//!
//! Each folder is one stage of a run:
//! plan → target → engine → run loop → journal → analysis → verdict → report.
//! A report is a function of journal and baseline; nothing in this library prints or exits.

pub mod analysis;
pub mod engine;
pub mod environment;
pub mod import;
pub mod journal;
pub mod plan;
pub mod report;
pub mod run;
pub mod sample;
pub mod session;
pub mod target;
pub mod units;
pub mod verdict;
