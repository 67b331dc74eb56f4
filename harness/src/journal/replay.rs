//! A journal's records in the order of events, folded into what the analysis and the reports ask for.
//!
//! Pure. Samples are kept by attempt: only finished attempts count as measured, abandoned ones are added
//! up apart, so that every byte that was written is accounted for once.

use std::collections::BTreeMap;

use super::record::{Counted, FaultKind, FaultRecord, Header, Outcome, PurgeGrade, Record, Round};
use crate::environment::Check;
use crate::plan::phase::Work;
use crate::sample::Sample;
use crate::sample::purge::{NamedPurge, PurgeCheck};
use crate::sample::telemetry::Telemetry;
use crate::units::{Bytes, Nanos};

/// Missing segments that are named at the most; a damaged journal may claim that there are billions.
const MOST_MISSING: usize = 10;

/// A run as its journal tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// What is measured.
    pub header: Header,
    /// Phases that began, in order.
    pub phases: Vec<PhaseReplay>,
    /// What went wrong.
    pub faults: Vec<FaultRecord>,
    /// Whether it was a fair moment to begin.
    pub preflight: Vec<Check>,
    /// What drive and host said of themselves, in order.
    pub telemetry: Vec<Telemetry>,
    /// How often the run was cut and went on.
    pub resumes: u32,
    /// How it ended; none while unfinished.
    pub end: Option<(Outcome, Option<String>)>,
    /// The last moment that the journal knows.
    pub last_ns: Nanos,
    /// Bytes written by phases that were done again as a whole.
    pub again: Bytes,
    /// The least thorough purge; none where nothing was purged.
    pub purge: Option<PurgeGrade>,
    /// All purges, in order.
    pub purges: Vec<Purged>,
    /// The drive's own purge that was ordered, and whose end is not on record.
    pub purging: Option<NamedPurge>,
    /// Since the last purge no phase has begun, and the run was not cut.
    resting: bool,
}

/// A purge as its journal tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purged {
    /// The phase that it belongs to; none for a drive's own before the run.
    pub phase: Option<String>,
    /// When it was done.
    pub at_ns: Nanos,
    /// How thorough it was.
    pub grade: PurgeGrade,
    /// What a look at the device then showed.
    pub check: Option<PurgeCheck>,
    /// How long the target then rested before the next phase; none where there was none, or a cut between.
    pub rested_ns: Option<Nanos>,
}

/// A phase as its journal tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseReplay {
    /// The plan's id.
    pub id: String,
    /// First start.
    pub start_ns: Nanos,
    /// End of the phase; none while unfinished.
    pub end_ns: Option<Nanos>,
    /// Movement of the device's counters.
    pub counted: Option<Counted>,
    /// Finished segments: the attempt that finished each, and its bytes.
    pub finished: BTreeMap<u32, (u32, Bytes)>,
    /// Samples of finished attempts, in order.
    pub samples: Vec<Sample>,
    /// Rounds of finished attempts, in order.
    pub rounds: Vec<Round>,
    /// Bytes of attempts that were cut.
    pub abandoned: Bytes,
    /// Attempts begun, by segment.
    pub attempts: BTreeMap<u32, u32>,
    open: Option<OpenAttempt>,
}

/// An attempt that has begun and not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OpenAttempt {
    segment: u32,
    attempt: u32,
    samples: Vec<Sample>,
    rounds: Vec<Round>,
}

/// Why records make no run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Nothing says what the run is.
    #[error("it has no header: the run ended before it began")]
    NoHeader,
    /// Records in an impossible order.
    #[error("record {number}: {what}")]
    Order {
        /// Counted from 1, the header.
        number: usize,
        /// What is impossible.
        what: String,
    },
}

impl Replay {
    /// Folds records.
    ///
    /// # Errors
    /// There is no header, or the order is impossible.
    pub fn new(records: impl IntoIterator<Item = Record>) -> Result<Replay, ReplayError> {
        let mut records = records.into_iter();
        let Some(Record::Header(header)) = records.next() else { return Err(ReplayError::NoHeader) };
        let mut replay = Replay {
            header: *header,
            phases: Vec::new(),
            faults: Vec::new(),
            preflight: Vec::new(),
            telemetry: Vec::new(),
            resumes: 0,
            end: None,
            last_ns: Nanos(0),
            again: Bytes(0),
            purge: None,
            purges: Vec::new(),
            purging: None,
            resting: false,
        };
        for (at, record) in records.enumerate() {
            replay.push(record).map_err(|what| ReplayError::Order { number: at + 2, what })?;
        }
        Ok(replay)
    }

