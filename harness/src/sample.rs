//! What one interval of a phase measured, and what is wrong with a block: the facts that the engine's loop
//! makes, the journal keeps and the analysis reads.
//!
//! Knows nothing of how it was measured.

pub mod purge;
pub mod telemetry;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Nanos};

/// One interval of one phase. Never crosses the border of a segment or a phase; an interval in
/// which nothing completed is there with zeros. The samples of a phase cover its time without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Number of the interval since the phase started; two samples share one where a segment ends in it.
    pub interval: u64,
    /// Segment of a fill that the bytes went to; zero elsewhere.
    pub segment: u32,
    /// Attempt at that segment, from zero; a resumed fill tries the cut segment again.
    pub attempt: u32,
    /// Start, from the start of the run.
    pub start_ns: Nanos,
    /// Length of the interval as it really was.
    pub elapsed_ns: Nanos,
    /// Bytes whose I/O completed in the interval.
    pub bytes: Bytes,
    /// I/Os that completed.
    pub ios: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Time within gaps of over 100 ms in which nothing completed anywhere.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stalled_ns: Nanos,
    /// Latency of the I/Os, submit to completion.
    pub latency: Latency,
}

/// Percentiles of one interval's latencies, in nanoseconds; all zero where there was no I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Slowest.
    pub max_ns: u64,
}

fn is_zero(span: &Nanos) -> bool {
    span.0 == 0
}

impl Sample {
    /// The moment at which the interval ended.
    #[must_use]
    pub fn end_ns(&self) -> Nanos {
        self.start_ns.saturating_add(self.elapsed_ns)
    }
}

/// What is wrong with a block that was read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The right block with some bits changed.
    Corrupt,
    /// A whole block that this run wrote to another place.
    Misplaced,
    /// A whole block of the right place that an earlier writing of this run left.
    Stale,
    /// A whole block that another run wrote.
    OtherRun,
    /// Begins as one writing and ends as another.
    Torn,
    /// Zeros: the write was lost, or discarded later.
    Zeros,
    /// Bytes that are no block of ours.
    Foreign,
    /// The drive reported an error for the read.
    Unreadable,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Fault::Corrupt => "corrupt: the right block with bits changed",
            Fault::Misplaced => "misplaced: a block that this run wrote elsewhere",
            Fault::Stale => "stale: an older write of this run",
            Fault::OtherRun => "from another run: the write of this run was lost",
            Fault::Torn => "torn: begins as one write and ends as another",
            Fault::Zeros => "zeros: the write was lost",
            Fault::Foreign => "foreign: no block of ours",
            Fault::Unreadable => "unreadable: the drive reported an error",
        })
    }
}
