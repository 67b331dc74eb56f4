//! What surrounds a target and may explain a difference: kernel, machine, drive settings, our own build.
//!
//! The names are a contract with baselines and reports. Nothing that changes at each boot or in each container is
//! noted: kernel names of devices, host names, container ids.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use super::sysfs::{Host, attribute, children};
use super::{Drive, Facts, Filesystem, Place, Simulated, limits, numa};
use crate::environment::{Environment, RESET};
use crate::units::GIB;

/// What surrounds this target on this host.
#[must_use]
pub fn environment(facts: &Facts) -> Environment {
    let mut env = Environment::default();
    env.note("target.kind", Some(facts.place.kind()));
    env.note("program", Some(env!("CARGO_PKG_VERSION")));
    match &facts.place {
        Place::Folder(folder) => {
            note_filesystem(&mut env, &folder.filesystem);
        }
        Place::Device(block) => {
            env.note("purge", Some(if block.discard_granularity.is_some() { "discard" } else { "none" }));
            let members = block.members.join(", ");
            env.note("stack.members", Some(members));
        }
        // Virtual time passes alike on every machine: nothing of this one could explain a difference.
        Place::Simulated(simulated) => note_simulated(&mut env, simulated),
    }
    if facts.simulated().is_none() {
        note_host(&mut env);
        note_system(&mut env, Path::new("/sys"), Path::new("/proc"));
        let limits = limits::read(&Host::this(), facts.drive.as_ref().map(|drive| drive.device));
        env.note("host.limits", (!limits.is_empty()).then(|| limits.join(", ")));
        note_build(&mut env);
    }
    let carriers = facts.folder().map_or(1, |folder| folder.filesystem.carriers.len());
    if let Some(drive) = &facts.drive {
        note_drive(&mut env, drive, carriers);
    }
    env
}

fn note_build(env: &mut Environment) {
    env.note("build", Some(if cfg!(debug_assertions) { "debug" } else { "release" }));
}

fn note_host(env: &mut Environment) {
    env.note("kernel", System::kernel_version().ok());
    env.note("host.arch", Some(std::env::consts::ARCH));
    let wanted =
        RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()).with_memory(MemoryRefreshKind::nothing().with_ram());
    let Ok(system) = System::new_with_specifics(wanted) else { return };
    env.note("host.cpu", system.cpus().first().map(sysinfo::Cpu::brand));
    let cores = system.cpus().len();
    env.note("host.cores", (cores > 0).then(|| cores.to_string()));
    // The kernel keeps a varying part to itself: whole GiB, rounded up, are what is built in.
    let memory = system.total_memory().div_ceil(GIB);
    env.note("host.memory", (memory > 0).then(|| format!("{memory} GiB")));
}

fn note_system(env: &mut Environment, sys: &Path, proc: &Path) {
    let cpus = sys.join("devices/system/cpu");
    let mut governors: Vec<String> =
        children(&cpus).iter().filter_map(|cpu| attribute(cpu, "cpufreq/scaling_governor")).collect();
    governors.sort();
    governors.dedup();
    env.note("governor", (!governors.is_empty()).then(|| governors.join(", ")));
    let iommus = sys.join("class/iommu");
    env.note("iommu", iommus.is_dir().then(|| if children(&iommus).is_empty() { "off" } else { "on" }));
    let nodes = numa::nodes(&Host { sys: sys.to_owned(), proc: proc.to_owned(), dm: None });
    env.note("host.nodes", (!nodes.is_empty()).then(|| nodes.len().to_string()));
    // Every processor has it; the first one stands for all.
    env.note("host.microcode", attribute(&cpus, "cpu0/microcode/version").or_else(|| microcode(proc)));
    env.note("host.virtual", virtual_machine(sys, proc));
    env.note("host.container", container(proc));
}

/// The maker of a virtual machine if it says so, else `yes` where the processor does.
fn virtual_machine(sys: &Path, proc: &Path) -> Option<String> {
    if let Some(kind) = attribute(sys, "hypervisor/type") {
        return Some(kind);
    }
    let cpuinfo = fs::read_to_string(proc.join("cpuinfo")).ok()?;
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    if !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return None;
    }
    Some(attribute(sys, "class/dmi/id/sys_vendor").unwrap_or_else(|| "yes".to_owned()))
}

fn microcode(proc: &Path) -> Option<String> {
    let cpuinfo = fs::read_to_string(proc.join("cpuinfo")).ok()?;
    let line = cpuinfo.lines().find(|line| line.starts_with("microcode"))?;
    line.split_once(':').map(|(_, version)| version.trim().to_owned())
}

/// What made the container we run in, as its marker files or control groups say.
fn container(proc: &Path) -> Option<String> {
    let root = proc.join("1/root");
    // Where /proc/1/root may not be entered, our own root is the same one.
    let marked = |file: &str| root.join(file).exists() || Path::new("/").join(file).exists();
    if marked(".dockerenv") {
        return Some("docker".to_owned());
    }
    if marked("run/.containerenv") {
        return Some("podman".to_owned());
    }
    // systemd(1) notes the name that the container's manager gave it: `lxc`, `systemd-nspawn`.
    let noted =
        attribute(&root, "run/systemd/container").or_else(|| attribute(Path::new("/"), "run/systemd/container"));
    let groups = fs::read_to_string(proc.join("self/cgroup")).unwrap_or_default();
    let grouped = [("kubepods", "kubernetes"), ("/lxc", "lxc")].iter().find(|(part, _)| groups.contains(part));
    noted.or_else(|| grouped.map(|(_, name)| (*name).to_owned()))
}

