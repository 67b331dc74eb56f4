//! The analysis of long series: a day and ten days at one sample a second.
#![expect(clippy::print_stdout, reason = "a chore's output is its result")]

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};

use harness::analysis::analyze::analyze;
use harness::analysis::known::{Known, Workload};
use harness::analysis::series::{Series, Step};
use harness::units::{Bytes, Nanos};

/// Times that each is analysed; the median counts.
const TIMES: usize = 5;
/// Samples: a day at one a second, and a million.
const SAMPLES: [usize; 2] = [86_400, 1_000_000];

/// Times the analysis of flat, falling and cycling series, of a drive that is known and of one that is not, and reads
/// what it takes of memory besides the series.
pub(super) fn analysis() -> Result<()> {
    println!("analysis of long series, median of {TIMES}, ms: a drive that is not known, and one that is; most memory");
    for samples in SAMPLES {
        for (name, rate) in shapes() {
            let series = series(samples, rate);
            let range = Bytes(series.total().0 / 5);
            let known =
                Known { workload: Workload::RandomWrite, drive: Some(range), range: Some(range), others: Bytes(0) };
            forget_peak()?;
            let before = memory("VmRSS")?;
            let [without, with] = [Known::default(), known].map(|known| {
                let mut times: Vec<f64> = (0..TIMES)
                    .map(|_| {
                        let start = Instant::now();
                        std::hint::black_box(analyze(std::hint::black_box(&series), &known));
                        start.elapsed().as_secs_f64() * 1e3
                    })
                    .collect();
                times.sort_by(f64::total_cmp);
                times[TIMES / 2]
            });
            let bytes = memory("VmHWM")?.saturating_sub(before) as f64 / samples as f64;
            println!("  {samples:>9} samples, {name:<12} {without:>8.1} {with:>8.1}   {bytes:>4.0} bytes a sample");
        }
    }
    Ok(())
}

/// A line of what the kernel says of this process' memory, in bytes.
fn memory(line: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("reading /proc/self/status")?;
    let kib = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':')?.trim().strip_suffix(" kB"));
    let kib = kib.with_context(|| format!("no {line} in /proc/self/status"))?;
    Ok(kib.parse::<u64>().with_context(|| format!("{line} in /proc/self/status is {kib:?}"))? * 1024)
}

/// The most memory so far counts no longer (proc(5), `clear_refs`).
fn forget_peak() -> Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("resetting the most memory in /proc/self/clear_refs")
}

/// MB/s at a share of the samples.
type Shape = fn(f64) -> f64;

fn shapes() -> [(&'static str, Shape); 4] {
    [
        ("flat", |_| 500.0),
        ("one cliff", |x| if x < 0.2 { 1400.0 } else { 400.0 }),
        ("cycling", |x| 400.0 + 1000.0 * (x * 200.0).fract()),
        ("flat, exact", |_| f64::NAN),
    ]
}

fn series(samples: usize, rate: Shape) -> Series {
    let mut dice = storage_check_tests::dice::Dice::of(1);
    let steps = (0..samples).map(|sample| {
        let mb_s = rate(sample as f64 / samples as f64);
        let mb_s = if mb_s.is_nan() { 500.0 } else { mb_s * (1.0 + 0.02 * dice.normal()) };
        Step { elapsed_ns: Nanos::from_secs(1), bytes: Bytes((mb_s * 1e6) as u64) }
    });
    Series::new(steps)
}
