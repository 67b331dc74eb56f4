//! PURE: makes text that drives and mount tables say fit for names, reports and terminals.
//!
//! Knows nothing of where the text came from.

/// The longest text that is kept, in characters; a SCSI model has 16, an NVMe model 40.
const LONGEST: usize = 512;

/// Text on one line without control, invisible or direction-changing characters, trimmed, runs of spaces made one;
/// none if nothing is left.
#[must_use]
pub(super) fn clean(raw: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(raw);
    let visible: String = text.chars().map(|c| if hidden(c) { ' ' } else { c }).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(LONGEST).collect();
    (!line.is_empty()).then_some(line)
}

/// Control, zero-width and bidirectional characters, and those that XML 1.0 has no place for.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{FFFE}' | '\u{FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &[u8], expect: Option<&str>) {
        assert_eq!(clean(raw).as_deref(), expect, "{raw:?}");
    }

    #[test]
    fn what_drives_say_becomes_one_clean_line() {
        check(b"Samsung SSD 980 PRO 1TB                 \n", Some("Samsung SSD 980 PRO 1TB"));
        check(b"S5GXNX0\0\0\0\0", Some("S5GXNX0"));
        check(b"  \x1b[31mEVIL\x1b[0m  ", Some("[31mEVIL [0m"));
        check(b"a<b>\"c'&]]>", Some("a<b>\"c'&]]>"));
        check("Köln\u{202E}SSD\u{FFFE}".as_bytes(), Some("Köln SSD"));
        check(b"\xff\xfeX", Some("\u{FFFD}\u{FFFD}X"));
        check(b" \t\n\0", None);
        check(b"", None);
    }

    #[test]
    fn endless_text_ends() {
        assert_eq!(clean(&[b'x'; 100_000]).map(|text| text.len()), Some(LONGEST));
    }
}
