//! How people write quantities in profiles and on the command line: exact decimal text with a unit.

use super::{Bytes, GIB, KIB, MIB, Nanos, Ppm};

/// `value / scale` in decimal without trailing zeros; `scale` is a power of ten.
pub(super) fn decimal(value: u64, scale: u64) -> String {
    let whole = value / scale;
    let rest = value % scale;
    if rest == 0 {
        return whole.to_string();
    }
    let digits = scale.ilog10() as usize;
    format!("{whole}.{rest:0digits$}").trim_end_matches('0').to_owned()
}

/// A size as people write it, `4KiB`, `1.5 GB`, `512B`; the unit is required.
///
/// # Errors
/// Says what is wrong with the text and shows one that would do.
pub fn parse_bytes(text: &str) -> Result<Bytes, String> {
    const UNITS: [(&str, u64); 11] = [
        ("b", 1),
        ("kib", KIB),
        ("mib", MIB),
        ("gib", GIB),
        ("tib", 1 << 40),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("tb", 1_000_000_000_000),
        ("pb", 1_000_000_000_000_000),
        ("pib", 1 << 50),
    ];
    parse_quantity(text, &UNITS, "a size with its unit, such as \"4KiB\", \"1GiB\" or \"1.5GB\"").map(Bytes)
}

/// A speed as people write it, `138MB/s`, in bytes a second; the unit is required.
///
/// # Errors
/// Says what is wrong with the text and shows one that would do.
pub fn parse_speed(text: &str) -> Result<Bytes, String> {
    let wrong = |why: &str| format!("\"{text}\" {why}; write a speed, such as \"138MB/s\"");
    let bytes = parse_bytes(text.trim_end().strip_suffix("/s").ok_or_else(|| wrong("has no \"/s\""))?)?;
    if bytes.0 == 0 { Err(wrong("is no speed, nothing would ever end")) } else { Ok(bytes) }
}

/// A span as people write it, `500ms`, `10s`, `1h`; the unit is required.
///
/// # Errors
/// Says what is wrong with the text and shows one that would do.
pub fn parse_nanos(text: &str) -> Result<Nanos, String> {
    const UNITS: [(&str, u64); 7] = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ];
    parse_quantity(text, &UNITS, "a time with its unit, such as \"500ms\", \"10s\" or \"1h\"").map(Nanos)
}

/// A share as people write it, `0.6%`, at most `most`.
///
/// # Errors
/// Says what is wrong with the text and shows one that would do.
pub fn parse_ppm(text: &str, most: Ppm) -> Result<Ppm, String> {
    let value = parse_quantity(text, &[("%", 10_000)], "a percentage, such as \"5%\" or \"0.6%\"")?;
    if value > u64::from(most.0) {
        return Err(format!("\"{text}\" is more than {most}"));
    }
    u32::try_from(value).map(Ppm).map_err(|_| format!("\"{text}\" is too large"))
}

/// `<digits>[.<digits>] <unit>` in exact decimal arithmetic; units are matched without case.
fn parse_quantity(text: &str, units: &[(&str, u64)], expected: &str) -> Result<u64, String> {
    let wrong = |why: &str| format!("\"{text}\" {why}; write {expected}");
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(wrong("is negative"));
    }
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim().to_ascii_lowercase();
    if number.is_empty() {
        return Err(wrong("has no number"));
    }
    if unit.is_empty() {
        return Err(wrong("has no unit"));
    }
    let &(_, scale) = units
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| wrong(&format!("has the unknown unit \"{unit}\"")))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
        return Err(wrong("is no decimal number"));
    }
    if fraction.len() > 9 {
        return Err(wrong("has more than nine decimals"));
    }
    let overflow = || wrong("is too large");
    let whole: u64 = whole.parse().map_err(|_| overflow())?;
    let tens = 10_u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| overflow())? };
    let value = u128::from(whole) * u128::from(scale) + fraction * u128::from(scale) / tens;
    u64::try_from(value).map_err(|_| overflow())
}

/// The exact text of a size, in the largest binary unit that divides it: `4KiB`, `1000000B`.
#[must_use]
pub fn bytes_text(bytes: Bytes) -> String {
    let units = [("PiB", 1 << 50), ("TiB", 1 << 40), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)];
    match units.iter().find(|(_, size)| bytes.0 != 0 && bytes.0.is_multiple_of(*size)) {
        Some((name, size)) => format!("{}{name}", bytes.0 / size),
        None => format!("{}B", bytes.0),
    }
}

/// The exact text of a speed in bytes a second: `4MiB/s`.
#[must_use]
pub fn speed_text(bytes: Bytes) -> String {
    format!("{}/s", bytes_text(bytes))
}

/// The exact text of a span, in the largest unit that divides it: `10s`, `1h`.
#[must_use]
pub fn nanos_text(span: Nanos) -> String {
    let units =
        [("h", 3_600_000_000_000), ("min", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    match units.iter().find(|(_, size)| span.0 != 0 && span.0.is_multiple_of(*size)) {
        Some((name, size)) => format!("{}{name}", span.0 / size),
        None => format!("{}ns", span.0),
    }
}

/// The exact text of a share: `0.6%`.
#[must_use]
pub fn ppm_text(share: Ppm) -> String {
    format!("{}%", decimal(u64::from(share.0), 10_000))
}
