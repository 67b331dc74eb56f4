//! Real series from real drives: the analysis says of each what a person sees on its plot, also when the series
//! comes with other samples, noise, outliers, in other units, or cut.
//!
//! Where the corpus is absent, the tests report themselves as ignored.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use harness::analysis::analyze::analyze;
use harness::analysis::series::Series;
use harness::units::{Bytes, GIB, MIB};
use libtest_mimic::{Arguments, Trial};
use storage_check_tests::corpus::{self, Truth};
use storage_check_tests::variant::Variant;

fn main() -> Result<()> {
    let folder = corpus::folder();
    libtest_mimic::run(&Arguments::from_args(), trials(&folder)?).exit()
}

fn trials(folder: &Path) -> Result<Vec<Trial>> {
    let Some(truths) = corpus::truths(folder)? else {
        let absent = format!("corpus: absent, {} has no truth.toml", folder.display());
        return Ok(vec![Trial::test(absent, || Ok(())).with_ignored_flag(true)]);
    };
    let mut trials = Vec::new();
    for variant in Variant::ALL {
        let (truths, folder) = (truths.clone(), folder.to_owned());
        let claim = format!("cliff and steady state of the corpus, {}", variant.name());
        trials.push(Trial::test(claim, move || Ok(check(&folder, truths.iter(), variant)?)));
    }
    trials.push(Trial::test("first claims are right in all series but one, in under 45 % of the runs", {
        let (folder, truths) = (folder.to_owned(), truths.clone());
        move || Ok(check_claims(&folder, truths.iter())?)
    }));
    trials.push(Trial::test("the findings are the same to the bit wherever they are made", {
        let (folder, truths) = (folder.to_owned(), truths.clone());
        move || Ok(check_digest(&folder, truths.iter())?)
    }));
    trials.push(Trial::test("range in use and bytes at the cliff are one constant of a drive", {
        let folder = folder.to_owned();
        move || Ok(check_constant(&folder, truths.iter())?)
    }));
    Ok(trials)
}

/// A claim is right within 3 % of the level at the end, and where there is none, when it is not made.
fn check_claims<'a>(folder: &Path, truths: impl Iterator<Item = (&'a String, &'a Truth)>) -> Result<()> {
    let (mut wrong, mut shares) = (Vec::new(), Vec::new());
    for (name, truth) in truths.filter(|(_, truth)| !truth.is_fill()) {
        let series = truth.series(folder)?;
        let claim = analyze(&series, &truth.known()).first_claim;
        let right = match (truth.steady_mib_s, claim) {
            (Some(wanted), Some(claim)) => {
                shares.push(claim.decided.secs() / series.elapsed().secs());
                (claim.rate.0 / MIB as f64 / wanted - 1.0).abs() <= 0.03
            }
            (wanted, claim) => wanted.is_none() && claim.is_none(),
        };
        wrong.extend((!right).then(|| format!("{name}: {claim:?} instead of {:?}\n", truth.steady_mib_s)));
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    ensure!(wrong.len() <= 1, "{}", wrong.concat());
    ensure!(mean < 0.45, "on average after {mean:.3} of the run");
    Ok(())
}

/// The digest of all findings on the corpus as it was when this was written. A change to the analysis changes it; a
/// compiler, a machine or a build profile must not: `cargo xtask score`, a release build, prints it as well.
const DIGEST: u64 = 0xd805_9344_8c7c_6f14;

fn check_digest<'a>(folder: &Path, truths: impl Iterator<Item = (&'a String, &'a Truth)>) -> Result<()> {
    let digest = corpus::digest(folder, truths)?;
    ensure!(digest == DIGEST, "the digest is {digest:#018x}");
    Ok(())
}

/// Raw flash runs out for the first time after as many bytes, whatever the range in use: which
/// checks the cliffs without anybody's reading of a plot.
fn check_constant<'a>(folder: &Path, truths: impl Iterator<Item = (&'a String, &'a Truth)>) -> Result<()> {
    const SUM_GIB: std::ops::RangeInclusive<f64> = 1060.0..=1090.0;
    let mut seen = 0;
    for (name, truth) in truths.filter(|(name, _)| name.starts_with("rw-7450")) {
        let series = truth.series(folder)?;
        // A minute of this drive is 80 GiB.
        if series.steps()[0].elapsed_ns.secs() > 10.0 {
            continue;
        }
        let found = analyze(&series, &truth.known());
        let first = found.cliffs.first().with_context(|| format!("no cliff in {name}"))?;
        let sum = truth.range_gib.with_context(|| format!("no range_gib of {name}"))? + gib(first.at);
        ensure!(SUM_GIB.contains(&sum), "{name}: {sum:.0} GiB");
        seen += 1;
    }
    ensure!(seen > 3, "only {seen} series of the drive");
    Ok(())
}

fn gib(bytes: Bytes) -> f64 {
    bytes.0 as f64 / GIB as f64
}

/// Seeds that a random variant is tried with.
const SEEDS: u64 = 10;

/// Right answers of all answers, in percent, as the issue asks for them; as measured all of them.
const LEAST: usize = 97;

fn check<'a>(folder: &Path, truths: impl Iterator<Item = (&'a String, &'a Truth)>, variant: Variant) -> Result<()> {
    let (mut wrong, mut answers) = (Vec::new(), 0);
    for (name, truth) in truths {
        let steps = truth.steps(folder)?;
        for seed in 0..if variant.is_random() { SEEDS } else { 1 } {
            let Some((steps, truth)) = variant.of(&steps, truth, seed) else { continue };
            for answer in verdicts(&Series::new(steps), &truth, variant.samples()) {
                answers += 1;
                wrong.extend(answer.err().map(|why| format!("{name}, seed {seed}: {why}\n")));
            }
        }
    }
    let least = if variant == Variant::AsMeasured { 100 } else { LEAST };
    let right = answers - wrong.len();
    ensure!(right * 100 >= least * answers, "{right} of {answers} right:\n{}", wrong.concat());
    Ok(())
}

/// Each question to a series, right or why not. Places are known to `samples` samples of the labels.
fn verdicts(series: &Series, truth: &Truth, samples: f64) -> Vec<Result<(), String>> {
    let found = analyze(series, &truth.known());
    let first = found.cliffs.first();
    let mut verdicts = Vec::new();
    match (truth.cliff, truth.cliff_gib) {
        (Some(false), _) => verdicts.push(first.map_or(Ok(()), |first| Err(format!("invented {first:?}")))),
        (Some(true), Some([low, high])) => {
            // The labels are two samples wide, and rounded to 0.01.
            let spare = (samples - 1.0) * (high - low) / 2.0 + 0.01;
            let right = first.is_some_and(|first| (low - spare..=high + spare).contains(&gib(first.at)));
            let wrong = || format!("cliff not within [{low}, {high}] GiB: {:?}", found.cliffs);
            verdicts.push(right.then_some(()).ok_or_else(wrong));
        }
        _ => {}
    }
    let rate = found.steady.rate().map(|rate| rate.0 / MIB as f64);
    if let Some(steady) = truth.steady {
        let right = rate.is_some() == steady;
        verdicts.push(right.then_some(()).ok_or_else(|| format!("steady: {steady}, {:?}", found.steady)));
    }
    if let Some((wanted, rate)) = truth.steady_mib_s.zip(rate) {
        let right = (rate / wanted - 1.0).abs() <= 0.03;
        verdicts.push(right.then_some(()).ok_or_else(|| format!("{rate:.0} instead of {wanted:.0} MiB/s")));
    }
    verdicts
}
