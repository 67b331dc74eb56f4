//! `man` and `completions`: the words of the command line, for man and for shells.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;

use crate::arguments::Arguments;
use crate::console::Console;
use crate::exit::Exit;

const NAME: &str = "storage-check";

pub(crate) fn completions(shell: clap_complete::Shell, console: &Console) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), NAME, &mut script);
    console.result(String::from_utf8_lossy(&script).trim_end());
    Exit::Held
}

/// A page for the program, and one for each command.
pub(crate) fn pages(folder: &Path, console: &Console) -> Exit {
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Arguments::command(), folder));
    match written {
        Ok(()) => Exit::Held,
        Err(why) => {
            let folder = folder.display();
            console
                .error(&format!("writing man pages into {folder} failed: {why}; name a folder that you may write to"));
            Exit::RunFailed
        }
    }
}
