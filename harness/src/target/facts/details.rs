//! What else is known of a drive: how it is addressed, linked, queued and powered, and how it is.
//!
//! The types, and what the kernel's device tree says without asking the drive. What only the drive itself can say is
//! added by `controller`. Source: Linux `Documentation/ABI/*/sysfs-block`, `sysfs-bus-pci`, `hwmon/sysfs-interface`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::sysfs::{self, attribute, number};
use super::{drive, text};
use crate::units::Bytes;

/// What a drive says of itself beyond its name. All of it may be unknown, and then it is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    /// NVMe: the namespace's number within its subsystem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<u64>,
    /// NVMe: how many namespaces the controller may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<u64>,
    /// NVMe: the namespace's globally unique identifier, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nguid: Option<String>,
    /// NVMe: the namespace's IEEE extended unique identifier, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eui64: Option<String>,
    /// Bytes of data and of metadata a block, as the drive is formatted: `4096+0`; the metadata's place after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lba_format: Option<String>,
    /// Bytes that the drive itself counts as in use (NVMe NUSE); none where it does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<Bytes>,
    /// What a read of discarded blocks gives: `zeros`, `ones`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads_after_discard: Option<String>,
    /// The fastest link that the drive is built for: `16.0 GT/s PCIe x4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_most: Option<String>,
    /// The fastest link of the port above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_port: Option<String>,
    /// Power saving on the link: `off`, `L0s`, `L1`, `L0s L1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aspm: Option<String>,
    /// Requests that may wait in each queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_requests: Option<u64>,
    /// Queues between the host and the drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware_queues: Option<u64>,
    /// The largest transfer that the kernel hands to the drive in one piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_transfer: Option<Bytes>,
    /// The NUMA node that the drive is attached to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u64>,
    /// The smallest piece that can be discarded; none where nothing can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discard_granularity: Option<Bytes>,
    /// `none`, `host-aware`, `host-managed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zoned: Option<String>,
    /// Whether the kernel refuses writes to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// The volatile write cache as the drive itself says: `on`, `off`, `absent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_write_cache: Option<String>,
    /// NVMe: the power state that it is in, 0 being the strongest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_state: Option<u64>,
    /// NVMe: whether it may change power states by itself: `on`, `off`, `absent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apst: Option<String>,
    /// How it is, at the moment of looking.
    #[serde(skip_serializing_if = "Condition::is_unknown")]
    pub condition: Condition,
    /// Layers of the stack that keep what is hot on faster storage and outlive a purge: `dm-cache`, `bcache`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<String>,
    /// The physical drives at the bottom of a stack of several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// What could not be read, and why, for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// How a drive is: what changes while it works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Condition {
    /// °C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<i64>,
    /// °C from which on the drive itself warns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning_c: Option<i64>,
    /// °C from which on it may shut down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_c: Option<i64>,
    /// Whether it slows itself down at this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<bool>,
    /// Share of its rated life that is used, in percent; may exceed 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage_used: Option<u64>,
    /// Share of its spare blocks that is left, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_percent: Option<u64>,
    /// Counters under stable names (`media_errors`, `thermal_events` …), as the drive or the kernel counts since the
    /// drive was made or the host started. One that is not known is not there.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub counters: std::collections::BTreeMap<String, u64>,
    /// Bytes that hosts wrote in the drive's life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_written: Option<Bytes>,
    /// Bytes that the drive wrote to its own medium for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_written: Option<Bytes>,
}

/// A physical drive beneath a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Member {
    /// The kernel's name.
    pub name: String,
    /// Vendor and model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// The firmware's revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// The link as trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl Condition {
    fn is_unknown(&self) -> bool {
        *self == Condition::default()
    }

    /// Media writes for each host write, in thousandths; none where either is not counted.
    #[must_use]
    pub fn write_amplification_permille(&self) -> Option<u64> {
        let (media, host) = (self.media_written?.0, self.host_written?.0);
        (host > 0).then(|| u64::try_from(u128::from(media) * 1000 / u128::from(host)).unwrap_or(u64::MAX))
    }

    /// What `more` knows, over what was known.
    pub(super) fn add(&mut self, more: Condition) {
        self.temperature_c = more.temperature_c.or(self.temperature_c);
        self.warning_c = more.warning_c.or(self.warning_c);
        self.critical_c = more.critical_c.or(self.critical_c);
        self.throttled = more.throttled.or(self.throttled);
        self.percentage_used = more.percentage_used.or(self.percentage_used);
        self.spare_percent = more.spare_percent.or(self.spare_percent);
        self.host_written = more.host_written.or(self.host_written);
        self.media_written = more.media_written.or(self.media_written);
        self.counters.extend(more.counters);
    }
}

/// What the tree says of `top`, which carries the target, and of `source`, the physical drive it stands for.
pub(super) fn read(top: &Path, source: &Path) -> Details {
    let bytes = |name: &str| number(top, name).filter(|&bytes| bytes > 0).map(Bytes);
    let controller = drive::controller(source);
    let pci = controller.as_deref().and_then(pci);
    let id = |name: &str| attribute(source, name).and_then(|id| identifier(&id));
    let queues = sysfs::children(&source.join("mq")).len() as u64;
    let mut details = Details {
        namespace: number(source, "nsid"),
        nguid: id("nguid"),
        eui64: id("eui"),
        aspm: pci.as_deref().and_then(aspm),
        queue_requests: number(top, "queue/nr_requests"),
        hardware_queues: (queues > 0).then_some(queues),
        largest_transfer: number(top, "queue/max_sectors_kb").map(|kib| Bytes(kib.saturating_mul(1024))),
        discard_granularity: bytes("queue/discard_granularity")
            .filter(|_| number(top, "queue/discard_max_bytes") != Some(0)),
        zoned: attribute(source, "queue/zoned"),
        read_only: sysfs::flag(top, "ro"),
        condition: Condition { counters: tree_counters(source, pci.as_deref()), ..temperature(source) },
        ..Details::default()
    };
    if let Some(pci) = &pci {
        details.link_most = link_most(pci);
        details.link_port = pci.parent().and_then(link_most);
    }
    if let Some(metadata) = number(source, "metadata_bytes") {
        details.lba_format = number(source, "queue/logical_block_size").map(|data| format!("{data}+{metadata}"));
    }
    details
}

