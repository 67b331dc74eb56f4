//! Heat: a drive that slows down when it is hot and recovers when it is cool.
//!
//! One thermal capacity behind one resistance: the temperature above the surroundings approaches that of the present
//! power exponentially (lumped-capacitance model; any text on heat transfer, such as Incropera & DeWitt, chapter 5).
//! Power is the rate at which the drive works, 1 at full speed. Between the two thresholds the drive keeps its state,
//! so that it swings where full speed is too hot and the slowed one too cool.

use serde::Deserialize;

use super::setting::Setting;
use crate::sample::telemetry::{Heat, Throttling};
use crate::units::{Share, Span};

/// Heat as a drive's file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThermalSpec {
    /// How long the temperature takes to go 63 % of its way.
    pub time_constant: Span,
    /// Slows down above this share of the temperature that full speed leads to …
    pub hot: Share,
    /// … until it is below this one.
    pub cool: Share,
    /// Share of the full rate while it is slowed.
    pub slowed_to: Share,
    /// The drive's thermometer; without one it says only whether it slows down, and starts cool.
    pub sensor: Option<SensorSpec>,
}

/// The same temperatures in °C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SensorSpec {
    /// At rest.
    pub ambient: i16,
    /// Where full speed leads to.
    pub full: i16,
    /// From which on the drive itself warns.
    pub warning: i16,
    /// When the run begins; `ambient` if it is not stated.
    pub start: Option<i16>,
}

impl ThermalSpec {
    /// # Errors
    /// Says which figure makes no sense.
    pub fn check(&self) -> Result<(), String> {
        if self.time_constant.0.0 == 0 || self.slowed_to.0.0 == 0 || self.cool >= self.hot {
            return Err("thermal needs a time_constant, a slowed_to, and a cool that is below hot".to_owned());
        }
        if self.sensor.is_some_and(|sensor| sensor.full <= sensor.ambient || sensor.warning <= sensor.ambient) {
            return Err("thermal.sensor needs a full and a warning above ambient".to_owned());
        }
        Ok(())
    }
}

impl SensorSpec {
    fn celsius(self, temperature: f64) -> i64 {
        let (ambient, full) = (f64::from(self.ambient), f64::from(self.full));
        libm::round(ambient + (full - ambient) * temperature) as i64
    }

    /// As a share of what full speed leads to.
    fn start(self) -> f64 {
        let above = |celsius: i16| f64::from(celsius) - f64::from(self.ambient);
        self.start.map_or(0.0, above) / above(self.full)
    }
}

/// How hot the drive is.
#[derive(Debug)]
pub(super) struct Thermal {
    time_constant: f64,
    hot: f64,
    cool: f64,
    slowed_to: f64,
    temperature: f64,
    slowed: bool,
    /// How often it began to slow down.
    events: u64,
    sensor: Option<SensorSpec>,
}

impl Thermal {
    pub(super) fn new(spec: &ThermalSpec, setting: &Setting) -> Thermal {
        Thermal {
            time_constant: spec.time_constant.0.0 as f64,
            hot: spec.hot.0.fraction(),
            cool: spec.cool.0.fraction(),
            slowed_to: spec.slowed_to.0.fraction() * setting.floor / setting.fast,
            temperature: spec.sensor.map_or(0.0, SensorSpec::start),
            slowed: false,
            events: 0,
            sensor: spec.sensor,
        }
    }

    /// What becomes of a service time of `ns`.
    #[inline]
    pub(super) fn pass(&mut self, ns: f64) -> f64 {
        let power = if self.slowed { self.slowed_to } else { 1.0 };
        let ns = ns / power;
        self.approach(power, ns);
        let before = self.slowed;
        self.slowed = if before { self.temperature > self.cool } else { self.temperature > self.hot };
        self.events += u64::from(self.slowed && !before);
        ns
    }

