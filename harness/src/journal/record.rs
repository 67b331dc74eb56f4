//! The records of a journal, and how one becomes a line and a line one again.
//!
//! Pure: knows no file. Order in a journal: header; then for each phase its start, for each attempt at a
//! segment its start, samples and end, and the phase's end; preflight, telemetry, faults and resume marks anywhere; the
//! end.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::environment::{Check, Environment};
use crate::plan::phase::Plan;
pub use crate::sample::purge::PurgeGrade;
use crate::sample::purge::{NamedPurge, PurgeCheck};
use crate::sample::telemetry::Telemetry;
use crate::sample::{Fault, Sample};
use crate::target::facts::Facts;
use crate::units::{Bytes, Nanos};

/// Raised when a reader of the old number would misread a journal.
pub const SCHEMA: u32 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preamble {
    /// Schema of the lines that follow.
    pub schema: u32,
    /// Program and version that wrote them.
    pub program: String,
}

/// One line after the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Record {
    /// What is measured, on what, and where; the first record.
    Header(Box<Header>),
    /// A phase begins; its rest is over.
    PhaseStart {
        /// The plan's id.
        phase: String,
        /// When.
        at_ns: Nanos,
    },
    /// An attempt at a segment begins.
    SegmentStart {
        /// Which.
        segment: u32,
        /// From zero.
        attempt: u32,
        /// When.
        at_ns: Nanos,
    },
    /// One interval of the open segment.
    Sample(Sample),
    /// Histogram of a round of random writes.
    Round(Round),
    /// The open segment is finished and durable.
    SegmentEnd {
        /// Which.
        segment: u32,
        /// The attempt.
        attempt: u32,
        /// When.
        at_ns: Nanos,
        /// Bytes moved by this attempt.
        bytes: Bytes,
    },
    /// The open phase is finished, its final flush included.
    PhaseEnd {
        /// The plan's id.
        phase: String,
        /// When.
        at_ns: Nanos,
        /// What the counters of the device behind moved by since the phase began or was resumed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counted: Option<Counted>,
    },
    /// What the run may use was discarded.
    Purge {
        /// When.
        at_ns: Nanos,
        /// How thoroughly.
        grade: PurgeGrade,
        /// What a look at the device then showed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        check: Option<PurgeCheck>,
    },
    /// The drive is about to be told to purge itself: until its `Purge` follows, the run has nothing on it.
    PurgeBegun {
        /// When.
        at_ns: Nanos,
        /// What the user asked for.
        what: NamedPurge,
        /// What the drive is told, for people.
        how: String,
    },
    /// Whether it was a fair moment to begin; follows the header.
    Preflight {
        /// The checks that could be made.
        checks: Vec<Check>,
    },
    /// What drive and host said of themselves.
    Telemetry(Box<Telemetry>),
    /// Something went wrong.
    Fault(FaultRecord),
    /// The run was cut here and goes on; no timing spans this line.
    Resume {
        /// Where the run's clock goes on.
        at_ns: Nanos,
        /// Wall-clock time, UTC.
        wall: String,
    },
    /// The run is over.
    End {
        /// When.
        at_ns: Nanos,
        /// How.
        outcome: Outcome,
        /// Why, when it did not complete.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// What is measured, on what, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The run's id, which is the name of its folder.
    pub run: String,
    /// Wall-clock time of the start, UTC.
    pub started: String,
    /// The profile as TOML.
    pub profile: String,
    /// The profile's fingerprint.
    pub fingerprint: String,
    /// Seeds stamps and offsets.
    pub seed: u64,
    /// Name of the engine.
    pub engine: String,
    /// What a reader of the figures must know of the choice of engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_note: Option<String>,
    /// Name of the machine: for people only, since it may change at every boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What is done.
    pub plan: Plan,
    /// The target.
    pub facts: Facts,
    /// What surrounds it.
    pub environment: Environment,
    /// The user's own command before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_run: Option<CommandRecord>,
    /// The profile's own command that empties caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<CommandRecord>,
    /// How long the run waited for the drive's temperature, by the clock that all its times are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<Nanos>,
    /// Runs of the same request that went before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
    /// Where this run stands among repeated ones.
    #[serde(default, skip_serializing_if = "Repeat::is_single")]
    pub repeat: Repeat,
    /// The filesystem that the user allowed to be filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_volume: Option<PathBuf>,
    /// The device that the user allowed to be erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erase: Option<Erase>,
    /// The journal is on the drive that is measured.
    #[serde(default)]
    pub journal_on_target: bool,
}

/// What the user allowed to be erased: for a resumed run, which goes through the whole guard again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erase {
    /// The device's identity.
    pub identity: String,
    /// Whatever lay on it.
    #[serde(default)]
    pub contents: bool,
    /// Though other hosts could reach it.
    #[serde(default)]
    pub shared: bool,
    /// The identities of other devices that the drive's own purge reaches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// The drive's own purge before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge: Option<NamedPurge>,
}

