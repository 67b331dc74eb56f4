//! PURE: what an NVMe controller answers, as bytes → what it says of the drive.
//!
//! Sources: NVM Express Base Specification 2.0, figures 275 (Identify Controller) and 207 (SMART / Health log); NVM
//! Command Set 1.0, figure 97 (Identify Namespace); OCP Datacenter NVMe SSD Specification 2.5, SMART-1 to SMART-31
//! (log page C0h). All numbers are little-endian. Asks nothing: `controller` does.

pub(in crate::target) mod erase;

use super::Condition;
use crate::units::Bytes;

/// What a controller says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Controller {
    pub(super) serial: Vec<u8>,
    pub(super) model: Vec<u8>,
    pub(super) firmware: Vec<u8>,
    /// How many namespaces there may be.
    pub(super) namespaces: u32,
    /// Whether there is a volatile write cache.
    pub(super) write_cache: bool,
    /// Whether it can change its power state by itself.
    pub(super) apst: bool,
    /// Whether its namespaces may be reserved.
    pub(super) reservations: bool,
    pub(super) warning_c: Option<i64>,
    pub(super) critical_c: Option<i64>,
}

/// What it says of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::target) struct Namespace {
    /// Bytes of data and of metadata a block, and where the metadata are.
    pub(super) lba_format: String,
    /// Blocks in use; as many as there are where nothing is counted.
    pub(in crate::target) used: Option<Bytes>,
    /// The same as the drive says it, count or not.
    pub(in crate::target) said_used: Bytes,
    pub(super) nguid: Option<String>,
    pub(super) eui64: Option<String>,
    /// What a read of deallocated blocks gives; none where the drive does not say.
    pub(super) after_discard: Option<&'static str>,
}

/// Identify Controller, 4096 bytes.
pub(super) fn controller(page: &[u8]) -> Option<Controller> {
    Some(Controller {
        serial: page.get(4..24)?.to_vec(),
        model: page.get(24..64)?.to_vec(),
        firmware: page.get(64..72)?.to_vec(),
        namespaces: u32_at(page, 516)?,
        write_cache: page.get(525)? & 1 == 1,
        apst: page.get(265)? & 1 == 1,
        reservations: u16_at(page, 520)? & 1 << 5 != 0,
        warning_c: celsius(u16_at(page, 266)?),
        critical_c: celsius(u16_at(page, 268)?),
    })
}

/// Identify Namespace, 4096 bytes.
pub(in crate::target) fn namespace(page: &[u8]) -> Option<Namespace> {
    let format_byte = *page.get(26)?;
    let index = usize::from(format_byte & 0x0f | (format_byte & 0x60) >> 1);
    let format = page.get(128 + 4 * index..132 + 4 * index)?;
    let (metadata, shift) = (u16_at(format, 0)?, u32::from(format[2]));
    let block = 1u64.checked_shl(shift).filter(|_| (9..=32).contains(&shift))?;
    let place = match (metadata, format_byte & 0x10) {
        (0, _) => "",
        (_, 0) => " apart",
        _ => " in line",
    };
    let (size, used) = (u64_at(page, 0)?, u64_at(page, 16)?);
    let thin = page.get(24)? & 1 == 1;
    let said_used = Bytes(used.saturating_mul(block));
    Some(Namespace {
        lba_format: format!("{block}+{metadata}{place}"),
        // A drive that does not count says that everything is in use.
        used: (thin || used != size).then_some(said_used),
        said_used,
        nguid: hex(page.get(104..120)?),
        eui64: hex(page.get(120..128)?),
        after_discard: match page.get(33)? & 0x07 {
            1 => Some("zeros"),
            2 => Some("ones"),
            _ => None,
        },
    })
}

