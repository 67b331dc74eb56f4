//! What one seed stands for: a drive, a profile, faults, and where the run is killed.
//!
//! Swarm testing (Groce et al., ISSTA 2012): a seed leaves most kinds of faults and features out and has the others
//! in plenty, which reaches states that an even mixture does not.

use std::fmt::Write as _;

use harness::engine::sim::faults::Planted;
use harness::units::{Bytes, KIB, MIB};

use super::tiny::Traits;

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// The dice of a seed for one purpose, so that a new purpose changes nothing of the others.
    pub(super) fn new(seed: u64, purpose: u64) -> Dice {
        let mut dice = Dice(seed ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
        dice.roll();
        dice
    }

    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// From `least` to `most`, both included.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.roll() % (most.saturating_sub(least) + 1)
    }

    /// True in `percent` of all cases.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.roll() % 100 < percent
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.roll() % all.len() as u64) as usize]
    }
}

/// What a seed stands for.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) capacity: Bytes,
    pub(super) traits: Traits,
    /// The profile as TOML.
    pub(super) profile: String,
    pub(super) faults: Vec<Planted>,
    /// After which share of its records the run is killed, in parts per million; and a second time, when resumed.
    pub(super) kills: Vec<u64>,
}

/// The most I/Os of one phase: many seeds tell more than long runs.
const MOST_IOS: u64 = 1500;

impl Case {
    pub(super) fn draw(seed: u64) -> Case {
        let dice = &mut Dice::new(seed, 1);
        let capacity = dice.between(256, 16 << 10) * 4 * KIB;
        // The whole drive is written in so many milliseconds, so that a phase has some intervals.
        let traits = Traits::draw(dice, capacity, dice.clone().between(50, 2000));
        let mut profile = "name = 'seed'\nversion = 1\n".to_owned();
        let fills = dice.chance(80);
        if fills {
            fill(&mut profile, dice, capacity);
        }
        if !fills || dice.chance(60) {
            random_write(&mut profile, dice, capacity, &traits);
        }
        let faults = if dice.chance(50) { faults(&mut Dice::new(seed, 2), capacity) } else { Vec::new() };
        let kills = (0..dice.between(0, 2)).map(|_| dice.roll() % 1_000_000).collect();
        Case { seed, capacity: Bytes(capacity), traits, profile, faults, kills }
    }
}

/// A block that a range of `bytes` has at most so many of.
fn block(dice: &mut Dice, bytes: u64) -> u64 {
    let sizes = [4 * KIB, 8 * KIB, 12 * KIB, 16 * KIB, 64 * KIB, 128 * KIB, MIB];
    let fit: Vec<u64> = sizes.into_iter().filter(|block| bytes / block <= MOST_IOS && *block <= bytes).collect();
    dice.one_of(&fit)
}

/// Depth, workers, syncs and content: what both suites have.
fn common(profile: &mut String, dice: &mut Dice) {
    if dice.chance(70) {
        let _ = writeln!(profile, "queue_depth = {}\nworkers = {}", dice.between(1, 9), dice.between(1, 3));
    }
    match dice.between(0, 5) {
        0 => profile.push_str("sync = 'dsync'\n"),
        1 => {
            let _ = writeln!(profile, "sync = 'fsync'\nfsync_every = {}", dice.between(1, 9));
        }
        _ => {}
    }
    match dice.between(0, 4) {
        0 => profile.push_str("data = 'zeros'\n"),
        1 => profile.push_str("data = 'compressible'\n"),
        _ => {}
    }
    let _ = writeln!(profile, "interval = '{}ms'", dice.one_of(&[10, 10, 13, 50, 100, 1000]));
}

fn fill(profile: &mut String, dice: &mut Dice, capacity: u64) {
    let size = if dice.chance(30) { capacity } else { dice.between(capacity / 8, capacity) };
    let block = block(dice, size);
    profile.push_str("[fill]\n");
    if size == capacity {
        profile.push_str("left_free = '0%'\n");
    } else {
        let _ = writeln!(profile, "size = '{size}B'");
    }
    let segments = dice.between(1, 9).min(size / block);
    if dice.chance(50) {
        let _ = writeln!(profile, "segments = {segments}");
    } else {
        let _ = writeln!(profile, "segment = '{}B'", (size / segments).max(block));
    }
    let _ = writeln!(profile, "block = '{block}B'\nverify = {}\nsettle = '{}ms'", dice.chance(85), dice.between(0, 50));
    common(profile, dice);
    let bursts: Vec<String> = (0..dice.between(0, 2))
        .map(|_| format!("{{ idle = '{}ms', size = '{}B' }}", dice.between(0, 200), dice.between(block, 2 * size)))
        .collect();
    let _ = writeln!(profile, "burst = [{}]", bursts.join(", "));
}

fn random_write(profile: &mut String, dice: &mut Dice, capacity: u64, traits: &Traits) {
    let levels = dice.one_of(&["'scratch'", "'50pct'", "'25pct', '100pct'", "'100pct'", "'10pct', 'scratch', '90pct'"]);
    let scratch = dice.between(capacity / 8, capacity);
    // The smallest range of all levels holds a block.
    let block = block(dice, capacity).min(capacity / 16 / (4 * KIB) * 4 * KIB);
    let prefill = dice.one_of(&[block, block * 2]);
    let time = (dice.between(1, MOST_IOS) * traits.least_ns(block)).max(1_000_000);
    let _ = writeln!(profile, "[random_write]\nlevels = [{levels}]\nscratch = '{scratch}B'\nblock = '{block}B'");
    let _ = writeln!(profile, "prefill_block = '{prefill}B'\nduration = '{time}ns'");
    let least = if dice.chance(50) { 0 } else { dice.between(0, MOST_IOS / 2) * block };
    let _ = writeln!(profile, "least_bytes = '{least}B'\nsettle = '{}ms'\nidle = '5ms'", dice.between(0, 50));
    let _ = writeln!(profile, "purge = {}", dice.chance(80));
    common(profile, dice);
}

fn faults(dice: &mut Dice, capacity: u64) -> Vec<Planted> {
    let mut faults = Vec::new();
    let damage = ["corrupt", "misplaced", "stale", "torn", "lost", "read-error", "short"];
    for kind in damage {
        if dice.chance(25) {
            // Some kinds in plenty.
            let count = if dice.chance(20) { 20 } else { dice.between(1, 3) };
            for _ in 0..count {
                let place = dice.between(0, capacity - 1);
                let span = if dice.chance(70) { 1 } else { dice.between(1, capacity / 16) };
                faults.push(format!("{kind}@{place}B+{span}B"));
            }
        }
    }
    if dice.chance(10) {
        faults.push(format!("wraps@{}B", dice.between(16 * 4 * KIB, 2 * capacity)));
    }
    if dice.chance(10) {
        faults.push(format!("write-error@{}B", dice.between(0, 2 * capacity)));
    }
    if dice.chance(10) {
        faults.push(format!("full@{}B", dice.between(0, 4 * capacity)));
    }
    if dice.chance(10) {
        faults.push(format!("gone@{}ms", dice.between(0, 5000)));
    }
    for _ in 0..dice.one_of(&[0, 0, 0, 1, 5]) {
        faults.push(format!("stall@{}ms+{}ms", dice.between(0, 3000), dice.between(1, 500)));
    }
    faults.iter().filter_map(|fault| fault.parse().ok()).collect()
}