/// The fastest link that a PCIe function is built for.
fn link_most(function: &Path) -> Option<String> {
    drive::pci_link(function, "max_link_speed", "max_link_width")
}

/// An identifier of zeros is none.
fn identifier(id: &str) -> Option<String> {
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).collect();
    digits.contains(|digit| digit != '0').then(|| digits.to_ascii_lowercase())
}

/// The folder of an NVMe controller's own PCI function: an HBA's link is not its drives'.
fn pci(controller: &Path) -> Option<PathBuf> {
    controller.ancestors().find(|at| drive::is_nvme(at)).map(Path::to_owned)
}

/// `link/l1_aspm` and its like say 1 where the state may be entered.
fn aspm(pci: &Path) -> Option<String> {
    let states = [("link/l0s_aspm", "L0s"), ("link/l1_aspm", "L1")];
    let known: Vec<(u64, &str)> = states.iter().filter_map(|(file, name)| Some((number(pci, file)?, *name))).collect();
    let on: Vec<&str> = known.iter().filter(|(on, _)| *on == 1).map(|(_, name)| *name).collect();
    match (known.is_empty(), on.is_empty()) {
        (true, _) => None,
        (false, true) => Some("off".to_owned()),
        (false, false) => Some(on.join(" ")),
    }
}

/// What the drive's own sensor says through hwmon, which anybody may read; it counts in thousandths of a degree.
pub(super) fn temperature(source: &Path) -> Condition {
    let Some(controller) = drive::controller(source) else { return Condition::default() };
    let places = [controller.clone(), controller.join("hwmon"), controller.join("device/hwmon")];
    let sensors = places.iter().flat_map(|place| sysfs::children(place));
    let sensor =
        sensors.into_iter().find(|dir| sysfs::name(dir).starts_with("hwmon") && dir.join("temp1_input").exists());
    let Some(sensor) = sensor else { return Condition::default() };
    let degrees = |name: &str| attribute(&sensor, name)?.parse::<i64>().ok().map(|milli| milli.div_euclid(1000));
    Condition {
        temperature_c: degrees("temp1_input"),
        warning_c: degrees("temp1_max").filter(|limit| PLAUSIBLE.contains(limit)),
        critical_c: degrees("temp1_crit").filter(|limit| PLAUSIBLE.contains(limit)),
        ..Condition::default()
    }
}

/// Drives without a limit say 0 or -1 K.
const PLAUSIBLE: std::ops::Range<i64> = 30..150;

/// What the kernel counts of errors between host and drive: PCIe's advanced error reporting, and failed SCSI commands.
pub(super) fn tree_counters(source: &Path, pci: Option<&Path>) -> std::collections::BTreeMap<String, u64> {
    let mut counters = std::collections::BTreeMap::new();
    let aer = |pci: &Path, name: &str, total: &str| -> Option<u64> {
        let lines = std::fs::read_to_string(pci.join(name)).ok()?;
        let line = lines.lines().find_map(|line| line.strip_prefix(total))?;
        line.trim().parse().ok()
    };
    let all = [
        ("aer_dev_correctable", "TOTAL_ERR_COR"),
        ("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
        ("aer_dev_fatal", "TOTAL_ERR_FATAL"),
    ];
    let found: Vec<u64> =
        pci.iter().flat_map(|pci| all.iter().filter_map(|(name, total)| aer(pci, name, total))).collect();
    if !found.is_empty() {
        counters.insert("pcie_errors".to_owned(), found.iter().fold(0_u64, |sum, more| sum.saturating_add(*more)));
    }
    // `0x1f`, in hex whatever the kernel's version.
    let hex = |name: &str| u64::from_str_radix(attribute(source, name)?.trim_start_matches("0x"), 16).ok();
    for (name, file) in [("io_errors", "device/ioerr_cnt"), ("timeouts", "device/iotmo_cnt")] {
        if let Some(count) = hex(file) {
            counters.insert(name.to_owned(), count);
        }
    }
    counters
}

/// PCI functions' counters of a drive's folder, as `read` finds them.
pub(super) fn counters(source: &Path) -> std::collections::BTreeMap<String, u64> {
    let controller = drive::controller(source);
    tree_counters(source, controller.as_deref().and_then(pci).as_deref())
}

/// SCSI's page 83h of vital product data: its designators, of which the first naa., eui. or T10 one is taken.
/// Source: SPC-6, 7.7.6 (a header of four bytes; each designator a header of four, its length in the last).
pub(super) fn vpd83(page: &[u8]) -> Option<String> {
    let mut rest = page.get(4..)?;
    let mut vendor = None;
    while let Some((head, after)) = rest.split_at_checked(4) {
        let (body, next) = after.split_at_checked(usize::from(head[3]))?;
        rest = next;
        // Only designators of the logical unit itself: association 0.
        if head[1] & 0x30 != 0 || body.is_empty() {
            continue;
        }
        let hex = || body.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        match head[1] & 0x0f {
            3 => return Some(format!("naa.{}", hex())),
            2 => return Some(format!("eui.{}", hex())),
            1 => vendor = vendor.or_else(|| text::clean(body).map(|text| format!("t10.{text}"))),
            _ => {}
        }
    }
    vendor
}
