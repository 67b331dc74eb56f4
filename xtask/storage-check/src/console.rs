//! The terminal: results to stdout, everything else to stderr, colour only where a person looks.
//!
//! A closed stdout ends the printing quietly; the verdict is in the exit code and in the files.

use std::io::{IsTerminal, Write};

use owo_colors::{OwoColorize, Style};

use crate::arguments::Format;

/// Where results and remarks go.
pub(crate) struct Console {
    /// Only the verdict.
    pub(crate) quiet: bool,
    /// For people or programs.
    pub(crate) format: Format,
    colour: bool,
    bar: Option<indicatif::ProgressBar>,
}

impl Console {
    pub(crate) fn new(quiet: bool, format: Format) -> Console {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Console { quiet, format, colour: std::io::stdout().is_terminal() && !plain, bar: None }
    }

    /// A result, to stdout.
    pub(crate) fn result(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // Whoever closed the pipe has read enough.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    }

    /// A remark for people, to stderr, above the progress bar if there is one.
    pub(crate) fn remark(&self, text: &str) {
        if self.quiet {
            return;
        }
        match &self.bar {
            Some(bar) => bar.suspend(|| line_to_stderr(text)),
            None => line_to_stderr(text),
        }
    }

    /// An error, to stderr, whatever was asked for.
    pub(crate) fn error(&self, text: &str) {
        complain(text);
    }

    /// Remarks go above this bar from now on.
    pub(crate) fn attach(&mut self, bar: Option<indicatif::ProgressBar>) {
        self.bar = bar;
    }

    /// `text` in a style, where there is colour.
    pub(crate) fn paint(&self, text: &str, style: Style) -> String {
        if self.colour { text.style(style).to_string() } else { text.to_owned() }
    }
}

/// An error line, also where there is no console yet.
pub(crate) fn complain(text: &str) {
    line_to_stderr(&format!("storage-check: {text}"));
}

/// There is nowhere left to report that stderr is closed.
fn line_to_stderr(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
