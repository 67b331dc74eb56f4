//! Layers of a stack that keep what is hot on faster storage: what earlier runs left there outlives a purge.
//!
//! Source: Linux `Documentation/admin-guide/bcache.rst`, `device-mapper/cache.rst`, `device-mapper/writecache.rst`, `md.rst`
//! (`journal_mode`); lvmcache(7) for the names of the volumes beneath a cached one, which anybody may read, as only root
//! may the tables. Knows only the kernel's own caches: of a RAID controller's, a ZFS pool's or a drive's nothing is known.

use std::path::Path;

use super::sysfs::{Host, attribute};
use super::{Layer, drive};

/// The caching layers of a stack, in its order, each kind once.
pub(super) fn of(stack: &[Layer], host: &Host) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for kind in stack.iter().filter_map(|layer| tier(&host.sys.join("class/block").join(&layer.name), layer, host)) {
        if !found.iter().any(|known| known == kind) {
            found.push(kind.to_owned());
        }
    }
    found
}

fn tier(dir: &Path, layer: &Layer, host: &Host) -> Option<&'static str> {
    match layer.kind.as_str() {
        "bcache" => Some("bcache"),
        kind if kind.starts_with("dm") => mapped(dir, host),
        // A journal in write-back mode holds stripes until they are whole.
        kind if kind.starts_with("md") => {
            attribute(dir, "md/journal_mode").filter(|mode| mode.contains("[write-back]")).map(|_| "md-journal")
        }
        _ => None,
    }
}

/// By its table, where we may read it; else by what LVM calls the volumes beneath it.
fn mapped(dir: &Path, host: &Host) -> Option<&'static str> {
    let table =
        host.dm.as_ref().zip(attribute(dir, "dm/name")).and_then(|(tables, name)| match tables.target(&name)? {
            "cache" => Some("dm-cache"),
            "writecache" => Some("dm-writecache"),
            _ => None,
        });
    let lower = || drive::beneath(dir).into_iter().filter_map(|lower| attribute(&lower, "dm/name"));
    let by_name = || {
        let ends = |end: &str| lower().any(|name| name.ends_with(end));
        match () {
            () if ends("_wcorig") => Some("dm-writecache"),
            () if ends("_corig") => Some("dm-cache"),
            () => None,
        }
    };
    table.or_else(by_name)
}

#[cfg(test)]
mod tests {
    use super::super::mounts::Mounts;
    use super::super::recorded::{Tree, device};
    use super::super::{dm, host};
    use super::*;
    use crate::environment::{Environment, RESET};

    /// A disk and an SSD.
    fn tree() -> Tree {
        let tree = Tree::new();
        tree.block("virtual/block/sda", "8:0", &[("queue/rotational", "1")]);
        tree.block("virtual/block/nvme0n1", "259:0", &[("queue/rotational", "0")]);
        tree
    }

    /// A mapped device over others.
    fn map(tree: &Tree, name: &str, number: &str, called: &str, uuid: &str, over: &[&str]) {
        let place = format!("virtual/block/{name}");
        tree.block(&place, number, &[("dm/name", called), ("dm/uuid", uuid)]);
        for lower in over {
            tree.over(&place, &format!("virtual/block/{lower}"));
        }
    }

    fn check(tree: &Tree, tables: Option<&str>, number: &str, expect: &[&str]) {
        let host = Host { dm: tables.map(|table| dm::Tables::parse(table, "")), ..tree.host() };
        let drive = drive::read(device(number), &host, &Mounts::default()).unwrap();
        assert_eq!(drive.details.tiers, expect);
        let mut env = Environment::default();
        host::note_drive(&mut env, &drive, 1);
        assert_eq!(env.get(RESET), (!expect.is_empty()).then_some("not reset"));
    }

    #[test]
    fn a_cache_of_the_device_mapper_is_known_by_its_table() {
        for (target, expect) in [("cache", "dm-cache"), ("writecache", "dm-writecache")] {
            let tree = tree();
            map(&tree, "dm-0", "254:0", "fast", "", &["sda", "nvme0n1"]);
            map(&tree, "dm-1", "254:1", "home", "CRYPT-LUKS2-1-home", &["dm-0"]);
            let table = format!("fast: 0 8 {target} 254:9 259:0 8:0 512\nhome: 0 8 crypt aes\n");
            check(&tree, Some(&table), "254:1", &[expect]);
            check(&tree, None, "254:1", &[]);
        }
    }

    #[test]
    fn a_cached_logical_volume_is_known_without_root() {
        for (origin, expect) in [("vg-lv_corig", "dm-cache"), ("vg-lv_wcorig", "dm-writecache")] {
            let tree = tree();
            map(&tree, "dm-0", "254:0", origin, "LVM-abc-real", &["sda"]);
            map(&tree, "dm-1", "254:1", "vg-pool_cvol", "LVM-def", &["nvme0n1"]);
            map(&tree, "dm-2", "254:2", "vg-lv", "LVM-ghi", &["dm-0", "dm-1"]);
            check(&tree, None, "254:2", &[expect]);
        }
    }

    #[test]
    fn bcache_and_a_write_back_journal_are_tiers_and_a_plain_stack_is_none() {
        let tree = tree();
        tree.block("virtual/block/bcache0", "252:0", &[]).over("virtual/block/bcache0", "virtual/block/sda");
        check(&tree, None, "252:0", &["bcache"]);
        for (mode, expect) in [("write-through [write-back]", &["md-journal"][..]), ("[write-through] write-back", &[])]
        {
            let tree = self::tree();
            tree.block("virtual/block/md0", "9:0", &[("md/level", "raid5"), ("md/journal_mode", mode)])
                .over("virtual/block/md0", "virtual/block/sda");
            check(&tree, None, "9:0", expect);
        }
        map(&tree, "dm-0", "254:0", "vg-lv", "LVM-abc", &["sda", "nvme0n1"]);
        check(&tree, Some("vg-lv: 0 8 linear 8:0 0\n"), "254:0", &[]);
        check(&tree, None, "8:0", &[]);
    }
}
