//! Mutants of real logs: no importer panics or hangs on any, and what is accepted as whole sums to what its rows say.
//!
//! `cargo xtask fuzz` runs a million of them; the seed of a failure is printed, and repeats it alone.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use harness::import::{Imported, Options, Source, import, samples};
use harness::session::compose::series::series_report;
use harness::units::Bytes;
use storage_check_tests::dice::{self, Dice};
use storage_check_tests::mutant::mutant;
use storage_check_tests::{corpus, rig};

/// The environment variable that says how many.
const CASES: &str = "STORAGE_CHECK_CASES";
/// Without it.
const FEW: u64 = 20_000;
/// Lines of a real log that a mutant is made of: more are only more of the same.
const LINES: usize = 40;
/// One case that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(2);
/// What may be said of a file that is taken as whole: nothing was guessed, and no byte came or went.
const HARMLESS: [&str; 6] =
    ["are mixed", "last chunk", "no interval has", "is of no time", "last window is", "were summed, aligned"];

fn main() -> ExitCode {
    let cases = std::env::var(CASES).ok().and_then(|cases| cases.parse().ok()).unwrap_or(FEW);
    rig::main(vec![
        rig::trial(format!("{cases} mutants of logs are read or refused, and never summed wrongly"), &[], move || {
            run(cases)
        }),
        rig::trial("the sums that the mutants are held to are those of the logs themselves", &[], oracle),
    ])
}

/// A file to mutate.
struct Original {
    name: String,
    text: Vec<u8>,
}

fn originals() -> Vec<Original> {
    let mut originals: Vec<Original> =
        made().into_iter().map(|(name, text)| Original { name, text: text.into_bytes() }).collect();
    for folder in ["logs", "series"] {
        let files = std::fs::read_dir(corpus::folder().join(folder)).into_iter().flatten().flatten();
        let mut files: Vec<_> = files.map(|file| file.path()).collect();
        files.sort();
        for path in files {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let text: String = text.split_inclusive('\n').take(LINES).collect();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            originals.push(Original { name, text: text.into_bytes() });
        }
    }
    originals
}

/// Logs that are always there.
fn made() -> Vec<(String, String)> {
    let rows = |row: &dyn Fn(u64) -> String| (1..=20).map(row).collect::<String>();
    let mut made = vec![
        ("a_bw.1.log".to_owned(), rows(&|n| format!("{}, {}, 1, 0, 0\n", 1000 * n, 500 + n))),
        ("a_bw.2.log".to_owned(), rows(&|n| format!("{}, {}, 1, 0, 0\n", 1000 * n + n % 3, 400 + n))),
        (
            "b_bw.log".to_owned(),
            rows(&|n| format!("{}, {}, {}, 4096, 8192, 0x0004, 77\n", 500 * n.div_ceil(2), 500 + n, n % 2)),
        ),
        ("b_iops.log".to_owned(), rows(&|n| format!("{}, {}, 0, 4096\n", 500 * n, 500 + n))),
        ("b_clat.log".to_owned(), rows(&|n| format!("{}, {}, 0, 0, 0\n", 500 * n, 90_000 + n))),
        ("c.csv".to_owned(), "t_s,mib_s\n".to_owned() + &rows(&|n| format!("{},{}.5\n", 10 * n, 100 + n))),
        ("d.csv".to_owned(), "offset_mib,mib_s\n".to_owned() + &rows(&|n| format!("{},{}.5\n", 76 * n - 76, 100 + n))),
        (
            "e.txt".to_owned(),
            rows(&|n| format!("[ {}s ] reads: {n}.25 MiB/s writes: {n}.50 MiB/s fsyncs: 3.00/s\n", 5 * n)),
        ),
        (
            "samples.csv".to_owned(),
            format!("{}\n", samples::HEADER)
                + &rows(&|n| {
                    let start = 100 * n;
                    format!("fill.write,{n},0,0,{start},100,4096,1,0,0,1,1,1,1\n")
                }),
        ),
        ("journal.jsonl".to_owned(), include_str!("../data/journal.jsonl").to_owned()),
    ];
    let job = |group: u64| {
        format!(
            r#"{{"jobname": "j", "groupid": {group}, "write": {{"io_bytes": 4096000, "io_kbytes": 4000, "runtime": 2000,
 "clat_ns": {{"N": 9, "mean": 2000.5, "max": 9000, "percentile": {{"50.000000": 2000, "99.000000": 8000}}}}}},
 "steadystate": {{"ss": "iops:10%", "duration": 2, "attained": 1, "data": {{"bw": [1000, 3000]}}}}}}"#
        )
    };
    made.push((
        "f.json".to_owned(),
        format!("fio: hm\n{{\n\"fio version\": \"fio-3.33\",\n\"jobs\": [{},\n{}]}}\n", job(0), job(1)),
    ));
    made
}