fn note_filesystem(env: &mut Environment, filesystem: &Filesystem) {
    env.note("filesystem", Some(filesystem.type_name.as_str()));
    env.note("filesystem.options", Some(stable_options(&filesystem.options)));
    let (free, total) = (filesystem.free.0, filesystem.total.0);
    env.note("filesystem.free", (total > 0).then(|| format!("{:.0} %", free as f64 / total as f64 * 100.0)));
}

fn note_simulated(env: &mut Environment, simulated: &Simulated) {
    env.note("sim.scale", Some(simulated.scale.to_string()));
    env.note("sim.fitted", Some(if simulated.fitted { "yes" } else { "no" }));
}

pub(super) fn note_drive(env: &mut Environment, drive: &Drive, carriers: usize) {
    let yes_no = |flag: bool| if flag { "yes" } else { "no" };
    env.note("drive.model", drive.model.as_deref());
    env.note("drive.firmware", drive.firmware.clone().or_else(|| firmware_of_members(drive)));
    let driver = drive.driver.as_ref().map(|driver| match &drive.driver_version {
        Some(version) => format!("{driver} {version}"),
        None => driver.clone(),
    });
    env.note("drive.driver", driver);
    env.note("drive.transport", drive.transport.as_deref());
    env.note("drive.link", drive.link.as_deref());
    env.note("drive.scheduler", drive.scheduler.as_deref());
    env.note("drive.write_cache", drive.write_cache.as_deref());
    env.note("drive.rotational", drive.rotational.map(yes_no));
    env.note("drive.size", drive.size.map(|size| size.0.to_string()));
    env.note("drive.logical_block", drive.logical_block.map(|block| block.0.to_string()));
    env.note("drive.physical_block", drive.physical_block.map(|block| block.0.to_string()));
    note_details(env, drive);
    env.note(RESET, (!drive.details.tiers.is_empty()).then_some("not reset"));
    let layers: Vec<&str> = drive.stack.iter().map(|layer| layer.kind.as_str()).collect();
    let stack = layers.join(" > ");
    env.note("stack", Some(if carriers > 1 { format!("{carriers} × {stack}") } else { stack }));
}

/// Each firmware that a member of the stack has, and the members by model.
fn firmware_of_members(drive: &Drive) -> Option<String> {
    let known = drive.details.members.iter().filter_map(|member| member.firmware.clone());
    let firmware: BTreeSet<String> = known.collect();
    (!firmware.is_empty()).then(|| firmware.into_iter().collect::<Vec<_>>().join(", "))
}

fn note_details(env: &mut Environment, drive: &Drive) {
    let details = &drive.details;
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    env.note("drive.lba_format", details.lba_format.as_deref());
    env.note("drive.link_most", details.link_most.as_deref());
    env.note("drive.link_port", details.link_port.as_deref());
    env.note("drive.aspm", details.aspm.as_deref());
    env.note("drive.device_write_cache", details.device_write_cache.as_deref());
    env.note("drive.power_state", number(details.power_state));
    env.note("drive.apst", details.apst.as_deref());
    env.note("drive.queue_requests", number(details.queue_requests));
    env.note("drive.hardware_queues", number(details.hardware_queues));
    env.note("drive.largest_transfer", number(details.largest_transfer.map(|bytes| bytes.0)));
    env.note("drive.numa_node", number(details.numa_node));
    env.note("drive.discard_granularity", number(details.discard_granularity.map(|bytes| bytes.0)));
    env.note("drive.temperature_c", details.condition.temperature_c.map(|degrees| degrees.to_string()));
    env.note("drive.percentage_used", number(details.condition.percentage_used));
    let members: BTreeSet<&str> = details.members.iter().filter_map(|member| member.model.as_deref()).collect();
    let count = details.members.len();
    let models = members.into_iter().collect::<Vec<_>>().join(", ");
    env.note("drive.members", (count > 0).then(|| format!("{count} × {models}")));
}

/// Without the options that differ from one mount or container to the next though nothing changed.
fn stable_options(options: &str) -> String {
    let passing = ["lowerdir=", "upperdir=", "workdir=", "fd=", "subvolid="];
    let stable: Vec<&str> =
        options.split(',').filter(|option| !passing.iter().any(|key| option.starts_with(key))).collect();
    stable.join(",")
}

#[cfg(test)]
#[path = "fair_tests.rs"]
mod fair_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_only_name_this_mount_are_left_out() {
        let options = "rw,relatime,lowerdir=/a:/b,upperdir=/c,workdir=/d,xino=off";
        assert_eq!(stable_options(options), "rw,relatime,xino=off");
        assert_eq!(stable_options(""), "");
    }

    #[test]
    fn a_system_that_shows_nothing_leaves_no_entry() {
        let empty = tempfile::tempdir().unwrap();
        let mut env = Environment::default();
        note_system(&mut env, empty.path(), empty.path());
        assert_eq!(env.get("governor"), None);
        assert_eq!(env.get("iommu"), None);
        assert_eq!(env.get("host.virtual"), None);
    }

    #[test]
    fn this_host_has_the_entries_that_every_linux_has() {
        let folder = tempfile::tempdir().unwrap();
        let env = environment(&Facts::read(folder.path()).unwrap());
        for name in ["kernel", "host.cores", "host.memory", "target.kind", "filesystem", "program", "build"] {
            assert!(env.get(name).is_some(), "{name} is missing: {env:?}");
        }
        assert_eq!(env.get("target.kind"), Some("folder"));
    }
}
