//! `export`: a stored run in a format of others, to stdout or into a file.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use harness::session::export::{Format, export as exported};

use crate::arguments::{ExportArguments, To};
use crate::console::Console;
use crate::exit::Exit;
use crate::judge::{failed, judging};

pub(crate) fn export(arguments: &ExportArguments, console: &Console) -> Exit {
    let text =
        judging(&arguments.judged, None).and_then(|judging| exported(format(arguments.to), &arguments.run, &judging));
    let text = match text {
        Ok(text) => text,
        Err(why) => return failed(&why, console),
    };
    let Some(path) = &arguments.output else {
        console.result(text.trim_end());
        return Exit::Held;
    };
    match write(path, &text) {
        Ok(()) => Exit::Held,
        Err(why) => {
            let path = path.display();
            console.error(&format!("writing {path} failed: {why}; name a file in a folder that you may write to"));
            Exit::RunFailed
        }
    }
}

fn format(to: To) -> Format {
    match to {
        To::Csv => Format::Csv,
        To::Openmetrics => Format::OpenMetrics,
        To::Bencher => Format::Bencher,
        To::Junit => Format::Junit,
        To::Markdown => Format::Markdown,
        To::Json => Format::Json,
    }
}

/// Whole or not at all: a collector may read at any moment.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // As any new file: whom the umask lets read may read it.
    let everybody = fs::Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new().prefix(".storage-check-").permissions(everybody).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map(|_| ()).map_err(|why| why.error)
}
