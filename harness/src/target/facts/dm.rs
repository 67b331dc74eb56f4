//! PURE: the device mapper's tables and states as `dmsetup` prints them → what can run out, and when.
//!
//! Source: `dmsetup(8)`; Linux `Documentation/admin-guide/device-mapper/`, `thin-provisioning.rst`, `snapshot.rst`,
//! `vdo.rst`. Runs nothing.

use std::collections::BTreeMap;

use super::{Device, Pool, PoolKind};
use crate::units::Bytes;

const SECTOR: u64 = 512;

/// All mapped devices of a host, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    tables: BTreeMap<String, Vec<String>>,
    states: BTreeMap<String, Vec<String>>,
}

impl Tables {
    /// From the output of `dmsetup table` and `dmsetup status`, for all devices. Of a device with several targets
    /// the first is kept.
    pub(super) fn parse(table: &str, status: &str) -> Tables {
        Tables { tables: by_name(table), states: by_name(status) }
    }

    /// What limits the mapped device `name`, if it is of a kind that can run out.
    ///
    /// `used` are the filesystem's bytes in use, where the filesystem lies directly on the device: blocks that the
    /// device holds beyond them can be written again. `name_of` resolves a device's number.
    pub(super) fn limit(
        &self,
        name: &str,
        used: Option<Bytes>,
        name_of: impl Fn(Device) -> Option<String>,
    ) -> Option<Pool> {
        let table = self.tables.get(name)?;
        match table.get(2)?.as_str() {
            "thin" => Some(self.thin(name, table, used, name_of)),
            "snapshot" => Some(Pool {
                kind: PoolKind::Snapshot,
                available: self.snapshot_left(name),
                what: format!("the snapshot {name}"),
            }),
            "snapshot-origin" => self.origin(name, table.get(3)?),
            "vdo" => Some(Pool {
                kind: PoolKind::Vdo,
                available: self.vdo_left(name),
                what: format!("the VDO volume {name}"),
            }),
            _ => None,
        }
    }

    /// What the mapped device `name` is made of: the first word of its table's parameters, such as `linear` or `cache`.
    pub(super) fn target(&self, name: &str) -> Option<&str> {
        self.tables.get(name)?.get(2).map(String::as_str)
    }

    /// Table `start length thin POOL ID`, state `start length thin MAPPED_SECTORS HIGHEST`.
    fn thin(
        &self,
        name: &str,
        table: &[String],
        used: Option<Bytes>,
        name_of: impl Fn(Device) -> Option<String>,
    ) -> Pool {
        let pool = table.get(3).and_then(|device| name_of(device.parse().ok()?));
        let mapped = self.states.get(name).and_then(|state| state.get(3)?.parse().ok()).map(sectors);
        let spare = used.zip(mapped).map_or(Bytes(0), |(used, mapped)| mapped.saturating_sub(used));
        let free = pool.as_ref().and_then(|pool| self.thin_pool_free(pool));
        let what = match pool {
            Some(pool) => format!("the thin pool {pool}"),
            None => format!("the pool of the thin volume {name}"),
        };
        Pool { kind: PoolKind::Thin, available: free.map(|free| free.saturating_add(spare)), what }
    }

    /// Table `start length thin-pool META DATA BLOCK_SECTORS LOW_WATER …`, state `start length thin-pool TRANSACTION
    /// USED/TOTAL_META USED/TOTAL_DATA HELD_ROOT MODE …`; a pool that failed or is read-only takes nothing.
    fn thin_pool_free(&self, pool: &str) -> Option<Bytes> {
        let block: u64 = self.tables.get(pool)?.get(5)?.parse().ok()?;
        let state = self.states.get(pool)?;
        if state.get(3)? == "Fail" || state.iter().any(|word| word == "ro" || word == "out_of_data_space") {
            return Some(Bytes(0));
        }
        free_of(state.get(5)?).map(|blocks| sectors(blocks.saturating_mul(block)))
    }

    /// State `start length snapshot ALLOCATED/TOTAL METADATA`, in sectors, or `Invalid`, `Overflow`.
    fn snapshot_left(&self, name: &str) -> Option<Bytes> {
        let state = self.states.get(name)?.get(3)?;
        if state == "Invalid" || state == "Overflow" {
            return Some(Bytes(0));
        }
        free_of(state).map(sectors)
    }

    /// Each first write to an origin is copied into every snapshot of it; one that is full is lost.
    fn origin(&self, name: &str, device: &str) -> Option<Pool> {
        let of_it = |table: &Vec<String>| {
            table.get(2).is_some_and(|kind| kind == "snapshot") && table.get(3).is_some_and(|origin| origin == device)
        };
        let snapshots = self.tables.iter().filter(|(_, table)| of_it(table)).map(|(name, _)| name);
        let (left, snapshot) = snapshots.map(|snapshot| (self.snapshot_left(snapshot), snapshot)).min()?;
        let what = format!("the snapshot {snapshot} of {name}");
        Some(Pool { kind: PoolKind::Snapshot, available: left, what })
    }

