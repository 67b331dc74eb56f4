//! A scale of a picture: where a value lies between the ends of an axis, straight or by its logarithm, and which
//! round values are named beside it.
//!
//! Knows the plotting library's axes and nothing of what is drawn.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::report::table::number;

/// An axis from one value to another, both finite, the first the smaller.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

/// Beyond this ratio of the greatest value to the least, equal ratios and not equal differences are equally far apart.
const WIDE: f64 = 30.0;

impl Scale {
    /// From 0 to a little more than the greatest value, straight.
    #[must_use]
    pub fn from_zero(values: impl IntoIterator<Item = f64>) -> Scale {
        let most = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        Scale::new(0.0, if most > 0.0 { most * 1.06 } else { 1.0 }, false)
    }

    /// From 0 to the end of what is shown, straight.
    #[must_use]
    pub fn up_to(end: f64) -> Scale {
        Scale::new(0.0, end, false)
    }

    /// Straight from 0, or by the logarithm where the values above zero are very different.
    #[must_use]
    pub fn fitting(values: impl IntoIterator<Item = f64>) -> Scale {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite() && *value > 0.0).collect();
        let (least, most) = ends(&values);
        if values.len() > 1 && most / least > WIDE {
            Scale::log(least / 1.3, most * 1.3)
        } else {
            Scale::from_zero(values)
        }
    }

    /// By the logarithm between two values above zero.
    #[must_use]
    pub fn log(low: f64, high: f64) -> Scale {
        let fits = low > 0.0 && high > low && high.is_finite();
        if fits { Scale::new(low, high, true) } else { Scale::from_zero([high]) }
    }

    fn new(low: f64, high: f64, log: bool) -> Scale {
        let high = if high.is_finite() && high > low { high } else { low + 1.0 };
        Scale { low, high, log }
    }

    /// Whether equal ratios are equally far apart.
    #[must_use]
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// The ends.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The value, or the nearest that is on the scale.
    #[must_use]
    pub fn within(&self, value: f64) -> f64 {
        value.clamp(self.low, self.high)
    }

    /// 0 at the low end and 1 at the high one.
    fn place(&self, value: f64) -> f64 {
        let value = self.within(value);
        if self.log {
            libm::log(value / self.low) / libm::log(self.high / self.low)
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// Round values on the scale, `most` at the most.
    fn ticks(&self, most: usize) -> Vec<f64> {
        let most = most.max(2);
        if self.log {
            let few = |of: &'static [f64]| self.decades(of);
            let sets: [&[f64]; 4] = [&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
            let fitting = sets.into_iter().map(few).find(|ticks| ticks.len() <= most);
            return fitting.unwrap_or_else(|| {
                let tens = self.decades(&[1.0]);
                let every = tens.len().div_ceil(most);
                tens.into_iter().step_by(every).collect()
            });
        }
        let exponent = libm::floor(libm::log10((self.high - self.low) / most as f64)) as i32;
        let steps = [1.0, 2.0, 5.0, 10.0, 20.0].map(|step| step * libm::pow(10.0, f64::from(exponent)));
        let count = |step: f64| libm::floor(self.high / step) - libm::ceil(self.low / step) + 1.0;
        let step = steps.into_iter().find(|step| count(*step) <= most as f64).unwrap_or(self.high - self.low);
        let first = libm::ceil(self.low / step);
        (0..most).map(|n| (first + n as f64) * step).filter(|tick| *tick <= self.high).collect()
    }

    /// Multiples of the powers of ten on the scale.
    fn decades(&self, times: &[f64]) -> Vec<f64> {
        let power = |value: f64| libm::floor(libm::log10(value)) as i32;
        let tens = power(self.low)..=power(self.high);
        let all = tens.flat_map(|ten| times.iter().map(move |times| times * libm::pow(10.0, f64::from(ten))));
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + libm::round(self.place(*value) * f64::from(to - from)) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.bold_points())
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Scale {
    fn format(value: &f64) -> String {
        let text = number(*value);
        let plain = text.contains('.') && !text.contains('e');
        if plain { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }

    fn format_ext(&self, value: &f64) -> String {
        <Scale as ValueFormatter<f64>>::format(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scale: &Scale, most: usize, expect: &[f64]) {
        let ticks = scale.ticks(most);
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
        assert!(ticks.len() == expect.len() && ticks.iter().zip(expect).all(near), "{scale:?}: {ticks:?}");
    }

    #[test]
    fn round_values_are_named_and_no_more_than_fit() {
        check(&Scale::up_to(1072.5), 6, &[0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        check(&Scale::up_to(3.0), 5, &[0.0, 1.0, 2.0, 3.0]);
        check(&Scale::from_zero([]), 5, &[0.0, 0.5, 1.0]);
        check(&Scale::log(19_000.0, 52_000.0), 5, &[2e4, 3e4, 4e4, 5e4]);
        check(&Scale::log(0.9, 120.0), 8, &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        check(&Scale::log(0.9, 120.0), 5, &[1.0, 3.0, 10.0, 30.0, 100.0]);
        check(&Scale::log(1e-3, 1e6), 5, &[1e-3, 0.1, 10.0, 1e3, 1e5]);
    }

    #[test]
    fn a_wide_range_is_shown_by_its_logarithm() {
        assert!(Scale::fitting([1.0, 40.0]).is_log() && !Scale::fitting([1.0, 20.0, 0.0]).is_log());
        assert!(!Scale::fitting([f64::NAN, -1.0, f64::INFINITY]).is_log());
    }

    #[test]
    fn places_are_between_the_ends_whatever_the_value() {
        let scale = Scale::log(1.0, 100.0);
        let at = |value: f64| scale.map(&value, (0, 100));
        assert_eq!([at(0.0), at(1.0), at(10.0), at(100.0), at(1e9)], [0, 0, 50, 100, 100]);
        assert_eq!(Scale::up_to(10.0).map(&2.5, (100, 0)), 75);
        assert_eq!(Scale::up_to(f64::NAN).ends(), (0.0, 1.0));
    }
}
