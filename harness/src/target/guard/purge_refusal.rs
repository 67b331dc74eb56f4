//! PURE: why a drive is not told to purge itself, in words: why, and the way out; what it is, `Refusal` says.
//!
//! One variant a reason. Decides nothing.

use std::path::PathBuf;

use thiserror::Error;

use super::DeviceRefusal;

/// Why a drive may not be told to format or sanitize itself; nothing was written, and nothing ordered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PurgeRefusal {
    /// Any other device.
    #[error(
        "is no NVMe drive, and no other is formatted or sanitized by itself. Leave --purge {purge} out: then it is \
         purged by discarding"
    )]
    NotNvme {
        /// What was asked for.
        purge: &'static str,
    },
    /// Something must be known that is not.
    #[error(
        "did not say what its own purge would reach ({why}), so that nothing is ordered. Ask as root, or leave --purge out"
    )]
    Unread {
        /// What and why.
        why: String,
    },
    /// A format or sanitize is under way.
    #[error("{how}, and takes no orders until that is over. Wait, and start again")]
    Busy {
        /// What is going on.
        how: String,
    },
    /// No Format NVM.
    #[error("cannot format itself: its controller does not have the command. Leave --purge out")]
    NoFormat,
    /// No sanitize.
    #[error(
        "cannot sanitize itself: its controller has neither block erase nor crypto erase nor overwrite. \
         Try --purge format, or leave --purge out"
    )]
    NoSanitize,
    /// Controllers of other hosts, perhaps.
    #[error(
        "belongs to a drive with controllers that this host does not have: another host may be using it. \
         If it is this host's alone, say so with --erase-shared"
    )]
    ForeignControllers,
    /// Namespaces that nobody here can look at.
    #[error(
        "shares its drive with namespaces that this host does not show (number {numbers}), and --purge {purge} would \
         erase them too, whatever lies on them. Attach them and name them, delete them, or leave --purge out"
    )]
    Unseen {
        /// Which.
        numbers: String,
        /// What was asked for.
        purge: &'static str,
    },
    /// A namespace that would be erased too.
    #[error("would not be erased alone: {} is part of the same drive, would be erased as well, and {why}", .path.display())]
    Sibling {
        /// Its node.
        path: PathBuf,
        /// Why it may not.
        why: Box<DeviceRefusal>,
    },
    /// A namespace that would be spared, if the firmware does as it says.
    #[error("is part of a drive that is in use: {} {why}; nobody can know that its firmware would spare that", .path.display())]
    SiblingUsed {
        /// Its node.
        path: PathBuf,
        /// How.
        why: Box<DeviceRefusal>,
    },
    /// A namespace that cannot be looked at.
    #[error("is part of a drive of which {} cannot be looked at. Ask as root, or leave --purge out", .path.display())]
    SiblingUnread {
        /// Its node.
        path: PathBuf,
    },
    /// `--erase` names too much.
    #[error(
        "is erased, and --erase names {named} as well, which is not. Look which drive is meant; `devices` lists all"
    )]
    Needless {
        /// The name.
        named: String,
    },
}
