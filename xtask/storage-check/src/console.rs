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
        let text = if self.format == Format::Json { text.to_owned() } else { harmless(text, self.colour) };
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
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless(text, false));
}

/// Text that cannot steer a terminal, whatever a drive or a mount is called: control characters and those that turn
/// the reading direction become spaces, except for line ends, tabs and, where there is `colour`, colours.
fn harmless(text: &str, colour: bool) -> String {
    let steers = |c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    let is_colour = |rest: &str| {
        let code = rest.strip_prefix("\u{1b}[").and_then(|rest| rest.split_once('m'));
        code.is_some_and(|(code, _)| code.chars().all(|c| c.is_ascii_digit() || c == ';'))
    };
    let keep = |(at, c): (usize, char)| if steers(c) && !(colour && is_colour(&text[at..])) { ' ' } else { c };
    text.char_indices().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_steer_the_terminal_and_our_own_colours_can() {
        let hostile = "a\u{1b}[2J\u{1b}[31mb\u{202e}\rc\u{9b}\n\td";
        assert_eq!(harmless(hostile, false), "a [2J [31mb  c \n\td");
        assert_eq!(harmless(hostile, true), "a [2J\u{1b}[31mb  c \n\td");
    }
}
