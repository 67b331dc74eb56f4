//! What the gate claims of drives, and the bounds that it must keep.
//!
//! Pure. The figures are those that the documents state.

use super::world::{Subject, World};
use super::{Gate, Tally};
use crate::verdict::judge::Rules;
use crate::verdict::tolerance::KnownShares;

/// A claim: drives, and what a gate may say of them.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The drives.
    pub world: World,
    /// How they are judged.
    pub rules: Rules,
    /// At least this share is held.
    pub least_held: f64,
    /// At most this share is held.
    pub most_held: f64,
    /// At least this share is regressed.
    pub least_failed: f64,
    /// At most this share is regressed.
    pub most_failed: f64,
    /// At most so many runs on average.
    pub most_runs: f64,
}

const RATES: [&str; 10] = [
    "fill.fast_mb_s",
    "fill.cliff_gb",
    "fill.floor_mb_s",
    "fill.mean_mb_s",
    "random_write.10pct.steady_mb_s",
    "random_write.25pct.steady_mb_s",
    "random_write.50pct.steady_mb_s",
    "random_write.75pct.steady_mb_s",
    "random_write.90pct.steady_mb_s",
    "random_write.100pct.steady_mb_s",
];
/// Scatter of the metrics' coefficients of variation that the claims are made for.
const SCATTER: f64 = 0.3;

/// Every metric gates.
fn rules() -> Rules {
    Rules { gates: Some(vec!["*".to_owned()]), ..Rules::default() }
}