/// The SMART / Health log, 512 bytes.
pub(super) fn smart(page: &[u8]) -> Option<Condition> {
    let throttle = |at| u32_at(page, at).map(u64::from);
    let counters = [
        ("critical_warning", Some(u64::from(*page.first()?))),
        ("media_errors", u128_at(page, 160)),
        ("error_log_entries", u128_at(page, 176)),
        ("unsafe_shutdowns", u128_at(page, 144)),
        ("thermal_events", Some(throttle(216)?.saturating_add(throttle(220)?))),
        ("thermal_s", Some(throttle(224)?.saturating_add(throttle(228)?))),
        ("over_warning_min", throttle(192)),
        ("over_critical_min", throttle(196)),
    ];
    let counters = counters.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?)));
    Some(Condition {
        temperature_c: celsius(u16_at(page, 1)?),
        percentage_used: Some(u64::from(*page.get(5)?)),
        // Neither spare blocks nor a threshold for them: the drive does not count them.
        spare_percent: Some(u64::from(*page.get(3)?)).filter(|&spare| spare > 0 || page[4] > 0),
        counters: counters.collect(),
        // Thousands of 512 bytes.
        host_written: u128_at(page, 48).map(|units| Bytes(units.saturating_mul(512_000))),
        ..Condition::default()
    })
}

/// The page's own identity, in its last 16 bytes: AFD514C9-7C6F-4F9C-A4F2-BFEA2810AFC5.
const OCP: [u8; 16] = [0xC5, 0xAF, 0x10, 0x28, 0xEA, 0xBF, 0xF2, 0xA4, 0x9C, 0x4F, 0x6F, 0x7C, 0xC9, 0x14, 0xD5, 0xAF];

/// OCP's extended SMART log, page C0h, 512 bytes; none where the vendor put something else there.
pub(super) fn ocp(page: &[u8]) -> Option<Condition> {
    if page.get(496..512)? != OCP {
        return None;
    }
    let counters = [
        ("thermal_events_ocp", Some(u64::from(*page.get(96)?))),
        ("uncorrectable_reads", u64_at(page, 56)),
        ("pcie_errors_drive", u64_at(page, 104)),
        ("link_retrains", u64_at(page, 192)),
    ];
    Some(Condition {
        throttled: Some(*page.get(97)? != 0),
        media_written: u128_at(page, 0).map(Bytes),
        counters: counters.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?))).collect(),
        ..Condition::default()
    })
}

/// Kelvin as the log has it; 0 is unknown.
fn celsius(kelvin: u16) -> Option<i64> {
    (kelvin > 0).then(|| i64::from(kelvin) - 273)
}

