//! Has a drive purge itself, as the guard armed it: the order, its end, and what to do when it fails.
//!
//! A format is one command that ends when it is done. A sanitize goes on after its command, through resets and power
//! cycles, and its log says how far it is (NVM Express Base Specification 2.0, 5.24 and 8.21). Neither can be stopped.
//! While a format lasts the drive is asked nothing: the kernel resets a controller that does not answer in time, and that
//! would end the format. Waits only where its caller says so.

mod witness;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use super::admin::Admin;
use super::facts::block::subsystem::SANITIZE_STATUS;
use super::facts::nvme::erase::{Sanitized, abilities, format_left, sanitized, status_words};
use super::guard::purge::{ArmedPurge, PurgeCommand};
use super::ioctl::nvme::{NvmeError, NvmeOrder, NvmeQuestion};
use super::space::RawDevice;
use crate::sample::purge::NamedPurge;
pub use witness::Witness;

/// What a drive last said while it purges itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// This many thousandths are done.
    Done(u32),
    /// It did not answer; it may be resetting.
    Silent,
}

/// Why a purge came to no good end.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PurgeError {
    /// It would not begin.
    #[error(
        "the drive does not {what}: {why}; nothing was erased by it. Leave --purge out, or see what the drive wants"
    )]
    Refused {
        /// What it was ordered.
        what: String,
        /// Its status, or the kernel's.
        why: String,
    },
    /// It failed in the middle.
    #[error(
        "the drive's sanitize failed (status 3 of its log), and until it is sanitized again it takes no reads and writes. \
         Try once more with --purge sanitize; or get it out with exit failure mode, `nvme sanitize --sanact=1` on its \
         controller, which gives up what was on it; then replace it"
    )]
    SanitizeFailed,
    /// It says what this program does not understand.
    #[error(
        "the drive's sanitize status is {status:04x}h, which means nothing known: see its log with `nvme sanitize-log`"
    )]
    Strange {
        /// SSTAT.
        status: u16,
    },
    /// It was ordered, and no longer answers.
    #[error(
        "the drive no longer says how far its own purge is ({why}); it may be going on all the same. When the drive is \
         back, --resume waits for its end, and begins with the purge again"
    )]
    Silent {
        /// The kernel's error.
        why: String,
    },
    /// It is done, and the device is not what it was.
    #[error("after its own purge the device is another than before: {why}; nothing more was written")]
    Changed {
        /// What differs.
        why: String,
    },
}

/// Answers in a row that may be missing: a drive may reset.
const MOST_SILENT: u32 = 60;

/// A purge that was armed, on the device that was opened.
#[derive(Debug)]
pub struct Purge {
    armed: ArmedPurge,
    device: Arc<RawDevice>,
    /// The other namespaces that lose their data, held exclusively until the purge is over.
    others: Vec<OwnedFd>,
    done: AtomicBool,
}

impl Purge {
    pub(super) fn new(armed: ArmedPurge, device: Arc<RawDevice>, others: Vec<OwnedFd>) -> Purge {
        Purge { armed, device, others, done: AtomicBool::new(false) }
    }

    /// What the user asked for.
    #[must_use]
    pub fn named(&self) -> NamedPurge {
        self.armed.named()
    }

    /// What is done, for people.
    #[must_use]
    pub fn words(&self) -> String {
        let others = match self.others.len() {
            0 => String::new(),
            1 => ", and with it another namespace".to_owned(),
            more => format!(", and with it {more} other namespaces"),
        };
        self.armed.words() + &others
    }

    /// Orders it and waits for its end; calls `pause` between two looks at it.
    ///
    /// # Errors
    /// It did not begin, or failed.
    pub fn carry_out(&self, pause: &mut dyn FnMut(Stage)) -> Result<(), PurgeError> {
        carry_out(self.device.node(), self.armed.command(), &self.armed.words(), pause)
    }

    /// Marks the purged device as the run's.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn mark(&self, run: &str) -> Result<(), Errno> {
        self.device.mark(run)?;
        self.done.store(true, Ordering::Release);
        Ok(())
    }

    /// Whether the device carries the run's marker: before that, nothing on it is the run's.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }
}

