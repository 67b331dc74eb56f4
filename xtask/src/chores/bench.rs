//! `cargo xtask bench [NAME]`: our engines against fio, in alternating pairs on one machine in one hour, and our
//! analysis of long series.
//!
//! Prints ratios and medians; judges nothing. Works on devices and folders that it made and removes them.
#![expect(clippy::print_stdout, reason = "a chore's output is its result")]

mod analysis;
mod fio;
mod ours;
mod own;
mod place;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use fio::Peer;
use harness::engine::real::{Concurrency, RealFactory};
use harness::units::{GIB, MIB};
use ours::{measure, measure_then, random_writes};
use own::NullFactory;
use place::{Folder, Zram};
use xshell::{Shell, cmd};

/// Pairs of runs, ours and theirs in turn.
const PAIRS: usize = 5;
/// Length of one timed run in seconds.
const SECONDS: u64 = 4;
/// Range of the small random writes: the kernel's own tables of it stay in the processor's caches, so that
/// what differs is the program.
const RANGE: u64 = 64 * MIB;
/// Range of the random writes with a queue.
const QUEUE_RANGE: u64 = GIB;
/// Size of the sequential fill.
const FILL: u64 = 2 * GIB;
/// The phase of a profile of random writes that is timed.
const RANDOM: &str = "random_write.scratch.write";

/// Runs all benchmarks that this machine allows, or the one that is named.
pub(crate) fn bench(name: Option<&str>) -> Result<()> {
    const NAMES: [&str; 6] = ["analysis", "own", "queue", "sequential", "small", "workers"];
    if let Some(name) = name {
        ensure!(NAMES.contains(&name), "there is no benchmark {name}: choose one of {}", NAMES.join(", "));
    }
    let wanted = |this: &str| name.is_none_or(|name| name == this);
    if wanted("analysis") {
        analysis::analysis()?;
        if name.is_some() {
            return Ok(());
        }
    }
    let sh = Shell::new()?;
    ensure!(cmd!(sh, "fio --version").ignore_stderr().read().is_ok(), "fio is not installed: apt-get install fio");
    let disk = Folder::new(&std::env::current_dir()?.join("target"))?;
    if wanted("own") {
        own(&disk.0).context("our own cost")?;
    }
    if wanted("sequential") {
        sequential(&sh, &disk.0).context("sequential fill on this disk")?;
    }
    if wanted("queue") {
        queue(&sh, &disk.0).context("random writes with a queue on this disk")?;
    }
    if wanted("small") || wanted("workers") {
        match Zram::new(&sh) {
            Ok(zram) => {
                if wanted("small") {
                    small_writes(&sh, zram.folder()).context("small writes on zram")?;
                }
                if wanted("workers") {
                    workers(zram.folder()).context("workers on zram")?;
                }
            }
            Err(why) => println!("pwrite on zram: ignored, {why:#}"),
        }
    }
    Ok(())
}

/// What the run loop costs an I/O of its own, two clock reads included, on an engine that does nothing.
fn own(folder: &Path) -> Result<()> {
    let profile = random_writes(RANGE, 1, "queue_depth = 1\ndata = 'zeros'");
    let runs = (0..PAIRS).map(|_| {
        let ours = measure(folder, &profile, RANDOM, |_, clock| NullFactory(clock))?;
        Ok(1e9 / ours.iops())
    });
    println!(
        "the run loop without I/O: {:.1} ns an I/O, median (load average {})",
        median(runs.collect::<Result<_>>()?),
        load()
    );
    Ok(())
}

/// Our fill against fio's psync at the same block size and depth, to the end of the final flush.
fn sequential(sh: &Shell, folder: &Path) -> Result<()> {
    let profile = format!(
        "name = 'bench'\nversion = 1\n[fill]\nsize = '{FILL}B'\nsegments = 1\nblock = '1MiB'\nverify = false\ninterval = '100ms'"
    );
    let path = folder.join("fio");
    let (file, size) = (format!("--filename={}", path.display()), format!("--size={FILL}"));
    pairs("pwrite against fio psync, sequential fill of 1 MiB blocks on this disk", ["MB/s"], || {
        let ours = measure(folder, &profile, "fill.write", RealFactory::pwrite)?;
        let job = [&*file, &*size, "--ioengine=psync", "--rw=write", "--bs=1m", "--direct=1", "--end_fsync=1"];
        let theirs = Peer::run(sh, &job)?;
        std::fs::remove_file(&path)?;
        Ok([(ours.bytes_per_s() / 1e6, theirs.bytes_per_s()? / 1e6)])
    })
}

