//! Damage that is planted in finished files before they are read back: found at its place and named rightly.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use harness::journal::record::FaultKind;
use harness::sample::Fault;
use libtest_mimic::Trial;
use rustix::process::Signal;
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::{folder, profile, run};

use super::{plain, run_arguments};

const MIB: u64 = 1 << 20;
const SEGMENT: u64 = 4 * MIB;
/// The unit of stamps.
const BLOCK: u64 = 4096;
const SUITE: &str = "size = \"16MiB\"\nsegments = 4\nblock = \"256KiB\"\ninterval = \"50ms\"";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("planted damage of each kind is found at its place and named rightly", &[Need::LoopFs], every_kind),
        trial("a drive that lost everything is counted, not listed", &[Need::LoopFs], all_lost),
        trial("damage in zeros is found, and the check is called weak", &[Need::LoopFs], in_zeros),
    ]
}

/// Where a block lies: segment and block in it.
#[derive(Clone, Copy)]
struct Place(u64, u64);

impl Place {
    fn in_file(self) -> u64 {
        self.1 * BLOCK
    }

    fn in_fill(self) -> u64 {
        self.0 * SEGMENT + self.in_file()
    }

    fn read(self, scratch: &Path) -> Result<Vec<u8>> {
        let mut block = vec![0; BLOCK as usize];
        File::open(self.file(scratch))?.read_exact_at(&mut block, self.in_file())?;
        Ok(block)
    }

    fn write(self, scratch: &Path, block: &[u8]) -> Result<()> {
        let file = OpenOptions::new().write(true).open(self.file(scratch))?;
        file.write_all_at(block, self.in_file())?;
        Ok(file.sync_all()?)
    }

    fn change(self, scratch: &Path, change: impl FnOnce(&mut [u8])) -> Result<()> {
        let mut block = self.read(scratch)?;
        change(&mut block);
        self.write(scratch, &block)
    }

    fn file(self, scratch: &Path) -> PathBuf {
        scratch.join(format!("fill-{:04}", self.0))
    }
}

/// Runs with `damage` done between writing and reading back; the run's folder.
fn damaged(
    disk: &LoopFs,
    home: &Path,
    suite: &str,
    damage: impl FnOnce(&Path) -> Result<()>,
) -> Result<(PathBuf, String)> {
    let out = home.join("out");
    let profile = profile::file(home, &profile::fill(&format!("{suite}\nsettle = \"1s\"")))?;
    let running = plain().call(home, run_arguments(&disk.path(), &profile, &out)).start()?;
    run::wait_for(&out, Duration::from_secs(30), |record| run::ends(record, "fill.write"))?;
    // It holds its breath while the damage is done.
    running.signal(Signal::STOP)?;
    let scratch = folder::scratch_in(&disk.path()).pop().context("no scratch folder")?;
    let done = damage(&scratch);
    running.signal(Signal::CONT)?;
    done?;
    let ended = running.end()?.with_code(1)?;
    Ok((run::only(&out)?, ended.stdout))
}

fn every_kind() -> Result<()> {
    let disk = LoopFs::new(64 * MIB)?;
    let home = folder::folder()?;
    let older = older_run(&disk, home.path(), [Place(1, 5), Place(2, 7)])?;
    let (bit, elsewhere, older_block) = (Place(0, 8), Place(2, 3), Place(1, 5));
    let (torn, zeros, foreign) = (Place(2, 7), Place(3, 9), Place(3, 20));
    let (run, stdout) = damaged(&disk, home.path(), SUITE, |scratch| {
        bit.change(scratch, |block| block[777] ^= 0x10)?;
        let other = Place(1, 3).read(scratch)?;
        elsewhere.write(scratch, &other)?;
        older_block.write(scratch, &older[0])?;
        torn.change(scratch, |block| block[2048..].copy_from_slice(&older[1][2048..]))?;
        zeros.change(scratch, |block| block.fill(0))?;
        foreign.change(scratch, |block| block.fill(b'x'))
    })?;
    let expected = [
        (bit, Fault::Corrupt),
        (older_block, Fault::OtherRun),
        (elsewhere, Fault::Misplaced),
        (torn, Fault::Torn),
        (zeros, Fault::Zeros),
        (foreign, Fault::Foreign),
    ];
    names_exactly(&run, &expected)?;
    ensure!(stdout.contains("6 blocks read back are not what was written"), "{stdout}");
    let markup = fs::read_to_string(run.join("junit.xml"))?;
    ensure!(markup.contains("<failure"), "JUnit has no <failure>:\n{markup}");
    ensure!(folder::scratch_in(&disk.path()).is_empty(), "scratch is left");
    Ok(())
}

