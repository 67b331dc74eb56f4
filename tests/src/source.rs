//! The project's own source as text: which files there are, and what their code says once comments, strings
//! and tests are taken out.
//!
//! Reads well-formed Rust as rustfmt leaves it; it is no parser. Knows no rule: those are the tests'.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

/// The root of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Paths of all files that git knows or would add, relative to the root, sorted.
///
/// # Errors
/// This is no git checkout.
pub fn tracked() -> Result<Vec<String>> {
    let shell = Shell::new()?;
    shell.change_dir(root());
    // A checkout may belong to somebody else than the user that runs the tests.
    let listed = cmd!(shell, "git -c safe.directory=* ls-files --cached --others --exclude-standard").quiet().read()?;
    let mut files: Vec<_> = listed.lines().filter(|path| root().join(path).is_file()).map(str::to_owned).collect();
    files.sort();
    ensure!(files.len() > 50, "git lists only {} files", files.len());
    Ok(files)
}

/// A file below the root.
///
/// # Errors
/// It is not there, or not text.
pub fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(root().join(path)).with_context(|| format!("reading {path}"))
}

/// `text` with comments and the insides of strings and characters blanked; lines stay where they are.
#[must_use]
pub fn without_comments_and_strings(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let before = out.chars().next_back();
        let (keep, skip) = token(rest, before);
        out.push_str(&rest[..keep]);
        out.extend(rest[keep..keep + skip].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        debug_assert!(keep + skip >= first.len_utf8());
        rest = &rest[keep + skip..];
    }
    out
}

/// Bytes of the next token that stay, and how many after them are blanked.
fn token(rest: &str, before: Option<char>) -> (usize, usize) {
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        return (0, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (0, block_comment(rest));
    }
    if rest.starts_with('"') {
        return (0, string(rest));
    }
    if !in_word && (rest.starts_with("r\"") || rest.starts_with("r#") || rest.starts_with("br")) {
        return raw_string(rest).map_or((first, 0), |length| (0, length));
    }
    if rest.starts_with('\'') {
        return character(rest).map_or((first, 0), |length| (0, length));
    }
    (first, 0)
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        match here {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#`, `br"…"`; not a raw name such as `r#type`.
fn raw_string(rest: &str) -> Option<usize> {
    let opening = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = opening.bytes().take_while(|byte| *byte == b'#').count();
    let body = opening[hashes..].strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - body.len();
    Some(body.find(&closing).map_or(rest.len(), |end| start + end + closing.len()))
}

/// `'c'`, `'\n'`, `'\u{1b}'`; not a lifetime.
fn character(rest: &str) -> Option<usize> {
    let body = &rest[1..];
    if body.starts_with('\\') {
        let end = body.char_indices().skip(2).find(|(_, c)| *c == '\'')?.0;
        return Some(1 + end + 1);
    }
    let c = body.chars().next()?;
    body[c.len_utf8()..].starts_with('\'').then(|| 1 + c.len_utf8() + 1)
}

/// `code` (comments and strings gone) without its items under `#[cfg(test)]`.
#[must_use]
pub fn without_tests(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        out.push_str(&rest[..at]);
        let item = &rest[at..];
        let open = item.find('{').unwrap_or(item.len());
        let end = item.find(';').filter(|end| *end < open).map_or_else(|| open + braces(&item[open..]), |end| end + 1);
        out.extend(item[..end].chars().filter(|c| *c == '\n'));
        rest = &item[end..];
    }
    out.push_str(rest);
    out
}

/// Length of the balanced braces that `text` begins with.
fn braces(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The paths that `code` names under `root` (`crate`, `std`), groups taken apart:
/// `use crate::a::{self, b::C}` gives `a` and `a::b::C`.
#[must_use]
pub fn paths(code: &str, root: &str) -> Vec<String> {
    let start = format!("{root}::");
    let mut found = Vec::new();
    for (at, _) in code.match_indices(&start) {
        let before = code[..at].chars().next_back();
        if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            tree(&code[at + start.len()..], "", &mut found);
        }
    }
    found
}

/// Takes one use tree apart; gives what follows it.
fn tree<'a>(text: &'a str, prefix: &str, found: &mut Vec<String>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut group) = text.strip_prefix('{') {
        loop {
            group = group.trim_start();
            match group.chars().next() {
                Some('}') => return &group[1..],
                Some(',') => group = &group[1..],
                Some(_) => group = tree(group, prefix, found),
                None => return group,
            }
        }
    }
    let length = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*')).unwrap_or(text.len());
    let (name, rest) = text.split_at(length.max(text.chars().next().map_or(0, char::len_utf8).min(1)));
    let path = match (prefix, name) {
        ("", _) => name.to_owned(),
        (_, "self") => prefix.to_owned(),
        _ => format!("{prefix}::{name}"),
    };
    match rest.strip_prefix("::") {
        Some(deeper) if !deeper.starts_with('<') => tree(deeper, &path, found),
        _ => {
            found.push(path);
            rest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_blank(text: &str, expect: &str) {
        assert_eq!(without_comments_and_strings(text), expect, "{text}");
    }

    #[test]
    fn comments_and_strings_are_blanked() {
        check_blank("a // b\nc", "a     \nc");
        check_blank("a /* b /* c */ d */ e", "a                   e");
        check_blank(r#"f("x // \" y", 'z')"#, "f(           ,    )");
        check_blank(r###"(r"\", br#"a"b"#)"###, "(    ,          )");
        check_blank("fn f<'a>(x: &'a str) -> '\\'' {}", "fn f<'a>(x: &'a str) ->      {}");
        check_blank("r#type 'ä' \"é\"", "r#type        ");
    }

    #[test]
    fn tests_are_taken_out() {
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\n fn f() { {} }\n}\nb"), "a\n\n\n\n\nb");
        assert_eq!(without_tests("#[cfg(test)]\nmod samples;\nmod b { }"), "\n\nmod b { }");
    }

    fn check_paths(code: &str, expect: &[&str]) {
        assert_eq!(paths(code, "crate"), expect, "{code}");
    }

    #[test]
    fn use_trees_are_taken_apart() {
        check_paths("use crate::a;", &["a"]);
        check_paths("use crate::a::{self, b::C, d::{E, F}};", &["a", "a::b::C", "a::d::E", "a::d::F"]);
        check_paths("use crate::{a::*, b};", &["a::*", "b"]);
        check_paths("let x = crate::a::f(crate::b::C::<u8>::new());", &["a::f", "b::C"]);
        check_paths("pub(crate) fn f() { subcrate::x; my::crate::y }", &[]);
    }
}
