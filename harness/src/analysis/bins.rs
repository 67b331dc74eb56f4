//! A series as at most 2,000 bins of whole steps with their log rates: what change points are
//! searched in. Owns binning, noise and the taming of outliers; knows nothing of levels.

use super::series::{Series, Step};
use crate::units::Bytes;

/// Most bins of a series; the search is quadratic in them at worst.
const MOST: usize = 2_000;

/// Bins whose noise cancels out are joined as long as so many are left.
const LEAST: usize = 48;
/// Joining `n` independent bins leaves `1 / √n` of the noise; where it cancels out (a throttle's slices, a flush in every
/// other step, steps of a few blocks each) less than this of that is left.
const CANCELS: f64 = 0.7;

/// The least noise that is believed, 0.2 %: steps that are equal to the byte come from a simulator.
const LEAST_NOISE: f64 = 0.002;

/// Consecutive whole steps, and the natural logarithm of their rate in bytes per second.
#[derive(Debug)]
pub(super) struct Bins {
    /// Index of each bin's first step, and at the end the number of steps.
    pub(super) firsts: Vec<usize>,
    /// Share of the series' bytes before each bin, and at the end one.
    pub(super) places: Vec<f64>,
    /// Log rate as it was.
    pub(super) raw: Vec<f64>,
    /// Log rate with isolated outliers tamed.
    pub(super) tame: Vec<f64>,
    /// Median of three of the log rates as they were.
    pub(super) smooth: Vec<f64>,
    /// Standard deviation of the log rate from bin to bin.
    pub(super) noise: f64,
}

impl Bins {
    /// A bin is closed when it reaches the next two-thousandth of the bytes and is no fragment: a step with less
    /// than half the usual bytes and less than half the usual time, as the end of a segment leaves
    /// behind, whose rate is mostly chance. Equal bytes where steps are many, the steps themselves
    /// where they are few.
    ///
    /// Bins whose noise cancels out from one to the next are joined until it no longer does: it would hide a fall that
    /// a person sees at once.
    pub(super) fn new(series: &Series) -> Bins {
        let mut bins = Bins::at_most(series, MOST);
        let mut joined = 2;
        while bins.len() / joined >= LEAST {
            let fewer = Bins::at_most(series, bins.len() / joined);
            if fewer.len() >= LEAST && fewer.noise < bins.noise * CANCELS / libm::sqrt(joined as f64) {
                (bins, joined) = (fewer, 2);
            } else {
                joined *= 2;
            }
        }
        bins
    }

    fn at_most(series: &Series, most: usize) -> Bins {
        let steps = series.steps();
        let usual_bytes = median(steps.iter().map(|s| s.bytes.0 as f64).collect());
        let usual_time = median(steps.iter().map(|s| s.elapsed_ns.0 as f64).collect());
        let total = series.total().0.max(1);
        let part = |step: usize| u128::from(series.bytes_before(step).0) * most as u128 / u128::from(total);
        let fragment = |bin: Step| bin.bytes.0 as f64 * 2.0 < usual_bytes && bin.elapsed_ns.0 as f64 * 2.0 < usual_time;
        let (mut firsts, mut bins) = (Vec::new(), Vec::<Step>::new());
        let mut open = Step::default();
        for (index, &step) in steps.iter().enumerate() {
            if open == Step::default() {
                firsts.push(index);
            }
            open = open.and(step);
            if part(index + 1) > part(firsts[firsts.len() - 1]) && !fragment(open) {
                bins.push(std::mem::take(&mut open));
            }
        }
        if open != Step::default() {
            match bins.last_mut() {
                Some(last) => {
                    *last = last.and(open);
                    firsts.pop();
                }
                None => bins.push(open),
            }
        }
        firsts.push(steps.len());
        let places = firsts.iter().map(|&first| series.bytes_before(first).0 as f64 / total as f64).collect();
        let raw: Vec<f64> = bins.iter().map(log_rate).collect();
        let noise = step_noise(&raw);
        let tame = tame(&raw, noise);
        let smooth = smooth(&raw);
        Bins { firsts, places, raw, tame, smooth, noise }
    }

    /// The first bin that begins at byte `at` of the series or after it; the last one where there is none.
    pub(super) fn at(&self, at: Bytes, series: &Series) -> usize {
        let place = at.0 as f64 / series.total().0.max(1) as f64;
        self.places.partition_point(|&p| p < place).min(self.len().saturating_sub(1))
    }

    /// Number of bins.
    pub(super) fn len(&self) -> usize {
        self.raw.len()
    }
}

