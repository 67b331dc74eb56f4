//! PURE: what an NVMe controller can erase itself, how far that reaches, and how far it is, from its answers as bytes.
//!
//! Sources: NVM Express Base Specification 2.0, figures 275 (Identify Controller: OACS, SANICAP, FNA), 201 (Sanitize
//! Status log), 87 and 96 to 99 (status codes), 5.14 (Format NVM), 5.24 (Sanitize); NVM Command Set 1.0, figure 97
//! (Identify Namespace: FLBAS, DPS, FPI). All numbers are little-endian.

use serde::{Deserialize, Serialize};

use super::{u16_at, u32_at};

/// A way in which a drive sanitizes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SanitizeAction {
    /// Erases all blocks of flash.
    BlockErase,
    /// Changes the key that everything is encrypted with.
    CryptoErase,
    /// Overwrites everything once with zeros.
    Overwrite,
}

impl SanitizeAction {
    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            SanitizeAction::BlockErase => "block erase",
            SanitizeAction::CryptoErase => "crypto erase",
            SanitizeAction::Overwrite => "overwrite",
        }
    }

    /// Dword 10 of the command: the action, one pass of overwriting, leaving a failure allowed (AUSE), so that a drive
    /// whose sanitize fails can be used again, and blocks deallocated at the end.
    pub(in crate::target) fn dword_10(self) -> u32 {
        const AUSE: u32 = 1 << 3;
        const ONE_PASS: u32 = 1 << 4;
        let action = match self {
            SanitizeAction::BlockErase => 2,
            SanitizeAction::Overwrite => 3 | ONE_PASS,
            SanitizeAction::CryptoErase => 4,
        };
        action | AUSE
    }
}

/// What a controller can erase itself, and how far that reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abilities {
    /// Whether it has Format NVM.
    pub formats: bool,
    /// Whether a format, or its erasure, is of all namespaces of the subsystem at once.
    pub formats_all: bool,
    /// How it can sanitize, the best first: block erase, crypto erase, overwrite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sanitizes: Vec<SanitizeAction>,
    /// Whether other controllers, perhaps of other hosts, belong to the same subsystem.
    pub other_controllers: bool,
}

/// Identify Controller, 4096 bytes.
pub(in crate::target) fn abilities(page: &[u8]) -> Option<Abilities> {
    let (oacs, sanicap, fna) = (u16_at(page, 256)?, u32_at(page, 328)?, *page.get(524)?);
    let actions = [(1, SanitizeAction::BlockErase), (0, SanitizeAction::CryptoErase), (2, SanitizeAction::Overwrite)];
    Some(Abilities {
        formats: oacs & 1 << 1 != 0,
        formats_all: fna & 0b11 != 0,
        sanitizes: actions.into_iter().filter(|(bit, _)| sanicap & 1 << bit != 0).map(|(_, action)| action).collect(),
        other_controllers: page.get(76)? & 1 << 1 != 0,
    })
}

/// Dword 10 of Format NVM that erases user data and keeps all else of the namespace as it is: Identify Namespace, 4096
/// bytes.
pub(in crate::target) fn format_as_it_is(page: &[u8]) -> Option<u32> {
    const ERASE_USER_DATA: u32 = 1 << 9;
    let (flbas, dps) = (u32::from(*page.get(26)?), u32::from(*page.get(29)?));
    let (low, in_line, high) = (flbas & 0x0f, flbas >> 4 & 1, flbas >> 5 & 0x03);
    // Type of protection information, then whether it is the first eight bytes.
    let (protection, first) = (dps & 0x07, dps >> 3 & 1);
    Some(low | in_line << 4 | protection << 5 | first << 8 | ERASE_USER_DATA | high << 12)
}

/// Share of a format that is still to be done, in percent: 0 when none is under way; none where the drive does not say.
pub(in crate::target) fn format_left(page: &[u8]) -> Option<u8> {
    let progress = *page.get(32)?;
    (progress & 0x80 != 0).then_some(progress & 0x7f)
}

/// Where the last sanitize of a subsystem stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) enum Sanitized {
    /// There was none, ever.
    Never,
    /// It came to its end.
    Done,
    /// It is under way; thousandths done.
    UnderWay(u32),
    /// It failed.
    Failed,
    /// A status that this program does not know.
    Unknown(u16),
}

/// The Sanitize Status log, page 81h, 512 bytes.
pub(in crate::target) fn sanitized(page: &[u8]) -> Option<Sanitized> {
    let (progress, status) = (u16_at(page, 0)?, u16_at(page, 2)?);
    Some(match status & 0x07 {
        0 => Sanitized::Never,
        // 4: as asked, but blocks were not deallocated at the end.
        1 | 4 => Sanitized::Done,
        2 => Sanitized::UnderWay(u32::from(progress) * 1000 / 65536),
        3 => Sanitized::Failed,
        _ => Sanitized::Unknown(status),
    })
}