/// Drives of ten rates and capacities.
pub(super) fn ten(name: &str, cv: f64, loss: f64) -> World {
    let subject =
        |(at, id): (usize, &&'static str)| Subject { id, figure: 500.0, cv, loss: if at == 4 { loss } else { 0.0 } };
    World {
        name: name.to_owned(),
        subjects: RATES.iter().enumerate().map(subject).collect(),
        scatter: SCATTER,
        shared: 0.0,
        heavy: false,
        unit_spread: None,
        baseline_runs: 5,
        most_runs: 3,
    }
}

/// Six of them, one run against one.
fn one_against_one(name: &str, loss: f64) -> World {
    let mut world = ten(name, 0.01, loss);
    world.subjects.truncate(6);
    World { baseline_runs: 1, most_runs: 1, ..world }
}

/// Eight quiet rates, and two latencies twenty times as noisy; what moves one level moves the others.
fn mixed(name: &str, loss: f64) -> Claim {
    let mut world = ten(name, 0.005, loss);
    for (subject, id) in world.subjects[8..].iter_mut().zip(["random_write.50pct.p99_us", "random_write.90pct.p99_us"])
    {
        *subject = Subject { id, figure: 900.0, cv: 0.1, loss: 0.0 };
    }
    let mut claim = Claim::of(World { shared: 0.5, ..world });
    (claim.rules.prior_noise.tail_latency, claim.rules.tolerance.tail_latency) = (0.1, 0.05);
    claim
}

/// All claims.
#[must_use]
pub fn claims() -> Vec<Claim> {
    let plain = Claim::of;
    let exact = |name: &str, world: World| Claim {
        most_held: 0.05,
        most_failed: 0.01,
        ..plain(World { name: name.to_owned(), ..world })
    };
    let mut all_at_tolerance = ten("", 0.01, 0.05);
    all_at_tolerance.subjects.iter_mut().for_each(|subject| subject.loss = 0.05);
    let unknown = plain(World { unit_spread: Some(0.03), ..ten("another unit, nothing known", 0.01, 0.0) });
    let mut of_units = plain(World { unit_spread: Some(0.03), ..ten("equal, another unit (3 %)", 0.01, 0.0) });
    let spread = Some(0.03);
    of_units.rules.unit_spread = KnownShares { throughput: spread, capacity: spread, tail_latency: None };
    let mut claims = vec![
        Claim { least_held: 0.99, most_failed: 0.001, most_runs: 1.3, ..plain(ten("equal", 0.01, 0.0)) },
        Claim { least_failed: 0.96, most_held: 0.001, ..plain(ten("one metric -10 %", 0.01, 0.10)) },
        Claim { least_failed: 0.999, most_held: 0.0, ..plain(ten("one metric -15 %", 0.01, 0.15)) },
        exact("one metric at the tolerance", ten("", 0.01, 0.05)),
        exact("all metrics at the tolerance", all_at_tolerance),
        Claim { least_failed: 0.98, most_held: 0.001, ..plain(ten("one metric -8 %", 0.005, 0.08)) },
        Claim { most_failed: 0.005, ..plain(World { heavy: true, ..ten("equal, heavy tails", 0.01, 0.0) }) },
        Claim { most_failed: 0.001, ..mixed("equal, mixed kinds", 0.0) },
        Claim { least_failed: 0.97, most_held: 0.001, ..mixed("a quiet one -10 %, mixed kinds", 0.10) },
        Claim { most_failed: 0.005, ..of_units },
        Claim { most_failed: 0.0, most_held: 0.0, ..unknown },
        Claim { least_held: 0.75, most_failed: 0.001, ..plain(one_against_one("equal, 1 against 1", 0.0)) },
        Claim { least_failed: 0.99, most_held: 0.0, ..plain(one_against_one("one metric -15 %, 1 against 1", 0.15)) },
    ];
    claims.extend(planted());
    claims
}

/// A regression in each sort of metric, of two sizes.
fn planted() -> Vec<Claim> {
    let sorts = [
        (0, "fill.fast_mb_s", 500.0, 0.01, [0.15, 0.40]),
        (1, "fill.cliff_gb", 120.0, 0.01, [0.15, 0.40]),
        (2, "random_write.50pct.p99_us", 900.0, 0.02, [0.50, 2.0]),
        (3, "random_write.50pct.stalled_s_per_h", 20.0, 0.05, [30.0, 200.0]),
        (4, "health.media_errors", 0.0, 0.0, [1.0, 50.0]),
    ];
    let world = |lost: usize, loss: f64| {
        let subject = |(at, id, figure, cv, _): &(usize, &'static str, f64, f64, [f64; 2])| Subject {
            id,
            figure: *figure,
            cv: *cv,
            loss: if *at == lost { loss } else { 0.0 },
        };
        let (_, id, ..) = sorts[lost];
        let name = match lost {
            3 => format!("{id} +{loss} s/h"),
            4 => format!("{id} +{loss}"),
            2 => format!("{id} +{} %", loss * 100.0),
            _ => format!("{id} -{} %", loss * 100.0),
        };
        World { name, subjects: sorts.iter().map(subject).collect(), ..ten("", 0.01, 0.0) }
    };
    let each = sorts.iter().flat_map(|(at, .., sizes)| sizes.iter().map(|loss| (*at, *loss)));
    each.map(|(at, loss)| Claim { least_failed: 0.99, most_held: 0.0, ..Claim::of(world(at, loss)) }).collect()
}

impl Claim {
    fn of(world: World) -> Claim {
        let runs = world.most_runs as f64;
        let rules = rules();
        Claim { world, rules, least_held: 0.0, most_held: 1.0, least_failed: 0.0, most_failed: 1.0, most_runs: runs }
    }

    /// Lets a gate decide on so many draws.
    #[must_use]
    pub fn tally(&self, gate: Gate<'_>, draws: u64) -> Tally {
        self.world.tally(gate, &self.rules, draws)
    }

    /// Whether this is a claim on drives that are not worse.
    #[must_use]
    pub fn equal(&self) -> bool {
        self.world.subjects.iter().all(|subject| subject.loss == 0.0)
    }

    /// The bounds that a tally breaks by more than `errors` standard errors of its draws; 0 takes them as they are.
    #[must_use]
    pub fn broken(&self, tally: &Tally, errors: f64) -> Vec<String> {
        let slack = |bound: f64| {
            let n = tally.draws.max(1) as f64;
            errors * (libm::sqrt(bound * (1.0 - bound) / n) + 1.0 / n)
        };
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        let (held, failed) = (tally.share(tally.held), tally.share(tally.failed));
        let mut broken = Vec::new();
        for (what, share, least, most) in [
            ("held", held, self.least_held, self.most_held),
            ("regressed", failed, self.least_failed, self.most_failed),
        ] {
            if share < least - slack(least) {
                broken.push(format!(
                    "{}: {} {what}, at least {} claimed",
                    self.world.name,
                    percent(share),
                    percent(least)
                ));
            }
            if share > most + slack(most) {
                broken.push(format!(
                    "{}: {} {what}, at most {} claimed",
                    self.world.name,
                    percent(share),
                    percent(most)
                ));
            }
        }
        if tally.mean_runs() > self.most_runs + errors * self.most_runs / libm::sqrt(tally.draws.max(1) as f64) {
            broken.push(format!(
                "{}: {:.2} runs on average, at most {} claimed",
                self.world.name,
                tally.mean_runs(),
                self.most_runs
            ));
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::self_test::gate;

    /// Few draws: a claim is broken here only if it is by far. The release build draws 20,000 times.
    #[test]
    fn the_gate_keeps_its_claims() {
        let broken: Vec<String> =
            claims().iter().flat_map(|claim| claim.broken(&claim.tally(&gate, 200), 4.0)).collect();
        assert!(broken.is_empty(), "{broken:#?}");
    }
}