/// Natural logarithm of a step's bytes per second; a step has both bytes and time.
pub(super) fn log_rate(step: &Step) -> f64 {
    libm::log(step.bytes.0.max(1) as f64) - libm::log(step.elapsed_ns.0.max(1) as f64 / 1e9)
}

/// Median; zero for nothing.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if even { f64::midpoint(below.iter().copied().fold(f64::NEG_INFINITY, f64::max), upper) } else { upper }
}

/// Standard deviation about `centre` by the median absolute deviation, 1.4826 of it for a normal
/// distribution (Hampel 1974); breaks down when half of the values are outliers.
pub(super) fn spread_about(values: impl Iterator<Item = f64>, centre: f64) -> f64 {
    1.4826 * median(values.map(|v| (v - centre).abs()).collect())
}

/// Noise from step to step by first differences (von Neumann 1941, here by their median), which
/// sees neither levels nor drift. Sees too little where the noise is autocorrelated; the wander of
/// [`super::judge`] stands in for that.
pub(super) fn step_noise(log_rates: &[f64]) -> f64 {
    let differences = log_rates.windows(2).map(|pair| pair[1] - pair[0]);
    (spread_about(differences, 0.0) / std::f64::consts::SQRT_2).max(LEAST_NOISE)
}

/// Isolated outliers, on one side of both the medians of five bins before and after, brought
/// within three deviations of them (after Hampel's filter). Keeps edges, and the first and last
/// bin, which have but one side; runs of four and more stay.
fn tame(raw: &[f64], noise: f64) -> Vec<f64> {
    const SIDE: usize = 5;
    const DEVIATIONS: f64 = 3.0;
    let side = |values: &[f64]| median(values.to_vec());
    (0..raw.len())
        .map(|i| {
            if i == 0 || i + 1 == raw.len() {
                return raw[i];
            }
            let before = side(&raw[i.saturating_sub(SIDE)..i]);
            let after = side(&raw[i + 1..raw.len().min(i + 1 + SIDE)]);
            let reach = DEVIATIONS * noise;
            raw[i].clamp(before.min(after) - reach, before.max(after) + reach)
        })
        .collect()
}

/// Median of each value and its two neighbours; the ends stay.
pub(super) fn smooth(values: &[f64]) -> Vec<f64> {
    let mut smooth = values.to_vec();
    for (target, three) in smooth.iter_mut().skip(1).zip(values.windows(3)) {
        *target = three[0].max(three[1]).min(three[2]).max(three[0].min(three[1]));
    }
    smooth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;

    fn series(steps: &[(u64, u64)]) -> Series {
        Series::new(steps.iter().map(|&(ms, bytes)| Step { elapsed_ns: Nanos::from_millis(ms), bytes: Bytes(bytes) }))
    }

    #[test]
    fn few_steps_are_bins_and_fragments_join_what_follows() {
        let steps = [(1000, 500), (1000, 500), (2, 3), (1000, 500), (1000, 50), (100, 500), (1, 1)];
        assert_eq!(Bins::new(&series(&steps)).firsts, [0, 1, 2, 4, 5, 7]);
    }

    #[test]
    fn many_steps_make_at_most_two_thousand_bins_that_hold_them_all() {
        for count in [1, 1_999, 2_000, 2_001, 86_400] {
            let bins = Bins::new(&series(&vec![(1000, 500_000); count]));
            assert!(bins.len() <= 2_000 && bins.len() * 2 > count.min(2_000), "{count}: {}", bins.len());
            assert_eq!((bins.firsts[0], bins.firsts[bins.len()]), (0, count));
            assert_eq!((bins.places[0], bins.places[bins.len()]), (0.0, 1.0));
        }
    }

    #[test]
    fn taming_takes_outliers_and_leaves_edges() {
        let mut raw = vec![20.0; 30];
        raw[7] = 15.0;
        raw[8] = 24.0;
        raw[20..].fill(18.0);
        let tamed = tame(&raw, 0.01);
        let expect: Vec<f64> = (0..30).map(|i| if i < 20 { 20.0 } else { 18.0 }).collect();
        assert!(tamed.iter().zip(expect).all(|(tamed, expect)| (tamed - expect).abs() <= 0.031), "{tamed:?}");
        assert_eq!((tamed[19], tamed[20]), (20.0, 18.0));
    }

    #[test]
    fn the_median_of_an_even_count_is_between_both_middle_values() {
        assert_eq!(median(vec![]), 0.0);
        assert_eq!(median(vec![3.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), 3.0);
    }
}
