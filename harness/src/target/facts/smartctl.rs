//! PURE: what `smartctl --json` prints of a SATA, SAS or USB drive → what is known of it.
//!
//! Source: smartctl(8), `--json`, version 7. Tolerant: a field that is missing or of another type is unknown.

use serde_json::Value;

use super::Condition;

/// What smartctl says of a drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) serial: Option<String>,
    pub(super) firmware: Option<String>,
    pub(super) link_most: Option<String>,
    /// Whether the volatile write cache is on.
    pub(super) write_cache: Option<bool>,
    pub(super) condition: Condition,
    /// Why it could not ask, where it says so.
    pub(super) refused: Option<String>,
}

/// ATA attributes that count errors, by their number (ACS has none of them: vendors agree on these).
const ATTRIBUTES: [(u64, &str); 5] = [
    (5, "reallocated_sectors"),
    (187, "media_errors"),
    (197, "pending_sectors"),
    (198, "uncorrectable_sectors"),
    (199, "crc_errors"),
];

/// None where the text is no answer of smartctl's.
pub(super) fn parse(text: &str) -> Option<Answer> {
    let all: Value = serde_json::from_str(text).ok()?;
    all.get("smartctl")?;
    let at = |path: &str| all.pointer(path);
    let count = |path: &str| at(path).and_then(Value::as_u64);
    let said = |path: &str| at(path).and_then(Value::as_str).map(str::to_owned);
    let mut condition = Condition {
        temperature_c: at("/temperature/current").and_then(Value::as_i64),
        critical_c: at("/temperature/drive_trip").and_then(Value::as_i64).filter(|&limit| limit > 0),
        percentage_used: count("/endurance_used/current_percent")
            .or_else(|| count("/scsi_percentage_used_endurance_indicator")),
        ..Condition::default()
    };
    let mut note = |name: &str, value: Option<u64>| {
        if let Some(value) = value {
            condition.counters.insert(name.to_owned(), value);
        }
    };
    for attribute in at("/ata_smart_attributes/table").and_then(Value::as_array).into_iter().flatten() {
        let id = attribute.get("id").and_then(Value::as_u64);
        if let Some((_, name)) = ATTRIBUTES.iter().find(|(known, _)| Some(*known) == id) {
            note(name, attribute.pointer("/raw/value").and_then(Value::as_u64));
        }
    }
    note(
        "error_log_entries",
        count("/ata_smart_error_log/summary/count").or_else(|| count("/ata_smart_error_log/extended/count")),
    );
    note("grown_defects", count("/scsi_grown_defect_list"));
    note("media_errors", count("/scsi_error_counter_log/write/total_uncorrected_errors"));
    let passed = at("/smart_status/passed").and_then(Value::as_bool);
    note("critical_warning", passed.map(|passed| u64::from(!passed)));
    let message = said("/smartctl/messages/0/string").filter(|_| condition == Condition::default());
    Some(Answer {
        serial: said("/serial_number"),
        firmware: said("/firmware_version").or_else(|| said("/scsi_revision")),
        link_most: said("/interface_speed/max/string"),
        write_cache: at("/write_cache/enabled").and_then(Value::as_bool),
        refused: message,
        condition,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sata_drives_answer_gives_identity_link_cache_and_errors() {
        let answer = parse(
            r#"{"json_format_version":[1,0],"smartctl":{"version":[7,3],"exit_status":0},
            "model_name":"WDC WD40EFRX-68N32N0","serial_number":"WD-WCC7K1234567","firmware_version":"82.00A82",
            "interface_speed":{"max":{"string":"6.0 Gb/s"},"current":{"string":"3.0 Gb/s"}},
            "write_cache":{"enabled":true},"smart_status":{"passed":true},"temperature":{"current":31},
            "ata_smart_attributes":{"table":[{"id":5,"name":"Reallocated_Sector_Ct","raw":{"value":2}},
              {"id":199,"name":"UDMA_CRC_Error_Count","raw":{"value":17}},{"id":9,"raw":{"value":4000}}]},
            "ata_smart_error_log":{"summary":{"revision":1,"count":3}}}"#,
        )
        .unwrap();
        assert_eq!(answer.firmware.as_deref(), Some("82.00A82"));
        assert_eq!((answer.link_most.as_deref(), answer.write_cache), (Some("6.0 Gb/s"), Some(true)));
        assert_eq!(answer.condition.temperature_c, Some(31));
        let counters: Vec<(&str, u64)> =
            answer.condition.counters.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        let expect =
            [("crc_errors", 17), ("critical_warning", 0), ("error_log_entries", 3), ("reallocated_sectors", 2)];
        assert_eq!(counters, expect);
    }

    #[test]
    fn a_refusal_is_told_and_nothing_is_made_up() {
        let text = r#"{"smartctl":{"messages":[{"string":"Smartctl open device: /dev/sda failed: Permission denied",
            "severity":"error"}],"exit_status":2}}"#;
        let answer = parse(text).unwrap();
        assert!(answer.refused.unwrap().contains("Permission denied"));
        assert_eq!(answer.condition, Condition::default());
    }

    #[test]
    fn fields_of_other_types_are_unknown_and_other_text_is_no_answer() {
        let odd = r#"{"smartctl":[],"temperature":"hot","write_cache":{"enabled":"yes"},"serial_number":7,
            "ata_smart_attributes":{"table":[{"id":"5"},7,{"id":5,"raw":{"value":-1}}]},"smart_status":null}"#;
        assert_eq!(parse(odd), Some(Answer::default()));
        assert_eq!((parse("[]"), parse("not JSON"), parse("")), (None, None, None));
    }
}
