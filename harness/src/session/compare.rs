//! Stored runs side by side: reads their journals, touches no drive and writes nothing.

use std::path::PathBuf;

use super::{RequestError, compose};
use crate::journal::file;
use crate::report::compare::Comparison;

/// The runs side by side, each named by its folder or its journal.
///
/// # Errors
/// A journal cannot be read.
pub fn compare(runs: &[PathBuf]) -> Result<Comparison, RequestError> {
    let runs = runs.iter().map(|run| Ok(compose::compare::compared(&file::read(run)?)));
    Ok(Comparison { runs: runs.collect::<Result<_, RequestError>>()? })
}
