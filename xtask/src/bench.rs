//! `cargo xtask bench`: our engines against fio, in alternating pairs on one machine in one hour.
//!
//! Prints ratios and medians; judges nothing. Works on devices and folders that it made and removes them.
#![expect(clippy::print_stdout, reason = "a chore's output is its result")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use harness::engine::Clock;
use harness::engine::sync::SyncFactory;
use harness::journal::file::JournalError;
use harness::journal::record::Record;
use harness::plan::phase::{Capacity, Plan};
use harness::plan::profile::Profile;
use harness::run::{Run, Sink};
use harness::target::space::Scratch;
use harness::units::{Bytes, GIB, MIB, Nanos};
use xshell::{Shell, cmd};

/// Pairs of runs, ours and theirs in turn.
const PAIRS: usize = 5;
/// Length of one timed run in seconds.
const SECONDS: u64 = 4;
/// Range of the small random writes: the kernel's own tables of it stay in the processor's caches, so that
/// what differs is the program.
const RANGE: u64 = 64 * MIB;
/// Size of the sequential fill.
const FILL: u64 = 2 * GIB;

/// Runs all benchmarks that this machine allows.
pub(crate) fn bench() -> Result<()> {
    let sh = Shell::new()?;
    ensure!(cmd!(sh, "fio --version").ignore_stderr().read().is_ok(), "fio is not installed: apt-get install fio");
    sequential(&sh).context("sequential fill on this disk")?;
    match Zram::new(&sh) {
        Ok(zram) => small_writes(&sh, zram.folder()).context("small writes on zram")?,
        Err(why) => println!("pwrite on zram: ignored, {why:#}"),
    }
    Ok(())
}

/// Our `pwrite` engine against fio's psync: 4 KiB random writes of zeros, direct, depth 1, histograms on.
fn small_writes(sh: &Shell, folder: &Path) -> Result<()> {
    let profile = format!(
        "name = 'bench'\nversion = 1\n[random_write]\nlevels = ['scratch']\nscratch = '{RANGE}B'\nqueue_depth = 1\n\
         data = 'zeros'\nduration = '{SECONDS}s'\nleast_bytes = '0B'\ninterval = '1s'"
    );
    let file = folder.join("fio");
    let size = RANGE.to_string();
    pairs("pwrite against fio psync, 4 KiB random writes on ext4 on zram, IOPS", || {
        let ours = measure(folder, &profile, "random_write.scratch.write")?;
        let job = cmd!(
            sh,
            "fio --name=peer --filename={file} --size={size} --ioengine=psync --rw=randwrite --norandommap
            --bs=4k --direct=1 --zero_buffers --time_based --runtime=4 --output-format=json"
        );
        Ok((ours.ios as f64 / ours.seconds, fio(&job.read()?, "iops")?))
    })
}

/// Our fill against fio's psync at the same block size and depth, to the end of the final flush.
fn sequential(sh: &Shell) -> Result<()> {
    let folder = Folder::new(&std::env::current_dir()?.join("target"))?;
    let profile = format!(
        "name = 'bench'\nversion = 1\n[fill]\nsize = '{FILL}B'\nsegments = 1\nblock = '1MiB'\nverify = false\ninterval = '100ms'"
    );
    let (file, size) = (folder.0.join("fio"), FILL.to_string());
    pairs("pwrite against fio psync, sequential fill of 1 MiB blocks on this disk, MB/s", || {
        let ours = measure(&folder.0, &profile, "fill.write")?;
        let job = cmd!(
            sh,
            "fio --name=peer --filename={file} --size={size} --ioengine=psync --rw=write --bs=1m --direct=1
            --end_fsync=1 --output-format=json"
        );
        let theirs = fio(&job.read()?, "bw_bytes")? / 1e6;
        std::fs::remove_file(&file)?;
        Ok((ours.bytes as f64 / ours.seconds / 1e6, theirs))
    })
}