fn run(cases: u64) -> Result<()> {
    let (originals, seed) = (originals(), Dice::new().seed());
    rig::note(&format!("{}={seed}, {} originals", dice::SEED, originals.len()));
    let (mut whole, mut slowest) = (0, Duration::ZERO);
    for case in 0..cases {
        // Each case is the first one of its own seed.
        let own = seed.wrapping_add(case);
        let outcome = std::panic::catch_unwind(|| one(&originals, own));
        let (summed, took) = outcome
            .map_err(|_| anyhow::anyhow!("it panics; repeat with {}={own} {CASES}=1", dice::SEED))?
            .map_err(|why| why.context(format!("repeat with {}={own} {CASES}=1", dice::SEED)))?;
        whole += summed;
        slowest = slowest.max(took);
    }
    rig::note(&format!("{whole} series were taken as whole and their sums checked; the slowest case took {slowest:?}"));
    ensure!(whole >= cases / 20, "only {whole} sums were checked: the mutants are too wild to show anything");
    Ok(())
}

/// One to three mutants, imported together; how many sums were checked, and how long it took.
fn one(originals: &[Original], seed: u64) -> Result<(u64, Duration)> {
    let mut dice = Dice::of(seed);
    let first = dice.below(originals.len() as u64);
    // The next ones are the next jobs of the same run, where it has several.
    let count = 1 + dice.below(9) / 6 * (1 + dice.below(2));
    let files: Vec<(String, Vec<u8>)> = (first..first + count)
        .map(|at| {
            let original = &originals[at as usize % originals.len()];
            // Some stay as they are, so that sums of sane and insane files are made.
            let text = if dice.below(6) == 0 { original.text.clone() } else { mutant(&original.text, 3, &mut dice) };
            (original.name.clone(), text)
        })
        .collect();
    let block_size = (dice.below(2) == 0).then_some(Bytes(4096));
    let sources: Vec<_> = files.iter().map(|(name, bytes)| Source { name, bytes }).collect();
    let started = Instant::now();
    let (found, refused) = import(&sources, &Options { block_size, ..Options::default() });
    let took = started.elapsed();
    ensure!(took < LONGEST, "it takes {took:?}");
    for why in &refused {
        ensure!(!why.reason.is_empty() && files.iter().any(|(name, _)| *name == why.file), "{why:?}");
    }
    let summed = if refused.is_empty() { check_sums(&files, &found)? } else { 0 };
    if dice.below(50) == 0 {
        for series in found {
            let _ = series_report(series, None, None);
        }
    }
    Ok((summed, took))
}

/// Whether files that are taken as whole sum to what their rows say, by direction; how many series were checked.
fn check_sums(files: &[(String, Vec<u8>)], found: &[Imported]) -> Result<u64> {
    let mut checked = 0;
    for series in found.iter().filter(|series| !series.steps.is_empty()) {
        let harmless = |warning: &String| HARMLESS.iter().any(|word| warning.contains(word));
        if !series.warnings.iter().all(harmless) {
            continue;
        }
        let ours = files.iter().filter(|(name, _)| series.files.contains(name));
        let rows = ours.map(|(name, text)| std::str::from_utf8(text).ok().and_then(|text| naive(name, text)));
        let Some(rows) = rows.collect::<Option<Vec<_>>>().map(|rows| rows.concat()) else { continue };
        let sum: u128 = series.steps.iter().map(|step| u128::from(step.bytes.0)).sum();
        let kind = if series.kind == "write" || series.kind == "read" { series.kind } else { "" };
        let want: f64 = rows.iter().filter(|row| row.0 == kind).map(|row| row.1).sum();
        // Windows of jobs that are summed are taken as whole intervals, where that is within a thousandth.
        let part = if series.files.len() > 1 { 1.001e-3 } else { 1e-9 };
        let ours = files.iter().filter(|(name, _)| series.files.contains(name));
        let texts: Vec<_> = ours.map(|(_, text)| String::from_utf8_lossy(text)).collect();
        ensure!(
            (sum as f64 - want).abs() <= want * part + rows.len() as f64,
            "{:?}: {} sums to {sum} bytes, its rows to {want}; {:?}\n{}",
            series.files,
            series.kind,
            series.warnings,
            texts.concat()
        );
        checked += 1;
    }
    Ok(checked)
}

