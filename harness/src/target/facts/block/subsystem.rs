//! What a purge by the drive itself would reach: the NVMe subsystem of a namespace, and all its other namespaces.
//!
//! Asked only when somebody wants such a purge: each other namespace is opened for reading once. Orders nothing, judges
//! nothing. What cannot be known is said, and the guard refuses for it.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::nvme::erase::{self, Abilities, Sanitized};
use super::super::sysfs::{self, Host, attribute};
use super::{Facts, Place, read};
use crate::target::admin::Admin;
use crate::target::ioctl::nvme::NvmeQuestion;

/// The log page that says where a sanitize stands.
pub(in crate::target) const SANITIZE_STATUS: u8 = 0x81;

/// The NVMe subsystem of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subsystem {
    /// The namespace's own number.
    pub namespace: u32,
    /// What the controller can erase itself.
    pub abilities: Abilities,
    /// Dword 10 of a format that keeps the namespace as it is.
    pub format: u32,
    /// A format or sanitize that is under way, in words that follow the device's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<String>,
    /// The other namespaces that this host shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<Sibling>,
    /// Numbers of namespaces that there are, and that this host does not show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<u32>,
    /// Whether controllers belong to it that this host does not have.
    #[serde(default)]
    pub foreign_controllers: bool,
    /// What the drive did not answer, and why: nothing may be ordered then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

/// Another namespace of the same subsystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sibling {
    /// Its number.
    pub namespace: u32,
    /// Its node.
    pub path: PathBuf,
    /// What is known of it, as of any target; none where it cannot be looked at.
    pub facts: Option<Box<Facts>>,
}

impl Facts {
    /// Adds what a purge by the drive itself would reach; to a target that is no NVMe namespace nothing.
    pub fn ask_subsystem(&mut self) {
        let (host, path) = (Host::this(), self.path.clone());
        let Place::Device(block) = &mut self.place else { return };
        let Some(dir) = host.block(block.device) else { return };
        if !is_namespace(&dir) {
            return;
        }
        let unread = |why: String| Subsystem { unread: Some(why), ..Subsystem::default() };
        let asked = File::open(&path).map_err(|why| format!("opening {}: {why}", path.display()));
        let asked = asked.and_then(|node| ask(&node, &dir, &host));
        block.subsystem = Some(Box::new(asked.unwrap_or_else(unread)));
    }
}

fn is_namespace(dir: &Path) -> bool {
    sysfs::name(dir).starts_with("nvme") && dir.join("nsid").exists()
}

/// All that the drive and the tree say.
fn ask(node: &dyn Admin, dir: &Path, host: &Host) -> Result<Subsystem, String> {
    let page =
        |what: &str, question| node.ask(question).map_err(|errno| format!("{what}: {}", std::io::Error::from(errno)));
    let number = sysfs::number(dir, "nsid").and_then(|number| u32::try_from(number).ok());
    let number = number.ok_or_else(|| "the number of the namespace".to_owned())?;
    let abilities = erase::abilities(&page("Identify Controller", NvmeQuestion::Controller)?);
    let namespace = page("Identify Namespace", NvmeQuestion::Namespace(number))?;
    let (abilities, format) =
        abilities.zip(erase::format_as_it_is(&namespace)).ok_or_else(|| "a short answer".to_owned())?;
    let siblings: Vec<Sibling> = others(dir, host).iter().filter_map(|dir| sibling(dir, host)).collect();
    let controllers = controllers(dir, host);
    let seen: BTreeSet<u32> = siblings.iter().map(|sibling| sibling.namespace).chain([number]).collect();
    let there = namespaces(node, &controllers)?;
    let sanitize =
        if abilities.sanitizes.is_empty() { None } else { node.ask(NvmeQuestion::Log(SANITIZE_STATUS)).ok() };
    Ok(Subsystem {
        namespace: number,
        format,
        busy: busy(&namespace, sanitize.as_deref()),
        unseen: there.difference(&seen).copied().collect(),
        foreign_controllers: abilities.other_controllers && has_foreign(node, controllers.len()),
        abilities,
        siblings,
        unread: None,
    })
}

