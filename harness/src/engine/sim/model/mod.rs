//! What a simulated drive is made of, and the server that requests queue at.
//!
//! A `Medium` (flash behind a collector, a cache over slower cells, a disk, …) says how long it is busy with a
//! request; [`DriveModel`] puts around it what is common to all: the queue, latency that overlaps, overhead an I/O,
//! credits, heat and noise. Pure and seeded. Knows no file, name or default: figures come in as specs (see
//! `drive`), and a [`Setting`] says what becomes of them in this unit, in this run, at this scale.
//!
//! Queue: one server. A request starts when it and the server are there, keeps the server busy for its service
//! time, and completes a latency later, which overlaps with other requests. Depth `d` in a closed loop thus gives
//! min(1 / service, d / (service + latency)) requests a second, the usual bound of operational analysis (Denning &
//! Buzen, "The Operational Analysis of Queueing Network Models", ACM Computing Surveys 1978).

pub mod credits;
pub mod dice;
pub mod disk;
pub mod fitted;
pub mod flash;
pub mod noise;
pub mod plain;
pub mod pslc;
pub mod setting;
pub mod shingled;
pub mod thermal;
pub mod tiered;
mod used;

#[cfg(test)]
pub(crate) mod bench;

use serde::Deserialize;

use super::{Model, Request};
use crate::sample::telemetry::Heat;
use crate::units::{Bytes, Nanos, Span};
use credits::{Credits, CreditsSpec};
use noise::{Noise, NoiseSpec};
pub use setting::Setting;
use thermal::{Thermal, ThermalSpec};

/// What holds the data: how long a request keeps it busy, in nanoseconds.
///
/// Offsets and lengths are in bytes and inside the capacity.
trait Medium {
    /// Busy time of a write.
    fn write(&mut self, offset: u64, len: u32) -> f64;

    /// Busy time of a read.
    fn read(&mut self, offset: u64, len: u32) -> f64;

    /// Forgets a range; takes no time, as the drive does it when it has nothing else to do.
    fn discard(&mut self, offset: u64, len: u64);

    /// What it does in `ns` nanoseconds without a request.
    fn idle(&mut self, ns: f64);
}

macro_rules! media {
    ($($variant:ident: $module:ident, $spec:ident, $doc:literal;)*) => {
        /// A medium as a drive's file describes it.
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum MediumSpec {
            $(#[doc = $doc] $variant($module::$spec),)*
        }

        impl MediumSpec {
            fn check(&self, capacity: Bytes, setting: &Setting) -> Result<(), String> {
                match self { $(MediumSpec::$variant(spec) => spec.check(capacity, setting),)* }
            }

            fn medium(&self, capacity: Bytes, setting: &Setting) -> AnyMedium {
                match self {
                    $(MediumSpec::$variant(spec) => AnyMedium::$variant($module::$variant::new(spec, capacity, setting)),)*
                }
            }
        }

        /// Any of the media: one match an I/O, no dynamic call.
        #[derive(Debug)]
        enum AnyMedium {
            $($variant($module::$variant),)*
        }

        impl Medium for AnyMedium {
            #[inline]
            fn write(&mut self, offset: u64, len: u32) -> f64 {
                match self { $(AnyMedium::$variant(medium) => medium.write(offset, len),)* }
            }

            #[inline]
            fn read(&mut self, offset: u64, len: u32) -> f64 {
                match self { $(AnyMedium::$variant(medium) => medium.read(offset, len),)* }
            }

            fn discard(&mut self, offset: u64, len: u64) {
                match self { $(AnyMedium::$variant(medium) => medium.discard(offset, len),)* }
            }

            fn idle(&mut self, ns: f64) {
                match self { $(AnyMedium::$variant(medium) => medium.idle(ns),)* }
            }
        }
    };
}

media! {
    Plain: plain, PlainSpec, "The same rates whatever came before.";
    Flash: flash, FlashSpec, "Pages behind a translation layer and a greedy collector.";
    Pslc: pslc, PslcSpec, "Cells that take one bit first and are folded later.";
    Tiered: tiered, TieredSpec, "An SSD in front of a disk.";
    Disk: disk, DiskSpec, "A disk with zones and seeks.";
    Shingled: shingled, ShingledSpec, "A disk whose tracks overlap, with a media cache.";
    Fitted: fitted, FittedSpec, "A measured rate over used space.";
}

/// All that makes a drive's timing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// What a request waits besides the medium's work, while others are served.
    pub latency: Span,
    /// What a request costs the drive besides the medium's work.
    #[serde(default)]
    pub overhead: Span,
    /// What holds the data.
    pub medium: MediumSpec,
    /// I/O credits, as cloud volumes have.
    pub credits: Option<CreditsSpec>,
    /// Heat.
    pub thermal: Option<ThermalSpec>,
    /// Jitter and stalls.
    #[serde(default)]
    pub noise: NoiseSpec,
}

impl ModelSpec {
    /// Whether its figures make sense together on a drive of `capacity` (scaled) bytes.
    ///
    /// # Errors
    /// Says which do not, and why.
    pub fn check(&self, capacity: Bytes, setting: &Setting) -> Result<(), String> {
        self.medium.check(capacity, setting)?;
        self.noise.check()?;
        self.credits.as_ref().map_or(Ok(()), CreditsSpec::check)?;
        self.thermal.as_ref().map_or(Ok(()), ThermalSpec::check)
    }
}

