//! Numbers of foreign files: plain decimals and nothing else, so that `nan`, `inf` or `1e999` is no number.

/// A whole number.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{} is no whole number", quoted(text)));
    }
    text.parse().map_err(|_| format!("{} is too large", quoted(text)))
}

/// A decimal number, not negative.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if whole.is_empty() || fraction.is_empty() || !digits(whole) || !digits(fraction) || text.len() > 40 {
        return Err(format!("{} is no decimal number", quoted(text)));
    }
    text.parse().map_err(|_| format!("{} is no decimal number", quoted(text)))
}

/// A decimal number of units, as whole nanoseconds or bytes.
pub(super) fn scaled(text: &str, unit: f64) -> Result<u64, String> {
    /// A century, or some exabytes: more is a damaged number.
    const MOST: f64 = 3.2e18;
    let scaled = number(text)? * unit;
    if scaled > MOST { Err(format!("{} is too large", quoted(text))) } else { Ok(scaled.round() as u64) }
}

/// Foreign text for a message: short, and without anything that could disturb a terminal.
pub(super) fn quoted(text: &str) -> String {
    let shown: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).take(40).collect();
    let more = if text.chars().count() > 40 { "…" } else { "" };
    format!("\"{shown}{more}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_decimals_are_numbers() {
        assert_eq!(number("1984.990"), Ok(1984.99));
        assert_eq!(number("0"), Ok(0.0));
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "nan", "inf", "0x10", "1.2.3", " 1"] {
            assert!(number(text).is_err(), "{text}");
        }
        assert_eq!(scaled("1.5", 1e9), Ok(1_500_000_000));
        assert!(scaled("99999999999999999999", 1e9).unwrap_err().contains("too large"));
        assert_eq!(whole("18446744073709551615"), Ok(u64::MAX));
        assert!(whole("18446744073709551616").unwrap_err().contains("too large"));
        assert!(whole("1.0").is_err());
    }

    #[test]
    fn quoted_text_is_short_and_tame() {
        assert_eq!(quoted("a\u{1b}[31m"), "\"a?[31m\"");
        assert_eq!(quoted(&"x".repeat(50)).chars().count(), 43);
    }
}