    /// State `start length vdo DEVICE MODE RECOVERY INDEX COMPRESSION USED TOTAL`, in blocks of 4 KiB.
    fn vdo_left(&self, name: &str) -> Option<Bytes> {
        let state = self.states.get(name)?;
        let used: u64 = state.get(8)?.parse().ok()?;
        let total: u64 = state.get(9)?.parse().ok()?;
        Some(Bytes(total.saturating_sub(used).saturating_mul(4096)))
    }
}

/// `name: word word …`, the first line of each name.
fn by_name(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for (name, rest) in text.lines().filter_map(|line| line.split_once(": ")) {
        let words = rest.split_whitespace().map(str::to_owned).collect();
        all.entry(name.to_owned()).or_insert(words);
    }
    all
}

/// `USED/TOTAL` → what is left.
fn free_of(word: &str) -> Option<u64> {
    let (used, total) = word.split_once('/')?;
    Some(total.parse::<u64>().ok()?.saturating_sub(used.parse().ok()?))
}

fn sectors(count: u64) -> Bytes {
    Bytes(count.saturating_mul(SECTOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
vg-home: 0 209715200 thin 254:3 1
vg-pool-tpool: 0 419430400 thin-pool 254:1 254:2 128 0 0
vg-dead: 0 2048 thin 254:9 1
vg-ro-tpool: 0 4194304 thin-pool 254:1 254:2 128 0 0
vg-root: 0 41943040 linear 8:3 2048
vg-lv: 0 2097152 snapshot-origin 254:7
vg-lonely: 0 2097152 snapshot-origin 254:8
vg-snap: 0 2097152 snapshot 254:7 254:12 P 8
vg-snap2: 0 2097152 snapshot 254:7 254:13 P 8
vdo0: 0 2097152 vdo V4 /dev/sdb 1000 4096 32768 16380
striped: 0 2097152 linear 8:3 2048
striped: 2097152 2097152 thin 254:3 2
";
    const STATUS: &str = "\
vg-home: 0 209715200 thin 2097152 209715199
vg-pool-tpool: 0 419430400 thin-pool 5 200/1024 1000/3000 - rw discard_passdown queue_if_no_space - 1024
vg-ro-tpool: 0 4194304 thin-pool 5 200/1024 1000/3000 - ro discard_passdown queue_if_no_space - 1024
vg-dead: 0 2048 thin Fail
vg-snap: 0 2097152 snapshot 16/204800 16
vg-snap2: 0 2097152 snapshot Overflow
vdo0: 0 2097152 vdo /dev/sdb normal - online online 500 1000
";

    fn check(name: &str, used: Option<u64>, expect: Option<(&str, Option<u64>)>) {
        let names = |device: Device| match device.minor {
            3 => Some("vg-pool-tpool".to_owned()),
            9 => Some("vg-ro-tpool".to_owned()),
            _ => None,
        };
        let pool = Tables::parse(TABLE, STATUS).limit(name, used.map(Bytes), names);
        let got = pool.as_ref().map(|pool| (pool.what.as_str(), pool.available.map(|left| left.0)));
        assert_eq!(got, expect, "{name}");
    }

    #[test]
    fn what_can_run_out_says_what_it_has_left() {
        let free = 2000 * 128 * 512;
        check("vg-home", None, Some(("the thin pool vg-pool-tpool", Some(free))));
        check("vg-home", Some(1 << 29), Some(("the thin pool vg-pool-tpool", Some(free + (1 << 29)))));
        check("vg-home", Some(1 << 40), Some(("the thin pool vg-pool-tpool", Some(free))));
        check("vg-dead", None, Some(("the thin pool vg-ro-tpool", Some(0))));
        check("vg-snap", None, Some(("the snapshot vg-snap", Some((204_800 - 16) * 512))));
        check("vg-lv", None, Some(("the snapshot vg-snap2 of vg-lv", Some(0))));
        check("vdo0", None, Some(("the VDO volume vdo0", Some(500 * 4096))));
    }

    #[test]
    fn what_cannot_run_out_has_no_limit() {
        check("vg-root", None, None);
        check("vg-lonely", None, None);
        check("no such device", None, None);
    }

    #[test]
    fn a_pool_that_nobody_can_name_is_unknown_not_free() {
        let tables = Tables::parse(TABLE, "");
        let pool = tables.limit("vg-home", None, |_| None).unwrap();
        assert_eq!((pool.available, pool.what.as_str()), (None, "the pool of the thin volume vg-home"));
    }
}
