//! Which processors a run's threads belong on: those of the NUMA node that the drive is attached to.
//!
//! A request from another node crosses the link between them twice, and its buffer lies in the other's memory. Source:
//! Linux `Documentation/ABI/stable/sysfs-devices-node`, `testing/sysfs-bus-pci` (`numa_node`, -1 where nobody knows);
//! lists of processors: `Documentation/core-api/printk-formats.rst` (`%*pbl`). Binds nothing: `affinity` does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::sysfs::{self, Host, attribute, number};
use super::{Facts, Place, drive};

/// Numbers of processors.
pub type Cpus = BTreeSet<usize>;

/// Where the threads of a run go, and with them its buffers: memory is of the node that touches it first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// All processors are equally near: there is one node with processors, or the drive is none of this host's.
    OneNode,
    /// There are several, and the drive's is unknown: a virtual drive, or drives on different nodes.
    Unknown,
    /// This process may use none of the drive's node.
    Away {
        /// The drive's node.
        node: u64,
    },
    /// On the drive's node.
    On {
        /// The drive's node.
        node: u64,
        /// Its processors that this process may use.
        cpus: Cpus,
    },
}

impl Placement {
    /// Of a run on this target by a thread that may use the processors `allowed`.
    #[must_use]
    pub fn of(facts: &Facts, allowed: &Cpus) -> Placement {
        if let Place::Simulated(_) = facts.place {
            return Placement::OneNode;
        }
        let node = facts.drive.as_ref().and_then(|drive| drive.details.numa_node);
        Placement::decide(&nodes(&Host::this()), node, allowed)
    }

    /// The rule: the allowed processors of the drive's node, where there is a choice of nodes.
    fn decide(nodes: &BTreeMap<u64, Cpus>, drive: Option<u64>, allowed: &Cpus) -> Placement {
        if nodes.values().filter(|cpus| !cpus.is_empty()).count() < 2 {
            return Placement::OneNode;
        }
        let Some((&node, all)) = drive.and_then(|drive| nodes.get_key_value(&drive)) else {
            return Placement::Unknown;
        };
        let cpus: Cpus = all.intersection(allowed).copied().collect();
        if cpus.is_empty() { Placement::Away { node } } else { Placement::On { node, cpus } }
    }

    /// What the environment says of it: nothing where there is no choice.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        (*self != Placement::OneNode).then(|| self.to_string())
    }
}

/// `node 1 (CPUs 8-15)`
impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::OneNode => write!(f, "one node"),
            Placement::Unknown => write!(f, "not bound: the drive's node is unknown"),
            Placement::Away { node } => write!(f, "not bound: this process may use no processor of node {node}"),
            Placement::On { node, cpus } => {
                let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
                write!(f, "node {node} ({noun} {})", list(cpus))
            }
        }
    }
}

/// The processors of each node of a host; nodes of memory alone have none.
pub(super) fn nodes(host: &Host) -> BTreeMap<u64, Cpus> {
    let nodes = sysfs::children(&host.sys.join("devices/system/node")).into_iter().filter_map(|dir| {
        let node = sysfs::name(&dir).strip_prefix("node")?.parse().ok()?;
        // A list of no processors is an empty line, which is no attribute.
        Some((node, attribute(&dir, "cpulist").map_or(Some(Cpus::new()), |text| parse(&text))?))
    });
    nodes.collect()
}

/// The node that all of these drives are attached to; none where they differ or one does not say.
pub(super) fn node_of(sources: &[PathBuf]) -> Option<u64> {
    let (first, rest) = sources.split_first()?;
    let node = attached(first)?;
    rest.iter().all(|source| attached(source) == Some(node)).then_some(node)
}

/// The nearest function above a drive that has a node: its own, or its host adapter's.
fn attached(source: &Path) -> Option<u64> {
    drive::controller(source)?.ancestors().find_map(|at| number(at, "numa_node"))
}

