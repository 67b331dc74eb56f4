//! Answers as the standards lay them out → who has reserved the drive.

use super::*;

/// PERSISTENT RESERVE IN: generation 7, then so many bytes.
fn page(rest: &[u8]) -> Vec<u8> {
    [&7_u32.to_be_bytes()[..], &(rest.len() as u32).to_be_bytes(), rest, &[0; 32]].concat()
}

fn keys(keys: &[u64]) -> Vec<u8> {
    page(&keys.iter().flat_map(|key| key.to_be_bytes()).collect::<Vec<u8>>())
}

/// Key, an obsolete field, a reserved byte, scope (logical unit: 0) and type, two obsolete bytes.
fn reserved(key: u64, code: u8) -> Vec<u8> {
    page(&[&key.to_be_bytes()[..], &[0; 5], &[code], &[0; 2]].concat())
}

fn said(found: Result<Option<Reserved>, String>) -> String {
    found.unwrap().map(|state| Reservation { drive: "sda".to_owned(), state }.to_string()).unwrap_or_default()
}

#[test]
fn a_scsi_drive_that_nobody_registered_with_is_free() {
    assert_eq!(scsi(&page(&[]), &keys(&[])), Ok(None));
}

#[test]
fn keys_without_a_reservation_are_told_and_do_not_bind() {
    let found = scsi(&page(&[]), &keys(&[0xabc, 0xdef])).unwrap().unwrap();
    let found = Reservation { drive: "sda".to_owned(), state: found };
    assert!(!found.binds());
    assert_eq!(found.to_string(), "sda is not reserved, but keys for it are registered: 0xabc, 0xdef");
}

#[test]
fn each_type_of_scsis_has_its_name_and_its_holder() {
    let check = |code, words: &str| assert_eq!(said(scsi(&reserved(0xabc, code), &keys(&[0xabc]))), words);
    let one = |name| format!("sda has a persistent reservation ({name}), held by the key 0xabc; registered are 0xabc");
    check(1, &one("write exclusive"));
    check(3, &one("exclusive access"));
    check(5, &one("write exclusive, registrants only"));
    check(6, &one("exclusive access, registrants only"));
    let all = "held by all who registered; registered are 0xabc";
    check(7, &format!("sda has a persistent reservation (write exclusive, all registrants), {all}"));
    check(8, &format!("sda has a persistent reservation (exclusive access, all registrants), {all}"));
}

#[test]
fn what_the_standard_does_not_have_is_unknown_and_not_free() {
    for code in [0, 2, 4, 9, 15] {
        assert!(scsi(&reserved(1, code), &keys(&[1])).is_err(), "type {code}");
    }
    assert!(scsi(&[0; 7], &keys(&[])).is_err());
    assert!(scsi(&page(&[]), &[0; 3]).is_err());
    // The reservation's length is said, and its bytes are missing.
    assert!(scsi(&[0, 0, 0, 7, 0, 0, 0, 16, 0, 0], &keys(&[])).is_err());
    assert!(nvme(&[0; 4], false).is_err() && nvme(&[0; 30], true).is_err());
    assert!(nvme(&status(7, &[], false), false).is_err());
}

#[test]
fn more_keys_than_were_asked_for_are_keys_all_the_same() {
    let mut cut = keys(&[1, 2]);
    cut[4..8].copy_from_slice(&8000_u32.to_be_bytes());
    cut.truncate(8 + 16);
    assert_eq!(scsi(&page(&[]), &cut), Ok(Some(Reserved::Registered { keys: vec!["0x1".into(), "0x2".into()] })));
}

#[test]
fn a_drive_that_does_not_know_the_command_has_no_reservations_and_any_other_failure_is_unknown() {
    let check = |status, host_status, sense: &[u8], expect: ScsiMeaning| {
        assert_eq!(meaning(&Answer { status, host_status, sense: sense.to_vec() }), expect);
    };
    check(0, 0, &[], ScsiMeaning::Good);
    // Invalid command operation code, as fixed and as descriptor sense.
    check(2, 0, &[0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0], ScsiMeaning::NotSupported);
    check(2, 0, &[0x72, 5, 0x20, 0, 0, 0, 0, 0], ScsiMeaning::NotSupported);
    // As vmw_pvscsi tells it: no status, an error of the adapter, and sense data.
    check(0, 7, &[0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0], ScsiMeaning::NotSupported);
    // Reservations preempted: a unit attention, told once.
    check(2, 0, &[0x70, 0, 6, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x2a, 0x03], ScsiMeaning::Again);
    check(0x18, 0, &[], ScsiMeaning::Conflict);
    check(2, 0, &[0x70, 0, 2], ScsiMeaning::Failed("status 0x02, sense key 0x2, host adapter 0x0".into()));
    check(2, 0, &[], ScsiMeaning::Failed("status 0x02, host adapter 0x0".into()));
    check(0, 1, &[], ScsiMeaning::Failed("status 0x00, host adapter 0x1".into()));
}

/// NVMe's report: generation, type, registrants; each holds it or not, and has a key.
fn status(kind: u8, registrants: &[(bool, u64)], long: bool) -> Vec<u8> {
    let (header, size) = if long { LONG } else { SHORT };
    let mut page = vec![0; header];
    page[0] = 7;
    page[4] = kind;
    page[5..7].copy_from_slice(&(registrants.len() as u16).to_le_bytes());
    for (holds, key) in registrants {
        let mut entry = vec![0; size];
        entry[0] = 1;
        entry[2] = u8::from(*holds);
        let (key_at, host_at) = if long { (8, 16) } else { (16, 8) };
        entry[key_at..key_at + 8].copy_from_slice(&key.to_le_bytes());
        entry[host_at..host_at + 8].copy_from_slice(&0x55_u64.to_le_bytes());
        page.extend(entry);
    }
    page.resize(4096, 0);
    page
}

#[test]
fn an_nvme_drive_says_it_in_both_forms() {
    for long in [false, true] {
        assert_eq!(nvme(&status(0, &[], long), long), Ok(None));
        let registered = nvme(&status(0, &[(false, 0x11)], long), long);
        assert_eq!(registered, Ok(Some(Reserved::Registered { keys: vec!["0x11".into()] })));
        let held = said(nvme(&status(3, &[(false, 0x11), (true, 0x22)], long), long));
        assert_eq!(
            held,
            "sda has a persistent reservation (write exclusive, registrants only), held by the key 0x22; \
             registered are 0x11, 0x22"
        );
        let all = said(nvme(&status(6, &[(true, 0x11), (true, 0x22)], long), long));
        assert!(all.contains("(exclusive access, all registrants), held by all who registered"), "{all}");
    }
}