/// Where a run stands among repeated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// Runs that were to be made at the most; where two states alternate, of each.
    pub most: u32,
    /// Which of two states this run is of, where `--before-run` switches between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
}

/// One of two states that alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The state to compare with.
    A,
    /// The state that is judged.
    B,
}

impl Default for Repeat {
    fn default() -> Repeat {
        Repeat { most: 1, side: None }
    }
}

impl Repeat {
    fn is_single(&self) -> bool {
        *self == Repeat::default()
    }
}

/// The user's own command before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// As given.
    pub command: String,
    /// Its exit code; none when a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of what it printed.
    pub output: String,
}

/// One round of random writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// From zero.
    pub number: u32,
    /// Start, from the start of the run.
    pub start_ns: Nanos,
    /// Length as it really was.
    pub elapsed_ns: Nanos,
    /// Bytes that completed.
    pub bytes: Bytes,
    /// Latencies in nanoseconds: HdrHistogram V2, deflated, base64.
    pub histogram: String,
}

/// Movement of a device's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Bytes that the phase's I/O asked for.
    pub submitted: Bytes,
    /// Bytes that the device counted in the same direction.
    pub device: Bytes,
}

/// Something that went wrong, at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultRecord {
    /// When.
    pub at_ns: Nanos,
    /// What.
    pub what: FaultKind,
    /// Segment, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<u32>,
    /// First byte in the linear space, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// For people.
    pub message: String,
}

/// Kinds of things that go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// A block that was read back is not what was written.
    Verify(Fault),
    /// More bad blocks than are named one by one: `offset` holds none, the message the number.
    VerifyMore(u64),
    /// The filesystem or drive is full.
    NoSpace,
    /// Any other error of the operating system.
    Io,
    /// A worker or the program itself failed.
    Internal,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every phase of the plan was done.
    Complete,
    /// An error stopped it.
    Failed,
    /// A signal or a limit stopped it.
    Interrupted,
}

/// Why a line is no record.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// A newer program wrote it.
    #[error(
        "the journal has schema {found} and this program reads up to {SCHEMA}: it was written by {program}; use that version or a newer one"
    )]
    Newer {
        /// Its schema.
        found: u32,
        /// Who wrote it.
        program: String,
    },
    /// Not JSON, or not of the form.
    #[error("{0}")]
    Damaged(String),
}

impl Preamble {
    /// The first line of this program's journals.
    #[must_use]
    pub fn ours() -> Preamble {
        Preamble { schema: SCHEMA, program: format!("storage-check {}", env!("CARGO_PKG_VERSION")) }
    }

    /// Reads a first line.
    ///
    /// # Errors
    /// It is no first line of a journal, or a newer program's.
    pub fn parse(line: &str) -> Result<Preamble, LineError> {
        let preamble: Preamble = serde_json::from_str(line)
            .map_err(|why| LineError::Damaged(format!("this is not the first line of a journal ({why})")))?;
        if preamble.schema > SCHEMA {
            return Err(LineError::Newer { found: preamble.schema, program: preamble.program });
        }
        Ok(preamble)
    }
}

impl Record {
    /// Reads a line after the first.
    ///
    /// # Errors
    /// It is not JSON or not a record.
    pub fn parse(line: &str) -> Result<Record, LineError> {
        serde_json::from_str(line).map_err(|why| LineError::Damaged(why.to_string()))
    }
}

/// A preamble or record as a line, without the line's end.
#[must_use]
pub fn line<T: Serialize>(record: &T) -> String {
    serde_json::to_string(record).expect("records hold only strings, integers and lists of them")
}

/// The records of a journal's bytes, and how many bytes are whole. A last line without its end, or that is
/// no record, is torn and left out; any other such line is damage.
///
/// # Errors
/// The number of the damaged line, from 1, and what is wrong with it.
pub fn parse(bytes: &[u8]) -> Result<(Vec<Record>, u64), (usize, LineError)> {
    let mut records = Vec::new();
    let mut whole = 0;
    let mut rest = bytes;
    let mut number = 0;
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        number += 1;
        let (text, after) = (&rest[..end], &rest[end + 1..]);
        let text = std::str::from_utf8(text).map_err(|why| LineError::Damaged(format!("not UTF-8: {why}")));
        let parsed = text.and_then(|text| {
            if number == 1 { Preamble::parse(text).map(|_| None) } else { Record::parse(text).map(Some) }
        });
        match parsed {
            Ok(record) => records.extend(record),
            Err(LineError::Damaged(_)) if after.is_empty() && number > 1 => break,
            Err(why) => return Err((number, why)),
        }
        whole += end as u64 + 1;
        rest = after;
    }
    if number == 0 && !bytes.is_empty() {
        // A cut inside the first line may still have been a journal; anything else is not one.
        let start = br#"{"schema":"#;
        let shared = start.len().min(bytes.len());
        if bytes[..shared] != start[..shared] {
            return Err((1, LineError::Damaged("this is not a journal".to_owned())));
        }
    }
    Ok((records, whole))
}
