//! PURE: what drives answer when asked who has reserved them, as bytes → persistent reservations.
//!
//! Sources: SPC-4 (T10/BSR INCITS 513), 6.15 PERSISTENT RESERVE IN, 4.5 sense data; SAM-5, 5.3.1 status codes; NVM Express
//! Base Specification 2.0, 7.6 Reservation Report, figure 275 (ONCS). SCSI's numbers are big-endian, NVMe's
//! little-endian. Asks nothing: `controller` does.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::target::ioctl::scsi::Answer;

/// What is known of the reservations of one drive that knows reservations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// The drive's kernel name.
    pub drive: String,
    /// How it is reserved.
    #[serde(flatten)]
    pub state: Reserved,
}

/// Whether a drive is reserved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reserved", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reserved {
    /// Nobody has reserved it, but these keys are registered: their holders could.
    Registered {
        /// One a host's path, as `0x1a2b`.
        keys: Vec<String>,
    },
    /// A persistent reservation is active.
    Persistent {
        /// As the standards name it: `write exclusive, registrants only`.
        type_name: String,
        /// The holder's key; none where all who registered hold it.
        holder: Option<String>,
        /// All registered keys.
        keys: Vec<String>,
    },
    /// By SCSI-2's RESERVE: all that is told to anybody else is that it is.
    ByAnother,
    /// It knows reservations, and would not say.
    Unknown {
        /// What it answered.
        why: String,
    },
}

impl Reservation {
    /// Whether it forbids to write: a reservation, or one that may be there.
    #[must_use]
    pub fn binds(&self) -> bool {
        !matches!(self.state, Reserved::Registered { .. })
    }
}

/// What an answer without data means for who asked for reservations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScsiMeaning {
    /// The data are there.
    Good,
    /// The device does not know the command: it has no reservations.
    NotSupported,
    /// Something happened to the device meanwhile; ask again.
    Again,
    /// Reserved by SCSI-2's RESERVE for another.
    Conflict,
    /// Anything else.
    Failed(String),
}

const RESERVATION_CONFLICT: u8 = 0x18;
const ILLEGAL_REQUEST: u8 = 0x05;
const UNIT_ATTENTION: u8 = 0x06;

/// From status and sense data. The latter count whatever the status: vmw_pvscsi hands them over with status 0 and an error
/// of its own.
pub(super) fn meaning(answer: &Answer) -> ScsiMeaning {
    let key = match answer.sense.first().map(|code| code & 0x7f) {
        // Fixed format, descriptor format.
        Some(0x70 | 0x71) => answer.sense.get(2),
        Some(0x72 | 0x73) => answer.sense.get(1),
        _ => None,
    };
    let key = key.map(|byte| byte & 0x0f);
    match (answer.status, answer.host_status, key) {
        (0, 0, _) => ScsiMeaning::Good,
        (RESERVATION_CONFLICT, ..) => ScsiMeaning::Conflict,
        (_, _, Some(ILLEGAL_REQUEST)) => ScsiMeaning::NotSupported,
        (_, _, Some(UNIT_ATTENTION)) => ScsiMeaning::Again,
        (status, host, key) => {
            let sense = key.map(|key| format!(", sense key {key:#x}")).unwrap_or_default();
            ScsiMeaning::Failed(format!("status {status:#04x}{sense}, host adapter {host:#x}"))
        }
    }
}

/// Reservation and keys of PERSISTENT RESERVE IN's READ RESERVATION and READ KEYS; none where nobody has either.
///
/// # Errors
/// In words, where one of the pages is cut or has a type that the standard does not have.
pub(super) fn scsi(reservation: &[u8], keys: &[u8]) -> Result<Option<Reserved>, String> {
    let keys = listed(keys).ok_or("its list of keys is cut")?;
    let keys: Vec<String> = keys.chunks_exact(8).filter_map(|key| Some(shown(u64_be(key)?))).collect();
    let descriptor = listed(reservation).ok_or("its reservation is cut")?;
    if descriptor.is_empty() {
        return Ok((!keys.is_empty()).then_some(Reserved::Registered { keys }));
    }
    let code = descriptor.get(13).ok_or("its reservation is cut")? & 0x0f;
    let type_name = match code {
        1 => "write exclusive",
        3 => "exclusive access",
        5 => "write exclusive, registrants only",
        6 => "exclusive access, registrants only",
        7 => "write exclusive, all registrants",
        8 => "exclusive access, all registrants",
        _ => return Err(format!("it has a reservation of the unknown type {code}")),
    };
    let holder = u64_be(descriptor).filter(|_| code < 7).map(shown);
    Ok(Some(Reserved::Persistent { type_name: type_name.to_owned(), holder, keys }))
}

