//! `cargo xtask score --simulated`: the analysis over simulated drives whose truth is known.
#![expect(clippy::print_stdout, reason = "a chore's output is its result")]

use std::process::ExitCode;

use harness::analysis::cliff::{Levels, find};
use storage_check_tests::modelled;
use storage_check_tests::simulated::{Simulated, fall, quiet};

/// Failures that are shown.
const SHOWN: usize = 20;

/// Prints how often the analysis is right on so many drives of each sort: drawn as rates, and made by the simulator's
/// models.
pub(crate) fn simulated(drives: u64) -> anyhow::Result<ExitCode> {
    println!("rates that are drawn, with outliers and slopes");
    falls(&(0..drives).map(fall).map(found).collect::<Vec<_>>());
    quiets(&(0..drives).map(quiet).map(found).collect::<Vec<_>>());
    println!("the simulator's models of drives");
    falls(&(0..drives).map(|seed| modelled::fall(seed).map(found)).collect::<anyhow::Result<Vec<_>>>()?);
    quiets(&(0..drives).map(|seed| modelled::quiet(seed).map(found)).collect::<anyhow::Result<Vec<_>>>()?);
    Ok(ExitCode::SUCCESS)
}

fn found(drive: Simulated) -> (Simulated, Levels) {
    let found = find(&drive.series);
    (drive, found)
}

fn percent(count: usize, of: usize) -> String {
    format!("{:.2} %", 100.0 * count as f64 / of.max(1) as f64)
}

/// What was found of one fall each.
fn falls(falls: &[(Simulated, Levels)]) {
    let off = |samples: f64| {
        let falls = falls.iter().enumerate();
        falls.filter(move |(_, (drive, found))| drive.samples_off(found).is_none_or(|off| off > samples))
    };
    let within = |samples: f64| percent(falls.len() - off(samples).count(), falls.len());
    let possible = falls.iter().filter(|(drive, found)| drive.is_possible(found)).count();
    println!("  {} drives with one fall of over three times the noise", falls.len());
    println!("    found within one sample     {}", within(1.0));
    println!("    found within two            {}", within(2.0));
    println!("    inside its own uncertainty  {}", percent(possible, falls.len()));
    for (seed, (drive, found)) in off(1.0).take(SHOWN) {
        let off = drive.samples_off(found).map_or("not one change".to_owned(), |off| format!("{off:.1} samples off"));
        println!("      seed {seed}: {}: {off}", drive.what);
    }
}

/// What was invented where there is none.
fn quiets(quiets: &[(Simulated, Levels)]) {
    let invented = || quiets.iter().enumerate().filter(|(_, (_, found))| !found.cliffs.is_empty());
    println!("  {} drives without a fall: flat, sloped, oscillating, wandering, with stalls", quiets.len());
    println!("    given a cliff               {}", percent(invented().count(), quiets.len()));
    for (seed, (drive, _)) in invented().take(SHOWN) {
        println!("      seed {seed}: {}", drive.what);
    }
}