    /// What the drive says after so many nanoseconds of rest.
    pub(super) fn heat_after(&self, rested: f64) -> Heat {
        let temperature = self.approached(0.0, rested);
        Heat {
            throttling: Throttling { now: self.slowed && temperature > self.cool, events: self.events },
            temperature_c: self.sensor.map(|sensor| sensor.celsius(temperature)),
            warning_c: self.sensor.map(|sensor| i64::from(sensor.warning)),
        }
    }

    pub(super) fn idle(&mut self, ns: f64) {
        self.approach(0.0, ns);
        self.slowed &= self.temperature > self.cool;
    }

    fn approach(&mut self, target: f64, ns: f64) {
        self.temperature = self.approached(target, ns);
    }

    fn approached(&self, target: f64, ns: f64) -> f64 {
        let part = ns / self.time_constant;
        // One I/O is a millionth of the way: the exponential is a straight line there.
        let part = if part < 1e-4 { part } else { 1.0 - libm::exp(-part) };
        self.temperature + (target - self.temperature) * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Nanos, Ppm};

    #[test]
    fn a_drive_that_is_too_hot_at_full_speed_and_too_cool_when_slowed_swings_with_the_period_of_the_formula() {
        let share = |percent: u32| Share(Ppm(percent * 10_000));
        let spec = ThermalSpec {
            time_constant: Span(Nanos::from_secs(100)),
            hot: share(80),
            cool: share(60),
            slowed_to: share(40),
            sensor: Some(SensorSpec { ambient: 30, full: 90, warning: 80, start: None }),
        };
        assert_eq!(spec.check(), Ok(()));
        let mut thermal = Thermal::new(&spec, &Setting::default());
        let (mut now, mut changes, mut slowed) = (0.0, Vec::new(), false);
        while changes.len() < 6 {
            now += thermal.pass(1e6) / 1e9;
            if thermal.slowed != slowed {
                slowed = thermal.slowed;
                changes.push(now);
            }
        }
        // From 0 to 0.8 towards 1; then down to 0.6 towards 0.4, and up to 0.8 towards 1.
        let spans = [-100.0 * libm::log(0.2), 100.0 * libm::log(2.0), 100.0 * libm::log(2.0)];
        assert!((changes[0] / spans[0] - 1.0).abs() < 1e-3, "{changes:?}");
        for (at, span) in changes.windows(2).zip(spans[1..].iter().cycle()) {
            assert!(((at[1] - at[0]) / span - 1.0).abs() < 1e-3, "{changes:?}");
        }
        thermal.idle(1e12);
        assert!(thermal.temperature < 1e-3 && !thermal.slowed, "rest cools");
        let throttling = Throttling { now: false, events: 3 };
        assert_eq!(thermal.heat_after(0.0), Heat { throttling, temperature_c: Some(30), warning_c: Some(80) });
    }

    #[test]
    fn a_drive_that_starts_hot_says_so_and_cools_while_nobody_asks_it_for_anything() {
        let share = |percent: u32| Share(Ppm(percent * 10_000));
        let sensor = |start| Some(SensorSpec { ambient: 30, full: 90, warning: 80, start: Some(start) });
        let time_constant = Span(Nanos::from_secs(100));
        let spec = |start| ThermalSpec {
            time_constant,
            hot: share(80),
            cool: share(60),
            slowed_to: share(40),
            sensor: sensor(start),
        };
        let said = |start, rested| {
            let thermal = Thermal::new(&spec(start), &Setting::default());
            thermal.heat_after(rested).temperature_c
        };
        // 30 °C and 40, 40 / e and 40 / e² above them.
        assert_eq!([said(70, 0.0), said(70, 1e11), said(70, 2e11)], [Some(70), Some(45), Some(35)]);
        assert_eq!([said(10, 0.0), said(10, 1e11)], [Some(10), Some(23)]);
        assert!(
            ThermalSpec { sensor: Some(SensorSpec { full: 30, ..sensor(30).unwrap() }), ..spec(30) }.check().is_err()
        );
    }
}
