//! For tests: device trees as kernels show them, made in a folder of their own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::Device;
use super::sysfs::Host;

/// A `/sys` and a `/proc`, removed with the value.
pub(super) struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    pub(super) fn new() -> Tree {
        let tree = Tree { folder: tempfile::tempdir().unwrap() };
        for dir in ["sys/block", "sys/class/block", "sys/dev/block", "proc/self"] {
            fs::create_dir_all(tree.folder.path().join(dir)).unwrap();
        }
        tree
    }

    pub(super) fn host(&self) -> Host {
        let root = self.folder.path().canonicalize().unwrap();
        Host { sys: root.join("sys"), proc: root.join("proc"), dm: None }
    }

    /// Writes an attribute; the path starts below the tree's root.
    pub(super) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Tree {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// A symbolic link at `at` to the folder `to`, which is made if need be.
    pub(super) fn link(&self, at: &str, to: &str) -> &Tree {
        let root = self.folder.path().canonicalize().unwrap();
        let (at, to) = (root.join(at), root.join(to));
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::create_dir_all(&to).unwrap();
        symlink(to, at).unwrap();
        self
    }

    /// A block device in the folder `sys/devices/<place>`, with its attributes and the links to it.
    pub(super) fn block(&self, place: &str, number: &str, attributes: &[(&str, &str)]) -> &Tree {
        let dir = format!("sys/devices/{place}");
        let name = Path::new(place).file_name().unwrap().to_str().unwrap();
        self.file(&format!("{dir}/dev"), format!("{number}\n"));
        for (attribute, value) in attributes {
            self.file(&format!("{dir}/{attribute}"), format!("{value}\n"));
        }
        self.link(&format!("sys/dev/block/{number}"), &dir);
        self.link(&format!("sys/class/block/{name}"), &dir);
        if !attributes.iter().any(|(attribute, _)| *attribute == "partition") {
            self.link(&format!("sys/block/{name}"), &dir);
        }
        self
    }

    /// Lays the device at `upper` over the one at `lower`.
    pub(super) fn over(&self, upper: &str, lower: &str) -> &Tree {
        let name = Path::new(lower).file_name().unwrap().to_str().unwrap();
        let holder = Path::new(upper).file_name().unwrap().to_str().unwrap();
        self.link(&format!("sys/devices/{lower}/holders/{holder}"), &format!("sys/devices/{upper}"));
        self.link(&format!("sys/devices/{upper}/slaves/{name}"), &format!("sys/devices/{lower}"))
    }
}

pub(super) fn device(number: &str) -> Device {
    number.parse().unwrap()
}
