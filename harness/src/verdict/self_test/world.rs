//! Drives that are only figures: what their runs vary by, what one of their metrics lost, and runs drawn from them.
//!
//! Pure. Knows the truth about its drives, and tells nobody.

use std::collections::BTreeMap;

use super::draws::Draws;
use crate::analysis::metric::{Kind, Metric, Value};
use crate::verdict::baseline::{Acceptance, Accepted, Baseline, Direction, Golden, Key, Provenance, SCHEMA};
use crate::verdict::candidate::Candidate;

/// A metric of the drives.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its id, which decides its kind.
    pub id: &'static str,
    /// The figure of the baseline's drive.
    pub figure: f64,
    /// Typical coefficient of variation from run to run.
    pub cv: f64,
    /// What the candidate lost, as a fraction: of latencies what they gained; of stalls and counts what is added.
    pub loss: f64,
}

/// Drives, and how they are measured.
#[derive(Clone, Debug)]
pub struct World {
    /// What they are.
    pub name: String,
    /// Metrics, all of which gate.
    pub subjects: Vec<Subject>,
    /// Standard deviation of the logarithm of each metric's coefficient of variation about the typical one.
    pub scatter: f64,
    /// Share of a run's variance that all its metrics have in common.
    pub shared: f64,
    /// Student's t with 3 degrees of freedom in place of the normal distribution.
    pub heavy: bool,
    /// Coefficient of variation from unit to unit, where the candidate is another unit than the baseline's.
    pub unit_spread: Option<f64>,
    /// Runs of the baseline.
    pub baseline_runs: usize,
    /// Runs of the candidate at the most.
    pub most_runs: usize,
}

/// One pair of drives.
pub(super) struct Drives<'a> {
    world: &'a World,
    draws: Draws,
    cvs: Vec<f64>,
    units: Vec<f64>,
    template: Candidate,
}

impl World {
    /// The drives of a draw.
    pub(super) fn drives(&self, draw: u64) -> Drives<'_> {
        // Streams that begin far apart.
        let mut draws = Draws::new(draw.wrapping_mul(0xd134_2543_de82_ef95));
        let cvs = self.subjects.iter().map(|subject| subject.cv * libm::exp(self.scatter * draws.normal())).collect();
        let spread = self.unit_spread.unwrap_or(0.0);
        let units = self.subjects.iter().map(|_| spread * libm::sqrt(2.0) * draws.normal()).collect();
        Drives { world: self, draws, cvs, units, template: template() }
    }
}

impl Drives<'_> {
    /// The baseline's runs, accepted.
    pub(super) fn baseline(&mut self) -> Baseline {
        let runs: Vec<Vec<f64>> = (0..self.world.baseline_runs).map(|_| self.figures(false)).collect();
        let accepted = |(at, subject): (usize, &Subject)| {
            let metric = Metric::new(subject.id, Value::Number(0.0));
            let accepted = Accepted {
                direction: Direction::of(metric.kind),
                kind: metric.kind,
                unit: metric.unit.to_owned(),
                tolerance: None,
                noise_floor: None,
                more_than: None,
                absent: None,
                values: runs.iter().map(|run| run[at]).collect(),
            };
            (subject.id.to_owned(), accepted)
        };
        let metric: BTreeMap<String, Accepted> = self.world.subjects.iter().enumerate().map(accepted).collect();
        let values = metric.iter().map(|(id, metric)| (id.clone(), metric.values.clone())).collect();
        let each = |text: &str| vec![text.to_owned(); runs.len()];
        Baseline {
            schema: SCHEMA,
            fingerprint: self.template.fingerprint.clone(),
            key: self.template.key.clone(),
            environment: BTreeMap::new(),
            golden: Golden { when: String::new(), more_than: BTreeMap::new(), values },
            curve: BTreeMap::new(),
            metric,
            provenance: Provenance {
                run: (0..runs.len()).map(|run| format!("baseline-{run}")).collect(),
                unit: each("one"),
                firmware: each(""),
                kernel: each(""),
                driver: each(""),
                date: each(""),
            },
            accepted: vec![Acceptance {
                when: String::new(),
                who: "self-test".to_owned(),
                why: "drawn".to_owned(),
                runs: Vec::new(),
            }],
        }
    }

    /// The next run of the candidate.
    pub(super) fn run(&mut self) -> Candidate {
        let figures = self.figures(true);
        let subjects = self.world.subjects.iter().zip(figures);
        let unit = if self.world.unit_spread.is_some() { "another" } else { "one" };
        Candidate {
            unit: Some(unit.to_owned()),
            metrics: subjects.map(|(subject, figure)| Metric::new(subject.id, Value::Number(figure))).collect(),
            ..self.template.clone()
        }
    }

    /// One run's figures.
    fn figures(&mut self, candidate: bool) -> Vec<f64> {
        let (world, shared) = (self.world, self.draws.normal());
        let (own, common) = (libm::sqrt(1.0 - world.shared), libm::sqrt(world.shared));
        let mut figures = Vec::with_capacity(world.subjects.len());
        for (at, subject) in world.subjects.iter().enumerate() {
            let noise = if world.heavy { self.draws.heavy() } else { self.draws.normal() };
            let noise = self.cvs[at] * (own * noise + common * shared);
            let (unit, loss) = if candidate { (self.units[at], subject.loss) } else { (0.0, 0.0) };
            figures.push(subject.figure(noise + unit, loss));
        }
        figures
    }
}

impl Subject {
    fn figure(&self, noise: f64, loss: f64) -> f64 {
        match Metric::absent(self.id, "").kind {
            Kind::Throughput | Kind::Capacity => self.figure * (1.0 - loss) * libm::exp(noise),
            Kind::TailLatency => self.figure * (1.0 + loss) * libm::exp(noise),
            Kind::Stalls => (self.figure + loss) * libm::exp(noise),
            Kind::Count | Kind::Finding => self.figure + loss,
        }
    }
}

fn template() -> Candidate {
    let text = str::to_owned;
    let (drive, target_kind, profile) = (text("self-test"), text("simulated"), text("self-test"));
    Candidate {
        run: text("run"),
        started: String::new(),
        fingerprint: text("self-test"),
        key: Key { drive, capacity_bytes: 0, target_kind, profile },
        unit: None,
        environment: BTreeMap::new(),
        metrics: Vec::new(),
        reach_gb: BTreeMap::new(),
        left_out: Vec::new(),
        health_unread: None,
        curves: BTreeMap::new(),
    }
}
