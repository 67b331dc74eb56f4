//! Logs of others as they lie in the corpus: each is treated as a person would treat it, and says so.

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use harness::import::{Imported, Jobs, Options, Refusal, Source, import};
use harness::units::{Bytes, MIB};
use libtest_mimic::Trial;
use storage_check_tests::{corpus, rig};

fn main() -> ExitCode {
    let folder = corpus::folder();
    if !folder.join("logs").is_dir() {
        let absent = format!("imports: absent, {} has no logs", folder.display());
        return rig::main(vec![Trial::test(absent, || Ok(())).with_ignored_flag(true)]);
    }
    rig::main(vec![
        rig::trial("five job files sum to the series that was made of them, the reader apart", &[], five_jobs),
        rig::trial("four jobs of a run are one series of their sum", &[], four_jobs),
        rig::trial("an old log of four columns is two jobs, without the rows of no time", &[], old),
        rig::trial("two jobs in one file are told by their clock", &[], two_jobs),
        rig::trial("a log of one row an I/O is refused", &[], unaveraged),
        rig::trial("a log at 250 ms is taken row by row", &[], mixed),
        rig::trial("sysbench's stall is there with its zeros", &[], stall),
        rig::trial("every series of the corpus is taken as it stands", &[], every_series),
    ])
}

/// What these files of the corpus hold.
fn load(names: &[&str], options: &Options) -> Result<(Vec<Imported>, Vec<Refusal>)> {
    let read = |name: &&str| std::fs::read(corpus::folder().join(name)).with_context(|| (*name).to_owned());
    let texts = names.iter().map(read).collect::<Result<Vec<_>>>()?;
    let sources: Vec<_> = names.iter().zip(&texts).map(|(name, bytes)| Source { name, bytes }).collect();
    Ok(import(&sources, options))
}

/// The same, where nothing is refused.
fn accepted(names: &[&str]) -> Result<Vec<Imported>> {
    let (found, refused) = load(names, &Options::default())?;
    ensure!(refused.is_empty(), "{refused:?}");
    Ok(found)
}

fn says(series: &Imported, part: &str) -> bool {
    series.warnings.iter().any(|warning| warning.contains(part))
}

fn bytes(series: &Imported) -> u64 {
    series.steps.iter().map(|step| step.bytes.0).sum()
}

/// Rates in MiB/s, as the corpus has them.
fn mib_s(series: &Imported) -> Vec<f64> {
    series.steps.iter().filter_map(|step| Some(step.bytes.per(step.elapsed_ns)?.0 / MIB as f64)).collect()
}

