//! A simulated drive behind the kernel: the truth is the model's, and loop device, ext4 and io_uring stand between.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use rustix::process::Signal;
use serde_json::Value;
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, note, trial};
use storage_check_tests::tool::{Ended, Running, Tool};
use storage_check_tests::{folder, profile, run, wait};
use tempfile::TempDir;

use super::{optimised, plain, run_arguments};

pub(crate) fn trials() -> Vec<Trial> {
    let needs = [Need::ServedFs, Need::IoUring];
    vec![
        trial("a served drive's file is its size and goes with the program", &[Need::ServedFs], as_a_file),
        trial("a served drive that is in use when it shall end goes when it is not", &[Need::ServedFs], in_use),
        trial("a served drive's cliff is found within 2 % and its levels within 3 %", &needs, truth),
        trial(
            "three runs on a served drive hold the same firmware, and fail one whose floor is 8 % slower",
            &needs,
            worse_firmware,
        ),
    ]
}

/// 600 MiB at 200 MB/s, then 60 MB/s; its cache is empty again after a discard and not before.
const DRIVE: &str = r#"
name = "served"
product = "ACME TURBO 1"
firmware = "FW01"
capacity = "1GiB"
fitted = false
source = "made up for this test"

[model]
latency = "100us"

[model.medium.pslc]
raw = "1100MiB"
bits = 3
fixed = "600MiB"
write = "200MB/s"
native = "60MB/s"
fold = "60MB/s"
read = "400MB/s"
fold_after = "1h"
"#;
const CACHE: u64 = 600 << 20;
const FAST_MB_S: f64 = 200.0;
const FLOOR_MB_S: f64 = 60.0;

const REPEAT: &[&str] = &["--repeat", "3"];

const SUITE: &str = "left_free = \"2%\"\nsegments = 16\nblock = \"1MiB\"\nqueue_depth = 8\ninterval = \"100ms\"\n\
                     verify = false\n\n[judge.prior_noise]\nthroughput = \"0.5%\"\ncapacity = \"0.5%\"";

/// A folder with a drive's file and a profile.
struct Home {
    home: TempDir,
    profile: PathBuf,
    tool: Tool,
}

impl Home {
    fn new() -> Result<Home> {
        let home = folder::folder()?;
        fs::write(home.path().join("drive.toml"), DRIVE)?;
        let profile = profile::file(home.path(), &profile::fill(SUITE))?;
        Ok(Home { profile, tool: optimised()?, home })
    }

    fn path(&self) -> &Path {
        self.home.path()
    }

    /// A new drive with that firmware, served, with a filesystem.
    fn drive(&self, changes: &str) -> Result<LoopFs> {
        LoopFs::served(&self.tool, &format!("{}{changes}", self.path().join("drive.toml").display()))
    }

    /// Measures the whole of it. Each run purges it first: with deleted files only, it would find the cache full.
    fn fill(&self, disk: &LoopFs, out: &str, more: &[&str]) -> Result<Ended> {
        let mount = disk.path().display().to_string();
        let mut arguments = run_arguments(&disk.path(), &self.profile, &self.path().join(out));
        arguments.extend(["--fill-volume", &mount].iter().chain(more).map(|&word| word.to_owned()));
        self.tool.call(self.path(), arguments).end()
    }

    /// The runs in a folder, the first first.
    fn runs(&self, out: &str) -> Vec<String> {
        folder::names(&self.path().join(out)).into_iter().map(|run| format!("{out}/{run}")).collect()
    }
}

/// A drive that is served as a file below `home`.
fn serve(home: &Path) -> Result<(Running, PathBuf)> {
    let serving = plain().chore(home, ["sim", "serve", "consumer-tlc?scale=1000", "--at", "drive"]).start()?;
    let file = PathBuf::from(serving.first_line()?);
    Ok((serving, file))
}