/// Runs pairs after one that does not count, and prints each, the medians, and the ratio.
fn pairs(title: &str, mut pair: impl FnMut() -> Result<(f64, f64)>) -> Result<()> {
    println!("{title}");
    pair()?;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let (our, their) = pair()?;
        println!("  ours {our:>9.0}   fio {their:>9.0}   ratio {:.3}", our / their);
        ours.push(our);
        theirs.push(their);
        ratios.push(our / their);
    }
    println!("  median ours {:.0}, fio {:.0}, ratio {:.3}", median(ours), median(theirs), median(ratios));
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A number of fio's JSON for the write direction.
fn fio(json: &str, key: &str) -> Result<f64> {
    // Warnings may stand before the document.
    let start = json.find('{').context("fio printed no JSON")?;
    let document: serde_json::Value = serde_json::from_str(&json[start..])?;
    document["jobs"][0]["write"][key].as_f64().with_context(|| format!("fio's output has no {key}"))
}

/// What one phase moved, and in what time.
#[derive(Default)]
struct Measured {
    bytes: u64,
    ios: u64,
    seconds: f64,
}

/// Runs a profile through the run loop in a scratch folder, and gives what the samples of `phase` sum to.
fn measure(folder: &Path, profile: &str, phase: &str) -> Result<Measured> {
    let profile = Profile::parse(profile)?;
    let plan = Plan::new(&profile, Capacity { usable: Bytes(4 * GIB), drive: None, in_use: None })?;
    let parent = std::fs::File::open(folder)?.into();
    let scratch = Arc::new(Scratch::create(parent, "bench")?);
    let factory = SyncFactory::new(scratch.clone(), Clock::starting_at(Nanos(0)));
    let mut sums = Sums { phase, inside: false, measured: Measured::default() };
    let result = Run::new(&plan, &factory, 1, &AtomicBool::new(false), &|| None, &mut sums, None).run();
    scratch.remove()?;
    result?;
    Ok(sums.measured)
}

/// Sums the samples of one phase.
struct Sums<'a> {
    phase: &'a str,
    inside: bool,
    measured: Measured,
}

impl Sink for Sums<'_> {
    fn record(&mut self, record: Record) -> Result<(), JournalError> {
        match record {
            Record::PhaseStart { phase, .. } => self.inside = phase == self.phase,
            Record::Sample(sample) if self.inside => {
                self.measured.bytes += sample.bytes.0;
                self.measured.ios += sample.ios;
                self.measured.seconds += sample.elapsed_ns.secs();
            }
            _ => {}
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        Ok(())
    }
}

/// A folder of our own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(parent: &Path) -> Result<Folder> {
        let path = parent.join(format!("bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done in a drop; the folder's name says whose it is.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A compressed memory disk of our own with an ext4 on it, mounted; all of it goes at the end.
struct Zram<'a> {
    sh: &'a Shell,
    number: String,
    mount: Folder,
}

impl<'a> Zram<'a> {
    fn new(sh: &'a Shell) -> Result<Zram<'a>> {
        let number = std::fs::read_to_string("/sys/class/zram-control/hot_add")
            .context("making a zram device needs root and the zram module")?
            .trim()
            .to_owned();
        let mount = Folder::new(&std::env::temp_dir())?;
        let zram = Zram { sh, number, mount };
        let (device, path) = (zram.device(), &zram.mount.0);
        std::fs::write(format!("/sys/block/zram{}/disksize", zram.number), "1G")?;
        cmd!(sh, "mkfs.ext4 -q {device}").quiet().run()?;
        cmd!(sh, "mount {device} {path}").quiet().run()?;
        Ok(zram)
    }

    fn device(&self) -> String {
        format!("/dev/zram{}", self.number)
    }

    fn folder(&self) -> &Path {
        &self.mount.0
    }
}

impl Drop for Zram<'_> {
    fn drop(&mut self) {
        let path = &self.mount.0;
        // Each step is tried whatever became of the one before; a device that is left shows in /sys/block.
        let _ = cmd!(self.sh, "umount {path}").quiet().ignore_stderr().run();
        let _ = std::fs::write(format!("/sys/block/zram{}/reset", self.number), "1");
        let _ = std::fs::write("/sys/class/zram-control/hot_remove", &self.number);
    }
}