fn five_jobs() -> Result<()> {
    let names: Vec<String> = (1..=5).map(|job| format!("logs/fio-5jobs_bw.{job}.log")).collect();
    let found = accepted(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
    let [written, read] = &found[..] else { anyhow::bail!("{} series", found.len()) };
    ensure!((written.kind, written.files.len(), read.kind, read.files.len()) == ("write", 4, "read", 1), "{found:?}");
    ensure!(says(written, "4 jobs were summed, aligned") && says(written, "fewer jobs"), "{:?}", written.warnings);

    let made = &accepted(&["series/rw-gc-cycles-1h.csv"])?[0];
    let (ours, theirs) = (mib_s(written), mib_s(made));
    ensure!(ours.len() == theirs.len(), "{} intervals instead of {}", ours.len(), theirs.len());
    let off = (bytes(written) as f64 / bytes(made) as f64 - 1.0).abs();
    ensure!(off < 1e-6, "the sums differ by {off:e}");
    // Job 3 ends its windows at half seconds, which the maker of the series rounded now up, now down: then one
    // interval of it has a window of job 3 too many and the next one too few.
    let other: Vec<usize> = (0..ours.len()).filter(|&at| (ours[at] - theirs[at]).abs() > 0.001).collect();
    for pair in other.chunks(2) {
        let [a, b] = pair[..] else { anyhow::bail!("interval {pair:?} differs") };
        let sums = (ours[a] + ours[b], theirs[a] + theirs[b]);
        ensure!(b == a + 1 && (sums.0 - sums.1).abs() < 0.002, "intervals {pair:?} differ: {sums:?}");
    }
    ensure!(other.len() < 60, "{} of {} intervals differ", other.len(), ours.len());
    Ok(())
}

fn four_jobs() -> Result<()> {
    let names: Vec<String> = (1..=4).map(|job| format!("logs/randwrite-iodepth-4-numjobs-4_bw.{job}.log")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = accepted(&names)?;
    let [sum] = &found[..] else { anyhow::bail!("{} series", found.len()) };
    ensure!(sum.steps.len() == 59 && says(sum, "4 jobs were summed"), "{sum:?}");
    let (apart, _) = load(&names, &Options { jobs: Jobs::Apart, ..Options::default() })?;
    let all: u64 = apart.iter().map(bytes).sum();
    ensure!(apart.len() == 4 && bytes(sum).abs_diff(all) < all / 1000, "{} and {all} bytes", bytes(sum));
    Ok(())
}

fn old() -> Result<()> {
    let found = accepted(&["logs/fio-old-4col_bw.log"])?;
    let [first, second] = &found[..] else { anyhow::bail!("{} series", found.len()) };
    ensure!((first.steps.len(), second.steps.len()) == (66, 62), "{found:?}");
    for job in [first, second] {
        ensure!(says(job, ":68: the clock restarts") && says(job, "row at time 0"), "{:?}", job.warnings);
        ensure!(mib_s(job).iter().sum::<f64>() / (job.steps.len() as f64) > 15.0, "{job:?}");
    }
    Ok(())
}

fn two_jobs() -> Result<()> {
    let name = "logs/fio-two-jobs-in-one-file_iops.log";
    let (found, refused) = load(&[name], &Options::default())?;
    ensure!(found.is_empty() && refused[0].line == Some(8) && refused[0].reason.contains("restarts"), "{refused:?}");
    ensure!(refused.len() == 2 && refused[1].reason.contains("--block-size"), "{refused:?}");
    let (found, refused) = load(&[name], &Options { block_size: Some(Bytes(4096)), ..Options::default() })?;
    let lengths: Vec<usize> = found.iter().map(|series| series.steps.len()).collect();
    ensure!(refused.is_empty() && lengths == [7, 10] && found.iter().all(|job| says(job, ":8: the clock restarts")));
    ensure!(found[0].kind == "read" && bytes(&found[0]) == (40 + 46 + 47 + 48 + 45 + 44 + 44) * 2 * 4096);
    Ok(())
}

fn unaveraged() -> Result<()> {
    let (found, refused) = load(&["logs/fio-unaveraged_bw.1.log"], &Options::default())?;
    ensure!(found.is_empty() && refused.len() == 2, "{found:?}");
    ensure!(refused.iter().all(|why| why.reason.contains("one row an I/O") && why.reason.contains("log_avg_msec")));
    Ok(())
}

fn mixed() -> Result<()> {
    let found = accepted(&["logs/fio-mixed-hosts_bw.log"])?;
    ensure!(found.len() == 1 && found[0].steps.len() == 239 && found[0].warnings.is_empty(), "{found:?}");
    Ok(())
}

fn stall() -> Result<()> {
    let found = accepted(&["logs/sysbench-rndrw-stall.txt"])?;
    let [read, written] = &found[..] else { anyhow::bail!("{} series", found.len()) };
    ensure!((read.kind, written.kind) == ("read", "write"));
    for series in &found {
        let empty = series.steps.iter().filter(|step| step.bytes.0 == 0).count();
        ensure!((series.steps.len(), empty) == (5, 3), "{series:?}");
    }
    ensure!(bytes(written) == (5.0 * (25.11 + 15.0) * MIB as f64).round() as u64, "{written:?}");
    Ok(())
}

fn every_series() -> Result<()> {
    for (name, truth) in corpus::truths(&corpus::folder())?.context("no truths")? {
        let file = truth.file.to_str().context("not UTF-8")?;
        let found = accepted(&[file])?;
        let kind = if truth.is_fill() { "fill" } else { "random-write" };
        let rows = std::fs::read_to_string(corpus::folder().join(&truth.file))?.lines().count() - 1;
        ensure!(found.len() == 1 && found[0].kind == kind && found[0].steps.len() == rows, "{name}: {found:?}");
        let naive: u64 = truth.steps(&corpus::folder())?.iter().map(|step| step.bytes.0).sum();
        ensure!(bytes(&found[0]).abs_diff(naive) <= rows as u64, "{name}: {} and {naive} bytes", bytes(&found[0]));
        let filled = found[0].warnings.iter().filter(|warning| !warning.contains("last chunk"));
        ensure!(
            filled.count() == 0 && says(&found[0], "last chunk") == truth.is_fill(),
            "{name}: {:?}",
            found[0].warnings
        );
    }
    Ok(())
}
