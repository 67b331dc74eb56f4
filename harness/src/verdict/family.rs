//! Several gates at once: which of them may be called regressed, without crying wolf the more often the more there are.
//!
//! Pure. Holm's step-down procedure (Holm 1979, *A simple sequentially rejective multiple test procedure*, Scand. J.
//! Statist. 6:65) on those gates whose estimated loss is beyond the tolerance at all. A gate that is well within it is no
//! candidate for a false alarm and need not be paid for: those with p > ½ are set aside, and the others' p, given that
//! it is at most ½, is p / ½ (Zhao, Small & Su 2019, *Multiple testing when many p-values are uniformly conservative*,
//! J. Am. Stat. Assoc. 114:1291). One regressed gate among nine equal ones is so tested at a half of the error, not at a
//! tenth. Where every gate sits exactly on its tolerance nothing is gained and nothing lost.

/// Above it a p-value is set aside.
pub(super) const ASIDE: f64 = 0.5;

/// Which of the hypotheses "the loss is within the tolerance" are rejected, with an error of `level` for all together.
#[must_use]
pub fn rejected(p_values: &[f64], level: f64) -> Vec<bool> {
    let mut candidates: Vec<usize> = (0..p_values.len()).filter(|&at| p_values[at] <= ASIDE).collect();
    candidates.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut rejected = vec![false; p_values.len()];
    for (step, &at) in candidates.iter().enumerate() {
        if p_values[at] / ASIDE > level / (candidates.len() - step) as f64 {
            break;
        }
        rejected[at] = true;
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(p_values: &[f64], level: f64, expect: &[bool]) {
        assert_eq!(rejected(p_values, level), expect, "{p_values:?}");
    }

    #[test]
    fn the_smallest_decides_whether_there_is_a_next() {
        check(&[0.004, 0.4], 0.02, &[true, false]);
        check(&[0.006, 0.4], 0.02, &[false, false]);
        // The second is judged as the only one that is left.
        check(&[0.004, 0.009], 0.02, &[true, true]);
        check(&[0.009, 0.009], 0.02, &[false, false]);
        check(&[], 0.02, &[]);
        check(&[f64::NAN], 0.02, &[false]);
    }

    #[test]
    fn gates_that_are_within_their_tolerance_cost_nothing() {
        check(&[0.9, 0.004, 0.99, 1.0, 0.8], 0.01, &[false, true, false, false, false]);
        check(&[0.004, 0.4, 0.4, 0.4, 0.4], 0.01, &[false; 5]);
    }
}