/// Blocks that another run on the same folder wrote, before it was killed.
fn older_run(disk: &LoopFs, home: &Path, places: [Place; 2]) -> Result<[Vec<u8>; 2]> {
    let out = home.join("older");
    let profile = profile::file(home, &profile::fill(&format!("{SUITE}\nsettle = \"1h\"")))?;
    let running = plain().call(home, run_arguments(&disk.path(), &profile, &out)).start()?;
    run::wait_for(&out, Duration::from_secs(30), |record| run::ends(record, "fill.write"))?;
    running.kill()?;
    let scratch = folder::scratch_in(&disk.path()).pop().context("the killed run left nothing")?;
    let [first, second] = places.map(|place| place.read(&scratch));
    Ok([first?, second?])
}

fn in_zeros() -> Result<()> {
    let disk = LoopFs::new(64 * MIB)?;
    let home = folder::folder()?;
    let last = SEGMENT / BLOCK - 1;
    let (bit, stamped, moved) = (Place(0, 8), Place(2, last), Place(3, 9));
    let suite = format!("{SUITE}\ndata = \"zeros\"");
    let (run, stdout) = damaged(&disk, home.path(), &suite, |scratch| {
        bit.change(scratch, |block| block[777] ^= 0x10)?;
        stamped.change(scratch, |block| block.fill(0))?;
        let other = Place(1, last).read(scratch)?;
        moved.write(scratch, &other)
    })?;
    names_exactly(&run, &[(bit, Fault::Corrupt), (stamped, Fault::Zeros), (moved, Fault::Misplaced)])?;
    ensure!(stdout.contains("weak"), "{stdout}");
    Ok(())
}

fn all_lost() -> Result<()> {
    let disk = LoopFs::new(64 * MIB)?;
    let home = folder::folder()?;
    let (run, stdout) = damaged(&disk, home.path(), SUITE, |scratch| {
        for segment in 0..4 {
            fs::write(Place(segment, 0).file(scratch), vec![0; SEGMENT as usize])?;
        }
        Ok(File::open(scratch)?.sync_all()?)
    })?;
    let journal = run::journal(&run)?;
    let all = 4 * SEGMENT / BLOCK;
    ensure!(journal.verify_errors() == all, "{} of {all} blocks", journal.verify_errors());
    ensure!(journal.faults.len() <= 1004, "{} records of faults", journal.faults.len());
    ensure!(journal.faults[0].offset == Some(0), "{:?}", journal.faults[0]);
    ensure!(run::metric(&run::report(&run)?, "fill.verify_errors")?["value"] == all, "the report has another count");
    ensure!(stdout.len() < 10_000, "{} bytes of output", stdout.len());
    Ok(())
}

/// The journal holds these faults and no others, and the report names each with its place.
fn names_exactly(run: &Path, expected: &[(Place, Fault)]) -> Result<()> {
    let journal = run::journal(run)?;
    let found: Vec<_> = journal.faults.iter().map(|fault| (fault.offset, fault.what)).collect();
    let wanted: Vec<_> =
        expected.iter().map(|(place, fault)| (Some(place.in_fill()), FaultKind::Verify(*fault))).collect();
    ensure!(found == wanted, "found {found:?}\nplanted {wanted:?}");
    let report = run::report(run)?;
    ensure!(report["exit_code"] == 1 && report["verdict"] == "regressed", "{report}");
    ensure!(run::metric(&report, "fill.verify_errors")?["value"] == expected.len(), "{report}");
    let named = report["findings"]["fill"]["bad_blocks"].to_string();
    for (place, fault) in expected {
        let (place, word) = (place.in_fill().to_string(), fault.to_string());
        ensure!(named.contains(&place) && named.contains(&word), "{place} {word} in {named}");
    }
    Ok(())
}
