//! A metric: one figure of a run under a stable id, with its kind, unit and direction.
//!
//! Pure. The ids are a contract that scripts depend on: add to them, never rename.

/// What sort of figure it is: decides scale, tolerance and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// MB/s; more is better.
    Throughput,
    /// GB; more is better.
    Capacity,
    /// Microseconds; less is better.
    TailLatency,
    /// A number of bad things; any increase is worse.
    Count,
    /// Seconds an hour; less is better.
    Stalls,
    /// A finding that is neither good nor bad.
    Finding,
}

/// The figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Measured.
    Number(f64),
    /// No cliff up to this many GB.
    MoreThan(f64),
    /// There is none, and why: `never`, `too-short`, `no-cliff`, `not-applicable`.
    Absent(&'static str),
}

/// One figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Stable name.
    pub id: String,
    /// What sort of figure.
    pub kind: Kind,
    /// Unit for people, such as `MB/s`.
    pub unit: &'static str,
    /// The figure.
    pub value: Value,
    /// Ends of the figure's own uncertainty, where it has one.
    pub bounds: Option<(f64, f64)>,
}

impl Metric {
    /// A metric whose kind and unit follow from its id.
    #[must_use]
    pub fn new(id: &str, value: Value) -> Metric {
        let (kind, unit) = kind_and_unit(id);
        Metric { id: id.to_owned(), kind, unit, value, bounds: None }
    }

    /// A metric without a value.
    #[must_use]
    pub fn absent(id: &str, why: &'static str) -> Metric {
        Metric::new(id, Value::Absent(why))
    }
}

/// Kind and unit of a metric: its id ends in the unit.
fn kind_and_unit(id: &str) -> (Kind, &'static str) {
    const BY_END: [(&str, Kind, &str); 6] = [
        ("fsef_mb_s_per_gb", Kind::Finding, "MB/s per GB"),
        ("_mb_s", Kind::Throughput, "MB/s"),
        ("_gb", Kind::Capacity, "GB"),
        ("_us", Kind::TailLatency, "µs"),
        ("_s_per_h", Kind::Stalls, "s/h"),
        ("", Kind::Count, ""),
    ];
    let found = BY_END.iter().find(|(end, ..)| id.ends_with(end));
    found.map_or((Kind::Count, ""), |(_, kind, unit)| (*kind, *unit))
}