/// The bytes of each row, by direction, as plainly as can be; none of what it does not know.
fn naive(name: &str, text: &str) -> Option<Vec<(&'static str, f64)>> {
    const MIB: f64 = 1_048_576.0;
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let pairs = |header: &str| -> Option<Vec<(f64, f64)>> {
        if lines().next()? != header {
            return None;
        }
        lines()
            .skip(1)
            .map(|line| line.split_once(',').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?))))
            .collect()
    };
    if name.ends_with("_bw.log") || name.contains("_bw.") {
        let mut last = [0.0; 2];
        let row = |line: &str| {
            let columns: Vec<f64> = line.split(',').take(3).map(|n| n.trim().parse().ok()).collect::<Option<_>>()?;
            let [time, value, direction] = columns[..] else { return None };
            // Anything else is trimmed, or the maximum of fio's log_window_value=both, whose columns this does not know.
            let at = [0.0, 1.0].iter().position(|known| *known == direction)?;
            let kind = ["read", "write"][at];
            let before = std::mem::replace(&mut last[at], time);
            Some((kind, value * 1024.0 * (time - before) / 1000.0))
        };
        return lines().map(row).collect();
    }
    if name == "e.txt" || name.starts_with("sysbench") {
        let mut last = 0.0;
        let row = |line: &str| {
            let time: f64 = line.split(['[', ']']).nth(1)?.trim().strip_suffix('s')?.trim().parse().ok()?;
            let after = |word: &str| line.split(word).nth(1)?.split_whitespace().next()?.parse::<f64>().ok();
            let (read, written) = (after("reads:")?, after("writes:")?);
            let span = time - std::mem::replace(&mut last, time);
            Some([("read", read * MIB * span), ("write", written * MIB * span)])
        };
        return lines().map(row).collect::<Option<Vec<_>>>().map(|rows| rows.concat());
    }
    if let Some(rows) = pairs("t_s,mib_s") {
        let mut last = 0.0;
        return Some(
            rows.into_iter().map(|(t, rate)| ("", rate * MIB * (t - std::mem::replace(&mut last, t)))).collect(),
        );
    }
    if let Some(rows) = pairs("offset_mib,mib_s") {
        let mut sizes: Vec<f64> = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        let mut sorted = sizes.clone();
        sorted.sort_by(f64::total_cmp);
        sizes.push(*sorted.get(sorted.len() / 2)?);
        return Some(sizes.into_iter().map(|size| ("", size * MIB)).collect());
    }
    if name == "samples.csv" && lines().next()? == samples::HEADER {
        // One phase at a time cannot be told here.
        let row = |line: &str| (line.starts_with("fill.write,")).then(|| line.split(',').nth(6)?.trim().parse().ok());
        return lines()
            .skip(1)
            .map(row)
            .collect::<Option<Option<Vec<f64>>>>()?
            .map(|rows| rows.into_iter().map(|bytes| ("", bytes)).collect());
    }
    None
}

/// Without mutation every original that the sums know is checked.
fn oracle() -> Result<()> {
    let mut checked = Vec::new();
    for (name, text) in made() {
        let sources = [Source { name: &name, bytes: text.as_bytes() }];
        let (found, refused) = import(&sources, &Options { block_size: Some(Bytes(4096)), ..Options::default() });
        ensure!(refused.is_empty() && !found.is_empty(), "{name}: {refused:?}");
        if check_sums(&[(name.clone(), text.into_bytes())], &found)? > 0 {
            checked.push(name);
        }
    }
    let expect = ["a_bw.1.log", "a_bw.2.log", "b_bw.log", "c.csv", "d.csv", "e.txt", "samples.csv"];
    ensure!(checked == expect, "{checked:?}");
    Ok(())
}
