//! PURE: whether a drive may be told to format or sanitize itself, how, and what that reaches.
//!
//! A sanitize reaches every namespace of the subsystem, a format those that the drive says (FNA). Each that is reached
//! must pass the guard as the target does, and be named. One that is not reached must be unused all the same: no word of a
//! drive's firmware is worth a mounted filesystem. Reads nothing.

use super::device::{in_use, not_empty, not_the_one, trimmed, unfit, unread};
use super::{Consent, DeviceRefusal, PurgeRefusal};
use crate::sample::purge::NamedPurge;
use crate::target::facts::{Block, SanitizeAction, Sibling, Subsystem};

/// What a drive is to be ordered. Only the guard makes one, and only `purge` takes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmedPurge {
    named: NamedPurge,
    command: PurgeCommand,
    reached: Vec<Sibling>,
}

/// The command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) enum PurgeCommand {
    /// Format NVM of a namespace, with its dword 10.
    Format { namespace: u32, dword_10: u32 },
    /// Sanitize.
    Sanitize(SanitizeAction),
}

impl ArmedPurge {
    /// What the user asked for.
    #[must_use]
    pub fn named(&self) -> NamedPurge {
        self.named
    }

    /// What is done, for people: `sanitize by block erase`.
    #[must_use]
    pub fn words(&self) -> String {
        words(self.command)
    }

    pub(in crate::target) fn command(&self) -> PurgeCommand {
        self.command
    }

    /// The other namespaces that lose their data too.
    pub(in crate::target) fn reached(&self) -> &[Sibling] {
        &self.reached
    }
}

fn words(command: PurgeCommand) -> String {
    match command {
        PurgeCommand::Format { namespace, .. } => {
            format!("format namespace {namespace} with erasure of user data, in the LBA format that it has")
        }
        PurgeCommand::Sanitize(action) => format!("sanitize the whole drive by {}", action.words()),
    }
}

/// What a purge would do to this device and to others, for people, whether or not it may be done.
#[must_use]
pub fn foreseen(block: &Block, named: NamedPurge) -> Option<String> {
    let subsystem = block.subsystem.as_deref()?;
    let others: Vec<String> = reached(subsystem, named)
        .iter()
        .map(|sibling| {
            let names = sibling.facts.as_ref().and_then(|facts| facts.block()).map(|block| &block.identity);
            let first = names.and_then(|names| names.first()).map(|identity| format!(", {}", identity.name));
            format!("{} (namespace {}{})", sibling.path.display(), sibling.namespace, first.unwrap_or_default())
        })
        .collect();
    let others = if others.is_empty() { String::new() } else { format!("; ALL of {} as well", others.join(", ")) };
    command(subsystem, named).ok().map(|command| words(command) + &others)
}

/// The purge that the user asks for, if it may be done.
pub(super) fn armed(block: &Block, consent: &Consent) -> Result<Option<ArmedPurge>, PurgeRefusal> {
    let Some(named) = consent.purge else {
        needless(block, &[], consent)?;
        return Ok(None);
    };
    let Some(subsystem) = block.subsystem.as_deref() else { return Err(PurgeRefusal::NotNvme { purge: named.word() }) };
    if let Some(why) = &subsystem.unread {
        return Err(PurgeRefusal::Unread { why: why.clone() });
    }
    if let Some(how) = &subsystem.busy {
        return Err(PurgeRefusal::Busy { how: how.clone() });
    }
    let command = command(subsystem, named)?;
    if subsystem.foreign_controllers && !consent.shared_storage {
        return Err(PurgeRefusal::ForeignControllers);
    }
    let reached = reached(subsystem, named);
    if reaches_all(subsystem, named) && !subsystem.unseen.is_empty() {
        let numbers: Vec<String> = subsystem.unseen.iter().map(u32::to_string).collect();
        return Err(PurgeRefusal::Unseen { numbers: numbers.join(", "), purge: named.word() });
    }
    for sibling in &subsystem.siblings {
        may_be(sibling, reached.contains(sibling), consent)?;
    }
    needless(block, reached, consent)?;
    Ok(Some(ArmedPurge { named, command, reached: reached.to_vec() }))
}

fn command(subsystem: &Subsystem, named: NamedPurge) -> Result<PurgeCommand, PurgeRefusal> {
    let abilities = &subsystem.abilities;
    match named {
        NamedPurge::Format if abilities.formats => {
            Ok(PurgeCommand::Format { namespace: subsystem.namespace, dword_10: subsystem.format })
        }
        NamedPurge::Format => Err(PurgeRefusal::NoFormat),
        NamedPurge::Sanitize => {
            abilities.sanitizes.first().copied().map(PurgeCommand::Sanitize).ok_or(PurgeRefusal::NoSanitize)
        }
    }
}

fn reaches_all(subsystem: &Subsystem, named: NamedPurge) -> bool {
    named == NamedPurge::Sanitize || subsystem.abilities.formats_all
}

/// The other namespaces that lose their data too.
fn reached(subsystem: &Subsystem, named: NamedPurge) -> &[Sibling] {
    if reaches_all(subsystem, named) { &subsystem.siblings } else { &[] }
}

/// Whether another namespace stands in the way.
fn may_be(sibling: &Sibling, reached: bool, consent: &Consent) -> Result<(), PurgeRefusal> {
    let path = sibling.path.clone();
    let Some(block) = sibling.facts.as_ref().and_then(|facts| facts.block()) else {
        return Err(PurgeRefusal::SiblingUnread { path });
    };
    if !reached {
        let why = in_use(block, consent);
        return why.map_or(Ok(()), |why| Err(PurgeRefusal::SiblingUsed { path, why: Box::new(why) }));
    }
    let not_named = || {
        not_the_one(block, consent).map(|why| match why {
            // The names that there are are the target's.
            DeviceRefusal::OtherIdentity { identity, .. } => {
                let identity = block
                    .identity
                    .iter()
                    .find(|one| one.shared_with.is_empty())
                    .map_or(identity, |own| own.name.clone());
                DeviceRefusal::NotAsked { identity, others: String::new() }
            }
            why => why,
        })
    };
    // Its pool, size and marker are no matter: nothing is written there.
    let why = unfit(block, consent)
        .or_else(|| in_use(block, consent))
        .or_else(|| unread(block))
        .or_else(not_named)
        .or_else(|| not_empty(block, &Consent { resumes: None, ..consent.clone() }));
    why.map_or(Ok(()), |why| Err(PurgeRefusal::Sibling { path, why: Box::new(why) }))
}

/// A name of something that is not erased: the user may have meant another drive.
fn needless(block: &Block, reached: &[Sibling], consent: &Consent) -> Result<(), PurgeRefusal> {
    let others = reached.iter().filter_map(|sibling| sibling.facts.as_ref()?.block());
    let erased: Vec<&Block> = std::iter::once(block).chain(others).collect();
    let known = |named: &String| {
        let mut names = erased.iter().flat_map(|block| &block.identity);
        names.any(|identity| identity.name == *named)
    };
    if consent.resumes.is_some() {
        // Its own purge is over, and what that reached is named in its journal.
        return Ok(());
    }
    let mut named = consent.erase.iter().map(|named| trimmed(named));
    named.find(|named| !known(named)).map_or(Ok(()), |named| Err(PurgeRefusal::Needless { named }))
}
