//! PURE: whether a block device may be erased.
//!
//! What a device is goes before who uses it, that before whether it may be looked at and is the right one, and these
//! before what lies on it:
//! `--erase` and `--erase-contents` never override use. Reads nothing.

use std::path::Path;

use super::purge::{self, ArmedPurge};
use super::{Consent, DeviceRefusal, Need, Refusal, SMALL_PLAN};
use crate::target::facts::{Block, Use, User};

/// The first reason against it; else what the drive is to be ordered.
pub(super) fn may_be_erased(
    path: &Path,
    block: &Block,
    need: &Need,
    consent: &Consent,
) -> Result<Option<ArmedPurge>, Refusal> {
    if let Some(named) = &consent.fill_volume {
        return Err(Refusal::NoFilesystem { target: path.to_owned(), named: named.clone() });
    }
    let refused = |why: DeviceRefusal| Err(Refusal::Device { path: path.to_owned(), why });
    let reason = unfit(block, consent)
        .or_else(|| in_use(block, consent))
        .or_else(|| unread(block))
        .or_else(|| not_the_one(block, consent));
    if let Some(why) = reason {
        return refused(why);
    }
    let purge = purge::armed(block, consent).map_err(|why| Refusal::Purge { path: path.to_owned(), why })?;
    if let Some(why) = not_empty(block, consent) {
        return refused(why);
    }
    if need.space > block.capacity() {
        return refused(DeviceRefusal::TooSmall { need: need.space, capacity: block.capacity() });
    }
    match &block.pool {
        Some(pool) if pool.available.is_some_and(|left| need.space > left) => Err(Refusal::PoolTooSmall {
            need: need.space,
            available: pool.available.unwrap_or_default(),
            what: pool.what.clone(),
        }),
        Some(pool) if pool.available.is_none() && need.space > SMALL_PLAN => {
            Err(Refusal::PoolUnknown { need: need.space, what: pool.what.clone() })
        }
        _ => Ok(purge),
    }
}

/// What no consent makes a target of.
pub(super) fn unfit(block: &Block, consent: &Consent) -> Option<DeviceRefusal> {
    if let Some(disk) = &block.partition_of {
        return Some(DeviceRefusal::Partition { disk: disk.clone() });
    }
    if block.read_only {
        return Some(DeviceRefusal::ReadOnly);
    }
    if let Some(kind) = &block.zoned {
        return Some(DeviceRefusal::Zoned { kind: kind.clone() });
    }
    let shared = block.shared_storage.as_ref().filter(|_| !consent.shared_storage);
    shared.map(|transport| DeviceRefusal::SharedStorage { transport: transport.clone() })
}

pub(super) fn in_use(block: &Block, consent: &Consent) -> Option<DeviceRefusal> {
    let Some(uses) = &block.uses else { return Some(DeviceRefusal::UseUnknown) };
    let root = uses.iter().find(|one| matches!(one.by, User::Mount { root: true, .. }));
    if let Some(one) = root {
        return Some(DeviceRefusal::CarriesRoot { what: one.to_string() });
    }
    let below = |one: &&Use| match (&one.by, &consent.journal) {
        (User::Mount { at, .. }, Some(journal)) => journal.starts_with(at),
        _ => false,
    };
    if let Some(one) = uses.iter().find(below) {
        return Some(DeviceRefusal::CarriesJournal { what: one.to_string() });
    }
    if !uses.is_empty() {
        // The way out begins with what is nearest to the user: mounts before what carries them.
        let mut ordered: Vec<&Use> = uses.iter().collect();
        ordered.sort_by_key(|one| matches!(one.by, User::Holder { .. }));
        let way_out = match ordered[0].by {
            User::Mount { .. } | User::Member { .. } => "Unmount it first",
            User::Swap => "Switch it off first with swapoff",
            _ => "Stop or remove what holds it first",
        };
        let what = ordered.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        return Some(DeviceRefusal::Used { what, way_out });
    }
    let mut binding = block.reservations.iter().filter(|reservation| reservation.binds()).peekable();
    if binding.peek().is_some() {
        return Some(DeviceRefusal::Reserved { what: binding.map(ToString::to_string).collect::<Vec<_>>().join("; ") });
    }
    if !block.opened_by.is_empty() {
        return Some(DeviceRefusal::Open { by: block.opened_by.join(", ") });
    }
    block.claimed.then_some(DeviceRefusal::Claimed)
}