/// What follows the header of 8 bytes, whose second half says how much that is.
fn listed(page: &[u8]) -> Option<&[u8]> {
    let length = u32::from_be_bytes(page.get(4..8)?.try_into().ok()?);
    // More keys than fit the page are there all the same.
    let rest = page.get(8..)?;
    Some(rest.get(..usize::try_from(length).ok()?).unwrap_or(rest))
}

/// Bytes of one registrant, and of what stands before the first: in the short form of the report and in the long one.
const SHORT: (usize, usize) = (24, 24);
const LONG: (usize, usize) = (64, 64);

/// NVMe's Reservation Status data structure, the extended one where `long`; none where nobody has reserved or registered.
///
/// # Errors
/// In words, where it is cut or has a type that the standard does not have.
pub(super) fn nvme(page: &[u8], long: bool) -> Result<Option<Reserved>, String> {
    let (header, size) = if long { LONG } else { SHORT };
    let kind = *page.get(4).ok_or("its report is cut")?;
    let count = u16::from_le_bytes([*page.get(5).unwrap_or(&0), *page.get(6).unwrap_or(&0)]);
    let registrants = page.get(header..).ok_or("its report is cut")?.chunks_exact(size).take(usize::from(count));
    // The long form swaps host identifier, now of 16 bytes, and key.
    let key_at = if long { 8 } else { 16 };
    let registrant = |entry: &[u8]| {
        let key = entry.get(key_at..key_at + 8)?.try_into().ok().map(u64::from_le_bytes)?;
        Some((entry.get(2)? & 1 == 1, shown(key)))
    };
    let registrants: Vec<(bool, String)> = registrants.filter_map(registrant).collect();
    let keys: Vec<String> = registrants.iter().map(|(_, key)| key.clone()).collect();
    let type_name = match kind {
        0 => return Ok((!keys.is_empty()).then_some(Reserved::Registered { keys })),
        1 => "write exclusive",
        2 => "exclusive access",
        3 => "write exclusive, registrants only",
        4 => "exclusive access, registrants only",
        5 => "write exclusive, all registrants",
        6 => "exclusive access, all registrants",
        _ => return Err(format!("it has a reservation of the unknown type {kind}")),
    };
    let holder = registrants.into_iter().find(|(holds, _)| *holds && kind < 5).map(|(_, key)| key);
    Ok(Some(Reserved::Persistent { type_name: type_name.to_owned(), holder, keys }))
}

fn u64_be(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?))
}

fn shown(key: u64) -> String {
    format!("{key:#x}")
}

/// `sda has a persistent reservation (write exclusive), held with the key 0x1a; registered are 0x1a, 0x1b`
impl fmt::Display for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drive = &self.drive;
        match &self.state {
            Reserved::Registered { keys } => {
                write!(f, "{drive} is not reserved, but keys for it are registered: {}", keys.join(", "))
            }
            Reserved::Persistent { type_name, holder, keys } => {
                let held = holder.as_ref().map_or("all who registered".to_owned(), |key| format!("the key {key}"));
                write!(f, "{drive} has a persistent reservation ({type_name}), held by {held}")?;
                if keys.is_empty() { Ok(()) } else { write!(f, "; registered are {}", keys.join(", ")) }
            }
            Reserved::ByAnother => write!(f, "{drive} is reserved for another host"),
            Reserved::Unknown { why } => {
                write!(f, "{drive} knows reservations, and did not say whether it has one: {why}")
            }
        }
    }
}

#[cfg(test)]
#[path = "reservation_tests.rs"]
mod tests;