    /// The phase of this id, if it began.
    #[must_use]
    pub fn phase(&self, id: &str) -> Option<&PhaseReplay> {
        self.phases.iter().find(|phase| phase.id == id)
    }

    /// Bytes written in all, by finished and abandoned attempts.
    #[must_use]
    pub fn bytes_written(&self) -> Bytes {
        let writes = |phase: &&PhaseReplay| self.header.plan.phase(&phase.id).is_some_and(|planned| planned.is_write());
        self.phases
            .iter()
            .filter(writes)
            .map(|phase| phase.moved().saturating_add(phase.cut()))
            .sum::<Bytes>()
            .saturating_add(self.again)
    }

    /// By segment: the attempt that wrote it, which its stamps carry.
    #[must_use]
    pub fn generations(&self) -> BTreeMap<u32, u32> {
        let fill = self.phase("fill.write");
        fill.into_iter().flat_map(|phase| &phase.finished).map(|(segment, (attempt, _))| (*segment, *attempt)).collect()
    }

    /// The number of blocks that were not what was written.
    #[must_use]
    pub fn verify_errors(&self) -> u64 {
        let count = |fault: &FaultRecord| match fault.what {
            FaultKind::Verify(_) => 1,
            FaultKind::VerifyMore(more) => more,
            _ => 0,
        };
        self.faults.iter().map(count).fold(0, u64::saturating_add)
    }

    /// What the plan and the samples disagree on: for each finished attempt, samples sum to its bytes, and for
    /// each finished fill or read-back, every segment is there once with the planned size.
    #[must_use]
    pub fn conservation(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for phase in &self.phases {
            let mut sums: BTreeMap<u32, Bytes> = BTreeMap::new();
            for sample in &phase.samples {
                let sum = sums.entry(sample.segment).or_default();
                *sum = sum.saturating_add(sample.bytes);
            }
            for (segment, (attempt, bytes)) in &phase.finished {
                let sum = sums.get(segment).copied().unwrap_or_default();
                if sum != *bytes {
                    broken.push(format!(
                        "{} segment {segment} attempt {attempt}: samples sum to {} bytes, the attempt moved {}",
                        phase.id, sum.0, bytes.0
                    ));
                }
            }
            broken.extend(self.missing_segments(phase));
        }
        broken
    }

    fn missing_segments(&self, phase: &PhaseReplay) -> Vec<String> {
        let Some(planned) = self.header.plan.phase(&phase.id) else { return Vec::new() };
        if phase.end_ns.is_none() || !matches!(planned.work, Work::Fill | Work::Verify) {
            return Vec::new();
        }
        let size = planned.layout.segment_bytes;
        (0..planned.layout.segments)
            .filter(|segment| phase.finished.get(segment).is_none_or(|(_, bytes)| *bytes != size))
            .take(MOST_MISSING)
            .map(|segment| format!("{} segment {segment} is not there once with {} bytes", phase.id, size.0))
            .collect()
    }

    fn push(&mut self, record: Record) -> Result<(), String> {
        match record {
            Record::Header(_) => return Err("a second header".to_owned()),
            Record::PhaseStart { phase, at_ns } => self.phase_start(phase, at_ns)?,
            Record::SegmentStart { segment, attempt, at_ns } => {
                self.last_ns = at_ns;
                self.current()?.segment_start(segment, attempt);
            }
            Record::Sample(sample) => {
                self.last_ns = sample.end_ns();
                self.current()?.attempt(sample.segment, sample.attempt)?.samples.push(sample);
            }
            Record::Round(round) => match &mut self.current()?.open {
                Some(open) => open.rounds.push(round),
                None => return Err("a round outside of any attempt".to_owned()),
            },
            Record::SegmentEnd { segment, attempt, at_ns, bytes } => {
                self.last_ns = at_ns;
                self.current()?.segment_end(segment, attempt, bytes)?;
            }
            Record::PhaseEnd { phase, at_ns, counted } => {
                self.last_ns = at_ns;
                let current = self.current()?;
                if current.id != phase {
                    return Err(format!("the end of {phase} inside {}", current.id));
                }
                current.end_ns = Some(at_ns);
                current.counted = counted;
            }
            Record::Purge { at_ns, grade, check } => {
                self.last_ns = at_ns;
                self.purging = None;
                self.resting = true;
                self.purge = Some(self.purge.map_or(grade, |least| least.min(grade)));
                let phase = self.current().ok().map(|phase| phase.id.clone());
                self.purges.push(Purged { phase, at_ns, grade, check, rested_ns: None });
            }
            Record::PurgeBegun { at_ns, what, .. } => {
                self.last_ns = at_ns;
                self.purging = Some(what);
            }
            Record::Preflight { checks } => self.preflight = checks,
            Record::Telemetry(reading) => {
                self.last_ns = self.last_ns.max(reading.at_ns);
                self.telemetry.push(*reading);
            }
            Record::Fault(fault) => {
                self.last_ns = self.last_ns.max(fault.at_ns);
                self.faults.push(fault);
            }
            Record::Resume { at_ns, .. } => {
                self.last_ns = at_ns;
                self.resumes += 1;
                self.end = None;
                self.resting = false;
                self.cut();
            }
            Record::End { at_ns, outcome, reason } => {
                self.last_ns = at_ns;
                self.end = Some((outcome, reason));
            }
        }
        Ok(())
    }

