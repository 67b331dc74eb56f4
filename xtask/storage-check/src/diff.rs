//! Two texts as a reviewer reads them: changed lines with a little around them.
//!
//! For the few hundred lines of a baseline: longest common subsequence, quadratic.

/// Unchanged lines shown around a change.
const CONTEXT: usize = 2;

/// The lines that differ, `-` before and `+` after, with some lines around them.
pub(crate) fn diff(before: &str, after: &str) -> String {
    let lines = edits(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let near = |at: usize| {
        let around = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(lines.len());
        lines[around].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut out = String::new();
    let mut gap = false;
    for (at, (mark, line)) in lines.iter().enumerate() {
        if near(at) {
            if gap {
                out.push_str("  …\n");
            }
            gap = false;
            out.push_str(&format!("{mark} {line}\n"));
        } else {
            gap = true;
        }
    }
    out
}

/// Every line once with its mark, in order.
fn edits<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<(char, &'a str)> {
    // common[i][j]: the longest common subsequence of what follows i and j.
    let mut common = vec![vec![0_u32; after.len() + 1]; before.len() + 1];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            common[i][j] =
                if before[i] == after[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut edits = Vec::new();
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            edits.push((' ', before[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < before.len() && (j == after.len() || common[i + 1][j] >= common[i][j + 1]) {
            edits.push(('-', before[i]));
            i += 1;
        } else {
            edits.push(('+', after[j]));
            j += 1;
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_shown_with_a_little_around_it() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let after = "a\nb\nc\nd\nE\nf\ng\nh\ni\n";
        assert_eq!(diff(before, after), "  …\n  c\n  d\n- e\n+ E\n  f\n  g\n  h\n+ i\n");
        assert_eq!(diff("", "x\n"), "+ x\n");
        assert_eq!(diff(before, before), "");
    }
}
