//! The user's own commands before a run: one switches what is under test, such as a firmware, the profile's empties
//! caches.
//!
//! Runs it through the shell, waits for it, and keeps its exit code and output for the journal.

use std::process::{Command, Stdio};

use crate::journal::record::CommandRecord;

/// Bytes of output that are kept: the end of it, where errors stand.
const MOST_OUTPUT: usize = 16 << 10;

/// Runs the command, if there is one, which must end with 0.
///
/// # Errors
/// It did not, in words: what is to be measured is not what was wanted.
pub(super) fn must(what: &str, command: Option<&str>) -> Result<Option<CommandRecord>, String> {
    let Some(command) = command else { return Ok(None) };
    let record = run(command).map_err(|why| format!("starting {what} ({command}) failed: {why}"))?;
    if record.exit_code == Some(0) {
        return Ok(Some(record));
    }
    let code = record.exit_code.map_or_else(|| "was ended by a signal".to_owned(), |code| format!("ended with {code}"));
    let last = record.output.trim_end().lines().last().map(|line| format!(", saying: {line}")).unwrap_or_default();
    Err(format!("{what} ({command}) {code}{last}; nothing was measured"))
}

/// Runs `command` with `sh -c` and waits for its end.
///
/// # Errors
/// The shell could not be started.
#[expect(clippy::disallowed_methods, reason = "the user asked for this command to be run")]
fn run(command: &str) -> std::io::Result<CommandRecord> {
    let output = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).output()?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(CommandRecord { command: command.to_owned(), exit_code: output.status.code(), output: tail(&text).to_owned() })
}

/// The last part of a text that is too long.
fn tail(text: &str) -> &str {
    let mut from = text.len().saturating_sub(MOST_OUTPUT);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_and_output_are_kept() {
        let record = run("echo out; echo err >&2; exit 3").unwrap();
        assert_eq!((record.exit_code, record.output.as_str()), (Some(3), "out\nerr\n"));
    }

    #[test]
    fn a_flood_of_output_is_cut_to_its_end() {
        let text = format!("{}€end", "x".repeat(MOST_OUTPUT));
        assert!(tail(&text).ends_with("€end") && tail(&text).len() <= MOST_OUTPUT);
    }
}
