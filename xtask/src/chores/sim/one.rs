//! One seed: its run, the same once more, and the same killed and resumed; everything that must hold of them.

use std::sync::atomic::AtomicBool;

use harness::engine::sim::faults::{Faults, Planted};
use harness::engine::simulated::SimFactory;
use harness::environment::Environment;
use harness::journal::record::{Header, Record};
use harness::journal::replay::Replay;
use harness::plan::phase::{Capacity, Plan};
use harness::plan::profile::Profile;
use harness::run::{Run, Sink, Stopped, again, check_finished};
use harness::target::{Facts, Place, Simulated};
use harness::units::Bytes;

use super::canary::{Broken, Canary};
use super::draw::Case;
use super::journal;
use super::spy::{Log, Spy};
use super::tiny::Tiny;

/// A seed whose run was checked.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// What broke, if anything.
    pub(super) broken: Vec<String>,
    /// The run ended early, as its faults would have it.
    pub(super) failed: bool,
    /// Bad blocks that were found as they should be.
    pub(super) bad_blocks: u64,
    /// How often it was killed and went on.
    pub(super) resumes: u32,
    /// The profile asks for more than the drive has: there was no run.
    pub(super) unplanned: bool,
}

/// Draws, runs and checks.
pub(super) fn check(seed: u64, canary: Option<Canary>) -> Checked {
    let case = Case::draw(seed);
    let mut checked = Checked::default();
    let header = match header(&case) {
        Ok(Some(header)) => header,
        Ok(None) => return Checked { unplanned: true, ..checked },
        Err(why) => return Checked { broken: vec![why], ..checked },
    };
    let broken = &mut checked.broken;
    let spy = new_drive(&case, canary);
    let mut records = vec![Record::Header(Box::new(header))];
    let ended = go_on(&spy, &mut records, None);
    let replay = match Replay::new(records.clone()) {
        Ok(replay) => replay,
        Err(why) => return Checked { broken: vec![format!("the journal is impossible: {why}")], ..checked },
    };
    {
        let log: &Log = &spy.log();
        broken.extend(log.broken.iter().cloned());
        journal::times(&replay, &records, broken);
        journal::counts(&records, log, broken);
        journal::coverage(&replay, log, broken);
    }
    journal::findings(&replay, &case.faults, broken);
    journal::ending(&replay, &ended, &case.faults, broken);
    journal::reports(&records, &ended, broken);
    let mut twice = records[..1].to_vec();
    let _ = go_on(&new_drive(&case, canary), &mut twice, None);
    if twice != records {
        broken.push("the same seed gives another journal".to_owned());
    }
    checked.failed = ended.is_err();
    checked.bad_blocks = replay.verify_errors();
    // What does not read back is no run to go on with, and a run that ended by itself neither.
    if ended.is_ok() && replay.verify_errors() == 0 && checked.broken.is_empty() {
        killed(&case, canary, &records, &mut checked);
    }
    checked
}

/// Kills the run at some of its records, and lets it go on each time.
fn killed(case: &Case, canary: Option<Canary>, whole: &[Record], checked: &mut Checked) {
    let mut records = whole.to_vec();
    for share in &case.kills {
        let kept = 1 + (records.len() as u64 - 1) * share / 1_000_000;
        records.truncate(kept as usize);
        match resumed(case, canary, &mut records, checked) {
            Ok(()) => checked.resumes += 1,
            Err(_) if case.faults.iter().any(stops_a_resumed_run) => return,
            Err(why) => return checked.broken.push(format!("killed after record {kept} and resumed: {why}")),
        }
    }
}

/// Faults that the whole run did not meet: it read nothing back there, or was over before.
fn stops_a_resumed_run(fault: &Planted) -> bool {
    !matches!(fault, Planted::Short(_) | Planted::Stall(_))
}

fn resumed(
    case: &Case,
    canary: Option<Canary>,
    records: &mut Vec<Record>,
    checked: &mut Checked,
) -> Result<(), String> {
    let replay = |records: &[Record]| Replay::new(records.to_vec()).map_err(|why| why.to_string());
    let spy = new_drive(case, canary);
    let so_far = replay(records)?;
    again(records, &spy, || |_, _| None)?;
    check_finished(&so_far, &spy)?;
    records.push(Record::Resume { at_ns: so_far.last_ns, wall: "2026-01-01T00:00:00Z".to_owned() });
    let so_far = replay(records)?;
    go_on(&spy, records, Some(&so_far)).map_err(|why| why.to_string())?;
    let log: &Log = &spy.log();
    let broken = &mut checked.broken;
    broken.extend(log.broken.iter().cloned());
    let done = replay(records)?;
    journal::times(&done, records, broken);
    journal::coverage(&done, log, broken);
    journal::findings(&done, &[], broken);
    journal::reports(records, &Ok(()), broken);
    Ok(())
}

type Watched = Spy<Broken<SimFactory<Tiny>>>;

fn new_drive(case: &Case, canary: Option<Canary>) -> Watched {
    let model = Tiny::new(&case.traits, case.seed);
    let inner = SimFactory::new(model, case.capacity, Faults(case.faults.clone()));
    Spy::new(Broken { inner, how: canary })
}

/// Does what is left of the plan, and adds its records.
fn go_on(factory: &Watched, records: &mut Vec<Record>, so_far: Option<&Replay>) -> Result<(), Stopped> {
    let Some(Record::Header(header)) = records.first().cloned() else { return Ok(()) };
    let (stop, counters) = (AtomicBool::new(false), || None);
    let mut sink = Keep(records);
    Run::new(&header.plan, factory, header.seed, &stop, &counters, &mut sink, so_far).run()
}

struct Keep<'a>(&'a mut Vec<Record>);

impl Sink for Keep<'_> {
    fn record(&mut self, record: Record) -> Result<(), Stopped> {
        self.0.push(record);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Stopped> {
        Ok(())
    }
}

/// What the run's journal begins with; none where the profile does not fit.
fn header(case: &Case) -> Result<Option<Header>, String> {
    let profile = Profile::parse(&case.profile).map_err(|why| format!("{why} in\n{}", case.profile))?;
    let capacity = Capacity { usable: case.capacity, drive: Some(case.capacity), in_use: Some(Bytes(0)) };
    let Ok(plan) = Plan::new(&profile, capacity) else { return Ok(None) };
    let known = Simulated {
        scale: 1,
        fitted: false,
        source: "a seed".to_owned(),
        faults: case.faults.iter().map(ToString::to_string).collect(),
        digest: String::new(),
        capacity: case.capacity,
    };
    Ok(Some(Header {
        run: format!("seed-{}", case.seed),
        started: "2026-01-01T00:00:00Z".to_owned(),
        profile: profile.to_toml(),
        fingerprint: profile.fingerprint(),
        seed: case.seed,
        engine: "sim".to_owned(),
        engine_note: None,
        host: None,
        plan,
        facts: Facts { path: format!("sim:seed-{}", case.seed).into(), drive: None, place: Place::Simulated(known) },
        environment: Environment::default(),
        before_run: None,
        reset: None,
        waited_ns: None,
        earlier: Vec::new(),
        repeat: Default::default(),
        fill_volume: None,
        erase: None,
        journal_on_target: false,
    }))
}
