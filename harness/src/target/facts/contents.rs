//! What lies on a block device: known signatures, a marker of ours, and sampled blocks that are neither zero nor ours.
//!
//! PURE: bytes come from a function of the caller's. Source of the places: `libblkid/src/superblocks/*.c` and
//! `partitions/*.c` of util-linux 2.41. What has no signature and fell between the samples is not seen: the samples find
//! data on a hundredth of a device with a probability of 99 %.

use serde::{Deserialize, Serialize};

use crate::engine::stamp::{self, Place};
use crate::target::space::{self, MARGIN};

/// What was found on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Known signatures, such as `ext2/3/4` or `LUKS`, in the order in which they are looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<String>,
    /// Sampled blocks that are neither zero nor written by this program.
    #[serde(default)]
    pub foreign_blocks: u32,
    /// Sampled blocks.
    #[serde(default)]
    pub sampled_blocks: u32,
    /// The run of ours that marked the device as its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked_by: Option<String>,
    /// Why nobody could look: then anything may lie there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

impl Contents {
    /// Whether somebody looked, and found nothing of anybody else's.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.unread.is_none() && self.signatures.is_empty() && self.foreign_blocks == 0
    }
}

/// Blocks that are looked at all over the device, besides its first and last bytes.
const SAMPLES: u64 = 512;
const BLOCK: usize = 4096;
/// Where most signatures stand.
const HEAD: usize = 256 << 10;

/// Bytes at a place, or fewer where the device ends or cannot be read.
pub(super) type Read<'a> = dyn Fn(u64, usize) -> Vec<u8> + 'a;

/// Looks at a device of `size` bytes.
pub(super) fn look(size: u64, read: &Read) -> Contents {
    let head = read(0, HEAD);
    let tail_at = size.saturating_sub(HEAD as u64);
    let tail = read(tail_at, HEAD);
    let mut found = Contents { marked_by: space::marked_by(&head), ..Contents::default() };
    if found.marked_by.is_none() {
        found.signatures.extend(signatures(&head).map(str::to_owned));
        found.signatures.extend(tables(&head).map(str::to_owned));
    }
    found.signatures.extend(at_the_end(&tail, size).map(str::to_owned));
    found.signatures.dedup();
    let ends = head.chunks(BLOCK).enumerate().map(|(n, block)| ((n * BLOCK) as u64, block));
    let ends = ends.chain(tail.chunks(BLOCK).enumerate().map(|(n, block)| (tail_at + (n * BLOCK) as u64, block)));
    let mut sample = |at: u64, block: &[u8]| {
        found.sampled_blocks += 1;
        found.foreign_blocks += u32::from(!is_zero(block) && !is_ours(at, block));
    };
    for (at, block) in ends {
        sample(at, block);
    }
    let step = (size / SAMPLES).next_multiple_of(BLOCK as u64).max(BLOCK as u64);
    for at in
        (0..SAMPLES).map(|n| n * step).take_while(|at| at + BLOCK as u64 <= tail_at).skip_while(|at| *at < HEAD as u64)
    {
        sample(at, &read(at, BLOCK));
    }
    found
}

fn is_zero(block: &[u8]) -> bool {
    block.iter().all(|&byte| byte == 0)
}

/// A marker, or a block whose stamp says that it was written to this very place of a device.
fn is_ours(at: u64, block: &[u8]) -> bool {
    let stamped = || {
        let (stamp, _) = stamp::decode(block, Place::Head)?;
        (at.checked_sub(MARGIN)? == stamp.offset).then_some(())
    };
    space::marked_by(block).is_some() || stamped().is_some()
}

/// A signature: its name, its place, its bytes.
type Magic = (&'static str, usize, &'static [u8]);

