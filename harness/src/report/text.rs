//! Foreign text made harmless for GitHub-flavoured markdown: it can neither end a cell, a line or a code
//! span, nor become markup, a link or a mention.
//!
//! Models, paths and reasons may hold anything. Must never know what the text means.

use std::fmt::Write as _;

/// `text` as one line of prose in at most `most` bytes, and how much was cut off.
#[must_use]
pub(super) fn sentence(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut before = ' ';
    let mut chars = text.chars().filter_map(shown).peekable();
    while let Some(char) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        let start = out.len();
        escape(&mut out, before, char, after);
        if out.len() + CUT > most {
            out.truncate(start);
            return cut(out, chars.count() + 1);
        }
        before = char;
    }
    out.trim().to_owned()
}

/// `text` as a code span in at most `most` bytes: copies as it is, and nothing in it is markup.
///
/// Not for a table's cells, which a `|` in a code span ends: see [`cell`].
#[must_use]
pub(super) fn code(text: &str, most: usize) -> String {
    let clean: String = text.chars().filter_map(shown).collect();
    let clean = clean.trim();
    if clean.is_empty() {
        return "–".to_owned();
    }
    let longest = clean.split(|char| char != '`').map(str::len).max().unwrap_or(0).min(most / 8);
    // A run of backticks that is longer than any fence allowed here is shortened by leaving out the rest.
    let fence = "`".repeat(longest + 1);
    let room = most.saturating_sub(2 * fence.len() + 2 + CUT);
    let (mut out, mut run, mut taken) = (String::new(), 0, 0);
    for char in clean.chars() {
        run = if char == '`' { run + 1 } else { 0 };
        if run > longest || out.len() + char.len_utf8() > room {
            break;
        }
        out.push(char);
        taken += 1;
    }
    let pad = if longest > 0 { " " } else { "" };
    let span = format!("{fence}{pad}{out}{pad}{fence}");
    match clean.chars().count() - taken {
        0 => span,
        rest => cut(span, rest),
    }
}

/// A name as a code span where that is safe in a table's cell, else as prose, in at most `most` bytes.
#[must_use]
pub(super) fn cell(name: &str, most: usize) -> String {
    let plain = name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '_' | '-'));
    if plain { code(name, most) } else { sentence(name, most) }
}

/// Room for what [`cut`] adds.
const CUT: usize = 48;

fn cut(mut out: String, rest: usize) -> String {
    let _ = write!(out, "… ({rest} more characters)");
    out
}

/// What is left of a character: line breaks and tabs are spaces; control characters, non-characters
/// and what turns the direction of writing are nothing.
pub(super) fn shown(char: char) -> Option<char> {
    match char {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => None,
        char if char.is_control() => None,
        char => Some(char),
    }
}

/// Adds a character as prose: with a backslash before what GitHub could take for markup.
fn escape(out: &mut String, before: char, char: char, after: char) {
    let within_word = before.is_alphanumeric() && after.is_alphanumeric();
    let markup = match char {
        '\\' | '`' | '*' | '[' | ']' | '|' | '~' | '$' | '<' | '>' | '&' => true,
        '_' => !within_word,
        // Starts of headings, lists and quotes; reasons never begin with them unless they are foreign.
        '#' | '+' | '-' | '=' => out.is_empty(),
        // `://` and `www.` would become links.
        '/' => before == ':',
        '.' => ends_in_www(out) || ends_a_list_number(out),
        _ => false,
    };
    if markup {
        out.push('\\');
    }
    out.push(char);
    if char == '@' && after.is_alphanumeric() {
        out.push_str("&#8203;");
    }
}

/// Whether a dot here would make a link of what follows.
fn ends_in_www(out: &str) -> bool {
    out.as_bytes().last_chunk().is_some_and(|last: &[u8; 3]| last.eq_ignore_ascii_case(b"www"))
}

/// Whether a dot here would make an item of a numbered list.
fn ends_a_list_number(out: &str) -> bool {
    !out.is_empty() && out.len() < 10 && out.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn prose_shows_markup_as_it_is_written() {
        let check = |text: &str, expect: &str| assert_eq!(sentence(text, 1000), expect, "{text:?}");
        check("fill.floor_mb_s is 12.5 % low", "fill.floor_mb_s is 12.5 % low");
        check("a | b", "a \\| b");
        check("a \\| b", "a \\\\\\| b");
        check("<b>&amp;", "\\<b\\>\\&amp;");
        check("one\r\ntwo\tthree", "one  two three");
        check("\0\u{1b}[31mred\u{fffe}", "\\[31mred");
        check("see http://a.b and www.a.b", "see http:\\//a.b and www\\.a.b");
        check("éé. WWW.a.b", "éé. WWW\\.a.b");
        check("thanks @someone", "thanks @&#8203;someone");
        check("# head", "\\# head");
        check("- item", "\\- item");
        check("1. item", "1\\. item");
        check("_i_ snake_case", "\\_i\\_ snake_case");
    }

    #[test]
    fn a_code_span_outlasts_its_backticks() {
        let check = |text: &str, expect: &str| assert_eq!(code(text, 200), expect, "{text:?}");
        check("/mnt/a_b*c", "`/mnt/a_b*c`");
        check("a`b``c", "``` a`b``c ```");
        check("x\ny", "`x y`");
        check("  ", "–");
    }

    #[test]
    fn a_name_in_a_cell_cannot_end_the_cell() {
        assert_eq!(cell("fill.cliff_gb", 200), "`fill.cliff_gb`");
        assert_eq!(cell("a`|`b", 200), "a\\`\\|\\`b");
    }

    #[test]
    fn whatever_the_text_the_bytes_are_bounded_and_the_line_is_one() {
        let texts = [samples::hostile(), "`".repeat(5000), "|".repeat(5000), "😀".repeat(5000), "@a".repeat(5000)];
        for text in texts {
            for most in [100, 200, 600, 2000] {
                for out in [sentence(&text, most), code(&text, most), cell(&text, most)] {
                    assert!(out.len() <= most, "{} > {most}: {out}", out.len());
                    assert!(out.ends_with(" more characters)"), "{out}");
                    assert!(!out.contains(char::is_control), "{out:?}");
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_one_bounded_line(text in "[\\PC\\r\\n\\t\\x00`|\\\\@w.:/_1]{0,300}", most in 100_usize..700) {
            for out in [sentence(&text, most), code(&text, most), cell(&text, most)] {
                proptest::prop_assert!(out.len() <= most && !out.contains(char::is_control), "{out:?}");
            }
        }
    }
}
