//! Swings of a rate as an observer sees them: when it last turned, and how long its turns take.
//!
//! Causal and of bounded memory. Knows nothing of drives, and not what a claim is.

use crate::units::Nanos;

/// The least swing that counts, `ln 1.2`: as much as a steady rate may swing.
const LEAST: f64 = 0.182_321_556_793_954_6;
/// Deviations of a unit's log rate that are no swing.
const NOISES: f64 = 4.0;
/// Rises from which on a rate is seen to come and go: a drive's collector makes one, from its trough.
const LEAST_RISES: u32 = 2;
/// Periods without a turn after which that is over.
const PERIODS: u64 = 2;

/// Turns of the medians of three units, by more than a threshold from the last extreme (a zigzag, as of rainflow
/// counting; ASTM E1049).
///
/// A stretch at one level of a rate that comes and goes is flat, however long it is against the range that is written: so
/// nothing is steady before it has stayed for two of the longest periods that were seen. Fails: the first two
/// rises of a rate that will come and go are not known to be its first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Swings {
    /// The last log rates.
    last: [Option<f64>; 2],
    /// The highest smoothed rate since it turned upwards, or the lowest since it turned downwards.
    extreme: Option<f64>,
    falling: bool,
    turned: Nanos,
    risen: Option<Nanos>,
    rises: u32,
    longest: Nanos,
}

impl Swings {
    /// Takes the log rate of one more unit, which ends at `now`, with the noise from unit to unit.
    pub(super) fn push(&mut self, log: f64, now: Nanos, noise: f64) {
        let last = self.last;
        self.last = [last[1], Some(log)];
        let [Some(first), Some(second)] = last else { return };
        let smooth = first.max(second).min(log).max(first.min(second));
        let extreme = self.extreme.unwrap_or(smooth);
        let back = if self.falling { smooth - extreme } else { extreme - smooth };
        if back <= LEAST + NOISES * noise {
            self.extreme = Some(if self.falling { extreme.min(smooth) } else { extreme.max(smooth) });
            return;
        }
        (self.extreme, self.turned, self.falling) = (Some(smooth), now, !self.falling);
        if !self.falling {
            self.rises += 1;
            let before = self.risen.replace(now);
            self.longest = self.longest.max(before.map_or(Nanos(0), |before| now.saturating_sub(before)));
        }
    }

    /// Whether the rate does not come and go, or has stayed for so long at one level that it no longer does.
    pub(super) fn are_over(&self, now: Nanos) -> bool {
        self.rises < LEAST_RISES || outlasts(now.saturating_sub(self.turned), self.longest)
    }
}

/// Whether a stretch without a turn is long enough for a rate that came and went with this period to have settled.
pub(super) fn outlasts(stretch: Nanos, period: Nanos) -> bool {
    stretch.0 / PERIODS >= period.0
}

#[cfg(test)]
mod tests {
    use super::super::simulated::Random;
    use super::*;

    /// Whether swings are over after these rates, one a second, with noise.
    fn check(noise: f64, rates: impl IntoIterator<Item = f64>, over: bool) {
        let (mut random, mut swings, mut now) = (Random(1), Swings::default(), Nanos(0));
        for rate in rates {
            now = now.saturating_add(Nanos::from_secs(1));
            swings.push(libm::log(rate) + noise * random.normal(), now, noise);
        }
        assert_eq!(swings.are_over(now), over, "{swings:?} at {now:?}");
    }

    fn waves(seconds: usize) -> impl Iterator<Item = f64> {
        (0..seconds).map(|second| if second % 100 < 50 { 500.0 } else { 300.0 })
    }

    #[test]
    fn a_rate_that_comes_and_goes_does_so_until_it_has_stayed_for_two_periods() {
        check(0.01, waves(1000), false);
        check(0.01, waves(1000).chain(vec![300.0; 140]), false);
        check(0.01, waves(1000).chain(vec![300.0; 210]), true);
    }

    #[test]
    fn a_trough_and_an_overshoot_are_no_swings_nor_is_noise() {
        let shape = [(100, 1400.0), (30, 440.0), (30, 750.0), (100, 600.0)];
        check(0.02, shape.iter().flat_map(|&(count, rate)| vec![rate; count]), true);
        check(0.1, vec![500.0; 5000], true);
        check(0.0, (0..1000).map(|n| if n % 20 == 0 { 100.0 } else { 500.0 }), true);
    }
}
