//! Optimal partitioning of a row of values into pieces of constant mean.
//!
//! Owns the search; knows nothing of bytes, rates or which changes matter.

/// Places at which the mean of `values` changes (each the index of a piece's first value), for
/// independent noise of standard deviation `noise`.
///
/// Minimises the squared deviations from the pieces' means plus a penalty a piece, exactly, by
/// optimal partitioning (Jackson et al. 2005) with the pruning of PELT (Killick, Fearnhead and Eckley
/// 2012). The penalty is `3 ln n` variances: one mean and one place each (Schwarz's criterion, with the place
/// counted twice). Linear where changes are many, quadratic on flat values. Takes a slope for a staircase and drift
/// for changes: what it returns are candidates.
pub(super) fn changes(values: &[f64], noise: f64) -> Vec<usize> {
    let n = values.len();
    let penalty = 3.0 * libm::log(n.max(2) as f64) * noise * noise;
    let sums = Sums::new(values);
    let mut best = vec![0.0; n + 1];
    best[0] = -penalty;
    let mut previous = vec![0_usize; n + 1];
    let mut starts = vec![0_usize];
    let mut costs = Vec::new();
    for end in 1..=n {
        costs.clear();
        costs.extend(starts.iter().map(|&start| best[start] + sums.deviation(start, end)));
        let (mut least, mut at) = (f64::INFINITY, 0);
        for (&cost, &start) in costs.iter().zip(&starts) {
            if cost < least {
                (least, at) = (cost, start);
            }
        }
        best[end] = least + penalty;
        previous[end] = at;
        let mut cost = costs.iter();
        starts.retain(|_| cost.next().is_some_and(|&cost| cost <= least + penalty));
        starts.push(end);
    }
    let mut changes = Vec::new();
    let mut at = previous[n];
    while at > 0 {
        changes.push(at);
        at = previous[at];
    }
    changes.reverse();
    changes
}

/// Running sums, so that a piece's deviation costs the same at any length.
struct Sums {
    /// Sum and sum of squares of the values before each index, the first value taken as zero, which
    /// keeps the squares small.
    before: Vec<(f64, f64)>,
}

impl Sums {
    fn new(values: &[f64]) -> Sums {
        let origin = values.first().copied().unwrap_or(0.0);
        let mut before = Vec::with_capacity(values.len() + 1);
        let (mut sum, mut squares) = (0.0, 0.0);
        before.push((sum, squares));
        for value in values {
            let value = value - origin;
            sum += value;
            squares += value * value;
            before.push((sum, squares));
        }
        Sums { before }
    }

    /// Sum of squared deviations from the mean of the values `start..end`.
    fn deviation(&self, start: usize, end: usize) -> f64 {
        let (sum, squares) = (self.before[end].0 - self.before[start].0, self.before[end].1 - self.before[start].1);
        (squares - sum * sum / (end - start) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulated::Random;
    use super::*;

    /// Optimal partitioning without pruning and without running sums: slow, and plainly right.
    fn oracle(values: &[f64], noise: f64) -> f64 {
        let penalty = 3.0 * libm::log(values.len().max(2) as f64) * noise * noise;
        let mut best = vec![-penalty];
        for end in 1..=values.len() {
            let piece = |start: usize| best[start] + deviation(&values[start..end]) + penalty;
            best.push((0..end).map(piece).fold(f64::INFINITY, f64::min));
        }
        best[values.len()]
    }

    fn deviation(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|v| (v - mean) * (v - mean)).sum()
    }

    #[test]
    fn pruning_loses_no_optimum() {
        for seed in 0..40 {
            let mut random = Random(seed);
            let mut level = 20.0;
            let values: Vec<f64> = (0..150)
                .map(|_| {
                    level += if random.unit() < 0.05 { random.between(-1.0, 1.0) } else { 0.0 };
                    level + 0.1 * random.normal()
                })
                .collect();
            let penalty = 3.0 * libm::log(150.0) * 0.01;
            let changes = changes(&values, 0.1);
            let ends: Vec<usize> = [0].into_iter().chain(changes).chain([values.len()]).collect();
            let cost: f64 = ends.windows(2).map(|piece| deviation(&values[piece[0]..piece[1]]) + penalty).sum();
            let least = oracle(&values, 0.1);
            assert!((cost - penalty - least).abs() < 1e-9, "seed {seed}: {cost} instead of {least}");
        }
    }

    #[test]
    fn few_values_have_no_change() {
        assert!(changes(&[], 0.1).is_empty());
        assert!(changes(&[1.0], 0.1).is_empty());
        assert_eq!(changes(&[1.0, 1.0, 1.0, 3.0, 3.0, 3.0], 0.1), [3]);
    }
}
