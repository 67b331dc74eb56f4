//! Wall-clock time: names runs and dates records; measures nothing.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Now, in UTC.
#[expect(clippy::disallowed_methods, reason = "the one place where a session learns the day")]
fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

/// Now to the second, as `2026-11-30T13:24:02Z` (RFC 3339).
pub(super) fn rfc3339() -> String {
    let now = now().replace_nanosecond(0).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    now.format(&Rfc3339).expect("years of four digits have a form in RFC 3339")
}

/// The same moment for a folder's name: `20261130T132402Z`.
pub(super) fn compact(rfc3339: &str) -> String {
    rfc3339.chars().filter(|c| !matches!(c, '-' | ':')).collect()
}

/// Nanoseconds since 1970.
pub(super) fn nanos() -> i128 {
    now().unix_timestamp_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_to_the_second_and_fits_into_a_name() {
        let text = rfc3339();
        assert!(text.len() == 20 && text.ends_with('Z'), "{text}");
        assert_eq!(compact("2026-11-30T13:24:02Z"), "20261130T132402Z");
    }
}