/// A drive's timing on a virtual clock.
#[derive(Debug)]
pub struct DriveModel {
    medium: AnyMedium,
    latency: f64,
    overhead: f64,
    credits: Option<Credits>,
    thermal: Option<Thermal>,
    noise: Noise,
    /// Until when the server has work.
    busy: f64,
}

impl DriveModel {
    /// A drive of `capacity` (scaled) bytes, purged and cool, with full credits.
    #[must_use]
    pub fn new(spec: &ModelSpec, capacity: Bytes, setting: &Setting) -> DriveModel {
        DriveModel {
            medium: spec.medium.medium(capacity, setting),
            latency: setting.time(spec.latency),
            overhead: setting.time(spec.overhead),
            credits: spec.credits.as_ref().map(|spec| Credits::new(spec, setting)),
            thermal: spec.thermal.as_ref().map(|spec| Thermal::new(spec, setting)),
            noise: Noise::new(&spec.noise, setting.seed),
            busy: 0.0,
        }
    }

    /// Pages programmed over pages that the host wrote, from the start; none where no collector works.
    #[must_use]
    pub fn write_amplification(&self) -> Option<f64> {
        match &self.medium {
            AnyMedium::Flash(flash) => Some(flash.write_amplification()),
            _ => None,
        }
    }

    fn idle(&mut self, ns: f64) {
        self.medium.idle(ns);
        if let Some(credits) = &mut self.credits {
            credits.idle(ns);
        }
        if let Some(thermal) = &mut self.thermal {
            thermal.idle(ns);
        }
    }

    /// The server's time for `len` bytes that keep the medium busy for `medium` nanoseconds.
    #[inline]
    fn service(&mut self, medium: f64, len: u32) -> f64 {
        let mut ns = medium + self.overhead;
        if let Some(credits) = &mut self.credits {
            ns = credits.pass(ns, len);
        }
        if let Some(thermal) = &mut self.thermal {
            ns = thermal.pass(ns);
        }
        self.noise.pass(self.busy, ns)
    }
}

impl Model for DriveModel {
    #[inline]
    fn serve(&mut self, now: Nanos, request: Request) -> Nanos {
        let at = now.0 as f64;
        if at > self.busy {
            self.idle(at - self.busy);
            self.busy = at;
        }
        match request {
            Request::Write { offset, len } => {
                let ns = self.medium.write(offset, len);
                self.busy += self.service(ns, len);
            }
            Request::Read { offset, len } => {
                let ns = self.medium.read(offset, len);
                self.busy += self.service(ns, len);
            }
            Request::Flush => self.busy += self.overhead,
            Request::Discard { offset, len } => self.medium.discard(offset, len),
        }
        // Whole nanoseconds hold for 2^53 of them, 104 days; and no completion before its request.
        Nanos((self.busy + self.latency) as u64).max(now)
    }

    #[inline]
    fn heat(&self, now: Nanos) -> Option<Heat> {
        let rested = (now.0 as f64 - self.busy).max(0.0);
        self.thermal.as_ref().map(|thermal| thermal.heat_after(rested))
    }
}

#[cfg(test)]
mod tests {
    use super::bench::{Bench, random_writes, writes};
    use super::*;
    use crate::units::{Bytes, GIB, Nanos, Speed};

    fn plain(setting: &Setting) -> Bench<DriveModel> {
        let speed = Speed(Bytes(40_960_000));
        let medium = MediumSpec::Plain(plain::PlainSpec { write: speed, read: speed });
        let spec = ModelSpec {
            latency: Span(Nanos(400_000)),
            overhead: Span(Nanos(0)),
            medium,
            credits: None,
            thermal: None,
            noise: NoiseSpec::default(),
        };
        assert_eq!(spec.check(Bytes(GIB), setting), Ok(()));
        Bench::new(DriveModel::new(&spec, Bytes(GIB), setting))
    }

    /// 4 KiB take 100 µs of service and 400 µs of latency.
    #[track_caller]
    fn check_depth(depth: usize, per_s: f64) {
        let curve = plain(&Setting::default()).run(random_writes(1, GIB, 4096).take(20_000), depth, 1.0, 1e9);
        let measured = 20_000.0 / curve.elapsed_s;
        assert!((measured / per_s - 1.0).abs() < 0.01, "depth {depth}: {measured} a second");
    }

    #[test]
    fn depth_hides_latency_until_the_server_is_busy() {
        check_depth(1, 2_000.0);
        check_depth(4, 8_000.0);
        check_depth(5, 10_000.0);
        check_depth(64, 10_000.0);
    }

    #[test]
    fn scale_gives_the_same_curve_with_fewer_ios() {
        let bytes = |scale: f64| {
            let setting = Setting { scale, ..Setting::default() };
            plain(&setting).run(random_writes(1, GIB, 4096), 2, 1.0, 40.0).total() as f64 * scale
        };
        assert!((bytes(8.0) / bytes(1.0) - 1.0).abs() < 0.001);
    }

    #[test]
    fn a_request_never_completes_before_it_comes_and_an_idle_drive_starts_at_once() {
        let mut bench = plain(&Setting::default());
        bench.rest(3.0);
        let done = bench.model.serve(bench.now, Request::Write { offset: 0, len: 4096 });
        assert_eq!(done, Nanos(3_000_500_000));
        assert_eq!(bench.model.serve(Nanos(9_000_000_000), Request::Flush), Nanos(9_000_400_000));
        let curve = bench.run(writes(0, GIB, 1 << 20), 1, 1.0, 1e9);
        assert_eq!(curve.total(), GIB);
    }
}
