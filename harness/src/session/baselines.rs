//! Where baselines lie, `<folder>/<drive>/<profile>.toml`, and reading and writing them.
//!
//! Knows files, not what a baseline means.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::folder::slug;
use crate::verdict::baseline::{Baseline, BaselineError, Key};

/// Why a baseline file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineFileError {
    /// The file system said no.
    #[error("{operation} the baseline {} failed: {source}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// Which file.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// It is damaged or newer.
    #[error("{}: {source}; repair it, or take it from version control", path.display())]
    Text {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: BaselineError,
    },
}

/// What there is for a drive and profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Where the baseline lies or would lie.
    pub path: PathBuf,
    /// The baseline, if there is one.
    pub baseline: Option<Baseline>,
    /// Folders of other drives that have a baseline of this profile.
    pub others: Vec<String>,
}

/// Where the baseline of that key lies: model, capacity and target kind name the drive's folder.
#[must_use]
pub fn path_of(folder: &Path, key: &Key) -> PathBuf {
    let size = match key.capacity_bytes {
        0 => String::new(),
        bytes @ 1..1_000_000_000 => format!("-{}mb", bytes / 1_000_000),
        bytes => format!("-{}gb", (bytes as f64 / 1e9).round()),
    };
    folder.join(format!("{}{size}-{}", slug(&key.drive), slug(&key.target_kind))).join(format!("{}.toml", key.profile))
}

/// Looks for the baseline of that key.
///
/// # Errors
/// It is there and cannot be read.
pub fn find(folder: &Path, key: &Key) -> Result<Found, BaselineFileError> {
    let path = path_of(folder, key);
    let baseline = read(&path)?;
    let others = if baseline.is_some() { Vec::new() } else { others(folder, &key.profile) };
    Ok(Found { path, baseline, others })
}

/// The baseline in a file; none where there is no file.
///
/// # Errors
/// The file cannot be read, or holds no usable baseline.
pub fn read(path: &Path) -> Result<Option<Baseline>, BaselineFileError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(source) => return Err(BaselineFileError::Io { operation: "reading", path: path.to_owned(), source }),
    };
    let parsed = Baseline::parse(&text);
    parsed.map(Some).map_err(|source| BaselineFileError::Text { path: path.to_owned(), source })
}

/// Every baseline file in a folder, by path; none where there is no folder.
///
/// # Errors
/// The folder cannot be read.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, BaselineFileError> {
    let failed = |source| BaselineFileError::Io { operation: "looking for", path: folder.to_owned(), source };
    let drives = match fs::read_dir(folder) {
        Ok(drives) => drives,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(failed(why)),
    };
    let mut files = Vec::new();
    for drive in drives {
        let drive = drive.map_err(failed)?.path();
        if drive.is_dir() {
            for file in fs::read_dir(&drive).map_err(failed)? {
                files.push(file.map_err(failed)?.path());
            }
        }
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}

/// Writes a baseline, whole or not at all.
///
/// # Errors
/// It could not be written.
pub fn write(path: &Path, baseline: &Baseline) -> Result<(), BaselineFileError> {
    let write = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let part = path.with_extension("toml.part");
        let mut file = fs::File::create(&part)?;
        file.write_all(baseline.to_toml().as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().map_err(|source| BaselineFileError::Io { operation: "writing", path: path.to_owned(), source })
}

/// Folders that have a baseline of that profile. One that cannot be read has none to offer.
fn others(folder: &Path, profile: &str) -> Vec<String> {
    let named = |file: &PathBuf| file.file_stem().is_some_and(|stem| stem == profile);
    let files = files(folder).unwrap_or_default().into_iter().filter(named);
    files.filter_map(|file| Some(file.parent()?.file_name()?.to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(drive: &str, bytes: u64) -> Key {
        let (target_kind, profile) = ("folder".to_owned(), "quick".to_owned());
        Key { drive: drive.to_owned(), capacity_bytes: bytes, target_kind, profile }
    }

    #[test]
    fn a_drives_folder_is_named_by_model_capacity_and_target_kind() {
        let check = |drive: &str, bytes, expect: &str| {
            assert_eq!(path_of(Path::new("b"), &key(drive, bytes)), Path::new("b").join(expect));
        };
        check("ACME TURBO/960", 960_197_124_096, "acme-turbo-960-960gb-folder/quick.toml");
        check("virtio", 3_221_225_472, "virtio-3gb-folder/quick.toml");
        check("..", 500_000_000, "drive-500mb-folder/quick.toml");
        check("tmpfs", 0, "tmpfs-folder/quick.toml");
    }

    #[test]
    fn a_damaged_file_is_named_with_its_line_and_an_absent_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let key = key("ACME", 1_000_000_000);
        assert_eq!(find(folder.path(), &key).unwrap().baseline, None);
        let path = path_of(folder.path(), &key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "schema = 1\nfingerprint = 3\n").unwrap();
        let why = find(folder.path(), &key).unwrap_err().to_string();
        assert!(why.contains("acme-1gb-folder/quick.toml: line 2: "), "{why}");
        fs::write(&path, "schema = 99\n").unwrap();
        let why = find(folder.path(), &key).unwrap_err().to_string();
        assert!(why.contains("schema 99") && why.contains("newer storage-check"), "{why}");
    }

    #[test]
    fn other_drives_with_a_baseline_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let other = path_of(folder.path(), &key("OTHER", 1_000_000_000));
        fs::create_dir_all(other.parent().unwrap()).unwrap();
        fs::write(&other, "").unwrap();
        assert_eq!(find(folder.path(), &key("ACME", 1_000_000_000)).unwrap().others, ["other-1gb-folder"]);
    }
}