/// What nobody could look at may hold anything.
pub(super) fn unread(block: &Block) -> Option<DeviceRefusal> {
    block.contents.unread.as_ref().map(|why| DeviceRefusal::Unread { why: why.clone() })
}

/// Whether the user named this device.
pub(super) fn not_the_one(block: &Block, consent: &Consent) -> Option<DeviceRefusal> {
    let all: Vec<&str> = block.identity.iter().map(|identity| identity.name.as_str()).collect();
    let alone = block.identity.iter().filter(|identity| identity.shared_with.is_empty());
    let alone: Vec<&str> = alone.map(|identity| identity.name.as_str()).collect();
    let Some(first_own) = block.identity.iter().find(|identity| identity.shared_with.is_empty()) else {
        let shared = block.identity.first();
        return Some(match shared {
            None => DeviceRefusal::NoIdentity,
            Some(shared) => {
                DeviceRefusal::SharedIdentity { name: shared.name.clone(), others: shared.shared_with.join(", ") }
            }
        });
    };
    if consent.erase.is_empty() {
        return Some(DeviceRefusal::NotAsked {
            identity: first_own.name.clone(),
            others: others(&alone, &first_own.name),
        });
    }
    let named: Vec<String> = consent.erase.iter().map(|named| trimmed(named)).collect();
    let mut meant = block.identity.iter().filter(|identity| named.contains(&identity.name));
    match meant.clone().find(|identity| identity.shared_with.is_empty()).or_else(|| meant.next()) {
        None => Some(DeviceRefusal::OtherIdentity { named: named.join(", "), identity: all.join(", ") }),
        Some(identity) if !identity.shared_with.is_empty() => Some(DeviceRefusal::AmbiguousIdentity {
            named: identity.name.clone(),
            others: identity.shared_with.join(", "),
            identity: first_own.name.clone(),
        }),
        Some(_) => None,
    }
}

/// Drives pad their names with spaces, and who copies one may lose some.
pub(super) fn trimmed(named: &str) -> String {
    named.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn others(all: &[&str], but: &str) -> String {
    let others: Vec<&str> = all.iter().copied().filter(|name| *name != but).collect();
    if others.is_empty() { String::new() } else { format!(" (also {})", others.join(", ")) }
}

pub(super) fn not_empty(block: &Block, consent: &Consent) -> Option<DeviceRefusal> {
    let contents = &block.contents;
    if let Some(run) = &consent.resumes {
        // What the run cleared cannot be there again: a signature is somebody else's, and a marker gone is as well.
        let strange = !contents.signatures.is_empty() || contents.marked_by.as_ref() != Some(run);
        let foreign = contents.foreign_blocks > 0 && !consent.erase_contents;
        return (strange || foreign).then(|| DeviceRefusal::NotTheRunsOwn { run: run.clone(), found: found(block) });
    }
    if contents.is_nothing() || consent.erase_contents {
        None
    } else {
        Some(DeviceRefusal::Contents { found: found(block) })
    }
}

fn found(block: &Block) -> String {
    let contents = &block.contents;
    let mut found = contents.signatures.clone();
    if contents.foreign_blocks > 0 {
        let (foreign, sampled) = (contents.foreign_blocks, contents.sampled_blocks);
        found.push(format!("data in {foreign} of {sampled} sampled blocks"));
    }
    if let Some(run) = &contents.marked_by {
        found.push(format!("the marker of run {run}"));
    }
    if found.is_empty() { "nothing".to_owned() } else { found.join(", ") }
}
