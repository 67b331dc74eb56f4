//! `cargo xtask score --simulated`: the analysis over simulated drives whose truth is known.
#![expect(clippy::print_stdout, reason = "a chore's output is its result")]

use std::process::ExitCode;

use harness::analysis::cliff::{Levels, find};
use storage_check_tests::simulated::{Simulated, fall, quiet};

/// Failures that are shown.
const SHOWN: usize = 20;

/// Prints how often the analysis is right on so many drives of each sort.
pub(crate) fn simulated(drives: u64) -> ExitCode {
    let percent = |count: usize| format!("{:.2} %", 100.0 * count as f64 / drives.max(1) as f64);
    let falls: Vec<(Simulated, Levels)> = (0..drives).map(fall).map(found).collect();
    let off = |samples: f64| {
        let falls = falls.iter().enumerate();
        falls.filter(move |(_, (drive, found))| drive.samples_off(found).is_none_or(|off| off > samples))
    };
    let within = |samples: f64| percent(falls.len() - off(samples).count());
    println!("{drives} drives with one fall of over three times the noise");
    println!("  found within one sample     {}", within(1.0));
    println!("  found within two            {}", within(2.0));
    println!("  inside its own uncertainty  {}", percent(falls.iter().filter(|(d, f)| d.is_possible(f)).count()));
    for (seed, (drive, found)) in off(1.0).take(SHOWN) {
        let off = drive.samples_off(found).map_or("not one change".to_owned(), |off| format!("{off:.1} samples off"));
        println!("    seed {seed}: {}: {off}", drive.what);
    }
    let quiets: Vec<(Simulated, Levels)> = (0..drives).map(quiet).map(found).collect();
    let invented = || quiets.iter().enumerate().filter(|(_, (_, found))| !found.cliffs.is_empty());
    println!("{drives} drives without a fall: flat, sloped, oscillating, wandering, with bursts, with stalls");
    println!("  given a cliff               {}", percent(invented().count()));
    for (seed, (drive, _)) in invented().take(SHOWN) {
        println!("    seed {seed}: {}", drive.what);
    }
    ExitCode::SUCCESS
}

fn found(drive: Simulated) -> (Simulated, Levels) {
    let found = find(&drive.series);
    (drive, found)
}