/// Our io_uring engine against fio's: 4 KiB random writes of zeros, direct, 32 in flight, on the very same file.
///
/// A virtual disk may lie on storage that finds equal blocks and remembers how a file was first written: each was seen
/// to move the figure by half, whoever writes. fio writes few different blocks over and over; ours are all different.
fn queue(sh: &Shell, folder: &Path) -> Result<()> {
    let profile = random_writes(QUEUE_RANGE, SECONDS, "queue_depth = 32\ndata = 'zeros'");
    let (size, runtime) = (format!("--size={QUEUE_RANGE}"), format!("--runtime={SECONDS}"));
    let peer = |scratch: &Path| {
        let file = format!("--filename={}", scratch.join("rw-scratch-0000").display());
        let job = [&*file, &*size, &*runtime, "--time_based", "--ioengine=io_uring", "--iodepth=32"];
        let how = ["--rw=randwrite", "--norandommap", "--bs=4k", "--direct=1", "--zero_buffers"];
        Peer::run(sh, &[&job[..], &how[..]].concat())
    };
    let title = "io_uring against fio io_uring, 4 KiB random writes, 32 in flight, on one file on this disk";
    pairs(title, ["IOPS", "µs of CPU an I/O"], || {
        let engine = |scratch, clock| RealFactory::new(scratch, clock, Concurrency { workers: 1, queue_depth: 32 });
        let (ours, theirs) = measure_then(folder, &profile, RANDOM, engine, peer)?;
        Ok([(ours.iops(), theirs.iops()?), (ours.cpu_us(), theirs.cpu_us()?)])
    })
}

/// Our `pwrite` engine against fio's psync: 4 KiB random writes of zeros, direct, depth 1, histograms on.
fn small_writes(sh: &Shell, folder: &Path) -> Result<()> {
    let profile = random_writes(RANGE, SECONDS, "queue_depth = 1\ndata = 'zeros'");
    let file = format!("--filename={}", folder.join("fio").display());
    let (size, runtime) = (format!("--size={RANGE}"), format!("--runtime={SECONDS}"));
    pairs("pwrite against fio psync, 4 KiB random writes on ext4 on zram", ["IOPS"], || {
        let ours = measure(folder, &profile, RANDOM, RealFactory::pwrite)?;
        let job = [&*file, &*size, &*runtime, "--time_based", "--ioengine=psync"];
        let how = ["--rw=randwrite", "--norandommap", "--bs=4k", "--direct=1", "--zero_buffers"];
        let theirs = Peer::run(sh, &[&job[..], &how[..]].concat())?;
        Ok([(ours.iops(), theirs.iops()?)])
    })
}

/// Two workers of the `pwrite` engine against one.
fn workers(folder: &Path) -> Result<()> {
    let profile =
        |workers| random_writes(RANGE, SECONDS, &format!("queue_depth = 1\ndata = 'zeros'\nworkers = {workers}"));
    let title = "two pwrite workers against one, 4 KiB random writes on ext4 on zram";
    pairs(title, ["IOPS", "µs of CPU an I/O"], || {
        let two = measure(folder, &profile(2), RANDOM, RealFactory::pwrite)?;
        let one = measure(folder, &profile(1), RANDOM, RealFactory::pwrite)?;
        Ok([(two.iops(), one.iops()), (two.cpu_us(), one.cpu_us())])
    })
}

/// Runs pairs after one that does not count, and prints each, the medians, and the median ratio of each figure.
fn pairs<const N: usize>(
    title: &str,
    figures: [&str; N],
    mut pair: impl FnMut() -> Result<[(f64, f64); N]>,
) -> Result<()> {
    println!("{title} (load average {})", load());
    pair()?;
    let mut all: [Vec<(f64, f64)>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..PAIRS {
        for ((values, figure), (ours, theirs)) in all.iter_mut().zip(figures).zip(pair()?) {
            println!("  {ours:>10.1} against {theirs:>10.1} {figure}   ratio {:.3}", ours / theirs);
            values.push((ours, theirs));
        }
    }
    for (values, figure) in all.iter().zip(figures) {
        let of = |value: fn(&(f64, f64)) -> f64| median(values.iter().map(value).collect());
        let (ours, theirs, ratio) = (of(|v| v.0), of(|v| v.1), of(|v| v.0 / v.1));
        println!("  medians: {ours:.1} against {theirs:.1} {figure}, ratio {ratio:.3} (load average {})", load());
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The load of the last minute: a busy machine measures itself.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}
