//! The thing that is measured: what it is, whether it may be written to, and what reaches it.
//!
//! [`Facts`] gathers, [`guard()`] decides without any I/O, and only what it armed may be opened.
//! Knows nothing of profiles, engines or verdicts.

mod admin;
pub mod affinity;
pub mod facts;
pub mod guard;
pub mod ioctl;
pub mod open;
pub mod preflight;
pub mod probe;
pub mod purge;
pub mod space;
pub mod telemetry;

pub use facts::environment;
pub use facts::{
    Condition, Details, Device, Drive, Facts, FactsError, Filesystem, Folder, Identity, Layer, Member, Place, Pool,
    PoolKind, Reservation, Reserved, Simulated, Use, User,
};
pub use guard::{Armed, Consent, DeviceRefusal, Need, PurgeRefusal, Refusal, guard};
pub use telemetry::DeviceCounters;
