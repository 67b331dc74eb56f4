//! `cargo xtask score --simulated`: the analysis over simulated drives whose truth is known.

use std::process::ExitCode;

use harness::analysis::cliff::{Levels, find};
use storage_check_tests::simulated::{Simulated, fall, quiet};

/// Failures that are shown.
const SHOWN: usize = 20;

/// Prints how often the analysis is right on so many drives of each sort.
pub(crate) fn simulated(drives: u64) -> ExitCode {
    let percent = |count: usize| format!("{:.2} %", 100.0 * count as f64 / drives as f64);
    let falls: Vec<(Simulated, Levels)> = (0..drives).map(fall).map(found).collect();
    let off: Vec<Option<f64>> = falls.iter().map(|(drive, found)| steps_off(drive, found)).collect();
    let within = |steps: f64| percent(off.iter().flatten().filter(|off| **off <= steps).count());
    println!("{drives} drives with one fall of over three times the noise");
    println!("  found within one sampling step {}, within two {}", within(1.0), within(2.0));
    let inside = falls.iter().filter(|(drive, found)| {
        let truth = drive.cliff.unwrap_or_default();
        found.cliffs.first().is_some_and(|cliff| (cliff.low..=cliff.high).contains(&truth))
    });
    println!("  inside its own uncertainty     {}", percent(inside.count()));
    let wrong = falls.iter().zip(&off).filter(|(_, off)| off.is_none_or(|off| off > 1.0)).take(SHOWN);
    for (((drive, found), off), seed) in wrong.zip(0..) {
        let _: i32 = seed;
        println!(
            "    {}: {off:?} steps off, {} cliffs, {} recoveries",
            drive.what,
            found.cliffs.len(),
            found.recoveries.len()
        );
    }
    let quiets: Vec<(Simulated, Levels)> = (0..drives).map(quiet).map(found).collect();
    let invented: Vec<&(Simulated, Levels)> = quiets.iter().filter(|(_, found)| !found.cliffs.is_empty()).collect();
    println!("{drives} drives without a fall: flat, sloped, oscillating, wandering, with bursts, with stalls");
    println!("  given a cliff                  {}", percent(invented.len()));
    for (drive, _) in invented.iter().take(SHOWN) {
        println!("    {}", drive.what);
    }
    ExitCode::SUCCESS
}

fn found(drive: Simulated) -> (Simulated, Levels) {
    let found = find(&drive.series);
    (drive, found)
}

/// Sampling steps from the truth, where exactly one change was found.
fn steps_off(drive: &Simulated, found: &Levels) -> Option<f64> {
    let ([cliff], true) = (&found.cliffs[..], found.recoveries.is_empty()) else { return None };
    Some((cliff.at.0 as f64 - drive.cliff?.0 as f64).abs() / drive.step.0 as f64)
}