/// The numbers in a list of namespaces, 4096 bytes: it ends with the first zero.
pub(in crate::target) fn numbers(page: &[u8]) -> Vec<u32> {
    let all = page.chunks_exact(4).filter_map(|number| u32_at(number, 0));
    all.take_while(|&number| number > 0).collect()
}

/// A drive's status, type in bits 8 to 10 and code in bits 0 to 7, in words.
pub(in crate::target) fn status_words(status: u16) -> String {
    let words = match status & 0x7ff {
        0x001 => "it does not know the command",
        0x002 => "it does not take these settings",
        0x004 => "the data transfer failed",
        0x006 => "an error within the drive",
        0x007 => "the command was aborted",
        0x00b => "no such namespace, or it does not allow that of one alone",
        0x00c => "not in this sequence",
        0x015 => "the drive denies it: it is locked, or another host has reserved it",
        0x01c => "an earlier sanitize failed, and the drive does nothing else until it is sanitized again",
        0x01d => "a sanitize is under way",
        0x020 => "the namespace is write-protected",
        0x083 => "another host has reserved the namespace",
        0x084 => "a format is under way",
        0x10a => "it does not take this format",
        0x10b => "its new firmware wants a reset first",
        0x123 => "its persistent memory region is on",
        _ => "see the NVM Express Base Specification, status codes",
    };
    format!("{words} (NVMe status {status:03x}h)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut page = vec![0; 4096];
        for (at, bytes) in parts {
            page[*at..*at + bytes.len()].copy_from_slice(bytes);
        }
        page
    }

    #[test]
    fn a_controller_says_what_it_can_erase_and_how_far_that_reaches() {
        let none = Abilities::default();
        assert_eq!(abilities(&page(&[])), Some(none.clone()));
        assert_eq!(abilities(&page(&[(256, &[0x02])])), Some(Abilities { formats: true, ..none.clone() }));
        for fna in [1, 2, 3, 7] {
            assert!(abilities(&page(&[(524, &[fna])])).unwrap().formats_all, "{fna}");
        }
        assert!(!abilities(&page(&[(524, &[0b1100])])).unwrap().formats_all);
        let all = abilities(&page(&[(76, &[2]), (328, &[0x07])])).unwrap();
        let best_first = [SanitizeAction::BlockErase, SanitizeAction::CryptoErase, SanitizeAction::Overwrite];
        assert_eq!((all.sanitizes, all.other_controllers), (best_first.to_vec(), true));
        assert_eq!(abilities(&[0; 400]), None);
    }

    #[test]
    fn a_format_keeps_block_size_metadata_and_protection_and_erases_user_data() {
        let check = |flbas: u8, dps: u8, expect: u32| {
            assert_eq!(format_as_it_is(&page(&[(26, &[flbas]), (29, &[dps])])), Some(expect), "{flbas:x} {dps:x}");
        };
        check(0, 0, 0x200);
        check(0x03, 0, 0x203);
        check(0x11, 0x02, 0x251);
        check(0x01, 0x09, 0x321);
        // The upper two bits of the format's number stand at 12 and 13.
        check(0x63, 0, 0x3203);
    }

    #[test]
    fn sanitize_leaves_a_way_out_of_its_failure_and_deallocates() {
        let actions = [SanitizeAction::BlockErase, SanitizeAction::CryptoErase, SanitizeAction::Overwrite];
        assert_eq!(actions.map(SanitizeAction::dword_10), [0x0a, 0x0c, 0x1b]);
    }

    #[test]
    fn the_log_says_where_a_sanitize_stands() {
        let check = |progress: u16, status: u16, expect| {
            let page = page(&[(0, &progress.to_le_bytes()), (2, &status.to_le_bytes())]);
            assert_eq!(sanitized(&page), Some(expect), "{progress} {status:x}");
        };
        check(0xffff, 0, Sanitized::Never);
        check(0xffff, 0x101, Sanitized::Done);
        check(0xffff, 0x104, Sanitized::Done);
        check(0x8000, 0x002, Sanitized::UnderWay(500));
        check(0x4000, 0x003, Sanitized::Failed);
        check(0, 0x007, Sanitized::Unknown(7));
        assert_eq!(sanitized(&[0; 2]), None);
    }

    #[test]
    fn formats_that_go_on_lists_of_namespaces_and_statuses_are_read() {
        let left = |fpi: u8| format_left(&page(&[(32, &[fpi])]));
        assert_eq!([left(0), left(0x80), left(0xe4)], [None, Some(0), Some(100)]);
        assert_eq!(numbers(&page(&[(0, &[1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9])])), [1, 7]);
        assert!(status_words(0x10a).contains("this format (NVMe status 10ah)"));
        assert!(status_words(0x7ff).contains("7ffh"));
    }
}
