//! Throughput over space: how the steady rate falls as the drive fills.
//!
//! FSEF, the free space erase factor that a reader of the founding measurement named: the least-squares
//! slope of steady rate over the drive's bytes in use by nobody, with its standard error (ordinary least
//! squares, n − 2 degrees of freedom). Fails where the relation is no line, which its error shows.

use super::metric::{Metric, Value};
use super::random::LevelFindings;
use crate::units::{Bytes, Rate};

/// Levels that were steady, at the least.
const LEAST_LEVELS: usize = 3;

/// The slope over at least three steady levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fsef {
    /// MB/s for each extra free GB.
    pub mb_s_per_gb: f64,
    /// Standard error of the slope.
    pub standard_error: f64,
    /// Levels it rests on.
    pub levels: usize,
}

/// The slope, where at least three levels were steady at different free space.
#[must_use]
pub fn fsef(levels: &[LevelFindings]) -> Option<Fsef> {
    let points: Vec<(Bytes, Rate)> =
        levels.iter().filter_map(|level| Some((level.drive_free?, level.found.steady.rate()?))).collect();
    slope(&points)
}

/// The slope as a metric. Three levels and more that give none have it with the reason, so that a run whose levels
/// did not settle is told from one that lost a metric; with fewer levels there is none.
#[must_use]
pub fn metric(levels: &[LevelFindings]) -> Option<Metric> {
    if levels.len() < LEAST_LEVELS {
        return None;
    }
    let unsteady = levels.iter().find(|level| level.found.steady.rate().is_none());
    let why = unsteady.map_or("not-applicable", |level| level.found.steady.word());
    let value = fsef(levels).map_or(Value::Absent(why), |fsef| Value::Number(fsef.mb_s_per_gb));
    Some(Metric::new("random_write.fsef_mb_s_per_gb", value))
}

/// The slope through steady rates at so many free bytes; none for fewer than three points or one place.
#[must_use]
pub fn slope(points: &[(Bytes, Rate)]) -> Option<Fsef> {
    let points: Vec<(f64, f64)> = points.iter().map(|(free, rate)| (free.gb(), rate.mb_s())).collect();
    let n = points.len() as f64;
    if points.len() < LEAST_LEVELS {
        return None;
    }
    let (mean_x, mean_y) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let squares: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.0 - mean_x)).sum();
    let products: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    if squares <= 0.0 {
        return None;
    }
    let slope = products / squares;
    let residual = |p: &(f64, f64)| p.1 - mean_y - slope * (p.0 - mean_x);
    let error: f64 = points.iter().map(|p| residual(p) * residual(p)).sum();
    let standard_error = libm::sqrt(error / (n - 2.0) / squares);
    Some(Fsef { mb_s_per_gb: slope, standard_error, levels: points.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slope through points of GB and MB/s.
    fn slope(points: &[(u64, f64)]) -> Option<Fsef> {
        let point = |&(gb, mb_s): &(u64, f64)| (Bytes(gb * 1_000_000_000), Rate::from_mb_s(mb_s));
        super::slope(&points.iter().map(point).collect::<Vec<_>>())
    }

    #[test]
    fn the_slope_and_its_error_are_those_of_least_squares() {
        let exact = slope(&[(10, 112.5), (20, 125.0), (40, 150.0)]).unwrap();
        assert!((exact.mb_s_per_gb - 1.25).abs() < 1e-12 && exact.standard_error < 1e-9, "{exact:?}");
        // By hand: slope 1.5, residuals 0.25, -0.5, 0.25 about the mean: sqrt(0.375 / 1 / 2).
        let rough = slope(&[(0, 1.0), (1, 2.0), (2, 4.0)]).unwrap();
        assert!((rough.mb_s_per_gb - 1.5).abs() < 1e-12, "{rough:?}");
        assert!((rough.standard_error - (1.0_f64 / 12.0).sqrt()).abs() < 1e-12, "{rough:?}");
    }

    #[test]
    fn two_levels_or_one_place_are_no_line() {
        assert_eq!(slope(&[(1, 1.0), (2, 2.0)]), None);
        assert_eq!(slope(&[(1, 1.0), (1, 2.0), (1, 3.0)]), None);
    }
}