/// Those that stand at a fixed place from the device's start.
const MAGICS: &[Magic] = &[
    ("ext2/3/4", 1080, b"\x53\xef"),
    ("XFS", 0, b"XFSB"),
    ("btrfs", 65600, b"_BHRfS_M"),
    ("f2fs", 1024, b"\x10\x20\xf5\xf2"),
    ("bcache or bcachefs", 4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    ("bcachefs", 4120, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    ("LUKS", 0, b"LUKS\xba\xbe"),
    ("LUKS2", 16384, b"SKUL\xba\xbe"),
    ("LUKS2", 32768, b"SKUL\xba\xbe"),
    ("BitLocker", 3, b"-FVE-FS-"),
    ("LVM2 physical volume", 0, b"LABELONE"),
    ("LVM2 physical volume", 512, b"LABELONE"),
    ("LVM2 physical volume", 1024, b"LABELONE"),
    ("LVM2 physical volume", 1536, b"LABELONE"),
    ("Linux RAID member", 0, b"\xfc\x4e\x2b\xa9"),
    ("Linux RAID member", 4096, b"\xfc\x4e\x2b\xa9"),
    ("swap", 4086, b"SWAPSPACE2"),
    ("swap", 4086, b"SWAP-SPACE"),
    ("swap", 8182, b"SWAPSPACE2"),
    ("swap", 16374, b"SWAPSPACE2"),
    ("swap", 65526, b"SWAPSPACE2"),
    ("suspend image", 4086, b"S1SUSPEND"),
    ("suspend image", 4086, b"S2SUSPEND"),
    ("suspend image", 4086, b"ULSUSPEND"),
    ("NTFS", 3, b"NTFS    "),
    ("exFAT", 3, b"EXFAT   "),
    ("FAT", 54, b"FAT1"),
    ("FAT", 82, b"FAT32   "),
    ("ISO 9660", 32769, b"CD001"),
    ("UDF", 32769, b"BEA01"),
    ("UDF", 32769, b"NSR0"),
    ("APFS", 32, b"NXSB"),
    ("HFS+", 1024, b"H+\0\x04"),
    ("HFS+", 1024, b"HX\0\x05"),
    ("HFS", 1024, b"BD"),
    ("JFS", 32768, b"JFS1"),
    ("ReiserFS", 65588, b"ReIsEr"),
    ("Reiser4", 65536, b"ReIsEr4"),
    ("NILFS2", 1030, b"\x34\x34"),
    ("OCFS2", 2048, b"OCFSV2"),
    ("OCFS2", 4096, b"OCFSV2"),
    ("GFS2", 65536, b"\x01\x16\x19\x70"),
    ("EROFS", 1024, b"\xe2\xe1\xf5\xe0"),
    ("SquashFS", 0, b"hsqs"),
    ("cramfs", 0, b"\x45\x3d\xcd\x28"),
    ("romfs", 0, b"-rom1fs-"),
    ("Minix", 1040, b"\x7f\x13"),
    ("Minix", 1040, b"\x8f\x13"),
    ("Minix", 1040, b"\x68\x24"),
    ("Minix", 1040, b"\x78\x24"),
    ("Minix", 1048, b"\x5a\x4d"),
    ("UFS", 9564, b"\x54\x19\x01\x00"),
    ("UFS", 66908, b"\x19\x01\x54\x19"),
    ("VxFS", 1024, b"\xf5\xfc\x01\xa5"),
    ("VMFS", 0x0002_0000, b"\x0d\xd0\x01\xc0"),
    ("Ceph BlueStore", 0, b"bluestore block device"),
    ("Stratis", 516, b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("Oracle ASM", 32, b"ORCLDISK"),
    ("dm-integrity", 0, b"integrt\0"),
    ("dm-verity", 0, b"verity\0\0"),
    ("dm-snapshot", 0, b"SnAp"),
    ("VDO", 0, b"dmvdo001"),
    ("ubi", 0, b"UBI#"),
    ("zonefs", 0, b"SFOZ"),
];

fn has(bytes: &[u8], (_, at, magic): &Magic) -> bool {
    bytes.get(*at..at + magic.len()) == Some(magic)
}

fn signatures(head: &[u8]) -> impl Iterator<Item = &'static str> {
    let zfs = |head: &[u8]| {
        let uberblocks = head.get(128 << 10..).unwrap_or_default().chunks(1024);
        let mut magics = uberblocks.map(|block| block.get(..8).unwrap_or_default());
        magics.any(|magic| magic == 0x00ba_b10c_u64.to_le_bytes() || magic == 0x00ba_b10c_u64.to_be_bytes())
    };
    let known: Vec<&str> = MAGICS.iter().filter(|magic| has(head, magic)).map(|(name, ..)| *name).collect();
    known.into_iter().chain(zfs(head).then_some("ZFS"))
}

/// Partition tables and disk labels.
fn tables(head: &[u8]) -> impl Iterator<Item = &'static str> {
    const LABELS: [Magic; 6] = [
        ("GPT partition table", 512, b"EFI PART"),
        ("GPT partition table", 4096, b"EFI PART"),
        ("Sun disk label", 508, b"\xda\xbe"),
        ("SGI disk label", 0, b"\x0b\xe5\xa9\x41"),
        ("BSD disk label", 512, b"\x57\x45\x56\x82"),
        ("Macintosh partition map", 512, b"PM"),
    ];
    let label = LABELS.iter().find(|label| has(head, label)).map(|(name, ..)| *name);
    // What has the boot signature is a table of partitions, or a boot sector with code.
    let boot = head.get(510..512) == Some(b"\x55\xaa");
    label.into_iter().chain(boot.then_some("MBR partition table or boot sector"))
}

/// Those that stand at a fixed place from the device's end.
fn at_the_end(tail: &[u8], size: u64) -> impl Iterator<Item = &'static str> {
    let back = |bytes: u64| tail.get(tail.len().checked_sub(usize::try_from(bytes).ok()?)?..);
    let begins = |bytes: u64, magic: &[u8]| back(bytes).is_some_and(|end| end.starts_with(magic));
    const RAID: &[u8] = b"\xfc\x4e\x2b\xa9";
    let sectors = size / 512;
    // Version 1.0: at least 8 KiB and less than 12 KiB from the end, on 4 KiB; 0.90: the last whole 64 KiB.
    let v1 = size.saturating_sub((sectors.saturating_sub(16) & !7).saturating_mul(512));
    let v0 = size.saturating_sub((size & !0xffff).saturating_sub(0x1_0000));
    let found = [
        ("GPT partition table (backup)", begins(512, b"EFI PART") || begins(4096, b"EFI PART")),
        ("Linux RAID member", begins(v1, RAID) || begins(v0, RAID)),
        ("Intel RAID member", begins(1024, b"Intel Raid ISM Cfg Sig. ")),
        ("DDF RAID member", begins(512, b"\xde\x11\xde\x11") || begins(512, b"\x11\xde\x11\xde")),
        (
            "DRBD",
            begins(4096, b"\x83\x74\x02\x6b")
                || back(4096).is_some_and(|end| end.get(60..64) == Some(b"\x83\x74\x02\x6b")),
        ),
    ];
    found.into_iter().filter(|(_, here)| *here).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::stamp::Stamp;

    const SIZE: u64 = 8 << 20;

    fn look_at(put: &[(u64, &[u8])]) -> Contents {
        let mut disk = vec![0; SIZE as usize];
        for (at, bytes) in put {
            disk[*at as usize..*at as usize + bytes.len()].copy_from_slice(bytes);
        }
        look(SIZE, &|at, len| disk[(at as usize).min(disk.len())..(at as usize + len).min(disk.len())].to_vec())
    }

    #[test]
    fn each_signature_is_found_at_its_place_and_not_one_byte_beside() {
        for (name, at, magic) in MAGICS {
            let found = look_at(&[(*at as u64, magic)]);
            assert!(found.signatures.iter().any(|found| found == name), "{name}: {found:?}");
            let beside = look_at(&[(*at as u64 + 1, magic)]);
            assert!(!beside.signatures.iter().any(|found| found == name), "{name}: {beside:?}");
        }
    }

    #[test]
    fn partition_tables_and_raid_members_are_known_at_both_ends() {
        let check = |at: u64, bytes: &[u8], name: &str| {
            let found = look_at(&[(at, bytes)]);
            assert_eq!(found.signatures, [name], "{at}");
        };
        check(512, b"EFI PART", "GPT partition table");
        check(510, b"\x55\xaa", "MBR partition table or boot sector");
        check(SIZE - 512, b"EFI PART", "GPT partition table (backup)");
        check(SIZE - 8192, b"\xfc\x4e\x2b\xa9", "Linux RAID member");
        check(SIZE - 65536, b"\xfc\x4e\x2b\xa9", "Linux RAID member");
    }

    #[test]
    fn zeros_are_nothing_and_a_single_foreign_sector_in_a_sample_is_data() {
        assert!(look_at(&[]).is_nothing());
        let found = look_at(&[(HEAD as u64, b"a diary")]);
        assert_eq!((found.foreign_blocks, found.signatures.len()), (1, 0));
    }

    #[test]
    fn blocks_of_ours_are_nothing_at_their_own_place_only() {
        let at = MARGIN + (1 << 20);
        let stamp = |offset| stamp::encode(Stamp { offset, seed: 7, generation: 0 }, 0, Place::Head);
        assert!(look_at(&[(at, &stamp(1 << 20))]).is_nothing());
        assert!(!look_at(&[(at, &stamp(0))]).is_nothing());
    }
}
