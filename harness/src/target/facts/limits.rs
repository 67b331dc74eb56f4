//! What the control groups that this process runs in allow: processor, memory and I/O to a drive, versions 1 and 2.
//!
//! Source: `cgroups(7)`; Linux `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/blkio-controller.rst`. A group
//! and all above it bind; each limit is named as its file says it.

use std::fs;
use std::path::{Path, PathBuf};

use super::Device;
use super::sysfs::Host;

/// The limits in force, those of I/O on `device` only; empty where there are none or they cannot be seen.
pub(super) fn read(host: &Host, device: Option<Device>) -> Vec<String> {
    let groups = fs::read_to_string(host.proc.join("self/cgroup")).unwrap_or_default();
    let mounts = host.mounts().unwrap_or_default();
    let mut limits = Vec::new();
    // `4:memory:/a/b`, of version 2 `0::/a/b`.
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let wanted = if controllers.is_empty() { "cgroup2" } else { "cgroup" };
        let of_it = |options: &str| {
            let has = |one: &str| options.split(',').any(|option| option == one);
            controllers.is_empty() || controllers.split(',').all(has)
        };
        let mount = mounts.all().iter().find(|mount| mount.type_name == wanted && of_it(&mount.super_options));
        let Some(mount) = mount else { continue };
        let below = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
        for group in chain(&mount.mount_point, below) {
            limits.extend(of_group(&group, device));
        }
    }
    limits.sort();
    limits.dedup();
    limits
}

/// The group and all above it, below the mount point.
fn chain(top: &Path, below: &Path) -> Vec<PathBuf> {
    let below: PathBuf = below.strip_prefix("/").unwrap_or(below).to_owned();
    below.ancestors().map(|part| top.join(part)).collect()
}

fn of_group(group: &Path, device: Option<Device>) -> Vec<String> {
    let text = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let share = |quota: u64, period: u64| format!("{} % of a processor", quota.saturating_mul(100) / period.max(1));
    let mut limits = Vec::new();
    if let Some((quota, period)) = text("cpu.max").as_deref().and_then(|line| line.trim().split_once(' ')) {
        limits.extend(quota.parse().ok().zip(period.parse().ok()).map(|(quota, period)| share(quota, period)));
    }
    limits.extend(
        number("cpu.cfs_quota_us").zip(number("cpu.cfs_period_us")).map(|(quota, period)| share(quota, period)),
    );
    // Version 1 has no word for "none": it says the largest number of pages.
    let memory = number("memory.max").or_else(|| number("memory.limit_in_bytes")).filter(|&bytes| bytes < 1 << 60);
    limits.extend(memory.map(|bytes| format!("{bytes} bytes of memory")));
    let name = device.map(|device| device.to_string()).unwrap_or_default();
    let of_device = |file: &str| {
        let lines = text(file).unwrap_or_default();
        let line = lines.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(' ').map(str::to_owned));
        line.filter(|_| !name.is_empty())
    };
    let io = of_device("io.max").map(|line| {
        let bound: Vec<&str> = line.split_whitespace().filter(|word| !word.ends_with("=max")).collect();
        bound.join(" ")
    });
    limits.extend(io.filter(|bound| !bound.is_empty()).map(|bound| format!("I/O {bound}")));
    for (file, word) in [("write_bps", "wbps"), ("read_bps", "rbps"), ("write_iops", "wiops"), ("read_iops", "riops")] {
        limits.extend(of_device(&format!("blkio.throttle.{file}_device")).map(|most| format!("I/O {word}={most}")));
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::super::recorded::{Tree, device};
    use super::*;

    fn check(groups: &str, mount: &str, files: &[(&str, &str)], expect: &[&str]) {
        let tree = Tree::new();
        let top = tree.host().sys.join("fs/cgroup");
        tree.file("proc/self/cgroup", groups)
            .file("proc/self/mountinfo", mount.replace("TOP", &top.display().to_string()));
        for (name, content) in files {
            tree.file(&format!("sys/fs/cgroup/{name}"), content);
        }
        assert_eq!(read(&tree.host(), Some(device("8:0"))), expect);
    }

    #[test]
    fn limits_of_version_2_are_those_of_the_group_and_of_all_above() {
        check(
            "0::/ci/job\n",
            "30 20 0:26 / TOP rw - cgroup2 cgroup2 rw\n",
            &[
                ("ci/job/cpu.max", "150000 100000\n"),
                ("ci/job/memory.max", "max\n"),
                ("ci/cpu.max", "max 100000\n"),
                ("ci/memory.max", "2147483648\n"),
                ("ci/io.max", "8:16 wbps=1 rbps=max\n8:0 rbps=max wbps=20000000 riops=max wiops=max\n"),
            ],
            &["150 % of a processor", "2147483648 bytes of memory", "I/O wbps=20000000"],
        );
    }

    #[test]
    fn limits_of_version_1_stand_in_each_controllers_own_tree() {
        check(
            "7:blkio:/x\n4:cpu,cpuacct:/\n3:memory:/\n",
            "30 20 0:26 / TOP/blkio rw - cgroup cgroup rw,blkio\n31 20 0:27 / TOP/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             32 20 0:28 / TOP/memory rw - cgroup cgroup rw,memory\n",
            &[
                ("blkio/x/blkio.throttle.write_bps_device", "8:0 1000000\n"),
                ("cpu/cpu.cfs_quota_us", "-1\n"),
                ("cpu/cpu.cfs_period_us", "100000\n"),
                ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ],
            &["I/O wbps=1000000"],
        );
    }

    #[test]
    fn no_groups_are_no_limits() {
        check("", "", &[], &[]);
        check("0::/gone\nbroken\n", "30 20 0:26 / TOP rw - cgroup2 cgroup2 rw\n", &[], &[]);
    }
}