/// A format or a sanitize under way, in words.
pub(in crate::target) fn busy(namespace: &[u8], sanitize_status: Option<&[u8]>) -> Option<String> {
    let sanitize = match sanitize_status.and_then(erase::sanitized) {
        Some(Sanitized::UnderWay(permille)) => Some(format!("is being sanitized ({} % done)", permille / 10)),
        _ => None,
    };
    let left = erase::format_left(namespace).filter(|&left| left > 0);
    sanitize.or(left.map(|left| format!("is being formatted ({left} % to go)")))
}

/// The numbers of all namespaces: of the subsystem where the drive manages namespaces, else of the controllers here.
fn namespaces(node: &dyn Admin, controllers: &[PathBuf]) -> Result<BTreeSet<u32>, String> {
    if let Ok(page) = node.ask(NvmeQuestion::AllocatedNamespaces) {
        return Ok(erase::numbers(&page).into_iter().collect());
    }
    let active = |node: &dyn Admin| node.ask(NvmeQuestion::ActiveNamespaces).map(|page| erase::numbers(&page));
    let failed = |why: std::io::Error| format!("the list of its namespaces: {why}");
    let mut numbers: BTreeSet<u32> = active(node).map_err(|errno| failed(errno.into()))?.into_iter().collect();
    for controller in controllers {
        let node = File::open(Path::new("/dev").join(sysfs::name(controller))).map_err(failed)?;
        numbers.extend(active(&node).map_err(|errno| failed(errno.into()))?);
    }
    Ok(numbers)
}

/// Whether the subsystem has more controllers than these; where it does not say, it may have.
fn has_foreign(node: &dyn Admin, here: usize) -> bool {
    let list = node.ask(NvmeQuestion::Controllers).ok();
    let count = list.and_then(|page| Some(u16::from_le_bytes(page.get(..2)?.try_into().ok()?)));
    count.is_none_or(|count| usize::from(count) > here)
}

/// The other namespaces of the subsystem, as folders of the tree; paths of multipath are hidden and not counted twice.
fn others(dir: &Path, host: &Host) -> Vec<PathBuf> {
    let subsystem = subsystem_of(dir);
    let all = sysfs::children(&host.sys.join("block")).into_iter();
    let others = all.filter(|other| other != dir && is_namespace(other) && sysfs::flag(other, "hidden") != Some(true));
    others.filter(|other| subsystem_of(other) == subsystem).collect()
}

/// The subsystem's name; where a kernel does not say it, the controller's own place.
fn subsystem_of(dir: &Path) -> String {
    let device = dir.join("device");
    attribute(&device, "subsysnqn")
        .unwrap_or_else(|| device.canonicalize().unwrap_or(device).to_string_lossy().into_owned())
}

/// This host's controllers of the same subsystem.
fn controllers(dir: &Path, host: &Host) -> Vec<PathBuf> {
    let own = attribute(&dir.join("device"), "subsysnqn");
    let all = sysfs::children(&host.sys.join("class/nvme")).into_iter();
    all.filter(|controller| own.is_some() && attribute(controller, "subsysnqn") == own).collect()
}