fn hex(id: &[u8]) -> Option<String> {
    id.iter().any(|byte| *byte != 0).then(|| id.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn bytes_at<const N: usize>(page: &[u8], at: usize) -> Option<[u8; N]> {
    page.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(page: &[u8], at: usize) -> Option<u16> {
    bytes_at(page, at).map(u16::from_le_bytes)
}

fn u32_at(page: &[u8], at: usize) -> Option<u32> {
    bytes_at(page, at).map(u32::from_le_bytes)
}

fn u64_at(page: &[u8], at: usize) -> Option<u64> {
    bytes_at(page, at).map(u64::from_le_bytes)
}

/// A counter of 128 bits, capped at 64: no drive will get there.
fn u128_at(page: &[u8], at: usize) -> Option<u64> {
    bytes_at(page, at).map(|raw| u64::try_from(u128::from_le_bytes(raw)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of zeros with some bytes put in.
    fn page(size: usize, parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut page = vec![0; size];
        for (at, bytes) in parts {
            page[*at..*at + bytes.len()].copy_from_slice(bytes);
        }
        page
    }

    #[test]
    fn a_controller_says_who_it_is_and_where_it_gets_too_hot() {
        let page = page(
            4096,
            &[
                (4, b"S5GXNX0R123456      "),
                (24, b"Samsung SSD 980 PRO 1TB                 "),
                (64, b"5B2QGXA7"),
                (265, &[1]),
                (266, &[0x63, 0x01]),
                (268, &[0x67, 0x01]),
                (516, &[32, 0, 0, 0]),
                (525, &[7]),
            ],
        );
        let controller = controller(&page).unwrap();
        assert_eq!((controller.firmware.as_slice(), controller.namespaces), (&b"5B2QGXA7"[..], 32));
        assert_eq!((controller.write_cache, controller.apst), (true, true));
        assert_eq!((controller.warning_c, controller.critical_c), (Some(82), Some(86)));
    }

    #[test]
    fn a_namespace_says_its_format_what_is_used_and_what_a_discard_leaves() {
        let size = 244_190_646_u64.to_le_bytes();
        let nguid: Vec<u8> = (1..=16).collect();
        let parts: &[(usize, &[u8])] = &[
            (0, &size),
            (16, &[0, 1]),
            (26, &[0x11]),
            (33, &[0x09]),
            (104, &nguid),
            (120, &[0, 0x25, 0x38, 0x5b, 0x11, 0x23, 0x45, 0x67]),
            (128, &[0, 0, 9, 0]),
            (132, &[8, 0, 12, 0]),
        ];
        let namespace = namespace(&page(4096, parts)).unwrap();
        assert_eq!(namespace.lba_format, "4096+8 in line");
        assert_eq!(namespace.used, Some(Bytes(256 * 4096)));
        assert_eq!(namespace.nguid.as_deref(), Some("0102030405060708090a0b0c0d0e0f10"));
        assert_eq!(namespace.eui64.as_deref(), Some("0025385b11234567"));
        assert_eq!(namespace.after_discard, Some("zeros"));
    }

    #[test]
    fn a_namespace_that_does_not_count_is_not_said_to_be_full() {
        let parts: &[(usize, &[u8])] = &[(0, &[9]), (16, &[9]), (128, &[0, 0, 9, 0])];
        let namespace = namespace(&page(4096, parts)).unwrap();
        assert_eq!((namespace.used, namespace.nguid, namespace.after_discard), (None, None, None));
        assert_eq!(namespace.lba_format, "512+0");
    }

    #[test]
    fn the_health_log_says_heat_wear_and_errors() {
        let parts: &[(usize, &[u8])] = &[
            (0, &[0x04]),
            (1, &[0x3d, 0x01]),
            (3, &[97]),
            (5, &[12]),
            (48, &1_000_000_u64.to_le_bytes()),
            (160, &[3]),
            (176, &[7]),
            (216, &[5]),
            (220, &[1]),
            (224, &[60]),
        ];
        let found = smart(&page(512, parts)).unwrap();
        assert_eq!((found.temperature_c, found.percentage_used, found.spare_percent), (Some(44), Some(12), Some(97)));
        assert_eq!(found.host_written, Some(Bytes(512_000_000_000)));
        let counter = |name: &str| found.counters.get(name).copied();
        assert_eq!((counter("media_errors"), counter("error_log_entries")), (Some(3), Some(7)));
        assert_eq!((counter("thermal_events"), counter("thermal_s")), (Some(6), Some(60)));
        assert_eq!(counter("critical_warning"), Some(4));
    }

    #[test]
    fn a_drive_that_does_not_count_its_spare_blocks_has_not_used_them_up() {
        let spare = |spare: u8, threshold: u8| smart(&page(512, &[(3, &[spare, threshold])])).unwrap().spare_percent;
        assert_eq!((spare(0, 0), spare(0, 10), spare(100, 10)), (None, Some(0), Some(100)));
    }

    #[test]
    fn ocps_log_gives_media_writes_and_with_the_health_log_the_amplification() {
        let parts: &[(usize, &[u8])] =
            &[(0, &1_280_000_000_000_u64.to_le_bytes()), (96, &[2]), (97, &[1]), (192, &[4]), (496, &OCP)];
        let mut found = smart(&page(512, &[(48, &1_000_000_u64.to_le_bytes())])).unwrap();
        found.add(ocp(&page(512, parts)).unwrap());
        assert_eq!(found.write_amplification_permille(), Some(2500));
        assert_eq!((found.throttled, found.counters.get("link_retrains")), (Some(true), Some(&4)));
    }

    #[test]
    fn a_vendors_own_page_at_the_same_number_is_not_ocps_and_short_answers_are_none() {
        assert_eq!(ocp(&[0xff; 512]), None);
        assert_eq!((controller(&[0; 500]), namespace(&[0; 100]), smart(&[0; 20])), (None, None, None));
        assert_eq!(namespace(&page(4096, &[(128, &[0, 0, 77, 0])])), None, "blocks of 2^77 bytes");
        assert_eq!(smart(&[0xff; 512]).unwrap().counters["media_errors"], u64::MAX);
    }
}
