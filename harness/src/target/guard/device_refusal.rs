//! PURE: why a block device is refused, in words: why, and the way out; what it is, [`Refusal`](super::Refusal) says.
//!
//! One variant a reason. Decides nothing.

use thiserror::Error;

use crate::units::Bytes;

/// Why a block device may not be erased; nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceRefusal {
    /// A part of a disk.
    #[error(
        "is a partition of {disk}, and only whole devices are measured. \
         Name a folder on a filesystem in it, or /dev/{disk} if all of that may go"
    )]
    Partition {
        /// The whole disk's kernel name.
        disk: String,
    },
    /// The kernel lets nobody write.
    #[error("is read-only. Look for its write-protect switch, or try `blockdev --setrw`")]
    ReadOnly,
    /// Zoned storage.
    #[error(
        "is zoned ({kind}): it cannot be written at any place in any order, as the suites do. Choose another drive"
    )]
    Zoned {
        /// As the kernel says.
        kind: String,
    },
    /// Reached through a network.
    #[error(
        "is reached by {transport}: other hosts may be using it, and nobody here can know. \
         If it is this host's alone, say so with --erase-shared"
    )]
    SharedStorage {
        /// How.
        transport: String,
    },
    /// The tree or the mounts are not to be read.
    #[error("may be in use: /sys and /proc do not say. Mount both, or run outside the container")]
    UseUnknown,
    /// The system's own disk.
    #[error("carries the system itself: {what}. It is never erased. Name another drive")]
    CarriesRoot {
        /// The use.
        what: String,
    },
    /// The run's own journal would lie on it.
    #[error(
        "carries the folder that the run's journal goes into: {what}. Name a folder elsewhere with --out, and unmount it"
    )]
    CarriesJournal {
        /// The use.
        what: String,
    },
    /// Mounted, swap, held.
    #[error("is in use: {what}. {way_out}; --erase does not override use")]
    Used {
        /// All uses.
        what: String,
        /// What to do.
        way_out: &'static str,
    },
    /// Reserved, or perhaps.
    #[error(
        "may not be written: {what}. Another host, or a cluster's software on this one, counts on that. End it there, then \
         release the reservation (sg_persist of sg3-utils, or nvme resv-release); --erase does not override use"
    )]
    Reserved {
        /// The reservations.
        what: String,
    },
    /// It could not be opened.
    #[error("is not known well enough: {why}")]
    Unread {
        /// Why, and what to do.
        why: String,
    },
    /// Some process has it open.
    #[error("is open in {by}. End that first; --erase does not override use")]
    Open {
        /// Which.
        by: String,
    },
    /// Opened exclusively by what this process cannot see.
    #[error(
        "is in use exclusively, though nothing that can be seen here uses it: a mount in another namespace, or the \
         kernel itself. Look on the host outside this container; --erase does not override use"
    )]
    Claimed,
    /// Nothing tells it from others.
    #[error(
        "has no identity: no serial number, no worldwide name, no UUID, so that nobody could say that it is the one \
         that is meant. Name a folder on a filesystem that lies on it"
    )]
    NoIdentity,
    /// Nothing tells it from one that is there too.
    #[error("has the identity {name}, and so has {others}. Detach all but the one that is meant")]
    SharedIdentity {
        /// The identity.
        name: String,
        /// The others' kernel names.
        others: String,
    },
    /// No `--erase`.
    #[error("would be erased, all of it. If that is meant, say whose data goes: --erase '{identity}'{others}")]
    NotAsked {
        /// What to say.
        identity: String,
        /// What would do as well.
        others: String,
    },
    /// `--erase` names something else.
    #[error("is not {named}: it is {identity}. Look which drive is meant; `devices` lists all")]
    OtherIdentity {
        /// What the option names.
        named: String,
        /// What the device is.
        identity: String,
    },
    /// `--erase` names what two devices are called.
    #[error("is called {named}, and so is {others}. Say which is meant: --erase '{identity}'")]
    AmbiguousIdentity {
        /// What the option names.
        named: String,
        /// The others' kernel names.
        others: String,
        /// A name that only this one has.
        identity: String,
    },
    /// Something lies on it.
    #[error("is not empty: {found}. If all of that may go, say so with --erase-contents as well")]
    Contents {
        /// What.
        found: String,
    },
    /// The run to go on with is not the last that wrote there.
    #[error(
        "does not hold run {run} as that left it: {found}. Somebody wrote there meanwhile, so the run cannot go on; \
         start a new one"
    )]
    NotTheRunsOwn {
        /// The run.
        run: String,
        /// What was found.
        found: String,
    },
    /// The plan does not fit.
    #[error("has {capacity} to give, and the plan needs {need}. Choose a profile that needs less, or a larger drive")]
    TooSmall {
        /// What the plan needs at once.
        need: Bytes,
        /// What there is.
        capacity: Bytes,
    },
}
