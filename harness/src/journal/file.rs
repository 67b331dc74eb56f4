//! The journal's file: append, sync, cut a torn tail, and read back.
//!
//! Knows lines and records, not what they mean. A writer that fails is final: the run stops.
#![expect(clippy::disallowed_methods, reason = "when to sync is a matter of wall-clock time")]

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FallocateFlags;

pub use super::record::parse;
use super::record::{LineError, Preamble, Record, line};
use super::replay::{Replay, ReplayError};

/// The journal's name in a run folder.
pub const NAME: &str = "journal.jsonl";

/// Between two syncs within a phase.
const SYNC_EVERY: Duration = Duration::from_secs(30);

/// Why a journal could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file system said no.
    #[error("{operation} the journal {} failed: {source}{hint}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// Which journal.
        path: PathBuf,
        /// What to do about it.
        hint: &'static str,
        /// The error.
        source: std::io::Error,
    },
    /// A line is damaged, or written by a newer program.
    #[error("{}:{number}: {source}", path.display())]
    Line {
        /// Which journal.
        path: PathBuf,
        /// Counted from 1.
        number: usize,
        /// What is wrong with it.
        source: LineError,
    },
    /// The records make no run.
    #[error("{}: {source}", path.display())]
    Replay {
        /// Which journal.
        path: PathBuf,
        /// What is wrong with them.
        source: ReplayError,
    },
}

/// Appends records.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    synced: Instant,
}

impl Writer {
    /// Makes a new journal with room for `room` bytes, so that a full disk cannot stop it.
    ///
    /// # Errors
    /// The file exists, or the file system said no.
    pub fn create(path: &Path, room: u64) -> Result<Writer, JournalError> {
        let failed = |operation, source| io(operation, path, source);
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .read(true)
            .open(path)
            .map_err(|e| failed("creating", e))?;
        match rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, room) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(errno) => return Err(failed("preallocating", errno.into())),
        }
        let mut writer = Writer { file, path: path.to_owned(), synced: Instant::now() };
        writer.append_line(&line(&Preamble::ours()))?;
        Ok(writer)
    }

    /// Opens a journal to go on with, its torn tail cut; also gives what stands there.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged elsewhere than at its end.
    pub fn resume(path: &Path) -> Result<(Writer, Vec<Record>), JournalError> {
        let mut file = OpenOptions::new().read(true).append(true).open(path).map_err(|e| io("opening", path, e))?;
        let (records, whole) = read_from(&mut file, path)?;
        file.set_len(whole).map_err(|e| io("cutting the torn end of", path, e))?;
        file.seek(SeekFrom::End(0)).map_err(|e| io("opening", path, e))?;
        Ok((Writer { file, path: path.to_owned(), synced: Instant::now() }, records))
    }

    /// Appends one record.
    ///
    /// # Errors
    /// The file system said no; the run cannot go on.
    pub fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        self.append_line(&line(record))?;
        if self.synced.elapsed() >= SYNC_EVERY { self.sync() } else { Ok(()) }
    }

    /// Makes everything appended durable.
    ///
    /// # Errors
    /// The file system said no.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.synced = Instant::now();
        self.file.sync_data().map_err(|e| io("syncing", &self.path, e))
    }

    /// Makes everything durable and gives back the room that was not needed.
    ///
    /// # Errors
    /// The file system said no.
    pub fn finish(mut self) -> Result<(), JournalError> {
        let len = self.file.metadata().map_err(|e| io("closing", &self.path, e))?.len();
        self.file.set_len(len).map_err(|e| io("closing", &self.path, e))?;
        self.sync()
    }

    fn append_line(&mut self, line: &str) -> Result<(), JournalError> {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        self.file.write_all(&bytes).map_err(|e| io("writing", &self.path, e))
    }
}

/// Reads a run from its folder or its journal.
///
/// # Errors
/// The file cannot be read, is damaged, or is a newer program's.
pub fn read(run: &Path) -> Result<Replay, JournalError> {
    let path = path_of(run);
    Replay::new(records(run)?).map_err(|source| JournalError::Replay { path, source })
}

/// The records of a run that is named by its folder or its journal.
///
/// # Errors
/// The file cannot be read, is damaged, or is a newer program's.
pub fn records(run: &Path) -> Result<Vec<Record>, JournalError> {
    let path = path_of(run);
    let mut file = File::open(&path).map_err(|e| io("opening", &path, e))?;
    Ok(read_from(&mut file, &path)?.0)
}

/// The journal of a run that is named by its folder or its journal.
#[must_use]
pub fn path_of(run: &Path) -> PathBuf {
    if run.is_dir() { run.join(NAME) } else { run.to_owned() }
}

/// The records, and the length of the part of the file that is whole.
fn read_from(file: &mut File, path: &Path) -> Result<(Vec<Record>, u64), JournalError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|e| io("reading", path, e))?;
    parse(&bytes).map_err(|(number, source)| JournalError::Line { path: path.to_owned(), number, source })
}

fn io(operation: &'static str, path: &Path, source: std::io::Error) -> JournalError {
    let hint = match source.kind() {
        std::io::ErrorKind::NotFound => ": name a run folder or its journal.jsonl",
        std::io::ErrorKind::PermissionDenied => ": check the permissions of the folder",
        std::io::ErrorKind::StorageFull => ": the disk that holds it is full; free space or choose another --out",
        _ => "",
    };
    JournalError::Io { operation, path: path.to_owned(), hint, source }
}
