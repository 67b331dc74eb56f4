//! Files of others and journals of ours, read and analysed; nothing is written and no drive is touched.

use std::path::{Path, PathBuf};

use super::compose::series::series_report;
use crate::import::{Options, Refusal, Source, import};
use crate::journal::file;
use crate::report::series::SeriesReport;
use crate::units::Bytes;

/// What the user asks for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Logs, outputs, CSVs, journals, or run folders.
    pub files: Vec<PathBuf>,
    /// What the files may not say.
    pub options: Options,
    /// Bytes that the drive offers, where known.
    pub drive: Option<Bytes>,
    /// Bytes of the range in use, where known.
    pub range: Option<Bytes>,
}

/// What is said of every series in these files, and what was refused.
#[must_use]
pub fn analyze(request: &Request) -> (Vec<SeriesReport>, Vec<Refusal>) {
    let read = request.files.iter().map(|path| (path.display().to_string(), read(path)));
    let (mut contents, mut refused) = (Vec::new(), Vec::new());
    for (name, bytes) in read {
        match bytes {
            Ok(bytes) => contents.push((name, bytes)),
            Err(why) => refused.push(Refusal { file: name, line: None, reason: format!("reading it failed: {why}") }),
        }
    }
    let sources: Vec<Source<'_>> = contents.iter().map(|(name, bytes)| Source { name, bytes }).collect();
    let (series, more) = import(&sources, &request.options);
    refused.extend(more);
    (series.into_iter().map(|series| series_report(series, request.drive, request.range)).collect(), refused)
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    std::fs::read(file::path_of(path))
}
