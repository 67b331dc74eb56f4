//! Changes to a drive: `key=value`, as they stand behind its name.

use std::str::FromStr;

use super::Drive;
use super::explain::nearest;
use crate::units::{Ppm, parse_ppm};

/// Known keys, each with a value as an example.
const KEYS: [(&str, &str); 7] = [
    ("seed", "7"),
    ("unit", "7"),
    ("cv", "1%"),
    ("firmware", "FW02"),
    ("slower", "8%"),
    ("slower_floor", "12%"),
    ("scale", "4"),
];

/// The longest firmware revision that NVMe has room for is 8 characters, SCSI 4; ours may be a little longer.
const MOST_FIRMWARE: usize = 16;

/// Makes one change.
///
/// # Errors
/// Says what is wrong with it, and what would do.
pub(super) fn apply(drive: &mut Drive, change: &str) -> Result<(), String> {
    let (key, value) = change.split_once('=').ok_or("it has no \"=\"; write key=value, such as slower=8%")?;
    match key {
        "seed" => drive.seed = number(key, value)?,
        "unit" => drive.unit = number(key, value)?,
        "scale" => drive.scale = number(key, value)?,
        "cv" => drive.cv = parse_ppm(value, Ppm(200_000))?,
        "slower" => drive.slower = parse_ppm(value, Ppm(990_000))?,
        "slower_floor" => drive.slower_floor = parse_ppm(value, Ppm(990_000))?,
        "firmware" => {
            let fits = (1..=MOST_FIRMWARE).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_graphic());
            if !fits {
                return Err(format!("a firmware revision has 1 to {MOST_FIRMWARE} printable ASCII characters"));
            }
            value.clone_into(&mut drive.firmware);
        }
        _ => {
            let near = nearest(key, KEYS.iter().map(|(known, _)| *known));
            let hint = near.map_or(String::new(), |near| format!(", did you mean {near:?}?"));
            let known = KEYS.map(|(key, value)| format!("{key}={value}")).join(", ");
            return Err(format!("the key is unknown{hint}; known are {known}"));
        }
    }
    Ok(())
}

fn number<N: FromStr>(key: &str, value: &str) -> Result<N, String> {
    let example = KEYS.iter().find(|(known, _)| *known == key).map_or("1", |(_, example)| example);
    value.parse().map_err(|_| format!("{value:?} is no whole number in range; write for example {key}={example}"))
}