fn sibling(dir: &Path, host: &Host) -> Option<Sibling> {
    let namespace = sysfs::number(dir, "nsid").and_then(|number| u32::try_from(number).ok())?;
    let path = Path::new("/dev").join(sysfs::name(dir));
    let facts = if host.is_this() { read(path.clone(), host).ok().map(Box::new) } else { None };
    Some(Sibling { namespace, path, facts })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use rustix::io::Errno;

    use super::super::super::recorded::{Tree, device};
    use super::*;
    use crate::target::ioctl::nvme::{NvmeError, NvmeOrder};

    /// A controller that answers these, and everything else with an error.
    struct Scripted(Vec<(NvmeQuestion, Vec<u8>)>, RefCell<Vec<NvmeQuestion>>);

    impl Admin for Scripted {
        fn ask(&self, question: NvmeQuestion) -> Result<Vec<u8>, Errno> {
            self.1.borrow_mut().push(question);
            let found = self.0.iter().find(|(known, _)| *known == question);
            found.map(|(_, page)| page.clone()).ok_or(Errno::IO)
        }

        fn tell(&self, order: NvmeOrder) -> Result<(), NvmeError> {
            panic!("facts ordered {order:?}");
        }
    }

    fn page(parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut page = vec![0; 4096];
        for (at, bytes) in parts {
            page[*at..*at + bytes.len()].copy_from_slice(bytes);
        }
        page
    }

    /// Two controllers of one subsystem with a namespace each, seen twice through multipath; and a drive of its own.
    fn tree() -> Tree {
        let tree = Tree::new();
        let namespace = |place: &str, number: &str, nsid: &str, nqn: &str| {
            tree.block(place, number, &[("nsid", nsid), ("device/subsysnqn", nqn)]);
        };
        namespace("pci0000:00/nvme/nvme0/nvme0n1", "259:0", "1", "nqn.one");
        namespace("pci0000:00/nvme/nvme1/nvme1n2", "259:1", "2", "nqn.one");
        namespace("pci0000:00/nvme/nvme2/nvme2n1", "259:2", "1", "nqn.two");
        tree.block("x/nvme0c1n1", "259:3", &[("nsid", "1"), ("device/subsysnqn", "nqn.one"), ("hidden", "1")]);
        for (name, nqn) in [("nvme0", "nqn.one"), ("nvme1", "nqn.one"), ("nvme2", "nqn.two")] {
            tree.file(&format!("sys/devices/ctl/{name}/subsysnqn"), nqn);
            tree.link(&format!("sys/class/nvme/{name}"), &format!("sys/devices/ctl/{name}"));
        }
        tree
    }

    fn asked(answers: Vec<(NvmeQuestion, Vec<u8>)>) -> (Result<Subsystem, String>, Vec<NvmeQuestion>) {
        let (tree, node) = (tree(), Scripted(answers, RefCell::default()));
        let host = tree.host();
        let found = ask(&node, &host.block(device("259:0")).unwrap(), &host);
        (found, node.1.into_inner())
    }

    fn answers(controller: &[(usize, &[u8])], numbers: &[u8], controllers: u8) -> Vec<(NvmeQuestion, Vec<u8>)> {
        vec![
            (NvmeQuestion::Controller, page(controller)),
            (NvmeQuestion::Namespace(1), page(&[(26, &[0x01])])),
            (NvmeQuestion::AllocatedNamespaces, page(&[(0, numbers)])),
            (NvmeQuestion::Controllers, page(&[(0, &[controllers])])),
        ]
    }

    #[test]
    fn the_namespaces_of_all_its_controllers_are_siblings_and_what_nobody_shows_is_told() {
        let controller: &[(usize, &[u8])] = &[(76, &[2]), (256, &[2])];
        let (found, questions) = asked(answers(controller, &[1, 0, 0, 0, 2, 0, 0, 0, 9], 2));
        let found = found.unwrap();
        let siblings: Vec<_> = found.siblings.iter().map(|one| (one.namespace, one.path.to_str().unwrap())).collect();
        assert_eq!(siblings, [(2, "/dev/nvme1n2")]);
        assert_eq!((found.unseen.as_slice(), found.foreign_controllers, found.format), (&[9][..], false, 0x201));
        assert!(!questions.contains(&NvmeQuestion::Log(SANITIZE_STATUS)), "it has no sanitize, so it has no such log");
    }

    #[test]
    fn a_controller_that_this_host_has_not_may_be_another_hosts() {
        let foreign = |cmic: u8, count: u8| {
            asked(answers(&[(76, &[cmic])], &[1, 0, 0, 0, 2], count)).0.unwrap().foreign_controllers
        };
        assert_eq!([foreign(2, 2), foreign(2, 3), foreign(0, 3)], [false, true, false]);
        let mut silent = answers(&[(76, &[2])], &[1], 2);
        silent.pop();
        assert!(asked(silent).0.unwrap().foreign_controllers);
    }

    #[test]
    fn what_the_drive_does_not_answer_is_said() {
        let mut all = answers(&[], &[1], 1);
        all.remove(2);
        assert!(asked(all.clone()).0.unwrap_err().starts_with("the list of its namespaces"));
        all.remove(0);
        assert!(asked(all).0.unwrap_err().starts_with("Identify Controller"));
    }

    #[test]
    fn what_is_under_way_is_told() {
        let log = |status: u8| page(&[(0, &0x4000_u16.to_le_bytes()), (2, &[status])]);
        let format = page(&[(32, &[0x80 | 40])]);
        assert_eq!(busy(&page(&[]), None), None);
        assert_eq!(busy(&format, None).as_deref(), Some("is being formatted (40 % to go)"));
        assert_eq!(busy(&format, Some(&log(2))).as_deref(), Some("is being sanitized (25 % done)"));
        assert_eq!(busy(&page(&[]), Some(&log(1))), None);
    }
}