/// `0-3,8` → its numbers; none where the text is no such list.
fn parse(text: &str) -> Option<Cpus> {
    let mut cpus = Cpus::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        // No kernel has as many processors; a text that says so is none of its lists.
        if first > last || last >= 1 << 16 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// The other way round.
fn list(cpus: &Cpus) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let text =
        |&(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::super::mounts::Mounts;
    use super::super::recorded::{Tree, device};
    use super::*;

    fn cpus(text: &str) -> Cpus {
        parse(text).unwrap()
    }

    #[test]
    fn lists_of_processors_are_read_and_written() {
        for text in ["0", "0-3", "0-3,8,10-11", ""] {
            assert_eq!(list(&cpus(text)), text);
        }
        assert_eq!(cpus("4,0-1\n"), Cpus::from([0, 1, 4]));
        for wrong in ["a", "3-1", "1-", "-1", "0-99999999999", "0-3:1/2"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    /// Two nodes with four processors each, a third with memory only; an NVMe drive and a SATA drive's adapter on node 1.
    fn host() -> Tree {
        let tree = Tree::new();
        for (node, list) in [("node0", "0-3"), ("node1", "4-7"), ("node2", "")] {
            tree.file(&format!("sys/devices/system/node/{node}/cpulist"), format!("{list}\n"));
        }
        tree.file("sys/devices/system/node/online", "0-2\n");
        let nvme = "pci0000:80/0000:80:00.0/0000:81:00.0";
        tree.file(&format!("sys/devices/{nvme}/numa_node"), "1\n")
            .block(&format!("{nvme}/nvme/nvme0/nvme0n1"), "259:0", &[("size", "8")])
            .link(&format!("sys/devices/{nvme}/nvme/nvme0/nvme0n1/device"), &format!("sys/devices/{nvme}/nvme/nvme0"));
        let ata = "pci0000:80/0000:82:00.0";
        let target = format!("{ata}/ata1/host0/target0:0:0/0:0:0:0");
        tree.file(&format!("sys/devices/{ata}/numa_node"), "1\n")
            .block(&format!("{target}/block/sda"), "8:0", &[("size", "8")])
            .link(&format!("sys/devices/{target}/block/sda/device"), &format!("sys/devices/{target}"));
        // Nobody knows this one's.
        let virtio = "pci0000:00/0000:00:05.0";
        tree.file(&format!("sys/devices/{virtio}/numa_node"), "-1\n")
            .block(&format!("{virtio}/virtio2/block/vda"), "254:0", &[("size", "8")])
            .link(&format!("sys/devices/{virtio}/virtio2/block/vda/device"), &format!("sys/devices/{virtio}/virtio2"));
        tree.block("virtual/block/md0", "9:0", &[("size", "8")])
            .over("virtual/block/md0", &format!("{nvme}/nvme/nvme0/nvme0n1"))
            .over("virtual/block/md0", &format!("{target}/block/sda"));
        tree.block("virtual/block/md1", "9:1", &[("size", "8")])
            .over("virtual/block/md1", &format!("{nvme}/nvme/nvme0/nvme0n1"))
            .over("virtual/block/md1", &format!("{virtio}/virtio2/block/vda"));
        tree
    }

    fn check(tree: &Tree, drive: &str, allowed: &str, expect: Option<&str>) {
        let host = tree.host();
        let drive = drive::read(device(drive), &host, &Mounts::default()).unwrap();
        let placement = Placement::decide(&nodes(&host), drive.details.numa_node, &cpus(allowed));
        assert_eq!(placement.words().as_deref(), expect);
    }

    #[test]
    fn threads_go_to_the_allowed_processors_of_the_drives_node() {
        let tree = host();
        check(&tree, "259:0", "0-7", Some("node 1 (CPUs 4-7)"));
        check(&tree, "259:0", "0,2,4,6", Some("node 1 (CPUs 4,6)"));
        check(&tree, "8:0", "0-7", Some("node 1 (CPUs 4-7)"));
        check(&tree, "9:0", "0-7", Some("node 1 (CPUs 4-7)"));
    }

    #[test]
    fn nothing_is_bound_where_the_node_is_unknown_out_of_reach_or_the_only_one() {
        let tree = host();
        check(&tree, "254:0", "0-7", Some("not bound: the drive's node is unknown"));
        check(&tree, "9:1", "0-7", Some("not bound: the drive's node is unknown"));
        check(&tree, "259:0", "0-3", Some("not bound: this process may use no processor of node 1"));
        let one = Tree::new();
        one.file("sys/devices/system/node/node0/cpulist", "0-7\n").file("sys/devices/system/node/node1/cpulist", "\n");
        one.block("virtual/block/loop0", "7:0", &[("size", "8")]);
        check(&one, "7:0", "0-7", None);
        check(Tree::new().block("virtual/block/loop0", "7:0", &[]), "7:0", "0-7", None);
    }
}
