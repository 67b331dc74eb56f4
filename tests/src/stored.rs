//! Stored runs that no drive made: a journal of a fill at rates of the test's choice, on a drive that is only words.
//!
//! For what is said of stored runs; measures nothing.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use harness::environment::Environment;
use harness::journal::file::{self, Writer};
use harness::journal::record::{Counted, FaultKind, FaultRecord, Header, Outcome, Record};
use harness::plan::phase::{Capacity, Phase, Plan, Work};
use harness::plan::profile::Profile;
use harness::sample::{Fault, Sample};
use harness::target::Facts;
use harness::units::{Bytes, Nanos};

const GB: u64 = 1_000_000_000;

/// The profile of stored runs.
pub const PROFILE: &str = "name = \"stored\"\nversion = 1\n\n[fill]\nsize = \"16GiB\"\nsegments = 16\n";

/// A stored run in the making.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its id.
    pub run: String,
    /// MB/s of each of the sixteen segments.
    pub rates: [f64; 16],
    /// The profile as TOML.
    pub profile: String,
    /// The drive, as a header has it.
    pub drive: serde_json::Value,
    /// What surrounds it.
    pub environment: Environment,
    /// Records right behind the header: preflight, telemetry.
    pub behind_header: Vec<Record>,
    /// Blocks of the read-back that were wrong.
    pub bad_blocks: u64,
    /// How it ended.
    pub outcome: Outcome,
}

impl Stored {
    /// A complete run at an even rate.
    #[must_use]
    pub fn new(run: &str, mb_s: f64) -> Stored {
        let mut environment = Environment::default();
        let facts =
            [("kernel", "6.1.0"), ("drive.firmware", "FW01"), ("drive.scheduler", "none"), ("build", "release")];
        for (name, value) in facts {
            environment.note(name, Some(value));
        }
        Stored {
            run: run.to_owned(),
            rates: [mb_s; 16],
            profile: PROFILE.to_owned(),
            drive: serde_json::json!({
                "name": "nvme9n1", "device": "259:9", "model": "ACME TURBO960", "serial": "S123", "firmware": "FW01",
                "size": 960 * GB, "stack": [],
            }),
            environment,
            behind_header: Vec::new(),
            bad_blocks: 0,
            outcome: Outcome::Complete,
        }
    }

    /// Writes the run's folder into `out`.
    ///
    /// # Errors
    /// It could not be written.
    pub fn write(&self, out: &Path) -> Result<PathBuf> {
        let folder = out.join(&self.run);
        fs::create_dir_all(&folder)?;
        let mut journal = Writer::create(&folder.join(file::NAME), 1 << 20)?;
        for record in self.records(out)? {
            journal.append(&record)?;
        }
        journal.sync()?;
        // A preallocated file may end in room that was never written.
        Ok(folder)
    }

    fn records(&self, place: &Path) -> Result<Vec<Record>> {
        let profile = Profile::parse(&self.profile)?;
        let plan = Plan::new(&profile, Capacity { usable: Bytes(900 * GB), drive: None, in_use: None })?;
        let mut facts = Facts::read(place)?;
        facts.drive = Some(serde_json::from_value(self.drive.clone()).context("the drive")?);
        let header = serde_json::json!({
            "run": self.run, "started": "2026-01-01T00:00:00Z", "profile": self.profile,
            "fingerprint": profile.fingerprint(), "seed": 1, "engine": "sync", "plan": plan, "facts": facts,
            "environment": self.environment,
        });
        let header: Header = serde_json::from_value(header).context("the header")?;
        let mut records = vec![Record::Header(Box::new(header))];
        records.extend(self.behind_header.iter().cloned());
        let mut at = Nanos(0);
        for phase in &plan.phases {
            self.phase(phase, &mut at, &mut records);
        }
        let reason = (self.outcome != Outcome::Complete).then(|| "the drive vanished".to_owned());
        records.push(Record::End { at_ns: at, outcome: self.outcome, reason });
        Ok(records)
    }

    fn phase(&self, phase: &Phase, at: &mut Nanos, records: &mut Vec<Record>) {
        let id = phase.id.clone();
        records.push(Record::PhaseStart { phase: id.clone(), at_ns: *at });
        let mut counted = None;
        if matches!(phase.work, Work::Fill | Work::Verify) {
            let mut interval = 0;
            for segment in 0..phase.layout.segments {
                records.push(Record::SegmentStart { segment, attempt: 0, at_ns: *at });
                for _ in 0..8 {
                    let bytes = Bytes(phase.layout.segment_bytes.0 / 8);
                    let rate = self.rates[segment as usize % self.rates.len()];
                    let elapsed_ns = Nanos((bytes.0 as f64 / (rate * 1e6) * 1e9) as u64);
                    let ios = bytes.0 / phase.io.block.0;
                    let sample =
                        Sample { interval, segment, start_ns: *at, elapsed_ns, bytes, ios, ..Sample::default() };
                    *at = sample.end_ns();
                    interval += 1;
                    records.push(Record::Sample(sample));
                }
                let bytes = phase.layout.segment_bytes;
                records.push(Record::SegmentEnd { segment, attempt: 0, at_ns: *at, bytes });
            }
            let bytes = phase.layout.bytes();
            counted = Some(Counted { submitted: bytes, device: bytes });
        }
        if phase.work == Work::Verify {
            records.extend((0..self.bad_blocks).map(|block| {
                let (what, message) = (FaultKind::Verify(Fault::Corrupt), "corrupt".to_owned());
                Record::Fault(FaultRecord { at_ns: *at, what, segment: Some(0), offset: Some(block << 20), message })
            }));
        }
        records.push(Record::PhaseEnd { phase: id, at_ns: *at, counted });
    }
}
