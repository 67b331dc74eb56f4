//! What a device promises that discarded blocks read as, from what the drive answered and from the kernel's tree.
//!
//! Sources: NVM Command Set 1.0, figure 97 (DLFEAT); SBC-4, 6.6.9 (VPD page B2h, LBPRZ); ACS-4, 7.13.6 (IDENTIFY DEVICE,
//! words 69 and 169; DRAT and RZAT). Only of a drive itself: what is stacked upon one promises nothing. A drive may ignore
//! a discard all the same; then it has broken no promise, and was not purged either.

use std::fs;
use std::path::Path;

use super::super::sysfs;
use super::super::{Drive, drive};
use crate::sample::purge::Reads;

/// The promise of the whole disk `disk`; none where there is none, or nobody knows.
pub(super) fn read(disk: &Path, known: Option<&Drive>) -> Option<Reads> {
    if !drive::beneath(disk).is_empty() {
        return None;
    }
    let answered = known.and_then(|drive| drive.details.reads_after_discard.as_deref());
    match answered {
        Some("zeros") => return Some(Reads::Zeros),
        Some("ones") => return Some(Reads::Ones),
        _ => {}
    }
    let scsi = || fs::read(disk.join("device/vpd_pgb2")).is_ok_and(|page| scsi_zeros(&page));
    (scsi() || ata_words(disk).is_some_and(|words| ata_zeros(&words))).then_some(Reads::Zeros)
}

/// Bits 4 to 2 of byte 5: xx1b is zeros.
fn scsi_zeros(page: &[u8]) -> bool {
    page.get(1) == Some(&0xb2) && page.get(5).is_some_and(|byte| byte & 1 << 2 != 0)
}

/// What an ATA drive answers to IDENTIFY DEVICE: `ata1/link1/dev1.0/ata_device/dev1.0/id`.
fn ata_words(disk: &Path) -> Option<Vec<u16>> {
    let device = disk.join("device").canonicalize().ok()?;
    let is_port = |at: &&Path| {
        sysfs::name(at).strip_prefix("ata").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let port = device.ancestors().find(is_port)?;
    let links = sysfs::children(port).into_iter().filter(|link| sysfs::name(link).starts_with("link"));
    let mut devices =
        links.flat_map(|link| sysfs::children(&link)).map(|at| at.join("ata_device").join(sysfs::name(&at)));
    let text = devices.find_map(|device| fs::read_to_string(device.join("id")).ok())?;
    text.split_whitespace().map(|word| u16::from_str_radix(word, 16).ok()).collect()
}

/// TRIM is there, deterministic, and leaves zeros.
fn ata_zeros(words: &[u16]) -> bool {
    const DRAT: u16 = 1 << 14;
    const RZAT: u16 = 1 << 5;
    let bits = |word: usize, bits: u16| words.get(word).is_some_and(|word| word & bits == bits);
    bits(169, 1) && bits(69, DRAT | RZAT)
}

#[cfg(test)]
mod tests {
    use super::super::super::recorded::{Tree, device};
    use super::*;
    use crate::target::facts::mounts::Mounts;

    const DISK: &str = "pci0000:00/ata1/host0/target0:0:0/block/sda";

    fn promised(tree: &Tree, number: &str) -> Option<Reads> {
        let host = tree.host();
        let disk = host.block(device(number)).unwrap();
        read(&disk, drive::read(device(number), &host, &Mounts::default()).as_ref())
    }

    #[test]
    fn a_scsi_drive_promises_by_its_page_and_only_for_itself() {
        let page = |byte: u8| [0, 0xb2, 0, 4, 0, byte, 0, 0];
        assert_eq!([0xe4, 0xfc, 0xe0, 0xe8].map(|byte| scsi_zeros(&page(byte))), [true, true, false, false]);
        assert!(!scsi_zeros(&[0, 0xb1, 0, 4, 0, 0xff]) && !scsi_zeros(&[]));
        let tree = Tree::new();
        tree.block(DISK, "8:0", &[]).file(&format!("sys/devices/{DISK}/device/vpd_pgb2"), page(0xe4));
        tree.block("virtual/block/dm-0", "253:0", &[]).over("virtual/block/dm-0", DISK);
        assert_eq!((promised(&tree, "8:0"), promised(&tree, "253:0")), (Some(Reads::Zeros), None));
    }

    #[test]
    fn a_sata_drive_promises_by_its_words() {
        let check = |w69: u16, w169: u16, expect: Option<Reads>| {
            let mut words = [0_u16; 256];
            (words[69], words[169]) = (w69, w169);
            let lines = words.chunks(8).map(|line| line.iter().map(|word| format!("{word:04x}")).collect::<Vec<_>>());
            let text = lines.map(|line| line.join(" ") + "\n").collect::<String>();
            let tree = Tree::new();
            let sys = "sys/devices/pci0000:00/ata1";
            tree.block(DISK, "8:0", &[]).file(&format!("{sys}/host0/target0:0:0/0:0:0:0/type"), "0");
            tree.link(&format!("sys/devices/{DISK}/device"), &format!("{sys}/host0/target0:0:0/0:0:0:0"));
            tree.file(&format!("{sys}/link1/dev1.0/ata_device/dev1.0/id"), text);
            assert_eq!(promised(&tree, "8:0"), expect, "{w69:x} {w169:x}");
        };
        check(0x4020, 1, Some(Reads::Zeros));
        check(0x4000, 1, None);
        check(0x0020, 1, None);
        check(0x4020, 0, None);
    }
}