fn as_a_file() -> Result<()> {
    let home = folder::folder()?;
    let at = home.path().join("drive");
    let (serving, file) = serve(home.path())?;
    ensure!(file == at.canonicalize()?.join("disk"), "{}", file.display());
    let len = fs::metadata(&file)?.len();
    ensure!(len == 1_000_204_886_016 / 1000 / 4096 * 4096, "{len} bytes");
    let text = vec![7; 10_000];
    fs::OpenOptions::new().write(true).open(&file)?.write_all_at(&text, 12_345)?;
    let mut read = vec![1; 10_002];
    fs::File::open(&file)?.read_exact_at(&mut read, 12_344)?;
    ensure!(read[0] == 0 && read[1..=10_000] == text && read[10_001] == 0, "it does not keep what is written");
    serving.signal(Signal::TERM)?;
    serving.end()?.with_code(0)?.says(&["SIM CONSUMER TLC", "requests answered"])?;
    ensure!(!at.exists(), "{:?} is left", folder::names(&at));
    Ok(())
}

fn in_use() -> Result<()> {
    let home = folder::folder()?;
    let (serving, path) = serve(home.path())?;
    let file = fs::OpenOptions::new().read(true).write(true).open(&path)?;
    file.write_all_at(b"before", 0)?;
    serving.signal(Signal::TERM)?;
    let gone = || Ok((!home.path().join("drive").exists()).then_some(()));
    wait::until("the folder's end", Duration::from_secs(20), gone)?;
    file.write_all_at(b"after", 6)?;
    let mut read = [0; 11];
    file.read_exact_at(&mut read, 0)?;
    ensure!(&read == b"beforeafter", "{read:?}");
    drop(file);
    serving.end()?.with_code(0)?.says(&["requests answered"])
}

fn truth() -> Result<()> {
    let home = Home::new()?;
    let disk = home.drive("")?;
    disk.sync()?;
    let before = disk.written()?;
    home.fill(&disk, "out", &[])?.with_code(0)?;
    let served = disk.end()?.context("nobody served the drive")?.with_code(0)?;
    note(served.stderr.lines().last().unwrap_or_default());
    let report = run::report(&run::only(&home.path().join("out"))?)?;
    ensure!(report["environment"].to_string().contains("io_uring"), "{}", report["environment"]);
    let found = report["findings"]["fill"]["cliffs"].as_array().context("cliffs")?;
    ensure!(found.len() == 1, "{found:?} in {}", report["findings"]["fill"]["curve"]);
    near(&report, "fill.cliff_gb", (CACHE - before) as f64 / 1e9, 0.02)?;
    near(&report, "fill.fast_mb_s", FAST_MB_S, 0.03)?;
    near(&report, "fill.floor_mb_s", FLOOR_MB_S, 0.03)
}

fn worse_firmware() -> Result<()> {
    let home = Home::new()?;
    let disk = home.drive("")?;
    home.fill(&disk, "accepted", REPEAT)?.with_code(0)?;
    let runs = home.runs("accepted");
    ensure!(runs.len() == 3, "without a baseline all runs are made: {runs:?}");
    let accept = ["baseline", "accept", "--reason", "as delivered"].map(str::to_owned).into_iter().chain(runs);
    home.tool.call(home.path(), accept).end()?.with_code(0)?;
    let same = home.fill(&disk, "same", REPEAT)?.with_code(0)?;
    same.says(&["held: as good as the baseline of 3 runs"])?;
    drop(disk);
    let worse = home.fill(&home.drive("?firmware=FW02&slower_floor=8%")?, "worse", REPEAT)?.with_code(1)?;
    worse.says(&["regressed: fill.floor_mb_s", "of at most 3 runs"])?;
    let last = home.runs("worse").pop().context("no run")?;
    let report = run::report(&home.path().join(last))?;
    for (id, verdict) in [("fill.fast_mb_s", "held"), ("fill.cliff_gb", "held"), ("fill.floor_mb_s", "regressed")] {
        let metric = run::metric(&report, id)?;
        note(&format!("{id}: {} against {}, {}", metric["value"], metric["baseline"], metric["verdict"]));
        ensure!(metric["verdict"] == verdict, "{metric}");
    }
    Ok(())
}

fn near(report: &Value, id: &str, expected: f64, tolerance: f64) -> Result<()> {
    let metric = run::metric(report, id)?;
    let found = metric["value"].as_f64().with_context(|| format!("{metric}"))?;
    let off = found / expected - 1.0;
    note(&format!("{id}: {found}, expected {expected:.4}, off by {:+.2} %", off * 100.0));
    ensure!(off.abs() <= tolerance, "{id}: found {found}, expected {expected}, off by {:.1} %", off * 100.0);
    Ok(())
}