    /// A cut attempt is abandoned; a level of random writes starts again from its purge unless its writes are done:
    /// what a drive did between two steps of a level is unknown after a cut.
    fn cut(&mut self) {
        let Some(phase) = self.phases.last_mut() else { return };
        phase.abandon();
        let level = phase.id.strip_prefix("random_write.").and_then(|rest| rest.split_once('.'));
        let Some((level, _)) = level else { return };
        let prefix = format!("random_write.{level}.");
        if self.phase(&format!("{prefix}write")).is_some_and(|write| write.end_ns.is_some()) {
            return;
        }
        let first = self.phases.iter().position(|phase| phase.id.starts_with(&prefix)).unwrap_or(self.phases.len());
        for again in self.phases.split_off(first) {
            self.again = self.again.saturating_add(again.moved()).saturating_add(again.cut());
        }
    }

    fn phase_start(&mut self, phase: String, at_ns: Nanos) -> Result<(), String> {
        self.last_ns = at_ns;
        if let Some(last) = self.phases.last() {
            if last.id == phase && last.end_ns.is_none() {
                return Ok(());
            }
            if last.end_ns.is_none() {
                return Err(format!("{phase} begins inside {}", last.id));
            }
        }
        if self.phase(&phase).is_some() {
            return Err(format!("{phase} begins twice"));
        }
        if self.header.plan.phase(&phase).is_none() {
            return Err(format!("{phase} is not in the plan"));
        }
        if let (true, Some(purge)) = (std::mem::take(&mut self.resting), self.purges.last_mut()) {
            purge.rested_ns = Some(at_ns.saturating_sub(purge.at_ns));
        }
        self.phases.push(PhaseReplay { id: phase, start_ns: at_ns, ..PhaseReplay::default() });
        Ok(())
    }

    fn current(&mut self) -> Result<&mut PhaseReplay, String> {
        self.phases.last_mut().filter(|phase| phase.end_ns.is_none()).ok_or_else(|| "outside of any phase".to_owned())
    }
}

impl PhaseReplay {
    /// Bytes of finished attempts.
    #[must_use]
    pub fn moved(&self) -> Bytes {
        self.finished.values().map(|(_, bytes)| *bytes).sum()
    }

    /// Bytes of attempts that were cut, one still open included.
    #[must_use]
    pub fn cut(&self) -> Bytes {
        self.abandoned.saturating_add(self.open_bytes())
    }

    /// Samples of finished attempts and of the attempt that is open: what a run that ended early has measured.
    #[must_use]
    pub fn samples_so_far(&self) -> Vec<Sample> {
        let open = self.open.iter().flat_map(|open| &open.samples);
        self.samples.iter().chain(open).cloned().collect()
    }

    fn open_bytes(&self) -> Bytes {
        self.open.iter().flat_map(|open| &open.samples).map(|sample| sample.bytes).sum()
    }

    fn segment_start(&mut self, segment: u32, attempt: u32) {
        self.abandon();
        self.attempts.insert(segment, attempt.saturating_add(1));
        self.open = Some(OpenAttempt { segment, attempt, ..OpenAttempt::default() });
    }

    fn attempt(&mut self, segment: u32, attempt: u32) -> Result<&mut OpenAttempt, String> {
        match &mut self.open {
            Some(open) if (open.segment, open.attempt) == (segment, attempt) => Ok(open),
            _ => Err(format!("segment {segment} attempt {attempt} is not open")),
        }
    }

    fn segment_end(&mut self, segment: u32, attempt: u32, bytes: Bytes) -> Result<(), String> {
        self.attempt(segment, attempt)?;
        if self.finished.contains_key(&segment) {
            return Err(format!("segment {segment} is finished twice"));
        }
        let open = self.open.take().unwrap_or_default();
        self.finished.insert(segment, (attempt, bytes));
        self.samples.extend(open.samples);
        self.rounds.extend(open.rounds);
        Ok(())
    }

    fn abandon(&mut self) {
        self.abandoned = self.abandoned.saturating_add(self.open_bytes());
        self.open = None;
    }
}