/// Orders a purge and waits for its end.
fn carry_out(
    drive: &dyn Admin,
    command: PurgeCommand,
    what: &str,
    pause: &mut dyn FnMut(Stage),
) -> Result<(), PurgeError> {
    let refused = |why| PurgeError::Refused {
        what: what.to_owned(),
        why: match why {
            NvmeError::Status(status) => status_words(status),
            NvmeError::System(errno) => in_words(errno),
        },
    };
    let mut pause = |stage| {
        pause(stage);
        true
    };
    let over = match command {
        PurgeCommand::Format { namespace, dword_10 } => {
            drive.tell(NvmeOrder::Format(namespace, dword_10)).map_err(refused)?;
            // Few drives end the command before the format; those say how far they are.
            until_over(&mut pause, || format_stage(drive, namespace))
        }
        PurgeCommand::Sanitize(action) => {
            drive.tell(NvmeOrder::Sanitize(action.dword_10())).map_err(refused)?;
            until_over(&mut pause, || match sanitize_stage(drive) {
                Ok(Some(Sanitized::Failed)) => Look::Over(Err(PurgeError::SanitizeFailed)),
                // It was ordered: that there never was one is no answer to that.
                Ok(Some(Sanitized::Never)) => Look::Silent("its log knows of no sanitize".to_owned()),
                other => sanitize_look(other),
            })
        }
    };
    over.map(|_| ())
}

/// Waits until the namespace at `path` is purged by its drive no longer, whatever began that; at once where it is not.
/// `pause` is called between two looks, and ends the waiting with `false`.
///
/// Gives whether nothing is under way.
///
/// # Errors
/// The drive no longer answers.
pub fn await_end(
    path: &Path,
    namespace: Option<u32>,
    pause: &mut dyn FnMut(Stage) -> bool,
) -> Result<bool, PurgeError> {
    let node =
        File::open(path).map_err(|why| PurgeError::Silent { why: format!("opening {}: {why}", path.display()) })?;
    await_on(&node, namespace, pause)
}

fn await_on(
    drive: &dyn Admin,
    namespace: Option<u32>,
    pause: &mut dyn FnMut(Stage) -> bool,
) -> Result<bool, PurgeError> {
    // What is no NVMe drive does not purge itself; one that cannot sanitize has no such log.
    let Some(abilities) = drive.ask(NvmeQuestion::Controller).ok().and_then(|page| abilities(&page)) else {
        return Ok(true);
    };
    if !abilities.sanitizes.is_empty() && !until_over(pause, || sanitize_look(sanitize_stage(drive)))? {
        return Ok(false);
    }
    namespace.map_or(Ok(true), |namespace| until_over(pause, || format_stage(drive, namespace)))
}

/// What one look at a drive gives.
enum Look {
    /// It is under way.
    Goes(u32),
    /// It is over.
    Over(Result<(), PurgeError>),
    /// There is no answer.
    Silent(String),
}

/// Looks and pauses until it is over, or `pause` ends the waiting: then `false`.
fn until_over(pause: &mut dyn FnMut(Stage) -> bool, mut look: impl FnMut() -> Look) -> Result<bool, PurgeError> {
    let mut silent = 0;
    loop {
        let stage = match look() {
            Look::Over(result) => return result.map(|()| true),
            Look::Goes(permille) => {
                silent = 0;
                Stage::Done(permille)
            }
            Look::Silent(why) if silent == MOST_SILENT => return Err(PurgeError::Silent { why }),
            Look::Silent(_) => {
                silent += 1;
                Stage::Silent
            }
        };
        if !pause(stage) {
            return Ok(false);
        }
    }
}

fn format_stage(drive: &dyn Admin, namespace: u32) -> Look {
    match drive.ask(NvmeQuestion::Namespace(namespace)) {
        Ok(page) => match format_left(&page) {
            Some(left @ 1..) => Look::Goes(1000 - 10 * u32::from(left.min(100))),
            _ => Look::Over(Ok(())),
        },
        Err(errno) => Look::Silent(in_words(errno)),
    }
}

fn sanitize_stage(drive: &dyn Admin) -> Result<Option<Sanitized>, Errno> {
    drive.ask(NvmeQuestion::Log(SANITIZE_STATUS)).map(|page| sanitized(&page))
}

/// A sanitize that somebody began: one that failed is over, and no reason to wait.
fn sanitize_look(stage: Result<Option<Sanitized>, Errno>) -> Look {
    match stage {
        Ok(Some(Sanitized::UnderWay(permille))) => Look::Goes(permille),
        Ok(Some(Sanitized::Never | Sanitized::Done | Sanitized::Failed)) => Look::Over(Ok(())),
        Ok(Some(Sanitized::Unknown(status))) => Look::Over(Err(PurgeError::Strange { status })),
        Ok(None) => Look::Silent("a short answer".to_owned()),
        Err(errno) => Look::Silent(in_words(errno)),
    }
}

fn in_words(errno: Errno) -> String {
    std::io::Error::from(errno).to_string()
}
