//! The folder of one run: its name, and the files that are written into it.
//!
//! Knows which files a run has, not what stands in them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::wall;
use crate::journal::file;
use crate::report::{Report, html, json, junit, markdown};
use crate::target::{Facts, Simulated};

/// Why a run folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Making or writing failed.
    #[error("{operation} {} failed: {source}; choose another folder with --out", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// There is no run.
    #[error("{} is no run: name a run folder, or the {} in it", path.display(), file::NAME)]
    NoRun {
        /// What was named.
        path: PathBuf,
    },
    /// Reports would go into a run.
    #[error("{} is a run, and judging never alters one: choose another folder with --out", path.display())]
    IsRun {
        /// What was named.
        path: PathBuf,
    },
    /// The JUnit file could not be made.
    #[error("making {} failed: {why}", file)]
    Render {
        /// Which file.
        file: &'static str,
        /// Why.
        why: String,
    },
}

/// `<UTC>-<drive>-<profile>/`.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    id: String,
    started: String,
}

/// Makes sure that `out` is a folder that can be written to.
///
/// # Errors
/// It cannot.
pub fn check_out(out: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(out).map_err(|e| io("making the output folder", out, e))?;
    let probe = out.join(format!(".storage-check-{}", std::process::id()));
    fs::write(&probe, b"").map_err(|e| io("writing into the output folder", out, e))?;
    fs::remove_file(&probe).map_err(|e| io("writing into the output folder", out, e))
}

impl RunFolder {
    /// Makes the folder of a new run; its name is the run's id.
    ///
    /// # Errors
    /// It could not be made.
    pub fn create(out: &Path, drive: &str, profile: &str) -> Result<RunFolder, FolderError> {
        let started = wall::rfc3339();
        let stem = format!("{}-{drive}-{profile}", wall::compact(&started));
        for again in 1..1000 {
            let id = if again == 1 { stem.clone() } else { format!("{stem}-{again}") };
            let path = out.join(&id);
            match fs::create_dir(&path) {
                Ok(()) => {
                    let path = path.canonicalize().map_err(|e| io("finding", &path, e))?;
                    return Ok(RunFolder { path, id, started });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io("making the run folder", &path, error)),
            }
        }
        Err(io("making the run folder", &out.join(stem), std::io::ErrorKind::AlreadyExists.into()))
    }

    /// The folder of a run that is named by its folder or its journal.
    ///
    /// # Errors
    /// There is no journal.
    pub fn open(run: &Path) -> Result<RunFolder, FolderError> {
        let none = || FolderError::NoRun { path: run.to_owned() };
        let journal = file::path_of(run);
        let journal = journal.canonicalize().map_err(|_| none())?;
        if journal.file_name().is_none_or(|name| name != file::NAME) {
            return Err(none());
        }
        let path = journal.parent().ok_or_else(none)?.to_owned();
        let id = path.file_name().map(|name| name.to_string_lossy().into_owned()).ok_or_else(none)?;
        Ok(RunFolder { path, id, started: String::new() })
    }

    /// A folder for reports on a run that lies elsewhere, made if need be.
    ///
    /// # Errors
    /// It could not be made, or a run lies there.
    pub fn for_reports(out: &Path, id: &str) -> Result<RunFolder, FolderError> {
        let path = out.join(id);
        fs::create_dir_all(&path).map_err(|e| io("making the folder", &path, e))?;
        if path.join(file::NAME).exists() {
            return Err(FolderError::IsRun { path });
        }
        Ok(RunFolder { path, id: id.to_owned(), started: String::new() })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// When the run was begun, RFC 3339, UTC; empty for a folder that was opened again.
    #[must_use]
    pub fn started(&self) -> &str {
        &self.started
    }

    /// Removes the folder if nothing was put into it.
    pub fn remove_empty(&self) {
        // A folder with something in it stays, which is what is wanted.
        let _ = fs::remove_dir(&self.path);
    }

    /// Writes `report.json`, `junit.xml`, `report.md` and `report.html`, each whole or not at all.
    ///
    /// # Errors
    /// The first file that could not be written; the others are tried all the same.
    pub fn write_reports(&self, report: &Report) -> Result<(), FolderError> {
        let junit =
            junit::render(report).map_err(|why| FolderError::Render { file: "junit.xml", why: why.to_string() });
        let files = [
            ("report.json", Ok(json::render(report))),
            ("junit.xml", junit),
            ("report.md", Ok(markdown::render(report))),
            ("report.html", Ok(html::render(report))),
        ];
        let mut first = Ok(());
        for (name, text) in files {
            let written = text.and_then(|text| self.write(name, &text));
            first = first.and(written);
        }
        first
    }

    fn write(&self, name: &str, text: &str) -> Result<(), FolderError> {
        let path = self.path.join(name);
        let part = self.path.join(format!("{name}.part"));
        let write = || -> std::io::Result<()> {
            let mut file = fs::File::create(&part)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&part, &path)
        };
        write().map_err(|e| {
            // Half a report is none.
            let _ = fs::remove_file(&part);
            io("writing", &path, e)
        })
    }
}

/// The drive's name for a folder's name: model, or the kernel's name, in lower-case letters, digits and dashes.
#[must_use]
pub fn drive_slug(facts: &Facts) -> String {
    let drive = facts.drive.as_ref();
    let name = drive.map(|drive| drive.model.clone().unwrap_or_else(|| drive.name.clone()));
    slug(name.as_deref().or(facts.filesystem()).unwrap_or_default())
}

/// A name in lower-case letters, digits and dashes, at most 40 of them.
pub(super) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.truncate(40);
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "drive".to_owned() } else { slug.to_owned() }
}

/// What a simulated drive is, for people.
#[must_use]
pub fn simulation(simulated: &Simulated) -> String {
    let scale = if simulated.scale > 1 { format!(" at 1/{} of its size", simulated.scale) } else { String::new() };
    let fitted = if simulated.fitted { ", fitted" } else { "" };
    let faults = match simulated.faults.as_slice() {
        [] => String::new(),
        faults => format!(", with faults {}", faults.join(", ")),
    };
    format!("simulated{scale}{fitted}{faults}")
}

/// The drive in one line for people: model, firmware, kernel name and size; of a simulated one what it is.
#[must_use]
pub fn drive_line(facts: &Facts) -> String {
    let Some(drive) = &facts.drive else { return "unknown drive".to_owned() };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(drive.model.clone());
    parts.extend(drive.firmware.as_ref().map(|firmware| format!("firmware {firmware}")));
    match facts.simulated() {
        Some(simulated) => parts.push(simulation(simulated)),
        None => parts.push(drive.name.clone()),
    }
    parts.extend(drive.size.map(|size| size.to_string()));
    parts.join(", ")
}

fn io(operation: &'static str, path: &Path, source: std::io::Error) -> FolderError {
    FolderError::Io { operation, path: path.to_owned(), source }
}
